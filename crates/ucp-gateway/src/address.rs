//! The public URL of the gateway, and values derived from it.

use std::sync::Arc;

use ucp_core::Release;
use ucp_rest::publication::{PROFILE_PATH, prefix};
use ucp_service::Endpoint;
use ucp_trust::signature::Scheme;
use url::Url;

/// Returns the base URL that paths are appended to: `public_url` without trailing slashes.
pub(crate) fn base(public_url: &Url) -> String {
    public_url.as_str().trim_end_matches('/').to_owned()
}

/// Returns the scheme of a URL for signature bases: [`Scheme::Https`] for `https`, else [`Scheme::Http`].
pub(crate) fn scheme(url: &Url) -> Scheme {
    if url.scheme() == "https" { Scheme::Https } else { Scheme::Http }
}

/// Returns the audiences that mandates may name: the origin of the gateway, its base URL, and the URLs of its profiles
/// at the root and in each release.
pub(crate) fn audiences(public_url: &Url) -> Arc<[String]> {
    let base = base(public_url);
    let mut names = vec![public_url.origin().ascii_serialization(), base.clone(), format!("{base}{PROFILE_PATH}")];
    names.extend(Release::ALL.iter().map(|release| format!("{base}{}{PROFILE_PATH}", prefix(Endpoint::Of(*release)))));
    names.dedup();
    names.into()
}
