//! `check-config`: prints the settings that `serve` would run with.

use std::process::ExitCode;

use super::Done;
use crate::{
    clock,
    config::{ServeOptions, Settings},
};

pub(crate) fn run(options: &ServeOptions) -> Done {
    print!("{}", Settings::resolve(options, clock::now())?);
    Ok(ExitCode::SUCCESS)
}
