//! The catalog: what a shop offers and how a platform finds it (UCP *Catalog*, *Search*, *Lookup*).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`record`] | a product as a merchant states it: every language, every currency |
//! | [`product`] | a product as one caller sees it |
//! | [`market`] | which languages and currencies a shop speaks, and which of them a caller gets |
//! | [`filter`] | the filters that search, lookup and `get_product` share |
//! | [`price_words`] | prices in the words of a search |
//! | [`selection`] | the option engine behind `get_product` |
//! | [`featured`] | which variant stands for a product |
//! | [`search`], [`lookup`], [`detail`] | requests and answers of the three operations |
//! | [`cursor`] | opaque, sealed page positions |

pub mod cursor;
pub mod detail;
pub mod featured;
pub mod filter;
pub mod lookup;
pub mod market;
pub mod price_words;
pub mod product;
pub mod record;
pub mod search;
pub mod selection;

/// The buyer's provisional circumstances as the platform tells them: hints, never facts (UCP *Context*).
///
/// Only the members that this gateway acts on are typed; a caller may send any others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// ISO 3166-1 country, as sent.
    pub country: Option<String>,
    /// BCP 47 language tags in order of preference, as sent.
    pub languages: Vec<String>,
    /// ISO 4217 currency, as sent; also the denomination of price filters.
    pub currency: Option<String>,
    /// Wish of the buyer, as free text.
    pub intent: Option<String>,
    /// Customer group of the platform, which the operator states and no caller does.
    pub customer_group: Option<String>,
}
