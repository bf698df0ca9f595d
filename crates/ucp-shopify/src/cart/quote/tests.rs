use proptest::prelude::*;
use serde_json::{Value, json};
use ucp_core::{
    catalog::market::Market,
    ports::caller::Caller,
    purchase::{
        buyer::PostalAddress,
        draft::{DestinationDraft, Draft, FulfillmentDraft, GroupDraft, LineDraft, MethodDraft},
        quote::Previous,
        totals::amount_of,
    },
};
use ucp_testkit::shop::{draft, platform};

use super::*;

const MUG: &str = "gid://shopify/ProductVariant/1";
const TEE: &str = "gid://shopify/ProductVariant/2";
const SECRET: &str = "gid://shopify/Cart/abc?key=canary";

fn money(amount: impl Into<String>, currency: &str) -> Value {
    json!({ "amount": amount.into(), "currencyCode": currency })
}

/// A line with this cost before and after its discounts.
fn line(id: &str, item: &str, quantity: u64, subtotal: &str, total: &str, currency: &str) -> Value {
    json!({
        "id": id, "quantity": quantity,
        "cost": {
            "amountPerQuantity": money("1.0", currency), "subtotalAmount": money(subtotal, currency),
            "totalAmount": money(total, currency),
        },
        "merchandise": {
            "id": item, "title": "Default Title", "image": { "url": "https://shop.example/p.png" }, "product": { "title": "Mug" },
        },
    })
}

/// A group of lines with a delivery option for each of these amounts, the first of which is selected.
fn group(id: &str, lines: &[&str], costs: &[&str], currency: &str) -> Value {
    let option = |(place, cost): (usize, &&str)| {
        json!({
            "handle": format!("{id} {place}"), "title": format!("Way {place}"), "deliveryMethodType": "SHIPPING",
            "estimatedCost": money(*cost, currency),
        })
    };
    json!({
        "id": format!("gid://shopify/CartDeliveryGroup/{id}?key=canary"),
        "cartLines": { "nodes": lines.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>() },
        "deliveryOptions": costs.iter().enumerate().map(option).collect::<Vec<_>>(),
        "selectedDeliveryOption": costs.first().map(|_| json!({ "handle": format!("{id} 0") })),
    })
}

fn off(amount: &str, target: &str, code: Option<&str>, currency: &str) -> Value {
    json!({ "targetType": target, "discountedAmount": money(amount, currency), "code": code, "title": "Automatic" })
}

fn cart(lines: Vec<Value>, total: &str, currency: &str) -> Value {
    let mut shown = json!({
        "id": SECRET, "checkoutUrl": "https://shop.example/cart/c/abc?key=other", "lines": {},
        "cost": { "totalAmount": money(total, currency) },
    });
    shown["lines"]["nodes"] = Value::Array(lines);
    shown
}

/// A request with its previous answer.
struct Asked {
    purpose: Purpose,
    draft: Draft,
    caller: Caller,
    previous: Previous,
    remote_cart: Option<RemoteCartRef>,
}

impl Asked {
    fn of(purpose: Purpose, lines: &[(&str, u64)]) -> Self {
        let caller = platform("https://platform.example/profile", &[]);
        Self { purpose, draft: draft(lines), caller, previous: Previous::default(), remote_cart: None }
    }

    fn request(&self) -> PriceRequest<'_> {
        let Self { purpose, draft, caller, previous, remote_cart } = self;
        PriceRequest { purpose: *purpose, draft, caller, previous, remote_cart: remote_cart.as_ref(), reference: None }
    }

    fn read(&self, cart: &Value, notes: Notes) -> Result<PriceQuote, Failure> {
        let cart = serde_json::from_value(cart.clone()).map_err(|_| Failure::Unreadable(Unreadable::Unexpected))?;
        let (request, counters) = (self.request(), Counters::default());
        let wish = Wish::of(&request, None);
        Reading::new(&request, &wish, &counters).priced(&cart, notes)
    }

    fn priced(&self, cart: &Value) -> PriceQuote {
        self.read(cart, Notes::default()).expect("priced")
    }
}

fn totals(quote: &Quote) -> Vec<(TotalKind, i64)> {
    quote.totals.iter().map(|total| (total.kind, total.amount)).collect()
}

fn codes(messages: &[Message]) -> Vec<&str> {
    fn code(message: &Message) -> &str {
        match message {
            Message::Info { code, .. } => code.as_deref().expect("a code"),
            Message::Warning { code, .. } | Message::Error { code, .. } => code,
        }
    }
    messages.iter().map(code).collect()
}

/// Asserts that every list of totals adds up, and that the lines add up to the subtotal.
fn assert_adds_up(quote: &Quote) {
    let check = |totals: &[Total]| {
        let (last, parts) = totals.split_last().expect("a total");
        assert_eq!(last.kind, TotalKind::Total);
        assert_eq!(parts.iter().map(|part| part.amount).sum::<i64>(), last.amount, "{totals:?}");
        assert!(last.amount >= 0);
        for part in parts {
            let below = matches!(part.kind, TotalKind::ItemsDiscount | TotalKind::Discount);
            assert!(if below { part.amount < 0 } else { part.amount >= 0 }, "{totals:?}");
        }
    };
    check(&quote.totals);
    for line in &quote.line_items {
        check(&line.totals);
    }
    for kind in [TotalKind::Subtotal, TotalKind::ItemsDiscount] {
        let lines: i64 = quote.line_items.iter().map(|line| amount_of(&line.totals, kind)).sum();
        assert_eq!(amount_of(&quote.totals, kind), lines, "{kind:?}");
    }
}

#[test]
fn a_cart_is_an_estimate_and_a_checkout_has_its_delivery() {
    let mut shown = cart(vec![line("a", MUG, 2, "25.0", "22.5", "USD")], "23.4", "USD");
    shown["deliveryGroups"] = json!({ "nodes": [group("g", &["a"], &["5.9", "15.0"], "USD")] });
    shown["discountAllocations"] = json!([off("5.0", "LINE_ITEM", Some("ORDER5"), "USD")]);
    for (total, purpose, expected) in [
        // The shop's total includes the delivery, or does not.
        ("23.4", Purpose::Checkout, 2_340),
        ("17.5", Purpose::Checkout, 2_340),
        ("23.4", Purpose::Cart, 1_750),
        ("17.5", Purpose::Cart, 1_750),
    ] {
        shown["cost"]["totalAmount"] = money(total, "USD");
        let priced = Asked::of(purpose, &[(MUG, 2)]).priced(&shown);
        let quote = &priced.quote;
        assert_adds_up(quote);
        let mut parts = vec![
            (TotalKind::Subtotal, 2_500),
            (TotalKind::ItemsDiscount, -250),
            (TotalKind::Discount, -500),
            (TotalKind::Fulfillment, 590),
            (TotalKind::Total, expected),
        ];
        parts.retain(|(kind, _)| *kind != TotalKind::Fulfillment || purpose == Purpose::Checkout);
        assert_eq!(totals(quote), parts, "{total} {purpose:?}");
        assert_eq!(quote.fulfillment.is_some(), purpose == Purpose::Checkout);
        assert_eq!(
            codes(&quote.reviews),
            if purpose == Purpose::Checkout { &["payment_on_shop_page"][..] } else { &[] }
        );
    }
}

#[test]
fn what_takes_the_delivery_off_takes_no_more_than_it_costs() {
    let mut shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], "10.0", "USD");
    shown["deliveryGroups"] = json!({ "nodes": [group("g", &["a"], &["5.9"], "USD")] });
    for (amount, taken) in [("5.9", -590), ("99.0", -590), ("1.0", -100)] {
        shown["discountAllocations"] = json!([off(amount, "SHIPPING_LINE", Some("FREESHIP"), "USD")]);
        let total = format!("{}.{:02}", (1_590 + taken) / 100, (1_590 + taken) % 100);
        shown["cost"]["totalAmount"] = money(total, "USD");
        let quote = Asked::of(Purpose::Checkout, &[(MUG, 1)]).priced(&shown).quote;
        assert_adds_up(&quote);
        assert_eq!(amount_of(&quote.totals, TotalKind::Discount), taken, "{amount}");
        assert_eq!(amount_of(&quote.totals, TotalKind::Total), 1_590 + taken, "{amount}");
        // An estimate ignores delivery and its discounts.
        let quote = Asked::of(Purpose::Cart, &[(MUG, 1)]).priced(&shown).quote;
        assert_eq!(amount_of(&quote.totals, TotalKind::Total), 1_000, "{amount}");
    }
}

#[test]
fn what_is_rounded_away_goes_to_the_largest_line() {
    // Each line is rounded down; the difference goes to the second, the largest.
    let lines = vec![
        line("a", MUG, 1, "0.333", "0.333", "USD"),
        line("b", TEE, 1, "5.333", "5.333", "USD"),
        line("c", "gid://shopify/ProductVariant/3", 1, "0.334", "0.334", "USD"),
    ];
    let asked = Asked::of(Purpose::Cart, &[(MUG, 1), (TEE, 1), ("gid://shopify/ProductVariant/3", 1)]);
    let quote = asked.priced(&cart(lines, "6.0", "USD")).quote;
    assert_adds_up(&quote);
    assert_eq!(totals(&quote), [(TotalKind::Subtotal, 600), (TotalKind::Total, 600)]);
    let subtotals: Vec<_> = quote.line_items.iter().map(|line| amount_of(&line.totals, TotalKind::Subtotal)).collect();
    assert_eq!(subtotals, [33, 534, 33]);
    // The other way round: two halves are rounded up.
    let lines = vec![line("a", MUG, 1, "2.5", "2.5", "JPY"), line("b", TEE, 1, "3.5", "3.5", "JPY")];
    let quote = Asked::of(Purpose::Cart, &[(MUG, 1), (TEE, 1)]).priced(&cart(lines, "6.0", "JPY")).quote;
    assert_adds_up(&quote);
    assert_eq!(totals(&quote), [(TotalKind::Subtotal, 6), (TotalKind::Total, 6)]);
    assert_eq!(quote.line_items.iter().map(|line| line.totals[0].amount).collect::<Vec<_>>(), [3, 3]);
}

#[test]
fn nothing_costs_less_than_nothing_however_it_is_rounded() {
    // Two deliveries of 5.005 cost 10.01 together, and more if each is rounded.
    let mut shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], "10.01", "USD");
    shown["deliveryGroups"] =
        json!({ "nodes": [group("g", &["a"], &["5.005"], "USD"), group("h", &["a"], &["5.005"], "USD")] });
    shown["discountAllocations"] = json!([off("10.0", "LINE_ITEM", None, "USD")]);
    for (purpose, total) in [(Purpose::Cart, 0), (Purpose::Checkout, 1_001)] {
        let quote = Asked::of(purpose, &[(MUG, 1)]).priced(&shown).quote;
        assert_adds_up(&quote);
        assert_eq!(amount_of(&quote.totals, TotalKind::Total), total, "{purpose:?}");
    }
}

#[test]
fn what_was_not_rounded_away_is_an_entry_of_its_own() {
    // One minor unit too much without any rounding is a fee, too small for a review.
    for (total, kind, amount, review) in [
        ("10.01", Some(TotalKind::Fee), 1, false),
        ("9.99", Some(TotalKind::Discount), -1, false),
        ("10.00", None, 0, false),
        ("12.50", Some(TotalKind::Fee), 250, true),
        ("4.00", Some(TotalKind::Discount), -600, true),
        ("0.00", Some(TotalKind::Discount), -1_000, true),
    ] {
        let shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], total, "USD");
        let quote = Asked::of(Purpose::Checkout, &[(MUG, 1)]).priced(&shown).quote;
        assert_adds_up(&quote);
        let own = quote.totals.iter().find(|entry| entry.display_text.as_deref() == Some("Adjustment by the shop"));
        assert_eq!(own.map(|own| (own.kind, own.amount)), kind.map(|kind| (kind, amount)), "{total}");
        assert_eq!(codes(&quote.reviews).contains(&"total_differs"), review, "{total}");
    }
    // A surcharge on a line is not a negative discount.
    let shown = cart(vec![line("a", MUG, 1, "10.0", "11.0", "USD")], "11.0", "USD");
    let quote = Asked::of(Purpose::Cart, &[(MUG, 1)]).priced(&shown).quote;
    assert_adds_up(&quote);
    assert_eq!(totals(&quote), [(TotalKind::Subtotal, 1_000), (TotalKind::Fee, 100), (TotalKind::Total, 1_100)]);
}

#[test]
fn currencies_have_their_own_minor_units() {
    for (currency, subtotal, total, minor) in
        [("JPY", "1880.0", "1880.0", 1_880), ("KWD", "3.838", "3.838", 3_838), ("EUR", "12.5", "12.50", 1_250)]
    {
        let shown = cart(vec![line("a", MUG, 1, subtotal, total, currency)], total, currency);
        let quote = Asked::of(Purpose::Cart, &[(MUG, 1)]).priced(&shown).quote;
        assert_adds_up(&quote);
        assert_eq!((quote.currency.as_str(), amount_of(&quote.totals, TotalKind::Total)), (currency, minor));
    }
}

#[test]
fn what_is_no_amount_is_never_a_price() {
    let asked = Asked::of(Purpose::Checkout, &[(MUG, 1)]);
    let good = {
        let mut shown = cart(vec![line("a", MUG, 1, "10.0", "9.0", "USD")], "9.0", "USD");
        shown["deliveryGroups"] = json!({ "nodes": [group("g", &["a"], &["5.9", "1.0"], "USD")] });
        shown["discountAllocations"] = json!([off("1.0", "LINE_ITEM", Some("A"), "USD")]);
        shown["lines"]["nodes"][0]["discountAllocations"] = json!([off("1.0", "LINE_ITEM", None, "USD")]);
        shown
    };
    asked.priced(&good);
    let mut amounts = vec!["/cost/totalAmount".to_owned(), "/discountAllocations/0/discountedAmount".to_owned()];
    for part in ["amountPerQuantity", "subtotalAmount", "totalAmount"] {
        amounts.push(format!("/lines/nodes/0/cost/{part}"));
    }
    amounts.push("/lines/nodes/0/discountAllocations/0/discountedAmount".to_owned());
    amounts.extend((0..2).map(|place| format!("/deliveryGroups/nodes/0/deliveryOptions/{place}/estimatedCost")));
    for path in amounts {
        for wrong in [
            Value::Null,
            json!({ "amount": "1.0" }),
            json!({ "currencyCode": "USD" }),
            json!({ "amount": null, "currencyCode": "USD" }),
            json!({ "amount": 1.0, "currencyCode": "USD" }),
            money("", "USD"),
            money("free", "USD"),
            money("-1.0", "USD"),
            money("-0.01", "USD"),
            money("9".repeat(32), "USD"),
            money("9".repeat(33), "USD"),
            money("1.0", "EUR"),
            money("1.0", "DOLLARS"),
        ] {
            let mut shown = good.clone();
            *shown.pointer_mut(&path).expect("an amount") = wrong.clone();
            assert!(asked.read(&shown, Notes::default()).is_err(), "{path} {wrong}");
        }
    }
}

#[test]
fn lines_keep_their_names_even_in_another_cart() {
    let named = |id: Option<&str>, item: &str| LineDraft {
        id: id.map(str::to_owned),
        item: item.into(),
        quantity: 1,
        other_unit: None,
        parent_id: None,
    };
    let mut asked = Asked::of(Purpose::Cart, &[]);
    asked.draft.line_items = vec![named(None, TEE), named(None, MUG)];
    let shown = |ids: [&str; 2]| {
        let lines = [(ids[0], MUG), (ids[1], TEE)].map(|(id, item)| line(id, item, 1, "1.0", "1.0", "USD"));
        cart(lines.to_vec(), "2.0", "USD")
    };
    let ids = |priced: &PriceQuote| -> Vec<(String, String)> {
        priced.quote.line_items.iter().map(|line| (line.id.clone(), line.item.id.clone())).collect()
    };
    // Lines are in the order of the platform, followed by any others.
    let first = asked.priced(&shown(["a", "b"]));
    let expected = [("li_1".to_owned(), TEE.to_owned()), ("li_2".to_owned(), MUG.to_owned())];
    assert_eq!((ids(&first), first.quote.lines_ever), (expected.to_vec(), 2));
    asked.previous = Previous { line_items: first.quote.line_items.clone(), lines_ever: 2, fulfillment: None };
    asked.remote_cart = first.remote_cart.clone();
    assert_eq!(ids(&asked.priced(&shown(["a", "b"]))), expected);
    // The shop discarded the cart: a new one has other identifiers for the same lines.
    assert_eq!(ids(&asked.priced(&shown(["x", "y"]))), expected);
    asked.draft.line_items = vec![named(Some("li_2"), MUG), named(Some("li_1"), TEE)];
    let turned: Vec<_> = expected.iter().rev().cloned().collect();
    assert_eq!(ids(&asked.priced(&shown(["x", "y"]))), turned);
    // A line whose item changed keeps its identifier; identifiers that the gateway never gave are not used.
    asked.draft.line_items = vec![named(Some("li_1"), MUG), named(Some("own"), TEE)];
    let priced = asked.priced(&shown(["x", "y"]));
    let names: Vec<_> = ids(&priced).into_iter().map(|(id, _)| id).collect();
    assert_eq!(names[0], "li_1");
    assert!(names[1] != "own" && names[1] != "li_1", "{names:?}");
}

#[test]
fn the_secret_of_a_cart_is_in_nothing_but_what_is_kept() {
    let mut shown =
        cart(vec![line("gid://shopify/CartLine/1?cart=canary", MUG, 1, "10.0", "10.0", "USD")], "10.0", "USD");
    shown["deliveryGroups"] =
        json!({ "nodes": [group("g", &["gid://shopify/CartLine/1?cart=canary"], &["5.9"], "USD")] });
    let priced = Asked::of(Purpose::Checkout, &[(MUG, 1)]).priced(&shown);
    assert!(!format!("{priced:?}").contains("canary"));
    assert!(!format!("{:?}", serde_json::from_value::<Cart>(shown).expect("a cart")).contains("canary"));
    assert_eq!(priced.remote_cart.expect("remote_cart").reference, SECRET);
}

#[test]
fn a_page_that_nobody_may_open_is_none_to_go_on_with() {
    let asked = Asked::of(Purpose::Checkout, &[(MUG, 1)]);
    let mut shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], "10.0", "USD");
    shown["deliveryGroups"] = json!({ "nodes": [group("g", &["a"], &["5.9"], "USD")] });
    for (url, opened) in [
        ("https://shop.example/cart/c/abc?key=other", true),
        ("http://127.0.0.1:9/cart", true),
        ("http://shop.example/cart/c/abc", false),
        ("javascript:alert(1)", false),
        ("data:text/html,x", false),
        ("/cart/c/abc", false),
        ("https://user:word@shop.example/cart", false),
        ("", false),
    ] {
        shown["checkoutUrl"] = url.into();
        let priced = asked.priced(&shown);
        let page = priced.remote_cart.expect("remote_cart").continue_url;
        assert_eq!(page.as_deref(), opened.then_some(url));
        assert_eq!(codes(&priced.quote.messages).contains(&"payment_unavailable"), !opened, "{url}");
        assert_eq!(codes(&priced.quote.reviews).contains(&"payment_on_shop_page"), opened, "{url}");
    }
    for url in ["http://shop.example/p.png", "javascript:alert(1)"] {
        shown["lines"]["nodes"][0]["merchandise"]["image"]["url"] = url.into();
        assert_eq!(asked.priced(&shown).quote.line_items[0].item.image_url, None);
    }
}

/// A checkout of one mug, with these delivery methods.
fn delivered(methods: Vec<MethodDraft>) -> Asked {
    let mut asked = Asked::of(Purpose::Checkout, &[(MUG, 1)]);
    asked.draft.fulfillment = Some(FulfillmentDraft { methods });
    asked
}

#[test]
fn what_was_chosen_and_is_not_there_is_told() {
    let street = PostalAddress {
        street_address: Some("S".into()),
        address_country: Some("US".into()),
        ..PostalAddress::default()
    };
    let destination = DestinationDraft { id: Some("home".into()), address: street, ..DestinationDraft::default() };
    let method = |option: Option<&str>, destination_id: Option<&str>| MethodDraft {
        kind: Some("shipping".into()),
        destinations: vec![destination.clone()],
        selected_destination_id: destination_id.map(str::to_owned),
        groups: option
            .map(|option| GroupDraft { id: Some("group_1".into()), selected_option_id: Some(option.into()) })
            .into_iter()
            .collect(),
        ..MethodDraft::default()
    };
    let mut shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], "15.9", "USD");
    shown["delivery"] = json!({ "addresses": [{ "address": { "address1": "S", "countryCode": "US" } }] });
    shown["deliveryGroups"] = json!({ "nodes": [group("g", &["a"], &["5.9", "15.0"], "USD")] });
    for (method, said) in [
        (method(None, None), &[][..]),
        (method(Some("g 0"), Some("home")), &[]),
        (method(Some("express"), Some("home")), &["option_unknown"]),
        (method(Some("g 0"), Some("work")), &["destination_unknown"]),
    ] {
        let asked = delivered(vec![method.clone()]);
        let quote = asked.priced(&shown).quote;
        let mut found = codes(&quote.messages);
        found.retain(|code| *code != "taxes_at_checkout");
        assert_eq!(found, said, "{method:?}");
        let own = &quote.fulfillment.as_ref().expect("a delivery").methods[0];
        assert_eq!(own.selected_destination_id.as_deref(), Some("home"));
        let group = &own.groups[0];
        assert_eq!((group.id.as_str(), group.selected_option_id.as_deref()), ("group_1", Some("g 0")));
        assert_eq!(group.line_item_ids, ["li_1"]);
    }
    // What was stated before is kept if it is not stated again.
    let mut asked = delivered(vec![method(None, None)]);
    asked.previous.fulfillment = asked.priced(&shown).quote.fulfillment;
    asked.draft.fulfillment = Some(FulfillmentDraft {
        methods: vec![MethodDraft { id: Some("shipping_1".into()), ..MethodDraft::default() }],
    });
    let own = asked.priced(&shown).quote.fulfillment.expect("a delivery").methods.remove(0);
    assert_eq!((own.destinations.len(), own.selected_destination_id.as_deref()), (1, Some("home")));
}

#[test]
fn several_groups_are_one_for_whoever_can_show_no_more() {
    let lines = vec![line("a", MUG, 1, "10.0", "10.0", "USD"), line("b", TEE, 1, "20.0", "20.0", "USD")];
    let mut shown = cart(lines, "40.9", "USD");
    shown["deliveryGroups"] =
        json!({ "nodes": [group("g", &["a"], &["5.9", "15.0"], "USD"), group("h", &["b"], &["5.0"], "USD")] });
    let read = |multi_group: bool, shown: &Value| {
        let mut asked = Asked::of(Purpose::Checkout, &[(MUG, 1), (TEE, 1)]);
        asked.caller.multi_group = multi_group;
        asked.draft.fulfillment = Some(FulfillmentDraft { methods: vec![MethodDraft::default()] });
        let quote = asked.priced(shown).quote;
        assert_adds_up(&quote);
        assert_eq!(amount_of(&quote.totals, TotalKind::Total), 4_090);
        quote
    };
    let groups = |quote: Quote| quote.fulfillment.expect("a delivery").methods.remove(0).groups;
    assert_eq!(groups(read(true, &shown)).len(), 2);
    let together = groups(read(false, &shown));
    let [own] = together.as_slice() else { panic!("{together:?}") };
    assert_eq!(
        (own.id.as_str(), own.line_item_ids.as_slice()),
        ("group_1", &["li_1".to_owned(), "li_2".to_owned()][..])
    );
    let options: Vec<_> =
        own.options.iter().map(|option| (option.title.as_str(), amount_of(&option.totals, TotalKind::Total))).collect();
    assert_eq!(options, [("Way 0 + Way 0", 1_090), ("Way 1 + Way 0", 2_000)]);
    assert_eq!(own.selected_option_id.as_ref(), Some(&own.options[0].id));
    // A group that cannot be delivered is reported and does not hide the others.
    shown["deliveryGroups"]["nodes"][1] = group("h", &["b"], &[], "USD");
    shown["cost"]["totalAmount"] = money("35.9", "USD");
    let mut asked = Asked::of(Purpose::Checkout, &[(MUG, 1), (TEE, 1)]);
    asked.draft.fulfillment = Some(FulfillmentDraft { methods: vec![MethodDraft::default()] });
    let quote = asked.priced(&shown).quote;
    assert!(codes(&quote.messages).contains(&"address_undeliverable"), "{:?}", quote.messages);
    assert_eq!(groups(quote)[0].line_item_ids, ["li_1"]);
}

#[test]
fn goods_are_picked_up_at_a_place_of_the_shop() {
    let mut shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], "10.0", "USD");
    let mut own = group("g", &["a"], &["0.0", "5.9"], "USD");
    own["deliveryOptions"][0]["deliveryMethodType"] = "PICK_UP".into();
    shown["deliveryGroups"] = json!({ "nodes": [own] });
    let method = MethodDraft {
        kind: Some("pickup".into()),
        selected_destination_id: Some("g 0".into()),
        ..MethodDraft::default()
    };
    let quote = delivered(vec![method.clone()]).priced(&shown).quote;
    let own = &quote.fulfillment.as_ref().expect("a delivery").methods[0];
    assert_eq!((own.kind, own.selected_destination_id.as_deref()), (MethodKind::Pickup, Some("g 0")));
    assert_eq!(own.destinations.iter().map(|place| place.name.as_deref()).collect::<Vec<_>>(), [Some("Way 0")]);
    assert_eq!(quote.totals[1].display_text.as_deref(), Some("Pickup"));
    let elsewhere = MethodDraft { selected_destination_id: Some("g 1".into()), ..method };
    let quote = delivered(vec![elsewhere]).priced(&shown).quote;
    assert!(codes(&quote.messages).contains(&"destination_unknown"), "{:?}", quote.messages);
}

#[test]
fn a_delivery_that_is_still_worked_out_is_not_one_that_is_refused() {
    let mut shown = cart(vec![line("a", MUG, 1, "10.0", "10.0", "USD")], "10.0", "USD");
    shown["deliveryGroups"] = json!({ "nodes": [] });
    let asked = delivered(vec![MethodDraft::default()]);
    let said = |shown: &Value, notes| {
        let priced = asked.read(shown, notes).expect("priced");
        let mut said: Vec<String> = codes(&priced.quote.messages).into_iter().map(str::to_owned).collect();
        said.retain(|code| code != "taxes_at_checkout");
        said
    };
    assert_eq!(said(&shown, Notes::default()), ["fulfillment_required"]);
    shown["delivery"] = json!({ "addresses": [{ "address": { "address1": "S" } }] });
    assert_eq!(said(&shown, Notes::default()), ["address_undeliverable"]);
    let told =
        json!({ "userErrors": [{ "code": "PENDING_DELIVERY_GROUPS", "field": ["cartId"], "message": "Wait." }] });
    let mut notes = Notes::default();
    notes.hear(&serde_json::from_value(told).expect("an outcome"), &[]);
    assert_eq!(said(&shown, notes), ["fulfillment_pending"]);
}

#[test]
fn nothing_costs_nothing_and_cannot_be_bought() {
    let market: Market =
        serde_json::from_value(json!({ "name": "Test", "currency": "USD", "language": "en" })).expect("a market");
    for (purpose, lines, said) in [
        (Purpose::Cart, &[][..], &[][..]),
        (Purpose::Checkout, &[], &["item_unavailable"]),
        (Purpose::Checkout, &[("oil", 1)], &["item_unavailable"]),
    ] {
        let asked = Asked::of(purpose, lines);
        let (request, counters) = (asked.request(), Counters::default());
        let wish = Wish::of(&request, None);
        let priced = Reading::new(&request, &wish, &counters).nothing(Notes::default(), &market).expect("nothing");
        assert!(!priced.purchasable && priced.remote_cart.is_none());
        assert_eq!(totals(&priced.quote), [(TotalKind::Subtotal, 0), (TotalKind::Total, 0)]);
        assert_eq!(codes(&priced.quote.messages), said);
    }
    // The same holds for a cart that is empty.
    let empty = cart(Vec::new(), "0.0", "USD");
    let priced = Asked::of(Purpose::Checkout, &[(MUG, 1)]).priced(&empty);
    assert!(!priced.purchasable);
    assert!(codes(&priced.quote.messages).contains(&"out_of_stock"));
    let looked = Asked::of(Purpose::Checkout, &[(MUG, 1)]).read(&empty, Notes::looked()).expect("priced");
    assert_eq!(codes(&looked.quote.messages), ["item_removed", "taxes_at_checkout", "item_unavailable"]);
}

/// Writes an integer as a decimal number with `digits` decimals, as the API does.
fn decimal(units: i128, digits: usize) -> String {
    let text = format!("{units:0>width$}", width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    format!("{whole}.{fraction}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// For amounts finer than the currency, the parts add up to the shop's total, without an adjustment unless the
    /// lines are too small to take the difference.
    #[test]
    fn totals_are_those_of_the_shop_and_add_up(
        lines in prop::collection::vec((0_i128..5_000_000, 0_i128..100), 1..8),
        whole in 0_i128..100_000,
        deliveries in prop::collection::vec(500_000_i128..1_000_000, 0..3),
        included in any::<bool>(),
        checkout in any::<bool>(),
        currency in prop::sample::select(vec!["USD", "JPY", "KWD"]),
    ) {
        // Amounts are hundredths of minor units.
        let digits = currency.parse::<Currency>().expect("a currency").exponent() as usize + 2;
        let text = |units: i128| decimal(units, digits);
        let totals: Vec<i128> = lines.iter().map(|(subtotal, percent)| subtotal - subtotal * percent / 100).collect();
        let goods: i128 = totals.iter().sum();
        let whole = whole.min(goods);
        let travel: i128 = deliveries.iter().sum();
        let stated = goods - whole + if included { travel } else { 0 };
        let items: Vec<_> = (1..=lines.len()).map(|number| format!("gid://shopify/ProductVariant/{number}")).collect();
        let nodes = lines.iter().zip(&totals).zip(&items).map(|(((subtotal, _), total), item)| {
            line(item, item, 1, &text(*subtotal), &text(*total), currency)
        });
        let mut shown = cart(nodes.collect(), &text(stated), currency);
        let groups = deliveries.iter().enumerate().map(|(place, cost)| group(&place.to_string(), &[&items[0]], &[&text(*cost)], currency));
        shown["deliveryGroups"] = json!({ "nodes": groups.collect::<Vec<_>>() });
        shown["discountAllocations"] = json!([off(&text(whole), "LINE_ITEM", None, currency)]);
        let purpose = if checkout { Purpose::Checkout } else { Purpose::Cart };
        let wanted: Vec<_> = items.iter().map(|item| (item.as_str(), 1)).collect();
        let quote = Asked::of(purpose, &wanted).priced(&shown).quote;
        assert_adds_up(&quote);

        let round = |units: i128| (units + 50) / 100;
        let each: i128 = deliveries.iter().map(|cost| round(*cost)).sum();
        let expected = match (checkout, included) {
            (true, true) | (false, false) => round(stated),
            (true, false) => round(stated) + each,
            // Deliveries that are each rounded up may cost more than all of them together.
            (false, true) => (round(stated) - each).max(0),
        };
        prop_assert_eq!(i128::from(amount_of(&quote.totals, TotalKind::Total)), expected);
        let left_over = quote.totals.iter().any(|total| total.display_text.as_deref() == Some("Adjustment by the shop"));
        prop_assert!(!left_over || goods < 100 * lines.len() as i128, "{:?}", quote.totals);
        prop_assert!(!codes(&quote.reviews).contains(&"total_differs"));
    }

    /// Any texts as amounts yield a quote that adds up, or an error.
    #[test]
    fn any_amounts_add_up_or_are_refused(
        amounts in prop::collection::vec(prop_oneof!["-?[0-9]{1,20}(\\.[0-9]{1,6})?", "[0-9]{30,33}", "\\PC{0,6}"], 6),
        checkout in any::<bool>(),
    ) {
        let mut shown = cart(vec![line("a", MUG, 1, &amounts[0], &amounts[1], "USD")], &amounts[2], "USD");
        shown["lines"]["nodes"][0]["cost"]["amountPerQuantity"] = money(amounts[3].as_str(), "USD");
        shown["deliveryGroups"] = json!({ "nodes": [group("g", &["a"], &[&amounts[4]], "USD")] });
        shown["discountAllocations"] = json!([off(&amounts[5], "SHIPPING_LINE", None, "USD")]);
        let purpose = if checkout { Purpose::Checkout } else { Purpose::Cart };
        if let Ok(priced) = Asked::of(purpose, &[(MUG, 1)]).read(&shown, Notes::default()) {
            assert_adds_up(&priced.quote);
        }
    }
}
