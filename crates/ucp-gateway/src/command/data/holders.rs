//! `holders`: shows who holds carts and checkouts, and frees what one holds. A gateway can run on the same data directory at
//! the same time.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::command::{
    Done,
    output::say,
    place::StoreOptions,
    runtime::{runtime, wait},
};

#[derive(Debug, Subcommand)]
pub(crate) enum HoldersCommand {
    /// List the groups of callers with the most carts, checkouts and stored responses: domains, networks and registered
    /// platforms.
    #[command(after_help = examples!("holders list --data-dir ./shop"))]
    List(ListOptions),
    /// Remove the carts and checkouts of a group that did not lead to an order, except those with a payment in progress.
    #[command(after_help = examples!("holders free example.com --data-dir ./shop"))]
    Free(FreeOptions),
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Maximum number of groups.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    limit: u16,
    /// Write JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct FreeOptions {
    /// Name of the group as in `holders list`, such as `example.com`, `192.0.2.1` or `192.0.2.0/24`.
    name: String,
    #[command(flatten)]
    store: StoreOptions,
}

pub(crate) fn run(command: &HoldersCommand) -> Done {
    let runtime = runtime(1)?;
    match command {
        HoldersCommand::List(ListOptions { limit, json, store }) => {
            let holdings = wait(&runtime, store.locate()?.open(&runtime)?.holdings((*limit).into()));
            let holdings = holdings.map_err(|error| error.to_string())?;
            if *json {
                say!("{}", serde_json::to_string_pretty(&holdings)?);
            } else {
                for holding in holdings {
                    say!("{}  {} carts and checkouts  {} bytes", holding.name, holding.open, holding.bytes);
                }
            }
        }
        HoldersCommand::Free(FreeOptions { name, store }) => {
            let removed =
                wait(&runtime, store.locate()?.open(&runtime)?.release(name)).map_err(|error| error.to_string())?;
            if removed == 0 {
                return Err(format!("`{name}` holds nothing that can be freed; see `ucp-gateway holders list`").into());
            }
            say!("Removed {removed} carts, checkouts and recorded answers.");
        }
    }
    Ok(ExitCode::SUCCESS)
}
