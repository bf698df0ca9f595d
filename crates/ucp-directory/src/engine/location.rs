//! `search_locations` and `lookup_locations`: the locations of a directory (UCP *Location Search*, *Location Lookup*).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use ucp_core::{
    Refusal,
    catalog::cursor::Cursors,
    merchant::{
        DEFAULT_LIMIT, MAX_LIMIT,
        criteria::Circle,
        listing::occasion,
        location::{Found, Listed, LookupRequest, MAX_IDS, Resolved, SearchRequest},
    },
    message::Message,
};

use super::{
    paging::Turn,
    port::{Merchants, Preference, Query},
    search::restriction,
};

/// Searches the locations of a directory. Fails with a refusal of filters that are invalid or that the directory cannot
/// evaluate, of a page size of 0, or of a cursor of another query; the error of the directory.
pub async fn search(
    merchants: &dyn Merchants,
    cursors: &dyn Cursors,
    request: &SearchRequest,
    now: Timestamp,
) -> Result<Found, Refusal> {
    let criteria = request.demands.criteria(merchants.policy())?;
    let limit = match request.limit {
        Some(0) => {
            return Err(Refusal::invalid("$.pagination.limit", "A page cannot be empty.")
                .accepting("a number that is at least 1"));
        }
        limit => limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT).min(MAX_LIMIT)),
    };
    if let Some(reason) = restriction(merchants.policy(), &request.context) {
        return Ok(Found { locations: Vec::new(), cursor: None, total: Some(0), messages: vec![reason] });
    }
    let text = request.query.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let bound = format!(
        "{:?}",
        (
            "locations",
            text,
            criteria.open_at,
            criteria.within.map(Circle::bits),
            &criteria.amenities,
            request.context.place().members(),
            &request.context.intent,
        )
    );
    let turn = Turn::open(cursors, &bound, request.cursor.as_deref(), now)?;
    let asked_of = criteria.open_at.unwrap_or(turn.instant);
    let preference = Preference::of(&request.context);
    let query = Query { text: text.map(str::to_owned), criteria, preference, limit, after: turn.after.clone() };
    let page = merchants.find_locations(&query).await?;

    let mut ids: Vec<&str> = Vec::with_capacity(page.hits.len());
    for hit in &page.hits {
        if !ids.contains(&hit.merchant.as_str()) {
            ids.push(&hit.merchant);
        }
    }
    let documents: HashMap<&str, _> = ids.iter().copied().zip(merchants.fetch(&ids).await?).collect();
    let listed = page.hits.iter().filter_map(|hit| {
        // A merchant that was removed since it was found is not shown.
        let merchant = documents.get(hit.merchant.as_str())?.as_ref()?;
        let place = merchant.locations.iter().position(|location| location.public && location.id == hit.location)?;
        Some(Listed::new(Arc::clone(merchant), place, &request.context.languages))
    });
    let locations: Vec<_> = listed.collect();
    Ok(Found {
        messages: occasions(&locations, asked_of),
        locations,
        cursor: page.next.map(|position| turn.seal(cursors, &bound, &position)),
        total: page.total,
    })
}

/// Looks locations up. Fails with a refusal of filters that are invalid or that the directory cannot evaluate, or of a
/// request without identifiers; the error of the directory.
pub async fn lookup(merchants: &dyn Merchants, request: &LookupRequest, now: Timestamp) -> Result<Resolved, Refusal> {
    let criteria = request.demands.criteria(merchants.policy())?;
    if request.ids.is_empty() {
        return Err(Refusal::invalid("$.ids", "There is nothing to look up.").accepting("at least one identifier"));
    }
    if let Some(reason) = restriction(merchants.policy(), &request.context) {
        return Ok(Resolved { locations: Vec::new(), messages: vec![reason] });
    }
    let mut distinct = HashSet::new();
    let mut ids: Vec<&str> = request.ids.iter().map(String::as_str).filter(|id| distinct.insert(*id)).collect();
    let omitted = ids.len().saturating_sub(MAX_IDS);
    ids.truncate(MAX_IDS);

    let mut locations: Vec<Listed> = Vec::new();
    let mut places: HashMap<String, Option<usize>> = HashMap::new();
    let mut messages = Vec::new();
    for (id, owners) in ids.iter().zip(merchants.fetch_by_location(&ids).await?) {
        let mut known = false;
        for merchant in owners {
            for (place, location) in merchant.locations.iter().enumerate() {
                if !location.public || location.id != **id && !location.aliases.iter().any(|alias| alias == id) {
                    continue;
                }
                known = true;
                let listed = *places.entry(location.id.clone()).or_insert_with(|| {
                    criteria.admit(&merchant, location).then(|| {
                        locations.push(Listed::new(Arc::clone(&merchant), place, &request.context.languages));
                        locations.len() - 1
                    })
                });
                if let Some(listed) = listed {
                    locations[listed].inputs.push((*id).to_owned());
                }
            }
        }
        if !known {
            messages.push(Message::info("not_found", format!("No location has the identifier {id}.")));
        }
    }
    if omitted > 0 {
        messages.push(Message::info(
            "batch_limit_applied",
            format!("The first {MAX_IDS} different identifiers were looked up, the most at once; {omitted} were not."),
        ));
    }
    messages.extend(occasions(&locations, criteria.open_at.unwrap_or(now)));
    Ok(Resolved { locations, messages })
}

/// Returns those of the locations that have exceptional hours on their local day of this instant.
fn occasions(locations: &[Listed], instant: Timestamp) -> Vec<Message> {
    let note = |(place, listed): (usize, &Listed)| {
        let title = occasion(listed.location(), instant)?;
        let title = title.map(|title| format!(" ({title})")).unwrap_or_default();
        Some(Message::Info {
            code: Some("holiday_hours_active".to_owned()),
            content: format!("Special opening hours apply on this day{title}."),
            path: Some(format!("$.locations[{place}]")),
            content_type: None,
        })
    };
    locations.iter().enumerate().filter_map(note).collect()
}
