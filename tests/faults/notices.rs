//! The gateway is killed while a shop behind the backend API tells what becomes of orders.
//!
//! The shop repeats an event until it is answered with success, and now and then once more. What was acknowledged is part of
//! the order, once, and each platform is told of it, once.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use ucp_contract::http::SigningSecret;
use ucp_testkit::server::{Answer, Server};

use crate::{
    client::{exchange, text},
    kills::Stop,
    platforms::PLATFORMS,
    process::{HANDLER, PATIENCE, SIGNING_SECRET, World},
    random::Random,
    webhooks::{NotifyingShop, judged},
};

/// Maximum number of times that the gateway is killed.
const KILLS: u64 = 40;

/// For how long, on a machine that is slow.
const LONGEST: Duration = Duration::from_secs(60);

/// Path that events are sent to.
const PATH: &str = "/upstream/orders";

/// Pots that each order is of.
const POTS: u64 = 3;

/// Orders of the shop by the references that they were placed with.
type Placed = Arc<Mutex<BTreeMap<String, String>>>;

/// A shop with pots, which places an order once for each reference.
fn shop(placed: &Placed) -> Server {
    let placed = Arc::clone(placed);
    Server::start(move |request| {
        let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let mut placed = placed.lock().unwrap_or_else(PoisonError::into_inner);
        Answer::json(&answered(request.uri().path(), &asked, &mut placed))
    })
}

fn answered(path: &str, asked: &Value, placed: &mut BTreeMap<String, String>) -> Value {
    let reference = text(asked, "reference").to_owned();
    let outcome = |order: &String| json!({ "status": "placed", "order": { "id": order } });
    match path {
        "/backend" => json!({
            "contract": "1",
            "market": { "name": "Pots", "currency": "USD", "language": "en" },
            "cart": { "completion": "place" },
            "payment_handlers": [
                { "name": "com.example.psp", "id": HANDLER, "version": "2026-01-01", "instruments": ["card"] }
            ],
        }),
        "/find" | "/resolve" | "/open" => json!({ "products": [{
            "id": "pot", "title": "Pot", "description": { "plain": "A pot." },
            "variants": [{ "id": "pot_ceramic", "price": { "amount": 1_000, "currency": "USD" } }],
        }] }),
        "/cart/sync" | "/cart/fetch" => {
            let quantity = asked["lines"][0]["quantity"].as_u64().unwrap_or_default();
            json!({
                "cart": asked["cart"].as_str().unwrap_or("cart"), "currency": "USD", "total": 1_000 * quantity,
                "lines": [{ "variant": "pot_ceramic", "quantity": quantity, "price": 1_000 }],
            })
        }
        "/place" => {
            let number = placed.len() + 1;
            outcome(placed.entry(reference).or_insert_with(|| format!("O-{number}")))
        }
        "/order" | "/cancel" => placed.get(&reference).map_or_else(|| json!({ "status": "absent" }), outcome),
        _ => Value::Null,
    }
}

/// What becomes of an order, in its order.
fn events(order: &str) -> Vec<Value> {
    let event = |id: String, kind: &str, more: Value| {
        let mut event = json!({ "id": id, "kind": kind, "at": "2026-01-02T03:04:05Z" });
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        json!({ "order": { "id": order }, "reference": "ours", "currency": "USD", "events": [event] })
    };
    let one = json!({ "lines": [{ "variant": "pot_ceramic", "quantity": 1 }], "tracking_number": "T1" });
    let parcels = (0..POTS).map(|number| event(format!("parcel {number}"), "shipped", one.clone()));
    let refunds = (0..2).map(|number| event(format!("refund {number}"), "refunded", json!({ "amount": 100 })));
    parcels.chain(refunds).collect()
}

/// Sends an event until it is answered with success.
fn tell(world: &World, random: &Random, event: &Value) {
    let (body, secret, start) = (event.to_string(), SigningSecret::new(SIGNING_SECRET), Instant::now());
    loop {
        let time = jiff::Timestamp::now().as_second().to_string();
        let signature = secret.sign(&time, "POST", PATH, body.as_bytes());
        let request = format!(
            "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-Signature-Timestamp: {time}\r\nX-Signature: {signature}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if let Some(Ok(answer)) = world.clients.address(random).map(|address| exchange(address, request.as_bytes())) {
            assert!(matches!(answer.status, 200..=299 | 503), "{body}: {answer:?}");
            if answer.status != 503 {
                return;
            }
        }
        assert!(start.elapsed() < PATIENCE, "the event is taken: {body}");
        thread::sleep(Duration::from_millis(10 + random.below(20)));
    }
}

/// Kills the gateway at random moments while events come in.
pub(crate) fn killed(world: &World, random: &Random) -> String {
    let placed = Placed::default();
    let server = shop(&placed);
    let configuration = format!(
        "[data]\n[callers]\npolicy = \"development\"\n\
         [limits]\nanonymous = \"none\"\nsigned = \"none\"\nkeyed = \"none\"\nunverified = \"none\"\n\
         [upstream]\nbackend = \"http\"\nurl = \"{}\"\nsigning_secret_file = \"signing.secret\"\n\
         complete_timeout_ms = 4000\nlost_attempt_s = 5\n",
        server.url("")
    );
    fs::write(world.folder().join("gateway.toml"), configuration).expect("the configuration");
    let (shop, gateway) = NotifyingShop::open(world, random);
    shop.platforms.misbehave(true);
    let over = AtomicBool::new(false);
    let told = Mutex::new(0_usize);
    let mut gateway = Some(gateway);
    thread::scope(|scope| {
        // A failure here ends the others as well, and the other way round.
        let stop = Stop(&over);
        for platform in PLATFORMS {
            let (random, over, shop, told) = (Random::new(random.next()), &over, &shop, &told);
            scope.spawn(move || {
                let _stop = Stop(over);
                while !over.load(Ordering::Relaxed) {
                    let order = shop.order(&random, *platform, &[("pot_ceramic", POTS)]);
                    let of_shop = text(&shop.orders()[&order].document["remote"], "reference").to_owned();
                    for event in events(&of_shop) {
                        tell(world, &random, &event);
                        shop.acknowledged(&order);
                        *told.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                        // Whoever is not sure says it again.
                        if random.percent(30) {
                            tell(world, &random, &event);
                        }
                    }
                }
            });
        }
        let begin = Instant::now();
        for _ in (0..KILLS).take_while(|_| begin.elapsed() < LONGEST) {
            thread::sleep(Duration::from_millis(30 + random.below(900)));
            gateway.take().into_iter().for_each(|gateway| world.kill(gateway));
            gateway = Some(shop.start());
            assert!(!over.load(Ordering::Relaxed), "a platform failed");
        }
        drop(stop);
    });
    let facts = shop.settle(random);
    // Nothing is there that was not said, and nothing twice.
    for (id, order) in &facts.orders {
        let steps = order.version - 1;
        assert_eq!(steps, facts.taken.get(id).copied().unwrap_or_default(), "steps of {id}: {}", order.document);
    }
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    format!("{told} events were acknowledged, {}", judged(&facts))
}
