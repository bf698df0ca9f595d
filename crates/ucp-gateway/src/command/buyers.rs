//! `buyers`: shows and erases what is stored about a buyer, in the store and in recorded calls. A gateway can run on the
//! same data directory at the same time.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ucp_core::port::buyers::Erasure;

use super::{
    Done,
    output::say,
    place::StoreOptions,
    runtime::{runtime, wait},
};
use crate::inspector::erasure::delete_calls;

#[derive(Debug, Subcommand)]
pub(crate) enum BuyersCommand {
    /// Write everything that is stored about an e-mail address as JSON.
    Export(BuyerOptions),
    /// Erase what is stored about an e-mail address; exit code 2 if something of it is still needed.
    Erase(BuyerOptions),
}

#[derive(Debug, Args)]
pub(crate) struct BuyerOptions {
    /// The e-mail address of the buyer, as platforms stated it; upper and lower case are the same.
    e_mail: String,
    #[command(flatten)]
    store: StoreOptions,
}

pub(crate) fn run(command: &BuyersCommand) -> Done {
    let runtime = runtime(1)?;
    match command {
        BuyersCommand::Export(BuyerOptions { e_mail, store }) => {
            let found = wait(&runtime, store.open(&runtime)?.personal_data(e_mail))?;
            say!("{}", serde_json::to_string_pretty(&found)?);
            Ok(ExitCode::SUCCESS)
        }
        BuyersCommand::Erase(BuyerOptions { e_mail, store }) => {
            let (opened, data) = (store.open(&runtime)?, &store.data);
            let Erasure { carts, checkouts, orders, left } = wait(&runtime, opened.erase_buyer(e_mail))?;
            say!("Erased {carts} carts, {checkouts} checkouts and the addresses of {orders} orders.");
            for (id, reason) in &left {
                eprintln!("{id} was left, because {reason}; erase again later");
            }
            // Those of an erasure that was broken off, too.
            wait(&runtime, delete_calls(&data.data_dir, data.shop.as_str(), &*opened))
                .map_err(|error| format!("recorded calls cannot be deleted: {error}; erase again"))?;
            Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
    }
}
