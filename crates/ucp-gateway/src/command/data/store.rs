//! `store`: backs up the data directory, checks it, and restores it. A gateway can serve from it meanwhile.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use ucp_host::progress::spinner;
use ucp_shop::{EmbeddedShop, Options};
use ucp_sqlite::{SqliteStore, StoreError};

use super::copy::{self, TransferOptions};
use crate::command::{
    Done,
    output::say,
    place::{Location, StoreOptions},
};

/// Instructions for a shop in PostgreSQL, whose server backs up, checks and restores it.
const BACK_UP_THERE: &str = "back that up with `pg_dump --format=custom --file=FILE URL`; also keep the configuration, the files \
                             that it names, and the signing keys";
const CHECK_THERE: &str = "check that with `pg_amcheck`, on its server";
const RESTORE_THERE: &str =
    "restore that with `pg_restore --clean --if-exists --dbname=URL FILE`, while no gateway is running";
const RECOVER_THERE: &str = "recover that on its server; only data directories have a log of this kind";

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Back up the database to a new file, while gateways are running.
    #[command(after_help = examples!("data backup monday.db --data-dir ./shop"))]
    Backup(CopyOptions),
    /// Check the database and the search index for faults; exit code 1 if there are any.
    #[command(after_help = examples!("data check --data-dir ./shop"))]
    Check(StoreOptions),
    /// Restore a backup into a data directory without a database.
    #[command(after_help = examples!("data restore monday.db --data-dir ./restored"))]
    Restore(CopyOptions),
    /// Open a database with a damaged log without the lost commits. A copy of the log is kept.
    #[command(after_help = examples!("data accept-loss --data-dir ./shop"))]
    AcceptLoss(StoreOptions),
    /// Copy a shop between a data directory and a PostgreSQL database, with stored responses; exit code 1 if the copies
    /// differ. Run an interrupted copy again to resume it.
    #[command(after_help = examples!("data copy --from ./shop --to postgres-url.txt"))]
    Copy(TransferOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CopyOptions {
    /// File of the backup.
    file: PathBuf,
    #[command(flatten)]
    store: StoreOptions,
}

pub(crate) fn run(command: &StoreCommand) -> Done {
    match command {
        StoreCommand::Backup(CopyOptions { file, store }) => {
            let location = store.locate()?;
            location.require_directory(BACK_UP_THERE)?;
            let progress = spinner("copying the database");
            let bytes = SqliteStore::open(&location.dir)?.back_up(file)?;
            progress.finish_and_clear();
            say!("{} holds the database as it was just now, {bytes} bytes.", file.display());
            say!(
                "Not in it: signing keys, the configuration and the files that it names (certificates, tokens, secrets, hashes of API"
            );
            say!(
                "keys), and the operator's decisions (paused shops, blocked platforms) with their log. Back these up as files."
            );
        }
        StoreCommand::Copy(options) => return copy::run(options),
        StoreCommand::Check(store) => {
            let location = store.locate()?;
            location.require_directory(CHECK_THERE)?;
            return check(&location.dir);
        }
        StoreCommand::AcceptLoss(store) => {
            let location = store.locate()?;
            location.require_directory(RECOVER_THERE)?;
            let data_dir = &location.dir;
            let copy = SqliteStore::accept_loss(data_dir)?;
            say!("{} goes on with what it has. A gateway can be started on it.", data_dir.display());
            if let Some(copy) = copy {
                say!("Its log as it was is in {}.", copy.display());
            }
            say!("Orders and payments of the last minutes may be missing: compare them with your payment provider.");
        }
        StoreCommand::Restore(CopyOptions { file, store }) => {
            let location = store.locate()?;
            location.require_directory(RESTORE_THERE)?;
            let progress = spinner("checking and copying the backup");
            SqliteStore::restore(file, &location.dir)?;
            progress.finish_and_clear();
            say!("{} holds what was in {}. A gateway can be started on it.", location.dir.display(), file.display());
            remainder(&location);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what a backup does not hold, and what of it is there.
fn remainder(location: &Location) {
    let dir = location.dir.display();
    say!("Not in a backup, and needed before others call it:");
    if location.can_sign() {
        say!("- signing keys: there are some in {}", location.keys.display());
    } else {
        say!(
            "- signing keys: none in {}. Put those of the lost gateway there; without them, `ucp-gateway keys generate` makes one, which \
             platforms learn from the profile. Until then webhooks wait.",
            location.keys.display()
        );
    }
    for (name, file, otherwise) in [
        ("paused shops and blocked platforms", "decisions.json", "pause and block again"),
        ("the log of operators' actions", "audit.jsonl", "it begins anew"),
        (
            "the hash of the first API key",
            "first-api-key",
            "a gateway that others can reach makes a new key and prints it",
        ),
    ] {
        match location.dir.join(file).exists() {
            true => say!("- {name}: {file} is there"),
            false => say!("- {name}: put {file} back into {dir}, or else: {otherwise}"),
        }
    }
    match location.configured {
        true => say!("- the configuration: it and the files that it names are in order"),
        false => say!(
            "- the configuration and the files that it names (certificates, tokens, secrets, hashes of registered API keys): put them back, \
             and check them with `ucp-gateway check-config`"
        ),
    }
}

fn check(data_dir: &Path) -> Done {
    let progress = spinner("checking the database and the search index");
    let store = SqliteStore::open(data_dir)?;
    let mut faults = store.faults().map_err(|error| format!("the check broke off: {error}"))?;
    for shop in store.shops()? {
        // A gateway in front of a remote shop has no products.
        match EmbeddedShop::open(&Options { shop, ..Options::new(data_dir) }) {
            Ok(shop) => faults.extend(shop.index_fault()?),
            Err(StoreError::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    progress.finish_and_clear();
    for fault in &faults {
        say!("{fault}");
    }
    if faults.is_empty() {
        say!("{} has no faults.", data_dir.display());
        return Ok(ExitCode::SUCCESS);
    }
    say!("Faults: {}. Restore a backup into an empty directory: ucp-gateway data restore FILE", faults.len());
    Ok(ExitCode::FAILURE)
}
