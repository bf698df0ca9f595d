//! Import of a merchant's catalog: JSON Lines of UCP products, Shopify's product CSV export, and feeds of Google Merchant
//! Center.
//!
//! An [`Import`] is an iterator over products. Each item is a [`Change`] with the line it starts on, namely a whole
//! product that passed [`Record::check`] or one to remove, or a [`BadRow`] that says where and why a product is left
//! out. A product is never yielded in part: one bad row leaves out its whole product and nothing else. Memory stays
//! bounded by the largest single product; of a Google feed, by the products whose items do not follow each other.
//!
//! Nothing is stored here. Identifiers depend on the content of the file alone, so that importing the same catalog
//! again updates the same products.

mod google;
pub mod jsonl;
pub mod shopify;

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Seek as _},
    path::Path,
};

use jiff::Timestamp;
use ucp_core::catalog::{market::Market, record::Record};
pub use ucp_import::{BadRow, Verdict};
use ucp_import::{Progress, is_web_address};

/// Number of bytes at the start of a file that its format is recognized by.
const SNIFFED: usize = 4096;

/// Format of a file of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One UCP product a line, with the additions of [`Record`].
    Jsonl,
    /// Shopify's product export, with the column names of any year.
    ShopifyCsv,
    /// A feed of Google Merchant Center, RSS 2.0 or Atom.
    GoogleXml,
    /// A feed of Google Merchant Center, tab-separated.
    GoogleTsv,
}

impl Format {
    /// Recognizes a format by the extension of the file name, or else by the first bytes.
    pub fn detect(file_name: Option<&str>, start: &[u8]) -> Option<Self> {
        let extension =
            file_name.and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("jsonl" | "ndjson" | "jsonlines") => return Some(Self::Jsonl),
            Some("csv") => return Some(Self::ShopifyCsv),
            Some("xml" | "rss" | "atom") => return Some(Self::GoogleXml),
            Some("tsv") => return Some(Self::GoogleTsv),
            _ => {}
        }
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => return Some(Self::Jsonl),
            Some(b'<') => return Some(Self::GoogleXml),
            _ => {}
        }
        let header = start.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        match (google::recognises(header), shopify::recognises(header)) {
            (true, _) => Some(Self::GoogleTsv),
            (false, true) => Some(Self::ShopifyCsv),
            (false, false) => None,
        }
    }

    /// Returns the kind of a Google feed.
    const fn google(self) -> Option<google::Kind> {
        match self {
            Self::GoogleXml => Some(google::Kind::Xml),
            Self::GoogleTsv => Some(google::Kind::Tsv),
            Self::Jsonl | Self::ShopifyCsv => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jsonl => "JSON Lines",
            Self::ShopifyCsv => "Shopify CSV",
            Self::GoogleXml => "Google XML",
            Self::GoogleTsv => "Google TSV",
        })
    }
}

/// Error of a file that cannot be imported at all.
#[derive(Debug, thiserror::Error)]
pub enum Unimportable {
    /// The file cannot be opened or read.
    #[error("the file cannot be read")]
    Io(#[from] io::Error),
    /// The format is recognized neither by the name nor by the first bytes.
    #[error(
        "the format is not recognised: it must be JSON Lines (`.jsonl`), a Shopify product export (`.csv`), or a feed of \
         Google Merchant Center (`.xml` or `.tsv`)"
    )]
    UnknownFormat,
    /// A CSV file lacks required columns.
    #[error("not a Shopify product export: no column {missing}; the columns are {found}")]
    MissingColumns {
        /// Missing columns, each with its accepted names.
        missing: String,
        /// Columns of the file.
        found: String,
    },
    /// A tab-separated feed lacks required attributes.
    #[error("not a feed of Google Merchant Center: no column {missing}; the columns are {found}")]
    MissingAttributes {
        /// Missing columns.
        missing: String,
        /// Columns of the file.
        found: String,
    },
    /// The header of a CSV file cannot be read.
    #[error("the header cannot be read: {0}")]
    Header(String),
}

/// Item of the reader of a format: a product with its first line, or the reason why it is left out.
pub type ImportedProduct = Result<(u64, Record), BadRow>;

/// Statement of a file about one product.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is sold, as stated.
    Put(Box<Record>),
    /// The product with this identifier is no longer sold.
    Remove(String),
}

impl Change {
    /// Returns the identifier of the product.
    pub fn id(&self) -> &str {
        match self {
            Self::Put(record) => &record.id,
            Self::Remove(id) => id,
        }
    }
}

impl From<Record> for Change {
    fn from(record: Record) -> Self {
        Self::Put(record.into())
    }
}

/// A catalog being read: an iterator over its products.
pub struct Import {
    rows: Box<dyn Iterator<Item = Result<(u64, Change), BadRow>> + Send>,
    format: Format,
    progress: Progress,
    as_of: Timestamp,
    seen: HashMap<String, u64>,
    ended: bool,
}

impl Import {
    /// Opens a file, in the given format or the one that is recognized. The time `now` decides about prices that hold for
    /// a while.
    ///
    /// # Errors
    /// An error if the file cannot be read, its format is not recognized, or its header is not that of a product
    /// export.
    pub fn open(path: &Path, format: Option<Format>, market: &Market, now: Timestamp) -> Result<Self, Unimportable> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let name = path.file_name().and_then(|name| name.to_str());
        let mut sizes = None;
        if metadata.is_file() {
            let mut start = Vec::with_capacity(SNIFFED);
            (&mut file).take(SNIFFED as u64).read_to_end(&mut start)?;
            file.rewind()?;
            let format = format.or_else(|| Format::detect(name, &start));
            if let Some(kind) = format.and_then(Format::google) {
                sizes = Some(google::group_sizes(BufReader::with_capacity(64 * 1024, file.try_clone()?), kind)?);
                file.rewind()?;
            }
        }
        let mut import = Self::begin(file, name, format, market, now, sizes)?;
        if metadata.is_file() {
            import.progress.total = Some(metadata.len());
            // A file from the future is one of now.
            let modified = metadata.modified().ok().and_then(|modified| Timestamp::try_from(modified).ok());
            import.as_of = modified.map_or(now, |modified| modified.min(now));
        }
        Ok(import)
    }

    /// Reads from any source, such as standard input. The format can be recognized by `name`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn read(
        reader: impl Read + Send + 'static,
        name: Option<&str>,
        format: Option<Format>,
        market: &Market,
        now: Timestamp,
    ) -> Result<Self, Unimportable> {
        Self::begin(reader, name, format, market, now, None)
    }

    fn begin(
        reader: impl Read + Send + 'static,
        name: Option<&str>,
        format: Option<Format>,
        market: &Market,
        now: Timestamp,
        sizes: Option<google::GroupSizes>,
    ) -> Result<Self, Unimportable> {
        let progress = Progress::default();
        let mut buffered = BufReader::with_capacity(64 * 1024, progress.of(reader));
        let start = buffered.fill_buf()?;
        let start = &start[..start.len().min(SNIFFED)];
        let format = format.or_else(|| Format::detect(name, start)).ok_or(Unimportable::UnknownFormat)?;
        let put = |item: ImportedProduct| item.map(|(line, record)| (line, Change::from(record)));
        let rows: Box<dyn Iterator<Item = _> + Send> = match (format, format.google()) {
            (_, Some(kind)) => Box::new(google::Products::new(buffered, kind, market.clone(), now, sizes)?.map(put)),
            (Format::ShopifyCsv, None) => Box::new(shopify::Products::new(buffered, market.clone())?.map(put)),
            (_, None) => Box::new(jsonl::Products::new(buffered, market.clone())),
        };
        Ok(Self { rows, format, progress, as_of: now, seen: HashMap::new(), ended: false })
    }

    /// Returns the format of the file.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the time as of which the source states its products: that of the last change of a file, now of any other.
    pub const fn as_of(&self) -> Timestamp {
        self.as_of
    }

    /// Returns how far the source has been read.
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }
}

ucp_core::opaque!(Import { format, progress });

impl Iterator for Import {
    type Item = Result<(u64, Change), BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        Some(match self.rows.next()? {
            Ok((line, change)) => match self.seen.get(change.id()) {
                Some(first) => Err(BadRow::faulty(
                    line,
                    None,
                    format!("the product `{}` was already on line {first} of this file", change.id()),
                )),
                None => {
                    self.seen.insert(change.id().to_owned(), line);
                    Ok((line, change))
                }
            },
            Err(bad) => {
                self.ended = bad.verdict == Verdict::Unreadable;
                Err(bad)
            }
        })
    }
}

/// Returns every URL of a record, with its JSONPath.
fn addresses(record: &Record) -> impl Iterator<Item = (String, &str)> {
    let of_product = record.url.iter().map(|url| ("$.url".to_owned(), url.as_str()));
    let media = record
        .media
        .iter()
        .enumerate()
        .map(|(position, media)| (format!("$.media[{position}].url"), media.url.as_str()));
    let of_variants = record.variants.iter().enumerate().flat_map(|(position, variant)| {
        let at = move |member: String| format!("$.variants[{position}].{member}");
        let url = variant.url.iter().map(move |url| (at("url".to_owned()), url.as_str()));
        let media = variant
            .media
            .iter()
            .enumerate()
            .map(move |(place, media)| (at(format!("media[{place}].url")), media.url.as_str()));
        let links = variant.seller.iter().flat_map(|seller| seller.links.iter().enumerate());
        url.chain(media)
            .chain(links.map(move |(place, link)| (at(format!("seller.links[{place}].url")), link.url.as_str())))
    });
    of_product.chain(media).chain(of_variants)
}

/// Applies the checks that products of all formats have to pass.
fn finish(record: Record, line: u64, market: &Market) -> ImportedProduct {
    let record = record.check(market).map_err(|fault| BadRow::faulty(line, Some(fault.path), fault.reason))?;
    if let Some((place, _)) = addresses(&record).find(|(_, address)| !is_web_address(address)) {
        return Err(BadRow::faulty(line, Some(place), "must be an address that starts with `https://` or `http://`"));
    }
    Ok((line, record))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    const JSON: &str = r#"{"id":"p1","title":"Mug","description":{"plain":"A mug."},"variants":[{"id":"v1","price":{"amount":900,"currency":"USD"}}]}"#;
    const CSV: &str = "Handle,Title,Variant Price\nmug,Mug,9.00\n";

    fn market() -> Market {
        serde_json::from_str(r#"{"name":"Example","currency":"USD","language":"en"}"#).expect("a market")
    }

    fn import(file: impl Into<Vec<u8>>, name: Option<&str>) -> Result<Import, Unimportable> {
        Import::read(Cursor::new(file.into()), name, None, &market(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn formats_are_recognised_by_name_or_content() {
        for (name, start, format) in [
            (Some("a.jsonl"), "", Some(Format::Jsonl)),
            (Some("a.NDJSON"), "Handle,Title", Some(Format::Jsonl)),
            (Some("a.b.csv"), "{", Some(Format::ShopifyCsv)),
            (Some("products"), " \n{\"id\"", Some(Format::Jsonl)),
            (None, "\u{feff}{", Some(Format::Jsonl)),
            (Some("a.txt"), "\u{feff}Title,URL handle,Price\r\n", Some(Format::ShopifyCsv)),
            (Some("feed.xml"), "", Some(Format::GoogleXml)),
            (None, "\u{feff}<?xml version=\"1.0\"?>", Some(Format::GoogleXml)),
            (Some("feed.txt"), "id\ttitle\timage link\tprice\n", Some(Format::GoogleTsv)),
            (None, "id\ttitle\n", None),
            (None, "id,name\n", None),
            (None, "", None),
        ] {
            assert_eq!(Format::detect(name, start.as_bytes()), format, "{name:?} {start}");
        }
        assert!(matches!(import("PK\u{3}\u{4}", Some("a.xlsx")), Err(Unimportable::UnknownFormat)));
    }

    #[test]
    fn an_import_reports_its_progress() {
        let mut products = import(format!("{JSON}\n"), None).expect("recognised");
        let progress = products.progress().clone();
        assert_eq!((products.format(), progress.total), (Format::Jsonl, None));
        assert!(products.next().expect("a product").is_ok());
        assert!(products.next().is_none());
        assert_eq!(progress.bytes(), JSON.len() as u64 + 1);
    }

    #[test]
    fn an_import_of_a_file_knows_its_length() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("catalog.csv");
        std::fs::write(&path, CSV).expect("written");
        let import = Import::open(&path, None, &market(), Timestamp::UNIX_EPOCH).expect("opened");
        assert_eq!((import.progress().total, import.format()), (Some(CSV.len() as u64), Format::ShopifyCsv));
        assert_eq!(import.filter(Result::is_ok).count(), 1);
        let missing = directory.path().join("missing.csv");
        assert!(matches!(Import::open(&missing, None, &market(), Timestamp::UNIX_EPOCH), Err(Unimportable::Io(_))));
    }

    #[test]
    fn a_product_is_taken_once_from_a_file() {
        let items: Vec<_> = import(format!("{JSON}\n\n{JSON}"), None).expect("recognised").collect();
        assert!(items[0].is_ok());
        assert_eq!(
            items[1].as_ref().expect_err("twice").to_string(),
            "line 3: the product `p1` was already on line 1 of this file"
        );
    }

    #[test]
    fn a_file_that_breaks_off_says_so() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let both = [(format!("{JSON}\n"), Format::Jsonl), (CSV.to_owned(), Format::ShopifyCsv)];
        for (start, format) in both {
            let reader = Cursor::new(start).chain(Broken);
            let items: Vec<_> =
                Import::read(reader, None, Some(format), &market(), Timestamp::UNIX_EPOCH).expect("opened").collect();
            let last = items.last().expect("an item").as_ref().expect_err("broken");
            assert_eq!(last.verdict, Verdict::Unreadable, "{format}");
            assert!(last.reason.contains("the disk is gone"), "{}", last.reason);
        }
    }

    proptest! {
        #[test]
        fn any_file_is_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..300), format in 0..4_usize) {
            let format = [Format::Jsonl, Format::ShopifyCsv, Format::GoogleXml, Format::GoogleTsv][format];
            if let Ok(import) = Import::read(Cursor::new(bytes), None, Some(format), &market(), Timestamp::UNIX_EPOCH) {
                import.for_each(drop);
            }
        }
    }
}
