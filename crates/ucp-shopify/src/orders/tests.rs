//! Webhooks about orders: whose they are, and what they say.

use serde_json::{Value, json};
use ucp_core::purchase::totals::amount_of;

use super::*;

const SECRET: &str = "hush";

fn set(amount: &str) -> Value {
    json!({ "shop_money": { "amount": "1.00", "currency_code": "USD" }, "presentment_money": { "amount": amount, "currency_code": "EUR" } })
}

fn payload() -> Value {
    json!({
        "id": 450_789_469, "name": "#1001", "created_at": "2026-11-23T10:00:00-05:00", "taxes_included": false,
        "order_status_url": "https://shop.example/1/orders/ab/authenticate?key=c",
        "note_attributes": [{ "name": "_source", "value": "x" }, { "name": REFERENCE, "value": "token" }],
        "total_price_set": set("32.40"), "total_tax_set": set("2.40"), "total_discounts_set": set("4.00"),
        "total_shipping_price_set": set("5.00"),
        "line_items": [
            { "id": 1, "variant_id": 11, "title": "Mug", "name": "Mug - Blue", "quantity": 2, "price_set": set("10.00"),
              "total_discount_set": set("1.00"), "requires_shipping": true },
            { "id": 2, "variant_id": null, "title": "Wrapping", "quantity": 1, "price_set": set("9.00") },
        ],
    })
}

fn signed(body: &[u8], secret: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(body);
    STANDARD.encode(mac.finalize().into_bytes())
}

fn open(body: &[u8], headers: &[(&str, &str)]) -> Result<Option<PlacedOrder>, Refusal> {
    OrderNotices::new(SECRET).open(&Notice { headers, body })
}

fn opened(payload: &Value) -> Result<Option<PlacedOrder>, Refusal> {
    let body = payload.to_string();
    open(body.as_bytes(), &[(HMAC, &signed(body.as_bytes(), SECRET)), (TOPIC, ORDERS_CREATE)])
}

#[test]
fn a_notice_must_be_signed_with_the_secret() {
    let body = payload().to_string();
    let good = signed(body.as_bytes(), SECRET);
    assert!(open(body.as_bytes(), &[(HMAC, &good)]).expect("verified").is_some());
    assert_eq!(open(body.as_bytes(), &[]).expect_err("unsigned").code, Code::SignatureMissing);
    let changed = body.replace("#1001", "#1002");
    for (body, hmac) in [
        (body.as_str(), signed(body.as_bytes(), "other")),
        (body.as_str(), good[..good.len() - 4].to_owned()),
        (body.as_str(), String::new()),
        (body.as_str(), "not base64".to_owned()),
        (changed.as_str(), good),
    ] {
        assert_eq!(open(body.as_bytes(), &[(HMAC, &hmac)]).expect_err(&hmac).code, Code::SignatureInvalid);
    }
    assert!(!format!("{:?}", OrderNotices::new(SECRET)).contains(SECRET));
}

#[test]
fn an_order_is_what_the_shop_says_in_the_buyers_currency() {
    let placed = opened(&payload()).expect("verified").expect("an order of ours");
    assert_eq!((placed.reference.as_str(), placed.label.as_str(), placed.currency.as_str()), ("token", "#1001", "EUR"));
    assert_eq!(placed.id, "gid://shopify/Order/450789469");
    assert_eq!(placed.placed_at.to_string(), "2026-11-23T15:00:00Z");
    assert_eq!(placed.permalink_url.as_deref(), Some("https://shop.example/1/orders/ab/authenticate?key=c"));
    let lines: Vec<_> = placed
        .line_items
        .iter()
        .map(|line| {
            (line.item.id.as_str(), line.item.title.as_str(), line.quantity, amount_of(&line.totals, TotalKind::Total))
        })
        .collect();
    assert_eq!(
        lines,
        [("gid://shopify/ProductVariant/11", "Mug - Blue", 2, 1_900), ("gid://shopify/LineItem/2", "Wrapping", 1, 900)]
    );
    let totals: Vec<_> = placed.totals.iter().map(|total| (total.kind, total.amount)).collect();
    assert_eq!(
        totals,
        [
            (TotalKind::Subtotal, 2_900),
            (TotalKind::ItemsDiscount, -100),
            (TotalKind::Discount, -300),
            (TotalKind::Fulfillment, 500),
            (TotalKind::Tax, 240),
            (TotalKind::Total, 3_240),
        ]
    );
}

#[test]
fn what_the_parts_do_not_explain_is_an_entry_of_its_own() {
    for (total, kind, amount) in [("35.00", TotalKind::Fee, 260), ("30.00", TotalKind::Discount, -240)] {
        let mut payload = payload();
        payload["total_price_set"] = set(total);
        let placed = opened(&payload).expect("verified").expect("an order of ours");
        let adjustment = placed.totals.iter().rev().nth(1).expect("an adjustment");
        assert_eq!((adjustment.kind, adjustment.amount), (kind, amount));
    }
    let mut included = payload();
    included["taxes_included"] = json!(true);
    included["total_price_set"] = set("30.00");
    let placed = opened(&included).expect("verified").expect("an order of ours");
    assert_eq!((amount_of(&placed.totals, TotalKind::Tax), amount_of(&placed.totals, TotalKind::Total)), (0, 3_000));
}

#[test]
fn orders_of_others_and_other_topics_are_none_of_ours() {
    let mut others = payload();
    for attributes in
        [json!([]), json!([{ "name": REFERENCE, "value": 7 }]), json!([{ "name": "ucp_checkout", "value": "token" }])]
    {
        others["note_attributes"] = attributes;
        assert_eq!(opened(&others).expect("verified"), None);
    }
    let body = payload().to_string();
    let headers = [(HMAC, &*signed(body.as_bytes(), SECRET)), (TOPIC, "orders/paid")];
    assert_eq!(open(body.as_bytes(), &headers).expect("verified"), None);
}

#[test]
fn an_order_that_cannot_be_read_is_refused() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut payload = payload();
        change(&mut payload);
        opened(&payload).expect_err("refused").code
    };
    for code in [
        refused(&|payload| payload["line_items"] = json!([])),
        refused(&|payload| payload["line_items"][0]["quantity"] = json!(MAX_QUANTITY + 1)),
        refused(&|payload| payload["total_price_set"] = set("-1.00")),
        refused(&|payload| payload["total_price_set"] = set("NaN")),
        refused(&|payload| payload["total_tax_set"]["presentment_money"]["currency_code"] = json!("JPY")),
        refused(&|payload| payload["created_at"] = json!("yesterday")),
        refused(&|payload| *payload = json!([])),
    ] {
        assert_eq!(code, Code::InvalidRequest);
    }
    for page in [json!("javascript:alert(1)"), json!(7), json!({}), json!(null)] {
        let mut payload = payload();
        payload["order_status_url"] = page;
        let placed = opened(&payload).expect("verified").expect("an order of ours");
        assert_eq!(placed.permalink_url, None);
    }
}
