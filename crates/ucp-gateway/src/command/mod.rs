//! What the commands do.

pub(crate) mod api_key;
pub(crate) mod check_config;
pub(crate) mod config_schema;
pub(crate) mod explain;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod mcp;
mod message;
pub(crate) mod orders;
pub(crate) mod serve;
pub(crate) mod sign;
pub(crate) mod spec;
pub(crate) mod terms;
pub(crate) mod verify;
pub(crate) mod webhooks;

use std::process::ExitCode;

/// How a command ends: with an exit code, or with an error for people to read.
pub(crate) type Done = Result<ExitCode, Box<dyn std::error::Error>>;

/// An error with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
