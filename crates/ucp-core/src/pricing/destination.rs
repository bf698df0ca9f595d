//! Destinations of a fulfillment method, and the choice among them.

use sha2::{Digest as _, Sha256};

use super::{
    eligibility,
    terms::{Customer, Terms},
};
use crate::{
    Refusal,
    purchase::{
        buyer::PostalAddress,
        draft::{DestinationDraft, Draft, MethodDraft},
        fulfillment::{Destination, Method},
    },
    text::fold,
};

/// Destinations of a method, and the one that was chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) destinations: Vec<Destination>,
    /// Position of the chosen destination.
    pub(super) selected: Option<usize>,
    /// `true` if the platform asked for a destination that does not exist.
    pub(super) unknown: bool,
    /// Sentence that says why the chosen pickup place cannot be had.
    pub(super) gone: Option<String>,
}

/// Returns the destinations of a method that ships; `path` is the JSONPath of the method in the draft.
///
/// Destinations that the platform states replace earlier ones. If it states none, those that it stated before are kept;
/// if there are none either, the stored addresses of the buyer are offered. A single destination is chosen
/// automatically. Fails with [`InvalidRequest`](crate::Code::InvalidRequest) if two different destinations have the
/// same identifier.
pub(super) fn choose(
    method: &MethodDraft,
    path: &str,
    draft: &Draft,
    terms: &Terms,
    before: Option<&Method>,
) -> Result<Choice, Refusal> {
    let customer = eligibility::email(draft)
        .and_then(|email| terms.customers.iter().find(|customer| fold(&customer.email) == email));
    let mut destinations = if method.destinations.is_empty() {
        offered(customer, before)
    } else {
        stated(&method.destinations, path, customer, before)?
    };
    let wanted = method.selected_destination_id.as_deref();
    if let Some(id) = wanted
        && !destinations.iter().any(|destination| destination.id == id)
    {
        destinations.extend(customer.into_iter().flat_map(stored).find(|destination| destination.id == id));
    }
    let position = |id: &str| destinations.iter().position(|destination| destination.id == id);
    let asked = wanted.and_then(position);
    let earlier = || before.and_then(|method| method.selected_destination_id.as_deref()).and_then(position);
    let only = || (destinations.len() == 1).then_some(0);
    let selected = asked.or_else(earlier).or_else(only);
    Ok(Choice { selected, unknown: wanted.is_some() && asked.is_none(), gone: None, destinations })
}

fn stored(customer: &Customer) -> impl Iterator<Item = Destination> {
    customer.addresses.iter().map(|stored| Destination {
        id: stored.id.clone(),
        name: None,
        address: stored.address.clone(),
        stored: true,
    })
}

fn offered(customer: Option<&Customer>, before: Option<&Method>) -> Vec<Destination> {
    // Stored addresses are looked up afresh, because the buyer may have changed.
    let kept: Vec<_> = before
        .into_iter()
        .flat_map(|method| &method.destinations)
        .filter(|destination| !destination.stored)
        .cloned()
        .collect();
    if kept.is_empty() { customer.into_iter().flat_map(stored).collect() } else { kept }
}

fn stated(
    drafts: &[DestinationDraft],
    path: &str,
    customer: Option<&Customer>,
    before: Option<&Method>,
) -> Result<Vec<Destination>, Refusal> {
    let known = || {
        let before = before.into_iter().flat_map(|method| &method.destinations);
        customer.into_iter().flat_map(stored).chain(before.filter(|destination| !destination.stored).cloned())
    };
    let mut destinations: Vec<Destination> = Vec::with_capacity(drafts.len());
    for (position, draft) in drafts.iter().enumerate() {
        let bare = draft.address == PostalAddress::default();
        let destination = match &draft.id {
            Some(id) => match known().find(|known| known.id == *id && (bare || known.address == draft.address)) {
                Some(known) => known,
                None => stated_as(id.clone(), &draft.address),
            },
            None => match known().find(|known| known.stored && same(&known.address, &draft.address)) {
                Some(known) => known,
                None => stated_as(name_of(&draft.address), &draft.address),
            },
        };
        match destinations.iter().find(|other| other.id == destination.id) {
            None => destinations.push(destination),
            // The same address twice is one destination.
            Some(other) if draft.id.is_none() || other.address == destination.address => {}
            Some(_) => {
                let path = format!("{path}.destinations[{position}].id");
                return Err(Refusal::invalid(path, format!("Two destinations have the id `{}`.", destination.id))
                    .accepting("an id of its own for each destination, or none"));
            }
        }
    }
    Ok(destinations)
}

fn stated_as(id: String, address: &PostalAddress) -> Destination {
    Destination { id, name: None, address: address.clone(), stored: false }
}

/// Returns `true` if two addresses name the same place, whoever the recipient is.
fn same(one: &PostalAddress, other: &PostalAddress) -> bool {
    let parts = |address: &PostalAddress| {
        [
            &address.street_address,
            &address.extended_address,
            &address.address_locality,
            &address.address_region,
            &address.address_country,
            &address.postal_code,
        ]
        .map(|part| part.as_deref().map(|text| fold(text.trim())))
    };
    parts(one) == parts(other)
}

/// Returns an identifier for an address without one: a hash, so that the same address always gets the same identifier.
fn name_of(address: &PostalAddress) -> String {
    let mut hash = Sha256::new();
    let members = [
        &address.street_address,
        &address.extended_address,
        &address.address_locality,
        &address.address_region,
        &address.address_country,
        &address.postal_code,
        &address.first_name,
        &address.last_name,
        &address.phone_number,
    ];
    for member in members {
        let text = member.as_deref().unwrap_or_default();
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let hex: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("dest_{hex}")
}
