//! Webhooks about orders: whose they are, and what they say.

use serde_json::{Value, json};
use ucp_core::{
    order::{
        AdjustmentStatus,
        report::{OccurrenceKind, Report},
    },
    purchase::totals::amount_of,
};

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

fn told(body: &[u8], headers: &[(&str, &str)]) -> Result<Option<Told>, Refusal> {
    OrderNotices::new(SECRET).read(&Notice { headers, body })
}

fn open(body: &[u8], headers: &[(&str, &str)]) -> Result<Option<PlacedOrder>, Refusal> {
    Ok(told(body, headers)?.map(|told| match told {
        Told::Placed(placed) => *placed,
        Told::Reported(report) => panic!("{report:?}"),
    }))
}

fn reported(topic: &str, payload: &Value) -> Result<Option<Report>, Refusal> {
    let body = payload.to_string();
    let told = told(body.as_bytes(), &[(HMAC, &signed(body.as_bytes(), SECRET)), (TOPIC, topic)])?;
    Ok(told.map(|told| match told {
        Told::Reported(report) => report,
        Told::Placed(placed) => panic!("{placed:?}"),
    }))
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
    let headers = [(HMAC, &*signed(body.as_bytes(), SECRET)), (TOPIC, "products/update")];
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

fn fulfillment() -> Value {
    json!({
        "id": 9, "order_id": 450_789_469, "status": "success", "created_at": "2026-11-24T10:00:00Z",
        "updated_at": "2026-11-25T10:00:00Z", "tracking_company": "Post", "tracking_number": "T1",
        "tracking_url": "https://post.example/T1", "shipment_status": "delivered",
        "line_items": [{ "id": 1, "variant_id": 11, "quantity": 2 }, { "id": 2, "variant_id": null, "quantity": 1 }],
    })
}

fn refund() -> Value {
    json!({
        "id": 7, "order_id": 450_789_469, "created_at": "2026-11-26T10:00:00Z", "note": "Broken",
        "refund_line_items": [
            { "quantity": 1, "restock_type": "return", "line_item": { "id": 1, "variant_id": 11 } },
            { "quantity": 1, "restock_type": "cancel", "line_item": { "id": 2, "variant_id": null } },
        ],
        "transactions": [
            { "id": 3, "kind": "refund", "status": "pending", "amount": "12.50", "currency": "EUR" },
            { "id": 4, "kind": "sale", "status": "success", "amount": "32.40", "currency": "EUR" },
        ],
    })
}

/// Name, kind and lines of an occurrence.
type Seen<'a> = (&'a str, &'a str, Vec<(&'a str, u64)>);

/// Occurrences in short: identifier, kind, pieces by item.
fn occurrences(report: &Report) -> Vec<Seen<'_>> {
    let short = report.occurrences.iter().map(|occurrence| {
        let lines = occurrence.lines.iter().map(|line| (line.variant.as_str(), line.quantity));
        (occurrence.id.as_str(), occurrence.kind.as_str(), lines.collect())
    });
    short.collect()
}

const MUG: &str = "gid://shopify/ProductVariant/11";
const WRAPPING: &str = "gid://shopify/LineItem/2";

#[test]
fn a_fulfillment_is_a_parcel_and_how_far_it_has_come() {
    for topic in FULFILLMENTS {
        let report = reported(topic, &fulfillment()).expect("verified").expect("a report");
        assert_eq!(report.order, "gid://shopify/Order/450789469");
        let lines = vec![(MUG, 2), (WRAPPING, 1)];
        assert_eq!(
            occurrences(&report),
            [("fulfillment:9", "shipped", lines.clone()), ("fulfillment:9:delivered", "delivered", lines)]
        );
        assert_eq!(report.occurrences[0].tracking.number.as_deref(), Some("T1"));
    }
    let mut called_off = fulfillment();
    called_off["status"] = json!("cancelled");
    assert!(reported(FULFILLMENTS[1], &called_off).expect("verified").expect("a report").occurrences.is_empty());
}

#[test]
fn a_refund_is_what_came_back_and_what_was_given_back() {
    let report = reported(REFUNDS, &refund()).expect("verified").expect("a report");
    assert_eq!(
        occurrences(&report),
        [
            ("refund:7:canceled", "canceled", vec![(WRAPPING, 1)]),
            ("refund:7:returned", "returned", vec![(MUG, 1)]),
            ("transaction:3", "refunded", vec![]),
        ]
    );
    let money = &report.occurrences[2];
    assert_eq!((money.amount.map(Amount::minor), money.status), (Some(1_250), AdjustmentStatus::Pending));
    assert_eq!((report.currency.map(|currency| currency.to_string()), report.is_ours), (Some("EUR".to_owned()), false));
    for (amount, currency) in [("-1.00", "EUR"), ("NaN", "EUR"), ("1.00", "euros")] {
        let mut wrong = refund();
        wrong["transactions"][0]["amount"] = json!(amount);
        wrong["transactions"][0]["currency"] = json!(currency);
        assert_eq!(reported(REFUNDS, &wrong).expect_err(amount).code, Code::InvalidRequest);
    }
}

#[test]
fn an_order_as_a_whole_says_all_that_has_become_of_it() {
    let mut order = payload();
    order["fulfillments"] = json!([fulfillment()]);
    order["refunds"] = json!([refund()]);
    order["cancelled_at"] = json!("2026-11-26T10:00:00Z");
    order["financial_status"] = json!("paid");
    let report = reported("orders/updated", &order).expect("verified").expect("a report");
    let kinds: Vec<_> = report.occurrences.iter().map(|occurrence| occurrence.kind).collect();
    use OccurrenceKind::{Canceled, Captured, Delivered, Refunded, Returned, Shipped};
    assert_eq!(kinds, [Shipped, Delivered, Canceled, Returned, Refunded, Canceled, Captured]);
    assert!(report.is_ours);
    order["note_attributes"] = json!([]);
    assert_eq!(reported("orders/updated", &order).expect("verified"), None, "others sell in the same shop");
}

#[test]
fn what_is_only_authorized_is_not_captured() {
    let mut order = payload();
    order["financial_status"] = json!("authorized");
    assert!(opened(&order).expect("verified").expect("an order of ours").is_authorized);
    assert!(!opened(&payload()).expect("verified").expect("an order of ours").is_authorized);
}
