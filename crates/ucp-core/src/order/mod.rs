//! Orders: purchases that were concluded (UCP *Order*; rules ORD-01 to ORD-05).
//!
//! An order is shown as a whole, always. Lines stay in it whatever becomes of them; events and adjustments are only ever
//! added.

mod operations;
pub mod outbox;
pub mod progress;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    message::Message,
    money::Currency,
    purchase::{
        buyer::PostalAddress,
        fulfillment::MethodKind,
        line_item::{Item, LineItem},
        mandate::Evidence,
        totals::Total,
    },
};

/// What a completed checkout says about its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The identifier of the order, unguessable.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What opens its page.
    pub token: String,
}

/// An order, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The identifier, unguessable.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What opens its page: unguessable, and no other right follows from it.
    pub token: String,
    /// The platform it belongs to.
    pub owner: String,
    /// The checkout it was.
    pub checkout_id: String,
    /// Every line there ever was.
    pub line_items: Vec<OrderLine>,
    /// In which currency.
    pub currency: Currency,
    /// What it costs.
    pub totals: Vec<Total>,
    /// What the buyer can expect, and when.
    pub expectations: Vec<Expectation>,
    /// What happened to the goods.
    pub events: Vec<Event>,
    /// What happened to the money.
    pub adjustments: Vec<Adjustment>,
    /// Referral and campaign parameters, as the platform stated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Map<String, Value>>,
    /// How it was paid.
    pub payment: Payment,
    /// When it was placed.
    pub placed_at: Timestamp,
}

impl Order {
    /// When something last happened to it.
    #[must_use]
    pub fn changed_at(&self) -> Timestamp {
        let events = self.events.iter().map(|event| event.occurred_at);
        let adjustments = self.adjustments.iter().map(|adjustment| adjustment.occurred_at);
        events.chain(adjustments).fold(self.placed_at, Timestamp::max)
    }
}

/// How an order was paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The handler.
    pub handler_id: String,
    /// The try that succeeded.
    pub attempt_id: String,
    /// The processor's name for the payment.
    pub reference: String,
    /// What proved that the buyer agreed, where that was negotiated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandate: Option<Evidence>,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderLine {
    /// The identifier, that of the line of the checkout.
    pub id: String,
    /// What it is.
    pub item: Item,
    /// How many were ordered at first.
    pub original: u64,
    /// How many there are now.
    pub total: u64,
    /// How many the buyer has.
    pub fulfilled: u64,
    /// What the line costs.
    pub totals: Vec<Total>,
    /// The line it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// Where a line stands, as its quantities say (rule ORD-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStatus {
    /// Nothing has reached the buyer.
    Processing,
    /// Some has reached the buyer.
    Partial,
    /// All has reached the buyer.
    Fulfilled,
    /// Nothing is left of it.
    Removed,
}

impl LineStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Partial => "partial",
            Self::Fulfilled => "fulfilled",
            Self::Removed => "removed",
        }
    }
}

impl OrderLine {
    /// A line as it was bought.
    #[must_use]
    pub fn bought(line: LineItem) -> Self {
        let LineItem { id, item, quantity, totals, parent_id } = line;
        Self { id, item, original: quantity, total: quantity, fulfilled: 0, totals, parent_id }
    }

    /// Where it stands.
    #[must_use]
    pub const fn status(&self) -> LineStatus {
        match (self.total, self.fulfilled) {
            (0, _) => LineStatus::Removed,
            (total, fulfilled) if fulfilled >= total => LineStatus::Fulfilled,
            (_, 0) => LineStatus::Processing,
            _ => LineStatus::Partial,
        }
    }
}

/// So many of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineQuantity {
    /// The line.
    pub id: String,
    /// How many; below zero only in adjustments.
    pub quantity: i64,
}

/// What the buyer can expect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The identifier.
    pub id: String,
    /// For which lines.
    pub line_items: Vec<LineQuantity>,
    /// How the goods reach the buyer; `None` for goods that are not sent.
    pub method: Option<MethodKind>,
    /// Where to.
    pub destination: PostalAddress,
    /// A text about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it can be sent or picked up: `now`, or a time in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfillable_on: Option<String>,
}

/// Something that happened to goods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The identifier.
    pub id: String,
    /// When.
    pub occurred_at: Timestamp,
    /// What: `processing`, `shipped`, `delivered`, `canceled` or another.
    pub kind: String,
    /// To which lines.
    pub line_items: Vec<LineQuantity>,
    /// The tracking number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_number: Option<String>,
    /// Where the parcel can be followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_url: Option<String>,
    /// Who carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// A text about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Something that happened to money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjustment {
    /// The identifier.
    pub id: String,
    /// What: `refund`, `cancellation`, `return`, `credit` or another.
    pub kind: String,
    /// When.
    pub occurred_at: Timestamp,
    /// How far it is.
    pub status: AdjustmentStatus,
    /// Which lines it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub line_items: Vec<LineQuantity>,
    /// By how much totals change, in signed minor units: below zero for what the buyer gets back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<Total>,
    /// A text about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How far an adjustment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdjustmentStatus {
    /// Under way.
    Pending,
    /// Done.
    Completed,
    /// It did not work.
    Failed,
}

impl AdjustmentStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// What `get_order` answers.
#[derive(Debug)]
pub struct View {
    /// The order.
    pub order: Box<Order>,
    /// Its page.
    pub permalink_url: String,
    /// What is said about it.
    pub messages: Vec<Message>,
}
