//! Access and rates: API keys, limits, and their configuration (rules AGT-09, ERR-03).

mod configuration;
mod groups;
mod held;
mod identity;
mod keys;
mod limits;
mod statements;
mod strangers;
mod tokens;

use ucp_core::Release;
use ucp_trust::api_key::ApiKey;

use crate::{
    platforms::host::{Host, profile_of},
    setup::{Ask, Configured, REQUIRE, Refused, Setup, Transport},
};

/// A registered platform whose profile is pinned to the file that [`pinned`] puts there.
fn platform(name: &str, profile: &str, more: &str) -> String {
    let pinned = "profile_file = \"profile.json\"";
    format!("\n[[platform]]\nname = \"{name}\"\nprofile = \"{profile}\"\n{pinned}\n{more}\n")
}

/// A gateway with this configuration and the profile of a platform beside it.
fn pinned(configuration: &str) -> Setup {
    Setup::new(configuration).file("profile.json", &profile_of(Release::NEWEST).to_string())
}

/// The line of the configuration for an API key.
fn hash(key: &ApiKey) -> String {
    format!("api_key_hash = \"{}\"", key.hash())
}

fn new_key() -> ApiKey {
    ApiKey::generate().expect("random bytes")
}
