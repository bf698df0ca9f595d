//! `backend`: checks a shop that implements the backend contract.

use std::{fs, path::PathBuf, process::ExitCode, sync::Arc};

use clap::{Args, Subcommand};
use ucp_contract::{
    check::{Finding, Report, check},
    http::{Credential, HttpShop, SigningSecret},
};
use ucp_net::Options;
use url::Url;

use super::Done;
use crate::{
    backend::{chance, monotonic},
    clock,
};

#[derive(Debug, Subcommand)]
pub(crate) enum BackendCommand {
    /// Try the rules of the backend contract on a shop; exit code 1 if it does not keep one.
    Check(CheckOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Where the shop answers: the paths of the questions are appended.
    url: Url,
    /// A file with the token that the shop wants to see.
    #[arg(long, value_name = "FILE", conflicts_with = "signing_secret_file")]
    token_file: Option<PathBuf>,
    /// A file with the secret with which requests are signed.
    #[arg(long, value_name = "FILE")]
    signing_secret_file: Option<PathBuf>,
    /// Try the rules that make carts and attempts at the shop as well; no order is placed.
    #[arg(long)]
    allow_writes: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &BackendCommand) -> Done {
    let BackendCommand::Check(options) = command;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(tried(options))
}

async fn tried(options: &CheckOptions) -> Done {
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(text.trim().to_owned())
    };
    let credential = match (&options.token_file, &options.signing_secret_file) {
        (Some(file), _) => Credential::bearer(&read(file)?)?,
        (None, Some(file)) => Credential::Signing(SigningSecret::new(&read(file)?)),
        (None, None) => Credential::None,
    };
    let upstream = Options { plain_http: true, ..Options::new("http", options.url.clone()) };
    let shop = HttpShop::new(&upstream, credential, monotonic(), chance(), Arc::new(clock::timestamp))?;
    let report = check(&shop, options.allow_writes).await;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &Report) {
    for rule in &report.kept {
        println!("ok       {rule}");
    }
    for (rule, reason) in &report.skipped {
        println!("skipped  {rule}: {reason}");
    }
    for Finding { rule, question, asked, seen, problem, cure } in &report.findings {
        println!("failed   {rule}: {problem}\n  asked  /{question} {asked}\n  seen   {seen}\n  cure   {cure}");
    }
    println!("{} rules kept, {} not", report.kept.len(), report.findings.len());
}
