//! The SQLite store: everything that a gateway keeps, in one file of its data directory.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `store` | [`SqliteStore`]: the file, who reads and who writes it |
//! | `writer` | the one thread that writes, with group commit |
//! | `ledger` | the ledger port: carts, checkouts, orders, kept answers |
//! | `outbox`, `notices` | the outbox port: what platforms are still to be told |
//! | `owners` | the owners port: to whom belongs what a shop elsewhere keeps |
//! | [`stock`], [`revision`] | how many there are of each variant, and which products have changed |
//! | `pruning` | removing what nobody will ask for any more |
//! | `migrations` | the schema, and how older files come to it |
//! | `header` | a look at the file before SQLite opens it |
//! | [`watcher`] | a thread that notices what others write |
//! | `error`, `time` | errors, and times as they are stored |
//!
//! The products of the embedded shop and the merchants of the directory lie in tables of the same file. `ucp-shop` and
//! `ucp-directory` read and write them, through [`SqliteStore::readers`], [`SqliteStore::writer`] and
//! [`SqliteStore::transaction`].

mod error;
mod header;
mod ledger;
mod migrations;
mod outbox;
mod owners;
mod pruning;
pub mod revision;
pub mod stock;
mod store;
mod time;
pub mod watcher;
mod webhook_events;
mod writer;

pub use error::{Put, Rejected, StoreError, WriteError};
pub use owners::Forwarded;
pub use store::{Readers, SqliteStore};
pub use writer::Writer;

#[cfg(test)]
mod tests;
