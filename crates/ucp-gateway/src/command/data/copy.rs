//! `data copy`: moves a shop between a data directory and a PostgreSQL database, either way.
//!
//! A copy never undoes what was written since. Its target remembers it: until it is finished, no gateway serves the shop from there,
//! and the same command goes on with it; from then on both sides are compared and nothing is written. Gateways on either side are
//! seen by the lock of the data directory, and by what they write into the database.
//!
//! Rows are copied in the order in which they were made, those that are there already in the same form are left alone, and those that
//! the origin no longer has are removed. In the end both sides are read again and compared row by row.

use std::{
    collections::{HashMap, hash_map::RandomState},
    error::Error,
    fs,
    hash::BuildHasher as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use tokio::runtime::Runtime;
use ucp_config::{DatabaseAddress, database_at};
use ucp_core::{
    ShopId,
    ports::transfer::{CopyMark, Row, TABLES, Table, Transfer, TransferError},
};
use ucp_host::{
    backend::products,
    machine::{Claims, WATCHED},
    progress::spinner,
};
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
    /// such a URL. No gateway may be running on it.
    #[arg(long, value_name = "PLACE")]
    from: DatabaseAddress,
    /// Target in the same forms: without sales of its own, or left by an interrupted copy. No gateway may be running on it.
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
        (runtime, claims): (&Runtime, &Claims),
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
            None => {
                owner::keep(path);
                if is_new || path.is_dir() {
                    wait(runtime, claims.alone(path))?;
                }
                Self::Directory(match is_new {
                    true => SqliteStore::open_or_create(path)?.of(shop.clone())?,
                    false => in_directory(path, shop)?,
                })
            }
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

/// The sides of a copy.
struct Copy {
    from: Side,
    to: Side,
}

pub(crate) fn run(options: &TransferOptions) -> Done {
    let (runtime, claims) = (runtime(1)?, Claims::default());
    let from = Side::open(options, &options.from, false, (&runtime, &claims))?;
    let to = Side::open(options, &options.to, true, (&runtime, &claims))?;
    wait(&runtime, Copy { from, to }.run())
}

impl Copy {
    async fn run(&self) -> Done {
        if matches!(
            (&self.from, &self.to),
            (Side::Directory(_), Side::Directory(_)) | (Side::Database(_), Side::Database(_))
        ) {
            return Err("one side must be a data directory, the other one a PostgreSQL database".into());
        }
        let (source, target) = (self.from.transfer(), self.to.transfer());
        let (from, to) = (self.from.place(), self.to.place());
        let (from, to) = (from.display(), to.display());
        if source.copy_mark().await.map_err(boxed)?.is_some_and(|mark| !mark.is_finished) {
            return Err(format!("{from} is the target of a copy that is not finished: finish that first").into());
        }
        let seen = self.check_unused().await?;
        let mark = target.copy_mark().await.map_err(boxed)?;
        let is_finished = mark.as_ref().is_some_and(|mark| mark.is_finished);
        match &mark {
            // What was sealed by the one can be opened by the other, from the beginning of a copy on.
            Some(CopyMark { origin, .. })
                if source.secret().await.map_err(boxed)? != target.secret().await.map_err(boxed)? =>
            {
                return Err(format!(
                    "{to} is the target of a copy from {origin}, which is another shop: choose an empty one"
                )
                .into());
            }
            Some(_) => {}
            None => {
                self.check_empty(&*target).await?;
                let mark = CopyMark { origin: from.to_string(), is_finished: false };
                target.mark_copy(mark).await.map_err(boxed)?;
                let secret = source.secret().await.map_err(boxed)?;
                target.set_secret(secret).await.map_err(boxed)?;
            }
        }
        // Also after the mark, which a gateway that starts looks for once it can be seen.
        if self.seen().await? > seen {
            return Err(self.used().into());
        }
        let progress = spinner("copying the products");
        let products = match is_finished {
            true => self.products_in_common().await?,
            false => Some(self.copy_products().await?),
        };
        progress.finish_and_clear();
        let mut differing = 0;
        match products {
            Some(products) => say!("products: {products}"),
            None => {
                say!("products: they differ");
                differing += 1;
            }
        }
        for table in TABLES {
            let progress = spinner(table.name);
            let copied = if is_finished { 0 } else { copy(table, &*source, &*target).await.map_err(boxed)? };
            let Compared { rows, differences } = compare(table, &*source, &*target).await.map_err(boxed)?;
            progress.finish_and_clear();
            say!("{}: {rows} rows, {copied} copied, {differences} differ", table.name);
            differing += differences;
        }
        if is_finished && differing > 0 {
            remark!(
                "The copy from {from} to {to} was finished before, and one of them was written since. Nothing was copied: that would undo \
                 it. Choose an empty target to copy once more."
            );
            return Ok(ExitCode::FAILURE);
        }
        if differing > 0 || self.seen().await? > seen {
            remark!(
                "The copy is not finished: {differing} rows differ. Something wrote meanwhile, or identifiers are longer than 480 bytes. \
                 Run it again while no gateway is running, which goes on with it."
            );
            return Ok(ExitCode::FAILURE);
        }
        if is_finished {
            say!("The copy was finished before, and nothing was written since.");
        } else {
            target.mark_copy(CopyMark { origin: from.to_string(), is_finished: true }).await.map_err(boxed)?;
        }
        say!("{to} holds what {from} does, row by row.");
        if !is_finished {
            say!(
                "Not copied: the configuration and the files that it names, signing keys, and the operator's decisions with their log."
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Checks that the target has no sales, and the products of no other shop.
    async fn check_empty(&self, target: &dyn Transfer) -> Result<(), Box<dyn Error>> {
        let place = self.to.place();
        for table in TABLES {
            if !target.page(table, None, 1).await.map_err(boxed)?.is_empty() {
                return Err(format!(
                    "{} has {} of its own, which a copy would mix with those of another place: choose an empty one",
                    place.display(),
                    table.name
                )
                .into());
            }
        }
        let fits = match (&self.from, &self.to) {
            (Side::Directory(from), Side::Database(to)) => products::fits_database(from, to).await?,
            (Side::Database(from), Side::Directory(to)) => products::fits_directory(from, to).await?,
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("{} holds another shop: choose an empty place", place.display()).into()) }
    }

    /// Checks that no gateway serves the shop from a database. Returns when one was last seen.
    async fn check_unused(&self) -> Result<Option<i64>, Box<dyn Error>> {
        let first = self.seen().await?;
        if first.is_none() {
            return Ok(None);
        }
        let progress = spinner("watching whether a gateway is running");
        let begun = Instant::now();
        while begun.elapsed() < WATCHED {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if self.seen().await? > first {
                return Err(self.used().into());
            }
        }
        progress.finish_and_clear();
        Ok(first)
    }

    fn used(&self) -> String {
        format!("a gateway is serving the shop from {}: stop it first", self.database().place().display())
    }

    /// Returns when a gateway was last seen that serves the shop from the database.
    async fn seen(&self) -> Result<Option<i64>, Box<dyn Error>> {
        match self.database() {
            Side::Database(store) => Ok(store.last_beat().await?),
            Side::Directory(_) => Ok(None),
        }
    }

    /// The side in a database.
    const fn database(&self) -> &Side {
        match &self.from {
            Side::Database(_) => &self.from,
            Side::Directory(_) => &self.to,
        }
    }

    async fn copy_products(&self) -> Result<usize, Box<dyn Error>> {
        match (&self.from, &self.to) {
            (Side::Directory(from), Side::Database(to)) => products::to_database(from, to).await,
            (Side::Database(from), Side::Directory(to)) => products::to_directory(from, to).await,
            _ => Ok(0),
        }
    }

    async fn products_in_common(&self) -> Result<Option<usize>, Box<dyn Error>> {
        match (&self.from, &self.to) {
            (Side::Directory(directory), Side::Database(database))
            | (Side::Database(database), Side::Directory(directory)) => products::in_common(directory, database).await,
            _ => Ok(None),
        }
    }
}

fn boxed(error: TransferError) -> Box<dyn Error> {
    error
}

/// Copies the rows of a table that are not there in the same form, and removes those that are too many. Returns the number of
/// copied ones.
async fn copy(table: &'static Table, from: &dyn Transfer, to: &dyn Transfer) -> Result<u64, TransferError> {
    let hasher = RandomState::new();
    let mut there = digests(table, to, &hasher).await?;
    let (mut copied, mut after) = (0, None);
    loop {
        let page = from.page(table, after.take(), PAGE).await?;
        let Some((last, _)) = page.last() else { break };
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
    // The origin has lived since the copy began.
    to.remove(table, there.into_keys().collect()).await?;
    Ok(copied)
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
