//! What search, lookup and `get_product` promise (rules CSR, LKP and PRD, traps T-17 to T-20, T-27 and T-41).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, Verdict, codes, elements, texts};

/// A filter that every product of the sample shop passes.
fn everything() -> Value {
    json!({ "filters": { "available": false } })
}

fn ids(answer: &Value) -> Vec<String> {
    texts(&answer["products"], "id").into_iter().map(str::to_owned).collect()
}

fn titles(answer: &Value) -> Vec<&str> {
    texts(&answer["products"], "title")
}

fn total(answer: &Value) -> u64 {
    answer["pagination"]["total_count"].as_u64().expect("a total")
}

/// Code and path of a refusal, and that its status is 400.
#[track_caller]
fn refused(verdict: &Verdict) -> (&str, &str) {
    let refusal = verdict.refusal();
    assert_eq!(refusal.status, 400, "{refusal:?}");
    assert!(refusal.accepted.is_some(), "it says what would be accepted: {refusal:?}");
    (&refusal.code, refusal.path.as_deref().unwrap_or_default())
}

mod search {
    use super::*;

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
            everything(),
        ] {
            let mut misused = other.clone();
            misused["pagination"] = json!({ "cursor": cursor });
            let verdict = gateway.rest("search_catalog", &misused);
            assert_eq!(refused(&verdict), ("invalid_cursor", "$.pagination.cursor"), "{other}");
            assert!(verdict.refusal().content.contains("another query"), "{other}");
        }
        // What does not decide about the results does not bind.
        for same in [
            json!({ "query": "  color " }),
            json!({ "query": "color", "context": { "intent": "a gift" }, "attribution": { "a": "b" } }),
        ] {
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
        wrong.extend(["", "x", "eyJwYWdlIjoxfQ==", "../../etc/passwd", "\u{0}", "🦀"].map(str::to_owned));
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
        let fresh = tempfile::tempdir().expect("a directory");
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
    fn csr_08_words_are_stemmed_folded_and_may_have_one_typo() {
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
    fn csr_08_any_text_can_be_a_query() {
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
            "\u{0}",
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
        let narrow =
            found(json!({ "categories": ["Footwear > Trail", "Footwear > Casual"], "price": { "min": 15_000 } }));
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
        // Green is sold out in every size; nothing but Green may decide that for the other colours.
        let filters = json!({ "available": true, "price": { "min": 15_000, "max": 15_000 }, "categories": ["Footwear > Running"] });
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
        assert_eq!(
            count(json!({ "min": 12000.0, "max": 1.2e4 })),
            count(json!({ "min": 12000, "max": 12000 })),
            "T-41"
        );
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
}

mod context {
    use super::*;

    fn shown(gateway: &Gateway, context: &Value, accept_language: Option<&str>) -> (String, String) {
        let headers: Vec<_> = accept_language.map(|tags| ("Accept-Language", tags)).into_iter().collect();
        let payload = json!({ "id": "prod_abc123", "context": context });
        let answer = gateway.rest_in("get_product", &payload, &headers).answer();
        let text = answer["product"]["description"]["plain"].as_str().expect("a text");
        let language = if text.starts_with("Zapatillas") { "es" } else { "en" };
        let currency = answer["product"]["price_range"]["min"]["currency"].as_str().expect("a currency");
        (language.to_owned(), currency.to_owned())
    }

    #[test]
    fn csr_12_hints_choose_what_the_shop_has_and_fall_back_silently() {
        let gateway = Gateway::shared();
        for (context, header, language, currency) in [
            (json!({}), None, "en", "USD"),
            (json!({ "language": "es" }), None, "es", "USD"),
            (json!({ "language": "ES-mx" }), None, "es", "USD"),
            (json!({ "language": "fr" }), None, "en", "USD"),
            (json!({ "language": "" }), None, "en", "USD"),
            (json!({ "currency": "EUR" }), None, "en", "EUR"),
            (json!({ "currency": "jpy" }), None, "en", "JPY"),
            (json!({ "currency": "GBP" }), None, "en", "USD"),
            (json!({ "currency": "nonsense" }), None, "en", "USD"),
            (json!({ "address_country": "JP" }), None, "en", "JPY"),
            (json!({ "address_country": "de", "address_region": "BE", "postal_code": "10115" }), None, "en", "EUR"),
            (json!({ "address_country": "Narnia" }), None, "en", "USD"),
            (json!({ "address_country": "JP", "currency": "KWD", "language": "es" }), None, "es", "KWD"),
            (json!({}), Some("es"), "es", "USD"),
            (json!({}), Some("fr, es;q=0.8, en;q=0.5"), "es", "USD"),
            (json!({}), Some("en;q=0.1, es-419"), "es", "USD"),
            (json!({}), Some("*"), "en", "USD"),
            (json!({}), Some(";;;q=,,"), "en", "USD"),
            (json!({ "language": "en" }), Some("es"), "en", "USD"),
            (json!({ "language": "fr" }), Some("es"), "es", "USD"),
        ] {
            let expected = (language.to_owned(), currency.to_owned());
            assert_eq!(shown(&gateway, &context, header), expected, "{context} {header:?}");
        }
    }

    #[test]
    fn csr_12_the_hints_hold_for_all_operations_alike() {
        let gateway = Gateway::shared();
        let context = json!({ "language": "es", "currency": "EUR" });
        let product = gateway.product(&json!({ "id": "prod_abc123", "context": context }))["product"].take();
        let found = gateway.search(&json!({ "query": "runner pro", "context": context }));
        let listed = gateway.lookup(&json!({ "ids": ["prod_abc123"], "context": context }));
        let found = elements(&found["products"]).iter().find(|found| found["id"] == "prod_abc123").expect("found");
        for member in ["title", "description", "price_range", "categories", "media", "rating", "tags", "url"] {
            assert_eq!(found[member], product[member], "{member}");
            assert_eq!(listed["products"][0][member], product[member], "{member}");
        }
        assert_eq!(texts(&product["options"], "name"), ["Color", "Talla"]);
    }

    /// What a product is chosen by may be written in the shop's language or the caller's.
    #[test]
    fn selections_are_understood_in_either_language() {
        let gateway = Gateway::shared();
        let variants = |selected: Value, language: &str| {
            let payload = json!({ "id": "prod_abc123", "selected": selected, "context": { "language": language } });
            let answer = gateway.product(&payload);
            texts(&answer["product"]["variants"], "id").join(" ")
        };
        let red = variants(json!([{ "name": "Color", "label": "Red" }, { "name": "Size", "label": "9" }]), "en");
        assert_eq!(red, "var_abc123_red_9");
        assert_eq!(
            variants(json!([{ "name": "Color", "label": "Rojo" }, { "name": "Talla", "label": "9" }]), "es"),
            red
        );
        assert_eq!(variants(json!([{ "name": "Color", "label": "Red" }, { "name": "Size", "label": "9" }]), "es"), red);
        assert_eq!(variants(json!([{ "name": "COLOR", "label": "red" }, { "name": "size", "label": "9" }]), "en"), red);
    }

    /// CSR-11, CSR-13, PRV-01: they are hints and records, and never decide about an answer.
    #[test]
    fn eligibility_signals_and_attribution_change_nothing() {
        let gateway = Gateway::shared();
        let extras = [
            ("eligibility", json!(["org.example.student", "nonsense", ""])),
            ("eligibility", json!([])),
            ("signals", json!({ "dev.ucp.buyer_ip": "203.0.113.7", "org.example.score": { "v": [1, null] } })),
            ("signals", json!({})),
            ("attribution", json!({ "utm_source": "agent", "n": "1" })),
            ("attribution", json!({})),
        ];
        for (operation, payload) in [
            ("search_catalog", json!({ "query": "shoes" })),
            ("lookup_catalog", json!({ "ids": ["prod_abc123", "nothing"] })),
            ("get_product", json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Red" }] })),
        ] {
            let plain = gateway.rest(operation, &payload);
            assert!(matches!(plain, Verdict::Answered(_)));
            for (member, value) in &extras {
                let mut more = payload.clone();
                if *member == "eligibility" {
                    more["context"] = json!({ "eligibility": value });
                } else {
                    more[*member] = value.clone();
                }
                assert_eq!(gateway.rest(operation, &more), plain, "{operation} {member}");
            }
            let mut open = payload.clone();
            open["context"] = json!({ "com.example.unheard_of": 1 });
            open["com.example.extension"] = json!([]);
            assert_eq!(gateway.rest(operation, &open), plain, "requests are open objects");
        }
    }
}

mod lookup {
    use super::*;

    /// `id match` of every input of every variant of a product.
    fn inputs(product: &Value) -> Vec<String> {
        let inputs = elements(&product["variants"]).iter().flat_map(|variant| elements(&variant["inputs"]));
        let text = |input: &Value| {
            format!("{} {}", input["id"].as_str().unwrap_or_default(), input["match"].as_str().unwrap_or_default())
        };
        inputs.map(text).collect()
    }

    #[test]
    fn lkp_01_every_kind_of_identifier_resolves() {
        let gateway = Gateway::shared();
        let variant = gateway.lookup(&json!({ "ids": ["var_abc123_blue_10"] }))["products"][0]["variants"][0].take();
        let barcode = variant["barcodes"][0]["value"].as_str().expect("a barcode").to_owned();
        for (id, kind, featured) in [
            ("prod_abc123", "featured", false),
            ("runner-pro", "featured", false),
            ("var_abc123_blue_10", "exact", true),
            ("RP-BLU-10", "exact", true),
            (&barcode, "exact", true),
        ] {
            let answer = gateway.lookup(&json!({ "ids": [id] }));
            assert_eq!(ids(&answer), ["prod_abc123"], "{id}");
            assert_eq!(inputs(&answer["products"][0]), [format!("{id} {kind}")]);
            if featured {
                assert_eq!(answer["products"][0]["variants"][0]["id"], "var_abc123_blue_10", "{id}");
            }
            assert!(answer.get("messages").is_none());
        }
    }

    #[test]
    fn lkp_02_identifiers_and_products_count_once() {
        let gateway = Gateway::shared();
        let answer =
            gateway.lookup(&json!({ "ids": ["prod_abc123", "prod_abc123", "runner-pro", "nothing", "nothing"] }));
        assert_eq!(ids(&answer), ["prod_abc123"]);
        assert_eq!(inputs(&answer["products"][0]), ["prod_abc123 featured", "runner-pro featured"]);
        assert_eq!(codes(&answer), ["not_found"]);
    }

    #[test]
    fn t_20_a_product_and_its_variant_come_as_one_product() {
        let gateway = Gateway::shared();
        let two = gateway.lookup(&json!({ "ids": ["var_abc123_red_9", "prod_abc123"] }));
        assert_eq!(ids(&two), ["prod_abc123"]);
        let variants = elements(&two["products"][0]["variants"]);
        assert_eq!(variants.len(), 2, "the variant that was asked for, and the featured one");
        assert_eq!(variants[0]["inputs"][0]["match"], "featured", "the first one stands for the product (CSR-09)");
        assert_eq!(variants[1]["id"], "var_abc123_red_9");
        let featured = variants[0]["id"].clone();
        let one = gateway.lookup(&json!({ "ids": [featured, "prod_abc123"] }));
        let variants = elements(&one["products"][0]["variants"]);
        assert_eq!(
            (variants.len(), elements(&variants[0]["inputs"]).len()),
            (1, 2),
            "identical: one variant, two inputs"
        );
    }

    #[test]
    fn lkp_05_a_hundred_different_ids_are_the_limit() {
        let gateway = Gateway::shared();
        let batch = |count: usize| json!({ "ids": (0..count).map(|place| format!("id-{place}")).collect::<Vec<_>>() });
        let full = gateway.lookup(&batch(100));
        assert_eq!((ids(&full).len(), codes(&full).len()), (0, 100));
        assert_eq!(refused(&gateway.rest("lookup_catalog", &batch(101))), ("request_too_large", "$.ids"));
        // Trap T-20: repetitions are taken out before counting, within reason.
        let repeated = |count: usize| json!({ "ids": vec!["prod_abc123"; count] });
        assert_eq!(ids(&gateway.lookup(&repeated(1_000))), ["prod_abc123"]);
        assert_eq!(refused(&gateway.rest("lookup_catalog", &repeated(1_001))), ("request_too_large", "$.ids"));
        assert_eq!(refused(&gateway.rest("lookup_catalog", &json!({ "ids": [] }))), ("invalid_request", "$.ids"));
    }

    #[test]
    fn lkp_06_unknown_ids_are_notes_in_request_order() {
        let answer = Gateway::shared().lookup(&json!({ "ids": ["z", "prod_abc123", "a"] }));
        assert_eq!(ids(&answer), ["prod_abc123"]);
        assert_eq!(
            answer["messages"],
            json!([
                { "type": "info", "code": "not_found", "content": "z" },
                { "type": "info", "code": "not_found", "content": "a" }
            ])
        );
    }

    #[test]
    fn lkp_07_filters_run_after_resolution() {
        let gateway = Gateway::shared();
        let lookup = |ids: Value, filters: Value| gateway.lookup(&json!({ "ids": ids, "filters": filters }));
        // Size 12 costs 150 USD, the others 120: the featured variant is the best one that passes (T-20).
        let dear = lookup(json!(["prod_abc123"]), json!({ "price": { "min": 15_000 } }));
        assert_eq!(dear["products"][0]["variants"][0]["id"], "var_abc123_blue_12");
        let none = lookup(json!(["prod_abc123", "var_xyz789"]), json!({ "price": { "max": 1 } }));
        assert_eq!(none["products"], json!([]));
        assert_eq!(codes(&none), [""; 0], "they were found, and filtered");
        let exact = lookup(json!(["var_abc123_blue_8"]), json!({ "price": { "min": 15_000 } }));
        assert_eq!(exact["products"], json!([]), "a variant is asked for itself");
        let sold_out = lookup(json!(["var_abc123_green_8", "var_abc123_blue_8"]), json!({ "available": true }));
        assert_eq!(texts(&sold_out["products"][0]["variants"], "id"), ["var_abc123_blue_8"]);
        let other = lookup(json!(["prod_abc123"]), json!({ "categories": ["Hardware"] }));
        assert_eq!(other["products"], json!([]));
    }

    /// LKP-03: no variant without inputs, no input that was not sent.
    #[test]
    fn lkp_03_inputs_name_what_was_sent_and_nothing_else() {
        let gateway = Gateway::shared();
        let found = gateway.search(&json!({ "filters": { "available": true }, "pagination": { "limit": 50 } }));
        let sent: Vec<_> = elements(&found["products"])
            .iter()
            .flat_map(|product| [product["handle"].clone(), product["variants"][0]["sku"].clone()])
            .collect();
        let answer = gateway.lookup(&json!({ "ids": sent }));
        let mut correlated: Vec<String> = Vec::new();
        for product in elements(&answer["products"]) {
            for variant in elements(&product["variants"]) {
                let inputs = elements(&variant["inputs"]);
                assert!(!inputs.is_empty());
                correlated.extend(inputs.iter().map(|input| input["id"].as_str().expect("an id").to_owned()));
            }
        }
        correlated.sort();
        let mut expected: Vec<_> = sent.iter().map(|id| id.as_str().expect("an id").to_owned()).collect();
        expected.sort();
        assert_eq!(correlated, expected);
    }
}

mod product {
    use super::*;

    fn select(pairs: &[(&str, &str)]) -> Value {
        pairs.iter().map(|(name, label)| json!({ "name": name, "label": label })).collect()
    }

    fn open(gateway: &Gateway, payload: &Value) -> Value {
        gateway.product(payload)["product"].take()
    }

    fn variants(product: &Value) -> Vec<&str> {
        texts(&product["variants"], "id")
    }

    #[test]
    fn prd_01_only_product_and_variant_ids_open_a_product() {
        let gateway = Gateway::shared();
        for id in ["prod_abc123", "var_abc123_blue_8"] {
            assert_eq!(open(&gateway, &json!({ "id": id }))["id"], "prod_abc123");
        }
        for id in ["runner-pro", "RP-BLU-10", "nothing", ""] {
            let answer = gateway.product(&json!({ "id": id }));
            assert_eq!((&answer["ucp"]["status"], codes(&answer)), (&json!("error"), vec!["not_found"]), "{id}");
            assert_eq!(answer["messages"][0]["severity"], "unrecoverable", "PRD-02");
        }
    }

    #[test]
    fn prd_07_a_variant_id_comes_first_and_overrules_the_selection() {
        let gateway = Gateway::shared();
        let plain = open(&gateway, &json!({ "id": "var_abc123_red_10" }));
        assert_eq!(variants(&plain)[0], "var_abc123_red_10");
        assert_eq!(plain["selected"], select(&[("Color", "Red"), ("Size", "10")]));
        for selected in [
            select(&[("Color", "Blue")]),
            select(&[("Color", "Blue"), ("Size", "11")]),
            select(&[("Color", "Mauve"), ("Weight", "heavy")]),
        ] {
            let payload = json!({ "id": "var_abc123_red_10", "selected": selected, "preferences": ["Size"] });
            assert_eq!(open(&gateway, &payload), plain, "{selected}");
        }
        // A sold-out variant is still the one that was asked for.
        assert_eq!(variants(&open(&gateway, &json!({ "id": "var_abc123_green_9" })))[0], "var_abc123_green_9");
    }

    #[test]
    fn prd_03_an_option_is_selected_at_most_once() {
        let gateway = Gateway::shared();
        for (selected, place) in [
            (select(&[("Color", "Blue"), ("Color", "Red")]), 1),
            (select(&[("Color", "Blue"), ("Size", "8"), ("Color", "Blue")]), 2),
            (select(&[("Color", "Blue"), ("color", "Blue")]), 1),
            (select(&[("Nothing", "a"), ("Nothing", "b")]), 1),
        ] {
            for id in ["prod_abc123", "var_abc123_blue_8"] {
                let payload = json!({ "id": id, "selected": selected });
                let path = format!("$.selected[{place}].name");
                let verdict = gateway.rest("get_product", &payload);
                assert_eq!(refused(&verdict), ("invalid_request", path.as_str()), "{payload}");
            }
        }
    }

    #[test]
    fn prd_04_relaxation_follows_the_preferences_from_the_end() {
        let gateway = Gateway::shared();
        for (selected, preferences, effective) in [
            (vec![("Color", "Blue"), ("Size", "8")], json!(["Color", "Size"]), vec![("Color", "Blue"), ("Size", "8")]),
            // Blue has no size 11.
            (vec![("Color", "Blue"), ("Size", "11")], json!(["Color", "Size"]), vec![("Color", "Blue")]),
            (vec![("Color", "Blue"), ("Size", "11")], json!(["Size", "Color"]), vec![("Size", "11")]),
            // T-18: what is not preferred goes first, the last one sent before the others.
            (vec![("Color", "Blue"), ("Size", "11")], json!(["Size"]), vec![("Size", "11")]),
            (vec![("Color", "Blue"), ("Size", "11")], json!([]), vec![("Color", "Blue")]),
            (vec![("Size", "11"), ("Color", "Blue")], json!([]), vec![("Size", "11")]),
            (vec![("Size", "11"), ("Color", "Blue")], json!(["Weight", "Weight"]), vec![("Size", "11")]),
            // T-18: unknown names and labels match nothing and are given up.
            (vec![("Color", "Mauve"), ("Size", "9")], json!(["Color", "Size"]), vec![("Size", "9")]),
            (vec![("Weight", "heavy"), ("Size", "9")], json!(["Weight"]), vec![("Size", "9")]),
            (vec![("Color", "Mauve")], json!([]), vec![]),
            // Being sold out is no reason to relax.
            (vec![("Color", "Green"), ("Size", "8")], json!([]), vec![("Color", "Green"), ("Size", "8")]),
        ] {
            let payload = json!({ "id": "prod_abc123", "selected": select(&selected), "preferences": preferences });
            let product = open(&gateway, &payload);
            assert_eq!(product["selected"], select(&effective), "{payload}");
            let matching = elements(&product["variants"]);
            assert!(!matching.is_empty());
            for variant in matching {
                for option in elements(&product["selected"]) {
                    assert!(elements(&variant["options"]).contains(option), "{payload}: {variant}");
                }
            }
        }
    }

    /// PRD-08, computed again from the matrix of variants, for every product and a choice of selections.
    #[test]
    fn prd_08_signals_agree_with_the_variants_of_the_product() {
        let gateway = Gateway::shared();
        let (products, _) = gateway.search_all(&everything(), 50);
        let (mut judged, mut holes, mut sold_out) = (0, 0, 0);
        for listed in &products {
            let Some(axes) = listed.get("options").map(elements) else { continue };
            // A label that matches nothing is given up: every variant comes back.
            let all = open(&gateway, &json!({ "id": listed["id"], "selected": select(&[("No such option", "x")]) }));
            assert_eq!(all["selected"], json!([]), "{}", listed["id"]);
            let cells: Vec<(Vec<&str>, bool)> = elements(&all["variants"])
                .iter()
                .map(|variant| {
                    let by_axis = axes.iter().map(|axis| {
                        let own = elements(&variant["options"]).iter().find(|own| own["name"] == axis["name"]);
                        own.expect("a value on every axis")["label"].as_str().expect("a label")
                    });
                    (by_axis.collect(), variant["availability"]["available"] == true)
                })
                .collect();
            for (place, (cell, _)) in cells.iter().enumerate().step_by(cells.len().div_ceil(3)) {
                // One axis, and all axes.
                for count in BTreeSet::from([1, axes.len()]) {
                    let chosen: Vec<_> =
                        (0..count).map(|axis| (axes[axis]["name"].as_str().expect("a name"), cell[axis])).collect();
                    let product = open(&gateway, &json!({ "id": listed["id"], "selected": select(&chosen) }));
                    let effective: Vec<_> = elements(&product["selected"])
                        .iter()
                        .map(|option| {
                            (option["name"].as_str().expect("a name"), option["label"].as_str().expect("a label"))
                        })
                        .collect();
                    assert_eq!(effective, chosen, "{} {place}", listed["id"]);
                    let matches = |other: &[&str]| (0..count).all(|axis| other[axis] == cell[axis]);
                    let expected = cells.iter().filter(|(other, _)| matches(other)).count();
                    assert_eq!(elements(&product["variants"]).len(), expected, "{} {chosen:?}", listed["id"]);
                    for (axis, option) in elements(&product["options"]).iter().enumerate() {
                        for value in elements(&option["values"]) {
                            let reachable = || {
                                cells.iter().filter(|(other, _)| {
                                    other[axis] == value["label"]
                                        && (0..count).all(|own| own == axis || other[own] == cell[own])
                                })
                            };
                            let exists = reachable().next().is_some();
                            let available = reachable().any(|(_, available)| *available);
                            assert_eq!(
                                (value["exists"].as_bool(), value["available"].as_bool()),
                                (Some(exists), Some(available)),
                                "{} {chosen:?} {} {}",
                                listed["id"],
                                option["name"],
                                value["label"]
                            );
                            judged += 1;
                            holes += usize::from(!exists);
                            sold_out += usize::from(exists && !available);
                        }
                    }
                }
            }
        }
        assert!(judged > 2_000 && holes > 50 && sold_out > 50, "{judged} signals, {holes} holes, {sold_out} sold out");
    }

    #[test]
    fn prd_09_an_option_is_matched_by_its_id_before_its_label() {
        let gateway = Gateway::shared();
        let id = "prod_everyday-tee";
        let tee = open(&gateway, &json!({ "id": id }));
        let colours = elements(&tee["options"][0]["values"]);
        let (first, second) = (&colours[0], &colours[1]);
        assert!(first["id"].is_string() && second["id"].is_string(), "the sample shop has options with ids");
        let selected = |choice: Value| open(&gateway, &json!({ "id": id, "selected": [choice] }))["selected"].take();
        let by_id = selected(json!({ "name": "Color", "id": second["id"], "label": first["label"] }));
        assert_eq!(by_id, json!([{ "name": "Color", "id": second["id"], "label": second["label"] }]));
        let by_label = selected(json!({ "name": "Color", "label": second["label"] }));
        assert_eq!(by_label, by_id);
        assert_eq!(selected(json!({ "name": "Color", "id": "unheard of", "label": first["label"] })), json!([]));
        // An option without ids has nothing but labels.
        let payload = json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "id": "x", "label": "Red" }] });
        assert_eq!(open(&gateway, &payload)["selected"], select(&[("Color", "Red")]));
    }

    #[test]
    fn t_17_without_a_selection_the_featured_variant_shows_itself() {
        let gateway = Gateway::shared();
        let (products, _) = gateway.search_all(&everything(), 50);
        for listed in &products {
            let product = open(&gateway, &json!({ "id": listed["id"] }));
            assert_eq!(product["variants"][0], listed["variants"][0], "the same variant that a search shows");
            assert_eq!(product.get("selected"), product["variants"][0].get("options"), "PRD-05");
            assert_eq!(product["price_range"], listed["price_range"], "PRD-11");
        }
    }

    #[test]
    fn prd_05_a_product_without_options_has_no_selection() {
        let gateway = Gateway::shared();
        let (products, _) = gateway.search_all(&everything(), 50);
        let plain = products.iter().find(|product| product.get("options").is_none()).expect("one without options");
        for selected in [json!([]), select(&[("Color", "Blue")])] {
            let product = open(&gateway, &json!({ "id": plain["id"], "selected": selected }));
            assert_eq!((product.get("options"), product.get("selected")), (None, None));
            assert_eq!(elements(&product["variants"]).len(), 1);
        }
    }

    #[test]
    fn prd_10_filters_come_after_the_selection() {
        let gateway = Gateway::shared();
        let open_with = |id: &str, selected: Value, filters: Value| {
            gateway.product(&json!({ "id": id, "selected": selected, "filters": filters }))
        };
        let dear = open_with("prod_abc123", select(&[("Color", "Blue")]), json!({ "price": { "min": 15_000 } }));
        assert_eq!(variants(&dear["product"]), ["var_abc123_blue_12"]);
        assert_eq!(dear["product"]["selected"], select(&[("Color", "Blue")]), "filters do not relax");
        assert_eq!(dear["product"]["price_range"]["min"]["amount"], 12_000, "PRD-11");

        // T-19: the variant that was asked for is never filtered out, the others are.
        let asked = open_with("var_abc123_blue_8", json!([]), json!({ "price": { "max": 1 }, "available": true }));
        assert_eq!(variants(&asked["product"]), ["var_abc123_blue_8"]);

        // T-19: nothing left of a product is an outcome that another call can mend.
        for (selected, filters) in [
            (json!([]), json!({ "price": { "max": 1 } })),
            (json!([]), json!({ "categories": ["Hardware"] })),
            (select(&[("Color", "Green")]), json!({ "available": true })),
        ] {
            let answer = open_with("prod_abc123", selected, filters.clone());
            assert_eq!((&answer["ucp"]["status"], codes(&answer)), (&json!("error"), vec!["not_found"]), "{filters}");
            assert_eq!(answer["messages"][0]["severity"], "recoverable", "{filters}");
        }
        let notes = open_with("prod_abc123", json!([]), json!({ "unheard_of": 1 }));
        assert_eq!(codes(&notes), ["filter_ignored"]);
    }

    #[test]
    fn prd_06_the_first_variant_is_one_that_can_be_bought() {
        let gateway = Gateway::shared();
        // Green is sold out, and comes last in the selection of a size.
        let product = open(&gateway, &json!({ "id": "prod_abc123", "selected": select(&[("Size", "11")]) }));
        assert_eq!(product["variants"][0]["id"], "var_abc123_red_11");
        assert_eq!(variants(&product).len(), 2);
    }

    #[test]
    fn a_product_of_2048_variants_is_served_whole_and_narrowed() {
        let gateway = Gateway::shared();
        let id = "prod_fathom-machine-screw";
        let all = open(&gateway, &json!({ "id": id, "selected": select(&[("None", "x")]) }));
        assert_eq!(elements(&all["variants"]).len(), 2_048);
        let one = open(
            &gateway,
            &json!({ "id": id, "selected": select(&[("Material", "Brass"), ("Thread", "M6"), ("Length", "40 mm")]) }),
        );
        assert_eq!(elements(&one["variants"]).len(), 1);
        let variant = &elements(&all["variants"])[2_047]["id"];
        let last = open(&gateway, &json!({ "id": variant }));
        assert_eq!(last["variants"][0]["id"], *variant);
        let listed = gateway.lookup(&json!({ "ids": [variant, id] }));
        assert_eq!(elements(&listed["products"][0]["variants"]).len(), 2);
        let nylon = open(&gateway, &json!({ "id": id, "selected": select(&[("Material", "Nylon")]) }));
        assert_eq!(elements(&nylon["variants"]).len(), 256);
        assert_eq!(nylon["variants"][0]["availability"]["available"], true);
    }
}
