//! Requests to a shop, with what each one cost.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use ucp_net::outbound::{self, BodyError, SetupError, chain, check_address, has_content_coding, is_tls};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::{self, FetchError, FetchOptions},
};
use url::{Origin, Url};

/// Time for connecting.
const CONNECT: Duration = Duration::from_secs(5);

/// Maximum time of one exchange, unless a guarded client has another.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum length of an answer in bytes, unless a guarded client has another.
pub const MAX_BODY: usize = 16 << 20;

/// Bytes of text per token, the usual estimate for English and JSON.
const BYTES_PER_TOKEN: usize = 4;

/// Returns an estimate of the tokens that a model reads for so many bytes.
pub const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Bearer token for the shop. Its `Debug` form does not contain it.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Creates a token from its text; white space around it is dropped.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }
}

ucp_core::opaque!(Token);

/// Reason why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unanswered {
    /// There is no connection.
    #[error("no connection could be made")]
    Connect,
    /// TLS failed.
    #[error("the certificate is not trusted, or TLS failed")]
    Tls,
    /// The answer is late.
    #[error("there was no answer within {} seconds", .0.as_secs())]
    Late(Duration),
    /// The connection broke.
    #[error("the connection broke off")]
    Broken,
    /// The answer is too large.
    #[error("the answer is larger than {} MiB", .0 >> 20)]
    TooLarge(usize),
    /// The answer is encoded, although nothing but `identity` was accepted.
    #[error("the answer has a content coding that was not accepted")]
    Encoded,
    /// The address must not be connected to.
    #[error("it is not connected to: {0}")]
    Forbidden(String),
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Unsendable(String),
}

/// Request as it went over the wire.
#[derive(Clone)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Address.
    pub url: Url,
    /// Header fields; a bearer token among them is marked as sensitive.
    pub headers: HeaderMap,
    /// Body.
    pub body: Option<Bytes>,
}

/// Request and complete answer.
#[derive(Clone)]
pub struct Exchange {
    /// Request.
    pub request: Request,
    /// HTTP status.
    pub status: StatusCode,
    /// Header fields of the answer.
    pub headers: HeaderMap,
    /// Body of the answer.
    pub body: Bytes,
    /// Time until the answer was complete.
    pub took: Duration,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("status", &self.status).field("body", &self.body.len()).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Returns the length of the body of the request, in bytes.
    pub fn sent(&self) -> usize {
        self.request.body.as_ref().map_or(0, Bytes::len)
    }

    /// Returns the text of a header field; all values of one that is repeated, with commas.
    pub fn header(&self, name: &HeaderName) -> Option<String> {
        let values: Vec<_> = self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Returns the body as JSON, if it is.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the essence of the media type, in lower case.
    pub fn media_type(&self) -> String {
        let stated = self.header(&header::CONTENT_TYPE).unwrap_or_default();
        stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Returns the status with the beginning of the body, for people.
    pub fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        format!("{} {}", self.status.as_u16(), shortened(text.trim(), 200))
    }
}

/// Returns at most `most` characters of a text in one line.
pub fn shortened(text: &str, most: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// HTTP client of one platform. Clones share connections. A request without an answer is [`Unanswered`].
#[derive(Clone, Debug)]
pub struct Http {
    client: outbound::Client,
    /// Profile of the platform that every request names, if it names one.
    pub profile: Option<String>,
    token: Option<(Token, Origin)>,
    patience: Duration,
    max_body: usize,
    /// Networks that may be reached; `None` if whoever names addresses may name any.
    reach: Option<Reach>,
}

impl Http {
    /// Creates a client that names `profile`. A token is sent to the origin of `shop` alone. Fails with [`SetupError`]
    /// if TLS cannot be set up, or if a token would travel without encryption.
    pub fn new(shop: &Url, profile: String, token: Option<Token>) -> Result<Self, SetupError> {
        check_address(shop, token.is_none())?;
        let client = outbound::client(CONNECT, &[], |builder| builder).map_err(SetupError::Tls)?;
        let token = token.map(|token| (token, shop.origin()));
        Ok(Self { client, profile: Some(profile), token, patience: PATIENCE, max_body: MAX_BODY, reach: None })
    }

    /// Creates a client for addresses that somebody else names: it connects only where `options` permit it, and ends
    /// within their times and sizes. It names no profile.
    pub fn guarded(options: &FetchOptions) -> Result<Self, SetupError> {
        let client = fetch::client(options).map_err(SetupError::Tls)?;
        let (patience, max_body, reach) = (options.deadline, options.max_body, Some(options.reach));
        Ok(Self { client, profile: None, token: None, patience, max_body, reach })
    }

    /// Returns the same client for another caller, whose token is sent to the origin of `shop` alone. Fails with
    /// [`SetupError`] if the token would travel without encryption.
    pub fn of_caller(&self, shop: &Url, profile: Option<String>, token: Option<Token>) -> Result<Self, SetupError> {
        check_address(shop, token.is_none())?;
        Ok(Self { profile, token: token.map(|token| (token, shop.origin())), ..self.clone() })
    }

    /// Sends a request once, and reads the whole answer.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Exchange, Unanswered> {
        let began = Instant::now();
        if let Some(reach) = self.reach
            && let Err(rejection) = ProfileUrl::parse(url.as_str(), reach)
        {
            return Err(Unanswered::Forbidden(format!("the address {rejection}")));
        }
        if let Some(profile) = &self.profile {
            let agent = HeaderValue::from_str(&format!("profile=\"{profile}\""));
            let agent = agent.map_err(|_| Unanswered::Unsendable("the profile is no header field".to_owned()))?;
            headers.entry("ucp-agent").or_insert(agent);
        }
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if let Some((token, origin)) = &self.token
            && *origin == url.origin()
        {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", token.0));
            let mut bearer = bearer.map_err(|_| Unanswered::Unsendable("the token is no header field".to_owned()))?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let request = Request { method, url: url.clone(), headers, body: body.map(Bytes::from) };
        let mut sent = self.client.request(request.method.clone(), url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        let answer = async {
            let response = sent.send().await.map_err(|error| {
                let forbidden = chain(&error).find_map(|error| match error.downcast_ref::<FetchError>() {
                    Some(FetchError::ForbiddenAddress { range }) => Some(*range),
                    _ => None,
                });
                if let Some(range) = forbidden {
                    Unanswered::Forbidden(format!("its host resolves to a special-use address ({range})"))
                } else if error.is_builder() {
                    Unanswered::Unsendable(error.without_url().to_string())
                } else if is_tls(&error) {
                    Unanswered::Tls
                } else if error.is_connect() {
                    Unanswered::Connect
                } else {
                    Unanswered::Broken
                }
            })?;
            if has_content_coding(response.headers()) {
                return Err(Unanswered::Encoded);
            }
            let (status, headers) = (response.status(), response.headers().clone());
            let body = outbound::body(response, self.max_body).await.map_err(|error| match error {
                BodyError::TooLarge => Unanswered::TooLarge(self.max_body),
                BodyError::Broken(_) => Unanswered::Broken,
            })?;
            Ok(Exchange { request, status, headers, body, took: began.elapsed() })
        };
        tokio::time::timeout(self.patience, answer).await.map_err(|_| Unanswered::Late(self.patience))?
    }

    /// Fetches a document.
    pub async fn get(&self, url: &Url) -> Result<Exchange, Unanswered> {
        self.send(Method::GET, url, HeaderMap::new(), None).await
    }
}

#[cfg(test)]
mod tests {
    use std::{io, net::IpAddr};

    use futures_util::future::BoxFuture;
    use ucp_trust::fetch::Resolver;

    use super::*;

    /// A name server that says of every host that it is this machine.
    struct Here;

    impl Resolver for Here {
        fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
        }
    }

    #[tokio::test]
    async fn a_guarded_client_connects_to_permitted_addresses_alone() {
        let options = FetchOptions { resolver: Arc::new(Here), ..FetchOptions::default() };
        let http = Http::guarded(&options).expect("a client");
        for address in [
            "https://shop.example/",
            "http://shop.example/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://2130706433/",
            "https://10.0.0.7/",
            "https://169.254.169.254/latest",
            "https://localhost/",
            "https://user@shop.example/",
            "https://shop.example:25/",
        ] {
            let refused = http.get(&address.parse().expect("an address")).await.expect_err(address);
            assert!(matches!(refused, Unanswered::Forbidden(_)), "{address}: {refused}");
        }
    }

    #[test]
    fn a_token_travels_encrypted_and_to_its_origin_alone() {
        let http = Http::guarded(&FetchOptions::default()).expect("a client");
        let token = || Some(Token::new("secret"));
        let shop: Url = "http://shop.example/".parse().expect("an address");
        assert!(http.of_caller(&shop, None, token()).is_err());
        let shop: Url = "https://shop.example/a".parse().expect("an address");
        let keyed = http.of_caller(&shop, None, token()).expect("a client");
        assert_eq!(keyed.token.map(|(_, origin)| origin), Some(shop.origin()));
    }
}
