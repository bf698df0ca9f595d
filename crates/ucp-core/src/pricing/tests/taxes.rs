//! Taxes and fees.

use super::*;
use crate::purchase::draft::Circumstances;

fn taxed(
    terms: Json,
    goods: &[(ItemFacts, u64)],
    country: &str,
    region: Option<&str>,
) -> (Vec<(&'static str, i64)>, Vec<String>) {
    let (mut draft, facts) = purchase(goods);
    draft.context = Circumstances {
        country: Some(country.to_owned()),
        region: region.map(str::to_owned),
        ..Circumstances::default()
    };
    let terms = super::terms(terms);
    let quote = quote(Purpose::Cart, &draft, &facts, &terms, &caller(), &Previous::default()).expect("a quote");
    let notes = quote.messages.iter().map(|message| match message {
        Message::Info { content, path, .. } if path.as_deref() == Some("$.totals") => content.clone(),
        other => panic!("{other:?}"),
    });
    (amounts(&quote.totals), notes.collect())
}

fn table() -> Json {
    json!({"tax": {"rates": [
        {"title": "GST", "country": "CA", "percent": "5"},
        {"title": "GST", "country": "CA", "region": "QC", "percent": "5"},
        {"title": "QST", "country": "ca", "region": "QC", "percent": "9.975%"},
        {"title": "Sales tax", "country": "US", "region": "IL", "percent": "6.25"},
        {"title": "MwSt", "country": "DE", "percent": "19", "included": true},
    ]}})
}

#[test]
fn rates_of_a_region_go_before_those_of_its_country() {
    let goods = [(good("a", 999), 1), (good("b", 1), 1)];
    let cases: Vec<(&str, Option<&str>, Vec<i64>)> = vec![
        ("CA", None, vec![50]),
        ("ca", Some("ON"), vec![50]),
        ("CA", Some("qc"), vec![50, 100]),
        ("US", Some("IL"), vec![63]),
        ("US", Some("OR"), vec![]),
        ("FR", None, vec![]),
    ];
    for (country, region, expected) in cases {
        let (totals, notes) = taxed(table(), &goods, country, region);
        let due: Vec<_> = totals.iter().filter(|(kind, _)| *kind == "tax").map(|(_, amount)| *amount).collect();
        assert_eq!(due, expected, "{country} {region:?}");
        assert_eq!(notes, Vec::<String>::new());
    }
}

#[test]
fn included_taxes_are_told_and_not_added() {
    let (totals, notes) = taxed(table(), &[(good("a", 11_900), 1)], "DE", None);
    assert_eq!(totals, [("subtotal", 11_900), ("total", 11_900)]);
    assert_eq!(notes, ["19.00 USD of MwSt (19%) are included in the total."]);
}

#[test]
fn goods_are_taxed_after_discounts_where_they_go() {
    let mut json = table();
    json["discounts"] = json!([{"id": "half", "title": "Half", "off": "50%"}]);
    json["shipping"] = json!({"rates": [{"id": "s", "title": "S", "price": 1000}]});
    json["fees"] = json!([
        {"title": "Handling", "charge": "10%", "taxed": true},
        {"title": "Packing", "charge": 7, "countries": ["US"]},
        {"title": "Elsewhere", "charge": 7, "countries": ["DE"]},
        {"title": "In euros", "charge": {"EUR": 7}},
    ]);
    let with = |on_shipping: bool| {
        let mut json = json.clone();
        json["tax"]["shipping"] = json!(on_shipping);
        let (mut draft, facts) = purchase(&[(good("a", 2_000), 1)]);
        // The destination counts, not where the buyer seems to be.
        draft.context.country = Some("DE".to_owned());
        draft.fulfillment = serde_json::from_value(json!({"methods": [{"kind": "shipping", "destinations": [
            {"address": {"address_country": "us", "address_region": "il"}}]}]}))
        .expect("fulfillment");
        amounts(&priced(&draft, &facts, &terms(json)).totals)
    };
    let common = [("subtotal", 2_000), ("discount", -1_000), ("fulfillment", 1_000), ("fee", 100), ("fee", 7)];
    // 6.25 % of 1000 + 100, and of 1000 more.
    assert_eq!(with(false), [&common[..], &[("tax", 69), ("total", 2_176)]].concat());
    assert_eq!(with(true), [&common[..], &[("tax", 131), ("total", 2_238)]].concat());
}

#[test]
fn carts_are_taxed_only_where_the_country_is_known() {
    let mut json = table();
    json["tax"]["fallback"] = json!({"country": "CA"});
    let terms = terms(json);
    let digital = ItemFacts { needs_fulfillment: false, ..good("a", 100) };
    let (draft, facts) = purchase(&[(digital, 1)]);
    let tax = |purpose| {
        let quote = quote(purpose, &draft, &facts, &terms, &caller(), &Previous::default()).expect("a quote");
        amounts(&quote.totals)
    };
    assert_eq!(tax(Purpose::Cart), [("subtotal", 100), ("total", 100)]);
    assert_eq!(tax(Purpose::Checkout), [("subtotal", 100), ("tax", 5), ("total", 105)]);
}
