//! Logging: to standard error, filtered by `RUST_LOG`.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts logging for the process.
pub(crate) fn start() {
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
