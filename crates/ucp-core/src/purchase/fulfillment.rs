//! How goods reach the buyer: methods, destinations, groups and options (UCP *Fulfillment Extension*; rules FUL-01 to
//! FUL-07).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{buyer::PostalAddress, totals::Total};

/// How the goods of a checkout reach the buyer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fulfillment {
    /// The methods in use.
    pub methods: Vec<Method>,
    /// The methods that could be used.
    pub available_methods: Vec<AvailableMethod>,
}

/// The kinds of method that this shop knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodKind {
    /// Sent to an address.
    Shipping,
    /// Picked up at a place of the shop.
    Pickup,
}

impl MethodKind {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shipping => "shipping",
            Self::Pickup => "pickup",
        }
    }
}

/// A method in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// The identifier, stable as long as the method is there.
    pub id: String,
    /// Which kind.
    pub kind: MethodKind,
    /// The lines it is for.
    pub line_item_ids: Vec<String>,
    /// Where to: addresses the platform stated or the shop has stored for the buyer, or places of the shop.
    pub destinations: Vec<Destination>,
    /// The chosen destination.
    pub selected_destination_id: Option<String>,
    /// The groups in which the lines travel; empty as long as the destination is not known.
    pub groups: Vec<Group>,
}

/// A destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// The identifier.
    pub id: String,
    /// The name, for a place of the shop; `None` for an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address.
    pub address: PostalAddress,
    /// Whether it is an address that the shop has stored for the buyer, not one that the platform stated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
}

/// Lines that travel together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The identifier, stable as long as the group is there.
    pub id: String,
    /// The lines.
    pub line_item_ids: Vec<String>,
    /// What can be chosen, the best first.
    pub options: Vec<DeliveryOption>,
    /// What is chosen.
    pub selected_option_id: Option<String>,
}

/// A way for a group to travel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryOption {
    /// The identifier.
    pub id: String,
    /// The name, which says enough on its own (rule FUL-04).
    pub title: String,
    /// More about it, never its name or price again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// When it arrives at the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earliest: Option<Timestamp>,
    /// When it arrives at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<Timestamp>,
    /// What it costs: `subtotal`, `discount` where shipping is free or reduced, `total`.
    pub totals: Vec<Total>,
}

/// A method that could be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailableMethod {
    /// Which kind.
    pub kind: MethodKind,
    /// The lines it could be used for.
    pub line_item_ids: Vec<String>,
    /// When: `now`, or a time in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfillable_on: Option<String>,
    /// A sentence about it that stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
