//! The gateway as it runs: what it was configured with, how its shop is opened from that, when the process starts, when
//! the configuration is read again, and while the shop is down.

use std::{
    error::Error,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use sd_notify::NotifyState;
use tokio::sync::Mutex;
use ucp_core::{ShopId, record::Tracer};
use ucp_postgres::Options;
use ucp_trust::keyring::Keyring;
use url::Url;

use crate::{
    backend::{DataDirectory, Down},
    clock,
    command::chain,
    config::{ServeOptions, Settings},
    decisions::Decisions,
    shop::{Shop, open_keyring},
    shops::Shops,
};

/// Seconds until the first further attempt to open a shop that is down; they double with each one, up to
/// [`LONGEST_PAUSE`].
const FIRST_PAUSE: u32 = 1;

/// Maximum number of seconds between two attempts.
const LONGEST_PAUSE: u32 = 60;

/// A running gateway.
#[derive(Debug)]
pub(crate) struct Running {
    options: ServeOptions,
    settings: RwLock<Arc<Settings>>,
    data: DataDirectory,
    /// URL under which clients on this machine reach the gateway, for a configuration without a public one.
    local_url: Url,
    pub(crate) shops: Shops,
    pub(crate) decisions: Decisions,
    /// Tracer of what no call asks for.
    tracer: Option<Arc<dyn Tracer>>,
    is_stopping: AtomicBool,
    /// Held while a shop is opened.
    opening: Mutex<()>,
    /// Seconds until the next attempt to open a shop that is down.
    pause: Arc<AtomicU32>,
}

impl Running {
    pub(crate) fn new(
        options: &ServeOptions,
        settings: Settings,
        data: DataDirectory,
        local_url: Url,
        decisions: Decisions,
        tracer: Option<Arc<dyn Tracer>>,
    ) -> Self {
        Self {
            options: options.clone(),
            settings: RwLock::new(Arc::new(settings)),
            data,
            local_url,
            shops: Shops::default(),
            decisions,
            tracer,
            is_stopping: AtomicBool::new(false),
            opening: Mutex::new(()),
            pause: Arc::new(AtomicU32::new(FIRST_PAUSE)),
        }
    }

    /// Returns the settings.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the content of the data directory.
    pub(crate) const fn data(&self) -> &DataDirectory {
        &self.data
    }

    /// Returns the URL under which clients reach the gateway.
    pub(crate) fn public_url(&self, settings: &Settings) -> Url {
        settings.sections.server.public_url.as_ref().map_or_else(|| self.local_url.clone(), |url| url.0.clone())
    }

    /// Notes that the process has been told to end.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the process has been told to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Opens the shop and serves it. A remote shop that is down is served with what it stated last, or else every call
    /// of it is refused; it is then opened in the background as soon as it answers.
    ///
    /// # Errors
    /// An error if the shop cannot be opened for another reason than that it is down.
    pub(crate) async fn begin(self: &Arc<Self>, keyring: Keyring) -> Result<Arc<Shop>, Box<dyn Error>> {
        let settings = self.settings();
        let shop = match self.open(&settings, keyring, false).await {
            Ok(shop) => shop,
            Err(error) if error.is::<Down>() => {
                tracing::warn!(error = &*error, "the shop is down, and nothing is known of it: calls are refused");
                let upstream = settings.upstream.as_ref();
                let name = upstream.and_then(|upstream| upstream.url.host_str()).unwrap_or_default().to_owned();
                let pause = Arc::clone(&self.pause);
                Shop::absent(name, &self.data, move || pause.load(Ordering::Relaxed))
            }
            Err(error) => return Err(error),
        };
        let shop = Arc::new(shop);
        self.shops.put(ShopId::default(), Arc::clone(&shop));
        if !shop.ready {
            tracing::warn!(shop = shop.name, "the gateway is not ready: the shop is down, and is tried again");
            let running = Arc::clone(self);
            tokio::spawn(async move { running.retry().await });
        }
        Ok(shop)
    }

    async fn open(&self, settings: &Settings, keyring: Keyring, live: bool) -> Result<Shop, Box<dyn Error>> {
        let tracer = self.tracer.clone();
        Shop::open(&self.data, settings, &self.public_url(settings), keyring, &self.decisions, tracer, live).await
    }

    /// Opens a shop that is down again until it answers, and serves it then.
    async fn retry(&self) {
        loop {
            let seconds = self.pause.load(Ordering::Relaxed);
            // Between half of the time and all of it, so that the gateways of one shop do not return together.
            let part = uuid::Uuid::new_v4().into_bytes()[0];
            tokio::time::sleep(Duration::from_secs(seconds.into()).mul_f64(0.5 + f64::from(part) / 512.0)).await;
            self.pause.store((seconds * 2).min(LONGEST_PAUSE), Ordering::Relaxed);
            let _turn = self.opening.lock().await;
            if self.shops.all().iter().all(|shop| shop.ready) {
                // It was opened with another configuration meanwhile.
                return;
            }
            let settings = self.settings();
            let opened = match open_keyring(&settings.sections.data) {
                Ok(keyring) => self.open(&settings, keyring, true).await,
                Err(error) => Err(error.into()),
            };
            match opened {
                Ok(shop) => {
                    tracing::info!(shop = shop.name, "the shop answers, and the gateway is ready");
                    self.shops.put(ShopId::default(), Arc::new(shop));
                    return;
                }
                Err(error) => {
                    tracing::warn!(error = &*error, "the shop cannot be opened yet, and is tried again");
                }
            }
        }
    }

    /// Reads the configuration again, opens the shop from it, and serves that in place of the one before, in which the
    /// calls under way end. Returns the keys whose new values hold from the next start on. The result is logged.
    ///
    /// # Errors
    /// All reasons why the new configuration cannot be used. The one before is used on.
    pub(crate) async fn reload(&self) -> Result<Vec<&'static str>, String> {
        // The service manager wants to know when the reload began.
        let begun = NotifyState::monotonic_usec_now().ok();
        tell_service_manager(&std::iter::once(NotifyState::Reloading).chain(begun).collect::<Vec<_>>());
        let reloaded = self.replace().await.map_err(|error| chain(&*error));
        tell_service_manager(&[NotifyState::Ready]);
        match &reloaded {
            Ok(late) => tracing::info!(from_next_start = late.join(", "), "the configuration was read again"),
            Err(problem) => {
                tracing::error!(problem, "the configuration cannot be used; the one before is used on");
            }
        }
        reloaded
    }

    async fn replace(&self) -> Result<Vec<&'static str>, Box<dyn Error>> {
        let _turn = self.opening.lock().await;
        let settings = Settings::resolve(&self.options, clock::now())?;
        let before = self.settings();
        let changed = |fixed: fn(&Settings) -> Vec<(&'static str, String)>| -> Vec<&'static str> {
            let pairs = fixed(&before).into_iter().zip(fixed(&settings));
            pairs.filter(|(one, other)| one != other).map(|((key, _), _)| key).collect()
        };
        if let [key, ..] = *changed(identity) {
            return Err(format!("`{key}` has another value, with which the gateway has to be started anew").into());
        }
        let keyring = open_keyring(&settings.sections.data)?;
        settings.check_keys(&keyring)?;
        let shop = self.open(&settings, keyring, true).await?;
        settings.log_warnings();
        let late = changed(process);
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.shops.put(ShopId::default(), Arc::new(shop));
        Ok(late)
    }
}

/// Tells systemd, if it has started the process, what is happening.
pub(crate) fn tell_service_manager(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told what is happening");
    }
}

/// Returns the keys that say which shop this is.
fn identity(settings: &Settings) -> Vec<(&'static str, String)> {
    let sections = &settings.sections;
    vec![
        ("data.dir", sections.data.dir.display().to_string()),
        ("data.database", settings.database.as_ref().map(Options::place).unwrap_or_default()),
        ("upstream.backend", format!("{:?}", sections.upstream.backend)),
    ]
}

/// Returns the keys that belong to the process and not to a shop.
fn process(settings: &Settings) -> Vec<(&'static str, String)> {
    let sections = &settings.sections;
    let server = &sections.server;
    vec![
        ("server.listen", server.listen.0.to_string()),
        ("server.admin_listen", format!("{:?}", server.admin_listen)),
        ("server.tls", format!("{:?}", settings.tls.as_ref().map(|tls| &tls.files))),
        ("server.max_connections", server.max_connections.count().to_string()),
        ("server.probes", server.probes.to_string()),
        ("server.drain_timeout_ms", format!("{:?}", settings.drain)),
        ("server.shutdown_delay_ms", server.shutdown_delay_ms.count().to_string()),
        ("data.cache_mb", format!("{:?}", settings.sections.data.cache_mb)),
        ("data.max_mb", format!("{:?}", settings.sections.data.max_mb)),
        ("data.min_free_mb", format!("{:?}", settings.sections.data.min_free_mb)),
        ("data.keep_unfinished_hours", sections.data.keep_unfinished_hours.count().to_string()),
        ("data.keep_completed_hours", sections.data.keep_completed_hours.count().to_string()),
        ("data.keep_addresses_days", format!("{:?}", sections.data.keep_addresses_days)),
        ("log", format!("{:?}", settings.sections.log)),
        ("telemetry", format!("{:?}", settings.sections.telemetry)),
        ("events", format!("{:?}", settings.sections.events)),
    ]
}
