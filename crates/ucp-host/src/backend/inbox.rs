//! Endpoint for the notices of a shop about orders that buyers placed on its pages.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::post,
};
use ucp_bridge::platform::ORDERS_PATH;
use ucp_core::{
    Refusal,
    ports::OrderInbox,
    sales::{SalesService, placing::Placed},
};

use super::RemotePlace;
use crate::reception::{NOTICES, Reception, answered};

/// State of the endpoint.
struct InboxEndpoint {
    inbox: Arc<dyn OrderInbox>,
    sales: SalesService,
    reception: Reception,
}

/// Returns the route for the notices of a shop, which complete checkouts of `sales`.
pub(super) fn router(inbox: Arc<dyn OrderInbox>, sales: SalesService, place: &RemotePlace<'_>) -> Router {
    let endpoint = InboxEndpoint { inbox, sales, reception: Reception::new(place.settings, place.bodies, NOTICES) };
    Router::new().route(ORDERS_PATH, post(orders)).with_state(Arc::new(endpoint))
}

impl InboxEndpoint {
    /// Accepts a notice. What follows from it is on disk when this returns. Fails with [`Refusal`] if a limit is
    /// exceeded, the notice is not the shop's or cannot be read, or it cannot be stored.
    async fn take(&self, request: Request) -> Result<(), Refusal> {
        let (placed, _place) = self.reception.take(request, |notice| self.inbox.open(notice)).await?;
        let Some(placed) = placed else {
            tracing::debug!("event about an order that was not placed through this gateway");
            return Ok(());
        };
        let (order, label) = (&*placed.id, &*placed.label);
        match self.sales.place(&placed).await? {
            Placed::Completed => tracing::info!(order, label, "order placed on the upstream's own pages"),
            Placed::Known => tracing::debug!(order, label, "order event already processed"),
            Placed::Another => {
                tracing::warn!(order, label, "second order with the reference of one checkout");
            }
            Placed::Unknown => {
                tracing::warn!(order, label, "order event with an unknown checkout reference");
            }
        }
        Ok(())
    }
}

async fn orders(State(endpoint): State<Arc<InboxEndpoint>>, request: Request) -> Response {
    let taken = endpoint.take(request).await;
    if let Err(refusal) = &taken {
        tracing::warn!(code = %refusal.code, reason = refusal.content, "order event rejected");
    }
    answered(&taken)
}
