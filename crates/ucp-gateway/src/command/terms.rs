//! `terms`: on what terms the shop sells.

use std::{fs, process::ExitCode};

use ucp_core::purchase::terms::Terms;
use ucp_store::Database;

use super::Done;
use crate::{app::shown, cli::TermsOptions};

pub(crate) fn run(options: &TermsOptions) -> Done {
    let database = Database::open(&options.data_dir)?;
    let Some(path) = &options.file else {
        println!("{}", serde_json::to_string_pretty(&*database.terms())?);
        return Ok(ExitCode::SUCCESS);
    };
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", shown(path)))?;
    let terms: Terms = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", shown(path)))?;
    terms.check(&database.market()).map_err(|unusable| format!("{}: {unusable}", shown(path)))?;
    database.set_terms_blocking(&terms)?;
    println!("The shop in {} sells on these terms from now on.", shown(&options.data_dir));
    println!("A gateway that is running takes them up when it is started again.");
    Ok(ExitCode::SUCCESS)
}
