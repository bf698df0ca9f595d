//! `rehearse`: sends scripted shoppers to a UCP endpoint.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{Args, ValueEnum, value_parser};
use jiff::Timestamp;
use ucp_client::{
    rehearse::{self, Payment, html, report},
    shop::{CalledShop, TRANSPORTS, Transport},
};
use ucp_host::progress::bar;

use super::reach::ReachOptions;
use crate::command::{
    Done, output,
    runtime::{runtime, wait},
};

#[derive(Debug, Args)]
pub(crate) struct RehearseOptions {
    #[command(flatten)]
    reach: ReachOptions,
    /// Number of shoppers.
    #[arg(long, default_value = "90", value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=1_000_000))]
    sessions: u32,
    /// Random seed. The same seed with a concurrency of 1 leads to the same decisions.
    #[arg(long, default_value = "1", value_name = "NUMBER")]
    seed: u64,
    /// Number of shoppers at the same time.
    #[arg(long, alias = "at-once", default_value = "1", value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=64))]
    concurrency: u32,
    /// Transport of the requests [default: MCP if the shop has it].
    #[arg(long, value_name = "TRANSPORT")]
    transport: Option<Kind>,
    /// ID of an item to buy, if the shop has no catalog; repeatable.
    #[arg(long, value_name = "ID")]
    item: Vec<String>,
    /// Payment to use. This places real orders. Without it, shoppers pay only at sandboxes.
    #[arg(long, value_name = "HANDLER=TOKEN", value_parser = payment)]
    pay: Option<Payment>,
    /// Number of seconds that a shopper waits for a checkout to expire, before canceling it.
    #[arg(long, default_value = "0", value_name = "SECONDS")]
    patience: u32,
    /// File for the report as an HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// File for the report as `JUnit` XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Mcp,
    Rest,
}

fn payment(text: &str) -> Result<Payment, String> {
    match text.split_once('=') {
        Some((handler, token)) if !handler.is_empty() && !token.is_empty() => {
            Ok(Payment::With { handler: handler.to_owned(), token: token.to_owned() })
        }
        _ => Err("must be the identifier of a payment handler, `=`, and a token".to_owned()),
    }
}

pub(crate) fn run(options: &RehearseOptions) -> Done {
    let runtime = runtime(2)?;
    let report = wait(&runtime, async {
        let reach = &options.reach;
        let shop = CalledShop::find(reach.http()?, &reach.url, reach.release).await?;
        let transport = match options.transport {
            Some(Kind::Mcp) => Transport::Mcp,
            Some(Kind::Rest) => Transport::Rest,
            None => TRANSPORTS.into_iter().rev().find(|transport| shop.has(*transport)).unwrap_or(Transport::Rest),
        };
        if !shop.has(transport) {
            return Err(format!("the profile names no endpoint for {}", transport.as_str()).into());
        }
        let wanted = rehearse::Options {
            sessions: options.sessions as usize,
            at_once: options.concurrency as usize,
            seed: options.seed,
            items: options.item.clone(),
            payment: options.pay.clone().unwrap_or_default(),
            patience: Duration::from_secs(options.patience.into()),
            now: Timestamp::now,
        };
        let progress = bar(Some(options.sessions.into()), "{bar:40} {pos}/{len} shoppers, {eta} left");
        let report = rehearse::rehearse(&shop, transport, &wanted, || progress.inc(1)).await;
        progress.finish_and_clear();
        Ok::<_, Box<dyn std::error::Error>>(report)
    })?;
    output::write(format_args!("{report}"));
    if let Some(file) = &options.html {
        write(file, &html::page(&report))?;
    }
    if let Some(file) = &options.junit {
        write(file, &report::junit(&report))?;
    }
    Ok(if report.ends().given_up == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}
