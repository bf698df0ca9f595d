//! What a shop elsewhere keeps for this gateway: to whom it belongs, and what its owner is to be told.
//!
//! Only names are kept here. The carts, checkouts and orders are the shop's.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};
use ucp_core::{
    Refusal, Release,
    money::Currency,
    order::{Order, Payment, outbox::Letter},
};

use crate::{Books, ledger::nanoseconds, outbox::queue};

/// To whom something belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The platform: the address of its profile.
    pub platform: String,
    /// The release in which it was served.
    pub release: Release,
}

/// A letter about an order that a shop elsewhere has written.
#[derive(Clone, Debug)]
pub struct Forwarded {
    /// The identifier of the notice: a UUID. What has been queued under it is not queued again.
    pub id: String,
    /// The platform that is told.
    pub owner: String,
    /// The order that it is about.
    pub order: String,
    /// What it says.
    pub letter: Letter,
    /// When it came.
    pub at: Timestamp,
}

fn owner(db: &Connection, kind: &str, id: &str) -> rusqlite::Result<Option<Owner>> {
    db.prepare_cached("SELECT owner, release FROM relayed WHERE kind = ? AND id = ?")?
        .query_row((kind, id), |row| {
            let release: String = row.get(1)?;
            // A release that is not known any more was one of the oldest.
            let release = Release::from_date(&release).unwrap_or(Release::ALL[0]);
            Ok(Owner { platform: row.get(0)?, release })
        })
        .optional()
}

impl Books {
    /// To whom something belongs that a shop elsewhere keeps.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn relayed_owner(&self, kind: &'static str, id: &str) -> Result<Option<Owner>, Refusal> {
        let id = id.to_owned();
        self.read(move |db| owner(db, kind, &id)).await
    }

    /// Remembers to whom something belongs, unless it belongs to somebody, and yields to whom it does. Returns once it is on
    /// disk.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be written.
    pub async fn relayed_claim(
        &self,
        kind: &'static str,
        id: &str,
        claimant: &Owner,
        at: Timestamp,
    ) -> Result<Owner, Refusal> {
        let (id, claimant) = (id.to_owned(), claimant.clone());
        self.write(move |db| {
            let row = (kind, &id, &claimant.platform, claimant.release.date(), nanoseconds(at));
            db.prepare_cached("INSERT OR IGNORE INTO relayed (kind, id, owner, release, at) VALUES (?, ?, ?, ?, ?)")?
                .execute(row)?;
            Ok(owner(db, kind, &id)?.unwrap_or(claimant))
        })
        .await
    }

    /// Queues a letter for the platform that it is for. Whether it is a new one. Returns once it is on disk.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be written.
    pub async fn forward(&self, forwarded: Forwarded) -> Result<bool, Refusal> {
        let new = self
            .write(move |db| {
                let Forwarded { id, owner, order, letter, at } = forwarded;
                let known = db.prepare_cached("SELECT 1 FROM outbox WHERE id = ?")?.exists((&id,))?;
                if known {
                    return Ok(false);
                }
                let order = named(order, owner, at);
                let document = serde_json::to_string(&order)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                let version: i64 = db
                    .prepare_cached("SELECT ifnull(max(order_version), 0) FROM outbox WHERE order_id = ?")?
                    .query_row((&order.id,), |row| row.get(0))?;
                queue(db, &id, &order, version, &document)?;
                db.prepare_cached("UPDATE outbox SET release = ?, body = ? WHERE id = ?")?.execute((
                    letter.release.date(),
                    &letter.body,
                    &id,
                ))?;
                Ok(true)
            })
            .await?;
        if new {
            self.bell().notify_one();
        }
        Ok(new)
    }
}

/// An order of which nothing is kept but its name: what there is to say about it stands in the letter.
fn named(id: String, owner: String, at: Timestamp) -> Order {
    Order {
        id,
        label: String::new(),
        token: String::new(),
        owner,
        checkout_id: String::new(),
        line_items: Vec::new(),
        currency: Currency::USD,
        totals: Vec::new(),
        expectations: Vec::new(),
        events: Vec::new(),
        adjustments: Vec::new(),
        attribution: None,
        payment: Payment {
            handler_id: String::new(),
            attempt_id: String::new(),
            reference: String::new(),
            mandate: None,
        },
        placed_at: at,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ucp_core::order::outbox::{Outbox as _, Wanted};

    use super::*;
    use crate::{Database, Opening};

    fn books(dir: &tempfile::TempDir) -> Books {
        Books::new(Arc::new(
            Database::open_or_create(dir.path(), || Opening::of(crate::tests::market())).expect("a database"),
        ))
    }

    #[tokio::test]
    async fn the_first_who_claims_something_has_it_for_good() {
        let dir = tempfile::tempdir().expect("a directory");
        let owner = |name: &str| Owner { platform: name.to_owned(), release: Release::V2026_01_23 };
        let books_now = books(&dir);
        assert_eq!(books_now.relayed_owner("cart", "c").await.expect("read"), None);
        let claim = |books: &Books, name: &str| {
            let (books, owner) = (books.clone(), owner(name));
            async move { books.relayed_claim("cart", "c", &owner, Timestamp::UNIX_EPOCH).await.expect("written") }
        };
        assert_eq!(claim(&books_now, "a").await, owner("a"));
        assert_eq!(claim(&books_now, "b").await, owner("a"));
        assert_eq!(books_now.relayed_owner("checkout", "c").await.expect("read"), None, "another kind of thing");
        drop(books_now);
        assert_eq!(books(&dir).relayed_owner("cart", "c").await.expect("read"), Some(owner("a")), "after a restart");
    }

    #[tokio::test]
    async fn letters_are_queued_once_and_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let books = books(&dir);
        let letter = |id: &str, body: &str| Forwarded {
            id: id.to_owned(),
            owner: "https://platform.example/p".to_owned(),
            order: "o".to_owned(),
            letter: Letter { release: Release::V2026_04_08, body: body.as_bytes().to_vec() },
            at: Timestamp::UNIX_EPOCH,
        };
        assert!(books.forward(letter("1", "one")).await.expect("written"));
        assert!(!books.forward(letter("1", "again")).await.expect("written"));
        assert!(books.forward(letter("2", "two")).await.expect("written"));
        let now = Timestamp::from_second(60).expect("a time");
        let due = books.due(now, Wanted { per_owner: 8, limit: 8, except: &[] }).await.expect("read");
        assert_eq!(due.iter().map(|due| &*due.id).collect::<Vec<_>>(), ["1"], "one after the other");
        let claim = ucp_core::order::outbox::Claim { claimant: "me".into(), until: Timestamp::MAX };
        let content = books.claim(vec!["1".into()], now, &claim).await.expect("claimed");
        let letter = content.into_iter().next().and_then(|content| content.letter).expect("what was written");
        assert_eq!((letter.release, &*letter.body), (Release::V2026_04_08, &b"one"[..]));
    }
}
