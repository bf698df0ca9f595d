//! The shops in a database: which of them have something to do, or to remove.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Error;
use ucp_core::{
    ShopId,
    ports::{PortError, buyers::Retention, store::Store, tenants::Tenants},
};

use crate::{connection::Param, failure::Failure, store::PostgresStore};

/// Shops with webhook events or tasks that are due.
const AT_WORK: &str = "SELECT shop FROM shops AS own WHERE \
    EXISTS (SELECT 1 FROM outbox WHERE shop = own.shop AND state = 'waiting' AND next_at <= $1) \
    OR EXISTS (SELECT 1 FROM tasks WHERE shop = own.shop AND NOT given_up AND due <= $1)";

/// Shops with rows that expire.
const EXPIRING: &str = "SELECT shop FROM shops AS own WHERE \
    EXISTS (SELECT 1 FROM kept WHERE shop = own.shop) OR EXISTS (SELECT 1 FROM carts WHERE shop = own.shop) \
    OR EXISTS (SELECT 1 FROM checkouts WHERE shop = own.shop) OR EXISTS (SELECT 1 FROM outbox WHERE shop = own.shop) \
    OR EXISTS (SELECT 1 FROM owners WHERE shop = own.shop) OR EXISTS (SELECT 1 FROM commits WHERE shop = own.shop) \
    OR EXISTS (SELECT 1 FROM takings WHERE shop = own.shop) OR EXISTS (SELECT 1 FROM catalog_events WHERE shop = own.shop)";

impl PostgresStore {
    /// Returns the identifiers of the shops that have anything in the database. Fails with [`Failure`] if the database
    /// cannot be read.
    pub async fn shops(&self) -> Result<Vec<ShopId>, Failure> {
        let shops: Vec<String> = self
            .work(async |connection, _| {
                let rows = connection.rows("SELECT shop FROM shops ORDER BY shop", &[]).await?;
                rows.iter().map(|row| row.try_get(0)).collect()
            })
            .await?;
        Ok(shops.iter().filter_map(|shop| shop.parse().ok()).collect())
    }

    /// Returns the shops that a query finds.
    async fn found_by(&self, sql: &str, values: &[Param]) -> Result<Vec<ShopId>, PortError> {
        let rows = self.rows(sql, values).await?;
        let shops = rows.iter().map(|row| row.try_get::<_, String>(0)).collect::<Result<Vec<_>, Error>>();
        Ok(shops.map_err(Failure::from)?.iter().filter_map(|shop| shop.parse().ok()).collect())
    }
}

#[async_trait]
impl Tenants for PostgresStore {
    async fn shops_at_work(&self, now: Timestamp) -> Result<Vec<ShopId>, PortError> {
        self.found_by(AT_WORK, &[Param::at(now)]).await
    }

    async fn shops_with_rows(&self) -> Result<Vec<ShopId>, PortError> {
        self.found_by(EXPIRING, &[]).await
    }

    async fn store_of(&self, shop: ShopId, retention: Retention) -> Result<Arc<dyn Store>, PortError> {
        let store = self.of(shop).await.map_err(|error| {
            PortError::unavailable("The shop's books cannot be read at the moment.", 5).because(error)
        })?;
        store.retain(retention);
        Ok(Arc::new(store))
    }
}
