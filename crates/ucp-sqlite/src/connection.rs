//! A connection to the rows of one shop.

use std::ops::Deref;

use rusqlite::Connection;
use ucp_core::ShopId;

/// A connection to the database file, and the shop whose rows it reads and writes.
///
/// One file can hold several shops. Their identifier comes first in every key, so that every statement names it, as
/// [`ShopConnection::shop`].
#[derive(Clone, Copy, Debug)]
pub struct ShopConnection<'c> {
    connection: &'c Connection,
    shop: &'c ShopId,
}

impl<'c> ShopConnection<'c> {
    /// A connection to the rows of `shop`.
    pub const fn new(connection: &'c Connection, shop: &'c ShopId) -> Self {
        Self { connection, shop }
    }

    /// Returns the identifier of the shop, the first member of every key.
    pub fn shop(self) -> &'c str {
        self.shop.as_str()
    }
}

impl Deref for ShopConnection<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
