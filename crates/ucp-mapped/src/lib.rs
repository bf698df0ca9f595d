//! A shop behind any REST or GraphQL API, described by one TOML file.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`file`](mod@file) | the file: market, sources, questions |
//! | [`plan`] | its programs, checked and numbered, and the requests that they make |
//! | [`form`] | rules that need no shop: what the file promises, and whether its programs can keep it |
//! | `page` | the reference of the file, for people |
//! | [`transport`] | a shop that is asked by way of its mapping |
//! | `answer` | what the servers answer, and what ends a question |
//! | `paging` | pages, as the shop counts them |
//! | `source` | the servers: requests, and what they are let in by |
//! | `event` | signatures of the shop's events |
//! | `session` | cookies and headers of carts |
//! | `check` | what answers must be, whatever program made them |
//! | [`decimal`] | minor units from decimal texts, exactly |
//! | [`program`] | jq programs: what they may name, and what they yield |
//! | [`worker`] | the process in which programs run |
//! | [`pool`] | runs programs in such processes, and survives what they do |

mod answer;
mod check;
pub mod decimal;
mod event;
pub mod file;
pub mod form;
mod page;
mod paging;
pub mod plan;
pub mod pool;
pub mod program;
mod session;
pub mod source;
pub mod transport;
pub mod worker;

pub use self::{
    page::page,
    plan::{draft, read},
    transport::{Exchange, Mapped, Trace},
};
