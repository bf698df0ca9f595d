//! Failures for one caller's words, or for one kind of request, at a shop behind the backend API or a mapping: others
//! continue to search and to pay, and no request is wasted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::{
    PATIENCE, eventually,
    host::Request,
    server::{Answer, Server},
};

use super::CONFIGURATION;
use crate::{
    database,
    harness::{Gateway, REST_HEADERS, Verdict, folder, rpc},
    purchase::shopper::{Shopper, id, lines, new_key, paying_by},
    setup::{Configured, Setup, Transport},
};

/// Products of the shop.
const PRODUCTS: usize = 60;

/// A shop behind the contract, which answers some requests as `fault` says.
struct CountingShop {
    server: Server,
}

impl CountingShop {
    fn new(fault: impl Fn(&str, &Value) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let server = Server::start(move |request| {
            let asked = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
            let path = request.uri().path();
            fault(path, &asked).unwrap_or_else(|| answer(path, &asked))
        });
        Self { server }
    }

    /// A gateway in front of it, with more keys of the section `upstream`.
    fn gateway(&self, upstream: &str) -> Configured {
        self.setup(upstream).start_on(folder())
    }

    fn setup(&self, upstream: &str) -> Setup {
        let url = self.server.url("");
        let configuration = format!(
            "{CONFIGURATION}\n[upstream]\nbackend = \"http\"\nurl = \"{url}\"\nconnect_timeout_ms = 20000\n{upstream}"
        );
        Setup::new(&configuration)
    }

    /// Number of requests for a question.
    fn times(&self, path: &str) -> usize {
        times(&self.server, path)
    }
}

fn times(server: &Server, path: &str) -> usize {
    server.requests().iter().filter(|request| request.uri().path() == path).count()
}

fn product(number: usize) -> Value {
    json!({
        "id": format!("p{number:02}"), "title": format!("Fruit {number}"), "description": { "plain": "Ripe." },
        "variants": [{ "id": format!("v{number:02}"), "price": { "amount": 100 + number, "currency": "EUR" } }],
    })
}

fn answer(path: &str, asked: &Value) -> Answer {
    let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| usize::try_from(asked[name].as_u64().unwrap_or(0)).expect("a number");
    Answer::json(&match path {
        "/backend" => json!({
            "contract": "1",
            "market": { "name": "Fruit", "currency": "EUR", "language": "en" },
            "catalog": { "most_ids": 5 },
            "cart": { "completion": "place", "codes": false, "delivery": false, "pickup": false },
            "payment_handlers": [
                { "name": "com.example.fruit", "id": "fruit", "version": "2026-01-01", "instruments": ["card"] }
            ],
        }),
        "/find" => {
            let first = text("after").parse().unwrap_or(0);
            let last = PRODUCTS.min(first + number("limit"));
            let next = (last < PRODUCTS).then(|| last.to_string());
            json!({ "products": (first..last).map(product).collect::<Vec<_>>(), "next": next, "total": PRODUCTS })
        }
        "/resolve" | "/open" => {
            let ids: Vec<_> = asked["ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let named = |number: &usize| ids.iter().any(|id| id[1..] == format!("{number:02}"));
            json!({ "products": (0..PRODUCTS).filter(named).map(product).collect::<Vec<_>>() })
        }
        "/cart/sync" | "/cart/fetch" => {
            let wanted = asked["lines"].as_array().into_iter().flatten();
            let line = |line: &Value| {
                let price = 100 + line["variant"].as_str()?[1..].parse::<u64>().ok()?;
                Some(json!({ "variant": line["variant"], "quantity": line["quantity"], "price": price }))
            };
            // A cart that is looked at is one of one piece of the first.
            let mut lines: Vec<_> = wanted.filter_map(line).collect();
            if lines.is_empty() {
                lines.push(json!({ "variant": "v00", "quantity": 1, "price": 100 }));
            }
            let sum = |line: &Value| line["price"].as_u64().unwrap_or(0) * line["quantity"].as_u64().unwrap_or(0);
            json!({ "cart": "c", "currency": "EUR", "lines": lines, "total": lines.iter().map(sum).sum::<u64>() })
        }
        "/cart/abandon" => Value::Null,
        "/place" => json!({ "status": "placed", "order": { "id": asked["reference"] } }),
        _ => json!({ "status": "absent" }),
    })
}

fn search(gateway: &Gateway, query: &str) -> Verdict {
    gateway.rest("search_catalog", &json!({ "query": query }))
}

fn code(verdict: &Verdict) -> &str {
    &verdict.refusal().code
}

fn shopper(gateway: &Configured) -> Shopper<'_> {
    Shopper::new(gateway, Release::NEWEST, Transport::Rest)
}

/// A checkout that can be completed.
fn prepared(shopper: &Shopper<'_>) -> Value {
    let wanted = json!({ "line_items": lines(&[("v00", 1)]), "buyer": { "email": "buyer@example.com" } });
    let checkout = shopper.create(&wanted);
    assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
    checkout
}

/// Status of a checkout after an attempt to complete it, or the code of the refusal.
fn completed(shopper: &Shopper<'_>, checkout: &Value) -> String {
    let paying = paying_by("card", shopper.release, "fruit", "good");
    let (method, path, headers, body) =
        shopper.request(Some(&new_key()), "complete_checkout", Some(id(checkout)), &paying);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let said = shopper.gateway.send(method, &path, &headers, &body).json();
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    text("status").or_else(|| text("code")).unwrap_or_else(|| panic!("{said}"))
}

#[track_caller]
fn buys(shopper: &Shopper<'_>) {
    assert_eq!(completed(shopper, &prepared(shopper)), "completed");
}

#[test]
fn texts_that_nothing_can_hold_never_reach_the_shop_or_the_database() {
    let Some(database) = database::database() else { return };
    let shop = CountingShop::new(|_, asked| asked.to_string().contains("\\u0000").then(|| Answer::status(500)));
    let gateway = shop.setup("").arguments(&["--database", &database]).start_on(folder());
    refuses_texts_that_nothing_can_hold(&gateway, &shop.server);
    buys(&shopper(&gateway));
}

#[test]
fn texts_that_nothing_can_hold_never_reach_a_mapped_shop_or_the_database() {
    let Some(database) = database::database() else { return };
    let (server, setup) = mapped(|_| Answer::json(&json!({})), MANY_LINES, "");
    let gateway = setup.arguments(&["--database", &database]).start_on(folder());
    refuses_texts_that_nothing_can_hold(&gateway, &server);
    let cart = shopper(&gateway).call("create_cart", None, &json!({ "line_items": lines(&[("v1", 1)]) }));
    assert_eq!(cart.document()["line_items"].as_array().map(Vec::len), Some(1));
}

fn refuses_texts_that_nothing_can_hold(gateway: &Gateway, server: &Server) {
    let before = server.requests().len();
    for number in 0..28 {
        for hidden in ["\u{0}", "\u{8}", "\u{ffff}"] {
            let query = json!({ "query": format!("w{number}{hidden}") });
            assert_eq!(code(&gateway.rest("search_catalog", &query)), "invalid_request");
            let ids = json!({ "ids": [format!("p{number}{hidden}")] });
            assert_eq!(code(&gateway.rest("lookup_catalog", &ids)), "invalid_request");
        }
    }
    assert_eq!(server.requests().len(), before, "the shop was not asked");
    search(gateway, "fruit").answer();
}

#[test]
fn a_question_that_the_firewall_of_a_shop_refuses_fails_alone() {
    let shop = CountingShop::new(|_, asked| asked["words"].as_str()?.contains("<script>").then(|| Answer::status(403)));
    let gateway = shop.gateway("");
    let shopper = shopper(&gateway);
    for number in 0..40 {
        assert_eq!(code(&search(&gateway, &format!("<script>alert({number})</script>"))), "unavailable");
        search(&gateway, &format!("fruit {number}")).answer();
        if number % 8 == 0 {
            buys(&shopper);
        }
    }
}

#[test]
fn searches_of_one_caller_that_hang_keep_nobody_from_paying() {
    let shop = CountingShop::new(|_, asked| asked["words"].as_str()?.contains("hang").then_some(Answer::Silence));
    let gateway = shop.gateway("read_timeout_ms = 3000\nwrite_timeout_ms = 30000\n");
    let shopper = shopper(&gateway);
    thread::scope(|scope| {
        for number in 0..36 {
            let gateway = &gateway;
            scope.spawn(move || {
                // Three a second.
                thread::sleep(Duration::from_millis(333) * number);
                assert_eq!(code(&search(gateway, &format!("hang {number}"))), "unavailable");
            });
        }
        for number in 0..12 {
            buys(&shopper);
            search(&gateway, &format!("fruit {number}")).answer();
            thread::sleep(Duration::from_millis(500));
        }
    });
}

#[test]
fn retry_after_is_kept_for_all_calls_of_the_kind() {
    let throttles = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&throttles);
    let shop = CountingShop::new(move |path, _| {
        let retry_after = vec!["Retry-After: 30".to_owned()];
        (path == "/find" && told.load(Ordering::Relaxed)).then(|| Answer::Whole(429, retry_after, Vec::new()))
    });
    let gateway = shop.gateway("");
    let shopper = shopper(&gateway);
    let checkout = prepared(&shopper);
    throttles.store(true, Ordering::Relaxed);
    assert_eq!(code(&search(&gateway, "first")), "unavailable");
    let before = shop.times("/find");
    for number in 0..25 {
        assert_eq!(code(&search(&gateway, &format!("fruit {number}"))), "unavailable");
    }
    assert_eq!(shop.times("/find"), before, "no request of that kind until then");
    // Payments are of another kind.
    assert_eq!(completed(&shopper, &checkout), "completed");
}

#[test]
fn an_order_that_the_shop_refuses_outright_is_not_on_its_way() {
    for status in [400, 401, 403, 429] {
        let refuses = Arc::new(AtomicBool::new(true));
        let told = Arc::clone(&refuses);
        let shop = CountingShop::new(move |path, _| {
            (path == "/place" && told.load(Ordering::Relaxed)).then(|| Answer::status(status))
        });
        let gateway = shop.gateway("");
        let shopper = shopper(&gateway);
        let (checkout, given_up) = (prepared(&shopper), prepared(&shopper));
        for checkout in [&checkout, &given_up] {
            let said = completed(&shopper, checkout);
            assert!(!["completed", "complete_in_progress"].contains(&&*said), "{status}: {said}");
            let standing = shopper.call("get_checkout", Some(id(checkout)), &json!({})).document();
            assert_eq!(standing["status"], "ready_for_complete", "{status}: {standing}");
        }
        let canceled = shopper.call("cancel_checkout", Some(id(&given_up)), &json!({})).document();
        assert_eq!(canceled["status"], "canceled", "{status}: {canceled}");
        refuses.store(false, Ordering::Relaxed);
        // A shop that throttles is left alone for a moment.
        eventually("the order is placed", PATIENCE, || (completed(&shopper, &checkout) == "completed").then_some(()));
    }
}

#[test]
fn a_page_on_which_nothing_passes_and_one_that_fails_are_no_empty_result() {
    let shop =
        CountingShop::new(|path, asked| (path == "/find" && asked["after"].is_string()).then(|| Answer::status(500)));
    let gateway = shop.gateway("");
    let dear = json!({
        "query": "fruit", "filters": { "price": { "min": 150 } }, "pagination": { "limit": 10 }
    });
    assert_eq!(code(&gateway.rest("search_catalog", &dear)), "unavailable");
}

#[test]
fn another_limit_goes_on_where_the_page_before_has_ended() {
    let shop = CountingShop::new(|_, _| None);
    let gateway = shop.gateway("");
    let page = |pagination: Value| {
        let page = gateway.search(&json!({ "query": "fruit", "pagination": pagination }));
        let ids = page["products"].as_array().expect("products").iter();
        let ids: Vec<_> = ids.map(|product| product["id"].as_str().expect("an id").to_owned()).collect();
        (ids, page["pagination"]["cursor"].clone())
    };
    let named = |numbers: std::ops::Range<usize>| numbers.map(|number| format!("p{number:02}")).collect::<Vec<_>>();
    let (first, cursor) = page(json!({ "limit": 10 }));
    let (second, _) = page(json!({ "limit": 5, "cursor": cursor }));
    assert_eq!((first, second), (named(0..10), named(10..15)));
}

/// A shop behind a mapping, of which `questions` is the rest, and what starts its gateway.
fn mapped(
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    questions: &str,
    upstream: &str,
) -> (Server, Setup) {
    let server = Server::start(answer);
    let mapping = format!(
        "[market]\nname = \"Test\"\ncurrency = \"EUR\"\nlanguage = \"en\"\n[source.shop]\naddress = \"ADDRESS\"\n{questions}"
    );
    let mapping = mapping.replace("ADDRESS", &server.url("/"));
    let configuration = format!("{CONFIGURATION}\n[upstream]\nmapping_file = \"shop.toml\"\n{upstream}");
    let setup = Setup::new(&configuration).file("shop.toml", &mapping).arguments(&["--backend", "mapped"]);
    (server, setup.variable("SHOP_SECRET", "secret"))
}

const MANY_LINES: &str = r#"
[find]
answer = "{products: []}"
[resolve]
answer = '{products: [$question.ids[] | {id: "product-\(.)", title: ., description: {plain: .}, variants: [{id: ., price: {amount: 100, currency: "EUR"}}]}]}'
[cart]
completion = "hand_off"
[cart.sync]
answer = '''
{
  cart: "c", currency: "EUR", lines: [$question.lines[] | {variant, quantity, price: 100}],
  total: (100 * ([$question.lines[].quantity] | add)), continue_url: "https://shop.example/"
}
'''
[[cart.sync.step]]
name = "added"
each = "$question.lines"
path = "lines"
body = "{variant, quantity}"
[cart.fetch]
answer = "null"
[cart.abandon]
answer = "null"
"#;

#[test]
fn a_cart_of_many_lines_has_one_deadline() {
    let slow = |_: &Request| {
        thread::sleep(Duration::from_millis(500));
        Answer::json(&json!({}))
    };
    let (server, setup) = mapped(slow, MANY_LINES, "write_timeout_ms = 4000\n");
    let gateway = setup.start_on(folder());
    let cart = |count: usize| {
        let names: Vec<_> = (0..count).map(|number| format!("v{number}")).collect();
        let goods: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let key = new_key();
        let headers = [REST_HEADERS, &[("Idempotency-Key", &*key)]].concat();
        let answer =
            gateway.send("POST", "/carts", &headers, json!({ "line_items": lines(&goods) }).to_string().as_bytes());
        (answer.status, answer.json())
    };
    let (status, made) = cart(3);
    assert_eq!((status, made["line_items"].as_array().map(Vec::len)), (201, Some(3)), "{made}");
    let before = times(&server, "/lines");
    let (status, said) = cart(40);
    assert_eq!((status, said["code"].as_str()), (503, Some("unavailable")), "{said}");
    // All forty would take twenty seconds.
    assert!(times(&server, "/lines") - before < 20, "{}", times(&server, "/lines") - before);
    assert_eq!(cart(1).0, 201);
}

#[test]
fn a_cart_of_many_lines_is_made_side_by_side_where_the_mapping_allows_it() {
    let slow = |_: &Request| {
        thread::sleep(Duration::from_millis(500));
        Answer::json(&json!({}))
    };
    let side_by_side = MANY_LINES.replace("each = \"$question.lines\"", "each = \"$question.lines\"\nat_once = 16");
    // One after the other, forty would take twenty seconds.
    let (server, setup) = mapped(slow, &side_by_side, "write_timeout_ms = 15000\n");
    let gateway = setup.start_on(folder());
    let names: Vec<_> = (0..40).map(|number| format!("v{number}")).collect();
    let goods: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let made = shopper(&gateway).call("create_cart", None, &json!({ "line_items": lines(&goods) })).document();
    assert_eq!((made["line_items"].as_array().map(Vec::len), times(&server, "/lines")), (Some(40), 40), "{made}");
}

const BATCHES: &str = r#"
[find]
answer = "{products: []}"
[resolve]
batch = 5
answer = '{products: [$question.ids[] | {id: "product-\(.)", title: ., description: {plain: .}, variants: [{id: ., price: {amount: 100, currency: "EUR"}}]}]}'
[[resolve.step]]
name = "asked"
path = "products"
"#;

#[test]
fn a_lookup_in_batches_has_one_deadline() {
    let slow = |_: &Request| {
        thread::sleep(Duration::from_millis(1_800));
        Answer::json(&json!({}))
    };
    let (server, setup) = mapped(slow, BATCHES, "read_timeout_ms = 4500\nreads_in_flight = 2\n");
    let gateway = setup.start_on(folder());
    let lookup = |count: usize| {
        let ids: Vec<_> = (0..count).map(|number| format!("p{number}")).collect();
        gateway.rest("lookup_catalog", &json!({ "ids": ids }))
    };
    assert_eq!(lookup(5).answer()["products"].as_array().map(Vec::len), Some(5));
    let before = times(&server, "/products");
    let answer = lookup(50);
    if let Verdict::Answered(_) = &answer {
        let answer = answer.answer();
        let found = answer["products"].as_array().map_or(0, Vec::len);
        assert!(found < 50 && answer.to_string().contains("not_checked"), "{answer}");
    } else {
        assert_eq!(code(&answer), "unavailable");
    }
    // All ten would take nine seconds.
    assert!(times(&server, "/products") - before < 8, "{}", times(&server, "/products") - before);
}

const TOKENS: &str = r#"
auth = { kind = "oauth", token_address = "ADDRESStoken", client = "me", secret = "SHOP_SECRET" }
[find]
answer = "{products: []}"
[[find.step]]
name = "found"
path = "products"
query.words = "$question.words"
[resolve]
answer = "{products: []}"
"#;

/// A mapped shop whose API wants tokens, and its gateway.
fn with_tokens(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> (Server, Configured) {
    let (server, setup) = mapped(answer, TOKENS, "read_timeout_ms = 4000\n");
    (server, setup.start_on(folder()))
}

#[test]
fn a_token_that_does_not_come_is_asked_for_once_for_all_who_wait() {
    let (server, gateway) = with_tokens(|_| Answer::Silence);
    let before = times(&server, "/token");
    thread::scope(|scope| {
        for number in 0..20 {
            let gateway = &gateway;
            scope.spawn(move || assert_eq!(code(&search(gateway, &format!("fruit {number}"))), "unavailable"));
        }
    });
    assert_eq!(times(&server, "/token") - before, 1, "one attempt for all");
}

#[test]
fn an_api_that_takes_no_token_is_left_alone() {
    let (server, gateway) = with_tokens(|request| match request.uri().path() {
        "/token" => Answer::json(&json!({ "access_token": "t", "expires_in": 3600 })),
        _ => Answer::status(401),
    });
    let asked = || {
        let before = server.requests().len();
        for number in 0..20 {
            assert_eq!(code(&search(&gateway, &format!("fruit {before} {number}"))), "unavailable");
        }
        server.requests().len() - before
    };
    eventually("a pause", PATIENCE, || (asked() == 0).then_some(()));
    // All other requests succeed meanwhile.
    assert!(gateway.rpc(&rpc("tools/list", &json!({}))).json()["result"]["tools"].is_array());
}
