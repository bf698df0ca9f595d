//! Owners of the carts, checkouts and orders of a remote shop. How long they are kept is told in [`Store::prune`].
//!
//! [`Store::prune`]: ucp_core::ports::store::Store::prune

use async_trait::async_trait;
use jiff::Timestamp;
use ucp_core::ports::{
    PortError,
    owners::{Kind, Owned, Owner, Owners, RETENTION},
};

use crate::{
    connection::Param,
    failure::Failure,
    rows::read,
    store::{BATCH, PostgresStore},
    text::nanoseconds,
};

const OWNED: &str = "SELECT owner, release, mandates, at FROM owners WHERE shop = $1 AND kind = $2 AND id = $3";

#[async_trait]
impl Owners for PostgresStore {
    async fn owned(&self, kind: Kind, id: &str) -> Result<Option<Owned>, PortError> {
        let values = [self.key(), Param::plain(kind.as_str()), Param::key(id)];
        Ok(self.row(OWNED, &values).await?.as_ref().map(read).transpose()?)
    }

    async fn claim(&self, kind: Kind, id: &str, owner: &Owner, until: Timestamp) -> Result<Owner, PortError> {
        let sql = "INSERT INTO owners (shop, kind, id, owner, release, mandates, at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                   ON CONFLICT (shop, kind, id) DO NOTHING";
        let values = [
            self.key(),
            Param::plain(kind.as_str()),
            Param::key(id),
            Param::text(&owner.platform),
            Param::plain(owner.release.date()),
            Param::Flag(owner.mandates),
            Param::at(until),
        ];
        let other = self.run(async |connection, _| {
            if connection.execute(sql, &values).await? == 1 {
                return Ok(None);
            }
            connection.row(OWNED, &values[..3]).await
        });
        let other: Option<Owned> = other.await?.as_ref().map(read).transpose()?;
        Ok(other.map_or_else(|| owner.clone(), |owned| owned.owner))
    }

    async fn extend(&self, kind: Kind, id: &str, until: Timestamp) -> Result<(), PortError> {
        let until = Param::at(until);
        let values = [self.key(), Param::plain(kind.as_str()), Param::key(id), until];
        let sql = "UPDATE owners SET at = $4 WHERE shop = $1 AND kind = $2 AND id = $3 AND at < $4";
        self.execute(sql, &values).await.map(drop)
    }
}

impl PostgresStore {
    /// Removes expired owners, and the oldest of a kind with more than `most`. Returns the number removed.
    pub(crate) async fn prune_owners(&self, now: Timestamp, most: u32) -> Result<u64, PortError> {
        let mut removed = 0;
        for (kind, age, bounded) in RETENTION {
            let before = nanoseconds(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
            removed += self.forget(kind, before, i64::MAX).await?;
            if bounded {
                let values = [self.key(), Param::plain(kind.as_str())];
                let row = self.row("SELECT count(*) FROM owners WHERE shop = $1 AND kind = $2", &values).await?;
                let kept: i64 = row.map(|row| row.try_get(0)).transpose().map_err(Failure::from)?.unwrap_or_default();
                removed += self.forget(kind, i64::MAX, kept - i64::from(most)).await?;
            }
        }
        Ok(removed)
    }

    /// Removes at most `many` owners of a kind that were alive until before `before` (nanoseconds since 1970), in small steps.
    async fn forget(&self, kind: Kind, before: i64, many: i64) -> Result<u64, PortError> {
        let (mut forgotten, mut left) = (0, many);
        while left > 0 {
            let step = left.min(BATCH);
            let kind = Param::plain(kind.as_str());
            let values = [self.key(), kind, Param::Number(before), Param::Number(step)];
            let sql = "DELETE FROM owners WHERE shop = $1 AND kind = $2 AND id = ANY (ARRAY(SELECT id FROM owners \
                       WHERE shop = $1 AND kind = $2 AND at < $3 ORDER BY at LIMIT $4 FOR UPDATE SKIP LOCKED))";
            let batch = self.execute(sql, &values).await?;
            forgotten += batch;
            left -= step;
            if batch < step.unsigned_abs() {
                break;
            }
        }
        Ok(forgotten)
    }
}
