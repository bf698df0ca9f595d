//! Orders as the shop sees them, whoever placed them. For operators; what platforms ask for goes through the
//! [`Ledger`](ucp_core::purchase::ledger::Ledger).

use ucp_core::{Refusal, order::Order, purchase::ledger::Stored};

use super::{Books, stored};

impl Books {
    /// The newest orders, newest first.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn newest_orders(&self, limit: usize) -> Result<Vec<Stored<Order>>, Refusal> {
        let sql = "SELECT version, document FROM orders ORDER BY seq DESC LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(move |db| db.prepare_cached(sql)?.query_map((limit,), stored)?.collect()).await
    }

    /// An order, by its identifier.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be read.
    pub async fn any_order(&self, id: &str) -> Result<Option<Stored<Order>>, Refusal> {
        self.document("SELECT version, document FROM orders WHERE id = ?", (id.to_owned(),)).await
    }
}
