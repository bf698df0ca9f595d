//! Shopify's product CSV export.
//!
//! One product takes one or more rows with the same handle, directly below each other: the first one carries the
//! product, every row with a price, an SKU or an option value carries a variant, and any row may carry a picture. The
//! column names of older exports (`Body (HTML)`, `Variant Price`) and of newer ones (`Description`, `Price`) are read,
//! in any letter case and order.
//!
//! | in the export | in the shop |
//! | :-- | :-- |
//! | handle | `handle`; the product is `prod_<handle>` |
//! | SKU, else the option values | the variant is `var_<handle>_<SKU>` or `var_<handle>_<value>_<value>`, see below |
//! | description | `description.html` as it is, and `description.plain` made from it |
//! | vendor | `variants[].seller.name` and `metadata.vendor` |
//! | product category, Google category, type | `categories` of the taxonomies `shopify`, `google_product_category`, `merchant` |
//! | price, compare-at price | `price`, and `list_price` where it is higher; exact decimals in the shop's own currency |
//! | barcode | `barcodes`, when its length and check digit are those of a known standard |
//! | inventory tracker, quantity, policy | `availability` with the status `in_stock`, `out_of_stock` or `backorder` |
//! | status, published | products that are not active or not published are skipped |
//!
//! An identifier depends only on the handle, the SKU and the option values, so that a later import of the same goods
//! updates them. A part that holds other characters than an identifier may keep a digest of the whole part (after `~`),
//! so that different goods never share an identifier. An SKU that several variants of a product have tells none of them
//! apart and is not used.
//!
//! `Price / <market>` columns are not read: the file names a market but not its currency. Prices in other currencies
//! come with JSON Lines.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, Read},
    sync::Arc,
};

use csv::StringRecord;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    catalog::{
        market::Market,
        product::{Availability, Barcode, Category, Description, Media, SelectedOption, Seller},
        record::{Record, VariantRecord},
    },
    money::{Amount, Currency, Price},
};

use super::{
    BadRow, Item, Unimportable, finish,
    html::{clean, to_text},
    is_web_address,
};

/// How many rows a product may have: Shopify's 2,048 variants, and as many pictures.
const MOST_ROWS: usize = 4096;

/// How many bytes a row may have. A quote that is never closed would make the rest of the file one row.
const LONGEST_ROW: u64 = 8 << 20;

/// How many options a product may have.
const AXES: usize = 3;

/// A column that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Column {
    Handle,
    Title,
    Body,
    Vendor,
    Category,
    GoogleCategory,
    Type,
    Tags,
    Published,
    Status,
    OptionName(usize),
    OptionValue(usize),
    Sku,
    Barcode,
    Price,
    ListPrice,
    Tracker,
    Quantity,
    Policy,
    Image,
    ImagePosition,
    ImageText,
    VariantImage,
}

impl Column {
    const ALL: [Self; 27] = [
        Self::Handle,
        Self::Title,
        Self::Body,
        Self::Vendor,
        Self::Category,
        Self::GoogleCategory,
        Self::Type,
        Self::Tags,
        Self::Published,
        Self::Status,
        Self::OptionName(0),
        Self::OptionValue(0),
        Self::OptionName(1),
        Self::OptionValue(1),
        Self::OptionName(2),
        Self::OptionValue(2),
        Self::Sku,
        Self::Barcode,
        Self::Price,
        Self::ListPrice,
        Self::Tracker,
        Self::Quantity,
        Self::Policy,
        Self::Image,
        Self::ImagePosition,
        Self::ImageText,
        Self::VariantImage,
    ];

    const REQUIRED: [Self; 3] = [Self::Handle, Self::Title, Self::Price];

    /// The names it has had, lower case.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Handle => &["handle", "url handle"],
            Self::Title => &["title"],
            Self::Body => &["body (html)", "body html", "description"],
            Self::Vendor => &["vendor"],
            Self::Category => &["product category", "standard product type", "standardized product type"],
            Self::GoogleCategory => &["google shopping / google product category"],
            Self::Type => &["type", "custom product type"],
            Self::Tags => &["tags"],
            Self::Published => &["published", "published on online store"],
            Self::Status => &["status"],
            Self::OptionName(0) => &["option1 name"],
            Self::OptionName(1) => &["option2 name"],
            Self::OptionName(_) => &["option3 name"],
            Self::OptionValue(0) => &["option1 value"],
            Self::OptionValue(1) => &["option2 value"],
            Self::OptionValue(_) => &["option3 value"],
            Self::Sku => &["variant sku", "sku"],
            Self::Barcode => &["variant barcode", "barcode"],
            Self::Price => &["variant price", "price"],
            Self::ListPrice => &["variant compare at price", "compare-at price", "compare at price"],
            Self::Tracker => &["variant inventory tracker", "inventory tracker"],
            Self::Quantity => &["variant inventory qty", "inventory quantity"],
            Self::Policy => &["variant inventory policy", "continue selling when out of stock"],
            Self::Image => &["image src", "product image url"],
            Self::ImagePosition => &["image position"],
            Self::ImageText => &["image alt text"],
            Self::VariantImage => &["variant image", "variant image url"],
        }
    }

    fn of(name: &str) -> Option<Self> {
        let name = name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|column| column.names().contains(&name.as_str()))
    }
}

/// Whether a line is the header of a product export.
pub(crate) fn recognises(header: &[u8]) -> bool {
    let header = String::from_utf8_lossy(header);
    let columns: Vec<_> = header.split(',').filter_map(|name| Column::of(name.trim_matches('"'))).collect();
    columns.contains(&Column::Handle) && columns.contains(&Column::Title)
}

/// The products of an export.
#[derive(Debug)]
pub struct Products<R> {
    rows: Rows<R>,
    market: Market,
    /// The first row of the next product.
    next: Option<Result<Row, BadRow>>,
    /// The handles that were read, and on which line; rows of a product that stand apart are not put together.
    seen: HashMap<String, u64>,
}

impl<R: Read> Products<R> {
    /// Reads the header of an export.
    ///
    /// # Errors
    /// When the header cannot be read or lacks a column that no product can do without.
    pub fn new(reader: R, market: Market) -> Result<Self, Unimportable> {
        Ok(Self { rows: Rows::new(reader)?, market, next: None, seen: HashMap::new() })
    }

    fn product(&mut self, first: Row) -> Item {
        let line = first.line;
        let mut group = Group { rows: Vec::new(), fault: None };
        let handle = first.cell(Column::Handle).to_owned();
        group.add(first);
        loop {
            match self.rows.next() {
                Some(Ok(row)) if row.belongs_to(&handle) => group.add(row),
                other => {
                    self.next = other;
                    break;
                }
            }
        }
        if let Some(reason) = group.rows[0].not_offered() {
            return Err(reason);
        }
        if let Some(fault) = group.fault {
            return Err(fault);
        }
        if !handle.is_empty() {
            if let Some(before) = self.seen.get(&handle) {
                let reason =
                    format!("the rows of `{handle}` do not follow each other: it was already on line {before}");
                return Err(BadRow::faulty(line, Some(self.rows.name(Column::Handle)), reason));
            }
            self.seen.insert(handle, line);
        }
        let record = build(&group.rows, &self.market)?;
        finish(record, line, &self.market)
    }
}

impl<R: Read> Iterator for Products<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let first = self.next.take().or_else(|| self.rows.next())?;
        Some(first.and_then(|first| self.product(first)))
    }
}

/// The rows of one product.
struct Group {
    rows: Vec<Row>,
    fault: Option<BadRow>,
}

impl Group {
    fn add(&mut self, mut row: Row) {
        if let Some(fault) = row.fault.take() {
            self.fail(fault);
        }
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        } else {
            self.fail(BadRow::faulty(row.line, None, format!("a product may have at most {MOST_ROWS} rows")));
        }
    }

    fn fail(&mut self, fault: BadRow) {
        self.fault.get_or_insert(fault);
    }
}

/// A row with the columns that are read.
#[derive(Debug)]
struct Row {
    line: u64,
    cells: StringRecord,
    /// Why the row as a whole cannot be used; its cells are only good to tell which product it belongs to.
    fault: Option<BadRow>,
    columns: Arc<Header>,
}

/// Where the columns are, and what they are called in this file.
#[derive(Debug)]
struct Header {
    places: BTreeMap<Column, usize>,
    names: StringRecord,
}

impl Row {
    /// The content of a cell without white space around it; nothing where the column is missing.
    fn cell(&self, column: Column) -> &str {
        self.columns.places.get(&column).and_then(|place| self.cells.get(*place)).unwrap_or_default().trim()
    }

    /// The content of a cell as shown text.
    fn text(&self, column: Column) -> String {
        clean(self.cell(column)).trim().to_owned()
    }

    fn has(&self, column: Column) -> bool {
        !self.cell(column).is_empty()
    }

    fn fault(&self, column: Column, reason: impl AsRef<str>) -> BadRow {
        BadRow::faulty(self.line, Some(self.columns.name(column)), reason)
    }

    /// Whether the row continues the product above. Without a handle it does unless it starts a product by its title:
    /// then it is a faulty part of the product above, which may not be imported without it.
    fn belongs_to(&self, handle: &str) -> bool {
        match self.cell(Column::Handle) {
            "" => !self.has(Column::Title),
            own => own == handle,
        }
    }

    /// Whether the row carries a variant.
    fn is_variant(&self) -> bool {
        self.has(Column::Price) || self.has(Column::Sku) || (0..AXES).any(|axis| self.has(Column::OptionValue(axis)))
    }

    /// Why the product that starts here is not offered, if it is not.
    fn not_offered(&self) -> Option<BadRow> {
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

    /// Whether the variant can be bought:
    ///
    /// | stock | sold when out of stock | tells |
    /// | :-- | :-- | :-- |
    /// | not tracked, or more than zero | either | available, `in_stock` |
    /// | zero or less | no | not available, `out_of_stock` |
    /// | zero or less | yes | available, `backorder` |
    /// | tracked, but the quantity is not in the file (shops with several locations) | either | available, no status |
    fn availability(&self) -> Result<Availability, BadRow> {
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
            (false, _) | (true, Some(1..)) => status(true, "in_stock"),
            (true, None) => Availability::default(),
            (true, Some(_)) if continues => status(true, "backorder"),
            (true, Some(_)) => status(false, "out_of_stock"),
        })
    }

    /// An amount of money in a cell.
    fn amount(&self, column: Column, currency: Currency) -> Result<Option<Amount>, BadRow> {
        match self.cell(column) {
            "" => Ok(None),
            text => amount(text, currency).map(Some).map_err(|reason| self.fault(column, reason)),
        }
    }

    /// An address in a cell.
    fn address(&self, column: Column) -> Result<Option<String>, BadRow> {
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
    /// What the column is called in this file.
    fn name(&self, column: Column) -> String {
        let own = self.places.get(&column).and_then(|place| self.names.get(*place));
        own.map_or_else(|| column.names()[0].to_owned(), |name| name.trim_start_matches('\u{feff}').trim().to_owned())
    }
}

/// The rows of a file.
#[derive(Debug)]
struct Rows<R> {
    reader: csv::Reader<Rationed<R>>,
    columns: Arc<Header>,
    ended: bool,
}

impl<R: Read> Rows<R> {
    fn new(reader: R) -> Result<Self, Unimportable> {
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
                found: super::printable(&found.join(", ")),
            });
        }
        Ok(Self { reader, columns: Arc::new(Header { places, names }), ended: false })
    }

    fn name(&self, column: Column) -> String {
        self.columns.name(column)
    }

    /// The line on which the row starts that was just read. The position that the reader notes for a row is where the
    /// one before ended, ahead of blank lines; so this counts back from where the row ended.
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
                Ok(cells) => (cells, miscounted),
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

/// A reader that gives out only so much for one row, and remembers what it gave out last.
#[derive(Debug)]
struct Rationed<R> {
    reader: R,
    left: u64,
    given: Vec<u8>,
    total: u64,
}

impl<R> Rationed<R> {
    /// The byte before an offset into what was given out last.
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

/// Puts a product together.
fn build(rows: &[Row], market: &Market) -> Result<Record, BadRow> {
    let first = &rows[0];
    let handle = first.text(Column::Handle);
    if let Some(row) = rows.iter().find(|row| !row.has(Column::Handle)) {
        return Err(row.fault(Column::Handle, "is empty; every row of a product names its handle"));
    }
    let title = first.text(Column::Title);
    if title.is_empty() {
        return Err(first.fault(Column::Title, "is empty on the first row of the product"));
    }
    match first.cell(Column::Status).to_ascii_lowercase().as_str() {
        "" | "active" => {}
        _ => return Err(first.fault(Column::Status, "must be `active`, `draft`, `archived` or `unlisted`")),
    }
    let media = pictures(rows)?;
    let axes = axes(rows)?;
    let vendor = first.text(Column::Vendor);
    let seller =
        Seller { name: Some(vendor.clone()).filter(|name| !name.is_empty()), links: Vec::new(), extra: Map::new() };
    let stem = token(&handle, |letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-', false);

    let carriers: Vec<&Row> =
        rows.iter().enumerate().filter(|(place, row)| *place == 0 || row.is_variant()).map(|(_, row)| row).collect();
    let mut skus: HashMap<&str, usize> = HashMap::new();
    for row in &carriers {
        *skus.entry(row.cell(Column::Sku)).or_default() += 1;
    }
    let mut combinations: HashMap<Vec<String>, u64> = HashMap::new();
    let mut variants = Vec::with_capacity(carriers.len());
    for row in carriers {
        let values = values(row, &axes)?;
        if let Some(before) = combinations.insert(values.clone(), row.line) {
            let reason = if axes.is_empty() {
                "a second variant without options".to_owned()
            } else {
                format!("`{}` is already on line {before}", values.join(" / "))
            };
            return Err(row.fault(Column::OptionValue(0), reason));
        }
        let sku = row.cell(Column::Sku);
        let distinct = !sku.is_empty() && skus.get(sku) == Some(&1);
        variants.push(VariantRecord {
            id: variant_id(&stem, distinct.then_some(sku), &values),
            sku: Some(row.text(Column::Sku)).filter(|sku| !sku.is_empty()),
            barcodes: barcode(row.cell(Column::Barcode)).into_iter().collect(),
            seller: Some(seller.clone()).filter(|seller| seller.name.is_some()),
            options: axes
                .iter()
                .zip(values)
                .map(|(axis, label)| SelectedOption { name: axis.clone(), id: None, label })
                .collect(),
            media: row.address(Column::VariantImage)?.map(|url| picture_of_variant(url, &media)).into_iter().collect(),
            ..priced(row, market.currency)?
        });
    }

    Ok(Record {
        id: format!("prod_{stem}"),
        handle: Some(handle),
        description: description(first.cell(Column::Body), &title),
        title,
        url: None,
        categories: categories(first),
        media,
        options: Vec::new(),
        variants,
        rating: None,
        tags: tags(&first.text(Column::Tags)),
        metadata: (!vendor.is_empty()).then(|| Map::from_iter([("vendor".to_owned(), Value::String(vendor))])),
        translations: BTreeMap::new(),
        extra: Map::new(),
    })
}

/// A variant of which only the price and the stock are known.
fn priced(row: &Row, currency: Currency) -> Result<VariantRecord, BadRow> {
    let amount = row.amount(Column::Price, currency)?.ok_or_else(|| row.fault(Column::Price, "is empty"))?;
    let list_amount = row.amount(Column::ListPrice, currency)?.filter(|list| *list > amount);
    Ok(VariantRecord {
        id: String::new(),
        sku: None,
        barcodes: Vec::new(),
        handle: None,
        title: None,
        description: None,
        url: None,
        categories: Vec::new(),
        price: Price { amount, currency },
        list_price: list_amount.map(|amount| Price { amount, currency }),
        prices: Vec::new(),
        unit_price: None,
        availability: row.availability()?,
        options: Vec::new(),
        media: Vec::new(),
        rating: None,
        tags: Vec::new(),
        metadata: None,
        seller: None,
        extra: Map::new(),
    })
}

/// The names of the options, which only the first row has to carry. `Title` with `Default Title` means that there are none.
fn axes(rows: &[Row]) -> Result<Vec<String>, BadRow> {
    let first = &rows[0];
    let placeholder = first.cell(Column::OptionName(0)).eq_ignore_ascii_case("title")
        && first.cell(Column::OptionValue(0)).eq_ignore_ascii_case("default title");
    let mut axes: Vec<String> = Vec::new();
    for axis in 0..AXES {
        let name = first.text(Column::OptionName(axis));
        if name.is_empty() || axis == 0 && placeholder {
            continue;
        }
        if axes.len() < axis {
            return Err(first.fault(Column::OptionName(axis), "names an option after one without a name"));
        }
        axes.push(name);
    }
    for row in &rows[1..] {
        for axis in 0..AXES {
            let name = row.text(Column::OptionName(axis));
            let known = axes.get(axis).map_or(if placeholder && axis == 0 { "Title" } else { "" }, String::as_str);
            if !name.is_empty() && name != known {
                return Err(
                    row.fault(Column::OptionName(axis), format!("differs from the product's first row, `{known}`"))
                );
            }
        }
    }
    Ok(axes)
}

/// The values of a variant on the options of its product.
fn values(row: &Row, axes: &[String]) -> Result<Vec<String>, BadRow> {
    let mut values = Vec::with_capacity(axes.len());
    for axis in 0..AXES {
        let value = row.text(Column::OptionValue(axis));
        match (axes.get(axis), value.is_empty()) {
            (Some(_), false) => values.push(value),
            (Some(name), true) => {
                return Err(row.fault(Column::OptionValue(axis), format!("is empty; the variant needs a `{name}`")));
            }
            (None, true) => {}
            (None, false) if axis == 0 && axes.is_empty() && value.eq_ignore_ascii_case("default title") => {}
            (None, false) => return Err(row.fault(Column::OptionValue(axis), "is a value of an option without a name")),
        }
    }
    Ok(values)
}

/// The pictures of a product in the order of their positions, each once.
fn pictures(rows: &[Row]) -> Result<Vec<Media>, BadRow> {
    let mut placed: Vec<(u64, Media)> = Vec::new();
    for row in rows {
        let Some(url) = row.address(Column::Image)? else { continue };
        if placed.iter().any(|(_, media)| media.url == url) {
            continue;
        }
        let position = match row.cell(Column::ImagePosition) {
            "" => u64::MAX,
            position => position.parse().map_err(|_| row.fault(Column::ImagePosition, "must be a positive integer"))?,
        };
        let alt_text = Some(row.text(Column::ImageText)).filter(|text| !text.is_empty());
        placed.push((position, Media { kind: "image".to_owned(), url, alt_text, width: None, height: None }));
    }
    placed.sort_by_key(|(position, _)| *position);
    Ok(placed.into_iter().map(|(_, media)| media).collect())
}

fn picture_of_variant(url: String, media: &[Media]) -> Media {
    let known = media.iter().find(|picture| picture.url == url).cloned();
    known.unwrap_or(Media { kind: "image".to_owned(), url, alt_text: None, width: None, height: None })
}

fn categories(row: &Row) -> Vec<Category> {
    [(Column::Category, "shopify"), (Column::GoogleCategory, "google_product_category"), (Column::Type, "merchant")]
        .into_iter()
        .map(|(column, taxonomy)| Category { value: row.text(column), taxonomy: Some(taxonomy.to_owned()) })
        .filter(|category| !category.value.is_empty())
        .collect()
}

fn tags(cell: &str) -> Vec<String> {
    let mut known = HashSet::new();
    let tags = cell.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    tags.filter(|tag| known.insert(*tag)).map(str::to_owned).collect()
}

/// The description, in HTML where it is some. A product that is not described is described by its title.
fn description(body: &str, title: &str) -> Description {
    let plain = Some(to_text(body)).filter(|text| !text.is_empty()).unwrap_or_else(|| title.to_owned());
    let marked_up = body.contains(['<', '&']);
    Description { plain: Some(plain), html: marked_up.then(|| body.to_owned()), markdown: None }
}

/// The identifier of a variant: made of its SKU if no other variant of the product has it, else of its option values.
fn variant_id(stem: &str, sku: Option<&str>, values: &[String]) -> String {
    let mut id = format!("var_{stem}");
    if let Some(sku) = sku {
        id.push('_');
        id.push_str(&token(sku, |letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_'), false));
        return id;
    }
    for value in values {
        id.push('_');
        id.push_str(&token(value, |letter| letter.is_ascii_alphanumeric() || letter == '.', true));
    }
    id
}

/// `text` as a part of an identifier: as it is if it holds only what is allowed (and, if `spaced`, spaces, which become
/// hyphens), or else what is allowed of it with a digest of the whole, so that different texts stay different.
fn token(text: &str, allowed: impl Fn(char) -> bool, spaced: bool) -> String {
    const LONGEST: usize = 80;
    let replaced = |letter: char| if spaced && letter == ' ' { Some('-') } else { allowed(letter).then_some(letter) };
    let kept: String = text.chars().filter_map(replaced).take(LONGEST).collect();
    if !text.is_empty() && kept.chars().count() == text.chars().count() {
        return kept;
    }
    let digest: String = Sha256::digest(text.as_bytes()).iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    if kept.is_empty() { digest } else { format!("{kept}~{digest}") }
}

/// A decimal amount in minor units, exactly.
///
/// Commas are read only as thousands separators before a decimal point (`1,299.00`); elsewhere they may mean either.
/// Digits beyond the minor unit are refused unless they are zero.
fn amount(text: &str, currency: Currency) -> Result<Amount, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = if whole.contains(',') {
        let mut groups = whole.split(',');
        let leading = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
        if !text.contains('.') {
            return Err(format!("`{text}` is ambiguous: write a decimal point, and no comma"));
        }
        if !leading || groups.any(|group| group.len() != 3) {
            return Err(format!("`{text}` is no amount: the commas do not separate thousands"));
        }
        whole.replace(',', "")
    } else {
        whole.to_owned()
    };
    if whole.is_empty() || !digits(&whole) || !digits(fraction) {
        return Err(format!("`{text}` is no amount: digits with a decimal point, such as `19.99`"));
    }
    let exponent = currency.exponent() as usize;
    let (minor, beyond) = fraction.split_at(fraction.len().min(exponent));
    if beyond.bytes().any(|digit| digit != b'0') {
        return Err(format!("`{text}` has more decimals than {currency} has"));
    }
    let minor = format!("{whole}{minor:0<exponent$}");
    minor.parse().ok().and_then(Amount::new).ok_or_else(|| format!("`{text}` is too large"))
}

/// A barcode with the standard that its length and check digit tell; nothing if they tell none.
fn barcode(cell: &str) -> Option<Barcode> {
    // Spreadsheets keep leading zeros behind an apostrophe.
    let code: String = cell.trim_start_matches('\'').chars().filter(|letter| !matches!(letter, ' ' | '-')).collect();
    let digits = code.bytes().all(|byte| byte.is_ascii_digit());
    let kind = match code.len() {
        10 if is_isbn_10(&code) => "ISBN",
        8 | 12 | 13 | 14 if !digits || !has_check_digit(&code) => return None,
        12 => "UPC",
        13 if code.starts_with("978") || code.starts_with("979") => "ISBN",
        13 if code.starts_with("45") || code.starts_with("49") => "JAN",
        8 | 13 => "EAN",
        14 => "GTIN",
        _ => return None,
    };
    Some(Barcode { kind: kind.to_owned(), value: code })
}

/// Whether the last digit is the GS1 check digit of the others.
fn has_check_digit(code: &str) -> bool {
    let weighted: u32 = code
        .bytes()
        .rev()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    weighted.is_multiple_of(10)
}

fn is_isbn_10(code: &str) -> bool {
    let digits: Option<Vec<u32>> = code
        .chars()
        .enumerate()
        .map(|(place, letter)| if place == 9 && matches!(letter, 'X' | 'x') { Some(10) } else { letter.to_digit(10) })
        .collect();
    digits.is_some_and(|digits| {
        digits.iter().zip((1..=10).rev()).map(|(digit, weight)| digit * weight).sum::<u32>().is_multiple_of(11)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Verdict, *};

    fn market(currency: &str) -> Market {
        serde_json::from_value(serde_json::json!({ "name": "Example", "currency": currency, "language": "en" }))
            .expect("a market")
    }

    fn read(file: impl AsRef<[u8]>) -> Vec<Item> {
        Products::new(file.as_ref(), market("USD")).expect("a header").collect()
    }

    /// The only product of a file.
    fn one(file: &str) -> Record {
        let mut items = read(file);
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0).expect("usable").1
    }

    /// The line, column and reason of the only item of a file.
    fn bad(file: &str) -> (u64, String, String) {
        let mut items = read(file);
        assert_eq!(items.len(), 1, "{items:?}");
        let bad = items.remove(0).expect_err(file);
        (bad.line, bad.place.unwrap_or_default(), bad.reason)
    }

    const OLD: &str = "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,\
        Option2 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,\
        Variant Compare At Price,Variant Barcode,Image Src,Image Position,Image Alt Text,Variant Image,Status,Price / International\n";

    #[test]
    fn rows_of_a_handle_make_a_product() {
        let record = one(&format!(
            "{OLD}\
             tee,Tee,\"<p>Soft &amp; warm.</p>\n<script>x</script>\",Example Mill,Apparel & Accessories > Clothing,Shirts,\"soft, cotton, soft\",true,\
             Color,Red,Size,S,TEE-R-S,shopify,3,deny,19.99,25,4006381333931,https://cdn.example.com/b.jpg,2,Back,https://cdn.example.com/r.jpg,active,99\n\
             tee,,,,,,,,,Red,,M,TEE-R-M,shopify,0,deny,19.99,19.99,,https://cdn.example.com/a.jpg,1,Front,,,\n\
             tee,,,,,,,,,Blue,,S,,shopify,-2,continue,21.5,,,//cdn.example.com/c.jpg,3,,https://cdn.example.com/a.jpg,,\n\
             tee,,,,,,,,,,,,,,,,,,,https://cdn.example.com/a.jpg,4,Again,,,\n"
        ));
        assert_eq!(
            (record.id.as_str(), record.handle.as_deref(), record.title.as_str()),
            ("prod_tee", Some("tee"), "Tee")
        );
        assert_eq!(record.description.plain.as_deref(), Some("Soft & warm."));
        assert!(record.description.html.as_deref().is_some_and(|html| html.starts_with("<p>Soft &amp; warm.</p>")));
        assert_eq!(record.tags, ["soft", "cotton"]);
        assert_eq!(record.metadata.as_ref().map(|metadata| &metadata["vendor"]), Some(&Value::from("Example Mill")));
        let categories: Vec<_> =
            record.categories.iter().map(|category| (category.value.as_str(), category.taxonomy.as_deref())).collect();
        assert_eq!(categories, [("Apparel & Accessories > Clothing", Some("shopify")), ("Shirts", Some("merchant"))]);
        let media: Vec<_> = record.media.iter().map(|media| (media.url.as_str(), media.alt_text.as_deref())).collect();
        let expected = [
            ("https://cdn.example.com/a.jpg", Some("Front")),
            ("https://cdn.example.com/b.jpg", Some("Back")),
            ("https://cdn.example.com/c.jpg", None),
        ];
        assert_eq!(media, expected);
        let axes: Vec<_> = record.options.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
        assert_eq!(axes, [("Color", 2), ("Size", 2)]);

        let [first, second, third] = record.variants.as_slice() else { panic!("three variants") };
        assert_eq!([&first.id, &second.id, &third.id], ["var_tee_TEE-R-S", "var_tee_TEE-R-M", "var_tee_Blue_S"]);
        assert_eq!((first.price.amount.minor(), first.list_price.map(|list| list.amount.minor())), (1999, Some(2500)));
        assert_eq!((second.price.amount.minor(), second.list_price), (1999, None));
        assert_eq!(third.price.amount.minor(), 2150);
        assert_eq!(first.barcodes, [Barcode { kind: "EAN".into(), value: "4006381333931".into() }]);
        assert_eq!(first.seller.as_ref().and_then(|seller| seller.name.as_deref()), Some("Example Mill"));
        let stock: Vec<_> = record
            .variants
            .iter()
            .map(|variant| (variant.availability.available, variant.availability.status.as_deref()))
            .collect();
        assert_eq!(stock, [(true, Some("in_stock")), (false, Some("out_of_stock")), (true, Some("backorder"))]);
        assert_eq!(third.media[0].alt_text.as_deref(), Some("Front"));
        assert_eq!(first.media[0].url, "https://cdn.example.com/r.jpg");
    }

    #[test]
    fn newer_exports_are_read_too() {
        let record = one(
            "\u{feff}Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,\
             Option1 value,Option1 Linked To,Price,Compare-at price,Inventory tracker,Inventory quantity,Continue selling when out of stock,\
             Product image URL,Image position,Image alt text,Variant image URL,Gift card\r\n\
             Mug,mug,Holds coffee.,,,,,TRUE,Active,M-1,,Title,Default Title,,12.00,,shopify,,DENY,,,,,FALSE\r\n",
        );
        assert_eq!((record.options.len(), record.variants.len()), (0, 1));
        assert_eq!(record.description, Description::plain("Holds coffee."));
        assert_eq!(record.variants[0].id, "var_mug_M-1");
        assert_eq!(record.variants[0].availability, Availability::default());
        assert_eq!((record.metadata, record.variants[0].seller.clone()), (None, None));
    }

    const SMALL: &str = "Handle,Title,Variant Price,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU,Variant Inventory Qty,Image Src,Published,Status\n";

    fn small(rows: &str) -> String {
        format!("{SMALL}{rows}\n")
    }

    #[test]
    fn a_bad_row_leaves_out_its_product_and_nothing_else() {
        let items = read(small(
            "a,A,1.00,,,,,,,,,\n\
             b,B,1.00,Size,S,,,,,,,\n\
             b,,free,,M,,,,,,,\n\
             b,,1.00,,L,,,,,,,\n\
             c,C,1.00,,,,,,,,,",
        ));
        let found: Vec<_> = items
            .iter()
            .map(|item| item.as_ref().map(|(line, record)| (*line, record.id.as_str())).map_err(|bad| bad.line))
            .collect();
        assert_eq!(found, [Ok((2, "prod_a")), Err(4), Ok((6, "prod_c"))]);
        let bad = items[1].as_ref().expect_err("bad");
        assert_eq!(
            bad.to_string(),
            "line 4: Variant Price: `free` is no amount: digits with a decimal point, such as `19.99`"
        );
    }

    #[test]
    fn faults_are_named_with_line_and_column() {
        for (rows, line, column) in [
            ("a,,1.00,,,,,,,,,", 2, "Title"),
            ("a,A,,,,,,,,,,", 2, "Variant Price"),
            ("a,A,-1.00,,,,,,,,,", 2, "Variant Price"),
            ("a,A,1.00,Size,,,,,,,,", 2, "Option1 Value"),
            ("a,A,1.00,,S,,,,,,,", 2, "Option1 Value"),
            ("a,A,1.00,,,Color,Red,,,,,", 2, "Option2 Name"),
            ("a,A,1.00,Size,S,,,,,,,\na,,1.00,Colour,M,,,,,,,", 3, "Option1 Name"),
            ("a,A,1.00,Size,S,,,,,,,\na,,1.00,,S,,,,,,,", 3, "Option1 Value"),
            ("a,A,1.00,Size,S,,,,,,,\na,,,,M,,,,,,,", 3, "Variant Price"),
            ("a,A,1.00,Title,Default Title,,,,,,,\na,,1.00,,Default Title,,,,,,,", 3, "Option1 Value"),
            ("a,A,1.00,,,,,,many,,,", 2, "Variant Inventory Qty"),
            ("a,A,1.00,,,,,,,javascript:alert(1),,", 2, "Image Src"),
            ("a,A,1.00,,,,,,,,,broken", 2, "Status"),
            ("a,\"A\nB\",1.00,Size,S,,,,,,,\n\na,,x,,M,,,,,,,", 5, "Variant Price"),
            ("a,A,1.00,Size,S,,,,,,,\n,,1.00,,M,,,,,,,", 3, "Handle"),
            ("a,A,1.00,Size,S,,,,,,,\na,,1.00", 3, ""),
        ] {
            let (found_line, found_column, reason) = bad(&small(rows));
            assert_eq!((found_line, found_column.as_str()), (line, column), "{rows}: {reason}");
        }
    }

    #[test]
    fn lines_are_counted_in_every_kind_of_file() {
        let rows = "a,A,1.00,,,,,,,,,\n\nb,\"B\nb\",x,,,,,,,,,\nc,C,x,,,,,,,,,";
        let crlf = small(rows).replace('\n', "\r\n");
        let files = [
            small(rows),
            small(rows).trim_end().to_owned(),
            format!("\u{feff}{}", small(rows)),
            crlf.trim_end().to_owned(),
            crlf.replace("\r\n\r\n", "\r\n,,,,,,,,,,,\r\n"),
            crlf,
        ];
        for file in files {
            let lines: Vec<_> =
                read(&file).into_iter().map(|item| item.map(|(line, _)| line).map_err(|bad| bad.line)).collect();
            assert_eq!(lines, [Ok(2), Err(4), Err(6)], "{file:?}");
        }
    }

    #[test]
    fn what_is_not_offered_is_skipped_and_said() {
        for rows in [
            "a,A,1.00,,,,,,,,,draft",
            "a,A,x,,,,,,,,,Archived",
            "a,A,1.00,,,,,,,,,unlisted",
            "a,A,1.00,,,,,,,,false,active",
            "a,A,1.00,,,,,,,,FALSE,\na,,y,,,,,,,,,",
        ] {
            let item = read(small(rows)).remove(0).expect_err(rows);
            assert_eq!((item.verdict, item.line), (Verdict::Skipped, 2), "{rows}");
        }
    }

    #[test]
    fn rows_that_stand_apart_are_not_put_together() {
        let items = read(small("a,A,1.00,Size,S,,,,,,,\nb,B,1.00,,,,,,,,,\na,,1.00,,M,,,,,,,"));
        assert!(items[0].is_ok() && items[1].is_ok());
        let bad = items[2].as_ref().expect_err("apart");
        assert_eq!(bad.line, 4);
        assert!(bad.reason.contains("already on line 2"), "{}", bad.reason);
    }

    #[test]
    fn bytes_that_are_no_text_are_a_fault_of_their_product() {
        let items =
            read([small("a,A\u{1},1.00,,,,,,,,,").as_bytes(), b"b,\xff,1.00,,,,,,,,,\nc,C,1,,,,,,,,,\n"].concat());
        assert_eq!(items[0].as_ref().expect("usable").1.title, "A");
        let bad = items[1].as_ref().expect_err("bytes");
        assert_eq!((bad.line, bad.place.as_deref(), bad.reason.as_str()), (3, Some("Title"), "not UTF-8"));
        assert!(items[2].is_ok());
    }

    #[test]
    fn missing_columns_are_named() {
        let missing = |header: &str| Products::new(header.as_bytes(), market("USD")).expect_err(header).to_string();
        assert_eq!(
            missing("Handle,Name\n"),
            "not a Shopify product export: no column `title`, no `variant price` or `price`; the columns are `Handle`, `Name`"
        );
        assert!(missing("Handle;Title;Price\n").contains("`Handle;Title;Price`"));
        assert!(missing("").contains("no column `handle` or `url handle`"));
        assert!(missing("Handle,Title,Price,price\n").contains("two columns"));
        assert!(recognises(b"\"Title\",\"URL handle\",Price") && !recognises(b"id,title,price"));
    }

    #[test]
    fn a_quote_that_is_never_closed_ends_the_import() {
        let filler = std::io::repeat(b'x').take(LONGEST_ROW * 2);
        let file = io::Cursor::new(small("a,A,1.00,,,,,,,,,\nb,\"")).chain(filler);
        let items: Vec<_> = Products::new(file, market("USD")).expect("a header").collect();
        assert_eq!(items.len(), 2);
        let bad = items[1].as_ref().expect_err("endless");
        assert_eq!(bad.verdict, Verdict::Unreadable);
        assert!(bad.reason.contains("closing quote"), "{}", bad.reason);
    }

    #[test]
    fn amounts_are_exact() {
        let read =
            |text: &str, currency: &str| amount(text, currency.parse().expect("a currency")).map(Amount::minor).ok();
        for (text, currency, minor) in [
            ("19.99", "USD", Some(1999)),
            ("0", "USD", Some(0)),
            ("5", "USD", Some(500)),
            ("5.5", "USD", Some(550)),
            ("5.", "USD", Some(500)),
            ("5.990", "USD", Some(599)),
            ("0.29", "USD", Some(29)),
            ("1,299.00", "USD", Some(129_900)),
            ("1,234,567.89", "USD", Some(123_456_789)),
            ("1500.00", "JPY", Some(1500)),
            ("12.5", "KWD", Some(12_500)),
            ("12.345", "KWD", Some(12_345)),
            ("90071992547409.91", "USD", Some(9_007_199_254_740_991)),
            ("90071992547409.92", "USD", None),
            ("5.995", "USD", None),
            ("1500.5", "JPY", None),
            ("1,299", "USD", None),
            ("19,99", "USD", None),
            ("1,29.00", "USD", None),
            (",299.00", "USD", None),
            ("1.299,00", "USD", None),
            ("-5", "USD", None),
            ("+5", "USD", None),
            (".5", "USD", None),
            ("$5", "USD", None),
            ("1e3", "USD", None),
            ("٣", "USD", None),
        ] {
            assert_eq!(read(text, currency), minor, "{text} {currency}");
        }
    }

    #[test]
    fn barcodes_are_told_by_length_and_check_digit() {
        for (cell, kind) in [
            ("96385074", Some("EAN")),
            ("036000291452", Some("UPC")),
            ("'036000291452", Some("UPC")),
            ("4006381333931", Some("EAN")),
            ("4901234567894", Some("JAN")),
            ("978-0-306-40615-7", Some("ISBN")),
            ("0306406152", Some("ISBN")),
            ("080442957X", Some("ISBN")),
            ("10614141543219", Some("GTIN")),
            ("4006381333932", None),
            ("0306406153", None),
            ("12345", None),
            ("ABCDEFGHIJKLM", None),
            ("４００６３８１３３３９３１", None),
            ("", None),
        ] {
            assert_eq!(barcode(cell).map(|barcode| barcode.kind), kind.map(str::to_owned), "{cell}");
        }
    }

    #[test]
    fn identifiers_are_stable_and_distinct() {
        let file = small(
            "süß-tee,A,1.00,Size,S,Color,Dark red,X,,,,\nsüß-tee,,1.00,,S,,Dark-red,X,,,,\nsüß-tee,,1.00,,S,,Dunkelröt,Y 1,,,,\nsüß-tee,,1.00,,S,,Blau,Z,,,,",
        );
        let record = one(&file);
        assert_eq!(record, one(&file));
        let ids: Vec<_> = record.variants.iter().map(|variant| variant.id.as_str()).collect();
        let stem = record.id.strip_prefix("prod_").expect("a product");
        assert!(stem.starts_with("s-tee~") && stem.is_ascii(), "{stem}");
        assert_eq!(ids[0], format!("var_{stem}_S_Dark-red"));
        assert!(ids[1].starts_with(&format!("var_{stem}_S_Darkred~")), "{}", ids[1]);
        assert!(ids[2].starts_with(&format!("var_{stem}_Y1~")), "{}", ids[2]);
        assert_eq!(ids[3], format!("var_{stem}_Z"));
        // The order of rows and the rows around a variant do not matter.
        let mut rows: Vec<_> = file.lines().collect();
        rows.swap(2, 4);
        let mut again: Vec<_> = one(&rows.join("\n")).variants.into_iter().map(|variant| variant.id).collect();
        again.sort_unstable();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert_eq!(again, sorted);
    }

    #[test]
    fn a_product_may_have_only_so_many_rows() {
        let rows: String = (0..=MOST_ROWS).map(|row| format!("a,A,1.00,Size,{row},,,,,,,\n")).collect();
        let (line, _, reason) = bad(&small(rows.trim_end()));
        assert_eq!(line, 2 + MOST_ROWS as u64, "{reason}");
    }

    proptest! {
        #[test]
        fn any_rows_are_read_to_the_end(rows in "(a|b|A|1\\.00|,|,,,|\n|\r\n|\"|S|M|Title|Default Title|draft|\\PC|\0){0,60}") {
            let file = small(&rows);
            for item in read(&file) {
                match item {
                    Ok((line, record)) => {
                        prop_assert!(line >= 2);
                        prop_assert!(record.clone().check(&market("USD")).is_ok());
                    }
                    Err(bad) => prop_assert!(!bad.to_string().chars().any(char::is_control)),
                }
            }
            prop_assert_eq!(read(&file), read(&file));
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(products) = Products::new(bytes.as_slice(), market("USD")) {
                products.for_each(drop);
            }
            read([SMALL.as_bytes(), &bytes].concat()).into_iter().for_each(drop);
        }

        #[test]
        fn amounts_read_back(minor in 0_i64..1_000_000_000_000, exponent in prop::sample::select(vec!["USD", "JPY", "KWD"])) {
            let currency: Currency = exponent.parse().expect("a currency");
            let digits = currency.exponent() as usize;
            let text = format!("{minor:0>width$}", width = digits + 1);
            let (whole, fraction) = text.split_at(text.len() - digits);
            prop_assert_eq!(amount(&format!("{whole}.{fraction}"), currency).map(Amount::minor), Ok(minor));
        }

        #[test]
        fn different_texts_make_different_tokens(first in "[aA -_~é]{1,4}", second in "[aA -_~é]{1,4}") {
            let option = |text: &str| token(text, |letter| letter.is_ascii_alphanumeric() || letter == '.', true);
            prop_assert_eq!(option(&first) == option(&second), first == second);
        }
    }
}
