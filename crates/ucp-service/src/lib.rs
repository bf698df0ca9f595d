//! The pipeline: everything between a transport and a backend, once for all transports.
//!
//! A binding reads bytes into a [`Call`] and writes a [`Reply`] or a [`Refusal`](ucp_core::Refusal) back. Between them stands one stack of tower
//! layers, so that a call gets the same verdict whichever way it came:
//!
//! ```text
//! request -> gate -> Call -> recover -> identify -> attribute -> authorize -> negotiate -> validate -> execute -> backend
//! ```
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`call`] | what goes into the pipeline and what comes out |
//! | [`mod@pipeline`] | the stack |
//! | `idempotency` | keys, kept answers, and whose turn it is |
//! | [`mandate`] | what both sides sign about a checkout |
//! | [`gate`] | who is let in: limits, API keys, signatures |
//! | [`agent`] | what a request states about who is calling |
//! | [`platform`] | the platform behind a call, and what was negotiated with it |
//! | [`body`] | reading request bodies within limits |
//! | [`header`] | the HTTP headers that both bindings read |

pub mod agent;
pub mod body;
pub mod call;
pub mod gate;
pub mod header;
mod idempotency;
pub mod mandate;
pub mod pipeline;
pub mod platform;

pub use call::{Call, Endpoint, Fault, Reply};
pub use gate::Gate;
pub use pipeline::{Pipeline, pipeline};
