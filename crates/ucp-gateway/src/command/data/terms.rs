//! `terms`: shows or sets the sales terms of a shop, or prints their JSON Schema.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use ucp_core::{catalog::market::Market, pricing::terms::Terms};
use ucp_shop::Database;

use crate::command::{
    Done,
    output::say,
    place::StoreOptions,
    runtime::{runtime, wait},
};
use ucp_console::sales_terms;

#[derive(Debug, Args)]
pub(crate) struct TermsOptions {
    /// File with the sales terms to set, in JSON. Without it, the current terms are shown.
    pub(crate) file: Option<PathBuf>,
    /// Print the JSON Schema of the file.
    #[arg(long, conflicts_with = "file")]
    pub(crate) schema: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

pub(crate) fn run(options: &TermsOptions) -> Done {
    if options.schema {
        say!("{}", serde_json::to_string_pretty(&sales_terms::schema())?);
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = runtime(1)?;
    let location = options.store.locate()?;
    let shared = location.postgres(&runtime)?;
    let local = if shared.is_none() { Some(Database::of(location.sqlite()?)?) } else { None };
    let catalog = match &shared {
        Some(store) => Some(wait(&runtime, store.catalog())?.ok_or("there is no shop in the database yet")?),
        None => None,
    };
    let Some(path) = &options.file else {
        let terms = match (&local, &catalog) {
            (Some(database), _) => serde_json::to_string_pretty(&*database.terms())?,
            (None, catalog) => {
                let terms =
                    catalog.as_ref().map(|catalog| serde_json::from_str::<Terms>(&catalog.shop.terms)).transpose()?;
                serde_json::to_string_pretty(&terms)?
            }
        };
        say!("{terms}");
        return Ok(ExitCode::SUCCESS);
    };
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let terms: Terms = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let fits = |market: &Market| terms.check(market).map_err(|unusable| format!("{}: {unusable}", path.display()));
    let place = match (&local, &shared, &catalog) {
        (None, Some(store), Some(catalog)) => {
            fits(&serde_json::from_str(&catalog.shop.market)?)?;
            wait(&runtime, store.set_terms(&serde_json::to_string(&terms)?))?;
            store.place().to_owned()
        }
        (local, ..) => {
            if let Some(database) = local {
                fits(&database.market())?;
                database.set_terms_blocking(&terms)?;
            }
            location.dir.display().to_string()
        }
    };
    say!("Sales terms of the shop in {place} updated.");
    say!("Running gateways apply them when they reload their configuration (SIGHUP, or `POST /reload`).");
    Ok(ExitCode::SUCCESS)
}
