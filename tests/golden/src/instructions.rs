//! Stub.

use std::process::ExitCode;

use clap::Args;

use crate::Done;

/// Options.
#[derive(Debug, Args)]
pub(crate) struct InstructionsOptions {}

pub(crate) fn run(_: &InstructionsOptions) -> Done<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
