//! `config schema`: what editors have to know of the configuration file.

use std::process::ExitCode;

use ucp_wire::documents::pretty;

use super::Done;
use crate::config::schema::schema;

pub(crate) fn run() -> Done {
    print!("{}", pretty(&schema()));
    Ok(ExitCode::SUCCESS)
}
