//! `explain`: explains decisions of the gateway, and calls.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use ucp_core::{
    Operation, Release,
    negotiation::{Line, negotiate},
    operation::SupportedOperations,
};
use ucp_service::platform::Business;
use ucp_trust::profile::PlatformProfile;
use ucp_wire::dialect;

use super::recorded::{self, Inspected};
use crate::command::{
    Done,
    output::{self, say},
};

#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the capabilities that a platform and this gateway share, and why others are not active.
    #[command(after_help = examples!("explain negotiation --profile profile.json"))]
    Negotiation {
        /// File with the platform's profile; `-` reads standard input.
        #[arg(long, value_name = "FILE")]
        profile: PathBuf,
    },
    /// Show a call that the inspector recorded: its processing, its request and its response.
    #[command(after_help = examples!("explain call REQUEST_ID"))]
    Call {
        /// ID of the request, as in the response, the log and `tail`.
        id: String,
        #[command(flatten)]
        gateway: Inspected,
    },
}

pub(crate) fn run(options: &ExplainOptions) -> Done {
    match &options.what {
        What::Negotiation { profile } => negotiation(profile),
        What::Call { id, gateway } => recorded::explain(gateway, id),
    }
}

fn negotiation(profile: &Path) -> Done {
    let bytes = if profile.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        bytes
    } else {
        fs::read(profile).map_err(|error| format!("cannot read {}: {error}", profile.display()))?
    };
    let (profile, notes) = PlatformProfile::read(&bytes)?;
    let business = Business::new(&SupportedOperations::everything(), None);
    let releases = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>().join(", ");
    say!("platform speaks  {}", profile.version);
    say!("gateway speaks   {releases}");
    for note in &notes {
        say!("note             {note}");
    }
    let Some(release) = Release::from_date(&profile.version) else {
        say!("result           version_unsupported: no release in common");
        return Ok(ExitCode::FAILURE);
    };
    say!("result           release {release}");
    let negotiation = negotiate(release.date(), business.declared_with_key(release), &profile.capabilities);
    say!("");
    output::write(format_args!("{}", table(&negotiation.lines)));
    say!("");
    let active = negotiation.active();
    for operation in Operation::ALL.iter().filter(|operation| dialect(release).shapes(**operation).is_some()) {
        let row = operation.row();
        let verdict = if active.contains(row.capability) { "can be called" } else { "capabilities_incompatible" };
        say!("{:<17} {verdict}", row.name);
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats one row for each capability: its name, the versions of the platform and of the gateway, and the result with
/// its reason.
fn table(lines: &[Line]) -> String {
    let versions = |versions: &std::collections::BTreeSet<String>| match versions.len() {
        0 => "-".to_owned(),
        _ => versions.iter().cloned().collect::<Vec<_>>().join(" "),
    };
    let header = ["capability", "theirs", "ours", "result"].map(str::to_owned);
    let rows = lines
        .iter()
        .map(|line| [line.name.clone(), versions(&line.theirs), versions(&line.ours), line.verdict.to_string()]);
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (name, theirs, ours) = (width(0), width(1), width(2));
    rows.iter().map(|[a, b, c, d]| format!("{a:<name$}  {b:<theirs$}  {c:<ours$}  {d}\n")).collect()
}
