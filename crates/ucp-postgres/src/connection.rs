//! Connections, and the values that statements take.

use deadpool_postgres::Object;
use jiff::Timestamp;
use tokio_postgres::{
    Error, Row,
    types::{ToSql, Type},
};
use uuid::Uuid;

use crate::text;

/// A value of a statement.
#[derive(Clone)]
pub(crate) enum Param {
    /// A text.
    Text(String),
    /// A text, or nothing.
    OptionalText(Option<String>),
    /// A number or time.
    Number(i64),
    /// A number or time, or nothing.
    OptionalNumber(Option<i64>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Bytes, or nothing.
    OptionalBytes(Option<Vec<u8>>),
    /// A UUID.
    Uuid(Uuid),
    /// A yes or a no.
    Flag(bool),
    /// Several texts.
    Texts(Vec<String>),
    /// Several numbers.
    Numbers(Vec<i64>),
}
// Values are documents and identifiers of others, and are not printed.
ucp_core::opaque!(Param);

impl Param {
    /// A text that has no NUL.
    pub(crate) fn plain(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A time.
    pub(crate) fn at(time: Timestamp) -> Self {
        Self::Number(text::nanoseconds(time))
    }

    /// A number of things.
    pub(crate) fn count(number: usize) -> Self {
        Self::Number(text::signed(number))
    }

    /// A text in a key.
    pub(crate) fn key(text: &str) -> Self {
        Self::Text(text::key(text).into_owned())
    }

    /// A text that is read again.
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text::escaped(text).into_owned())
    }

    fn as_sql(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Text(value) => (value, Type::TEXT),
            Self::OptionalText(value) => (value, Type::TEXT),
            Self::Number(value) => (value, Type::INT8),
            Self::OptionalNumber(value) => (value, Type::INT8),
            Self::Bytes(value) => (value, Type::BYTEA),
            Self::OptionalBytes(value) => (value, Type::BYTEA),
            Self::Uuid(value) => (value, Type::UUID),
            Self::Flag(value) => (value, Type::BOOL),
            Self::Texts(value) => (value, Type::TEXT_ARRAY),
            Self::Numbers(value) => (value, Type::INT8_ARRAY),
        }
    }
}

/// A connection to the database. Each of its calls is one round trip.
pub(crate) struct Connection {
    pub(crate) object: Object,
    /// `true` if statements are prepared on the server.
    pub(crate) named: bool,
}

impl Connection {
    /// Runs a statement and returns its rows.
    pub(crate) async fn rows(&self, sql: &str, values: &[Param]) -> Result<Vec<Row>, Error> {
        let typed: Vec<_> = values.iter().map(Param::as_sql).collect();
        if !self.named {
            return self.object.query_typed(sql, &typed).await;
        }
        let (values, types): (Vec<_>, Vec<_>) = typed.into_iter().unzip();
        let statement = self.object.prepare_typed_cached(sql, &types).await?;
        self.object.query(&statement, &values).await
    }

    /// Runs a statement and returns its row, if there is one.
    pub(crate) async fn row(&self, sql: &str, values: &[Param]) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub(crate) async fn execute(&self, sql: &str, values: &[Param]) -> Result<u64, Error> {
        let typed: Vec<_> = values.iter().map(Param::as_sql).collect();
        if !self.named {
            return self.object.execute_typed(sql, &typed).await;
        }
        let (values, types): (Vec<_>, Vec<_>) = typed.into_iter().unzip();
        let statement = self.object.prepare_typed_cached(sql, &types).await?;
        self.object.execute(&statement, &values).await
    }
}
