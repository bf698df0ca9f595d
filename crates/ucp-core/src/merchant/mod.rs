//! A directory of merchants and the places where they are: the draft capability `dev.ucp.menu.merchant` and UCP's
//! *Location Search* and *Location Lookup*, on one engine.
//!
//! The unit of the engine is the location. A merchant is found when one and the same location satisfies everything a
//! caller demands of a location.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`record`] | a merchant as the operator of a directory states it |
//! | [`hours`], [`schedule`] | opening hours, and what they mean at an instant |
//! | [`geo`] | points and distances |
//! | [`address`] | where an address is, in words that can be compared |
//! | [`words`] | texts as words for comparison |
//! | [`port`] | what a directory and a geocoder are asked |
//! | [`index`] | a whole directory in memory, and how it answers |
//! | [`search`], [`detail`] | the operations of the draft |
//! | [`location`] | the operations of the standard |
//! | [`listing`], [`paging`] | what their answers share |

pub mod address;
pub mod detail;
pub mod geo;
pub mod hours;
pub mod index;
pub mod listing;
pub mod location;
pub mod paging;
pub mod port;
pub mod record;
pub mod schedule;
pub mod search;
pub mod words;

#[cfg(test)]
mod tests;

use std::fmt;

use self::{address::Place, port::Preference};

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
    /// What the buyer is after, as sent.
    pub intent: Option<String>,
    /// BCP 47 language tags in order of preference, as sent.
    pub languages: Vec<String>,
}

impl Context {
    /// Roughly where the buyer is.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::new(self.country.as_deref(), self.region.as_deref(), None, self.postal_code.as_deref())
    }

    fn preference(&self) -> Preference {
        Preference { place: self.place(), intent: self.intent.clone() }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("languages", &self.languages).finish_non_exhaustive()
    }
}
