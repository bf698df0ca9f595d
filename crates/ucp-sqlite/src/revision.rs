//! Which products have changed: each has the revision of its last change, and revisions only grow.

use rusqlite::Connection;

/// The revision of the last change to any product, 0 if there are none.
///
/// # Errors
/// What the database reports.
pub fn newest_revision(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT coalesce(max(revision), 0) FROM products")?.query_row((), |row| row.get(0))
}

/// How many products changed after `revision`.
///
/// # Errors
/// What the database reports.
pub fn count_since(db: &Connection, revision: i64) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT count(*) FROM products WHERE revision > ?")?.query_row([revision], |row| row.get(0))
}

/// The positions of the products that changed after `revision`, at most `limit`; `None` if there are more.
///
/// # Errors
/// What the database reports.
pub fn changed_since(db: &Connection, revision: i64, limit: usize) -> rusqlite::Result<Option<Vec<i64>>> {
    let mut statement = db.prepare_cached("SELECT seq FROM products WHERE revision > ? LIMIT ?")?;
    let rows = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let changed: Vec<i64> =
        statement.query_map((revision, rows), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok((changed.len() <= limit).then_some(changed))
}

/// Has the product at `seq` noticed as changed, although its document is not.
///
/// # Errors
/// What the database reports.
pub fn touch(db: &Connection, seq: i64, revision: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE products SET revision = ? WHERE seq = ?")?.execute((revision, seq))?;
    Ok(())
}
