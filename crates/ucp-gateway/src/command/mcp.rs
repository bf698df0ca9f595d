//! `mcp --stdio`: serves the shop to one agent on this machine.

use std::{error::Error, io::ErrorKind, net::Ipv4Addr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use clap::Args;
use tokio::net::TcpListener;
use ucp_config::{Configuration, DataOptions, ServeOptions, UpstreamOptions, public_url, shop_named};
use ucp_core::ShopId;
use ucp_host::{
    backend::DataDirectory,
    clock,
    files::Files,
    front::answered,
    machine::Claims,
    shop::{Desktop, open_keyring},
};
use ucp_listener::{Connections, Limits, responding};
use ucp_mcp::toolset::Toolset;
use ucp_trust::client::TrustedProxies;
use url::Url;

use super::{Done, owner, runtime::wait};

#[derive(Clone, Debug, Args)]
pub(crate) struct McpOptions {
    /// Communicate over standard input and output.
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// Configuration file (TOML). Flags and environment variables override it.
    #[arg(long, env = "UCP_GATEWAY_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Name of the shop, if the configuration has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) shop: Option<ShopId>,
    #[command(flatten)]
    pub(crate) data: DataOptions,
    #[command(flatten)]
    pub(crate) upstream: UpstreamOptions,
    /// Base URL of a gateway that serves the checkout pages of this data directory [default: this process serves them, on
    /// a free port of this machine].
    #[arg(long, env = "UCP_GATEWAY_PUBLIC_URL", value_name = "URL", value_parser = public_url)]
    pub(crate) public_url: Option<Url>,
    /// UCP profile of the agent that starts this process, for calls without one.
    #[arg(
        long,
        env = "UCP_GATEWAY_AGENT_PROFILE",
        default_value = "https://desktop-agent.invalid/profile.json",
        value_name = "URL"
    )]
    pub(crate) profile: String,
    /// Tools to offer and their detail, as in the query of the HTTP endpoint: `tools=catalog,cart&schemas=full`.
    #[arg(long, env = "UCP_GATEWAY_MCP_QUERY", default_value = "", value_name = "QUERY")]
    pub(crate) query: String,
}

/// Maximum number of connections to the pages for buyers.
const PAGE_CONNECTIONS: usize = 32;

pub(crate) fn run(options: &McpOptions) -> Done {
    let toolset = Toolset::of(Some(&options.query)).map_err(|refusal| {
        format!("--query: {} It must be {}.", refusal.content, refusal.accepted.unwrap_or_default())
    })?;
    let McpOptions { config, data, upstream, public_url, .. } = options.clone();
    let configuration = Configuration::resolve(
        &ServeOptions { config, data, upstream, public_url, ..ServeOptions::default() },
        clock::now(),
    )?;
    let settings = shop_named(&configuration, options.shop.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    owner::keep(&settings.sections.data.dir);
    let (claims, files) = (Claims::default(), Arc::new(Files::default()));
    wait(&runtime, claims.add([&*settings.sections.data.dir]))?;
    let data = {
        let _entered = runtime.enter();
        DataDirectory::open(&settings, &files)?
    };
    runtime.spawn(Files::beat(Arc::downgrade(&files)));
    let keyring = open_keyring(&settings)?;
    settings.check_keys(&keyring)?;
    let served = wait(&runtime, async {
        let (public_url, listener) = match &settings.sections.server.public_url {
            Some(url) => (settings.public_url(&url.0), None),
            None => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                (Url::parse(&format!("http://{}", listener.local_addr()?))?, Some(listener))
            }
        };
        let desktop = Desktop::open(&data, &settings, &public_url, &keyring).await?;
        if let (Some(listener), Some(pages)) = (listener, desktop.pages) {
            let answer = responding(move |request| answered(pages.clone(), request));
            // Ends with the process: the buyer's steps are one transaction each.
            let limits = Limits {
                connections: PAGE_CONNECTIONS,
                trusted_proxies: TrustedProxies::default(),
                idle: Duration::from_secs(settings.process.server.idle_timeout_s.count() as u64),
                drain: Duration::ZERO,
            };
            tokio::spawn(ucp_listener::serve(
                listener,
                None,
                answer,
                limits,
                Connections::default(),
                std::future::pending(),
            ));
        }
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        Ok::<_, Box<dyn Error>>(ucp_mcp::stdio::serve(&desktop.server, &options.profile, toolset, input, output).await)
    });
    // Not dropped, which would wait for the thread that is blocked reading standard input.
    runtime.shutdown_background();
    match served? {
        // An agent that closes its end of the pipe ends the session; this is not a failure.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
