//! Delivery of goods: methods, destinations, groups and options (UCP *Fulfillment Extension*; rules FUL-01 to FUL-07).

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use serde::{Deserialize, Serialize};

use super::{buyer::PostalAddress, totals::Total};
use crate::catalog::product::LeadTime;

/// Fulfillment of a checkout: shipping or pickup of its items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fulfillment {
    /// Methods in use.
    pub methods: Vec<Method>,
    /// Methods that could be used.
    pub available_methods: Vec<AvailableMethod>,
}

named! {
    /// Kinds of fulfillment method that the shop supports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MethodKind {
        /// The items are shipped to an address.
        Shipping = "shipping",
        /// The items are picked up at a location of the shop.
        Pickup = "pickup",
    }
}

/// A fulfillment method in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Identifier, stable as long as the method exists.
    pub id: String,
    /// Kind of the method.
    pub kind: MethodKind,
    /// Identifiers of the lines that the method delivers.
    pub line_item_ids: Vec<String>,
    /// Possible destinations: addresses that the platform stated or that the shop has stored for the buyer, or pickup
    /// places of the shop.
    pub destinations: Vec<Destination>,
    /// Identifier of the chosen destination.
    pub selected_destination_id: Option<String>,
    /// Groups in which the lines are delivered; empty as long as the destination is unknown.
    pub groups: Vec<Group>,
}

/// A destination of goods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// Identifier of the destination.
    pub id: String,
    /// Name of a pickup place of the shop; `None` for an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Postal address.
    pub address: PostalAddress,
    /// `true` if the shop has stored the address for the buyer; `false` if the platform stated it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
}

/// Lines that are delivered together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Identifier, stable as long as the group exists.
    pub id: String,
    /// Identifiers of the lines.
    pub line_item_ids: Vec<String>,
    /// Options to choose from, best first; the pricing engine puts the cheapest first.
    pub options: Vec<DeliveryOption>,
    /// Identifier of the chosen option.
    pub selected_option_id: Option<String>,
}

/// A delivery option of a group.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryOption {
    /// Identifier of the option.
    pub id: String,
    /// Name shown to the buyer, which distinguishes the option on its own (rule FUL-04).
    pub title: String,
    /// Further information, which repeats neither name nor price.
    pub description: Option<String>,
    /// Name of the carrier.
    pub carrier: Option<String>,
    /// Earliest time of arrival, UTC.
    pub earliest: Option<Timestamp>,
    /// Latest time of arrival, UTC.
    pub latest: Option<Timestamp>,
    /// Price of the option: `subtotal`, `discount` if it is free or reduced, `total`.
    pub totals: Vec<Total>,
}

/// Returns when goods can all leave the shop: `now`, or the time at which that day begins, RFC 3339, UTC.
pub(crate) fn fulfillable_on(lead_times: impl Iterator<Item = LeadTime>, now: Timestamp) -> String {
    let today = now.to_zoned(TimeZone::UTC).date();
    match lead_times.map(|lead_time| lead_time.wait(today)).max() {
        None | Some(0) => "now".to_owned(),
        Some(days) => {
            let day = today.saturating_add(i64::from(days).days());
            day.to_zoned(TimeZone::UTC).map_or_else(|_| day.to_string(), |begin| begin.timestamp().to_string())
        }
    }
}

/// Returns the JSONPath of the destination that goods are sent to; of the delivery if none is chosen.
pub fn destination_path(fulfillment: Option<&Fulfillment>) -> String {
    let methods = fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods).enumerate();
    let mut chosen = methods.filter(|(_, method)| method.kind == MethodKind::Shipping).filter_map(|(nth, method)| {
        let selected = method.selected_destination_id.as_ref()?;
        let at = method.destinations.iter().position(|destination| destination.id == *selected)?;
        Some(format!("$.fulfillment.methods[{nth}].destinations[{at}]"))
    });
    chosen.next().unwrap_or_else(|| "$.fulfillment".to_owned())
}

/// A fulfillment method that could be used.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailableMethod {
    /// Kind of the method.
    pub kind: MethodKind,
    /// Identifiers of the lines that it could deliver.
    pub line_item_ids: Vec<String>,
    /// Availability: `now`, or a time in RFC 3339.
    pub fulfillable_on: Option<String>,
    /// A self-contained sentence that describes the method.
    pub description: Option<String>,
    /// Identifiers of the pickup places that have everything that needs delivery; `None` if that is unknown. Not shown to
    /// platforms, which see such places as the destinations of a pickup method.
    pub place_ids: Option<Vec<String>>,
}
