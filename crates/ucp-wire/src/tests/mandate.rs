//! Mandates on the wire (rules AP2-02, AP2-03 and AP2-07; trap T-04).

use serde_json::{Value, json};
use ucp_core::call::SaleRequest;
use ucp_core::{Answer, Code, Operation, Outcome, Release, Request, negotiation::Names, operation::AP2_MANDATE};

use super::{active, dialects, official, profile, sample};
use crate::{
    codec::{encode, read},
    dialect::{Dialect, authorized, names},
    schema::{self, Direction},
    site::Site,
};

const AUTHORIZATION: &str = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ..c2lnbmF0dXJl";

fn own_name(release: Release) -> &'static str {
    match release {
        Release::V2026_08_25 => "dev.ucp.common.payment.ap2_mandate",
        _ => "dev.ucp.shopping.ap2_mandate",
    }
}

fn checkout(dialect: &dyn Dialect) -> String {
    let outcome = Outcome::Answer(Answer::Checkout(sample::checkout(&json!({ "status": "incomplete" }))));
    encode(dialect, Operation::GetCheckout, &outcome, &active(dialect)).document
}

/// The inserted field is the last one, and the document that it is about stays as it was, byte by byte.
#[test]
fn an_authorization_changes_nothing_else_of_a_checkout() {
    for dialect in dialects() {
        let document = checkout(dialect);
        assert!(!document.contains("\"ap2\":"), "{document}");
        let signed = authorized(document.clone(), AUTHORIZATION);
        let rest =
            format!("{},\"ap2\":{{\"merchant_authorization\":\"{AUTHORIZATION}\"}}}}", &document[..document.len() - 1]);
        assert_eq!(signed, rest);
        // What is signed is not rewritten for anybody.
        assert_eq!(dialect.direct(Operation::GetCheckout, signed.clone()), signed);
        let shapes = dialect.shapes(Operation::GetCheckout).expect("shapes");
        let shape = schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
        let signed: Value = serde_json::from_str(&signed).expect("JSON");
        schema::validator(&shape).validate(&signed).unwrap_or_else(|error| panic!("{error} in {signed}"));
        let named = &signed["ucp"]["capabilities"];
        assert!(named.to_string().contains(own_name(dialect.release())), "{named}");
    }
}

#[test]
fn mandates_are_advertised_where_there_is_a_key_and_by_the_name_of_the_release() {
    for dialect in dialects() {
        let release = dialect.release();
        let entry = |profile: &Value| {
            let capabilities = &profile["ucp"]["capabilities"];
            let listed = capabilities.as_array().into_iter().flatten().find(|entry| entry["name"] == own_name(release));
            listed.cloned().or_else(|| Some(capabilities.get(own_name(release))?[0].clone()))
        };
        let entry_with_key = entry(&profile(dialect)).expect("advertised");
        assert_eq!(entry_with_key["config"], json!({ "vp_formats_supported": { "dc+sd-jwt": {} } }));
        assert_eq!(entry_with_key["extends"], "dev.ucp.shopping.checkout");
        assert_eq!(entry_with_key["version"], release.date());
        let bare = dialect.profile(&Site {
            endpoint: "https://shop.example/ucp",
            offering: &ucp_core::operation::SupportedOperations::everything(),
            names: &Names::default(),
            keys: &[],
            handlers: &[sample::handler()],
            supported_versions: &[],
        });
        assert_eq!(entry(&bare), None);
        assert_eq!(names(dialect, &Names::default()).of(AP2_MANDATE), own_name(release));
    }
}

#[test]
fn a_mandate_is_read_as_it_is_and_bounded() {
    let paying = |release: Release| match release {
        Release::V2026_01_11 => json!({ "payment_data": { "id": "i", "handler_id": "h", "type": "card" } }),
        _ => json!({ "payment": { "instruments": [{ "id": "i", "handler_id": "h", "type": "card" }] } }),
    };
    for dialect in dialects() {
        let complete = |ap2: Value| {
            let mut payload = paying(dialect.release());
            payload["ap2"] = ap2;
            read(dialect, Operation::CompleteCheckout, Some("chk"), payload, &[])
        };
        let mandate = |ap2: Value| match complete(ap2).expect("a request") {
            Request::Sale(SaleRequest::CompleteCheckout(request)) => {
                request.mandate.map(|mandate| mandate.reveal().to_owned())
            }
            other => panic!("{other:?}"),
        };
        // Dots after tildes, which the official pattern forbids, are in every mandate that there can be.
        for text in ["a.b.c~d~e.f.g", "a.b.c~", "", "anything at all \u{1f45f}"] {
            assert_eq!(mandate(json!({ "checkout_mandate": text })).as_deref(), Some(text));
        }
        assert_eq!(mandate(json!({})), None);
        assert_eq!(mandate(json!({ "checkout_mandate": "x", "later": [1] })).as_deref(), Some("x"));
        for (wrong, path) in [
            (json!({ "checkout_mandate": 1 }), "$.ap2.checkout_mandate"),
            (json!({ "checkout_mandate": "a".repeat(512 * 1024 + 1) }), "$.ap2.checkout_mandate"),
            (json!("a.b.c~d.e.f"), "$.ap2"),
        ] {
            let refusal = complete(wrong).expect_err("refused");
            assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some(path)));
            assert!(!refusal.content.contains("aaaa"), "{}", refusal.content);
        }
    }
}

#[test]
fn signed_answers_and_mandates_conform() {
    for dialect in dialects() {
        let release = dialect.release();
        let Some(folder) = official::folder(release) else { return };
        let schema = |name: &str| {
            official::official(folder.clone(), &format!("schemas/shopping/ap2_mandate.json#/$defs/{name}"))
        };
        let whole = match release {
            // Refers to a file that was never published; the member is looked at on its own.
            Release::V2026_01_11 => None,
            Release::V2026_01_23 => Some("checkout"),
            _ => Some("dev.ucp.shopping.checkout"),
        };
        let signed: Value = serde_json::from_str(&authorized(checkout(dialect), AUTHORIZATION)).expect("JSON");
        if let Some(whole) = whole {
            schema(whole).validate(&signed).unwrap_or_else(|error| panic!("{release}: {error} in {signed}"));
        }
        let authorization = &signed["ap2"]["merchant_authorization"];
        schema("merchant_authorization").validate(authorization).unwrap_or_else(|error| panic!("{release}: {error}"));
        let pattern = schema("checkout_mandate");
        assert!(pattern.is_valid(&json!("a.b.c~d~e")));
        println!(
            "{release}: the official pattern of mandates is not held against them, since no key binding fits it (T-04)"
        );
        assert!(
            !pattern.is_valid(&json!("a.b.c~d~e.f.g")),
            "the official pattern was mended: hold it against mandates"
        );
    }
}
