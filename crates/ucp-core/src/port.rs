//! Ports: the interfaces that a backend implements.
//!
//! A port provides facts and leaves the decisions to the domain, except for a shop that speaks UCP itself ([`Relay`]).
//! A backend implements the ports of the operations that it supports; the gateway mounts and advertises nothing else.

mod backend;
mod body;
mod catalog;
mod error;
pub mod owners;
mod relay;
mod sales;
pub mod store;

pub use self::{
    backend::{Backend, Directory, Shop},
    body::{Body, NEGOTIATED, Written},
    catalog::{Catalog, CatalogCapabilities, Filtering, MAX_IDS, Match, Named, Page, Query, Target},
    error::PortError,
    relay::{Carried, Relay, Relayed, Trace},
    sales::{Completion, Decision, Sales, SalesCapabilities},
};
