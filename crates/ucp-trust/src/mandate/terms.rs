//! Comparison of the terms of two states of a checkout.

use serde_json::{Number, Value};
use ucp_core::json::{self, push_name};
use url::{Position, Url};

/// Members of a checkout that make up the terms that the buyer agreed to (AP2-04).
pub const TERMS: [&str; 4] = ["id", "currency", "line_items", "totals"];

/// Member of an item with the address of its picture, whose origin changes with that of the business.
const PICTURE: &str = "image_url";

/// Returns the path of the first difference between two checkouts in these members, at any depth; `None` if they are
/// equal, which includes a member that both lack. Addresses of pictures are equal if all behind their origin is.
///
/// The order of members does not matter, that of elements does. Numbers are equal if their values are, such as `100`
/// and `100.0`; that is stricter than their canonical form, in which large integers lose digits.
pub fn difference(one: &Value, other: &Value, members: &[&str]) -> Option<String> {
    let differing = members.iter().find_map(|name| {
        let mut path = String::from("$");
        push_name(&mut path, name);
        differing(one.get(*name), other.get(*name), path)
    });
    // The platform chose the names, so the path is cut.
    differing.map(|path| path.chars().take(LONGEST).collect())
}

/// Maximum length of the path to a difference, in characters.
const LONGEST: usize = 256;

fn differing(one: Option<&Value>, other: Option<&Value>, path: String) -> Option<String> {
    match (one, other) {
        (None, None) => None,
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            names
                .into_iter()
                .filter(|name| *name != PICTURE || !same_picture(one.get(PICTURE), other.get(PICTURE)))
                .find_map(|name| {
                    let mut path = path.clone();
                    push_name(&mut path, name);
                    differing(one.get(name), other.get(name), path)
                })
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let length = one.len().max(other.len());
            (0..length).find_map(|index| differing(one.get(index), other.get(index), format!("{path}[{index}]")))
        }
        (Some(Value::Number(one)), Some(Value::Number(other))) => (!same(one, other)).then_some(path),
        (one, other) => (one != other).then_some(path),
    }
}

/// Returns `true` if two addresses lead to the same picture of a business, whatever its host was called then.
fn same_picture(one: Option<&Value>, other: Option<&Value>) -> bool {
    let behind_origin = |value: Option<&Value>| {
        let url = Url::parse(value?.as_str()?).ok()?;
        url.has_host().then(|| url[Position::BeforePath..].to_owned())
    };
    behind_origin(one).is_some_and(|path| behind_origin(other) == Some(path))
}

fn same(one: &Number, other: &Number) -> bool {
    let integer = |number: &Number| {
        let float = || json::integer(number).map(i128::from);
        number.as_u64().map(i128::from).or_else(float)
    };
    match (integer(one), integer(other)) {
        (None, None) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(one: &Value, other: &Value) -> Option<String> {
        let difference = difference(one, other, &TERMS);
        assert_eq!(difference, super::difference(other, one, &TERMS));
        difference
    }

    fn checkout(change: impl FnOnce(&mut Value)) -> Value {
        let mut checkout = json!({
            "id": "chk_1",
            "status": "ready_for_complete",
            "currency": "EUR",
            "line_items": [{ "id": "li_1", "item": { "id": "a", "price": 1250 }, "quantity": 2 }, { "id": "li_2" }],
            "totals": [{ "type": "subtotal", "amount": 2500 }, { "type": "total", "amount": 2500 }],
        });
        change(&mut checkout);
        checkout
    }

    #[test]
    fn terms_are_compared_to_the_last_member() {
        let agreed = checkout(|_| {});
        for (changed, path) in [
            (checkout(|it| it["id"] = "chk_2".into()), "$.id"),
            (checkout(|it| it["id"] = 1.into()), "$.id"),
            (checkout(|it| it["currency"] = "USD".into()), "$.currency"),
            (checkout(|it| it["line_items"][0]["quantity"] = 3.into()), "$.line_items[0].quantity"),
            (checkout(|it| it["line_items"][0]["item"]["price"] = 1249.into()), "$.line_items[0].item.price"),
            (checkout(|it| it["line_items"][0]["item"]["price"] = "1250".into()), "$.line_items[0].item.price"),
            (checkout(|it| it["line_items"][1]["gift"] = Value::Null), "$.line_items[1].gift"),
            (checkout(|it| it["line_items"] = json!([it["line_items"][0]])), "$.line_items[1]"),
            (checkout(|it| it["totals"].as_array_mut().unwrap().reverse()), "$.totals[0].type"),
            (checkout(|it| it["totals"][1]["amount"] = json!(2500.5)), "$.totals[1].amount"),
            (checkout(|it| drop(it.as_object_mut().unwrap().remove("totals"))), "$.totals"),
        ] {
            assert_eq!(at(&agreed, &changed).as_deref(), Some(path));
        }
    }

    #[test]
    fn what_is_no_term_and_how_it_is_written_does_not_matter() {
        let agreed = checkout(|_| {});
        let other = checkout(|it| it["status"] = "completed".into());
        assert_eq!(at(&agreed, &other), None);
        let other = checkout(|it| it["totals"][0] = json!({ "amount": 2500.0, "type": "subtotal" }));
        assert_eq!(at(&agreed, &other), None);
        assert_eq!(at(&json!({}), &json!([])), None);
    }

    #[test]
    fn a_picture_may_move_with_the_business_and_be_no_other() {
        let shows = |url: Value| checkout(|it| it["line_items"][0]["item"]["image_url"] = url);
        let agreed = shows("http://127.0.0.1:8080/pictures/a.svg?v=1".into());
        assert_eq!(at(&agreed, &shows("https://shop.example.com/pictures/a.svg?v=1".into())), None);
        for other in [
            json!("https://shop.example.com/pictures/b.svg?v=1"),
            json!("https://shop.example.com/pictures/a.svg?v=2"),
            json!("/pictures/a.svg?v=1"),
            json!("data:/pictures/a.svg?v=1"),
            Value::Null,
        ] {
            assert_eq!(at(&agreed, &shows(other)).as_deref(), Some("$.line_items[0].item.image_url"));
        }
        assert_eq!(at(&agreed, &checkout(|_| {})).as_deref(), Some("$.line_items[0].item.image_url"));
    }

    #[test]
    fn large_amounts_are_told_apart() {
        let amount = |amount: Value| json!({ "totals": [amount] });
        for (one, other) in [
            (json!(9_007_199_254_740_992_i64), json!(9_007_199_254_740_993_i64)),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)),
            (json!(u64::MAX), json!(u64::MAX - 1)),
            (json!(u64::MAX), json!(-1)),
            (json!(u64::MAX), json!(u64::MAX as f64)),
        ] {
            assert_eq!(at(&amount(one.clone()), &amount(other)).as_deref(), Some("$.totals[0]"));
            assert_eq!(at(&amount(one.clone()), &amount(one)), None);
        }
    }

    #[test]
    fn paths_stay_short() {
        let nested = |leaf: Value| (0..60).fold(leaf, |inner, _| json!({ "a long name of a member": inner }));
        let difference = at(&json!({ "totals": nested(1.into()) }), &json!({ "totals": nested(2.into()) }));
        assert_eq!(difference.unwrap().chars().count(), LONGEST);
    }
}
