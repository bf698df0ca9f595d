//! The HTTP client behind every outbound request, whoever it goes to.
//!
//! The other side is believed nothing. Redirects are not followed, so that credentials stay where they belong. Proxies
//! of the environment are not used. Nothing is repeated behind the back of the caller, who alone knows what may be.
//! Bodies with a content coding are refused by those who read them ([`has_content_coding`]): a few bytes of them can
//! stand for any number. A body is read up to a bound.

use std::{
    error::Error,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use reqwest::{ClientBuilder, redirect};
use rustls::{ClientConfig, crypto::aws_lc_rs};
use rustls_platform_verifier::Verifier;
use ucp_record::OutboundRequest;
use url::{Host, Url};

pub use reqwest::{Certificate, Client, Identity, Response};

/// The name that requests go under.
pub const USER_AGENT: &str = concat!("ucp-gateway/", env!("CARGO_PKG_VERSION"));

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Begins the span of a request on behalf of the current call, and states it in the headers (W3C Trace Context). Returns
/// `None`, and changes nothing, if there is no call or no trace of it.
pub fn traced(method: &Method, url: &Url, headers: &mut HeaderMap) -> Option<OutboundRequest> {
    let host = url.host_str().unwrap_or_default();
    let request = OutboundRequest::begin(method.as_str(), host, url.port_or_known_default())?;
    let Some(parent) = request.parent() else { return Some(request) };
    headers.insert(TRACEPARENT, HeaderValue::from_str(parent).ok()?);
    match request.state().and_then(|state| HeaderValue::from_str(state).ok()) {
        Some(state) => headers.insert(TRACESTATE, state),
        None => headers.remove(TRACESTATE),
    };
    Some(request)
}

/// Why there can be no client for an address. The texts complete "The upstream …".
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address is not one of an HTTP server.
    #[error("needs an http or https address with a host, without a user or password in it")]
    Address,
    /// The address is http to another machine.
    #[error("is asked without encryption: it needs an https address")]
    Unencrypted,
    /// TLS could not be set up.
    #[error("cannot be reached, because TLS for outbound connections could not be set up")]
    Tls(#[source] reqwest::Error),
}

/// A file holds no certificates, or one that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the file holds no PEM certificates that can be read")]
pub struct InvalidCertificates;

/// A certificate and a key that cannot be shown to a server.
#[derive(Debug, thiserror::Error)]
#[error(
    "must hold a certificate with its chain and its private key in PEM (PKCS #8, PKCS #1 or SEC1) that is not encrypted"
)]
pub struct InvalidIdentity;

/// A client that trusts these certificates beside those of the system, with what `adapt` adds.
///
/// On a machine without any trusted certificates, such as a bare container, it trusts nobody but `roots`, and a warning
/// is logged. Fails if TLS cannot be set up, for instance because one of the roots is no certificate of an authority.
pub fn client(
    connect_timeout: Duration,
    roots: &[Certificate],
    adapt: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, reqwest::Error> {
    let builder = || {
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .http1_only()
            .referer(false)
            .connect_timeout(connect_timeout)
            // Only matters when another crate of the build switches on a decompression of the client.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        adapt(builder)
    };
    builder().tls_certs_merge(roots.iter().cloned()).build().or_else(|error| {
        tracing::warn!(
            error = &error as &dyn Error,
            "reading the system's root certificates failed: trusting only configured ones"
        );
        builder().tls_certs_only(roots.iter().cloned()).build()
    })
}

/// Time for which the certificates that the system trusts are kept.
const TRUST_KEPT: Duration = Duration::from_mins(10);

/// Shares the system's certificates with a client that has none of its own to trust: reading them takes longer than the rest
/// of making a client.
pub fn sharing_trust(builder: ClientBuilder, roots: &[Certificate]) -> ClientBuilder {
    static LAST: Mutex<Option<(Instant, ClientConfig)>> = Mutex::new(None);
    if !roots.is_empty() {
        return builder;
    }
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.as_ref().is_none_or(|(since, _)| since.elapsed() > TRUST_KEPT) {
        *last = trusting_system().ok().map(|config| (Instant::now(), config));
    }
    match &*last {
        Some((_, config)) => builder.tls_backend_preconfigured(config.clone()),
        // The client says what is wrong.
        None => builder,
    }
}

/// Returns a configuration of TLS that trusts the certificates of the system.
fn trusting_system() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Reads the certificates of a PEM file. Fails if there is none in it, or one that is no certificate.
pub fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, InvalidCertificates> {
    let certificates = Certificate::from_pem_bundle(pem).map_err(|_| InvalidCertificates)?;
    // Reading them only takes the wrapping off; what is inside is looked at by who uses them.
    let usable = Client::builder().tls_certs_only(certificates.iter().cloned()).build().is_ok();
    if certificates.is_empty() || !usable {
        return Err(InvalidCertificates);
    }
    Ok(certificates)
}

/// Reads a certificate that is shown to servers, with its chain, and its private key, both in PEM. Fails if one of them
/// cannot be read, or the key is not that of the certificate.
pub fn identity(certificate: &[u8], key: &[u8]) -> Result<Identity, InvalidIdentity> {
    let identity = Identity::from_pem(&[key, b"\n", certificate].concat()).map_err(|_| InvalidIdentity)?;
    // Whether they belong together is looked at by who uses them.
    let usable = Client::builder().tls_certs_only([]).identity(identity.clone()).build().is_ok();
    if usable { Ok(identity) } else { Err(InvalidIdentity) }
}

/// Checks that credentials may be sent to an address: https, or http on this machine (or anywhere, if `plain_http`).
/// Fails with [`SetupError::Address`] or [`SetupError::Unencrypted`].
pub fn check_address(address: &Url, plain_http: bool) -> Result<(), SetupError> {
    let local = match address.host().ok_or(SetupError::Address)? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    if !address.username().is_empty() || address.password().is_some() {
        return Err(SetupError::Address);
    }
    match address.scheme() {
        "https" => Ok(()),
        "http" if local || plain_http => Ok(()),
        "http" => Err(SetupError::Unencrypted),
        _ => Err(SetupError::Address),
    }
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum BodyError {
    /// It is larger than what is read.
    TooLarge,
    /// The connection broke.
    Broken(reqwest::Error),
}

/// Reads the body of an answer, up to `limit` bytes. Does not end by itself. Fails with [`BodyError`].
pub async fn body(mut response: Response, limit: usize) -> Result<Bytes, BodyError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Returns `true` if a body is encoded, for instance compressed.
pub fn has_content_coding(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// An error and those that it wraps, the outermost first. An I/O error made of another one passes over that in its
/// `source`; here it does not.
pub fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner as &(dyn Error + 'static)),
        None => error.source(),
    })
}

/// Returns `true` if an error comes from TLS.
pub fn is_tls(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(<dyn Error + 'static>::is::<rustls::Error>)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_certificates_are_certificates() {
        for wrong in ["", "nothing", "-----BEGIN CERTIFICATE-----\noops\n-----END CERTIFICATE-----\n"] {
            assert!(certificates(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    /// Runs itself again as a process that finds no certificates of the system.
    #[test]
    fn a_machine_that_trusts_nobody_still_gets_a_client() {
        const NAME: &str = "outbound::tests::a_machine_that_trusts_nobody_still_gets_a_client";
        const AGAIN: &str = "UCP_NET_TEST_AGAIN";
        if std::env::var_os(AGAIN).is_some() {
            assert!(Client::builder().build().is_err(), "the system has certificates after all");
            assert!(client(SECOND, &[], |builder| builder).is_ok());
            return;
        }
        let again = std::env::current_exe().expect("this program");
        let status = std::process::Command::new(again)
            .args(["--exact", NAME])
            .env(AGAIN, "1")
            .env("SSL_CERT_FILE", "/nowhere/roots.pem")
            .env("SSL_CERT_DIR", "/nowhere")
            .status();
        assert!(status.expect("runs").success());
    }
}
