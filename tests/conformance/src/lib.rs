//! A reverse proxy through which a gateway passes the official conformance suite of the Universal Commerce Protocol.
//!
//! The suite speaks one release at the root and expects the statuses, texts and shortcuts of its own sample server. The
//! shim translates them into calls of the gateway's endpoint of that release and of its admin endpoint, and depends on
//! none of the gateway's crates.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `checkout` | requests and answers about checkouts |
//! | `order` | orders as webhooks bring them, and the steps that a changed order asks for |
//! | `platform` | the caller behind `UCP-Agent`, its profile and its webhook |
//! | `gateway` | calls of the gateway |
//! | `release` | the releases, and what differs between the suite's states for them |
//! | `refusal` | errors as the sample server words them |

mod checkout;
mod gateway;
mod order;
mod platform;
mod refusal;
mod release;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use self::{
    checkout::Addresses,
    gateway::{Gateway, Request},
    order::{Orders, StatedOrder, Step},
    platform::{Caller, Platforms},
    refusal::{Refusal, answer},
};

pub use self::release::Release;

const CHECKOUTS: &str = "/checkout-sessions";

/// Settings of a shim.
#[derive(Clone, Debug)]
pub struct Options {
    /// The release that the suite speaks.
    pub release: Release,
    /// The public address of the gateway.
    pub gateway: Url,
    /// The address of its admin endpoint.
    pub admin: Url,
    /// The token of the admin endpoint.
    pub admin_token: String,
    /// The value of `Simulation-Secret` that allows simulations; without one they are refused.
    pub simulation_secret: Option<String>,
}

struct Shim {
    release: Release,
    url: String,
    gateway: Gateway,
    platforms: Platforms,
    orders: Orders,
    addresses: Mutex<Addresses>,
    simulation_secret: Option<String>,
}

type Answer = Result<Response, Refusal>;

/// Serves the suite on `listener`, without end.
///
/// # Errors
/// If the listener has no address, fails, or no HTTP client can be built.
pub async fn serve(listener: TcpListener, options: Options) -> io::Result<()> {
    let url = format!("http://{}", listener.local_addr()?);
    let client = reqwest::Client::builder().no_proxy().timeout(gateway::TIMEOUT).build().map_err(io::Error::other)?;
    let shim = Shim {
        release: options.release,
        gateway: Gateway::new(client.clone(), options.release, &options.gateway, &options.admin, options.admin_token),
        platforms: Platforms::new(client, options.release, url.clone()),
        orders: Orders::default(),
        addresses: Mutex::default(),
        simulation_secret: options.simulation_secret.filter(|secret| !secret.is_empty()),
        url,
    };
    let router = Router::new()
        .route("/.well-known/ucp", get(profile))
        .route(CHECKOUTS, post(checkout))
        .route("/checkout-sessions/{*rest}", any(checkout))
        .route("/orders/{id}", get(order).put(change))
        .route("/testing/simulate-shipping/{id}", post(ship))
        .route(platform::PROFILE, get(platform_profile))
        .route(platform::WEBHOOK, post(webhook))
        .with_state(Arc::new(shim));
    axum::serve(listener, router).await
}

/// The gateway's profile of the release, with the shim as its REST endpoint.
async fn profile(State(shim): State<Arc<Shim>>) -> Answer {
    let (status, document) = shim.gateway.get("/.well-known/ucp").await?;
    Ok(answer(status, &shim.release.present(document, &shim.url)))
}

/// Hands a call about a checkout on, and tells what became of it as the sample server would.
async fn checkout(State(shim): State<Arc<Shim>>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    let caller = shim.caller(&headers)?;
    let mut request = Request::new(&method, uri.path(), &shim.platforms.agent(&caller), &headers, body);
    let completes = uri.path().ends_with("/complete");
    let before = if method == Method::PUT { Some(shim.gateway.call(&request.read()).await?.1) } else { None };
    let mut stated = request.document();
    checkout::take_card(&mut stated);
    checkout::leave_out_empty(&mut stated);
    if let Some(before) = &before {
        checkout::keep(shim.release.kept(), &mut stated, before);
        checkout::leave_out_unknown(&mut stated, before);
    }
    shim.addresses().offer(&mut stated);
    request.replace(&stated);
    let (status, document) = shim.gateway.call(&request).await?;
    let refusal = if completes && status.is_success() {
        checkout::incomplete(&document)
    } else if (before.is_some() || uri.path() == CHECKOUTS) && !shim.release.accepts_outcomes() {
        checkout::unavailable(&document)
    } else {
        None
    };
    if let Some(refusal) = refusal {
        // The sample server changes nothing then; the gateway has put fewer into the checkout.
        if let Some(before) = before.filter(|_| status.is_success()) {
            shim.gateway.call(&request.undo(&before)).await?;
        }
        return Err(refusal);
    }
    if let Some(id) = document["order"]["id"].as_str().filter(|_| completes) {
        shim.orders.wait(&caller, id, 1).await?;
    }
    shim.addresses().remember(&stated, &document);
    Ok(answer(status, &checkout::completed(shim.release, document, status)))
}

/// The newest version of an order: the gateway's, where the release has orders.
async fn order(State(shim): State<Arc<Shim>>, uri: Uri, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    let caller = shim.caller(&headers)?;
    if !shim.release.has_orders() {
        return Ok(answer(StatusCode::OK, &shim.orders.get(&caller, &id)?));
    }
    let agent = shim.platforms.agent(&caller);
    let request = Request::new(&Method::GET, uri.path(), &agent, &headers, Bytes::new());
    let (status, document) = shim.gateway.call(&request).await?;
    Ok(answer(status, &document))
}

/// Takes the steps that a changed order asks for. Events and adjustments are only ever added.
async fn change(State(shim): State<Arc<Shim>>, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Answer {
    let caller = shim.caller(&headers)?;
    shim.orders.get(&caller, &id)?;
    let stated: StatedOrder = serde_json::from_slice(&body).map_err(Refusal::unprocessable)?;
    for (entry, step) in stated.steps()? {
        if shim.orders.is_new(&caller, &id, &entry) {
            shim.step(&caller, &id, &step).await?;
            shim.orders.note(&caller, &id, entry);
        }
    }
    Ok(answer(StatusCode::OK, &order::with_amounts(shim.orders.get(&caller, &id)?)))
}

/// Ships what is left of an order, for callers with the secret.
async fn ship(State(shim): State<Arc<Shim>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    let presented = headers.get("simulation-secret").map(http::HeaderValue::as_bytes);
    if shim.simulation_secret.as_deref().is_none_or(|secret| presented != Some(secret.as_bytes())) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "`Simulation-Secret` must be the secret of this shim."));
    }
    shim.step(&shim.caller(&headers)?, &id, &Step::ship_all()).await?;
    Ok(answer(StatusCode::OK, &json!({ "status": "shipped" })))
}

/// The profile that the gateway fetches of a caller.
async fn platform_profile(State(shim): State<Arc<Shim>>, RawQuery(query): RawQuery) -> Response {
    answer(StatusCode::OK, &shim.platforms.profile(&Caller::of_query(query.as_deref())))
}

/// Takes a webhook of the gateway and tells the caller, once.
async fn webhook(State(shim): State<Arc<Shim>>, RawQuery(query): RawQuery, headers: HeaderMap, body: Bytes) -> Answer {
    let caller = Caller::of_query(query.as_deref());
    let order: Value = serde_json::from_slice(&body).map_err(Refusal::unprocessable)?;
    let id = headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    if let Some(event) = shim.orders.put(&caller, id, &order) {
        shim.platforms.tell(&caller, event, &order).await;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl Shim {
    fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        Caller::read(self.release, headers)
    }

    fn addresses(&self) -> std::sync::MutexGuard<'_, Addresses> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a step with an order of `caller`, and waits for the webhook about it.
    async fn step(&self, caller: &Caller, id: &str, step: &Step) -> Result<(), Refusal> {
        let versions = self.orders.versions(caller, id)?;
        self.gateway.step(id, step.name, &step.details).await?;
        self.orders.wait(caller, id, versions + 1).await
    }
}
