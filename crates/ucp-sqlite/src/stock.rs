//! Stock: the quantity of each variant that is counted.
//!
//! A `CHECK` of the table keeps every quantity at zero or more. A product is read with the availability of its
//! variants, so its revision changes when a quantity reaches zero or leaves it, and only then.

use rusqlite::OptionalExtension as _;

use crate::{
    connection::ShopConnection,
    revision::{newest_revision, touch},
};

/// Effect of setting quantities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// `true` if any quantity differs from the previous one.
    pub changed: bool,
    /// `true` if the set of variants that are sold out changed.
    pub availability_changed: bool,
}

/// Sets the quantities of the product at `seq`. Variants that `counts` does not name are no longer counted.
///
/// # Errors
/// The error of the database.
pub fn count(db: ShopConnection<'_>, seq: i64, counts: &[(String, u64)]) -> rusqlite::Result<Counted> {
    let before: Vec<(String, i64)> = db
        .prepare_cached("SELECT variant, quantity FROM stock WHERE product = ? AND shop = ? ORDER BY variant")?
        .query_map((seq, db.shop()), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut after: Vec<(&str, i64)> =
        counts.iter().map(|(variant, count)| (variant.as_str(), i64::try_from(*count).unwrap_or(i64::MAX))).collect();
    after.sort_unstable();
    if before.iter().map(|(variant, count)| (variant.as_str(), *count)).eq(after.iter().copied()) {
        return Ok(Counted::default());
    }
    db.prepare_cached("DELETE FROM stock WHERE product = ? AND shop = ?")?.execute((seq, db.shop()))?;
    let mut insert = db.prepare_cached("INSERT INTO stock (shop, variant, product, quantity) VALUES (?, ?, ?, ?)")?;
    for (variant, count) in &after {
        insert.execute((db.shop(), variant, seq, count))?;
    }
    let sold_out_before = before.iter().filter(|(_, count)| *count == 0).map(|(variant, _)| variant.as_str());
    let sold_out_after = after.iter().filter(|(_, count)| *count == 0).map(|(variant, _)| *variant);
    Ok(Counted { changed: true, availability_changed: !sold_out_before.eq(sold_out_after) })
}

/// Returns the quantity of a variant; `None` if it is not counted.
pub(crate) fn quantity(db: ShopConnection<'_>, variant: &str) -> rusqlite::Result<Option<u64>> {
    db.prepare_cached("SELECT quantity FROM stock WHERE shop = ? AND variant = ?")?
        .query_row((db.shop(), variant), |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
        .optional()
}

/// Adds `quantity`, which may be negative, to the stock of a variant. Does nothing if the variant is not counted.
///
/// # Errors
/// The failed `CHECK` of the table if the stock is too low; any other error of the database.
pub(crate) fn move_goods(db: ShopConnection<'_>, variant: &str, quantity: i64) -> rusqlite::Result<()> {
    let moved: Option<(i64, i64)> = db
        .prepare_cached(
            "UPDATE stock SET quantity = quantity + ? WHERE shop = ? AND variant = ? RETURNING product, quantity",
        )?
        .query_row((quantity, db.shop(), variant), |row| Ok((row.get(0)?, row.get(1)?)))
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
