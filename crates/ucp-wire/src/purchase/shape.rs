//! Shapes of carts, checkouts and orders.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    Operation, Release,
    catalog::product::Link,
    message::Message,
    money::{Amount, Currency},
    negotiation::Active,
    purchase::{buyer::PostalAddress, payment::Declaration},
};

use super::{
    consent::Decisions,
    payment::{Handlers, Payment},
};
use crate::envelope::Success;

/// A cart.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cart")]
pub(crate) struct Cart<'a> {
    pub(crate) ucp: Success<'a>,
    /// ID of the cart.
    pub(crate) id: &'a str,
    /// Line items of the cart.
    pub(crate) line_items: Vec<LineItem<'a>>,
    /// The buyer.
    pub(crate) buyer: Option<Buyer<'a>>,
    /// Hints about the buyer, as sent.
    pub(crate) context: Option<&'a Map<String, Value>>,
    /// Referral and campaign parameters, as sent.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) attribution: Option<&'a Map<String, Value>>,
    /// Currency of every amount, as ISO 4217 code.
    pub(crate) currency: Currency,
    /// Estimated costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// The discounts.
    pub(crate) discounts: Option<Discounts<'a>>,
    /// Messages about the cart.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
    /// Pages of the shop, such as its terms.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) links: &'a [Link],
    /// URL where the buyer can continue.
    #[schemars(extend("format" = "uri"))]
    pub(crate) continue_url: Option<&'a str>,
    /// Time at which the cart expires, as RFC 3339.
    pub(crate) expires_at: String,
}

/// Protocol metadata of a checkout.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckoutSuccess<'a> {
    #[serde(flatten)]
    success: Success<'a>,
    /// Payment handlers that the checkout can be paid with.
    payment_handlers: Handlers<'a>,
}

impl<'a> CheckoutSuccess<'a> {
    pub(crate) fn new(release: Release, operation: Operation, active: &'a Active, handlers: &'a [Declaration]) -> Self {
        Self { success: Success::new(release, operation, active), payment_handlers: handlers.into() }
    }
}

/// A checkout.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Checkout")]
pub(crate) struct Checkout<'a> {
    pub(crate) ucp: CheckoutSuccess<'a>,
    /// ID of the checkout.
    pub(crate) id: &'a str,
    /// Status of the checkout.
    #[schemars(extend("enum" = ucp_core::checkout::Status::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>()))]
    pub(crate) status: &'static str,
    /// Line items of the checkout.
    pub(crate) line_items: Vec<LineItem<'a>>,
    /// The buyer.
    pub(crate) buyer: Option<Buyer<'a>>,
    /// Hints about the buyer, as sent.
    pub(crate) context: Option<&'a Map<String, Value>>,
    /// Referral and campaign parameters, as sent.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) attribution: Option<&'a Map<String, Value>>,
    /// Currency of every amount, as ISO 4217 code.
    pub(crate) currency: Currency,
    /// Costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// The discounts.
    pub(crate) discounts: Option<Discounts<'a>>,
    /// Fulfillment methods, destinations and options.
    pub(crate) fulfillment: Option<Fulfillment<'a>>,
    /// Payment instruments.
    pub(crate) payment: Option<Payment<'a>>,
    /// Authentications of the buyer that the payment in progress waits for, by the type of the action.
    pub(crate) actions: Option<BTreeMap<&'static str, [Action<'a>; 1]>>,
    /// Messages, including those about missing or invalid data.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) messages: Cow<'a, [Message]>,
    /// Pages of the shop, such as its terms.
    pub(crate) links: &'a [Link],
    /// URL where the buyer can continue.
    #[schemars(extend("format" = "uri"))]
    pub(crate) continue_url: Option<&'a str>,
    /// Time at which the checkout expires, as RFC 3339.
    pub(crate) expires_at: String,
    /// The order that the checkout became.
    pub(crate) order: Option<OrderConfirmation<'a>>,
    /// The business's signature over the checkout.
    // Added last, by `dialect::authorized`, because it covers all other members.
    pub(crate) ap2: Option<Authorization<'a>>,
}

#[expect(clippy::ptr_arg, reason = "serde passes the field")]
fn is_empty(messages: &Cow<'_, [Message]>) -> bool {
    messages.is_empty()
}

/// An outstanding action of the platform (extension `payment.authentication`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Action<'a> {
    /// ID of the occurrence, which is processed once.
    #[schemars(length(min = 1))]
    pub(crate) id: &'a str,
    /// Required proof.
    pub(crate) config: ActionConfig<'a>,
}

/// The page of an authentication.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ActionConfig<'a> {
    /// ID of the payment instrument that is authenticated.
    #[schemars(length(min = 1))]
    pub(crate) payment_instrument_id: &'a str,
    /// URL of the page, at one of the `action_origins` of the instrument's handler.
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: &'a str,
}

/// The business's signature over a checkout (extension `ap2_mandate`).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ap2Authorization")]
pub(crate) struct Authorization<'a> {
    /// JWS with detached content over the canonical form of the checkout without `ap2`.
    #[schemars(extend("pattern" = r"^[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]+$"))]
    pub(crate) merchant_authorization: &'a str,
}

/// A line item.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineItem<'a> {
    /// ID of the line, stable as long as the line exists.
    pub(crate) id: &'a str,
    /// The item.
    pub(crate) item: ItemShape<'a>,
    /// The quantity.
    #[schemars(range(min = 1))]
    pub(crate) quantity: u64,
    /// Costs of the line.
    pub(crate) totals: Vec<Total<'a>>,
    /// ID of the line that this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<&'a str>,
}

/// The item of a line.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Item")]
pub(crate) struct ItemShape<'a> {
    /// ID of the variant.
    pub(crate) id: &'a str,
    /// Title of the item.
    pub(crate) title: &'a str,
    /// Unit price in minor units.
    pub(crate) price: Amount,
    /// URL of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) image_url: Option<&'a str>,
}

/// An entry of a list of totals.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Total<'a> {
    /// Type of the entry.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = [
        "subtotal", "items_discount", "discount", "fulfillment", "tax", "fee", "gift_card", "store_credit", "total",
    ]))]
    pub(crate) kind: &'static str,
    /// Text to display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) display_text: Option<&'a str>,
    /// Amount in minor units.
    pub(crate) amount: i64,
}

/// The buyer.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Buyer")]
pub(crate) struct Buyer<'a> {
    /// Given name.
    pub(crate) first_name: Option<&'a str>,
    /// Family name.
    pub(crate) last_name: Option<&'a str>,
    /// Email address.
    pub(crate) email: Option<&'a str>,
    /// Telephone number.
    pub(crate) phone_number: Option<&'a str>,
    /// Consent of the buyer.
    pub(crate) consent: Option<Decisions<'a>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// The discounts of a cart or checkout.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Discounts<'a> {
    /// The discount codes as sent, including rejected ones.
    pub(crate) codes: &'a [String],
    /// The applied discounts.
    pub(crate) applied: Vec<AppliedDiscount<'a>>,
}

/// An applied discount.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AppliedDiscount<'a> {
    /// The discount code, if it was applied by code.
    pub(crate) code: Option<&'a str>,
    /// Title of the discount.
    pub(crate) title: &'a str,
    /// Reduction in minor units.
    pub(crate) amount: Amount,
    /// `true` if it was applied without a code.
    pub(crate) automatic: bool,
    /// Distribution over the lines.
    #[schemars(extend("enum" = ["each", "across"]))]
    pub(crate) method: &'static str,
    /// Position in the order of application, from 1.
    #[schemars(range(min = 1))]
    pub(crate) priority: u32,
    /// `true` if it depends on a claim that is not verified yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) provisional: bool,
    /// The claim that it depends on.
    pub(crate) eligibility: Option<&'a str>,
    /// Distribution of the amount.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allocations: Vec<Allocation<'a>>,
}

/// A part of a discount.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Allocation<'a> {
    /// Target of the part, as RFC 9535 JSONPath from the root of the answer.
    pub(crate) path: &'a str,
    /// Amount in minor units.
    pub(crate) amount: Amount,
}

/// Fulfillment of a checkout.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Fulfillment")]
pub(crate) struct Fulfillment<'a> {
    /// The selected methods.
    pub(crate) methods: Vec<FulfillmentMethod<'a>>,
    /// Methods that can be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) available_methods: Vec<FulfillmentAvailableMethod<'a>>,
}

/// A selected fulfillment method.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FulfillmentMethod")]
pub(crate) struct FulfillmentMethod<'a> {
    /// ID of the method.
    pub(crate) id: &'a str,
    /// Type of the method.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["shipping", "pickup"]))]
    pub(crate) kind: &'static str,
    /// IDs of the lines that it is for.
    pub(crate) line_item_ids: &'a [String],
    /// Possible destinations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) destinations: Vec<FulfillmentDestination<'a>>,
    /// ID of the chosen destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected_destination_id: Option<&'a str>,
    /// Groups of lines that are delivered together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) groups: Vec<FulfillmentGroup<'a>>,
}

/// A destination.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum FulfillmentDestination<'a> {
    /// A location of the shop.
    #[schemars(title = "BusinessLocation")]
    Place {
        /// Type of the destination.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        #[schemars(extend("const" = "business_location"))]
        kind: Option<&'static str>,
        /// ID of the location.
        id: &'a str,
        /// Name of the location.
        name: &'a str,
        /// Address of the location.
        address: &'a PostalAddress,
    },
    /// A shipping address.
    #[schemars(title = "ShippingAddress")]
    Address {
        /// Type of the destination.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        #[schemars(extend("const" = "shipping_address"))]
        kind: Option<&'static str>,
        /// ID of the destination.
        id: &'a str,
        #[serde(flatten)]
        address: Box<Cow<'a, PostalAddress>>,
    },
}

/// A group of lines that are delivered together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FulfillmentGroup")]
pub(crate) struct FulfillmentGroup<'a> {
    /// ID of the group.
    pub(crate) id: &'a str,
    /// IDs of the lines.
    pub(crate) line_item_ids: &'a [String],
    /// The options to choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<FulfillmentOption<'a>>,
    /// ID of the chosen option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected_option_id: Option<&'a str>,
}

/// A plain text.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlainText")]
pub(crate) struct Described<'a> {
    /// The text.
    pub(crate) plain: &'a str,
}

/// A delivery option of a group.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FulfillmentOption")]
pub(crate) struct FulfillmentOption<'a> {
    /// ID of the option.
    pub(crate) id: &'a str,
    /// Title of the option.
    pub(crate) title: &'a str,
    /// Description of the option.
    pub(crate) description: Option<Described<'a>>,
    /// Name of the carrier.
    pub(crate) carrier: Option<&'a str>,
    /// Earliest time of arrival, as RFC 3339.
    pub(crate) earliest_fulfillment_time: Option<String>,
    /// Latest time of arrival, as RFC 3339.
    pub(crate) latest_fulfillment_time: Option<String>,
    /// Costs of the option.
    pub(crate) totals: Vec<Total<'a>>,
}

/// A method that can be used.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FulfillmentAvailableMethod<'a> {
    /// Type of the method.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["shipping", "pickup"]))]
    pub(crate) kind: &'static str,
    /// IDs of the lines that it can be used for.
    pub(crate) line_item_ids: &'a [String],
    /// Earliest availability: `now`, or a time as RFC 3339.
    pub(crate) fulfillable_on: Option<&'a str>,
    /// Description for the buyer.
    pub(crate) description: Option<&'a str>,
}

/// The order that a checkout became.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderConfirmation<'a> {
    /// ID of the order.
    pub(crate) id: &'a str,
    /// Order number or name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<&'a str>,
    /// URL of the order page.
    #[schemars(extend("format" = "uri"))]
    pub(crate) permalink_url: &'a str,
}

/// An order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Order")]
pub(crate) struct Order<'a> {
    pub(crate) ucp: Success<'a>,
    /// ID of the order.
    pub(crate) id: &'a str,
    /// Order number or name for people.
    pub(crate) label: &'a str,
    /// ID of the checkout that it was made from.
    pub(crate) checkout_id: &'a str,
    /// URL of the order page.
    #[schemars(extend("format" = "uri"))]
    pub(crate) permalink_url: &'a str,
    /// All line items, including removed ones.
    pub(crate) line_items: Vec<OrderLineItem<'a>>,
    /// Expected deliveries and fulfillment events.
    pub(crate) fulfillment: OrderFulfillment<'a>,
    /// Changes after the order was placed, such as refunds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) adjustments: Vec<Adjustment<'a>>,
    /// Currency of every amount, as ISO 4217 code.
    pub(crate) currency: Currency,
    /// Costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// Messages about the order.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
    /// Referral and campaign parameters, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) attribution: Option<&'a Map<String, Value>>,
}

/// A line item of an order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderLineItem<'a> {
    /// ID of the line, the same as in the checkout.
    pub(crate) id: &'a str,
    /// The item.
    pub(crate) item: ItemShape<'a>,
    /// The quantities.
    pub(crate) quantity: OrderQuantity,
    /// Costs of the line.
    pub(crate) totals: Vec<Total<'a>>,
    /// Status of the line.
    #[schemars(extend("enum" = ["processing", "partial", "fulfilled", "removed"]))]
    pub(crate) status: &'static str,
    /// ID of the line that this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<&'a str>,
}

/// Quantities of a line of an order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderQuantity {
    /// Ordered quantity.
    pub(crate) original: u64,
    /// Current quantity, after removals.
    pub(crate) total: u64,
    /// Quantity that the buyer has received.
    pub(crate) fulfilled: u64,
}

/// Expected deliveries and fulfillment events of an order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderFulfillment<'a> {
    /// Expected deliveries.
    pub(crate) expectations: Vec<Expectation<'a>>,
    /// Fulfillment events, oldest first.
    pub(crate) events: Vec<FulfillmentEvent<'a>>,
}

/// An expected delivery.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Expectation<'a> {
    /// ID of the expectation.
    pub(crate) id: &'a str,
    /// The delivered quantities.
    pub(crate) line_items: Vec<LineQuantity<'a>>,
    /// Fulfillment method.
    #[schemars(extend("enum" = ["shipping", "pickup", "digital"]))]
    pub(crate) method_type: &'static str,
    /// Destination.
    pub(crate) destination: &'a PostalAddress,
    /// Description for the buyer.
    pub(crate) description: Option<&'a str>,
    /// Expected time: `now`, or a time as RFC 3339.
    pub(crate) fulfillable_on: Option<&'a str>,
}

/// A quantity of a line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineQuantity<'a> {
    /// ID of the line.
    pub(crate) id: &'a str,
    /// The quantity.
    pub(crate) quantity: i64,
}

/// A fulfillment event.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FulfillmentEvent<'a> {
    /// ID of the event.
    pub(crate) id: &'a str,
    /// Time of the event, as RFC 3339.
    pub(crate) occurred_at: String,
    /// Type of the event: `processing`, `shipped`, `delivered` or another.
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    /// The affected quantities.
    pub(crate) line_items: Vec<LineQuantity<'a>>,
    /// The tracking number.
    pub(crate) tracking_number: Option<&'a str>,
    /// URL of the tracking page.
    #[schemars(extend("format" = "uri"))]
    pub(crate) tracking_url: Option<&'a str>,
    /// Name of the carrier.
    pub(crate) carrier: Option<&'a str>,
    /// Description for the buyer.
    pub(crate) description: Option<&'a str>,
}

/// A change after an order was placed, such as a refund.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Adjustment<'a> {
    /// ID of the adjustment.
    pub(crate) id: &'a str,
    /// Type of the adjustment: `refund`, `cancellation`, `return`, `credit` or another.
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    /// Time of the adjustment, as RFC 3339.
    pub(crate) occurred_at: String,
    /// Status of the adjustment.
    #[schemars(extend("enum" = ["pending", "completed", "failed"]))]
    pub(crate) status: &'static str,
    /// The affected quantities; negative for removed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) line_items: Vec<LineQuantity<'a>>,
    /// Changes of the totals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) totals: Vec<Total<'a>>,
    /// Description for the buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<&'a str>,
}
