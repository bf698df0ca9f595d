//! Identifiers, quantities and texts of attackers and careless programs.

use serde_json::{Value, json};
use ucp_core::{Operation, Release, operation::Class};

use super::shopper::{Flowers, Shopper, flowers, id, lines, new_key, ready, total, ways};
use crate::{harness::elements, setup::Transport};

const IDS: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "chk_'; DROP TABLE checkouts; --",
    "chk_%",
    "*",
    "\u{0}",
    "\u{202e}\u{1f339}",
    "\r\nX-Evil: 1",
    "chk_00000000000000000000000000000000/complete",
    "{id}",
    "null",
];

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn identifiers_are_compared_and_nothing_else() {
    let shop = flowers();
    let long = "x".repeat(20_000);
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let callable = |operation: &&Operation| {
            let row = operation.row();
            let there = release >= Release::V2026_04_08 || row.name.ends_with("_checkout");
            operation.takes_id() && row.class != Class::Browsing && there
        };
        for operation in Operation::ALL.iter().filter(callable) {
            let name = operation.row().name;
            let payload = if name == "complete_checkout" {
                shopper.paying("success_token")
            } else {
                ready(&[("pot_ceramic", 1)])
            };
            for hostile in IDS.iter().copied().chain([long.as_str()]) {
                // In a path it has to be written in a way that HTTP can carry.
                let written = if transport == Transport::Rest { encoded(hostile) } else { hostile.to_owned() };
                let said = shopper.call(name, Some(&written), &payload);
                let codes = said.errors();
                let refused = [400, 404, 405, 414, 431].contains(&said.status);
                assert!(
                    refused || codes == ["not_found"],
                    "{release} {transport:?} {name} {hostile:.40?}: {said:.600?}"
                );
                assert_eq!(said.response.header("x-evil"), None);
            }
        }
    }
    // An identifier must be UTF-8.
    let shopper = Shopper::rest(&shop);
    let said = shopper.call("get_checkout", Some("%FF%FE"), &json!({}));
    assert_eq!((said.status, said.refusal().0.as_str()), (400, "invalid_request"), "{said:?}");
    assert_eq!(said.refusal().2["path"], "$.id");
}

/// T-12: the payload may name the resource once more, but no other.
#[test]
fn t_12_another_identifier_in_the_payload_is_refused() {
    let shop = flowers();
    for (release, transport) in ways().filter(|(_, transport)| *transport != Transport::Method) {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let mut request = ready(&[("pot_ceramic", 2)]);
        for (own, status) in
            [(json!(id(&checkout)), 200), (json!("chk_other"), 400), (json!(3), 400), (json!(null), 400)]
        {
            request["id"] = own.clone();
            let said = shopper.call("update_checkout", Some(id(&checkout)), &request);
            assert_eq!(said.status, status, "{own}: {said:?}");
            if status == 400 {
                assert_eq!(said.refusal().2["path"], "$.id", "{own}: {said:?}");
            }
        }
    }
}

/// T-41, TOT-06: whole numbers however they are written; nothing else, and never more than money can count.
#[test]
fn quantities_are_whole_and_sane() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let with = |quantity: &str| {
            let text = format!("{{\"line_items\":[{{\"item\":{{\"id\":\"pot_ceramic\"}},\"quantity\":{quantity}}}]}}");
            shopper.call("create_checkout", None, &serde_json::from_str::<Value>(&text).expect("JSON"))
        };
        for whole in ["2", "2.0", "2e0", "0.2e1"] {
            assert_eq!(with(whole).document()["line_items"][0]["quantity"], 2, "{whole}");
        }
        for wrong in ["0", "-1", "1.5", "1e30", "9007199254740993", "18446744073709551615", "1000001", "\"2\"", "null"]
        {
            let said = with(wrong);
            // A tool is called by models, which write numbers as text.
            if wrong == "\"2\"" && transport == Transport::Tool {
                assert_eq!(said.document()["line_items"][0]["quantity"], 2);
                continue;
            }
            let (code, _, body) = said.refusal();
            assert_eq!((said.status, code.as_str()), (400, "invalid_request"), "{wrong}: {said:?}");
            assert_eq!(body["path"], "$.line_items[0].quantity", "{wrong}: {said:?}");
        }
        // The most there can be of anything, more often than there is.
        let most = shopper.create(&json!({ "line_items": lines(&[("bouquet_roses", 1_000_000)]) }));
        assert!(total(&most, "total") < 9_007_199_254_740_991, "{most}");
    }
}

#[test]
fn long_lists_are_taken_up_to_what_is_published() {
    let shop = flowers();
    let shopper = Shopper::rest(&shop);
    let many = |count: usize| json!({ "line_items": lines(&vec![("pot_ceramic", 1); count]) });
    let checkout = shopper.create(&many(1_000));
    assert!(!elements(&checkout["line_items"]).is_empty());
    for transport in Transport::ALL {
        let said = shopper.over(transport).call("create_checkout", None, &many(1_001));
        let (code, _, body) = said.refusal();
        assert_eq!((said.status, code.as_str(), &body["path"]), (400, "invalid_request", &json!("$.line_items")));
    }
    for (operation, payload) in
        [("create_checkout", json!({ "line_items": [] })), ("create_cart", json!({ "line_items": [] }))]
    {
        let said = shopper.call(operation, None, &payload);
        assert!(said.status == 400 || !said.errors().is_empty(), "nothing is bought with nothing: {said:?}");
    }
}

/// Texts come back as they were sent, whatever script they are written in, and break nothing.
#[test]
fn texts_of_buyers_come_back_as_they_were_sent() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for text in
            ["Łukasz Ünï", "山田太郎", "عمر", "a\u{301}", "👩‍🌾", "O'Neil \"Bob\" <b>", "\\u0000", "  x  ", "'; --"]
        {
            let mut request = ready(&[("pot_ceramic", 1)]);
            request["buyer"]["first_name"] = json!(text);
            request["fulfillment"]["methods"][0]["destinations"][0]["street_address"] = json!(text);
            let checkout = shopper.create(&request);
            assert_eq!(checkout["buyer"]["first_name"], text);
            let street = &checkout["fulfillment"]["methods"][0]["destinations"][0]["street_address"];
            assert_eq!(street.as_str().map(str::trim), Some(text.trim()), "{checkout}");
            assert_eq!(shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document(), checkout);
        }
    }
}

/// Bodies that are none, where one is needed, and bodies where none is.
#[test]
fn bodies_that_are_none_are_told_so() {
    let shop = Flowers::open();
    let checkout = Shopper::rest(&shop).create(&ready(&[("pot_ceramic", 1)]));
    let path = format!("/ucp/2026-08-25/checkout-sessions/{}", id(&checkout));
    let key = new_key();
    let headers = [crate::harness::REST_HEADERS, &[("Idempotency-Key", key.as_str())]].concat();
    for (method, path) in [
        ("POST", "/ucp/2026-08-25/carts".to_owned()),
        ("POST", "/ucp/2026-08-25/checkout-sessions".to_owned()),
        ("PUT", path.clone()),
        ("POST", format!("{path}/complete")),
    ] {
        for body in ["", "{", "[]", "null", "\"text\"", "{\"line_items\":1,\"line_items\":[]}"] {
            let response = shop.send(method, &path, &headers, body.as_bytes());
            assert_eq!(response.status, 400, "{method} {path} {body}: {response:?}");
            assert!(response.json()["path"].as_str().is_some_and(|path| path.starts_with('$')), "{response:?}");
        }
        let plain = [("UCP-Agent", "profile=\"https://agent.example.com/profile.json\"")];
        assert_eq!(shop.send(method, &path, &plain, b"{}").status, 415, "{method} {path}");
    }
    // Without a body, `{}` is ignored, and so is anything else.
    let cancel = |body: &[u8]| shop.send("POST", &format!("{path}/cancel"), &headers, body);
    let first = cancel(b"");
    assert_eq!((first.status, &first.json()["status"]), (200, &json!("canceled")));
    assert_eq!(cancel(b"{}").body, first.body, "the same call (T-09)");
}

/// Wrong methods are told the right ones.
#[test]
fn paths_say_which_methods_they_take() {
    let shop = flowers();
    for (path, own) in [
        ("/carts", "POST"),
        ("/carts/x", "GET,HEAD,PUT"),
        ("/carts/x/cancel", "POST"),
        ("/checkout-sessions", "POST"),
        ("/checkout-sessions/x", "GET,HEAD,PUT"),
        ("/checkout-sessions/x/complete", "POST"),
        ("/checkout-sessions/x/cancel", "POST"),
        ("/orders/x", "GET,HEAD"),
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if own.split(',').any(|taken| taken == method) {
                continue;
            }
            let response = shop.send(method, path, crate::harness::REST_HEADERS, b"{}");
            assert_eq!(response.status, 405, "{method} {path}: {response:?}");
            let mut allowed: Vec<_> =
                response.header("allow").expect("the methods").split(',').map(str::trim).collect();
            allowed.sort_unstable();
            assert_eq!(allowed.join(","), own, "{method} {path}");
        }
    }
}
