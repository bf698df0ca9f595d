//! Tests of the ledger beyond the rules of the port: age of rows, full and broken disks, rates.

mod damage;
mod failures;
mod pruning;
mod rates;

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    ports::ledger::{Change, Committed, Kept, Key, Ledger as _},
};
use ucp_testkit::store::fixtures::{
    ALICE, Commits as _, at, cart, checkout, hours, kept, key, movement, now, order, paying,
};

use crate::{ShopConnection, SqliteStore, tests::count};

/// Opens the store of a directory. A new one has these quantities of variants.
fn open(directory: &Path, stock: &[(&str, u64)]) -> SqliteStore {
    let store = SqliteStore::open_or_create(directory).expect("opens");
    count(&store, stock);
    store
}

impl SqliteStore {
    /// Returns the number of rows of a table.
    fn rows(&self, table: &str) -> i64 {
        let count =
            |db: ShopConnection<'_>| db.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0));
        self.snapshot(count).expect("counts")
    }
}
