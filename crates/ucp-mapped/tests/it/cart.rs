//! Carts and orders.

use serde_json::{Value, json};
use ucp_contract::{Question, Reply};
use ucp_net::Failure;
use ucp_testkit::{host::Request, server::Answer};

use super::{MARKET, MappedShop, context};

const MAPPING: &str = r#"
session_cookies = ["sid"]

[find]
answer = "{products: []}"

[resolve]
answer = "{products: []}"

[cart]
completion = "place"

[cart.sync]
answer = "$basket"

[[cart.sync.step]]
name = "emptied"
when = "$question.cart != null"
method = "DELETE"
path = "basket/lines"

[[cart.sync.step]]
name = "added"
each = "$question.lines"
path = "basket/lines"
body = "{product: .variant, quantity}"

[[cart.sync.step]]
name = "basket"
path = "basket"
answer = '''
{
  cart: .id, currency, total: (.total | minor("EUR")),
  lines: [.lines[] | {variant: .product, quantity, price: (.price | minor("EUR"))}],
}
'''

[cart.fetch]
[[cart.fetch.step]]
name = "basket"
path = "basket"
answer = '''
{
  cart: .id, currency, total: (.total | minor("EUR")),
  lines: [.lines[] | {variant: .product, quantity, price: (.price | minor("EUR"))}],
}
'''

[[cart.abandon.step]]
name = "emptied"
method = "DELETE"
path = "basket/lines"

[[place.step]]
name = "order"
path = "checkout"
body = "{reference: $question.reference, total: $question.total}"
accept = [402]
answer = '''
if .status == 402 then {status: "declined", reason: .body.reason}
else {status: "placed", order: {id: .body.number}} end
'''

[[order.step]]
name = "order"
path = "orders/{$question.reference}"
optional = true
answer = "{status: \"placed\", order: {id: .number}}"

[order]
answer = "$order // {status: \"absent\"}"

[cancel]
answer = "{status: \"absent\"}"
"#;

fn basket() -> Value {
    json!({"id": 9, "currency": "EUR", "total": "25.00", "lines": [{"product": "v1", "quantity": 2, "price": "12.50"}]})
}

fn cookie(request: &Request) -> Option<&str> {
    request.headers().get("cookie").and_then(|value| value.to_str().ok())
}

fn shop(request: &Request) -> Answer {
    let whole = |body: &Value, set: &[&str]| {
        let set = set.iter().map(|set| format!("Set-Cookie: {set}"));
        Answer::Whole(200, set.collect(), body.to_string().into_bytes())
    };
    match (request.method().as_str(), request.uri().path(), cookie(request)) {
        ("POST", "/api/basket/lines", None) => whole(&json!({}), &["sid=s1; Path=/", "lang=en"]),
        ("POST" | "DELETE", "/api/basket/lines", Some("sid=s1")) => Answer::Whole(204, Vec::new(), Vec::new()),
        ("GET", "/api/basket", Some("sid=s1")) => whole(&basket(), &[]),
        ("POST", "/api/checkout", Some("sid=s1")) => {
            let body: Value = serde_json::from_slice(request.body()).expect("JSON");
            match body["reference"].as_str() {
                Some("poor") => Answer::Whole(402, Vec::new(), br#"{"reason":"No funds"}"#.to_vec()),
                Some("silent") => Answer::HangUp,
                _ => whole(&json!({"number": "O-1"}), &[]),
            }
        }
        ("GET", "/api/orders/known", None) => whole(&json!({"number": "O-1"}), &[]),
        _ => Answer::status(404),
    }
}

fn mapped(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> MappedShop {
    MappedShop::new(MAPPING, answer)
}

fn wanted(cart: Option<&str>) -> Value {
    let lines = json!([{"variant": "v1", "quantity": 2}, {"variant": "v2", "quantity": 1}]);
    json!({"cart": cart, "purpose": "cart", "lines": lines, "codes": [], "context": context()})
}

async fn made(shop: &MappedShop) -> String {
    let cart = shop.answer(Question::CartSync, wanted(None)).await;
    assert_eq!((&cart["total"], &cart["lines"][0]["price"]), (&json!(2500), &json!(1250)));
    cart["cart"].as_str().expect("an identifier").to_owned()
}

#[tokio::test]
async fn a_cart_keeps_its_session() {
    let shop = mapped(shop);
    let cart = made(&shop).await;
    assert!(cart.starts_with("m1.") && !cart.contains("s1"), "{cart}");
    assert_eq!(shop.asked(), ["POST /api/basket/lines", "POST /api/basket/lines", "GET /api/basket"]);
    let again = shop.answer(Question::CartFetch, wanted(Some(&cart))).await;
    assert_eq!(again["cart"], cart);
    shop.answer(Question::CartSync, wanted(Some(&cart))).await;
    assert_eq!(shop.asked()[4], "DELETE /api/basket/lines");
    shop.answer(Question::CartAbandon, json!({"cart": cart})).await;
    let sessions: Vec<_> = shop.server.requests().iter().map(|request| cookie(request).map(str::to_owned)).collect();
    assert_eq!(sessions[0], None);
    assert!(sessions[1..].iter().all(|session| session.as_deref() == Some("sid=s1")), "{sessions:?}");
}

#[tokio::test]
async fn a_cart_of_nobody_is_gone() {
    let shop = mapped(shop);
    for cart in ["7", "m1.x", ""] {
        let asked = shop.ask(Question::CartFetch, wanted(Some(cart))).await;
        assert!(matches!(asked, Ok(Reply::Gone)), "{cart}: {asked:?}");
    }
    assert!(shop.asked().is_empty());
}

#[tokio::test]
async fn a_step_finds_out_that_a_cart_is_gone() {
    let watching = MAPPING.replace(
        "[cart.fetch]\n[[cart.fetch.step]]\nname = \"basket\"\n",
        "[cart.fetch]\n[[cart.fetch.step]]\nname = \"basket\"\ngone = \"$question.purpose == \\\"checkout\\\"\"\n",
    );
    assert_ne!(watching, MAPPING);
    let shop = MappedShop::new(&watching, shop);
    let cart = made(&shop).await;
    assert_eq!(shop.answer(Question::CartFetch, wanted(Some(&cart))).await["cart"], cart);
    let mut question = wanted(Some(&cart));
    question["purpose"] = "checkout".into();
    let asked = shop.ask(Question::CartFetch, question).await;
    assert!(matches!(asked, Ok(Reply::Gone)), "{asked:?}");
}

#[tokio::test]
async fn a_total_that_does_not_add_up_is_refused() {
    let shop = mapped(|request| match request.method().as_str() {
        "GET" => {
            let mut basket = basket();
            basket["total"] = "26.00".into();
            Answer::json(&basket)
        }
        _ => Answer::json(&json!({})),
    });
    assert!(shop.ask(Question::CartSync, wanted(None)).await.is_err());
    let findings = shop.findings(Question::CartSync, wanted(None)).await;
    let expected = "`cart.sync.answer`: $.total: must be 2500 (lines 2500, discounts -0, delivery 0, pickup 0, fees and taxes 0, credits -0), is 2600";
    assert_eq!(findings, [expected]);
}

/// The mapping with more members in the answers about carts.
fn mapping_with(members: &str) -> String {
    let with = MAPPING.replace("  cart: .id, currency,", &format!("  {members}\n  cart: .id, currency,"));
    assert_ne!(with, MAPPING);
    with
}

#[tokio::test]
async fn gift_cards_of_the_shop_are_credits_of_the_cart() {
    let mapping = mapping_with(
        "credits: [.cards[]? | {kind: \"gift_card\", title: .name, code, amount: (.used | minor(\"EUR\"))}],",
    );
    for (total, used, finding) in [
        ("15.00", "10.00", None),
        ("25.00", "10.00", Some("$.total: must be 1500")),
        ("0.00", "25.01", Some("$.credits[0].amount: must be at most 2500")),
    ] {
        let shop = MappedShop::new(&mapping, move |request| match request.method().as_str() {
            "GET" => {
                let mut basket = basket();
                basket["total"] = total.into();
                basket["cards"] = json!([{"name": "Birthday", "code": "G-1", "used": used}]);
                Answer::json(&basket)
            }
            _ => Answer::json(&json!({})),
        });
        match finding {
            None => {
                let cart = shop.answer(Question::CartSync, wanted(None)).await;
                let credit = json!({"kind": "gift_card", "title": "Birthday", "code": "G-1", "amount": 1000});
                assert_eq!((&cart["credits"], &cart["total"]), (&json!([credit]), &json!(1500)));
            }
            Some(finding) => {
                let findings = shop.findings(Question::CartSync, wanted(None)).await;
                assert!(findings[0].starts_with(&format!("`cart.sync.answer`: {finding}")), "{findings:?}");
            }
        }
    }
    let floating = mapping_with("credits: [{kind: \"gift_card\", title: \"x\", amount: 12.5}],");
    let shop = MappedShop::new(&floating, shop);
    assert!(shop.ask(Question::CartSync, wanted(None)).await.is_err());
}

#[tokio::test]
async fn places_to_pick_up_at_are_those_of_the_shop() {
    let places = "pickup_places: [{id: \"b1\", name: \"Branch\", address: {address_country: \"AT\"}, amount: 150}],";
    let chosen = "pickup_place: $question.pickup_place,";
    let mapping = mapping_with(&format!("{places} {chosen}")).replace("[cart]\n", "[cart]\npickup = true\n");
    let shop = MappedShop::new(&mapping, |request| match request.method().as_str() {
        "GET" => {
            let mut basket = basket();
            basket["total"] = "26.50".into();
            Answer::json(&basket)
        }
        _ => Answer::json(&json!({})),
    });
    let backend = shop.answer(Question::Backend, json!(null)).await;
    assert_eq!(backend["cart"]["pickup"], true);
    let mut question = wanted(None);
    for (place, finding) in
        [("b1", None), ("b2", Some("`cart.sync.answer`: $.pickup_place: must be one of `pickup_places`"))]
    {
        question["pickup_place"] = place.into();
        let findings = shop.findings(Question::CartSync, question.clone()).await;
        assert_eq!(findings.first().map(String::as_str), finding);
    }
}

fn place(cart: &str, reference: &str) -> Value {
    let lines = json!([{"variant": "v1", "quantity": 2, "price": 1250}]);
    json!({"reference": reference, "cart": cart, "lines": lines, "currency": "EUR", "total": 2500})
}

#[tokio::test]
async fn an_order_is_placed_declined_or_looked_up() {
    let shop = mapped(shop);
    let cart = made(&shop).await;
    let placed = shop.answer(Question::Place, place(&cart, "known")).await;
    assert_eq!(placed, json!({"status": "placed", "order": {"id": "O-1"}}));
    let declined = shop.answer(Question::Place, place(&cart, "poor")).await;
    assert_eq!(declined, json!({"status": "declined", "reason": "No funds"}));
    assert_eq!(shop.answer(Question::Order, json!({"reference": "known"})).await["order"]["id"], "O-1");
    assert_eq!(shop.answer(Question::Order, json!({"reference": "other"})).await["status"], "absent");
    assert_eq!(shop.answer(Question::Cancel, json!({"reference": "other"})).await["status"], "absent");
}

#[tokio::test]
async fn a_write_is_sent_once() {
    let shop = mapped(shop);
    let cart = made(&shop).await;
    let before = shop.asked().len();
    let placed = shop.ask(Question::Place, place(&cart, "silent")).await;
    assert!(matches!(&placed, Err(failure) if !failure.never_sent()), "{placed:?}");
    assert_eq!(shop.asked().len(), before + 1);
}

#[tokio::test]
async fn a_failure_after_a_write_never_says_that_nothing_was_sent() {
    let breaking = MAPPING.replace(
        "path = \"basket\"\nanswer = '''\n{\n  cart: .id,",
        "path = \"{error(\\\"stop\\\")}\"\nanswer = '''\n{\n  cart: .id,",
    );
    assert_ne!(breaking, MAPPING);
    let shop = MappedShop::new(&breaking, shop);
    let asked = shop.ask(Question::CartSync, wanted(None)).await;
    assert!(matches!(&asked, Err(failure) if !failure.never_sent()), "{asked:?}");
    let asked = shop.ask(Question::CartFetch, wanted(None)).await;
    assert!(matches!(&asked, Err(Failure::Unsendable(_))), "{asked:?}");
}

/// The mapping with a payment session before the order, which is marked as the request that places it, or not.
fn with_session(places: bool) -> String {
    let session =
        "[[place.step]]\nname = \"session\"\npath = \"session\"\nbody = \"{}\"\n\n[[place.step]]\nname = \"order\"";
    let mapping = MAPPING.replacen("[[place.step]]\nname = \"order\"", session, 1);
    if places { mapping.replacen("accept = [402]", "accept = [402]\nplaces = true", 1) } else { mapping }
}

#[tokio::test]
async fn what_fails_before_the_order_is_placed_places_none() {
    let question = || json!({ "reference": "r1", "total": 2_500 });
    for (places, lost) in [(true, "session"), (false, "session"), (true, "checkout")] {
        let mapped = MappedShop::new(&with_session(places), move |request| {
            if request.uri().path().ends_with(lost) {
                Answer::HangUp
            } else {
                Answer::json(&json!({ "number": "O-1" }))
            }
        });
        let reply = mapped.ask(Question::Place, question()).await;
        if places && lost == "session" {
            assert!(matches!(reply, Ok(Reply::Unsent(_))), "{reply:?}");
        } else {
            assert!(matches!(&reply, Err(failure) if !failure.never_sent()), "{places} {lost}: {reply:?}");
        }
    }
}

#[test]
fn only_one_step_of_an_order_places_it() {
    for (wrong, expected) in [
        (MAPPING.replacen("name = \"added\"", "name = \"added\"\nplaces = true", 1), "only a step of `place`"),
        (with_session(true).replacen("name = \"session\"", "name = \"session\"\nplaces = true", 1), "at most one step"),
    ] {
        let text = format!("{MARKET}\n[source.shop]\naddress = \"https://shop.example/\"\n{wrong}");
        let faulty = ucp_mapped::read(&text).expect_err("cannot be used").to_string();
        assert!(faulty.contains(expected), "{faulty}");
    }
}

#[tokio::test]
async fn a_fault_of_a_cart_names_program_path_and_rule_without_data() {
    for (cart, path, rule) in [
        (r#"taxes: [{title: "VAT", amount: -190}]"#, "$.taxes[0].amount", "must be an integer of minor units from 0"),
        (r#"buyer: 1, total: "secret""#, "$.total", "must be "),
        ("total: 7", "$.total", "must be 0 (lines 0"),
    ] {
        let (log, _guard) = ucp_testkit::log::Log::of_this_thread();
        let sync = format!(
            "[cart]\ncompletion = \"hand_off\"\n\n[cart.sync]\nanswer = '{{cart: \"c\", currency: \"EUR\", lines: [], total: 0}} + {{{cart}}}'\n[cart.fetch]\nanswer = \"null\"\n[cart.abandon]\nanswer = \"null\"\n"
        );
        let mapping =
            format!("[find]\nanswer = \"{{products: []}}\"\n[resolve]\nanswer = \"{{products: []}}\"\n{sync}");
        let mapped = MappedShop::new(&mapping, |_| Answer::status(404));
        mapped
            .ask(Question::CartSync, json!({ "lines": [], "purpose": "cart", "context": context() }))
            .await
            .expect_err(path);
        let text = log.text();
        let line = text.lines().find(|line| line.contains("cannot be used")).unwrap_or_else(|| panic!("{text}"));
        for part in ["cart.sync.answer", path, rule] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!line.contains("-190") && !line.contains("secret"), "{line}");
    }
}
