//! Logging to standard error, filtered by `RUST_LOG`; without it, from level `warn`.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Installs the logger of the process, with colors if standard error is a terminal.
pub(crate) fn start() {
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
