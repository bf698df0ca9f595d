//! `mcp --stdio`: the shop for one agent on this machine.

use std::process::ExitCode;

use super::Done;
use crate::{app::App, cli::McpOptions};

pub(crate) fn run(options: &McpOptions) -> Done {
    let app = App::open(&options.data)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = app.desktop_server();
        ucp_mcp::stdio::serve(&server, &options.profile, tokio::io::stdin(), tokio::io::stdout()).await
    })?;
    // Reading standard input blocks a thread that nothing else can end.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
