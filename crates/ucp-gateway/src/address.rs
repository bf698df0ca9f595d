//! The public address of the gateway, and what follows from it.

use std::sync::Arc;

use ucp_core::Release;
use ucp_rest::publication::{PROFILE_PATH, prefix};
use ucp_service::Endpoint;
use ucp_trust::signature::Scheme;
use url::Url;

/// A public address as paths are appended to it.
pub(crate) fn base(public_url: &Url) -> String {
    public_url.as_str().trim_end_matches('/').to_owned()
}

/// How an address is reached, as signatures have it.
pub(crate) fn scheme(url: &Url) -> Scheme {
    if url.scheme() == "https" { Scheme::Https } else { Scheme::Http }
}

/// The names of the business that buyers may make mandates for: its origin, its address, and where its profiles are.
pub(crate) fn audiences(public_url: &Url) -> Arc<[String]> {
    let base = base(public_url);
    let mut names = vec![public_url.origin().ascii_serialization(), base.clone(), format!("{base}{PROFILE_PATH}")];
    names.extend(Release::ALL.iter().map(|release| format!("{base}{}{PROFILE_PATH}", prefix(Endpoint::Of(*release)))));
    names.dedup();
    names.into()
}
