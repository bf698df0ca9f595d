//! Requests to a shop, with what each one cost.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use ucp_net::outbound::{self, BodyError, SetupError, check_address, has_content_coding, is_tls};
use url::{Origin, Url};

/// Time for connecting.
const CONNECT: Duration = Duration::from_secs(5);

/// Maximum time of one exchange.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum length of an answer in bytes.
pub const MAX_BODY: usize = 16 << 20;

/// Bytes of text per token, the usual estimate for English and JSON.
const BYTES_PER_TOKEN: usize = 4;

/// Returns an estimate of the tokens that a model reads for so many bytes.
#[must_use]
pub const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Bearer token for the shop. Its `Debug` form does not contain it.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Creates a token from its text; white space around it is dropped.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

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
    #[error("there was no answer within {} seconds", PATIENCE.as_secs())]
    Late,
    /// The connection broke.
    #[error("the connection broke off")]
    Broken,
    /// The answer is too large.
    #[error("the answer is larger than {} MiB", MAX_BODY >> 20)]
    TooLarge,
    /// The answer is encoded, although nothing but `identity` was accepted.
    #[error("the answer has a content coding that was not accepted")]
    Encoded,
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Unsendable(String),
}

/// Request and complete answer.
#[derive(Clone)]
pub struct Exchange {
    /// HTTP status.
    pub status: StatusCode,
    /// Header fields of the answer.
    pub headers: HeaderMap,
    /// Body of the answer.
    pub body: Bytes,
    /// Length of the body of the request, in bytes.
    pub sent: usize,
    /// Time until the answer was complete.
    pub took: Duration,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("status", &self.status).field("body", &self.body.len()).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Returns the text of a header field; all values of one that is repeated, with commas.
    #[must_use]
    pub fn header(&self, name: &HeaderName) -> Option<String> {
        let values: Vec<_> = self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Returns the body as JSON, if it is.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the essence of the media type, in lower case.
    #[must_use]
    pub fn media_type(&self) -> String {
        let stated = self.header(&header::CONTENT_TYPE).unwrap_or_default();
        stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Returns the status with the beginning of the body, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        format!("{} {}", self.status.as_u16(), shortened(text.trim(), 200))
    }
}

/// Returns at most `most` characters of a text in one line.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// HTTP client of one platform. Clones share connections.
#[derive(Clone, Debug)]
pub struct Http {
    client: outbound::Client,
    /// Profile of the platform that every request names.
    pub profile: String,
    token: Option<(Token, Origin)>,
}

impl Http {
    /// Creates a client that names `profile`. A token is sent to the origin of `shop` alone.
    ///
    /// # Errors
    /// [`SetupError`] if TLS cannot be set up, or if a token would travel without encryption.
    pub fn new(shop: &Url, profile: String, token: Option<Token>) -> Result<Self, SetupError> {
        check_address(shop, token.is_none())?;
        let client = outbound::client(CONNECT, &[], |builder| builder).map_err(SetupError::Tls)?;
        Ok(Self { client, profile, token: token.map(|token| (token, shop.origin())) })
    }

    /// Sends a request once, and reads the whole answer.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Exchange, Unanswered> {
        let began = Instant::now();
        let agent = HeaderValue::from_str(&format!("profile=\"{}\"", self.profile));
        let agent = agent.map_err(|_| Unanswered::Unsendable("the profile is no header field".to_owned()))?;
        headers.entry("ucp-agent").or_insert(agent);
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if let Some((token, origin)) = &self.token
            && *origin == url.origin()
        {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", token.0));
            let mut bearer = bearer.map_err(|_| Unanswered::Unsendable("the token is no header field".to_owned()))?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let sent = body.as_ref().map_or(0, Vec::len);
        let mut request = self.client.request(method, url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = async {
            let response = request.send().await.map_err(|error| {
                if error.is_builder() {
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
            let body = outbound::body(response, MAX_BODY).await.map_err(|error| match error {
                BodyError::TooLarge => Unanswered::TooLarge,
                BodyError::Broken(_) => Unanswered::Broken,
            })?;
            Ok(Exchange { status, headers, body, sent, took: began.elapsed() })
        };
        tokio::time::timeout(PATIENCE, answer).await.map_err(|_| Unanswered::Late)?
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn get(&self, url: &Url) -> Result<Exchange, Unanswered> {
        self.send(Method::GET, url, HeaderMap::new(), None).await
    }
}
