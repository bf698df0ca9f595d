//! Approvals that a buyer gave in person: of these goods at these prices, for this buyer and this destination.
//!
//! An approval covers only what was on the page: later changes need a new approval. Only a digest of the approved
//! content is stored, because it is only ever compared.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{buyer::Buyer, fulfillment::Fulfillment, line_item::LineItem, totals::Total};
use crate::money::Currency;

/// A buyer's approval of the content of a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// SHA-256 of the approved content, in hexadecimal.
    digest: String,
    /// Time of the approval, UTC.
    pub at: Timestamp,
}

/// Content of a checkout that can be approved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approved<'a> {
    pub(crate) line_items: &'a [LineItem],
    pub(crate) totals: &'a [Total],
    pub(crate) currency: Currency,
    pub(crate) fulfillment: Option<&'a Fulfillment>,
    pub(crate) buyer: Option<&'a Buyer>,
}

impl Approved<'_> {
    /// Creates an approval of this content.
    pub(crate) fn approve(&self, now: Timestamp) -> Approval {
        Approval { digest: self.digest(), at: now }
    }

    /// Returns `true` if `approval` is an approval of this content.
    pub(crate) fn is_approved(&self, approval: Option<&Approval>) -> bool {
        approval.is_some_and(|approval| approval.digest == self.digest())
    }

    fn digest(&self) -> String {
        let lines: Vec<_> =
            self.line_items.iter().map(|line| (&line.item.id, line.quantity, line.item.price.minor())).collect();
        let totals: Vec<_> = self.totals.iter().map(|total| (total.kind, total.amount)).collect();
        // Options that were not chosen and days of arrival change on their own and are left out.
        let methods = self.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
        let methods: Vec<_> = methods
            .map(|method| {
                let selected = method.selected_destination_id.as_ref();
                let destination = method.destinations.iter().find(|destination| Some(&destination.id) == selected);
                let options: Vec<_> =
                    method.groups.iter().map(|group| (&group.line_item_ids, &group.selected_option_id)).collect();
                (method.kind, destination.map(|destination| (&destination.name, &destination.address)), options)
            })
            .collect();
        let buyer = self.buyer.map(|buyer| (&buyer.first_name, &buyer.last_name, &buyer.email, &buyer.phone_number));
        let text = serde_json::json!([lines, totals, self.currency, methods, buyer]).to_string();
        Sha256::digest(text).iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn checkout() -> Value {
        json!({
            "line_items": [{
                "id": "li_1", "quantity": 2, "totals": [],
                "item": { "id": "rose", "title": "Rose", "price": 350, "needs_fulfillment": true, "weight_grams": 1 },
            }],
            "totals": [{ "kind": "subtotal", "amount": 700 }, { "kind": "total", "amount": 700 }],
            "fulfillment": { "methods": [{
                "id": "m", "kind": "shipping", "line_item_ids": ["li_1"], "selected_destination_id": "home",
                "destinations": [
                    { "id": "work", "address": { "postal_code": "1" } },
                    { "id": "home", "address": { "postal_code": "2" } },
                ],
                "groups": [{ "id": "g", "line_item_ids": ["li_1"], "selected_option_id": "fast", "options": [] }],
            }] },
            "buyer": { "email": "bea@example.com", "loyalty": 1 },
        })
    }

    fn digest(checkout: &Value) -> String {
        let read = |name: &str| checkout[name].clone();
        let line_items: Vec<LineItem> = serde_json::from_value(read("line_items")).expect("lines");
        let totals: Vec<Total> = serde_json::from_value(read("totals")).expect("totals");
        let fulfillment: Fulfillment = serde_json::from_value(read("fulfillment")).expect("methods");
        let buyer: Buyer = serde_json::from_value(read("buyer")).expect("a buyer");
        Approved {
            line_items: &line_items,
            totals: &totals,
            currency: "USD".parse().expect("a currency"),
            fulfillment: Some(&fulfillment),
            buyer: Some(&buyer),
        }
        .approve(NOW)
        .digest
    }

    #[test]
    fn an_approval_is_about_what_was_on_the_page() {
        let approved = digest(&checkout());
        let changed = |pointer: &str, value: Value| {
            let mut changed = checkout();
            *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
            digest(&changed) != approved
        };
        for (pointer, value) in [
            ("/line_items/0/item/id", json!("lily")),
            ("/line_items/0/item/price", json!(351)),
            ("/line_items/0/quantity", json!(3)),
            ("/line_items", json!([])),
            ("/totals/1/amount", json!(701)),
            ("/fulfillment/methods/0/kind", json!("pickup")),
            ("/fulfillment/methods/0/selected_destination_id", json!("work")),
            ("/fulfillment/methods/0/destinations/1/address/postal_code", json!("3")),
            ("/fulfillment/methods/0/groups/0/selected_option_id", json!("slow")),
            ("/buyer/email", json!("eve@example.com")),
        ] {
            assert!(changed(pointer, value.clone()), "{pointer} = {value}");
        }
        for (pointer, value) in [
            ("/fulfillment/methods/0/destinations/0/address/postal_code", json!("3")),
            ("/buyer/loyalty", json!(2)),
            ("/line_items/0/item/title", json!("Roses")),
        ] {
            assert!(!changed(pointer, value.clone()), "{pointer} = {value}");
        }
    }
}
