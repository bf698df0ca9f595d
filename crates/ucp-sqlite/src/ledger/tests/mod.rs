//! What the ledger promises, on real files.

mod commits;
mod failures;
mod rates;
mod stock;

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use ucp_core::{
    cart::Cart,
    checkout::{Checkout, State},
    order::Order,
    purchase::{
        ledger::{Change, Committed, Kept, Key, Ledger as _, Movement, Stored},
        payment::Attempt,
    },
};

use crate::SqliteStore;

const ALICE: &str = "https://alice.example/profile.json";
const BOB: &str = "https://bob.example/profile.json";

/// A time in the middle of what is tested.
fn now() -> Timestamp {
    "2026-03-01T12:00:00.123456789Z".parse().expect("a time")
}

fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

/// A product: its identifier, and how many there are of those of its variants that are counted.
type Product = (&'static str, Vec<(String, u64)>);

/// A product with a variant for each count; those without are not counted.
fn product(id: &'static str, counts: &[Option<u64>]) -> Product {
    let counts = (0..).zip(counts).filter_map(|(number, count): (u32, _)| Some((format!("{id}-{number}"), (*count)?)));
    (id, counts.collect())
}

/// The store of a directory, with these products where it is new.
fn open(directory: &Path, products: &[Product]) -> SqliteStore {
    let store = SqliteStore::open_or_create(directory).expect("opens");
    let put = |db: &rusqlite::Connection| {
        for (id, counts) in products {
            db.execute("INSERT INTO products (id, revision, document) VALUES (?, 1, '{}')", [id])?;
            crate::stock::count(db, db.last_insert_rowid(), counts)?;
        }
        Ok::<(), rusqlite::Error>(())
    };
    store.transaction(|db| put(db).map_err(crate::WriteError::from).map_err(Into::into)).expect("puts");
    store
}

fn cart(owner: &str, id: &str) -> Cart {
    Cart {
        id: id.into(),
        owner: owner.into(),
        token: format!("token of {id}"),
        draft: serde_json::from_value(json!({"buyer": {"first_name": "Zoë", "loyalty": 7}})).expect("a draft"),
        line_items: serde_json::from_value(json!([{
            "id": "li_1", "quantity": 2, "totals": [{"kind": "subtotal", "amount": 200}],
            "item": {"id": "a-0", "title": "A \"quoted\" thing", "price": 100},
        }]))
        .expect("lines"),
        lines_ever: 1,
        currency: "USD".parse().expect("a currency"),
        totals: Vec::new(),
        discounts: None,
        messages: Vec::new(),
        remote_cart: None,
        canceled: false,
        created_at: now(),
        expires_at: now() + hours(24),
    }
}

fn checkout(owner: &str, id: &str, cart_id: Option<&str>) -> Checkout {
    let Cart { token, draft, line_items, lines_ever, currency, totals, messages, created_at, .. } = cart(owner, id);
    Checkout {
        id: id.into(),
        owner: owner.into(),
        token,
        cart_id: cart_id.map(str::to_owned),
        state: State::Incomplete,
        draft,
        line_items,
        lines_ever,
        currency,
        totals,
        discounts: None,
        fulfillment: None,
        messages,
        completing: None,
        mandated: false,
        approval: None,
        evidence: None,
        remote_cart: None,
        created_at,
        expires_at: created_at + hours(6),
    }
}

fn paying(checkout: &str, begun_at: Timestamp) -> State {
    let attempt: Attempt = serde_json::from_value(json!({
        "id": format!("attempt at {checkout}"), "handler_id": "sandbox", "checkout_id": checkout, "amount": 200,
        "currency": "USD", "begun_at": begun_at, "memo": null,
    }))
    .expect("an attempt");
    State::CompleteInProgress { attempt: Box::new(attempt) }
}

fn order(owner: &str, id: &str, checkout_id: &str) -> Order {
    serde_json::from_value(json!({
        "id": id, "label": "1001", "token": format!("token of {id}"), "owner": owner, "checkout_id": checkout_id, "line_items": [],
        "currency": "USD", "totals": [], "expectations": [], "events": [], "adjustments": [],
        "payment": {"handler_id": "sandbox", "attempt_id": "a", "reference": "r"}, "placed_at": now(),
    }))
    .expect("an order")
}

/// A document at the version it was made of.
fn at<T>(document: T, version: u64) -> Option<Stored<T>> {
    Some(Stored { document, version })
}

fn key(owner: &str, resource: &str, key: &str) -> Key {
    Key { owner: owner.into(), operation: "complete_checkout", resource: resource.into(), key: key.into() }
}

fn kept(answer: &str) -> Kept {
    Kept { identity: [7; 32], answer: answer.into(), at: now() }
}

fn movement(variant: &str, quantity: i64) -> Movement {
    Movement { variant: variant.into(), quantity }
}

impl SqliteStore {
    async fn commits(&self, change: Change) -> Committed {
        self.commit(change, None).await.expect("commits")
    }

    async fn keeps(&self, change: Change, key: Key, kept: Kept) -> Committed {
        self.commit(change, Some((key, kept))).await.expect("commits")
    }

    /// How many rows a table has.
    fn rows(&self, table: &str) -> i64 {
        let count =
            |db: &rusqlite::Connection| db.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0));
        self.readers().read(count).expect("counts")
    }
}
