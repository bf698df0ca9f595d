//! Backend for shops that speak UCP themselves: the bridge to the shop, the gateway's profiles as a platform, and the
//! endpoint for the shop's webhook events about orders.

use std::{error::Error, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use http::{HeaderMap, header};
use tokio::task::JoinSet;
use ucp_bridge::{
    Bridge, Options, Token,
    following::Looked,
    platform::{ORDERS_PATH, beside, profile, profile_path},
    profile::Transport,
    webhook::ShopWebhook,
};
use ucp_config::{Number, Transport as StatedTransport};
use ucp_core::{
    Refusal, Release,
    ports::{
        ShopPort, UcpUpstream as _,
        agenda::{Claimed, Next},
        outbox::WebhookMessage,
        store::{Forwarded, Store},
    },
};
use ucp_net::coalescing::Capacity;
use ucp_rest::error;
use ucp_service::signing::CurrentKey;
use ucp_trust::{jwk::PublicKey, signature::RequestLine};
use ucp_wire::{dialect::Occasion, relay, releases::dialect};
use url::Url;

use super::{Opened, RemotePlace, Statement, chance, down, monotonic, reached};
use crate::{
    address::scheme,
    clock,
    webhook_ingress::{NOTICES, WebhookIngress},
};

/// Interval at which the shop's profile is checked for changes, in addition to the checks that calls make.
const LOOK_AFTER: Duration = Duration::from_secs(300);

/// `Cache-Control` of the gateway's profiles as a platform: 300 seconds.
const CACHE_CONTROL: &str = "public, max-age=300";

/// Opens the bridge to the shop, for which the shop's profile is fetched.
pub(super) async fn open(place: &RemotePlace<'_>) -> Result<Opened, Box<dyn Error>> {
    let (upstream, section) = (place.upstream, &place.settings.sections.upstream);
    let signing_key = Arc::clone(place.signing_key);
    let options = Options {
        call: call(place),
        transport: section.transport.map(|wanted| match wanted {
            StatedTransport::Rest => Transport::Rest,
            StatedTransport::Mcp => Transport::Mcp,
        }),
        release: upstream.release,
        token: upstream.token.as_ref().map(|token| Token::new(token.reveal())),
        most_ids: section.max_lookup_ids.map(Number::count),
        origins: section.origins.iter().map(|url| url.0.origin()).collect(),
        cache: Capacity { bytes: section.cache_mb.bytes(), ..Capacity::default() },
        base: place.base.to_owned(),
        key: Arc::new(move || signing_key.get()),
        now: Arc::new(clock::timestamp),
        ledger: Arc::clone(place.store) as _,
        owners: Arc::clone(place.store) as _,
        last: place.last.clone(),
    };
    let opened = Bridge::open(options, monotonic(), chance()).await;
    let bridge = opened.map_err(|error| down(error.is_passing(), error))?;
    let handlers = bridge.payment_handlers();
    let endpoint = Arc::new(PlatformEndpoint {
        bridge: bridge.clone(),
        store: Arc::clone(place.store),
        base: Url::parse(place.base)?,
        signing_key: Arc::clone(place.signing_key),
        webhook_ingress: WebhookIngress::new(place.settings, place.bodies, NOTICES),
    });
    let (watched, stated, mut tasks) = (bridge.clone(), bridge.clone(), JoinSet::new());
    tasks.spawn(async move {
        loop {
            tokio::time::sleep(LOOK_AFTER).await;
            watched.refresh().await;
        }
    });
    let name = upstream.url.host_str().unwrap_or_default().to_owned();
    let (counters, router, shop) = (Some(bridge.counters()), router(&endpoint), Arc::new(bridge.clone()));
    let statement: Statement = Arc::new(move || stated.document());
    let opened = Opened::new(name, ShopPort::Upstream(shop), handlers);
    Ok(Opened { counters, statement: Some(statement), bridge: Some(bridge), router, tasks, ..opened })
}

/// Returns the connection options of the shop. The head of a response may take as long as the whole call, because the
/// configured timeouts are those of whole calls.
fn call(place: &RemotePlace<'_>) -> ucp_net::Options {
    let mut call = reached("ucp", place.settings, &place.upstream.url);
    for limits in [&mut call.timeouts.read, &mut call.timeouts.write, &mut call.timeouts.conclude] {
        limits.answer = limits.total;
    }
    call
}

/// State of the routes that the shop calls: the endpoint for webhook events, and the gateway's profiles as a platform.
struct PlatformEndpoint {
    bridge: Bridge,
    store: Arc<dyn Store>,
    base: Url,
    signing_key: Arc<CurrentKey>,
    webhook_ingress: WebhookIngress,
}

fn router(endpoint: &Arc<PlatformEndpoint>) -> Router {
    let mut router = Router::new().route(ORDERS_PATH, post(orders));
    for release in Release::ALL.iter().copied() {
        let plain = move |State(endpoint): State<Arc<PlatformEndpoint>>| async move { endpoint.profile(release, None) };
        let of_platform = move |State(endpoint): State<Arc<PlatformEndpoint>>, Path(platform): Path<String>| async move {
            endpoint.profile(release, Some(&platform))
        };
        router = router
            .route(&profile_path(release, None), get(plain))
            .route(&profile_path(release, Some("{platform}")), get(of_platform));
    }
    router.with_state(Arc::clone(endpoint))
}

impl PlatformEndpoint {
    /// Encodes the profile of the gateway as a platform. With the name of a platform it declares mandates, and includes
    /// the keys of that platform.
    fn profile(&self, release: Release, platform: Option<&str>) -> Response {
        let own = self.signing_key.published().iter().filter_map(PublicKey::to_jwk).collect();
        let theirs = platform.and_then(|platform| self.bridge.platform_keys(platform)).unwrap_or_default();
        let keys = beside(own, theirs.iter().cloned());
        let base = self.base.as_str().trim_end_matches('/');
        let profile = profile(release, platform.is_some(), base, &keys, Some(&format!("{base}{ORDERS_PATH}")));
        let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, CACHE_CONTROL)];
        (headers, profile.to_string()).into_response()
    }

    /// Accepts a webhook event about an order, and queues the event for the platform that placed the order. The queued
    /// event is on disk when this returns. Fails with [`Refusal`] if the header or the signature is refused, a limit is
    /// exceeded, the body is not an order of a known platform, or the event cannot be stored.
    async fn take(&self, request: Request) -> Result<(), Refusal> {
        let open = async |head, headers: HeaderMap, body: Bytes| {
            let path = format!("{}{ORDERS_PATH}", self.base.path().trim_end_matches('/'));
            let (scheme, authority) = (scheme(&self.base), self.base.authority());
            let line = RequestLine { method: "POST", scheme, authority, path: &path, query: None };
            Ok((self.bridge.verify(head, line, &headers, &body).await?, body))
        };
        let heard = self.webhook_ingress.take_heard(request, |headers| self.bridge.heard(headers), open);
        let ((proven, body), _place) = heard.await?;
        let webhook = self.bridge.told(proven, &body).await?;
        let (id, order, state) = (webhook.id.clone(), webhook.order.clone(), webhook.state.clone());
        let new = hand_on(&*self.store, webhook).await?;
        self.bridge.follow(&order, state).await?;
        tracing::debug!(webhook.id = id, new, "order event received");
        Ok(())
    }
}

/// Queues a webhook event of the shop for the platform that placed the order. Returns `true` if it is new.
async fn hand_on(store: &dyn Store, webhook: ShopWebhook) -> Result<bool, Refusal> {
    let ShopWebhook { id, owner, order, body, .. } = webhook;
    let at = clock::timestamp();
    let document = relay::webhook_event(dialect(owner.release), body, &Occasion { id: &id, at });
    let webhook_message = WebhookMessage { release: owner.release, body: document.into_bytes() };
    Ok(store.forward(Forwarded { id, owner: owner.platform, order_id: order, webhook_message, at }).await?)
}

/// Asks the shop what has become of an order, and tells its platform what is new.
pub(crate) async fn look_after(bridge: &Bridge, store: &dyn Store, task: &Claimed) -> Result<Next, Refusal> {
    let Looked { webhook, next } = bridge.look_after(task).await?;
    if let Some(webhook) = webhook {
        let state = webhook.state.clone();
        hand_on(store, webhook).await?;
        // This plans the next question, too.
        bridge.follow(&task.key, state).await?;
    }
    Ok(next)
}

async fn orders(State(endpoint): State<Arc<PlatformEndpoint>>, request: Request) -> Response {
    match endpoint.take(request).await {
        Ok(()) => {
            let version = endpoint.bridge.release().date();
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, serde_json::json!({ "ucp": { "version": version } }).to_string()).into_response()
        }
        Err(refusal) => {
            tracing::info!(code = %refusal.code, reason = refusal.content, "order event rejected");
            error::answer(endpoint.bridge.release(), &refusal)
        }
    }
}
