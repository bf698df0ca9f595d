//! `check-config`: what `serve` would run with.

use std::process::ExitCode;

use super::Done;
use crate::{cli::ServeOptions, config::Settings};

pub(crate) fn run(options: &ServeOptions) -> Done {
    print!("{}", Settings::resolve(options)?);
    Ok(ExitCode::SUCCESS)
}
