//! Input and output of the [pricing](crate::pricing) engine.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    discount::Discounts,
    fulfillment::Fulfillment,
    line_item::LineItem,
    totals::{Total, TotalKind},
};
use crate::{
    catalog::product::{LeadTime, QuantityRule, SelectedOption},
    message::Message,
    money::{Amount, Currency},
    text::fold,
};

/// Purpose for which a draft is priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An estimate for a cart: no fulfillment, taxes only if the country is known.
    Cart,
    /// A purchase by a checkout.
    Checkout,
}

/// Facts about the goods of a draft, as the shop knows them.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Currency of all prices in `goods`.
    pub currency: Currency,
    /// Currency of the shop, in which its terms state plain amounts.
    pub own_currency: Currency,
    /// Goods by line of the draft.
    pub goods: Vec<NamedItem>,
    /// Taxes that a shop behind another API has worked out, by name, to be added to those of the terms.
    pub taxes: Vec<(String, Amount)>,
    /// Gift cards and store credit that pay a part of the purchase, in the order in which they are used.
    pub credits: Vec<Credit>,
    /// Codes that a shop behind another API knows and does not apply.
    pub unmet_codes: Vec<UnmetCode>,
    /// Current time, UTC.
    pub now: Timestamp,
}

/// A discount code that a shop behind another API knows and does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetCode {
    /// Code that the platform submitted, as one of `discounts.codes`.
    pub code: String,
    /// Reason.
    pub kind: CodeProblem,
    /// The shop's own words for the buyer.
    pub text: Option<String>,
}

/// Reason for which a discount code does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeProblem {
    /// It is no longer valid.
    Expired,
    /// The purchase is below the smallest amount.
    Minimum,
    /// It is for other buyers.
    Buyer,
    /// It cannot be combined with another code or discount.
    Combination,
    /// It is not available in the currency.
    Currency,
    /// It is for other items.
    Items,
    /// Another reason, which the text says.
    #[serde(other)]
    Other,
}

/// A gift card or store credit that pays a part of a purchase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Kind of the credit.
    pub kind: CreditKind,
    /// Name shown to the buyer.
    pub title: String,
    /// Code that the platform submitted for it, as one of `discounts.codes`; `None` if it needs none.
    pub code: Option<String>,
    /// Amount that it pays, in minor units.
    pub amount: Amount,
}

impl Credit {
    /// Returns `true` if a code stands for this credit.
    pub fn is_for(&self, code: &str) -> bool {
        self.code.as_deref().is_some_and(|own| fold(own.trim()) == fold(code.trim()))
    }
}

/// Kind of a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditKind {
    /// A gift card, which whoever knows its code can use.
    GiftCard,
    /// Credit of the buyer at the shop.
    StoreCredit,
}

impl CreditKind {
    /// Returns the kind of the entry of the totals.
    pub const fn total(self) -> TotalKind {
        match self {
            Self::GiftCard => TotalKind::GiftCard,
            Self::StoreCredit => TotalKind::StoreCredit,
        }
    }
}

/// Items for sale that the item identifier of a line item names.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedItem {
    /// A single variant.
    One(ItemFacts),
    /// Several variants: the platform has to choose.
    Several(Choice),
    /// Nothing for sale.
    Nothing,
}

impl NamedItem {
    /// Returns the variant, if it is a single one.
    pub const fn one(&self) -> Option<&ItemFacts> {
        match self {
            Self::One(good) => Some(good),
            Self::Several(_) | Self::Nothing => None,
        }
    }
}

/// The variants that one identifier names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Identifier of the product, if the identifier names a product; `None` if variants share it, such as a SKU.
    pub product_id: Option<String>,
    /// Number of variants, at least 2.
    pub count: usize,
    /// Some of the variants, those that can be bought first: identifier and selected options.
    pub variants: Vec<(String, Vec<SelectedOption>)>,
}

/// The members of a variant that matter for buying it.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemFacts {
    /// Identifier of the variant.
    pub id: String,
    /// Identifier of its product.
    pub product_id: String,
    /// Name shown to the buyer: that of the product, followed by that of the variant if the product has several.
    pub title: String,
    /// Unit price in minor units.
    pub price: Amount,
    /// URL of a picture.
    pub image_url: Option<String>,
    /// `true` if the variant can be bought at all.
    pub available: bool,
    /// Stock in pieces; `None` if it is not counted.
    pub stock: Option<u64>,
    /// Quantities in which a line of it is sold.
    pub quantity_rule: QuantityRule,
    /// Time before it can leave the shop.
    pub lead_time: LeadTime,
    /// Number of pieces by pickup place, of which a place that is left out has none; `None` if every place has it.
    pub stock_by_location: Option<BTreeMap<String, u64>>,
    /// Reason for which the shop does not sell it, or not in the wanted quantity; `None` if it does.
    pub problem: Option<LineProblem>,
    /// Weight of one piece in grams; 0 if unknown.
    pub weight_grams: u64,
    /// `true` if the variant has to be shipped or picked up.
    pub needs_fulfillment: bool,
}

/// Reason of a shop for which a line cannot be bought as it was stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineProblem {
    /// Kind of the reason.
    pub kind: ProblemKind,
    /// The shop's own words for the buyer.
    pub text: Option<String>,
}

/// Kind of a reason for which a line cannot be bought as it was stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Not enough stock.
    OutOfStock,
    /// It is not sold any more.
    Discontinued,
    /// It is not sold to this buyer, for instance only to the trade or to members.
    NotSoldToBuyer,
    /// It is not sold in the buyer's country.
    NotSoldInCountry,
    /// Fewer were wanted than are sold at a time.
    BelowMinimum,
    /// More were wanted than are sold at a time.
    AboveMaximum,
    /// The quantity is no multiple of what is sold together.
    NotAMultiple,
    /// Another reason, which the text says.
    #[serde(other)]
    Other,
}

/// Parts of the previous answer from which identifiers are kept stable (trap T-48).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Previous {
    /// Previous line items.
    pub line_items: Vec<LineItem>,
    /// Previous delivery.
    pub fulfillment: Option<Fulfillment>,
    /// Number of line identifiers assigned so far: the source of new identifiers.
    pub lines_ever: u64,
}

/// Price of a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    /// Currency of all amounts.
    pub currency: Currency,
    /// Priced lines. Quantities are reduced to the stock, with a warning (rule CHK-13).
    pub line_items: Vec<LineItem>,
    /// Number of line identifiers assigned so far, including those of this quote.
    pub lines_ever: u64,
    /// Totals of the whole draft.
    pub totals: Vec<Total>,
    /// Discounts; `None` if the extension was not negotiated.
    pub discounts: Option<Discounts>,
    /// Delivery; `None` for a cart, if nothing needs delivery, or if delivery has to be arranged on the shop's pages.
    pub fulfillment: Option<Fulfillment>,
    /// `true` if everything that needs delivery has a destination and a chosen option.
    pub deliverable: bool,
    /// Errors, warnings and information, with paths into the answer. An error prevents completion of the checkout.
    pub messages: Vec<Message>,
    /// Reasons for which the buyer has to review the purchase in person once nothing else prevents its completion;
    /// empty for carts.
    pub reviews: Vec<Message>,
}
