//! Conversion of a cart's delivery to the domain's fulfillment.

use std::collections::BTreeMap;

use ucp_core::{
    message::{Message, Severity},
    money::Currency,
    ports::remote_cart::PriceRequest,
    purchase::{
        buyer::PostalAddress,
        fulfillment::{self, AvailableMethod, Fulfillment, Method, MethodKind},
        totals::Totals,
    },
};

use super::{
    super::{
        delivery::{Way, chosen, destinations, group_id, kind_of, methods, together},
        shape::{Cart, DeliveryOption, Group},
    },
    Lines, Reading,
};
use crate::text;
use ucp_net::Failure;

/// Maximum number of groups of a cart, which is the number that the operation requests.
const MOST_GROUPS: usize = 3;

impl Reading<'_> {
    /// Returns the fulfillment that the platform wants, as far as the shop offers it.
    pub(super) fn fulfillment(
        &self,
        cart: &Cart,
        groups: &[Group],
        lines: &Lines<'_>,
        currency: Currency,
    ) -> Result<Option<Fulfillment>, Failure> {
        let shipped: Vec<_> = lines
            .lines
            .iter()
            .filter(|(_, line)| line.merchandise.requires_shipping)
            .map(|(id, _)| id.clone())
            .collect();
        if shipped.is_empty() {
            return Ok(None);
        }
        let previous = self.request.previous;
        let stated = methods(self.request.draft).first();
        let wanted = stated.map_or(MethodKind::Shipping, |method| kind_of(method, previous));
        let offers = |wanted: MethodKind| groups.iter().any(|group| group.of_kind(wanted).next().is_some());
        let mut destinations = Vec::new();
        let selected;
        match wanted {
            MethodKind::Shipping => {
                let (own, chosen) = stated.map(|method| self::destinations(method, previous)).unwrap_or_default();
                // A destination that the shop refused is not selected.
                let chosen = chosen.filter(|_| cart.address().is_some());
                selected = chosen.and_then(|place| own.get(place)).map(|destination| destination.id.clone());
                destinations = own;
            }
            MethodKind::Pickup => {
                for option in groups.iter().flat_map(|group| group.of_kind(MethodKind::Pickup)) {
                    destinations.push(fulfillment::Destination {
                        id: option.handle.clone(),
                        name: option.title.as_deref().and_then(text::line),
                        address: PostalAddress::default(),
                        stored: false,
                    });
                }
                let handle = groups.iter().find_map(|group| group.selected_delivery_option.as_ref());
                let handle = handle.map(|option| option.handle.clone());
                selected = handle.filter(|id| destinations.iter().any(|destination| destination.id == *id));
            }
        }
        let names: BTreeMap<&str, &str> =
            lines.lines.iter().map(|(id, line)| (line.id.as_str(), id.as_str())).collect();
        let ids = |group: &Group| -> Vec<String> {
            let own = group.cart_lines.nodes.iter();
            own.filter_map(|line| names.get(line.id.as_str()).map(|id| (*id).to_owned())).collect()
        };
        let mut own = Vec::with_capacity(groups.len());
        if self.request.caller.multi_group {
            for (place, group) in groups.iter().enumerate() {
                let options = group.of_kind(wanted).map(|option| self.option(option, currency));
                let options = options.collect::<Result<Vec<_>, _>>()?;
                let chosen = group.chosen().map(|option| option.handle.clone());
                own.push(fulfillment::Group {
                    id: group_id(place),
                    line_item_ids: ids(group),
                    selected_option_id: chosen.filter(|id| options.iter().any(|option| option.id == *id)),
                    options,
                });
            }
        } else {
            let ways = together(groups, wanted);
            let taken = |way: &&Way<'_>| {
                way.options
                    .iter()
                    .all(|(place, option)| groups[*place].chosen().is_some_and(|chosen| chosen.handle == option.handle))
            };
            let usable = groups.iter().filter(|group| group.of_kind(wanted).next().is_some());
            own.push(fulfillment::Group {
                id: group_id(0),
                line_item_ids: usable.flat_map(ids).collect(),
                selected_option_id: ways.iter().find(taken).map(|way| way.id.clone()),
                options: ways.iter().map(|way| self.way(way, currency)).collect::<Result<_, _>>()?,
            });
        }
        own.retain(|group| !group.options.is_empty() && !group.line_item_ids.is_empty());
        let available = [MethodKind::Shipping, MethodKind::Pickup].into_iter().filter(|kind| offers(*kind));
        let available_methods = available.map(|kind| AvailableMethod {
            kind,
            line_item_ids: shipped.clone(),
            fulfillable_on: None,
            description: None,
            place_ids: None,
        });
        let available_methods = available_methods.collect();
        let method = Method {
            id: stated.and_then(|method| method.id.clone()).unwrap_or_else(|| format!("{}_1", wanted.as_str())),
            kind: wanted,
            line_item_ids: shipped,
            destinations,
            selected_destination_id: selected,
            groups: own,
        };
        Ok(Some(Fulfillment { methods: vec![method], available_methods }))
    }

    /// Returns messages about choices of the platform that are not available.
    pub(super) fn not_offered(&self, shown: &Method) -> Vec<Message> {
        let PriceRequest { draft, previous, .. } = *self.request;
        let Some(stated) = methods(draft).first() else { return Vec::new() };
        let wrong = |code: &str, content: &str, path: String| {
            Message::error(code, content, Severity::Recoverable).at(format!("$.fulfillment.methods[0].{path}"))
        };
        let mut messages = Vec::new();
        if let Some(id) = &stated.selected_destination_id
            && !shown.destinations.iter().any(|destination| destination.id == *id)
        {
            let content = "There is no such destination; choose one of those that are listed.";
            messages.push(wrong("destination_unknown", content, "selected_destination_id".to_owned()));
        }
        for (at, group) in shown.groups.iter().enumerate() {
            let place = (0..).take(MOST_GROUPS).find(|place| group.id == group_id(*place));
            let Some(handle) = place.and_then(|place| chosen(draft, previous, place)) else { continue };
            let of_method = stated.selected_destination_id.as_deref() == Some(handle);
            if !of_method && !group.options.iter().any(|option| option.id == handle) {
                let content = "There is no such option for this destination; choose one of those that are listed.";
                messages.push(wrong("option_unknown", content, format!("groups[{at}].selected_option_id")));
            }
        }
        messages
    }

    /// Returns the option that delivers several groups as one.
    fn way(&self, way: &Way<'_>, currency: Currency) -> Result<fulfillment::DeliveryOption, Failure> {
        if let [(_, option)] = way.options.as_slice() {
            return self.option(option, currency);
        }
        let too_large = |_| self.unexpected("an amount");
        let mut titles = Vec::with_capacity(way.options.len());
        let mut cost = 0;
        for (_, option) in &way.options {
            titles.push(self.option(option, currency)?.title);
            cost += self.positive(&option.estimated_cost, currency)?;
        }
        Ok(fulfillment::DeliveryOption {
            id: way.id.clone(),
            title: titles.join(" + "),
            description: None,
            carrier: None,
            earliest: None,
            latest: None,
            totals: Totals::of(cost).and_then(Totals::finish).map_err(too_large)?,
        })
    }

    fn option(&self, option: &DeliveryOption, currency: Currency) -> Result<fulfillment::DeliveryOption, Failure> {
        let too_large = |_| self.unexpected("an amount");
        let totals = Totals::of(self.positive(&option.estimated_cost, currency)?).map_err(too_large)?;
        let title = option.title.as_deref().and_then(text::line);
        let description = option.description.as_deref().and_then(text::plain);
        Ok(fulfillment::DeliveryOption {
            id: option.handle.clone(),
            description: description.filter(|description| Some(description) != title.as_ref()),
            title: title.unwrap_or_else(|| option.kind().as_str().to_owned()),
            carrier: None,
            earliest: None,
            latest: None,
            totals: totals.finish().map_err(too_large)?,
        })
    }
}

/// Returns messages about what is missing for the delivery, with paths into the method that is shown.
pub(super) fn undelivered(cart: &Cart, shown: Option<&Method>) -> Vec<Message> {
    let required =
        |content: &str, path: &str| Message::error("fulfillment_required", content, Severity::Recoverable).at(path);
    let unreachable = |content: &str| {
        let path = "$.fulfillment.methods[0].destinations";
        Message::error("address_undeliverable", content, Severity::Recoverable).at(path)
    };
    let groups = cart.groups();
    if groups.is_empty() {
        return vec![match cart.address() {
            None => required("State where the goods are to go.", "$.fulfillment.methods"),
            Some(_) => unreachable("The shop does not deliver these goods to this address."),
        }];
    }
    let mut messages = Vec::new();
    if groups.iter().any(|group| group.delivery_options.is_empty()) {
        messages.push(unreachable("The shop does not deliver some of these goods there."));
    }
    let shown = shown.map(|method| method.groups.as_slice()).unwrap_or_default();
    let missing = shown.iter().enumerate().filter(|(_, group)| group.selected_option_id.is_none());
    messages.extend(missing.map(|(at, _)| {
        let path = format!("$.fulfillment.methods[0].groups[{at}].selected_option_id");
        required("Choose how the goods travel.", &path)
    }));
    messages
}
