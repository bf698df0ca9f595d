//! The shim as a process: prints the address of each release on a line of its own, and serves until it is stopped.

use std::{io, net::SocketAddr};

use clap::Parser;
use conformance_shim::{Options, Release};
use tokio::{net::TcpListener, task::JoinSet};
use url::Url;

/// Translates the official conformance suite of the Universal Commerce Protocol for a gateway.
#[derive(Debug, Parser)]
struct Arguments {
    /// A release to serve, and the address for it; all releases on free ports of this machine if absent.
    #[arg(long, value_name = "RELEASE=ADDRESS", value_parser = listen)]
    listen: Vec<(Release, SocketAddr)>,
    /// The address of the gateway.
    #[arg(long, value_name = "URL")]
    gateway: Url,
    /// The address of the gateway's admin endpoint.
    #[arg(long, value_name = "URL")]
    admin: Url,
    /// The token of the admin endpoint.
    #[arg(long, env = "UCP_GATEWAY_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    admin_token: String,
    /// The secret that allows simulations.
    #[arg(long, env = "UCP_SIMULATION_SECRET", value_name = "SECRET", hide_env_values = true)]
    simulation_secret: Option<String>,
}

fn listen(text: &str) -> Result<(Release, SocketAddr), String> {
    let (release, address) =
        text.split_once('=').ok_or("must be a release and an address, such as 2026-04-08=[::1]:0")?;
    Ok((release.parse()?, address.parse().map_err(|error| format!("`{address}`: {error}"))?))
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let Arguments { mut listen, gateway, admin, admin_token, simulation_secret } = Arguments::parse();
    if listen.is_empty() {
        listen = Release::ALL.map(|release| (release, SocketAddr::from(([127, 0, 0, 1], 0)))).into();
    }
    let mut serving = JoinSet::new();
    for (release, address) in listen {
        let listener = TcpListener::bind(address).await?;
        println!("{} http://{}", release.date(), listener.local_addr()?);
        let options = Options {
            release,
            gateway: gateway.clone(),
            admin: admin.clone(),
            admin_token: admin_token.clone(),
            simulation_secret: simulation_secret.clone(),
        };
        serving.spawn(conformance_shim::serve(listener, options));
    }
    // None of them ends but by an error.
    match serving.join_next().await {
        Some(ended) => ended.map_err(io::Error::other)?,
        None => Ok(()),
    }
}
