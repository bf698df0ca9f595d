//! Rows of a [`PostgresStore`], to be moved to or from another store.

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::{Error, Row as Stored};
use ucp_core::ports::transfer::{Cell, CopyMark, Kind, Position, Row, Table, Transfer, TransferError};
use uuid::Uuid;

use crate::{
    connection::Param,
    failure::Failure,
    store::PostgresStore,
    text::{escaped, key, nanoseconds, plain},
};

/// Maximum number of rows in one statement.
const TOGETHER: usize = 100;

/// Returns a value as it is stored in a column.
fn value(kind: Kind, cell: Cell) -> Param {
    let text = |cell| match cell {
        Cell::Text(text) => Some(text),
        Cell::Nothing | Cell::Number(_) | Cell::Bytes(_) => None,
    };
    match (kind, cell) {
        (Kind::Key, cell) => Param::OptionalText(text(cell).map(|text| key(&text).into_owned())),
        (Kind::Text, cell) => Param::OptionalText(text(cell).map(|text| escaped(&text).into_owned())),
        (Kind::Own, cell) => Param::OptionalText(text(cell)),
        (Kind::Verbatim, cell) => Param::OptionalBytes(text(cell).map(String::into_bytes)),
        (Kind::Number, Cell::Number(number)) => Param::OptionalNumber(Some(number)),
        (Kind::Number, _) => Param::OptionalNumber(None),
        (Kind::Flag, cell) => Param::Flag(matches!(cell, Cell::Number(number) if number != 0)),
        (Kind::Bytes, Cell::Bytes(bytes)) => Param::OptionalBytes(Some(bytes)),
        (Kind::Bytes, _) => Param::OptionalBytes(None),
    }
}

/// Returns the value that is stored in a column.
fn cell(kind: Kind, row: &Stored, at: usize) -> Result<Cell, Error> {
    let text = |text: Option<String>| text.map_or(Cell::Nothing, |text| Cell::Text(plain(text)));
    Ok(match kind {
        Kind::Key | Kind::Text => text(row.try_get(at)?),
        Kind::Own => row.try_get::<_, Option<String>>(at)?.map_or(Cell::Nothing, Cell::Text),
        Kind::Verbatim => {
            let bytes: Option<Vec<u8>> = row.try_get(at)?;
            bytes.map_or(Cell::Nothing, |bytes| Cell::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Kind::Number => row.try_get::<_, Option<i64>>(at)?.map_or(Cell::Nothing, Cell::Number),
        Kind::Flag => Cell::Number(i64::from(row.try_get::<_, bool>(at)?)),
        Kind::Bytes => row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Cell::Nothing, Cell::Bytes),
    })
}

/// Returns the kinds of the columns that say where a row is.
fn places(table: &Table) -> Vec<(&'static str, Kind)> {
    if table.ordered { vec![("made", Kind::Bytes), ("id", Kind::Own)] } else { table.columns[..table.key].to_vec() }
}

#[async_trait]
impl Transfer for PostgresStore {
    async fn page(
        &self,
        table: &'static Table,
        after: Option<Position>,
        limit: usize,
    ) -> Result<Vec<(Position, Row)>, TransferError> {
        let places = places(table);
        let names: Vec<_> = places.iter().map(|(name, _)| *name).collect();
        let order = names.join(", ");
        let mut values = vec![self.key()];
        let condition = after.map(|after| {
            let first = values.len() + 1;
            let bound: Vec<_> = (first..first + after.len()).map(|at| format!("${at}")).collect();
            for ((name, kind), cell) in places.iter().zip(after) {
                values.push(match (*name, cell) {
                    ("made", Cell::Bytes(bytes)) => Param::Uuid(Uuid::from_slice(&bytes).unwrap_or_default()),
                    // As it is stored, and so as it is ordered.
                    (_, Cell::Text(text)) => Param::Text(text),
                    (_, other) => value(*kind, other),
                });
            }
            format!("AND ({order}) > ({})", bound.join(", "))
        });
        let columns: Vec<_> = table.columns.iter().map(|(name, _)| *name).collect();
        let sql = format!(
            "SELECT {order}, {} FROM {} WHERE shop = $1 {} ORDER BY {order} LIMIT {limit}",
            columns.join(", "),
            table.name,
            condition.unwrap_or_default()
        );
        let rows = self.work(async |connection, _| connection.rows(&sql, &values).await).await?;
        let read = |row: &Stored| -> Result<(Position, Row), Error> {
            let place = places.iter().enumerate().map(|(at, place)| match place {
                ("made", _) => Ok(Cell::Bytes(row.try_get::<_, Uuid>(at)?.into_bytes().to_vec())),
                (_, Kind::Number) => cell(Kind::Number, row, at),
                _ => cell(Kind::Own, row, at),
            });
            let place = place.collect::<Result<_, Error>>()?;
            let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| cell(*kind, row, places.len() + at));
            Ok((place, cells.collect::<Result<_, Error>>()?))
        };
        Ok(rows.iter().map(read).collect::<Result<_, Error>>().map_err(Failure::from)?)
    }

    async fn put(&self, table: &'static Table, rows: Vec<Row>) -> Result<(), TransferError> {
        let mut names: Vec<_> = table.columns.iter().map(|(name, _)| *name).collect();
        let sets: Vec<_> = names[table.key..].iter().map(|name| format!("{name} = excluded.{name}")).collect();
        let key = names[..table.key].join(", ");
        names.extend(table.ordered.then_some("made"));
        names.extend((table.name == "orders").then_some("placed_at"));
        let at = |name: &str| table.columns.iter().position(|(column, _)| *column == name);
        let document = at("document");
        for batch in rows.chunks(TOGETHER) {
            let (mut values, mut lines) = (vec![self.key()], Vec::new());
            for row in batch {
                let first = values.len() + 1;
                for ((_, kind), cell) in table.columns.iter().zip(row) {
                    values.push(value(*kind, cell.clone()));
                }
                if table.ordered {
                    values.push(Param::Uuid(Uuid::now_v7()));
                }
                if table.name == "orders" {
                    values.push(Param::Number(placed_at(document.and_then(|at| row.get(at)))));
                }
                let bound: Vec<_> = (first..=values.len()).map(|at| format!("${at}")).collect();
                lines.push(format!("($1, {})", bound.join(", ")));
            }
            let sql = format!(
                "INSERT INTO {} (shop, {}) VALUES {} ON CONFLICT (shop, {key}) DO UPDATE SET {}",
                table.name,
                names.join(", "),
                lines.join(", "),
                sets.join(", ")
            );
            self.work(async |connection, _| connection.execute(&sql, &values).await).await?;
        }
        Ok(())
    }

    async fn remove(&self, table: &'static Table, keys: Vec<Row>) -> Result<(), TransferError> {
        let columns = &table.columns[..table.key];
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        for batch in keys.chunks(TOGETHER) {
            let (mut values, mut lines) = (vec![self.key()], Vec::new());
            for row in batch {
                let first = values.len() + 1;
                values.extend(columns.iter().zip(row).map(|((_, kind), cell)| value(*kind, cell.clone())));
                let bound: Vec<_> = (first..=values.len()).map(|at| format!("${at}")).collect();
                lines.push(format!("({})", bound.join(", ")));
            }
            let (name, names, lines) = (table.name, names.join(", "), lines.join(", "));
            let sql = format!("DELETE FROM {name} WHERE shop = $1 AND ({names}) IN ({lines})");
            self.work(async |connection, _| connection.execute(&sql, &values).await).await?;
        }
        Ok(())
    }

    async fn copy_mark(&self) -> Result<Option<CopyMark>, TransferError> {
        Ok(self.copied().await?)
    }

    async fn mark_copy(&self, mark: CopyMark) -> Result<(), TransferError> {
        let values = [self.key(), Param::Text(mark.origin), Param::Flag(mark.is_finished)];
        let sql = "INSERT INTO copies (shop, origin, finished) VALUES ($1, $2, $3) \
                   ON CONFLICT (shop) DO UPDATE SET origin = excluded.origin, finished = excluded.finished";
        self.work(async |connection, _| connection.execute(sql, &values).await).await?;
        Ok(())
    }

    async fn secret(&self) -> Result<Vec<u8>, TransferError> {
        Ok(self.cursor_secret().reveal().to_vec())
    }

    async fn set_secret(&self, secret: Vec<u8>) -> Result<(), TransferError> {
        let values = [self.key(), Param::Bytes(secret)];
        let sql = "UPDATE shops SET cursor_key = $2 WHERE shop = $1";
        self.work(async |connection, _| connection.execute(sql, &values).await).await?;
        Ok(())
    }
}

/// Returns the time at which an order was placed, in nanoseconds since 1970.
fn placed_at(document: Option<&Cell>) -> i64 {
    let Some(Cell::Text(document)) = document else { return 0 };
    let order: serde_json::Value = document.parse().unwrap_or_default();
    let placed = order["placed_at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    placed.map_or(0, nanoseconds)
}
