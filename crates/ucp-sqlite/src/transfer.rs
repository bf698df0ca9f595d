//! Rows of a [`SqliteStore`], to be moved to or from another store.

use async_trait::async_trait;
use rusqlite::{params_from_iter, types::Value};
use ucp_core::ports::transfer::{Cell, Position, Row, Table, Transfer, TransferError};

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
