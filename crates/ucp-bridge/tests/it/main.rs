//! The bridge in front of shops that answer as they like.
//!
//! The clock of tokio is paused: a shop that does not answer costs no time, and one that does is never late.

mod asking;
mod faults;
mod first_releases;
mod hostile;
mod mandates;
mod purchases;
mod refusals;
mod shown;
mod stub;
mod webhooks;
