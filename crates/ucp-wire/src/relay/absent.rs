//! Members that are `null` because they are absent.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// The optional members of carts, checkouts, orders and products, which no release allows to be `null`, the members that
/// lead to others, and `buyer_consent`, which a sample server states as one. A selected destination and a selected
/// option may be `null`.
const NAMES: &str = "address_country address_locality address_region adjustments allocations alt_text ap2 applied availability \
    available available_methods barcodes billing_address buyer buyer_consent capabilities carrier categories codes \
    consent context continue_url count credential cursor description destination destinations discounts display \
    display_text earliest_fulfillment_time email events exists expectations expires_at extended_address first_name \
    fulfillable_on fulfillment full_name groups handle handlers height html image_url inputs instruments item label \
    last_name latest_fulfillment_time line_item_ids line_items links list_price list_price_range markdown max \
    measure media messages method methods min name options order pagination parent_id payment payment_handlers \
    permalink_url phone_number plain postal_code price price_range priority product products quantity_unit rating \
    reference scale_max selected_instrument_id seller services sku street_address tags taxonomy title total_count \
    totals tracking_url ucp unit_price url values variants width";

static SORTED: LazyLock<Vec<&str>> = LazyLock::new(|| NAMES.split(' ').collect());

/// Removes members that are `null` where the schemas have no such value: some shops write them for what is absent, and
/// platforms that send an answer back would be refused. Members that the schemas do not name stay as they are. Returns
/// `true` if there were such members.
pub fn without_nulls(members: &mut Map<String, Value>) -> bool {
    let before = members.len();
    members.retain(|name, value| !value.is_null() || !is_known(name));
    let mut removed = members.len() < before;
    for (_, value) in members.iter_mut().filter(|(name, _)| is_known(name)) {
        removed |= inside(value);
    }
    removed
}

fn inside(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => without_nulls(members),
        Value::Array(elements) => elements.iter_mut().fold(false, |removed, element| inside(element) | removed),
        _ => false,
    }
}

/// Returns the place of the first member that [`without_nulls`] would remove, as JSONPath without the `$`.
pub fn find_null(members: &Map<String, Value>) -> Option<String> {
    fn within(value: &Value) -> Option<String> {
        match value {
            Value::Null => Some(String::new()),
            Value::Object(members) => find_null(members),
            Value::Array(elements) => elements.iter().enumerate().find_map(|(place, element)| match element {
                Value::Null => None,
                element => Some(format!("[{place}]{}", within(element)?)),
            }),
            _ => None,
        }
    }
    members
        .iter()
        .filter(|(name, _)| is_known(name))
        .find_map(|(name, value)| Some(format!(".{name}{}", within(value)?)))
}

fn is_known(name: &str) -> bool {
    SORTED.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_members_are_sorted() {
        assert!(SORTED.is_sorted());
    }

    #[test]
    fn the_first_null_is_found_where_it_is() {
        let answer =
            json!({ "unknown": null, "line_items": [{ "id": "l" }, { "id": "m", "item": { "image_url": null } }] });
        let found = find_null(answer.as_object().expect("an object"));
        assert_eq!(found.as_deref(), Some(".line_items[1].item.image_url"));
    }

    #[test]
    fn null_members_of_known_names_are_removed_from_answers() {
        let mut answer = json!({
            "id": "c", "order": null, "unknown": { "order": null }, "platform": null,
            "fulfillment": { "methods": [{ "id": "m", "groups": null, "selected_destination_id": null,
                "destinations": [{ "id": "d", "extended_address": null, "gate": null }] }] },
        });
        assert_eq!(find_null(answer.as_object().expect("an object")).as_deref(), Some(".order"));
        assert!(without_nulls(answer.as_object_mut().expect("an object")));
        assert!(!without_nulls(answer.as_object_mut().expect("an object")), "nothing is left");
        assert_eq!(find_null(answer.as_object().expect("an object")), None);
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
