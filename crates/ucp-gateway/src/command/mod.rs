//! Commands of the binary, one module each.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`serve`], [`healthcheck`], [`mcp`] | serving a shop |
//! | [`setup`] | configuration, keys, completions and manual pages |
//! | [`data`] | what is stored: products, orders, webhook events, buyers, and the store as a whole |
//! | [`inspect`] | endpoints, backends, messages and recorded calls |
//! | [`spec`] | the generated documents of the repository |
//! | [`output`], `place`, [`owner`], `runtime` | what commands have in common: output, places of stored data and their owners, the runtime |

/// Text of the examples in the help of a command, each without the name of the program.
macro_rules! examples {
    ($($example:literal),+ $(,)?) => {
        concat!("Examples:" $(, "\n  ucp-gateway ", $example)+)
    };
}

pub(crate) mod data;
pub(crate) mod healthcheck;
pub(crate) mod inspect;
pub(crate) mod mcp;
pub(crate) mod output;
pub(crate) mod owner;
mod place;
mod runtime;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod spec;

use std::process::ExitCode;

pub(crate) use examples;

/// Result of a command: its exit code, or an error that is printed to standard error.
pub(crate) type Done = Result<ExitCode, Box<dyn std::error::Error>>;
