//! Rules of carts and checkouts. They are looked at where writes are allowed; nothing is paid.

use http::header;
use serde_json::{Map, Value, json};
use ucp_core::Operation;
use ucp_wire::relay;

use super::{answers::Answers, report::Examination, rule::Rule};
use crate::shop::{Answer, Call, CalledShop, Said, Transport};

const RULES: &[Rule] = &[
    Rule::PurchaseTotals,
    Rule::PurchasePrice,
    Rule::PurchaseIdempotency,
    Rule::PurchaseConflict,
    Rule::PurchasePrivate,
    Rule::PurchaseMissing,
    Rule::PurchaseCancel,
];

/// Takes down that nothing was written.
pub(super) fn skipped(examination: &mut Examination) {
    examination.skip(RULES, "`--allow-writes` was not given");
}

/// Makes a checkout, looks at it, and cancels it.
pub(super) async fn examine(
    shop: &CalledShop,
    transport: Transport,
    products: &[Value],
    item: Option<&str>,
    answers: &mut Answers,
    examination: &mut Examination,
) {
    if !shop.offers(Operation::CreateCheckout) {
        return examination.skip(RULES, "the shop offers no checkouts");
    }
    let variants = products.iter().filter_map(|product| product["variants"].as_array()).flatten();
    let variant = variants.into_iter().find(|variant| variant["availability"]["available"] != false);
    let Some(item) = item.or_else(|| variant.and_then(|variant| variant["id"].as_str())) else {
        return examination.skip(RULES, "there is nothing to buy; `--item` names something");
    };
    let key = uuid::Uuid::new_v4().to_string();
    let lines = |quantity: u32| json!({ "line_items": [{ "item": { "id": item }, "quantity": quantity }] });
    let create = Call { key: Some(&key), ..Call::new(Operation::CreateCheckout, lines(1)) };
    let at = format!("create_checkout over {}", transport.as_str());
    let Some(first) = answers.ask(shop, transport, &create, examination).await else { return };
    let Some(checkout) = first.resource().filter(|checkout| checkout.get("id").is_some_and(Value::is_string)) else {
        examination.check(Rule::PurchaseMissing, false, &at, || first.exchange.shown());
        return examination.skip(RULES, "no checkout could be made");
    };
    let id = checkout["id"].as_str().unwrap_or_default().to_owned();
    priced(checkout, variant, &at, examination);
    private(&first, &at, examination);
    let ready = checkout.get("status").is_some_and(|status| status == "ready_for_complete");
    let errors = || first.messages().filter(|message| message["type"] == "error");
    let placed = errors().next().is_some() && errors().all(|message| message["path"].is_string());
    examination.check(Rule::PurchaseMissing, ready || placed, &at, || {
        format!("status {}, messages {}", checkout["status"], json!(errors().collect::<Vec<_>>()))
    });
    if let Some(again) = answers.ask(shop, transport, &create, examination).await {
        let same = again.resource().and_then(|checkout| checkout.get("id")) == Some(&Value::String(id.clone()));
        examination.check(Rule::PurchaseIdempotency, same, &at, || again.exchange.shown());
    }
    let other = Call { payload: lines(2), ..create.clone() };
    if let Ok(answer) = shop.call(transport, &other).await {
        let refused = match &answer.said {
            Said::Refused(_) => true,
            Said::Document(document) => relay::is_failure(document),
            Said::Unreadable => answer.exchange.status.is_client_error(),
        };
        examination.check(Rule::PurchaseConflict, refused && !answer.exchange.status.is_server_error(), &at, || {
            answer.exchange.shown()
        });
    }
    cancel(shop, transport, &id, &lines(1), first.raw.as_ref(), examination).await;
}

/// Looks at the price of the line and at the totals.
fn priced(checkout: &Map<String, Value>, variant: Option<&Value>, at: &str, examination: &mut Examination) {
    let totals = checkout.get("totals").and_then(Value::as_array).cloned().unwrap_or_default();
    let amount = |total: &Value| total["amount"].as_i64().unwrap_or_default();
    let kind = |total: &Value| total["type"].as_str().unwrap_or_default().to_owned();
    let total = totals.iter().find(|total| kind(total) == "total").map(amount);
    // A discount of single lines is shown beside a subtotal that has it already.
    let parts: i64 =
        totals.iter().filter(|total| !["total", "items_discount"].contains(&&*kind(total))).map(amount).sum();
    let with_items: i64 = totals.iter().filter(|total| kind(total) != "total").map(amount).sum();
    let adds_up = total.is_some_and(|total| total == parts || total == with_items);
    examination.check(Rule::PurchaseTotals, adds_up, at, || format!("totals: {}", json!(totals)));
    if let Some(variant) = variant
        && let Some(price) = checkout["line_items"][0]["item"]["price"].as_i64()
        && checkout.get("currency") == Some(&variant["price"]["currency"])
    {
        let same = variant["price"]["amount"].as_i64() == Some(price);
        examination.check(Rule::PurchasePrice, same, at, || {
            format!("{} costs {} in the catalog and {price} in the checkout", variant["id"], variant["price"]["amount"])
        });
    }
    examination.skip(&[Rule::PurchasePrice], "the catalog states no price in the currency of the checkout");
}

fn private(answer: &Answer, at: &str, examination: &mut Examination) {
    let caching = answer.exchange.header(&header::CACHE_CONTROL).unwrap_or_default().to_ascii_lowercase();
    let kept = caching.contains("no-store") || caching.contains("private");
    examination.check(Rule::PurchasePrivate, kept, at, || format!("Cache-Control: {caching}"));
}

/// Cancels the checkout, and tries to change it afterwards.
async fn cancel(
    shop: &CalledShop,
    transport: Transport,
    id: &str,
    lines: &Value,
    before: Option<&Map<String, Value>>,
    examination: &mut Examination,
) {
    let cancel = Call { id: Some(id), ..Call::new(Operation::CancelCheckout, Value::Null) };
    let at = format!("cancel_checkout over {}", transport.as_str());
    let Ok(canceled) = shop.call(transport, &cancel).await else { return };
    let status = canceled.resource().and_then(|checkout| checkout.get("status")).cloned().unwrap_or_default();
    if !examination.check(Rule::PurchaseCancel, status == "canceled", &at, || canceled.exchange.shown()) {
        return;
    }
    let update = Call { id: Some(id), before, ..Call::new(Operation::UpdateCheckout, lines.clone()) };
    if let Ok(changed) = shop.call(transport, &update).await {
        let status = changed.resource().and_then(|checkout| checkout.get("status"));
        let over = status.is_none_or(|status| status == "canceled");
        examination.check(Rule::PurchaseCancel, over, &at, || format!("changed to {}", changed.exchange.shown()));
    }
}
