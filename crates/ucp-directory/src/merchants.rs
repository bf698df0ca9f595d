//! Merchants in the store.

use std::{collections::BTreeSet, fmt};

use rusqlite::{OptionalExtension as _, types::Type};
use ucp_core::merchant::record::{MAX_ID, Merchant};
use ucp_sqlite::{Put, Rejected, ShopConnection, SqliteStore, WriteError};

/// Maximum number of merchants that one alias names.
const MAX_OWNERS: i64 = 20;

/// A valid merchant, in the form in which it is stored.
struct Prepared {
    merchant: Merchant,
    document: String,
}

impl Prepared {
    fn new(merchant: Merchant) -> Result<Self, Rejected> {
        let merchant = merchant.check()?;
        let document = serde_json::to_string(&merchant)
            .map_err(|error| Rejected { reason: format!("cannot be written as JSON ({error})") })?;
        Ok(Self { merchant, document })
    }
}

fn prepare(merchants: Vec<Merchant>) -> Vec<Result<Prepared, Rejected>> {
    merchants.into_iter().map(Prepared::new).collect()
}

/// Stores merchants: one transaction for all of them. The outcomes are in the order of `merchants`. For callers outside
/// an async runtime.
///
/// A merchant whose id the directory knows is updated in place, with all its locations. One that cannot be stored is
/// rejected as a whole and does not affect the others. Fails with [`WriteError`] if the database failed; then nothing
/// was stored.
pub fn put_blocking(store: &SqliteStore, merchants: Vec<Merchant>) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
    let prepared = prepare(merchants);
    store.execute_blocking(move |db| write(db, prepared))
}

/// Stores merchants in the transaction that `db` is in, as [`put_blocking`] does.
pub(crate) fn put_within(
    db: ShopConnection<'_>,
    merchants: Vec<Merchant>,
) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
    write(db, prepare(merchants))
}

/// Stores merchants in the transaction that `db` is in. A merchant that is rejected leaves nothing behind.
fn write(
    db: ShopConnection<'_>,
    prepared: Vec<Result<Prepared, Rejected>>,
) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
    let revision = newest_revision(db)? + 1;
    prepared
        .into_iter()
        .map(|prepared| match prepared {
            Ok(prepared) => put_one(db, &prepared, revision).map_err(WriteError::from),
            Err(rejected) => Ok(Err(rejected)),
        })
        .collect()
}

fn put_one(db: ShopConnection<'_>, prepared: &Prepared, revision: i64) -> rusqlite::Result<Result<Put, Rejected>> {
    let Prepared { merchant, document } = prepared;
    let stored: Option<(i64, String)> = db
        .prepare_cached("SELECT seq, document FROM merchants WHERE shop = ? AND id = ?")?
        .query_row((db.shop(), &merchant.id), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if stored.as_ref().is_some_and(|(_, stored)| stored == document) {
        return Ok(Ok(Put::Unchanged));
    }
    let names = names(merchant);
    if let Some(rejected) = conflict(db, &names, stored.as_ref().map(|(seq, _)| *seq))? {
        return Ok(Err(rejected));
    }
    let mut insert =
        db.prepare_cached("INSERT INTO location_names (shop, value, kind, merchant) VALUES (?, ?, ?, ?)")?;
    let Some((seq, before)) = stored else {
        db.prepare_cached("INSERT INTO merchants (shop, id, revision, document) VALUES (?, ?, ?, ?)")?.execute((
            db.shop(),
            &merchant.id,
            revision,
            document,
        ))?;
        let seq = db.last_insert_rowid();
        for name in names {
            insert.execute((db.shop(), name.value, name.kind as i64, seq))?;
        }
        return Ok(Ok(Put::Created));
    };
    db.prepare_cached("UPDATE merchants SET revision = ?, document = ? WHERE seq = ? AND shop = ?")?.execute((
        revision,
        document,
        seq,
        db.shop(),
    ))?;
    let before = parse(&before)?;
    let old = self::names(&before);
    let mut delete =
        db.prepare_cached("DELETE FROM location_names WHERE shop = ? AND value = ? AND kind = ? AND merchant = ?")?;
    for name in old.difference(&names) {
        delete.execute((db.shop(), name.value, name.kind as i64, seq))?;
    }
    for name in names.difference(&old) {
        insert.execute((db.shop(), name.value, name.kind as i64, seq))?;
    }
    Ok(Ok(Put::Updated))
}

/// Kind of a name of a location. The numbers are those in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Id = 0,
    Alias = 1,
    HiddenId = 2,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a> {
    value: &'a str,
    kind: Kind,
}

fn names(merchant: &Merchant) -> BTreeSet<Name<'_>> {
    let mut names = BTreeSet::new();
    for location in &merchant.locations {
        let kind = if location.public { Kind::Id } else { Kind::HiddenId };
        names.insert(Name { value: &location.id, kind });
        if location.public {
            names.extend(location.aliases.iter().map(|value| Name { value, kind: Kind::Alias }));
        }
    }
    names
}

/// Returns the rejection of an id of a location that belongs to another merchant.
fn conflict(
    db: ShopConnection<'_>,
    names: &BTreeSet<Name<'_>>,
    seq: Option<i64>,
) -> rusqlite::Result<Option<Rejected>> {
    let mut owner = db.prepare_cached(
        "SELECT id FROM location_names JOIN merchants ON seq = merchant WHERE location_names.shop = ? AND value = ? AND kind <> 1 AND seq <> ? LIMIT 1",
    )?;
    for Name { value, .. } in names.iter().filter(|name| name.kind != Kind::Alias) {
        let owner: Option<String> =
            owner.query_row((db.shop(), value, seq.unwrap_or(-1)), |row| row.get(0)).optional()?;
        if let Some(owner) = owner {
            let reason = format!("the location `{value}` belongs to merchant `{owner}` already");
            return Ok(Some(Rejected { reason }));
        }
    }
    Ok(None)
}

/// Returns the revision of the last change to any merchant, 0 if there are no merchants.
pub(crate) fn newest_revision(db: ShopConnection<'_>) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT coalesce(max(revision), 0) FROM merchants WHERE shop = ?")?
        .query_row([db.shop()], |row| row.get(0))
}

/// Passes every merchant to `take`, in the order in which they were created.
pub(crate) fn for_each(db: ShopConnection<'_>, mut take: impl FnMut(&Merchant)) -> rusqlite::Result<()> {
    let mut statement = db.prepare("SELECT document FROM merchants WHERE shop = ? ORDER BY seq")?;
    let mut rows = statement.query([db.shop()])?;
    while let Some(row) = rows.next()? {
        take(&parse(row.get_ref(0)?.as_str().map_err(unreadable)?)?);
    }
    Ok(())
}

/// Returns the merchant with an id, and the length of its document in bytes.
pub(crate) fn fetch(db: ShopConnection<'_>, id: &str) -> rusqlite::Result<Option<(Merchant, usize)>> {
    if id.len() > MAX_ID {
        return Ok(None);
    }
    db.prepare_cached("SELECT document FROM merchants WHERE shop = ? AND id = ?")?
        .query_row((db.shop(), id), |row| {
            let document = row.get_ref(0)?.as_str().map_err(unreadable)?;
            Ok((parse(document)?, document.len()))
        })
        .optional()
}

/// Returns the ids of the merchants that have a public location with this id or alias. An id takes precedence.
pub(crate) fn owners(db: ShopConnection<'_>, location: &str) -> rusqlite::Result<Vec<String>> {
    if location.len() > MAX_ID {
        return Ok(Vec::new());
    }
    db.prepare_cached(
        "SELECT merchants.id FROM location_names JOIN merchants ON seq = merchant \
         WHERE location_names.shop = ? AND value = ? AND kind < 2 ORDER BY kind, seq LIMIT ?",
    )?
    .query_map((db.shop(), location, MAX_OWNERS), |row| row.get(0))?
    .collect()
}

fn parse(document: &str) -> rusqlite::Result<Merchant> {
    serde_json::from_str(document).map_err(unreadable)
}

fn unreadable(error: impl fmt::Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        0,
        Type::Text,
        format!("a merchant's document is unreadable: {error}").into(),
    )
}
