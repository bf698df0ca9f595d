//! Rows of a [`SqliteStore`], to be moved to or from another store.

use async_trait::async_trait;
use rusqlite::{OptionalExtension as _, params_from_iter, types::Value};
use ucp_core::ports::transfer::{Cell, CopyMark, Position, Row, Table, Transfer, TransferError};

use crate::store::SqliteStore;

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Nothing => Value::Null,
        Cell::Number(number) => Value::Integer(*number),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Bytes(bytes) => Value::Blob(bytes.clone()),
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Nothing,
        Value::Integer(number) => Cell::Number(number),
        // No table has such.
        Value::Real(number) => Cell::Text(number.to_string()),
        Value::Text(text) => Cell::Text(text),
        Value::Blob(bytes) => Cell::Bytes(bytes),
    }
}

fn names(table: &Table) -> Vec<&'static str> {
    table.columns.iter().map(|(name, _)| *name).collect()
}

impl SqliteStore {
    /// Returns the copy that the shop was made by; `None` if there was none. Fails with the error of SQLite.
    pub fn copied(&self) -> rusqlite::Result<Option<CopyMark>> {
        let sql = "SELECT origin, finished FROM copies WHERE shop = ?";
        let read = |row: &rusqlite::Row<'_>| Ok(CopyMark { origin: row.get(0)?, is_finished: row.get(1)? });
        self.snapshot(|db| db.query_row(sql, [db.shop()], read).optional())
    }
}

#[async_trait]
impl Transfer for SqliteStore {
    async fn page(
        &self,
        table: &'static Table,
        after: Option<Position>,
        limit: usize,
    ) -> Result<Vec<(Position, Row)>, TransferError> {
        let names = names(table);
        let position: Vec<_> = if table.ordered { vec!["seq"] } else { names[..table.key].to_vec() };
        let (places, columns) = (position.join(", "), names.join(", "));
        let condition = match &after {
            Some(after) => format!("AND ({places}) > ({})", vec!["?"; after.len()].join(", ")),
            None => String::new(),
        };
        let name = table.name;
        let sql = format!(
            "SELECT {places}, {columns} FROM {name} WHERE shop = ? {condition} ORDER BY {places} LIMIT {limit}"
        );
        let rows = self.snapshot(|db| {
            let values = std::iter::once(Value::Text(db.shop().to_owned()));
            let values = values.chain(after.iter().flatten().map(value));
            let mut statement = db.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                let cell = |at| row.get(at).map(cell);
                let place = (0..position.len()).map(cell).collect::<Result<_, _>>()?;
                let cells = (position.len()..position.len() + names.len()).map(cell).collect::<Result<_, _>>()?;
                Ok((place, cells))
            });
            rows?.collect()
        });
        Ok(rows?)
    }

    async fn put(&self, table: &'static Table, rows: Vec<Row>) -> Result<(), TransferError> {
        let names = names(table);
        let (key, rest) = names.split_at(table.key);
        let sets: Vec<_> = rest.iter().map(|name| format!("{name} = excluded.{name}")).collect();
        let sql = format!(
            "INSERT INTO {} (shop, {}) VALUES (?{}) ON CONFLICT (shop, {}) DO UPDATE SET {}",
            table.name,
            names.join(", "),
            ", ?".repeat(names.len()),
            key.join(", "),
            sets.join(", ")
        );
        let put = self.execute(move |db| {
            let mut statement = db.prepare_cached(&sql)?;
            for row in &rows {
                let values = std::iter::once(Value::Text(db.shop().to_owned())).chain(row.iter().map(value));
                statement.execute(params_from_iter(values))?;
            }
            Ok(())
        });
        Ok(put.await?)
    }

    async fn remove(&self, table: &'static Table, keys: Vec<Row>) -> Result<(), TransferError> {
        let names = names(table);
        let key = &names[..table.key];
        let sql =
            format!("DELETE FROM {} WHERE (shop, {}) = (?{})", table.name, key.join(", "), ", ?".repeat(key.len()));
        let removed = self.execute(move |db| {
            let mut statement = db.prepare_cached(&sql)?;
            for key in &keys {
                let values = std::iter::once(Value::Text(db.shop().to_owned())).chain(key.iter().map(value));
                statement.execute(params_from_iter(values))?;
            }
            Ok(())
        });
        Ok(removed.await?)
    }

    async fn copy_mark(&self) -> Result<Option<CopyMark>, TransferError> {
        Ok(self.copied()?)
    }

    async fn mark_copy(&self, mark: CopyMark) -> Result<(), TransferError> {
        let sql = "INSERT INTO copies (shop, origin, finished) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (shop) DO UPDATE SET origin = ?2, finished = ?3";
        let marked = self.execute(move |db| {
            db.execute(sql, (db.shop(), &mark.origin, mark.is_finished))?;
            Ok(())
        });
        Ok(marked.await?)
    }

    async fn secret(&self) -> Result<Vec<u8>, TransferError> {
        Ok(self.cursor_secret().reveal().to_vec())
    }

    async fn set_secret(&self, secret: Vec<u8>) -> Result<(), TransferError> {
        let set = self.execute(move |db| {
            db.execute("UPDATE cursor_key SET key = ? WHERE shop = ?", (&secret, db.shop()))?;
            Ok(())
        });
        Ok(set.await?)
    }
}
