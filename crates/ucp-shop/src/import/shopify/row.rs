//! Rows of a Shopify product export, each with the line it starts on.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    sync::Arc,
};

use csv::StringRecord;
use ucp_core::{
    catalog::product::Availability,
    money::{Amount, Currency},
    text::clean,
};
use ucp_import::{
    BadRow, is_web_address, printable,
    text::{line, unfit},
};

use super::{
    super::Unimportable,
    column::{AXES, Column},
};

/// Maximum length of a row, in bytes. A quote that is never closed would make the rest of the file one row.
pub(super) const LONGEST_ROW: u64 = 8 << 20;

/// A row, with access to its cells by column.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: u64,
    cells: StringRecord,
    /// Fault that makes the whole row unusable; its cells then only tell which product it belongs to.
    pub(super) fault: Option<BadRow>,
    columns: Arc<Header>,
}

/// Positions of the known columns, and the column names of this file.
#[derive(Debug)]
struct Header {
    places: BTreeMap<Column, usize>,
    names: StringRecord,
}

impl Row {
    /// Returns the trimmed content of a cell; empty if the column is missing.
    pub(super) fn cell(&self, column: Column) -> &str {
        self.columns.places.get(&column).and_then(|place| self.cells.get(*place)).unwrap_or_default().trim()
    }

    /// Returns the content of a cell as one line for display.
    pub(super) fn text(&self, column: Column) -> String {
        line(self.cell(column)).unwrap_or_default()
    }

    pub(super) fn has(&self, column: Column) -> bool {
        !self.cell(column).is_empty()
    }

    pub(super) fn fault(&self, column: Column, reason: impl AsRef<str>) -> BadRow {
        BadRow::faulty(self.line, Some(self.columns.name(column)), reason)
    }

    /// Returns `true` if the row belongs to the product with `handle`, which is that of the rows above. A row without a
    /// handle does, unless it has a title: it is a faulty part of that product, which may not be imported without it.
    pub(super) fn belongs_to(&self, handle: &str) -> bool {
        match self.cell(Column::Handle) {
            "" => !self.has(Column::Title),
            own => own == handle,
        }
    }

    /// Returns `true` if the row has a variant: a price, an SKU or an option value.
    pub(super) fn is_variant(&self) -> bool {
        self.has(Column::Price) || self.has(Column::Sku) || (0..AXES).any(|axis| self.has(Column::OptionValue(axis)))
    }

    /// Returns the reason for skipping the product that starts here, if it is not active or not published.
    pub(super) fn not_offered(&self) -> Option<BadRow> {
        let status = self.cell(Column::Status).to_ascii_lowercase();
        let skipped = |column, reason: String| Some(BadRow::skipped(self.line, self.columns.name(column), reason));
        if matches!(status.as_str(), "draft" | "archived" | "unlisted") {
            return skipped(Column::Status, format!("`{}` is {status}", self.cell(Column::Handle)));
        }
        if matches!(self.cell(Column::Published).to_ascii_lowercase().as_str(), "false" | "no") {
            return skipped(Column::Published, format!("`{}` is not published", self.cell(Column::Handle)));
        }
        None
    }

    /// Returns the availability of the variant, and its quantity if it is counted:
    ///
    /// | stock | sold when out of stock | tells |
    /// | :-- | :-- | :-- |
    /// | not tracked | either | available, `in_stock`, not counted |
    /// | more than zero | no | available, `in_stock`, so many |
    /// | more than zero | yes | available, `in_stock`, not counted |
    /// | zero or less | no | not available, `out_of_stock`, none |
    /// | zero or less | yes | available, `backorder`, not counted |
    /// | tracked, quantity not in the file (several locations) | either | available, no status, not counted |
    pub(super) fn availability(&self) -> Result<(Availability, Option<u64>), BadRow> {
        let status = |available, status: &str| Availability { available, status: Some(status.to_owned()) };
        let continues = match self.cell(Column::Policy).to_ascii_lowercase().as_str() {
            "" | "deny" | "false" | "no" => false,
            "continue" | "true" | "yes" => true,
            _ => return Err(self.fault(Column::Policy, "must be `deny` or `continue`")),
        };
        let quantity = match self.cell(Column::Quantity) {
            "" => None,
            number => Some(number.parse::<i64>().map_err(|_| self.fault(Column::Quantity, "must be an integer"))?),
        };
        let tracked = if self.columns.places.contains_key(&Column::Tracker) {
            self.has(Column::Tracker)
        } else {
            quantity.is_some()
        };
        Ok(match (tracked, quantity) {
            (false, _) => (status(true, "in_stock"), None),
            (true, None) => (Availability::default(), None),
            (true, Some(count @ 1..)) => (status(true, "in_stock"), (!continues).then(|| count.unsigned_abs())),
            (true, Some(_)) if continues => (status(true, "backorder"), None),
            (true, Some(_)) => (status(false, "out_of_stock"), Some(0)),
        })
    }

    /// Returns `true` if the variant is not shipped, and otherwise its weight in grams, rounded up; no weight if 0.
    pub(super) fn shipping(&self) -> Result<(bool, Option<u64>), BadRow> {
        let digital = match self.cell(Column::RequiresShipping).to_ascii_lowercase().as_str() {
            "" | "true" | "yes" => false,
            "false" | "no" => true,
            _ => return Err(self.fault(Column::RequiresShipping, "must be `true` or `false`")),
        };
        let (whole, fraction) = self.cell(Column::Grams).split_once('.').unwrap_or((self.cell(Column::Grams), ""));
        if whole.is_empty() && fraction.is_empty() {
            return Ok((digital, None));
        }
        // A fraction of a gram is rounded up.
        let digits = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
        let more = u64::from(fraction.bytes().any(|digit| digit != b'0'));
        let grams = if digits(whole) && digits(fraction) { whole.parse::<u64>().ok() } else { None };
        let grams = grams.and_then(|grams| grams.checked_add(more));
        let grams = grams.ok_or_else(|| self.fault(Column::Grams, "must be a weight in grams, such as `450`"))?;
        Ok((digital, Some(grams).filter(|grams| *grams > 0 && !digital)))
    }

    /// Parses the amount of money in a cell; `None` if it is empty.
    pub(super) fn amount(&self, column: Column, currency: Currency) -> Result<Option<Amount>, BadRow> {
        match self.cell(column) {
            "" => Ok(None),
            text => amount(text, currency).map(Some).map_err(|reason| self.fault(column, reason)),
        }
    }

    /// Parses the URL in a cell; `None` if it is empty.
    pub(super) fn address(&self, column: Column) -> Result<Option<String>, BadRow> {
        let address = match self.cell(column) {
            "" => return Ok(None),
            relative if relative.starts_with("//") => format!("https:{relative}"),
            address => address.to_owned(),
        };
        if is_web_address(&address) {
            Ok(Some(address))
        } else {
            Err(self.fault(column, "must be an address that starts with `https://` or `http://`"))
        }
    }
}

impl Header {
    /// Returns the name of the column in this file, or its usual name if the file does not have it.
    fn name(&self, column: Column) -> String {
        let own = self.places.get(&column).and_then(|place| self.names.get(*place));
        own.map_or_else(|| column.names()[0].to_owned(), |name| name.trim_start_matches('\u{feff}').trim().to_owned())
    }
}

/// Converts a decimal amount to minor units of `currency`, exactly.
///
/// Commas are read only as thousands separators before a decimal point (`1,299.00`); elsewhere they are ambiguous and
/// rejected. Digits beyond the minor unit are rejected unless they are zero.
pub(in super::super) fn amount(text: &str, currency: Currency) -> Result<Amount, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = if whole.contains(',') {
        let mut groups = whole.split(',');
        let leading = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
        if !text.contains('.') {
            return Err(format!("`{text}` is ambiguous: write a decimal point, and no comma"));
        }
        if !leading || groups.any(|group| group.len() != 3) {
            return Err(format!("`{text}` is not an amount: commas must separate thousands"));
        }
        whole.replace(',', "")
    } else {
        whole.to_owned()
    };
    if whole.is_empty() || !digits(&whole) || !digits(fraction) {
        return Err(format!("`{text}` is not an amount: it must be digits with a decimal point, such as `19.99`"));
    }
    let exponent = currency.exponent() as usize;
    let (minor, beyond) = fraction.split_at(fraction.len().min(exponent));
    if beyond.bytes().any(|digit| digit != b'0') {
        return Err(format!("`{text}` has more decimals than {currency} has"));
    }
    let minor = format!("{whole}{minor:0<exponent$}");
    minor.parse().ok().and_then(Amount::new).ok_or_else(|| format!("`{text}` is too large"))
}

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Rows<R> {
    reader: csv::Reader<Rationed<R>>,
    columns: Arc<Header>,
    ended: bool,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(reader: R) -> Result<Self, Unimportable> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(Rationed {
            reader,
            left: LONGEST_ROW,
            given: Vec::new(),
            total: 0,
        });
        let names = reader.headers().map_err(|error| Unimportable::Header(error.to_string()))?.clone();
        let mut places = BTreeMap::new();
        for (place, name) in names.iter().enumerate() {
            let Some(column) = Column::of(name) else { continue };
            if places.insert(column, place).is_some() {
                return Err(Unimportable::Header(format!("two columns `{}`", column.names().join("` or `"))));
            }
        }
        let missing: Vec<_> = Column::REQUIRED
            .iter()
            .filter(|column| !places.contains_key(column))
            .map(|column| format!("`{}`", column.names().join("` or `")))
            .collect();
        if !missing.is_empty() {
            let found: Vec<_> = names.iter().take(60).map(|name| format!("`{}`", clean(name.trim()))).collect();
            return Err(Unimportable::MissingColumns {
                missing: missing.join(", no "),
                found: printable(&found.join(", ")),
            });
        }
        Ok(Self { reader, columns: Arc::new(Header { places, names }), ended: false })
    }

    pub(super) fn name(&self, column: Column) -> String {
        self.columns.name(column)
    }

    /// Returns the line on which the row starts that was just read. The position that the reader notes for a row
    /// is the end of the previous one, before blank lines; so this counts back from the end of the row.
    fn first_line_of(&self, cells: &csv::ByteRecord) -> u64 {
        let end = self.reader.position();
        let within: usize = cells.iter().map(|cell| cell.iter().filter(|byte| **byte == b'\n').count()).sum();
        let terminated = self.reader.get_ref().byte_before(end.byte()) == Some(b'\n');
        end.line().saturating_sub(within as u64 + u64::from(terminated)).max(1)
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Row, BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let reached = self.reader.position().line();
            self.reader.get_mut().left = LONGEST_ROW;
            let mut cells = csv::ByteRecord::new();
            match self.reader.read_byte_record(&mut cells) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(BadRow::unreadable(reached, error.to_string())));
                }
            }
            let line = self.first_line_of(&cells);
            if cells.iter().all(|cell| cell.trim_ascii().is_empty()) {
                continue;
            }
            let (expected, found) = (self.columns.names.len(), cells.len());
            let miscounted = (found != expected).then(|| {
                BadRow::faulty(line, None, format!("the row has {found} cells and the header has {expected}"))
            });
            let (cells, fault) = match StringRecord::from_byte_record(cells) {
                Ok(cells) => {
                    let unfit = || {
                        let (cell, reason) =
                            cells.iter().enumerate().find_map(|(cell, text)| Some((cell, unfit(text)?)))?;
                        Some(BadRow::faulty(line, self.columns.names.get(cell).map(str::to_owned), reason))
                    };
                    let fault = miscounted.or_else(unfit);
                    (cells, fault)
                }
                Err(error) => {
                    let place = self.columns.names.get(error.utf8_error().field()).map(str::to_owned);
                    let cells = StringRecord::from_byte_record_lossy(error.into_byte_record());
                    (cells, Some(BadRow::faulty(line, place, "not UTF-8")))
                }
            };
            return Some(Ok(Row { line, cells, fault, columns: Arc::clone(&self.columns) }));
        }
        None
    }
}

/// A reader that limits the bytes of one row, and remembers the last chunk that it returned.
#[derive(Debug)]
struct Rationed<R> {
    reader: R,
    left: u64,
    given: Vec<u8>,
    total: u64,
}

impl<R> Rationed<R> {
    /// Returns the byte before `offset` of the input, if the last chunk has it.
    fn byte_before(&self, offset: u64) -> Option<u8> {
        let back = usize::try_from(self.total.checked_sub(offset)?).ok()?;
        self.given.iter().rev().nth(back).copied()
    }
}

impl<R: Read> Read for Rationed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let reason = format!("a row is longer than {} MiB; is a closing quote missing?", LONGEST_ROW >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let read = self.reader.read(buffer)?;
        self.left = self.left.saturating_sub(read as u64);
        if read > 0 {
            self.given.clear();
            self.given.extend_from_slice(&buffer[..read]);
            self.total += read as u64;
        }
        Ok(read)
    }
}
