//! `serve`: serves the shop over HTTP.

use std::{io::Write, net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use axum::body::Body;
use http::Request;
use sd_notify::NotifyState;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use ucp_trust::{api_key::ApiKey, client::TrustedProxies};
use url::Url;

use super::Done;
use crate::{
    address::base,
    admin,
    backend::DataDirectory,
    callers::example_profile,
    calls::{Calls, answered},
    clock,
    config::{self, Policy, Recording, ServeOptions, Settings},
    decisions::Decisions,
    events::Events,
    first_key,
    health::{Health, LIVENESS, READINESS},
    inspector::{self, recorder::Recorder, ring::Ring},
    listener::{self, Connections, Limits, Tls},
    local,
    metrics::{Metrics, Sources},
    running::{Running, tell_service_manager},
    shop::{Shop, open_keyring},
    telemetry::Log,
    workbench,
};

/// Maximum number of connections to the admin endpoint.
const ADMIN_CONNECTIONS: usize = 32;

pub(crate) fn run(options: &ServeOptions) -> Done {
    let mut settings = Settings::resolve(options, clock::now())?;
    let log = Arc::new(Log::start(settings.sections.log.format, settings.sections.log.level));
    let listen = settings.sections.server.listen.0;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Before anything that takes time: a hangup would end the process.
    let mut hangups = runtime.block_on(async { signal(SignalKind::hangup()) })?;
    // Before the shop is opened, so that no sample shop is created if the address cannot be bound.
    let listener = runtime
        .block_on(TcpListener::bind(listen))
        .map_err(|error| format!("cannot listen on {listen}: {error}; choose another address with --listen"))?;
    let data = DataDirectory::open(&settings)?;
    let keyring = open_keyring(&settings.sections.data)?;
    settings.check_keys(&keyring)?;
    let first_key = if settings.needs_first_key() {
        let dir = &settings.sections.data.dir;
        let made =
            first_key::make(dir).map_err(|error| format!("cannot make an API key in {}: {error}", dir.display()))?;
        settings = Settings::resolve(options, clock::now())?;
        made
    } else {
        None
    };
    let events = settings.sections.events.file.as_ref().map(|file| Events::open(file)).transpose()?;
    let decisions = Decisions::open(&settings.sections.data.dir)?;
    runtime.block_on(async {
        settings.log_warnings();
        // A developer's trial, in a container or on a machine of its own, is nobody else's to reach.
        let is_trial = settings.policy == Policy::Development && listen.ip().to_canonical().is_loopback();
        if rustix::process::geteuid().is_root() && !is_trial {
            tracing::warn!("the gateway runs as root, which it never needs: start it as a user of its own");
        }
        let local_url = reachable(listener.local_addr()?, settings.tls.is_some())?;
        let running = Arc::new(Running::new(options, settings, data, local_url, decisions));
        let health = Health::new(Arc::clone(&running));
        let (metrics, connections) = (Metrics::new()?, Connections::default());
        let sources = Sources {
            metrics: metrics.clone(),
            running: Arc::clone(&running),
            connections: connections.clone(),
            log: Arc::clone(&log),
            health: health.clone(),
        };
        let shop = running.begin(keyring).await?;
        let settings = running.settings();
        let recorder = recorder(&settings)?;
        let inspector = recorder.as_ref().map(|recorder| {
            let facts = workbench::facts(&settings, &base(&running.public_url(&settings)), &shop.name, &[]);
            inspector::routes::router(&facts, recorder, &running)
        });
        let admin_address = match &settings.admin {
            Some(config::Admin { listen, .. }) => {
                let listener = TcpListener::bind(listen).await.map_err(|error| {
                    format!("cannot listen on {listen}: {error}; choose another address as `server.admin_listen`")
                })?;
                let address = listener.local_addr()?;
                let router = admin::router(sources, inspector.clone());
                let answer = move |request| answered(router.clone(), request);
                // Ends with the process without a shutdown of its own: each step is one transaction.
                let limits = Limits {
                    connections: ADMIN_CONNECTIONS,
                    trusted_proxies: TrustedProxies::default(),
                    drain: Duration::ZERO,
                };
                let connections = Connections::default();
                tokio::spawn(listener::serve(listener, None, answer, limits, connections, std::future::pending()));
                Some(address)
            }
            None => None,
        };
        // Before the welcome: a process that waits for it may send a signal at once.
        let stops = stops()?;
        let reloaded = Arc::clone(&running);
        tokio::spawn(async move {
            while hangups.recv().await.is_some() {
                // The result is in the log.
                drop(reloaded.reload().await);
            }
        });
        // A closed standard output is not an error.
        let base = base(&running.public_url(&settings));
        drop(welcome(std::io::stdout().lock(), &shop, &settings, &base, admin_address, first_key.as_ref()));
        drop(first_key);
        drop(shop);
        tell_service_manager(&[NotifyState::Ready]);
        let calls = Arc::new(Calls::new(Arc::clone(&running), log, metrics, events, recorder));
        let reported = Arc::clone(&calls);
        tokio::spawn(async move { reported.report().await });
        let server = &settings.sections.server;
        let probes = server.probes.then(|| health.router(false));
        let inspector = inspector.filter(|_| settings.policy == Policy::Development).map(local::only);
        let answer = move |request: Request<Body>| {
            let path = request.uri().path();
            let own = match path {
                LIVENESS | READINESS => probes.clone(),
                _ if path.starts_with(inspector::PATH) => inspector.clone(),
                _ => None,
            };
            let calls = Arc::clone(&calls);
            async move {
                match own {
                    Some(router) => answered(router, request).await,
                    None => calls.answer(request).await,
                }
            }
        };
        let limits = Limits {
            connections: server.max_connections.count(),
            trusted_proxies: settings.trusted_proxies.clone(),
            drain: settings.drain,
        };
        let tls = settings.tls.as_ref().map(Tls::start);
        let (mut first, mut second) = (stops.clone(), stops);
        let delay = Duration::from_millis(server.shutdown_delay_ms.count() as u64);
        let shutdown = async move {
            // The sender lives as long as the process.
            drop(first.wait_for(|stops| *stops > 0).await);
            running.stop();
            tell_service_manager(&[NotifyState::Stopping]);
            tokio::time::sleep(delay).await;
        };
        tokio::select! {
            () = listener::serve(listener, tls, answer, limits, connections, shutdown) => {}
            _ = second.wait_for(|stops| *stops > 1) => {
                tracing::warn!("told to end a second time: requests under way are given up");
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Starts the recorder of the inspector, if something is to be recorded.
fn recorder(settings: &Settings) -> std::io::Result<Option<Arc<Recorder>>> {
    let (recording, said) = (settings.recording(), &settings.sections.inspector);
    if recording == Recording::Off {
        return Ok(None);
    }
    let ring = Ring::of(&settings.sections.data.dir, said.keep_mb.bytes());
    let per_second = u32::try_from(said.per_second.count()).unwrap_or(u32::MAX);
    Recorder::start(ring, recording, per_second).map(|recorder| Some(Arc::new(recorder)))
}

/// Returns the URL of a listener for clients on the same machine.
fn reachable(address: SocketAddr, tls: bool) -> Result<Url, url::ParseError> {
    let host = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => "127.0.0.1".to_owned(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => "[::1]".to_owned(),
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    let scheme = if tls { "https" } else { "http" };
    Url::parse(&format!("{scheme}://{host}:{}", address.port()))
}

/// Writes the addresses of the gateway, the policy, and an example call for the person who started it.
fn welcome(
    mut to: impl Write,
    shop: &Shop,
    settings: &Settings,
    base: &str,
    admin: Option<SocketAddr>,
    first_key: Option<&ApiKey>,
) -> std::io::Result<()> {
    let (version, name) = (env!("CARGO_PKG_VERSION"), &shop.name);
    writeln!(to, "ucp-gateway {version} serves {name}")?;
    if !shop.ready {
        writeln!(to, "  NOT READY: the shop is down; it is tried again until it answers")?;
    }
    writeln!(to, "  profile  {base}/.well-known/ucp")?;
    writeln!(to, "  REST     {base}")?;
    writeln!(to, "  MCP      {base}/mcp")?;
    writeln!(to, "  docs     {base}/docs")?;
    writeln!(to, "  callers  {}", callers(settings.policy))?;
    if let Some(address) = admin {
        writeln!(to, "  admin    http://{address}")?;
    }
    if let Some(key) = first_key {
        let file = settings.sections.data.dir.join(first_key::FILE);
        writeln!(to, "  API key  {}", key.reveal())?;
        writeln!(to, "           It is shown this once; empty {} to revoke it.", file.display())?;
    }
    writeln!(to, "Try it:")?;
    write!(to, "  curl -s ")?;
    // Of a public URL, the certificate is one that clients trust.
    if let Some(tls) = settings.tls.as_ref().filter(|_| settings.sections.server.public_url.is_none()) {
        write!(to, "--cacert '{}' ", tls.files.certificate.display())?;
    }
    writeln!(to, "{base}/catalog/search -H 'Content-Type: application/json' \\")?;
    let caller = match first_key {
        Some(key) => format!("Authorization: Bearer {}", key.reveal()),
        None => format!("UCP-Agent: profile=\"{}\"", example_profile(settings.policy)),
    };
    writeln!(to, "    -H '{caller}' -d '{{\"query\":\"blue running shoes\"}}'")
}

/// Describes the policy for people.
fn callers(policy: Policy) -> &'static str {
    match policy {
        Policy::Require => "need a UCP profile that can be fetched (policy require)",
        Policy::Lenient => "may browse without a profile that can be fetched (policy lenient)",
        Policy::Development => "are taken at their word: no profile has to be fetched (policy development)",
    }
}

/// Installs the handlers of SIGTERM and SIGINT, and returns how often the process was told to end.
fn stops() -> std::io::Result<watch::Receiver<u32>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (counter, stops) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            counter.send_modify(|stops| *stops += 1);
        }
    });
    Ok(stops)
}
