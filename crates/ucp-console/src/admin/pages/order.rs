//! The page of an order, with its steps.

use axum::body::Bytes;
use maud::{Markup, html};
use serde_json::{Map, Value, json};
use ucp_core::{
    order::{AdjustmentStatus, Order},
    ports::ledger::Stored,
    purchase::totals::{TotalKind, amount_of},
};
use ucp_host::orders::{self, STEPS};

use super::{
    Fields, View, hidden,
    part::{Figure, cell, table, tiles, when},
};
use crate::admin::{Failure, Of, session::FormKey};

/// Reads the details of a step from a form: quantities in fields `line:ID`, and texts.
///
/// # Errors
/// A quantity or amount is no number.
pub(super) fn details(fields: &Fields) -> Result<Bytes, Failure> {
    let number = |name: &str, text: &str| {
        text.parse::<i64>().map_err(|_| {
            let problem = format!("`{name}` must be a whole number, not `{text}`");
            Failure(http::StatusCode::BAD_REQUEST, problem)
        })
    };
    let mut details = Map::new();
    let mut lines = Vec::new();
    let filled = fields.iter().map(|(name, text)| (name.as_str(), text.trim())).filter(|(_, text)| !text.is_empty());
    for (name, text) in filled {
        if let Some(id) = name.strip_prefix("line:") {
            let quantity = number(id, text)?;
            if quantity != 0 {
                lines.push(json!({ "id": id, "quantity": quantity }));
            }
        } else if name == "amount" {
            details.insert(name.to_owned(), number(name, text)?.into());
        } else if matches!(name, "carrier" | "tracking_number" | "tracking_url" | "reason" | "refund") {
            details.insert(name.to_owned(), text.into());
        }
    }
    if !lines.is_empty() {
        details.insert("line_items".to_owned(), lines.into());
    }
    Ok(Bytes::from(Value::Object(details).to_string()))
}

/// Renders the page. Returns its title, too.
pub(super) async fn page(
    view: &View,
    of: &Of,
    id: &str,
    key: &FormKey,
    done: &Markup,
) -> Result<(String, Markup), Failure> {
    let store = of.store(view.running()).await?;
    let Stored { document: order, version } = &orders::named(&*store, id).await?;
    let shop = of.0.id.as_str();
    let fact = |name: &str, value: &str| html! { div { dt { (name) } dd { (value) } } };
    let title = format!("Order {}", order.label);
    let total = order.currency.amount(amount_of(&order.totals, TotalKind::Total));
    let refundable = order.currency.amount(order.refundable());
    let figures = [
        Figure::new("Total", total, format!("{} line items", order.line_items.len())),
        Figure::new("Refundable", refundable, ""),
        Figure::new("Paid by", &*order.payment.handler_id, format!("reference {}", order.payment.reference)),
    ];
    let lines: Vec<_> = order
        .line_items
        .iter()
        .map(|line| {
            vec![
                html! { (line.item.title) small { (line.id) } },
                cell(&line.original),
                cell(&line.total),
                cell(&line.fulfilled),
                html! { span.tag { (line.status().as_str()) } },
            ]
        })
        .collect();
    let content = html! {
        main.operator #main tabindex="-1" {
            p.crumbs { a href={ "../../" (shop) } { (shop) } }
            (done)
            div.heading { h1 { (title) } span.tag { (orders::status(order)) } }
            (tiles(&figures))
            section.card aria-labelledby="goods" {
                h2 #goods { "Items" }
                (table("Items", &["Item", "Ordered", "Current", "Shipped", "State"], &lines, "No items."))
            }
            section.card aria-labelledby="happened" { h2 #happened { "History" } (happened(order)) }
            section.card aria-labelledby="facts" {
                h2 #facts { "Source" }
                dl.facts {
                    (fact("Order", &order.id))
                    @if let Some(remote) = &order.remote { (fact("Order at the shop", &remote.reference)) }
                    (fact("Checkout", &order.checkout_id))
                    (fact("Platform", &order.owner))
                }
            }
            section aria-labelledby="steps" {
                h2 #steps { "Actions" }
                @for step in STEPS { (form(step, order, *version, shop, key)) }
            }
        }
    };
    Ok((title, content))
}

fn happened(order: &Order) -> Markup {
    let events = order.events.iter().map(|event| {
        let said = [&event.carrier, &event.tracking_number, &event.description];
        let said: Vec<_> = said.into_iter().flatten().map(String::as_str).collect();
        (event.occurred_at, event.kind.as_str(), said.join(", "))
    });
    let adjustments = order.adjustments.iter().map(|adjustment| {
        let totals = adjustment.totals.iter().map(|total| order.currency.amount(total.amount));
        let status = match (adjustment.status, adjustment.by_hand) {
            (_, true) => Some("refund it at the payment provider, then confirm it here".to_owned()),
            (AdjustmentStatus::Completed, _) => None,
            (status, _) => Some(status.as_str().to_owned()),
        };
        let name = (adjustment.status != AdjustmentStatus::Completed).then(|| adjustment.id.clone());
        let said: Vec<_> = totals.chain(adjustment.description.clone()).chain(status).chain(name).collect();
        (adjustment.occurred_at, adjustment.kind.as_str(), said.join(", "))
    });
    let placed = std::iter::once((order.placed_at, "placed", String::new()));
    let mut all: Vec<_> = placed.chain(events).chain(adjustments).collect();
    all.sort_by_key(|(at, ..)| *at);
    html! { ol.events { @for (at, kind, said) in all { li { (when(at)) strong { (kind) } @if !said.is_empty() { span { (said) } } } } } }
}

/// The form of a step. What is left empty is all that there is.
fn form(step: &str, order: &Order, version: u64, shop: &str, key: &FormKey) -> Markup {
    let field = |name: &str, label: &str, kind: &str| {
        let id = format!("{step}-{name}");
        html! { div.field { label for=(id) { (label) } input id=(id) name=(name) type=(kind); } }
    };
    html! {
        details.panel {
            summary { (step) }
            form method="post" action="/operator/do" {
                (hidden(key, "step", shop))
                input type="hidden" name="id" value=(order.id);
                input type="hidden" name="step" value=(step);
                input type="hidden" name="version" value=(version);
                @if step == "refund" {
                    (field("amount", "Amount in minor units; empty for the price of the selected items, or for the remaining amount", "number"))
                }
                @if step == "confirm" { (field("refund", "ID of a refund made at the payment provider, such as adj_1", "text")) }
                @if step == "ship" {
                    div.pair { (field("carrier", "Carrier", "text")) (field("tracking_number", "Tracking number", "text")) }
                    (field("tracking_url", "Tracking URL", "url"))
                }
                @if matches!(step, "cancel" | "refund") { (field("reason", "Reason, shown to the buyer", "text")) }
                fieldset {
                    legend { "Quantities; empty for all that are possible" }
                    @for line in &order.line_items {
                        @let id = format!("{step}-{}", line.id);
                        div.field {
                            label for=(id) { (line.item.title) }
                            input id=(id) name={ "line:" (line.id) } type="number" min="0" max=(line.total);
                        }
                    }
                }
                p { button.button type="submit" { (step) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_what_the_admin_endpoint_is_told() {
        let fields = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Fields>()
        };
        let read = |pairs: &[(&str, &str)]| {
            let details = details(&fields(pairs)).ok().expect("details");
            serde_json::from_slice::<Value>(&details).expect("JSON")
        };
        assert_eq!(read(&[("key", "k"), ("step", "ship"), ("line:li_1", ""), ("carrier", "")]), json!({}));
        assert_eq!(
            read(&[("line:li_1", "2"), ("line:li_2", "0"), ("carrier", " UPS "), ("amount", "5")]),
            json!({ "line_items": [{ "id": "li_1", "quantity": 2 }], "carrier": "UPS", "amount": 5 })
        );
        assert!(details(&fields(&[("line:li_1", "many")])).is_err());
    }
}
