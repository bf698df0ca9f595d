//! Platforms that call: what their profiles say, where these are found, and how they sign.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use serde_json::{Map, Value, json};
use ucp_trust::{
    jwk::Algorithm,
    signature::{Message, RequestLine, Scheme, Signed, SigningKey, Start, digest, sign_request, sign_response},
};

use crate::{Done, scenario::HOST, server::cost};

/// Capabilities of a platform that supports all of the protocol, with the capabilities that each extends.
const CAPABILITIES: &[(&str, &[&str])] = &[
    ("dev.ucp.shopping.catalog.search", &[]),
    ("dev.ucp.shopping.catalog.lookup", &[]),
    ("dev.ucp.shopping.cart", &[]),
    ("dev.ucp.shopping.permalink", &[]),
    ("dev.ucp.shopping.checkout", &[]),
    ("dev.ucp.shopping.order", &[]),
    ("dev.ucp.shopping.fulfillment", &["dev.ucp.shopping.checkout"]),
    ("dev.ucp.shopping.discount", &["dev.ucp.shopping.checkout", "dev.ucp.shopping.cart"]),
    ("dev.ucp.shopping.buyer_consent", &["dev.ucp.shopping.checkout"]),
    ("dev.ucp.shopping.split_payments", &["dev.ucp.shopping.checkout"]),
    ("dev.ucp.shopping.payment_terms", &["dev.ucp.shopping.checkout"]),
    ("dev.ucp.shopping.payment_authentication", &["dev.ucp.shopping.checkout"]),
    ("dev.ucp.shopping.ap2_mandate", &["dev.ucp.shopping.checkout"]),
    ("dev.ucp.common.identity_linking", &[]),
    ("dev.ucp.common.loyalty", &["dev.ucp.shopping.checkout", "dev.ucp.shopping.cart"]),
    ("com.agent-0.shopping.wishlist", &[]),
    ("com.agent-0.shopping.gift_notes", &["dev.ucp.shopping.checkout"]),
];

/// The release that platforms speak.
const RELEASE: &str = "2026-08-25";

/// A header with which a caller asks for a signed answer.
pub(crate) const ACCEPT_SIGNATURE: (HeaderName, HeaderValue) = (
    HeaderName::from_static("accept-signature"),
    HeaderValue::from_static(r#"sig1=("@status" "content-digest" "content-type")"#),
);

/// Media type of all requests and responses.
const JSON: (HeaderName, HeaderValue) = (CONTENT_TYPE, HeaderValue::from_static("application/json"));

/// The profile of platform 0, about six kilobytes.
fn profile(keys: &[Value]) -> Value {
    let mut capabilities = Map::new();
    for (name, extends) in CAPABILITIES {
        let page = name.rsplit('.').next().unwrap_or_default();
        let mut entry = json!({
            "version": RELEASE,
            "spec": format!("https://ucp.dev/{RELEASE}/specification/{page}"),
            "schema": format!("https://ucp.dev/{RELEASE}/schemas/shopping/{page}.json"),
        });
        if !extends.is_empty() {
            entry["extends"] = json!(extends);
        }
        if *name == "dev.ucp.shopping.order" {
            entry["config"] = json!({ "webhook_url": "https://agent-0.example.com/ucp/orders" });
        }
        capabilities.insert((*name).to_owned(), json!([entry]));
    }
    let handler = |name: &str| {
        json!([{
            "id": format!("{name}-agent-0"),
            "version": RELEASE,
            "spec": format!("https://pay.example.com/{name}/specification"),
            "schema": format!("https://pay.example.com/{name}/schemas/handler.json"),
            "config": {
                "environment": "PRODUCTION",
                "merchant_info": { "merchant_name": "Agent 0", "merchant_id": "0123456789abcdef" },
                "allowed_payment_methods": [{
                    "type": "CARD",
                    "parameters": {
                        "allowed_auth_methods": ["PAN_ONLY", "CRYPTOGRAM_3DS"],
                        "allowed_card_networks": ["VISA", "MASTERCARD", "AMEX", "DISCOVER"],
                    },
                }],
            },
        }])
    };
    json!({
        "ucp": {
            "version": RELEASE,
            "services": { "dev.ucp.shopping": [{
                "version": RELEASE,
                "spec": format!("https://ucp.dev/{RELEASE}/specification/overview"),
                "transport": "mcp",
                "schema": format!("https://ucp.dev/{RELEASE}/services/shopping/mcp.openrpc.json"),
            }] },
            "capabilities": capabilities,
            "payment_handlers": {
                "com.example.wallet": handler("wallet"),
                "com.example.card": handler("card"),
                "com.example.later": handler("later"),
            },
        },
        "keys": keys,
    })
}

/// Platforms that have a key in common, and everything else for themselves.
pub(crate) struct Platforms {
    key: SigningKey,
    /// The profile of platform 0.
    template: String,
    address: SocketAddr,
    visits: Arc<AtomicUsize>,
}

impl Platforms {
    /// Publishes the profile of any number of platforms on this machine, for as long as the process runs.
    pub(crate) fn publish() -> Done<Self> {
        let (key, next) = (SigningKey::generate(Algorithm::Es256)?, SigningKey::generate(Algorithm::Es256)?);
        let keys: Vec<_> = [&key, &next].into_iter().filter_map(|key| key.public().to_jwk()).collect();
        let template = profile(&keys).to_string();
        let listener = TcpListener::bind((HOST, 0))?;
        let platforms = Self { key, template, address: listener.local_addr()?, visits: Arc::default() };
        let (template, visits) = (platforms.template.clone(), Arc::clone(&platforms.visits));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that disconnects gets nothing.
                if attend(&stream, &template).is_ok() {
                    visits.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(platforms)
    }

    /// The address of a platform's profile, which is who it is.
    pub(crate) fn profile(&self, number: usize) -> String {
        format!("http://{}/agent-{number}", self.address)
    }

    /// The profile of a platform.
    pub(crate) fn document(&self, number: usize) -> String {
        document(&self.template, &format!("agent-{number}"))
    }

    /// Returns the number of times that a profile was fetched.
    pub(crate) fn visits(&self) -> usize {
        self.visits.load(Ordering::Relaxed)
    }

    /// A request that posts JSON in the name of a platform, with more headers.
    pub(crate) fn post(
        &self,
        number: usize,
        path: &str,
        body: &str,
        more: &[(HeaderName, HeaderValue)],
    ) -> Done<Vec<u8>> {
        let mut headers = self.headers(number)?;
        headers.extend(more.iter().cloned());
        Ok(written(path, &headers, body))
    }

    /// The same, signed with the platform's key; also what is signed, and the signature.
    pub(crate) fn post_signed(&self, number: usize, path: &'static str, body: &str) -> Done<SignedRequest> {
        let mut headers = self.headers(number)?;
        let base = sign_request(line(path), &mut headers, body.as_bytes(), &[], &self.key, now())?;
        let signed = Signed::read(&headers).ok().flatten().ok_or("a request that was not signed")?;
        let input = signed.candidates().first().and_then(|candidate| candidate.input.as_ref().ok());
        let signature = input.ok_or("a signature that cannot be read")?.signature.clone();
        Ok(SignedRequest {
            path,
            bytes: written(path, &headers, body),
            headers,
            body: body.to_owned(),
            base,
            signature,
        })
    }

    /// Time that this process takes for the operations behind a signed request and a signed response, in turns.
    pub(crate) fn bounds(&self, request: &SignedRequest, answer: &[u8], duration: Duration) -> Done<Bounds> {
        let (public, now) = (self.key.public(), now());
        let keys = [public.clone()];
        let line = line(request.path);
        let message = Message { start: Start::Request(line), headers: &request.headers };
        let verify = || match Signed::read(&request.headers) {
            Ok(Some(signed)) => signed.verify(&message, request.body.as_bytes(), &keys, now).is_ok(),
            _ => false,
        };
        let sign = || {
            let mut headers = HeaderMap::from_iter([JSON]);
            sign_response(200, &mut headers, answer, &self.key, now).is_ok()
        };
        Ok(Bounds {
            verify: cost(duration, verify)?,
            verify_curve: cost(duration, || public.verify(&request.base, &request.signature).is_ok())?,
            sign: cost(duration, sign)?,
            sign_curve: cost(duration, || self.key.sign(&request.base).is_ok())?,
            sign_digest: cost(duration, || !digest::make(answer).is_empty())?,
        })
    }

    fn headers(&self, number: usize) -> Done<HeaderMap> {
        Ok(HeaderMap::from_iter([
            JSON,
            (HeaderName::from_static("ucp-agent"), format!("profile=\"{}\"", self.profile(number)).parse()?),
        ]))
    }
}

/// A signed request, ready to be sent, and what it was made of.
pub(crate) struct SignedRequest {
    pub(crate) bytes: Vec<u8>,
    path: &'static str,
    headers: HeaderMap,
    body: String,
    base: Vec<u8>,
    signature: Vec<u8>,
}

/// The processor time of single operations, in seconds.
pub(crate) struct Bounds {
    /// Reading and verifying the signature of a request.
    pub(crate) verify: f64,
    /// Of that, the operation on the curve.
    pub(crate) verify_curve: f64,
    /// Signing an answer.
    pub(crate) sign: f64,
    /// Of that, the operation on the curve.
    pub(crate) sign_curve: f64,
    /// Of that, the digest of the body.
    pub(crate) sign_digest: f64,
}

fn line(path: &str) -> RequestLine<'_> {
    RequestLine { method: "POST", scheme: Scheme::Http, authority: HOST, path, query: None }
}

#[expect(clippy::disallowed_methods, reason = "what is sent is signed now")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn document(template: &str, agent: &str) -> String {
    template.replace("agent-0", agent)
}

/// Answers one request for a profile.
fn attend(stream: &TcpStream, template: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let agent = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let body = document(template, agent);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: max-age=86400\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    (&mut &*stream).write_all((head + &body).as_bytes())
}

fn written(path: &str, headers: &HeaderMap, body: &str) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: application/json\r\nContent-Length: {}\r\n",
        body.len()
    )
    .into_bytes();
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            request.extend_from_slice(part);
        }
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body.as_bytes());
    request
}
