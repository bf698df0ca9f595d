//! Pickup places of a method, and the choice among those that have its goods.

use std::collections::HashMap;

use super::{
    destination::Choice,
    lines::Line,
    terms::{PickupPlace, Terms},
};
use crate::purchase::{
    draft::MethodDraft,
    fulfillment::{Destination, Method},
};

/// Returns the positions of those of the lines of which a place has fewer than are wanted. Lines of one variant share
/// what there is.
pub(super) fn lacking(lines: &[Line<'_>], inside: &[usize], place: &str) -> Vec<usize> {
    let mut left: HashMap<&str, u64> = HashMap::new();
    let is_short = |position: &usize| {
        let Line { good, quantity, .. } = &lines[*position];
        let Some(stock) = &good.stock_by_location else { return false };
        let left = left.entry(&good.id).or_insert_with(|| stock.get(place).copied().unwrap_or_default());
        match left.checked_sub(*quantity) {
            Some(rest) => {
                *left = rest;
                false
            }
            None => true,
        }
    };
    inside.iter().copied().filter(is_short).collect()
}

/// Returns the places that have every line of a method, and the chosen one. A single place is chosen automatically. One
/// that was chosen and lacks goods stays chosen, with the reason why it cannot be had, until another one is.
pub(super) fn choose(
    method: &MethodDraft,
    terms: &Terms,
    lines: &[Line<'_>],
    inside: &[usize],
    before: Option<&Method>,
) -> Choice {
    let places = &terms.pickup.places;
    let able = places.iter().filter(|place| lacking(lines, inside, &place.id).is_empty());
    let mut destinations: Vec<_> = able.map(destination).collect();
    let known = |id: &str| {
        let place = places.iter().find(|place| place.id == id).map(destination);
        place.or_else(|| before?.destinations.iter().find(|known| known.id == id).cloned())
    };
    let wanted = method.selected_destination_id.as_deref();
    let asked = wanted.and_then(known);
    let unknown = wanted.is_some() && asked.is_none();
    let earlier = || known(before?.selected_destination_id.as_deref()?);
    let mut gone = None;
    let selected = match asked.or_else(earlier) {
        None => (destinations.len() == 1).then_some(0),
        Some(chosen) => {
            let position = destinations.iter().position(|destination| destination.id == chosen.id);
            position.or_else(|| {
                let name = chosen.name.as_deref().unwrap_or(&chosen.id);
                let short = lacking(lines, inside, &chosen.id).into_iter();
                let titles: Vec<_> = short.map(|position| lines[position].good.title.as_str()).collect();
                gone = Some(if places.iter().any(|place| place.id == chosen.id) {
                    format!("{name} does not have enough of {}; choose another place.", titles.join(" and "))
                } else {
                    format!("{name} no longer has all of these goods; choose another place.")
                });
                destinations.push(chosen);
                destinations.len().checked_sub(1)
            })
        }
    };
    Choice { destinations, selected, unknown, gone }
}

fn destination(place: &PickupPlace) -> Destination {
    Destination { id: place.id.clone(), name: Some(place.name.clone()), address: place.address.clone(), stored: false }
}
