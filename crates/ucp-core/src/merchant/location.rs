//! `search_locations` and `lookup_locations`: the locations of a directory (UCP *Location Search*, *Location Lookup*).
//!
//! Both apply the rules of the search for merchants, at an instant and around a point that the caller states. Filters
//! that a directory cannot evaluate are refused, not ignored: an answer is never wider than the request.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

use super::{
    Context,
    criteria::{Circle, Criteria, Policy},
    geo::Point,
    listing::{name_of, translation},
    record::{Location, Merchant, is_reverse_domain},
    search::{known, within_bounds},
};
use crate::{Refusal, message::Message};

/// Maximum number of different identifiers in one lookup.
pub const MAX_IDS: usize = 100;

/// Filters on locations, shared by both operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    /// Area that the location is in.
    pub distance: Option<Distance>,
    /// Member of `serves`, if there is one: the buyer that the location has to serve.
    pub serves: Option<String>,
    /// `filters.hours.open_at` as sent: an RFC 3339 instant at which the location is open.
    pub open_at: Option<String>,
    /// `filters.amenities`: amenities, all of which the location has.
    pub amenities: Vec<String>,
    /// Names of filters that this gateway does not know.
    pub unknown: Vec<String>,
}

/// A circle on the ground as sent.
///
/// Its center can be the position of a buyer: `Debug` prints it to about a kilometer.
#[derive(Clone, Copy, PartialEq)]
pub struct Distance {
    /// WGS 84 latitude of the center, in degrees.
    pub latitude: f64,
    /// WGS 84 longitude of the center, in degrees.
    pub longitude: f64,
    /// Radius in meters, inclusive.
    pub max: f64,
}

impl fmt::Debug for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Distance({:.2}, {:.2}, {} m)", self.latitude, self.longitude, self.max)
    }
}

/// Request of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchRequest {
    /// Words to search for; absent or blank matches every location.
    pub query: Option<String>,
    /// Filters on locations.
    pub demands: Demands,
    /// Hints about the buyer.
    pub context: Context,
    /// Cursor of an earlier answer, after which the page begins.
    pub cursor: Option<String>,
    /// Requested size of a page, at least 1; at most [`MAX_LIMIT`](super::MAX_LIMIT) locations are returned.
    pub limit: Option<u64>,
}

/// Request of a lookup.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LookupRequest {
    /// Ids and aliases of locations.
    pub ids: Vec<String>,
    /// Filters on locations.
    pub demands: Demands,
    /// Hints about the buyer.
    pub context: Context,
}

/// A location in an answer.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Merchant of the location.
    pub merchant: Arc<Merchant>,
    /// Position of the location in the merchant.
    pub place: usize,
    /// Tag of the translation to show; `None` for the original texts.
    pub translation: Option<String>,
    /// Identifiers of a lookup that match it; empty in a search.
    pub inputs: Vec<String>,
}

impl Listed {
    /// Creates a location without identifiers of a lookup, in the first of the languages that its merchant has texts in.
    pub fn new(merchant: Arc<Merchant>, place: usize, languages: &[String]) -> Self {
        let translation = translation(&merchant, languages).map(str::to_owned);
        Self { merchant, place, translation, inputs: Vec::new() }
    }

    /// Returns the location.
    pub fn location(&self) -> &Location {
        &self.merchant.locations[self.place]
    }

    /// Returns the name to show.
    pub fn name(&self) -> &str {
        name_of(self.location(), self.translation.as_deref())
    }
}

/// A page of locations.
#[derive(Debug)]
pub struct Found {
    /// Locations, the best match first.
    pub locations: Vec<Listed>,
    /// Cursor of the next page, if there is one.
    pub cursor: Option<String>,
    /// Total number of locations, if the directory knows it.
    pub total: Option<u64>,
    /// Messages.
    pub messages: Vec<Message>,
}

/// Answer of a lookup.
#[derive(Debug)]
pub struct Resolved {
    /// Locations, each once, in the order in which the request first names them.
    pub locations: Vec<Listed>,
    /// Messages.
    pub messages: Vec<Message>,
}

impl Demands {
    /// Converts the filters to criteria. Fails with a refusal of the first filter that is unknown or invalid, with its
    /// path.
    pub fn criteria(&self, policy: &Policy) -> Result<Criteria, Refusal> {
        known(&self.unknown, "`hours` and `amenities`")?;
        if self.serves.is_some() {
            return Err(Refusal::invalid("$.serves", "This directory does not know which areas its locations serve.")
                .accepting("`distance` with a center and a radius, and no `serves`"));
        }
        let place = |(place, amenity): (usize, &String)| match is_reverse_domain(amenity) {
            true => Ok(amenity.clone()),
            false => {
                Err(Refusal::invalid(format!("$.filters.amenities[{place}]"), "This must be the name of an amenity.")
                    .accepting("a reverse-domain name such as `dev.ucp.amenity.wi_fi`"))
            }
        };
        Ok(Criteria {
            open_at: self.open_at.as_deref().map(instant).transpose()?,
            within: self.distance.map(|distance| distance.circle(policy)).transpose()?,
            amenities: self.amenities.iter().enumerate().map(place).collect::<Result<_, _>>()?,
            ..Criteria::default()
        })
    }
}

impl Distance {
    fn circle(self, policy: &Policy) -> Result<Circle, Refusal> {
        within_bounds(policy, self.max, "$.distance.max")?;
        let center = Point::anywhere(self.latitude, self.longitude).ok_or_else(|| {
            Refusal::invalid("$.distance.center", "The center is not on the Earth.")
                .accepting("a `latitude` from -90 to 90 and a `longitude` from -180 to 180, in degrees")
        })?;
        Ok(Circle { center, max: self.max })
    }
}

/// Parses an RFC 3339 instant with `Z` or a numeric offset.
fn instant(text: &str) -> Result<Timestamp, Refusal> {
    let refused = || {
        Refusal::invalid("$.filters.hours.open_at", "This must be an RFC 3339 time.")
            .accepting("an RFC 3339 date and time with `Z` or a numeric offset, such as `2026-05-18T17:00:00-07:00`")
    };
    // The parser takes more forms than this one.
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let sign = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
    let clock = [0..4, 5..7, 8..10, 11..13, 14..16, 17..19].into_iter().all(digits)
        && sign(4, b"-")
        && sign(7, b"-")
        && sign(10, b"Tt")
        && sign(13, b":")
        && sign(16, b":");
    let fraction = match bytes.get(19) {
        Some(b'.') => 1 + bytes[20..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = bytes.get(19 + fraction..).unwrap_or_default();
    let offset = matches!(zone, b"Z" | b"z")
        || matches!(zone, [b'+' | b'-', b'0'..=b'1', b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9'])
        || matches!(zone, [b'+' | b'-', b'2', b'0'..=b'3', b':', b'0'..=b'5', b'0'..=b'9']);
    // The calendar of the library ends in the last days of 9999.
    if !clock || fraction == 1 || !offset || text.starts_with("9999") {
        return Err(refused());
    }
    text.parse().map_err(|_| refused())
}
