//! Documents on their way from one release to another.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use ucp_core::{
    Operation, Outcome, Release,
    message::{Message, Severity},
    negotiation::{Active, Names},
    operation::SupportedOperations,
    ports::ForwardedAnswer,
    purchase::payment::Declaration,
};

use super::{active, answer, encoded, sample};
use crate::{
    codec::{encode, read},
    dialect::offered,
    encoded::Encoded,
    offer::Offer,
    relay,
    releases::dialect,
    site::Site,
};

/// The operations that a shop elsewhere can be asked.
fn asked() -> impl Iterator<Item = Operation> {
    let shopping = |operation: &Operation| operation.row().service == ucp_core::operation::SHOPPING;
    Operation::ALL.iter().copied().filter(shopping)
}

/// Pairs of releases that both have an operation.
fn pairs(operation: Operation) -> impl Iterator<Item = (Release, Release)> {
    let has = move |release: &Release| dialect(*release).shapes(operation).is_some();
    let releases: Vec<_> = Release::ALL.iter().copied().filter(has).collect();
    let second = releases.clone();
    releases.into_iter().flat_map(move |from| second.clone().into_iter().map(move |to| (from, to)))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is not an object"),
    }
}

/// Returns the response to a caller of `to` when a shop that speaks `from` answers.
fn relayed(from: Release, to: Release, operation: Operation, said: Value, status: u16) -> Encoded {
    let body = relay::answer(from, to, operation, object(said));
    let carried = ForwardedAnswer { body: body.into(), sealed: false, status };
    relay::encode(dialect(to), operation, &carried, &active(dialect(to)), None)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn an_answer_is_what_the_release_itself_would_say() {
    let mut compared = 0;
    for operation in asked() {
        let outcome = answer(operation);
        for (from, to) in pairs(operation).filter(|(from, to)| from >= to) {
            let said = encoded(dialect(from), operation, &outcome);
            let relayed = relayed(from, to, operation, said, 200);
            let direct = encoded(dialect(to), operation, &outcome);
            assert_eq!(parsed(&relayed.document), direct, "{} from {from} to {to}", operation.row().name);
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

/// Releases with carts say more than those without; what these say comes back from those as it was.
#[test]
fn an_answer_of_an_older_release_comes_back_from_a_newer_one() {
    for operation in asked() {
        let outcome = answer(operation);
        for (from, to) in pairs(operation).filter(|(from, to)| from < to) {
            let said = encoded(dialect(from), operation, &outcome);
            let there = relay::answer(from, to, operation, object(said.clone()));
            let newer = relay::encode(
                dialect(to),
                operation,
                &ForwardedAnswer { body: there.into(), sealed: false, status: 200 },
                &active(dialect(to)),
                None,
            );
            let back = relayed(to, from, operation, parsed(&newer.document), 200);
            assert_eq!(parsed(&back.document), said, "{} from {from} to {to}", operation.row().name);
        }
    }
}

#[test]
fn nothing_to_return_is_said_as_each_release_does() {
    let outcomes = [
        (200, Message::error("not_found", "There is no such thing.", Severity::Unrecoverable)),
        (409, Message::error("checkout_completed", "It is over.", Severity::Unrecoverable)),
        (200, Message::error("out_of_stock", "There is none left.", Severity::Recoverable)),
    ];
    for (status, message) in outcomes {
        let outcome = Outcome::NoResource {
            messages: vec![message],
            continue_url: Some("https://shop.example/".to_owned()),
            id: None,
            conflict: status == 409,
        };
        for operation in asked() {
            // The oldest releases have no word for what nobody can act on.
            for (from, to) in pairs(operation).filter(|(from, to)| *from >= Release::V2026_04_08 || from == to) {
                let dialect = dialect(to);
                let said = encoded(super::dialect(from), operation, &outcome);
                let relayed = relayed(from, to, operation, said, status);
                let direct = encode(dialect, operation, &outcome, &active(dialect));
                assert_eq!(parsed(&relayed.document), parsed(&direct.document), "{} to {to}", operation.row().name);
                assert_eq!(relayed.status, direct.status);
            }
        }
    }
}

#[test]
fn members_of_inactive_extensions_are_removed_from_relayed_answers() {
    let operation = Operation::GetCheckout;
    for release in Release::ALL.iter().copied() {
        let dialect = dialect(release);
        let everything = ucp_core::operation::SupportedOperations::everything();
        let roots: Vec<_> =
            offered(dialect, &everything).filter(|offer| offer.extends.is_empty()).map(Offer::declaration).collect();
        let mut said = object(encoded(dialect, operation, &answer(operation)));
        said.insert("com.example.loyalty".to_owned(), json!({ "points": 7 }));
        said.insert("com.example.other".to_owned(), json!([1]));
        if let Some(capabilities) = said["ucp"]["capabilities"].as_object_mut() {
            capabilities.insert("com.example.loyalty".to_owned(), json!([{ "version": "2026-01-01" }]));
        }
        let is_map = said["ucp"]["capabilities"].is_object();
        let carried = ForwardedAnswer { body: said.into(), sealed: false, status: 200 };
        let bare = parsed(&relay::encode(dialect, operation, &carried, &Active::all(&roots), None).document);
        for gone in ["discounts", "fulfillment", "ap2"] {
            assert!(bare.get(gone).is_none(), "{gone} in {release}");
        }
        assert!(bare["buyer"].get("consent").is_none());
        assert_eq!(bare["buyer"]["nickname"], "J");
        assert_eq!(bare["com.example.other"], json!([1]), "nobody declared it, so that nobody is surprised");
        assert_eq!(bare.get("com.example.loyalty").is_none(), is_map, "declared, and not negotiated");
    }
}

#[test]
fn signed_answers_are_sent_unchanged() {
    let body = object(json!({ "ucp": { "version": "x", "status": "error" }, "unknown": 1, "ap2": {} }));
    let carried = ForwardedAnswer { body: body.clone().into(), sealed: true, status: 201 };
    let note = Message::info("note", "A note.");
    let dialect = dialect(Release::V2026_04_08);
    let encoded = relay::encode(dialect, Operation::CreateCheckout, &carried, &active(dialect), Some(&note));
    assert_eq!((parsed(&encoded.document), encoded.status), (Value::Object(body), 201));
}

#[test]
fn a_note_is_added_to_what_the_shop_says() {
    let note = Message::warning("profile_unreachable", "Nobody knows you.");
    for release in Release::ALL.iter().copied() {
        let dialect = dialect(release);
        for body in [json!({ "ucp": {}, "id": "c" }), json!({ "ucp": { "status": "error" }, "messages": [] })] {
            let carried = ForwardedAnswer { body: object(body).into(), sealed: false, status: 200 };
            let encoded = relay::encode(dialect, Operation::GetCheckout, &carried, &active(dialect), Some(&note));
            let said = parsed(&encoded.document);
            let messages = said["messages"].as_array().expect("messages");
            assert!(messages.iter().any(|message| message["code"] == "profile_unreachable"), "{said}");
        }
    }
}

/// Returns requests of a platform of a release, with everything that releases state differently.
fn requests(release: Release) -> Vec<(Operation, Value)> {
    let founding = release < Release::V2026_04_08;
    let consent = if release == Release::V2026_08_25 {
        json!({ "dev.ucp.consent.marketing": { "granted": true, "source": "platform", "description": "Advertising and newsletters." } })
    } else {
        json!({ "marketing": true })
    };
    let instrument = if release == Release::V2026_01_11 {
        json!({ "id": "pi_1", "handler_id": "sandbox", "type": "card", "brand": "Visa", "last_digits": "4242" })
    } else {
        json!({ "id": "pi_1", "handler_id": "sandbox", "type": "card", "selected": true,
            "display": { "brand": "Visa", "last_digits": "4242" } })
    };
    let mut checkout = json!({
        "line_items": [{ "item": { "id": "small" }, "quantity": 2 }],
        "buyer": { "email": "jane@example.com", "consent": consent, "nickname": "J" },
        "discounts": { "codes": ["SAVE10"] },
        "payment": { "instruments": [instrument] },
        "fulfillment": { "methods": [{ "type": "shipping", "destinations": [
            { "street_address": "1 Main St", "address_country": "US", "gate": "green" },
        ] }] },
        "com.example.unknown": { "kept": [1, 2.5, null] },
    });
    if release == Release::V2026_01_11 {
        checkout["payment"]["selected_instrument_id"] = "pi_1".into();
    }
    let mut paying = checkout["payment"]["instruments"][0].clone();
    paying["credential"] = json!({ "type": "token", "token": "tok" });
    let mut complete = if release == Release::V2026_01_11 {
        json!({ "payment_data": paying })
    } else {
        json!({ "payment": { "instruments": [paying] } })
    };
    complete[if founding { "risk_signals" } else { "signals" }] = json!({ "dev.ucp.user_agent": "A/1" });
    let mut update = checkout.clone();
    update["id"] = "the one".into();
    vec![
        (Operation::CreateCheckout, checkout),
        (Operation::UpdateCheckout, update),
        (Operation::CompleteCheckout, complete),
    ]
}

#[test]
fn a_request_means_the_same_in_every_release() {
    for from in Release::ALL.iter().copied() {
        for (operation, payload) in requests(from) {
            let id = operation.takes_id().then_some("the one");
            let meant = |release: Release, payload: Value| {
                let request = read(dialect(release), operation, id, payload, &[]).expect("a request");
                // The only instrument is the chosen one, and what is said beside a decision is for people.
                let said = format!("{request:?}").replace("selected: None", "selected: Some(true)");
                let decisions = said.split("Purpose {").map(|part| part.split("extra:").next().unwrap_or_default());
                decisions.map(str::to_owned).collect::<Vec<_>>()
            };
            for to in Release::ALL.iter().copied() {
                let written = relay::request(from, to, operation, id, payload.clone());
                if operation != Operation::CompleteCheckout {
                    assert_eq!(written["com.example.unknown"], json!({ "kept": [1, 2.5, null] }));
                }
                assert_eq!(meant(to, written.clone()), meant(from, payload.clone()), "{from} to {to}: {written}");
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\ é]{0,8}".prop_map(Value::from),
    ];
    // The names that steps are about, so that they meet whatever can stand there.
    let name = prop_oneof![
        "[a-z]{1,4}",
        proptest::sample::select(vec![
            "totals",
            "type",
            "amount",
            "fulfillment",
            "methods",
            "destinations",
            "groups",
            "options",
            "description",
            "buyer",
            "consent",
            "marketing",
            "payment",
            "instruments",
            "display",
            "handlers",
            "ucp",
            "payment_handlers",
            "status",
            "messages",
            "severity",
            "discounts",
            "applied",
            "products",
            "product",
            "variants",
            "unit_price",
            "measure",
            "reference",
            "value",
            "scale",
            "unit",
            "id",
            "code",
            "content",
            "capabilities",
            "selected",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn relaying_any_document_does_not_panic(document in any_json(), operation in 0_usize..13, from in 0_usize..4, to in 0_usize..4) {
        let operation = asked().nth(operation).expect("an operation");
        let (from, to) = (Release::ALL[from], Release::ALL[to]);
        let _ = relay::request(from, to, operation, Some("id"), document.clone());
        if let Value::Object(members) = document {
            let body = relay::answer(from, to, operation, members);
            let carried = ForwardedAnswer { body: body.into(), sealed: false, status: 200 };
            let encoded = relay::encode(dialect(to), operation, &carried, &active(dialect(to)), None);
            prop_assert!(parsed(&encoded.document).is_object());
        }
    }

    #[test]
    fn unknown_members_are_relayed_unchanged(unknown in any_json(), from in 0_usize..4, to in 0_usize..4) {
        let (from, to) = (Release::ALL[from], Release::ALL[to]);
        // Under a name that leads to nothing: totals alone are looked for everywhere.
        let text = unknown.to_string();
        prop_assume!(!text.contains("totals"));
        let operation = Operation::GetCheckout;
        let answer = json!({ "ucp": { "x": unknown }, "id": "c", "x": unknown, "buyer": { "x": unknown } });
        let document = parsed(&relayed(from, to, operation, answer, 200).document);
        prop_assert_eq!(&document["x"], &unknown);
        prop_assert_eq!(&document["buyer"]["x"], &unknown);
        prop_assert_eq!(&document["ucp"]["x"], &unknown);
        let request = json!({ "line_items": [{ "x": unknown }], "x": unknown });
        let written = relay::request(from, to, Operation::CreateCheckout, None, request.clone());
        prop_assert_eq!(written, request);
    }
}

#[test]
fn a_payment_handler_without_addresses_has_none_that_are_empty() {
    let handler = Declaration { spec: String::new(), schema: String::new(), ..sample::handler() };
    for release in Release::ALL.iter().copied() {
        let profile = dialect(release).profile(&Site {
            endpoint: "https://shop.example/ucp",
            offering: &SupportedOperations::everything(),
            names: &Names::default(),
            keys: &[],
            handlers: std::slice::from_ref(&handler),
            supported_versions: &[],
        });
        let stated = match &profile["payment"]["handlers"] {
            Value::Array(listed) => &listed[0],
            _ => &profile["ucp"]["payment_handlers"]["com.example.sandbox"][0],
        };
        assert_eq!(stated["id"], "sandbox", "{release}");
        for name in ["spec", "schema", "config_schema"] {
            assert_eq!(stated.get(name), None, "{release}: {stated}");
        }
    }
}
