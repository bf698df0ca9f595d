//! Reception of notices that shops and payment service providers send.
//!
//! Requests can come from anywhere. Each is charged to the client's network address before its body is read and
//! verified; the charge is refunded if the notice is genuine.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::HeaderMap;
use ucp_config::Settings;
use ucp_core::{Refusal, Release, ports::Notice};
use ucp_service::{body, ingress::Peer};
use ucp_trust::{
    client::{ClientAddress, TrustedProxies},
    limit::{BodyLimit, HeldBody, InFlight, Permit, Quotas, RateLimits, Share, Stranger},
};

/// Maximum number of notices of one kind that are usually verified and acted on at the same time.
pub(crate) const NOTICES: usize = 32;

/// Place of a notice, and room for its body, to keep while it is acted on.
pub(crate) type Hold = (Permit, HeldBody);

/// Limits under which notices are received.
pub(crate) struct WebhookIngress {
    trusted_proxies: TrustedProxies,
    /// Rate limits per network address for notices that are not genuine.
    limits: RateLimits,
    places: InFlight,
    bodies: BodyLimit,
}

impl WebhookIngress {
    /// Creates the limits of this many notices at the same time, with limits of its own beside those of the bodies that the
    /// shop holds.
    pub(crate) fn new(settings: &Settings, bodies: &BodyLimit, notices: usize) -> Self {
        Self {
            trusted_proxies: settings.process.trusted_proxies.clone(),
            limits: RateLimits::new(&Quotas { signed: None, platforms: Vec::new(), ..settings.quotas() }),
            places: InFlight::new(notices),
            bodies: bodies.clone(),
        }
    }

    /// Returns what `open` makes of a notice, with the place to keep while it is acted on. Fails with [`Refusal`] if a
    /// limit is exceeded, the body cannot be read, or the notice is not genuine.
    pub(crate) async fn take<T>(
        &self,
        request: Request,
        open: impl FnOnce(&Notice<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Hold), Refusal> {
        let opened = self.take_heard(
            request,
            |_| Ok(()),
            async move |(), headers: HeaderMap, body: Bytes| {
                let visible = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
                open(&Notice { headers: &visible.collect::<Vec<_>>(), body: &body })
            },
        );
        opened.await
    }

    /// As [`take`](Self::take), of a notice whose head is checked by `hear` first. One that is refused for its head is charged
    /// to its sender like an anonymous call.
    pub(crate) async fn take_heard<H, T, F: Future<Output = Result<T, Refusal>>>(
        &self,
        request: Request,
        hear: impl FnOnce(&HeaderMap) -> Result<H, Refusal>,
        open: impl FnOnce(H, HeaderMap, Bytes) -> F,
    ) -> Result<(T, Hold), Refusal> {
        let (parts, body) = request.into_parts();
        let peer = parts.extensions.get::<Peer>().map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0);
        let client = ClientAddress::of(peer, &parts.headers, &self.trusted_proxies);
        let head = match hear(&parts.headers) {
            Ok(head) => head,
            Err(refusal) => {
                self.limits.check(&Share::Stranger(Stranger::anonymous(client)))?;
                return Err(refusal);
            }
        };
        let charge = self.limits.charge_signature(client)?;
        let mut held = self.bodies.hold(Share::Stranger(Stranger::anonymous(client)));
        let body = body::read(&parts.headers, body, &mut held).await?;
        let place = self.places.try_acquire(None)?;
        let opened = open(head, parts.headers, body).await?;
        charge.refund();
        Ok((opened, (place, held)))
    }
}

/// Answers a notice.
pub(crate) fn answered(taken: &Result<(), Refusal>) -> Response {
    match taken {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refusal) => ucp_rest::error::answer(Release::NEWEST, refusal),
    }
}
