//! Backend for shops that implement the backend contract over HTTP, in any language.

use std::{error::Error, sync::Arc, time::Duration};

use bytes::Bytes;
use ucp_config::{Settings, Upstream};
use ucp_contract::{
    ContractShop, Transport,
    http::{Credential, HttpShop, SigningSecret},
    orders::ShopOrders,
    shop::RENEWAL,
};
use ucp_core::ports::{Completion, OrderInbox, remote_cart::RemoteCart as _};
use ucp_net::coalescing::Capacity;

use super::{Opened, RemotePlace, chance, down, monotonic, reached, synchronised};
use crate::clock;

/// Time that a request may need to arrive after the gateway has given it up.
const LATE: Duration = Duration::from_secs(5);

pub(super) async fn open(place: &RemotePlace<'_>) -> Result<Opened, Box<dyn Error>> {
    let transport = transport(place.settings, place.upstream)?;
    open_by(place, Arc::new(transport), secret(place.upstream)).await
}

/// Returns the secret that the gateway shares with the shop.
pub(super) fn secret(upstream: &Upstream) -> Option<SigningSecret> {
    upstream.signing_secret.as_ref().map(|secret| SigningSecret::new(secret.reveal()))
}

/// Returns the configured shop.
pub(super) fn transport(settings: &Settings, upstream: &Upstream) -> Result<HttpShop, Box<dyn Error>> {
    let secret = secret(upstream);
    let credential = match (&secret, &upstream.token) {
        (Some(secret), _) => Credential::Signing(secret.clone()),
        (None, Some(token)) => Credential::bearer(token.reveal())?,
        (None, None) => Credential::None,
    };
    let options = reached("http", settings, &upstream.url);
    Ok(HttpShop::new(&options, credential, monotonic(), chance(), Arc::new(clock::timestamp))?)
}

/// Asks a shop what it is. If it is down, what it stated last is used.
pub(super) async fn connect(
    settings: &Settings,
    transport: Arc<dyn Transport>,
    last: Option<Bytes>,
) -> Result<ContractShop, Box<dyn Error>> {
    // There are two caches.
    let capacity = Capacity { bytes: settings.sections.upstream.cache_mb.bytes() / 2, ..Capacity::default() };
    let connected = ContractShop::connect(transport, capacity, monotonic(), Arc::new(clock::timestamp), last);
    let upstream = &settings.sections.upstream;
    let lost = Duration::from_secs(upstream.lost_attempt_s.count() as u64);
    let place_deadline = lost.max(upstream.complete_timeout_ms.time() + LATE);
    let connected = connected.await.map_err(|error| down(error.is_passing(), error))?;
    Ok(connected.placing_within(place_deadline))
}

/// Opens a shop that answers the questions of the contract, and signs its events with `secret`.
pub(super) async fn open_by(
    place: &RemotePlace<'_>,
    transport: Arc<dyn Transport>,
    secret: Option<SigningSecret>,
) -> Result<Opened, Box<dyn Error>> {
    let shop = connect(place.settings, transport, place.last.clone()).await?;
    let upstream_secret = secret.clone();
    let inbox: Arc<dyn OrderInbox> = Arc::new(ShopOrders::new(shop.clone(), secret, Arc::new(clock::timestamp)));
    let (ways, capabilities) = (inbox.ways(), shop.capabilities());
    if !ways.tells && !ways.finds && capabilities.completion == Completion::HandOff && capabilities.purchases {
        tracing::warn!(
            "upstream sends no order events: checkouts paid on its pages are `canceled` when they expire; set `upstream.signing_secret_file` to a file with a shared secret, or state `finds_orders`, or `order` or `order_event` of a mapping"
        );
    }
    let (counters, stated, declarations) = (Arc::clone(shop.counters()), shop.clone(), shop.declarations());
    let (renewed, copied) = (shop.clone(), shop.clone());
    let statement = Arc::new(move || stated.document());
    let mut opened = Opened::of_remote_carts(place, shop, declarations, Some(inbox), counters, statement);
    opened.tasks.spawn(async move {
        loop {
            tokio::time::sleep(RENEWAL).await;
            renewed.renew().await;
        }
    });
    match (&place.settings.catalog, upstream_secret) {
        (Some(catalog), secret) => {
            synchronised::before_shop(&mut opened, place, catalog, copied, secret).await?;
        }
        (None, Some(secret)) => {
            let router = std::mem::take(&mut opened.router);
            opened.router = router.merge(synchronised::events_of(copied, secret, place));
        }
        (None, None) => {}
    }
    Ok(opened)
}
