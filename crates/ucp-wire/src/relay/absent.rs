//! Members that are `null` because they are absent.

use serde_json::{Map, Value};

/// The optional members of carts, checkouts and orders, which no release allows to be `null`, and the members that lead
/// to others. A selected destination and a selected option may be `null`.
const NAMES: [&str; 63] = [
    "address_country",
    "address_locality",
    "address_region",
    "adjustments",
    "allocations",
    "ap2",
    "applied",
    "available_methods",
    "billing_address",
    "buyer",
    "capabilities",
    "carrier",
    "codes",
    "consent",
    "context",
    "continue_url",
    "credential",
    "description",
    "destination",
    "destinations",
    "discounts",
    "display",
    "display_text",
    "earliest_fulfillment_time",
    "email",
    "events",
    "expectations",
    "expires_at",
    "extended_address",
    "first_name",
    "fulfillable_on",
    "fulfillment",
    "full_name",
    "groups",
    "handlers",
    "image_url",
    "instruments",
    "item",
    "label",
    "last_name",
    "latest_fulfillment_time",
    "line_item_ids",
    "line_items",
    "links",
    "messages",
    "method",
    "methods",
    "name",
    "options",
    "order",
    "parent_id",
    "payment",
    "payment_handlers",
    "permalink_url",
    "phone_number",
    "postal_code",
    "price",
    "priority",
    "selected_instrument_id",
    "street_address",
    "title",
    "totals",
    "tracking_url",
];

/// Removes members that are `null` where the schemas have no such value: some shops write them for what is absent, and
/// platforms that send an answer back would be refused. Members that the schemas do not name stay as they are.
pub fn without_nulls(members: &mut Map<String, Value>) {
    members.retain(|name, value| !value.is_null() || NAMES.binary_search(&name.as_str()).is_err());
    for (_, value) in members.iter_mut().filter(|(name, _)| NAMES.binary_search(&name.as_str()).is_ok()) {
        inside(value);
    }
}

fn inside(value: &mut Value) {
    match value {
        Value::Object(members) => without_nulls(members),
        Value::Array(elements) => elements.iter_mut().for_each(inside),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn what_is_absent_is_left_out_and_the_rest_is_kept() {
        let mut answer = json!({
            "id": "c", "order": null, "unknown": { "order": null }, "platform": null,
            "fulfillment": { "methods": [{ "id": "m", "groups": null, "selected_destination_id": null,
                "destinations": [{ "id": "d", "extended_address": null, "gate": null }] }] },
        });
        without_nulls(answer.as_object_mut().expect("an object"));
        assert_eq!(
            answer,
            json!({
                "id": "c", "unknown": { "order": null }, "platform": null,
                "fulfillment": { "methods": [{ "id": "m", "selected_destination_id": null,
                    "destinations": [{ "id": "d", "gate": null }] }] },
            })
        );
    }
}
