//! The shapes of carts, checkouts and orders.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    catalog::product::Link,
    message::Message,
    money::{Amount, Currency},
    purchase::buyer::PostalAddress,
};

use super::{consent::Decisions, payment::Payment};
use crate::envelope::{CheckoutSuccess, Success};

/// A cart.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cart")]
pub(crate) struct Cart<'a> {
    pub(crate) ucp: Success<'a>,
    /// The identifier.
    pub(crate) id: &'a str,
    /// What is in it.
    pub(crate) line_items: Vec<LineItem<'a>>,
    /// The buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) buyer: Option<Buyer<'a>>,
    /// The buyer's circumstances, as stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<&'a Map<String, Value>>,
    /// Referral and campaign parameters, as stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) attribution: Option<&'a Map<String, Value>>,
    /// The currency of every amount, as ISO 4217 code.
    pub(crate) currency: Currency,
    /// What it costs, as far as that is known.
    pub(crate) totals: Vec<Total<'a>>,
    /// The discounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) discounts: Option<Discounts<'a>>,
    /// What is to be said about it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
    /// Pages of the shop that matter to a buyer.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) links: &'a [Link],
    /// Where the buyer can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) continue_url: Option<&'a str>,
    /// Until when it is kept, as RFC 3339.
    pub(crate) expires_at: String,
}

/// A checkout.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Checkout")]
pub(crate) struct Checkout<'a> {
    pub(crate) ucp: CheckoutSuccess<'a>,
    /// The identifier.
    pub(crate) id: &'a str,
    /// Where it stands.
    #[schemars(extend("enum" = ucp_core::checkout::Status::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>()))]
    pub(crate) status: &'static str,
    /// What is to be bought.
    pub(crate) line_items: Vec<LineItem<'a>>,
    /// The buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) buyer: Option<Buyer<'a>>,
    /// The buyer's circumstances, as stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<&'a Map<String, Value>>,
    /// Referral and campaign parameters, as stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) attribution: Option<&'a Map<String, Value>>,
    /// The currency of every amount, as ISO 4217 code.
    pub(crate) currency: Currency,
    /// What it costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// The discounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) discounts: Option<Discounts<'a>>,
    /// How the goods reach the buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fulfillment: Option<Fulfillment<'a>>,
    /// How it is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payment: Option<Payment<'a>>,
    /// What is missing, and what else is to be said about it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
    /// Pages of the shop that matter to a buyer.
    pub(crate) links: &'a [Link],
    /// Where the buyer can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) continue_url: Option<&'a str>,
    /// When it is given up, as RFC 3339.
    pub(crate) expires_at: String,
    /// The order it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<OrderConfirmation<'a>>,
    /// The shop's word for all of it; put in last, by [`authorized`](crate::dialect::authorized).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ap2: Option<Authorization<'a>>,
}

/// The shop's word for a checkout (extension `ap2_mandate`).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ap2Authorization")]
pub(crate) struct Authorization<'a> {
    /// A JWS with detached content over the canonical form of the checkout without `ap2`.
    #[schemars(extend("pattern" = r"^[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]+$"))]
    pub(crate) merchant_authorization: &'a str,
}

/// A line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineItem<'a> {
    /// The identifier, stable as long as the line is there.
    pub(crate) id: &'a str,
    /// What it is.
    pub(crate) item: Item<'a>,
    /// How many.
    #[schemars(range(min = 1))]
    pub(crate) quantity: u64,
    /// What the line costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// The line this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<&'a str>,
}

/// What a line is about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Item<'a> {
    /// The identifier of the variant.
    pub(crate) id: &'a str,
    /// The name.
    pub(crate) title: &'a str,
    /// What one of it costs, in minor units.
    pub(crate) price: Amount,
    /// A picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) image_url: Option<&'a str>,
}

/// An entry of a list of totals.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Total<'a> {
    /// What it is about.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["subtotal", "items_discount", "discount", "fulfillment", "tax", "fee", "total"]))]
    pub(crate) kind: &'static str,
    /// A text to show for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) display_text: Option<&'a str>,
    /// Minor units.
    pub(crate) amount: i64,
}

/// The buyer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Buyer")]
pub(crate) struct Buyer<'a> {
    /// Given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_name: Option<&'a str>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_name: Option<&'a str>,
    /// E-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<&'a str>,
    /// Telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phone_number: Option<&'a str>,
    /// What the buyer agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) consent: Option<Decisions<'a>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// The discounts of a cart or checkout.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Discounts<'a> {
    /// The codes as sent, rejected ones too.
    pub(crate) codes: &'a [String],
    /// The discounts that are in effect.
    pub(crate) applied: Vec<AppliedDiscount<'a>>,
}

/// A discount that is in effect.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AppliedDiscount<'a> {
    /// The code it was asked for with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<&'a str>,
    /// What to call it.
    pub(crate) title: &'a str,
    /// How much it takes off, in minor units.
    pub(crate) amount: Amount,
    /// Whether it applies by itself.
    pub(crate) automatic: bool,
    /// How it is spread over lines.
    #[schemars(extend("enum" = ["each", "across"]))]
    pub(crate) method: &'static str,
    /// Its place in the order of application.
    #[schemars(range(min = 1))]
    pub(crate) priority: u32,
    /// Whether it depends on a claim that is not verified yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) provisional: bool,
    /// The claim it depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) eligibility: Option<&'a str>,
    /// Where the amount went.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allocations: Vec<Allocation<'a>>,
}

/// A part of a discount, and where it went.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Allocation<'a> {
    /// RFC 9535 JSONPath from the root of the answer.
    pub(crate) path: &'a str,
    /// How much of it, in minor units.
    pub(crate) amount: Amount,
}

/// How the goods reach the buyer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Fulfillment")]
pub(crate) struct Fulfillment<'a> {
    /// The methods in use.
    pub(crate) methods: Vec<FulfillmentMethod<'a>>,
    /// The methods that could be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) available_methods: Vec<FulfillmentAvailableMethod<'a>>,
}

/// A method in use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FulfillmentMethod")]
pub(crate) struct FulfillmentMethod<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// Which kind.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["shipping", "pickup"]))]
    pub(crate) kind: &'static str,
    /// The lines it is for.
    pub(crate) line_item_ids: &'a [String],
    /// Where to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) destinations: Vec<FulfillmentDestination<'a>>,
    /// The chosen destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected_destination_id: Option<&'a str>,
    /// The groups in which the lines travel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) groups: Vec<FulfillmentGroup<'a>>,
}

/// A destination.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum FulfillmentDestination<'a> {
    /// A place of the shop.
    Place {
        /// What this is.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        #[schemars(extend("const" = "business_location"))]
        kind: Option<&'static str>,
        /// The identifier.
        id: &'a str,
        /// The name.
        name: &'a str,
        /// Where it is.
        address: &'a PostalAddress,
    },
    /// An address.
    Address {
        /// What this is.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        #[schemars(extend("const" = "shipping_address"))]
        kind: Option<&'static str>,
        /// The identifier.
        id: &'a str,
        #[serde(flatten)]
        address: Box<Cow<'a, PostalAddress>>,
    },
}

/// Lines that travel together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FulfillmentGroup")]
pub(crate) struct FulfillmentGroup<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// The lines.
    pub(crate) line_item_ids: &'a [String],
    /// What can be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<FulfillmentOption<'a>>,
    /// What is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected_option_id: Option<&'a str>,
}

/// A text in plain words.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlainText")]
pub(crate) struct Described<'a> {
    /// The text.
    pub(crate) plain: &'a str,
}

/// A way for a group to travel.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FulfillmentOption")]
pub(crate) struct FulfillmentOption<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// The name.
    pub(crate) title: &'a str,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Described<'a>>,
    /// Who carries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) carrier: Option<&'a str>,
    /// When it arrives at the earliest, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) earliest_fulfillment_time: Option<String>,
    /// When it arrives at the latest, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latest_fulfillment_time: Option<String>,
    /// What it costs.
    pub(crate) totals: Vec<Total<'a>>,
}

/// A method that could be used.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FulfillmentAvailableMethod<'a> {
    /// Which kind.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["shipping", "pickup"]))]
    pub(crate) kind: &'static str,
    /// The lines it could be used for.
    pub(crate) line_item_ids: &'a [String],
    /// When: `now`, or a time as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fulfillable_on: Option<&'a str>,
    /// A sentence about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<&'a str>,
}

/// The order that a checkout became.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderConfirmation<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<&'a str>,
    /// Its page.
    #[schemars(extend("format" = "uri"))]
    pub(crate) permalink_url: &'a str,
}

/// An order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Order")]
pub(crate) struct Order<'a> {
    pub(crate) ucp: Success<'a>,
    /// The identifier.
    pub(crate) id: &'a str,
    /// What people call it.
    pub(crate) label: &'a str,
    /// The checkout it was.
    pub(crate) checkout_id: &'a str,
    /// Its page.
    #[schemars(extend("format" = "uri"))]
    pub(crate) permalink_url: &'a str,
    /// Every line there ever was.
    pub(crate) line_items: Vec<OrderLineItem<'a>>,
    /// What the buyer can expect, and what happened to the goods.
    pub(crate) fulfillment: OrderFulfillment<'a>,
    /// What happened to the money.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) adjustments: Vec<Adjustment<'a>>,
    /// The currency of every amount, as ISO 4217 code.
    pub(crate) currency: Currency,
    /// What it costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// What is to be said about it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
    /// Referral and campaign parameters, as stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub(crate) attribution: Option<&'a Map<String, Value>>,
}

/// A line of an order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderLineItem<'a> {
    /// The identifier, that of the line of the checkout.
    pub(crate) id: &'a str,
    /// What it is.
    pub(crate) item: Item<'a>,
    /// How many.
    pub(crate) quantity: OrderQuantity,
    /// What the line costs.
    pub(crate) totals: Vec<Total<'a>>,
    /// Where it stands.
    #[schemars(extend("enum" = ["processing", "partial", "fulfilled", "removed"]))]
    pub(crate) status: &'static str,
    /// The line this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<&'a str>,
}

/// How many of a line there are.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderQuantity {
    /// How many were ordered at first.
    pub(crate) original: u64,
    /// How many there are now.
    pub(crate) total: u64,
    /// How many the buyer has.
    pub(crate) fulfilled: u64,
}

/// What the buyer can expect, and what happened to the goods.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OrderFulfillment<'a> {
    /// What the buyer can expect.
    pub(crate) expectations: Vec<Expectation<'a>>,
    /// What happened to the goods, in the order in which it happened.
    pub(crate) events: Vec<FulfillmentEvent<'a>>,
}

/// What the buyer can expect.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Expectation<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// For which lines.
    pub(crate) line_items: Vec<LineQuantity<'a>>,
    /// How the goods reach the buyer.
    #[schemars(extend("enum" = ["shipping", "pickup", "digital"]))]
    pub(crate) method_type: &'static str,
    /// Where to.
    pub(crate) destination: &'a PostalAddress,
    /// A text about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<&'a str>,
    /// When: `now`, or a time as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fulfillable_on: Option<&'a str>,
}

/// So many of a line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineQuantity<'a> {
    /// The line.
    pub(crate) id: &'a str,
    /// How many.
    pub(crate) quantity: i64,
}

/// Something that happened to goods.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FulfillmentEvent<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// When, as RFC 3339.
    pub(crate) occurred_at: String,
    /// What: `processing`, `shipped`, `delivered` or another.
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    /// To which lines.
    pub(crate) line_items: Vec<LineQuantity<'a>>,
    /// The tracking number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tracking_number: Option<&'a str>,
    /// Where the parcel can be followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) tracking_url: Option<&'a str>,
    /// Who carries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) carrier: Option<&'a str>,
    /// A text about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<&'a str>,
}

/// Something that happened to money.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Adjustment<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// What: `refund`, `cancellation`, `return`, `credit` or another.
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    /// When, as RFC 3339.
    pub(crate) occurred_at: String,
    /// How far it is.
    #[schemars(extend("enum" = ["pending", "completed", "failed"]))]
    pub(crate) status: &'static str,
    /// Which lines it is about, by how many; below zero for those that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) line_items: Vec<LineQuantity<'a>>,
    /// By how much totals change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) totals: Vec<Total<'a>>,
    /// A text about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<&'a str>,
}
