//! Everything between a transport and a backend, once for all transports.
//!
//! A binding reads bytes into a [`Call`] and writes a [`Reply`] or a [`Refusal`](ucp_core::Refusal) back. Between them
//! stands one function, [`CallHandler::handle`], so that a call gets the same verdict whichever way it came:
//!
//! ```text
//! request -> gate -> Call -> identify -> authorize -> negotiate -> read -> execute -> encode and sign -> Reply
//! ```
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`call`] | what goes into the handler and what comes out |
//! | [`handle`] | the way of a call |
//! | `idempotency` | keys, kept answers, and whose turn it is |
//! | [`mandate`] | what both sides sign about a checkout |
//! | [`gate`] | who is let in: limits, API keys, signatures |
//! | [`access`] | who a caller is known to be, and what that allows |
//! | [`signing`] | the keys that the gateway signs with |
//! | [`standing`] | what follows from a platform's profile |
//! | [`agent`] | what a request states about who is calling |
//! | [`platform`] | the platform behind a call, and what was negotiated with it |
//! | [`body`] | reading request bodies within limits |
//! | [`header`] | the HTTP headers that both bindings read |

pub mod access;
pub mod agent;
pub mod body;
pub mod call;
pub mod gate;
pub mod handle;
pub mod header;
mod idempotency;
pub mod mandate;
pub mod platform;
pub mod signing;
pub mod standing;

pub use call::{Call, Endpoint, Fault, Reply};
pub use gate::Gate;
pub use handle::CallHandler;
