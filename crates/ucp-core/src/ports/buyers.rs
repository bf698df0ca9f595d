//! Port of the personal data that a store holds: how long they are kept, what is stored about a buyer, and its erasure.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::error::PortError;
use crate::catalog::cursor::CursorSecret;

/// Retention of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Carts, and checkouts that led to no order, after their expiry.
    pub unfinished: SignedDuration,
    /// Completed checkouts, after the time at which they would have expired.
    pub completed: SignedDuration,
    /// Addresses of orders, after the purchase; `None` for as long as the order.
    pub addresses: Option<SignedDuration>,
}

impl Default for Retention {
    /// Thirty days, and addresses for as long as the order.
    fn default() -> Self {
        let month = SignedDuration::from_hours(30 * 24);
        Self { unfinished: month, completed: month, addresses: None }
    }
}

/// Everything that is stored about a buyer.
#[derive(Debug, Default, Serialize)]
pub struct PersonalData {
    /// Carts, as stored.
    pub carts: Vec<Value>,
    /// Checkouts, as stored.
    pub checkouts: Vec<Value>,
    /// Orders of the buyer, as stored.
    pub orders: Vec<Value>,
    /// Identifiers of carts, checkouts and orders that are damaged, and may be of the buyer.
    #[serde(skip)]
    pub damaged: Vec<String>,
    /// Number of orders with addresses whose buyers are not known.
    #[serde(skip)]
    pub unknown: u64,
}

/// Result of an erasure.
#[derive(Debug, Default)]
pub struct Erasure {
    /// Number of carts that were removed.
    pub carts: usize,
    /// Number of checkouts that were removed.
    pub checkouts: usize,
    /// Number of orders whose addresses were removed.
    pub orders: usize,
    /// Checkouts and orders that were left as they are, each with the reason.
    pub left: Vec<(String, &'static str)>,
    /// Number of orders with addresses whose buyers are not known.
    pub unknown: u64,
    /// Sentence on where the files of the database may still have what was erased; `None` if they do not.
    pub residue: Option<&'static str>,
}

impl Erasure {
    /// Adds rows that are damaged, unless they were left for another reason.
    pub fn leave_damaged(&mut self, ids: Vec<String>) {
        for id in ids {
            if self.left.iter().all(|(left, _)| *left != id) {
                self.left.push((id, "it is damaged, and may be of this buyer"));
            }
        }
    }
}

/// Personal data of a buyer, who is known by an email address in any case.
///
/// A buyer is found by the address in carts and checkouts. An order has no address of its own: it is found by its
/// checkout for as long as that is kept, and then by the [mark](buyer_mark) that the removal of the checkout leaves.
#[async_trait]
pub trait Buyers: Send + Sync {
    /// Returns everything that is stored about a buyer, without the tokens of pages.
    async fn personal_data(&self, e_mail: &str) -> Result<PersonalData, PortError>;

    /// Erases the personal data of a buyer: their carts and checkouts, the answers recorded for them, and the addresses
    /// and past webhook events of their orders. What a payment, a refund, goods that are not sent or a webhook event still
    /// need stays, and so does what is damaged. What was erased before a failure may stay erased.
    async fn erase_buyer(&self, e_mail: &str) -> Result<Erasure, PortError>;

    /// Returns those of `ids` under which personal data may be stored: they name a cart, a checkout, or an order whose
    /// addresses were not removed. Whoever keeps copies removes those of the others.
    async fn with_personal_data(&self, ids: &[String]) -> Result<HashSet<String>, PortError>;
}

/// Mark of an order whose checkout was damaged when it was removed.
pub const UNKNOWN: &str = "?";

/// Returns what an order is found by once its checkout, a JSON text, is gone: a hash of the email address that nobody computes
/// without the secret of the shop. Empty if the checkout has no address, [`UNKNOWN`] if it is damaged.
pub fn buyer_mark(secret: &CursorSecret, checkout: &str) -> String {
    let Ok(checkout) = checkout.parse::<Value>() else { return UNKNOWN.to_owned() };
    checkout
        .pointer("/draft/buyer/email")
        .and_then(Value::as_str)
        .map_or_else(String::new, |e_mail| mark(secret, e_mail))
}

/// Returns the [mark](buyer_mark) of an email address in any case.
pub fn mark(secret: &CursorSecret, e_mail: &str) -> String {
    let hash =
        Sha256::new_with_prefix("buyer").chain_update(secret.reveal()).chain_update(e_mail.to_lowercase()).finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a stored document without the tokens that open pages.
pub fn without_tokens(mut document: Value) -> Value {
    fn drop_tokens(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.shift_remove("token");
                members.values_mut().for_each(drop_tokens);
            }
            Value::Array(elements) => elements.iter_mut().for_each(drop_tokens),
            _ => {}
        }
    }
    drop_tokens(&mut document);
    document
}

/// Returns a stored order without its addresses.
pub fn without_addresses(mut order: Value) -> Value {
    for expectation in order["expectations"].as_array_mut().into_iter().flatten() {
        expectation["destination"] = json!({});
    }
    order
}

/// Returns `true` if a refund of a stored order is pending.
pub fn is_refunding(order: &Value) -> bool {
    let adjustments = order["adjustments"].as_array().into_iter().flatten();
    adjustments.into_iter().any(|adjustment| adjustment["status"] == "pending")
}

/// Returns `true` if goods of a stored order are still to be sent.
fn is_unsent(order: &Value) -> bool {
    let lines = order["line_items"].as_array().into_iter().flatten();
    lines.into_iter().any(|line| line["fulfilled"].as_u64() < line["total"].as_u64())
}

/// Returns why the personal data of a purchase are still needed.
pub fn need(is_paying: bool, order: Option<&Value>, is_telling: bool) -> Option<&'static str> {
    if is_paying {
        Some("a payment for it is not settled")
    } else if order.is_some_and(|order| !order.is_object()) {
        Some("its order is damaged")
    } else if order.is_some_and(is_refunding) {
        Some("a refund of its order is pending")
    } else if is_telling {
        Some("a webhook event about its order waits")
    } else if order.is_some_and(is_unsent) {
        Some("goods of its order are not sent yet")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purchases_in_progress_or_damaged_are_not_erased() {
        let line = |fulfilled: u64| json!({ "line_items": [{ "total": 2, "fulfilled": fulfilled }] });
        assert_eq!(need(false, Some(&line(2)), false), None);
        assert_eq!(need(false, Some(&line(1)), false), Some("goods of its order are not sent yet"));
        assert_eq!(need(false, Some(&Value::Null), false), Some("its order is damaged"));
        let refunding = json!({ "adjustments": [{ "status": "pending" }] });
        assert_eq!(need(false, Some(&refunding), true), Some("a refund of its order is pending"));
    }
}
