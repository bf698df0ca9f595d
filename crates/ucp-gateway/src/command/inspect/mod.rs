//! Commands that look at endpoints, backends, messages and recorded calls.

pub(crate) mod backend;
pub(crate) mod doctor;
pub(crate) mod explain;
mod message;
mod reach;
pub(crate) mod recorded;
pub(crate) mod rehearse;
pub(crate) mod replay;
pub(crate) mod sign;
pub(crate) mod verify;
