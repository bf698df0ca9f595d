//! Connections to the provider.

use std::error::Error;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method};
use reqwest::{Client, redirect};
use url::Url;

use super::{Options, wire::Answer};

/// The name that requests go under.
const USER_AGENT: &str = concat!("ucp-gateway/", env!("CARGO_PKG_VERSION"));

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
        match client(options).build() {
            Ok(client) => Ok(Self(client)),
            // A machine without any trusted certificates, such as a bare container, still has the configured ones.
            Err(_) if !options.roots.is_empty() => {
                client(options).tls_certs_only(options.roots.clone()).build().map(Self)
            }
            Err(error) => Err(error),
        }
    }
}

fn client(options: &Options) -> reqwest::ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .redirect(redirect::Policy::none())
        .no_proxy()
        // The client would repeat requests behind our back; `Processor::ask` does, and knows what it may conclude.
        .retry(reqwest::retry::never())
        .http1_only()
        .referer(false)
        .connect_timeout(options.connect_timeout)
        .tls_certs_merge(options.roots.iter().cloned())
        // Only matters when another crate of the build switches on a decompression of the client.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
}

#[async_trait]
impl Transport for Http {
    async fn exchange(&self, call: &Call) -> Result<Answer, Failure> {
        let request = self.0.request(call.method.clone(), call.url.clone());
        let request = request.headers(call.headers.clone()).body(call.body.clone());
        let mut response = request.send().await.map_err(failure)?;
        let status = response.status().as_u16();
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(failure)? {
            if body.len() + chunk.len() > MAX_BODY {
                tracing::warn!(limit = MAX_BODY, "the payment provider's answer is too large");
                return Err(Failure::Lost);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, body: body.freeze() })
    }
}

/// What an error of the client means. Only a connection that never came about is certain to have carried nothing.
#[expect(clippy::needless_pass_by_value, reason = "fits `map_err`")]
fn failure(error: reqwest::Error) -> Failure {
    tracing::warn!(error = &error as &dyn Error, "the exchange with the payment provider failed");
    if error.is_connect() { Failure::Unsent } else { Failure::Lost }
}
