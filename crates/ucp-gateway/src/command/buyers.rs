//! `buyers`: shows and erases what is stored about a buyer. A gateway can run on the same data directory at the same
//! time.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ucp_core::port::buyers::Erasure;

use super::{
    Done,
    place::StoreOptions,
    runtime::{runtime, wait},
};

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
            println!("{}", serde_json::to_string_pretty(&found)?);
            Ok(ExitCode::SUCCESS)
        }
        BuyersCommand::Erase(BuyerOptions { e_mail, store }) => {
            let erasure = wait(&runtime, store.open(&runtime)?.erase_buyer(e_mail))?;
            let Erasure { carts, checkouts, orders, left } = erasure;
            println!("Erased {carts} carts, {checkouts} checkouts and the addresses of {orders} orders.");
            for (id, reason) in &left {
                eprintln!("{id} was left, because {reason}; erase again later");
            }
            Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
    }
}
