//! The documents that `docs/your-shop.md` shows are of the contract.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use ucp_contract::documents::{Backend, Cart, CartLine, CartQuestion, CatalogChanged, OrderPlaced, Outcome};
use ucp_core::catalog::{market::Market, record::Record};
use ucp_import::jsonl::typed;

const PAGE: &str = include_str!("../../../../docs/your-shop.md");

fn block(name: &str) -> Value {
    let opening = format!("```json {name}\n");
    let text = PAGE.split(&opening).nth(1).and_then(|rest| rest.split("```").next());
    serde_json::from_str(text.unwrap_or_else(|| panic!("a block `{name}`"))).expect("JSON")
}

/// Reads a document whose every member the contract knows.
fn whole<T: DeserializeOwned + Serialize>(name: &str) -> T {
    let read: T = typed(block(name)).unwrap_or_else(|(path, reason)| panic!("{name}: {path}: {reason}"));
    let written = serde_json::to_value(&read).expect("JSON");
    lost(&block(name), &written, name);
    read
}

/// Checks that nothing of a document is lost when it is read.
fn lost(shown: &Value, written: &Value, place: &str) {
    match (shown, written) {
        (Value::Object(shown), Value::Object(written)) => {
            for (name, value) in shown {
                let place = format!("{place}.{name}");
                lost(value, written.get(name).unwrap_or_else(|| panic!("{place} is not of the contract")), &place);
            }
        }
        (Value::Array(shown), Value::Array(written)) => {
            shown.iter().zip(written).for_each(|(one, other)| lost(one, other, place));
        }
        _ => assert_eq!(shown, written, "{place}"),
    }
}

#[test]
fn the_documents_of_the_guide_are_of_the_contract() {
    let backend: Backend = whole("backend");
    let market = Market {
        name: backend.market.name,
        currency: backend.market.currency,
        currencies: Vec::new(),
        language: backend.market.language,
        languages: backend.market.languages,
        countries: Default::default(),
        by_country: false,
        rates: Default::default(),
        links: Vec::new(),
    };
    whole::<Record>("product").check(&market).expect("a product that can be sold");
    whole::<CartQuestion>("cart-question");
    let cart: Cart = whole("cart");
    let minor = |amount: ucp_core::money::Amount| amount.minor();
    let goods: i64 =
        cart.lines.iter().map(|line| line.price.minor() * i64::try_from(line.quantity).expect("few")).sum();
    let off: i64 = cart.discounts.iter().map(|off| minor(off.amount)).sum();
    let taxes: i64 = cart.taxes.iter().map(|tax| minor(tax.amount)).sum();
    assert_eq!(goods - off + minor(cart.delivery_options[0].amount) + taxes, minor(cart.total));
    whole::<CartLine>("cart-line");
    whole::<Outcome>("outcome");
    let placed: OrderPlaced = whole("order-placed");
    assert_eq!(placed.total, cart.total);
    whole::<CatalogChanged>("catalog-changed");
}
