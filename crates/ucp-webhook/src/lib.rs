//! Webhooks: deliveries of events about orders to platforms (UCP *Order*, *Events*; rules WHK-01 to WHK-04, SIG-10,
//! trap T-32).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`dispatcher`] | retries and outcomes of deliveries |
//! | [`message`] | messages: the order in the platform's release, header fields and signature |
//! | [`recipient`] | recipients: platforms as their current profiles describe them |
//!
//! A webhook event is repeated until it is accepted or settled otherwise, so it can arrive more than once; the events
//! of one order are sent in their order. Nothing about events in flight is kept here: the
//! [outbox](ucp_core::ports::outbox) and the tasks that tell it are on disk, so that a process can end at any moment, and
//! several can share one outbox.

pub mod dispatcher;
pub mod message;
pub mod recipient;
