//! Stored data of a catalog that is kept as a copy of one elsewhere: its state, the products that runs have seen, and
//! those that the shop has said to have changed.
//!
//! A step of a run is one transaction: products and the state from which the run goes on are stored together, so that a
//! run that is killed goes on after its last step. Errors are those of the [`Database`].

use std::collections::HashSet;

use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use ucp_core::catalog::market::Market;
use ucp_sqlite::{Put, Rejected, ShopConnection, SqliteStore, StoreError, WriteError, revision::REMOVED};

use crate::{
    database::{Database, Opening},
    import::Change,
    products::{self, Prepared},
};

/// Run of a product that the shop has said to be gone.
const GONE: i64 = -1;

/// Maximum number of changed products that wait to be asked for.
const MOST_CHANGED: i64 = 100_000;

/// Number of products that are removed in one transaction.
const BATCH: i64 = 500;

/// A step of a run.
#[derive(Debug)]
pub struct Step {
    /// Changes that the shop states.
    pub changes: Vec<Change>,
    /// Number of the last full run, which has seen the products.
    pub run: i64,
    /// State of the synchronization after this step, as JSON.
    pub state: String,
    /// Time as of which the shop states it.
    pub as_of: Timestamp,
    /// Number of the question that it answers.
    pub question: i64,
    /// Products that were asked for by name; `None` for a page.
    pub named: Option<ByName>,
}

/// Products that were asked for by name.
#[derive(Debug, Default)]
pub struct ByName {
    /// Products that are sold, and cannot be used.
    pub unusable: Vec<String>,
    /// Changed products that the question was about.
    pub changed: Vec<ChangedProduct>,
}

/// Result of a change in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// The product was stored.
    Put(Put),
    /// The product cannot be stored.
    Rejected(Rejected),
    /// The product was marked as gone.
    Gone,
    /// The product was asked for by name after this was read, and stays as it is.
    Newer,
    /// There is no such product to remove.
    Unknown,
}

/// Products that are gone from a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Those that the shop has said to be gone.
    Stated,
    /// Those that the full run of this number has not seen.
    Since(i64),
}

impl Missing {
    const fn bounds(self) -> (i64, i64) {
        match self {
            Self::Stated => (i64::MIN, GONE),
            Self::Since(run) => (i64::MIN, run - 1),
        }
    }
}

/// A product that the shop has said to have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedProduct {
    seq: i64,
    /// Identifier of the product.
    pub id: String,
}

impl Database {
    /// Opens the shop of a store for a copy of a catalog with this market, or creates it without products. A copy of a
    /// market with other currencies, or another language, is emptied.
    pub fn of_market(store: SqliteStore, market: &Market) -> Result<Self, StoreError> {
        let database = Self::of_or_create(store.clone(), || Opening::of(market.clone()))?;
        let before = database.market();
        if *before == *market {
            return Ok(database);
        }
        let path = store.path().to_owned();
        let text = serde_json::to_string(market).map_err(|error| StoreError::Damaged {
            path,
            what: format!("the shop's market cannot be written ({error})"),
        })?;
        let keeps = before.currency == market.currency
            && before.language == market.language
            && before.currencies.iter().all(|currency| market.trades_in(*currency));
        store.transaction(|db| {
            let shop = db.shop().to_owned();
            let run = |sql: &str| {
                db.execute(sql, [&shop]).map(drop).map_err(|error| StoreError::from(WriteError::from(error)))
            };
            if !keeps {
                tracing::warn!("upstream changed its currencies or language; emptying the copy of its catalog");
                for table in
                    ["synchronised_products", "asked_products", "synchronised", "stock", "identifiers", "products"]
                {
                    run(&format!("DELETE FROM {table} WHERE shop = ?"))?;
                }
                run("UPDATE shop SET identity = lower(hex(randomblob(16))) WHERE shop = ?")?;
            }
            db.execute("UPDATE shop SET market = ? WHERE shop = ?", (&text, &shop)).map_err(WriteError::from)?;
            Ok(())
        })?;
        Self::of(store)
    }

    /// Returns the state of the synchronization, as JSON; `None` if there was no run yet.
    ///
    /// # Errors
    /// [`StoreError`] if the database cannot be read.
    pub fn sync_state(&self) -> Result<Option<String>, StoreError> {
        self.read(|db| {
            db.prepare_cached("SELECT state FROM synchronised WHERE shop = ?")?
                .query_row([db.shop()], |row| row.get(0))
                .optional()
        })
    }

    /// Stores the state of the synchronization. Blocks.
    ///
    /// # Errors
    /// [`WriteError`] if the database failed; then nothing was stored.
    pub fn set_sync_state(&self, state: String) -> Result<(), WriteError> {
        self.store().execute_blocking(move |db| Ok(set_state(db, &state)?))
    }

    /// Begins to keep the catalog as a copy: all products that there are count as not seen by any run. Blocks.
    pub fn begin_sync(&self, state: String) -> Result<(), WriteError> {
        self.store().execute_blocking(move |db| {
            db.execute(
                "INSERT OR IGNORE INTO synchronised_products (shop, product, run) \
                 SELECT shop, seq, 0 FROM products WHERE shop = ? AND document <> ?",
                (db.shop(), REMOVED),
            )?;
            Ok(set_state(db, &state)?)
        })
    }

    /// Carries out a step of a run: one transaction. Products that are gone are marked. The outcomes are in the order of the
    /// changes. Blocks.
    pub fn step(&self, step: Step) -> Result<Vec<Stepped>, WriteError> {
        let market = self.market();
        let Step { changes, run, state, as_of, question, named } = step;
        let mut stepped = vec![Stepped::Unknown; changes.len()];
        let (mut gone, mut sold) = (Vec::new(), Vec::new());
        // Outside the writer: checking and serializing takes most of the time.
        for (place, change) in changes.into_iter().enumerate() {
            match change {
                Change::Put(record) => {
                    let id = record.id.clone();
                    sold.push((place, id, Prepared::new(*record, &market)));
                }
                Change::Remove(id) => gone.push((place, id)),
            }
        }
        self.store().execute_blocking(move |db| {
            let ids = || gone.iter().map(|(_, id)| id).chain(sold.iter().map(|(_, id, _)| id));
            let newer = match &named {
                Some(_) => {
                    let sql = "INSERT OR REPLACE INTO asked_products (shop, id, question) VALUES (?, ?, ?)";
                    let mut note = db.prepare_cached(sql)?;
                    ids().try_for_each(|id| note.execute((db.shop(), id, question)).map(drop))?;
                    HashSet::new()
                }
                None => asked_after(db, question)?,
            };
            for (place, id) in gone {
                stepped[place] = if newer.contains(&id) { Stepped::Newer } else { mark_gone(db, &id)? };
            }
            let (mut places, mut prepared) = (Vec::new(), Vec::new());
            for (place, id, record) in sold {
                if newer.contains(&id) {
                    stepped[place] = Stepped::Newer;
                } else {
                    places.push((place, id));
                    prepared.push(record);
                }
            }
            for ((place, id), outcome) in places.into_iter().zip(products::put(db, prepared, as_of)?.outcomes) {
                // Also what cannot be stored is sold: the last usable statement of it stays.
                saw(db, &id, run)?;
                stepped[place] = outcome.map_or_else(Stepped::Rejected, Stepped::Put);
            }
            let ByName { unusable, changed } = named.unwrap_or_default();
            unusable.iter().try_for_each(|id| saw(db, id, run))?;
            let mut forget = db.prepare_cached("DELETE FROM changed_products WHERE shop = ? AND seq = ?")?;
            for ChangedProduct { seq, .. } in changed {
                forget.execute((db.shop(), seq))?;
            }
            set_state(db, &state)?;
            Ok(stepped)
        })
    }

    /// Returns products that the full run of this number has not seen and the shop has not said to be gone, in the order of
    /// their numbers after `after`, at most `limit`.
    pub fn unseen(&self, run: i64, after: i64, limit: usize) -> Result<Vec<(i64, String)>, StoreError> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT own.product, products.id FROM synchronised_products AS own \
                 JOIN products ON products.seq = own.product \
                 WHERE own.shop = ? AND own.run >= 0 AND own.run < ? AND own.product > ? ORDER BY own.product LIMIT ?",
            )?
            .query_map((db.shop(), run, after, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect()
        })
    }

    /// Counts the products that are gone, and all.
    pub fn missing(&self, missing: Missing) -> Result<(u64, u64), StoreError> {
        let (from, to) = missing.bounds();
        let counted = self.read(|db| {
            db.query_row(
                "SELECT count(*) FILTER (WHERE run BETWEEN ? AND ?), count(*) FROM synchronised_products WHERE shop = ?",
                (from, to, db.shop()),
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
            )
        })?;
        Ok((counted.0.unsigned_abs(), counted.1.unsigned_abs()))
    }

    /// Removes the products that are gone, some at a time, and returns their number. Blocks. Fails with [`WriteError`]
    /// if the database failed; what was removed before stays removed.
    pub fn remove_missing(&self, missing: Missing) -> Result<u64, WriteError> {
        let (from, to) = missing.bounds();
        let mut removed = 0;
        loop {
            let some = self.store().execute_blocking(move |db| {
                let ids: Vec<String> = db
                    .prepare_cached(
                        "SELECT products.id FROM synchronised_products AS own JOIN products ON products.seq = own.product \
                         WHERE own.shop = ? AND own.run BETWEEN ? AND ? LIMIT ?",
                    )?
                    .query_map((db.shop(), from, to, BATCH), |row| row.get(0))?
                    .collect::<rusqlite::Result<_>>()?;
                for id in &ids {
                    remove(db, id)?;
                }
                Ok(ids.len() as u64)
            })?;
            removed += some;
            if some == 0 {
                return Ok(removed);
            }
        }
    }

    /// Stores the identifiers of products that the shop has said to have changed, with the state of the synchronization if that
    /// changes too. Returns `false` if too many wait; then nothing was stored. Blocks.
    pub fn add_changed(&self, ids: Vec<String>, state: Option<String>) -> Result<bool, WriteError> {
        self.store().execute_blocking(move |db| {
            let waiting: i64 =
                db.query_row("SELECT count(*) FROM changed_products WHERE shop = ?", [db.shop()], |row| row.get(0))?;
            if waiting.saturating_add(i64::try_from(ids.len()).unwrap_or(i64::MAX)) > MOST_CHANGED {
                return Ok(false);
            }
            // With a new number, so that what is being asked for now is asked for again.
            let mut insert = db.prepare_cached("INSERT OR REPLACE INTO changed_products (shop, id) VALUES (?, ?)")?;
            for id in &ids {
                insert.execute((db.shop(), id))?;
            }
            if let Some(state) = state {
                set_state(db, &state)?;
            }
            Ok(true)
        })
    }

    /// Returns the changed products that wait longest, at most `limit`.
    pub fn changed(&self, limit: usize) -> Result<Vec<ChangedProduct>, StoreError> {
        self.read(|db| {
            db.prepare_cached("SELECT seq, id FROM changed_products WHERE shop = ? ORDER BY seq LIMIT ?")?
                .query_map((db.shop(), i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
                    Ok(ChangedProduct { seq: row.get(0)?, id: row.get(1)? })
                })?
                .collect()
        })
    }

    /// Returns the number of the newest product that the shop has said to have changed and that waits, for
    /// [`forget_changed`](Self::forget_changed).
    pub fn newest_changed(&self) -> Result<i64, StoreError> {
        self.read(|db| {
            db.prepare_cached("SELECT ifnull(max(seq), 0) FROM changed_products WHERE shop = ?")?
                .query_row([db.shop()], |row| row.get(0))
        })
    }

    /// Forgets the products that the shop has said to have changed, up to a number. Blocks.
    pub fn forget_changed(&self, newest: i64) -> Result<(), WriteError> {
        self.store().execute_blocking(move |db| {
            db.execute("DELETE FROM changed_products WHERE shop = ? AND seq <= ?", (db.shop(), newest))?;
            Ok(())
        })
    }

    fn read<T>(&self, read: impl FnOnce(ShopConnection<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let path = || self.store().path().to_owned();
        self.store().snapshot(read).map_err(|source| StoreError::Open { path: path(), source })
    }
}

fn set_state(db: ShopConnection<'_>, state: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO synchronised (shop, state) VALUES (?, ?) ON CONFLICT (shop) DO UPDATE SET state = excluded.state",
    )?
    .execute((db.shop(), state))
    .map(drop)
}

/// Marks a product as seen by a run.
fn saw(db: ShopConnection<'_>, id: &str, run: i64) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO synchronised_products (shop, product, run) \
         SELECT shop, seq, ? FROM products WHERE shop = ? AND id = ? AND document <> ? \
         ON CONFLICT (shop, product) DO UPDATE SET run = excluded.run",
    )?
    .execute((run, db.shop(), id, REMOVED))
    .map(drop)
}

/// Returns the products that were asked for by name after a question, and forgets those that were asked for before: every
/// later page is newer.
fn asked_after(db: ShopConnection<'_>, question: i64) -> rusqlite::Result<HashSet<String>> {
    db.prepare_cached("DELETE FROM asked_products WHERE shop = ? AND question < ?")?.execute((db.shop(), question))?;
    db.prepare_cached("SELECT id FROM asked_products WHERE shop = ?")?
        .query_map([db.shop()], |row| row.get(0))?
        .collect()
}

fn mark_gone(db: ShopConnection<'_>, id: &str) -> rusqlite::Result<Stepped> {
    let marked = db
        .prepare_cached(
            "UPDATE synchronised_products SET run = ? \
             WHERE shop = ? AND product = (SELECT seq FROM products WHERE shop = ? AND id = ?)",
        )?
        .execute((GONE, db.shop(), db.shop(), id))?;
    Ok(if marked > 0 { Stepped::Gone } else { Stepped::Unknown })
}

fn remove(db: ShopConnection<'_>, id: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "DELETE FROM synchronised_products WHERE shop = ? AND product = (SELECT seq FROM products WHERE shop = ? AND id = ?)",
    )?
    .execute((db.shop(), db.shop(), id))?;
    products::remove(db, &[id.to_owned()]).map(drop)
}
