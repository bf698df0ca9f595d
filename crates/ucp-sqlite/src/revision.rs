//! Revisions, which tell what products have changed: each has the revision of its last change, and revisions only grow.

use crate::connection::ShopConnection;

/// Document of a product that has been removed. Its row stays, so that caches and indexes learn of it by its revision.
pub const REMOVED: &str = "null";

/// Returns the revision of the last change to any product, 0 if there are no products. Fails with the error of the
/// database.
pub fn newest_revision(db: ShopConnection<'_>) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT coalesce(max(revision), 0) FROM products WHERE shop = ?")?
        .query_row([db.shop()], |row| row.get(0))
}

/// Counts the products. Fails with the error of the database.
pub fn count(db: ShopConnection<'_>) -> rusqlite::Result<i64> {
    db.query_row("SELECT count(*) FROM products WHERE shop = ? AND document <> ?", (db.shop(), REMOVED), |row| {
        row.get(0)
    })
}

/// Counts the products that changed after `revision`, with those that were removed. Fails with the error of the
/// database.
pub fn count_since(db: ShopConnection<'_>, revision: i64) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT count(*) FROM products WHERE shop = ? AND revision > ?")?
        .query_row((db.shop(), revision), |row| row.get(0))
}

/// Returns the `seq` of each product that changed after `revision`; `None` if there are more than `limit`. Fails with
/// the error of the database.
pub fn changed_since(db: ShopConnection<'_>, revision: i64, limit: usize) -> rusqlite::Result<Option<Vec<i64>>> {
    let mut statement = db.prepare_cached("SELECT seq FROM products WHERE shop = ? AND revision > ? LIMIT ?")?;
    let rows = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let changed: Vec<i64> =
        statement.query_map((db.shop(), revision, rows), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok((changed.len() <= limit).then_some(changed))
}

/// Marks the product at `seq` as changed in `revision`, although its document is unchanged. Fails with the error of the
/// database.
pub fn touch(db: ShopConnection<'_>, seq: i64, revision: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE products SET revision = ? WHERE seq = ? AND shop = ?")?.execute((
        revision,
        seq,
        db.shop(),
    ))?;
    Ok(())
}
