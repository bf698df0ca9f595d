//! Recipients of webhook events.

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use ucp_core::{Refusal, Release, negotiation::Active};

/// A platform as its current profile and the operator describe it.
#[derive(Clone, Debug)]
pub struct Recipient {
    /// Webhook URL, unvalidated; `None` if neither the operator nor the profile states one.
    pub webhook: Option<String>,
    /// Release of the platform.
    pub release: Release,
    /// Negotiated capabilities.
    pub active: Arc<Active>,
    /// What the platform demands of the messages.
    pub delivery: Arc<Delivery>,
}

/// Demands of a platform on webhook messages. The default is what UCP says.
#[derive(Clone, Default)]
pub struct Delivery {
    /// Header fields of every message, which may be secrets.
    pub headers: HeaderMap,
    /// `true` if `Webhook-Timestamp` is a time of RFC 3339 instead of seconds since 1970.
    pub has_rfc3339_time: bool,
    /// `true` if `Webhook-Id` names the newest fulfillment event or adjustment of the order, or the order before there is one,
    /// instead of the webhook event.
    pub names_entry: bool,
    /// `true` if an event that is answered with 4xx is not sent again by itself.
    pub parks_refused: bool,
}
ucp_core::opaque!(Delivery);

/// Directory of platforms.
#[async_trait]
pub trait Recipients: Send + Sync {
    /// Returns the platform with this profile URL.
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal>;
}
