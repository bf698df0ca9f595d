//! Commands about what is stored.

pub(crate) mod buyers;
pub(crate) mod catalog;
mod copy;
pub(crate) mod holders;
pub(crate) mod import;
pub(crate) mod orders;
pub(crate) mod store;
pub(crate) mod terms;
pub(crate) mod webhooks;
