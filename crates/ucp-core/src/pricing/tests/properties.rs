//! Properties of every purchase on any sales terms.

use std::collections::HashSet;

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::{super::discounts::spread, *};
use crate::{
    pricing::terms::{Percent, Tax, TaxRate, half_up},
    purchase::{
        quote::{Credit, CreditKind},
        totals::amount_of,
    },
};

const ITEMS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Source of everything that is written in a draft.
#[derive(Clone, Debug)]
struct Case {
    terms: Terms,
    goods: Vec<ItemFacts>,
    credits: Vec<Credit>,
    drafts: Vec<Draft>,
    extensions: bool,
    multi_group: bool,
    purpose: Purpose,
    currency: &'static str,
}

impl Case {
    fn caller(&self) -> Caller {
        if self.extensions { caller_with(&[DISCOUNT, FULFILLMENT], self.multi_group) } else { caller_with(&[], false) }
    }

    fn facts(&self, draft: &Draft) -> Facts {
        let find = |line: &LineDraft| self.goods.iter().find(|good| good.id == line.item).cloned();
        let mut facts = facts(draft.line_items.iter().map(find).collect());
        facts.currency = self.currency.parse().expect("a currency");
        facts.credits.clone_from(&self.credits);
        facts
    }

    fn quote(&self, draft: &Draft, before: &Previous) -> Result<Quote, Refusal> {
        quote(self.purpose, draft, &self.facts(draft), &self.terms, &self.caller(), before)
    }
}

/// Amounts: small ones, where rounding shows, and such that sums get out of bounds.
fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0..50_i64, 6 => 0..20_000_i64, 2 => Just(0), 1 => MAX_AMOUNT / 3..=MAX_AMOUNT]
}

fn small() -> impl Strategy<Value = i64> {
    prop_oneof![0..50_i64, 0..5_000_i64]
}

fn good_strategy(id: &'static str) -> impl Strategy<Value = ItemFacts> {
    let stock = option::weighted(0.3, 0_u64..5);
    let places = select(vec!["shop", "barn", "elsewhere"]);
    let at_places = option::weighted(0.3, prop::collection::btree_map(places.prop_map(str::to_owned), 0_u64..5, 0..3));
    (amount(), prop::bool::weighted(0.9), (stock, at_places), 0_u64..500, prop::bool::weighted(0.8)).prop_map(
        move |(price, available, (stock, stock_by_location), weight_grams, needs_fulfillment)| ItemFacts {
            available,
            stock,
            stock_by_location,
            weight_grams,
            needs_fulfillment,
            ..good(id, price)
        },
    )
}

fn goods() -> impl Strategy<Value = Vec<ItemFacts>> {
    // `e` is named in drafts, and the shop does not know it.
    ITEMS[..4].iter().copied().map(good_strategy).collect::<Vec<_>>()
}

fn credits() -> impl Strategy<Value = Vec<Credit>> {
    let kind = select(vec![CreditKind::GiftCard, CreditKind::StoreCredit]);
    let code = select(vec![None, Some("code3".to_owned()), Some("GIFT".to_owned())]);
    let credit = (kind, code, amount()).prop_map(|(kind, code, amount)| Credit {
        kind,
        title: "Credit".to_owned(),
        code,
        amount: Amount::new(amount).expect("an amount"),
    });
    prop_oneof![2 => Just(Vec::new()), 1 => vec(credit, 1..4)]
}

fn percent() -> impl Strategy<Value = String> {
    (0_u32..=1_000_000).prop_map(|millionths| Percent::of_millionths(millionths).expect("a percentage").to_string())
}

fn off() -> impl Strategy<Value = Json> {
    prop_oneof![
        percent().prop_map(|text| json!(text)),
        small().prop_map(|minor| json!(minor)),
        (small(), small()).prop_map(|(usd, eur)| json!({"USD": usd, "EUR": eur})),
    ]
}

/// Arbitrary discount: amount off, whether it targets lines, whether it is spread across them, items, priority,
/// combinations, trigger, and minimum subtotal.
type AnyDiscount = (Json, bool, bool, Json, u32, Json, &'static str, Option<i64>);

fn discounts() -> impl Strategy<Value = Json> {
    let one = (
        off(),
        any::<bool>(),
        any::<bool>(),
        select(vec![json!([]), json!(["a", "p-b"]), json!(["c"])]),
        0_u32..3,
        select(vec![json!(true), json!(true), json!(true), json!(true), json!(false), json!(["d0", "d1"])]),
        select(vec!["code", "code", "auto", "auto", "claim"]),
        option::weighted(0.2, small()),
    );
    vec(one, 2..5).prop_map(|all| {
        let one = |(position, discount): (usize, AnyDiscount)| {
            let (off, lines, across, items, priority, combines, how, least) = discount;
            json!({
                "id": format!("d{position}"), "title": format!("Discount {position}"), "off": off,
                "codes": if how == "code" { json!([format!("CODE{position}")]) } else { json!([]) },
                "claim": if how == "claim" { json!("com.example.student") } else { Json::Null },
                "target": if lines { "lines" } else { "order" },
                "method": if across { "across" } else { "each" },
                "items": if lines { items } else { json!([]) },
                "priority": priority, "combines": combines, "min_subtotal": least,
            })
        };
        Json::Array(all.into_iter().enumerate().map(one).collect())
    })
}

fn terms_strategy() -> impl Strategy<Value = Terms> {
    let taxes = (percent(), percent(), percent(), any::<bool>());
    let shipping = (
        small(),
        amount(),
        option::of(0_u64..10_000),
        0_i64..20_000,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.8),
    );
    (taxes, vec((off(), any::<bool>()), 0..3), discounts(), shipping, any::<bool>()).prop_map(
        |((one, two, three, included), fees, discounts, (standard, dear, grams, free, has_rates, has_places), several)| {
            let fees: Vec<_> = fees
                .into_iter()
                .enumerate()
                .map(|(at, (charge, taxed))| json!({"title": format!("Fee {at}"), "charge": charge, "taxed": taxed}))
                .collect();
            let rates = json!([
                {"id": "std", "title": "Standard", "price": {"USD": standard, "EUR": standard}, "max_grams": grams},
                {"id": "exp", "title": "Express", "price": dear, "countries": ["US"], "min_days": 1, "max_days": 60000},
            ]);
            let places = json!([
                {"id": "shop", "name": "Shop", "address": {"address_country": "US"}},
                {"id": "barn", "name": "Barn", "address": {"address_country": "US"}, "price": 5},
            ]);
            let none = || json!([]);
            let mut json = json!({
                "tax": {"rates": [
                    {"title": "One", "country": "US", "percent": one},
                    {"title": "Two", "country": "US", "region": "IL", "percent": two},
                    {"title": "Three", "country": "DE", "percent": three, "included": included},
                ], "shipping": several, "fallback": {"country": "DE"}},
                "fees": fees, "discounts": discounts,
                "shipping": {"rates": if has_rates { rates } else { none() }, "several_destinations": several,
                    "separate": [["a", "b"], ["p-c"]]},
                "pickup": {"places": if has_places { places } else { none() }},
                "shipping_with_pickup": several,
                "claims": [{"id": "com.example.student", "title": "Students", "email_domains": ["example.edu"]}],
                "customers": [{"email": "j@example.edu", "addresses": [{"id": "addr_1", "address": {"address_country": "US"}}]}],
            });
            if has_rates {
                json["shipping"]["free"] = json!([{"title": "Free", "rates": ["std"], "min_subtotal": free}]);
            }
            terms(json)
        },
    )
}

fn method_strategy() -> impl Strategy<Value = Json> {
    let id = || {
        select(vec![Json::Null, Json::Null, json!("shipping_1"), json!("shipping_2"), json!("pickup_1"), json!("x")])
    };
    let kind = prop_oneof![
        3 => Just(json!("shipping")),
        3 => Just(json!("pickup")),
        1 => Just(Json::Null),
    ];
    let lines =
        option::weighted(0.3, vec(select(vec!["li_1", "li_2", "li_3", "li_1", "li_2", "li_3", "a", "b", "x"]), 0..3));
    let address = select(vec![
        json!({"address_country": "US"}),
        json!({"address_country": "us", "address_region": "IL"}),
        json!({"address_country": "DE"}),
        json!({"address_country": "Nowhere"}),
        json!({}),
    ]);
    let address = prop_oneof![3 => Just(json!({"address_country": "US"})), 2 => address];
    let place = || select(vec![Json::Null, Json::Null, json!("home"), json!("addr_1"), json!("shop"), json!("work")]);
    let destinations = vec((place(), address), 0..3);
    let option = select(vec![Json::Null, json!("std"), json!("exp"), json!("pickup"), json!("drone")]);
    let group = select(vec![Json::Null, Json::Null, json!("package_1"), json!("package_2"), json!("package_3")]);
    (id(), kind, lines, destinations, place(), vec((group, option), 0..3)).prop_map(
        |(id, kind, lines, destinations, selected, groups)| {
            let destination = |(id, address): (Json, Json)| json!({"id": id, "address": address});
            let group = |(id, option): (Json, Json)| json!({"id": id, "selected_option_id": option});
            json!({
                "id": id, "kind": kind, "line_item_ids": lines, "selected_destination_id": selected,
                "destinations": destinations.into_iter().map(destination).collect::<Vec<_>>(),
                "groups": groups.into_iter().map(group).collect::<Vec<_>>(),
            })
        },
    )
}

fn line_strategy() -> impl Strategy<Value = Json> {
    let id = || {
        select(vec![
            Json::Null,
            Json::Null,
            Json::Null,
            json!("li_1"),
            json!("li_2"),
            json!("li_3"),
            json!("li_7"),
            json!("x"),
        ])
    };
    let quantity = prop_oneof![60 => 1_u64..9, 1 => select(vec![1_000_000, 0, u64::MAX])];
    let parent = prop_oneof![30 => Just(Json::Null), 1 => id()];
    (id(), select(ITEMS.to_vec()), quantity, parent).prop_map(
        |(id, item, quantity, parent)| json!({"id": id, "item": item, "quantity": quantity, "parent_id": parent}),
    )
}

fn draft_strategy() -> impl Strategy<Value = Draft> {
    let codes = option::of(vec(select(vec!["code0", "CODE1", "Code2", "CODE3", "gift", "none"]), 0..4));
    let email = select(vec![Json::Null, json!("j@example.edu"), json!("other@example.com")]);
    let country = select(vec![Json::Null, json!("US"), json!("DE"), json!("?")]);
    let claims = vec(select(vec!["com.example.student", "com.example.other"]), 0..3);
    let sensible = Just(vec![json!({"kind": "shipping", "destinations": [{"address": {"address_country": "US"}}]})]);
    let methods = option::weighted(0.9, prop_oneof![1 => sensible, 2 => vec(method_strategy(), 0..3)]);
    (vec(line_strategy(), 0..6), codes, email, country, claims, methods).prop_map(
        |(lines, codes, email, country, claims, methods)| {
            serde_json::from_value(json!({
                "line_items": lines, "codes": codes, "buyer": {"email": email},
                "context": {"country": country, "eligibility": claims},
                "fulfillment": methods.map(|methods| json!({"methods": methods})),
            }))
            .expect("a draft")
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    (
        terms_strategy(),
        (goods(), credits()),
        vec(draft_strategy(), 1..5),
        prop::bool::weighted(0.9),
        any::<bool>(),
        select(vec![Purpose::Cart, Purpose::Checkout, Purpose::Checkout, Purpose::Checkout]),
        select(vec!["USD", "USD", "USD", "EUR", "JPY"]),
    )
        .prop_map(|(terms, (goods, credits), drafts, extensions, multi_group, purpose, currency)| Case {
            terms,
            goods,
            credits,
            drafts,
            extensions,
            multi_group,
            purpose,
            currency,
        })
}

/// The sum rule and the signs (rules TOT-01 to TOT-03), added up naively.
fn adds_up(totals: &[Total]) {
    let of = |kind| totals.iter().filter(|total| total.kind == kind).count();
    assert_eq!((of(TotalKind::Subtotal), of(TotalKind::Total)), (1, 1));
    let sum: i128 =
        totals.iter().filter(|total| total.kind != TotalKind::Total).map(|total| i128::from(total.amount)).sum();
    assert_eq!(i128::from(totals.last().expect("a total").amount), sum, "{totals:?}");
    for total in totals {
        assert!(total.amount <= MAX_AMOUNT, "{totals:?}");
        match total.kind {
            kind if kind.is_deducted() => assert!(total.amount < 0, "{totals:?}"),
            _ => assert!(total.amount >= 0, "{totals:?}"),
        }
    }
}

fn holds_together(quote: &Quote, before: &Previous) {
    adds_up(&quote.totals);
    let (mut subtotal, mut discount) = (0_i128, 0_i128);
    for line in &quote.line_items {
        adds_up(&line.totals);
        let cost = i128::from(line.item.price.minor()) * i128::from(line.quantity);
        assert_eq!(i128::from(amount_of(&line.totals, TotalKind::Subtotal)), cost);
        subtotal += cost;
        discount += i128::from(amount_of(&line.totals, TotalKind::ItemsDiscount));
        assert!((1..=crate::purchase::line_item::MAX_QUANTITY).contains(&line.quantity));
    }
    assert_eq!(i128::from(amount_of(&quote.totals, TotalKind::Subtotal)), subtotal);
    assert_eq!(i128::from(amount_of(&quote.totals, TotalKind::ItemsDiscount)), discount);

    if let Some(discounts) = &quote.discounts {
        let (mut lines, mut order) = (0, 0);
        for (position, applied) in discounts.applied.iter().enumerate() {
            assert_eq!(applied.priority as usize, position + 1);
            let allocated: i64 = applied.allocations.iter().map(|part| part.amount.minor()).sum();
            if applied.allocations.is_empty() {
                order += applied.amount.minor();
            } else {
                assert_eq!(allocated, applied.amount.minor());
                lines += allocated;
            }
        }
        assert_eq!(-lines, amount_of(&quote.totals, TotalKind::ItemsDiscount));
        assert_eq!(-order, amount_of(&quote.totals, TotalKind::Discount));
    }

    let mut chosen = 0;
    let mut covered = HashSet::new();
    for method in quote.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods) {
        for group in &method.groups {
            for option in &group.options {
                adds_up(&option.totals);
            }
            let sorted = group.options.is_sorted_by_key(|option| amount_of(&option.totals, TotalKind::Total));
            assert!(sorted, "{:?}", group.options);
            if let Some(id) = &group.selected_option_id {
                let option = group.options.iter().find(|option| option.id == *id).expect("the chosen option");
                chosen += amount_of(&option.totals, TotalKind::Total);
                covered.extend(group.line_item_ids.clone());
            }
        }
        if let Some(id) = &method.selected_destination_id {
            assert!(method.destinations.iter().any(|destination| destination.id == *id));
        }
    }
    assert_eq!(chosen, amount_of(&quote.totals, TotalKind::Fulfillment));
    if quote.deliverable {
        for line in quote.line_items.iter().filter(|line| line.item.needs_fulfillment) {
            assert!(covered.contains(&line.id), "{}", line.id);
        }
    }

    let ids: HashSet<&str> = quote.line_items.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids.len(), quote.line_items.len(), "identifiers are unique");
    assert!(quote.lines_ever >= before.lines_ever);
    for line in &quote.line_items {
        assert!(line.parent_id.as_deref() != Some(&line.id));
        assert!(line.parent_id.as_deref().is_none_or(|parent| ids.contains(parent)));
    }
    for message in &quote.messages {
        if let Some(rest) = message.path().and_then(|path| path.strip_prefix("$.line_items[")) {
            let position: usize = rest.split(']').next().and_then(|number| number.parse().ok()).expect("a position");
            assert!(position < quote.line_items.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// Over any sequence of updates: every quote adds up, is the same when it is asked for again, and no identifier of
    /// a line that is gone is ever given to another one. What is refused is refused with a path.
    #[test]
    fn any_sequence_of_drafts_is_priced_or_refused(case in case()) {
        let mut before = Previous::default();
        let (mut here, mut gone): (HashSet<String>, HashSet<String>) = (HashSet::new(), HashSet::new());
        for draft in &case.drafts {
            let quote = match case.quote(draft, &before) {
                Ok(quote) => quote,
                Err(refusal) => {
                    prop_assert_eq!(refusal.code, crate::Code::InvalidRequest, "{}", refusal);
                    prop_assert!(refusal.path.is_some() && refusal.accepted.is_some());
                    continue;
                }
            };
            holds_together(&quote, &before);
            prop_assert_eq!(&case.quote(draft, &before).expect("the same"), &quote);
            let again = case.quote(draft, &previous(&quote)).expect("the same again");
            prop_assert_eq!(&again, &quote);
            let now: HashSet<String> = quote.line_items.iter().map(|line| line.id.clone()).collect();
            prop_assert!(now.is_disjoint(&gone), "{:?} of {:?}", now, gone);
            gone.extend(here.difference(&now).cloned());
            here = now;
            before = previous(&quote);
        }
    }

    /// Parts add up to the whole, are within one of their exact share, and the largest remainders are rounded up.
    #[test]
    fn shares_are_fair(weights in vec(amount(), 1..8), part in 0_u64..=1_000_000) {
        let weights: Vec<i128> = weights.into_iter().map(i128::from).collect();
        let sum: i128 = weights.iter().sum();
        let total = sum * i128::from(part) / 1_000_000;
        let shares = spread(total, &weights);
        prop_assert_eq!(shares.iter().sum::<i128>(), total);
        let rests: Vec<(i128, bool)> = weights.iter().zip(&shares).map(|(weight, share)| {
            assert!((0..=*weight).contains(share));
            let exact = total * weight;
            assert!((share * sum - exact).abs() < sum.max(1), "{share} of {total} by {weight} of {sum}");
            (if sum == 0 { 0 } else { exact % sum }, share * sum > exact)
        }).collect();
        for (rest, up) in &rests {
            prop_assert!(!up || rests.iter().all(|(other, other_up)| *other_up || other <= rest));
        }
    }

    /// Taxes against exact rationals: the nearest integer, halves up.
    #[test]
    fn taxes_are_exact(amounts in vec(amount(), 1..6), one in 0_u32..=1_000_000, two in 0_u32..=1_000_000, included: bool) {
        let rate = |title: &str, millionths| TaxRate {
            title: title.to_owned(),
            country: "US".to_owned(),
            region: None,
            percent: Percent::of_millionths(millionths).expect("a percentage"),
            included,
        };
        let tax = Tax { rates: vec![rate("One", one), rate("Two", two)], ..Tax::default() };
        let place = CountryRegion { country: "us".to_owned(), region: None };
        let bases: Vec<_> = amounts.iter().map(|amount| Base { place: Some(&place), amount: (*amount).into() }).collect();
        let due: Vec<i128> = tax::due(&tax, &bases).into_iter().map(|due| due.amount).collect();
        let sum: i128 = amounts.iter().map(|amount| i128::from(*amount)).sum();
        let denominator = 1_000_000 + if included { i128::from(one) + i128::from(two) } else { 0 };
        for (due, rate) in due.into_iter().zip([one, two]) {
            // due - 1/2 <= sum * rate / denominator < due + 1/2
            let exact = 2 * sum * i128::from(rate);
            prop_assert!((2 * due - 1) * denominator <= exact && exact < (2 * due + 1) * denominator);
        }
    }

    #[test]
    fn quotients_are_rounded_half_up(numerator in 0..i128::from(i64::MAX), denominator in 1..i128::from(i64::MAX)) {
        let rounded = half_up(numerator, denominator);
        prop_assert!((2 * rounded - 1) * denominator <= 2 * numerator && 2 * numerator < (2 * rounded + 1) * denominator);
    }

    /// Percentages and amounts on the whole, recomputed from the subtotal alone; the order of lines does not count.
    #[test]
    fn discounts_on_the_whole_follow_from_the_subtotal(
        prices in vec((0..20_000_i64, 1_u64..5), 1..6),
        steps in vec((any::<bool>(), 0_u32..=1_000_000), 0..5),
        turn in 0_usize..6,
    ) {
        let discounts: Vec<_> = steps.iter().enumerate().map(|(at, (relative, value))| json!({
            "id": format!("d{at}"), "title": "D", "codes": [format!("CODE{at}")],
            "off": if *relative { json!(Percent::of_millionths(*value).expect("percent").to_string()) } else { json!(value / 100) },
        })).collect();
        let terms = terms(json!({"discounts": discounts}));
        let mut left: i128 = prices.iter().map(|(price, quantity)| i128::from(*price) * i128::from(*quantity)).sum();
        for (relative, value) in &steps {
            let off = if *relative {
                let doubled = 2 * left * i128::from(*value);
                (doubled + 1_000_000) / 2_000_000
            } else {
                i128::from(value / 100)
            };
            left -= off.min(left);
        }
        let mut goods: Vec<_> = prices.iter().enumerate().map(|(at, (price, quantity))| {
            (ItemFacts { needs_fulfillment: false, ..good(&format!("g{at}"), *price) }, *quantity)
        }).collect();
        for _ in 0..2 {
            let (mut draft, facts) = purchase(&goods);
            draft.codes = Some((0..steps.len()).map(|at| format!("code{at}")).collect());
            let quote = priced(&draft, &facts, &terms);
            prop_assert_eq!(i128::from(quote.totals.last().expect("a total").amount), left);
            let turn = turn % goods.len();
            goods.rotate_left(turn);
        }
    }
}

#[test]
fn generated_cases_are_mostly_priced() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut priced, mut delivered, mut discounted) = (0, 0, 0);
    for _ in 0..700 {
        let case = case().new_tree(&mut runner).expect("a case").current();
        if let Ok(quote) = case.quote(&case.drafts[0], &Previous::default()) {
            priced += 1;
            delivered += usize::from(quote.fulfillment.is_some() && quote.deliverable);
            discounted += usize::from(quote.discounts.is_some_and(|discounts| discounts.applied.len() > 1));
        }
    }
    assert!(priced > 100 && delivered > 25 && discounted > 25, "{priced} {delivered} {discounted}");
}
