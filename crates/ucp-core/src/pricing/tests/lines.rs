//! Lines: identifiers, stock, what cannot be bought.

use super::*;

fn ids(quote: &Quote) -> Vec<&str> {
    quote.line_items.iter().map(|line| line.id.as_str()).collect()
}

/// Prices lines of items `a` to `z`, all known, after `before`.
fn update(before: &Previous, lines: Vec<LineDraft>) -> Quote {
    let goods = lines.iter().map(|line| Some(good(&line.item, 100))).collect();
    let draft = Draft { line_items: lines, ..Draft::default() };
    quote(Purpose::Checkout, &draft, &facts(goods), &Terms::default(), &caller(), before).expect("a quote")
}

fn named(id: &str, item: &str) -> LineDraft {
    LineDraft { id: Some(id.to_owned()), ..line(item, 1) }
}

#[test]
fn lines_are_recognised_by_id_or_by_an_unambiguous_item() {
    let first = update(&Previous::default(), vec![line("a", 1), line("b", 1)]);
    assert_eq!(ids(&first), ["li_1", "li_2"]);
    let before = previous(&first);
    let cases: Vec<(&str, Vec<LineDraft>, Vec<&str>)> = vec![
        ("by item", vec![line("b", 1), line("a", 1)], vec!["li_2", "li_1"]),
        ("by id, another item", vec![named("li_1", "c")], vec!["li_1"]),
        ("an id goes before an item", vec![line("a", 1), named("li_1", "c")], vec!["li_3", "li_1"]),
        ("more of an item than before", vec![line("a", 1), line("a", 1)], vec!["li_3", "li_4"]),
        ("one of them by id", vec![named("li_1", "a"), line("a", 1)], vec!["li_1", "li_3"]),
        ("an unknown id", vec![named("mine", "c"), named("li_2", "b")], vec!["li_3", "li_2"]),
        ("an id that a new line must not get", vec![line("c", 1), named("li_3", "d")], vec!["li_4", "li_5"]),
    ];
    for (case, lines, expected) in cases {
        let quote = update(&before, lines.clone());
        assert_eq!(ids(&quote), expected, "{case}");
        assert_eq!(ids(&update(&previous(&quote), lines)), expected, "{case}, again");
    }
}

#[test]
fn identifiers_of_lines_that_are_gone_are_not_given_again() {
    let first = update(&Previous::default(), vec![line("a", 1), line("b", 1)]);
    let second = update(&previous(&first), vec![line("a", 1)]);
    let third = update(&previous(&second), vec![line("a", 1), line("b", 1)]);
    assert_eq!((ids(&second), ids(&third)), (vec!["li_1"], vec!["li_1", "li_3"]));
}

#[test]
fn lines_belong_to_others_by_whatever_name() {
    let child = |parent: &str| LineDraft { parent_id: Some(parent.to_owned()), ..line("b", 1) };
    let quote = update(&Previous::default(), vec![named("mine", "a"), child("mine")]);
    assert_eq!(quote.line_items[1].parent_id.as_deref(), Some("li_1"));
    let quote = update(&Previous::default(), vec![line("a", 1), child("a")]);
    assert_eq!(quote.line_items[1].parent_id.as_deref(), Some("li_1"));
}

#[test]
fn drafts_that_cannot_be_priced_are_refused_with_their_path() {
    let child = |id: &str, item: &str, parent: &str| LineDraft {
        id: Some(id.to_owned()),
        parent_id: Some(parent.to_owned()),
        ..line(item, 1)
    };
    let cases = [
        ("$.line_items[1].quantity", vec![line("a", 1), line("b", 0)]),
        ("$.line_items[0].quantity", vec![line("a", u64::MAX)]),
        ("$.line_items[1].id", vec![named("x", "a"), named("x", "b")]),
        ("$.line_items[0].parent_id", vec![child("x", "a", "nothing")]),
        ("$.line_items[0].parent_id", vec![child("x", "a", "x")]),
        ("$.line_items[2].parent_id", vec![child("x", "a", "y"), child("y", "b", "z"), child("z", "c", "x")]),
        ("$.line_items", vec![line("dear", 2)]),
    ];
    for (path, lines) in cases {
        let price = |line: &LineDraft| if line.item == "dear" { MAX_AMOUNT } else { 1 };
        let goods = lines.iter().map(|line| Some(good(&line.item, price(line)))).collect();
        let draft = Draft { line_items: lines, ..Draft::default() };
        let result = quote(Purpose::Cart, &draft, &facts(goods), &Terms::default(), &caller(), &Previous::default());
        let refusal = result.expect_err(path);
        assert_eq!((refusal.code, refusal.path.as_deref()), (crate::Code::InvalidRequest, Some(path)));
        assert!(refusal.accepted.is_some());
    }
}

#[test]
fn missing_goods_are_reported_and_scarce_stock_is_shared_between_lines() {
    let scarce = ItemFacts { stock: Some(5), ..good("a", 100) };
    let gone = ItemFacts { available: false, ..good("g", 100) };
    let none = ItemFacts { stock: Some(0), ..good("n", 100) };
    let lines = vec![line("a", 3), line("unknown", 1), line("a", 4), line("g", 2), line("n", 1), line("a", 1)];
    let goods = vec![Some(scarce.clone()), None, Some(scarce.clone()), Some(gone), Some(none), Some(scarce)];
    let draft = Draft { line_items: lines, ..Draft::default() };
    let quote = quote(Purpose::Cart, &draft, &facts(goods), &Terms::default(), &caller(), &Previous::default())
        .expect("a quote");
    let quantities: Vec<_> = quote.line_items.iter().map(|line| line.quantity).collect();
    assert_eq!(quantities, [3, 2, 2, 1, 1]);
    assert_eq!(
        said(&quote),
        [
            pair("item_unavailable", "$.line_items"),
            pair("quantity_adjusted", "$.line_items[1].quantity"),
            pair("out_of_stock", "$.line_items[2]"),
            pair("out_of_stock", "$.line_items[3]"),
            pair("out_of_stock", "$.line_items[4]"),
        ]
    );
    assert_eq!(amounts(&quote.totals), [("subtotal", 900), ("total", 900)]);
}

#[test]
fn quantities_that_are_not_sold_are_reduced_or_refused() {
    let boxed = |id: &str, stock| ItemFacts {
        quantity_rule: QuantityRule { min: 6, step: 6, max: Some(24) },
        stock,
        ..good(id, 10)
    };
    let wanted = [
        (boxed("some", None), 7),
        (boxed("few", None), 3),
        (boxed("many", None), 30),
        (boxed("left", Some(11)), 12),
        (boxed("rest", Some(5)), 6),
        (boxed("right", None), 12),
    ];
    let (draft, facts) = purchase(&wanted);
    let quote =
        quote(Purpose::Cart, &draft, &facts, &Terms::default(), &caller(), &Previous::default()).expect("a quote");
    let quantities: Vec<_> = quote.line_items.iter().map(|line| line.quantity).collect();
    assert_eq!(quantities, [6, 3, 24, 6, 6, 12]);
    assert_eq!(
        said(&quote),
        [
            pair("quantity_adjusted", "$.line_items[0].quantity"),
            pair("quantity_invalid", "$.line_items[1].quantity"),
            pair("quantity_adjusted", "$.line_items[2].quantity"),
            pair("quantity_adjusted", "$.line_items[3].quantity"),
            pair("out_of_stock", "$.line_items[4]"),
        ]
    );
    let Message::Error { content, .. } = &quote.messages[1] else { panic!("an error") };
    assert_eq!(content, "The few is sold in multiples of 6, at least 6 and at most 24 at a time; 3 cannot be bought.");
}

#[test]
fn what_the_shop_says_about_a_line_is_told_as_what_it_is() {
    use ProblemKind::{
        AboveMaximum, BelowMinimum, Discontinued, NotAMultiple, NotSoldInCountry, NotSoldToBuyer, Other, OutOfStock,
    };
    let cases = [
        (OutOfStock, "out_of_stock", ""),
        (Discontinued, "item_unavailable", ""),
        (NotSoldToBuyer, "item_unavailable", ""),
        (NotSoldInCountry, "item_unavailable", ""),
        (Other, "item_unavailable", ""),
        (BelowMinimum, "quantity_invalid", ".quantity"),
        (AboveMaximum, "quantity_invalid", ".quantity"),
        (NotAMultiple, "quantity_invalid", ".quantity"),
    ];
    for (kind, code, member) in cases {
        for text in [None, Some("Ask at the counter.".to_owned())] {
            let problem = Some(LineProblem { kind, text: text.clone() });
            let (draft, facts) = purchase(&[(ItemFacts { available: false, problem, ..good("a", 10) }, 1)]);
            let quote = priced(&draft, &facts, &Terms::default());
            assert_eq!(said(&quote)[0], pair(code, &format!("$.line_items[0]{member}")), "{kind:?}");
            let Message::Error { content, .. } = &quote.messages[0] else { panic!("an error") };
            assert_eq!(text.is_some(), content == "Ask at the counter.", "{content}");
        }
    }
}
