//! Rows as the ports read them.

use tokio_postgres::Row as Found;
use ucp_core::ports::{
    PortError,
    rows::{FromRow, Row},
};

use crate::{connection::Param, failure::Failure, store::PostgresStore, text::plain};

struct Columns<'a>(&'a Found);

impl Row for Columns<'_> {
    type Error = Failure;

    fn text(&self, column: usize) -> Result<Option<String>, Failure> {
        Ok(self.0.try_get::<_, Option<String>>(column)?.map(plain))
    }

    fn number(&self, column: usize) -> Result<Option<i64>, Failure> {
        Ok(self.0.try_get(column)?)
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.0.try_get(column)?)
    }

    fn flag(&self, column: usize) -> Result<bool, Failure> {
        Ok(self.0.try_get(column)?)
    }

    fn unreadable(&self, _: usize, value: String) -> Failure {
        Failure::Unreadable(value)
    }
}

/// Reads a row.
pub(crate) fn read<T: FromRow>(row: &Found) -> Result<T, Failure> {
    T::read(&Columns(row))
}

impl PostgresStore {
    /// Reads what a query finds.
    pub(crate) async fn list<T: FromRow>(&self, sql: &str, values: &[Param]) -> Result<Vec<T>, PortError> {
        Ok(self.rows(sql, values).await?.iter().map(read).collect::<Result<_, _>>()?)
    }
}
