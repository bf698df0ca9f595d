//! The shim as a process: prints its address as the first line, and serves until it is stopped.

use clap::Parser;
use conformance_shim::Options;
use tokio::net::TcpListener;
use url::Url;

/// Translates the official conformance suite of the Universal Commerce Protocol for a gateway.
#[derive(Debug, Parser)]
struct Arguments {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: std::net::SocketAddr,
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

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Arguments { listen, gateway, admin, admin_token, simulation_secret } = Arguments::parse();
    let listener = TcpListener::bind(listen).await?;
    println!("http://{}", listener.local_addr()?);
    conformance_shim::serve(listener, Options { gateway, admin, admin_token, simulation_secret }).await
}
