//! The embedded shop: a catalog in a data directory.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`EmbeddedShop`] | the catalog port: cache, search, and the watch for changes |
//! | [`Database`] | the products themselves, in the SQLite store: all that an import needs |
//! | [`import`] | reading a merchant's files |
//! | [`replica`] | a shop whose products several gateways share in a database |
//! | [`sample`] | the goods of the shop that a first start creates |
//! | [`synchronised`] | what is stored of a catalog that is a copy of one elsewhere |
//! | `products` | the tables of products |
//! | `synonyms` | the table of names that mean the same |
//! | `index` | the search index, derived from the database |
//! | `model` | static embeddings, of which the index makes vectors |
//! | `cache` | what was asked for lately |
//!
//! The database is the truth. Cache and index follow it, whoever changes it: products that another process imports into
//! the directory of a running shop appear in it within a second.

mod cache;
mod database;
pub mod import;
mod index;
mod model;
mod products;
pub mod replica;
pub mod sample;
mod shop;
pub mod synchronised;
mod synonyms;

pub use database::{Database, Opening};
pub use index::{BadSynonyms, LONGEST_SYNONYMS, Progress, Synonyms};
pub use model::{Model, ModelError};
pub use products::Stored;
pub use shop::{EmbeddedShop, Options};

#[cfg(test)]
mod tests;
