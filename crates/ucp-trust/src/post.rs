//! Delivery to addresses that platforms name (rules SEC-02, SEC-03, WHK-01).
//!
//! Deliveries are bounded like [fetches](crate::fetch): addresses are checked after they are resolved, redirects are
//! not followed, and each delivery ends within a deadline. Of the response only the head is used.
//!
//! Unlike those of fetches, connections stay open for a moment, because a receiver of many messages gets them in quick
//! succession. That weakens nothing: the name is resolved and checked for every delivery, even if a connection is open;
//! and open connections to a host are used only while all the addresses that they could have been made to (its *pin*)
//! are among those that the name has just resolved to. If a host resolves elsewhere, its messages are sent over
//! connections of their own, one for each delivery, until those of its pin are certainly closed; then it gets a new
//! pin.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use reqwest::{
    Client, Response,
    dns::{Name, Resolve, Resolving},
};
use tokio::time::Instant;
use ucp_net::outbound::{self, USER_AGENT};
use url::Host;

use crate::{
    address::{ProfileUrl, Reach},
    fetch::{FetchError, FetchOptions, Guard, classify, client_of, connectable, seconds},
};

/// Time for which a connection stays open without being used.
const IDLE: Duration = Duration::from_secs(10);

/// Maximum number of connections to a host that stay open without being used. Several platforms may share one host.
const IDLE_PER_HOST: usize = 64;

/// Maximum number of hosts to which connections stay open.
const PINS: usize = 256;

/// Maximum number of bytes that are read of the body of a response, so that its connection can be reused.
const REST: usize = 16 * 1024;

/// Timeout of reading it.
const REST_TIMEOUT: Duration = Duration::from_millis(250);

/// Response to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// HTTP status.
    pub status: u16,
    /// Time after which the receiver asks for another attempt, if it states one in seconds.
    pub retry_after: Option<Duration>,
}

/// Sender of documents.
pub struct Poster {
    guard: Guard,
    /// Client that reuses connections, for hosts that are pinned or written as IP addresses.
    lasting: Client,
    /// Client that closes each connection after its response.
    fleeting: Client,
    pins: Pins,
    reach: Reach,
    connect_timeout: Duration,
    deadline: Duration,
}

impl Poster {
    /// Creates a poster that reaches the same addresses as a fetcher with these options. [`FetchOptions::sign`] and
    /// [`FetchOptions::max_body`] are not used. Fails with [`reqwest::Error`] if TLS cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, reqwest::Error> {
        let pins = Pins::default();
        let lasting = client_of(options, &|builder| {
            builder.dns_resolver(pins.clone()).pool_max_idle_per_host(IDLE_PER_HOST).pool_idle_timeout(IDLE)
        })?;
        Ok(Self {
            guard: Guard::new(options),
            lasting,
            fleeting: client_of(options, &|builder| builder)?,
            pins,
            reach: options.reach,
            connect_timeout: options.connect_timeout,
            deadline: options.deadline,
        })
    }

    /// Returns the networks that may be sent to.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Sends a body to an address and returns the response, whatever its status. Fails with [`FetchError`] for the rule
    /// that the address broke, or for the failure of the network.
    pub async fn post(&self, url: &ProfileUrl, mut headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        url.judge(self.reach)?;
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        let sent = tokio::time::timeout(self.deadline, self.exchange(url, headers, body)).await;
        sent.unwrap_or(Err(FetchError::Timeout))
    }

    async fn exchange(&self, url: &ProfileUrl, mut headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        let (client, _held) = match url.url().host() {
            Some(Host::Domain(host)) => {
                let resolving = tokio::time::timeout(self.connect_timeout, self.guard.addresses(host)).await;
                let addresses = resolving.unwrap_or(Err(FetchError::Timeout))?;
                match self.pins.hold(host, addresses) {
                    Some(held) => (&self.lasting, Some(held)),
                    // The client resolves and checks the name again when it connects.
                    None => (&self.fleeting, None),
                }
            }
            // A host that is written as an IP address cannot resolve differently.
            _ => (&self.lasting, None),
        };
        let span = outbound::traced(&Method::POST, url.url(), &mut headers);
        let sent = client.post(url.url().clone()).headers(headers).body(body).send().await;
        let sent = sent.map_err(|error| classify(url, error));
        if let Some(span) = span {
            span.end(sent.as_ref().map(|response| response.status().as_u16()).map_err(|_| "no_response"));
        }
        let response = sent?;
        let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|after| seconds(after.to_str().ok()?));
        let answered = Answered { status: response.status().as_u16(), retry_after };
        // The status is known already, so the outcome does not matter.
        drop(tokio::time::timeout(REST_TIMEOUT, read_out(response)).await);
        Ok(answered)
    }
}

/// Reads the body of a response, if it is small.
async fn read_out(mut response: Response) {
    let mut left = REST;
    while let Ok(Some(chunk)) = response.chunk().await
        && let Some(rest) = left.checked_sub(chunk.len())
    {
        left = rest;
    }
}

/// Addresses to which connections to a host may have been made.
struct Pin {
    addresses: Vec<IpAddr>,
    /// Number of deliveries that use it.
    held: usize,
    /// Time at which the last delivery ended.
    since: Instant,
}

impl Pin {
    /// Returns `true` if no usable connection can be left. A connection becomes idle shortly after its delivery ended.
    fn is_over(&self) -> bool {
        self.held == 0 && self.since.elapsed() >= 2 * IDLE
    }
}

/// Pins of hosts, which are also the only resolver of the client that reuses connections.
#[derive(Clone, Default)]
struct Pins(Arc<Mutex<HashMap<String, Pin>>>);

impl Pins {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the pin of a host that resolved to these addresses. Returns `None` if the addresses do not fit the pin, or
    /// if there are too many pins.
    fn hold(&self, host: &str, addresses: Vec<IpAddr>) -> Option<Held<'_>> {
        let mut pins = self.lock();
        if let Some(pin) = pins.get_mut(host)
            && !pin.is_over()
        {
            let fits = pin.addresses.iter().all(|address| addresses.contains(address));
            pin.held += usize::from(fits);
            return fits.then(|| Held { pins: self, host: host.to_owned() });
        }
        if pins.len() >= PINS {
            pins.retain(|_, pin| !pin.is_over());
        }
        if pins.len() >= PINS && !pins.contains_key(host) {
            return None;
        }
        pins.insert(host.to_owned(), Pin { addresses, held: 1, since: Instant::now() });
        Some(Held { pins: self, host: host.to_owned() })
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.lock().get(name.as_str()).map(|pin| pin.addresses.clone());
        Box::pin(async move { Ok(connectable(addresses.ok_or(FetchError::UnknownHost)?)) })
    }
}

/// A pin that is held by a delivery.
struct Held<'a> {
    pins: &'a Pins,
    host: String,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(pin) = self.pins.lock().get_mut(&self.host) {
            pin.held -= 1;
            pin.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().expect("an address")).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_pin_fits_while_all_its_addresses_are_found_and_ends_with_its_connections() {
        let pins = Pins::default();
        let fits = |found: &[&str]| pins.hold("a.example", addresses(found)).is_some();
        assert!(fits(&["1.1.1.1", "1.1.1.2"]));
        assert!(fits(&["1.1.1.2", "1.1.1.3", "1.1.1.1"]), "more are no harm");
        assert!(!fits(&["1.1.1.1"]), "one of them is not the host's any more");
        tokio::time::advance(IDLE).await;
        assert!(!fits(&["1.1.1.3"]), "a connection may still be open");
        let held = pins.hold("a.example", addresses(&["1.1.1.1", "1.1.1.2"])).expect("fits");
        tokio::time::advance(2 * IDLE).await;
        assert!(!fits(&["1.1.1.3"]), "one is in use");
        drop(held);
        tokio::time::advance(2 * IDLE).await;
        assert!(fits(&["1.1.1.3"]), "all are closed");
        assert!(!fits(&["1.1.1.1", "1.1.1.2"]));
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_only_so_many_pins() {
        let pins = Pins::default();
        let fits = |number: usize| pins.hold(&format!("h{number}.example"), addresses(&["1.1.1.1"])).is_some();
        assert!((0..PINS).all(fits));
        assert!(!fits(PINS) && fits(0));
        tokio::time::advance(2 * IDLE).await;
        assert!(fits(PINS));
        assert_eq!(pins.lock().len(), 1, "the others were over");
    }
}
