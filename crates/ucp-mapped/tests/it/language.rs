//! Tests of the language of mappings: requests and programs.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use ucp_contract::{Question, Reply};
use ucp_testkit::{host::Request, server::Answer};

use super::{MARKET, MappedShop, context, find};

const RESOLVE: &str = "[resolve]\nanswer = \"{products: []}\"\n";

/// A mapping whose search yields the value of this program as the one product's title.
fn shows(program: &str, steps: &str) -> String {
    format!(
        "[find]\nanswer = '''{{products: [{{id: \"p\", title: ({program}), variants: [{{id: \"v\", price: {{amount: 1, currency: \"EUR\"}}}}]}}]}}'''\n{steps}{RESOLVE}"
    )
}

async fn shown(shop: &MappedShop, question: Value) -> Value {
    shop.answer(Question::Find, question).await["products"][0]["title"].clone()
}

#[tokio::test]
async fn a_list_in_a_query_repeats_its_parameter() {
    for (program, query) in [
        ("$question.ids", "id%5B%5D=a%2Fb&id%5B%5D=7"),
        ("[$question.ids[], null, 7, {a: 1}]", "id%5B%5D=a%2Fb&id%5B%5D=7&id%5B%5D=7&id%5B%5D=%7B%22a%22%3A1%7D"),
        ("$question.ids | tojson", "id%5B%5D=%5B%22a%2Fb%22%2C%227%22%5D"),
    ] {
        let resolve = format!(
            "[find]\nanswer = \"{{products: []}}\"\n[resolve]\nanswer = \"{{products: []}}\"\n[[resolve.step]]\nname = \"found\"\npath = \"products\"\nquery.\"id[]\" = '{program}'\n"
        );
        let shop = MappedShop::new(&resolve, |_| Answer::json(&json!({})));
        shop.answer(Question::Resolve, json!({"ids": ["a/b", "7"], "context": context()})).await;
        assert_eq!(shop.asked(), [format!("GET /api/products?{query}")], "{program}");
    }
    let none =
        "[find]\nanswer = \"{products: []}\"\n[[find.step]]\nname = \"found\"\npath = \"products\"\nquery.id = '[]'\n";
    let shop = MappedShop::new(&format!("{none}{RESOLVE}"), |_| Answer::json(&json!({})));
    shop.answer(Question::Find, find(&json!({}))).await;
    assert_eq!(shop.asked(), ["GET /api/products"]);
}

#[tokio::test]
async fn a_step_can_be_a_value() {
    let steps = r#"
[[find.step]]
name = "words"
value = '$question.words // "" | split(" ")'

[[find.step]]
name = "long"
when = '$words | length > 0'
each = "$words"
value = "length"

[[find.step]]
name = "none"
when = "false"
value = "1"

[[find.step]]
name = "ended"
value = "$words[0]"
end = 'if . == "stop" then {products: []} else null end'

[[find.step]]
name = "asked"
path = "words/{$long | map(tostring) | join(\",\")}"
"#;
    let shop = MappedShop::new(&shows("[$words, $long, $none] | tojson", steps), |_| Answer::json(&json!({})));
    let title = shown(&shop, find(&json!({"words": "red vase"}))).await;
    assert_eq!(title, "[[\"red\",\"vase\"],[3,4],null]");
    assert_eq!(shop.asked(), ["GET /api/words/3%2C4"]);
    let stopped = shop.answer(Question::Find, find(&json!({"words": "stop it"}))).await;
    assert_eq!((stopped["products"].as_array().map(Vec::len), shop.asked().len()), (Some(0), 1));
}

#[tokio::test]
async fn programs_know_the_time_of_the_question() {
    let shop = MappedShop::new(&shows("$now", ""), |_| Answer::status(500));
    assert_eq!(shown(&shop, find(&json!({}))).await, "2026-01-01T00:00:00Z");
    // A step of that name takes its place.
    let step = "[[find.step]]\nname = \"now\"\nvalue = '\"a step\"'\n";
    let shop = MappedShop::new(&shows("$now", step), |_| Answer::status(500));
    assert_eq!(shown(&shop, find(&json!({}))).await, "a step");
}

#[tokio::test]
async fn steps_share_requests_and_change_what_they_state() {
    let shared = r#"
[request.page]
path = "products"
query.size = "$paging.size"
query.sort = '"name"'
headers.X-Kind = '"shared"'
accept = [404]
answer = ".body.name"
"#;
    let steps = r#"
[[find.step]]
name = "one"
request = "page"

[[find.step]]
name = "other"
request = "page"
path = "others/{$one}"
query.sort = '"price"'
query.page = '1'
"#;
    let shop = MappedShop::new(&format!("{shared}{}", shows("[$one, $other] | tojson", steps)), |request| {
        let kind = request.headers().get("x-kind").and_then(|value| value.to_str().ok());
        assert_eq!(kind, Some("shared"));
        match request.uri().path() {
            "/api/products" => Answer::json(&json!({"name": "a"})),
            _ => Answer::Whole(404, Vec::new(), br#"{"name": "gone"}"#.to_vec()),
        }
    });
    assert_eq!(shown(&shop, find(&json!({}))).await, "[\"a\",\"gone\"]");
    assert_eq!(shop.asked(), ["GET /api/products?size=2&sort=name", "GET /api/others/a?page=1&size=2&sort=price"]);
}

#[tokio::test]
async fn graphql_documents_get_the_fragments_that_they_spread() {
    let mapping = r#"
[fragments]
Card = "on Product { id ...Price }"
Price = "on Product { price # in ...Nothing\n }"
Other = "on Product { other }"
"#;
    let steps = r#"
[[find.step]]
name = "one"
graphql = "query { a { ...Card ...Own } } fragment Own on Product { own }"

[[find.step]]
name = "two"
graphql = "query { b { ...Price ...Other ... on Product { id } } }"
"#;
    let shop = MappedShop::new(&format!("{mapping}{}", shows("\"\"", steps)), |_| Answer::json(&json!({"data": {}})));
    shop.answer(Question::Find, find(&json!({}))).await;
    let sent: Vec<String> = shop.server.requests().iter().map(document).collect();
    assert!(
        sent[0].starts_with("query { a { ...Card ...Own } } fragment Own on Product { own }\nfragment "),
        "{sent:?}"
    );
    for (sent, fragments) in [(&sent[0], ["Card", "Price"]), (&sent[1], ["Price", "Other"])] {
        assert_eq!(sent.matches("\nfragment ").count(), 2, "{sent}");
        for fragment in fragments {
            assert!(sent.contains(&format!("\nfragment {fragment} on Product {{ ")), "{sent}");
        }
    }
}

fn document(request: &Request) -> String {
    let body: Value = serde_json::from_slice(request.body()).expect("JSON");
    body["query"].as_str().expect("a document").to_owned()
}

#[tokio::test]
async fn any_status_is_an_answer_where_the_mapping_says_so() {
    let steps = |accept: &str| {
        format!(
            "{accept}\n[[find.step]]\nname = \"first\"\npath = \"first\"\n[[find.step]]\nname = \"second\"\npath = \"second\"\n"
        )
    };
    for status in [400, 401, 403, 404, 410, 422, 500] {
        // For all steps of a question.
        let mapping =
            shows("[$first.status, $first.body.why, $second.status] | tojson", &steps(&format!("accept = [{status}]")));
        let shop = MappedShop::new(&mapping, move |request| match request.uri().path() {
            "/api/first" => Answer::Whole(status, Vec::new(), br#"{"why": "so"}"#.to_vec()),
            _ => Answer::json(&json!({})),
        });
        assert_eq!(shown(&shop, find(&json!({}))).await, format!("[{status},\"so\",200]"));
        let shop = MappedShop::new(&shows("\"\"", &steps("")), move |_| Answer::status(status));
        let asked = shop.ask(Question::Find, find(&json!({}))).await;
        assert!(!matches!(asked, Ok(Reply::Answer(_))), "{status}: {asked:?}");
    }
}

const CHOICES: &str = r#"
headers = { X-Channel = "web", X-Kind = "retail" }
auth = { kind = "token", secret = "RETAIL" }
choose = "$question.context.customer_group"
choice.trade = { address = "ADDRESStrade", headers = { X-Kind = "trade" }, auth = { kind = "token", secret = "TRADE" } }
"#;

fn sent<'a>(request: &'a Request, name: &str) -> &'a str {
    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn of_group(mut question: Value, group: Option<&str>) -> Value {
    question["context"]["customer_group"] = group.into();
    question
}

#[tokio::test]
async fn a_question_chooses_how_its_source_is_asked() {
    let steps =
        "[[find.step]]\nname = \"page\"\npath = \"products\"\n[[find.step]]\nname = \"more\"\npath = \"more\"\n";
    let shop = MappedShop::new(&format!("{CHOICES}{}", shows("\"\"", steps)), |_| Answer::json(&json!({})));
    for (group, path, token, kind) in [
        (None, "/api/", "Bearer RETAIL-value", "retail"),
        (Some("trade"), "/api/trade/", "Bearer TRADE-value", "trade"),
    ] {
        let before = shop.asked().len();
        shop.answer(Question::Find, of_group(find(&json!({})), group)).await;
        let requests = shop.server.requests().split_off(before);
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert!(request.uri().path().starts_with(path), "{}", request.uri());
            let headers = ["authorization", "x-kind", "x-channel"].map(|name| sent(&request, name));
            assert_eq!(headers, [token, kind, "web"]);
        }
    }
    // Nobody gets the prices of others.
    let before = shop.asked().len();
    let findings = shop.findings(Question::Find, of_group(find(&json!({})), Some("staff"))).await;
    assert_eq!(findings, ["`source.shop.choose`: must yield `null` or the name of a choice of `source.shop`"]);
    assert_eq!(shop.asked().len(), before);
}

#[tokio::test]
async fn a_cart_stays_where_it_was_made() {
    let cart = r#"
[cart]
completion = "hand_off"
fetch.answer = "$basket"
[[cart.sync.step]]
name = "basket"
path = "basket"
answer = '{cart: .id, continue_url: "https://shop.example/", currency: "EUR", lines: [], total: 0}'
[[cart.fetch.step]]
name = "basket"
path = "basket"
answer = '{cart: .id, continue_url: "https://shop.example/", currency: "EUR", lines: [], total: 0}'
[[cart.abandon.step]]
name = "gone"
method = "DELETE"
path = "basket"
"#;
    let shop = MappedShop::new(&format!("{CHOICES}{}{cart}", shows("\"\"", "")), |_| Answer::json(&json!({"id": 9})));
    let question =
        |cart: Option<&Value>| json!({"cart": cart, "purpose": "cart", "lines": [], "codes": [], "context": context()});
    let made = shop.answer(Question::CartSync, of_group(question(None), Some("trade"))).await;
    let retail = shop.answer(Question::CartSync, question(None)).await;
    // Whatever the group is now; and a question without a context is about the cart, too.
    for group in [None, Some("trade")] {
        shop.answer(Question::CartFetch, of_group(question(Some(&made["cart"])), group)).await;
        shop.answer(Question::CartFetch, of_group(question(Some(&retail["cart"])), group)).await;
    }
    shop.answer(Question::CartAbandon, json!({"cart": made["cart"]})).await;
    let expected = ["trade/", "", "trade/", "", "trade/", ""].map(|at| format!("GET /api/{at}basket"));
    assert_eq!(shop.asked()[..6], expected);
    assert_eq!(shop.asked()[6], "DELETE /api/trade/basket");
}

#[tokio::test]
async fn an_answer_that_is_kept_is_asked_for_once() {
    let steps = r#"
[[find.step]]
name = "regions"
path = "regions"
query.words = "$question.words"
keep = 60

[[find.step]]
name = "page"
path = "products"
"#;
    let shop = MappedShop::new(&shows("$regions.name", steps), |request| {
        if request.uri().query() == Some("words=broken") {
            return Answer::status(500);
        }
        let set = vec!["Set-Cookie: sid=mine; Path=/".to_owned()];
        Answer::Whole(200, set, br#"{"name":"Vienna"}"#.to_vec())
    });
    let count = |path: &str| shop.asked().iter().filter(|line| line.starts_with(&format!("GET /api/{path}"))).count();
    let asked = (0..5).map(|_| shown(&shop, find(&json!({}))));
    assert!(ucp_testkit::wait::all(asked).await.iter().all(|title| title == "Vienna"));
    assert_eq!((count("regions"), count("products")), (1, 5));
    // Another request is another answer, and a failure is not kept.
    shown(&shop, find(&json!({"words": "red"}))).await;
    assert_eq!(count("regions"), 2);
    for expected in [3, 4] {
        assert!(shop.ask(Question::Find, find(&json!({"words": "broken"}))).await.is_err());
        assert_eq!(count("regions"), expected);
    }
}

#[tokio::test]
async fn nothing_is_kept_of_the_session_of_a_cart() {
    let mapping = r#"
session_cookies = ["sid"]
[find]
answer = "{products: []}"
[resolve]
answer = "{products: []}"
[cart]
completion = "hand_off"
[[cart.sync.step]]
name = "made"
path = "basket"
method = "POST"
[[cart.sync.step]]
name = "basket"
path = "basket"
keep = 60
answer = '{cart: .id, continue_url: "https://shop.example/", currency: "EUR", lines: [], total: 0}'
[cart.fetch]
answer = "null"
[cart.abandon]
answer = "null"
"#;
    let shop = MappedShop::new(mapping, |request| {
        let set = (request.method() == "POST").then(|| "Set-Cookie: sid=mine; Path=/".to_owned());
        Answer::Whole(200, set.into_iter().collect(), br#"{"id":9}"#.to_vec())
    });
    for _ in 0..2 {
        shop.answer(Question::CartSync, json!({"purpose": "cart", "lines": [], "codes": [], "context": context()}))
            .await;
    }
    assert_eq!(shop.asked().iter().filter(|line| *line == "GET /api/basket").count(), 2);
}

#[tokio::test]
async fn buyers_with_different_session_headers_share_no_answer() {
    let mapping = r#"
session_headers = ["Cart-Token"]
[find]
answer = "{products: []}"
[resolve]
answer = "{products: []}"
[cart]
completion = "hand_off"
[[cart.sync.step]]
name = "made"
path = "basket"
method = "POST"
[[cart.sync.step]]
name = "basket"
path = "basket"
keep = 60
answer = '{cart: .id, continue_url: "https://shop.example/", currency: "EUR", lines: [], total: .total}'
[[cart.fetch.step]]
name = "basket"
path = "basket"
keep = 60
answer = '{cart: .id, continue_url: "https://shop.example/", currency: "EUR", lines: [], total: .total}'
[cart.abandon]
answer = "null"
"#;
    let made = AtomicUsize::new(0);
    let shop = MappedShop::new(mapping, move |request| {
        if request.method() == "POST" {
            let set = format!("Cart-Token: t{}", made.fetch_add(1, Ordering::SeqCst) + 1);
            return Answer::Whole(200, vec![set], b"{}".to_vec());
        }
        // The shop knows a cart by its token alone.
        Answer::json(&json!({ "id": sent(request, "cart-token"), "total": 0 }))
    });
    let question = |cart: Option<&Value>| {
        let mut question = json!({"purpose": "cart", "lines": [], "codes": [], "context": context()});
        if let Some(cart) = cart {
            question["cart"] = cart.clone();
        }
        question
    };
    let mut carts = Vec::new();
    for _ in 0..2 {
        carts.push(shop.answer(Question::CartSync, question(None)).await["cart"].clone());
    }
    for (cart, token) in carts.iter().zip(["t1", "t2"]) {
        for _ in 0..2 {
            shop.answer(Question::CartFetch, question(Some(cart))).await;
            let requests = shop.server.requests();
            assert_eq!(sent(requests.last().expect("a request"), "cart-token"), token);
        }
    }
    // Each was asked for anew: nothing of a session is kept.
    assert_eq!(shop.asked().iter().filter(|line| *line == "GET /api/basket").count(), 6);
}

#[tokio::test]
async fn the_answer_of_a_repeated_step_knows_its_element() {
    let steps = r#"
[[find.step]]
name = "stock"
each = '["a", "b", "c"]'
path = "stock/{.}"
optional = true
answer = '"\($element)=\(.left)"'
"#;
    let answer = |request: &Request| match request.uri().path().rsplit('/').next() {
        Some("b") => Answer::status(404),
        Some(name) => Answer::json(&json!({ "left": name.len() + 6 })),
        None => Answer::status(500),
    };
    let shop = MappedShop::new(&shows("$stock | tojson", steps), answer);
    assert_eq!(shown(&shop, find(&json!({}))).await, r#"["a=7",null,"c=7"]"#);
    // A step of that name has it.
    let named = steps.replace("each = '[", "each = '[$element, ");
    let first = "\n[[find.step]]\nname = \"element\"\nvalue = '\"d\"'\n";
    let shop = MappedShop::new(&shows("$stock | tojson", &format!("{first}{named}")), answer);
    assert_eq!(shown(&shop, find(&json!({}))).await, r#"["d=7","d=7",null,"d=7"]"#);
    // A fault is where it stands in the file, and without `each` there is no element.
    let faulty = |steps: &str| {
        let text = format!(
            "{MARKET}\n[source.shop]\naddress = \"https://shop.example/\"\n{}",
            shows("$stock | tojson", steps)
        );
        ucp_mapped::read(&text).expect_err("a fault").to_string()
    };
    let wrong = faulty(&steps.replace("(.left)", "(.left | nofilter)"));
    assert_eq!(wrong, "line 17, column 34: find.stock.answer: filter `nofilter` is not defined");
    let wrong = faulty(&steps.replace("each = '[\"a\", \"b\", \"c\"]'\n", "").replace("{.}", "x"));
    assert!(wrong.contains("$element"), "{wrong}");
}

#[tokio::test]
async fn faults_of_a_mapping_name_program_path_and_rule() {
    let mapping = r#"
[find]
answer = "{products: []}"
[resolve]
answer = "{products: []}"
[cart]
completion = "hand_off"
fetch.answer = '$question.codes | error("for " + .[0])'
abandon.answer = "null"
[[cart.sync.step]]
name = "basket"
path = "basket"
headers.X-Name = "$question.codes[0]"
answer = '{cart: "c", continue_url: "https://shop.example/", currency: "EUR", lines: [], taxes: [{title: $question.codes[0], amount: -1}], total: 0}'
"#;
    let shop = MappedShop::new(mapping, |_| Answer::json(&json!({})));
    let question =
        |code: &str| json!({"cart": "c", "purpose": "cart", "lines": [], "codes": [code], "context": context()});
    for (of, code, told) in [
        (
            Question::CartSync,
            "Jane",
            "`cart.sync.basket.answer` of /cart/sync: $.taxes[0].amount: must be an integer of minor units from 0 to 9007199254740991",
        ),
        (
            Question::CartFetch,
            "Jane",
            "`cart.fetch.answer` of /cart/fetch: failed: it ended with an `error` whose text is made of its input",
        ),
        (
            Question::CartSync,
            "Jane\nX-Other: 1",
            "`cart.sync.basket.headers.X-Name` of /cart/sync: must be one line of text",
        ),
    ] {
        let record =
            ucp_record::CallRecord::begin(std::time::Instant::now, false, Some(ucp_record::Trace::kept(None, None)));
        let asked = ucp_record::scope(std::sync::Arc::clone(&record), shop.ask(of, question(code))).await;
        assert!(asked.is_err(), "{asked:?}");
        let notes = record.trace().expect("a trace").take().notes;
        let details: Vec<_> = notes.iter().map(|note| (note.kind, note.detail.as_str())).collect();
        assert_eq!(details, [("mapping_fault", told)]);
    }
}
