//! Checkouts: a purchase on its way (UCP *Checkout*; rules CHK-01 to CHK-15).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`status`] | the state machine: what may follow what |
//! | `operations` | making, showing, changing and canceling |
//! | `completion` | paying, and what becomes of an attempt to |
//! | [`handoff`] | what buyers do themselves, on the page that the shop has for it |

mod completion;
pub mod handoff;
mod operations;
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
        payment::{Declaration, Tender},
        remote_cart_ref::RemoteCartRef,
        totals::Total,
    },
};

pub use status::{State, Status};

/// A checkout, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkout {
    /// The identifier, unguessable.
    pub id: String,
    /// The platform it belongs to.
    pub owner: String,
    /// What opens its page: unguessable, and no other right follows from it.
    pub token: String,
    /// The cart it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cart_id: Option<String>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: State,
    /// What the platform stated last.
    pub draft: Draft,
    /// The lines, priced.
    pub line_items: Vec<LineItem>,
    /// How many lines there ever were.
    pub lines_ever: u64,
    /// In which currency.
    pub currency: Currency,
    /// What it costs.
    pub totals: Vec<Total>,
    /// The discounts, when they were negotiated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discounts: Option<Discounts>,
    /// How the goods reach the buyer, when that was negotiated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfillment: Option<Fulfillment>,
    /// What is wrong with it or worth knowing about it.
    pub messages: Vec<Message>,
    /// The call that tried to complete it last, as [`Complete::call`] names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completing: Option<String>,
    /// Whether it is completed with a mandate of the buyer only: once that was negotiated, it is so for good (rule AP2-01).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mandated: bool,
    /// What the buyer approved in person, where the shop wants that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// What proved, when it was last tried to complete it, that the buyer agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What the shop behind it holds for it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "held")]
    pub remote_cart: Option<RemoteCartRef>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is given up, unless it is concluded before.
    pub expires_at: Timestamp,
}

impl Checkout {
    /// Where it stands, in a word.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.state.status()
    }
}

/// What `create_checkout` is asked.
#[derive(Clone, Debug)]
pub struct Create {
    /// What to buy.
    pub draft: Draft,
    /// The cart to make it of; its contents win (rule CRT-04).
    pub cart_id: Option<String>,
}

/// What `update_checkout` is asked.
#[derive(Clone, Debug)]
pub struct Update {
    /// Which checkout.
    pub id: String,
    /// What it is to be instead.
    pub draft: Draft,
}

/// What `complete_checkout` is asked.
#[derive(Clone, Debug)]
pub struct Complete {
    /// Which checkout.
    pub id: String,
    /// What pays.
    pub tenders: Vec<Tender>,
    /// What proves that the buyer agrees, where that was negotiated.
    pub mandate: Option<Mandate>,
    /// What a call and its retries have in common, and no other call about this checkout has: the idempotency key. Whoever
    /// completed a checkout and never heard of it is told so when asking again.
    pub call: Option<String>,
}

/// What an operation on a checkout answers.
#[derive(Debug)]
pub struct View {
    /// The checkout, with the status it has now.
    pub checkout: Box<Checkout>,
    /// Where the buyer can go on; present as long as there is anything to go on with (rule CHK-03).
    pub continue_url: Option<String>,
    /// The page of the order, once there is one.
    pub permalink_url: Option<String>,
    /// The payment handlers that this checkout can be paid with.
    pub handlers: Arc<[Declaration]>,
    /// The pages of the shop that matter to a buyer (rule CHK-12).
    pub links: Arc<[Link]>,
    /// Whether it was made by this call.
    pub created: bool,
    /// What is said about it.
    pub messages: Vec<Message>,
}
