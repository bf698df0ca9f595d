//! Telling platforms about their orders (UCP *Order*, *Events*; rules WHK-01 to WHK-04, SIG-10, trap T-32).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`dispatcher`] | who is told next, and what comes of it |
//! | [`message`] | what is sent: the order in the platform's release, and the proof of who says so |
//! | [`recipient`] | who is told: platforms, as they are known at the moment |
//!
//! Each webhook event arrives at least once, and those of one order in their order. Nothing is remembered here but what
//! is under way: the [outbox](ucp_core::order::outbox) is on disk, so that a process can end at any moment, and several
//! can share one. However much waits for a platform that does not answer, it holds one connection, and the others are
//! told meanwhile.

pub mod dispatcher;
pub mod message;
pub mod recipient;
