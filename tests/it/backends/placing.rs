//! Orders that the gateway places at a shop behind the backend contract, while the gateway is killed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::{
    PATIENCE, eventually,
    server::{Answer, Server},
};

use crate::{
    harness::folder,
    purchase::shopper::{Shopper, id, lines, new_key, paying_in},
    setup::{Setup, Transport},
    wire::request,
};

/// Number of interrupted purchases, each a little later than the one before.
const KILLS: u64 = 24;

/// Number of requests to `/place` for each reference.
type Placed = Arc<Mutex<BTreeMap<String, u64>>>;

/// A shop with one thing to sell, which takes its time to place an order.
fn shop(placed: &Placed) -> Server {
    let placed = Arc::clone(placed);
    let taken = Mutex::new(Vec::<String>::new());
    Server::start(move |request| {
        let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let products = json!([{
            "id": "vase", "title": "Vase", "description": { "plain": "A vase." },
            "variants": [{ "id": "vase-1", "digital": true, "price": { "amount": 1_000, "currency": "EUR" } }],
        }]);
        let reference = asked["reference"].as_str().unwrap_or_default().to_owned();
        let outcome = |reference: &str| json!({ "status": "placed", "order": { "id": format!("order of {reference}"), "label": "No. 7" } });
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let document = match request.uri().path() {
            "/backend" => json!({
                "contract": "1",
                "market": { "name": "Vases", "currency": "EUR", "language": "en" },
                "cart": { "completion": "place" },
                "payment_handlers": [{ "name": "com.example.vases", "id": "vases", "version": "2026-01-01", "instruments": ["card"] }],
            }),
            "/find" | "/resolve" | "/open" => json!({ "products": products }),
            "/cart/sync" | "/cart/fetch" => json!({
                "cart": asked["cart"].as_str().unwrap_or("cart"), "currency": "EUR", "total": 1_000,
                "lines": [{ "variant": "vase-1", "quantity": 1, "price": 1_000 }],
            }),
            "/place" => {
                *placed.lock().unwrap_or_else(PoisonError::into_inner).entry(reference.clone()).or_default() += 1;
                taken.push(reference.clone());
                drop(taken);
                thread::sleep(Duration::from_millis(30));
                return Answer::json(&outcome(&reference));
            }
            "/order" if taken.contains(&reference) => outcome(&reference),
            "/order" => json!({ "status": "absent" }),
            _ => Value::Null,
        };
        Answer::json(&document)
    })
}

#[test]
fn a_kill_places_no_order_twice_and_loses_none() {
    let placed = Placed::default();
    let shop = shop(&placed);
    let data = folder();
    let setup = Setup::new("[limits]\nunverified = \"none\"\n").arguments(&[
        "--backend",
        "http",
        "--upstream-url",
        &shop.url(""),
    ]);
    let mut gateway = setup.spawn("127.0.0.1:0", data.path());
    let mut checkouts = Vec::new();
    for kill in 0..KILLS {
        let shopper = Shopper::new(&gateway, Release::NEWEST, Transport::Rest);
        let ready = json!({ "line_items": lines(&[("vase-1", 1)]), "buyer": { "email": "buyer@example.com" } });
        let checkout = shopper.create(&ready);
        assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
        let paying = paying_in(Release::NEWEST, "vases", "token");
        let (method, path, headers, body) =
            shopper.request(Some(&new_key()), "complete_checkout", Some(id(&checkout)), &paying);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut connection = gateway.connect();
        assert!(connection.write(&request(method, &path, &headers, &body)));
        thread::sleep(Duration::from_millis(kill * 3));
        gateway.kill();
        checkouts.push(id(&checkout).to_owned());
        gateway = setup.spawn("127.0.0.1:0", data.path());
    }
    let shopper = Shopper::new(&gateway, Release::NEWEST, Transport::Rest);
    let orders = || placed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let standing = || -> Vec<Value> {
        checkouts.iter().map(|own| shopper.call("get_checkout", Some(own), &json!({})).document()).collect()
    };
    let completed = |standing: &[Value]| standing.iter().filter(|one| one["status"] == "completed").count();
    eventually("every order that the shop has to be told to its platform", PATIENCE, || {
        (completed(&standing()) == orders().len()).then_some(())
    });
    let standing = standing();
    assert!(orders().values().all(|times| *times == 1), "{:?}", orders());
    let completed: Vec<_> = standing.iter().filter(|one| one["status"] == "completed").collect();
    assert!(completed.iter().all(|one| one["order"]["label"] == "No. 7"), "{completed:?}");
    assert!(!completed.is_empty() && completed.len() < checkouts.len(), "{} of {KILLS}", completed.len());
    // An order that never reached the shop is not placed, and can still be looked up.
    for other in standing.iter().filter(|one| one["status"] != "completed") {
        assert!(
            ["ready_for_complete", "complete_in_progress"].map(|own| json!(own)).contains(&other["status"]),
            "{other}"
        );
    }
    println!("{} purchases, {} orders", standing.len(), completed.len());
}
