//! Types of the answers about carts. Values of enumerations are texts, because the API adds values over time.
//!
//! Types that contain the identifier of a cart, or the buyer's data, do not print them.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use ucp_core::purchase::fulfillment::MethodKind;

use crate::money::Money;

/// Nodes of a connection.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Nodes<T> {
    pub(super) nodes: Vec<T>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cart {
    pub(super) id: String,
    pub(super) checkout_url: String,
    #[serde(default)]
    pub(super) attributes: Vec<Attribute>,
    pub(super) buyer_identity: Option<Buyer>,
    #[serde(default)]
    pub(super) discount_codes: Vec<DiscountCode>,
    #[serde(default)]
    pub(super) discount_allocations: Vec<Allocation>,
    pub(super) cost: Cost,
    pub(super) delivery: Option<Delivery>,
    pub(super) lines: Lines,
    pub(super) delivery_groups: Option<Nodes<Group>>,
    /// `true` if the delivery options include the rates that carriers calculate.
    #[serde(skip)]
    pub(super) rated: bool,
}

/// A page of the lines of a cart.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lines {
    #[serde(default)]
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<Line>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageInfo {
    pub(super) has_next_page: bool,
    pub(super) end_cursor: Option<String>,
}

impl fmt::Debug for Cart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cart").field("lines", &self.lines.nodes.len()).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attribute {
    pub(super) key: String,
    pub(super) value: Option<String>,
}

#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Buyer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) phone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) country_code: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct DiscountCode {
    pub(super) code: String,
    pub(super) applicable: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Allocation {
    pub(super) target_type: Option<String>,
    pub(super) discounted_amount: Money,
    pub(super) code: Option<String>,
    pub(super) title: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cost {
    pub(super) total_amount: Money,
}

#[derive(Clone, Deserialize)]
pub(super) struct Delivery {
    #[serde(default)]
    pub(super) addresses: Vec<Selectable>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Selectable {
    pub(super) address: Address,
}

/// An address, as it is sent and received.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address1: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address2: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) city: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) province_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) zip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) country_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phone: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    pub(super) id: String,
    pub(super) quantity: u64,
    pub(super) cost: LineCost,
    #[serde(default)]
    pub(super) discount_allocations: Vec<Allocation>,
    pub(super) merchandise: Merchandise,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineCost {
    pub(super) amount_per_quantity: Money,
    pub(super) subtotal_amount: Money,
    pub(super) total_amount: Money,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Merchandise {
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default = "yes")]
    pub(super) requires_shipping: bool,
    pub(super) image: Option<Image>,
    pub(super) product: Product,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Image {
    pub(super) url: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Product {
    pub(super) title: String,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    pub(super) id: String,
    pub(super) cart_lines: Nodes<LineId>,
    #[serde(default)]
    pub(super) delivery_options: Vec<DeliveryOption>,
    pub(super) selected_delivery_option: Option<Handle>,
}

#[derive(Clone, Deserialize)]
pub(super) struct LineId {
    pub(super) id: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Handle {
    pub(super) handle: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeliveryOption {
    pub(super) handle: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) delivery_method_type: Option<String>,
    pub(super) estimated_cost: Money,
}

impl DeliveryOption {
    /// Returns the kind of delivery: shipping or pick-up.
    pub(super) fn kind(&self) -> MethodKind {
        match self.delivery_method_type.as_deref() {
            Some("PICK_UP" | "PICKUP_POINT" | "RETAIL") => MethodKind::Pickup,
            _ => MethodKind::Shipping,
        }
    }
}

impl Group {
    /// Returns the options of one kind.
    pub(super) fn of_kind(&self, kind: MethodKind) -> impl Iterator<Item = &DeliveryOption> {
        self.delivery_options.iter().filter(move |option| option.kind() == kind)
    }

    /// Returns the selected option.
    pub(super) fn chosen(&self) -> Option<&DeliveryOption> {
        let handle = &self.selected_delivery_option.as_ref()?.handle;
        self.delivery_options.iter().find(|option| option.handle == *handle)
    }
}

/// Result of a mutation.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Told {
    pub(super) user_errors: Vec<UserError>,
    pub(super) warnings: Vec<Warning>,
    pub(super) cart: Option<Cart>,
}

#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct UserError {
    pub(super) code: Option<String>,
    pub(super) field: Option<Vec<String>>,
    pub(super) message: String,
}

#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Warning {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) target: String,
}

/// A cart, or a part of one.
#[derive(Deserialize)]
pub(super) struct Found<T> {
    #[serde(default = "Option::default")]
    pub(super) cart: Option<T>,
}

/// Lines of a cart.
#[derive(Deserialize)]
pub(super) struct FurtherLines {
    pub(super) lines: Lines,
}

/// Delivery groups of a cart, as `T`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Groups<T> {
    pub(super) delivery_groups: Nodes<T>,
}

/// Lines of a delivery group.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupLines {
    pub(super) id: String,
    pub(super) cart_lines: Nodes<LineId>,
}

/// Results of the changes of a request, by alias; `null` where an error beside the answer tells the reason.
pub(super) type Outcomes = BTreeMap<String, Option<Told>>;
