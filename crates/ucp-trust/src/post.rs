//! Sending to an address that a stranger named (rules SEC-02, SEC-03, WHK-01).
//!
//! All that holds for [fetching](crate::fetch) holds here, too: addresses are judged after they were resolved,
//! redirects are not followed, and it ends. Of the answer only the head is made use of.
//!
//! Connections stay open for a moment, because a receiver that hears much hears it one after the other. That weakens
//! nothing. The name is resolved and judged for every delivery, also where a connection is open; and open connections
//! to a host are only used while all the addresses that they could have been made to (its *pin*) are among those that
//! it was just found at. A host that is found elsewhere is sent to over connections of its own, one for each delivery,
//! until those of its pin are closed for good; then it gets a new pin.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use reqwest::{
    Client, Response,
    dns::{Name, Resolve, Resolving},
};
use tokio::time::Instant;
use ucp_net::outbound::USER_AGENT;
use url::Host;

use crate::{
    address::{ProfileUrl, Reach},
    fetch::{FetchError, FetchOptions, Guard, classify, client_of, connectable, seconds},
};

/// How long a connection stays open without being used.
const IDLE: Duration = Duration::from_secs(10);

/// How many connections to a host stay open without being used. Several platforms may share one.
const IDLE_PER_HOST: usize = 64;

/// To how many hosts connections stay open.
const PINS: usize = 256;

/// How much is read of the body of an answer, and for how long, so that its connection can be used again.
const REST: usize = 16 * 1024;
const REST_TIMEOUT: Duration = Duration::from_millis(250);

/// How an address answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// After how long it wants to be asked again, if it says so in seconds.
    pub retry_after: Option<Duration>,
}

/// Sends documents.
pub struct Poster {
    guard: Guard,
    /// Uses connections again, to hosts that are pinned.
    lasting: Client,
    /// Closes each connection after its answer.
    fleeting: Client,
    pins: Pins,
    reach: Reach,
    connect_timeout: Duration,
    deadline: Duration,
}

impl Poster {
    /// A poster that reaches what a fetcher with these options would. [`FetchOptions::sign`] and
    /// [`FetchOptions::max_body`] are not used.
    ///
    /// # Errors
    /// When TLS cannot be set up.
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

    /// Which addresses are sent to.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Sends a body to an address, and says how that answers, whatever the status.
    ///
    /// # Errors
    /// The rule that the address broke, or how the network failed.
    pub async fn post(&self, url: &ProfileUrl, mut headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        url.judge(self.reach)?;
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        let sent = tokio::time::timeout(self.deadline, self.exchange(url, headers, body)).await;
        sent.unwrap_or(Err(FetchError::Timeout))
    }

    async fn exchange(&self, url: &ProfileUrl, headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        let (client, _held) = match url.url().host() {
            Some(Host::Domain(host)) => {
                let resolving = tokio::time::timeout(self.connect_timeout, self.guard.addresses(host)).await;
                let addresses = resolving.unwrap_or(Err(FetchError::Timeout))?;
                match self.pins.hold(host, addresses) {
                    Some(held) => (&self.lasting, Some(held)),
                    // Resolved and judged once more where it connects.
                    None => (&self.fleeting, None),
                }
            }
            // An address that is written as such is always the same one.
            _ => (&self.lasting, None),
        };
        let sent = client.post(url.url().clone()).headers(headers).body(body).send().await;
        let response = sent.map_err(|error| classify(url, error))?;
        let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|after| seconds(after.to_str().ok()?));
        let answered = Answered { status: response.status().as_u16(), retry_after };
        // What it answered is known already.
        drop(tokio::time::timeout(REST_TIMEOUT, read_out(response)).await);
        Ok(answered)
    }
}

/// Reads the body of an answer, if it is a small one.
async fn read_out(mut response: Response) {
    let mut left = REST;
    while let Ok(Some(chunk)) = response.chunk().await
        && let Some(rest) = left.checked_sub(chunk.len())
    {
        left = rest;
    }
}

/// The addresses that connections to a host may have been made to.
struct Pin {
    addresses: Vec<IpAddr>,
    /// How many deliveries use it.
    held: usize,
    /// When the last one ended.
    since: Instant,
}

impl Pin {
    /// Whether no connection is left that could be used. One is idle a moment after the delivery has ended.
    fn is_over(&self) -> bool {
        self.held == 0 && self.since.elapsed() >= 2 * IDLE
    }
}

/// The pins of hosts, which are also all that the client resolves names with that uses connections again.
#[derive(Clone, Default)]
struct Pins(Arc<Mutex<HashMap<String, Pin>>>);

impl Pins {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the pin of a host that was found at these addresses, if it may be used.
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

/// A pin in use.
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
