//! Products in the database: storing, and lookup by identifier or position.
//!
//! A document holds what the merchant stated. Quantities are stored [apart](stock) and change without it; a variant
//! with the quantity 0 is read as sold out. The stock of a product that is removed stays, for one that comes back.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
};

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, types::Type};
use ucp_core::{
    catalog::{
        market::Market,
        product::Availability,
        record::{Record, VariantRecord},
    },
    ports::Target,
};
use ucp_sqlite::{
    Put, Rejected, ShopConnection, WriteError, checksum,
    revision::{REMOVED, newest_revision, touch},
    stock,
};

/// Maximum length of an identifier, in bytes. Longer ones are not looked up.
pub(crate) const MAX_IDENTIFIER: usize = 1_024;

/// Maximum number of products and variants that one alias names.
pub(crate) const MAX_MATCHES: i64 = 20;

/// Availability status of variants that are sold out.
const OUT_OF_STOCK: &str = "out_of_stock";

/// Kind of an identifier, in the order of precedence. The numbers are those in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    ProductId = 0,
    VariantId = 1,
    ProductHandle = 2,
    VariantHandle = 3,
    Sku = 4,
    Barcode = 5,
}

/// An identifier of a product, or of its variant at a position.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a> {
    value: &'a str,
    kind: Kind,
    position: i64,
}

fn names(record: &Record) -> BTreeSet<Name<'_>> {
    let mut names = BTreeSet::from([Name { value: &record.id, kind: Kind::ProductId, position: -1 }]);
    names.extend(record.handle.as_deref().map(|value| Name { value, kind: Kind::ProductHandle, position: -1 }));
    for (position, variant) in (0..).zip(&record.variants) {
        let mut name = |kind, value| {
            names.insert(Name { value, kind, position });
        };
        name(Kind::VariantId, variant.id.as_str());
        variant.handle.iter().for_each(|handle| name(Kind::VariantHandle, handle));
        variant.sku.iter().for_each(|sku| name(Kind::Sku, sku));
        variant.barcodes.iter().for_each(|barcode| name(Kind::Barcode, &barcode.value));
    }
    names.retain(|name| !name.value.is_empty());
    names
}

/// A valid product, in the form in which it is stored.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The product without quantities.
    record: Record,
    document: String,
    /// Quantities of the variants, `None` for those that are not counted.
    counts: Vec<(String, Option<u64>)>,
}

impl Prepared {
    /// Checks a product, except for what depends on other products.
    pub(crate) fn new(record: Record, market: &Market) -> Result<Self, Rejected> {
        let mut record = record.check(market)?;
        let counts = counts(&mut record);
        if let Some(name) = names(&record).iter().find(|name| name.value.len() > MAX_IDENTIFIER) {
            let start: String = name.value.chars().take(40).collect();
            return Err(Rejected {
                reason: format!("the identifier `{start}…` is longer than {MAX_IDENTIFIER} bytes"),
            });
        }
        let document = serde_json::to_string(&record)
            .map_err(|error| Rejected { reason: format!("cannot be written as JSON ({error})") })?;
        Ok(Self { record, document, counts })
    }
}

/// Takes the quantities out of a product. From then on, only the quantity decides whether a counted variant is sold
/// out: a variant that is stated to be `out_of_stock` becomes available with the next goods.
fn counts(record: &mut Record) -> Vec<(String, Option<u64>)> {
    let counted = |variant: &mut VariantRecord| {
        let count = variant.inventory.take();
        if count.is_some() && variant.availability.status.as_deref() == Some(OUT_OF_STOCK) {
            variant.availability = Availability { available: true, status: Some("in_stock".to_owned()) };
        }
        (variant.id.clone(), count)
    };
    record.variants.iter_mut().map(counted).collect()
}

/// Result of storing products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Outcomes, in the order of the products.
    pub outcomes: Vec<Result<Put, Rejected>>,
    /// Number of variants whose stock was stated as before, so that what orders have taken since stays taken.
    pub kept: u64,
}

/// Stores products as of a time in the transaction that `db` is in. A product that is rejected leaves nothing behind.
pub(crate) fn put(
    db: ShopConnection<'_>,
    prepared: Vec<Result<Prepared, Rejected>>,
    as_of: Timestamp,
) -> Result<Stored, WriteError> {
    let revision = newest_revision(db)? + 1;
    let mut kept = 0;
    let outcomes = prepared
        .into_iter()
        .map(|prepared| match prepared {
            Ok(prepared) => put_one(db, &prepared, revision, as_of, &mut kept).map_err(WriteError::from),
            Err(rejected) => Ok(Err(rejected)),
        })
        .collect::<Result<_, _>>()?;
    Ok(Stored { outcomes, kept })
}

fn put_one(
    db: ShopConnection<'_>,
    prepared: &Prepared,
    revision: i64,
    as_of: Timestamp,
    kept: &mut u64,
) -> rusqlite::Result<Result<Put, Rejected>> {
    let Prepared { record, document, counts } = prepared;
    let stored: Option<(i64, String)> = db
        .prepare_cached("SELECT seq, document FROM products WHERE shop = ? AND id = ?")?
        .query_row((db.shop(), &record.id), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((seq, stored)) = &stored
        && stored == document
    {
        let counted = stock::count(db, *seq, counts, as_of)?;
        *kept += counted.kept;
        if counted.availability_changed {
            touch(db, *seq, revision)?;
        }
        return Ok(Ok(if counted.changed { Put::Updated } else { Put::Unchanged }));
    }
    let names = names(record);
    if let Some(rejected) = conflict(db, &names, stored.as_ref().map(|(seq, _)| *seq))? {
        return Ok(Err(rejected));
    }
    let mut insert =
        db.prepare_cached("INSERT INTO identifiers (shop, value, kind, product, position) VALUES (?, ?, ?, ?, ?)")?;
    let Some((seq, before)) = stored else {
        db.prepare_cached("INSERT INTO products (shop, id, revision, document) VALUES (?, ?, ?, ?)")?.execute((
            db.shop(),
            &record.id,
            revision,
            document,
        ))?;
        let seq = db.last_insert_rowid();
        for name in &names {
            insert.execute((db.shop(), name.value, name.kind as i64, seq, name.position))?;
        }
        *kept += stock::count(db, seq, counts, as_of)?.kept;
        return Ok(Ok(Put::Created));
    };
    db.prepare_cached("UPDATE products SET revision = ?, document = ? WHERE seq = ? AND shop = ?")?.execute((
        revision,
        document,
        seq,
        db.shop(),
    ))?;
    let was_there = before != REMOVED;
    let before = was_there.then(|| parse(&before, None)).transpose()?;
    let old = before.as_ref().map(self::names).unwrap_or_default();
    let mut delete = db.prepare_cached(
        "DELETE FROM identifiers WHERE shop = ? AND value = ? AND kind = ? AND product = ? AND position = ?",
    )?;
    for name in old.difference(&names) {
        delete.execute((db.shop(), name.value, name.kind as i64, seq, name.position))?;
    }
    for name in names.difference(&old) {
        insert.execute((db.shop(), name.value, name.kind as i64, seq, name.position))?;
    }
    *kept += stock::count(db, seq, counts, as_of)?.kept;
    Ok(Ok(if was_there { Put::Updated } else { Put::Created }))
}

/// Removes products in the transaction that `db` is in. Returns for each identifier whether there was such a product.
pub(crate) fn remove(db: ShopConnection<'_>, ids: &[String]) -> rusqlite::Result<Vec<bool>> {
    let revision = newest_revision(db)? + 1;
    ids.iter().map(|id| remove_one(db, id, revision)).collect()
}

fn remove_one(db: ShopConnection<'_>, id: &str, revision: i64) -> rusqlite::Result<bool> {
    let stored: Option<(i64, String)> = db
        .prepare_cached("SELECT seq, document FROM products WHERE shop = ? AND id = ? AND document <> ?")?
        .query_row((db.shop(), id, REMOVED), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((seq, document)) = stored else { return Ok(false) };
    forget_names(db, seq, &parse(&document, None)?)?;
    db.prepare_cached("UPDATE products SET revision = ?, document = ? WHERE seq = ? AND shop = ?")?.execute((
        revision,
        REMOVED,
        seq,
        db.shop(),
    ))?;
    Ok(true)
}

/// Stores what names a product at a place, in the transaction that `db` is in.
pub(crate) fn note_names(db: ShopConnection<'_>, seq: i64, record: &Record) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT OR IGNORE INTO identifiers (shop, value, kind, product, position) VALUES (?, ?, ?, ?, ?)",
    )?;
    names(record)
        .iter()
        .try_for_each(|name| insert.execute((db.shop(), name.value, name.kind as i64, seq, name.position)).map(drop))
}

/// Removes what names a product at a place, in the transaction that `db` is in.
pub(crate) fn forget_names(db: ShopConnection<'_>, seq: i64, record: &Record) -> rusqlite::Result<()> {
    let mut delete =
        db.prepare_cached("DELETE FROM identifiers WHERE shop = ? AND value = ? AND kind = ? AND product = ?")?;
    names(record).iter().try_for_each(|name| delete.execute((db.shop(), name.value, name.kind as i64, seq)).map(drop))
}

/// Returns the identifiers of all products.
pub(crate) fn ids(db: ShopConnection<'_>) -> rusqlite::Result<Vec<String>> {
    db.prepare("SELECT id FROM products WHERE shop = ? AND document <> ?")?
        .query_map((db.shop(), REMOVED), |row| row.get(0))?
        .collect()
}

/// Returns the rejection of identifiers that must be unique and belong to another product.
fn conflict(
    db: ShopConnection<'_>,
    names: &BTreeSet<Name<'_>>,
    seq: Option<i64>,
) -> rusqlite::Result<Option<Rejected>> {
    let mut ids = db.prepare_cached(
        "SELECT product FROM identifiers WHERE shop = ? AND value = ? AND kind <= 1 AND product <> ? LIMIT 1",
    )?;
    let mut handles = db.prepare_cached(
        "SELECT product FROM identifiers WHERE shop = ? AND value = ? AND kind = 2 AND product <> ? LIMIT 1",
    )?;
    let own = seq.unwrap_or(-1);
    for name in names {
        let (statement, what) = match name.kind {
            Kind::ProductId => (&mut ids, "the id"),
            Kind::VariantId => (&mut ids, "the variant id"),
            Kind::ProductHandle => (&mut handles, "the handle"),
            _ => continue,
        };
        let owner: Option<i64> = statement.query_row((db.shop(), name.value, own), |row| row.get(0)).optional()?;
        if let Some(owner) = owner {
            let owner: String =
                db.query_row("SELECT id FROM products WHERE seq = ? AND shop = ?", (owner, db.shop()), |row| {
                    row.get(0)
                })?;
            let reason = format!("{what} `{}` belongs to product `{owner}` already", name.value);
            return Ok(Some(Rejected { reason }));
        }
    }
    Ok(None)
}

/// Position of what an identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Position of the product in the shop's order.
    pub(crate) seq: i64,
    /// The product itself, or one of its variants.
    pub(crate) target: Target,
}

/// Returns what `value` names: an id takes precedence; an alias names everything that has it, up to [`MAX_MATCHES`].
pub(crate) fn resolve(db: ShopConnection<'_>, value: &str) -> rusqlite::Result<Vec<Found>> {
    if value.len() > MAX_IDENTIFIER {
        return Ok(Vec::new());
    }
    let id = db
        .prepare_cached(
            "SELECT product, position FROM identifiers WHERE shop = ? AND value = ? AND kind <= 1 ORDER BY kind LIMIT 1",
        )?
        .query_row((db.shop(), value), |row| found(row, false))
        .optional()?;
    if let Some(found) = id {
        return Ok(vec![found]);
    }
    for value in [value.to_owned()].into_iter().chain(other_lengths(value)) {
        let aliases: Vec<Found> = db
            .prepare_cached(
                "SELECT DISTINCT product, position FROM identifiers WHERE shop = ? AND value = ? AND kind > 1 ORDER BY product, position LIMIT ?",
            )?
            .query_map((db.shop(), &value, MAX_MATCHES), |row| found(row, true))?
            .collect::<rusqlite::Result<_>>()?;
        if !aliases.is_empty() {
            return Ok(aliases);
        }
    }
    Ok(Vec::new())
}

/// Lengths of the numbers of the trade (GTIN): of one number, the shorter forms have fewer zeros in front.
const GTIN_LENGTHS: [usize; 4] = [8, 12, 13, 14];

/// Returns the same number of the trade in its other lengths; nothing for any other text.
fn other_lengths(value: &str) -> impl Iterator<Item = String> {
    let is_gtin = GTIN_LENGTHS.contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    let (number, own) = (value.trim_start_matches('0').to_owned(), value.len());
    let longer = move |length: &usize| is_gtin && *length >= number.len() && *length != own && !number.is_empty();
    let number = value.trim_start_matches('0').to_owned();
    GTIN_LENGTHS.into_iter().filter(longer).map(move |length| format!("{number:0>length$}"))
}

/// Returns `true` if a barcode is the one that is asked for, in whatever length.
pub(crate) fn is_same_barcode(own: &str, asked: &str) -> bool {
    own == asked || other_lengths(asked).any(|asked| own == asked)
}

fn found(row: &Row<'_>, alias: bool) -> rusqlite::Result<Found> {
    let target = match (usize::try_from(row.get::<_, i64>(1)?), alias) {
        (Ok(position), false) => Target::Variant(position),
        (Ok(position), true) => Target::VariantAlias(position),
        (Err(_), false) => Target::Product,
        (Err(_), true) => Target::ProductHandle,
    };
    Ok(Found { seq: row.get(0)?, target })
}

/// Column expression over `products`: the identifiers of the variants that are sold out, for [`parse`].
pub(crate) const SOLD_OUT: &str =
    "(SELECT json_group_array(variant) FROM stock WHERE product = products.seq AND quantity = 0)";

/// Returns the product at `seq`, and the length of its document in bytes; `None` if it has been removed.
pub(crate) fn load(db: ShopConnection<'_>, seq: i64) -> rusqlite::Result<Option<(Record, usize)>> {
    let intact = checksum::intact("products");
    db.prepare_cached(&format!("SELECT document, {SOLD_OUT}, {intact}, id FROM products WHERE seq = ? AND shop = ?"))?
        .query_row((seq, db.shop()), |row| {
            if !row.get::<_, bool>(2)? {
                return Err(unreadable(format!("`{}` is not as it was written", row.get::<_, String>(3)?)));
            }
            let document = row.get_ref(0)?.as_str().map_err(unreadable)?;
            if document == REMOVED {
                return Ok(None);
            }
            let sold_out = row.get_ref(1)?.as_str().map_err(unreadable)?;
            Ok(Some((parse(document, Some(sold_out))?, document.len())))
        })
        .optional()
        .map(Option::flatten)
}

/// Parses a stored document. The variants in the JSON array `sold_out` become unavailable.
pub(crate) fn parse(document: &str, sold_out: Option<&str>) -> rusqlite::Result<Record> {
    let mut record: Record = serde_json::from_str(document).map_err(unreadable)?;
    if let Some(sold_out) = sold_out.filter(|variants| *variants != "[]") {
        let sold_out: HashSet<String> = serde_json::from_str(sold_out).map_err(unreadable)?;
        let variants = record.variants.iter_mut().filter(|variant| sold_out.contains(&variant.id));
        for variant in variants.filter(|variant| variant.availability.available) {
            variant.availability = Availability { available: false, status: Some(OUT_OF_STOCK.to_owned()) };
        }
    }
    Ok(record)
}

fn unreadable(error: impl fmt::Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        0,
        Type::Text,
        format!("a product's document is unreadable: {error}").into(),
    )
}
