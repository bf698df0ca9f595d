//! `check-config`: prints the settings that `serve` would run with, and on standard error warnings about them.

use std::process::ExitCode;

use super::Done;
use crate::{
    clock,
    config::{ServeOptions, Settings},
};

pub(crate) fn run(options: &ServeOptions) -> Done {
    let settings = Settings::resolve(options, clock::now())?;
    print!("{settings}");
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}
