//! Payment handlers, which move money (UCP *Payment Handlers*; rules PAY-01 to PAY-08).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`sandbox`] | handler that moves no money and takes the outcome from its tokens |
//! | [`processor`] | handler that authorizes and captures at a payment service provider, over HTTP |
//! | [`stripe`] | handler that authorizes and captures at Stripe |
//! | [`endpoint`] | address of a provider |
//! | [`secret`] | secrets that only a provider sees |
//!
//! All handlers guarantee that money never moves twice for an attempt, and that an uncertain outcome is `Unknown`
//! until the provider has stated it. A credential goes from the request to the provider only; no message, log, memo or
//! reference contains it.

mod client;
mod credential;
pub mod endpoint;
mod mode;
pub mod processor;
pub mod sandbox;
pub mod secret;
pub mod stripe;
mod subject;

use std::sync::Arc;

use jiff::Timestamp;

pub use endpoint::Endpoint;
pub use processor::Processor;
pub use sandbox::Sandbox;
pub use secret::Secret;
pub use stripe::Stripe;

/// Source of the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
