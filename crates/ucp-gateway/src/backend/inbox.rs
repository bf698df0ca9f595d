//! Endpoint for the notices of a shop about orders that buyers placed on its pages.
//!
//! Requests can come from anywhere. Each is charged to the client's network address before its body is read and
//! verified; the charge is refunded if the notice is the shop's.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use ucp_bridge::platform::ORDERS_PATH;
use ucp_core::{
    Refusal, Release,
    checkout::placing::Placed,
    port::{Notice, OrderInbox},
    purchase::sales_service::SalesService,
};
use ucp_rest::error;
use ucp_service::{body, ingress::Peer};
use ucp_trust::{
    client::{ClientAddress, TrustedProxies},
    limit::{BodyLimit, InFlight, Quotas, RateLimits, Share, Tier},
};

use super::Place;

/// Maximum number of notices that are verified and stored at the same time.
const NOTICES: usize = 32;

/// State of the endpoint.
struct InboxEndpoint {
    inbox: Arc<dyn OrderInbox>,
    sales: SalesService,
    trusted_proxies: TrustedProxies,
    /// Rate limits per network address for notices that are not the shop's.
    limits: RateLimits,
    places: InFlight,
    bodies: BodyLimit,
}

/// Returns the route for the notices of a shop, which complete checkouts of `sales`.
pub(super) fn router(inbox: Arc<dyn OrderInbox>, sales: SalesService, place: &Place<'_>) -> Router {
    let settings = place.settings;
    let endpoint = InboxEndpoint {
        inbox,
        sales,
        trusted_proxies: settings.process.trusted_proxies.clone(),
        limits: RateLimits::new(&Quotas { signed: None, platforms: Vec::new(), ..settings.quotas() }),
        places: InFlight::new(NOTICES),
        bodies: place.bodies.clone(),
    };
    Router::new().route(ORDERS_PATH, post(orders)).with_state(Arc::new(endpoint))
}

impl InboxEndpoint {
    /// Accepts a notice. What follows from it is on disk when this returns.
    ///
    /// # Errors
    /// [`Refusal`] if a limit is exceeded, the notice is not the shop's or cannot be read, or it cannot be stored.
    async fn take(&self, request: Request) -> Result<(), Refusal> {
        let (parts, body) = request.into_parts();
        let peer = parts.extensions.get::<Peer>().map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0);
        let client = ClientAddress::of(peer, &parts.headers, &self.trusted_proxies);
        let charge = self.limits.charge_signature(client)?;
        let mut held = self.bodies.hold(Share::Network(client.bucket()));
        let body = body::read(&parts.headers, body, &mut held).await?;
        let _place = self.places.try_acquire(Tier::Keyed)?;
        let visible = parts.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let headers: Vec<_> = visible.collect();
        let notice = Notice { headers: &headers, body: &body };
        let placed = self.inbox.open(&notice)?;
        charge.refund();
        let Some(placed) = placed else {
            tracing::debug!("a notice about an order that was not placed by way of this gateway");
            return Ok(());
        };
        let (order, label) = (&*placed.id, &*placed.label);
        match self.sales.place(&placed).await? {
            Placed::Completed => tracing::info!(order, label, "a buyer has paid at the shop"),
            Placed::Known => tracing::debug!(order, label, "the order was reported before"),
            Placed::Another => {
                tracing::warn!(order, label, "a second order states the reference of one checkout");
            }
            Placed::Unknown => {
                tracing::warn!(order, label, "an order states a reference that no checkout has");
            }
        }
        Ok(())
    }
}

async fn orders(State(endpoint): State<Arc<InboxEndpoint>>, request: Request) -> Response {
    match endpoint.take(request).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refusal) => {
            tracing::warn!(code = %refusal.code, reason = refusal.content, "a notice about an order is not taken");
            error::answer(Release::NEWEST, &refusal)
        }
    }
}
