//! Line items of carts, checkouts and orders.

use serde::{Deserialize, Serialize};

use super::totals::Total;
use crate::{catalog::product::LeadTime, money::Amount};

/// Maximum quantity of one line.
pub const MAX_QUANTITY: u64 = 1_000_000;

/// A line of a cart, a checkout or an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineItem {
    /// Identifier, stable as long as the line exists.
    pub id: String,
    /// Variant that is bought.
    pub item: PurchasedItem,
    /// Quantity, 1 to [`MAX_QUANTITY`].
    pub quantity: u64,
    /// Price of the line: `subtotal`, `items_discount` if a discount applies, `total`.
    pub totals: Vec<Total>,
    /// Identifier of the line that this one belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// Snapshot of the variant of a line, taken when the line was priced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PurchasedItem {
    /// Identifier of the variant.
    pub id: String,
    /// Name shown to the buyer.
    pub title: String,
    /// Unit price in minor units of the currency of the cart or checkout.
    pub price: Amount,
    /// URL of a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// `true` if the item has to be shipped or picked up; `false` for digital goods.
    #[serde(default = "yes")]
    pub needs_fulfillment: bool,
    /// Weight of one piece in grams; 0 if unknown.
    #[serde(default)]
    pub weight_grams: u64,
    /// Time before it can leave the shop.
    #[serde(default, skip_serializing_if = "LeadTime::is_unknown")]
    pub lead_time: LeadTime,
}

const fn yes() -> bool {
    true
}
