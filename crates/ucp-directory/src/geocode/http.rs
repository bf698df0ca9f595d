//! Asking a geocoding service over HTTP where an address is.
//!
//! The service speaks the search interface of [Nominatim](https://nominatim.org), which can be run by oneself and which
//! several providers offer: a `GET` with the parts of the address as parameters, answered by a JSON array of places.
//!
//! Nothing is asked unless an operator configures an address of a service. What is sent are the street, town, region,
//! postal code and country of a buyer's address, never a name or a telephone number. Nothing of it is logged or written
//! down; answers are remembered in memory under a keyed digest of the question. The service itself learns where buyers
//! are, so that it has to be one that the operator trusts, and is spoken to over TLS.
//!
//! | holds for every question | |
//! | :-- | :-- |
//! | it ends | within [`Options::deadline`], waiting for a turn included |
//! | it is bounded | in the bytes of the answer, in the questions at once, in the answers remembered |
//! | it goes where it is sent | no redirect is followed, no proxy of the environment used |
//! | a failure is no answer | it is reported as such and not remembered |

mod answer;
mod memory;

use std::{
    error::Error,
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use http::header;
use reqwest::Client;
use tokio::sync::Semaphore;
use ucp_core::{
    merchant::{
        address::Place,
        port::{Geocoder, Resolved},
        record::PostalAddress,
    },
    port::PortError,
};
use ucp_net::outbound::{self, BodyError, check_address};
use url::Url;

pub use ucp_net::outbound::Certificate;

use self::memory::{Memory, Recalled};

/// The longest part of an address that is sent, in bytes.
const LONGEST_PART: usize = 200;

/// After how many seconds a caller may try again.
const RETRY_AFTER: u32 = 5;

/// How a service is asked.
#[derive(Clone)]
pub struct Options {
    /// Where it is searched, such as `https://geocoder.example.com/search`. Parameters in it, such as a key, are kept.
    pub endpoint: Url,
    /// Whether addresses may travel unencrypted to another machine.
    pub plain_http: bool,
    /// How long a question may take altogether.
    pub deadline: Duration,
    /// How many bytes of an answer are read.
    pub max_body: usize,
    /// How many questions are on their way at once.
    pub at_once: usize,
    /// How many answers are remembered.
    pub remembered: usize,
    /// For how long an answer is remembered.
    pub lifetime: Duration,
    /// For how long it is remembered that there was none.
    pub miss_lifetime: Duration,
    /// Certificates to trust beside those of the system.
    pub roots: Vec<Certificate>,
}

impl Options {
    /// The usual ones for a service.
    #[must_use]
    pub const fn new(endpoint: Url) -> Self {
        Self {
            endpoint,
            plain_http: false,
            deadline: Duration::from_secs(2),
            max_body: 64 * 1024,
            at_once: 8,
            remembered: 10_000,
            lifetime: Duration::from_secs(24 * 60 * 60),
            miss_lifetime: Duration::from_secs(10 * 60),
            roots: Vec::new(),
        }
    }
}

impl fmt::Debug for Options {
    // The endpoint may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("host", &self.endpoint.host_str()).finish_non_exhaustive()
    }
}

/// Why a service cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The endpoint is not of an allowed form.
    #[error("the geocoder's address must start with `https://`, and without a user name")]
    Endpoint,
    /// The endpoint is on another machine and the connection would not be encrypted.
    #[error(
        "the geocoder's address must start with `https://`: buyers' addresses would travel unencrypted to another \
         machine, unless that is allowed"
    )]
    Unencrypted,
    /// TLS could not be set up.
    #[error("TLS for asking the geocoder could not be set up")]
    Tls(#[source] reqwest::Error),
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers")]
    Random(#[source] getrandom::Error),
}

/// Why a question has no answer. The texts are for the log and hold nothing of the question.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("no answer in time")]
    Deadline,
    #[error("no connection, or it broke")]
    Connection(#[source] reqwest::Error),
    #[error("a redirect to elsewhere, which is not followed")]
    Redirect,
    #[error("status {0} instead of 200")]
    Status(u16),
    #[error("a content type other than JSON")]
    Type,
    #[error("an answer of more than {0} bytes")]
    TooLarge(usize),
    #[error("an answer that is not a list of places: {0}")]
    Unreadable(&'static str),
}

/// Asks a geocoding service.
pub struct HttpGeocoder {
    client: Client,
    options: Options,
    turns: Semaphore,
    memory: Memory,
    failing: AtomicBool,
}

impl fmt::Debug for HttpGeocoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpGeocoder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl HttpGeocoder {
    /// Prepares to ask a service. Nothing is sent yet.
    ///
    /// # Errors
    /// When the endpoint is not of an allowed form, or TLS cannot be set up.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        check_address(&options.endpoint, options.plain_http).map_err(|error| match error {
            outbound::SetupError::Unencrypted => SetupError::Unencrypted,
            _ => SetupError::Endpoint,
        })?;
        let client = outbound::client(options.deadline, &options.roots, |builder| builder).map_err(SetupError::Tls)?;
        let memory = Memory::new(options.remembered).map_err(SetupError::Random)?;
        Ok(Self {
            client,
            turns: Semaphore::new(options.at_once.max(1)),
            memory,
            failing: AtomicBool::new(false),
            options,
        })
    }

    /// Asks when it is this question's turn. Does not end by itself.
    async fn ask(&self, question: &[(&'static str, String)]) -> Result<Option<Resolved>, Failure> {
        let Ok(_turn) = self.turns.acquire().await else { return Err(Failure::Deadline) };
        self.exchange(question).await
    }

    async fn exchange(&self, question: &[(&'static str, String)]) -> Result<Option<Resolved>, Failure> {
        let mut url = self.options.endpoint.clone();
        url.query_pairs_mut().extend_pairs([("format", "jsonv2"), ("limit", "1")]).extend_pairs(question);
        let request =
            self.client.get(url).header(header::ACCEPT, "application/json").header(header::ACCEPT_ENCODING, "identity");
        let response = request.send().await.map_err(broken)?;
        match response.status().as_u16() {
            200 => {}
            300..400 => return Err(Failure::Redirect),
            status => return Err(Failure::Status(status)),
        }
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(Failure::Type);
        }
        let limit = self.options.max_body;
        let body = outbound::body(response, limit).await.map_err(|error| match error {
            BodyError::TooLarge => Failure::TooLarge(limit),
            BodyError::Broken(error) => broken(error),
        })?;
        answer::read(&body).map_err(Failure::Unreadable)
    }

    /// Logs when the service begins to fail and when it is well again, not every question in between.
    fn note(&self, failure: Option<&Failure>) {
        let host = self.options.endpoint.host_str();
        match failure {
            Some(failure) if !self.failing.swap(true, Ordering::Relaxed) => {
                tracing::warn!(host, error = failure as &dyn Error, "the geocoder does not answer");
            }
            None if self.failing.swap(false, Ordering::Relaxed) => tracing::info!(host, "the geocoder answers again"),
            _ => {}
        }
    }
}

#[async_trait]
impl Geocoder for HttpGeocoder {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        let Some(question) = question(address) else { return Ok(None) };
        let lifetimes = (self.options.lifetime, self.options.miss_lifetime);
        let recalled = self.memory.recall(&question, lifetimes, || self.ask(&question));
        let answered = tokio::time::timeout(self.options.deadline, recalled).await.unwrap_or(Err(Failure::Deadline));
        if !matches!(answered, Ok(Recalled::Remembered(_))) {
            self.note(answered.as_ref().err());
        }
        match answered {
            Ok(Recalled::Asked(resolved) | Recalled::Remembered(resolved)) => Ok(resolved),
            Err(_) => Err(PortError::unavailable("Addresses cannot be looked up at the moment.", RETRY_AFTER)),
        }
    }
}

/// What is asked about an address; `None` where no country is known, or nothing in it.
fn question(address: &PostalAddress) -> Option<Vec<(&'static str, String)>> {
    let country = Place::of(address).country.filter(|country| country.len() == 2 && country.is_ascii())?;
    let part = |text: &Option<String>| {
        let text = text.as_deref()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty() && text.len() <= LONGEST_PART).then_some(text)
    };
    let parts = [
        ("street", part(&address.street_address)),
        ("city", part(&address.address_locality)),
        ("postalcode", part(&address.postal_code)),
        ("state", part(&address.address_region)),
    ];
    // A country or a region alone is no place to measure from.
    if parts[..3].iter().all(|(_, text)| text.is_none()) {
        return None;
    }
    let mut question: Vec<_> = parts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    question.push(("countrycodes", country.to_ascii_lowercase()));
    Some(question)
}

/// An error of the client without the question, which is in the address.
fn broken(error: reqwest::Error) -> Failure {
    Failure::Connection(error.without_url())
}

#[cfg(test)]
mod tests;
