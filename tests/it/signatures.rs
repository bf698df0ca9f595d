//! HTTP Message Signatures (RFC 9421) over the wire: what platforms sign, and what the gateway signs (rules SIG-01 to
//! SIG-13).

mod bots;
mod keys;
mod requests;
mod responses;

use std::{
    path::Path,
    process::Output,
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_trust::{
    jwk::{Algorithm, PublicKey, read_document},
    signature::{Message, RequestLine, Scheme, Signed, SigningKey, Start, sign_request},
};

use crate::{
    harness::{Ends as _, Gateway, Lent, binary},
    platforms::host::{Host, profile_of},
    setup::{Ask, Configured, REQUIRE, Refused, Setup, Transport, agent, requiring},
    wire::Response,
};

#[expect(clippy::disallowed_methods, reason = "the tests are a caller, and callers know the time")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

pub(crate) fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm).expect("a key")
}

/// The profile of a platform that signs with these keys.
pub(crate) fn profile(keys: &[&SigningKey]) -> Value {
    signing(profile_of(Release::NEWEST), keys)
}

/// The same profile with these keys.
pub(crate) fn signing(mut profile: Value, keys: &[&SigningKey]) -> Value {
    profile["keys"] = keys.iter().map(|key| key.public().to_jwk().expect("a JWK")).collect();
    profile
}

/// A request as it is about to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    transport: Transport,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Draft {
    /// The request of a call that says in the header who is calling, on every transport.
    pub(crate) fn new(gateway: &Gateway, transport: Transport, profile: &str) -> Self {
        Self::at(None, gateway, transport, profile)
    }

    /// The same at the endpoint of a release.
    pub(crate) fn at(endpoint: Option<Release>, gateway: &Gateway, transport: Transport, profile: &str) -> Self {
        let ask = Ask::new(transport, profile).at(endpoint);
        let draft = Self { transport, path: ask.path(), headers: HeaderMap::new(), body: ask.body() };
        let draft = draft.with("Host", &gateway.address.to_string());
        draft.with("Content-Type", "application/json").with("UCP-Agent", &agent(profile))
    }

    /// The same with a header, in the place of what was there.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        self.headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        self
    }

    /// The same without a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// The same with another body.
    pub(crate) fn saying(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("a text")
    }

    /// The same, signed at a time.
    pub(crate) fn signed_at(self, key: &SigningKey, time: SystemTime) -> Self {
        self.signed_over(Scheme::Http, key, time)
    }

    /// The same, sent with or without TLS.
    pub(crate) fn signed_over(mut self, scheme: Scheme, key: &SigningKey, time: SystemTime) -> Self {
        let authority = self.header("host").to_owned();
        let (path, query) = self.path.split_once('?').map_or((&*self.path, None), |(path, query)| (path, Some(query)));
        let line = RequestLine { method: "POST", scheme, authority: &authority, path, query };
        sign_request(line, &mut self.headers, &self.body, &[], key, time).expect("a signature");
        self
    }

    pub(crate) fn signed(self, key: &SigningKey) -> Self {
        self.signed_at(key, now())
    }

    pub(crate) fn send(&self, gateway: &Gateway) -> Response {
        let headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("a text"))).collect();
        gateway.send("POST", &self.path, &headers, &self.body)
    }

    #[track_caller]
    fn is_answered(&self, gateway: &Gateway) {
        let response = self.send(gateway);
        assert_eq!(response.status, 200, "{self:?}: {response:?}");
        assert!(response.body.contains("prod_abc123"), "{response:?}");
    }

    /// Checks that it is rejected with this code and words that name the rule.
    #[track_caller]
    fn is_refused(&self, gateway: &Gateway, verdict: (u16, &str), words: &str) {
        let refused = Refused::read(self.transport, &self.send(gateway));
        assert_eq!(refused.verdict(), verdict, "{self:?}: {refused:?}");
        let number = if verdict.0 == 400 { -32600 } else { -32000 };
        assert_eq!(refused.number.unwrap_or(number), number, "{refused:?}");
        assert!(refused.content.contains(words), "{words}: {refused:?}");
    }
}

/// A gateway that wants to see profiles, and a host that has some.
fn place() -> (Lent<Configured>, Host) {
    (requiring(), Host::start())
}

/// `ucp-gateway keys …` on a data directory.
pub(crate) fn keys(arguments: &[&str], data: &Path) -> String {
    let Output { status, stdout, stderr } = binary().arg("keys").args(arguments).arg("--data-dir").arg(data).ends();
    let [said, wrong] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    assert!(status.success(), "{wrong}");
    assert!(!said.contains("\"d\""), "private keys stay where they are");
    said
}

/// The keys that a document publishes, which are public.
fn published(document: &Value) -> Vec<PublicKey> {
    assert!(!document.to_string().contains("\"d\":"), "{document}");
    let mut notes = Vec::new();
    let keys = read_document(document, &mut notes).expect("keys");
    assert_eq!(notes, [""; 0]);
    keys
}

/// The `kid`s under a member of a profile.
fn kids<'a>(profile: &'a Value, member: &str) -> Vec<&'a str> {
    profile.get(member).map(|keys| crate::harness::texts(keys, "kid")).unwrap_or_default()
}

/// Key that signed a response, after verifying it; `None` if it is not signed.
#[track_caller]
fn signer_of(response: &Response, keys: &[PublicKey]) -> Option<String> {
    let mut headers = HeaderMap::new();
    for name in ["signature", "signature-input", "content-digest", "content-type"] {
        if let Some(value) = response.header(name) {
            headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        }
    }
    let signed = Signed::read(&headers).expect("a readable signature")?;
    let message = Message { start: Start::Response(response.status), headers: &headers };
    let verified = signed.verify(&message, response.body.as_bytes(), keys, now());
    Some(verified.unwrap_or_else(|refusal| panic!("{refusal}: {response:?}")).keyid)
}
