//! Carts: what a buyer thinks of buying (UCP *Cart*; rules CRT-01 to CRT-09).
//!
//! A cart has no status: it exists until it is canceled or expires.

mod operations;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    message::Message,
    money::Currency,
    purchase::{discount::Discounts, draft::Draft, line_item::LineItem, remote_cart_ref::RemoteCartRef, totals::Total},
};

/// A cart, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cart {
    /// The identifier, unguessable.
    pub id: String,
    /// The platform it belongs to.
    pub owner: String,
    /// What opens its page: unguessable, and no other right follows from it.
    pub token: String,
    /// What the platform stated last.
    pub draft: Draft,
    /// The lines, priced.
    pub line_items: Vec<LineItem>,
    /// How many lines there ever were.
    pub lines_ever: u64,
    /// In which currency.
    pub currency: Currency,
    /// What it costs, as far as that is known.
    pub totals: Vec<Total>,
    /// The discounts, when they were negotiated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discounts: Option<Discounts>,
    /// What is to be said about it.
    pub messages: Vec<Message>,
    /// What the shop behind it holds for it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "held")]
    pub remote_cart: Option<RemoteCartRef>,
    /// Whether it was canceled.
    pub canceled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it is kept.
    pub expires_at: Timestamp,
}

/// What `create_cart` is asked.
#[derive(Clone, Debug)]
pub struct Create {
    /// What to put in.
    pub draft: Draft,
}

/// What `update_cart` is asked.
#[derive(Clone, Debug)]
pub struct Update {
    /// Which cart.
    pub id: String,
    /// What it is to hold instead.
    pub draft: Draft,
}

/// What an operation on a cart answers.
#[derive(Debug)]
pub struct View {
    /// The cart.
    pub cart: Box<Cart>,
    /// Where the buyer can go on.
    pub continue_url: Option<String>,
    /// The pages of the shop that matter to a buyer.
    pub links: std::sync::Arc<[crate::catalog::product::Link]>,
    /// Whether it was made by this call.
    pub created: bool,
    /// What is said about it.
    pub messages: Vec<Message>,
}
