//! The domain of the gateway: what UCP means, without any I/O.
//!
//! Nothing here opens a socket, reads a clock, touches a file or knows a transport. Bindings turn bytes into calls of
//! the [operations](operation), releases turn their wire shapes into the types of this crate, and backends answer the
//! [ports](port). What lies between is decided here, by pure functions that are tested against oracles.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`operation`] | the operation table: everything a transport or a document needs to know about an operation |
//! | [`release`] | the UCP releases, as plain data |
//! | [`catalog`] | products, option selection, lookup correlation, filters, paging |
//! | [`cart`], [`checkout`], [`order`] | what buyers think of buying, are buying, and have bought |
//! | [`purchase`] | what those three are made of: lines, totals, discounts, fulfillment, payment |
//! | [`country`] | countries and their regions |
//! | [`money`] | currencies and integer minor units |
//! | [`message`] | UCP messages: errors, warnings and notes inside an answer |
//! | [`refusal`] | the registry of protocol failures |
//! | [`text`] | words to compare, and text without what no one sees |
//! | [`json`] | strict reading of JSON from outside |
//! | [`call`], [`outcome`] | what a call asks, and what comes of it |
//! | [`port`] | what a backend is asked |
//! | [`record`] | what is known about a call under way, for the log and the metrics |

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
pub mod record;
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
