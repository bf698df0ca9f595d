//! The embedded shop: a catalog in a directory.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`Shop`] | the catalog port: cache, search, and the watch for changes |
//! | [`Database`] | the products themselves, in SQLite: all that an import needs |
//! | [`Books`] | the ledger port: carts, checkouts, orders, stock; and the outbox port: what platforms are to be told |
//! | [`directory`] | merchants and where they are, beside the shop |
//! | [`import`] | reading a merchant's files |
//! | [`sample`] | the goods of the shop that a first start creates |
//! | [`relayed`] | what a shop elsewhere keeps for this gateway |
//! | `index` | the search index, derived from the database |
//! | `cache` | what was asked for lately |
//! | `pruning` | removing what nobody will ask for any more |
//!
//! The database is the truth. Cache and index follow it, whoever changes it: products that another process imports into
//! the directory of a running shop appear in it within a second.

mod cache;
pub mod directory;
mod error;
pub mod import;
mod index;
mod ledger;
mod outbox;
mod pruning;
pub mod relayed;
pub mod sample;
mod shop;
mod sqlite;
mod time;
mod watcher;

pub use error::{Put, Rejected, StoreError, WriteError};
pub use ledger::Books;
pub use shop::{Options, Shop};
pub use sqlite::{Database, Opening, writer::Writer};

#[cfg(test)]
mod tests;
