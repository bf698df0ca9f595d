//! Events to a server of the operator: a batch is a POST of JSON Lines.

use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderValue, header};
use serde_json::{Map, Value};
use tokio::time::sleep;
use ucp_config::Receiver;
use ucp_net::outbound::SetupError;

use super::{Client, Sink};

/// Maximum number of attempts to send a batch.
const ATTEMPTS: u32 = 6;

/// Pause after the first attempt; it doubles with each further one, to about half a minute in all.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The server.
#[derive(Debug)]
pub(crate) struct JsonLines {
    client: Client,
    first_pause: Duration,
}

impl JsonLines {
    /// Creates the sink of a server.
    ///
    /// # Errors
    /// [`SetupError`].
    pub(crate) fn new(receiver: &Receiver) -> Result<Self, SetupError> {
        Ok(Self { client: Client::new("receiver of events", receiver)?, first_pause: FIRST_PAUSE })
    }

    #[cfg(test)]
    pub(super) fn impatient(receiver: &Receiver) -> Self {
        Self { first_pause: Duration::from_millis(1), ..Self::new(receiver).expect("a receiver") }
    }

    /// Sends a body once. The flag of an error is `true` if another attempt may help.
    async fn attempt(&self, body: bytes::Bytes) -> Result<(), (String, bool)> {
        let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))];
        match self.client.post(body, headers).await {
            Ok(received) if received.status.is_success() => Ok(()),
            Ok(received) => {
                let status = received.status.as_u16();
                Err((format!("it answered with status {status}"), matches!(status, 408 | 429 | 500..)))
            }
            Err(failure) => Err((failure.to_string(), true)),
        }
    }
}

#[async_trait]
impl Sink<Map<String, Value>> for JsonLines {
    async fn send(&self, batch: Vec<Map<String, Value>>) -> Result<(), String> {
        let lines = batch.into_iter().map(|event| format!("{}\n", Value::Object(event)));
        let body = bytes::Bytes::from(lines.collect::<String>());
        let mut pause = self.first_pause;
        for _ in 1..ATTEMPTS {
            match self.attempt(body.clone()).await {
                Ok(()) => return Ok(()),
                Err((_, true)) => sleep(pause).await,
                Err((problem, false)) => return Err(problem),
            }
            pause *= 2;
        }
        self.attempt(body).await.map_err(|(problem, _)| problem)
    }
}
