//! `store`: backs up the data directory, checks it, and restores it. A gateway can serve from it meanwhile.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use ucp_host::progress::spinner;
use ucp_shop::{EmbeddedShop, Options};
use ucp_sqlite::{SqliteStore, StoreError};

use super::{
    Done,
    copy::{self, TransferOptions},
    output::say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Write a consistent copy of the database to a new file, while gateways serve from it.
    Backup(CopyOptions),
    /// Check the database and the search index, and show the faults; exit code 1 if there are any.
    Check(DataDir),
    /// Put a backup into a data directory that holds no database.
    Restore(CopyOptions),
    /// Let a database whose log is damaged go on without the commits that are lost, and keep a copy of the log.
    AcceptLoss(DataDir),
    /// Move a shop between a data directory and a PostgreSQL database, with the answers that are kept for retries; exit code 1 if
    /// anything differs in the end. What was interrupted goes on when it is run again.
    Copy(TransferOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CopyOptions {
    /// The file of the backup.
    file: PathBuf,
    #[command(flatten)]
    data: DataDir,
}

#[derive(Debug, Args)]
pub(crate) struct DataDir {
    /// The directory that holds the shop.
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", default_value = "./data", value_name = "DIRECTORY")]
    data_dir: PathBuf,
}

pub(crate) fn run(command: &StoreCommand) -> Done {
    match command {
        StoreCommand::Backup(CopyOptions { file, data }) => {
            let progress = spinner("copying the database");
            let bytes = SqliteStore::open(&data.data_dir)?.back_up(file)?;
            progress.finish_and_clear();
            say!("{} holds the database as it was just now, {bytes} bytes.", file.display());
            say!("Keys, the configuration and files that it names are not in it; the search index is made anew.");
        }
        StoreCommand::Copy(options) => return copy::run(options),
        StoreCommand::Check(DataDir { data_dir }) => return check(data_dir),
        StoreCommand::AcceptLoss(DataDir { data_dir }) => {
            let copy = SqliteStore::accept_loss(data_dir)?;
            say!("{} goes on with what it has. A gateway can be started on it.", data_dir.display());
            if let Some(copy) = copy {
                say!("Its log as it was is in {}.", copy.display());
            }
            say!("Orders and payments of the last minutes may be missing: compare them with your payment provider.");
        }
        StoreCommand::Restore(CopyOptions { file, data }) => {
            let progress = spinner("checking and copying the backup");
            SqliteStore::restore(file, &data.data_dir)?;
            progress.finish_and_clear();
            say!("{} holds what was in {}. A gateway can be started on it.", data.data_dir.display(), file.display());
        }
    }
    Ok(ExitCode::SUCCESS)
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
    say!("Faults: {}. Restore a backup into an empty directory: ucp-gateway store restore FILE", faults.len());
    Ok(ExitCode::FAILURE)
}
