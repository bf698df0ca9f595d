//! What a shop elsewhere keeps for this gateway: to whom it belongs, and what its owner is to be told.
//!
//! Only names are kept here. The carts, checkouts and orders are the shop's.
//!
//! A name is kept for as long as what it names is alive, and for a good while after that: carts and checkouts for 30 days,
//! orders for three years, counted from when they were last heard of. Of carts and checkouts there are a million each at most,
//! and the oldest make room; orders cost money, and are not crowded out.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};
use ucp_core::{
    Refusal, Release,
    money::Currency,
    order::{Order, Payment, outbox::Letter},
};

use crate::{
    Books,
    ledger::BATCH,
    sqlite::notices::queue,
    time::{nanoseconds, timestamp},
};

/// To whom something belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The platform: the address of its profile.
    pub platform: String,
    /// The release in which it was served.
    pub release: Release,
    /// Whether it was made with mandates negotiated.
    pub mandates: bool,
}

/// How long carts and checkouts are remembered that are not alive any more.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How long orders are remembered that nobody heard of any more.
const ORDERS_FOR: SignedDuration = SignedDuration::from_hours(3 * 365 * 24);

/// How many carts are remembered at most, and how many checkouts.
pub(crate) const MOST: u32 = 1_000_000;

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

/// To whom something belongs, and until when it is alive as far as that is known.
fn owned(db: &Connection, kind: &str, id: &str) -> rusqlite::Result<Option<(Owner, Timestamp)>> {
    db.prepare_cached("SELECT owner, release, mandates, at FROM relayed WHERE kind = ? AND id = ?")?
        .query_row((kind, id), |row| {
            let release: String = row.get(1)?;
            // A release that is not known any more was one of the oldest.
            let release = Release::from_date(&release).unwrap_or(Release::ALL[0]);
            Ok((Owner { platform: row.get(0)?, release, mandates: row.get(2)? }, timestamp(row.get(3)?)))
        })
        .optional()
}

impl Books {
    /// To whom something belongs that a shop elsewhere keeps, and until when it is alive as far as that is known.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn relayed_owned(&self, kind: &'static str, id: &str) -> Result<Option<(Owner, Timestamp)>, Refusal> {
        let id = id.to_owned();
        self.read(move |db| owned(db, kind, &id)).await
    }

    /// Remembers to whom something belongs that is alive until then, unless it belongs to somebody, and yields to whom it
    /// does. Returns once it is on disk.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be written.
    pub async fn relayed_claim(
        &self,
        kind: &'static str,
        id: &str,
        claimant: &Owner,
        until: Timestamp,
    ) -> Result<Owner, Refusal> {
        let (id, claimant) = (id.to_owned(), claimant.clone());
        self.write(move |db| {
            let Owner { platform, release, mandates } = &claimant;
            let row = (kind, &id, platform, release.date(), mandates, nanoseconds(until));
            db.prepare_cached(
                "INSERT OR IGNORE INTO relayed (kind, id, owner, release, mandates, at) VALUES (?, ?, ?, ?, ?, ?)",
            )?
            .execute(row)?;
            Ok(owned(db, kind, &id)?.map_or(claimant, |(owner, _)| owner))
        })
        .await
    }

    /// Remembers that something is alive for longer. Returns once it is on disk.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be written.
    pub async fn relayed_extend(&self, kind: &'static str, id: &str, until: Timestamp) -> Result<(), Refusal> {
        let id = id.to_owned();
        self.write(move |db| {
            db.prepare_cached("UPDATE relayed SET at = max(at, ?) WHERE kind = ? AND id = ?")?.execute((
                nanoseconds(until),
                kind,
                &id,
            ))?;
            Ok(())
        })
        .await
    }

    /// Forgets what is not alive any more, and the oldest where there are more than `most` of a kind. Yields how many.
    pub(crate) async fn prune_relayed(&self, now: Timestamp, most: u32) -> Result<u64, Refusal> {
        let mut removed = 0;
        for (kind, age, bounded) in
            [("cart", REMEMBERED_FOR, true), ("checkout", REMEMBERED_FOR, true), ("order", ORDERS_FOR, false)]
        {
            let before = nanoseconds(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
            removed += self.forget(kind, before, None).await?;
            if bounded {
                let count = move |db: &Connection| {
                    db.prepare_cached("SELECT count(*) FROM relayed WHERE kind = ?")?
                        .query_row((kind,), |row| row.get(0))
                };
                let kept: i64 = self.read(count).await?;
                removed += self.forget(kind, i64::MAX, Some(kept - i64::from(most))).await?;
            }
        }
        Ok(removed)
    }

    /// Forgets those of a kind that were alive until before an instant, in nanoseconds since 1970, in small steps; only so
    /// many of them, where that is said.
    async fn forget(&self, kind: &'static str, before: i64, many: Option<i64>) -> Result<u64, Refusal> {
        let (mut forgotten, mut left) = (0, many.unwrap_or(i64::MAX));
        while left > 0 {
            let step = left.min(BATCH);
            let delete = move |db: &Connection| {
                let sql = "DELETE FROM relayed WHERE kind = ?1 AND id IN \
                           (SELECT id FROM relayed WHERE kind = ?1 AND at < ?2 ORDER BY at LIMIT ?3)";
                Ok(db.prepare_cached(sql)?.execute((kind, before, step))? as u64)
            };
            let batch = self.write(delete).await?;
            forgotten += batch;
            left -= step;
            if batch < step.unsigned_abs() {
                break;
            }
        }
        Ok(forgotten)
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

    fn owner(name: &str) -> Owner {
        Owner { platform: name.to_owned(), release: Release::V2026_01_23, mandates: name == "a" }
    }

    fn days(days: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days)
    }

    #[tokio::test]
    async fn the_first_who_claims_something_has_it_for_good() {
        let dir = tempfile::tempdir().expect("a directory");
        let books_now = books(&dir);
        assert_eq!(books_now.relayed_owned("cart", "c").await.expect("read"), None);
        let claim = |books: &Books, name: &str| {
            let (books, owner) = (books.clone(), owner(name));
            async move { books.relayed_claim("cart", "c", &owner, days(3)).await.expect("written") }
        };
        assert_eq!(claim(&books_now, "a").await, owner("a"));
        assert_eq!(claim(&books_now, "b").await, owner("a"));
        assert_eq!(books_now.relayed_owned("checkout", "c").await.expect("read"), None, "another kind of thing");
        drop(books_now);
        let kept = books(&dir).relayed_owned("cart", "c").await.expect("read");
        assert_eq!(kept, Some((owner("a"), days(3))), "after a restart");
    }

    #[tokio::test]
    async fn what_is_not_alive_any_more_is_forgotten_in_time() {
        const ALL: [(&str, &str, i64); 6] = [
            ("cart", "short", 1),
            ("cart", "extended", 1),
            ("cart", "long", 40),
            ("checkout", "short", 1),
            ("order", "old", 1),
            ("order", "new", 1_000),
        ];
        let dir = tempfile::tempdir().expect("a directory");
        let books = books(&dir);
        for (kind, id, until) in ALL {
            books.relayed_claim(kind, id, &owner("a"), days(until)).await.expect("written");
        }
        books.relayed_extend("cart", "extended", days(20)).await.expect("written");
        books.relayed_extend("cart", "long", days(2)).await.expect("written");
        books.relayed_extend("cart", "nothing", days(20)).await.expect("written");
        let left = async |at: i64| {
            books.prune(days(at)).await.expect("prunes");
            let mut left = Vec::new();
            for (kind, id, _) in ALL {
                if books.relayed_owned(kind, id).await.expect("read").is_some() {
                    left.push(format!("{kind} {id}"));
                }
            }
            left.join(", ")
        };
        assert_eq!(left(31).await, "cart short, cart extended, cart long, checkout short, order old, order new");
        assert_eq!(left(32).await, "cart extended, cart long, order old, order new");
        assert_eq!(left(51).await, "cart long, order old, order new", "it was extended");
        assert_eq!(left(71).await, "order old, order new", "nothing is made shorter");
        assert_eq!(left(1_096).await, "order old, order new");
        assert_eq!(left(1_097).await, "order new");
        assert_eq!(left(3_000).await, "");
    }

    #[tokio::test]
    async fn of_carts_and_checkouts_the_oldest_make_room_and_orders_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let books = books(&dir);
        // More than is removed in one step.
        let (many, most) = (BATCH + 50, 20);
        for n in 0..many {
            for kind in ["cart", "checkout", "order"] {
                books.relayed_claim(kind, &n.to_string(), &owner("a"), days(n)).await.expect("written");
            }
        }
        let removed = books.prune_relayed(days(1), most).await.expect("prunes");
        assert_eq!(removed, 2 * (many.unsigned_abs() - u64::from(most)));
        let there = async |kind, n: i64| books.relayed_owned(kind, &n.to_string()).await.expect("read").is_some();
        for kind in ["cart", "checkout"] {
            assert!(!there(kind, many - 21).await && there(kind, many - 20).await && there(kind, many - 1).await);
        }
        assert!(there("order", 0).await);
        assert_eq!(books.prune_relayed(days(1), most).await.expect("prunes"), 0);
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
