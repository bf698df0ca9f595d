//! Orders: completed purchases (UCP *Order*; rules ORD-01 to ORD-05).
//!
//! An order is always returned as a whole. Lines stay in it whatever happens to them; events and adjustments are
//! append-only.

pub mod capture;
pub mod progress;
pub mod report;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::report::Known;
use crate::{
    message::Message,
    money::Currency,
    purchase::{
        buyer::PostalAddress,
        fulfillment::MethodKind,
        line_item::{LineItem, PurchasedItem},
        mandate::Evidence,
        totals::Total,
    },
};

/// Reference to the order in a completed checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Identifier of the order, unguessable.
    pub id: String,
    /// Short order number for people.
    pub label: String,
    /// Token that opens the page of the order.
    pub token: String,
    /// URL of the page of the order at a shop behind another API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permalink_url: Option<String>,
}

impl Confirmation {
    /// Returns the URL of the page of the order: the shop's, or else the gateway's own for the token.
    pub fn permalink(&self, own: impl FnOnce(&str) -> String) -> String {
        self.permalink_url.clone().unwrap_or_else(|| own(&self.token))
    }
}

/// An order as stored.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Identifier, unguessable.
    pub id: String,
    /// Short order number for people.
    pub label: String,
    /// Token that opens the page of the order: unguessable, and it grants no other right.
    pub token: String,
    /// Platform that the order belongs to.
    pub owner: String,
    /// Identifier of the checkout that it was created from.
    pub checkout_id: String,
    /// All lines, including those that were canceled later.
    pub line_items: Vec<OrderLine>,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Totals at the time of the purchase.
    pub totals: Vec<Total>,
    /// Expected deliveries.
    pub expectations: Vec<Expectation>,
    /// Events of fulfillment, oldest first.
    pub events: Vec<Event>,
    /// Changes of the amount owed, such as refunds, oldest first.
    pub adjustments: Vec<Adjustment>,
    /// Referral and campaign parameters, as the platform stated them.
    pub attribution: Option<Map<String, Value>>,
    /// Payment of the order.
    pub payment: Payment,
    /// The order at a shop behind another API, if it was placed there.
    pub remote: Option<RemoteOrder>,
    /// Time of the purchase, UTC.
    pub placed_at: Timestamp,
}

/// An order at a shop behind another API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteOrder {
    /// Identifier of the order at the shop.
    pub reference: String,
    /// URL of the shop's page about the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permalink_url: Option<String>,
    /// Time at which the gateway heard of the order, or of the last that has become of it, UTC.
    pub reported_at: Timestamp,
    /// Occurrences that the shop has reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Known>,
}

impl RemoteOrder {
    /// Creates an order of which nothing was reported yet.
    pub const fn new(reference: String, permalink_url: Option<String>, reported_at: Timestamp) -> Self {
        Self { reference, permalink_url, reported_at, known: Vec::new() }
    }
}

impl Order {
    /// Returns the URL of the page of the order: the shop's, or else the gateway's own for the token.
    pub fn permalink(&self, own: impl FnOnce(&str) -> String) -> String {
        let remote = self.remote.as_ref().and_then(|remote| remote.permalink_url.clone());
        remote.unwrap_or_else(|| own(&self.token))
    }

    /// Returns the time of the last event or adjustment, or of the purchase if there is none. A purchase at a shop behind
    /// another API counts from when the gateway heard of it, so that platforms are told for as long as of any other.
    pub fn changed_at(&self) -> Timestamp {
        let events = self.events.iter().map(|event| event.occurred_at);
        let adjustments = self.adjustments.iter().map(|adjustment| adjustment.occurred_at);
        let reported = self.remote.iter().map(|remote| remote.reported_at);
        events.chain(adjustments).chain(reported).fold(self.placed_at, Timestamp::max)
    }
}

/// Payment of an order. All of it is empty if the order was paid at a shop behind another API.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// Identifier of the payment handler.
    pub handler_id: String,
    /// Identifier of the payment attempt that succeeded.
    pub attempt_id: String,
    /// Reference of the payment at the processor; empty if the order cost nothing.
    pub reference: String,
    /// Evidence of the buyer's agreement, if mandates were negotiated.
    pub mandate: Option<Evidence>,
    /// The money, if the merchant captures it after the purchase; `None` if it was captured with the purchase.
    pub hold: Option<Hold>,
}

/// Money that was authorized, and that the merchant captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Hold {
    /// It waits for the merchant.
    Authorized,
    /// The processor was asked to capture a part of it, or all, and to release the rest; the result is not known yet.
    Capturing {
        /// Identifier of the capture.
        id: String,
        /// Amount in minor units, at least 1.
        amount: i64,
    },
    /// It was captured, and the rest released.
    Captured {
        /// Amount in minor units, at least 1.
        amount: i64,
    },
    /// The processor was asked to release all of it; the result is not known yet.
    Releasing {
        /// Identifier of the release.
        id: String,
    },
    /// All of it was released: nothing was captured.
    Released,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderLine {
    /// Identifier, that of the line of the checkout.
    pub id: String,
    /// Item that was bought.
    pub item: PurchasedItem,
    /// Quantity at the time of the purchase.
    pub original: u64,
    /// Current quantity, after cancellations.
    pub total: u64,
    /// Quantity that was shipped or handed over.
    pub fulfilled: u64,
    /// Price of the line at the time of the purchase.
    pub totals: Vec<Total>,
    /// Identifier of the line that this one belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

named! {
    /// Status of a line, derived from its quantities (rule ORD-03).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LineStatus {
        /// Nothing was fulfilled.
        Processing = "processing",
        /// A part was fulfilled.
        Partial = "partial",
        /// Everything was fulfilled.
        Fulfilled = "fulfilled",
        /// The whole line was canceled.
        Removed = "removed",
    }
}

impl OrderLine {
    /// Creates the line of a new order.
    pub fn bought(line: LineItem) -> Self {
        let LineItem { id, item, quantity, totals, parent_id } = line;
        Self { id, item, original: quantity, total: quantity, fulfilled: 0, totals, parent_id }
    }

    /// Returns the status of the line.
    pub const fn status(&self) -> LineStatus {
        match (self.total, self.fulfilled) {
            (0, _) => LineStatus::Removed,
            (total, fulfilled) if fulfilled >= total => LineStatus::Fulfilled,
            (_, 0) => LineStatus::Processing,
            _ => LineStatus::Partial,
        }
    }
}

/// A quantity of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineQuantity {
    /// Identifier of the line.
    pub id: String,
    /// Quantity; negative only in adjustments.
    pub quantity: i64,
}

/// An expected delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Identifier.
    pub id: String,
    /// Lines of the delivery, with quantities.
    pub line_items: Vec<LineQuantity>,
    /// Fulfillment method; `None` for goods that are not sent.
    pub method: Option<MethodKind>,
    /// Destination.
    pub destination: PostalAddress,
    /// Description for the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Time from which the goods can be sent or picked up: `now`, or a time in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfillable_on: Option<String>,
}

/// An event of fulfillment.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Identifier.
    pub id: String,
    /// Time of the event, UTC.
    pub occurred_at: Timestamp,
    /// Type of the event: `processing`, `shipped`, `delivered`, `canceled` or another.
    pub kind: String,
    /// Lines of the event, with quantities.
    pub line_items: Vec<LineQuantity>,
    /// Tracking number.
    pub tracking_number: Option<String>,
    /// URL of the tracking page.
    pub tracking_url: Option<String>,
    /// Name of the carrier.
    pub carrier: Option<String>,
    /// Description for the buyer.
    pub description: Option<String>,
}

/// A change of the amount owed, such as a refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjustment {
    /// Identifier.
    pub id: String,
    /// Type of the adjustment: `refund`, `cancellation`, `return`, `credit` or another.
    pub kind: String,
    /// Time of the adjustment, UTC.
    pub occurred_at: Timestamp,
    /// Progress of the adjustment.
    pub status: AdjustmentStatus,
    /// Lines of the adjustment, with negative quantities for what is taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub line_items: Vec<LineQuantity>,
    /// Change of the totals in signed minor units: negative for amounts in favor of the buyer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<Total>,
    /// Description for the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if the operator carries the adjustment out at the processor, and confirms it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
}

named! {
    /// Progress of an adjustment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AdjustmentStatus {
        /// The adjustment is in progress.
        Pending = "pending",
        /// The adjustment was carried out.
        Completed = "completed",
        /// The adjustment failed.
        Failed = "failed",
    }
}

/// Answer of `get_order`.
#[derive(Debug)]
pub struct View {
    /// The order.
    pub order: Box<Order>,
    /// URL of the page of the order.
    pub permalink_url: String,
    /// Messages about the order.
    pub messages: Vec<Message>,
}
