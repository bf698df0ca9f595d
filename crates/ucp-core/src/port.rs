//! Ports: the interfaces that a backend implements.
//!
//! A port provides facts and leaves the decisions to the domain, except for a shop that speaks UCP itself
//! ([`UcpUpstream`]). A backend implements the ports of the operations that it supports; the gateway mounts and
//! advertises nothing else.

pub mod agenda;
mod backend;
mod body;
pub mod buyers;
mod catalog;
mod commerce;
mod error;
mod order_inbox;
pub mod owners;
pub mod rows;
pub mod store;
pub mod tenants;
pub mod transfer;
mod ucp_upstream;

pub use self::{
    backend::{Backend, Directory, Shop},
    body::{Body, NEGOTIATED, Written},
    catalog::{Catalog, CatalogCapabilities, Filtering, MAX_IDS, Match, Named, Page, Query, Target},
    commerce::{Commerce, Completion, Decision, SalesCapabilities, Then},
    error::PortError,
    order_inbox::{Notice, OrderInbox, PlacedLine, PlacedOrder},
    ucp_upstream::{ForwardedAnswer, ForwardedCall, Trace, UcpUpstream},
};
