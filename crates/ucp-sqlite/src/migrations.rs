//! Schema migrations: numbered SQL files, applied in order.
//!
//! `PRAGMA user_version` counts the files that have been applied. Each file runs in one transaction together with the
//! new count, and takes the write lock before it looks, so that two processes that start at once apply it once.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{checksum, error::StoreError};

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_shop.sql"),
    include_str!("migrations/0002_purchases.sql"),
    include_str!("migrations/0003_merchants.sql"),
    include_str!("migrations/0004_outbox.sql"),
    include_str!("migrations/0005_tokens.sql"),
    include_str!("migrations/0006_claims.sql"),
    include_str!("migrations/0007_mandates.sql"),
    include_str!("migrations/0008_relayed.sql"),
    include_str!("migrations/0009_relayed_ages.sql"),
    include_str!("migrations/0010_without_a_shop.sql"),
    include_str!("migrations/0011_remote_carts.sql"),
    include_str!("migrations/0012_shops.sql"),
    include_str!("migrations/0013_holders.sql"),
    include_str!("migrations/0014_told.sql"),
    include_str!("migrations/0015_synchronised.sql"),
    include_str!("migrations/0016_takings.sql"),
    include_str!("migrations/0017_asked_products.sql"),
    include_str!("migrations/0018_agenda.sql"),
    include_str!("migrations/0019_checksums.sql"),
    include_str!("migrations/0020_holdings.sql"),
    include_str!("migrations/0021_names.sql"),
    include_str!("migrations/0022_copies.sql"),
    include_str!("migrations/0023_synonyms.sql"),
];

/// Brings the database to the newest schema.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate_with(connection, path, MIGRATIONS)
}

/// Returns `true` if the database has the newest schema.
pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(usize::try_from(version(connection)?) == Ok(MIGRATIONS.len()))
}

/// Returns the schema version of a database with rows, if [`migrate`] would change it. Fails with [`StoreError::Newer`]
/// if a newer gateway wrote it.
pub(crate) fn outdated(connection: &Connection, path: &Path) -> Result<Option<i64>, StoreError> {
    let supported = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = version(connection).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    if found > supported || found < 0 {
        return Err(StoreError::Newer { path: path.to_owned(), found, supported });
    }
    let has_rows = || -> rusqlite::Result<bool> {
        let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        for table in tables.query_map((), |row| row.get::<_, String>(0))? {
            if connection.prepare(&format!("SELECT 1 FROM \"{}\" LIMIT 1", table?))?.exists(())? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let outdated = (1..supported).contains(&found);
    // A gateway that was killed while it made a new database leaves tables without rows.
    match outdated && has_rows().map_err(|source| StoreError::Open { path: path.to_owned(), source })? {
        true => Ok(Some(found)),
        false => Ok(None),
    }
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
            .and_then(|()| match version {
                checksum::SINCE.. => checksum::register(&transaction).and_then(|()| checksum::begin(&transaction)),
                _ => Ok(()),
            })
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
    fn a_database_with_rows_is_copied_before_it_is_brought_up_to_date() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(crate::store::FILE);
        let copy = directory.path().join("shop.db.version-11");
        let older = || {
            let mut connection = Connection::open(&path).expect("database");
            migrate_with(&mut connection, &path, &MIGRATIONS[..11]).expect("version 11");
            connection
        };
        drop(older());
        drop(crate::SqliteStore::open(directory.path()).expect("opens"));
        assert!(!copy.exists(), "there was nothing in it");

        std::fs::remove_file(&path).expect("removed");
        older().execute("INSERT INTO shop VALUES (1, 'x', '{}', '{}')", ()).expect("a row");
        drop(crate::SqliteStore::open(directory.path()).expect("opens"));
        assert_eq!(version(&Connection::open(&path).expect("database")).expect("version"), MIGRATIONS.len() as i64);
        let copied = Connection::open(&copy).expect("database");
        let shops: i64 = copied.query_row("SELECT count(*) FROM shop", (), |row| row.get(0)).expect("rows");
        assert_eq!((version(&copied).expect("version"), shops), (11, 1));
    }

    /// Puts a row into each table, with documents that are no JSON.
    fn damage(connection: &Connection) {
        let texts = |sql: &str| -> Vec<(String, String)> {
            let mut statement = connection.prepare(sql).expect("a statement");
            let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
            rows.collect::<Result<_, _>>().expect("texts")
        };
        let tables =
            "SELECT name, '' FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid";
        for (table, _) in texts(tables) {
            let columns = texts(&format!("SELECT name, type FROM pragma_table_info('{table}')"));
            let values = columns.iter().map(|(name, kind)| match (name.as_str(), kind.as_str()) {
                ("document" | "answer" | "market" | "terms", _) => "'{\"id\":'",
                (_, "BLOB") => "zeroblob(32)",
                (_, "TEXT") => "'x'",
                _ => "1",
            });
            let (values, columns): (Vec<_>, Vec<_>) = values.zip(columns.iter().map(|(name, _)| &**name)).unzip();
            let (columns, values) = (columns.join(", "), values.join(", "));
            connection.execute(&format!("INSERT INTO {table} ({columns}) VALUES ({values})"), ()).expect(&table);
        }
    }

    #[test]
    fn a_damaged_document_stops_no_migration_and_is_named() {
        // From then on rows have checksums, which those here would not match.
        const CHECKSUMS: usize = 19;
        for version in 1..CHECKSUMS {
            let mut connection = Connection::open_in_memory().expect("database");
            let path = Path::new("test.db");
            migrate_with(&mut connection, path, &MIGRATIONS[..version]).expect("an older version");
            damage(&connection);
            migrate(&mut connection, path).unwrap_or_else(|error| panic!("from version {version}: {error:?}"));
            let named = crate::backup::contradictions(&connection).expect("checks");
            assert!(!named.is_empty(), "from version {version}");
            assert_eq!(crate::backup::damage(&connection).expect("checks"), Vec::<String>::new());
        }
    }

    /// A migration that fails again and again leaves one copy at most.
    #[test]
    fn a_failed_migration_leaves_no_copy() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(crate::store::FILE);
        let mut connection = Connection::open(&path).expect("database");
        migrate_with(&mut connection, &path, &MIGRATIONS[..18]).expect("version 18");
        connection.execute("INSERT INTO cursor_key VALUES ('x', zeroblob(32))", ()).expect("a row");
        // In the way of the next one.
        connection.execute("CREATE INDEX orders_by_buyer ON orders (shop)", ()).expect("an index");
        for _ in 0..3 {
            let error = crate::SqliteStore::open(directory.path()).expect_err("in the way");
            assert!(matches!(error, StoreError::Migration { version: 19, .. }), "{error}");
        }
        let copies = std::fs::read_dir(directory.path())
            .expect("a directory")
            .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().contains("version")));
        assert_eq!(copies.count(), 0);
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
    fn notices_that_were_queued_before_there_were_claims_are_nobodys() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..5]).expect("version 5");
        for (id, order, state, next_at) in
            [("a", "o1", "delivered", None), ("b", "o1", "waiting", Some(0)), ("c", "o1", "waiting", None)]
        {
            let insert = "INSERT INTO outbox (id, order_id, owner, order_version, occurred_at, document, state, next_at, \
                 since, body) VALUES (?, ?, 'p', 1, 7, '{}', ?, ?, 7, x'00ff')";
            connection.execute(insert, (id, order, state, next_at)).expect("a notice");
        }
        migrate(&mut connection, path).expect("the newest version");
        let text = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, String>(0)).expect("a text");
        let events = "SELECT group_concat(id || ':' || state || ':' || hex(body), ' ') FROM outbox ORDER BY seq";
        assert_eq!(text(events), "a:delivered:00FF b:waiting:00FF c:waiting:00FF");
        let tasks = "SELECT group_concat(concat_ws('|', kind, key, lane, due, since, claimant)) FROM tasks";
        assert_eq!(text(tasks), "tell|o1|tell:p|0|7");
    }

    #[test]
    fn a_shop_that_has_sold_keeps_its_books_and_gets_tokens() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..4]).expect("version 4");
        let insert = |sql: &str, document: &str| connection.execute(sql, (document,)).expect("a row");
        let document = |token: &str| format!(r#"{{"id":"x",  "token":"{token}","note":"é\u0000"}}"#);
        for n in 1..=300 {
            insert(
                &format!("INSERT INTO carts VALUES ({n}, 'cart_{n}', 'https://a.example/', 3, 77, ?)"),
                &document(&format!("c{n}")),
            );
            let checkout = format!("({n}, 'chk_{n}', 'https://a.example/', 2, 'completed', 'cart_{n}', NULL, 88, ?)");
            insert(&format!("INSERT INTO checkouts VALUES {checkout}"), &document(&format!("k{n}")));
            let order = format!("({n}, 'ord_{n}', 'https://a.example/', 9, 'chk_{n}', ?)");
            insert(&format!("INSERT INTO orders VALUES {order}"), &document(&format!("o{n}")));
        }
        insert(
            "INSERT INTO checkouts VALUES (301, 'chk_301', 'https://a.example/', 1, 'complete_in_progress', NULL, 5, 6, ?)",
            &document("open"),
        );
        insert(
            "INSERT INTO outbox (id, order_id, owner, order_version, occurred_at, document, since) VALUES ('n', 'ord_1', 'o', 1, 2, ?, 3)",
            "{}",
        );
        let books = |connection: &Connection| -> Vec<String> {
            let rows = |sql: &str| -> Vec<String> {
                let mut statement = connection.prepare(sql).expect("a statement");
                let rows = statement.query_map((), |row| row.get(0)).expect("rows");
                rows.collect::<Result<_, _>>().expect("texts")
            };
            let all = [
                "SELECT concat_ws('|', seq, id, owner, version, expires_at, document) FROM carts ORDER BY seq",
                "SELECT concat_ws('|', seq, id, owner, version, status, cart_id, attempted_at, expires_at, document) \
                 FROM checkouts ORDER BY seq",
                "SELECT concat_ws('|', seq, id, owner, version, checkout_id, document) FROM orders ORDER BY seq",
                "SELECT concat_ws('|', seq, id, order_id, state, document) FROM outbox",
            ];
            all.into_iter().flat_map(rows).collect()
        };
        let before = books(&connection);
        assert_eq!(before.len(), 902);
        migrate(&mut connection, path).expect("the newest version");
        assert_eq!(books(&connection), before, "nothing of it was changed");
        for (table, prefix, last) in [("carts", "c", 300), ("checkouts", "k", 300), ("orders", "o", 300)] {
            for n in [1, last] {
                let sql = format!("SELECT seq FROM {table} WHERE token = '{prefix}{n}'");
                assert_eq!(connection.query_row(&sql, (), |row| row.get::<_, i64>(0)).expect("a row"), n, "{table}");
                let plan = format!("EXPLAIN QUERY PLAN {sql}");
                let plan = connection.query_row(&plan, (), |row| row.get::<_, String>(3)).expect("a plan");
                assert!(plan.contains(&format!("{table}_by_token")), "{plan}");
            }
            let missing = format!("SELECT count(*) FROM {table} WHERE token IS NULL");
            assert_eq!(connection.query_row(&missing, (), |row| row.get::<_, i64>(0)).expect("a count"), 0);
        }
        let twice = "UPDATE orders SET token = 'o1' WHERE seq = 2";
        assert!(connection.execute(twice, ()).is_err(), "a token opens one page");
    }

    #[test]
    fn a_store_beside_a_shop_elsewhere_keeps_its_owners_its_notices_and_its_key() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..9]).expect("version 9");
        let shop = "INSERT INTO shop VALUES (1, 'x', '{\"name\":\"shop.example\"}', ?, '{}')";
        connection.execute(shop, ([1u8; 32],)).expect("a shop");
        connection
            .execute_batch(
                "INSERT INTO relayed VALUES ('order', 'o1', 'p', '2026-01-23', 7, 1); \
                 INSERT INTO outbox (id, order_id, owner, order_version, occurred_at, document, since, release, body) \
                 VALUES ('forwarded', 'o1', 'p', 1, 7, '{\"id\":\"o1\",\"checkout_id\":\"\"}', 7, '2026-01-23', x'7b7d'), \
                 ('own', 'o2', 'p', 1, 7, '{\"id\":\"o2\",\"checkout_id\":\"c\"}', 7, NULL, NULL), \
                 ('sent', 'o3', 'p', 1, 7, '{\"id\":\"o3\",\"checkout_id\":\"c\"}', 7, '2026-01-23', x'7b7d');",
            )
            .expect("rows");
        migrate(&mut connection, path).expect("the newest version");
        let text = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, String>(0)).expect("a text");
        assert_eq!(text("SELECT hex(key) FROM cursor_key"), "01".repeat(32));
        assert_eq!(
            text("SELECT group_concat(id || ':' || ifnull(document, '-') || ':' || hex(body), ' ') FROM outbox"),
            "forwarded:-:7B7D own:{\"id\":\"o2\",\"checkout_id\":\"c\"}: \
             sent:{\"id\":\"o3\",\"checkout_id\":\"c\"}:7B7D"
        );
        assert_eq!(
            text("SELECT concat_ws('|', kind, id, owner, release, at, mandates) FROM owners"),
            "order|o1|p|2026-01-23|7|1"
        );
        assert_eq!(text("SELECT market FROM shop"), "{\"name\":\"shop.example\"}");
    }

    #[test]
    fn what_one_shop_had_belongs_to_the_default_shop() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..11]).expect("version 11");
        connection
            .execute_batch(
                "INSERT INTO shop VALUES (1, 'x', '{\"name\":\"A\"}', '{\"taxes\":1}');
                 INSERT INTO cursor_key VALUES (1, zeroblob(32));
                 INSERT INTO products VALUES (3, 'a', 7, '{\"id\":\"a\"}'), (9, 'gone', 8, '{}');
                 DELETE FROM products WHERE id = 'gone';
                 INSERT INTO identifiers VALUES ('a', 0, 3, -1), ('a-0', 1, 3, 0);
                 INSERT INTO stock VALUES ('a-0', 3, 5);
                 INSERT INTO merchants VALUES (2, 'm', 4, '{}');
                 INSERT INTO location_names VALUES ('l', 0, 2);
                 INSERT INTO carts VALUES (5, 'cart', 'p', 2, 10, '{\"c\":1}', 'ct');
                 INSERT INTO checkouts VALUES (6, 'chk', 'p', 3, 'completed', 'cart', 8, 11, '{\"k\":1}', 'kt');
                 INSERT INTO orders VALUES (7, 'ord', 'p', 4, 'chk', '{\"o\":1}', 'ot');
                 INSERT INTO mandates VALUES ('chk', 'm');
                 INSERT INTO kept VALUES (8, 'p', 'complete_checkout', 'chk', 'k', zeroblob(32), 'answer', 12);
                 INSERT INTO remote_carts VALUES ('r', '{}', 13);
                 INSERT INTO owners VALUES ('order', 'o', 'p', '2026-01-23', 14, 1);
                 INSERT INTO outbox (id, order_id, owner, order_version, occurred_at, state, attempts, next_at, since,
                     settled_at, problem, release, body, claimant, claimed_until, document)
                 VALUES ('e', 'ord', 'p', 4, 15, 'waiting', 2, 16, 17, NULL, 'it', '2026-01-23', x'7b7d', 'me', 18, '{}');",
            )
            .expect("rows");
        migrate(&mut connection, path).expect("the newest version");
        let text = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, String>(0)).expect("a text");
        for (table, columns, expected) in [
            ("shop", "identity, market, terms", "x|{\"name\":\"A\"}|{\"taxes\":1}"),
            ("cursor_key", "hex(key)", &*"00".repeat(32)),
            ("products", "seq, id, revision, document", "3|a|7|{\"id\":\"a\"}"),
            ("stock", "variant, product, quantity", "a-0|3|5"),
            ("merchants", "seq, id, revision, document", "2|m|4|{}"),
            ("location_names", "value, kind, merchant", "l|0|2"),
            ("carts", "seq, id, owner, version, expires_at, document, token", "5|cart|p|2|10|{\"c\":1}|ct"),
            (
                "checkouts",
                "seq, id, owner, version, status, cart_id, attempted_at, expires_at, document, token",
                "6|chk|p|3|completed|cart|8|11|{\"k\":1}|kt",
            ),
            ("orders", "seq, id, owner, version, checkout_id, document, token", "7|ord|p|4|chk|{\"o\":1}|ot"),
            ("mandates", "checkout_id, mandate", "chk|m"),
            (
                "kept",
                "seq, owner, operation, resource, key, length(identity), answer, at",
                "8|p|complete_checkout|chk|k|32|answer|12",
            ),
            (
                "tasks WHERE kind = 'abandon'",
                "kind, key, lane, due, body, since",
                "abandon|r|abandon|600000000013|{}|600000000013",
            ),
            ("tasks WHERE kind = 'tell'", "kind, key, lane, due, body, since", "tell|ord|tell:p|16||17"),
            ("owners", "kind, id, owner, release, at, mandates", "order|o|p|2026-01-23|14|1"),
            (
                "outbox",
                "seq, id, order_id, owner, order_version, occurred_at, state, attempts, since, settled_at, \
                 problem, release, hex(body), document",
                "1|e|ord|p|4|15|waiting|2|17|it|2026-01-23|7B7D|{}",
            ),
        ] {
            let row = text(&format!("SELECT concat_ws('|', shop, {columns}) FROM {table}"));
            assert_eq!(row, format!("default|{expected}"), "{table}");
        }
        let identifiers =
            "SELECT group_concat(concat_ws('|', shop, value, kind, product, position), ' ') FROM identifiers";
        assert_eq!(text(identifiers), "default|a|0|3|-1 default|a-0|1|3|0");
        let dangling = "SELECT count(*) FROM pragma_foreign_key_check";
        assert_eq!(connection.query_row(dangling, (), |row| row.get::<_, i64>(0)).expect("a count"), 0);
        connection
            .execute("INSERT INTO products (shop, id, revision, document) VALUES ('b', 'a', 1, '{}')", ())
            .expect("free");
        assert_eq!(connection.last_insert_rowid(), 10, "a position is never used again");
    }

    #[test]
    fn every_key_begins_with_the_shop() {
        let mut connection = Connection::open_in_memory().expect("database");
        migrate(&mut connection, Path::new("test.db")).expect("the newest version");
        let keys = "SELECT m.name || ' ' || i.name, (SELECT name FROM pragma_index_info(i.name) WHERE seqno = 0) \
             FROM sqlite_schema AS m, pragma_index_list(m.name) AS i WHERE m.type = 'table' AND i.\"unique\" = 1";
        let mut statement = connection.prepare(keys).expect("a statement");
        let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
        let keys: Vec<_> = rows.expect("rows").collect::<Result<_, _>>().expect("texts");
        assert!(keys.len() >= 18, "{keys:?}");
        for (key, first) in keys {
            assert_eq!(first, "shop", "{key}");
        }
    }

    #[test]
    fn what_orders_have_taken_is_known_of_an_older_database() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..15]).expect("the version before");
        connection
            .execute_batch(
                "INSERT INTO products (seq, shop, id, revision, document) VALUES (1, 'default', 'a', 1, '{}');
                 INSERT INTO stock (shop, variant, product, quantity) VALUES ('default', 'a-0', 1, 5);
                 INSERT INTO checkouts (shop, id, owner, token, version, status, attempted_at, expires_at, document) VALUES
                     ('default', 'held', 'o', 't', 1, 'complete_in_progress', 7, 9,
                      '{\"line_items\": [{\"item\": {\"id\": \"a-0\"}, \"quantity\": 2}, {\"item\": {\"id\": \"b\"}, \"quantity\": 1}]}'),
                     ('default', 'open', 'o', 'u', 1, 'incomplete', NULL, 9,
                      '{\"line_items\": [{\"item\": {\"id\": \"a-0\"}, \"quantity\": 4}]}'),
                     ('default', 'damaged', 'o', 'v', 1, 'complete_in_progress', 7, 9, 'no JSON');
                 INSERT INTO orders (shop, id, owner, token, version, checkout_id, document) VALUES
                     ('default', 'new', 'o', 't', 1, 'sold',
                      json_object('placed_at', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day'), 'line_items',
                                  json('[{\"item\": {\"id\": \"a-0\"}, \"total\": 3}]'))),
                     ('default', 'old', 'o', 'u', 1, 'long ago',
                      '{\"placed_at\": \"2020-01-01T00:00:00Z\", \"line_items\": [{\"item\": {\"id\": \"a-0\"}, \"total\": 9}]}');",
            )
            .expect("rows");
        migrate(&mut connection, path).expect("the newest version");
        let taken = "SELECT group_concat(variant || ' ' || checkout || ' ' || quantity || ' ' || (at = 9223372036854775807), ', ') \
                     FROM (SELECT * FROM takings ORDER BY checkout)";
        let taken: String = connection.query_row(taken, (), |row| row.get(0)).expect("takings");
        assert_eq!(taken, "a-0 held 2 1, a-0 sold 3 0");
    }

    #[test]
    fn what_was_to_be_done_is_on_the_agenda_of_an_older_database() {
        let mut connection = Connection::open_in_memory().expect("database");
        let path = Path::new("test.db");
        migrate_with(&mut connection, path, &MIGRATIONS[..17]).expect("the version before");
        connection
            .execute_batch(
                r#"INSERT INTO checkouts (shop, id, owner, token, version, status, cart_id, attempted_at, expires_at, document) VALUES
                     ('s', 'paid', 'o', '1', 1, 'complete_in_progress', 'c1', 7, 9,
                      '{"attempt": {"id": "pay_1", "handler_id": "stripe"}}'),
                     ('s', 'placed', 'p', '2', 1, 'complete_in_progress', NULL, 8, 9,
                      '{"attempt": {"id": "pay_2", "handler_id": "x", "at_shop": true}}'),
                     ('s', 'damaged', 'o', '3', 1, 'complete_in_progress', NULL, 7, 9, 'no JSON'),
                     ('s', 'first', 'o', '4', 1, 'incomplete', 'c2', NULL, 9, '{}'),
                     ('s', 'second', 'o', '5', 1, 'incomplete', 'c2', NULL, 9, '{}'),
                     ('s', 'over', 'o', '6', 1, 'canceled', 'c2', NULL, 9, '{}'),
                     ('t', 'other', 'o', '4', 1, 'incomplete', 'c2', NULL, 9, '{}');
                   INSERT INTO orders (shop, id, owner, token, version, checkout_id, document) VALUES
                     ('s', 'ord_1', 'o', '1', 1, 'k1',
                      '{"payment": {"handler_id": "stripe", "attempt_id": "pay_3", "hold": {"status": "releasing"}}}'),
                     ('s', 'ord_2', 'o', '2', 1, 'k2', '{"payment": {"handler_id": "stripe", "hold": {"status": "captured"}}}');
                   INSERT INTO remote_carts VALUES ('s', 'r', '{"reference": "r"}', 5);"#,
            )
            .expect("rows");
        migrate(&mut connection, path).expect("the newest version");
        let text = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, String>(0)).expect("a text");
        assert_eq!(
            text(
                "SELECT group_concat(concat_ws('|', shop, kind, key, lane, name, body), ' ') FROM \
                 (SELECT * FROM tasks ORDER BY kind, key)"
            ),
            "s|abandon|r|abandon|{\"reference\": \"r\"} s|move_money|ord_1|move_money:stripe|pay_3|o \
             s|settle|damaged|settle:|o s|settle|paid|settle:stripe|pay_1|o s|settle|placed|settle:shop|pay_2|p"
        );
        assert_eq!(
            text(
                "SELECT group_concat(shop || ' ' || id || ' ' || open_cart, ', ') FROM checkouts WHERE open_cart IS NOT NULL"
            ),
            "s paid c1, s second c2, t other c2"
        );
    }

    #[test]
    fn mandates_go_with_what_came_to_nothing() {
        let mut connection = Connection::open_in_memory().expect("database");
        migrate(&mut connection, Path::new("test.db")).expect("the newest version");
        for (id, status) in [("sold", "completed"), ("left", "canceled")] {
            let row = (id, status);
            connection
                .execute(
                    "INSERT INTO checkouts (shop, id, owner, token, version, status, expires_at, document) \
                     VALUES ('default', ?1, 'o', ?1, 1, ?2, 0, '{}')",
                    row,
                )
                .expect("a checkout");
            connection
                .execute("INSERT INTO mandates (shop, checkout_id, mandate) VALUES ('default', ?, 'm')", (id,))
                .expect("a mandate");
        }
        connection.execute("DELETE FROM checkouts", ()).expect("pruned");
        let left = "SELECT group_concat(checkout_id) FROM mandates";
        assert_eq!(connection.query_row(left, (), |row| row.get::<_, String>(0)).expect("one"), "sold");
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
