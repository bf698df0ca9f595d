//! Port for moving what a shop stores from one kind of store to another, row by row.

use std::error::Error;

use async_trait::async_trait;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// No value.
    Nothing,
    /// A number, a time in nanoseconds since 1970, or 1 for a yes.
    Number(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Kind of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier that may be part of a key.
    Key,
    /// Another text that comes from outside.
    Text,
    /// A text of the gateway's own, such as JSON.
    Own,
    /// A text that is kept byte by byte.
    Verbatim,
    /// A number or a time.
    Number,
    /// A yes or a no.
    Flag,
    /// Bytes.
    Bytes,
}

/// A table that every store has in some form.
#[derive(Debug)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// Columns, without the shop; those of the key come first.
    pub columns: &'static [(&'static str, Kind)],
    /// Number of the columns of the key.
    pub key: usize,
    /// `true` if the order in which rows were made matters.
    pub ordered: bool,
}

/// A row: a value for each column.
pub type Row = Vec<Cell>;

/// Place of a row among those of its table, as its store says it.
pub type Position = Vec<Cell>;

/// An error of a store.
pub type TransferError = Box<dyn Error + Send + Sync>;

macro_rules! tables {
    ($($name:ident, key of $key:literal, ordered $ordered:literal: $($column:ident: $kind:ident),+;)+) => {
        &[$(Table {
            name: stringify!($name),
            columns: &[$((stringify!($column), Kind::$kind)),+],
            key: $key,
            ordered: $ordered,
        }),+]
    };
}

/// All tables of sales. Claims and leases are not moved: no gateway runs meanwhile.
pub const TABLES: &[Table] = tables! {
    carts, key of 1, ordered true:
        id: Key, owner: Text, token: Key, version: Number, expires_at: Number, document: Own, holder: Key,
        held: Number;
    checkouts, key of 1, ordered true:
        id: Key, owner: Text, token: Key, version: Number, status: Own, cart_id: Key, open_cart: Key,
        attempted_at: Number, expires_at: Number, document: Own, holder: Key, held: Number;
    mandates, key of 1, ordered false:
        checkout_id: Key, mandate: Verbatim;
    orders, key of 1, ordered true:
        id: Key, owner: Text, token: Key, version: Number, checkout_id: Key, document: Own, anonymous: Flag,
        buyer: Key;
    kept, key of 4, ordered false:
        key: Key, resource: Key, operation: Own, owner: Key, identity: Bytes, answer: Verbatim, at: Number,
        holder: Key, held: Number;
    tasks, key of 2, ordered false:
        kind: Own, key: Text, lane: Text, name: Text, due: Number, body: Text, since: Number, tries: Number,
        given_up: Flag, problem: Text;
    takings, key of 3, ordered false:
        variant: Text, checkout: Key, at: Number, quantity: Number;
    outbox, key of 1, ordered true:
        id: Text, order_id: Text, owner: Text, order_version: Number, occurred_at: Number, state: Own,
        attempts: Number, since: Number, settled_at: Number, problem: Text, release: Own, body: Bytes, document: Own;
    owners, key of 2, ordered false:
        kind: Own, id: Key, owner: Text, release: Own, at: Number, mandates: Flag;
};

/// Copy of a shop into a store, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyMark {
    /// Place that the shop is copied from, for people.
    pub origin: String,
    /// `true` once both sides held the same rows. Until then, no gateway serves the shop from the store.
    pub is_finished: bool,
}

/// A store whose rows can be moved. All methods fail with the error of the store.
#[async_trait]
pub trait Transfer: Send + Sync {
    /// Returns rows after a position, at most `limit`, each with its own: in the order in which they were made where that
    /// matters.
    async fn page(
        &self,
        table: &'static Table,
        after: Option<Position>,
        limit: usize,
    ) -> Result<Vec<(Position, Row)>, TransferError>;

    /// Stores rows, in place of those with the same keys.
    async fn put(&self, table: &'static Table, rows: Vec<Row>) -> Result<(), TransferError>;

    /// Removes the rows with these keys.
    async fn remove(&self, table: &'static Table, keys: Vec<Row>) -> Result<(), TransferError>;

    /// Returns the copy that the shop was made by; `None` if there was none.
    async fn copy_mark(&self) -> Result<Option<CopyMark>, TransferError>;

    /// Notes the copy that the shop is made by.
    async fn mark_copy(&self, mark: CopyMark) -> Result<(), TransferError>;

    /// Returns the secret that cursors are sealed with.
    async fn secret(&self) -> Result<Vec<u8>, TransferError>;

    /// Replaces the secret that cursors are sealed with.
    async fn set_secret(&self, secret: Vec<u8>) -> Result<(), TransferError>;
}
