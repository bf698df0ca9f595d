//! `serve`: serves the shop over HTTP.

use std::{io::Write, net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use axum::body::Body;
use http::Request;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use ucp_trust::client::TrustedProxies;
use url::Url;

use super::Done;
use crate::{
    address::base,
    admin,
    backend::DataDirectory,
    calls::{Calls, answered},
    clock,
    config::{self, Bot, Policy, ServeOptions, Settings, Signed},
    health::{Health, LIVENESS, READINESS},
    listener::{self, Connections, Limits},
    metrics::{Metrics, Sources},
    opening::Opening,
    shop::{Shop, open_keyring},
    shops::Shops,
    telemetry::Log,
};

/// Maximum number of connections to the admin endpoint.
const ADMIN_CONNECTIONS: usize = 32;

pub(crate) fn run(options: &ServeOptions) -> Done {
    let settings = Arc::new(Settings::resolve(options, clock::now())?);
    let server = &settings.sections.server;
    let log = Arc::new(Log::start(settings.sections.log.format, settings.sections.log.level));
    let listen = server.listen.0;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async { ignore_hangups() })?;
    // Before the shop is opened, so that no sample shop is created if the address cannot be bound.
    let listener = runtime
        .block_on(TcpListener::bind(listen))
        .map_err(|error| format!("cannot listen on {listen}: {error}; choose another address with --listen"))?;
    let data = DataDirectory::open(&settings)?;
    let keyring = open_keyring(&settings.sections.data)?;
    if settings.sections.signatures.responses == Signed::All && keyring.signer().is_none() {
        return Err("answers are to be signed, but there is no key; make one with `ucp-gateway keys generate`".into());
    }
    let as_bot = settings.upstream.as_ref().is_some_and(|upstream| matches!(upstream.bot, Bot::Own));
    if as_bot && keyring.signer().is_none_or(|key| key.algorithm().http_name().is_none()) {
        let problem = "requests to the shop are to be signed (`upstream.sign_as_bot`), but there is no key for that; make \
                       one with `ucp-gateway keys generate`";
        return Err(problem.into());
    }
    runtime.block_on(async {
        let public_url = match &server.public_url {
            Some(url) => url.0.clone(),
            None => reachable(listener.local_addr()?)?,
        };
        if settings.policy == Policy::Development && !listen.ip().to_canonical().is_loopback() {
            tracing::warn!("callers from other machines are taken at their word (policy development)");
        }
        let shops = Shops::default();
        let health = Health::new(data.clone(), Arc::clone(&settings), shops.clone());
        let (metrics, connections) = (Metrics::new()?, Connections::default());
        let sources = Sources {
            metrics: metrics.clone(),
            data: data.clone(),
            shops: shops.clone(),
            connections: connections.clone(),
            log: Arc::clone(&log),
            health: health.clone(),
        };
        let opening = Opening { data, settings: Arc::clone(&settings), public_url: public_url.clone() };
        let shop = opening.begin(keyring, &shops).await?;
        let admin_address = match &settings.admin {
            Some(config::Admin { listen, token }) => {
                let listener = TcpListener::bind(listen).await.map_err(|error| {
                    format!("cannot listen on {listen}: {error}; choose another address as `server.admin_listen`")
                })?;
                let address = listener.local_addr()?;
                let router = admin::router(Arc::clone(&shop.store), sources, token.clone());
                let answer = move |request| answered(router.clone(), request);
                // Ends with the process without a shutdown of its own: each step is one transaction.
                let limits = Limits {
                    connections: ADMIN_CONNECTIONS,
                    trusted_proxies: TrustedProxies::default(),
                    drain: Duration::ZERO,
                };
                tokio::spawn(listener::serve(listener, answer, limits, Connections::default(), std::future::pending()));
                Some(address)
            }
            None => None,
        };
        // Before the welcome: a process that waits for it may send a signal at once.
        let shutdown = shutdown()?;
        // A closed standard output is not an error.
        drop(welcome(std::io::stdout().lock(), &shop, &settings, &base(&public_url), admin_address));
        drop(shop);
        let calls = Arc::new(Calls::new(shops, log, metrics, settings.sections.log.searches));
        let reported = Arc::clone(&calls);
        tokio::spawn(async move { reported.report().await });
        let probes = server.probes.then(|| health.router(false));
        let answer = move |request: Request<Body>| {
            let is_probe = matches!(request.uri().path(), LIVENESS | READINESS);
            let (calls, probes) = (Arc::clone(&calls), probes.clone().filter(|_| is_probe));
            async move {
                match probes {
                    Some(probes) => answered(probes, request).await,
                    None => calls.answer(request).await,
                }
            }
        };
        let limits = Limits {
            connections: server.max_connections.count(),
            trusted_proxies: settings.trusted_proxies.clone(),
            drain: settings.drain,
        };
        listener::serve(listener, answer, limits, connections, shutdown).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Returns the URL of a listener for clients on the same machine.
fn reachable(address: SocketAddr) -> Result<Url, url::ParseError> {
    let host = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => "127.0.0.1".to_owned(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => "[::1]".to_owned(),
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    Url::parse(&format!("http://{host}:{}", address.port()))
}

/// Writes the addresses of the gateway, the policy, and an example call for the person who started it.
fn welcome(
    mut to: impl Write,
    shop: &Shop,
    settings: &Settings,
    base: &str,
    admin: Option<SocketAddr>,
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
    writeln!(to, "Try it:")?;
    writeln!(to, "  curl -s {base}/catalog/search -H 'Content-Type: application/json' \\")?;
    let profile = example_profile(settings.policy);
    writeln!(to, "    -H 'UCP-Agent: profile=\"{profile}\"' -d '{{\"query\":\"blue running shoes\"}}'")
}

/// Returns the profile URL of the example call: one that calls can name as it is, or a placeholder if the policy
/// requires that the profile exists.
fn example_profile(policy: Policy) -> &'static str {
    match policy {
        Policy::Require => "https://YOUR-PLATFORM/profile.json",
        Policy::Lenient | Policy::Development => "https://agent.example.com/profile.json",
    }
}

/// Describes the policy for people.
fn callers(policy: Policy) -> &'static str {
    match policy {
        Policy::Require => "need a UCP profile that can be fetched (policy require)",
        Policy::Lenient => "may browse without a profile that can be fetched (policy lenient)",
        Policy::Development => "are taken at their word: no profile has to be fetched (policy development)",
    }
}

/// Ignores SIGHUP, which would end the process when the terminal that started it is closed. Nothing has to be read
/// again: keys are reloaded by themselves, and the configuration holds until the end of the process.
fn ignore_hangups() -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP has no effect; restart the gateway for a changed configuration");
        }
    });
    Ok(())
}

/// Installs the signal handlers, and returns a future that completes on SIGTERM or SIGINT.
fn shutdown() -> std::io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
