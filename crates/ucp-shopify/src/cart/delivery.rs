//! How goods travel: what a platform chooses, in the API's words.
//!
//! Groups of lines go by their places, because the shop's own names of them hold the secret of the cart; options go by
//! their handles. A platform that can show only one group is shown all of them as one, whose options are the ways in
//! which all of them travel.

use std::collections::HashSet;

use serde_json::{Value, json};
use ucp_core::purchase::{
    buyer::PostalAddress,
    draft::{Draft, MethodDraft},
    fulfillment::{Destination, Method, MethodKind},
    quote::Previous,
    remote_cart::PriceRequest,
};

use super::shape::{Cart, DeliveryOption, Group};

impl Cart {
    /// The groups in which lines travel.
    pub(super) fn groups(&self) -> &[Group] {
        self.delivery_groups.as_ref().map(|groups| groups.nodes.as_slice()).unwrap_or_default()
    }

    /// The options to be selected so that groups travel as a platform chose; groups go by their places, and options by
    /// their handles. What travels in another way than the platform speaks of takes the first that there is of its own;
    /// goods are picked up without asking where there is but one place.
    pub(super) fn selections(&self, request: &PriceRequest<'_>) -> Vec<Value> {
        let PriceRequest { draft, previous, caller, .. } = *request;
        let Some(method) = methods(draft).first() else { return Vec::new() };
        let wanted = kind_of(method, previous);
        let ways = if caller.multi_group { Vec::new() } else { together(self.groups(), wanted) };
        let way = ways.iter().find(|way| chosen(draft, previous, 0) == Some(way.id.as_str()));
        let selections = self.groups().iter().enumerate().filter_map(|(place, group)| {
            let asked = match way {
                Some(way) => {
                    way.options.iter().find(|(own, _)| *own == place).map(|(_, option)| option.handle.as_str())
                }
                None => chosen(draft, previous, place),
            };
            let asked = asked.and_then(|handle| group.of_kind(wanted).find(|option| option.handle == handle));
            let now = group.chosen();
            let instead = || {
                let only = wanted == MethodKind::Shipping || group.of_kind(wanted).count() == 1;
                let other = now.is_none_or(|now| now.kind() != wanted);
                group.of_kind(wanted).next().filter(|_| only && other)
            };
            let option = asked.or_else(instead)?;
            let differs = now.is_none_or(|now| now.handle != option.handle);
            differs.then(|| json!({ "deliveryGroupId": group.id, "deliveryOptionHandle": option.handle }))
        });
        selections.collect()
    }
}

/// One way in which all groups travel, for a platform that can show only one group (rule FUL-02).
pub(super) struct Way<'a> {
    /// The handles of its options.
    pub(super) id: String,
    /// The option of each group, by the place of that.
    pub(super) options: Vec<(usize, &'a DeliveryOption)>,
}

/// How many ways are shown to a platform that can show only one group.
const MOST_WAYS: usize = 60;

/// The ways in which all groups travel that can travel in one of this kind, and first among them the one that is
/// chosen, if there are too many.
pub(super) fn together(groups: &[Group], kind: MethodKind) -> Vec<Way<'_>> {
    let usable = || groups.iter().enumerate().filter(|(_, group)| group.of_kind(kind).next().is_some());
    let mut ways: Vec<Vec<(usize, &DeliveryOption)>> = vec![Vec::new()];
    for (place, group) in usable() {
        let more = ways.iter().flat_map(|way| {
            group.of_kind(kind).map(move |option| way.iter().copied().chain([(place, option)]).collect::<Vec<_>>())
        });
        ways = more.take(MOST_WAYS).collect();
    }
    let chosen: Option<Vec<_>> = usable().map(|(place, group)| Some((place, group.chosen()?))).collect();
    if let Some(chosen) = chosen
        && ways.len() == MOST_WAYS
        && chosen.iter().all(|(_, option)| option.kind() == kind)
    {
        ways.insert(0, chosen);
    }
    let named = ways.into_iter().filter(|way| !way.is_empty()).map(|options| {
        let handles: Vec<_> = options.iter().map(|(_, option)| option.handle.as_str()).collect();
        Way { id: handles.join("+"), options }
    });
    let mut seen = HashSet::new();
    named.filter(|way| seen.insert(way.id.clone())).collect()
}

/// What a group of lines goes by here: the shop's own names of groups hold the secret of the cart.
pub(super) fn group_id(place: usize) -> String {
    format!("group_{}", place + 1)
}

/// The option that a platform chose for the group at `place`: of pick-up, the place where the goods are picked up.
pub(super) fn chosen<'a>(draft: &'a Draft, previous: &Previous, place: usize) -> Option<&'a str> {
    methods(draft).iter().find_map(|method| {
        let named = method.groups.iter().find(|group| group.id.as_deref() == Some(group_id(place).as_str()));
        let first = || method.groups.first().filter(|group| group.id.is_none() && place == 0);
        let option = named.or_else(first).and_then(|group| group.selected_option_id.as_deref());
        let picked_up = || method.selected_destination_id.as_deref();
        option.or_else(|| (kind_of(method, previous) == MethodKind::Pickup).then(picked_up).flatten())
    })
}

/// The methods that a platform states.
pub(super) fn methods(draft: &Draft) -> &[MethodDraft] {
    draft.fulfillment.as_ref().map(|fulfillment| fulfillment.methods.as_slice()).unwrap_or_default()
}

/// The method that is meant: one that is named need not say again of which kind it is.
pub(super) fn kind_of(method: &MethodDraft, previous: &Previous) -> MethodKind {
    let pickup = MethodKind::Pickup.as_str();
    let before = || method.id.as_deref().and_then(|id| earlier(previous).iter().find(|own| own.id == id));
    let named =
        || method.id.as_deref().is_some_and(|id| id.strip_prefix(pickup).is_some_and(|end| end.starts_with('_')));
    match method.kind.as_deref() {
        Some(kind) if kind == pickup => MethodKind::Pickup,
        Some(_) => MethodKind::Shipping,
        None => match before() {
            Some(own) => own.kind,
            None if named() => MethodKind::Pickup,
            None => MethodKind::Shipping,
        },
    }
}

fn earlier(previous: &Previous) -> &[Method] {
    previous.fulfillment.as_ref().map(|fulfillment| fulfillment.methods.as_slice()).unwrap_or_default()
}

/// Where a method that ships can go, and which of these it goes to. Where the platform states no destinations, those
/// are kept that it stated before; where it chooses none, the first is chosen.
pub(super) fn destinations(method: &MethodDraft, previous: &Previous) -> (Vec<Destination>, Option<usize>) {
    let before = earlier(previous).iter().find(|own| own.kind == MethodKind::Shipping);
    let known = || before.into_iter().flat_map(|method| &method.destinations);
    let stated = method.destinations.iter().enumerate().map(|(place, stated)| {
        let id = stated.id.clone().unwrap_or_else(|| format!("dest_{}", place + 1));
        let named = known().find(|own| own.id == id).filter(|_| stated.address == PostalAddress::default());
        let address = named.map_or_else(|| stated.address.clone(), |own| own.address.clone());
        Destination { id, name: None, address, stored: false }
    });
    let mut destinations: Vec<_> = stated.collect();
    if destinations.is_empty() {
        destinations = known().cloned().collect();
    }
    let position = |id: &str| destinations.iter().position(|own| own.id == id);
    let asked = method.selected_destination_id.as_deref();
    let chosen_before = || before.and_then(|method| method.selected_destination_id.as_deref());
    let selected = asked
        .and_then(position)
        .or_else(|| chosen_before().and_then(position))
        .or_else(|| (!destinations.is_empty()).then_some(0));
    (destinations, selected)
}

#[cfg(test)]
mod tests;
