//! Stock: the quantity of each variant that is counted, the number that its source stated, and the goods that orders
//! have taken.
//!
//! A `CHECK` of the table keeps every quantity at zero or more. A product is read with the availability of its
//! variants, so its revision changes when a quantity reaches zero or leaves it, and only then.
//!
//! A source that states a number as before says nothing about what was sold meanwhile. Another number counts from a
//! time: what is held for payments, and what was sold after it, is not known to the source and is subtracted. A row stays
//! when its variant disappears, so that a source that leaves a product out for a while gives nothing back either.

use jiff::Timestamp;
use rusqlite::OptionalExtension as _;

use crate::{
    connection::ShopConnection,
    revision::{newest_revision, touch},
    rows::nanoseconds,
};

/// Time of a taking whose payment has no end yet: after every other.
const HELD: i64 = i64::MAX;

/// Effect of stating quantities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// `true` if a number or a quantity differs from the previous one.
    pub changed: bool,
    /// `true` if the set of variants that are sold out changed.
    pub availability_changed: bool,
    /// Number of variants whose number is as before and whose quantity is another one.
    pub kept: u64,
}

/// A row of the stock.
struct Row {
    product: i64,
    quantity: i64,
    stated: Option<i64>,
}

/// Takes the statement about variants of the product at `seq`: their numbers as of a time, `None` for those that are
/// not counted. Fails with the error of the database.
pub fn count(
    db: ShopConnection<'_>,
    seq: i64,
    counts: &[(String, Option<u64>)],
    as_of: Timestamp,
) -> rusqlite::Result<Counted> {
    let mut counted = Counted::default();
    for (variant, count) in counts {
        let before = db
            .prepare_cached("SELECT product, quantity, stated FROM stock WHERE shop = ? AND variant = ?")?
            .query_row((db.shop(), variant), |row| {
                Ok(Row { product: row.get(0)?, quantity: row.get(1)?, stated: row.get(2)? })
            })
            .optional()?;
        let after = match (count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)), &before) {
            (None, None) => continue,
            (None, Some(_)) => {
                db.prepare_cached("DELETE FROM stock WHERE shop = ? AND variant = ?")?.execute((db.shop(), variant))?;
                counted.changed = true;
                None
            }
            (Some(number), Some(row)) if row.stated == Some(number) => {
                counted.kept += u64::from(row.quantity != number);
                if row.product != seq {
                    db.prepare_cached("UPDATE stock SET product = ? WHERE shop = ? AND variant = ?")?.execute((
                        seq,
                        db.shop(),
                        variant,
                    ))?;
                    counted.changed = true;
                }
                Some(row.quantity)
            }
            (Some(number), before) => {
                let taken = taken_after(db, variant, as_of)?;
                let (quantity, owed) = (number.saturating_sub(taken).max(0), taken.saturating_sub(number).max(0));
                db.prepare_cached(
                    "INSERT INTO stock (shop, variant, product, quantity, owed, stated, stated_at) \
                     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (shop, variant) DO UPDATE SET product = excluded.product, \
                     quantity = excluded.quantity, owed = excluded.owed, stated = excluded.stated, \
                     stated_at = excluded.stated_at",
                )?
                .execute((db.shop(), variant, seq, quantity, owed, number, nanoseconds(as_of)))?;
                let before = before.as_ref().map(|row| (row.product, row.quantity, row.stated.unwrap_or(number)));
                counted.changed |= before != Some((seq, quantity, number));
                Some(quantity)
            }
        };
        let before = before.filter(|row| row.product == seq).map(|row| row.quantity);
        counted.availability_changed |= (before == Some(0)) != (after == Some(0));
    }
    Ok(counted)
}

/// Returns the pieces of a variant that are held, and those that were sold after a time.
fn taken_after(db: ShopConnection<'_>, variant: &str, time: Timestamp) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT ifnull(sum(quantity), 0) FROM takings WHERE shop = ? AND variant = ? AND at > ?")?
        .query_row((db.shop(), variant, nanoseconds(time)), |row| row.get(0))
}

/// Returns the quantity of a variant; `None` if it is not counted.
pub(crate) fn quantity(db: ShopConnection<'_>, variant: &str) -> rusqlite::Result<Option<u64>> {
    db.prepare_cached("SELECT quantity FROM stock WHERE shop = ? AND variant = ?")?
        .query_row((db.shop(), variant), |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
        .optional()
}

/// Party for which goods leave the stock, and from which they come back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taker<'a> {
    /// A checkout whose payment has no end yet.
    Checkout(&'a str),
    /// The order of a checkout, which changed at a time.
    Order(&'a str, Timestamp),
    /// Neither: the movement is not remembered.
    Nobody,
}

/// Adds `quantity`, which may be negative, to the stock of a variant. Does nothing if the variant is not counted. Fails
/// with the failed `CHECK` of the table if the stock is too low; any other error of the database.
pub(crate) fn move_goods(
    db: ShopConnection<'_>,
    variant: &str,
    quantity: i64,
    taker: Taker<'_>,
) -> rusqlite::Result<()> {
    let moved: Option<(i64, i64, i64)> = db
        .prepare_cached(
            "UPDATE stock SET quantity = quantity + ?1 - min(owed, max(?1, 0)), owed = owed - min(owed, max(?1, 0)) \
             WHERE shop = ?2 AND variant = ?3 RETURNING product, quantity, owed",
        )?
        .query_row((quantity, db.shop(), variant), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((product, after, owed)) = moved else {
        return Ok(());
    };
    let before = (after - owed).saturating_sub(quantity).max(0);
    if (before == 0) != (after == 0) {
        touch(db, product, newest_revision(db)? + 1)?;
    }
    let (checkout, at) = match taker {
        Taker::Nobody => return Ok(()),
        Taker::Checkout(checkout) if quantity > 0 => {
            return db
                .prepare_cached("DELETE FROM takings WHERE shop = ? AND variant = ? AND checkout = ? AND at = ?")?
                .execute((db.shop(), variant, checkout, HELD))
                .map(drop);
        }
        Taker::Checkout(checkout) => (checkout, HELD),
        Taker::Order(checkout, at) => (checkout, nanoseconds(at)),
    };
    db.prepare_cached(
        "INSERT INTO takings (shop, variant, checkout, at, quantity) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (shop, variant, checkout, at) DO UPDATE SET quantity = quantity + excluded.quantity",
    )?
    .execute((db.shop(), variant, checkout, at, -quantity))
    .map(drop)
}

/// Makes what is held of a variant for a checkout a sale of this time.
pub(crate) fn sold(db: ShopConnection<'_>, variant: &str, checkout: &str, at: Timestamp) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE takings SET at = ? WHERE shop = ? AND variant = ? AND checkout = ? AND at = ?")?
        .execute((nanoseconds(at), db.shop(), variant, checkout, HELD))
        .map(drop)
}
