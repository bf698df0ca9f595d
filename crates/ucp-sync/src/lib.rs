//! Synchronized catalogs: a copy of a shop's catalog in the local index, for shops whose API cannot search or that have
//! only a feed.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`catalog`] | the catalog port: searches in the copy, and facts that are asked live |
//! | [`synchroniser`] | full runs and runs for changes: begun, resumed, held |
//! | [`source`] | the sources of a run: pages of a shop, or a feed |
//! | [`feed`] | feeds by file or https, fetched only if they have changed |
//! | [`error`] | why a run ends early |
//! | [`state`] | the state of the synchronization, as it is stored |
//!
//! Invariants of every run:
//!
//! - Products and the position after them are stored in one transaction. A run that is killed goes on after it.
//! - What a run has not seen is asked for by name before it is removed, if there is a shop to ask.
//! - If runs or events would remove more than a stated share of the products, none is removed until the operator releases them.
//! - A page that was asked for before a product was asked for by name changes nothing about the product.

pub mod catalog;
pub mod error;
pub mod feed;
pub mod source;
pub mod state;
pub mod synchroniser;

pub use self::{
    catalog::SynchronisedCatalog,
    error::SyncError,
    feed::Feed,
    source::Source,
    state::State,
    synchroniser::{EventsError, Options, Progress, Ran, SharedChanges, SharedEvents, Status, Synchroniser},
};

#[cfg(test)]
mod tests;
