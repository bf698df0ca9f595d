//! Import of a directory of merchants: JSON Lines, one [`Merchant`] per line.
//!
//! Each line is independent. Its faults are reported together, each with the line, the member and the reason, and the
//! next line is read. [`Tolerance`] decides whether a merchant with invalid coordinates or hours is left out, or
//! imported without them.
//!
//! A location states its opening hours in `hours` and `exception_hours`. OpenStreetMap's `opening_hours` is refused
//! rather than ignored: a shop without hours would never be open.
//!
//! Descriptions come from strangers and end up in the hands of agents, so that only what a reader would see of them is
//! kept: HTML and Markdown become plain text, and characters that hide or steer text are dropped.
//!
//! Nothing is stored here.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use serde_json::Value;
use ucp_core::{
    merchant::record::{Merchant, Unusable},
    text,
};
use ucp_import::{BadRow, Progress, Verdict, is_web_address, jsonl, text::describe};

/// Member of a location with opening hours in the format of OpenStreetMap.
const OPENING_HOURS: &str = "opening_hours";

/// Members to state instead.
const INSTEAD: &str = r#"is not read; state the week in `hours`, such as `[{"day": "monday", "opens": "09:00", "closes": "17:00"}]`, and dates that differ in `exception_hours`"#;

/// Treatment of a merchant with a location whose coordinates or hours are invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tolerance {
    /// The merchant is left out.
    #[default]
    Strict,
    /// The merchant is imported without them: such a location is never near and never open.
    Lenient,
}

/// A merchant that can be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The line it is on, counted from 1.
    pub line: u64,
    /// The merchant.
    pub merchant: Merchant,
    /// Members that were left out, each with the reason. Empty unless read with [`Tolerance::Lenient`].
    pub set_aside: Vec<BadRow>,
}

/// Item of a reader: a merchant, or the reason why a line is left out.
pub type Item = Result<Row, BadRow>;

/// A file of merchants being read: an iterator over them.
pub struct Import {
    documents: jsonl::Documents<Box<dyn BufRead + Send>>,
    tolerance: Tolerance,
    progress: Progress,
    merchants: HashMap<String, u64>,
    locations: HashMap<String, u64>,
    ended: bool,
}
ucp_core::opaque!(Import { tolerance, progress });

impl Import {
    /// Opens a file. Fails with an error if the file cannot be opened.
    pub fn open(path: &Path, tolerance: Tolerance) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut import = Self::read(file, tolerance);
        import.progress.total = metadata.is_file().then_some(metadata.len());
        Ok(import)
    }

    /// Reads from any source, such as standard input.
    pub fn read(reader: impl Read + Send + 'static, tolerance: Tolerance) -> Self {
        let progress = Progress::default();
        let buffered: Box<dyn BufRead + Send> = Box::new(BufReader::with_capacity(64 * 1024, progress.of(reader)));
        Self {
            documents: jsonl::Documents::new(buffered, "merchant"),
            tolerance,
            progress,
            merchants: HashMap::new(),
            locations: HashMap::new(),
            ended: false,
        }
    }

    /// Returns how far the source has been read.
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Reserves the identifiers of a merchant, unless an earlier line has one of them.
    fn claim(&mut self, row: Row) -> Item {
        let Row { line, merchant, .. } = &row;
        let taken = |place: String, what: &str, id: &str, first: u64| {
            let reason = format!("the {what} `{id}` was already on line {first} of this file");
            Err(BadRow::faulty(*line, Some(place), reason))
        };
        if let Some(first) = self.merchants.get(&merchant.id) {
            return taken("$.id".to_owned(), "merchant", &merchant.id, *first);
        }
        for (position, location) in merchant.locations.iter().enumerate() {
            if let Some(first) = self.locations.get(&location.id) {
                return taken(format!("$.locations[{position}].id"), "location", &location.id, *first);
            }
        }
        self.merchants.insert(merchant.id.clone(), *line);
        self.locations.extend(merchant.locations.iter().map(|location| (location.id.clone(), *line)));
        Ok(row)
    }
}

impl Iterator for Import {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.ended {
            return None;
        }
        let item = self.documents.next()?.and_then(|(line, document)| merchant(line, document, self.tolerance));
        Some(match item {
            Ok(row) => self.claim(row),
            Err(bad) => {
                self.ended = bad.verdict == Verdict::Unreadable;
                Err(bad)
            }
        })
    }
}

/// Parses the merchant of a document.
fn merchant(line: u64, document: Value, tolerance: Tolerance) -> Item {
    let mut merchant: Merchant =
        jsonl::typed(document).map_err(|(path, reason)| BadRow::faulty(line, Some(path), reason))?;
    clean(&mut merchant);
    let mut set_aside = Vec::new();
    for (position, location) in merchant.locations.iter_mut().enumerate() {
        if location.extra.shift_remove(OPENING_HOURS).is_some_and(|hours| !hours.is_null()) {
            let path = format!("$.locations[{position}].{OPENING_HOURS}");
            set_aside.push(Unusable { path, reason: INSTEAD.to_owned() });
        }
    }
    let (merchant, more) = merchant.salvage().map_err(|fault| BadRow::faulty(line, Some(fault.path), fault.reason))?;
    set_aside.extend(more);
    if let Some(place) = addresses(&merchant).into_iter().find(|(_, address)| !is_web_address(address)) {
        let reason = "must be an address that starts with `https://` or `http://`";
        return Err(BadRow::faulty(line, Some(place.0), reason));
    }
    match (tolerance, set_aside.split_first()) {
        (Tolerance::Strict, Some((first, more))) => {
            let also: String = more.iter().map(|fault| format!("; and {fault}")).collect();
            Err(BadRow::faulty(line, Some(first.path.clone()), first.reason.clone() + &also))
        }
        _ => {
            let set_aside =
                set_aside.into_iter().map(|fault| BadRow::faulty(line, Some(fault.path), fault.reason)).collect();
            Ok(Row { line, merchant, set_aside })
        }
    }
}

/// Reduces the texts of a merchant to what a reader sees.
fn clean(merchant: &mut Merchant) {
    let texts = std::iter::once(&mut merchant.description)
        .chain(merchant.translations.values_mut().map(|translation| &mut translation.description));
    texts.flatten().for_each(describe);
    let names = std::iter::once(&mut merchant.name)
        .chain(merchant.translations.values_mut().filter_map(|translation| translation.name.as_mut()))
        .chain(&mut merchant.category)
        .chain(&mut merchant.tags);
    names.for_each(visible);
    for location in &mut merchant.locations {
        visible(&mut location.name);
        location.names.values_mut().for_each(visible);
        location.exception_hours.iter_mut().filter_map(|exception| exception.title.as_mut()).for_each(visible);
        location.amenities.values_mut().for_each(|amenity| visible(&mut amenity.description));
    }
}

fn visible(words: &mut String) {
    *words = text::clean(words);
}

/// Returns every URL of a merchant that a client may open, with its JSONPath.
fn addresses(merchant: &Merchant) -> Vec<(String, &str)> {
    let own = merchant.url.iter().map(|url| ("$.url".to_owned(), url.as_str()));
    let media = merchant.media.iter().enumerate().map(|(at, media)| (format!("$.media[{at}].url"), media.url.as_str()));
    own.chain(media).collect()
}

#[cfg(test)]
mod tests;
