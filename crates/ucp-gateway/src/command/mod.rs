//! What the commands do.

pub(crate) mod import;
pub(crate) mod mcp;
pub(crate) mod serve;
pub(crate) mod spec;

use std::process::ExitCode;

/// How a command ends: with an exit code, or with an error for people to read.
pub(crate) type Done = Result<ExitCode, Box<dyn std::error::Error>>;

/// An error with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
