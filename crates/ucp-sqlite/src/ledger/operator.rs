//! Orders as the shop sees them, whoever placed them. For operators; what platforms ask for goes through the
//! [`Ledger`](ucp_core::purchase::ledger::Ledger).

use rusqlite::OptionalExtension as _;
use ucp_core::{
    order::Order,
    port::PortError,
    purchase::{ledger::Stored, mandate::Mandate},
};

use super::stored;
use crate::store::SqliteStore;

impl SqliteStore {
    /// The newest orders, newest first.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn newest_orders(&self, limit: usize) -> Result<Vec<Stored<Order>>, PortError> {
        let sql = "SELECT version, document FROM orders ORDER BY seq DESC LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(move |db| db.prepare_cached(sql)?.query_map((limit,), stored)?.collect()).await
    }

    /// An order, by its identifier.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn any_order(&self, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("SELECT version, document FROM orders WHERE id = ?", (id.to_owned(),)).await
    }

    /// The mandate that the buyer of an order agreed with, as it was presented; `None` where there was none, or it is
    /// not kept.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn mandate(&self, order: &Order) -> Result<Option<Mandate>, PortError> {
        let checkout = order.checkout_id.clone();
        let sql = "SELECT mandate FROM mandates WHERE checkout_id = ?";
        let read = self
            .read(move |db| db.prepare_cached(sql)?.query_row((&checkout,), |row| row.get::<_, String>(0)).optional());
        Ok(read.await?.map(Mandate::new))
    }
}
