//! The public URL of the gateway, and values derived from it.

use std::sync::Arc;

use ucp_core::Release;
use ucp_rest::publication::{PROFILE_PATH, prefix};
use ucp_service::Endpoint;
use ucp_trust::signature::Scheme;
use url::Url;

/// Returns the base URL that paths are appended to: `public_url` without trailing slashes.
pub fn base(public_url: &Url) -> String {
    public_url.as_str().trim_end_matches('/').to_owned()
}

/// Returns the scheme of a URL for signature bases: [`Scheme::Https`] for `https`, else [`Scheme::Http`].
pub fn scheme(url: &Url) -> Scheme {
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

/// Reads an address that a person has typed, which may lack `https://`, or `http://` on this machine. Fails with a text
/// such as "must be an http or https address" if there is no host, or another scheme.
pub fn web_url(text: &str) -> Result<Url, String> {
    let local = ["localhost", "127.", "[::1]"].iter().any(|host| text.starts_with(host));
    let whole = match text.split_once("://") {
        Some(_) => text.to_owned(),
        None => format!("{}://{text}", if local { "http" } else { "https" }),
    };
    let url = Url::parse(&whole).map_err(|error| format!("must be an http or https address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("must be an http or https address".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_may_be_left_out() {
        for (text, expected) in [
            ("shop.example", "https://shop.example/"),
            ("localhost:8080", "http://localhost:8080/"),
            ("127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
            ("http://shop.example", "http://shop.example/"),
        ] {
            assert_eq!(web_url(text).expect(text).as_str(), expected);
        }
        assert!(web_url("ftp://shop.example").is_err() && web_url("").is_err());
    }
}
