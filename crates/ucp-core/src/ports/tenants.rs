//! Port of the shops that share a place of storage: which of them have something to do, or to remove.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;

use super::{buyers::Retention, error::PortError, store::Store};
use crate::ShopId;

/// The shops in one place of storage. All methods fail with [`PortError::Unavailable`].
#[async_trait]
pub trait Tenants: fmt::Debug + Send + Sync {
    /// Returns the shops that have something to do at the time `now` without being called: to deliver webhook events, to
    /// settle payments, or to abandon carts at a remote shop.
    async fn shops_at_work(&self, now: Timestamp) -> Result<Vec<ShopId>, PortError>;

    /// Returns the shops that have rows which expire.
    async fn shops_with_rows(&self) -> Result<Vec<ShopId>, PortError>;

    /// Returns the store of a shop, which keeps what names a buyer for as long as `retention` says.
    async fn store_of(&self, shop: ShopId, retention: Retention) -> Result<Arc<dyn Store>, PortError>;
}
