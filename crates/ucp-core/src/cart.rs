//! Carts: collections of items that a buyer considers buying (UCP *Cart*; rules CRT-01 to CRT-09).
//!
//! A cart has no status: it exists until it is canceled or expires.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    message::Message,
    money::Currency,
    purchase::{discount::Discounts, draft::Draft, line_item::LineItem, remote_cart_ref::RemoteCartRef, totals::Total},
};

/// A cart as stored.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cart {
    /// Identifier, unguessable.
    pub id: String,
    /// Platform that the cart belongs to.
    pub owner: String,
    /// Token that opens the page of the cart: unguessable, and it grants no other right.
    pub token: String,
    /// Draft as last stated by the platform.
    pub draft: Draft,
    /// Priced lines.
    pub line_items: Vec<LineItem>,
    /// Number of line identifiers assigned so far.
    pub lines_ever: u64,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Estimated totals.
    pub totals: Vec<Total>,
    /// Discounts; `None` if the extension was not negotiated.
    pub discounts: Option<Discounts>,
    /// Messages of the last quote.
    pub messages: Vec<Message>,
    /// Cart that the shop behind another API holds for this one.
    #[serde(rename = "held")]
    pub remote_cart: Option<RemoteCartRef>,
    /// `true` if the cart was canceled.
    pub canceled: bool,
    /// Time of creation, UTC.
    pub created_at: Timestamp,
    /// Time of expiry, UTC.
    pub expires_at: Timestamp,
}

/// Request of `create_cart`.
#[derive(Clone, Debug)]
pub struct Create {
    /// Content of the new cart.
    pub draft: Draft,
}

/// Request of `update_cart`.
#[derive(Clone, Debug)]
pub struct Update {
    /// Identifier of the cart.
    pub id: String,
    /// New content, which replaces the old one.
    pub draft: Draft,
}

/// Answer of the operations on carts.
#[derive(Debug)]
pub struct View {
    /// The cart.
    pub cart: Box<Cart>,
    /// URL at which the buyer can continue.
    pub continue_url: Option<String>,
    /// Links to pages of the shop that matter to a buyer.
    pub links: std::sync::Arc<[crate::catalog::product::Link]>,
    /// `true` if this call created the cart.
    pub created: bool,
    /// Messages about the cart.
    pub messages: Vec<Message>,
}
