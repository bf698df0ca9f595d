//! Fetching of documents from addresses that callers name (UCP overview, *Fetching*; rules AGT-05, SEC-02, SEC-03).
//!
//! Every fetch is bounded, regardless of the server's behavior:
//!
//! - Only addresses that [`Reach`] permits are connected to. The addresses that a name resolves to are checked after
//!   the resolution, and the connection goes to those very addresses, so that a name that resolves differently the next
//!   time gains nothing. A single forbidden address among them is enough to refuse.
//! - Redirects are not followed, proxies of the environment are not used, no cookie is kept, and no connection is
//!   reused.
//! - It ends within a deadline, and within a number of bytes, which are counted as they are read from the connection.
//!   Bodies with a content coding are refused, so that these are also the bytes of the document.
//! - Nothing inside the document is interpreted here, let alone dereferenced.

use std::{
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header};
use reqwest::{
    Client, ClientBuilder, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use tokio::sync::Semaphore;
use ucp_core::{Code, Refusal};
use ucp_net::outbound::{self, BodyError, Certificate, USER_AGENT, chain, has_content_coding};

use crate::address::{OR_LOOPBACK, ProfileUrl, Reach, UrlRejection, is_localhost};

/// Maximum number of concurrent name lookups. The system's resolver can block a thread for any length of time.
const LOOKUPS: usize = 16;

/// Wait before another attempt if nothing more is known, in seconds.
const RETRY_AFTER: u32 = 1;

/// Callback that adds headers to an outbound request, for instance its signature. Receives the headers so far and the
/// address.
pub type Sign = Arc<dyn Fn(&mut HeaderMap, &Url) + Send + Sync>;

/// Options of a [`Fetcher`] or a [`Poster`](crate::post::Poster).
#[derive(Clone)]
pub struct FetchOptions {
    /// Networks that may be reached.
    pub reach: Reach,
    /// Timeout of the name lookup, connecting and the TLS handshake together.
    pub connect_timeout: Duration,
    /// Timeout of the whole fetch, up to the last byte of the body.
    pub deadline: Duration,
    /// Maximum size of a body, in bytes.
    pub max_body: usize,
    /// Certificates that are trusted in addition to those of the system.
    pub roots: Vec<Certificate>,
    /// Resolver of host names.
    pub resolver: Arc<dyn Resolver>,
    /// Callback that adds headers to each request.
    pub sign: Option<Sign>,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            reach: Reach::Public,
            connect_timeout: Duration::from_secs(2),
            deadline: Duration::from_secs(5),
            max_body: 256 * 1024,
            roots: Vec::new(),
            resolver: Arc::new(SystemResolver::default()),
            sign: None,
        }
    }
}

/// Resolver of host names to IP addresses.
pub trait Resolver: Send + Sync + 'static {
    /// Returns all addresses of `host`, which is a name and not an IP address.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Resolver of the operating system, for a limited number of lookups at a time.
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (lookups, host) = (Arc::clone(&self.lookups), host.to_owned());
        Box::pin(async move {
            let permit = lookups.acquire_owned().await.map_err(io::Error::other)?;
            // A caller that gives up leaves the lookup running. The permit stays with it, so that names whose servers
            // never answer cannot occupy all blocking threads of the process.
            let lookup = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let found = std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), 0))?;
                Ok(found.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

/// Resolver that checks every address before it is connected to.
#[derive(Clone)]
pub(crate) struct Guard {
    resolver: Arc<dyn Resolver>,
    reach: Reach,
}

impl Guard {
    pub(crate) fn new(options: &FetchOptions) -> Self {
        Self { resolver: Arc::clone(&options.resolver), reach: options.reach }
    }

    /// Returns all addresses of a host; fails if one of them must not be reached.
    pub(crate) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, FetchError> {
        let addresses = match self.resolver.resolve(host).await {
            Ok(addresses) if !addresses.is_empty() => addresses,
            Ok(_) => return Err(FetchError::UnknownHost),
            Err(error) => {
                tracing::debug!(%error, "resolving a host name failed");
                return Err(FetchError::UnknownHost);
            }
        };
        for address in &addresses {
            self.reach.permits(*address).map_err(|range| FetchError::ForbiddenAddress { range })?;
            // Loopback names may be reached over plain http, so they must resolve to loopback addresses.
            if is_localhost(host) && !address.is_loopback() {
                return Err(FetchError::UnknownHost);
            }
        }
        Ok(addresses)
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move { Ok(connectable(guard.addresses(name.as_str()).await?)) })
    }
}

/// Converts addresses to the form that the client expects. Port 0 stands for the port of the URL.
pub(crate) fn connectable(addresses: Vec<IpAddr>) -> Addrs {
    Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)))
}

/// A fetched document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Bytes of the document.
    pub body: Bytes,
    /// Time for which the server states that the document stays unchanged: `Some(ZERO)` if it must not be kept, `None`
    /// if the server states nothing readable.
    pub max_age: Option<Duration>,
}

/// Reason why a document could not be fetched. The texts are sentences for the caller that named the document; details
/// from the network and the server go to the log only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address is not of an allowed form.
    #[error("The profile address {0}.")]
    Address(#[from] UrlRejection),
    /// The host name resolves to an address that may not be reached.
    #[error("The host of the profile address resolves to a special-use address ({range}), which is not connected to.")]
    ForbiddenAddress {
        /// Name of the range that contains the address.
        range: &'static str,
    },
    /// The host name does not resolve, or a loopback name resolves to another machine.
    #[error("The host of the platform's profile has no address.")]
    UnknownHost,
    /// No connection could be made.
    #[error("No connection to the host of the platform's profile could be made.")]
    Connection,
    /// The server has no certificate that is trusted for this host, or does not speak TLS.
    #[error("The host of the platform's profile has no trusted certificate, or does not speak TLS.")]
    Tls,
    /// A timeout was exceeded.
    #[error("The host of the platform's profile did not send it in time.")]
    Timeout,
    /// The connection ended before the response did, or the response is not HTTP.
    #[error("The host of the platform's profile did not send a whole HTTP response.")]
    Interrupted,
    /// The response is a redirect, with this status.
    #[error("The host of the platform's profile answered with a redirect ({0}). Redirects are not followed.")]
    Redirect(u16),
    /// The response has this status instead of 200.
    #[error("The host of the platform's profile answered with status {0} instead of 200.")]
    Status(u16),
    /// The document is too large.
    #[error("The platform's profile is larger than {limit} bytes.")]
    TooLarge {
        /// Maximum size, in bytes.
        limit: usize,
    },
    /// The document has a content coding, although none was accepted.
    #[error("The platform's profile was sent with a content coding, although none was accepted.")]
    Encoding,
}

impl From<FetchError> for Refusal {
    fn from(error: FetchError) -> Self {
        let content = error.to_string();
        match error {
            FetchError::Address(rejection) => rejection.into(),
            FetchError::ForbiddenAddress { .. } => Self::new(Code::InvalidProfileUrl, content)
                .accepting(format!("an https URL of a host on the public Internet{OR_LOOPBACK}")),
            FetchError::TooLarge { limit } => Self::new(Code::ProfileMalformed, content)
                .accepting(format!("a UCP profile of at most {limit} bytes of JSON")),
            FetchError::Encoding => Self::new(Code::ProfileMalformed, content)
                .accepting("a response without `Content-Encoding`, as `Accept-Encoding: identity` asks for"),
            FetchError::UnknownHost
            | FetchError::Connection
            | FetchError::Tls
            | FetchError::Timeout
            | FetchError::Interrupted
            | FetchError::Redirect(_)
            | FetchError::Status(_) => {
                let setting = match error {
                    FetchError::Tls => "; the gateway trusts other authorities with the setting `profiles.ca_files`",
                    FetchError::Timeout => "; the gateway waits longer with the setting `profiles.timeout_ms`",
                    _ => "",
                };
                let accepted = format!(
                    "a profile that its address answers with, as JSON, with status 200 and within seconds{setting}; \
                     the setting `callers.policy` says what callers without one may do"
                );
                Self {
                    retry_after: Some(RETRY_AFTER),
                    ..Self::new(Code::ProfileUnreachable, content).accepting(accepted)
                }
            }
        }
    }
}

/// Fetcher of documents by the address of a profile.
pub trait Fetch: Send + Sync + 'static {
    /// Fetches the document at `url`. Implementations bound the time that it takes.
    fn fetch<'a>(&'a self, url: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>>;
}

/// Fetcher of documents from the network.
pub struct Fetcher {
    client: Client,
    reach: Reach,
    deadline: Duration,
    max_body: usize,
    sign: Option<Sign>,
}

impl Fetcher {
    /// Creates a fetcher with these options.
    ///
    /// On a machine without trusted certificates, such as a bare container, the fetcher trusts only
    /// [`FetchOptions::roots`], and a warning is logged. Fails with [`reqwest::Error`] if TLS cannot be set up, for
    /// instance because one of the roots is not a certificate of an authority.
    pub fn new(options: FetchOptions) -> Result<Self, reqwest::Error> {
        let client = client(&options)?;
        let FetchOptions { reach, deadline, max_body, sign, .. } = options;
        Ok(Self { client, reach, deadline, max_body, sign })
    }

    /// Fetches the document at `url`. Fails with [`FetchError`] for the rule that the address, the network or the
    /// response broke.
    pub async fn fetch(&self, url: &ProfileUrl) -> Result<Fetched, FetchError> {
        url.judge(self.reach)?;
        let fetched = tokio::time::timeout(self.deadline, self.exchange(url)).await;
        fetched.unwrap_or(Err(FetchError::Timeout))
    }

    async fn exchange(&self, url: &ProfileUrl) -> Result<Fetched, FetchError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(sign) = &self.sign {
            sign(&mut headers, url.url());
        }
        let request = self.client.get(url.url().clone()).headers(headers);
        let response = request.send().await.map_err(|error| classify(url, error))?;
        match response.status().as_u16() {
            200 => {}
            status @ 300..400 => return Err(FetchError::Redirect(status)),
            status => return Err(FetchError::Status(status)),
        }
        if has_content_coding(response.headers()) {
            return Err(FetchError::Encoding);
        }
        let max_age = max_age(response.headers());
        Ok(Fetched { body: self.body(url, response).await?, max_age })
    }

    async fn body(&self, url: &ProfileUrl, response: Response) -> Result<Bytes, FetchError> {
        outbound::body(response, self.max_body).await.map_err(|error| match error {
            BodyError::TooLarge => FetchError::TooLarge { limit: self.max_body },
            BodyError::Broken(error) => classify(url, error),
        })
    }
}

impl Fetch for Fetcher {
    fn fetch<'a>(&'a self, url: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(self.fetch(url))
    }
}

/// Creates a client for addresses that callers name, which connects only where [`FetchOptions::reach`] permits it. The
/// caller judges addresses that are written as IP addresses, which are never resolved ([`ProfileUrl::parse`]), and
/// bounds time and size. Fails with [`reqwest::Error`] if TLS cannot be set up.
pub fn client(options: &FetchOptions) -> Result<Client, reqwest::Error> {
    client_of(options, &|builder| builder)
}

/// Creates such a client; `adapt` makes the settings that differ.
pub(crate) fn client_of(
    options: &FetchOptions,
    adapt: &dyn Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, reqwest::Error> {
    outbound::client(options.connect_timeout, &options.roots, |builder| {
        // A profile is fetched at most once a minute: an open connection would only hold memory.
        let builder = outbound::sharing_trust(builder, &options.roots);
        adapt(builder.dns_resolver(Guard::new(options)).pool_max_idle_per_host(0))
    })
}

/// Converts an error of the client. The whole chain of errors goes to the log, with the host instead of the address.
pub(crate) fn classify(url: &ProfileUrl, error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let found = find(&error);
    tracing::debug!(host = url.url().host_str(), error = &error as &dyn Error, "profile not fetched");
    match found {
        Some(found) => found,
        None if error.is_timeout() => FetchError::Timeout,
        None if error.is_connect() => FetchError::Connection,
        None => FetchError::Interrupted,
    }
}

/// Returns the first error of a chain whose type identifies the failure.
fn find(error: &(dyn Error + 'static)) -> Option<FetchError> {
    chain(error).find_map(|error| {
        let own = error.downcast_ref::<FetchError>().cloned();
        own.or_else(|| error.is::<rustls::Error>().then_some(FetchError::Tls))
    })
}

/// Returns the time for which a response stays fresh (RFC 9111 section 4.2): `s-maxage` before `max-age`, less its age;
/// zero if it must not be stored or shared without validation. Unreadable directives are ignored.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let (mut private, mut shared) = (None, None);
    let values = headers.get_all(header::CACHE_CONTROL);
    for directive in values.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" | "private" => return Some(Duration::ZERO),
            "max-age" => private = seconds(value).or(private),
            "s-maxage" => shared = seconds(value).or(shared),
            _ => {}
        }
    }
    let age = headers.get(header::AGE).and_then(|age| seconds(age.to_str().ok()?)).unwrap_or_default();
    shared.or(private).map(|lifetime| lifetime.saturating_sub(age))
}

pub(crate) fn seconds(text: &str) -> Option<Duration> {
    let digits = text.trim().trim_matches('"');
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Numbers beyond `u32` count as its maximum, which is 136 years.
    Some(Duration::from_secs(digits.parse::<u32>().unwrap_or(u32::MAX).into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn cache_control_is_read_leniently() {
        let of = |value: &'static str| max_age(&headers(&[("cache-control", value)])).map(|age| age.as_secs());
        for (value, expected) in [
            ("max-age=300", Some(300)),
            ("public, Max-Age = 300", Some(300)),
            ("max-age=\"300\"", Some(300)),
            ("max-age=300, s-maxage=60", Some(60)),
            ("max-age=99999999999999999999", Some(u64::from(u32::MAX))),
            ("max-age=-1", None),
            ("max-age=5 minutes", None),
            ("max-age=oops, max-age=7", Some(7)),
            ("public", None),
            ("", None),
            ("max-age=300, no-store", Some(0)),
            ("no-cache=\"set-cookie\"", Some(0)),
            ("PRIVATE", Some(0)),
        ] {
            assert_eq!(of(value), expected, "{value}");
        }
        assert_eq!(max_age(&headers(&[])), None);
        let aged =
            |age| max_age(&headers(&[("cache-control", "max-age=300"), ("age", age)])).map(|left| left.as_secs());
        assert_eq!((aged("100"), aged("400"), aged("old")), (Some(200), Some(0), Some(300)));
    }

    #[test]
    fn each_error_has_its_code() {
        for (error, code) in [
            (FetchError::Address(UrlRejection::NotHttps), Code::InvalidProfileUrl),
            (FetchError::ForbiddenAddress { range: "loopback" }, Code::InvalidProfileUrl),
            (FetchError::TooLarge { limit: 9 }, Code::ProfileMalformed),
            (FetchError::Encoding, Code::ProfileMalformed),
            (FetchError::Redirect(302), Code::ProfileUnreachable),
            (FetchError::Status(500), Code::ProfileUnreachable),
            (FetchError::Timeout, Code::ProfileUnreachable),
            (FetchError::Tls, Code::ProfileUnreachable),
        ] {
            let refusal = Refusal::from(error);
            assert_eq!(refusal.code, code);
            assert_eq!(refusal.retry_after.is_some(), code.retryable(), "{refusal}");
        }
    }

    #[tokio::test]
    async fn the_resolver_of_the_system_knows_this_machine() {
        let found = SystemResolver::default().resolve("localhost").await.expect("resolves");
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }

    proptest! {
        #[test]
        fn any_cache_control_gets_a_verdict(value in "[ -~]{0,40}") {
            let value = HeaderValue::from_str(&value).expect("printable");
            let _ = max_age(&HeaderMap::from_iter([(header::CACHE_CONTROL, value)]));
        }
    }
}
