//! `data copy`: moves a shop between a data directory and a PostgreSQL database, either way.
//!
//! Rows are copied in the order in which they were made, and those that are there already in the same form are left alone: a copy that was
//! interrupted is taken up by running it again. In the end both sides are read again and compared row by row.

use std::{
    collections::{HashMap, hash_map::RandomState},
    error::Error,
    fs,
    hash::BuildHasher as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use tokio::runtime::Runtime;
use ucp_config::{DatabaseAddress, database_at};
use ucp_core::{
    ShopId,
    ports::transfer::{Row, TABLES, Table, Transfer, TransferError},
};
use ucp_host::{backend::products, progress::spinner};
use ucp_postgres::{Options, PostgresStore};
use ucp_sqlite::SqliteStore;

use crate::command::{
    Done,
    output::{remark, say},
    owner,
    place::{in_database, in_directory},
    runtime::{runtime, wait},
};

/// Rows that are read at once.
const PAGE: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct TransferOptions {
    /// Source: a data directory, the URL of a PostgreSQL database (`postgres://user:password@host/database`), or a file with
    /// such a URL. No gateway may be using it.
    #[arg(long, value_name = "PLACE")]
    from: DatabaseAddress,
    /// Target in the same forms: empty, or left by an interrupted copy.
    #[arg(long, value_name = "PLACE")]
    to: DatabaseAddress,
    /// Name of the shop, if there are several.
    #[arg(long, env = "UCP_GATEWAY_SHOP", default_value_t, value_name = "NAME")]
    shop: ShopId,
    /// File with additional CA certificates (PEM) for the connection to the database.
    #[arg(long, env = "UCP_GATEWAY_DATABASE_CA_FILE", value_name = "FILE")]
    database_ca_file: Option<PathBuf>,
}

/// One side of a copy.
enum Side {
    Directory(SqliteStore),
    Database(PostgresStore),
}

impl Side {
    /// Opens the side `place` of a copy, or creates the one that `is_new`.
    fn open(
        TransferOptions { shop, database_ca_file, .. }: &TransferOptions,
        place: &DatabaseAddress,
        is_new: bool,
        runtime: &Runtime,
    ) -> Result<Self, Box<dyn Error>> {
        let place = place.reveal();
        let path = Path::new(place);
        let address = match Options::is_address(place) {
            true => Some(place.to_owned()),
            false if path.is_file() => Some(fs::read_to_string(path)?.trim().to_owned()),
            false => None,
        };
        Ok(match address {
            Some(address) => {
                let options = database_at(&address, database_ca_file.as_deref())?;
                Self::Database(match is_new {
                    true => wait(runtime, PostgresStore::open(&options, shop.clone()))?,
                    false => in_database(&options, shop, runtime)?,
                })
            }
            None if is_new => {
                owner::keep(path);
                Self::Directory(SqliteStore::open_or_create(path)?.of(shop.clone())?)
            }
            None => Self::Directory(in_directory(path, shop)?),
        })
    }

    fn transfer(&self) -> Arc<dyn Transfer> {
        match self {
            Self::Directory(store) => Arc::new(store.clone()),
            Self::Database(store) => Arc::new(store.clone()),
        }
    }

    fn place(&self) -> PathBuf {
        match self {
            Self::Directory(store) => store.path().to_owned(),
            Self::Database(store) => PathBuf::from(store.place()),
        }
    }
}

pub(crate) fn run(options: &TransferOptions) -> Done {
    let runtime = runtime(1)?;
    let from = Side::open(options, &options.from, false, &runtime)?;
    let to = Side::open(options, &options.to, true, &runtime)?;
    let (source, target) = (from.transfer(), to.transfer());
    let progress = spinner("copying the products");
    let products = wait(&runtime, async {
        match (&from, &to) {
            (Side::Directory(from), Side::Database(to)) => products::to_database(from, to).await,
            (Side::Database(from), Side::Directory(to)) => products::to_directory(from, to).await,
            _ => Err("one side must be a data directory, the other one a PostgreSQL database".into()),
        }
    })?;
    progress.finish_and_clear();
    say!("products: {products}");
    wait(&runtime, async { target.set_secret(source.secret().await?).await })
        .map_err(|error| error as Box<dyn Error>)?;
    let mut differing = 0;
    for table in TABLES {
        let progress = spinner(table.name);
        let copied = wait(&runtime, copy(table, &*source, &*target)).map_err(|error| error as Box<dyn Error>)?;
        let Compared { rows, differences } =
            wait(&runtime, compare(table, &*source, &*target)).map_err(|error| error as Box<dyn Error>)?;
        progress.finish_and_clear();
        say!("{}: {rows} rows, {copied} copied, {differences} differ", table.name);
        differing += differences;
    }
    if differing > 0 {
        remark!(
            "{differing} rows differ: a gateway wrote meanwhile, {} held another shop's rows before, or identifiers are longer than 480 \
             bytes. Copy again with no gateway running, into an empty place.",
            to.place().display()
        );
        return Ok(ExitCode::FAILURE);
    }
    say!("{} holds what {} does, row by row.", to.place().display(), from.place().display());
    Ok(ExitCode::SUCCESS)
}

/// Copies the rows of a table that are not there in the same form. Returns their number.
async fn copy(table: &'static Table, from: &dyn Transfer, to: &dyn Transfer) -> Result<u64, TransferError> {
    let hasher = RandomState::new();
    let mut there = digests(table, to, &hasher).await?;
    let (mut copied, mut after) = (0, None);
    loop {
        let page = from.page(table, after.take(), PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(copied) };
        after = Some(last.clone());
        let mut missing = Vec::new();
        for (_, row) in page {
            if there.remove(&key(table, &row)) != Some(hasher.hash_one(&row)) {
                missing.push(row);
            }
        }
        copied += missing.len() as u64;
        to.put(table, missing).await?;
    }
}

/// Result of a comparison.
struct Compared {
    /// Rows that there are.
    rows: u64,
    /// Rows that differ, are missing, or are too many.
    differences: u64,
}

async fn compare(table: &'static Table, from: &dyn Transfer, to: &dyn Transfer) -> Result<Compared, TransferError> {
    let hasher = RandomState::new();
    let mut there = digests(table, to, &hasher).await?;
    let mut compared = Compared { rows: 0, differences: 0 };
    for (key, digest) in digests(table, from, &hasher).await? {
        compared.rows += 1;
        compared.differences += u64::from(there.remove(&key) != Some(digest));
    }
    compared.differences += there.len() as u64;
    Ok(compared)
}

/// Returns the digest of every row by that of its key.
async fn digests(
    table: &'static Table,
    store: &dyn Transfer,
    hasher: &RandomState,
) -> Result<HashMap<Row, u64>, TransferError> {
    let (mut digests, mut after) = (HashMap::new(), None);
    loop {
        let page = store.page(table, after.take(), PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(digests) };
        after = Some(last.clone());
        digests.extend(page.into_iter().map(|(_, row)| (key(table, &row), hasher.hash_one(&row))));
    }
}

fn key(table: &Table, row: &Row) -> Row {
    row[..table.key].to_vec()
}
