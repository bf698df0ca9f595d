//! Discounts and claims.

use super::*;
use crate::purchase::discount::Method;

fn with_codes(terms: &Terms, goods: &[(ItemFacts, u64)], codes: &[&str], buyer: Json) -> Quote {
    let (mut draft, facts) = purchase(goods);
    draft.codes = Some(codes.iter().map(|code| (*code).to_owned()).collect());
    draft.buyer = serde_json::from_value(buyer).expect("a buyer");
    draft.context.eligibility = vec!["com.example.student".to_owned(), "com.example.other".to_owned()];
    quote(Purpose::Checkout, &draft, &facts, terms, &caller(), &Previous::default()).expect("a quote")
}

/// A shop that only discounts, and whose goods are digital.
fn shop(discounts: Json) -> Terms {
    let claims = json!([{"id": "com.example.student", "title": "Students", "email_domains": ["example.edu"]}]);
    terms(Json::Object([("discounts".to_owned(), discounts), ("claims".to_owned(), claims)].into_iter().collect()))
}

fn digital(id: &str, price: i64) -> ItemFacts {
    ItemFacts { needs_fulfillment: false, ..good(id, price) }
}

fn rejections(quote: &Quote) -> Vec<(String, String)> {
    said(quote).into_iter().filter(|(code, _)| code.starts_with("discount_code_")).collect()
}

#[test]
fn percentages_follow_each_other_and_amounts_stop_at_zero() {
    let terms = shop(json!([
        {"id": "ten", "title": "10% Off", "codes": ["10OFF"], "off": "10%"},
        {"id": "welcome", "title": "20% Off", "codes": ["WELCOME20"], "off": "20"},
        {"id": "fixed", "title": "$5.00 Off", "codes": ["FIXED500"], "off": 500},
        {"id": "all", "title": "All", "codes": ["ALL"], "off": 1000000},
    ]));
    let roses = || [(digital("bouquet_roses", 3_500), 1)];
    let cases: [(&[&str], i64, &[i64]); 6] = [
        (&["10OFF"], 3_150, &[350]),
        (&["10off", "WELCOME20"], 2_520, &[350, 630]),
        (&["WELCOME20", "10OFF"], 2_520, &[700, 280]),
        (&["FIXED500"], 3_000, &[500]),
        (&["10OFF", "FIXED500"], 2_650, &[350, 500]),
        (&["ALL", "10OFF"], 0, &[3_500, 0]),
    ];
    for (codes, total, applied) in cases {
        let quote = with_codes(&terms, &roses(), codes, Json::Null);
        let discounts = quote.discounts.expect("discounts");
        assert_eq!(discounts.codes, codes);
        assert_eq!(quote.totals.last().map(|total| total.amount), Some(total), "{codes:?}");
        assert_eq!(discounts.applied.iter().map(|one| one.amount.minor()).collect::<Vec<_>>(), applied, "{codes:?}");
        assert_eq!(
            discounts.applied.iter().map(|one| one.code.as_deref()).collect::<Vec<_>>(),
            codes.iter().copied().map(Some).collect::<Vec<_>>()
        );
        assert!(discounts.applied.iter().all(|one| one.allocations.is_empty() && !one.automatic));
    }
}

#[test]
fn lines_show_what_is_taken_from_them() {
    let terms = shop(json!([
        {"id": "spread", "title": "Spread", "off": 100, "target": "lines", "method": "across"},
        {"id": "each", "title": "Each", "off": 7, "target": "lines", "items": ["b", "p-c"], "priority": 200},
        {"id": "order", "title": "Order", "off": "10%", "priority": 300},
    ]));
    let goods = [(digital("a", 100), 1), (digital("b", 100), 2), (digital("c", 5), 1)];
    let quote = with_codes(&terms, &goods, &[], Json::Null);
    let discounts = quote.discounts.expect("discounts").applied;
    let taken = |position: usize| -> Vec<(&str, i64)> {
        discounts[position].allocations.iter().map(|part| (part.path.as_str(), part.amount.minor())).collect()
    };
    // 100 spread over 100 : 200 : 5 by largest remainder: 32.79, 65.57, 1.64.
    assert_eq!(taken(0), [("$.line_items[0]", 33), ("$.line_items[1]", 65), ("$.line_items[2]", 2)]);
    // 7 for each of two pieces, and no more than what is left of the last line.
    assert_eq!(taken(1), [("$.line_items[1]", 14), ("$.line_items[2]", 3)]);
    assert_eq!(
        (discounts[0].method, discounts[1].method, discounts[2].method),
        (Method::Across, Method::Each, Method::Across)
    );
    assert_eq!(
        discounts.iter().map(|one| (one.priority, one.automatic)).collect::<Vec<_>>(),
        [(1, true), (2, true), (3, true)]
    );
    // 10 % of what is left, 67 + 121.
    assert_eq!(
        amounts(&quote.totals),
        [("subtotal", 305), ("items_discount", -117), ("discount", -19), ("total", 169)]
    );
    let lines: Vec<_> = quote.line_items.iter().map(|line| amounts(&line.totals)).collect();
    assert_eq!(lines[1], [("subtotal", 200), ("items_discount", -79), ("total", 121)]);
    assert_eq!(lines[2], [("subtotal", 5), ("items_discount", -5), ("total", 0)]);
}

#[test]
fn each_reason_for_a_rejection_has_its_code() {
    let terms = shop(json!([
        {"id": "open", "title": "Open", "codes": ["OPEN", "OTHER"], "off": "1%"},
        {"id": "late", "title": "Late", "codes": ["LATE"], "off": "1%", "until": "2026-06-01T12:34:56Z"},
        {"id": "early", "title": "Early", "codes": ["EARLY"], "off": "1%", "from": "2026-06-01T12:34:57Z"},
        {"id": "big", "title": "Big", "codes": ["BIG"], "off": "1%", "min_subtotal": 1001},
        {"id": "fits", "title": "Fits", "codes": ["FITS"], "off": "1%", "min_subtotal": 1000},
        {"id": "friend", "title": "Friend", "codes": ["FRIEND"], "off": "1%", "buyers": ["Jane@example.com"]},
        {"id": "alone", "title": "Alone", "codes": ["ALONE"], "off": "1%", "combines": false},
        {"id": "other", "title": "Other", "codes": ["GOODS"], "off": "1%", "target": "lines", "items": ["z"]},
        {"id": "euro", "title": "Euro", "codes": ["EURO"], "off": {"EUR": 5}},
    ]));
    let cases: Vec<(&[&str], Json, Vec<&str>)> = vec![
        (&["nothing"], Json::Null, vec!["0 invalid"]),
        (&["open", " OPEN ", "other"], Json::Null, vec!["1 already_applied", "2 already_applied"]),
        (&["LATE", "EARLY"], Json::Null, vec!["0 expired", "1 invalid"]),
        (&["BIG", "FITS"], Json::Null, vec!["0 user_ineligible"]),
        (&["FRIEND"], Json::Null, vec!["0 user_not_logged_in"]),
        (&["FRIEND"], json!({"email": "joe@example.com"}), vec!["0 user_ineligible"]),
        (&["FRIEND"], json!({"email": "jane@EXAMPLE.com"}), vec![]),
        (&["OPEN", "ALONE"], Json::Null, vec!["1 combination_disallowed"]),
        (&["ALONE", "OPEN"], Json::Null, vec!["1 combination_disallowed"]),
        (&["GOODS", "EURO"], Json::Null, vec!["0 user_ineligible", "1 user_ineligible"]),
    ];
    for (codes, buyer, expected) in cases {
        let quote = with_codes(&terms, &[(digital("a", 1_000), 1)], codes, buyer.clone());
        let expected: Vec<_> = expected
            .into_iter()
            .filter_map(|text| text.split_once(' '))
            .map(|(at, code)| pair(&format!("discount_code_{code}"), &format!("$.discounts.codes[{at}]")))
            .collect();
        assert_eq!(rejections(&quote), expected, "{codes:?} {buyer}");
        assert_eq!(
            quote.discounts.map(|discounts| discounts.codes),
            Some(codes.iter().map(|code| (*code).to_owned()).collect())
        );
    }
}

#[test]
fn automatic_discounts_win_over_codes_and_both_have_to_agree() {
    let terms = shop(json!([
        {"id": "second", "title": "Second", "off": "10%", "combines": false, "priority": 2},
        {"id": "first", "title": "First", "off": "10%", "priority": 1, "combines": ["code"]},
        {"id": "code", "title": "Code", "codes": ["CODE"], "off": "10%"},
        {"id": "shy", "title": "Shy", "codes": ["SHY"], "off": "10%"},
    ]));
    let quote = with_codes(&terms, &[(digital("a", 1_000), 1)], &["SHY", "CODE"], Json::Null);
    let titles: Vec<_> = quote.discounts.iter().flat_map(|all| &all.applied).map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["First", "Code"]);
    assert_eq!(rejections(&quote), [pair("discount_code_combination_disallowed", "$.discounts.codes[0]")]);
}

#[test]
fn claims_are_provisional_until_the_buyer_verifies_them() {
    let terms = shop(json!([
        {"id": "student", "title": "Students", "off": "5%", "target": "lines", "claim": "com.example.student"},
    ]));
    let goods = [(digital("a", 5_000), 1)];
    let student = "$.context.eligibility[0]";
    let other = pair("eligibility_not_accepted", "$.context.eligibility[1]");
    for (buyer, verified) in [
        (Json::Null, false),
        (json!({"email": "jane@example.com"}), false),
        (json!({"email": "jane@sub.example.edu"}), false),
        (json!({"email": "Jane@Example.EDU"}), true),
        (json!({"email": " jane@example.edu\n"}), true),
    ] {
        let quote = with_codes(&terms, &goods, &[], buyer.clone());
        let mut expected = vec![pair("eligibility_accepted", student)];
        if !verified {
            expected.push(pair("eligibility_invalid", student));
        }
        expected.push(other.clone());
        assert_eq!(said(&quote), expected, "{buyer}");
        let applied = &quote.discounts.as_ref().expect("discounts").applied[0];
        assert_eq!(applied.eligibility.as_deref(), (!verified).then_some("com.example.student"));
        assert_eq!((applied.automatic, applied.code.as_ref(), applied.amount.minor()), (true, None, 250));
    }
    // Recognized, but without effect: it stands in nobody's way.
    let quote = with_codes(&shop(json!([])), &goods, &[], Json::Null);
    assert_eq!(said(&quote), [pair("eligibility_not_accepted", student), other]);
}

#[test]
fn without_the_extension_only_the_shop_decides() {
    let terms = shop(json!([
        {"id": "sale", "title": "Sale", "off": "10%"},
        {"id": "code", "title": "Code", "codes": ["CODE"], "off": "10%"},
        {"id": "student", "title": "Students", "off": "5%", "claim": "com.example.student"},
    ]));
    let (mut draft, facts) = purchase(&[(digital("a", 1_000), 1)]);
    draft.codes = Some(vec!["CODE".to_owned()]);
    draft.context.eligibility = vec!["com.example.student".to_owned()];
    let caller = caller_with(&[], false);
    let quote = quote(Purpose::Cart, &draft, &facts, &terms, &caller, &Previous::default()).expect("a quote");
    assert_eq!(quote.discounts, None);
    assert_eq!(amounts(&quote.totals), [("subtotal", 1_000), ("discount", -100), ("total", 900)]);
    assert_eq!(said(&quote), [pair("eligibility_not_accepted", "$.context.eligibility[0]")]);
}
