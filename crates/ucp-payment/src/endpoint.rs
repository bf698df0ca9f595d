//! Address of a provider.

use std::fmt;

use url::{Host, Url};

/// URL below which a provider has its payments: https, or http to an IP address of the loopback interface; without
/// trailing slash, except that of the root.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

/// Reasons why an address cannot be that of a provider. The text completes "The address of the provider …" and does not
/// repeat the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableEndpoint {
    /// The address is not an absolute URL with a host.
    #[error("is not an absolute URL")]
    NotAbsolute,
    /// The scheme is not https, nor http to the loopback interface where that is allowed.
    #[error("is not an https address")]
    NotHttps,
    /// The address has a user, a password, a query or a fragment.
    #[error("has a user, a password, a query or a fragment in it")]
    Extras,
}

impl Endpoint {
    /// Parses an address; `plain_loopback` allows http to an IP address of the loopback interface, for development.
    /// Fails with [`UnusableEndpoint`] for the first rule that the address breaks.
    pub fn parse(text: &str, plain_loopback: bool) -> Result<Self, UnusableEndpoint> {
        let mut url = Url::parse(text).map_err(|_| UnusableEndpoint::NotAbsolute)?;
        let loopback = match url.host().ok_or(UnusableEndpoint::NotAbsolute)? {
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
            // A name that merely claims to be this machine may resolve to another one.
            Host::Domain(_) => false,
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback && plain_loopback => {}
            _ => return Err(UnusableEndpoint::NotHttps),
        }
        let user = !url.username().is_empty() || url.password().is_some();
        if user || url.query().is_some() || url.fragment().is_some() {
            return Err(UnusableEndpoint::Extras);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Returns the normalized URL.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the URL of a path below it.
    pub(crate) fn join(&self, segments: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_https_or_this_machine() {
        for (text, plain_loopback, expected) in [
            ("https://psp.example/v1/", false, Ok("https://psp.example/v1")),
            ("https://psp.example", true, Ok("https://psp.example/")),
            ("http://127.0.0.1:9/", true, Ok("http://127.0.0.1:9/")),
            ("http://[::1]:9/a", true, Ok("http://[::1]:9/a")),
            ("http://127.0.0.1:9/", false, Err(UnusableEndpoint::NotHttps)),
            ("http://localhost:9/", true, Err(UnusableEndpoint::NotHttps)),
            ("http://psp.example/", true, Err(UnusableEndpoint::NotHttps)),
            ("ftp://psp.example/", true, Err(UnusableEndpoint::NotHttps)),
            ("https://user@psp.example/", false, Err(UnusableEndpoint::Extras)),
            ("https://:pass@psp.example/", false, Err(UnusableEndpoint::Extras)),
            ("https://psp.example/?key=1", false, Err(UnusableEndpoint::Extras)),
            ("https://psp.example/#top", false, Err(UnusableEndpoint::Extras)),
            ("psp.example", false, Err(UnusableEndpoint::NotAbsolute)),
            ("mailto:psp@example.com", false, Err(UnusableEndpoint::NotAbsolute)),
            ("", false, Err(UnusableEndpoint::NotAbsolute)),
        ] {
            let read = Endpoint::parse(text, plain_loopback);
            assert_eq!(read.as_ref().map(Endpoint::as_str).map_err(|error| *error), expected, "{text}");
        }
    }

    #[test]
    fn identifiers_in_urls_are_one_path_segment() {
        let endpoint = Endpoint::parse("https://psp.example/v1/", false).expect("an address");
        assert_eq!(endpoint.join(&["payments"]).as_str(), "https://psp.example/v1/payments");
        let url = endpoint.join(&["payments", "a/../b?c", "void"]);
        assert_eq!(url.as_str(), "https://psp.example/v1/payments/a%2F..%2Fb%3Fc/void");
        let bare = Endpoint::parse("https://psp.example", false).expect("an address");
        assert_eq!(bare.join(&["payments", "1"]).as_str(), "https://psp.example/payments/1");
    }
}
