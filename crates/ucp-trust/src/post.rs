//! Sending to an address that a stranger named (rules SEC-02, SEC-03, WHK-01).
//!
//! All that holds for [fetching](crate::fetch) holds here, too: addresses are judged after they were resolved, redirects
//! are not followed, and it ends. Of the answer only the head is read.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use reqwest::Client;

use crate::{
    address::{ProfileUrl, Reach},
    fetch::{FetchError, FetchOptions, SetupError, USER_AGENT, classify, client_of, seconds},
};

/// How an address answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// After how long it wants to be asked again, if it says so in seconds.
    pub retry_after: Option<Duration>,
}

/// Sends documents.
#[derive(Debug)]
pub struct Poster {
    client: Client,
    reach: Reach,
    deadline: Duration,
}

impl Poster {
    /// A poster that reaches what a fetcher with these options would. [`FetchOptions::sign`] and
    /// [`FetchOptions::max_body`] are not used.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, SetupError> {
        Ok(Self { client: client_of(options)?, reach: options.reach, deadline: options.deadline })
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
        let request = self.client.post(url.url().clone()).headers(headers).body(body);
        let sent = tokio::time::timeout(self.deadline, request.send()).await.map_err(|_| FetchError::Timeout)?;
        let response = sent.map_err(|error| classify(url, error))?;
        let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|after| seconds(after.to_str().ok()?));
        Ok(Answered { status: response.status().as_u16(), retry_after })
    }
}
