//! `buyers`: shows and erases what is stored about a buyer. A gateway can run on the same data directory at the same
//! time.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ucp_sqlite::{Erasure, SqliteStore};

use super::{
    Done,
    place::{StoreOptions, runtime},
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
    let runtime = runtime()?;
    match command {
        BuyersCommand::Export(BuyerOptions { e_mail, store }) => {
            let found = match store.postgres(&runtime)? {
                Some(store) => serde_json::to_string_pretty(&runtime.block_on(store.personal_data(e_mail))?)?,
                None => serde_json::to_string_pretty(&SqliteStore::open(&store.data_dir)?.personal_data(e_mail)?)?,
            };
            println!("{found}");
            Ok(ExitCode::SUCCESS)
        }
        BuyersCommand::Erase(BuyerOptions { e_mail, store }) => {
            let (carts, checkouts, orders, left) = match store.postgres(&runtime)? {
                Some(store) => {
                    let ucp_postgres::Erasure { carts, checkouts, orders, left } =
                        runtime.block_on(store.erase_buyer(e_mail))?;
                    (carts, checkouts, orders, left)
                }
                None => {
                    let Erasure { carts, checkouts, orders, left } =
                        SqliteStore::open(&store.data_dir)?.erase_buyer(e_mail)?;
                    (carts, checkouts, orders, left)
                }
            };
            println!("Erased {carts} carts, {checkouts} checkouts and the addresses of {orders} orders.");
            for (id, reason) in &left {
                eprintln!("{id} was left, because {reason}; erase again later");
            }
            Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
    }
}
