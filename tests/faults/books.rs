//! Content of the shop's database and of the provider's journal, and its invariants.
//!
//! The database is read as SQL and JSON, not with the code under test.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use serde_json::Value;
use ucp_fake_psp::Report;
use ucp_testkit::postgres::psql;

use crate::{
    client::text,
    process::{World, eventually},
};

/// Stock of each variant.
pub(crate) type Counts = BTreeMap<String, i64>;

/// Content of the database at one moment.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) stock: Counts,
    checkouts: BTreeMap<String, Value>,
    pub(crate) orders: Vec<Value>,
}

impl Books {
    pub(crate) fn read(world: &World) -> Self {
        if let Some(database) = world.database.get() {
            return Self::read_shared(database);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(world.data().join("shop.db"), flags).expect("the database");
        db.busy_timeout(crate::process::PATIENCE).expect("a timeout");
        let db = db.transaction().expect("a snapshot");
        let documents = |table: &str| -> Vec<Value> {
            let mut statement = db.prepare(&format!("SELECT document FROM {table} ORDER BY seq")).expect("a table");
            let rows = statement.query_map((), |row| row.get::<_, String>(0)).expect("rows");
            rows.map(|text| serde_json::from_str(&text.expect("a document")).expect("JSON")).collect()
        };
        let orders = documents("orders");
        let checkouts = documents("checkouts").into_iter().map(|checkout| (text(&checkout, "id").to_owned(), checkout));
        let checkouts = checkouts.collect();
        let mut statement = db.prepare("SELECT variant, quantity FROM stock").expect("a table");
        let stock = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        let stock = stock.collect::<Result<_, _>>().expect("counts");
        Self { stock, checkouts, orders }
    }

    /// Reads a database that gateways share, in one statement.
    fn read_shared(database: &str) -> Self {
        let sql = "SELECT 'order ' || document FROM orders UNION ALL SELECT 'checkout ' || document FROM checkouts \
                   UNION ALL SELECT 'stock ' || quantity || ' ' || variant FROM stock";
        let (mut orders, mut checkouts, mut stock) = (Vec::new(), BTreeMap::new(), Counts::new());
        let json = |document: &str| -> Value { serde_json::from_str(document).expect("JSON") };
        for line in psql(database, sql).lines() {
            match line.split_once(' ').expect("a kind") {
                ("order", document) => orders.push(json(document)),
                ("checkout", document) => {
                    let checkout = json(document);
                    checkouts.insert(text(&checkout, "id").to_owned(), checkout);
                }
                (_, row) => {
                    let (quantity, variant) = row.split_once(' ').expect("a variant");
                    stock.insert(variant.to_owned(), quantity.parse().expect("a number"));
                }
            }
        }
        Self { stock, checkouts, orders }
    }

    /// The checkouts that are being paid for.
    pub(crate) fn in_progress(&self) -> impl Iterator<Item = &Value> {
        self.checkouts.values().filter(|checkout| text(checkout, "status") == "complete_in_progress")
    }

    pub(crate) fn orders_of(&self, checkout: &str) -> usize {
        self.orders.iter().filter(|order| text(order, "checkout_id") == checkout).count()
    }

    pub(crate) fn orders(&self) -> usize {
        self.orders.len()
    }

    pub(crate) fn status_of(&self, checkout: &str) -> &str {
        text(&self.checkouts[checkout], "status")
    }
}

/// Returns `true` if nobody is writing, or will have done so in a moment.
pub(crate) fn is_writable(world: &World) -> bool {
    let mut db = Connection::open(world.data().join("shop.db")).expect("the database");
    db.busy_timeout(Duration::from_millis(300)).expect("a timeout");
    db.transaction_with_behavior(TransactionBehavior::Immediate).is_ok()
}

/// Checks the invariants, whether gateways run or not.
pub(crate) fn check(world: &World) -> Books {
    // The books have everything that the provider did before they are read, and the provider everything in them before
    // it is asked.
    let before = world.report();
    let books = Books::read(world);
    let after = world.report();
    charged_once(&before);
    charged_once(&after);

    let attempts: BTreeSet<_> = books.in_progress().map(|checkout| text(&checkout["attempt"], "id")).collect();
    let paid: BTreeSet<_> = books.orders.iter().map(|order| text(&order["payment"], "attempt_id")).collect();
    assert_eq!(paid.len(), books.orders.len(), "every order is paid by a payment of its own");
    for payment in before.payments.values().filter(|payment| payment.captures > 0) {
        let known = attempts.contains(payment.id.as_str()) || paid.contains(payment.id.as_str());
        assert!(known, "money was taken that the shop knows nothing of: {payment:?}");
    }
    let mut ordered = BTreeSet::new();
    for order in &books.orders {
        let (id, checkout_id) = (text(order, "id"), text(order, "checkout_id"));
        assert!(ordered.insert(checkout_id), "two orders of one checkout: {checkout_id}");
        let checkout = &books.checkouts[checkout_id];
        assert_eq!((text(checkout, "status"), text(&checkout["order"], "id")), ("completed", id), "{checkout_id}");
        let payment = &after.payments[text(&order["payment"], "attempt_id")];
        let total = order["totals"].as_array().and_then(|totals| totals.iter().find(|total| total["kind"] == "total"));
        let total = total.and_then(|total| total["amount"].as_i64());
        assert_eq!((payment.captures, payment.checkout_id.as_str()), (1, checkout_id), "{payment:?}");
        assert_eq!(Some(payment.amount), total, "the buyer pays what the order says: {payment:?}");
    }
    for (id, checkout) in &books.checkouts {
        let completed = text(checkout, "status") == "completed";
        assert_eq!(completed, ordered.contains(id.as_str()), "completed means that there is an order: {id}");
    }

    let mut accounted = books.stock.clone();
    let mut add = |lines: &Value, quantity: &str| {
        for line in lines.as_array().into_iter().flatten() {
            *accounted.entry(text(&line["item"], "id").to_owned()).or_default() +=
                line[quantity].as_i64().expect("a quantity");
        }
    };
    books.in_progress().for_each(|checkout| add(&checkout["line_items"], "quantity"));
    books.orders.iter().for_each(|order| add(&order["line_items"], "total"));
    assert_eq!(Some(&accounted), world.initial.get(), "goods are in stock, sold, or being sold");
    books
}

/// Nothing is charged twice.
fn charged_once(report: &Report) {
    let mut checkouts: BTreeMap<&str, u32> = BTreeMap::new();
    for payment in report.payments.values() {
        assert!(payment.captures <= 1 && payment.authorizations <= 1, "{payment:?}");
        *checkouts.entry(&payment.checkout_id).or_default() += payment.captures;
    }
    assert!(checkouts.values().all(|captures| *captures <= 1), "a checkout was paid for twice: {report:?}");
}

/// Waits until it is known what became of every payment; then money was taken if and only if there is an order, and no
/// money is set aside for nothing.
pub(crate) fn settle(world: &World) -> Books {
    eventually("every payment is settled", || (check(world).in_progress().next().is_none()).then_some(()));
    let (report, books) = (world.report(), check(world));
    let captured: BTreeSet<_> =
        report.payments.values().filter(|payment| payment.captures > 0).map(|payment| payment.id.as_str()).collect();
    let paid: BTreeSet<_> = books.orders.iter().map(|order| text(&order["payment"], "attempt_id")).collect();
    assert_eq!(captured, paid, "money was taken if and only if there is an order");
    for payment in report.payments.values() {
        let over = matches!(payment.status.as_str(), "captured" | "declined" | "challenge" | "voided");
        assert!(over, "money is set aside for nothing: {payment:?}");
    }
    // The responses of clients are true.
    for (operation, document) in world.clients.acknowledged() {
        if operation == "complete_checkout" && text(&document, "status") == "completed" {
            let id = text(&document, "id");
            assert_eq!(text(&books.checkouts[id]["order"], "id"), text(&document["order"], "id"), "{document}");
        }
    }
    books
}
