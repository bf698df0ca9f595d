//! `mcp --stdio`: serves the shop to one agent on this machine.

use std::{io::ErrorKind, process::ExitCode};

use clap::Args;
use ucp_mcp::toolset::Toolset;

use super::Done;
use crate::{
    backend::embedded::open_shop,
    config::{Data, DataOptions},
    shop::desktop_server,
};

#[derive(Debug, Args)]
pub(crate) struct McpOptions {
    /// Communicate over standard input and output.
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) data: DataOptions,
    /// The UCP profile of the agent that starts this process, for calls that do not name one.
    #[arg(
        long,
        env = "UCP_GATEWAY_AGENT_PROFILE",
        default_value = "https://desktop-agent.invalid/profile.json",
        value_name = "URL"
    )]
    pub(crate) profile: String,
    /// The tools to offer and their detail, as in the query of the HTTP endpoint: `tools=catalog,cart&schemas=full`.
    #[arg(long, env = "UCP_GATEWAY_MCP_QUERY", default_value = "", value_name = "QUERY")]
    pub(crate) query: String,
}

pub(crate) fn run(options: &McpOptions) -> Done {
    let toolset = Toolset::of(Some(&options.query)).map_err(|refusal| {
        format!("--query: {} It must be {}.", refusal.content, refusal.accepted.unwrap_or_default())
    })?;
    let shop = open_shop(&Data::from(&options.data))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let server = desktop_server(&shop).map_err(std::io::Error::other)?;
        ucp_mcp::stdio::serve(&server, &options.profile, toolset, tokio::io::stdin(), tokio::io::stdout()).await
    });
    // Not dropped, which would wait for the thread that is blocked reading standard input.
    runtime.shutdown_background();
    match served {
        // An agent that closes its end of the pipe ends the session; this is not a failure.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
