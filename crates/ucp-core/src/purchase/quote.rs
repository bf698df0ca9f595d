//! What the engine of [pricing](super::pricing) is given and gives back.

use jiff::Timestamp;

use super::{discount::Discounts, fulfillment::Fulfillment, line_item::LineItem, totals::Total};
use crate::{
    message::Message,
    money::{Amount, Currency},
};

/// What a draft is priced for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An estimate: no fulfillment, taxes only where the country is known.
    Cart,
    /// A purchase.
    Checkout,
}

/// What the shop knows about the goods of a draft.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The currency every good below is priced in.
    pub currency: Currency,
    /// The shop's own currency, in which its terms state plain amounts.
    pub own_currency: Currency,
    /// For each line of the draft, what it names; `None` where it names nothing that can be bought.
    pub goods: Vec<Option<Good>>,
    /// The time.
    pub now: Timestamp,
}

/// A variant, as far as buying it is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct Good {
    /// The identifier of the variant.
    pub id: String,
    /// The identifier of its product.
    pub product_id: String,
    /// The name shown to the buyer: that of the product, and of the variant where it has several.
    pub title: String,
    /// What one of it costs, in minor units.
    pub price: Amount,
    /// A picture.
    pub image_url: Option<String>,
    /// Whether it can be bought at all.
    pub available: bool,
    /// How many there are; `None` when they are not counted.
    pub stock: Option<u64>,
    /// What one of it weighs, in grams; 0 where unknown.
    pub weight_grams: u64,
    /// Whether it has to be shipped or picked up.
    pub needs_fulfillment: bool,
}

/// What was answered before, so that identifiers stay the same (trap T-48).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Previous {
    /// The lines.
    pub line_items: Vec<LineItem>,
    /// How the goods reach the buyer.
    pub fulfillment: Option<Fulfillment>,
    /// How many lines there ever were: the source of new identifiers.
    pub lines_ever: u64,
}

/// What a draft costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    /// In which currency.
    pub currency: Currency,
    /// The lines that can be bought, priced. Quantities are cut to what there is, with a warning (rule CHK-13).
    pub line_items: Vec<LineItem>,
    /// How many lines there ever were, these included.
    pub lines_ever: u64,
    /// What it costs altogether.
    pub totals: Vec<Total>,
    /// The discounts, when the extension was negotiated.
    pub discounts: Option<Discounts>,
    /// How the goods reach the buyer, when the extension was negotiated and there is something to deliver.
    pub fulfillment: Option<Fulfillment>,
    /// Whether everything that has to be delivered has a destination and a chosen option.
    pub deliverable: bool,
    /// All that is wrong or worth knowing, with paths into the answer. An error keeps the checkout from being completed.
    pub messages: Vec<Message>,
    /// Why the buyer has to look at it in person, once nothing else keeps it from being completed. Nothing for carts.
    pub reviews: Vec<Message>,
}
