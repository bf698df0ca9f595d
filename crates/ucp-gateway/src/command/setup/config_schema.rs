//! `config schema`: prints the JSON Schema of the configuration file, for editors.

use std::process::ExitCode;

use ucp_config::schema::published;
use ucp_wire::documents::pretty;

use crate::command::{Done, output};

pub(crate) fn run() -> Done {
    output::write(format_args!("{}", pretty(&published())));
    Ok(ExitCode::SUCCESS)
}
