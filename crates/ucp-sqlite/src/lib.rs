//! The SQLite store: everything that a gateway stores, in one file of its data directory.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `store` | [`SqliteStore`]: the store of one shop in a database file |
//! | `connection` | [`ShopConnection`]: a connection to the rows of one shop |
//! | `writer` | the thread that writes, with group commit |
//! | `ledger` | the ledger port: carts, checkouts, orders, recorded answers |
//! | `outbox`, `webhook_events` | the outbox port: webhook events that platforms are still to receive |
//! | `owners` | the owners port: owners of what a remote shop keeps |
//! | [`stock`], [`revision`] | quantities of variants, and revisions of products |
//! | `port` | the rest of the store port: queries of operators, forwarded webhook messages, removal of expired rows |
//! | `shops` | which shops in a file have something to do, or to remove |
//! | `buyers` | what is stored about a buyer, and its erasure |
//! | `happened` | what happens to orders and checkouts without a call |
//! | `migrations` | the schema, and the upgrade of older files |
//! | `transfer` | rows that are moved to or from another store |
//! | `backup` | copies of the file: made, checked, put back |
//! | `header`, `log` | the checks of a file and its log before SQLite opens them |
//! | [`checksum`] | checksums of rows |
//! | `witness` | the number of commits, beside the database |
//! | [`watcher`] | a thread that notices writes of other processes |
//! | `error`, `rows` | errors, and rows as the ports read them |
//!
//! The products of the embedded shop and the merchants of the directory lie in tables of the same file. `ucp-shop` and
//! `ucp-directory` read and write them, through [`SqliteStore::snapshot`], [`SqliteStore::execute`] and
//! [`SqliteStore::transaction`].

mod agenda;
mod backup;
mod buyers;
pub mod checksum;
mod connection;
mod error;
mod happened;
mod header;
mod ledger;
mod log;
mod migrations;
mod outbox;
mod owners;
mod place;
mod port;
pub mod revision;
mod rows;
mod shops;
pub mod stock;
mod store;
mod transfer;
pub mod watcher;
mod webhook_events;
mod witness;
mod writer;

pub use connection::ShopConnection;
pub use error::{BackupError, Put, Rejected, StoreError, WriteError};
pub use store::{Room, SqliteStore, is_damage};
pub use writer::Activity;

#[cfg(test)]
mod tests;
