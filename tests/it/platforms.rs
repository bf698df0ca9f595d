//! Identity of platforms: profiles, fetched from a host that may misbehave.

mod addresses;
mod fetching;
pub(crate) mod host;
mod policies;
mod tls;
