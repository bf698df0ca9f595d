//! Requests and answers about carts, checkouts and orders.

use std::{collections::BTreeMap, fs, path::Path};
use ucp_core::call::SaleRequest;

use proptest::prelude::*;
use serde_json::{Value, json};
use ucp_core::{
    Answer, Code, Operation, Outcome, Refusal, Release, Request,
    checkout::{Action, Status},
    message::{Message, Severity},
    money::Amount,
    negotiation::Active,
    purchase::{
        draft::Draft,
        fulfillment::MethodKind,
        payment::AuthenticationStep,
        totals::{Total, TotalKind},
    },
};

use super::{
    active, dialects, encoded,
    sample::{self, CANARY},
};
use crate::{
    codec::{encode, read},
    dialect::{Dialect, offered, publishes},
    offer::Offer,
    releases::dialect,
    schema::{self, Direction},
};

fn modern() -> impl Iterator<Item = &'static dyn Dialect> {
    dialects().filter(|dialect| dialect.release() >= Release::V2026_04_08)
}

fn draft(dialect: &dyn Dialect, operation: Operation, payload: Value) -> Result<Draft, Refusal> {
    let id = operation.takes_id().then_some("the one");
    Ok(match read(dialect, operation, id, payload, &["de".to_owned()])? {
        Request::Sale(SaleRequest::CreateCart(create)) => create.draft,
        Request::Sale(SaleRequest::UpdateCart(update)) => update.draft,
        Request::Sale(SaleRequest::CreateCheckout(create)) => create.draft,
        Request::Sale(SaleRequest::UpdateCheckout(update)) => update.draft,
        other => panic!("{other:?} has no draft"),
    })
}

fn lines() -> Value {
    json!([{ "item": { "id": "small" }, "quantity": 2 }])
}

#[test]
fn members_that_only_the_shop_sets_are_ignored_in_requests() {
    for dialect in dialects() {
        let payload = json!({
            "id": "the one", "status": "completed", "currency": "XXX", "totals": "free", "ucp": [], "order": { "id": 1 },
            "links": 3, "messages": {}, "expires_at": 5, "continue_url": [],
            "line_items": [{
                "id": "li_7", "parent_id": "li_1", "quantity": 100.0, "totals": [],
                "item": { "id": "small", "title": "Gold", "price": 1, "image_url": 7 },
            }],
            "discounts": { "codes": ["A", "A"], "applied": "everything" },
            "fulfillment": { "methods": [], "available_methods": 5 },
        });
        let draft = draft(dialect, Operation::UpdateCheckout, payload).expect("a draft");
        let line = &draft.line_items[0];
        assert_eq!((line.id.as_deref(), line.item.as_str(), line.quantity), (Some("li_7"), "small", 100));
        assert_eq!(line.parent_id.as_deref(), Some("li_1"));
        assert_eq!(draft.codes.as_deref(), Some(&["A".to_owned(), "A".to_owned()][..]));
        assert_eq!(draft.context.currency, None);
        assert_eq!(draft.context.languages, ["de"]);
    }
}

#[test]
fn refusals_of_payloads_name_the_path_of_the_fault() {
    let cases = [
        (json!({}), "$.line_items"),
        (json!({ "line_items": {} }), "$.line_items"),
        (json!({ "line_items": [{ "item": { "id": "x" } }] }), "$.line_items[0].quantity"),
        (json!({ "line_items": [{ "item": { "id": "x" }, "quantity": 0 }] }), "$.line_items[0].quantity"),
        (json!({ "line_items": [{ "item": { "id": "x" }, "quantity": 1.5 }] }), "$.line_items[0].quantity"),
        (json!({ "line_items": [{ "item": { "id": "x" }, "quantity": 1_000_001 }] }), "$.line_items[0].quantity"),
        (json!({ "line_items": [{ "item": {}, "quantity": 1 }] }), "$.line_items[0].item.id"),
        (json!({ "line_items": lines(), "buyer": { "email": 1 } }), "$.buyer.email"),
        (json!({ "line_items": lines(), "discounts": { "codes": [1] } }), "$.discounts.codes[0]"),
        (
            json!({ "line_items": lines(), "fulfillment": { "methods": [{ "destinations": [{ "postal_code": 1 }] }] } }),
            "$.fulfillment.methods[0].destinations[0].postal_code",
        ),
        (json!({ "line_items": vec![lines()[0].clone(); 1_001] }), "$.line_items"),
        (json!({ "id": "another", "line_items": lines() }), "$.id"),
    ];
    for (dialect, (payload, path)) in dialects().flat_map(|dialect| cases.iter().map(move |case| (dialect, case))) {
        let refusal = draft(dialect, Operation::UpdateCheckout, payload.clone()).expect_err("wrong");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some(*path)), "{payload}");
    }
    for operation in Operation::ALL.iter().filter(|operation| operation.takes_id()) {
        let payload = json!({ "line_items": lines(), "payment": {} });
        let refusal = read(dialect(Release::NEWEST), *operation, None, payload, &[]).expect_err("no id");
        assert_eq!(refusal.path.as_deref(), Some("$.id"));
    }
}

#[test]
fn a_cart_waives_lines_and_a_choice_can_be_null() {
    for dialect in modern() {
        let read = read(dialect, Operation::CreateCheckout, None, json!({ "cart_id": "cart_1" }), &[]);
        let Ok(Request::Sale(SaleRequest::CreateCheckout(create))) = read else { panic!("a checkout") };
        assert_eq!(create.cart_id.as_deref(), Some("cart_1"));
        assert!(create.draft.line_items.is_empty());
        assert!(draft(dialect, Operation::CreateCheckout, json!({ "buyer": {} })).is_err());
    }
    // A new checkout has no groups that could be named.
    let operations = [(Operation::CreateCheckout, None), (Operation::UpdateCheckout, Some("g"))];
    for (dialect, (operation, known)) in dialects().flat_map(|dialect| operations.map(|each| (dialect, each))) {
        let payload = json!({ "line_items": lines(), "fulfillment": { "methods": [{
            "type": "pickup", "selected_destination_id": null,
            "destinations": [{ "id": "s", "type": "business_location", "name": "Store", "address": { "postal_code": "1" } }],
            "groups": [{ "id": "g", "selected_option_id": null }, { "selected_option_id": "o" }],
        }] } });
        let draft = draft(dialect, operation, payload).expect("a draft");
        let method = &draft.fulfillment.expect("a wish").methods[0];
        assert_eq!((method.selected_destination_id.as_ref(), method.line_item_ids.as_ref()), (None, None));
        assert_eq!(method.destinations[0].name.as_deref(), Some("Store"));
        assert_eq!(method.destinations[0].address.postal_code.as_deref(), Some("1"));
        assert!(method.destinations[0].address.extra.is_empty());
        assert_eq!((method.groups[0].selected_option_id.as_ref(), method.groups[1].id.as_ref()), (None, None));
        assert_eq!(method.groups[1].selected_option_id.as_deref(), Some("o"));
        assert_eq!(method.groups[0].id.as_deref(), known);
    }
}

#[test]
fn circumstances_are_read_and_kept_as_they_came() {
    for dialect in modern() {
        let context = json!({
            "country": "US", "address_region": "IL", "postal_code": "62701", "language": "fr", "currency": "EUR",
            "eligibility": ["com.example.member", "com.example.member", "Not a name", 5, "com.1-shop.gold"], "x": { "y": 1 },
        });
        // Hyphens and labels that begin with a digit came with the newest release.
        let newest = dialect.release() == Release::NEWEST;
        let claims = if newest { vec!["com.example.member", "com.1-shop.gold"] } else { vec!["com.example.member"] };
        let draft = draft(dialect, Operation::CreateCart, json!({ "line_items": lines(), "context": context }));
        let Draft { context, context_stated, .. } = draft.expect("a draft");
        assert_eq!(context.country.as_deref(), Some("US"));
        assert_eq!(context.region.as_deref(), Some("IL"));
        assert_eq!(context.languages, ["fr", "de"]);
        assert_eq!(context.eligibility, claims);
        let stated = Value::Object(context_stated.expect("stated"));
        assert_eq!((&stated["x"]["y"], &stated["eligibility"]), (&json!(1), &json!(claims)));
        assert_eq!(stated["address_country"], "US");
    }
}

/// Instruments with a credential, in every place that a release has for them.
fn paying(release: Release) -> Vec<Value> {
    let card = json!({
        "id": "pi_1", "handler_id": "sandbox", "type": "card", "selected": true,
        "credential": { "type": "token", "token": CANARY, "secret": { "deep": [CANARY] } },
        "display": { "brand": "Visa", "last_digits": "4242" },
    });
    let mut places = vec![json!({ "payment": { "instruments": [card] } })];
    if release < Release::V2026_04_08 {
        let flat = json!({
            "id": "pi_1", "handler_id": "sandbox", "type": "card", "brand": "Visa", "last_digits": "4242",
            "credential": { "type": "token", "token": CANARY, "secret": { "deep": [CANARY] } },
        });
        places.push(json!({ "payment_data": flat, "risk_signals": {} }));
        places.push(json!({ "payment": flat }));
        let other = json!({ "id": "pi_2", "handler_id": "sandbox", "type": "card" });
        places.push(
            json!({ "payment": { "selected_instrument_id": "pi_1", "instruments": [flat, other], "handlers": [] } }),
        );
    }
    places
}

#[test]
fn credentials_reach_the_payment_handler_alone() {
    for dialect in dialects() {
        for payload in paying(dialect.release()) {
            if dialect.release() == Release::V2026_01_23 && payload.get("payment_data").is_some() {
                continue;
            }
            let request = read(dialect, Operation::CompleteCheckout, Some("chk_1"), payload.clone(), &[]);
            let request = request.unwrap_or_else(|refusal| panic!("{refusal}: {payload}"));
            assert!(!format!("{request:?}").contains(CANARY));
            let Request::Sale(SaleRequest::CompleteCheckout(complete)) = request else { panic!("a completion") };
            let tender = &complete.tenders[0];
            let credential = tender.credential.as_ref().expect("a credential");
            assert_eq!((credential.kind.as_str(), &credential.reveal()["token"]), ("token", &json!(CANARY)));
            assert_eq!(credential.reveal()["type"], "token");
            let display = tender.instrument.display.as_ref().expect("something to show");
            assert_eq!((&display["brand"], &display["last_digits"]), (&json!("Visa"), &json!("4242")));
            if let [_, other] = complete.tenders.as_slice() {
                assert_eq!((tender.instrument.selected, other.instrument.selected), (Some(true), Some(false)));
            }

            let mut payload = payload;
            payload["line_items"] = lines();
            let stated = draft(dialect, Operation::CreateCheckout, payload).expect("a draft");
            assert!(!format!("{stated:?}").contains(CANARY));
            assert!(!serde_json::to_string(&stated).expect("JSON").contains(CANARY));
        }
        let wrong = json!({ "line_items": lines(), "payment": { "instruments": [{ "id": "x", "handler_id": "y",
            "type": "card", "credential": CANARY }] } });
        let refusal = draft(dialect, Operation::UpdateCheckout, wrong).expect_err("no credential");
        assert!(!format!("{refusal:?}").contains(CANARY));
    }
}

/// No text that is stored and returned may be a card number.
#[test]
fn identifiers_of_instruments_are_no_card_numbers() {
    fn replace(value: &mut Value, name: &str, text: &str) {
        match value {
            Value::Object(members) => {
                let is_instrument = members.contains_key("handler_id");
                for (member, value) in members.iter_mut() {
                    if is_instrument && member == name { *value = text.into() } else { replace(value, name, text) }
                }
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| replace(element, name, text)),
            _ => {}
        }
    }
    for dialect in dialects() {
        for (stated, name) in paying(dialect.release())
            .into_iter()
            .flat_map(|stated| ["id", "handler_id", "type"].map(|name| (stated.clone(), name)))
        {
            for number in ["4242424242424242", "of 4242 4242-4242 4242"] {
                let mut payload = stated.clone();
                payload["line_items"] = lines();
                replace(&mut payload, name, number);
                for (operation, id) in [
                    (Operation::CompleteCheckout, Some("chk_1")),
                    (Operation::CreateCheckout, None),
                    (Operation::UpdateCheckout, Some("chk_1")),
                ] {
                    let read = read(dialect, operation, id, payload.clone(), &[]);
                    if let Ok(request) = &read {
                        // Where the release has no such member, it is dropped.
                        assert!(
                            !format!("{request:?}").contains("4242 4") && !format!("{request:?}").contains("42424")
                        );
                        continue;
                    }
                    let refusal = read.expect_err("a number of a card");
                    assert_eq!(refusal.code, Code::InvalidRequest, "{refusal:?}");
                    assert!(!format!("{refusal:?}").contains("4242"), "{refusal:?}");
                }
                if dialect.release() == Release::NEWEST {
                    let read = read(dialect, Operation::CompleteCheckout, Some("chk_1"), payload, &[]);
                    let path = format!("$.payment.instruments[0].{name}");
                    assert_eq!(read.expect_err("a number of a card").path, Some(path));
                }
            }
        }
    }
}

#[test]
fn card_instruments_are_written_in_the_form_of_each_release() {
    let outcome = || Outcome::Answer(Answer::Checkout(sample::checkout(&json!({ "status": "incomplete" }))));
    let first = encoded(dialect(Release::V2026_01_11), Operation::GetCheckout, &outcome());
    assert_eq!(first["payment"]["selected_instrument_id"], "pi_1");
    let card = &first["payment"]["instruments"][0];
    assert_eq!(
        (&card["brand"], &card["last_digits"], &card["expiry_year"]),
        (&json!("Visa"), &json!("4242"), &json!(2030))
    );
    assert_eq!(first["payment"]["handlers"][0]["config_schema"], "https://pay.example/schema.json");
    for dialect in dialects().skip(1) {
        let later = encoded(dialect, Operation::GetCheckout, &outcome());
        assert_eq!(later["payment"]["instruments"][0]["display"]["brand"], "Visa");
        let handler = &later["ucp"]["payment_handlers"]["com.example.sandbox"][0];
        assert_eq!((&handler["id"], &handler["config"]["environment"]), (&json!("sandbox"), &json!("test")));
        assert_eq!(handler["available_instruments"][1]["type"], "wallet");
    }
}

#[test]
fn discounts_have_a_sign_since_there_are_carts() {
    for dialect in dialects() {
        let view = sample::checkout(&json!({ "status": "incomplete" }));
        let checkout = encoded(dialect, Operation::GetCheckout, &Outcome::Answer(Answer::Checkout(view)));
        let amount = &checkout["totals"][1]["amount"];
        assert_eq!(*amount, if dialect.release() < Release::V2026_04_08 { 200 } else { -200 });
        assert_eq!(checkout["line_items"][0]["totals"][1]["amount"], *amount);
        let applied = &checkout["discounts"]["applied"][1];
        assert_eq!(applied.get("provisional").is_some(), dialect.release() >= Release::V2026_04_08);
        let option = &checkout["fulfillment"]["methods"][0]["groups"][0]["options"][0];
        let consent = &checkout["buyer"]["consent"];
        if dialect.release() == Release::V2026_08_25 {
            assert_eq!(option["description"]["plain"], "Arrives in 5 to 7 days");
            assert_eq!(consent["dev.ucp.consent.sale_or_sharing"]["granted"], false);
            assert_eq!(checkout["fulfillment"]["methods"][1]["destinations"][0]["type"], "business_location");
        } else {
            assert_eq!(option["description"], "Arrives in 5 to 7 days");
            assert_eq!((&consent["marketing"], &consent["sale_of_data"]), (&json!(true), &json!(false)));
        }
    }
}

#[test]
fn consent_survives_the_way_through_the_domain() {
    let stated = json!({
        "dev.ucp.consent.marketing": {
            "granted": true, "source": "platform", "description": "News",
            "links": [{ "type": "privacy_policy", "url": "https://agent.example/" }],
            "segments": { "dev.ucp.consent.marketing.sms": { "granted": false, "source": "business", "description": "Texts" } },
        },
        "com.example.purpose.loyalty": { "granted": false, "source": "business", "description": "Points" },
        "com.1-shop.purpose": { "granted": true, "source": "business", "description": "More" },
    });
    let newest = dialect(Release::V2026_08_25);
    let payload = json!({ "line_items": lines(), "buyer": { "consent": stated } });
    let draft = draft(newest, Operation::CreateCheckout, payload).expect("a draft");
    let mut view = sample::checkout(&json!({ "status": "incomplete" }));
    view.checkout.draft.buyer = draft.buyer;
    let outcome = Outcome::Answer(Answer::Checkout(view));
    assert_eq!(encoded(newest, Operation::GetCheckout, &outcome)["buyer"]["consent"], stated);
    let older = encoded(dialect(Release::V2026_04_08), Operation::GetCheckout, &outcome);
    assert_eq!(older["buyer"]["consent"], json!({ "marketing": true }));
}

#[test]
fn extensions_are_answered_only_when_they_are_active() {
    for dialect in dialects() {
        let roots: Vec<_> = offered(dialect, &ucp_core::operation::SupportedOperations::everything())
            .filter(|offer| offer.extends.is_empty())
            .map(Offer::declaration)
            .collect();
        let view = sample::checkout(&json!({ "status": "incomplete" }));
        let outcome = Outcome::Answer(Answer::Checkout(view));
        let bare = encode(dialect, Operation::GetCheckout, &outcome, &Active::all(&roots));
        let bare: Value = serde_json::from_str(&bare.document).expect("JSON");
        assert!(bare.get("fulfillment").is_none() && bare.get("discounts").is_none());
        assert!(bare["buyer"].get("consent").is_none());
        assert_eq!(bare["buyer"]["nickname"], "J");
        let full = encoded(dialect, Operation::GetCheckout, &outcome);
        assert!(
            full["fulfillment"].is_object() && full["discounts"].is_object() && full["buyer"]["consent"].is_object()
        );
        // Payment authentication among them, in the newest release.
        let extensions = if dialect.release() == Release::NEWEST { 6 } else { 5 };
        let capabilities = &full["ucp"]["capabilities"];
        assert_eq!(
            capabilities.as_object().map_or_else(|| capabilities.as_array().map(Vec::len), |map| Some(map.len())),
            Some(extensions)
        );
    }
}

/// An authentication is an action for those who can show it, and an escalation for everybody else.
#[test]
fn an_authentication_is_an_action_or_an_escalation() {
    let mut view = sample::checkout(&json!({ "status": "incomplete" }));
    view.status = Status::RequiresEscalation;
    view.messages = vec![Message::error("requires_3ds", "The bank asks.", Severity::RequiresBuyerInput)];
    view.action = Some(Action {
        id: "act_1".to_owned(),
        step: AuthenticationStep::ThreeDsChallenge,
        payment_instrument_id: "card_1".to_owned(),
        url: "https://shop.example/continue/t/actions/act_1".to_owned(),
    });
    let outcome = Outcome::Answer(Answer::Checkout(view));
    for dialect in dialects() {
        let shown = encoded(dialect, Operation::GetCheckout, &outcome);
        let escalated = shown["status"] == "requires_escalation";
        assert_eq!(escalated, dialect.release() != Release::NEWEST, "{shown}");
        assert_eq!(shown.get("actions").is_none(), escalated, "{shown}");
        assert_eq!(shown.to_string().contains("requires_3ds"), escalated, "{shown}");
        if !escalated {
            let expected = json!({ "dev.ucp.common.payment.three_ds_challenge": [{ "id": "act_1", "config": {
                "payment_instrument_id": "card_1", "url": "https://shop.example/continue/t/actions/act_1",
            } }] });
            assert_eq!(shown["actions"], expected);
        }
    }
}

/// The examples of the founding document of checkouts over MCP that stand in fenced blocks, in order.
fn founding_examples() -> Option<Vec<Value>> {
    let folder = std::env::var_os("UCP_FOUNDING_DIR")?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(repository.join(folder).join("D4-checkout-mcp.md")).expect("the document");
    let blocks = document.split("```json").skip(1).filter_map(|rest| rest.split("```").next());
    Some(blocks.map(|block| serde_json::from_str(block).expect("an example is JSON")).collect())
}

/// Every member of `shown` is in `said`, with a value of the same type.
fn says_everything(shown: &Value, said: &Value, path: &str) {
    match (shown, said) {
        (Value::Object(members), Value::Object(_)) => {
            for (name, member) in members {
                let name = if name == "com.example.vendor.delegate_payment" { "com.example.sandbox" } else { name };
                says_everything(member, said.get(name).unwrap_or(&Value::Null), &format!("{path}.{name}"));
            }
        }
        (Value::Array(elements), Value::Array(others)) => {
            if let Some(element) = elements.first() {
                says_everything(element, others.first().unwrap_or(&Value::Null), &format!("{path}[0]"));
            }
        }
        _ => assert_eq!(
            std::mem::discriminant(shown),
            std::mem::discriminant(said),
            "{path}: {shown} is shown, {said} is said"
        ),
    }
}

#[test]
fn every_founding_example_of_checkouts_works() {
    let Some(examples) = founding_examples() else {
        println!("skipped: UCP_FOUNDING_DIR does not point to the founding documents");
        return;
    };
    let first = dialect(Release::V2026_01_11);
    let mut operations = Vec::new();
    let mut responses = 0;
    for example in &examples {
        if let Some(method) = example.get("method").and_then(Value::as_str) {
            let operation = Operation::named(method).expect("an operation");
            let mut params = example["params"].clone();
            let members = params.as_object_mut().expect("an object");
            members.shift_remove("_meta");
            members.shift_remove("idempotency_key");
            let id = members.shift_remove("id");
            // The example of how a platform is named leaves everything else out.
            if members.is_empty() {
                continue;
            }
            let wrapped = members.shift_remove("checkout").unwrap_or_else(|| Value::Object(members.clone()));
            let request = read(first, operation, id.as_ref().and_then(Value::as_str), wrapped, &[]);
            let request = request.unwrap_or_else(|refusal| panic!("{refusal}: {example}"));
            operations.push(request.operation());
        }
        if let Some(result) = example.get("result") {
            let view = sample::checkout(&json!({ "status": "incomplete" }));
            let outcome = Outcome::Answer(Answer::Checkout(view));
            let said = first.direct(
                Operation::GetCheckout,
                encode(first, Operation::GetCheckout, &outcome, &active(first)).document,
            );
            let mut shown = result.clone();
            // The buyer of the sample has no family name.
            shown["buyer"].as_object_mut().expect("a buyer").shift_remove("last_name");
            says_everything(&shown, &serde_json::from_str(&said).expect("JSON"), "$");
            responses += 1;
        }
        if let Some(data) = example.pointer("/error/data") {
            let message = Message::error("item_unavailable", "None left.", Severity::Recoverable);
            let refused = encode(
                first,
                Operation::CreateCheckout,
                &Outcome::NoResource { messages: vec![message], continue_url: None, id: None, conflict: false },
                &active(first),
            );
            let error = refused.rpc_error.expect("an error");
            let said: Value = serde_json::from_str(&error.data).expect("JSON");
            assert_eq!(error.code, -32603);
            assert_eq!(said["status"], data["status"]);
            for name in ["code", "message", "severity"] {
                assert!(said["errors"][0][name].is_string(), "{name}");
            }
        }
    }
    assert_eq!(operations, [Operation::CreateCheckout, Operation::UpdateCheckout]);
    assert_eq!(responses, 2);
}

#[test]
fn methods_and_tools_of_the_first_release_are_answered_in_two_forms_of_one_shape() {
    let first = dialect(Release::V2026_01_11);
    let view = sample::checkout(&sample::completed());
    let document =
        encode(first, Operation::GetCheckout, &Outcome::Answer(Answer::Checkout(view)), &active(first)).document;
    let direct = first.direct(Operation::GetCheckout, document.clone());
    let shapes = first.shapes(Operation::GetCheckout).expect("shapes");
    let shape = schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
    let [document, direct] = [document, direct].map(|text| serde_json::from_str::<Value>(&text).expect("JSON"));
    for said in [&document, &direct] {
        schema::validator(&shape).validate(said).unwrap_or_else(|error| panic!("{error} in {said}"));
        assert_eq!(said["order"], json!({ "id": "ord_1", "permalink_url": "https://shop.example/order/t" }));
    }
    assert_eq!(document["ucp"]["capabilities"][0]["version"], "2026-01-11");
    assert_eq!(direct["ucp"]["capabilities"]["dev.ucp.shopping.checkout"][0]["version"], "2026-01-11");
    assert_eq!(direct["ucp"]["payment_handlers"]["com.example.sandbox"][0]["id"], "sandbox");
    let catalog = r#"{"ucp":{"capabilities":{}}}"#.to_owned();
    assert_eq!(first.direct(Operation::GetProduct, catalog.clone()), catalog);
}

#[test]
fn requests_and_answers_share_no_name_for_different_shapes() {
    for dialect in dialects() {
        let mut requests = schema::generator(Direction::Request);
        let mut responses = schema::generator(Direction::Response);
        for operation in Operation::ALL.iter().filter(|operation| publishes(dialect, **operation)) {
            let shapes = dialect.shapes(*operation).expect("published");
            shapes.request(&mut requests);
            shapes.response(&mut responses);
        }
        let (requests, responses) = (requests.take_definitions(true), responses.take_definitions(true));
        for (name, shape) in &requests {
            assert!(responses.get(name).is_none_or(|other| other == shape), "{name} of {}", dialect.release());
        }
        // Definitions that differ but want one name get a number.
        let names: BTreeMap<_, _> = requests.iter().chain(&responses).collect();
        let numbered = |name: &str| name.ends_with(|last: char| last.is_ascii_digit());
        assert!(!names.keys().any(|name| numbered(name)), "{:?}", names.keys().collect::<Vec<_>>());
    }
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(1), 0..100_000_i64, Just(Amount::new((1 << 53) - 1).expect("the largest").minor())]
}

fn some_totals() -> impl Strategy<Value = Vec<Total>> {
    let kinds = proptest::collection::vec((0_usize..7, proptest::option::of("\\PC{0,9}"), amount()), 0..5);
    (kinds, amount()).prop_map(|(entries, sum)| {
        let total = |kind, display_text, amount| Total { kind, display_text, amount };
        let mut totals = vec![total(TotalKind::Subtotal, None, sum)];
        totals.extend(entries.into_iter().map(|(kind, text, amount)| match kind {
            0 => total(TotalKind::ItemsDiscount, text, -amount.max(1)),
            1 => total(TotalKind::Discount, text, -amount.max(1)),
            2 => total(TotalKind::Fulfillment, text, amount),
            3 => total(TotalKind::Tax, text, amount),
            // Types of their own have a text.
            4 => total(TotalKind::GiftCard, Some(text.unwrap_or_default()), -amount.max(1)),
            5 => total(TotalKind::StoreCredit, Some(text.unwrap_or_default()), -amount.max(1)),
            _ => total(TotalKind::Fee, text, amount),
        }));
        totals.push(total(TotalKind::Total, None, sum));
        totals
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_answer_of_the_domain_conforms_to_its_shape(
        totals in some_totals(),
        title in "\\PC{0,20}",
        quantity in 1..=1_000_000_u64,
        status in 0_usize..4,
        method in 0_usize..3,
        bare in any::<bool>(),
        extra in "(id|type|name|address|note)",
    ) {
        let state = match status {
            0 => json!({ "status": "incomplete" }),
            1 => json!({ "status": "ready_for_complete" }),
            2 => json!({ "status": "canceled" }),
            _ => sample::completed(),
        };
        let view = || {
            let mut view = sample::checkout(&state);
            view.checkout.totals.clone_from(&totals);
            view.checkout.line_items[0].totals.clone_from(&totals);
            view.checkout.line_items[0].quantity = quantity;
            view.checkout.line_items[0].item.title.clone_from(&title);
            if bare {
                view.checkout.draft = Draft::default();
                view.checkout.discounts = None;
                view.continue_url = None;
                view.links = Vec::new().into();
                view.messages = Vec::new();
            }
            if let Some(fulfillment) = &mut view.checkout.fulfillment {
                for destination in fulfillment.methods.iter_mut().flat_map(|method| &mut method.destinations) {
                    destination.address.extra.insert(extra.clone(), json!("the platform's own"));
                    if bare {
                        destination.name = None;
                    }
                }
                match method {
                    0 => fulfillment.methods.clear(),
                    1 => fulfillment.methods[0].kind = MethodKind::Pickup,
                    _ => {}
                }
            }
            Outcome::Answer(Answer::Checkout(view))
        };
        for dialect in dialects() {
            let document = encode(dialect, Operation::UpdateCheckout, &view(), &active(dialect)).document;
            let said = super::parsed(&document);
            let shapes = dialect.shapes(Operation::UpdateCheckout).expect("shapes");
            let shape = schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
            if let Err(error) = schema::validator(&shape).validate(&said) {
                panic!("{}: {error} in {said}", dialect.release());
            }
            super::official::conforms_to_all(dialect, Operation::UpdateCheckout, &said);
            prop_assert_eq!(&said["line_items"][0]["quantity"], quantity);
            prop_assert_eq!(&said["line_items"][0]["item"]["title"], &title);
            for (written, total) in said["totals"].as_array().expect("totals").iter().zip(&totals) {
                prop_assert_eq!(written["amount"].as_i64().map(i64::unsigned_abs), Some(total.amount.unsigned_abs()));
            }
            prop_assert!(!document.contains("null"), "{}", document);
        }
    }

    #[test]
    fn requests_never_panic_and_lose_nothing(
        items in proptest::collection::vec(("[a-z0-9]{1,12}", 1..=1_000_000_u64), 1..5),
        codes in proptest::collection::vec("\\PC{0,12}", 0..4),
        junk in "[ -~]{0,40}",
    ) {
        let lines: Vec<_> = items.iter().map(|(id, quantity)| json!({ "item": { "id": id }, "quantity": quantity })).collect();
        for dialect in dialects() {
            let payload = json!({ "line_items": lines, "discounts": { "codes": codes }, "junk": junk });
            let draft = draft(dialect, Operation::UpdateCheckout, payload).expect("a draft");
            let read: Vec<_> = draft.line_items.iter().map(|line| (line.item.clone(), line.quantity)).collect();
            prop_assert_eq!(&read, &items);
            prop_assert_eq!(draft.codes.as_ref(), Some(&codes));
            for operation in Operation::ALL {
                let junk: Value = serde_json::from_str(&junk).unwrap_or_else(|_| Value::from(junk.as_str()));
                for payload in [junk.clone(), json!({ "line_items": junk, "payment": junk, "payment_data": junk,
                    "context": junk, "fulfillment": { "methods": junk } })] {
                    let _ = read_any(dialect, *operation, payload);
                }
            }
        }
    }
}

fn read_any(dialect: &dyn Dialect, operation: Operation, payload: Value) -> Result<Request, Refusal> {
    read(dialect, operation, Some("x"), payload, &[])
}
