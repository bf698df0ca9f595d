//! A shop whose products come from elsewhere: a copy of what several gateways share, to search and to read from.
//!
//! Products keep the places and the numbers that they have there. So a cursor means the same in every copy, and the newest
//! revision of a copy is the number up to which it has followed. Errors are those of the [`Database`].

use std::collections::HashMap;

use rusqlite::OptionalExtension as _;
use ucp_core::ports::shared::{SharedProduct, SharedShop, SharedStock};
use ucp_sqlite::{
    ShopConnection, SqliteStore, StoreError, WriteError,
    revision::{REMOVED, newest_revision},
};

use crate::{
    database::Database,
    products::{self, parse},
    synonyms,
};

/// Makes the shop of a store a copy of a shared one, which is filled by [`Database::replicate`]. Fails with
/// [`StoreError::Damaged`] if the store has another shop; other [`StoreError`]s if it cannot be written.
pub fn adopt(store: &SqliteStore, shop: &SharedShop) -> Result<(), StoreError> {
    let SharedShop { identity, market, terms, synonyms } = shop;
    store.transaction(|db| {
        let adopted = |db: ShopConnection<'_>| {
            db.execute(
                "INSERT INTO shop (shop, identity, market, terms) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (shop) DO UPDATE SET market = ?3, terms = ?4 WHERE identity = ?2",
                (db.shop(), identity, market, terms),
            )
        };
        match adopted(db).map_err(WriteError::from)? {
            1 => Ok(synonyms::write(db, synonyms).map_err(WriteError::from)?),
            _ => Err(StoreError::Damaged {
                path: store.path().to_owned(),
                what:
                    "it holds another shop than the one that gateways share in the database: start with an empty data \
                       directory, or copy this shop into an empty database with `ucp-gateway data copy`"
                        .to_owned(),
            }),
        }
    })
}

/// Empties a copy, which has to follow from the beginning.
pub fn restart(store: &SqliteStore) -> Result<(), StoreError> {
    store.transaction(|db| {
        for table in ["stock", "identifiers", "products"] {
            db.execute(&format!("DELETE FROM {table} WHERE shop = ?"), [db.shop()]).map_err(WriteError::from)?;
        }
        Ok(())
    })
}

/// Makes products that are new in a store take places above a number. Has an effect before there are any.
pub fn begin_places_at(store: &SqliteStore, place: i64) -> Result<(), StoreError> {
    store.transaction(|db| {
        let begun = db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('products', ?)", [place]);
        Ok(begun.map(drop).map_err(WriteError::from)?)
    })
}

impl Database {
    /// Returns the shop as others can share it.
    pub fn shared(&self) -> Result<SharedShop, StoreError> {
        let read = self.store().snapshot(|db| {
            db.query_row("SELECT identity, market, terms FROM shop WHERE shop = ?", [db.shop()], |row| {
                let synonyms = synonyms::read(db)?;
                Ok(SharedShop { identity: row.get(0)?, market: row.get(1)?, terms: row.get(2)?, synonyms })
            })
        });
        read.map_err(|source| StoreError::Open { path: self.store().path().to_owned(), source })
    }

    /// Returns all products as others can share them, also those that were removed, in the order of their places.
    pub fn shared_products(&self) -> Result<Vec<SharedProduct>, StoreError> {
        let read = self.store().snapshot(|db| {
            let mut stock = db.prepare(
                "SELECT variant, quantity, owed, stated, stated_at FROM stock WHERE shop = ? AND product = ? ORDER BY variant",
            )?;
            let mut products =
                db.prepare("SELECT id, seq, revision, document FROM products WHERE shop = ? ORDER BY seq")?;
            let rows = products.query_map([db.shop()], |row| {
                let place: i64 = row.get(1)?;
                let stock = stock.query_map((db.shop(), place), |row| {
                    Ok(SharedStock {
                        variant: row.get(0)?,
                        quantity: row.get(1)?,
                        owed: row.get(2)?,
                        stated: row.get(3)?,
                        stated_at: row.get(4)?,
                    })
                })?;
                Ok(SharedProduct {
                    id: row.get(0)?,
                    place,
                    number: row.get(2)?,
                    document: row.get(3)?,
                    stock: stock.collect::<Result<_, _>>()?,
                })
            });
            rows?.collect()
        });
        read.map_err(|source| StoreError::Open { path: self.store().path().to_owned(), source })
    }

    /// Returns the number up to which the copy has followed.
    pub fn followed(&self) -> Result<i64, StoreError> {
        self.store()
            .snapshot(newest_revision)
            .map_err(|source| StoreError::Open { path: self.store().path().to_owned(), source })
    }

    /// Returns the number up to which the copy has followed, with the documents that changed under it by their identifiers.
    pub fn last_followed(&self) -> Result<(i64, HashMap<String, String>), StoreError> {
        let read = self.store().snapshot(|db| {
            let number = newest_revision(db)?;
            let mut products = db.prepare("SELECT id, document FROM products WHERE shop = ? AND revision = ?")?;
            let rows = products.query_map((db.shop(), number), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok((number, rows.collect::<rusqlite::Result<_>>()?))
        });
        read.map_err(|source| StoreError::Open { path: self.store().path().to_owned(), source })
    }

    /// Stores the synonyms as they are elsewhere.
    pub async fn replicate_synonyms(&self, text: String) -> Result<(), WriteError> {
        self.store().execute(move |db| Ok(synonyms::write(db, &text)?)).await
    }

    /// Stores products as they are elsewhere, in one transaction. A number is followed as a whole: `products` holds all that
    /// changed under it.
    pub async fn replicate(&self, products: Vec<SharedProduct>) -> Result<(), WriteError> {
        let write = move |db: ShopConnection<'_>| products.iter().try_for_each(|product| replicate(db, product));
        self.store().execute(move |db| Ok(write(db)?)).await
    }
}

fn replicate(db: ShopConnection<'_>, product: &SharedProduct) -> rusqlite::Result<()> {
    let SharedProduct { id, place, number, document, stock } = product;
    let stored: Option<(i64, String)> = db
        .prepare_cached("SELECT seq, document FROM products WHERE shop = ? AND id = ?")?
        .query_row((db.shop(), id), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let before = stored.map(|(_, document)| document).unwrap_or_default();
    db.prepare_cached(
        "INSERT INTO products (seq, shop, id, revision, document) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (shop, id) DO UPDATE SET revision = excluded.revision, document = excluded.document",
    )?
    .execute((place, db.shop(), id, number, document))?;
    if before != *document {
        let is_there = |document: &str| !document.is_empty() && document != REMOVED;
        if is_there(&before) {
            products::forget_names(db, *place, &parse(&before, None)?)?;
        }
        if is_there(document) {
            products::note_names(db, *place, &parse(document, None)?)?;
        }
    }
    db.prepare_cached("DELETE FROM stock WHERE product = ? AND shop = ?")?.execute((place, db.shop()))?;
    // A variant that was another product's until now.
    let mut insert = db.prepare_cached(
        "INSERT INTO stock (shop, variant, product, quantity, owed, stated, stated_at) VALUES (?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (shop, variant) DO UPDATE SET product = excluded.product, quantity = excluded.quantity, \
         owed = excluded.owed, stated = excluded.stated, stated_at = excluded.stated_at",
    )?;
    stock.iter().try_for_each(|stock| {
        let SharedStock { variant, quantity, owed, stated, stated_at } = stock;
        insert.execute((db.shop(), variant, place, quantity, owed, stated, stated_at)).map(drop)
    })
}
