//! What is in stock: how many there are of each variant that is counted.
//!
//! No count ever falls below zero; the table itself sees to that. Whether a variant is sold out is part of how its
//! product is read, so that the product counts as changed when a count reaches zero or leaves it, and only then.

use rusqlite::{Connection, OptionalExtension as _};

use crate::revision::{newest_revision, touch};

/// What setting counts has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Whether any count is another one than before.
    pub changed: bool,
    /// Whether any variant is sold out now and was not, or the other way round.
    pub availability_changed: bool,
}

/// Sets the counts of the product at `seq`. Its other variants are not counted from now on.
///
/// # Errors
/// What the database reports.
pub fn count(db: &Connection, seq: i64, counts: &[(String, u64)]) -> rusqlite::Result<Counted> {
    let before: Vec<(String, i64)> = db
        .prepare_cached("SELECT variant, quantity FROM stock WHERE product = ? ORDER BY variant")?
        .query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut after: Vec<(&str, i64)> =
        counts.iter().map(|(variant, count)| (variant.as_str(), i64::try_from(*count).unwrap_or(i64::MAX))).collect();
    after.sort_unstable();
    if before.iter().map(|(variant, count)| (variant.as_str(), *count)).eq(after.iter().copied()) {
        return Ok(Counted::default());
    }
    db.prepare_cached("DELETE FROM stock WHERE product = ?")?.execute([seq])?;
    let mut insert = db.prepare_cached("INSERT INTO stock (variant, product, quantity) VALUES (?, ?, ?)")?;
    for (variant, count) in &after {
        insert.execute((variant, seq, count))?;
    }
    let sold_out_before = before.iter().filter(|(_, count)| *count == 0).map(|(variant, _)| variant.as_str());
    let sold_out_after = after.iter().filter(|(_, count)| *count == 0).map(|(variant, _)| *variant);
    Ok(Counted { changed: true, availability_changed: !sold_out_before.eq(sold_out_after) })
}

/// How many there are of a variant; `None` if it is not counted.
pub(crate) fn quantity(db: &Connection, variant: &str) -> rusqlite::Result<Option<u64>> {
    db.prepare_cached("SELECT quantity FROM stock WHERE variant = ?")?
        .query_row([variant], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
        .optional()
}

/// Takes goods of a variant out of the stock, or puts some back. Nothing happens to uncounted ones.
///
/// # Errors
/// The failed `CHECK` of the table if there are not enough.
pub(crate) fn move_goods(db: &Connection, variant: &str, quantity: i64) -> rusqlite::Result<()> {
    let moved: Option<(i64, i64)> = db
        .prepare_cached("UPDATE stock SET quantity = quantity + ? WHERE variant = ? RETURNING product, quantity")?
        .query_row((quantity, variant), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((product, after)) = moved else {
        return Ok(());
    };
    let before = after - quantity;
    if (before == 0) != (after == 0) {
        touch(db, product, newest_revision(db)? + 1)?;
    }
    Ok(())
}
