//! The pages of [`ucp_workbench`] for a shop: the first page and the reference of the API for everyone, the playground for
//! browsers on this machine under the policy `development`.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `request` | what the page of the playground asks beside UCP: size, rate, form |
//! | `signer` | the platform of the playground, for which the gateway signs |
//! | `endpoint` | calls of other UCP endpoints |

mod endpoint;
mod request;
mod signer;

use std::sync::Arc;

use axum::Router;
use ucp_config::{Policy, Settings};
use ucp_core::Operation;
use ucp_host::{address::base, callers::example_profile, pages::Subject};
use ucp_service::negotiated_profile::NegotiatedProfile;
use ucp_trust::directory::Directory;
use ucp_workbench::Facts;

use self::{endpoint::Endpoints, signer::Signer};
use crate::local;

/// Builds the routes. The platform of the playground is made known to `platforms`, so that its calls can be signed.
pub(crate) fn router(shop: &Subject<'_>, platforms: Option<&Directory<NegotiatedProfile>>) -> Router {
    let Subject { settings, public_url, name, operations } = *shop;
    let facts = facts(settings, &base(public_url), name, operations);
    let home = ucp_workbench::home(&facts, |request| ucp_rest::unknown_path(request.uri()));
    let home = home.merge(ucp_workbench::reference(&facts));
    if !facts.development {
        return home;
    }
    let signer = platforms.and_then(|platforms| {
        let signer = Signer::new(settings, public_url, operations)?;
        signer.pin(platforms);
        Some(Arc::new(signer))
    });
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
