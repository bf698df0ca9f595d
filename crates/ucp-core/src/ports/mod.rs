//! Ports: the interfaces that backends, stores, payment handlers and verifiers implement.
//!
//! A port provides facts and leaves the decisions to the domain, except for a shop that speaks UCP itself
//! ([`UcpUpstream`]) and for a [`Directory`]. A backend implements the ports of the operations that it supports; the
//! gateway mounts and advertises nothing else. The [`caller`] is the platform for which they are asked.

pub mod agenda;
mod backend;
mod body;
pub mod buyers;
pub mod caller;
mod catalog;
mod commerce;
mod directory;
mod error;
pub mod ledger;
pub mod mandate_verifier;
mod order_inbox;
pub mod outbox;
pub mod owners;
pub mod payment_handler;
pub mod remote_cart;
pub mod rows;
pub mod shared;
pub mod store;
mod tasks;
pub mod tenants;
pub mod transfer;
mod ucp_upstream;

pub use self::{
    backend::{Backend, ShopPort},
    body::{Body, NEGOTIATED, Written},
    catalog::{Catalog, CatalogCapabilities, Filtering, MAX_IDS, Match, Named, Page, Query, Target},
    commerce::{Commerce, Completion, Decision, SalesCapabilities, Then},
    directory::{Directory, Holdings},
    error::PortError,
    order_inbox::{FoundOrder, Notice, OrderInbox, OrderWays, PlacedLine, PlacedOrder, Told},
    tasks::{Search, follow_again, following},
    ucp_upstream::{ForwardedAnswer, ForwardedCall, Trace, UcpUpstream},
};
