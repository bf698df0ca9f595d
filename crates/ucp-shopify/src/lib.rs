//! Adapter to a shop behind Shopify's Storefront GraphQL API.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`client`] | the client, one HTTP call per operation: tokens, throttling, errors beside data, versions of the API |
//! | [`bot`] | signatures of requests as those of a known bot (Web Bot Auth) |
//! | [`documents`] | the GraphQL operations |
//! | [`cart`] | selling: carts of the shop built from the drafts of platforms |
//! | [`catalog`] | products: search, lookup, one product in full |
//! | [`market`] | countries, currencies and languages of the shop |
//! | `deferred` | answers in parts |
//! | [`encoded`] | decoder of the existing combinations of option values |
//! | [`money`] | conversion of decimal amounts to integers |
//! | [`orders`] | notices of the shop about its orders |
//! | `shapes` | declaration of the types of answers |
//!
//! Everything that comes from the shop is untrusted: texts lose their markup and invisible characters, addresses that
//! are not on the web are dropped, and a product that cannot be sold as it is described is left out with a line in the
//! log.

pub mod bot;
pub mod cart;
pub mod catalog;
pub mod client;
mod deferred;
pub mod documents;
pub mod encoded;
pub mod market;
pub mod money;
pub mod orders;
mod shapes;

use ucp_import::text;

pub use self::{
    bot::Bot,
    catalog::{SetupError, Storefront},
    client::{Client, Token},
    orders::OrderNotices,
};
