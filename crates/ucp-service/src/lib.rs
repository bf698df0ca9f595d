//! The pipeline: everything between a transport and a backend, once for all transports.
//!
//! A binding reads bytes into a [`Call`] and writes a [`Reply`] or a [`Refusal`](ucp_core::Refusal) back. Between them stands one stack of tower
//! layers, so that a call gets the same verdict whichever way it came:
//!
//! ```text
//! Call -> recover -> encode -> identify -> validate -> execute -> backend
//! ```
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`call`] | what goes into the pipeline and what comes out |
//! | [`mod@pipeline`] | the stack |
//! | [`agent`] | who is calling |
//! | [`body`] | reading request bodies within limits |
//! | [`header`] | the HTTP headers that both bindings read |

pub mod agent;
pub mod body;
pub mod call;
pub mod header;
pub mod pipeline;

pub use call::{Call, Reply};
pub use pipeline::{Pipeline, pipeline};
