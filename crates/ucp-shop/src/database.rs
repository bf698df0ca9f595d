//! The products, the market and the terms of a shop in its store.
//!
//! A shop exists once its row of table `shop` does, and that row is committed together with the first products, so that
//! there is never half a shop.

use std::{path::Path, sync::Arc};

use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use serde::{Serialize, de::DeserializeOwned};
use ucp_core::{
    catalog::{market::Market, record::Record},
    pricing::terms::Terms,
};
use ucp_sqlite::{Put, Rejected, ShopConnection, SqliteStore, StoreError, WriteError};

use crate::{
    index::Synonyms,
    products::{self, Prepared, Stored},
    synonyms,
};

/// A shop in its store, as an import needs it: it reads and writes, but answers no catalog calls and has no index.
///
/// A running [`EmbeddedShop`](crate::EmbeddedShop) on the same directory, in any process, notices what is written here by itself.
///
/// Opening and reading fail with [`StoreError`] if the database cannot be read, writing with [`WriteError`] or [`StoreError`]:
/// then nothing was stored.
#[derive(Debug)]
pub struct Database {
    identity: String,
    pub(crate) market: Arc<Market>,
    terms: Arc<Terms>,
    store: SqliteStore,
}

/// Content of a new shop.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Languages, currencies and other facts of its market.
    pub market: Market,
    /// Terms of sale.
    pub terms: Terms,
    /// Products.
    pub records: Vec<Record>,
    /// Writes other initial content in the same transaction.
    pub beside: fn(ShopConnection<'_>) -> Result<(), StoreError>,
}

impl Opening {
    /// Returns a shop without products, on the default terms.
    pub fn of(market: Market) -> Self {
        Self { market, terms: Terms::default(), records: Vec::new(), beside: |_| Ok(()) }
    }
}

impl Database {
    /// Opens the default shop in `data_dir`. Fails with [`StoreError::Missing`] if there is none; other [`StoreError`]s
    /// if it cannot be opened.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        Self::of(SqliteStore::open(data_dir)?)
    }

    /// Opens the default shop in `data_dir`, or creates it with the content that `fill` returns if there is none.
    pub fn open_or_create(data_dir: &Path, fill: impl FnOnce() -> Opening) -> Result<Self, StoreError> {
        Self::of_or_create(SqliteStore::open_or_create(data_dir)?, fill)
    }

    /// Opens the shop of a store, or creates it with the content that `fill` returns if there is none.
    ///
    /// The shop and its products appear in one transaction: a process that is killed in the middle leaves no shop, and
    /// of two processes that try at once one creates it and the other opens it.
    pub fn of_or_create(store: SqliteStore, fill: impl FnOnce() -> Opening) -> Result<Self, StoreError> {
        let open = |source| StoreError::Open { path: store.path().to_owned(), source };
        if !store.snapshot(exists).map_err(open)? {
            create(&store, fill())?;
        }
        Self::of(store)
    }

    /// Opens the shop of a store. Fails with [`StoreError::Missing`] if there is none; other [`StoreError`]s if it
    /// cannot be opened.
    pub fn of(store: SqliteStore) -> Result<Self, StoreError> {
        let path = store.path();
        let row = |db: ShopConnection<'_>| {
            let row = db.query_row("SELECT identity, market, terms FROM shop WHERE shop = ?", [db.shop()], |row| {
                Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            });
            row.optional()
        };
        let row = store.snapshot(row).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        let Some((identity, market, terms)) = row else {
            return Err(StoreError::Missing { path: path.to_owned() });
        };
        let market = Arc::new(readable(path, "market", &market)?);
        let terms = Arc::new(readable(path, "terms", &terms)?);
        Ok(Self { identity, market, terms, store })
    }

    /// Returns the shop's market.
    pub fn market(&self) -> Arc<Market> {
        Arc::clone(&self.market)
    }

    /// Returns the terms of sale as of the opening of the shop.
    pub fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms)
    }

    /// Reads the terms of sale as they are stored now. Blocks.
    pub fn stored_terms(&self) -> Result<Terms, StoreError> {
        let path = self.store.path();
        let sql = "SELECT terms FROM shop WHERE shop = ?";
        let read = self.store.snapshot(|db| db.query_row(sql, [db.shop()], |row| row.get::<_, String>(0)));
        readable(path, "terms", &read.map_err(|source| StoreError::Open { path: path.to_owned(), source })?)
    }

    /// Stores other terms of sale, which hold once a gateway has opened the shop again or reloaded its configuration. For callers outside an async runtime;
    /// [`Terms::check`] validates terms.
    pub fn set_terms_blocking(&self, terms: &Terms) -> Result<(), StoreError> {
        let text = writable(self.store.path(), "terms", terms)?;
        let set = move |db: ShopConnection<'_>| {
            db.execute("UPDATE shop SET terms = ? WHERE shop = ?", (text, db.shop())).map(drop)
        };
        Ok(self.store.execute_blocking(move |db| Ok(set(db)?))?)
    }

    /// Stores other synonyms, in place of those that were imported before. For callers outside an async runtime. A running gateway
    /// uses them a moment later.
    pub fn set_synonyms_blocking(&self, synonyms: &Synonyms) -> Result<(), WriteError> {
        let text = synonyms.text().to_owned();
        self.store.execute_blocking(move |db| Ok(synonyms::write(db, &text)?))
    }

    /// Stores products as of a time: one transaction for all of them. The outcomes are in the order of `records`.
    ///
    /// A product whose id the shop knows is updated in place. A product that cannot be stored is rejected as a whole
    /// and does not affect the others. A stock number that is stated as before changes nothing; of another one, what is held
    /// for payments and what was sold after `as_of` is subtracted.
    pub async fn put(&self, records: Vec<Record>, as_of: Timestamp) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
        let market = self.market();
        // Checking and serializing keeps a thread busy.
        let prepared = tokio::task::spawn_blocking(move || prepare(records, &market)).await;
        let prepared = prepared.map_err(|_| WriteError::Panicked)?;
        self.store.execute(move |db| Ok(products::put(db, prepared, as_of)?.outcomes)).await
    }

    /// As [`put`](Self::put), for callers outside an async runtime.
    pub fn put_blocking(&self, records: Vec<Record>, as_of: Timestamp) -> Result<Stored, WriteError> {
        let prepared = prepare(records, &self.market);
        self.store.execute_blocking(move |db| products::put(db, prepared, as_of))
    }

    /// Removes products: one transaction for all of them. Returns for each identifier whether there was such a product.
    /// For callers outside an async runtime.
    pub fn remove_blocking(&self, ids: Vec<String>) -> Result<Vec<bool>, WriteError> {
        self.store.execute_blocking(move |db| Ok(products::remove(db, &ids)?))
    }

    /// Returns the identifiers of all products, in no particular order.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        self.store
            .snapshot(products::ids)
            .map_err(|source| StoreError::Open { path: self.store.path().to_owned(), source })
    }

    /// Returns the store of the shop.
    pub const fn store(&self) -> &SqliteStore {
        &self.store
    }

    /// Returns the random identity of the shop's content: a search index with another one was made from other products.
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

fn exists(db: ShopConnection<'_>) -> rusqlite::Result<bool> {
    db.query_row("SELECT count(*) > 0 FROM shop WHERE shop = ?", [db.shop()], |row| row.get(0))
}

fn create(store: &SqliteStore, opening: Opening) -> Result<(), StoreError> {
    let Opening { market, terms, records, beside } = opening;
    let ids: Vec<_> = records.iter().map(|record| record.id.clone()).collect();
    let prepared = prepare(records, &market);
    let mut identity = [0; 16];
    getrandom::fill(&mut identity).map_err(StoreError::Random)?;
    let identity: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    let (market, terms) = (writable(store.path(), "market", &market)?, writable(store.path(), "terms", &terms)?);
    store.transaction(|db| {
        if exists(db).map_err(WriteError::from)? {
            return Ok(());
        }
        db.execute(
            "INSERT INTO shop (shop, identity, market, terms) VALUES (?, ?, ?, ?)",
            (db.shop(), identity, market, terms),
        )
        .map_err(WriteError::from)?;
        // Before any sale.
        let stored = products::put(db, prepared, Timestamp::UNIX_EPOCH)?;
        StoreError::unfit(ids.into_iter().zip(stored.outcomes))?;
        beside(db)
    })
}
