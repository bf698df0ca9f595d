//! The shop's part of a store: its products, its market and its terms.
//!
//! A shop exists once the row of table `shop` does, and that row is committed together with the goods it starts with,
//! so that there is never half a shop.

use std::{path::Path, sync::Arc};

use rusqlite::{Connection, OptionalExtension as _};
use serde::{Serialize, de::DeserializeOwned};
use ucp_core::{
    catalog::{market::Market, record::Record},
    purchase::terms::Terms,
};
use ucp_sqlite::{Put, Rejected, SqliteStore, StoreError, WriteError};

use crate::products::{self, Prepared};

/// The shop in a store.
///
/// This is what an import needs: it reads and writes, but answers no catalog calls and keeps no index. A running
/// [`Shop`](crate::Shop) on the same directory, in any process, notices what is written here by itself.
#[derive(Debug)]
pub struct Database {
    identity: String,
    pub(crate) market: Arc<Market>,
    terms: Arc<Terms>,
    store: SqliteStore,
}

/// What a new shop starts with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// What it speaks and trades in.
    pub market: Market,
    /// On what terms it sells.
    pub terms: Terms,
    /// Its goods.
    pub records: Vec<Record>,
    /// Writes what else is there from the start, in the same transaction.
    pub beside: fn(&Connection) -> Result<(), StoreError>,
}

impl Opening {
    /// A shop without goods, on the terms that hold where nothing is said.
    #[must_use]
    pub fn of(market: Market) -> Self {
        Self { market, terms: Terms::default(), records: Vec::new(), beside: |_| Ok(()) }
    }
}

impl Database {
    /// Opens the shop in `data_dir`.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none; otherwise why it cannot be opened.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        Self::of(SqliteStore::open(data_dir)?)
    }

    /// Opens the shop in `data_dir`, or creates it with what `fill` says if there is none.
    ///
    /// The shop and its goods appear in one transaction: whoever is killed in the middle leaves no shop, and of two
    /// processes that try at once one creates it and the other one opens it.
    ///
    /// # Errors
    /// Why it can neither be opened nor created.
    pub fn open_or_create(data_dir: &Path, fill: impl FnOnce() -> Opening) -> Result<Self, StoreError> {
        let store = SqliteStore::open_or_create(data_dir)?;
        let open = |source| StoreError::Open { path: store.path().to_owned(), source };
        if !store.readers().read(exists).map_err(open)? {
            create(&store, fill())?;
        }
        Self::of(store)
    }

    /// The shop of an open store.
    fn of(store: SqliteStore) -> Result<Self, StoreError> {
        let path = store.path();
        let row = |db: &Connection| {
            let row = db.query_row("SELECT identity, market, terms FROM shop", (), |row| {
                Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            });
            row.optional()
        };
        let row = store.readers().read(row).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        let Some((identity, market, terms)) = row else {
            return Err(StoreError::Missing { path: path.to_owned() });
        };
        let market = Arc::new(readable(path, "market", &market)?);
        let terms = Arc::new(readable(path, "terms", &terms)?);
        Ok(Self { identity, market, terms, store })
    }

    /// What the shop speaks and trades in.
    #[must_use]
    pub fn market(&self) -> Arc<Market> {
        Arc::clone(&self.market)
    }

    /// On what terms the shop sells, as they were when it was opened.
    #[must_use]
    pub fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms)
    }

    /// Sells on other terms, from the next time the shop is opened on. For callers outside an async runtime; whether
    /// the terms make sense is for [`Terms::check`] to say before.
    ///
    /// # Errors
    /// Nothing was stored, because the database failed.
    pub fn set_terms_blocking(&self, terms: &Terms) -> Result<(), StoreError> {
        let text = writable(self.store.path(), "terms", terms)?;
        let set = move |db: &Connection| db.execute("UPDATE shop SET terms = ?", [text]).map(drop);
        Ok(self.store.writer().call_blocking(move |db| Ok(set(db)?))?)
    }

    /// Stores products: one transaction for all of them. The outcomes are in the order of `records`.
    ///
    /// A product whose id the shop knows is updated in place. A product that cannot be stored is rejected as a whole
    /// and does not affect the others.
    ///
    /// # Errors
    /// Nothing was stored, because the database failed.
    pub async fn put(&self, records: Vec<Record>) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
        let market = self.market();
        // Checking and serialising keeps a thread busy.
        let prepared = tokio::task::spawn_blocking(move || prepare(records, &market)).await;
        let prepared = prepared.map_err(|_| WriteError::Panicked)?;
        self.store.writer().call(move |db| products::put(db, prepared)).await
    }

    /// The same for callers outside an async runtime.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_blocking(&self, records: Vec<Record>) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
        let prepared = prepare(records, &self.market);
        self.store.writer().call_blocking(move |db| products::put(db, prepared))
    }

    /// The store that the shop is in.
    #[must_use]
    pub const fn store(&self) -> &SqliteStore {
        &self.store
    }

    /// Names the shop: a search index of another one was made from other products.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }
}

/// Reads a column of table `shop`.
fn readable<T: DeserializeOwned>(path: &Path, what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("the shop's {what} in it cannot be read ({error})"),
    })
}

fn writable<T: Serialize>(path: &Path, what: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("the shop's {what} cannot be written ({error})"),
    })
}

fn prepare(records: Vec<Record>, market: &Market) -> Vec<Result<Prepared, Rejected>> {
    records.into_iter().map(|record| Prepared::new(record, market)).collect()
}

fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) > 0 FROM shop", (), |row| row.get(0))
}

fn create(store: &SqliteStore, opening: Opening) -> Result<(), StoreError> {
    let Opening { market, terms, records, beside } = opening;
    let ids: Vec<_> = records.iter().map(|record| record.id.clone()).collect();
    let prepared = prepare(records, &market);
    let mut identity = [0; 16];
    getrandom::fill(&mut identity).map_err(StoreError::Random)?;
    let identity: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    let row = (identity, writable(store.path(), "market", &market)?, writable(store.path(), "terms", &terms)?);
    store.transaction(|db| {
        if exists(db).map_err(WriteError::from)? {
            return Ok(());
        }
        db.execute("INSERT INTO shop (id, identity, market, terms) VALUES (1, ?, ?, ?)", row)
            .map_err(WriteError::from)?;
        StoreError::unfit(ids.into_iter().zip(products::put(db, prepared)?))?;
        beside(db)
    })
}
