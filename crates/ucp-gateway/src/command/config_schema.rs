//! `config schema`: prints the JSON Schema of the configuration file, for editors.

use std::process::ExitCode;

use ucp_wire::documents::pretty;

use super::Done;
use crate::config::schema::published;

pub(crate) fn run() -> Done {
    print!("{}", pretty(&published()));
    Ok(ExitCode::SUCCESS)
}
