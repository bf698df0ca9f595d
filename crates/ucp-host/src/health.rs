//! Liveness and readiness of the gateway, for whoever sends requests to it or restarts it.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::get,
};
use futures_util::future::join_all;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{cause::chain, files::StoragePlace, running::Running};

/// Path of the answer whether the process is alive.
pub const LIVENESS: &str = "/livez";

/// Path of the answer whether requests should be sent here.
pub const READINESS: &str = "/readyz";

/// Time for which a result is told again, however often it is asked for.
const KEPT: Duration = Duration::from_secs(1);

/// Maximum time of all checks together.
const PATIENCE: Duration = Duration::from_secs(2);

/// Minimum free space in the data directory, in bytes.
const ROOM: u64 = 32 << 20;

/// Reasons why the gateway is not ready, by the part that they are about. There are none if it is.
type Reasons = BTreeMap<&'static str, String>;

/// The checks of a gateway. Clones share one state.
#[derive(Clone, Debug)]
pub struct Health(Arc<HealthState>);

#[derive(Debug)]
struct HealthState {
    running: Arc<Running>,
    last: Mutex<Option<(Instant, Reasons)>>,
}

impl Health {
    /// Creates the checks of a gateway.
    pub fn new(running: Arc<Running>) -> Self {
        Self(Arc::new(HealthState { running, last: Mutex::new(None) }))
    }

    /// Builds the routes. `reasons` is `true` if callers are told why the gateway is not ready.
    pub fn router(self, reasons: bool) -> Router {
        let ready = async move |State(health): State<Self>| {
            let found = health.reasons().await;
            let status = if found.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            let mut body = json!({ "ready": found.is_empty() });
            if reasons {
                body["reasons"] = json!(found);
            }
            answer(status, &body)
        };
        Router::new()
            .route(LIVENESS, get(async || answer(StatusCode::OK, &json!({ "live": true }))))
            .route(READINESS, get(ready))
            .with_state(self)
    }

    /// Returns why the gateway is not ready, as of a moment ago.
    pub async fn reasons(&self) -> Reasons {
        if self.0.running.is_stopping() {
            return Reasons::from([("shutdown", "the gateway is shutting down".to_owned())]);
        }
        let mut last = self.0.last.lock().await;
        if let Some((since, reasons)) = &*last
            && since.elapsed() < KEPT
        {
            return reasons.clone();
        }
        let late = |_| Reasons::from([("store", format!("the checks take longer than {PATIENCE:?}"))]);
        let reasons = tokio::time::timeout(PATIENCE, self.check()).await.unwrap_or_else(late);
        *last = Some((Instant::now(), reasons.clone()));
        reasons
    }

    /// Checks that what is stored can be read: for at least one of several shops, because one whose database is away keeps
    /// nobody from the others.
    async fn stores(&self) -> Result<(), String> {
        let running = &self.0.running;
        let used: BTreeSet<_> = running.shops.all().iter().map(|slot| StoragePlace::of(&slot.settings)).collect();
        let open = running.files.stores();
        let asked = used.iter().map(async |place| {
            let Some(store) = open.get(place) else { return Err(format!("{place} is not open yet")) };
            match tokio::time::timeout(PATIENCE / 2, store.newest_orders(1)).await {
                Ok(read) => read.map(drop).map_err(|error| chain(&error)),
                Err(_) => Err(format!("{place} does not answer within {:?}", PATIENCE / 2)),
            }
        });
        let results = join_all(asked).await;
        if results.iter().any(Result::is_ok) { Ok(()) } else { results.into_iter().collect() }
    }

    /// Returns why webhooks cannot be sent: platforms have been told of orders, or wait for it, and there is no key to sign with,
    /// as after a restore without the keys. A developer's trial needs none.
    async fn unsigned(&self) -> Option<String> {
        let slot = self.0.running.shops.single().filter(|slot| !slot.is_development())?;
        let shop = slot.shop().filter(|_| !slot.can_sign())?;
        let told = shop.store.webhook_events(1).await.is_ok_and(|events| !events.is_empty());
        told.then(|| {
            format!(
                "there is no signing key, and platforms expect signed webhooks about their orders: put the keys of the gateway back into \
                 {}, or make one with `ucp-gateway keys generate`",
                slot.settings.keys().display()
            )
        })
    }

    async fn check(&self) -> Reasons {
        let mut reasons = Reasons::new();
        // One of several shops that is down keeps nobody from the others.
        if let Some(slot) = self.0.running.shops.single() {
            if slot.shop().is_some_and(|shop| !shop.ready) {
                reasons.insert("upstream", "the upstream is down; the gateway retries until it responds".to_owned());
            }
            if slot.data().and_then(|data| data.products().cloned()).is_some_and(|shop| !shop.is_searchable()) {
                reasons.insert("index", "the search index is being built".to_owned());
            }
        }
        if let Err(reason) = self.stores().await {
            reasons.insert("store", reason);
        }
        if let Some(reason) = self.unsigned().await {
            reasons.insert("keys", reason);
        }
        let inner = Arc::clone(&self.0);
        let files = tokio::task::spawn_blocking(move || [("disk", inner.disk()), ("keys", inner.keys())]).await;
        for (part, problem) in files.into_iter().flatten() {
            if let Err(problem) = problem {
                reasons.insert(part, chain(&*problem));
            }
        }
        reasons
    }
}

impl HealthState {
    fn disk(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        for (path, store) in self.running.files.directories() {
            let directory = path.display();
            if !store.is_in_place() {
                return Err(format!("the database in the data directory {directory} was removed or replaced").into());
            }
            let system = rustix::fs::statvfs(&*path)?;
            if system.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
                return Err(format!("the data directory {directory} is read-only").into());
            }
            let free = system.f_bavail.saturating_mul(system.f_frsize);
            if free < ROOM {
                return Err(format!("the data directory {directory} has {free} bytes left, {ROOM} are needed").into());
            }
            // What the numbers do not tell: quotas, file systems without inodes, disks that fail.
            write(&path)
                .map_err(|error| format!("nothing can be written in the data directory {directory}: {error}"))?;
        }
        Ok(())
    }

    fn keys(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self.running.shops.single() {
            Some(slot) => slot.keyring().map(drop).map_err(|error| chain(&*error).into()),
            None => Ok(()),
        }
    }
}

/// Writes a file in a directory, and removes it.
fn write(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!(".ready-{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    let written = file.write_all(&[0; 4_096]);
    written.and(fs::remove_file(&path))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, Body::from(body.to_string())).into_response()
}
