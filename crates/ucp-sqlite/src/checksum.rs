//! Checksums of rows: a bit that flips on a disk is noticed, because SQLite itself checks the structure of its pages only.
//!
//! The column `sum` of each table holds a checksum of the others. Temporary triggers of each connection that writes compute it,
//! so that no statement has to. A row that another program or an earlier version writes loses its own, and is taken as it is.
//! Documents and recorded answers are compared whenever they are read, everything by `faults`.

use rusqlite::{Connection, functions::FunctionFlags, types::ValueRef};

/// Value of `sum` in rows without a checksum. As long as one and unlike each of them in many bits.
pub(crate) const NONE: i64 = 0x2aaa << 32;

/// First bits of each checksum.
const MARK: i64 = 0x5555 << 32;

/// Schema version that brought checksums.
pub(crate) const SINCE: i64 = 19;

/// A table: its name, the columns of its key, the other columns, and what faults name its rows by.
struct Table(&'static str, &'static str, &'static str, &'static str);

const TABLES: [Table; 23] = [
    Table("shop", "shop", "identity, market, terms", "shop"),
    Table("cursor_key", "shop", "key", "shop"),
    Table("products", "seq", "shop, id, revision, document", "id"),
    Table("identifiers", "shop, value, kind, product, position", "", "value"),
    Table("stock", "shop, variant", "product, quantity, owed, stated, stated_at", "variant"),
    Table("merchants", "seq", "shop, id, revision, document", "id"),
    Table("location_names", "shop, value, kind, merchant", "", "value"),
    Table("carts", "seq", "shop, id, owner, version, expires_at, document, token, holder, held", "id"),
    Table(
        "checkouts",
        "seq",
        "shop, id, owner, version, status, cart_id, attempted_at, expires_at, document, token, holder, held, open_cart",
        "id",
    ),
    Table("mandates", "shop, checkout_id", "mandate", "checkout_id"),
    Table("orders", "seq", "shop, id, owner, version, checkout_id, document, token, anonymous, buyer", "id"),
    Table("kept", "seq", "shop, owner, operation, resource, key, identity, answer, at, holder, held", "key"),
    Table(
        "outbox",
        "seq",
        "shop, id, order_id, owner, order_version, occurred_at, state, attempts, since, settled_at, problem, release, \
         body, document, untold",
        "id",
    ),
    Table("owners", "shop, kind, id", "owner, release, at, mandates", "id"),
    Table("told", "shop", "checkouts_until", "shop"),
    Table("synchronised", "shop", "state", "shop"),
    Table("synchronised_products", "shop, product", "run", "product"),
    Table("changed_products", "seq", "shop, id", "id"),
    Table("takings", "shop, variant, checkout, at", "quantity", "checkout"),
    Table("asked_products", "shop, id", "question", "id"),
    Table("synonyms", "shop", "text", "shop"),
    Table(
        "tasks",
        "shop, kind, key",
        "lane, name, due, body, since, tries, given_up, problem, woken, claimant, claimed_at, claimed_until",
        "key",
    ),
    Table("commits", "only", "identity, number", "number"),
];

impl Table {
    /// Returns all columns with a prefix.
    fn columns(&self, prefix: &str) -> String {
        let Self(_, key, others, _) = self;
        [*key, *others]
            .iter()
            .filter(|part| !part.is_empty())
            .map(|part| prefixed(part, prefix))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns a condition on rows: their columns are those that the checksum was computed of, or they have none.
    fn intact(&self) -> String {
        let Self(name, ..) = self;
        format!("{name}.sum IN ({NONE}, row_sum({}))", self.columns(&format!("{name}.")))
    }
}

/// Returns a list of columns, each with a prefix.
fn prefixed(columns: &str, prefix: &str) -> String {
    columns.split(", ").map(|column| format!("{prefix}{column}")).collect::<Vec<_>>().join(", ")
}

/// Returns an SQL expression over a table that is 1 for a row that is as it was written.
///
/// # Panics
/// If there is no such table.
pub fn intact(table: &str) -> String {
    TABLES.iter().find(|known| known.0 == table).expect("a table with checksums").intact()
}

/// Gives a connection the SQL function `row_sum`, which [`intact`] and [`guard`] need.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("row_sum", -1, flags, |columns| {
        Ok(sum((0..columns.len()).map(|number| columns.get_raw(number))))
    })
}

/// Lets a connection write checksums with everything that it writes.
pub(crate) fn guard(connection: &Connection) -> rusqlite::Result<()> {
    for table in &TABLES {
        let Table(name, key, ..) = table;
        let columns = table.columns("");
        // Counts are changed without being read: a wrong one would become right.
        if *name == "stock" {
            let old = table.columns("OLD.");
            connection.execute_batch(&format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS {name}_damaged BEFORE UPDATE OF {columns} ON main.{name} \
                 WHEN OLD.sum NOT IN ({NONE}, row_sum({old})) BEGIN SELECT RAISE(ABORT, 'the row is damaged'); END;"
            ))?;
        }
        let new = prefixed(key, "NEW.");
        let update = format!("UPDATE {name} SET sum = row_sum({columns}) WHERE ({key}) = ({new});");
        connection.execute_batch(&format!(
            "CREATE TEMP TRIGGER IF NOT EXISTS {name}_inserted AFTER INSERT ON main.{name} BEGIN {update} END; \
             CREATE TEMP TRIGGER IF NOT EXISTS {name}_updated AFTER UPDATE OF {columns} ON main.{name} BEGIN {update} END;"
        ))?;
    }
    Ok(())
}

/// Begins the checksums of tables that have none yet: computes those of all rows whose document, if it is JSON, can be read, and has
/// writers that know nothing of checksums remove those of the rows that they change.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    let exists = |kind: &str, name: &str| {
        let sql = "SELECT count(*) > 0 FROM sqlite_schema WHERE type = ? AND name = ?";
        connection.query_row(sql, (kind, name), |row| row.get::<_, bool>(0))
    };
    for table in &TABLES {
        if !exists("table", table.0)? || exists("trigger", &format!("{}_changed", table.0))? {
            continue;
        }
        let Table(name, key, ..) = table;
        let columns = table.columns("");
        let readable = if columns.contains("document") { "WHERE json_valid(ifnull(document, '{}'))" } else { "" };
        let (old, new) = (table.columns("OLD."), table.columns("NEW."));
        connection.execute_batch(&format!(
            "UPDATE {name} SET sum = row_sum({columns}) {readable}; \
             CREATE TRIGGER {name}_changed AFTER UPDATE OF {columns} ON {name} \
             WHEN NEW.sum = OLD.sum AND ({new}) IS NOT ({old}) \
             BEGIN UPDATE {name} SET sum = {NONE} WHERE ({key}) = ({}) AND sum = OLD.sum; END;",
            prefixed(key, "NEW.")
        ))?;
    }
    Ok(())
}

/// Returns rows that are not as they were written, at most `limit` of each table.
pub(crate) fn faults(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<String>> {
    let mut faults = Vec::new();
    for table in &TABLES {
        let Table(name, _, _, label) = table;
        let sql = format!("SELECT CAST({label} AS TEXT) FROM {name} WHERE NOT ({})", table.intact());
        let mut damaged = connection.prepare(&sql)?;
        // The name may be what is damaged.
        let labels =
            damaged.query_map((), |row| Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned()))?;
        for label in labels.take(limit) {
            faults.push(format!("`{name}`: the row `{}` is not as it was written", label?.escape_debug()));
        }
    }
    Ok(faults)
}

/// Returns the checksum of the values of a row. A change of up to eight neighboring bytes changes the state from there on,
/// because each step can be undone.
pub(crate) fn sum<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> i64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = ODD;
    let mut mix = |word: u64| state = (state ^ word).wrapping_mul(ODD).rotate_left(32).wrapping_add(ODD);
    for value in values {
        let (kind, number, bytes): (u64, i64, &[u8]) = match value {
            ValueRef::Null => (0, 0, &[]),
            ValueRef::Integer(number) => (1, number, &[]),
            ValueRef::Real(number) => (2, number.to_bits().cast_signed(), &[]),
            ValueRef::Text(bytes) => (3, i64::try_from(bytes.len()).unwrap_or(i64::MAX), bytes),
            ValueRef::Blob(bytes) => (4, i64::try_from(bytes.len()).unwrap_or(i64::MAX), bytes),
        };
        mix(kind);
        mix(number.cast_unsigned());
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
        mix(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    MARK | ((state ^ (state >> 32)) & 0xffff_ffff).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SqliteStore, store::connect};

    #[test]
    fn each_column_of_each_table_is_in_its_checksum() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = SqliteStore::open_or_create(directory.path()).expect("creates");
        let connection = connect(store.path()).expect("opens");
        let texts = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(sql).expect("a statement");
            let rows = statement.query_map((), |row| row.get(0)).expect("rows");
            rows.collect::<Result<_, _>>().expect("texts")
        };
        // What groups of callers hold is added up from other tables, and a copy is compared as a whole.
        let mut tables = texts(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
             AND name NOT IN ('holdings', 'copies')",
        );
        let mut known: Vec<_> = TABLES.iter().map(|table| table.0.to_owned()).collect();
        tables.sort();
        known.sort();
        assert_eq!(known, tables);
        for table in &TABLES {
            let columns = |condition: &str| {
                texts(&format!("SELECT name FROM pragma_table_info('{}') WHERE {condition}", table.0))
            };
            let mut listed: Vec<_> = table.columns("").split(", ").map(str::to_owned).collect();
            let mut all = columns("name <> 'sum'");
            listed.sort();
            all.sort();
            assert_eq!(listed, all, "{}", table.0);
            assert_eq!(table.1.split(", ").count(), columns("pk > 0").len(), "{}", table.0);
        }
    }

    #[test]
    fn values_that_differ_have_other_checksums() {
        let rows: [&[ValueRef<'_>]; 9] = [
            &[],
            &[ValueRef::Null],
            &[ValueRef::Integer(0)],
            &[ValueRef::Integer(1)],
            &[ValueRef::Text(b"")],
            &[ValueRef::Blob(b"")],
            &[ValueRef::Text(b"12345678a")],
            &[ValueRef::Text(b"12345678b")],
            &[ValueRef::Text(b"12345678"), ValueRef::Text(b"a")],
        ];
        let mut sums: Vec<_> = rows.map(|row| sum(row.iter().copied())).into();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), rows.len());
        assert!(sums.iter().all(|sum| *sum != NONE));
    }
}
