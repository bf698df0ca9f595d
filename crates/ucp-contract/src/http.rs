//! The contract over HTTP: one address, a path for each question, JSON both ways.
//!
//! The gateway shows who it is by a bearer token, or signs each request: `X-Signature-Timestamp` is the time in seconds,
//! and `X-Signature` is `sha256=` and the HMAC-SHA256, in hexadecimal digits, of timestamp, method, path and body, with a
//! line feed after each but the last. The shop signs its events in the same way.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderName, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::{Deserialize, de::IgnoredAny};
use sha2::Sha256;
use ucp_net::{
    Author, Clock, Counters, Failure, Options, Random, Received, Unreadable, Upstream, UpstreamRequest, Verdict,
    classifier, outbound::SetupError,
};
use url::Url;

use crate::{
    documents::Problem,
    transport::{Question, Reply, Transport, is_definite},
};

/// Header with the time of a signature, in seconds since 1970.
pub const TIMESTAMP: HeaderName = HeaderName::from_static("x-signature-timestamp");

/// Header with the signature of a request or an event.
pub const SIGNATURE: HeaderName = HeaderName::from_static("x-signature");

/// Maximum number of characters of a reason that goes to the log.
const LONGEST_REASON: usize = 400;

/// Time for which the circuit stays open after the shop rejected the gateway's credential.
const MISCONFIGURED: std::time::Duration = std::time::Duration::from_secs(60);

/// Proof of the gateway's identity. `Debug` prints its kind only.
#[derive(Clone)]
pub enum Credential {
    /// None.
    None,
    /// A bearer token.
    Bearer(HeaderValue),
    /// A secret shared with the shop, with which requests are signed.
    Signing(SigningSecret),
}
ucp_core::opaque!(Credential);

/// Error for a token that cannot be sent in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token must be visible ASCII without spaces")]
pub struct InvalidToken;

impl Credential {
    /// Creates a bearer token. Fails with [`InvalidToken`] for a text with other characters than visible ASCII.
    pub fn bearer(token: &str) -> Result<Self, InvalidToken> {
        let fits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let value = HeaderValue::try_from(format!("Bearer {token}")).ok().filter(|_| fits);
        value.map(Self::Bearer).ok_or(InvalidToken)
    }
}

/// A secret that gateway and shop share. It is neither printed nor returned.
#[derive(Clone)]
pub struct SigningSecret(Arc<[u8]>);
ucp_core::opaque!(SigningSecret);

impl SigningSecret {
    /// Creates a secret from a text.
    pub fn new(secret: &str) -> Self {
        Self(secret.as_bytes().into())
    }

    fn keyed(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"))
    }

    fn mac(&self, timestamp: &str, method: &str, path: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed();
        for part in [timestamp, method, path] {
            mac.update(part.as_bytes());
            mac.update(b"\n");
        }
        mac.update(body);
        mac
    }

    /// Returns the signature of a request or an event.
    pub fn sign(&self, timestamp: &str, method: &str, path: &str, body: &[u8]) -> String {
        let digest = self.mac(timestamp, method, path, body).finalize().into_bytes();
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={hex}")
    }

    /// Returns `true` if `signature` is that of a request or an event, in a time that does not depend on where they
    /// differ.
    pub fn verify(&self, signature: &str, timestamp: &str, method: &str, path: &str, body: &[u8]) -> bool {
        let digest = signature.strip_prefix("sha256=").and_then(unhex);
        digest.is_some_and(|digest| self.mac(timestamp, method, path, body).verify_slice(&digest).is_ok())
    }

    /// Returns `true` if `digest` is the HMAC-SHA256 of a body alone, in a time that does not depend on where they differ.
    pub fn has_signed(&self, body: &[u8], digest: &[u8]) -> bool {
        let mut mac = self.keyed();
        mac.update(body);
        mac.verify_slice(digest).is_ok()
    }
}

/// Returns the bytes that a text of hexadecimal digits stands for: at most 64 digits, for digests.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() > 64 || !text.len().is_multiple_of(2) || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

/// A shop that implements the contract over HTTP.
pub struct HttpShop {
    upstream: Upstream,
    asker: Asker,
}
ucp_core::opaque!(HttpShop { upstream });

/// Parts of a request that bound the length of its response.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    limit: usize,
    ids: Vec<IgnoredAny>,
}

/// Maker of the requests.
#[derive(Clone)]
struct Asker {
    address: Url,
    credential: Credential,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl HttpShop {
    /// Creates the client of a shop. Paths of questions are appended to the address. Fails with [`SetupError`] for an
    /// address that cannot be called.
    pub fn new(
        options: &Options,
        credential: Credential,
        clock: Clock,
        random: Random,
        now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Result<Self, SetupError> {
        let mut address = options.address.clone();
        if !address.path().ends_with('/') {
            address.set_path(&format!("{}/", address.path()));
        }
        let upstream = Upstream::new(options, classify, clock, random)?;
        let asker = Asker { address, credential, now };
        // The question that is the same whoever calls.
        if asker.request(Question::Backend, Bytes::new()).is_ok() {
            let (asker, address) = (asker.clone(), options.address.clone());
            upstream.probe_with(move || {
                let request = asker.request(Question::Backend, Bytes::new());
                request.unwrap_or_else(|_| {
                    UpstreamRequest::new(Question::Backend.call_kind(), Question::Backend.method(), address.clone())
                })
            });
        }
        Ok(Self { upstream, asker })
    }
}

impl Asker {
    /// Returns the request for a question.
    fn request(&self, question: Question, body: Bytes) -> Result<UpstreamRequest, Failure> {
        let url = self.address.join(question.path()).map_err(|_| Failure::Unsendable("has no address"))?;
        let (path, method) = (url.path().to_owned(), question.method());
        let mut request = UpstreamRequest::new(question.call_kind(), method.clone(), url)
            .header(header::ACCEPT, HeaderValue::from_static("application/json"));
        request.lane = question.lane();
        match &self.credential {
            Credential::None => {}
            Credential::Bearer(token) => request = request.secret(header::AUTHORIZATION, token.clone()),
            Credential::Signing(secret) => {
                let timestamp = (self.now)().as_second().to_string();
                let signature = secret.sign(&timestamp, method.as_str(), &path, &body);
                let value =
                    |text: &str| HeaderValue::try_from(text).map_err(|_| Failure::Unsendable("cannot be signed"));
                request = request.header(TIMESTAMP, value(&timestamp)?).secret(SIGNATURE, value(&signature)?);
            }
        }
        if body.is_empty() {
            return Ok(request);
        }
        let Asked { limit, ids } = serde_json::from_slice(&body).unwrap_or_default();
        let asked = if question == Question::Find { limit } else { ids.len() };
        let lists = matches!(question, Question::Find | Question::Resolve | Question::Open);
        request.asked = lists.then_some(asked);
        Ok(request.json(body))
    }
}

/// Takes 404 and other refusals for answers, whatever comes with them, and a rejected credential for a mistake of the
/// operator.
fn classify(received: &Received) -> Verdict {
    match received.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Verdict::Misconfigured { shut: MISCONFIGURED },
        status if status.is_client_error() => classifier::by_status(received),
        _ => classifier::json(received),
    }
}

#[async_trait]
impl Transport for HttpShop {
    async fn ask(&self, question: Question, body: Bytes) -> Result<Reply, Failure> {
        let is_own = question == Question::Backend;
        let mut request = self.asker.request(question, if is_own { Bytes::new() } else { body })?;
        request.author = if is_own { Author::Gateway } else { Author::Caller };
        let received = self.upstream.call(request).await?;
        Ok(match received.status {
            // Identifiers that nothing has are missing in the answer; that there is no such path says nothing about them.
            StatusCode::NOT_FOUND | StatusCode::GONE if question == Question::Resolve => {
                return Err(Failure::Unreadable(Unreadable::Unexpected));
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Reply::Gone,
            status if status.is_success() && received.body.is_empty() => Reply::Answer(Bytes::from_static(b"null")),
            status if status.is_success() => Reply::Answer(received.body),
            // Whether the order is on its way is not known.
            status if question == Question::Place && status.is_client_error() && !is_definite(status) => {
                return Err(Failure::Unreadable(Unreadable::Unexpected));
            }
            status if status.is_client_error() => {
                let stated = received.json::<Problem>().ok().and_then(|problem| problem.error);
                let stated: String = stated.unwrap_or_default().chars().take(LONGEST_REASON).collect();
                Reply::Refused(format!("status {}: {stated}", status.as_u16()))
            }
            _ => return Err(Failure::Unreadable(Unreadable::Unexpected)),
        })
    }

    fn counters(&self) -> &Arc<Counters> {
        self.upstream.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_time_method_path_and_body() {
        let secret = SigningSecret::new("shared");
        let signature = secret.sign("1800000000", "POST", "/place", b"{}");
        assert!(secret.verify(&signature, "1800000000", "POST", "/place", b"{}"));
        for (timestamp, method, path, body) in [
            ("1800000001", "POST", "/place", &b"{}"[..]),
            ("1800000000", "PUT", "/place", b"{}"),
            ("1800000000", "POST", "/order", b"{}"),
            ("1800000000", "POST", "/place", b"[]"),
            ("1800000000\nPOST", "", "/place", b"{}"),
        ] {
            assert!(!secret.verify(&signature, timestamp, method, path, body));
        }
        for other in ["", "sha256=", &signature[..70], &signature.replace("sha256=", "sha1="), &"é".repeat(40)] {
            assert!(!secret.verify(other, "1800000000", "POST", "/place", b"{}"), "{other}");
        }
        assert!(!SigningSecret::new("other").verify(&signature, "1800000000", "POST", "/place", b"{}"));
        assert!(!format!("{:?}", Credential::Signing(secret)).contains("shared"));
    }

    #[test]
    fn a_token_is_visible_ascii_and_never_printed() {
        assert!(matches!(Credential::bearer("a-token"), Ok(Credential::Bearer(_))));
        for token in ["", "two words", "line\n", "ümlaut"] {
            assert_eq!(Credential::bearer(token).err(), Some(InvalidToken), "{token}");
        }
        assert!(!format!("{:?}", Credential::bearer("a-token")).contains("a-token"));
    }
}
