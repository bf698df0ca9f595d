//! Sales terms that are accepted, and sales terms that are rejected.

use serde_json::{Value as Json, json};

use super::*;
use crate::{catalog::market::tests::market, money::Currency};

#[test]
fn default_terms_require_an_email_address() {
    let terms: Terms = serde_json::from_value(json!({})).expect("terms");
    assert_eq!(terms, Terms::default());
    assert_eq!(terms.required, [BuyerField::Email]);
    assert_eq!((terms.lifetimes.cart_seconds, terms.lifetimes.checkout_seconds), (2_592_000, 21_600));
    terms.check(&market()).expect("usable");
}

#[test]
fn reviews_say_why_and_what_for() {
    let of = |review: Json| -> Terms { serde_json::from_value(json!({ "reviews": [review] })).expect("terms") };
    let terms = of(json!({ "reason": "It is a lot.", "min_total": { "USD": 50_000 } }));
    assert_eq!(terms.reviews[0].code, "buyer_review");
    terms.check(&market()).expect("usable");
    for (review, path) in [
        (json!({ "reason": " " }), "$.reviews[0].reason"),
        (json!({ "reason": "x", "code": "High value" }), "$.reviews[0].code"),
        (json!({ "reason": "x", "code": "" }), "$.reviews[0].code"),
        (json!({ "reason": "x", "min_total": { "XAU": 1 } }), "$.reviews[0].min_total"),
    ] {
        assert_eq!(of(review).check(&market()).expect_err("unusable").path, path);
    }
}

#[test]
fn percentages_are_exact_texts() {
    for (text, millionths) in
        [("0", 0), ("20%", 200_000), ("8.875%", 88_750), ("0.0001", 1), ("19.5 %", 195_000), ("1000", 10_000_000)]
    {
        let percent: Percent = serde_json::from_value(json!(text)).expect(text);
        assert_eq!(percent.millionths(), millionths, "{text}");
        let again: Percent = percent.to_string().parse().expect("reads back");
        assert_eq!(again, percent);
    }
    for wrong in [
        json!(""),
        json!("%"),
        json!("1."),
        json!(".5"),
        json!("-1"),
        json!("1e2"),
        json!("0.00001"),
        json!("1000.1"),
        json!(8.875),
        json!(8),
    ] {
        assert!(serde_json::from_value::<Percent>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn percentages_round_half_up() {
    let half: Percent = "50".parse().expect("percent");
    assert_eq!([0, 1, 2, 3].map(|amount| half.of(amount)), [0, 1, 1, 2]);
    let third: Percent = "33.3333".parse().expect("percent");
    assert_eq!([1, 2, 3].map(|amount| third.of(amount)), [0, 1, 1]);
}

#[test]
fn amounts_are_never_converted() {
    let (usd, eur, jpy): (Currency, Currency, Currency) =
        (Currency::USD, "EUR".parse().expect("euro"), "JPY".parse().expect("yen"));
    let own: Amounts = serde_json::from_value(json!(500)).expect("amount");
    let some: Amounts = serde_json::from_value(json!({"USD": 500, "EUR": 450})).expect("amounts");
    let minor = |amounts: &Amounts, currency| amounts.in_currency(currency, usd).map(crate::money::Amount::minor);
    assert_eq!([usd, eur, jpy].map(|currency| minor(&own, currency)), [Some(500), None, None]);
    assert_eq!([usd, eur, jpy].map(|currency| minor(&some, currency)), [Some(500), Some(450), None]);
}

/// Terms that use every member there is.
fn full() -> Json {
    json!({
        "tax": {"rates": [{"title": "VAT", "country": "ES", "region": "CN", "percent": "7%", "included": true}],
            "shipping": true, "fallback": {"country": "ES"}},
        "fees": [{"title": "Handling", "charge": "1%", "countries": ["US"], "taxed": true}],
        "discounts": [
            {"id": "a", "title": "A", "codes": ["A", "B"], "off": {"USD": 5, "EUR": 4}, "target": "lines", "items": ["x"],
                "method": "across", "from": "2026-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z",
                "min_subtotal": 100, "combines": ["b"], "priority": 1, "buyers": ["a@example.com"]},
            {"id": "b", "title": "B", "off": "5%", "claim": "com.example.student", "combines": false},
        ],
        "shipping": {
            "rates": [{"id": "s", "title": "S", "description": "D", "carrier": "C", "countries": ["US"], "except": ["CA"],
                "price": 100, "min_subtotal": 1, "below_subtotal": 2, "min_grams": 1, "max_grams": 2, "min_days": 1,
                "max_days": 2}],
            "free": [{"title": "Free", "rates": ["s"], "min_subtotal": 5, "items": ["x"], "countries": ["US"]}],
            "required": ["postal_code"], "several_destinations": true, "separate": [["x"]],
        },
        "pickup": {"places": [{"id": "p", "name": "P", "address": {"address_country": "US"}, "price": 1,
            "description": "D", "ready_after_days": 1}], "several_destinations": true},
        "shipping_with_pickup": true,
        "customers": [{"name": "N", "email": "n@example.com", "addresses": [
            {"id": "addr", "address": {"address_country": "US"}}]}],
        "claims": [{"id": "com.example.student", "title": "Students", "emails": ["s@example.com"],
            "email_domains": ["example.edu"]}],
        "required": ["phone_number"],
        "lifetimes": {"cart_seconds": 1, "checkout_seconds": 2},
    })
}

#[test]
fn terms_survive_serialisation() {
    let terms: Terms = serde_json::from_value(full()).expect("terms");
    terms.check(&market()).expect("usable");
    let text = serde_json::to_string(&terms).expect("serialises");
    assert_eq!(serde_json::from_str::<Terms>(&text).expect("reads back"), terms);
}

#[test]
fn unusable_members_are_named() {
    let cases = [
        ("/tax/rates/0/title", json!(" "), "$.tax.rates[0].title"),
        ("/tax/rates/0/country", json!("Spain"), "$.tax.rates[0].country"),
        ("/tax/rates/0/percent", json!("100.1"), "$.tax.rates[0].percent"),
        ("/tax/fallback/country", json!(""), "$.tax.fallback.country"),
        ("/fees/0/charge", json!({"GBP": 1}), "$.fees[0].charge"),
        ("/fees/0/countries/0", json!("USA"), "$.fees[0].countries[0]"),
        ("/discounts/0/id", json!("b"), "$.discounts[1].id"),
        ("/discounts/0/codes", json!(["a", "A"]), "$.discounts[0].codes"),
        ("/discounts/0/codes", json!(["a "]), "$.discounts[0].codes"),
        ("/discounts/0/off", json!("101%"), "$.discounts[0].off"),
        ("/discounts/0/target", json!("order"), "$.discounts[0].items"),
        ("/discounts/0/until", json!("2025-01-01T00:00:00Z"), "$.discounts[0].until"),
        ("/discounts/0/combines", json!(["c"]), "$.discounts[0].combines"),
        ("/discounts/1/claim", json!("com.example.other"), "$.discounts[1].claim"),
        ("/shipping/rates/0/max_grams", json!(0), "$.shipping.rates[0].max_grams"),
        ("/shipping/rates/0/max_days", json!(0), "$.shipping.rates[0].max_days"),
        ("/shipping/free/0/rates", json!([]), "$.shipping.free[0].rates"),
        ("/shipping/free/0/rates", json!(["t"]), "$.shipping.free[0].rates"),
        ("/pickup/places/0/address/address_country", json!(null), "$.pickup.places[0].address.address_country"),
        ("/customers/0/email", json!("n"), "$.customers[0].email"),
        ("/customers/0/addresses/0/id", json!(""), "$.customers[0].addresses[0].id"),
        ("/claims/0/title", json!(""), "$.claims[0].title"),
        ("/lifetimes/cart_seconds", json!(0), "$.lifetimes.cart_seconds"),
    ];
    for (member, value, path) in cases {
        let mut json = full();
        *json.pointer_mut(member).expect(member) = value;
        let terms: Terms = serde_json::from_value(json).expect(member);
        let unusable = terms.check(&market()).expect_err(member);
        assert_eq!(unusable.path, path, "{unusable}");
        assert!(!unusable.reason.is_empty());
    }
    let mut mixed = full();
    let exclusive = json!({"title": "Other", "country": "es", "region": "cn", "percent": "1"});
    mixed["tax"]["rates"].as_array_mut().expect("rates").push(exclusive);
    let terms: Terms = serde_json::from_value(mixed).expect("terms");
    assert_eq!(terms.check(&market()).expect_err("mixed").path, "$.tax.rates[1].included");
    let mut coded = full();
    coded["discounts"][1]["codes"] = json!(["STUDENT"]);
    let terms: Terms = serde_json::from_value(coded).expect("terms");
    assert_eq!(terms.check(&market()).expect_err("coded").path, "$.discounts[1].codes");
}

#[test]
fn misspelt_members_are_not_overlooked() {
    for wrong in [
        json!({"taxes": {}}),
        json!({"tax": {"rate": []}}),
        json!({"discounts": [{"id": "a", "title": "A", "off": 5, "code": "A"}]}),
        json!({"discounts": [{"id": "a", "title": "A", "off": 5.5}]}),
        json!({"shipping": {"rates": [{"id": "a", "title": "A", "price": "5.00"}]}}),
    ] {
        assert!(serde_json::from_value::<Terms>(wrong.clone()).is_err(), "{wrong}");
    }
}
