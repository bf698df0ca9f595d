//! Webhooks: deliveries of events about orders to platforms (UCP *Order*, *Events*; rules WHK-01 to WHK-04, SIG-10,
//! trap T-32).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`dispatcher`] | order, retries and outcomes of deliveries |
//! | [`message`] | messages: the order in the platform's release, header fields and signature |
//! | [`recipient`] | recipients: platforms as their current profiles describe them |
//!
//! A webhook event is repeated until it is accepted or settled otherwise, so it can arrive more than once; the events
//! of one order are sent in their order. Only the state of events in flight is kept here: the
//! [outbox](ucp_core::order::outbox) is on disk, so that a process can end at any moment, and several can share one
//! outbox. A platform that does not answer holds one connection, however many events wait for it, and the others get
//! theirs meanwhile.

pub mod dispatcher;
pub mod message;
pub mod recipient;
