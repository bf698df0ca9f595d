//! The domain of the gateway: what UCP means, without any I/O.
//!
//! Nothing here opens a socket, reads a clock, touches a file or knows a transport. Bindings turn bytes into calls of
//! the [operations](operation), releases turn their wire shapes into the types of this crate, and backends answer the
//! [ports]. What lies between is decided here, by pure functions that are tested against oracles.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`release`], [`operation`] | the UCP releases, and the operation table: what a transport or a document needs to know |
//! | [`refusal`], [`message`], [`outcome`] | protocol failures, messages inside an answer, and what comes of a call |
//! | [`text`], [`json`], [`money`], [`country`] | words to compare, strict reading of JSON, amounts, countries |
//! | [`negotiation`] | what both sides of a call support |
//! | [`rendering`] | texts of products that were serialized before |
//! | [`catalog`] | products, filters, option selection; requests and answers about them |
//! | [`merchant`] | merchants and their locations; requests and answers about them |
//! | [`purchase`] | what carts, checkouts and orders are made of: lines, totals, fulfillment, payment |
//! | [`cart`], [`order`], [`checkout`] | what buyers consider buying, have bought, and are buying |
//! | [`call`] | requests and answers of every operation |
//! | [`ports`] | what others are asked: backends, stores, payment handlers |
//! | [`browse`] | the operations on the catalog |
//! | [`pricing`] | the price of a draft on the shop's terms |
//! | [`sales`] | the operations on carts, checkouts and orders |
//! | [`named!`] | enumerations whose variants have names |
//! | [`opaque!`] | types whose `Debug` hides what they hold |
//!
//! A module names only modules that stand before it.

#[macro_use]
mod named;
mod opaque;

pub mod browse;
pub mod call;
pub mod cart;
pub mod catalog;
pub mod checkout;
pub mod country;
pub mod json;
pub mod merchant;
pub mod message;
pub mod money;
pub mod negotiation;
pub mod operation;
pub mod order;
pub mod outcome;
pub mod ports;
pub mod pricing;
pub mod purchase;
pub mod refusal;
pub mod release;
pub mod rendering;
pub mod sales;
pub mod text;

pub use call::{Answer, Outcome, Request};
pub use operation::Operation;
pub use ports::store::ShopId;
pub use refusal::{Cause, Code, Refusal};
pub use release::Release;
