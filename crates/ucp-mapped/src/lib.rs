//! A shop behind any REST or GraphQL API, described by one TOML file.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`file`](mod@file) | the file: market, sources, questions |
//! | [`plan`] | its programs, checked and numbered, and the requests that they make |
//! | [`transport`] | a shop that is asked by way of its mapping |
//! | `source` | the servers: requests, and what they are let in by |
//! | `session` | cookies and headers of carts |
//! | `check` | what answers must be, whatever program made them |
//! | [`decimal`] | minor units from decimal texts, exactly |
//! | [`program`] | jq programs: what they may name, and what they yield |
//! | [`worker`] | the process in which programs run |
//! | [`pool`] | runs programs in such processes, and survives what they do |

mod check;
pub mod decimal;
pub mod file;
pub mod plan;
pub mod pool;
pub mod program;
mod session;
pub mod source;
pub mod transport;
pub mod worker;

pub use self::{
    plan::read,
    transport::{Exchange, Mapped, Trace},
};
