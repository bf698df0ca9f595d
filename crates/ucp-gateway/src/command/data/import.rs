//! `import`: loads a merchant's catalog, names that mean the same, or a [directory of merchants](merchants).
//!
//! Valid rows are stored, invalid ones are reported with their line number. Products are written in batches of
//! [`BATCH`], each in one transaction. A gateway that serves the same data directory picks the changes up by itself.

#[cfg(feature = "directory")]
mod merchants;

use std::{
    collections::{BTreeMap, HashSet},
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use jiff::Timestamp;
use ucp_core::{catalog::market::Market, money::Currency};
use ucp_host::{backend::Import as SharedImport, cause::chain, clock, progress::bar};
use ucp_shop::{
    Database, LONGEST_SYNONYMS, Opening, Synonyms,
    import::{BadRow, Change, Format, Import, Verdict},
};
use ucp_sqlite::{Put, Rejected, SqliteStore, StoreError, WriteError};

use crate::command::{
    Done,
    output::{remark, say},
    place::{Location, StoreOptions},
    runtime::runtime,
};

/// Number of products per transaction.
const BATCH: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// File with products: JSON Lines of UCP products, Shopify's product CSV export, or a Google Merchant Center feed.
    #[arg(required_unless_present_any = ["merchants", "synonyms"], conflicts_with = "merchants")]
    pub(crate) file: Option<PathBuf>,
    /// File with merchants to import into the directory of merchants, one per line (JSON Lines).
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    pub(crate) merchants: Option<PathBuf>,
    /// Import merchants with invalid hours or coordinates without these, instead of rejecting them.
    #[arg(long, conflicts_with = "file")]
    pub(crate) lenient: bool,
    /// File with names that mean the same, one statement per line: `sofa, couch` or `settee => sofa`. It replaces the one
    /// that was imported before; an empty file removes it. Running gateways use it at once.
    #[arg(long, value_name = "FILE", conflicts_with = "merchants")]
    pub(crate) synonyms: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
    /// Remove the products that are not in the file. Nothing is removed if a row is rejected.
    #[arg(long, conflicts_with = "merchants")]
    pub(crate) replace: bool,
    /// Format of the file, if neither its name nor its content identifies it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// Name of a new shop [default: Shop].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Currency of a new shop [default: USD].
    #[arg(long)]
    pub(crate) currency: Option<Currency>,
    /// Additional currencies of the prices of a new shop.
    #[arg(long, value_delimiter = ',', value_name = "CURRENCIES")]
    pub(crate) currencies: Vec<Currency>,
    /// Language of a new shop [default: en].
    #[arg(long, value_name = "TAG")]
    pub(crate) language: Option<String>,
    /// Additional languages of the texts of a new shop.
    #[arg(long, value_delimiter = ',', value_name = "TAGS")]
    pub(crate) languages: Vec<String>,
    /// File with the market of a new shop, in JSON: `name`, `currency`, `currencies`, `language`, `languages`, `countries`
    /// (currency by country), `rates` (by currency) and `links`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "currency", "currencies", "language", "languages"])]
    pub(crate) market: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// JSON Lines of UCP products.
    Jsonl,
    /// Shopify's product CSV export.
    Shopify,
    /// Google Merchant Center feed, RSS 2.0 or Atom.
    GoogleXml,
    /// Google Merchant Center feed, tab-separated.
    GoogleTsv,
}

impl From<ImportFormat> for Format {
    fn from(format: ImportFormat) -> Self {
        match format {
            ImportFormat::Jsonl => Self::Jsonl,
            ImportFormat::Shopify => Self::ShopifyCsv,
            ImportFormat::GoogleXml => Self::GoogleXml,
            ImportFormat::GoogleTsv => Self::GoogleTsv,
        }
    }
}

#[derive(Default)]
struct Tally {
    created: u64,
    updated: u64,
    unchanged: u64,
    removed: u64,
    skipped: u64,
    rejected: u64,
    /// Stock numbers that are as before, of variants of which orders have taken some since.
    kept: u64,
}

impl Tally {
    fn stored(&self) -> u64 {
        self.created + self.updated + self.unchanged
    }

    /// Counts the outcome of a line that was to be stored, and reports one that was rejected.
    fn count(&mut self, bar: &ProgressBar, line: u64, outcome: Result<Put, Rejected>) {
        match outcome {
            Ok(Put::Created) => self.created += 1,
            Ok(Put::Updated) => self.updated += 1,
            Ok(Put::Unchanged) => self.unchanged += 1,
            Err(rejected) => {
                self.rejected += 1;
                bar.suspend(|| remark!("line {line}: {rejected}"));
            }
        }
    }

    /// Prints the counts for a file, and returns the exit code: 2 if a row was rejected, else 0.
    fn told(&self, file: &Path) -> ExitCode {
        let Self { created, updated, unchanged, removed, skipped, rejected, kept } = self;
        let removed = if *removed == 0 { String::new() } else { format!("{removed} removed, ") };
        let kept = match kept {
            0 => String::new(),
            1 => "; 1 stock number is as before, and what was sold since stays sold".to_owned(),
            kept => format!("; {kept} stock numbers are as before, and what was sold since stays sold"),
        };
        say!(
            "{}: {created} new, {updated} changed, {unchanged} unchanged, {removed}{skipped} skipped, {rejected} rejected{kept}",
            file.display()
        );
        if *rejected == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) }
    }
}

pub(crate) fn run(options: &ImportOptions) -> Done {
    match &options.merchants {
        Some(file) => merchants::run(options, file, options.lenient),
        None => products(options),
    }
}

/// Refuses `--merchants` in a binary without the feature `directory`.
#[cfg(not(feature = "directory"))]
mod merchants {
    use std::path::Path;

    use ucp_config::WITHOUT;

    use super::{Done, ImportOptions};

    pub(super) fn run(_: &ImportOptions, _: &Path, _: bool) -> Done {
        Err(format!("--merchants: {WITHOUT}").into())
    }
}

/// Reads the names that mean the same. Fails with the faults, each with its line.
fn read_synonyms(file: &Path) -> Result<Synonyms, String> {
    let at = |problem: &dyn std::fmt::Display| format!("{}: {problem}", file.display());
    let length = fs::metadata(file).map_err(|error| at(&error))?.len();
    if length > LONGEST_SYNONYMS as u64 {
        return Err(at(&format_args!("{length} bytes, where at most {LONGEST_SYNONYMS} are read")));
    }
    let text = fs::read_to_string(file).map_err(|error| at(&error))?;
    Synonyms::read(&text).map_err(|bad| bad.lines().iter().map(|line| at(line)).collect::<Vec<_>>().join("\n"))
}

/// Loads products and synonyms into the data directory, or by way of it into the database that gateways share.
fn products(options: &ImportOptions) -> Done {
    let location = options.store.locate()?;
    let Some(database) = &location.database else { return load(options, &location, &location.dir, |_| Ok(())) };
    let runtime = runtime(1)?;
    let _entered = runtime.enter();
    let import = SharedImport::begin(database, &location.shop, &location.dir)?;
    let folder = import.folder().to_owned();
    load(options, &location, &folder, |products| import.publish(products))
}

/// Loads products into a directory, and hands them on.
fn load(
    options: &ImportOptions,
    location: &Location,
    data_dir: &Path,
    done: impl FnOnce(&Database) -> Result<(), Box<dyn Error>>,
) -> Done {
    let synonyms = options.synonyms.as_deref().map(read_synonyms).transpose()?;
    let (database, result) = match &options.file {
        Some(file) => load_products(options, file, location, data_dir)?,
        // Synonyms are those of a shop that is there.
        None => (Database::of(SqliteStore::open(data_dir)?.of(location.shop.clone())?)?, ExitCode::SUCCESS),
    };
    if let Some(synonyms) = &synonyms {
        database.set_synonyms_blocking(synonyms)?;
    }
    done(&database)?;
    if let (Some(file), Some(synonyms)) = (&options.synonyms, &synonyms) {
        say!("{}: lines of synonyms: {}", file.display(), synonyms.len());
    }
    Ok(result)
}

/// Loads the products of a file into a directory.
fn load_products(
    options: &ImportOptions,
    file: &Path,
    location: &Location,
    data_dir: &Path,
) -> Result<(Database, ExitCode), Box<dyn Error>> {
    let wanted = Wanted::read(options)?;
    let (format, now) = (options.format.map(Format::from), clock::timestamp());
    let open = |market: &Market| {
        Import::open(file, format, market, now).map_err(|error| format!("{}: {}", file.display(), chain(&error)))
    };
    // Opened before the database, so that an unreadable file does not create a shop.
    drop(open(&wanted.market())?);
    let database = opened(location, data_dir, &wanted)?;
    wanted.check(&database.market()).map_err(|differing| {
        format!(
            "the shop in {} is there already, and its {differing} is not what the command line says; what a shop speaks and \
             trades in is settled when it is made, so choose another --data-dir for a new one",
            location.dir.display()
        )
    })?;
    let import = open(&database.market())?;
    let (progress, as_of) = (import.progress().clone(), import.as_of());
    let bar = progress_bar(progress.total);
    let mut tally = Tally::default();
    let mut batch: Vec<(u64, Change)> = Vec::with_capacity(BATCH);
    let mut stated = HashSet::new();
    let mut refused = Vec::new();
    let mut rows = import.peekable();
    while let Some(row) = rows.next() {
        match row {
            Ok(change) => batch.push(change),
            Err(bad) => report(&bar, &mut tally, &bad),
        }
        if batch.len() == BATCH || rows.peek().is_none() {
            if options.replace {
                stated.extend(batch.iter().map(|(_, change)| change.id().to_owned()));
            }
            refused.extend(write(&database, &bar, &mut tally, batch.drain(..), as_of, options.replace)?);
            bar.set_position(progress.bytes());
            bar.set_message(format!("{} products", tally.stored()));
        }
    }
    if options.replace {
        replace(&database, &bar, &mut tally, &stated, as_of, refused)?;
    }
    bar.finish_and_clear();
    Ok((database, tally.told(file)))
}

/// Opens the shop, or creates it without products.
fn opened(location: &Location, data_dir: &Path, wanted: &Wanted<'_>) -> Result<Database, StoreError> {
    let store = SqliteStore::open_or_create(data_dir)?.of(location.shop.clone())?;
    Database::of_or_create(store, || Opening::of(wanted.market()))
}

/// Writes a batch: what it removes, then what it puts. Returns the products that the shop refuses, if a second attempt
/// is to follow; else reports them.
fn write(
    database: &Database,
    bar: &ProgressBar,
    tally: &mut Tally,
    batch: impl Iterator<Item = (u64, Change)>,
    as_of: Timestamp,
    again: bool,
) -> Result<Vec<(u64, Change)>, WriteError> {
    let (mut removals, mut puts) = (Vec::new(), Vec::new());
    for (line, change) in batch {
        match change {
            Change::Put(record) => puts.push((line, record)),
            Change::Remove(id) => removals.push((line, id)),
        }
    }
    let removed = database.remove_blocking(removals.iter().map(|(_, id)| id.clone()).collect())?;
    for ((line, id), removed) in removals.iter().zip(removed) {
        if removed {
            tally.removed += 1;
        } else {
            report(bar, tally, &BadRow::skipped(*line, "$.id", format!("there is no product `{id}` to delete")));
        }
    }
    let mut refused = Vec::new();
    let kept = again.then(|| puts.clone());
    let (lines, records): (Vec<_>, Vec<_>) = puts.into_iter().map(|(line, record)| (line, *record)).unzip();
    let stored = database.put_blocking(records, as_of)?;
    tally.kept += stored.kept;
    for (place, (line, outcome)) in lines.into_iter().zip(stored.outcomes).enumerate() {
        match (outcome, kept.as_ref().and_then(|kept| kept.get(place))) {
            (Err(_), Some((line, record))) => refused.push((*line, Change::Put(record.clone()))),
            (outcome, _) => tally.count(bar, line, outcome),
        }
    }
    Ok(refused)
}

/// Removes the products that the file does not state, and puts those that were refused before: what stood in their way
/// may be gone. Removes nothing if a row was rejected, or if there are no products in the file.
fn replace(
    database: &Database,
    bar: &ProgressBar,
    tally: &mut Tally,
    stated: &HashSet<String>,
    as_of: Timestamp,
    refused: Vec<(u64, Change)>,
) -> Result<(), Box<dyn Error>> {
    if tally.rejected == 0 && !stated.is_empty() {
        let gone: Vec<_> = database.ids()?.into_iter().filter(|id| !stated.contains(id)).collect();
        for ids in gone.chunks(BATCH) {
            let removed = database.remove_blocking(ids.to_vec())?;
            tally.removed += removed.into_iter().filter(|removed| *removed).count() as u64;
        }
    } else {
        let reason = if stated.is_empty() { "there is no product in the file" } else { "rows were rejected" };
        bar.suspend(|| remark!("nothing was removed, because {reason}"));
    }
    write(database, bar, tally, refused.into_iter(), as_of, false)?;
    Ok(())
}

fn report(bar: &ProgressBar, tally: &mut Tally, bad: &BadRow) {
    match bad.verdict {
        Verdict::Skipped => tally.skipped += 1,
        Verdict::Faulty | Verdict::Unreadable => tally.rejected += 1,
    }
    let what = if bad.verdict == Verdict::Skipped { " (skipped)" } else { "" };
    bar.suspend(|| remark!("{bad}{what}"));
}

/// Market of the shop as the command line states it.
struct Wanted<'a> {
    options: &'a ImportOptions,
    market: Option<Market>,
}

impl<'a> Wanted<'a> {
    fn read(options: &'a ImportOptions) -> Result<Self, String> {
        let market = options.market.as_ref().map(|file| {
            let text =
                fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
            serde_json::from_str(&text)
                .map_err(|error| format!("{} does not describe a market: {error}", file.display()))
        });
        Ok(Self { options, market: market.transpose()? })
    }

    /// Returns the market of a new shop: that of the `--market` file, or one of the single options and their defaults.
    fn market(&self) -> Market {
        let options = self.options;
        self.market.clone().unwrap_or_else(|| Market {
            name: options.name.clone().unwrap_or_else(|| "Shop".to_owned()),
            currency: options.currency.unwrap_or(Currency::USD),
            currencies: options.currencies.clone(),
            language: options.language.clone().unwrap_or_else(|| "en".to_owned()),
            languages: options.languages.clone(),
            countries: BTreeMap::new(),
            by_country: false,
            rates: BTreeMap::new(),
            links: Vec::new(),
        })
    }

    /// Checks that the market of an existing shop agrees with every option that was given.
    ///
    /// # Errors
    /// The name of the first setting that differs.
    fn check(&self, own: &Market) -> Result<(), &'static str> {
        let options = self.options;
        let differs = |stated: bool, same: bool| stated && !same;
        for (what, differing) in [
            ("market", self.market.as_ref().is_some_and(|market| market != own)),
            ("name", options.name.as_ref().is_some_and(|name| *name != own.name)),
            ("currency", options.currency.is_some_and(|currency| currency != own.currency)),
            ("list of currencies", differs(!options.currencies.is_empty(), options.currencies == own.currencies)),
            ("language", options.language.as_ref().is_some_and(|language| *language != own.language)),
            ("list of languages", differs(!options.languages.is_empty(), options.languages == own.languages)),
        ] {
            if differing {
                return Err(what);
            }
        }
        Ok(())
    }
}

/// Creates the progress bar of an import.
fn progress_bar(total: Option<u64>) -> ProgressBar {
    bar(total, "{bar:40} {percent:>3}% {msg}, {eta} left")
}
