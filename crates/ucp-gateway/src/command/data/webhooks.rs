//! `webhooks`: shows webhook events about orders and resends them. A gateway can run on the same data directory at the
//! same time.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ucp_host::clock;

use crate::command::{
    Done,
    output::say,
    place::StoreOptions,
    runtime::{runtime, wait},
};

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List the newest webhook events and the states of their delivery.
    #[command(after_help = examples!("webhooks list --data-dir ./shop"))]
    List(ListOptions),
    /// Resend a webhook event, or send it now if it waits for a retry. A running gateway sends it.
    #[command(after_help = examples!("webhooks resend EVENT_ID --data-dir ./shop"))]
    Resend(ResendOptions),
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Maximum number of webhook events.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    limit: u16,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ResendOptions {
    /// ID of the webhook event.
    id: String,
    #[command(flatten)]
    store: StoreOptions,
}

pub(crate) fn run(command: &WebhooksCommand) -> Done {
    let runtime = runtime(1)?;
    match command {
        WebhooksCommand::List(ListOptions { limit, json, store }) => {
            let store = store.locate()?.open(&runtime)?;
            let webhook_events =
                wait(&runtime, store.webhook_events((*limit).into())).map_err(|error| error.to_string())?;
            if *json {
                say!("{}", serde_json::to_string_pretty(&webhook_events)?);
            } else {
                for webhook_event in webhook_events {
                    let (state, problem) = (webhook_event.state.as_str(), webhook_event.problem.unwrap_or_default());
                    say!(
                        "{}  {}  {} (version {})  {state} after {} tries  {}  {problem}",
                        webhook_event.id,
                        webhook_event.occurred_at,
                        webhook_event.order_id,
                        webhook_event.order_version,
                        webhook_event.attempts,
                        webhook_event.owner
                    );
                }
            }
        }
        WebhooksCommand::Resend(ResendOptions { id, store }) => {
            let known = wait(&runtime, store.locate()?.open(&runtime)?.resend(id, clock::timestamp()));
            if !known.map_err(|error| error.to_string())? {
                return Err(
                    format!("there is no webhook `{id}`; `ucp-gateway webhooks list` shows those there are").into()
                );
            }
            say!("A gateway that runs on this store sends it now.");
        }
    }
    Ok(ExitCode::SUCCESS)
}
