//! Selection of delivery options for a cart, from the choices of a platform.
//!
//! Groups of lines are identified by their positions, because the shop's identifiers of groups contain the secret of
//! the cart; options are identified by their handles. A platform that can show only one group gets all of them as one,
//! whose options are combinations of an option of each.

use std::collections::HashSet;

use serde_json::{Value, json};
use ucp_core::{
    ports::remote_cart::PriceRequest,
    purchase::{
        buyer::PostalAddress,
        draft::{Draft, MethodDraft},
        fulfillment::{Destination, Method, MethodKind},
        quote::Previous,
    },
};

use super::shape::{Cart, DeliveryOption, Group};

impl Cart {
    /// Returns the groups in which lines are delivered.
    pub(super) fn groups(&self) -> &[Group] {
        self.delivery_groups.as_ref().map(|groups| groups.nodes.as_slice()).unwrap_or_default()
    }

    /// Returns the selections to change so that groups are delivered as the platform chose; groups are identified by
    /// their positions, and options by their handles. A group whose current option is not of the platform's kind, and
    /// for which the platform chose none, gets its first option of that kind; for a pick-up only if there is exactly
    /// one.
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

/// A combination of an option of each group, for a platform that can show only one group (rule FUL-02).
pub(super) struct Way<'a> {
    /// Handles of the options, joined by `+`.
    pub(super) id: String,
    /// Option of each group, with the position of the group.
    pub(super) options: Vec<(usize, &'a DeliveryOption)>,
}

/// Maximum number of combinations that are built. The selected one may come on top.
const MOST_WAYS: usize = 60;

/// Returns the combinations of options over all groups that have options of this kind. If there are too many, the
/// selected one is first among them.
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

/// Returns the identifier of a group: the shop's own contains the secret of the cart.
pub(super) fn group_id(place: usize) -> String {
    format!("group_{}", place + 1)
}

/// Returns the option that a platform chose for the group at `place`; for a pick-up, this may be the chosen
/// destination.
pub(super) fn chosen<'a>(draft: &'a Draft, previous: &Previous, place: usize) -> Option<&'a str> {
    methods(draft).iter().find_map(|method| {
        let named = method.groups.iter().find(|group| group.id.as_deref() == Some(group_id(place).as_str()));
        let first = || method.groups.first().filter(|group| group.id.is_none() && place == 0);
        let option = named.or_else(first).and_then(|group| group.selected_option_id.as_deref());
        let picked_up = || method.selected_destination_id.as_deref();
        option.or_else(|| (kind_of(method, previous) == MethodKind::Pickup).then(picked_up).flatten())
    })
}

/// Returns the methods of a draft.
pub(super) fn methods(draft: &Draft) -> &[MethodDraft] {
    draft.fulfillment.as_ref().map(|fulfillment| fulfillment.methods.as_slice()).unwrap_or_default()
}

/// Returns the kind of a method: a method that is named by its identifier need not state its kind again.
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

/// Returns the destinations of a method that ships, and the position of the selected one. If the draft states no
/// destinations, the earlier ones are kept; if it selects none, the one selected before is kept, or else the first.
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
