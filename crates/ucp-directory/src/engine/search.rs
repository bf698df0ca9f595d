//! `search_merchants`: merchants by words, filters or both (draft *Merchant* capability).
//!
//! An address is geocoded here, once per call. If that fails, nothing is found, and the answer says why: a search never
//! becomes wider than requested.

use std::collections::HashSet;

use jiff::Timestamp;
use ucp_core::{
    Refusal,
    catalog::cursor::Cursors,
    merchant::{
        Context, DEFAULT_LIMIT, MAX_LIMIT,
        address::AddressPlace,
        criteria::{Circle, Criteria, Policy},
        listing::{Listing, occasion},
        record::{Location, Merchant, Precision},
        search::{Filters, Found, Request},
    },
    message::{Message, Severity},
};

use super::{
    paging::Turn,
    port::{Geocoder, Merchants, Preference, Query, Resolved},
};

/// Searches a directory as of `now`, or as of the first page. Fails with a refusal of filters that are unknown or
/// invalid, of a page size out of range, or of a cursor of another query; the error of the directory or the geocoder.
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
        return Ok(nothing(reason));
    }
    let Some(mut criteria) = filters.criteria()? else { return Ok(nothing(unresolved())) };
    let mut messages = Vec::new();
    if let Some((address, radius)) = filters.around(merchants.policy())? {
        let mut address = address.clone();
        if address.address_country.as_deref().is_none_or(|country| country.trim().is_empty()) {
            address.address_country.clone_from(&request.context.country);
        }
        match geocoder.resolve(&address).await? {
            None => return Ok(nothing(unresolved())),
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
    let preference = Preference::of(&request.context);
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

/// Returns the answer without merchants, for a reason.
fn nothing(reason: Message) -> Found {
    Found { merchants: Vec::new(), cursor: None, total: Some(0), messages: vec![reason] }
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
    let AddressPlace { country, region, .. } = context.place();
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
            criteria.place.as_ref().map(AddressPlace::members),
            context.place().members(),
            &context.intent,
        )
    )
}
