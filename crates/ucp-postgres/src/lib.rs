//! The PostgreSQL store: everything that the gateways of a shop share, in one database.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `address` | [`Options`]: the address of the database, and how it is used |
//! | `tls` | encryption of the connections |
//! | `connection` | connections, and the values that statements take |
//! | `failure` | what errors of the server mean for a transaction |
//! | `transaction` | the pool, and the repetition of what failed on the way |
//! | `migrations` | the schema, and its versions |
//! | `store` | [`PostgresStore`]: the store of one shop |
//! | `ledger`, `commit` | the ledger port: carts, checkouts, orders, recorded answers |
//! | `registered` | the bound on the rows of registered platforms |
//! | `outbox` | the outbox port: webhook events that platforms are still to receive |
//! | `shops` | which shops in a database have something to do, or to remove |
//! | `happened` | what happens to orders and checkouts without a call |
//! | `owners` | the owners port: owners of what a remote shop keeps |
//! | `port` | the rest of the store port: queries of operators, forwarded webhook messages, removal of expired rows |
//! | [`catalog`] | the products of the embedded shop, and their numbered changes |
//! | [`events`] | changes of a remote shop's catalog, for all gateways |
//! | `buyers` | what is stored about a buyer, and its erasure |
//! | `transfer` | rows that are moved to or from another store |
//! | `rows`, `text` | rows as the ports read them, and texts as they are stored |
//!
//! Each change is one statement, and so one round trip and one transaction: the rows of a commit are parts of a `WITH`
//! whose result fails if one of them did not change what it had to. A statement is safe to send again. What became of one
//! whose reply was lost is found out by sending it again: the idempotency key of the call, or a row of `commits`, is in it
//! and there only once.
//!
//! Statements have no names on the server unless [`Options::named`] asks for it, so that every one of them can go to another server
//! connection (pgbouncer in transaction mode). Nothing waits for `NOTIFY`, which such a connection does not hear and which makes
//! commits of a whole database wait for each other: whoever has to learn of a change looks for it.

mod address;
mod agenda;
mod buyers;
pub mod catalog;
mod commit;
mod connection;
pub mod events;
mod failure;
mod happened;
mod ledger;
mod migrations;
mod outbox;
mod owners;
mod port;
mod presence;
mod registered;
mod rows;
mod shops;
mod store;
mod text;
mod tls;
mod transaction;
mod transfer;

pub use address::{InvalidAddress, InvalidCertificates, Options};
pub use failure::{Failure, OpenError};
pub use store::PostgresStore;

#[cfg(test)]
mod tests;
