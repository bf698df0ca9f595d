//! Merchants and the places where they are: the draft capability `dev.ucp.menu.merchant` and UCP's *Location Search* and
//! *Location Lookup*.
//!
//! The unit of a search is the location. A merchant is found when one and the same location satisfies everything a
//! caller demands of a location. A [directory](crate::ports::Directory) finds them.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`record`] | a merchant as the operator of a directory states it |
//! | [`hours`], [`schedule`] | opening hours, and what they mean at an instant |
//! | [`geo`] | points and distances |
//! | [`address`] | where an address is, in words that can be compared |
//! | [`criteria`] | what a location has to meet, within the policy of the operator |
//! | [`search`], [`detail`] | requests and answers of the draft |
//! | [`location`] | requests and answers of the standard |
//! | [`listing`] | what their answers share |

pub mod address;
pub mod criteria;
pub mod detail;
pub mod geo;
pub mod hours;
pub mod listing;
pub mod location;
pub mod record;
pub mod schedule;
pub mod search;

use self::address::AddressPlace;

/// Default number of entries per page.
pub const DEFAULT_LIMIT: usize = 10;

/// Maximum number of entries per page.
pub const MAX_LIMIT: usize = 25;

/// The buyer's provisional circumstances as the platform tells them: hints, never facts (UCP *Context*).
///
/// They tell where a buyer is: `Debug` shows only the languages.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The country, as sent.
    pub country: Option<String>,
    /// The region, as sent.
    pub region: Option<String>,
    /// The postal code, as sent.
    pub postal_code: Option<String>,
    /// Intent of the buyer, as sent.
    pub intent: Option<String>,
    /// BCP 47 language tags in order of preference, as sent.
    pub languages: Vec<String>,
}

impl Context {
    /// Roughly where the buyer is.
    pub fn place(&self) -> AddressPlace {
        AddressPlace::new(self.country.as_deref(), self.region.as_deref(), None, self.postal_code.as_deref())
    }
}

crate::opaque!(Context { languages });
