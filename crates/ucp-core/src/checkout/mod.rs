//! Checkouts: purchases in progress (UCP *Checkout*; rules CHK-01 to CHK-15).
//!
//! | module | content |
//! | :-- | :-- |
//! | [`status`] | the state machine |
//! | [`due_payment`] | a payment that has begun and is to be made |

pub mod due_payment;
pub mod status;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::product::Link,
    message::Message,
    money::Currency,
    purchase::{
        approval::Approval,
        discount::Discounts,
        draft::Draft,
        fulfillment::Fulfillment,
        line_item::LineItem,
        mandate::{Evidence, Mandate},
        payment::{AuthenticationStep, Declaration, Tender},
        remote_cart_ref::RemoteCartRef,
        totals::Total,
    },
};

pub use status::{State, Status};

/// A checkout as stored.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkout {
    /// Identifier, unguessable.
    pub id: String,
    /// Platform that the checkout belongs to.
    pub owner: String,
    /// Token that opens the page of the checkout: unguessable, and it grants no right beyond that page.
    pub token: String,
    /// Identifier of the cart that the checkout was created from.
    pub cart_id: Option<String>,
    /// State, with the data that belong to it.
    #[serde(flatten)]
    pub state: State,
    /// Draft as last stated by the platform, or by the buyer on the page.
    pub draft: Draft,
    /// Priced lines.
    pub line_items: Vec<LineItem>,
    /// Number of line identifiers assigned so far.
    pub lines_ever: u64,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Totals.
    pub totals: Vec<Total>,
    /// Discounts; `None` if the extension was not negotiated.
    pub discounts: Option<Discounts>,
    /// Delivery; `None` if the extension was not negotiated or nothing needs delivery.
    pub fulfillment: Option<Fulfillment>,
    /// Errors, warnings and information about the checkout.
    pub messages: Vec<Message>,
    /// Call that last began to complete it, as identified by [`Complete::call`].
    pub completing: Option<String>,
    /// `true` if completion requires a mandate of the buyer. Set once mandates were negotiated, and never reset (rule
    /// AP2-01).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mandated: bool,
    /// Approval that the buyer gave in person, if the shop requires one.
    pub approval: Option<Approval>,
    /// Evidence of the buyer's agreement from the last attempt to complete the checkout.
    pub evidence: Option<Evidence>,
    /// Cart that the shop behind another API holds for the checkout.
    #[serde(rename = "held")]
    pub remote_cart: Option<RemoteCartRef>,
    /// Time of creation, UTC.
    pub created_at: Timestamp,
    /// Time at which the checkout is canceled unless it is completed before, UTC.
    pub expires_at: Timestamp,
}

impl Checkout {
    /// Returns the status of the checkout.
    pub const fn status(&self) -> Status {
        self.state.status()
    }
}

/// Request of `create_checkout`.
#[derive(Clone, Debug)]
pub struct Create {
    /// Content of the new checkout.
    pub draft: Draft,
    /// Identifier of the cart to create it from; the cart's contents take precedence (rule CRT-04).
    pub cart_id: Option<String>,
}

/// Request of `update_checkout`.
#[derive(Clone, Debug)]
pub struct Update {
    /// Identifier of the checkout.
    pub id: String,
    /// New content, which replaces the old one.
    pub draft: Draft,
}

/// Request of `complete_checkout`.
#[derive(Clone, Debug)]
pub struct Complete {
    /// Identifier of the checkout.
    pub id: String,
    /// Payment instruments with their credentials.
    pub tenders: Vec<Tender>,
    /// Mandate that proves the buyer's agreement, if mandates were negotiated.
    pub mandate: Option<Mandate>,
    /// Idempotency key: shared by a call and its retries, and by no other call about this checkout. A retry of a call
    /// that completed the checkout is answered with the checkout as it stands.
    pub call: Option<String>,
}

/// An outstanding action (UCP *Actions*): an authentication of the buyer on a page that the platform shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Identifier of the occurrence.
    pub id: String,
    /// Step of the authentication, which is the type of the action.
    pub step: AuthenticationStep,
    /// Identifier of the payment instrument that the payment is made with.
    pub payment_instrument_id: String,
    /// URL of the page to show.
    pub url: String,
}

/// Answer of the operations on checkouts.
#[derive(Debug)]
pub struct View {
    /// The checkout.
    pub checkout: Box<Checkout>,
    /// Status that platforms see: a payment that waits for its buyer is an escalation, unless the platform can show the
    /// [`action`](Self::action).
    pub status: Status,
    /// Authentication of the buyer that the payment waits for, for platforms that can show it.
    pub action: Option<Action>,
    /// URL at which the buyer can continue; present until the checkout is completed or canceled (rule CHK-03).
    pub continue_url: Option<String>,
    /// URL of the page of the order; `None` before completion.
    pub permalink_url: Option<String>,
    /// Payment handlers that the shop accepts.
    pub handlers: Arc<[Declaration]>,
    /// Links to pages of the shop that matter to a buyer (rule CHK-12).
    pub links: Arc<[Link]>,
    /// `true` if this call created the checkout.
    pub created: bool,
    /// Messages about the checkout.
    pub messages: Vec<Message>,
}
