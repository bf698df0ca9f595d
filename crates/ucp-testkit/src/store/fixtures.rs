//! Documents that tests of a store keep in it.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use ucp_core::{
    cart::Cart,
    checkout::{Checkout, State},
    order::Order,
    ports::ledger::{Bound, Change, Committed, Holder, Kept, Key, Ledger, Movement, Stored},
    purchase::payment::Attempt,
};

/// A platform.
pub const ALICE: &str = "https://alice.example/profile.json";

/// Another platform.
pub const BOB: &str = "https://bob.example/profile.json";

/// A time in the middle of what is tested, with nanoseconds.
#[must_use]
pub fn now() -> Timestamp {
    "2026-03-01T12:00:00.123456789Z".parse().expect("a time")
}

/// So many hours.
#[must_use]
pub fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

/// A cart for two of a variant, opened by `token of {id}`, which expires 24 hours after [`now`].
#[must_use]
pub fn cart(owner: &str, id: &str) -> Cart {
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

/// A checkout of the lines of [`cart`], which expires 6 hours after [`now`].
#[must_use]
pub fn checkout(owner: &str, id: &str, cart_id: Option<&str>) -> Checkout {
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

/// The state of a checkout whose payment has begun and not ended.
#[must_use]
pub fn paying(checkout: &str, begun_at: Timestamp) -> State {
    let attempt: Attempt = serde_json::from_value(json!({
        "id": format!("attempt at {checkout}"), "handler_id": "sandbox", "checkout_id": checkout, "amount": 200,
        "currency": "USD", "begun_at": begun_at, "memo": null,
    }))
    .expect("an attempt");
    State::CompleteInProgress { attempt: Box::new(attempt) }
}

/// A holder of one group.
#[must_use]
pub fn holder(name: &str, open: u64, bytes: u64) -> Option<Holder> {
    Some(Holder { bounds: vec![Bound { name: name.into(), open, bytes }] })
}

/// An order without lines, placed [`now`].
#[must_use]
pub fn order(owner: &str, id: &str, checkout_id: &str) -> Order {
    serde_json::from_value(json!({
        "id": id, "label": "1001", "token": format!("token of {id}"), "owner": owner, "checkout_id": checkout_id, "line_items": [],
        "currency": "USD", "totals": [], "expectations": [], "events": [], "adjustments": [],
        "payment": {"handler_id": "sandbox", "attempt_id": "a", "reference": "r"}, "placed_at": now(),
    }))
    .expect("an order")
}

/// An order of pieces of one variant, for the checkout of this identifier.
#[must_use]
pub fn order_of(checkout_id: &str, variant: &str, pieces: u64, placed_at: Timestamp) -> Order {
    let line = json!({
        "id": "line", "item": {"id": variant, "title": variant, "price": 100},
        "original": pieces, "total": pieces, "fulfilled": 0, "totals": [],
    });
    let line = serde_json::from_value(line).expect("a line");
    Order { line_items: vec![line], placed_at, ..order(ALICE, &format!("order of {checkout_id}"), checkout_id) }
}

/// A document with the version that it was made of, as a [`Change`] holds it.
pub fn at<T>(document: T, version: u64) -> Option<Stored<T>> {
    Some(Stored { document, version })
}

/// The key of a completion.
#[must_use]
pub fn key(owner: &str, resource: &str, key: &str) -> Key {
    Key { owner: owner.into(), operation: "complete_checkout", resource: resource.into(), key: key.into() }
}

/// An answer that was given [`now`].
#[must_use]
pub fn kept(answer: &str) -> Kept {
    Kept { identity: [7; 32], answer: answer.into(), at: now() }
}

/// Goods that come back, or leave where `quantity` is below zero.
#[must_use]
pub fn movement(variant: &str, quantity: i64) -> Movement {
    Movement { variant: variant.into(), quantity }
}

/// Commits that have to reach the store.
pub trait Commits: Ledger {
    /// Commits a change.
    fn commits(&self, change: Change) -> impl Future<Output = Committed> + Send;

    /// Commits a change with the answer to keep.
    fn keeps(&self, change: Change, key: Key, kept: Kept) -> impl Future<Output = Committed> + Send;
}

impl<L: Ledger> Commits for L {
    async fn commits(&self, change: Change) -> Committed {
        self.commit(change, None).await.expect("commits")
    }

    async fn keeps(&self, change: Change, key: Key, kept: Kept) -> Committed {
        self.commit(change, Some((key, kept))).await.expect("commits")
    }
}
