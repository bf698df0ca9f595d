//! Orders over REST, which release 2026-01-11 does not have: looking at them, adding to them, and having them shipped.
//!
//! What happened to an order is only ever added to: of an order that is sent back, events and adjustments that are not
//! known yet are taken over, and nothing else is read.

use std::{num::NonZeroU32, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State, rejection::PathRejection},
    response::Response,
    routing::{get, post},
};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use ucp_core::{
    Code, Operation, Outcome, Refusal,
    json::{self, Limits},
    operation::ById,
    order::{
        Adjustment, AdjustmentStatus, Event, LineQuantity, Order,
        progress::{Impossible, Tracking},
    },
    purchase::{
        desk::Desk,
        ledger::{Change, Committed, Stored},
        totals::{Total, TotalKind},
    },
};
use ucp_rest::error;
use ucp_service::{
    Call, Endpoint, Gate,
    access::Access,
    body, header,
    platform::{Platform, Platforms},
};

use super::front::RELEASE;
use crate::config::SimulationSecret;

/// What shows that somebody may simulate.
const SIMULATION_SECRET: HeaderName = HeaderName::from_static("simulation-secret");

/// How often a change is made anew because somebody else changed the same order.
const TRIES: usize = 16;

/// Where orders are, and who may look at them.
pub(super) struct Orders {
    pub(super) desk: Desk,
    pub(super) platforms: Platforms,
    pub(super) gate: Gate,
    pub(super) access: Access,
    /// What opens the simulation; nothing does without.
    pub(super) secret: Option<SimulationSecret>,
}

/// The routes.
pub(super) fn router(orders: Orders) -> Router {
    Router::new()
        .route("/orders/{id}", get(look).put(add))
        .route("/testing/simulate-shipping/{id}", post(ship))
        .with_state(Arc::new(orders))
}

/// The identifier of an order, if it is text.
type Id = Result<Path<String>, PathRejection>;

/// What goes out: a status and a document.
type Answered = Result<(u16, String), Refused>;

/// A refusal with the status that the suite wants for it.
struct Refused(Option<StatusCode>, Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(None, refusal)
    }
}

impl From<Impossible> for Refused {
    fn from(step: Impossible) -> Self {
        Self::unprocessable(format!("This cannot happen to the order: {step}."))
    }
}

impl Refused {
    /// What was sent is JSON, but no order that this one could become.
    fn unprocessable(content: String) -> Self {
        Self(Some(StatusCode::UNPROCESSABLE_ENTITY), Refusal::new(Code::InvalidRequest, content))
    }
}

async fn look(State(orders): State<Arc<Orders>>, id: Id, request: Request) -> Response {
    answer(orders.look(id, request).await)
}

async fn add(State(orders): State<Arc<Orders>>, id: Id, request: Request) -> Response {
    answer(orders.add(id, request).await)
}

async fn ship(State(orders): State<Arc<Orders>>, id: Id, request: Request) -> Response {
    answer(orders.ship(id, request).await)
}

fn answer(answered: Answered) -> Response {
    let mut response = match answered {
        Ok((status, document)) => {
            let mut response = Response::new(Body::from(document));
            *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(Refused(status, refusal)) => {
            let mut response = error::answer(RELEASE, &refusal);
            if let Some(status) = status {
                *response.status_mut() = status;
            }
            response
        }
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Orders {
    async fn look(&self, id: Id, request: Request) -> Answered {
        let (id, platform, _) = self.admit(id, request).await?;
        self.shown(&platform, id).await
    }

    async fn add(&self, id: Id, request: Request) -> Answered {
        header::require_json(request.headers())?;
        let (id, platform, body) = self.admit(id, request).await?;
        let stated = json::parse(&body, Limits::REQUEST)?;
        let stated: StatedOrder = serde_json::from_value(stated)
            .map_err(|error| Refused::unprocessable(format!("This is no order: {error}.")))?;
        self.change(&platform, &id, |order| stated.add_to(order)).await?;
        self.shown(&platform, id).await
    }

    async fn ship(&self, id: Id, request: Request) -> Answered {
        let presented = request.headers().get(SIMULATION_SECRET);
        let knows = |secret: &SimulationSecret| presented.is_some_and(|presented| secret.is(presented.as_bytes()));
        if !self.secret.as_ref().is_some_and(knows) {
            let refusal =
                Refusal::new(Code::Forbidden, "The course of an order is simulated for those only who know how.");
            return Err(refusal
                .accepting("the secret that this gateway was started with, in `Simulation-Secret`")
                .into());
        }
        let (id, platform, _) = self.admit(id, request).await?;
        let now = (self.desk.clock)();
        let step = |order: &mut Order| Ok(order.ship(now, &[], Tracking::default())?);
        let there = self.change(&platform, &id, step).await?;
        if there { Ok((200, json!({ "status": "shipped" }).to_string())) } else { self.shown(&platform, id).await }
    }

    /// Lets a request in, as every call is let in.
    async fn admit(&self, id: Id, request: Request) -> Result<(String, Platform, bytes::Bytes), Refusal> {
        let Path(id) = id.map_err(|_| Refusal::invalid("$.id", "The identifier in the path is no text in UTF-8."))?;
        let (head, body) = request.into_parts();
        let entry = self.gate.enter(&head)?;
        let body = body::read(body).await?;
        let admission = self.gate.admit(entry, &head, &body).await?;
        let call = Call {
            operation: Operation::GetOrder,
            endpoint: Endpoint::Of(RELEASE),
            id: Some(id.clone()),
            payload: Value::Null,
            profiles: header::profile(&head.headers)?.into_iter().collect(),
            idempotency_keys: Vec::new(),
            languages: Vec::new(),
            admission,
            trace: ucp_core::port::Trace::default(),
        };
        self.access.check(call.operation.row().class, &call.admission.principal)?;
        Ok((id, self.platforms.identify(&call).await?, body))
    }

    /// An order as it is, in the form of the release.
    async fn shown(&self, platform: &Platform, id: String) -> Answered {
        let decision = self.desk.get_order(&platform.caller(), ById { id }).await?;
        let found = matches!(decision.outcome, Outcome::Answer(_));
        let encoded = platform.answer(Operation::GetOrder, decision.outcome)?;
        let document = if found { founding(&encoded.document) } else { encoded.document };
        Ok((encoded.status, document))
    }

    /// Takes a step with an order. Whether there is one.
    async fn change(
        &self,
        platform: &Platform,
        id: &str,
        step: impl Fn(&mut Order) -> Result<(), Refused> + Send + Sync,
    ) -> Result<bool, Refused> {
        let ledger = &self.desk.ledger;
        for _ in 0..TRIES {
            let Some(Stored { mut document, version }) = ledger.order(platform.profile.as_str(), id).await? else {
                return Ok(false);
            };
            step(&mut document)?;
            let change = Change { order: Some(Stored { document, version }), ..Change::default() };
            if ledger.commit(change, None).await? == Committed::Done {
                return Ok(true);
            }
        }
        Err(Refusal::unavailable("Too many changes are made to this order at the same time.", 1).into())
    }
}

/// Adjustments in the form of the release: a positive amount, and quantities without a sign.
fn founding(document: &str) -> String {
    let Ok(mut order) = serde_json::from_str::<Value>(document) else { return document.to_owned() };
    for adjustment in order["adjustments"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        let totals = adjustment.remove("totals").unwrap_or_default();
        let total = totals.as_array().and_then(|totals| totals.iter().find(|total| total["type"] == "total"));
        if let Some(amount) = total.and_then(|total| total["amount"].as_i64()) {
            adjustment.insert("amount".to_owned(), amount.saturating_neg().into());
        }
        for line in adjustment.get_mut("line_items").and_then(Value::as_array_mut).into_iter().flatten() {
            line["quantity"] = line["quantity"].as_i64().unwrap_or_default().unsigned_abs().into();
        }
    }
    order.to_string()
}

/// What is read of an order that is sent back.
#[derive(Debug, Deserialize)]
struct StatedOrder {
    #[serde(default)]
    fulfillment: StatedFulfillment,
    #[serde(default)]
    adjustments: Vec<StatedAdjustment>,
}

#[derive(Debug, Default, Deserialize)]
struct StatedFulfillment {
    #[serde(default)]
    events: Vec<StatedEvent>,
}

#[derive(Debug, Deserialize)]
struct StatedEvent {
    id: String,
    occurred_at: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    line_items: Vec<StatedLine>,
    tracking_number: Option<String>,
    tracking_url: Option<String>,
    carrier: Option<String>,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct StatedAdjustment {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    occurred_at: Timestamp,
    status: AdjustmentStatus,
    #[serde(default)]
    line_items: Vec<StatedLine>,
    amount: Option<u32>,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct StatedLine {
    id: String,
    quantity: NonZeroU32,
}

impl StatedLine {
    fn quantity(&self, sign: i64) -> LineQuantity {
        LineQuantity { id: self.id.clone(), quantity: sign * i64::from(self.quantity.get()) }
    }
}

impl StatedOrder {
    fn add_to(&self, order: &mut Order) -> Result<(), Refused> {
        for event in &self.fulfillment.events {
            if order.events.iter().all(|known| known.id != event.id) {
                event.add_to(order)?;
            }
        }
        for stated in &self.adjustments {
            if order.adjustments.iter().any(|known| known.id == stated.id) {
                continue;
            }
            let total = |amount| Total { kind: TotalKind::Total, display_text: None, amount };
            order.adjustments.push(Adjustment {
                id: stated.id.clone(),
                kind: stated.kind.clone(),
                occurred_at: stated.occurred_at,
                status: stated.status,
                line_items: stated.line_items.iter().map(|line| line.quantity(-1)).collect(),
                totals: stated.amount.map(|amount| total(-i64::from(amount))).into_iter().collect(),
                description: stated.description.clone(),
            });
        }
        Ok(())
    }
}

impl StatedEvent {
    /// Goods that are sent or have arrived move the quantities of their lines, too.
    fn add_to(&self, order: &mut Order) -> Result<(), Refused> {
        let lines: Vec<_> = self.line_items.iter().map(|line| line.quantity(1)).collect();
        let before = order.events.len();
        match self.kind.as_str() {
            "shipped" => order.ship(self.occurred_at, &lines, Tracking::default())?,
            "delivered" => order.deliver(self.occurred_at, &lines)?,
            _ => {}
        }
        let lines = order.events.get(before).map_or(lines, |event| event.line_items.clone());
        order.events.truncate(before);
        order.events.push(Event {
            id: self.id.clone(),
            occurred_at: self.occurred_at,
            kind: self.kind.clone(),
            line_items: lines,
            tracking_number: self.tracking_number.clone(),
            tracking_url: self.tracking_url.clone(),
            carrier: self.carrier.clone(),
            description: self.description.clone(),
        });
        Ok(())
    }
}
