//! Products.

use serde_json::{Value, json};
use ucp_contract::{Question, Reply};
use ucp_net::Failure;
use ucp_testkit::{host::Request, server::Answer};

use super::{MappedShop, context, find};

const MAPPING: &str = r#"
[find]
paging = "page"
answer = "{products: .results, next: (.next != null), total: .count}"

[[find.step]]
name = "page"
path = "products"
query.search = "$question.words"
query.page = "$paging.number"
query.page_size = "$paging.size"

[resolve]
batch = 2
answer = "{products: [.[] | values]}"

[[resolve.step]]
name = "product"
each = "$question.ids"
path = "products/{.}"
"#;

const PRODUCT: &str = r#"
product = '''
{
  id: (.id | tostring), title, description: {plain: (.html | plain)},
  variants: [{id: (.id | tostring), price: {amount: (.price | minor("EUR")), currency: "EUR"}}]
}
'''
"#;

fn product(id: u32, price: &str) -> Value {
    json!({"id": id, "title": format!("Product {id}"), "html": "<p>Red &amp; warm</p>", "price": price})
}

fn shop(request: &Request) -> Answer {
    let path = request.uri().path();
    match path.strip_prefix("/api/products") {
        Some("") => {
            let second = request.uri().query().is_some_and(|query| query.contains("page=2"));
            let next = if second { Value::Null } else { json!("http://elsewhere/") };
            let results =
                if second { [product(3, "3"), product(4, "oops")] } else { [product(1, "19.99"), product(2, "0.29")] };
            Answer::json(&json!({"count": 4, "next": next, "results": results}))
        }
        Some("/1") => Answer::json(&product(1, "19.99")),
        Some("/a%2Fb") => Answer::json(&product(7, "1.00")),
        _ => Answer::status(404),
    }
}

#[tokio::test]
async fn pages_follow_each_other() {
    let shop = MappedShop::topped(PRODUCT, MAPPING, shop);
    let first = shop.answer(Question::Find, find(&json!({"words": "red & warm"}))).await;
    assert_eq!(first["products"][0]["variants"][0]["price"], json!({"amount": 1999, "currency": "EUR"}));
    assert_eq!(first["products"][0]["description"]["plain"], "Red & warm");
    assert_eq!((&first["next"], &first["total"]), (&json!("2.2"), &json!(4)));
    let second = shop.answer(Question::Find, find(&json!({"after": "2.2"}))).await;
    assert_eq!(second["products"].as_array().map(Vec::len), Some(1), "the one without a price is left out");
    // The shop says that there are four, and two and one were usable: the page took two.
    assert_eq!(second.get("next"), None);
    assert_eq!(
        shop.asked(),
        ["GET /api/products?page=1&page_size=2&search=red+%26+warm", "GET /api/products?page=2&page_size=2"]
    );
}

#[tokio::test]
async fn what_is_left_out_is_named() {
    let shop = MappedShop::topped(PRODUCT, MAPPING, shop);
    let findings = shop.findings(Question::Find, find(&json!({"after": "2"}))).await;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with("`product`: products[1] failed: \"oops\" must be a decimal"), "{findings:?}");
}

#[tokio::test]
async fn products_are_looked_up_one_by_one_and_in_groups() {
    let shop = MappedShop::topped(PRODUCT, MAPPING, shop);
    let question = json!({"ids": ["1", "nothing", "a/b", ".."], "context": context()});
    for of in [Question::Resolve, Question::Open] {
        let found = shop.answer(of, question.clone()).await;
        let ids: Vec<_> =
            found["products"].as_array().expect("products").iter().map(|product| &product["id"]).collect();
        assert_eq!(ids, ["1", "7"]);
    }
}

#[tokio::test]
async fn products_without_variants_prices_or_currencies_are_left_out() {
    let price = |amount: Value, currency: &str| json!({"amount": amount, "currency": currency});
    let variant = |price: Value| json!({"id": "p", "variants": [{"id": "v", "price": price}]});
    let results = json!([
        variant(price(json!(1), "EUR")),
        variant(price(json!(1), "XQQ")),
        variant(price(json!(1.5), "EUR")),
        variant(price(json!(-1), "EUR")),
        {"id": "p", "variants": []},
        {"id": "p", "variants": [{"id": "v"}]},
        {"variants": [{"id": "v", "price": price(json!(1), "EUR")}]},
    ]);
    let answer = Answer::json(&json!({"results": results, "count": 7}));
    let shop = MappedShop::new(MAPPING, move |_| answer.clone());
    let found = shop.answer(Question::Find, find(&json!({}))).await;
    assert_eq!(found["products"].as_array().map(Vec::len), Some(1));
    let findings = shop.findings(Question::Find, find(&json!({}))).await;
    for (finding, path) in findings.iter().zip([
        "products[1] cannot be used: $.variants[0].price.currency: `XQQ` is not",
        "products[2] cannot be used: $.variants[0].price.amount: 1.5 is not",
        "products[3] cannot be used: $.variants[0].price.amount: -1 is not",
        "products[4] cannot be used: $.variants: must have at least one",
        "products[5] cannot be used: $.variants[0]: missing field `price`",
        "products[6] cannot be used: $: missing field `id`",
    ]) {
        assert!(finding.starts_with(&format!("`find.answer`: {path}")), "{finding}");
    }
    assert_eq!(findings.len(), 6);
}

#[tokio::test]
async fn answers_that_are_not_usable_are_failures() {
    for answer in [
        Answer::Whole(200, Vec::new(), b"<html>".to_vec()),
        Answer::Whole(200, Vec::new(), "[".repeat(100_000).into_bytes()),
        Answer::json(&json!([])),
        Answer::json(&json!({"count": 0})),
        Answer::json(&json!("products")),
        Answer::json(&json!(7)),
        Answer::status(500),
        Answer::status(401),
    ] {
        let name = format!("{answer:?}");
        let shop = MappedShop::new(MAPPING, move |_| answer.clone());
        let asked = shop.ask(Question::Find, find(&json!({}))).await;
        assert!(asked.is_err() && !matches!(asked, Err(Failure::Unsendable(_))), "{name:.60}: {asked:?}");
    }
    let shop = MappedShop::new(MAPPING, |_| Answer::status(400));
    let asked = shop.ask(Question::Find, find(&json!({}))).await;
    assert!(matches!(&asked, Ok(Reply::Refused(reason)) if reason == "`page`: status 400"), "{asked:?}");
    let shop = MappedShop::new(MAPPING, |_| Answer::status(404));
    assert!(matches!(shop.ask(Question::Find, find(&json!({}))).await, Ok(Reply::Gone)));
}

#[tokio::test]
async fn the_file_says_what_the_shop_is() {
    let shop = MappedShop::new(MAPPING, shop);
    let backend = shop.answer(Question::Backend, Value::Null).await;
    assert_eq!((&backend["market"]["currency"], &backend["contract"]), (&json!("EUR"), &json!("1")));
    assert!(backend["cart"].is_null());
    let asked = shop.ask(Question::CartFetch, json!({})).await;
    assert!(matches!(asked, Ok(Reply::Refused(_))), "{asked:?}");
}

#[tokio::test]
async fn graphql_shops_are_asked_their_documents() {
    const MAPPING: &str = r#"
[find]
paging = "cursor"
answer = "{products: [.products.nodes[]], next: .products.end}"

[[find.step]]
name = "page"
graphql = "query($after: String) { products(after: $after) { nodes end } }"
variables = "{after: $paging.cursor}"

[resolve]
answer = "{products: []}"
"#;
    let shop = MappedShop::topped(PRODUCT, MAPPING, |request| {
        let posted: Value = serde_json::from_slice(request.body()).expect("JSON");
        if posted["variables"]["after"] == "bad" {
            return Answer::json(&json!({"data": null, "errors": [{"message": "no such cursor"}]}));
        }
        Answer::json(&json!({"data": {"products": {"nodes": [product(1, "1.00")], "end": "c2"}}}))
    });
    let found = shop.answer(Question::Find, find(&json!({}))).await;
    assert_eq!((&found["products"][0]["id"], &found["next"]), (&json!("1"), &json!("c2")));
    assert_eq!(shop.asked(), ["POST /api/"]);
    let refused = shop.ask(Question::Find, find(&json!({"after": "bad"}))).await;
    assert!(matches!(&refused, Ok(Reply::Refused(reason)) if reason == "`page`: no such cursor"), "{refused:?}");
}

#[tokio::test]
async fn a_request_without_a_path_goes_to_the_address_as_it_is_written() {
    const MAPPING: &str = r#"
[source.plain]
address = "ADDRESSgraphql"

[source.slashed]
address = "ADDRESSgraphql/"

[find]
answer = "{products: []}"

[[find.step]]
name = "one"
source = "plain"
graphql = "{ one }"

[[find.step]]
name = "other"
source = "slashed"
graphql = "{ other }"

[resolve]
answer = "{products: []}"
"#;
    let shop = MappedShop::topped(PRODUCT, MAPPING, |_| Answer::json(&json!({"data": {}})));
    shop.answer(Question::Find, find(&json!({}))).await;
    assert_eq!(shop.asked(), ["POST /api/graphql", "POST /api/graphql/"]);
}

#[tokio::test]
async fn a_position_that_was_never_given_out_is_gone() {
    let shop = MappedShop::topped(PRODUCT, MAPPING, shop);
    for after in ["", "0", "1", "-1", "two", "99999999999999999999"] {
        let asked = shop.ask(Question::Find, find(&json!({"after": after}))).await;
        assert!(matches!(asked, Ok(Reply::Gone)), "{after}: {asked:?}");
    }
    assert!(shop.asked().is_empty());
}

#[tokio::test]
async fn programs_share_definitions() {
    let top = "definitions = 'def stated($in): {amount: minor($in), currency: $in};'\n";
    let product =
        PRODUCT.replace("{amount: (.price | minor(\"EUR\")), currency: \"EUR\"}", "(.price | stated(\"EUR\"))");
    assert_ne!(product, PRODUCT);
    let shop = MappedShop::topped(&format!("{top}{product}"), MAPPING, shop);
    let found = shop.answer(Question::Find, find(&json!({}))).await;
    assert_eq!(found["products"][0]["variants"][0]["price"], json!({"amount": 1999, "currency": "EUR"}));
}

const GRAPH: &str = r#"
[find]
answer = "{products: []}"

[resolve]
answer = "{products: [], errors: $known.errors, data: $known.data}"

[[resolve.step]]
name = "known"
graphql = "query { known }"
accept_errors = ["FORBIDDEN"]
end = "if .errors == [] then {products: [], all: true} else null end"

[[resolve.step]]
name = "more"
graphql = "query { more }"
"#;

#[tokio::test]
async fn errors_of_graphql_are_answers_where_the_mapping_says_so() {
    let answers = |extensions: Value| {
        MappedShop::new(GRAPH, move |request| {
            let known = String::from_utf8_lossy(request.body()).contains("known");
            let errors = json!([{"message": "no", "extensions": extensions}]);
            let errors = if known && extensions != json!({}) { errors } else { json!([]) };
            Answer::json(&json!({"data": {"known": null}, "errors": errors}))
        })
    };
    let question = json!({"ids": ["1"], "context": context()});
    for extensions in [
        json!({"code": "FORBIDDEN", "category": 7}),
        json!({"category": "FORBIDDEN"}),
        json!({"exception": {"code": "FORBIDDEN", "stacktrace": []}}),
        json!({"code": 403, "exception": null, "category": "FORBIDDEN"}),
    ] {
        let accepted = answers(extensions);
        accepted.answer(Question::Resolve, question.clone()).await;
        assert_eq!(accepted.asked().len(), 2);
    }
    let internal = json!({"code": "INTERNAL", "category": "FORBIDDEN"});
    let refused = answers(internal).ask(Question::Resolve, question.clone()).await;
    assert!(matches!(&refused, Ok(Reply::Refused(reason)) if reason == "`known`: no"), "{refused:?}");
    // Without errors, the first step has the answer.
    let ended = answers(json!({}));
    ended.answer(Question::Resolve, question).await;
    assert_eq!(ended.asked().len(), 1);
}

#[tokio::test]
async fn quantity_rules_lead_times_and_places_are_those_of_the_shop() {
    let product = PRODUCT.replace(
        "variants: [{id:",
        "variants: [{quantity_rule: {min: .lot, step: .lot}, lead_days: .days, available_on: .again, stock_by_location: .at, id:",
    );
    assert_ne!(product, PRODUCT);
    let eggs = json!({
        "id": 1, "title": "Eggs", "html": "", "price": "2.40", "lot": 6, "days": 3, "again": "2026-12-24", "at": {"b1": 4},
    });
    let shop = MappedShop::topped(&product, MAPPING, move |_| Answer::json(&eggs));
    let found = shop.answer(Question::Resolve, json!({"ids": ["1"], "context": context()})).await;
    let variant = &found["products"][0]["variants"][0];
    assert_eq!(variant["quantity_rule"], json!({"min": 6, "step": 6}));
    assert_eq!(variant["stock_by_location"], json!({"b1": 4}));
    assert_eq!((&variant["lead_days"], &variant["available_on"]), (&json!(3), &json!("2026-12-24")));
    let record: ucp_core::catalog::record::Record =
        serde_json::from_value(found["products"][0].clone()).expect("a product");
    assert!(record.variants[0].quantity_rule.is_some_and(|rule| rule.is_usable()));
}

#[tokio::test]
async fn programs_know_the_customer_group() {
    let mapping =
        MAPPING.replace("query.page_size = ", "query.group = \"$question.context.customer_group\"\nquery.page_size = ");
    assert_ne!(mapping, MAPPING);
    let shop = MappedShop::topped(PRODUCT, &mapping, shop);
    for group in [Some("trade"), None] {
        let mut question = find(&json!({}));
        if let Some(group) = group {
            question["context"]["customer_group"] = group.into();
        }
        shop.answer(Question::Find, question).await;
        let asked = shop.asked().pop().expect("a request");
        assert_eq!(asked.contains("group=trade"), group.is_some(), "{asked}");
    }
}

/// A shop of `count` products that caps its pages at `cap`, behind a mapping that counts by what it asks for.
fn capped(paging: &str, count: u64, cap: u64) -> MappedShop {
    let mapping = format!(
        r#"
[find]
paging = "{paging}"
answer = "{{products: .items, total: .total, next: ($paging.size * ($paging.number // 1) + ($paging.offset // 0) < .total)}}"

[[find.step]]
name = "page"
path = "products"
query.number = "$paging.number"
query.offset = "$paging.offset"
query.size = "$paging.size"

[resolve]
answer = "{{products: []}}"
"#
    );
    MappedShop::topped(PRODUCT, &mapping, move |request| {
        let query = request.uri().query().unwrap_or_default();
        let number = |name: &str| {
            let stated = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
            stated.map(|stated| stated.parse::<u64>().expect("a number"))
        };
        let size = number("size").expect("a size").min(cap);
        let first = number("offset").unwrap_or_else(|| (number("number").unwrap_or(1) - 1) * size);
        let items: Vec<_> =
            (first..count.min(first + size)).map(|id| product(u32::try_from(id).expect("an id"), "1.00")).collect();
        Answer::json(&json!({"items": items, "total": count}))
    })
}

#[tokio::test]
async fn pages_go_on_by_what_came() {
    for paging in ["offset", "page"] {
        for (cap, size) in [(20, 50), (20, 100), (100, 20), (7, 10)] {
            let shop = capped(paging, 100, cap);
            let (mut found, mut question) = (Vec::new(), find(&json!({"limit": size})));
            for _ in 0..20 {
                let page = shop.answer(Question::Find, question.clone()).await;
                let ids = page["products"].as_array().expect("products").iter();
                found.extend(
                    ids.map(|product| product["id"].as_str().expect("an id").parse::<u32>().expect("a number")),
                );
                let Some(next) = page.get("next").cloned() else { break };
                question["after"] = next;
            }
            assert_eq!(found, (0..100).collect::<Vec<_>>(), "{paging}, at most {cap} of {size}");
        }
    }
}

#[tokio::test]
async fn a_page_of_any_number_of_products_is_cut_while_it_is_read() {
    let items: Vec<_> = (0..150_000).map(|id| json!({"id": id, "title": "", "html": "", "price": "1"})).collect();
    let answer = Answer::json(&json!({"results": items, "next": null, "count": 150_000}));
    let shop = MappedShop::topped(PRODUCT, MAPPING, move |_| answer.clone());
    let page = shop.answer(Question::Find, find(&json!({"limit": 10}))).await;
    let count = page["products"].as_array().expect("products").len();
    assert!((10..=1_000).contains(&count), "{count}");
}

#[tokio::test]
async fn a_question_that_the_shop_refuses_says_nothing_about_others() {
    let shop = MappedShop::topped(PRODUCT, MAPPING, |request| {
        let query = request.uri().query().unwrap_or_default();
        if query.contains("script") {
            Answer::status(403)
        } else {
            Answer::json(&json!({"results": [product(1, "1")], "count": 1}))
        }
    });
    for number in 0..40 {
        let attack = find(&json!({"words": format!("<script>alert({number})</script>")}));
        assert!(shop.ask(Question::Find, attack).await.is_err());
        let page = shop.answer(Question::Find, find(&json!({"words": "shoes"}))).await;
        assert_eq!(page["products"].as_array().map(Vec::len), Some(1));
    }
}
