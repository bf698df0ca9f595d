//! A shop behind Shopify's Storefront GraphQL API.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`client`] | one operation, one HTTP call: tokens, throttling, errors beside data, releases of the API |
//! | [`bot`] | saying which bot is asking |
//! | [`documents`] | what is asked |
//! | [`cart`] | buying: its cart is what a platform stated |
//! | [`catalog`] | products: search, lookup, one product in full |
//! | [`market`] | where the shop sells, in which currencies and languages |
//! | [`encoded`] | which combinations of options there are, as the API writes it |
//! | [`money`] | decimal amounts as integers |
//! | [`text`] | texts and addresses that come from a merchant |
//!
//! Everything that comes from the shop is a stranger's: texts lose their markup and what no one sees, addresses that
//! are not on the web are dropped, and a product that cannot be sold as it is described is left out with a line in the
//! log.

pub mod bot;
pub mod cart;
pub mod catalog;
pub mod client;
pub mod documents;
pub mod encoded;
pub mod market;
pub mod money;
pub mod text;

pub use self::{
    bot::Bot,
    catalog::{SetupError, Storefront},
    client::{Client, Token},
};
