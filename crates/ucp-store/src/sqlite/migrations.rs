//! Schema migrations: numbered SQL files, applied in order.
//!
//! `PRAGMA user_version` counts the files that have been applied. Each file runs in one transaction together with the
//! new count, and takes the write lock before it looks, so that two processes that start at once apply it once.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_shop.sql"),
    include_str!("migrations/0002_purchases.sql"),
    include_str!("migrations/0003_merchants.sql"),
    include_str!("migrations/0004_outbox.sql"),
    include_str!("migrations/0005_tokens.sql"),
];

/// Brings the database to the newest schema.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate_with(connection, path, MIGRATIONS)
}

fn migrate_with(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    let open = |source| StoreError::Open { path: path.to_owned(), source };
    let supported = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    loop {
        // The common case takes no lock.
        if version(connection).map_err(open)? == supported {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(open)?;
        let found = version(&transaction).map_err(open)?;
        if found > supported || found < 0 {
            return Err(StoreError::Newer { path: path.to_owned(), found, supported });
        }
        let Some(sql) = usize::try_from(found).ok().and_then(|applied| migrations.get(applied)) else {
            return Ok(());
        };
        let version = found + 1;
        transaction
            .execute_batch(sql)
            .and_then(|()| transaction.pragma_update(None, "user_version", version))
            .and_then(|()| transaction.commit())
            .map_err(|source| StoreError::Migration { path: path.to_owned(), version, source })?;
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_apply_once_and_in_order() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        let two = ["CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER); INSERT INTO a VALUES (1)"];
        migrate_with(&mut connection, path, &two[..1]).expect("first");
        migrate_with(&mut connection, path, &two).expect("second");
        migrate_with(&mut connection, path, &two).expect("again");
        let rows: i64 = connection.query_row("SELECT count(*) FROM a", (), |row| row.get(0)).expect("rows");
        assert_eq!((rows, version(&connection).expect("version")), (1, 2));
        migrate(&mut Connection::open_in_memory().expect("database"), path).expect("the real ones");
    }

    #[test]
    fn a_failed_migration_leaves_everything_as_it_was() {
        let mut connection = Connection::open_in_memory().expect("database");
        let broken = ["CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER); nonsense"];
        let error = migrate_with(&mut connection, Path::new("test.db"), &broken).expect_err("nonsense");
        assert!(matches!(error, StoreError::Migration { version: 2, .. }), "{error}");
        assert_eq!(version(&connection).expect("version"), 1);
        assert!(connection.prepare("SELECT * FROM b").is_err());
    }

    #[test]
    fn a_shop_of_the_first_version_gets_books() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..1]).expect("version 1");
        let shop = "INSERT INTO shop VALUES (1, 'x', '{}', zeroblob(32))";
        connection.execute(shop, ()).expect("a shop");
        let foreign = r#"{"id":"a","variants":[{"id":"v","price":{"amount":12.50,"x":1e3},"inventory":{"here":[1]},"digital":"yes","é":"é"},{"id":"w","weight_grams":"2 kg"}],"inventory":"kept"}"#;
        let plain = r#"{"id":"b",  "variants":[{"id":"x"}]}"#;
        for (id, document) in [("a", foreign), ("b", plain)] {
            let insert = "INSERT INTO products (id, revision, document) VALUES (?, 7, ?)";
            connection.execute(insert, (id, document)).expect("a product");
        }
        migrate(&mut connection, path).expect("the newest version");
        let text = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, String>(0)).expect("a text");
        assert_eq!(text("SELECT terms FROM shop"), "{}");
        // Members that were nobody's business would now be misread.
        assert_eq!(
            text("SELECT document FROM products WHERE id = 'a'"),
            r#"{"id":"a","variants":[{"id":"v","price":{"amount":12.50,"x":1e3},"é":"é"},{"id":"w"}],"inventory":"kept"}"#
        );
        assert_eq!(text("SELECT document FROM products WHERE id = 'b'"), plain);
        assert_eq!(text("SELECT CAST(max(revision) AS TEXT) FROM products"), "7");
    }

    #[test]
    fn a_newer_database_is_refused() {
        let mut connection = Connection::open_in_memory().expect("database");
        connection.pragma_update(None, "user_version", 99).expect("set");
        let error = migrate(&mut connection, Path::new("/data/shop.db")).expect_err("newer");
        let text = error.to_string();
        assert!(text.contains("/data/shop.db") && text.contains("99") && text.contains("newer gateway"), "{text}");
    }
}
