//! Endpoint for events of payment service providers, `/payments/{id of the handler}/events`.
//!
//! An event says that something happened to a payment. What happened is asked of the provider itself, so that an event
//! that is repeated, late or out of order does no harm.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use ucp_config::Settings;
use ucp_core::{Code, Refusal, Release, ports::payment_handler::Handler, sales::SalesService};
use ucp_rest::error;
use ucp_trust::limit::BodyLimit;

use crate::{
    clock,
    webhook_ingress::{NOTICES, WebhookIngress},
};

/// State of the endpoint.
struct PaymentEvents {
    sales: SalesService,
    webhook_ingress: WebhookIngress,
}

/// Returns the route for the events of the handlers of `sales`.
pub(crate) fn router(sales: SalesService, settings: &Settings, bodies: &BodyLimit) -> Router {
    let events = PaymentEvents { sales, webhook_ingress: WebhookIngress::new(settings, bodies, NOTICES) };
    Router::new().route("/payments/{id}/events", post(take)).with_state(Arc::new(events))
}

impl PaymentEvents {
    fn handler(&self, id: &str) -> Result<&Arc<dyn Handler>, Refusal> {
        let handler = self.sales.handlers.iter().find(|handler| handler.declaration().id == id);
        handler.ok_or_else(|| Refusal::new(Code::UnknownPath, "Unknown payment handler."))
    }

    /// Acts on an event: the payment that it is about is asked for, by whichever gateway comes to it first. That is on
    /// disk when this returns. Fails with [`Refusal`] if a limit is exceeded, the event is not the provider's or cannot
    /// be read, or the store fails.
    async fn take(&self, id: &str, request: Request) -> Result<(), Refusal> {
        let handler = self.handler(id)?;
        let open = |notice: &ucp_core::ports::Notice<'_>| handler.notified(notice.headers, notice.body);
        let (attempt, _place) = self.webhook_ingress.take(request, open).await?;
        let Some(attempt) = attempt else {
            tracing::debug!(handler = id, "payment event that is not about a payment of this gateway");
            return Ok(());
        };
        let waits = self.sales.ledger.wake(&attempt, clock::timestamp()).await?;
        tracing::info!(handler = id, attempt, waits, "payment event received");
        Ok(())
    }
}

async fn take(
    State(events): State<Arc<PaymentEvents>>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    match events.take(&id, request).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refusal) => {
            tracing::warn!(handler = id, code = %refusal.code, reason = refusal.content, "payment event rejected");
            error::answer(Release::NEWEST, &refusal)
        }
    }
}
