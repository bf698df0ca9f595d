//! `serve`: the shop on the network.

use std::{net::SocketAddr, process::ExitCode};

use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use ucp_core::port::Catalog as _;
use ucp_mcp::http::ErrorStatus;
use url::Url;

use super::Done;
use crate::{
    app::{App, base},
    cli::{McpErrorStatus, ServeOptions},
    listener,
};

pub(crate) fn run(options: &ServeOptions) -> Done {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Before the shop is opened: what cannot be served need not be filled.
    let listener = runtime.block_on(TcpListener::bind(options.listen)).map_err(|error| {
        format!("cannot listen on {}: {error}; choose another address with --listen", options.listen)
    })?;
    let app = App::open(&options.data)?;
    runtime.block_on(async {
        let public_url = match &options.public_url {
            Some(url) => url.clone(),
            None => reachable(listener.local_addr()?)?,
        };
        let error_status = match options.mcp_error_status {
            McpErrorStatus::Fitting => ErrorStatus::Fitting,
            McpErrorStatus::Matching => ErrorStatus::Matching,
        };
        let router = app.router(&public_url, error_status);
        welcome(&app, &base(&public_url));
        listener::serve(listener, router, options.max_connections, shutdown()?).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// The address under which a listener is reached from the same machine.
fn reachable(address: SocketAddr) -> Result<Url, url::ParseError> {
    let host = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => "127.0.0.1".to_owned(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => "[::1]".to_owned(),
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    Url::parse(&format!("http://{host}:{}", address.port()))
}

/// What a person who just started the gateway wants to know.
fn welcome(app: &App, base: &str) {
    println!("ucp-gateway {} serves {}", env!("CARGO_PKG_VERSION"), app.shop.market().name);
    println!("  profile  {base}/.well-known/ucp");
    println!("  REST     {base}");
    println!("  MCP      {base}/mcp");
    println!("  docs     {base}/docs");
    println!("Try it:");
    println!("  curl -s {base}/catalog/search -H 'Content-Type: application/json' \\");
    println!(
        "    -H 'UCP-Agent: profile=\"https://agent.example.com/profile.json\"' -d '{{\"query\":\"blue running shoes\"}}'"
    );
}

/// Done when the process is asked to stop.
fn shutdown() -> std::io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
