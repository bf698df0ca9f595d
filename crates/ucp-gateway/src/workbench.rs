//! The pages of [`ucp_workbench`] for a shop: the first page and the reference of the API for everyone, the playground for
//! browsers on this machine under the policy `development`.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `request` | what the page of the playground asks beside UCP: size, rate, form |
//! | [`signer`] | the platform of the playground, for which the gateway signs |
//! | `endpoint` | calls of other UCP endpoints |

mod endpoint;
mod request;
pub(crate) mod signer;

use std::sync::Arc;

use axum::Router;
use ucp_config::{Policy, Settings};
use ucp_core::Operation;
use ucp_workbench::Facts;

use self::{endpoint::Endpoints, signer::Signer};
use crate::{callers::example_profile, local};

/// Builds the routes. Calls of the playground are signed with `signer`.
pub(crate) fn router(
    settings: &Settings,
    base: &str,
    shop: &str,
    operations: &[Operation],
    signer: Option<Arc<Signer>>,
) -> Router {
    let facts = facts(settings, base, shop, operations);
    let home = ucp_workbench::home(&facts, |request| ucp_rest::unknown_path(request.uri()));
    let home = home.merge(ucp_workbench::reference(&facts));
    if !facts.development {
        return home;
    }
    let playground = local::only(ucp_workbench::playground(&facts, signer.is_some()));
    let signing = signer.map(Signer::router).unwrap_or_default();
    home.merge(playground).merge(Endpoints::new(settings).router()).merge(signing)
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
