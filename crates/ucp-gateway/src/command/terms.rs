//! `terms`: shows or sets the terms on which the shop sells.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use ucp_core::purchase::terms::Terms;
use ucp_shop::Database;

use super::{Done, shop_data::ShopData};

#[derive(Debug, Args)]
pub(crate) struct TermsOptions {
    /// The file with the terms to set, JSON as this command shows it; without it, the present terms are shown.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    data: ShopData,
}

pub(crate) fn run(options: &TermsOptions) -> Done {
    let database = Database::of(options.data.store()?)?;
    let Some(path) = &options.file else {
        println!("{}", serde_json::to_string_pretty(&*database.terms())?);
        return Ok(ExitCode::SUCCESS);
    };
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let terms: Terms = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    terms.check(&database.market()).map_err(|unusable| format!("{}: {unusable}", path.display()))?;
    database.set_terms_blocking(&terms)?;
    println!("The shop in {} sells on these terms from now on.", options.data.path().display());
    println!("A gateway that is running takes them up when it is started again.");
    Ok(ExitCode::SUCCESS)
}
