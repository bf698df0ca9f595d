//! The gateways that serve a shop from the database, and whether they may.
//!
//! Locks of a session do not hold behind a pooler. So a gateway writes again and again that it is there, and whoever must have the
//! shop alone watches whether anybody does.

use ucp_core::ports::transfer::CopyMark;
use uuid::Uuid;

use crate::{
    connection::Param,
    failure::{Failure, OpenError},
    store::PostgresStore,
};

/// Age in seconds from which on the sign of a gateway means nothing.
const OLD: i64 = 60;

impl PostgresStore {
    /// Notes that a gateway serves shops of the database. Fails with [`Failure`] if the database cannot be written.
    pub async fn beat(&self, gateway: Uuid, shops: &[&str]) -> Result<(), Failure> {
        let shops = shops.iter().map(|&shop| shop.to_owned()).collect();
        let values = [Param::Uuid(gateway), Param::Texts(shops), Param::Number(OLD)];
        let sql = "WITH gone AS (DELETE FROM gateways WHERE seen < clock_timestamp() - $3 * interval '1 second' AND id <> $1) \
                   INSERT INTO gateways (shop, id, seen) SELECT shop, $1, clock_timestamp() FROM unnest($2) AS shop \
                   ON CONFLICT (shop, id) DO UPDATE SET seen = excluded.seen";
        self.work(async |connection, _| connection.execute(sql, &values).await).await.map(drop)
    }

    /// Notes that a gateway serves no shop of the database any more. Fails with [`Failure`] if the database cannot be written.
    pub async fn leave(&self, gateway: Uuid) -> Result<(), Failure> {
        let values = [Param::Uuid(gateway)];
        self.work(async |connection, _| connection.execute("DELETE FROM gateways WHERE id = $1", &values).await)
            .await
            .map(drop)
    }

    /// Begins to serve the shop. Fails with [`OpenError::Copied`] if a copy into the database is not finished.
    pub async fn serve(&self, gateway: Uuid) -> Result<(), OpenError> {
        let unusable = |source| OpenError::Unusable { place: self.place().to_owned(), source };
        // In this order, so that of a gateway and a copy that begin at once one sees the other.
        self.beat(gateway, &[self.shop().as_str()]).await.map_err(unusable)?;
        match self.copied().await.map_err(unusable)? {
            Some(CopyMark { origin, is_finished: false }) => {
                // One that is started again and again is not in the way of the copy.
                let values = [Param::Uuid(gateway), self.key()];
                let sql = "DELETE FROM gateways WHERE id = $1 AND shop = $2";
                drop(self.work(async |connection, _| connection.execute(sql, &values).await).await);
                Err(OpenError::Copied { place: self.place().to_owned(), shop: self.shop().to_string(), origin })
            }
            _ => Ok(()),
        }
    }

    /// Returns when a gateway was last seen that serves the shop, as a number that grows; `None` if none was within a minute. Fails
    /// with [`Failure`] if the database cannot be read.
    pub async fn last_beat(&self) -> Result<Option<i64>, Failure> {
        let values = [self.key(), Param::Number(OLD)];
        let sql = "SELECT (extract(epoch FROM max(seen)) * 1000000)::bigint FROM gateways \
                   WHERE shop = $1 AND seen > clock_timestamp() - $2 * interval '1 second'";
        self.work(async |connection, _| {
            let row = connection.row(sql, &values).await?;
            row.map_or(Ok(None), |row| row.try_get(0))
        })
        .await
    }

    /// Returns the copy that the shop was made by.
    pub(crate) async fn copied(&self) -> Result<Option<CopyMark>, Failure> {
        let values = [self.key()];
        self.work(async |connection, _| {
            let row = connection.row("SELECT origin, finished FROM copies WHERE shop = $1", &values).await?;
            row.map(|row| Ok(CopyMark { origin: row.try_get(0)?, is_finished: row.try_get(1)? })).transpose()
        })
        .await
    }
}
