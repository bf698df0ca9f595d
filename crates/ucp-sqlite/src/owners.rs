//! Owners of the carts, checkouts and orders of a remote shop: the platform that each belongs to and that its webhook
//! events are sent to.
//!
//! Only identifiers are kept here. The carts, checkouts and orders themselves are in the shop.
//!
//! An identifier is kept while its cart, checkout or order is alive, and for some time after that: carts and checkouts
//! for 30 days, orders for three years, counted from the last news of them. There are at most a million carts and a
//! million checkouts, and the oldest make room; orders cost money, and are never displaced. Nor is how far a purchase has
//! come: what was asked to be completed is kept like a checkout, what was completed like an order.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use ucp_core::ports::{
    PortError,
    owners::{Kind, Owned, Owner, Owners, RETENTION},
};

use crate::{
    connection::ShopConnection,
    rows::{nanoseconds, read},
    store::{BATCH, SqliteStore},
};

fn owned(db: ShopConnection<'_>, kind: Kind, id: &str) -> rusqlite::Result<Option<Owned>> {
    db.prepare_cached("SELECT owner, release, mandates, at FROM owners WHERE shop = ? AND kind = ? AND id = ?")?
        .query_row((db.shop(), kind.as_str(), id), read)
        .optional()
}

#[async_trait]
impl Owners for SqliteStore {
    async fn owned(&self, kind: Kind, id: &str) -> Result<Option<Owned>, PortError> {
        let id = id.to_owned();
        self.read(move |db| owned(db, kind, &id)).await
    }

    async fn claim(&self, kind: Kind, id: &str, owner: &Owner, until: Timestamp) -> Result<Owner, PortError> {
        let (id, claimant) = (id.to_owned(), owner.clone());
        self.write(move |db| {
            let Owner { platform, release, mandates } = &claimant;
            let row = (db.shop(), kind.as_str(), &id, platform, release.date(), mandates, nanoseconds(until));
            db.prepare_cached(
                "INSERT OR IGNORE INTO owners (shop, kind, id, owner, release, mandates, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(row)?;
            Ok(owned(db, kind, &id)?.map_or(claimant, |owned| owned.owner))
        })
        .await
    }

    async fn extend(&self, kind: Kind, id: &str, until: Timestamp) -> Result<(), PortError> {
        let id = id.to_owned();
        self.write(move |db| {
            db.prepare_cached("UPDATE owners SET at = max(at, ?) WHERE shop = ? AND kind = ? AND id = ?")?
                .execute((nanoseconds(until), db.shop(), kind.as_str(), &id))?;
            Ok(())
        })
        .await
    }
}

impl SqliteStore {
    /// Removes expired owners, and the oldest of a kind with more than `most`. Returns the number removed.
    pub(crate) async fn prune_owners(&self, now: Timestamp, most: u32) -> Result<u64, PortError> {
        let mut removed = 0;
        for (kind, age, bounded) in RETENTION {
            let before = nanoseconds(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
            removed += self.forget(kind, before, None).await?;
            if bounded {
                let count = move |db: ShopConnection<'_>| {
                    db.prepare_cached("SELECT count(*) FROM owners WHERE shop = ? AND kind = ?")?
                        .query_row((db.shop(), kind.as_str()), |row| row.get(0))
                };
                let kept: i64 = self.read(count).await?;
                removed += self.forget(kind, i64::MAX, Some(kept - i64::from(most))).await?;
            }
        }
        Ok(removed)
    }

    /// Removes owners of a kind that were alive until before `before` (nanoseconds since 1970), in small steps; at most
    /// `many` if given. Returns the number removed.
    async fn forget(&self, kind: Kind, before: i64, many: Option<i64>) -> Result<u64, PortError> {
        let (mut forgotten, mut left) = (0, many.unwrap_or(i64::MAX));
        while left > 0 {
            let step = left.min(BATCH);
            let delete = move |db: ShopConnection<'_>| {
                let sql = "DELETE FROM owners WHERE shop = ?1 AND kind = ?2 AND id IN \
                           (SELECT id FROM owners WHERE shop = ?1 AND kind = ?2 AND at < ?3 ORDER BY at LIMIT ?4)";
                Ok(db.prepare_cached(sql)?.execute((db.shop(), kind.as_str(), before, step))? as u64)
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
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use ucp_core::{Release, ports::store::Store as _};

    use super::*;

    fn store(dir: &tempfile::TempDir) -> SqliteStore {
        SqliteStore::open_or_create(dir.path()).expect("a store")
    }

    fn owner(name: &str) -> Owner {
        Owner { platform: name.to_owned(), release: Release::V2026_01_23, mandates: name == "a" }
    }

    fn days(days: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days)
    }

    #[tokio::test]
    async fn what_is_not_alive_any_more_is_forgotten_in_time() {
        const ALL: [(Kind, &str, i64); 8] = [
            (Kind::Cart, "short", 1),
            (Kind::Cart, "extended", 1),
            (Kind::Cart, "long", 40),
            (Kind::Checkout, "short", 1),
            (Kind::Order, "old", 1),
            (Kind::Order, "new", 1_000),
            (Kind::Completion, "short", 1),
            (Kind::Purchase, "old", 1),
        ];
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(&dir);
        for (kind, id, until) in ALL {
            store.claim(kind, id, &owner("a"), days(until)).await.expect("written");
        }
        store.extend(Kind::Cart, "extended", days(20)).await.expect("written");
        store.extend(Kind::Cart, "long", days(2)).await.expect("written");
        store.extend(Kind::Cart, "nothing", days(20)).await.expect("written");
        let left = async |at: i64| {
            store.prune(days(at)).await.expect("prunes");
            let mut left = Vec::new();
            for (kind, id, _) in ALL {
                if store.owned(kind, id).await.expect("read").is_some() {
                    left.push(format!("{} {id}", kind.as_str()));
                }
            }
            left.join(", ")
        };
        assert_eq!(
            left(31).await,
            "cart short, cart extended, cart long, checkout short, order old, order new, completion short, purchase old"
        );
        assert_eq!(left(32).await, "cart extended, cart long, order old, order new, purchase old");
        assert_eq!(left(51).await, "cart long, order old, order new, purchase old", "it was extended");
        assert_eq!(left(71).await, "order old, order new, purchase old", "nothing is made shorter");
        assert_eq!(left(1_096).await, "order old, order new, purchase old");
        assert_eq!(left(1_097).await, "order new");
        assert_eq!(left(3_000).await, "");
    }

    #[tokio::test]
    async fn of_carts_and_checkouts_the_oldest_make_room_and_orders_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(&dir);
        // More than is removed in one step.
        let (many, most) = (BATCH + 50, 20);
        for n in 0..many {
            for kind in [Kind::Cart, Kind::Checkout, Kind::Order] {
                store.claim(kind, &n.to_string(), &owner("a"), days(n)).await.expect("written");
            }
        }
        let removed = store.prune_owners(days(1), most).await.expect("prunes");
        assert_eq!(removed, 2 * (many.unsigned_abs() - u64::from(most)));
        let there = async |kind, n: i64| store.owned(kind, &n.to_string()).await.expect("read").is_some();
        for kind in [Kind::Cart, Kind::Checkout] {
            assert!(!there(kind, many - 21).await && there(kind, many - 20).await && there(kind, many - 1).await);
        }
        assert!(there(Kind::Order, 0).await);
        assert_eq!(store.prune_owners(days(1), most).await.expect("prunes"), 0);
    }
}
