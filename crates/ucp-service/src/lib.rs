//! Handling of calls between the transports and the backends, once for all transports.
//!
//! A binding reads bytes into a [`Call`] and writes a [`Reply`] or a [`Refusal`](ucp_core::Refusal) back. Between them
//! stands one function, [`CallHandler::handle`], so that a call gets the same result on every transport:
//!
//! ```text
//! request -> gate -> Call -> identify -> authorize -> negotiate -> read -> execute -> encode and sign -> Reply
//! ```
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`call`] | input and output of the handler |
//! | [`handle`] | the steps of a call |
//! | [`coding`] | compressed answers |
//! | `explanation` | why a call was negotiated as it was, for those who look at it |
//! | `idempotency` | idempotency keys and stored answers |
//! | [`mandate`] | merchant authorization and AP2 mandates of a checkout |
//! | [`ingress`] | admission: limits, API keys, signatures |
//! | [`access`] | the authenticated caller and its permissions |
//! | [`signing`] | the signing keys of the gateway |
//! | [`negotiated_profile`] | the cached result of negotiating with a platform |
//! | [`agent`] | the profile URL and idempotency key that a request states |
//! | [`platform`] | the platform behind a call, and the negotiation with it |
//! | [`body`] | reading request bodies within limits |
//! | [`header`] | HTTP headers that both bindings read |

pub mod access;
pub mod agent;
pub mod body;
pub mod call;
pub mod coding;
mod explanation;
pub mod handle;
pub mod header;
mod idempotency;
pub mod ingress;
pub mod mandate;
pub mod negotiated_profile;
pub mod platform;
pub mod signing;

pub use call::{Call, Endpoint, Fault, Reply};
pub use handle::{Allowances, CallHandler};
pub use ingress::Ingress;
