//! Client of an HTTP geocoding service, which finds the coordinates of an address.
//!
//! The service speaks the search interface of [Nominatim](https://nominatim.org), which can be run by oneself and which
//! several providers offer: a `GET` with the parts of the address as parameters, answered by a JSON array of places.
//!
//! Nothing is asked unless an operator configures an address of a service. What is sent are the street, town, region,
//! postal code and country of a buyer's address, never a name or a telephone number. Nothing of it is logged or written
//! down; answers are kept in memory under a keyed digest of the question. The service itself learns where buyers
//! are, so that it has to be one that the operator trusts, and is spoken to over TLS.
//!
//! | holds for every question | |
//! | :-- | :-- |
//! | it ends | within [`Options::deadline`], waiting for a turn included |
//! | it is bounded | in the bytes of the answer, in the questions at once, in the bytes of the answers kept |
//! | it goes where it is sent | no redirect is followed, no proxy of the environment used |
//! | it is asked once | equal questions at the same time are one, which is not repeated |
//! | a failure is no answer | it is reported as such and not kept; an answer that is past its time may stand in for it |
//!
//! A service that fails again and again is left alone for some seconds.

mod answer;

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use http::{HeaderValue, Method, StatusCode, header};
use tokio::time::Instant;
use ucp_core::{
    merchant::{address::AddressPlace, record::PostalAddress},
    operation::Freshness,
    ports::PortError,
};
use ucp_net::{
    CallKind, Clock, CoalescingCache, Failure, Filled, Key, Received, Unreadable, Upstream, UpstreamRequest, Verdict,
    bulkhead::ConcurrencyLimit,
    classifier,
    client::{Limits, Timeouts},
    coalescing::Capacity,
    deadline, retry, upstream,
};
use url::Url;

use crate::engine::port::{Geocoder, Resolved};

pub use ucp_net::outbound::{Certificate, SetupError};

/// Maximum length of a part of an address that is sent, in bytes.
const LONGEST_PART: usize = 200;

/// Delay before a caller may retry, in seconds.
const RETRY_AFTER: u32 = 5;

/// Options of the client.
#[derive(Clone)]
pub struct Options {
    /// URL of the search, such as `https://geocoder.example.com/search`. Parameters in it, such as a key, are kept.
    pub endpoint: Url,
    /// `true` if addresses may be sent unencrypted to another machine.
    pub plain_http: bool,
    /// Time limit of a lookup, waiting included.
    pub deadline: Duration,
    /// Maximum size of a response, in bytes.
    pub max_body: usize,
    /// Maximum number of in-flight requests; as many again may wait.
    pub at_once: usize,
    /// Capacity of the cache of answers.
    pub kept: Capacity,
    /// Lifetime of cached answers.
    pub freshness: Freshness,
    /// Certificates to trust beside those of the system.
    pub roots: Vec<Certificate>,
}
ucp_core::opaque!(Options);

impl Options {
    /// Returns the default options for a service.
    pub const fn new(endpoint: Url) -> Self {
        Self {
            endpoint,
            plain_http: false,
            deadline: Duration::from_secs(2),
            max_body: 64 * 1024,
            at_once: 8,
            kept: Capacity { bytes: 4 << 20, fills: 256 },
            freshness: Freshness::seconds(24 * 60 * 60, 60 * 60, 24 * 60 * 60, 10 * 60),
            roots: Vec::new(),
        }
    }
}

/// A geocoding service.
pub struct HttpGeocoder {
    endpoint: Url,
    deadline: Duration,
    freshness: Freshness,
    upstream: Upstream,
    answers: CoalescingCache<Option<Resolved>>,
    /// Hasher with random keys of this process, so that the key of an answer does not reveal the address.
    hasher: RandomState,
}
ucp_core::opaque!(HttpGeocoder { upstream });

impl HttpGeocoder {
    /// Creates a client of a service. Nothing is sent yet. Fails with [`SetupError`] if the endpoint is not of an
    /// allowed form, or TLS cannot be set up.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        let Options { endpoint, plain_http, deadline, max_body, at_once, kept, freshness, roots } = options;
        let limits = Limits { answer: deadline, idle: deadline, total: deadline };
        let rules = upstream::Options {
            plain_http,
            roots,
            timeouts: Timeouts { connect: deadline, read: limits, write: limits, conclude: limits },
            max_body,
            retry: retry::Rules { attempts: 1, ..retry::Rules::default() },
            reads: ConcurrencyLimit { max_wait: deadline, ..ConcurrencyLimit::of(at_once) },
            ..upstream::Options::new("geocoder", endpoint.clone())
        };
        let clock: Clock = Arc::new(Instant::now);
        let upstream = Upstream::new(&rules, places, Arc::clone(&clock), Arc::new(|| 0))?;
        let answers =
            CoalescingCache::new(kept, |_| size_of::<Option<Resolved>>(), clock, Arc::clone(upstream.counters()));
        Ok(Self { endpoint, deadline, freshness, upstream, answers, hasher: RandomState::new() })
    }

    /// Asks the service.
    fn ask(
        &self,
        question: &[(&'static str, String)],
    ) -> impl Future<Output = Result<Filled<Option<Resolved>>, Failure>> + Send + 'static {
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().extend_pairs([("format", "jsonv2"), ("limit", "1")]).extend_pairs(question);
        let upstream_request = UpstreamRequest::new(CallKind::Read, Method::GET, url)
            .header(header::ACCEPT, HeaderValue::from_static("application/json"))
            .header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let upstream = self.upstream.clone();
        async move {
            let received = upstream.call(upstream_request).await?;
            let place = answer::read(&received.body).map_err(|why| {
                tracing::warn!(why, "unreadable geocoder response");
                Unreadable::Unexpected
            })?;
            Ok(if place.is_some() { Filled::Found(place) } else { Filled::Missing(place) })
        }
    }

    /// Returns the cache key of a question, which ignores differences of spelling.
    fn key(&self, question: &[(&'static str, String)]) -> Key {
        let question: Vec<_> = question.iter().map(|(name, text)| (name, text.to_lowercase())).collect();
        Key::of([self.hasher.hash_one(question).to_le_bytes()])
    }
}

/// Classifies answers: only a list of places is good.
fn places(received: &Received) -> Verdict {
    match classifier::json(received) {
        Verdict::Good if received.status != StatusCode::OK => Verdict::Faulty,
        Verdict::Good if !received.claims_json() => Verdict::Unreadable(Unreadable::NotJson),
        verdict => verdict,
    }
}

#[async_trait]
impl Geocoder for HttpGeocoder {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        let Some(question) = question(address) else { return Ok(None) };
        let key = self.key(&question);
        let answer = self.answers.get(&key, self.freshness, || self.ask(&question));
        match deadline::within(Instant::now() + self.deadline, answer).await {
            Ok(served) => Ok(served.value),
            Err(failure) => {
                Err(PortError::unavailable("Addresses cannot be looked up at the moment.", RETRY_AFTER)
                    .because(failure))
            }
        }
    }
}

/// Returns the parameters of a search for an address; `None` if the country is unknown, or nothing else is known.
fn question(address: &PostalAddress) -> Option<Vec<(&'static str, String)>> {
    let country = AddressPlace::of(address).country.filter(|country| country.len() == 2 && country.is_ascii())?;
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

#[cfg(test)]
mod tests;
