//! `context`: language, currency, and what never changes an answer.

use super::*;
use crate::{
    harness::PROFILE,
    setup::{Ask, Transport},
};

fn shown(gateway: &Gateway, context: &Value, accept_language: Option<&str>) -> (String, String) {
    let headers: Vec<_> = accept_language.map(|tags| ("Accept-Language", tags)).into_iter().collect();
    let payload = json!({ "id": "prod_abc123", "context": context });
    let answer = gateway.rest_in("get_product", &payload, &headers).answer();
    let text = answer["product"]["description"]["plain"].as_str().expect("a text");
    let language = if text.starts_with("Zapatillas") { "es" } else { "en" };
    let currency = answer["product"]["price_range"]["min"]["currency"].as_str().expect("a currency");
    (language.to_owned(), currency.to_owned())
}

#[test]
fn csr_12_hints_choose_what_the_shop_has_and_fall_back_silently() {
    let gateway = Gateway::shared();
    for (context, header, language, currency) in [
        (json!({}), None, "en", "USD"),
        (json!({ "language": "es" }), None, "es", "USD"),
        (json!({ "language": "ES-mx" }), None, "es", "USD"),
        (json!({ "language": "fr" }), None, "en", "USD"),
        (json!({ "language": "" }), None, "en", "USD"),
        (json!({ "currency": "EUR" }), None, "en", "EUR"),
        (json!({ "currency": "jpy" }), None, "en", "JPY"),
        (json!({ "currency": "GBP" }), None, "en", "USD"),
        (json!({ "currency": "nonsense" }), None, "en", "USD"),
        (json!({ "address_country": "JP" }), None, "en", "JPY"),
        (json!({ "address_country": "de", "address_region": "BE", "postal_code": "10115" }), None, "en", "EUR"),
        (json!({ "address_country": "Narnia" }), None, "en", "USD"),
        (json!({ "address_country": "JP", "currency": "KWD", "language": "es" }), None, "es", "KWD"),
        (json!({}), Some("es"), "es", "USD"),
        (json!({}), Some("fr, es;q=0.8, en;q=0.5"), "es", "USD"),
        (json!({}), Some("en;q=0.1, es-419"), "es", "USD"),
        (json!({}), Some("*"), "en", "USD"),
        (json!({}), Some(";;;q=,,"), "en", "USD"),
        (json!({ "language": "en" }), Some("es"), "en", "USD"),
        (json!({ "language": "fr" }), Some("es"), "es", "USD"),
    ] {
        let expected = (language.to_owned(), currency.to_owned());
        assert_eq!(shown(&gateway, &context, header), expected, "{context} {header:?}");
    }
}

#[test]
fn csr_12_the_hints_hold_for_all_operations_alike() {
    let gateway = Gateway::shared();
    let context = json!({ "language": "es", "currency": "EUR" });
    let product = gateway.product(&json!({ "id": "prod_abc123", "context": context }))["product"].take();
    let whole = |operation: &str, payload: Value| {
        Ask::new(Transport::Rest, PROFILE).of(operation, payload).query("view=full").answer(&gateway)
    };
    let found = whole("search_catalog", json!({ "query": "runner pro", "context": context }));
    let listed = whole("lookup_catalog", json!({ "ids": ["prod_abc123"], "context": context }));
    let found = elements(&found["products"]).iter().find(|found| found["id"] == "prod_abc123").expect("found");
    for member in ["title", "description", "price_range", "categories", "media", "rating", "tags", "url"] {
        assert_eq!(found[member], product[member], "{member}");
        assert_eq!(listed["products"][0][member], product[member], "{member}");
    }
    assert_eq!(texts(&product["options"], "name"), ["Color", "Talla"]);
}

/// Options can be stated in the shop's language or the caller's.
#[test]
fn selections_are_understood_in_either_language() {
    let gateway = Gateway::shared();
    let variants = |selected: Value, language: &str| {
        let payload = json!({ "id": "prod_abc123", "selected": selected, "context": { "language": language } });
        let answer = gateway.product(&payload);
        texts(&answer["product"]["variants"], "id").join(" ")
    };
    let red = variants(json!([{ "name": "Color", "label": "Red" }, { "name": "Size", "label": "9" }]), "en");
    assert_eq!(red, "var_abc123_red_9");
    assert_eq!(variants(json!([{ "name": "Color", "label": "Rojo" }, { "name": "Talla", "label": "9" }]), "es"), red);
    assert_eq!(variants(json!([{ "name": "Color", "label": "Red" }, { "name": "Size", "label": "9" }]), "es"), red);
    assert_eq!(variants(json!([{ "name": "COLOR", "label": "red" }, { "name": "size", "label": "9" }]), "en"), red);
}

/// CSR-11, CSR-13, PRV-01: they are hints and records, and never decide about an answer.
#[test]
fn eligibility_signals_and_attribution_change_nothing() {
    let gateway = Gateway::shared();
    let extras = [
        ("eligibility", json!(["org.example.student", "nonsense", ""])),
        ("eligibility", json!([])),
        ("signals", json!({ "dev.ucp.buyer_ip": "203.0.113.7", "org.example.score": { "v": [1, null] } })),
        ("signals", json!({})),
        ("attribution", json!({ "utm_source": "agent", "n": "1" })),
        ("attribution", json!({})),
    ];
    for (operation, payload) in [
        ("search_catalog", json!({ "query": "shoes" })),
        ("lookup_catalog", json!({ "ids": ["prod_abc123", "nothing"] })),
        ("get_product", json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Red" }] })),
    ] {
        let plain = gateway.rest(operation, &payload);
        assert!(matches!(plain, Verdict::Answered(_)));
        for (member, value) in &extras {
            let mut more = payload.clone();
            if *member == "eligibility" {
                more["context"] = json!({ "eligibility": value });
            } else {
                more[*member] = value.clone();
            }
            assert_eq!(gateway.rest(operation, &more), plain, "{operation} {member}");
        }
        let mut open = payload.clone();
        open["context"] = json!({ "com.example.unheard_of": 1 });
        open["com.example.extension"] = json!([]);
        assert_eq!(gateway.rest(operation, &open), plain, "requests are open objects");
    }
}
