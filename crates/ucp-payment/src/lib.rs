//! Payment handlers: where money moves (UCP *Payment Handlers*; rules PAY-01 to PAY-08).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`sandbox`] | a handler that moves no money, and does what its tokens say |
//! | [`processor`] | a handler that authorises and captures at a payment service provider, over HTTP |
//! | [`secret`] | what is shown to a provider and to nobody else |
//!
//! What both keep to: money never moves twice for an attempt, and whatever is not known for sure is `Unknown` until the
//! provider has said. A credential goes from the request to the provider; it is in no message, log, memo or reference.

mod credential;
pub mod processor;
pub mod sandbox;
pub mod secret;

use std::sync::Arc;

use jiff::Timestamp;

pub use processor::Processor;
pub use sandbox::Sandbox;
pub use secret::Secret;

/// Clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
