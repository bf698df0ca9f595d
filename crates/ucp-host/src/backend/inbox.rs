//! Endpoint for the notices of a shop about orders: those that buyers placed on its pages, and what becomes of all of them.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::post,
};
use bytes::Bytes;
use http::HeaderMap;
use ucp_bridge::platform::ORDERS_PATH;
use ucp_core::{
    Refusal,
    order::report::{Misfit, Report},
    ports::{Notice, OrderInbox, PlacedOrder, Told},
    sales::{SalesService, following::Reported, placing::Placed},
};

use super::RemotePlace;
use crate::webhook_ingress::{NOTICES, WebhookIngress, answered};

/// State of the endpoint.
struct InboxEndpoint {
    inbox: Arc<dyn OrderInbox>,
    sales: SalesService,
    webhook_ingress: WebhookIngress,
}

/// Returns the route for the notices of a shop, which complete checkouts of `sales`.
pub(super) fn router(inbox: Arc<dyn OrderInbox>, sales: SalesService, place: &RemotePlace<'_>) -> Router {
    let endpoint =
        InboxEndpoint { inbox, sales, webhook_ingress: WebhookIngress::new(place.settings, place.bodies, NOTICES) };
    Router::new().route(ORDERS_PATH, post(orders)).with_state(Arc::new(endpoint))
}

impl InboxEndpoint {
    /// Accepts a notice. What follows from it is on disk when this returns. Fails with [`Refusal`] if a limit is
    /// exceeded, the notice is not the shop's or cannot be read, or it cannot be stored.
    async fn take(&self, request: Request) -> Result<(), Refusal> {
        let open = async |(), headers: HeaderMap, body: Bytes| {
            let visible = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
            self.inbox.open(&Notice { headers: &visible.collect::<Vec<_>>(), body: &body }).await
        };
        let (told, _place) = self.webhook_ingress.take_heard(request, |_| Ok(()), open).await?;
        match told {
            None => {
                tracing::debug!("event about an order that was not placed through this gateway");
                Ok(())
            }
            Some(Told::Placed(placed)) => self.placed(&placed).await,
            Some(Told::Reported(report)) => self.reported(&report).await,
        }
    }

    async fn placed(&self, placed: &PlacedOrder) -> Result<(), Refusal> {
        let (order, label) = (&*placed.id, &*placed.label);
        match self.sales.place(placed).await? {
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

    async fn reported(&self, report: &Report) -> Result<(), Refusal> {
        let order = &*report.order;
        match self.sales.report(report).await? {
            Reported::Changed => tracing::info!(order, "order changed at the upstream"),
            Reported::Known => tracing::debug!(order, "order event already processed"),
            Reported::Stranger => {
                tracing::debug!(order, "event about an order that was not placed through this gateway");
            }
            Reported::Unfit(Misfit { position, reason }) => {
                let content = format!("The event does not fit the order: {reason}.");
                return Err(Refusal::invalid(format!("$.events[{position}]"), content)
                    .accepting("what can become of the order as it stands; nothing of the event was applied"));
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
