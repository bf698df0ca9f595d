//! The backend of one business: all of its ports.

use std::sync::Arc;

use jiff::Timestamp;

use super::{catalog::Catalog, commerce::Commerce, directory::Directory, ledger::Ledger, ucp_upstream::UcpUpstream};
use crate::{catalog::cursor::Cursors, operation::SupportedOperations};

/// Ports of one business.
#[derive(Clone)]
pub struct Backend {
    /// Shop that sells the goods.
    pub shop: ShopPort,
    /// Directory of merchants and their locations; `None` if there is none.
    pub directory: Option<Arc<dyn Directory>>,
    /// Encoder and decoder of the cursors that callers get for the next page.
    pub cursors: Arc<dyn Cursors>,
}

/// A shop, by the kind of its port.
#[derive(Clone)]
pub enum ShopPort {
    /// A shop that provides facts and leaves the decisions to the domain.
    Facts {
        /// Products of the shop.
        catalog: Arc<dyn Catalog>,
        /// Carts, checkouts and orders of the shop.
        sales: Arc<dyn Commerce>,
    },
    /// A shop that speaks UCP itself and makes its own decisions.
    Upstream(Arc<dyn UcpUpstream>),
}

impl ShopPort {
    /// Returns the operations and extensions that the shop supports. The profile follows from it: nothing else is
    /// mounted or advertised.
    pub fn offering(&self) -> SupportedOperations {
        match self {
            Self::Facts { sales, .. } => sales.capabilities().offering(),
            Self::Upstream(upstream) => upstream.offering(),
        }
    }

    /// Returns the store of the answers recorded under idempotency keys.
    pub fn ledger(&self) -> &dyn Ledger {
        match self {
            Self::Facts { sales, .. } => sales.ledger(),
            Self::Upstream(upstream) => upstream.ledger(),
        }
    }

    /// Returns the current time, UTC.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Facts { sales, .. } => sales.now(),
            Self::Upstream(upstream) => upstream.now(),
        }
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}
