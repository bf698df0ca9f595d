//! `serve`: serves the shop over HTTP.

mod welcome;

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use axum::body::Body;
use http::Request;
use sd_notify::NotifyState;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use ucp_config::{Configuration, ServeOptions, first_key};
use ucp_console::{
    Pages, admin,
    inspector::{self, Recorder, Subjects},
};
use ucp_host::{
    backend::DataDirectory,
    background, clock,
    files::Files,
    front::answered,
    health::{Health, LIVENESS, READINESS},
    machine::Claims,
    pool::Pool,
    running::{Running, log_warnings, tell_service_manager},
    shop::open_keyring,
};
use ucp_listener::{Connections, Limits, Tls, responding};
use ucp_record::Tracer;
use ucp_trust::client::TrustedProxies;
use url::Url;

use self::welcome::{DataFound, Told};
use super::{Done, owner, runtime::wait};
use crate::{
    calls::Calls,
    events::Events,
    export::{Export, Exports, otlp::Spans},
    metrics::{Metrics, Sources},
    order_events,
    spans::CallTracer,
    telemetry::Log,
    terminal::{Paint, Shown},
};

/// Maximum number of connections to the admin endpoint.
const ADMIN_CONNECTIONS: usize = 32;

/// Serves until the process is told to end. The `warnings` are logged first.
pub(crate) fn run(options: &ServeOptions, warnings: &[String]) -> Done {
    let mut configuration = Configuration::resolve(options, clock::now())?;
    let process = Arc::clone(&configuration.process);
    let log = Arc::new(Log::start(process.log.format, process.log.level)?);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let listen = process.server.listen.0;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Before anything that takes time: a hangup would end the process.
    let mut hangups = wait(&runtime, async { signal(SignalKind::hangup()) })?;
    // Before the shop is opened, so that no sample shop is created if the address cannot be bound.
    let listener = wait(&runtime, TcpListener::bind(listen))
        .map_err(|error| format!("cannot listen on {listen}: {error}; choose another address with --listen"))?;
    let found = DataFound::look(&process.data.dir);
    // What gateways on several machines share is in the database, and each has a directory of its own.
    configuration.directories().into_iter().for_each(owner::keep);
    let claims = Claims::default();
    wait(&runtime, claims.add(configuration.directories()))?;
    let files = Arc::new(Files::default());
    let (mut first_key, mut data) = (None, None);
    if let Some(settings) = configuration.single() {
        // The connections of a database are tasks of the runtime.
        let _entered = runtime.enter();
        data = Some(DataDirectory::open(settings, &files)?);
        settings.check_keys(&open_keyring(settings)?)?;
        if settings.needs_first_key() {
            let dir = settings.dir();
            first_key = first_key::make(&dir)
                .map_err(|error| format!("cannot make an API key in {}: {error}", dir.display()))?;
            configuration = Configuration::resolve(options, clock::now())?;
        }
    }
    wait(&runtime, async {
        log_warnings(&configuration);
        // A developer's trial, in a container or on a machine of its own, is nobody else's to reach.
        let is_trial = configuration.is_development() && listen.ip().to_canonical().is_loopback();
        if rustix::process::geteuid().is_root() && !is_trial {
            tracing::warn!("running as root, which the gateway never needs: run it as a user of its own");
        }
        let local_url = reachable(listener.local_addr()?, process.tls.is_some())?;
        let drain = configuration.drain();
        let idle = Duration::from_secs(process.server.idle_timeout_s.count() as u64);
        let mut exports = Exports::default();
        let events = Events::open(&process, &mut exports)?.map(Arc::new);
        let spans = process.receivers.spans.as_ref().map(Spans::new).transpose()?;
        let percent = process.telemetry.sampled_percent.count();
        let tracer = spans.map(|sink| Arc::new(CallTracer::new(Export::start("spans", sink, &mut exports), percent)));
        let background = tracer.clone().map(|tracer| tracer as Arc<dyn Tracer>);
        let pool = Pool::new(&process.server, background, Arc::new(Pages));
        let running = Arc::new(Running::new(options, configuration, claims, files, data, pool, local_url)?);
        let health = Health::new(Arc::clone(&running));
        let (metrics, connections) = (Metrics::new()?, Connections::default());
        let tls = process.tls.as_ref().map(Tls::start);
        let sources = Arc::new(Sources {
            metrics: metrics.clone(),
            running: Arc::clone(&running),
            connections: connections.clone(),
            tls: tls.clone(),
            log: Arc::clone(&log),
            health: health.clone(),
            events: events.clone(),
            exports: exports.counts.clone(),
        });
        let shop = running.begin().await?;
        tokio::spawn(background::run(Arc::clone(&running)));
        let storage = Arc::clone(&running.files);
        tokio::spawn(Files::beat(Arc::downgrade(&storage)));
        let inspected = u32::try_from(process.server.inspected_per_second.count()).unwrap_or(u32::MAX);
        let is_inspected = inspected > 0 && (process.server.inspect || running.configuration().is_development());
        let recorder = if is_inspected {
            let (dir, most) = (&process.data.dir, process.server.inspected_mb.bytes());
            let recorder = Arc::new(Recorder::start(inspected, dir, most, Subjects::of(&running))?);
            let swept = Arc::clone(&recorder);
            tokio::spawn(async move { swept.sweep().await });
            Some(recorder)
        } else {
            // Nobody would delete in time what an earlier one has left.
            inspector::delete_all(&process.data.dir)
                .map_err(|error| format!("recorded calls cannot be removed: {error}"))?;
            None
        };
        let admin_address = match &process.admin {
            Some(ucp_config::Admin { listen, .. }) => {
                let listener = TcpListener::bind(listen).await.map_err(|error| {
                    format!("cannot listen on {listen}: {error}; choose another address as `server.admin_listen`")
                })?;
                let address = listener.local_addr()?;
                let router = admin::router(Arc::clone(&running), health.clone(), sources, recorder.clone());
                let answer = responding(move |request| answered(router.clone(), request));
                // Ends with the process without a shutdown of its own: each step is one transaction.
                let limits = Limits {
                    connections: ADMIN_CONNECTIONS,
                    trusted_proxies: TrustedProxies::default(),
                    idle,
                    drain: Duration::ZERO,
                };
                let connections = Connections::default();
                tokio::spawn(ucp_listener::serve(listener, None, answer, limits, connections, std::future::pending()));
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
        let to = Shown(std::io::stdout().lock());
        drop(match (running.shops.single(), &shop) {
            (Some(slot), Some(shop)) => {
                let told = Told { slot: &slot, data: &found, admin: admin_address, first_key: first_key.as_ref() };
                welcome::one(to, shop, &told, Paint::of_stdout())
            }
            _ => welcome::several(to, &running, admin_address, Paint::of_stdout()),
        });
        drop(first_key);
        drop(shop);
        let inspector = recorder.clone().map(|recorder| inspector::for_developers(recorder, Arc::clone(&running)));
        tell_service_manager(&[NotifyState::Ready]);
        tokio::spawn(order_events::tell(Arc::clone(&running), metrics.clone(), events.clone()));
        let calls = Arc::new(Calls::new(Arc::clone(&running), log, metrics, events, tracer, recorder));
        let reported = Arc::clone(&calls);
        tokio::spawn(async move { reported.report().await });
        let ended = Arc::clone(&calls);
        let server = &process.server;
        let probes = server.probes.then(|| health.router(false));
        let governed = Arc::clone(&running);
        let answer = responding(move |request: Request<Body>| {
            let own = match request.uri().path() {
                LIVENESS | READINESS => probes.clone(),
                path if inspector::is_its(path) => {
                    inspector.clone().filter(|_| governed.configuration().is_development())
                }
                _ => None,
            };
            let calls = Arc::clone(&calls);
            async move {
                match own {
                    Some(router) => answered(router, request).await,
                    None => calls.answer(request).await,
                }
            }
        });
        let limits = Limits {
            connections: server.max_connections.count(),
            trusted_proxies: process.trusted_proxies.clone(),
            idle,
            drain,
        };
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
            () = ucp_listener::serve(listener, tls, answer, limits, connections, shutdown) => exports.finish().await,
            _ = second.wait_for(|stops| *stops > 1) => {
                tracing::warn!("second shutdown signal: aborting in-flight requests");
            }
        }
        storage.leave().await;
        ended.report_now(true);
        Ok(ExitCode::SUCCESS)
    })
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
