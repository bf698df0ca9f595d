//! The engine against tables and oracles.

mod credits;
mod discounts;
mod fulfillment;
mod lines;
mod properties;
mod taxes;

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::{
    catalog::product::{LeadTime, QuantityRule},
    money::{Amount, Currency},
    negotiation::{Active, Declaration},
    operation::{CHECKOUT, FULFILLMENT},
    purchase::{
        draft::LineDraft,
        quote::{ItemFacts, LineProblem, NamedItem, ProblemKind},
    },
};

pub(crate) fn terms(json: Json) -> Terms {
    let terms: Terms = serde_json::from_value(json).expect("terms");
    terms.check(&crate::catalog::market::tests::market()).expect("usable terms");
    terms
}

/// A platform with every extension, or with those.
pub(crate) fn caller_with(extensions: &[&str], multi_group: bool) -> Caller {
    let declaration = |name: &str, extends: &[&str]| Declaration {
        name: name.to_owned(),
        version: "2026-04-08".to_owned(),
        extends: extends.iter().map(|&parent| parent.to_owned()).collect(),
        requires: crate::negotiation::Requirements::default(),
    };
    let declared: Vec<_> = std::iter::once(declaration(CHECKOUT, &[]))
        .chain(extensions.iter().map(|name| declaration(name, &[CHECKOUT])))
        .collect();
    let active = Arc::new(Active::all(&declared));
    assert!(extensions.iter().all(|name| active.contains(name)));
    Caller {
        owner: "https://platform.example/profile".to_owned(),
        active,
        multi_group,
        buyer_signals: crate::ports::caller::BuyerSignals::default(),
        customer_group: None,
        mandate_verifier: None,
    }
}

pub(crate) fn caller() -> Caller {
    caller_with(&[DISCOUNT, FULFILLMENT], false)
}

/// A good of this name, of a product `p-NAME`, with a kilogram of weight.
pub(crate) fn good(id: &str, price: i64) -> ItemFacts {
    ItemFacts {
        id: id.to_owned(),
        product_id: format!("p-{id}"),
        title: format!("The {id}"),
        price: Amount::new(price).expect("an amount"),
        image_url: None,
        available: true,
        stock: None,
        quantity_rule: QuantityRule::default(),
        lead_time: LeadTime::default(),
        stock_by_location: None,
        problem: None,
        weight_grams: 1_000,
        needs_fulfillment: true,
    }
}

pub(crate) fn facts(goods: Vec<Option<ItemFacts>>) -> Facts {
    let now = "2026-06-01T12:34:56Z".parse().expect("a time");
    let goods = goods.into_iter().map(|good| good.map_or(NamedItem::Nothing, NamedItem::One)).collect();
    let (taxes, credits, unmet_codes) = (Vec::new(), Vec::new(), Vec::new());
    Facts { currency: Currency::USD, own_currency: Currency::USD, goods, taxes, credits, unmet_codes, now }
}

pub(crate) fn line(item: &str, quantity: u64) -> LineDraft {
    LineDraft { id: None, item: item.to_owned(), quantity, other_unit: None, parent_id: None }
}

/// A draft of these goods, one line each, and the facts about them.
pub(crate) fn purchase(goods: &[(ItemFacts, u64)]) -> (Draft, Facts) {
    let lines = goods.iter().map(|(good, quantity)| line(&good.id, *quantity)).collect();
    let draft = Draft { line_items: lines, ..Draft::default() };
    (draft, facts(goods.iter().map(|(good, _)| Some(good.clone())).collect()))
}

pub(crate) fn priced(draft: &Draft, facts: &Facts, terms: &Terms) -> Quote {
    quote(Purpose::Checkout, draft, facts, terms, &caller(), &Previous::default()).expect("a quote")
}

pub(crate) fn previous(quote: &Quote) -> Previous {
    Previous {
        line_items: quote.line_items.clone(),
        fulfillment: quote.fulfillment.clone(),
        lines_ever: quote.lines_ever,
    }
}

/// The totals as pairs of names and amounts.
pub(crate) fn amounts(totals: &[Total]) -> Vec<(&'static str, i64)> {
    totals.iter().map(|total| (total.kind.as_str(), total.amount)).collect()
}

/// The codes and paths of messages.
pub(crate) fn said(quote: &Quote) -> Vec<(String, String)> {
    let said = |message: &Message| {
        let code = match message {
            Message::Error { code, .. } | Message::Warning { code, .. } => code.clone(),
            Message::Info { code, .. } => code.clone().unwrap_or_default(),
        };
        (code, message.path().unwrap_or_default().to_owned())
    };
    quote.messages.iter().map(said).collect()
}

pub(crate) fn pair(code: &str, path: &str) -> (String, String) {
    (code.to_owned(), path.to_owned())
}

#[test]
fn everything_missing_of_the_buyer_is_said() {
    let terms = terms(json!({"required": ["email", "first_name", "last_name", "phone_number"]}));
    let paths = |draft: &Draft| missing(draft, &terms).iter().filter_map(|m| m.path().map(str::to_owned)).collect();
    let none: Vec<String> = paths(&Draft::default());
    assert_eq!(none, ["$.buyer.email", "$.buyer.first_name", "$.buyer.last_name", "$.buyer.phone_number"]);
    let buyer = json!({"email": "jane", "first_name": " ", "phone_number": "1"});
    let draft = Draft { buyer: serde_json::from_value(buyer).expect("buyer"), ..Draft::default() };
    let some: Vec<String> = paths(&draft);
    assert_eq!(some, ["$.buyer.email", "$.buyer.first_name", "$.buyer.last_name"]);
    assert!(matches!(&missing(&draft, &terms)[0], Message::Error { code, .. } if code == "field_invalid"));
}
