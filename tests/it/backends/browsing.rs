//! Products: search, paging, filters and lookup.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use ucp_core::{Operation, operation::SHOPPING};

use super::{Subject, TRANSPORTS, amount, asked, found};
use crate::{
    harness::{elements, texts},
    setup::Transport,
};

/// The profile names what can be asked; the rest is unknown, in the words of the transport.
pub(super) fn what_is_offered_is_answered_and_nothing_else(subject: &Subject) {
    let profile = subject.gateway.get("/.well-known/ucp").json();
    let capabilities = profile["ucp"]["capabilities"].as_object().expect("capabilities");
    let mut offered = 0;
    for operation in Operation::ALL.iter().filter(|operation| operation.row().service == SHOPPING) {
        let row = operation.row();
        let known = capabilities.contains_key(row.capability);
        offered += usize::from(known);
        for shopper in subject.shoppers() {
            let said = shopper.call(row.name, Some("nothing"), &json!({}));
            let unknown = match (shopper.transport, &said.failure) {
                (Transport::Rest, _) => said.status == 404 && said.response.json().get("ucp").is_none(),
                (_, Some(failure)) => failure["data"]["code"] == "unknown_tool",
                (_, None) => false,
            };
            assert_eq!(unknown, !known, "{} over {:?}: {said:?}", row.name, shopper.transport);
        }
    }
    assert!(offered >= 3, "{profile}");
}

/// However long pages are, they hold the same products in the same order, each of them once.
pub(super) fn pages_hold_every_product_once(subject: &Subject) {
    for shopper in subject.shoppers() {
        let all = found(&shopper, json!({ "query": subject.goods.word }), 50);
        assert!(all.len() >= 10, "{} products", all.len());
        let ids: Vec<_> = all.iter().map(|product| product["id"].as_str().expect("an identifier")).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
        for limit in [1, 3, 7] {
            let pages = found(&shopper, json!({ "query": subject.goods.word }), limit);
            assert_eq!(pages.iter().map(|product| &product["id"]).collect::<Vec<_>>(), ids, "pages of {limit}");
        }
        let page =
            asked(&shopper, "search_catalog", json!({ "query": subject.goods.word, "pagination": { "limit": 2 } }));
        if let Some(total) = page["pagination"].get("total_count") {
            assert_eq!(total, &json!(ids.len()));
        }
    }
}

/// A position is taken back for the question it was given out for, and for no other; a changed one for none.
pub(super) fn positions_belong_to_their_question(subject: &Subject) {
    for shopper in subject.shoppers() {
        let word = subject.goods.word;
        let page = asked(&shopper, "search_catalog", json!({ "query": word, "pagination": { "limit": 2 } }));
        let cursor = page["pagination"]["cursor"].as_str().expect("a position");
        let mut changed = cursor.to_owned();
        let last = changed.pop().expect("a letter");
        changed.push(if last == 'A' { 'B' } else { 'A' });
        for (question, position) in
            [("another question", cursor), (word, changed.as_str()), (word, "nonsense"), (word, &cursor[1..])]
        {
            let payload = json!({ "query": question, "pagination": { "limit": 2, "cursor": position } });
            let (code, ..) = shopper.call("search_catalog", None, &payload).refusal();
            assert_eq!(code, "invalid_cursor", "{question} {position}");
        }
    }
}

/// A product, its variants and their prices are the same wherever they are shown.
pub(super) fn all_operations_say_the_same_of_a_product(subject: &Subject) {
    let [shopper, _] = subject.shoppers();
    for listed in found(&shopper, json!({ "query": subject.goods.word }), 50).iter().take(8) {
        let looked_up = asked(&shopper, "lookup_catalog", json!({ "ids": [listed["id"]] }));
        let opened = asked(&shopper, "get_product", json!({ "id": listed["id"] }));
        let known = |product: &Value| {
            let [least, most] = ["min", "max"].map(|end| amount(&product["price_range"][end]));
            assert!(0 < least && least <= most, "{product}");
            (product["id"].clone(), product["title"].clone(), least, most)
        };
        let products = [listed, &looked_up["products"][0], &opened["product"]];
        assert!(products.iter().all(|product| known(product) == known(listed)), "{products:?}");
        let mut prices: BTreeMap<&str, (i64, &Value)> = BTreeMap::new();
        let (_, _, least, most) = known(listed);
        for product in products {
            assert!(!elements(&product["variants"]).is_empty(), "{product}");
            for variant in elements(&product["variants"]) {
                let id = variant["id"].as_str().expect("an identifier");
                let price = amount(&variant["price"]);
                assert!((least..=most).contains(&price), "{variant}");
                let told = (price, &variant["availability"]["available"]);
                assert_eq!(prices.entry(id).or_insert(told), &told, "{id}");
            }
        }
    }
}

/// A price filter finds the same as reading everything.
pub(super) fn a_price_filter_finds_what_is_within_and_nothing_else(subject: &Subject) {
    for shopper in subject.shoppers() {
        let word = subject.goods.word;
        let all = found(&shopper, json!({ "query": word }), 50);
        let ends = |product: &Value| ["min", "max"].map(|end| amount(&product["price_range"][end]));
        let mut least: Vec<_> = all.iter().map(|product| ends(product)[0]).collect();
        least.sort_unstable();
        let middle = least[least.len() / 2];
        assert!(least[0] < middle, "prices that do not differ prove nothing: {least:?}");
        let within = |keep: &dyn Fn([i64; 2]) -> bool| {
            let kept = all.iter().filter(|product| keep(ends(product)));
            kept.map(|product| product["id"].clone()).collect::<Vec<_>>()
        };
        for (filter, expected) in [
            (json!({ "max": middle }), within(&|[least, _]| least <= middle)),
            (json!({ "max": middle - 1 }), within(&|[least, _]| least < middle)),
            (json!({ "min": middle }), within(&|[_, most]| most >= middle)),
            (json!({ "max": least[0] - 1 }), vec![]),
        ] {
            if filter["max"] == -1 {
                continue;
            }
            let payload = json!({ "query": word, "filters": { "price": filter } });
            let kept: Vec<_> = found(&shopper, payload, 4).iter().map(|product| product["id"].clone()).collect();
            assert_eq!(kept, expected, "{filter}");
        }
    }
}

/// Every identifier is answered for: by what it found, or by saying that it found nothing (rules LKP-01 to LKP-04).
pub(super) fn a_lookup_says_what_each_identifier_became(subject: &Subject) {
    let goods = subject.goods;
    for shopper in subject.shoppers() {
        let asked_for = [goods.plenty[0], goods.choices, "nothing", goods.plenty[1], goods.plenty[0]];
        let answer = asked(&shopper, "lookup_catalog", json!({ "ids": asked_for }));
        let products = elements(&answer["products"]);
        assert_eq!(texts(&answer["products"], "id").into_iter().collect::<BTreeSet<_>>().len(), products.len());
        let mut matches: Vec<(String, String)> = products
            .iter()
            .flat_map(|product| elements(&product["variants"]))
            .flat_map(|variant| {
                elements(&variant["inputs"]).iter().map(move |input| {
                    let text = |name: &str| input[name].as_str().expect("text").to_owned();
                    if input["match"] == "exact" {
                        assert_eq!(input["id"], variant["id"], "{variant}");
                    }
                    (text("id"), text("match"))
                })
            })
            .collect();
        matches.sort();
        let mut expected = [(goods.plenty[0], "exact"), (goods.plenty[1], "exact"), (goods.choices, "featured")]
            .map(|(id, how)| (id.to_owned(), how.to_owned()));
        expected.sort();
        assert_eq!(matches, expected, "{answer}");
        let missing: Vec<_> =
            elements(&answer["messages"]).iter().filter(|message| message["code"] == "not_found").collect();
        assert_eq!(missing.len(), 1, "{answer}");
        assert!(missing[0].to_string().contains("nothing"), "{answer}");
    }
}

/// Ten identifiers always fit (rule LKP-05), a thousand never do, and what is too much is said.
pub(super) fn a_lookup_has_room_for_ten_and_an_end(subject: &Subject) {
    for shopper in subject.shoppers() {
        let all = found(&shopper, json!({ "query": subject.goods.word }), 50);
        let ids: Vec<_> = all.iter().take(10).map(|product| product["id"].clone()).collect();
        let answer = asked(&shopper, "lookup_catalog", json!({ "ids": ids }));
        let own = |list: &[Value]| list.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let told: Vec<_> = elements(&answer["products"]).iter().map(|product| product["id"].clone()).collect();
        assert_eq!(own(&told), own(&ids));
        let many: Vec<_> = (0..1_000).map(|number| format!("nothing-{number}")).collect();
        let (code, ..) = shopper.call("lookup_catalog", None, &json!({ "ids": many })).refusal();
        assert_eq!(code, "request_too_large");
    }
}

/// An agent that changes the transport sees the same shop.
pub(super) fn both_transports_give_the_same_answers(subject: &Subject) {
    let goods = subject.goods;
    for (operation, payload) in [
        ("search_catalog", json!({ "query": goods.word })),
        ("search_catalog", json!({ "query": "there is no such thing" })),
        ("lookup_catalog", json!({ "ids": [goods.plenty[1], "nothing", goods.choices] })),
        ("get_product", json!({ "id": goods.choices })),
        ("get_product", json!({ "id": goods.sold_out })),
        ("get_product", json!({ "id": "nothing" })),
        ("get_product", json!({ "id": 7 })),
    ] {
        let [one, other] = TRANSPORTS.map(|transport| {
            let said = subject.shoppers()[0].over(transport).call(operation, None, &payload);
            let Some(_) = &said.failure else {
                let mut document = said.document();
                // Positions are sealed anew each time.
                if let Some(pagination) = document.get_mut("pagination").and_then(Value::as_object_mut) {
                    pagination.remove("cursor");
                }
                return document;
            };
            let mut refusal = said.refusal().2;
            // On REST the number of the request is a header.
            refusal.as_object_mut().expect("an object").remove("request_id");
            refusal
        });
        assert_eq!(one, other, "{operation} {payload}");
    }
}
