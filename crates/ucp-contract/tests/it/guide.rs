//! The documents that the pages of `docs/` show are of the contract.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use ucp_contract::documents::{
    Backend, Cart, CartLine, CartQuestion, CatalogChanged, Credit, FieldProblem, OrderChanged, OrderPlaced, Outcome,
    PickupPlace, UnmetCode,
};
use ucp_core::{
    catalog::{market::Market, record::Record},
    purchase::quote::CodeProblem,
};
use ucp_import::jsonl::typed;

const PAGES: [&str; 2] =
    [include_str!("../../../../docs/backend-api.md"), include_str!("../../../../docs/catalog-sync.md")];

fn block(name: &str) -> Value {
    let opening = format!("```json {name}\n");
    let text = PAGES.iter().find_map(|page| page.split(&opening).nth(1)?.split("```").next());
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
    cart.add_up().expect("a total that adds up");
    whole::<CartLine>("cart-line");
    let places: Vec<PickupPlace> = whole("cart-pickup-places");
    assert!(places.iter().all(|place| place.address.address_country.is_some()));
    let credits: Vec<Credit> = whole("cart-credits");
    let paid: i64 = credits.iter().map(|credit| credit.amount.minor()).sum();
    assert!(paid < cart.total.minor());
    let codes: Vec<UnmetCode> = whole("cart-unmet-codes");
    assert!(codes.iter().all(|unmet| unmet.kind != CodeProblem::Other));
    whole::<Vec<FieldProblem>>("cart-field-problems");
    whole::<Outcome>("outcome");
    whole::<Outcome>("outcome-refused");
    let placed: OrderPlaced = whole("order-placed");
    assert_eq!(placed.bought.total, cart.total);
    whole::<OrderChanged>("order-changed");
    ucp_contract::orders::check(block("order-changed").to_string().as_bytes()).expect("an event");
    whole::<CatalogChanged>("catalog-changed");
}
