//! Everything that stands behind one business.

use std::sync::Arc;

use jiff::Timestamp;

use super::{catalog::Catalog, relay::Relay, sales::Sales};
use crate::{
    catalog::cursor::Cursors,
    merchant::port::{Geocoder, Merchants},
    operation::Offering,
    purchase::ledger::Ledger,
};

/// The ports of one business.
#[derive(Clone)]
pub struct Backend {
    /// Where goods are found and bought.
    pub shop: Shop,
    /// Merchants and their locations, where there is a directory of them.
    pub directory: Option<Directory>,
    /// Cursors that callers are handed for the next page.
    pub cursors: Arc<dyn Cursors>,
}

/// Where goods are found and bought.
#[derive(Clone)]
pub enum Shop {
    /// One that gives facts and leaves the decisions to the domain.
    Facts {
        /// Where its products are found.
        catalog: Arc<dyn Catalog>,
        /// Where they are bought.
        sales: Arc<dyn Sales>,
    },
    /// One that speaks UCP itself and decides on its own.
    Relayed(Arc<dyn Relay>),
}

impl Shop {
    /// What can be asked of it. The profile follows from it: nothing else is mounted or advertised.
    #[must_use]
    pub fn offering(&self) -> Offering {
        match self {
            Self::Facts { sales, .. } => sales.capabilities().offering(),
            Self::Relayed(relay) => relay.offering(),
        }
    }

    /// Where answers are kept under idempotency keys.
    #[must_use]
    pub fn ledger(&self) -> &dyn Ledger {
        match self {
            Self::Facts { sales, .. } => sales.ledger(),
            Self::Relayed(relay) => relay.ledger(),
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Facts { sales, .. } => sales.now(),
            Self::Relayed(relay) => relay.now(),
        }
    }
}

/// The ports of a directory of merchants.
#[derive(Clone)]
pub struct Directory {
    /// Who is in it.
    pub merchants: Arc<dyn Merchants>,
    /// Where the addresses are that buyers name.
    pub geocoder: Arc<dyn Geocoder>,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").finish_non_exhaustive()
    }
}
