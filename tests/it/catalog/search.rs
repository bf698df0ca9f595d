//! `search_catalog`: words, filters, paging.

use super::*;
use crate::setup::Setup;

#[test]
fn csr_01_a_search_needs_words_or_filters() {
    let gateway = Gateway::shared();
    for empty in [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": " \t\n" }),
        json!({ "filters": {} }),
        json!({ "context": { "currency": "EUR" } }),
        json!({ "pagination": { "limit": 5 } }),
    ] {
        assert_eq!(refused(&gateway.rest("search_catalog", &empty)), ("invalid_request", "$"), "{empty}");
    }
}

#[test]
fn a_star_finds_every_product() {
    let gateway = Gateway::shared();
    let page = |payload: Value| ids(&gateway.search(&payload));
    let all = page(json!({ "filters": { "available": false }, "pagination": { "limit": 50 } }));
    assert_eq!(page(json!({ "query": "*", "filters": { "available": false }, "pagination": { "limit": 50 } })), all);
    let answer = gateway.search(&json!({ "query": " * ", "pagination": { "limit": 50 } }));
    assert_eq!(answer["products"].as_array().expect("products").len(), 50);
    assert_eq!(answer["pagination"]["total_count"], gateway.search(&everything())["pagination"]["total_count"]);
    assert_eq!(answer.get("messages"), None, "nothing was left out of the query");
}

#[test]
fn t_27_a_cursor_alone_is_no_query() {
    let gateway = Gateway::shared();
    let cursor = gateway.search(&everything())["pagination"]["cursor"].take();
    let alone = json!({ "pagination": { "cursor": cursor } });
    assert_eq!(refused(&gateway.rest("search_catalog", &alone)), ("invalid_request", "$"));
}

#[test]
fn csr_06_paging_shows_every_product_once_whatever_the_page_size() {
    let gateway = Gateway::shared();
    let mut seen: Option<Vec<Value>> = None;
    for limit in [1, 7, 50] {
        let (products, pages) = gateway.search_all(&everything(), limit);
        assert!(products.len() >= 150, "{}", products.len());
        let distinct: BTreeSet<_> = products.iter().map(|product| product["id"].to_string()).collect();
        assert_eq!(distinct.len(), products.len(), "no product twice");
        for (place, page) in pages.iter().enumerate() {
            let last = place + 1 == pages.len();
            assert_eq!(page["has_next_page"], !last, "{page}");
            assert_eq!(page.get("cursor").is_some(), !last, "{page}");
            assert_eq!(page["total_count"], products.len(), "{page}");
        }
        assert_eq!(pages.len() as u64, (products.len() as u64).div_ceil(limit));
        assert_eq!(seen.get_or_insert_with(|| products.clone()), &products, "the order is the same");
    }
}

#[test]
fn csr_06_the_page_size_may_change_between_pages() {
    let gateway = Gateway::shared();
    let mut payload = everything();
    let whole = ids(&gateway.search(&json!({ "filters": { "available": false }, "pagination": { "limit": 9 } })));
    let mut pieces = Vec::new();
    for limit in [2, 4, 3] {
        payload["pagination"]["limit"] = json!(limit);
        let mut answer = gateway.search(&payload);
        pieces.extend(ids(&answer));
        payload["pagination"]["cursor"] = answer["pagination"]["cursor"].take();
    }
    assert_eq!(pieces, whole);
}

#[test]
fn csr_06_paging_through_a_ranked_query_repeats_and_skips_nothing() {
    let gateway = Gateway::shared();
    for query in ["color", "cotton", "shoes", "steel"] {
        let query = json!({ "query": query });
        let (products, pages) = gateway.search_all(&query, 3);
        let found: Vec<_> = products.iter().map(|product| product["id"].as_str().expect("an id")).collect();
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "{query}");
        assert_eq!(pages[0]["total_count"], found.len(), "{query}");
        let (at_once, _) = gateway.search_all(&query, 50);
        assert_eq!(at_once, products, "{query}");
    }
}

#[test]
fn t_27_a_cursor_belongs_to_its_query() {
    let gateway = Gateway::shared();
    let mut first = gateway.search(&json!({ "query": "color" }));
    let cursor = first["pagination"]["cursor"].take();
    for other in [
        json!({ "query": "shoes" }),
        json!({ "query": "color", "filters": { "available": true } }),
        json!({ "query": "color", "filters": { "categories": ["Footwear"] } }),
        json!({ "query": "color", "filters": { "price": { "max": 9000 } } }),
        json!({ "query": "color", "context": { "currency": "EUR" } }),
        json!({ "query": "color", "context": { "language": "es" } }),
        json!({ "query": "color", "context": { "intent": "a gift" } }),
        everything(),
    ] {
        let mut misused = other.clone();
        misused["pagination"] = json!({ "cursor": cursor });
        let verdict = gateway.rest("search_catalog", &misused);
        assert_eq!(refused(&verdict), ("invalid_cursor", "$.pagination.cursor"), "{other}");
        assert!(verdict.refusal().content.contains("another query"), "{other}");
    }
    // Fields that do not affect the results are not bound.
    for same in [json!({ "query": "  color " }), json!({ "query": "color", "attribution": { "a": "b" } })] {
        let mut again = same.clone();
        again["pagination"] = json!({ "cursor": cursor });
        gateway.search(&again);
    }
}

#[test]
fn t_27_a_cursor_that_was_not_issued_is_refused() {
    let gateway = Gateway::shared();
    let cursor = gateway.search(&everything())["pagination"]["cursor"].as_str().expect("a cursor").to_owned();
    let flipped = |place: usize| {
        let mut bytes = cursor.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).expect("text")
    };
    let mut wrong: Vec<_> = (0..cursor.len() - 1).map(flipped).collect();
    wrong.extend(["", "x", "eyJwYWdlIjoxfQ==", "../../etc/passwd", "🦀"].map(str::to_owned));
    wrong.extend([format!("{cursor}="), format!("{cursor}A"), format!(" {cursor}"), cursor[1..].to_owned()]);
    wrong.push("A".repeat(100_000));
    for cursor in wrong {
        let mut payload = everything();
        payload["pagination"] = json!({ "cursor": cursor });
        let verdict = gateway.rest("search_catalog", &payload);
        assert_eq!(refused(&verdict), ("invalid_cursor", "$.pagination.cursor"), "{cursor:.100}");
    }
}

#[test]
fn t_27_a_cursor_of_another_shop_is_refused() {
    let gateway = Gateway::shared();
    let fresh = crate::harness::folder();
    let other = Gateway::on(&fresh.path().join("new"), &[]);
    let mut payload = everything();
    payload["pagination"] = json!({ "cursor": other.search(&everything())["pagination"]["cursor"] });
    assert_eq!(refused(&gateway.rest("search_catalog", &payload)).0, "invalid_cursor");
}

#[test]
fn csr_05_limits_default_to_10_clamp_at_50_and_start_at_1() {
    let gateway = Gateway::shared();
    let sized = |limit: Value| {
        let mut payload = everything();
        payload["pagination"] = json!({ "limit": limit });
        gateway.rest("search_catalog", &payload)
    };
    assert_eq!(ids(&gateway.search(&everything())).len(), 10);
    for (limit, expected) in [
        (json!(1), 1),
        (json!(50), 50),
        (json!(51), 50),
        (json!(1_000_000), 50),
        (json!(3.0), 3),
        (json!(18_446_744_073_709_551_615_u64), 50),
        (json!(1e30), 50),
    ] {
        let answer = sized(limit.clone()).answer();
        assert_eq!(ids(&answer).len(), expected, "{limit}");
        assert_eq!(codes(&answer), [""; 0], "clamped silently: {limit}");
    }
    for limit in [json!(0), json!(-1), json!(1.5), json!("10"), json!(null), json!([10])] {
        assert_eq!(refused(&sized(limit.clone())), ("invalid_request", "$.pagination.limit"), "{limit}");
    }
}

#[test]
fn csr_07_no_hits_are_an_empty_answer() {
    let answer = Gateway::shared().search(&json!({ "query": "zzzzqqqqxxxx" }));
    assert_eq!((answer["products"].clone(), total(&answer)), (json!([]), 0));
    assert_eq!(answer["pagination"]["has_next_page"], false);
    assert!(answer.get("messages").is_none());
}

#[test]
fn words_are_stemmed_folded_and_may_have_one_typo() {
    let gateway = Gateway::shared();
    for (query, language, expected) in [
        ("runner", "en", "Runner Pro"),
        ("RUNNER PRO", "en", "Runner Pro"),
        ("rúnner", "en", "Runner Pro"),
        ("runing shoe", "en", "Kid Comet Running Shoes"),
        ("shoes for running", "en", "Kid Comet Running Shoes"),
        ("snekers canvas", "en", "Harbor Canvas Sneakers"),
        ("screw", "en", "Fathom Machine Screws, Bag of 25"),
        ("hikng boots", "en", "Bogwalker Mid Hiking Boots"),
        ("zapatilla correr", "es", "Runner Pro"),
        ("botas senderismo", "es", "Botas de senderismo Bogwalker Mid"),
        ("tornillo metrico", "es", "Tornillos métricos Fathom, bolsa de 25"),
        ("waterproof", "en", "Trail Master X"),
        ("Footwear Trail", "en", "Trail Master X"),
        ("TMX-GRN-11", "en", "Trail Master X"),
    ] {
        let answer = gateway
            .search(&json!({ "query": query, "context": { "language": language }, "pagination": { "limit": 50 } }));
        assert!(titles(&answer).contains(&expected), "{query}: {:?}", titles(&answer));
    }
    assert_eq!(titles(&gateway.search(&json!({ "query": "blue runner pro" })))[0], "Blue Runner Pro", "ranked");
}

#[test]
fn any_text_can_be_a_query() {
    let gateway = Gateway::shared();
    for query in [
        "\"",
        "AND OR NOT",
        "title:x",
        "a* b~2 c^3",
        "[1 TO 2]",
        "(((",
        "+-&&||!{}",
        "\\",
        "🦀👟",
        "'; DROP TABLE products; --",
        "%",
        "../..",
        "-",
        "𝕽unner",
        "ǆ",
        "\u{202e}runner",
    ] {
        gateway.search(&json!({ "query": query }));
    }
    // A query has a length that no person reaches; characters count, not bytes.
    for letter in ["r", "🦀", "r "] {
        let longest = letter.repeat(4_096 / letter.chars().count());
        gateway.search(&json!({ "query": longest }));
        let verdict = gateway.rest("search_catalog", &json!({ "query": longest + letter }));
        assert_eq!(refused(&verdict), ("invalid_request", "$.query"));
    }
}

#[test]
fn csr_03_categories_are_or_inside_and_and_outside() {
    let gateway = Gateway::shared();
    let found = |filters: Value| {
        let (products, _) = gateway.search_all(&json!({ "filters": filters }), 50);
        products.iter().map(|product| product["id"].to_string()).collect::<BTreeSet<_>>()
    };
    let trail = found(json!({ "categories": ["Footwear > Trail"] }));
    let casual = found(json!({ "categories": ["Footwear > Casual"] }));
    assert!(!trail.is_empty() && !casual.is_empty() && trail.is_disjoint(&casual));
    let both = found(json!({ "categories": ["Footwear > Trail", "Footwear > Casual"] }));
    assert_eq!(both, trail.union(&casual).cloned().collect());
    assert_eq!(both, found(json!({ "categories": ["footwear>CASUAL", "Footwear > Trail", "Footwear > Trail"] })));
    assert!(both.is_subset(&found(json!({ "categories": ["Footwear"] }))), "a category holds what lies below it");
    assert!(both.is_subset(&found(json!({ "categories": ["187"] }))), "other taxonomies count too");
    assert!(found(json!({ "categories": ["No such"] })).is_empty());
    assert!(found(json!({ "categories": ["Foot"] })).is_empty(), "whole names only");
    let narrow = found(json!({ "categories": ["Footwear > Trail", "Footwear > Casual"], "price": { "min": 15_000 } }));
    assert!(!narrow.is_empty() && narrow.len() < both.len() && narrow.is_subset(&both));
    let everything = found(json!({ "available": false }));
    assert_eq!(found(json!({ "categories": [] })), everything, "no category asks for nothing");
}

#[test]
fn csr_09_the_one_variant_of_a_product_passes_all_filters() {
    let gateway = Gateway::shared();
    let filters = json!({ "available": true, "price": { "min": 14_000, "max": 16_000 } });
    let (products, pages) = gateway.search_all(&json!({ "filters": filters }), 20);
    assert!(products.len() >= 5, "{}", products.len());
    assert_eq!(pages[0]["total_count"], products.len());
    for product in &products {
        let variants = elements(&product["variants"]);
        assert_eq!(variants.len(), 1, "{}", product["id"]);
        assert_eq!(variants[0]["availability"]["available"], true, "{}", product["id"]);
        let price = variants[0]["price"]["amount"].as_i64().expect("an amount");
        assert!((14_000..=16_000).contains(&price), "{}: {price}", product["id"]);
        assert!(variants[0].get("inputs").is_none(), "a search has no inputs");
    }
    // Size 12 is the only Runner Pro at this price, and the range still spans all variants (PRD-11).
    let runner = products.iter().find(|product| product["id"] == "prod_abc123").expect("Runner Pro");
    assert_eq!(runner["price_range"]["min"]["amount"], 12_000);
}

#[test]
fn csr_03_one_variant_has_to_pass_all_filters_at_once() {
    let gateway = Gateway::shared();
    // Green is sold out in every size; nothing but Green may decide that for the other colors.
    let filters =
        json!({ "available": true, "price": { "min": 15_000, "max": 15_000 }, "categories": ["Footwear > Running"] });
    let answer = gateway.search(&json!({ "filters": filters }));
    let runner = elements(&answer["products"]).iter().find(|product| product["id"] == "prod_abc123");
    assert_eq!(runner.expect("Runner Pro")["variants"][0]["id"], "var_abc123_blue_12");
}

#[test]
fn csr_09_the_featured_variant_is_the_best_match_for_the_words() {
    let gateway = Gateway::shared();
    for (query, variant) in [
        ("runner pro red 9", "Red / Size 9"),
        ("RP-BLU-10", "Blue / Size 10"),
        ("trail master black 12", "Size 12 - Black"),
    ] {
        let answer = gateway.search(&json!({ "query": query }));
        assert_eq!(answer["products"][0]["variants"][0]["title"], variant, "{query}");
    }
}

#[test]
fn csr_04_price_filters_are_in_the_currency_of_the_context() {
    let gateway = Gateway::shared();
    let search = |currency: Option<&str>, price: Value| {
        let context = currency.map_or(json!({}), |code| json!({ "currency": code }));
        let payload =
            json!({ "filters": { "price": price, "categories": ["Footwear > Running"] }, "context": context });
        gateway.search(&payload)
    };
    let runner = |answer: &Value| ids(answer).contains(&"prod_abc123".to_owned());
    // Runner Pro costs 120 to 150 USD; its size 8 is 113.95 EUR, 18,000 JPY and 36.850 KWD.
    let price = |currency: &str| {
        let answer = gateway.product(&json!({ "id": "var_abc123_blue_8", "context": { "currency": currency } }));
        let price = &answer["product"]["variants"][0]["price"];
        assert_eq!(price["currency"], currency);
        price["amount"].as_i64().expect("an amount")
    };
    for currency in ["USD", "EUR", "JPY", "KWD"] {
        let exact = price(currency);
        let answer = search(Some(currency), json!({ "min": exact, "max": exact }));
        assert!(runner(&answer), "{currency} {exact}: {answer}");
        for product in elements(&answer["products"]) {
            let price = &product["variants"][0]["price"];
            assert!(price["currency"] != currency || price["amount"] == exact, "{price}");
        }
        // The cheapest variant is out by one minor unit; the dearest one is far away.
        assert!(!runner(&search(Some(currency), json!({ "max": exact - 1 }))), "{currency}");
    }
    assert_eq!(codes(&search(Some("USD"), json!({ "max": 1 }))), [""; 0]);
    assert_eq!(codes(&search(None, json!({ "max": 1 }))), [""; 0], "the shop's own currency is meant");
}

#[test]
fn csr_04_other_currencies_are_converted_at_a_known_rate_or_ignored_and_both_are_said() {
    let gateway = Gateway::shared();
    let search = |currency: &str, price: Value| {
        gateway.search(&json!({ "filters": { "price": price }, "context": { "currency": currency }, "pagination": { "limit": 50 } }))
    };
    // One USD is 0.79 GBP: 94.80 GBP is 120.00 USD exactly.
    let exact = search("GBP", json!({ "min": 9_480, "max": 9_480 }));
    assert!(ids(&exact).contains(&"prod_abc123".to_owned()), "{:?}", titles(&exact));
    for product in elements(&exact["products"]) {
        assert_eq!(product["variants"][0]["price"], json!({ "amount": 12_000, "currency": "USD" }));
    }
    assert_eq!(codes(&exact), ["price_filter_converted"]);
    assert!(!ids(&search("GBP", json!({ "max": 9_479 }))).contains(&"prod_abc123".to_owned()));
    let everything = total(&gateway.search(&everything()));
    for unknown in ["CHF", "gold", "", "€"] {
        let answer = search(unknown, json!({ "max": 1 }));
        assert_eq!((codes(&answer), total(&answer)), (vec!["price_filter_ignored"], everything), "{unknown}");
    }
}

#[test]
fn csr_04_unreachable_bounds_find_nothing_and_empty_ones_everything() {
    let gateway = Gateway::shared();
    let count = |price: Value| total(&gateway.search(&json!({ "filters": { "price": price } })));
    let everything = total(&gateway.search(&everything()));
    assert_eq!(count(json!({ "min": 2, "max": 1 })), 0);
    assert_eq!(count(json!({ "min": 9_007_199_254_740_991_i64 })), 0);
    assert_eq!(count(json!({})), everything);
    assert_eq!(count(json!({ "min": 0 })), everything);
    assert_eq!(count(json!({ "min": 0.0, "max": 9_007_199_254_740_991_i64 })), everything, "T-41");
    assert_eq!(count(json!({ "min": 12000.0, "max": 1.2e4 })), count(json!({ "min": 12000, "max": 12000 })), "T-41");
}

#[test]
fn csr_03_unknown_filters_are_allowed_and_named() {
    let gateway = Gateway::shared();
    let answer = gateway.search(
        &json!({ "query": "runner pro", "filters": { "color": "red", "com.example.size": [1, { "a": null }] } }),
    );
    assert_eq!(ids(&answer), ids(&gateway.search(&json!({ "query": "runner pro" }))));
    assert_eq!(codes(&answer), ["filter_ignored", "filter_ignored"]);
    let notes = texts(&answer["messages"], "content").join(" ");
    assert!(notes.contains("`color`") && notes.contains("`com.example.size`"), "{notes}");
    // An unknown filter is a filter (CSR-01).
    gateway.search(&json!({ "filters": { "color": "red" } }));
}

#[test]
fn csr_02_available_leaves_out_what_is_sold_out() {
    let gateway = Gateway::shared();
    let (all, _) = gateway.search_all(&everything(), 50);
    let (available, _) = gateway.search_all(&json!({ "filters": { "available": true } }), 50);
    let sold_out: Vec<_> =
        all.iter().filter(|product| product["variants"][0]["availability"]["available"] == false).collect();
    assert!(!sold_out.is_empty(), "the sample shop has a product that is sold out");
    assert_eq!(available.len() + sold_out.len(), all.len());
    assert!(available.iter().all(|product| product["variants"][0]["availability"]["available"] == true));
}

#[test]
fn a_price_filter_in_major_units_is_told_what_it_means() {
    let gateway = Gateway::shared();
    let search = |max: u64, currency: &str| {
        let filters = json!({ "price": { "max": max } });
        gateway.search(&json!({ "query": "shoes", "filters": filters, "context": { "currency": currency } }))
    };
    let answer = search(200, "USD");
    assert_eq!((total(&answer), codes(&answer)), (0, vec!["price_filter_in_minor_units"]), "{answer}");
    let message = &answer["messages"][0];
    assert_eq!(message["type"], "info");
    let content = message["content"].as_str().expect("a text");
    assert!(content.contains("200 USD") && content.contains("`max` 20000"), "{content}");
    assert_eq!(codes(&search(20_000, "USD")), [""; 0], "the filter is as it should be");
    assert_eq!(codes(&search(1, "USD")), [""; 0], "nothing costs so little in major units either");
}

/// The hundred is no reason to offer a box of it.
#[test]
fn prices_in_words_find_nothing_by_themselves() {
    let gateway = Gateway::shared();
    let answer = gateway.search(&json!({ "query": "red running shoes under $100" }));
    let products = elements(&answer["products"]);
    assert!(!products.is_empty());
    for (at, product) in products.iter().enumerate() {
        let (title, categories) = (product["title"].to_string(), product["categories"].to_string());
        // What is asked for comes before what has the other words alone.
        assert!(at >= 4 || categories.contains("Footwear"), "{title}: {categories}");
        assert!(!title.contains("100"), "{title}");
        assert!(product["price_range"]["min"]["amount"].as_u64().is_some_and(|amount| amount <= 10_000), "{product}");
    }
    let content = answer["messages"][0]["content"].as_str().expect("a text");
    assert!(content.contains("`under $100`") && content.contains("`max` 10000"), "{content}");
}

#[test]
fn words_that_are_taken_loosely_are_told() {
    let gateway = Gateway::shared();
    for (query, expected) in [
        ("running shoes", vec!["words_matched_in_part"]),
        ("runner", vec![]),
        ("TMX-GRN-11", vec![]),
        ("snekers canvas", vec!["words_corrected"]),
        ("hikng boots", vec!["words_corrected", "words_matched_in_part"]),
        ("running zzzzqqqqxxxx", vec!["words_matched_in_part"]),
        ("zzzzqqqqxxxx", vec![]),
        ("red running shoes under $100", vec!["price_understood", "words_matched_in_part"]),
        ("hikng boots for 90 dollars", vec!["price_in_words", "words_corrected", "words_matched_in_part"]),
    ] {
        let answer = gateway.search(&json!({ "query": query, "context": { "language": "en" } }));
        assert_eq!(codes(&answer), expected, "{query}: {answer}");
    }
}

/// Writes a model with a vector for each of these words, in the form of model2vec.
fn write_model(folder: &std::path::Path, words: &[(&str, [f32; 2])]) {
    let vocabulary: serde_json::Map<_, _> =
        words.iter().enumerate().map(|(token, (word, _))| ((*word).to_owned(), token.into())).collect();
    let tokenizer = json!({"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary}});
    let values: Vec<u8> = words.iter().flat_map(|(_, vector)| vector).flat_map(|value| value.to_le_bytes()).collect();
    let place = json!({"dtype": "F32", "shape": [words.len(), 2], "data_offsets": [0, values.len()]});
    let header = json!({"embeddings": place}).to_string();
    let tensors = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &values].concat();
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("a file");
    std::fs::write(folder.join("model.safetensors"), tensors).expect("a file");
}

#[test]
fn a_model_finds_products_by_meaning() {
    let setup = Setup::new("[search]\nmodel = \"model\"\n");
    let missing = setup.run("serve").expect_err("there is no model");
    assert!(missing.contains("search.model") && missing.contains("tokenizer.json cannot be read"), "{missing}");
    write_model(
        &setup.path("model"),
        &[("[UNK]", [0.0, 0.0]), ("gloamer", [1.0, 0.1]), ("lamp", [1.0, 0.0]), ("jacket", [0.0, 1.0])],
    );
    let data = crate::harness::sample_shop();
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let payload = json!({ "query": "gloamer", "pagination": { "limit": 50 } });
    let answer = gateway.search(&payload);
    let found = titles(&answer);
    assert!(!found.is_empty() && found.iter().all(|title| !title.contains("Jacket")), "{found:?}");
    assert_eq!(total(&answer), found.len() as u64);
    assert_eq!(gateway.mcp_tool("search_catalog", &payload).answer()["products"], answer["products"]);
    assert_eq!(
        ids(&gateway.search(&json!({ "query": "lamp" })))[0],
        ids(&Gateway::shared().search(&json!({ "query": "lamp" })))[0]
    );
    assert!(ids(&Gateway::shared().search(&payload)).is_empty(), "without a model, nobody knows the word");
}
