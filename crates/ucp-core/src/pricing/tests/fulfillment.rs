//! Methods, destinations, groups and options.

use super::*;
use crate::purchase::fulfillment::Method;

/// A shop like the one that the official conformance suite expects.
fn flower_shop() -> Terms {
    terms(json!({
        "shipping": {
            "rates": [
                {"id": "std-ship", "title": "Standard Shipping", "price": 500, "min_days": 5, "max_days": 8},
                {"id": "exp-ship-us", "title": "Express Shipping (US)", "price": 1500, "countries": ["US"]},
                {"id": "exp-ship-intl", "title": "International Express", "price": 2500, "except": ["US"]},
            ],
            "free": [
                {"title": "Free Shipping on orders over $100", "rates": ["std-ship"], "min_subtotal": 10000},
                {"title": "Free Shipping on Rose Bouquets", "rates": ["std-ship"], "items": ["bouquet_roses"]},
            ],
        },
        "customers": [
            {"name": "John Doe", "email": "john.doe@example.com", "addresses": [
                {"id": "addr_1", "address": {"street_address": "123 Main St", "address_locality": "Springfield",
                    "address_region": "IL", "postal_code": "62704", "address_country": "US"}},
                {"id": "addr_2", "address": {"street_address": "456 Oak Ave", "address_locality": "Metropolis",
                    "address_region": "NY", "postal_code": "10012", "address_country": "US"}},
            ]},
            {"name": "Jane Doe", "email": "jane.doe@example.com"},
        ],
    }))
}

/// Returns the quote for these methods and items, given the fulfillment before; or the error.
fn try_update(
    terms: &Terms,
    caller: &Caller,
    goods: &[(ItemFacts, u64)],
    email: Option<&str>,
    methods: Json,
    before: &Previous,
) -> Result<Quote, Refusal> {
    let (mut draft, facts) = purchase(goods);
    draft.buyer = serde_json::from_value(json!({"email": email})).expect("a buyer");
    draft.fulfillment =
        serde_json::from_value(Json::Object([("methods".to_owned(), methods)].into_iter().collect())).expect("methods");
    let first = quote(Purpose::Checkout, &draft, &facts, terms, caller, before)?;
    let again = quote(Purpose::Checkout, &draft, &facts, terms, caller, &previous(&first)).expect("the same again");
    assert_eq!(again, first, "asked again, it is the same");
    Ok(first)
}

fn update(terms: &Terms, goods: &[(ItemFacts, u64)], methods: Json, before: &Previous) -> Quote {
    try_update(terms, &caller(), goods, None, methods, before).expect("a quote")
}

fn pot() -> Vec<(ItemFacts, u64)> {
    vec![(good("pot_ceramic", 1_500), 1)]
}

fn methods(quote: &Quote) -> &[Method] {
    quote.fulfillment.as_ref().map_or(&[], |fulfillment| &fulfillment.methods)
}

/// The options of the first group: identifier and total.
fn options(quote: &Quote) -> Vec<(&str, i64)> {
    let options = &methods(quote)[0].groups[0].options;
    options.iter().map(|option| (option.id.as_str(), option.totals.last().expect("a total").amount)).collect()
}

fn to(country: &str) -> Json {
    json!([{"kind": "shipping", "destinations": [{"address": {"address_country": country}}]}])
}

#[test]
fn the_only_destination_and_the_cheapest_option_are_chosen() {
    let quote = update(&flower_shop(), &pot(), to("US"), &Previous::default());
    let method = &methods(&quote)[0];
    assert_eq!((method.id.as_str(), &method.line_item_ids[..]), ("shipping_1", &["li_1".to_owned()][..]));
    assert_eq!(method.selected_destination_id.as_ref(), Some(&method.destinations[0].id));
    assert!(method.destinations[0].id.starts_with("dest_"));
    assert_eq!(method.groups[0].id, "package_1");
    assert_eq!(method.groups[0].selected_option_id.as_deref(), Some("std-ship"));
    assert_eq!(options(&quote), [("std-ship", 500), ("exp-ship-us", 1_500)]);
    let option = &method.groups[0].options[0];
    assert_eq!(option.earliest.map(|time| time.to_string()).as_deref(), Some("2026-06-06T00:00:00Z"));
    assert_eq!(option.latest.map(|time| time.to_string()).as_deref(), Some("2026-06-09T23:59:59Z"));
    assert_eq!(amounts(&quote.totals), [("subtotal", 1_500), ("fulfillment", 500), ("total", 2_000)]);
    assert_eq!(quote.totals[1].display_text.as_deref(), Some("Shipping"));
    assert!(quote.deliverable && quote.messages.is_empty(), "{:?}", quote.messages);
}

/// Items that take time to prepare, or are not available yet, ship later, and arrive later.
#[test]
fn goods_that_are_not_ready_are_fulfilled_later() {
    let date = |text: &str| Some(text.parse().expect("a date"));
    for (days, available_on, on, earliest) in [
        (None, None, "now", "2026-06-06T00:00:00Z"),
        (Some(3), None, "2026-06-04T00:00:00Z", "2026-06-09T00:00:00Z"),
        (None, date("2026-07-01"), "2026-07-01T00:00:00Z", "2026-07-06T00:00:00Z"),
        (Some(3), date("2026-06-02"), "2026-06-04T00:00:00Z", "2026-06-09T00:00:00Z"),
        (Some(0), date("2026-05-01"), "now", "2026-06-06T00:00:00Z"),
    ] {
        let late = ItemFacts { lead_time: LeadTime { days, available_on }, ..good("pot", 1_500) };
        let quote = update(&flower_shop(), &[(late, 1)], to("US"), &Previous::default());
        let fulfillment = quote.fulfillment.as_ref().expect("a delivery");
        assert!(fulfillment.available_methods.iter().all(|method| method.fulfillable_on.as_deref() == Some(on)));
        let option = &methods(&quote)[0].groups[0].options[0];
        assert_eq!(
            option.earliest.map(|time| time.to_string()).as_deref(),
            Some(earliest),
            "{days:?} {available_on:?}"
        );
    }
}

#[test]
fn an_update_by_id_keeps_the_destination_and_changes_the_option() {
    let shop = flower_shop();
    let first = update(&shop, &pot(), to("US"), &Previous::default());
    let change = json!([{"id": "shipping_1", "line_item_ids": ["li_1"],
        "groups": [{"id": "package_1", "selected_option_id": "exp-ship-us"}]}]);
    let second = update(&shop, &pot(), change, &previous(&first));
    assert_eq!(methods(&second)[0].destinations, methods(&first)[0].destinations);
    assert_eq!(methods(&second)[0].groups[0].selected_option_id.as_deref(), Some("exp-ship-us"));
    assert_eq!(amounts(&second.totals)[1], ("fulfillment", 1_500));
    // A choice is kept as long as it is there, and replaced by the cheapest otherwise.
    let third = update(&shop, &pot(), json!([{"kind": "shipping"}]), &previous(&second));
    assert_eq!(methods(&third)[0].groups[0].selected_option_id.as_deref(), Some("exp-ship-us"));
    let abroad = update(&shop, &pot(), to("CA"), &previous(&third));
    assert_eq!(options(&abroad), [("std-ship", 500), ("exp-ship-intl", 2_500)]);
    assert_eq!(methods(&abroad)[0].groups[0].selected_option_id.as_deref(), Some("std-ship"));
    assert_eq!(methods(&abroad)[0].id, "shipping_1");
}

#[test]
fn unknown_choices_are_said_and_the_previous_ones_kept() {
    let shop = flower_shop();
    let change = json!([{"kind": "shipping", "destinations": [{"address": {"address_country": "US"}}],
        "groups": [{"selected_option_id": "exp-ship-us"}]}]);
    let first = update(&shop, &pot(), change, &Previous::default());
    let wrong = json!([{"kind": "shipping", "selected_destination_id": "nowhere",
        "groups": [{"selected_option_id": "drone"}]}]);
    let second = update(&shop, &pot(), wrong, &previous(&first));
    assert_eq!(
        said(&second),
        [
            pair("destination_unknown", "$.fulfillment.methods[0].selected_destination_id"),
            pair("option_unknown", "$.fulfillment.methods[0].groups[0].selected_option_id"),
        ]
    );
    assert_eq!(methods(&second), methods(&first));
    assert!(second.deliverable);
}

#[test]
fn free_shipping_is_an_option_that_costs_nothing() {
    let shop = flower_shop();
    let roses = |quantity| vec![(good("bouquet_roses", 3_500), quantity)];
    let pots = |quantity| vec![(good("pot_ceramic", 1_500), quantity)];
    for (goods, why) in [
        (roses(1), Some("Free Shipping on Rose Bouquets")),
        (roses(3), Some("Free Shipping on orders over $100")),
        (pots(6), None),
        (pots(7), Some("Free Shipping on orders over $100")),
    ] {
        let quote = update(&shop, &goods, to("US"), &Previous::default());
        let option = &methods(&quote)[0].groups[0].options[0];
        assert_eq!(option.id, "std-ship");
        match why {
            Some(why) => {
                assert_eq!(option.title, format!("Standard Shipping ({why})"));
                assert_eq!(amounts(&option.totals), [("subtotal", 500), ("discount", -500), ("total", 0)]);
                let path = "$.fulfillment.methods[0].groups[0].options[0]";
                assert_eq!(said(&quote), [pair("free_shipping", path)]);
            }
            None => assert_eq!(amounts(&option.totals), [("subtotal", 500), ("total", 500)]),
        }
    }
}

#[test]
fn stored_addresses_are_for_the_buyer_they_belong_to() {
    let shop = flower_shop();
    let ask = |email, methods, before: &Previous| {
        try_update(&shop, &caller(), &pot(), email, methods, before).expect("a quote")
    };
    let ids = |quote: &Quote| -> Vec<String> {
        methods(quote)[0].destinations.iter().map(|destination| destination.id.clone()).collect()
    };
    let bare = json!([{"kind": "shipping"}]);
    let john = ask(Some("John.Doe@example.com"), bare.clone(), &Previous::default());
    assert_eq!(ids(&john), ["addr_1", "addr_2"]);
    assert_eq!(said(&john), [pair("field_required", "$.fulfillment.methods[0].selected_destination_id")]);
    assert!(!john.deliverable);
    let choice = json!([{"kind": "shipping", "selected_destination_id": "addr_2"}]);
    let chosen = ask(Some("john.doe@example.com"), choice.clone(), &previous(&john));
    assert_eq!(methods(&chosen)[0].selected_destination_id.as_deref(), Some("addr_2"));
    assert!(chosen.deliverable);
    for email in [None, Some("unknown@example.com"), Some("jane.doe@example.com")] {
        for before in [Previous::default(), previous(&chosen)] {
            let other = ask(email, choice.clone(), &before);
            assert_eq!(ids(&other), Vec::<String>::new(), "{email:?}");
        }
    }
    let same = json!({"street_address": "123 MAIN St", "address_locality": "Springfield", "address_region": "IL",
        "postal_code": "62704", "address_country": "US"});
    let matching = json!([{"kind": "shipping", "destinations": [{"address": same}]}]);
    assert_eq!(ids(&ask(Some("john.doe@example.com"), matching.clone(), &Previous::default())), ["addr_1"]);
    assert_ne!(ids(&ask(None, matching, &Previous::default())), ["addr_1"]);
    let own = json!([{"kind": "shipping", "destinations": [{"id": "mine", "address": {"address_country": "CA"}}]}]);
    let own = ask(Some("john.doe@example.com"), own, &previous(&chosen));
    assert_eq!(ids(&own), ["mine"]);
    let back = ask(Some("john.doe@example.com"), choice, &previous(&own));
    assert_eq!(ids(&back), ["mine", "addr_2"]);
}

#[test]
fn unreachable_addresses_are_reported() {
    let mut shop = flower_shop();
    shop.shipping.rates[0].countries = vec!["US".to_owned(), "FR".to_owned()];
    shop.shipping.rates[0].max_grams = Some(2_000);
    shop.shipping.rates.remove(2);
    shop.shipping.required = vec![crate::pricing::terms::AddressField::PostalCode];
    let said_about = |country: Json, grams: u64| {
        let goods = vec![(ItemFacts { weight_grams: grams, ..good("a", 10) }, 2)];
        let methods = json!([{"kind": "shipping",
            "destinations": [{"address": {"address_country": country, "postal_code": "1"}}]}]);
        let quote = update(&shop, &goods, methods, &Previous::default());
        assert_eq!(quote.deliverable, quote.messages.is_empty());
        said(&quote)
    };
    let at = |member: &str| format!("$.fulfillment.methods[0].destinations[0]{member}");
    assert_eq!(said_about(json!("FR"), 1_000), []);
    assert_eq!(said_about(json!("fr"), 1_001), [pair("fulfillment_unavailable", &at(""))]);
    assert_eq!(said_about(json!("DE"), 1), [pair("address_undeliverable", &at(""))]);
    assert_eq!(said_about(json!("France"), 1), [pair("address_undeliverable", &at(".address_country"))]);
    assert_eq!(said_about(Json::Null, 1), [pair("field_required", &at(".address_country"))]);
    let quote = update(&shop, &pot(), to("US"), &Previous::default());
    assert_eq!(said(&quote), [pair("field_required", &at(".postal_code"))]);
    assert!(!quote.deliverable && !methods(&quote)[0].groups.is_empty());
}

#[test]
fn rates_depend_on_weight_and_on_what_the_goods_cost() {
    let shop = terms(json!({"shipping": {"rates": [
        {"id": "std", "title": "Standard", "price": 300, "max_grams": 1000},
        {"id": "std", "title": "Standard", "price": 700, "max_grams": 5000},
        {"id": "std", "title": "Standard", "price": 900},
        {"id": "van", "title": "Van", "price": 100, "min_subtotal": 500, "below_subtotal": 1000},
    ]}}));
    let offered = |quantity| {
        let quote = update(&shop, &[(good("a", 100), quantity)], to("US"), &Previous::default());
        options(&quote).into_iter().map(|(id, amount)| (id.to_owned(), amount)).collect::<Vec<_>>()
    };
    let std = |amount| ("std".to_owned(), amount);
    let van = ("van".to_owned(), 100);
    assert_eq!(offered(1), [std(300)]);
    assert_eq!(offered(2), [std(700)]);
    assert_eq!(offered(5), [van.clone(), std(700)]);
    assert_eq!(offered(9), [van, std(900)]);
    assert_eq!(offered(10), [std(900)]);
}

fn with_pickup(together: bool) -> Terms {
    terms(json!({
        "shipping": {"rates": [{"id": "std", "title": "Standard", "price": 500}], "separate": [["frozen"]]},
        "pickup": {"places": [{"id": "uptown", "name": "Uptown Store", "ready_after_days": 1, "price": 50,
            "address": {"address_country": "US", "address_region": "IL"}}]},
        "shipping_with_pickup": together,
    }))
}

#[test]
fn goods_are_picked_up_at_the_places_of_the_shop() {
    let quote = update(&with_pickup(false), &pot(), json!([{"kind": "pickup"}]), &Previous::default());
    let method = &methods(&quote)[0];
    assert_eq!((method.id.as_str(), method.selected_destination_id.as_deref()), ("pickup_1", Some("uptown")));
    assert_eq!(method.destinations[0].name.as_deref(), Some("Uptown Store"));
    assert_eq!(method.groups[0].options[0].title, "Pickup at Uptown Store");
    assert_eq!(options(&quote), [("pickup", 50)]);
    assert_eq!(quote.totals[1].display_text.as_deref(), Some("Pickup"));
    let kinds: Vec<_> =
        quote.fulfillment.iter().flat_map(|all| &all.available_methods).map(|method| method.kind).collect();
    assert_eq!(kinds, [MethodKind::Shipping, MethodKind::Pickup]);
}

/// Two places with this much of `mug` and `pot`.
fn stocked(mug: [u64; 2], pot: [u64; 2]) -> (Terms, Vec<ItemFacts>) {
    let place = |id: &str, name: &str| json!({"id": id, "name": name, "address": {"address_country": "US"}});
    let terms = terms(json!({
        "shipping": {"rates": [{"id": "std", "title": "Standard", "price": 500}]},
        "pickup": {"places": [place("uptown", "Uptown Store"), place("harbour", "Harbour Store")]},
    }));
    let good = |id, [uptown, harbour]: [u64; 2]| {
        let stock = [("uptown", uptown), ("harbour", harbour)].map(|(id, count)| (id.to_owned(), count));
        ItemFacts { stock_by_location: Some(stock.into()), ..good(id, 1_000) }
    };
    (terms, vec![good("mug", mug), good("pot", pot)])
}

#[test]
fn goods_are_picked_up_where_all_of_them_are() {
    let pickup = || json!([{"kind": "pickup"}]);
    let places = |quote: &Quote| -> Vec<String> {
        methods(quote)[0].destinations.iter().map(|destination| destination.id.clone()).collect()
    };
    let (terms, goods) = stocked([3, 1], [1, 1]);
    let both = |mugs| vec![(goods[0].clone(), mugs), (goods[1].clone(), 1)];
    let either = update(&terms, &both(1), pickup(), &Previous::default());
    assert_eq!(places(&either), ["uptown", "harbour"]);
    assert_eq!(said(&either), [pair("field_required", "$.fulfillment.methods[0].selected_destination_id")]);
    // The only place that has enough is chosen.
    let one = update(&terms, &both(2), pickup(), &Previous::default());
    assert_eq!((places(&one), one.deliverable), (vec!["uptown".to_owned()], true));
    // Lines of one variant share what a place has.
    let split = vec![(goods[0].clone(), 2), (goods[0].clone(), 2)];
    let nowhere = update(&terms, &split, pickup(), &Previous::default());
    assert_eq!(said(&nowhere), [pair("fulfillment_unavailable", "$.fulfillment.methods[0]")]);
    assert!(places(&nowhere).is_empty() && !nowhere.deliverable);
}

#[test]
fn pickup_is_available_for_the_lines_that_a_place_has() {
    let available = |mug, pot| -> Vec<(MethodKind, usize, String, Option<Vec<String>>)> {
        let (terms, goods) = stocked(mug, pot);
        let goods: Vec<_> = goods.into_iter().map(|good| (good, 2)).collect();
        let quote = update(&terms, &goods, to("US"), &Previous::default());
        let methods = quote.fulfillment.expect("a delivery").available_methods.into_iter();
        methods
            .map(|own| (own.kind, own.line_item_ids.len(), own.description.unwrap_or_default(), own.place_ids))
            .collect()
    };
    let shipping = || (MethodKind::Shipping, 2, "The goods can be sent to an address.".to_owned(), None);
    let pickup = |lines, text: &str, able: &[&str]| {
        (MethodKind::Pickup, lines, text.to_owned(), Some(able.iter().map(|id| (*id).to_owned()).collect()))
    };
    let all = "The goods can be picked up at Uptown Store or Harbour Store.";
    assert_eq!(available([2, 0], [0, 2]), [shipping(), pickup(2, all, &[])]);
    assert_eq!(available([2, 2], [0, 2]), [shipping(), pickup(2, all, &["harbour"])]);
    let some = "Some of the goods can be picked up at Harbour Store.";
    assert_eq!(available([1, 1], [0, 2]), [shipping(), pickup(1, some, &[])]);
    assert_eq!(available([1, 1], [0, 0]), [shipping()]);
}

#[test]
fn a_chosen_place_that_has_the_goods_no_more_is_named_with_the_line() {
    let choice = json!([{"kind": "pickup", "selected_destination_id": "uptown"}]);
    let (terms, goods) = stocked([3, 3], [1, 1]);
    let wanted = |goods: &[ItemFacts]| vec![(goods[0].clone(), 2), (goods[1].clone(), 1)];
    let first = update(&terms, &wanted(&goods), choice.clone(), &Previous::default());
    assert!(first.deliverable && first.messages.is_empty(), "{:?}", first.messages);
    let (_, goods) = stocked([1, 3], [1, 1]);
    for methods_stated in [choice, json!([{"kind": "pickup"}])] {
        let second = update(&terms, &wanted(&goods), methods_stated, &previous(&first));
        assert_eq!(
            said(&second),
            [pair("fulfillment_unavailable", "$.fulfillment.methods[0].selected_destination_id")]
        );
        let content = serde_json::to_value(&second.messages[0]).expect("JSON")["content"].clone();
        assert_eq!(content, "Uptown Store does not have enough of The mug; choose another place.");
        let method = &methods(&second)[0];
        assert_eq!((method.selected_destination_id.as_deref(), method.groups.len()), (Some("uptown"), 0));
        assert!(!second.deliverable);
        let other = json!([{"kind": "pickup", "selected_destination_id": "harbour"}]);
        assert!(update(&terms, &wanted(&goods), other, &previous(&second)).deliverable);
    }
    // A place that the shop states no more is named as it was.
    let mut closed = terms.clone();
    closed.pickup.places.remove(0);
    let second = update(&closed, &wanted(&goods), json!([{"kind": "pickup"}]), &previous(&first));
    let content = serde_json::to_value(&second.messages[0]).expect("JSON")["content"].clone();
    assert_eq!(content, "Uptown Store no longer has all of these goods; choose another place.");
}

#[test]
fn methods_are_combined_only_where_the_shop_allows_it() {
    let goods = vec![(good("a", 100), 1), (good("b", 100), 1)];
    let both = json!([
        {"kind": "pickup", "line_item_ids": ["b"]},
        {"kind": "shipping", "destinations": [{"address": {"address_country": "US"}}]},
    ]);
    let quote = update(&with_pickup(true), &goods, both.clone(), &Previous::default());
    assert_eq!(methods(&quote)[0].line_item_ids, ["li_2"]);
    assert_eq!(methods(&quote)[1].line_item_ids, ["li_1"]);
    assert_eq!(amounts(&quote.totals), [("subtotal", 200), ("fulfillment", 500), ("fulfillment", 50), ("total", 750)]);
    assert!(quote.deliverable && quote.messages.is_empty());
    let refused = pair("fulfillment_combination_disallowed", "$.fulfillment.methods[1]");
    assert_eq!(said(&update(&with_pickup(false), &goods, both, &Previous::default())), std::slice::from_ref(&refused));
    let two = json!([
        {"kind": "shipping", "line_item_ids": ["b"], "destinations": [{"address": {"address_country": "CA"}}]},
        {"kind": "shipping", "destinations": [{"address": {"address_country": "US"}}]},
    ]);
    assert_eq!(said(&update(&with_pickup(false), &goods, two.clone(), &Previous::default())), [refused]);
    let mut several = with_pickup(false);
    several.shipping.several_destinations = true;
    assert_eq!(said(&update(&several, &goods, two, &Previous::default())), []);
}

#[test]
fn only_platforms_that_can_show_them_get_several_groups() {
    let goods = vec![(good("a", 100), 1), (good("frozen", 100), 1), (good("b", 100), 1)];
    let ask = |multi_group| {
        let caller = caller_with(&[DISCOUNT, crate::operation::FULFILLMENT], multi_group);
        let quote = try_update(&with_pickup(false), &caller, &goods, None, to("US"), &Previous::default());
        let quote = quote.expect("a quote");
        let groups: Vec<_> =
            methods(&quote)[0].groups.iter().map(|group| (group.id.clone(), group.line_item_ids.clone())).collect();
        (groups, amounts(&quote.totals)[1])
    };
    let group =
        |id: &str, lines: &[&str]| (id.to_owned(), lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>());
    assert_eq!(ask(false), (vec![group("package_1", &["li_1", "li_2", "li_3"])], ("fulfillment", 500)));
    let two = vec![group("package_1", &["li_1", "li_3"]), group("package_2", &["li_2"])];
    assert_eq!(ask(true), (two, ("fulfillment", 1_000)));
}

#[test]
fn what_needs_no_delivery_gets_none() {
    let digital = ItemFacts { needs_fulfillment: false, ..good("song", 100) };
    let alone = update(&flower_shop(), &[(digital.clone(), 1)], to("US"), &Previous::default());
    assert_eq!((alone.fulfillment, alone.deliverable, alone.messages), (None, true, vec![]));
    let goods = vec![(digital, 1), (good("a", 100), 1)];
    let mixed = update(&flower_shop(), &goods, to("US"), &Previous::default());
    assert_eq!(methods(&mixed)[0].line_item_ids, ["li_2"]);
}

#[test]
fn what_is_not_said_about_delivery_is_asked_for() {
    let none = update(&flower_shop(), &pot(), json!([]), &Previous::default());
    assert_eq!(said(&none), [pair("fulfillment_required", "$.fulfillment.methods")]);
    assert!(!none.deliverable && none.fulfillment.is_some());
    let elsewhere =
        update(&flower_shop(), &pot(), json!([{"kind": "shipping", "line_item_ids": []}]), &Previous::default());
    assert_eq!(said(&elsewhere), [pair("fulfillment_required", "$.line_items[0]")]);
    let nowhere = update(&flower_shop(), &pot(), json!([{"kind": "shipping"}]), &Previous::default());
    assert_eq!(said(&nowhere), [pair("field_required", "$.fulfillment.methods[0].destinations")]);
    let pickup = update(&flower_shop(), &pot(), json!([{"kind": "pickup"}]), &Previous::default());
    assert_eq!(said(&pickup), [pair("fulfillment_unavailable", "$.fulfillment.methods[0]")]);
    // Nothing is sent at all, or the platform cannot say how and the buyer has not said it in person.
    let (draft, facts) = purchase(&pot());
    let unsaid =
        quote(Purpose::Checkout, &draft, &facts, &flower_shop(), &caller_with(&[], false), &Previous::default());
    let unsent = try_update(&Terms::default(), &caller(), &pot(), None, to("US"), &Previous::default());
    for quote in [unsaid, unsent] {
        let quote = quote.expect("a quote");
        assert_eq!((quote.fulfillment, quote.deliverable), (None, false));
        assert_eq!(
            crate::checkout::State::opened(&quote.messages).status(),
            crate::checkout::Status::RequiresEscalation
        );
    }
}

#[test]
fn what_does_not_exist_is_refused_with_its_path() {
    let cases = [
        ("methods[0].type", json!([{"kind": "drone"}])),
        ("methods[0].type", json!([{}])),
        ("methods[0].type", json!([{"id": "what"}])),
        ("methods[1].id", json!([{"kind": "shipping", "id": "x"}, {"kind": "pickup", "id": "x"}])),
        ("methods[0].line_item_ids[1]", json!([{"kind": "shipping", "line_item_ids": ["li_1", "li_2"]}])),
        (
            "methods[1].line_item_ids[0]",
            json!([{"kind": "shipping", "line_item_ids": ["li_1"]}, {"kind": "shipping", "line_item_ids": ["li_1"]}]),
        ),
        (
            "methods[0].groups[1].id",
            json!([{"kind": "shipping", "groups": [{"id": "package_1"}, {"id": "package_2"}]}]),
        ),
        (
            "methods[0].destinations[1].id",
            json!([{"kind": "shipping", "destinations": [
                {"id": "x", "address": {"address_country": "US"}}, {"id": "x", "address": {"address_country": "CA"}}]}]),
        ),
    ];
    for (path, methods) in cases {
        let refusal =
            try_update(&flower_shop(), &caller(), &pot(), None, methods, &Previous::default()).expect_err(path);
        assert_eq!(refusal.path, Some(format!("$.fulfillment.{path}")));
        assert!(refusal.accepted.is_some(), "{path}");
    }
}
