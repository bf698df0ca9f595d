//! Types of the answers about carts. Values of enumerations are texts, because the API adds values over time.
//!
//! Types that contain the identifier of a cart, or the buyer's data, do not print them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ucp_core::purchase::fulfillment::MethodKind;

use crate::{money::Money, shapes::shapes};

shapes! { (Clone, Deserialize) "camelCase"
    /// Nodes of a connection.
    Nodes<T> { nodes: Vec<T> }

    Cart {
        id: String,
        checkout_url: String,
        #[serde(default)] attributes: Vec<Attribute>,
        buyer_identity: Option<Buyer>,
        #[serde(default)] discount_codes: Vec<DiscountCode>,
        #[serde(default)] discount_allocations: Vec<Allocation>,
        cost: Cost,
        delivery: Option<Delivery>,
        lines: Lines,
        delivery_groups: Option<Nodes<Group>>,
        /// `true` if the delivery options include the rates that carriers calculate.
        #[serde(skip)] rated: bool,
    }
    /// A page of the lines of a cart.
    Lines { #[serde(default)] page_info: PageInfo, nodes: Vec<Line> }
    #[derive(Default)] #[serde(default)]
    PageInfo { has_next_page: bool, end_cursor: Option<String> }
    #[derive(PartialEq, Eq, Serialize)]
    Attribute { key: String, value: Option<String> }
    #[derive(Default, PartialEq, Eq, Serialize)] #[serde(default)]
    Buyer {
        #[serde(skip_serializing_if = "Option::is_none")] email: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] phone: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] country_code: Option<String>,
    }
    Delivery { #[serde(default)] addresses: Vec<Selectable> }
    Selectable { address: Address }
    /// An address, as it is sent and received.
    #[derive(Default, PartialEq, Eq, Serialize)] #[serde(default)]
    Address {
        #[serde(skip_serializing_if = "Option::is_none")] address1: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] address2: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] city: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] province_code: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] zip: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] country_code: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] first_name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] last_name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] phone: Option<String>,
    }
    Line {
        id: String,
        quantity: u64,
        cost: LineCost,
        #[serde(default)] discount_allocations: Vec<Allocation>,
        merchandise: Merchandise,
    }
    Group {
        id: String,
        cart_lines: Nodes<LineId>,
        #[serde(default)] delivery_options: Vec<DeliveryOption>,
        selected_delivery_option: Option<Handle>,
    }
    LineId { id: String }

    /// A cart, or a part of one.
    Found<T> { #[serde(default = "Option::default")] cart: Option<T> }
    /// Lines of a cart.
    FurtherLines { lines: Lines }
    /// Delivery groups of a cart, as `T`.
    Groups<T> { delivery_groups: Nodes<T> }
    /// Lines of a delivery group.
    GroupLines { id: String, cart_lines: Nodes<LineId> }

    /// Result of a mutation.
    #[derive(Default)] #[serde(default)]
    Told { user_errors: Vec<UserError>, warnings: Vec<Warning>, cart: Option<Cart> }
    #[derive(Default, PartialEq, Eq)] #[serde(default)]
    UserError { code: Option<String>, field: Option<Vec<String>>, message: String }
    #[derive(Default, PartialEq, Eq)] #[serde(default)]
    Warning { code: String, message: String, target: String }
}

shapes! { (Clone, Debug, Deserialize) "camelCase"
    DiscountCode { code: String, applicable: Option<bool> }
    Allocation { target_type: Option<String>, discounted_amount: Money, code: Option<String>, title: Option<String> }
    Cost { total_amount: Money }
    LineCost { amount_per_quantity: Money, subtotal_amount: Money, total_amount: Money }
    Merchandise {
        id: String,
        #[serde(default)] title: String,
        #[serde(default = "yes")] requires_shipping: bool,
        image: Option<Image>,
        product: Product,
    }
    Image { url: String }
    Product { title: String }
    Handle { handle: String }
    DeliveryOption {
        handle: String, title: Option<String>, description: Option<String>, delivery_method_type: Option<String>,
        estimated_cost: Money,
    }
}

/// Results of the changes of a request, by alias; `null` where an error beside the answer tells the reason.
pub(super) type Outcomes = BTreeMap<String, Option<Told>>;

ucp_core::opaque!(Cart);

const fn yes() -> bool {
    true
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
