//! `catalog`: synchronizes the copy of a shop's catalog, and shows its state.

use std::{error::Error, process::ExitCode, sync::Arc};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use ucp_config::{Configuration, ServeOptions, Settings, shop_named};
use ucp_core::ShopId;
use ucp_host::{
    backend::{self, synchronised},
    clock,
    progress::bar,
};
use ucp_sync::{Progress, Ran, State, Synchroniser, state::Tally};

use crate::command::{
    Done,
    output::say,
    owner,
    runtime::{runtime, wait},
};

/// Exit code while the removal of too many products is held.
const HELD: u8 = 3;

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Synchronize the copy of the catalog; exit code 3 while the removal of too many products is held.
    #[command(after_help = examples!(
        "catalog sync --config gateway.toml",
        "catalog sync --config gateway.toml --accept-loss"
    ))]
    Sync(SyncOptions),
    /// Show the age of the copy, the result of the last run, and removals that are held back.
    #[command(after_help = examples!("catalog status --config gateway.toml"))]
    Status(CatalogOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CatalogOptions {
    #[command(flatten)]
    serve: ServeOptions,
    /// Name of the shop, if the configuration has several.
    #[arg(long, value_name = "NAME")]
    shop: Option<ShopId>,
}

impl CatalogOptions {
    fn settings(&self) -> Result<Arc<Settings>, Box<dyn Error>> {
        let configuration = Configuration::resolve(&self.serve, clock::now())?;
        Ok(shop_named(&configuration, self.shop.as_ref())?)
    }
}

#[derive(Debug, Args)]
pub(crate) struct SyncOptions {
    #[command(flatten)]
    of: CatalogOptions,
    /// Fetch all products, not only changed ones.
    #[arg(long)]
    full: bool,
    /// Remove the products whose removal is held back. If there are none, synchronize and remove all products that are gone.
    #[arg(long)]
    accept_loss: bool,
}

pub(crate) fn run(command: &CatalogCommand) -> Done {
    let runtime = runtime(2)?;
    wait(&runtime, async {
        match command {
            CatalogCommand::Sync(options) => {
                let settings = options.of.settings()?;
                owner::keep(&settings.sections.data.dir);
                sync(&backend::synchroniser(&settings).await?, options).await
            }
            CatalogCommand::Status(options) => {
                let settings = options.settings()?;
                let state = synchronised::stored(&settings)?;
                status(&state);
                Ok(ExitCode::SUCCESS)
            }
        }
    })
}

async fn sync(synchroniser: &Synchroniser, options: &SyncOptions) -> Done {
    if options.accept_loss
        && let Some(removed) = synchroniser.release().await?
    {
        say!("{removed} products that were held are removed.");
        return Ok(ExitCode::SUCCESS);
    }
    let shown = std::sync::OnceLock::new();
    let told = |progress: &Progress| {
        let products = progress.tally.read();
        let (at, total) = match (progress.bytes, progress.total) {
            (Some((read, all)), _) => (read, Some(all)),
            (None, total) => (products, total),
        };
        let bar = shown.get_or_init(|| bar(total, "{bar:40} {percent:>3}% {msg}, {eta} left"));
        bar.set_position(at);
        bar.set_message(format!("{products} products"));
    };
    let ran = synchroniser.run(options.full, options.accept_loss, told).await;
    if let Some(bar) = shown.get() {
        bar.finish_and_clear();
    }
    match ran? {
        Ran::Unmodified => say!("The feed has not changed."),
        Ran::Ended(ended) | Ran::Held(ended, _) => say!("{}: {}", ended.kind.as_str(), told_of(&ended.tally)),
    }
    // Of this run, or of one before.
    let Some(held) = synchroniser.status().state.held else { return Ok(ExitCode::SUCCESS) };
    say!(
        "held: {} of {} products would be removed, and none is; `ucp-gateway catalog sync --accept-loss` removes them",
        held.lost,
        held.of
    );
    Ok(ExitCode::from(HELD))
}

fn told_of(tally: &Tally) -> String {
    let Tally { created, updated, unchanged, removed, rejected } = tally;
    format!("{created} new, {updated} changed, {unchanged} unchanged, {removed} removed, {rejected} rejected")
}

fn status(state: &State) {
    let time = |time: &Timestamp| format!("{time:.0}");
    say!("facts as of  {}", state.as_of.as_ref().map_or_else(|| "no run has ended yet".to_owned(), time));
    if let Some(last) = &state.last {
        say!("last run     {}, {}: {}", time(&last.ended_at), last.kind.as_str(), told_of(&last.tally));
    }
    if let Some(run) = &state.under_way {
        let (kind, begun) = (run.kind.as_str(), time(&run.begun_at));
        say!("under way    {kind}, begun {begun}: {}", told_of(&run.tally));
    }
    if let Some(held) = &state.held {
        say!("held         {} of {} products, since {}", held.lost, held.of, time(&held.since));
    }
}
