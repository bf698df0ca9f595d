//! Facts about a gateway that the pages show.

use ucp_config::Policy;
use ucp_core::Operation;
use ucp_host::{address::base, callers::example_profile, pages::Subject};

/// Facts about a gateway that the pages show.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Display name of the shop.
    pub(crate) shop: String,
    /// URL under which clients reach the gateway, without trailing slash.
    pub(crate) base: String,
    /// Operations that are mounted.
    pub(crate) operations: Vec<Operation>,
    /// Line of a request that says who calls, such as `UCP-Agent: profile="…"`.
    pub(crate) caller: String,
    /// `true` if the playground and the inspector are mounted.
    pub(crate) development: bool,
}

impl Facts {
    /// Returns the facts about a shop.
    pub(crate) fn of(shop: &Subject<'_>) -> Self {
        let Subject { settings, public_url, name, operations } = *shop;
        Self {
            shop: name.to_owned(),
            base: base(public_url),
            operations: operations.to_vec(),
            caller: format!("UCP-Agent: profile=\"{}\"", example_profile(settings.policy)),
            development: settings.policy == Policy::Development,
        }
    }
}
