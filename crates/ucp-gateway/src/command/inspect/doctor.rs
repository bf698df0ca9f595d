//! `doctor`: examines a UCP endpoint, or the profile of a platform.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ucp_client::{
    doctor::{self, Report, report::Finding, rule::Severity},
    http::Http,
};
use ucp_host::{address::web_url, progress::spinner};
use url::Url;

use super::reach::ReachOptions;
use crate::{
    command::{
        Done,
        output::say,
        runtime::{runtime, wait},
    },
    terminal::Paint,
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct DoctorOptions {
    #[command(subcommand)]
    command: Option<DoctorCommand>,
    #[command(flatten)]
    reach: Option<ReachOptions>,
    /// Also create a checkout and cancel it. Nothing is paid.
    #[arg(long)]
    allow_writes: bool,
    /// ID of an item to buy with `--allow-writes`, if the shop has no catalog.
    #[arg(long, value_name = "ID", requires = "allow_writes")]
    item: Option<String>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum DoctorCommand {
    /// Check the profile of a platform.
    #[command(after_help = examples!("doctor profile https://agent.example.com/profile.json"))]
    Profile {
        /// URL of the profile.
        #[arg(value_parser = web_url)]
        url: Url,
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(options: &DoctorOptions) -> Done {
    let runtime = runtime(2)?;
    let progress = spinner("examining");
    let (report, json) = match (&options.command, &options.reach) {
        (Some(DoctorCommand::Profile { url, json }), _) => {
            let http = Http::new(url, super::reach::AGENT.to_owned(), None)?;
            (wait(&runtime, doctor::platform(&http, url)), *json)
        }
        (None, Some(reach)) => {
            let wanted = doctor::Options {
                allow_writes: options.allow_writes,
                release: reach.release,
                item: options.item.clone(),
            };
            (wait(&runtime, doctor::shop(reach.http()?, &reach.url, &wanted)), options.json)
        }
        (None, None) => return Err("URL must be the address of a shop".into()),
    };
    progress.finish_and_clear();
    if json {
        say!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report, Paint::of_stdout());
    }
    Ok(if report.has_errors() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(report: &Report, paint: Paint) {
    say!("{}", paint.strong(&report.subject));
    if let Some(release) = &report.release {
        say!("release {release}: {}", report.offers.join(", "));
    }
    for figure in &report.figures {
        say!("{:>10}  {}", figure.value, figure.name);
    }
    for (rule, reason) in &report.skipped {
        say!("{}", paint.faint(format_args!("skipped  {rule}: {reason}")));
    }
    for Finding { rule, severity, at, seen, must, cure } in &report.findings {
        let severity = match severity {
            Severity::Error => paint.bad("error"),
            Severity::Warning => paint.doubtful("warning"),
        };
        say!("\n{severity}  {}  {at}\n  expected  {must}\n  found     {seen}\n  fix       {cure}", paint.strong(rule));
    }
    for (rule, number) in &report.more {
        say!("\n{number} more of {rule}");
    }
    let (errors, warnings) = (report.count(Severity::Error), report.count(Severity::Warning));
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let verdict =
        format!("{} passed, {}, {}", report.kept.len(), counted(errors, "error"), counted(warnings, "warning"));
    say!("\n{}", if errors > 0 { paint.bad(verdict) } else { paint.good(verdict) });
}
