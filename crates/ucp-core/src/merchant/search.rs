//! `search_merchants`: merchants by words, filters or both (draft *Merchant* capability).
//!
//! An address is geocoded here, once per call. If that fails, nothing is found, and the answer says why: a search never
//! becomes wider than requested.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{
    Context,
    address::Place,
    geo::{METRES_PER_KILOMETRE, METRES_PER_MILE},
    listing::{Listing, occasion},
    paging::{DEFAULT_LIMIT, MAX_LIMIT, Turn},
    port::{Circle, Criteria, Geocoder, Merchants, Policy, Query, Resolved},
    record::{Location, Merchant, Method, PostalAddress, Precision},
};
use crate::{
    Refusal,
    catalog::{cursor::Cursors, filter::CategoryPath},
    message::{Message, Severity},
};

/// Request of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Words to search for; blank matches every merchant.
    pub query: String,
    /// Hints about the buyer.
    pub context: Context,
    /// Filters on merchants.
    pub filters: Filters,
    /// Cursor of an earlier answer, after which the page begins.
    pub cursor: Option<String>,
    /// Requested size of a page, 1 to [`MAX_LIMIT`].
    pub limit: Option<u64>,
}

/// Filters of a request. One location has to pass all of them, except for the category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Category; categories below it match too.
    pub category: Option<String>,
    /// `true` to match only locations that are open now; `false` does not filter.
    pub open_now: Option<bool>,
    /// Fulfillment method.
    pub fulfillment_method: Option<FulfillmentMethod>,
    /// Area or address of the location.
    pub location: Option<LocationFilter>,
    /// Names of filters that this gateway does not know.
    pub unknown: Vec<String>,
}

/// A fulfillment method in the terms of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FulfillmentMethod {
    /// The goods are sent to the buyer.
    Shipping,
    /// The buyer picks the goods up.
    Pickup,
}

impl FulfillmentMethod {
    const fn methods(self) -> &'static [Method] {
        match self {
            Self::Shipping => &[Method::Delivery, Method::Shipping],
            Self::Pickup => &[Method::Pickup],
        }
    }
}

/// Location of a merchant: near an address, or at it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocationFilter {
    /// Address. Without a radius, its country, region, town and postal code have to be those of the location.
    pub address: Option<PostalAddress>,
    /// Maximum distance of the location from the address.
    pub radius: Option<Radius>,
}

/// A distance in the caller's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radius {
    /// Number, at least 0.
    pub value: f64,
    /// Unit.
    pub unit: Unit,
}

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// 1,000 metres.
    Kilometre,
    /// 1,609.344 metres.
    Mile,
}

impl Radius {
    /// Converts the distance to metres. A finite distance stays finite: it is cut to the largest number.
    #[must_use]
    pub fn metres(self) -> f64 {
        let metres = self.value
            * match self.unit {
                Unit::Kilometre => METRES_PER_KILOMETRE,
                Unit::Mile => METRES_PER_MILE,
            };
        if self.value.is_finite() { metres.min(f64::MAX) } else { metres }
    }
}

/// A page of merchants.
#[derive(Debug)]
pub struct Found {
    /// Merchants, the best match first.
    pub merchants: Vec<Listing>,
    /// Cursor of the next page, if there is one.
    pub cursor: Option<String>,
    /// Total number of merchants, if the directory knows it.
    pub total: Option<u64>,
    /// Messages.
    pub messages: Vec<Message>,
}

impl Found {
    fn nothing(reason: Message) -> Self {
        Self { merchants: Vec::new(), cursor: None, total: Some(0), messages: vec![reason] }
    }
}

/// Searches a directory as of `now`, or as of the first page.
///
/// # Errors
/// A refusal of filters that are unknown or invalid, of a page size out of range, or of a cursor of another query; the
/// error of the directory or the geocoder.
pub async fn search(
    merchants: &dyn Merchants,
    cursors: &dyn Cursors,
    geocoder: &dyn Geocoder,
    request: &Request,
    now: Timestamp,
) -> Result<Found, Refusal> {
    let filters = &request.filters;
    filters.check(merchants.policy())?;
    let limit = page_size(request.limit)?;
    if let Some(reason) = restriction(merchants.policy(), &request.context) {
        return Ok(Found::nothing(reason));
    }
    let Some(mut criteria) = filters.criteria()? else { return Ok(Found::nothing(unresolved())) };
    let mut messages = Vec::new();
    if let Some((address, radius)) = filters.around(merchants.policy())? {
        let mut address = address.clone();
        if address.address_country.as_deref().is_none_or(|country| country.trim().is_empty()) {
            address.address_country.clone_from(&request.context.country);
        }
        match geocoder.resolve(&address).await? {
            None => return Ok(Found::nothing(unresolved())),
            Some(Resolved { point, precision }) => {
                criteria.within = Some(Circle { center: point, max: radius.metres() });
                if precision < Precision::Street {
                    messages.push(approximated(precision));
                }
            }
        }
    }

    let text = Some(request.query.trim()).filter(|text| !text.is_empty());
    let bound = bound(text, filters, &criteria, &request.context);
    let turn = Turn::open(cursors, &bound, request.cursor.as_deref(), now)?;
    criteria.open_at = (filters.open_now == Some(true)).then_some(turn.instant);
    let preference = request.context.preference();
    let query = Query { text: text.map(str::to_owned), criteria, preference, limit, after: turn.after.clone() };
    let page = merchants.find(&query).await?;

    let ids: Vec<_> = page.hits.iter().map(|hit| hit.merchant.as_str()).collect();
    let documents = merchants.fetch(&ids).await?;
    let mut listings = Vec::with_capacity(page.hits.len());
    for (hit, merchant) in page.hits.iter().zip(documents) {
        // A merchant that was removed since it was found is not shown.
        let Some(merchant) = merchant else { continue };
        let path = format!("$.merchants[{}]", listings.len());
        messages.extend(holiday(&merchant, Some(&hit.locations), turn.instant, path));
        listings.push(Listing::new(merchant, &hit.locations, &request.context.languages));
    }
    Ok(Found {
        merchants: listings,
        cursor: page.next.map(|position| turn.seal(cursors, &bound, &position)),
        total: page.total,
        messages,
    })
}

impl Filters {
    /// Checks that the filters are known and valid.
    ///
    /// # Errors
    /// A refusal of the first filter that is not, with its path.
    pub fn check(&self, policy: &Policy) -> Result<(), Refusal> {
        self.criteria()?;
        self.around(policy).map(drop)
    }

    /// Converts the filters to criteria, except for those that need a clock or a geocoder; `None` for an address that
    /// does not exist.
    fn criteria(&self) -> Result<Option<Criteria>, Refusal> {
        known(&self.unknown, "`category`, `open_now`, `fulfillment_method` and `location`")?;
        let category = match self.category.as_deref() {
            Some(category) if category.split('>').any(|segment| segment.trim().is_empty()) => {
                return Err(Refusal::invalid("$.filters.category", "The category has an empty part.")
                    .accepting("a category such as `Restaurants` or `Restaurants > Pizza`"));
            }
            category => category.map(CategoryPath::new),
        };
        let methods = self.fulfillment_method.map_or(&[][..], FulfillmentMethod::methods).to_vec();
        let place = match &self.location {
            Some(LocationFilter { address: Some(address), radius: None }) => {
                let members = [
                    &address.address_country,
                    &address.address_region,
                    &address.address_locality,
                    &address.postal_code,
                ];
                if members.into_iter().flatten().all(String::is_empty) {
                    return Err(Refusal::invalid("$.filters.location.address", "The address names no place.").accepting(
                        "at least one of `address_country`, `address_region`, `address_locality` and `postal_code`; or a `radius`",
                    ));
                }
                let place = Place::of(address);
                // An address of blanks and punctuation names no place, and must not match every place.
                if place.is_empty() {
                    return Ok(None);
                }
                Some(place)
            }
            _ => None,
        };
        Ok(Some(Criteria { category, methods, place, ..Criteria::default() }))
    }

    /// Returns the address and the radius around it, if there is a radius.
    fn around(&self, policy: &Policy) -> Result<Option<(&PostalAddress, Radius)>, Refusal> {
        let Some(LocationFilter { address, radius }) = &self.location else { return Ok(None) };
        match (address, radius) {
            (None, None) => Err(Refusal::invalid("$.filters.location", "The location filter says nothing.")
                .accepting("an `address`, with or without a `radius`")),
            (None, Some(_)) => {
                Err(Refusal::invalid("$.filters.location", "There is a radius, but nothing it is around.")
                    .accepting("an `address` beside the `radius`"))
            }
            (Some(_), None) => Ok(None),
            (Some(address), Some(radius)) => {
                if *address == PostalAddress::default() {
                    return Err(Refusal::invalid("$.filters.location.address", "The address says nothing.")
                        .accepting("for example a `postal_code` with an `address_country`"));
                }
                within_bounds(policy, radius.metres(), "$.filters.location.radius.value")?;
                Ok(Some((address, *radius)))
            }
        }
    }
}

/// Refuses filters that this gateway does not know: without them, the answer would be wider than the request.
pub(super) fn known(unknown: &[String], known: &str) -> Result<(), Refusal> {
    let Some(name) = unknown.first() else { return Ok(()) };
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(64).collect();
    Err(Refusal::invalid(
        format!("$.filters['{}']", name.replace('\'', "\\'")),
        format!("There is no filter `{name}`."),
    )
    .accepting(format!("the filters {known}")))
}

/// Refuses a radius that is invalid or larger than the operator allows.
pub(super) fn within_bounds(policy: &Policy, metres: f64, path: &str) -> Result<(), Refusal> {
    if !(metres.is_finite() && metres >= 0.0) {
        return Err(Refusal::invalid(path, "The radius must be a distance.").accepting("a number that is at least 0"));
    }
    match policy.max_radius {
        Some(max) if metres > max => Err(Refusal::invalid(path, "The radius is larger than this directory searches.")
            .accepting(format!("at most {max} metres ({:.1} km)", max / METRES_PER_KILOMETRE))),
        _ => Ok(()),
    }
}

fn page_size(limit: Option<u64>) -> Result<usize, Refusal> {
    match limit.map(usize::try_from) {
        None => Ok(DEFAULT_LIMIT),
        Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(_) => Err(Refusal::invalid("$.pagination.limit", "The page size is out of bounds.")
            .accepting(format!("a number from 1 to {MAX_LIMIT}"))),
    }
}

/// Returns the message for buyers to whom the policy shows no merchants; `None` for all others.
pub(super) fn restriction(policy: &Policy, context: &Context) -> Option<Message> {
    let Place { country, region, .. } = context.place();
    let country = country?;
    let code = region.map(|region| format!("{country}-{region}"));
    let restricted = |own: &String| {
        own.eq_ignore_ascii_case(&country) || code.as_ref().is_some_and(|code| own.eq_ignore_ascii_case(code))
    };
    policy.restricted_regions.iter().any(restricted).then(|| {
        Message::error(
            "REGION_RESTRICTED",
            "The merchants of this directory do not sell to the buyer's region.",
            Severity::Recoverable,
        )
    })
}

fn unresolved() -> Message {
    Message::Error {
        code: "LOCATION_UNRESOLVED".to_owned(),
        content:
            "It is not known where this address is, so that nothing near it can be found. A postal code or a town \
            with its region, each with the country, can help."
                .to_owned(),
        severity: Severity::Recoverable,
        path: Some("$.filters.location.address".to_owned()),
        content_type: None,
    }
}

fn approximated(precision: Precision) -> Message {
    let middle = match precision {
        Precision::Locality => "the middle of the town",
        Precision::PostalCode | Precision::Street => "the middle of the postal code",
    };
    Message::info(
        "LOCATION_APPROXIMATED",
        format!("Distances were measured from {middle}, not from the address itself."),
    )
}

/// Returns a warning that one of these locations, or of all public ones, has exceptional hours today.
pub(super) fn holiday(merchant: &Merchant, of: Option<&[String]>, instant: Timestamp, path: String) -> Option<Message> {
    let of: Option<HashSet<&str>> = of.map(|ids| ids.iter().map(String::as_str).collect());
    let concerns =
        |location: &&Location| location.public && of.as_ref().is_none_or(|ids| ids.contains(location.id.as_str()));
    let mut concerned = merchant.locations.iter().filter(concerns);
    let (location, title) = concerned.find_map(|location| Some((location, occasion(location, instant)?)))?;
    let title = title.map(|title| format!(" ({title})")).unwrap_or_default();
    Some(Message::Warning {
        code: "HOLIDAY_HOURS".to_owned(),
        content: format!("Special opening hours apply today at {}{title}.", location.name),
        path: Some(path),
        content_type: None,
    })
}

/// Returns everything that decides about the results, except for the instant, which is part of the cursor.
fn bound(text: Option<&str>, filters: &Filters, criteria: &Criteria, context: &Context) -> String {
    let Filters { open_now, fulfillment_method, .. } = filters;
    format!(
        "{:?}",
        (
            "merchants",
            text,
            &criteria.category,
            *open_now == Some(true),
            fulfillment_method,
            criteria.within.map(Circle::bits),
            criteria.place.as_ref().map(Place::members),
            context.place().members(),
            &context.intent,
        )
    )
}
