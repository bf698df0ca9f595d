//! Ports of the operations to a store of merchants and to a geocoder.
//!
//! A store finds and fetches; the operations decide about criteria, and about the content of answers.
//! The [`index`](super::index) answers [`Merchants::find`] and [`Merchants::find_locations`] for directories that fit
//! into memory.

use std::sync::Arc;

use async_trait::async_trait;
use ucp_core::{
    merchant::{
        Context,
        address::AddressPlace,
        criteria::{Criteria, Policy},
        geo::Point,
        record::{Merchant, PostalAddress, Precision},
    },
    ports::PortError,
};

/// A store of merchants.
#[async_trait]
pub trait Merchants: Send + Sync {
    /// Returns the policy of the operator.
    fn policy(&self) -> &Policy;

    /// Returns one page of the merchants that match a query. Fails with
    /// [`InvalidCursor`](ucp_core::Code::InvalidCursor) if the position in `query` is invalid,
    /// [`Unavailable`](ucp_core::Code::Unavailable) or [`InternalError`](ucp_core::Code::InternalError) if the
    /// directory fails.
    async fn find(&self, query: &Query) -> Result<Page<Hit>, PortError>;

    /// Returns one page of the locations that match a query. Fails as [`find`](Self::find).
    async fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, PortError>;

    /// Returns the merchants with these ids, in their order; `None` for an unknown id.
    ///
    /// Identifiers come from outside: they are compared, never interpreted. Fails with
    /// [`Unavailable`](ucp_core::Code::Unavailable) or [`InternalError`](ucp_core::Code::InternalError) if the
    /// directory fails.
    async fn fetch(&self, ids: &[&str]) -> Result<Vec<Option<Arc<Merchant>>>, PortError>;

    /// Returns the merchants that have a location with the id or alias, for each of `ids` in their order. Fails as
    /// [`fetch`](Self::fetch).
    async fn fetch_by_location(&self, ids: &[&str]) -> Result<Vec<Vec<Arc<Merchant>>>, PortError>;
}

/// Geocoder of postal addresses.
#[async_trait]
pub trait Geocoder: Send + Sync {
    /// Returns the coordinates of an address; `None` if they are unknown, or too coarse to measure from, such as those
    /// of a country.
    ///
    /// The address is a buyer's: it must be neither logged nor stored. Fails with
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the geocoder does not answer in time.
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError>;
}

/// Coordinates of an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolved {
    /// Coordinates.
    pub point: Point,
    /// Precision of the coordinates.
    pub precision: Precision,
}

/// A query, and the page of its results.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words to search for; `None` matches everything.
    pub text: Option<String>,
    /// Criteria that one location and its merchant must meet.
    pub criteria: Criteria,
    /// Preferences for the order of equal matches.
    pub preference: Preference,
    /// Size of a page, at least 1.
    pub limit: usize,
    /// Position after which the page begins, from an earlier [`Page::next`] of the same query.
    pub after: Option<Vec<u8>>,
}

/// Preferences for the order of equal matches. They never decide whether something matches.
///
/// They are data of the buyer: `Debug` prints none of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Preference {
    /// Approximate location of the buyer.
    pub place: AddressPlace,
    /// Intent of the buyer, in words.
    pub intent: Option<String>,
}
ucp_core::opaque!(Preference);

impl Preference {
    /// Returns the preferences of a buyer in these circumstances.
    pub(crate) fn of(context: &Context) -> Self {
        Self { place: context.place(), intent: context.intent.clone() }
    }
}

/// One page of the matches of a query, the best match first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Matches.
    pub hits: Vec<T>,
    /// Position after which the next page begins, if there is one. Following positions neither repeats nor skips
    /// matches, even if the directory changes in between.
    pub next: Option<Vec<u8>>,
    /// Total number of matches, if it is known.
    pub total: Option<u64>,
}

/// A merchant that matches a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Identifier of the merchant.
    pub merchant: String,
    /// Identifiers of the locations that meet the criteria; the nearest first, if the query has a center.
    pub locations: Vec<String>,
}

/// A location that matches a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationHit {
    /// Identifier of the merchant.
    pub merchant: String,
    /// Identifier of the location.
    pub location: String,
}
