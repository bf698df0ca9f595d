//! The rules of `ucp-gateway backend check`, each broken once.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use ucp_contract::{
    Question,
    check::{Permissions, Report, check},
    documents::Backend,
    judge,
};
use ucp_net::Failure;

use crate::stall::{REFUSED, Stall};

/// Tries the rules that make carts and attempts.
async fn tried(stall: &Stall) -> Report {
    check(stall, &Permissions { writes: true, ..Permissions::default() }).await
}

/// Places an order, too, and tries a code that does not apply.
async fn tried_whole(stall: &Stall) -> Report {
    let order = json!({
        "buyer": { "email": "ada@example.com" },
        "address": { "street_address": "Dorf 1", "address_country": "AT" },
        "payment": { "handler": "stall", "type": "card", "credential": { "token": "good" } },
    });
    let order = serde_json::from_value(order).expect("a purchase");
    check(stall, &Permissions { writes: true, order: Some(order), unmet_code: Some("SPRING".to_owned()) }).await
}

/// Changes what a stall says so that it tells what becomes of orders, and why the code SPRING does not apply.
fn telling(question: Question, asked: &Value, mut answer: Value) -> Value {
    match question {
        Question::Backend => answer["cart"]["order_status"] = json!(true),
        Question::CartSync if asked["codes"] == json!(["SPRING"]) => {
            answer["unmet_codes"] = json!([{ "code": "spring", "kind": "expired" }]);
        }
        _ => {}
    }
    answer
}

#[tokio::test]
async fn rules_about_orders_and_reasons_are_tried_on_an_order_that_is_placed() {
    let stall = Stall::new();
    stall.spoil(|question, asked, answer| Ok(Some(telling(question, asked, answer))));
    let report = tried_whole(&stall).await;
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    for rule in [
        "addresses_that_are_not_served_are_refused",
        "codes_that_do_not_apply_say_why",
        "unknown_orders_are_gone",
        "orders_are_placed",
        "placed_orders_are_found",
        "order_status_fits_what_was_paid",
    ] {
        assert!(report.kept.contains(&rule), "{rule}: {:?}", report.kept);
    }
    // The order beside the attempt that places none.
    assert_eq!(stall.times(Question::Place), 2);
    let broken: [Broken; 9] = [
        ("codes_that_do_not_apply_say_why", |_, asked, mut answer| {
            if asked["codes"] == json!(["SPRING"]) {
                answer["unmet_codes"] = json!([]);
            }
            Ok(Some(answer))
        }),
        ("addresses_that_are_not_served_are_refused", |_, asked, answer| {
            if asked["address"]["address_country"] == "AQ" {
                return Ok(Some(json!(REFUSED)));
            }
            Ok(Some(answer))
        }),
        ("addresses_that_are_not_served_are_refused", |_, asked, mut answer| {
            if asked["address"]["address_country"] == "AQ" {
                answer["field_problems"] = json!([{ "field": "country", "kind": "undeliverable" }]);
            }
            Ok(Some(answer))
        }),
        ("unknown_orders_are_gone", |_, _, answer| Ok(Some(answer))),
        ("orders_are_placed", |question, _, answer| match question {
            Question::Place => Ok(Some(json!({ "status": "declined", "reason": "No." }))),
            _ => Ok(Some(answer)),
        }),
        ("placed_orders_are_found", |question, _, answer| match question {
            Question::Order => Ok(Some(json!({ "status": "absent" }))),
            _ => Ok(Some(answer)),
        }),
        ("order_status_fits_what_was_paid", |question, _, mut answer| {
            if question == Question::OrderStatus {
                answer["events"][0]["amount"] = json!(1_000_000);
            }
            Ok(Some(answer))
        }),
        ("order_status_fits_what_was_paid", |question, _, mut answer| {
            if question == Question::OrderStatus {
                answer["events"][0]["lines"] = json!([{ "variant": "apples-kg", "quantity": 2 }]);
            }
            Ok(Some(answer))
        }),
        ("order_status_fits_what_was_paid", |question, _, mut answer| {
            if question == Question::OrderStatus {
                answer["currency"] = json!("USD");
            }
            Ok(Some(answer))
        }),
    ];
    for (rule, spoil) in broken {
        let stall = Stall::new();
        stall.spoil(move |question, asked, answer| spoil(question, asked, telling(question, asked, answer)));
        if rule == "unknown_orders_are_gone" {
            stall.lenient();
        }
        let report = tried_whole(&stall).await;
        assert!(report.findings.iter().any(|finding| finding.rule == rule), "{rule}: {:#?}", report.findings);
    }
}

#[tokio::test]
async fn what_a_shop_cannot_show_is_skipped_with_the_reason() {
    let stall = Stall::new();
    stall.spoil(|question, asked, mut answer| {
        let is_cart = matches!(question, Question::CartSync | Question::CartFetch);
        if is_cart && asked["address"]["address_country"].is_string() {
            answer["delivery_options"] = json!([{ "id": "ship", "title": "By ship", "amount": 0 }]);
        }
        Ok(Some(answer))
    });
    let report = tried(&stall).await;
    for (rule, reason) in [
        ("addresses_that_are_not_served_are_refused", "delivers to the countries"),
        ("codes_that_do_not_apply_say_why", "--unmet-code"),
        ("unknown_orders_are_gone", "cart.order_status"),
        ("orders", "--place-order"),
    ] {
        let said = report.skipped.iter().find(|(skipped, _)| *skipped == rule).map(|(_, reason)| reason.as_str());
        assert!(said.is_some_and(|said| said.contains(reason)), "{rule}: {said:?}");
    }
}

#[tokio::test]
async fn every_honest_answer_to_a_canceled_attempt_is_taken() {
    let honest = [
        json!({ "status": "declined", "reason": "It was canceled." }),
        json!({ "status": "refused", "kind": "price_changed" }),
        json!({ "status": "refused", "kind": "sold_out", "variants": ["apples-kg"] }),
        json!({ "status": "challenged", "reason": "Prove it.", "continue_url": "https://stall.example/" }),
        json!(REFUSED),
    ];
    for (place, cancel) in
        honest.iter().flat_map(|place| [(place, json!({ "status": "absent" })), (place, honest[1].clone())])
    {
        let (said, place) = (place.to_string(), place.clone());
        let stall = Stall::new();
        stall.spoil(move |question, _, answer| {
            Ok(Some(match question {
                Question::Place => place.clone(),
                Question::Cancel => cancel.clone(),
                _ => answer,
            }))
        });
        let report = tried(&stall).await;
        assert!(report.kept.contains(&"canceled_attempts_place_nothing"), "{said}: {:#?}", report.findings);
    }
    for dishonest in [json!({ "status": "pending" }), json!({ "status": "absent" })] {
        let stall = Stall::new();
        stall.spoil(move |question, _, answer| {
            Ok(Some(if question == Question::Place { dishonest.clone() } else { answer }))
        });
        let report = tried(&stall).await;
        assert!(report.findings.iter().any(|finding| finding.rule == "canceled_attempts_place_nothing"));
    }
}

#[tokio::test]
async fn a_shop_that_keeps_the_contract_has_no_findings() {
    let report = tried(&Stall::new()).await;
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!((report.kept.len(), report.skipped.len()), (17, 5));
    let stall = Stall::new();
    let report = check(&*stall, &Permissions::default()).await;
    assert_eq!((report.findings.len(), report.kept.len(), report.skipped.len()), (0, 8, 2));
    let written = |question: &Question| {
        !matches!(question, Question::Backend | Question::Find | Question::Resolve | Question::Open | Question::Order)
    };
    assert!(!stall.state().asked.iter().any(|(question, _)| written(question)), "nothing is written unasked");
}

/// A violation of a rule, and its name.
type Broken = (&'static str, fn(Question, &Value, Value) -> Result<Option<Value>, Failure>);

#[tokio::test]
async fn every_rule_finds_what_breaks_it() {
    let broken: [Broken; 18] = [
        ("backend_is_described", |_, _, _| Err(Failure::Connect)),
        ("products_are_usable", |question, _, mut answer| {
            if question == Question::Find {
                answer["products"][0]["variants"][0]["price"]["amount"] = json!(2.9);
            }
            Ok(Some(answer))
        }),
        ("pages_hold_every_product_once", |question, asked, mut answer| {
            if question == Question::Find && asked["limit"] == 3 {
                answer["products"][1] = answer["products"][0].clone();
            }
            Ok(Some(answer))
        }),
        ("titles_find_their_products", |question, asked, mut answer| {
            if question == Question::Find && asked.get("words").is_some() {
                answer["products"] = json!([]);
            }
            Ok(Some(answer))
        }),
        ("identifiers_name_their_products", |question, asked, mut answer| {
            let many = asked["ids"].as_array().is_some_and(|ids| ids.len() > 3);
            if question == Question::Resolve && many {
                answer["products"] = json!([]);
            }
            Ok(Some(answer))
        }),
        ("unknown_identifiers_name_nothing", |question, _, answer| {
            let nothing = matches!(question, Question::Resolve) && answer["products"] == json!([]);
            Ok((!nothing).then_some(answer))
        }),
        ("one_product_is_the_same_everywhere", |question, _, mut answer| {
            if question == Question::Open && answer["products"] != json!([]) {
                answer["products"][0]["variants"][0]["price"]["amount"] = json!(1);
            }
            Ok(Some(answer))
        }),
        ("unknown_attempts_are_absent", |question, _, answer| {
            Ok(Some(if question == Question::Order { json!({ "status": "pending" }) } else { answer }))
        }),
        ("amounts_add_up", |question, asked, mut answer| {
            if question == Question::CartSync && asked["codes"] == json!([]) {
                answer["total"] = json!(1);
            }
            Ok(Some(answer))
        }),
        ("what_is_stated_last_is_in_the_cart", |question, _, mut answer| {
            if question == Question::CartFetch {
                answer["total"] = json!(1);
            }
            Ok(Some(answer))
        }),
        ("unknown_variants_are_left_out", |question, asked, answer| {
            let unknown = asked["lines"].as_array().is_some_and(|lines| lines.len() == 2 && lines[1]["quantity"] == 1);
            match question {
                Question::CartSync if unknown && answer["lines"].as_array().is_some_and(|lines| lines.len() == 1) => {
                    Err(Failure::Broken { sent: true })
                }
                _ => Ok(Some(answer)),
            }
        }),
        ("abandoned_carts_are_gone", |question, _, answer| match question {
            Question::CartAbandon => Err(Failure::Connect),
            _ => Ok(Some(answer)),
        }),
        ("a_key_makes_one_cart", |question, asked, mut answer| {
            static MADE: AtomicU32 = AtomicU32::new(0);
            if question == Question::CartSync && asked["key"].is_string() {
                answer["cart"] = json!(format!("other-{}", MADE.fetch_add(1, Ordering::Relaxed)));
            }
            Ok(Some(answer))
        }),
        ("canceled_attempts_place_nothing", |question, _, answer| {
            let placed = json!({ "status": "placed", "order": { "id": "o1" } });
            Ok(Some(if question == Question::Place { placed } else { answer }))
        }),
        ("what_is_sold_out_is_not_sold", |question, _, mut answer| {
            let is_of_catalog = matches!(question, Question::Find | Question::Resolve | Question::Open);
            for product in answer["products"].as_array_mut().into_iter().flatten().filter(|_| is_of_catalog) {
                if product["id"] == "plums" {
                    product["variants"][0]["availability"] = json!({ "available": false });
                }
            }
            Ok(Some(answer))
        }),
        ("carts_lead_to_a_page", |question, _, mut answer| {
            if question == Question::Backend {
                answer["cart"]["completion"] = json!("hand_off");
            }
            Ok(Some(answer))
        }),
        ("unknown_positions_are_gone", |_, _, answer| Ok(Some(answer))),
        ("unknown_carts_are_gone", |_, _, answer| Ok(Some(answer))),
    ];
    let mut count = 0;
    for (rule, spoil) in broken {
        // Two rules are about status 404, which the stall is told to keep to itself.
        let stall = Stall::new();
        stall.spoil(spoil);
        if rule.ends_with("are_gone") && !rule.starts_with("abandoned") {
            stall.lenient();
        }
        let report = tried(&stall).await;
        let finding = report.findings.iter().find(|finding| finding.rule == rule);
        let finding = finding.unwrap_or_else(|| panic!("{rule} is not found broken: {:?}", report.findings));
        assert!(!finding.cure.is_empty() && !finding.problem.is_empty());
        count += 1;
    }
    assert_eq!(count, 18);
}

#[tokio::test]
async fn a_credit_beyond_what_is_due_is_found_with_its_path() {
    let stall = Stall::new();
    stall.spoil(|question, _, mut answer| {
        if question == Question::CartSync {
            answer["credits"] = json!([{ "kind": "store_credit", "title": "Account", "amount": 1_000_000 }]);
            answer["total"] = json!(0);
        }
        Ok(Some(answer))
    });
    let report = tried(&stall).await;
    let finding = report.findings.iter().find(|finding| finding.rule == "amounts_add_up").expect("a finding");
    assert!(finding.problem.starts_with("$.credits[0].amount: must be at most "), "{}", finding.problem);
}

#[tokio::test]
async fn one_piece_is_enough_to_be_checked() {
    let stall = Stall::new();
    stall.spoil_one(Question::CartSync, |answer| {
        let mut less = 0;
        for line in answer["lines"].as_array_mut().into_iter().flatten() {
            let (price, quantity) =
                (line["price"].as_i64().expect("a price"), line["quantity"].as_i64().expect("a number"));
            less += price * (quantity - quantity.min(1));
            line["quantity"] = json!(quantity.min(1));
        }
        answer["total"] = json!(answer["total"].as_i64().expect("a total") - less);
    });
    let report = tried(&stall).await;
    assert!(report.kept.contains(&"amounts_add_up"), "{:#?}", report.findings);
}

#[tokio::test]
async fn attempts_are_not_tried_where_buyers_pay_on_a_page() {
    let stall = Stall::new();
    stall.spoil(|question, _, mut answer| {
        match question {
            Question::Backend => answer["cart"]["completion"] = json!("hand_off"),
            Question::CartSync => answer["continue_url"] = json!("https://stall.example/pay"),
            Question::Place | Question::Order | Question::Cancel => return Err(Failure::Connect),
            _ => {}
        }
        Ok(Some(answer))
    });
    let report = tried(&stall).await;
    assert!(report.kept.contains(&"carts_lead_to_a_page"), "{:#?}", report.findings);
    assert!(report.skipped.iter().any(|(rules, _)| *rules == "attempts"), "{:?}", report.skipped);
    let attempts = [Question::Place, Question::Order, Question::Cancel].map(|question| stall.times(question));
    assert_eq!(attempts, [0, 0, 0]);
}

#[tokio::test]
async fn what_the_gateway_would_not_take_is_said_with_its_path() {
    let backend = json!({
        "contract": "1",
        "market": { "name": "Stall", "currency": "EUR", "language": "en" },
        "cart": { "completion": "hand_off", "codes": true },
    });
    let backend: Backend = serde_json::from_value(backend).expect("a shop");
    let asked =
        json!({ "lines": [{ "variant": "a", "quantity": 2 }, { "variant": "b", "quantity": 1 }], "codes": ["OFF"] });
    let lines = json!([{ "variant": "a", "quantity": 1, "price": 100, "problem": { "kind": "above_maximum" } }]);
    let cart = json!({ "cart": "c", "currency": "USD", "lines": lines, "total": 100 });
    let judge::Judgement { rejected, told } = judge::answer(&backend, Question::CartSync, &asked, &cart);
    let expected = [
        "$.currency: USD must be a currency of the market",
        "$.continue_url: must be the https URL on which buyers pay",
    ];
    assert_eq!(rejected, expected);
    assert_eq!(
        told,
        [
            "there are 1 of `a` instead of 2: above_maximum",
            "there are 0 of `b` instead of 1: out_of_stock, for the line has no `problem`",
            "the code `OFF` has no effect",
        ]
    );
    for (question, answer, problem) in [
        (Question::CartFetch, json!({ "cart": "c", "currency": "EUR", "lines": [], "total": 1 }), "$.total: must be 0"),
        (Question::CartSync, json!({ "cart": "c" }), "$: missing field `currency`"),
        (Question::Place, json!({ "status": "absent" }), "$.status: must not be `absent`"),
        (Question::Order, json!({ "status": "placed", "order": { "id": " " } }), "$.order.id: must not be empty"),
        (
            Question::Place,
            json!({ "status": "challenged", "reason": "", "continue_url": "x" }),
            "$.continue_url: must be",
        ),
        (Question::Find, json!({ "products": [{ "id": "p" }] }), "$.products[0]: left out: missing field `title`"),
    ] {
        let problems = judge::answer(&backend, question, &Value::Null, &answer).rejected;
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problem}: {problems:?}");
    }
    assert_eq!(judge::answer(&backend, Question::CartAbandon, &asked, &Value::Null), judge::Judgement::default());
}

/// Has the stall sell in dollars, too, to buyers who are shown them.
fn in_dollars(question: Question, asked: &Value, mut answer: Value) -> Value {
    if question == Question::Backend {
        answer["market"]["currencies"] = json!(["USD"]);
        answer["market"]["countries"] = json!({ "US": "USD" });
    }
    if asked["context"]["currency"] == "USD" {
        for product in answer["products"].as_array_mut().into_iter().flatten() {
            product["variants"][0]["price"]["currency"] = json!("USD");
        }
        if question == Question::CartSync {
            answer["currency"] = json!("USD");
        }
    }
    answer
}

#[tokio::test]
async fn each_currency_and_country_of_the_market_is_tried() {
    let stall = Stall::new();
    stall.spoil(|question, asked, answer| Ok(Some(in_dollars(question, asked, answer))));
    let report = tried(&stall).await;
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!((report.kept.len(), report.skipped.len()), (19, 4));
    let asked = stall.state().asked.clone();
    for context in [
        json!({ "language": "en", "currency": "USD" }),
        json!({ "language": "en", "currency": "USD", "country": "US" }),
    ] {
        for question in [Question::Find, Question::Open, Question::CartSync] {
            assert!(asked.iter().any(|(own, asked)| *own == question && asked["context"] == context), "{question:?}");
        }
    }
    assert!(stall.carts().is_empty() || stall.times(Question::CartAbandon) > 0);

    let broken: [Broken; 3] = [
        ("every_currency_is_priced", |question, asked, answer| {
            let silent = question == Question::Find && asked["context"]["currency"] == "USD";
            Ok(Some(if silent { answer } else { in_dollars(question, asked, answer) }))
        }),
        ("carts_are_in_the_currency_that_is_shown", |question, asked, answer| {
            Ok(Some(if question == Question::CartSync { answer } else { in_dollars(question, asked, answer) }))
        }),
        ("carts_are_in_the_currency_that_is_shown", |question, asked, answer| {
            let mut answer = in_dollars(question, asked, answer);
            if question == Question::Open && asked["context"]["country"] == "US" {
                for product in answer["products"].as_array_mut().into_iter().flatten() {
                    product["variants"][0]["price"]["amount"] = json!(7);
                }
            }
            Ok(Some(answer))
        }),
    ];
    for (rule, spoil) in broken {
        let stall = Stall::new();
        stall.spoil(spoil);
        let report = tried(&stall).await;
        assert!(report.findings.iter().any(|finding| finding.rule == rule), "{rule}: {:?}", report.findings);
    }
}
