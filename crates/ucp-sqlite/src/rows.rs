//! Rows as the ports read them.

use rusqlite::types::Type;
use ucp_core::ports::rows::{FromRow, Row};
pub(crate) use ucp_core::ports::rows::{nanoseconds, signed, timestamp};

struct Columns<'a>(&'a rusqlite::Row<'a>);

impl Row for Columns<'_> {
    type Error = rusqlite::Error;

    fn text(&self, column: usize) -> rusqlite::Result<Option<String>> {
        self.0.get(column)
    }

    fn number(&self, column: usize) -> rusqlite::Result<Option<i64>> {
        self.0.get(column)
    }

    fn bytes(&self, column: usize) -> rusqlite::Result<Option<Vec<u8>>> {
        self.0.get(column)
    }

    fn flag(&self, column: usize) -> rusqlite::Result<bool> {
        self.0.get(column)
    }

    fn unreadable(&self, column: usize, value: String) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, value.into())
    }
}

/// Reads a row.
pub(crate) fn read<T: FromRow>(row: &rusqlite::Row<'_>) -> rusqlite::Result<T> {
    T::read(&Columns(row))
}
