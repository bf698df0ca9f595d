//! Commands of the binary, one module each.

/// Text of the examples in the help of a command, each without the name of the program.
macro_rules! examples {
    ($($example:literal),+ $(,)?) => {
        concat!("Examples:" $(, "\n  ucp-gateway ", $example)+)
    };
}

pub(crate) mod api_key;
pub(crate) mod backend;
pub(crate) mod buyers;
pub(crate) mod catalog;
pub(crate) mod check_config;
pub(crate) mod config_schema;
mod copy;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod healthcheck;
pub(crate) mod holders;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod keys;
pub(crate) mod manual;
pub(crate) mod mcp;
mod message;
pub(crate) mod orders;
pub(crate) mod output;
mod place;
mod reach;
pub(crate) mod rehearse;
pub(crate) mod replay;
mod runtime;
pub(crate) mod serve;
pub(crate) mod sign;
pub(crate) mod spec;
pub(crate) mod store;
pub(crate) mod terms;
pub(crate) mod verify;
pub(crate) mod webhooks;
mod welcome;

use std::process::ExitCode;

pub(crate) use examples;

/// Result of a command: its exit code, or an error that is printed to standard error.
pub(crate) type Done = Result<ExitCode, Box<dyn std::error::Error>>;
