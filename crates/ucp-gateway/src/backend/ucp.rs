//! A shop that speaks UCP itself: the bridge to it, the gateway's profile as a platform, and what the shop tells about
//! orders.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderMap, StatusCode, header};
use ucp_core::{
    Refusal, Release,
    order::outbox::Letter,
    port::{Relay as _, Shop},
};
use ucp_proxy::{
    bridge::{
        Bridge, Options, Token,
        owners::{Kind, Owner, Owners},
        platform::{ORDERS_PATH, profile, profile_path},
        profile::Transport,
        webhook::Notice,
    },
    resilience::{self, shared::Capacity},
};
use ucp_service::gate::CurrentKey;
use ucp_store::{Books, relayed};
use ucp_trust::{
    jwk::PublicKey,
    signature::{RequestLine, Scheme},
};
use ucp_wire::{
    dialect::{Occasion, dialect},
    relay,
};
use url::Url;

use super::{Opened, Place, chance, monotonic, reached};
use crate::{
    clock,
    config::upstream::{Transport as Wanted, UpstreamKind},
};

/// The largest notice about an order that is read, in bytes.
const MAX_NOTICE: usize = 1 << 20;

/// For how long others may remember the profile of the gateway as a platform.
const CACHE_CONTROL: &str = "public, max-age=300";

/// Opens the bridge to the shop, which is asked who it is.
pub(super) async fn open(place: &Place<'_>) -> Result<Opened, Box<dyn Error>> {
    let upstream = place.upstream;
    let (transport, release) = match &upstream.kind {
        UpstreamKind::Ucp { transport, release } => (*transport, *release),
        UpstreamKind::Shopify { .. } => (None, None),
    };
    let books = Books::new(Arc::clone(place.database));
    let signing_key = Arc::clone(place.signing_key);
    let options = Options {
        call: call(place),
        transport: transport.map(|wanted| match wanted {
            Wanted::Rest => Transport::Rest,
            Wanted::Mcp => Transport::Mcp,
        }),
        release,
        token: upstream.token.as_ref().map(|token| Token::new(token.reveal())),
        most_ids: upstream.max_lookup_ids,
        cache: Capacity { bytes: u64::from(upstream.cache_mb) << 20, ..Capacity::default() },
        base: place.base.to_owned(),
        key: Arc::new(move || signing_key.get()),
        now: Arc::new(clock::timestamp),
        ledger: Arc::new(books.clone()),
        owners: Arc::new(Remembered(books.clone())),
    };
    let bridge = Bridge::open(options, monotonic(), chance()).await?;
    let handlers = bridge.payment_handlers();
    let desk = Arc::new(Desk {
        bridge: bridge.clone(),
        books,
        base: Url::parse(place.base)?,
        signing_key: Arc::clone(place.signing_key),
    });
    Ok(Opened {
        name: upstream.url.host_str().unwrap_or_default().to_owned(),
        shop: Shop::Relayed(Arc::new(bridge)),
        handlers,
        desk: None,
        router: router(&desk),
    })
}

/// How the shop is called: whoever says how long a call may take means all of it.
fn call(place: &Place<'_>) -> resilience::Options {
    let mut call = reached("ucp", place);
    for limits in [&mut call.patience.read, &mut call.patience.write, &mut call.patience.conclude] {
        limits.answer = limits.total;
    }
    call
}

/// Owners, in the books.
struct Remembered(Books);

#[async_trait]
impl Owners for Remembered {
    async fn owner(&self, kind: Kind, id: &str) -> Result<Option<Owner>, Refusal> {
        let found = self.0.relayed_owner(kind.as_str(), id).await?;
        Ok(found.map(|relayed::Owner { platform, release }| Owner { platform, release }))
    }

    async fn claim(&self, kind: Kind, id: &str, owner: &Owner) -> Result<Owner, Refusal> {
        let Owner { platform, release } = owner.clone();
        let claimant = relayed::Owner { platform, release };
        let relayed::Owner { platform, release } =
            self.0.relayed_claim(kind.as_str(), id, &claimant, clock::timestamp()).await?;
        Ok(Owner { platform, release })
    }
}

/// What the shop finds at the gateway.
struct Desk {
    bridge: Bridge,
    books: Books,
    base: Url,
    signing_key: Arc<CurrentKey>,
}

fn router(desk: &Arc<Desk>) -> Router {
    let mut router = Router::new().route(ORDERS_PATH, post(orders)).layer(DefaultBodyLimit::max(MAX_NOTICE));
    for release in Release::ALL.iter().copied() {
        for mandates in [false, true] {
            let show = move |State(desk): State<Arc<Desk>>| async move { desk.profile(release, mandates) };
            router = router.route(&profile_path(release, mandates), get(show));
        }
    }
    router.with_state(Arc::clone(desk))
}

impl Desk {
    /// The profile of the gateway as a platform.
    fn profile(&self, release: Release, mandates: bool) -> Response {
        let keys: Vec<_> = self.signing_key.published().iter().filter_map(PublicKey::to_jwk).collect();
        let profile = profile(release, mandates, self.base.as_str().trim_end_matches('/'), &keys);
        let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, CACHE_CONTROL)];
        (headers, profile.to_string()).into_response()
    }

    /// Takes a notice about an order and queues what its platform is told. Once it is answered, it is on disk.
    async fn take(&self, headers: &HeaderMap, body: &Bytes) -> Result<(), Refusal> {
        let path = format!("{}{ORDERS_PATH}", self.base.path().trim_end_matches('/'));
        let scheme = if self.base.scheme() == "https" { Scheme::Https } else { Scheme::Http };
        let line = RequestLine { method: "POST", scheme, authority: self.base.authority(), path: &path, query: None };
        let Notice { id, owner, order, body } = self.bridge.told(line, headers, body).await?;
        let at = clock::timestamp();
        let document = relay::notice(dialect(owner.release), body, &Occasion { id: &id, at });
        let letter = Letter { release: owner.release, body: document.into_bytes() };
        let new =
            self.books.forward(relayed::Forwarded { id: id.clone(), owner: owner.platform, order, letter, at }).await?;
        tracing::debug!(webhook.id = id, new, "the shop told about an order");
        Ok(())
    }
}

async fn orders(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    match desk.take(&headers, &body).await {
        Ok(()) => {
            let version = desk.bridge.release().date();
            (json, serde_json::json!({ "ucp": { "version": version } }).to_string()).into_response()
        }
        Err(refusal) => {
            tracing::info!(code = %refusal.code, reason = refusal.content, "a notice about an order is not taken");
            let refused = dialect(desk.bridge.release()).refuse(&refusal);
            let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, json, refused.body).into_response()
        }
    }
}
