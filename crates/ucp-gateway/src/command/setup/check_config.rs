//! `check-config`: prints the settings that `serve` would run with, and on standard error warnings about them.

use std::process::ExitCode;

use ucp_host::clock;

use crate::command::{
    Done,
    output::{self, remark},
};
use ucp_config::{Configuration, ServeOptions};

pub(crate) fn run(options: &ServeOptions) -> Done {
    let configuration = Configuration::resolve(options, clock::now())?;
    output::write(format_args!("{configuration}"));
    for warning in &configuration.warnings {
        remark!("warning: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}
