//! The rules of carts, checkouts and orders, one by one, at a sales service in front of doubles.

mod awaiting;
mod carts;
mod checkouts_of_carts;
mod completing;
mod handoff;
mod mandates;
mod missing;
mod over;
mod reviews;

use std::sync::Arc;

use ucp_core::{
    Answer, Code, Outcome, Refusal,
    call::SaleRequest,
    cart,
    checkout::{self, Status},
    message::{Message, Severity},
    operation::{BUYER_CONSENT, ById, CART, DISCOUNT, FULFILLMENT},
    order,
    ports::caller::Caller,
    pricing::terms::Terms,
    purchase::{
        buyer::{Buyer, Consent, PostalAddress, Purpose},
        draft::{DestinationDraft, Draft, FulfillmentDraft, GroupDraft, MethodDraft},
        payment::Tender,
        totals::{TotalKind, amount_of},
    },
};
use ucp_testkit::{
    Course, ScriptedHandler, TestShop,
    shop::{card, draft, platform},
};

/// Roses that are sent, six of them; a ticket that is not; a leaflet for nothing. Codes take 10 % off.
fn shop() -> TestShop {
    let terms = serde_json::json!({
        "discounts": [{ "id": "ten", "title": "Ten percent", "codes": ["TEN"], "off": "10%" }],
        "shipping": { "rates": [{ "id": "post", "title": "Post", "price": 500 }] },
    });
    let terms: Terms = serde_json::from_value(terms).expect("terms");
    let shop = TestShop::new(terms);
    for (good, cents) in [("rose", 350), ("ticket", 2_000), ("leaflet", 0)] {
        shop.shelf.put(good, cents);
        shop.shelf.change(good, |variant| variant.digital = good != "rose");
    }
    shop.ledger.count("rose", 6);
    shop
}

fn caller() -> Caller {
    platform("https://a.example/ucp", &[])
}

async fn answered(shop: &TestShop, caller: &Caller, request: SaleRequest) -> Outcome {
    shop.call(caller, request).await.expect("carried out")
}

fn cart_of(outcome: Outcome) -> cart::View {
    match outcome {
        Outcome::Answer(Answer::Cart(view)) => view,
        other => panic!("no cart: {other:?}"),
    }
}

fn checkout_of(outcome: Outcome) -> checkout::View {
    match outcome {
        Outcome::Answer(Answer::Checkout(view)) => view,
        other => panic!("no checkout: {other:?}"),
    }
}

fn order_of(outcome: Outcome) -> order::View {
    match outcome {
        Outcome::Answer(Answer::Order(view)) => view,
        other => panic!("no order: {other:?}"),
    }
}

async fn fill(shop: &TestShop, draft: Draft) -> cart::View {
    cart_of(answered(shop, &caller(), SaleRequest::CreateCart(cart::Create { draft })).await)
}

async fn begin_by(shop: &TestShop, caller: &Caller, draft: Draft, cart: Option<&str>) -> checkout::View {
    let request = checkout::Create { draft, cart_id: cart.map(str::to_owned) };
    checkout_of(answered(shop, caller, SaleRequest::CreateCheckout(request)).await)
}

async fn begin(shop: &TestShop, draft: Draft) -> checkout::View {
    begin_by(shop, &caller(), draft, None).await
}

async fn update(shop: &TestShop, id: &str, draft: Draft) -> checkout::View {
    let request = checkout::Update { id: id.to_owned(), draft };
    checkout_of(answered(shop, &caller(), SaleRequest::UpdateCheckout(request)).await)
}

async fn look(shop: &TestShop, id: &str) -> checkout::View {
    checkout_of(answered(shop, &caller(), SaleRequest::GetCheckout(by(id))).await)
}

async fn complete_with(shop: &TestShop, id: &str, tenders: Vec<Tender>) -> Outcome {
    let request = checkout::Complete { id: id.to_owned(), tenders, mandate: None, call: None };
    answered(shop, &caller(), SaleRequest::CompleteCheckout(request)).await
}

async fn complete(shop: &TestShop, id: &str) -> checkout::View {
    checkout_of(complete_with(shop, id, vec![card("scripted")]).await)
}

fn by(id: &str) -> ById {
    ById { id: id.to_owned() }
}

/// The codes of what is said, with the paths.
fn said(messages: &[Message]) -> Vec<(String, String)> {
    let code = |message: &Message| match message {
        Message::Error { code, .. } | Message::Warning { code, .. } => code.clone(),
        Message::Info { code, .. } => code.clone().unwrap_or_default(),
    };
    messages.iter().map(|message| (code(message), message.path().unwrap_or_default().to_owned())).collect()
}

fn codes(messages: &[Message]) -> Vec<String> {
    said(messages).into_iter().map(|(code, _)| code).collect()
}

fn total(view: &checkout::View) -> i64 {
    amount_of(&view.checkout.totals, TotalKind::Total)
}

/// Why there is nothing, and whether there is something in the way.
fn nothing(outcome: Outcome) -> (Vec<String>, bool) {
    match outcome {
        Outcome::NoResource { messages, conflict, .. } => (codes(&messages), conflict),
        Outcome::Answer(answer) => panic!("there is something: {answer:?}"),
    }
}

fn home() -> FulfillmentDraft {
    let address = PostalAddress {
        street_address: Some("1 Main St".into()),
        address_country: Some("US".into()),
        ..PostalAddress::default()
    };
    FulfillmentDraft {
        methods: vec![MethodDraft {
            kind: Some("shipping".into()),
            destinations: vec![DestinationDraft { id: Some("home".into()), address, ..DestinationDraft::default() }],
            selected_destination_id: Some("home".into()),
            groups: vec![GroupDraft { id: None, selected_option_id: Some("post".into()) }],
            ..MethodDraft::default()
        }],
    }
}
