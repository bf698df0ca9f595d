//! `buyers`: shows and erases what is stored about a buyer, in the store and in recorded calls. A gateway can run on the
//! same data directory at the same time.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ucp_console::inspector::delete_calls;
use ucp_core::ports::buyers::Erasure;

use crate::command::{
    Done,
    output::{remark, say},
    place::StoreOptions,
    runtime::{runtime, wait},
};

#[derive(Debug, Subcommand)]
pub(crate) enum BuyersCommand {
    /// Write everything that is stored about an email address, as JSON; exit code 2 if the result may be incomplete.
    #[command(after_help = examples!("buyers export jane@example.com --data-dir ./shop"))]
    Export(BuyerOptions),
    /// Erase everything that is stored about an email address; exit code 2 if some of it is still needed or may remain.
    #[command(after_help = examples!("buyers erase jane@example.com --data-dir ./shop"))]
    Erase(BuyerOptions),
}

#[derive(Debug, Args)]
pub(crate) struct BuyerOptions {
    /// Email address of the buyer, as platforms stated it, in any case.
    e_mail: String,
    #[command(flatten)]
    store: StoreOptions,
}

pub(crate) fn run(command: &BuyersCommand) -> Done {
    let runtime = runtime(1)?;
    match command {
        BuyersCommand::Export(BuyerOptions { e_mail, store }) => {
            let found = wait(&runtime, store.locate()?.open(&runtime)?.personal_data(e_mail))?;
            say!("{}", serde_json::to_string_pretty(&found)?);
            for id in &found.damaged {
                eprintln!("{id} is not shown, because it is damaged; it may be of this buyer");
            }
            tell_unknown(found.unknown);
            Ok(if found.damaged.is_empty() && found.unknown == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
        BuyersCommand::Erase(BuyerOptions { e_mail, store }) => {
            let location = store.locate()?;
            let opened = location.open(&runtime)?;
            let Erasure { carts, checkouts, orders, left, unknown, residue } =
                wait(&runtime, opened.erase_buyer(e_mail))?;
            say!("Erased {carts} carts, {checkouts} checkouts and the addresses of {orders} orders.");
            for (id, reason) in &left {
                remark!("{id} was left, because {reason}; erase again later");
            }
            tell_unknown(unknown);
            residue.into_iter().for_each(|sentence| remark!("{sentence}"));
            // Those of an erasure that was broken off, too.
            wait(&runtime, delete_calls(&location.dir, location.shop.as_str(), &*opened))
                .map_err(|error| format!("recorded calls cannot be deleted: {error}; erase again"))?;
            Ok(if left.is_empty() && unknown == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
        }
    }
}

/// Names orders that cannot be found by an email address.
fn tell_unknown(orders: u64) {
    if orders > 0 {
        eprintln!(
            "{orders} orders with addresses may be of this buyer: their checkouts are gone, and nothing says whose they were; \
             data.keep_addresses_days erases addresses by their age"
        );
    }
}
