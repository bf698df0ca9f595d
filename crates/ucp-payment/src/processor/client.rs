//! Connections to the provider.

use std::error::Error;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method};
use reqwest::Client;
use ucp_net::outbound::{self, BodyError};
use url::Url;

use super::{Options, wire::Answer};

/// How many bytes of an answer are read.
const MAX_BODY: usize = 64 * 1024;

/// A request. Its body may hold a credential, so it does not print.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There was no connection: nothing was sent.
    Unsent,
    /// Something may have been sent.
    Lost,
}

/// What carries requests to the provider.
#[async_trait]
pub(super) trait Transport: Send + Sync {
    /// Sends a request once, and reads the whole answer.
    async fn exchange(&self, call: &Call) -> Result<Answer, Failure>;
}

/// HTTP over the network.
pub(super) struct Http(Client);

impl Http {
    pub(super) fn new(options: &Options) -> Result<Self, reqwest::Error> {
        outbound::client(options.connect_timeout, &options.roots, |builder| builder).map(Self)
    }
}

#[async_trait]
impl Transport for Http {
    async fn exchange(&self, call: &Call) -> Result<Answer, Failure> {
        let request = self.0.request(call.method.clone(), call.url.clone());
        let request = request.headers(call.headers.clone()).body(call.body.clone());
        let response = request.send().await.map_err(failure)?;
        let status = response.status().as_u16();
        let body = outbound::body(response, MAX_BODY).await.map_err(|error| match error {
            BodyError::Broken(error) => failure(error),
            BodyError::TooLarge => {
                tracing::warn!(limit = MAX_BODY, "the payment provider's answer is too large");
                Failure::Lost
            }
        })?;
        Ok(Answer { status, body })
    }
}

/// What an error of the client means. Only a connection that never came about is certain to have carried nothing.
#[expect(clippy::needless_pass_by_value, reason = "fits `map_err`")]
fn failure(error: reqwest::Error) -> Failure {
    tracing::warn!(error = &error as &dyn Error, "the exchange with the payment provider failed");
    if error.is_connect() { Failure::Unsent } else { Failure::Lost }
}
