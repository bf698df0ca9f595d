//! The pages of [`ucp_workbench`] for a shop: the first page and the reference of the API for everyone, the playground for programs on this machine
//! under the policy `development`.

use axum::Router;
use ucp_core::Operation;
use ucp_workbench::Facts;

use crate::{
    callers::example_profile,
    config::{Policy, Settings},
    local,
};

/// Builds the routes.
pub(crate) fn router(settings: &Settings, base: &str, shop: &str, operations: &[Operation]) -> Router {
    let facts = facts(settings, base, shop, operations);
    let home = ucp_workbench::home(&facts, |request| ucp_rest::unknown_path(request.uri()));
    let home = home.merge(ucp_workbench::reference(&facts));
    if facts.development { home.merge(local::only(ucp_workbench::playground(&facts))) } else { home }
}

/// Returns what the pages tell about a shop.
pub(crate) fn facts(settings: &Settings, base: &str, shop: &str, operations: &[Operation]) -> Facts {
    Facts {
        shop: shop.to_owned(),
        base: base.to_owned(),
        operations: operations.to_vec(),
        caller: format!("UCP-Agent: profile=\"{}\"", example_profile(settings.policy)),
        development: settings.policy == Policy::Development,
    }
}
