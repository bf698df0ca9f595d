//! What a shop behind the backend API knows and a platform has to be told: stock that has changed, carts that are gone,
//! reasons for which codes, addresses and orders are not taken, and the currency of an address. In every release, over
//! every transport, on both stores.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use ucp_contract::http::SigningSecret;
use ucp_testkit::server::{Answer, Server};

use super::CONFIGURATION;
use crate::{
    database,
    harness::{elements, folder},
    purchase::shopper::{Shopper, address, id, lines, paying_by, said_at, shipping, ways},
    setup::{Configured, Setup},
};

/// Secret that the gateway and the shop share.
const SECRET: &str = "secret-of-a-shop-that-sells-vases";

/// What the shop does besides selling vases.
#[derive(Default)]
struct Acts {
    sold_out: bool,
    /// Carts made so far.
    made: usize,
    /// Number of carts, from the first, that are gone.
    lost: usize,
    /// `true` if carts that are only looked at are empty.
    emptied: bool,
    /// Members of the answers to `/cart/sync`.
    more: Value,
    /// Answers to `/place`, in order, before it takes orders.
    refusals: Vec<Value>,
    /// `true` if sessions for a payment are not answered.
    mute: bool,
    /// Number of requests to `/place`.
    placed: usize,
}

/// A shop that sells one thing, in dollars to buyers in the United States.
struct VaseShop {
    server: Server,
    acts: Arc<Mutex<Acts>>,
}

impl VaseShop {
    fn start() -> Self {
        let acts = Arc::new(Mutex::new(Acts::default()));
        let told = Arc::clone(&acts);
        let server = Server::start(move |request| {
            let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            answer(&mut told.lock().unwrap_or_else(PoisonError::into_inner), request.uri().path(), &asked)
        });
        Self { server, acts }
    }

    fn does(&self, change: impl FnOnce(&mut Acts)) {
        change(&mut self.acts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Gateways in front of it: one on each store that there is.
    fn gateways(&self) -> Vec<Configured> {
        let url = self.server.url("");
        self.gateways_with(&format!("backend = \"http\"\nurl = \"{url}\"\nsigning_secret_file = \"secret\"\n"), "")
    }

    /// The same with a configuration of the upstream, and a mapping.
    fn gateways_with(&self, upstream: &str, mapping: &str) -> Vec<Configured> {
        let database = database::database();
        let setup = || {
            let configuration = format!("{CONFIGURATION}\n[upstream]\n{upstream}");
            Setup::new(&configuration).file("secret", SECRET).file("shop.toml", mapping)
        };
        let stores = [None, Some(database)].into_iter().filter(|store| store != &Some(None));
        let gateway = |store: Option<Option<String>>| match store.flatten() {
            Some(database) => setup().arguments(&["--database", &database]).start_on(folder()),
            None => setup().start_on(folder()),
        };
        stores.map(gateway).collect()
    }
}

fn answer(acts: &mut Acts, path: &str, asked: &Value) -> Answer {
    let currency = asked["context"]["currency"].clone();
    let cents = if currency == "USD" { 1_200 } else { 1_000 };
    let status = if acts.sold_out { "out_of_stock" } else { "in_stock" };
    let cart = asked["cart"].as_str().unwrap_or_default();
    let is_lost =
        cart.strip_prefix("cart-").is_some_and(|number| number.parse().is_ok_and(|number: usize| number <= acts.lost));
    Answer::json(&match path {
        "/backend" => json!({
            "contract": "1",
            "market": {
                "name": "Vases", "currency": "EUR", "language": "en", "currencies": ["USD"], "countries": { "US": "USD" },
            },
            "cart": { "completion": "place", "codes": true, "delivery": true },
            "payment_handlers": [
                { "name": "com.example.vases", "id": "vases", "version": "2026-01-01", "instruments": ["card"] }
            ],
        }),
        "/find" | "/resolve" | "/open" => json!({ "products": [{
            "id": "vase", "title": "Vase", "description": { "plain": "A vase." },
            "variants": [{
                "id": "vase-1", "price": { "amount": cents, "currency": currency },
                "availability": { "available": !acts.sold_out, "status": status },
            }],
        }] }),
        "/cart/sync" | "/cart/fetch" if is_lost => return Answer::status(404),
        "/cart/sync" | "/cart/fetch" => {
            acts.made += usize::from(cart.is_empty());
            let own = if cart.is_empty() { format!("cart-{}", acts.made) } else { cart.to_owned() };
            let empty = acts.sold_out || acts.emptied && path == "/cart/fetch";
            let quantity = if empty { 0 } else { asked["lines"][0]["quantity"].as_u64().unwrap_or(0) };
            let line = json!({ "variant": "vase-1", "quantity": quantity, "price": cents });
            let there = asked["address"].is_object() && !empty;
            let mut cart = json!({
                "cart": own, "currency": currency, "lines": if quantity > 0 { vec![line] } else { Vec::new() },
                "delivery_options": if there { json!([{ "id": "post", "title": "Post", "amount": 500 }]) } else { json!([]) },
                "delivery_option": there.then_some("post"),
                "total": quantity * cents + if there { 500 } else { 0 },
            });
            for (name, value) in acts.more.as_object().into_iter().flatten() {
                cart[name] = value.clone();
            }
            cart
        }
        "/session" if acts.mute => return Answer::HangUp,
        "/session" => json!({}),
        "/place" if !acts.refusals.is_empty() => acts.refusals.remove(0),
        "/place" => {
            acts.placed += 1;
            json!({ "status": "placed", "order": { "id": asked["reference"] } })
        }
        "/order" | "/cancel" => json!({ "status": "absent" }),
        _ => Value::Null,
    })
}

fn wanted() -> Value {
    json!({
        "line_items": lines(&[("vase-1", 2)]),
        "buyer": { "email": "buyer@example.com", "first_name": "Bea" },
        "fulfillment": shipping(&address()),
        "discounts": { "codes": ["SPRING"] },
        "context": { "address_country": "US" },
    })
}

fn get(shopper: &Shopper<'_>, checkout: &Value) -> Value {
    shopper.call("get_checkout", Some(id(checkout)), &json!({})).document()
}

fn complete(shopper: &Shopper<'_>, checkout: &Value) -> Value {
    let paying = paying_by("card", shopper.release, "vases", "good");
    shopper.call("complete_checkout", Some(id(checkout)), &paying).document()
}

#[test]
fn what_a_shop_knows_is_told_in_every_release_over_every_transport_on_both_stores() {
    let shop = VaseShop::start();
    for gateway in shop.gateways() {
        for (release, transport) in ways() {
            let shopper = Shopper::new(&gateway, release, transport);
            let way = format!("{release} over {transport:?}");
            shop.does(|acts| *acts = Acts { made: acts.made, more: json!({}), ..Acts::default() });

            // Sold out, and there again: at once.
            shop.does(|acts| acts.sold_out = true);
            let refused = shopper.call("create_checkout", None, &wanted());
            assert!(refused.errors().contains(&"out_of_stock".to_owned()), "{way}: {:?}", refused.response);
            shop.does(|acts| acts.sold_out = false);
            let problems = json!([{ "code": "spring", "kind": "expired", "text": "SPRING ended in May." }]);
            shop.does(|acts| acts.more = json!({ "unmet_codes": problems }));
            let checkout = shopper.create(&wanted());
            assert_eq!(checkout["status"], "ready_for_complete", "{way}: {checkout}");
            let expired = "discount_code_expired $.discounts.codes[0]".to_owned();
            assert!(said_at(&checkout, "warning").contains(&expired), "{way}: {checkout}");
            shop.does(|acts| acts.more = json!({}));

            // A cart that is empty for no reason of the buyer is filled before anything is said of it.
            shop.does(|acts| acts.emptied = true);
            let seen = get(&shopper, &checkout);
            assert_eq!(
                (&seen["status"], said_at(&seen, "error").len()),
                (&json!("ready_for_complete"), 0),
                "{way}: {seen}"
            );
            shop.does(|acts| acts.emptied = false);

            // A cart that is gone: a read cancels nothing, and the next change makes it anew.
            shop.does(|acts| acts.lost = acts.made);
            for _ in 0..2 {
                let seen = get(&shopper, &checkout);
                assert_eq!(seen["status"], "ready_for_complete", "{way}: {seen}");
                assert!(said_at(&seen, "warning").iter().any(|said| said.starts_with("cart_lost")), "{way}: {seen}");
            }
            let at_shop = |problems: Value| shop.does(|acts| acts.more = json!({ "field_problems": problems }));
            at_shop(json!([{ "field": "address.postal_code", "kind": "undeliverable", "text": "Too far." }]));
            let changed = shopper.update(&checkout, &wanted());
            let at = "$.fulfillment.methods[0].destinations[0].postal_code";
            assert_eq!(said_at(&changed, "error"), [format!("address_undeliverable {at}")], "{way}: {changed}");
            assert!(said_at(&changed, "info").iter().any(|said| said.starts_with("cart_renewed")), "{way}: {changed}");
            at_shop(json!([]));

            // Orders that are not taken say why and where, and can be placed at once.
            for (refusal, expected) in [
                (json!({ "kind": "sold_out", "variants": ["vase-1"] }), "out_of_stock $.line_items[0]"),
                (json!({ "kind": "buyer", "field": "email" }), "field_invalid $.buyer.email"),
            ] {
                let mut refusal = refusal;
                refusal["status"] = json!("refused");
                shop.does(|acts| acts.refusals.push(refusal));
                get(&shopper, &checkout);
                shopper.update(&checkout, &wanted());
                let told = complete(&shopper, &checkout);
                assert_eq!(
                    (said_at(&told, "error"), &told["status"]),
                    (vec![expected.to_owned()], &json!("incomplete")),
                    "{way}"
                );
            }
            shopper.update(&checkout, &wanted());
            let done = complete(&shopper, &checkout);
            assert_eq!(done["status"], "completed", "{way}: {done}");
        }
    }
}

/// A mapping that asks the shop its own questions, and for a session before an order.
const MAPPING: &str = r#"
[market]
name = "Vases"
currency = "EUR"
language = "en"
currencies = ["USD"]
countries = { US = "USD" }

[[payment_handlers]]
name = "com.example.vases"
id = "vases"
version = "2026-01-01"
instruments = ["card"]

[source.shop]
address = "ADDRESS"

[request.ask]
body = "$question"
reads = true

[find]
step = [{ name = "asked", request = "ask", path = "find" }]
[resolve]
step = [{ name = "asked", request = "ask", path = "resolve" }]

[cart]
completion = "place"
codes = true
delivery = true
sync.step = [{ name = "asked", path = "cart/sync", body = "$question" }]
fetch.step = [{ name = "asked", request = "ask", path = "cart/fetch" }]
abandon.answer = "null"

[[place.step]]
name = "session"
path = "session"
body = "{}"
[[place.step]]
name = "asked"
path = "place"
body = "$question"
places = true
[order]
step = [{ name = "asked", request = "ask", path = "order" }]
[cancel]
step = [{ name = "asked", path = "cancel", body = "$question" }]
"#;

#[test]
fn an_order_that_never_left_is_told_in_words_that_fit_in_every_release() {
    let shop = VaseShop::start();
    shop.does(|acts| acts.more = json!({}));
    let mapping = MAPPING.replace("ADDRESS", &shop.server.url("/"));
    for gateway in shop.gateways_with("backend = \"mapped\"\nmapping_file = \"shop.toml\"\n", &mapping) {
        for (release, transport) in ways() {
            let shopper = Shopper::new(&gateway, release, transport);
            shop.does(|acts| (acts.mute, acts.placed) = (true, 0));
            let checkout = shopper.create(&wanted());
            assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
            let told = complete(&shopper, &checkout);
            assert_eq!(told["status"], "ready_for_complete", "{release} over {transport:?}: {told}");
            assert_eq!(said_at(&told, "error"), Vec::<String>::new(), "{told}");
            let messages = elements(&told["messages"]);
            let unsent = messages.iter().find(|message| message["code"] == "completion_not_sent");
            let content = unsent.and_then(|message| message["content"].as_str()).unwrap_or_default();
            for words in ["No order was sent", "nothing was charged", "Complete the checkout again"] {
                assert!(content.contains(words), "{release} over {transport:?}: {told}");
            }
            // Who looks sees the same; who tries again has the order.
            shop.does(|acts| acts.mute = false);
            assert_eq!(get(&shopper, &checkout)["status"], "ready_for_complete");
            assert_eq!(complete(&shopper, &checkout)["status"], "completed");
            shop.does(|acts| assert_eq!(acts.placed, 1));
        }
    }
}

#[test]
fn the_currency_is_that_of_the_address_for_whoever_asks_for_none() {
    let shop = VaseShop::start();
    for gateway in shop.gateways() {
        for (release, transport) in ways() {
            let shopper = Shopper::new(&gateway, release, transport);
            let mut unplaced = wanted();
            unplaced.as_object_mut().expect("an object").remove("context");
            let checkout = shopper.create(&unplaced);
            assert_eq!(
                (&checkout["currency"], &checkout["status"]),
                (&json!("USD"), &json!("ready_for_complete")),
                "{checkout}"
            );
            assert!(
                said_at(&checkout, "warning").iter().any(|said| said.starts_with("currency_changed")),
                "{checkout}"
            );
            assert_eq!(complete(&shopper, &checkout)["status"], "completed");
            let stated = shopper.create(&wanted());
            assert_eq!(stated["currency"], "USD", "{stated}");
            // The first releases have no context.
            let is_moved = said_at(&stated, "warning").iter().any(|said| said.starts_with("currency_changed"));
            assert!(shopper.founding() || !is_moved, "{stated}");
        }
        let priced = |context: Value| {
            let found = gateway.rest("search_catalog", &json!({ "query": "vase", "context": context }));
            elements(&found.answer()["products"])[0]["variants"][0]["price"].clone()
        };
        assert_eq!(priced(json!({ "currency": "USD" })), json!({ "amount": 1_200, "currency": "USD" }));
        assert_eq!(priced(json!({})), json!({ "amount": 1_000, "currency": "EUR" }));
    }
}

#[test]
fn an_event_about_a_product_makes_a_gateway_without_a_copy_ask_again() {
    let shop = VaseShop::start();
    for gateway in shop.gateways() {
        shop.does(|acts| acts.sold_out = true);
        let available = || {
            let found = gateway.rest("search_catalog", &json!({ "query": "vase" }));
            elements(&found.answer()["products"])[0]["variants"][0]["availability"]["available"].clone()
        };
        assert_eq!(available(), false);
        shop.does(|acts| acts.sold_out = false);
        assert_eq!(available(), false, "it is kept");
        let body = json!({ "products": ["vase"] }).to_string();
        let send = |secret: &str| {
            let timestamp = jiff::Timestamp::now().as_second().to_string();
            let signature = SigningSecret::new(secret).sign(&timestamp, "POST", "/upstream/catalog", body.as_bytes());
            let headers = [("X-Signature-Timestamp", &*timestamp), ("X-Signature", &*signature)];
            gateway.send("POST", "/upstream/catalog", &headers, body.as_bytes()).status
        };
        assert_eq!((send("another-secret-than-the-shop-has"), available()), (401, json!(false)));
        let told = send(SECRET);
        assert!((200..300).contains(&told), "{told}");
        assert_eq!(available(), true);
    }
}
