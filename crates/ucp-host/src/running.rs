//! The gateway as it runs: what it was configured with, and how its shops are made from that, when the process starts and
//! when the configuration is read again.

use std::{
    error::Error,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use sd_notify::NotifyState;
use tokio::sync::Mutex;
use ucp_config::{ConfigError, Configuration, Process, ServeOptions, Settings};
use ucp_core::Refusal;
use ucp_postgres::Options;
use url::Url;

use crate::{
    backend::DataDirectory,
    cause::chain,
    clock,
    decisions::Decisions,
    files::Files,
    machine::{Claims, InUse},
    openings::{Opener, Openings},
    pages::Pages,
    pool::Pool,
    shop::Shop,
    shops::Shops,
    slot::Slot,
};

/// Reason why a new configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// It is invalid.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// It has several shops and the one before has not, or the other way round.
    #[error("`shop`: from one shop to several, and back, the gateway has to be started anew")]
    Several,
    /// Shops cannot be served with it, each for its reason.
    #[error("{}", .0.join("\n"))]
    Shops(Vec<String>),
    /// Another machine uses one of its data directories.
    #[error(transparent)]
    InUse(#[from] InUse),
}

/// A running gateway.
#[derive(Debug)]
pub struct Running {
    options: ServeOptions,
    configuration: RwLock<Arc<Configuration>>,
    /// Data directories that this machine uses.
    claims: Claims,
    /// Open places of storage.
    pub files: Arc<Files>,
    /// URL under which clients on this machine reach the gateway, for a configuration without a public one.
    local_url: Url,
    /// Its shops.
    pub shops: Shops,
    /// Decisions about the process; those about a shop are with the shop.
    pub decisions: Decisions,
    pool: Pool,
    openings: Openings,
    is_stopping: AtomicBool,
    /// Held while the configuration is read again.
    reloading: Mutex<()>,
}

impl Running {
    /// Creates a gateway with the shops of a configuration, none of which is open yet; `data` is the data of the only
    /// one, if that is open. Fails with an error if the decisions about one of them cannot be read, or its keys are not
    /// in order.
    pub fn new(
        options: &ServeOptions,
        configuration: Configuration,
        claims: Claims,
        files: Arc<Files>,
        mut data: Option<DataDirectory>,
        pool: Pool,
        local_url: Url,
    ) -> Result<Self, Box<dyn Error>> {
        let configuration = Arc::new(configuration);
        let running = Self {
            options: options.clone(),
            decisions: Decisions::open(&configuration.process.data.dir)?,
            pool,
            openings: Openings::default(),
            configuration: RwLock::new(Arc::clone(&configuration)),
            claims,
            files,
            local_url,
            shops: Shops::default(),
            is_stopping: AtomicBool::new(false),
            reloading: Mutex::new(()),
        };
        let mut slots = Vec::with_capacity(configuration.shops.len());
        for settings in &configuration.shops {
            let slot = running.slot(settings, None, data.take())?;
            slot.keyring().map_err(|error| about(settings, &*error))?;
            slots.push(slot);
        }
        running.shops.replace(slots);
        Ok(running)
    }

    /// Returns the configuration.
    pub fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what belongs to the process, as the configuration has it now.
    pub fn process(&self) -> Arc<Process> {
        Arc::clone(&self.configuration().process)
    }

    /// Returns the URL under which clients on this machine reach the listener.
    pub const fn local_url(&self) -> &Url {
        &self.local_url
    }

    /// Returns the pages of shops.
    pub(crate) fn pages(&self) -> &dyn Pages {
        &*self.pool.pages
    }

    /// Notes that the process has been told to end.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the process has been told to end.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Opens the only shop; several are opened when they are called. Fails with an error if the shop cannot be opened
    /// for another reason than that it is down, or the file of several shops cannot be opened.
    pub async fn begin(&self) -> Result<Option<Arc<Shop>>, Box<dyn Error>> {
        if let Some(slot) = self.shops.single() {
            return slot.start(false).await.map(Some);
        }
        self.open_files(&self.configuration())?;
        Ok(None)
    }

    /// Opens the files of several shops, so that it is known which of them have something to do. Their databases are opened
    /// by [`background`](crate::background): one that is away keeps no other shop waiting.
    fn open_files(&self, configuration: &Configuration) -> Result<(), String> {
        for settings in &configuration.shops {
            self.files.open(&settings.sections.data).map_err(|error| about(settings, &error))?;
        }
        Ok(())
    }

    /// Returns a shop that is open, or is opened for the call that asks for it; others make room for it. Under the
    /// policy `development` nobody is counted. Fails with the refusal of calls, if it cannot be opened, or too many
    /// are.
    pub async fn opened(&self, slot: &Arc<Slot>, opener: Opener) -> Result<Arc<Shop>, Refusal> {
        if let Some(shop) = slot.shop() {
            return Ok(shop);
        }
        let opener = if slot.is_development() { Opener::Gateway } else { opener };
        let shop = slot.opened(|| self.openings.take(opener)).await?;
        self.make_room(slot).await;
        Ok(shop)
    }

    /// Closes the shops that were called least lately, until no more are open than may be.
    async fn make_room(&self, last: &Arc<Slot>) {
        let most = self.process().server.open_shops.count();
        let mut open: Vec<_> = self.shops.all().into_iter().filter(|slot| slot.shop().is_some()).collect();
        let many = open.len().saturating_sub(most);
        open.retain(|slot| !Arc::ptr_eq(slot, last) && slot.idle().is_some());
        open.sort_by_key(|slot| std::cmp::Reverse(slot.idle()));
        for slot in open.iter().take(many) {
            slot.close().await;
        }
    }

    /// Creates the place of a shop. It takes over the decisions and the data of `before`, the same shop as it was
    /// configured before.
    fn slot(
        &self,
        settings: &Arc<Settings>,
        before: Option<&Slot>,
        data: Option<DataDirectory>,
    ) -> Result<Arc<Slot>, Box<dyn Error>> {
        let decisions = match before {
            Some(slot) => slot.decisions.clone(),
            None if settings.mount.is_one_of_several => {
                Decisions::open(&settings.dir()).map_err(|error| about(settings, &error))?
            }
            None => self.decisions.clone(),
        };
        let (url, files) = (settings.public_url(&self.local_url), Arc::clone(&self.files));
        let is_same = |before: &&Slot| {
            let data = [&before.settings, settings].map(|settings| format!("{:?}", settings.sections.data));
            !settings.mount.is_one_of_several || data[0] == data[1]
        };
        let data = data.or_else(|| before.filter(is_same).and_then(Slot::data));
        Ok(Arc::new(Slot::new(Arc::clone(settings), url, decisions, &self.pool, files, data)))
    }

    /// Reads the configuration again, and serves what has changed in it in place of what was there, in which the calls
    /// under way end. Returns the keys whose new values hold from the next start on. The result is logged. Fails with
    /// all reasons why the new configuration cannot be used. The one before is used on.
    pub async fn reload(&self) -> Result<Vec<&'static str>, ReloadError> {
        // The service manager wants to know when the reload began.
        let begun = NotifyState::monotonic_usec_now().ok();
        tell_service_manager(&std::iter::once(NotifyState::Reloading).chain(begun).collect::<Vec<_>>());
        let reloaded = self.replace().await;
        tell_service_manager(&[NotifyState::Ready]);
        match &reloaded {
            Ok(late) => tracing::info!(from_next_start = late.join(", "), "configuration reloaded"),
            Err(error) => {
                let problem = error.to_string();
                tracing::error!(problem, "configuration reload failed, keeping the previous one");
            }
        }
        reloaded
    }

    async fn replace(&self) -> Result<Vec<&'static str>, ReloadError> {
        let _turn = self.reloading.lock().await;
        let configuration = Configuration::resolve(&self.options, clock::now())?;
        let before = self.configuration();
        if before.single().is_some() != configuration.single().is_some() {
            return Err(ReloadError::Several);
        }
        let (mut slots, mut problems) = (Vec::with_capacity(configuration.shops.len()), Vec::new());
        for settings in &configuration.shops {
            match self.changed(settings).await {
                Ok(slot) => slots.push(slot),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(ReloadError::Shops(problems));
        }
        self.claims.add(configuration.directories()).await?;
        if configuration.single().is_none() {
            self.open_files(&configuration).map_err(|problem| ReloadError::Shops(vec![problem]))?;
        }
        log_warnings(&configuration);
        let mut late = differing(process(&before), process(&configuration));
        if let (Some(before), Some(now)) = (before.single(), configuration.single())
            && before.database != now.database
        {
            // Its connections stay; the address has a password, and is no value to compare as a text.
            late.push("data.database");
        }
        *self.configuration.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(configuration);
        let gone = self.shops.all();
        self.shops.replace(slots);
        // The threads of those that are served no longer are waited for.
        tokio::task::spawn_blocking(move || drop(gone));
        Ok(late)
    }

    /// Returns the place of a shop with new settings: the one that it has, if nothing has changed of several shops.
    /// Fails with the reason why these settings cannot be used.
    async fn changed(&self, settings: &Arc<Settings>) -> Result<Arc<Slot>, String> {
        let before = self.shops.named(settings.mount.id.as_str());
        if let Some(slot) = before.as_ref().filter(|slot| slot.settings.mount.is_one_of_several) {
            let same = slot.settings.fingerprint == settings.fingerprint && slot.settings.mount == settings.mount;
            if same && slot.public_url == settings.public_url(&self.local_url) && slot.has_current_terms().await {
                return Ok(Arc::clone(slot));
            }
        }
        if let Some(slot) = &before
            && let [key, ..] = *differing(identity(&slot.settings), identity(settings))
        {
            let problem = format!("`{key}` has another value, with which the gateway has to be started anew");
            return Err(about(settings, problem));
        }
        let slot = self.slot(settings, before.as_deref(), None).map_err(|error| chain(&*error))?;
        let is_open = before.is_some_and(|before| before.shop().is_some());
        let started = if is_open { slot.start(true).await.map(drop) } else { slot.keyring().map(drop) };
        started.map(|()| slot).map_err(|error| about(settings, chain(&*error)))
    }
}

/// Names the shop that a problem is about, if it is one of several.
fn about(settings: &Settings, problem: impl std::fmt::Display) -> String {
    match &settings.mount {
        mount if mount.is_one_of_several => format!("shop `{}`: {problem}", mount.id),
        _ => problem.to_string(),
    }
}

/// Logs the warnings about the settings.
pub fn log_warnings(configuration: &Configuration) {
    for warning in &configuration.warnings {
        tracing::warn!("{warning}");
    }
}

/// Tells systemd, if it has started the process, what is happening.
pub fn tell_service_manager(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "notifying the service manager failed");
    }
}

type Values = Vec<(&'static str, String)>;

/// Returns the keys of which the values differ.
fn differing(before: Values, after: Values) -> Vec<&'static str> {
    let pairs = before.into_iter().zip(after);
    pairs.filter(|(one, other)| one != other).map(|((key, _), _)| key).collect()
}

/// Returns the keys that say which shop this is.
fn identity(settings: &Settings) -> Values {
    let sections = &settings.sections;
    vec![
        ("data.dir", sections.data.dir.display().to_string()),
        ("data.database", settings.database.as_ref().map(Options::place).unwrap_or_default()),
        ("upstream.backend", format!("{:?}", sections.upstream.backend)),
    ]
}

/// Returns the keys that belong to the process and not to a shop.
fn process(configuration: &Configuration) -> Values {
    let Process { server, log, telemetry, events, data, tls, .. } = &*configuration.process;
    let tls = tls.as_ref().map(|tls| &tls.files);
    let mut values = vec![
        ("server.listen", server.listen.0.to_string()),
        ("server.admin_listen", format!("{:?}", server.admin_listen)),
        ("server.tls_certificate_file", format!("{:?}", tls.map(|tls| &tls.certificate))),
        ("server.tls_key_file", format!("{:?}", tls.map(|tls| &tls.key))),
        ("server.tls_client_ca_file", format!("{:?}", tls.map(|tls| &tls.client_ca))),
        ("server.tls_min_version", format!("{:?}", tls.map(|tls| tls.takes_1_2))),
        ("server.max_connections", server.max_connections.count().to_string()),
        ("server.idle_timeout_s", server.idle_timeout_s.count().to_string()),
        ("server.probes", server.probes.to_string()),
        ("server.inspect", server.inspect.to_string()),
        ("server.record_unmasked", server.record_unmasked.to_string()),
        ("server.inspected_per_second", server.inspected_per_second.count().to_string()),
        ("server.inspected_mb", server.inspected_mb.count().to_string()),
        ("server.drain_timeout_ms", format!("{:?}", configuration.drain())),
        ("server.shutdown_delay_ms", server.shutdown_delay_ms.count().to_string()),
        ("data.max_mb", format!("{:?}", data.max_mb)),
        ("data.min_free_mb", format!("{:?}", data.min_free_mb)),
        ("log", format!("{log:?}")),
        ("telemetry", format!("{telemetry:?}")),
        ("events", format!("{events:?}")),
    ];
    if configuration.single().is_none() {
        values.push(("server.max_in_flight", format!("{:?}", server.max_in_flight)));
        values.push(("server.bodies_mb", server.bodies_mb.count().to_string()));
    }
    // What the data of a shop that is open was opened with.
    if let Some(settings) = configuration.single() {
        let data = &settings.sections.data;
        values.push(("data.cache_mb", format!("{:?}", data.cache_mb)));
        values.push(("data.keep_unfinished_hours", data.keep_unfinished_hours.count().to_string()));
        values.push(("data.keep_completed_hours", data.keep_completed_hours.count().to_string()));
        values.push(("data.keep_addresses_days", format!("{:?}", data.keep_addresses_days)));
    }
    values
}
