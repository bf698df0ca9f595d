//! Who is calling: profiles of platforms, fetched from a host that may be up to anything.

mod addresses;
mod fetching;
pub(crate) mod host;
mod policies;
mod tls;
