//! The synonyms that were imported, in the database of a shop.

use rusqlite::OptionalExtension as _;
use ucp_sqlite::{ShopConnection, checksum};

/// Returns the text of the synonyms; empty if there are none. Fails with the error of the database.
pub(crate) fn read(db: ShopConnection<'_>) -> rusqlite::Result<String> {
    let sql = format!("SELECT text FROM synonyms WHERE shop = ? AND {}", checksum::intact("synonyms"));
    let text = db.prepare_cached(&sql)?.query_row([db.shop()], |row| row.get(0)).optional()?;
    Ok(text.unwrap_or_default())
}

/// Stores the text of synonyms. Fails with the error of the database.
pub(crate) fn write(db: ShopConnection<'_>, text: &str) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO synonyms (shop, text) VALUES (?, ?) ON CONFLICT (shop) DO UPDATE SET text = excluded.text",
        (db.shop(), text),
    )
    .map(drop)
}
