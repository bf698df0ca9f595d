//! `import`: a merchant's own catalog.
//!
//! Good rows are kept, bad rows are reported with their line; products are written in batches, each whole or not at all.
//! A gateway that serves the same directory notices by itself.

use std::{io::IsTerminal as _, process::ExitCode, sync::atomic::Ordering, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ucp_core::catalog::{market::Market, record::Record};
use ucp_store::{
    Database, Put,
    import::{BadRow, Format, Import, Verdict},
};

use super::{Done, chain};
use crate::{
    app::shown,
    cli::{ImportFormat, ImportOptions},
};

/// How many products are written at once.
const BATCH: usize = 500;

#[derive(Default)]
struct Tally {
    created: u64,
    updated: u64,
    unchanged: u64,
    skipped: u64,
    rejected: u64,
}

pub(crate) fn run(options: &ImportOptions) -> Done {
    let database = Database::open_or_create(&options.data_dir, || (market(options), Vec::new()))?;
    let format = options.format.map(|format| match format {
        ImportFormat::Jsonl => Format::Jsonl,
        ImportFormat::Shopify => Format::ShopifyCsv,
    });
    let import = Import::open(&options.file, format, &database.market())
        .map_err(|error| format!("{}: {}", shown(&options.file), chain(&error)))?;

    let bar = progress_bar(&import);
    let bytes = import.progress();
    let mut tally = Tally::default();
    let mut batch: Vec<(u64, Record)> = Vec::with_capacity(BATCH);
    let mut rows = import.peekable();
    while let Some(row) = rows.next() {
        match row {
            Ok(record) => batch.push(record),
            Err(bad) => report(&bar, &mut tally, &bad),
        }
        if batch.len() == BATCH || rows.peek().is_none() {
            let (lines, records): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
            for (line, outcome) in lines.into_iter().zip(database.put_blocking(records)?) {
                match outcome {
                    Ok(Put::Created) => tally.created += 1,
                    Ok(Put::Updated) => tally.updated += 1,
                    Ok(Put::Unchanged) => tally.unchanged += 1,
                    Err(rejected) => {
                        tally.rejected += 1;
                        bar.suspend(|| eprintln!("line {line}: {rejected}"));
                    }
                }
            }
            bar.set_position(bytes.load(Ordering::Relaxed));
            bar.set_message(format!("{} products", tally.created + tally.updated + tally.unchanged));
        }
    }
    bar.finish_and_clear();
    println!(
        "{}: {} new, {} changed, {} unchanged, {} skipped, {} rejected",
        shown(&options.file),
        tally.created,
        tally.updated,
        tally.unchanged,
        tally.skipped,
        tally.rejected
    );
    Ok(if tally.rejected == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn report(bar: &ProgressBar, tally: &mut Tally, bad: &BadRow) {
    match bad.verdict {
        Verdict::Skipped => tally.skipped += 1,
        Verdict::Faulty | Verdict::Unreadable => tally.rejected += 1,
    }
    let what = if bad.verdict == Verdict::Skipped { " (skipped)" } else { "" };
    bar.suspend(|| eprintln!("{bad}{what}"));
}

fn market(options: &ImportOptions) -> Market {
    Market {
        name: options.name.clone(),
        currency: options.currency,
        currencies: options.currencies.clone(),
        language: options.language.clone(),
        languages: Vec::new(),
        countries: std::collections::BTreeMap::new(),
        rates: std::collections::BTreeMap::new(),
        links: Vec::new(),
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress_bar(import: &Import) -> ProgressBar {
    let Some(total) = import.bytes_total().filter(|_| std::io::stderr().is_terminal()) else {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    };
    let style = ProgressStyle::with_template("{bar:40} {percent:>3}% {msg}, {eta} left");
    let bar = ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
