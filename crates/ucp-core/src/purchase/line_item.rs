//! Line items of carts, checkouts and orders.

use serde::{Deserialize, Serialize};

use super::totals::Total;
use crate::money::Amount;

/// The largest quantity of one line.
pub const MAX_QUANTITY: u64 = 1_000_000;

/// A line of a cart, a checkout or an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineItem {
    /// The identifier, stable as long as the line is there.
    pub id: String,
    /// What it is.
    pub item: Item,
    /// How many, at least one and at most [`MAX_QUANTITY`].
    pub quantity: u64,
    /// What the line costs: `subtotal`, `items_discount` where one applies, `total`.
    pub totals: Vec<Total>,
    /// The line this one belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// What a line is about, as the shop knew it when the line was priced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The identifier of the variant.
    pub id: String,
    /// The name shown to the buyer.
    pub title: String,
    /// What one of it costs, in minor units of the currency of the cart or checkout.
    pub price: Amount,
    /// A picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// Whether it has to be shipped or picked up.
    #[serde(default = "yes")]
    pub needs_fulfillment: bool,
    /// What one of it weighs, in grams; 0 where unknown.
    #[serde(default)]
    pub weight_grams: u64,
}

const fn yes() -> bool {
    true
}
