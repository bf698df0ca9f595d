//! `search_merchants` and `get_merchant`.

use ucp_core::{
    Code,
    merchant::{detail, record::CombinedMethod},
    message::Severity,
};

use super::{super::detail::detail, *};

fn refused(request: &search::Request) -> Refusal {
    run(search_merchants(&directory(), &PlainCursors, &Map::default(), request, at(EVENING))).expect_err("refused")
}

#[test]
fn late_night_pizza_near_an_address_is_found() {
    let request = search::Request {
        query: "late-night pizza".into(),
        context: american(),
        filters: Filters {
            category: Some("Restaurants".into()),
            open_now: Some(true),
            fulfillment_method: Some(CombinedMethod::Shipping),
            location: near("94105", 8.0),
            unknown: vec![],
        },
        cursor: None,
        limit: Some(20),
    };
    let answer = found(&directory(), &request);
    assert_eq!(names(&answer), ["mch_abc123"]);
    // Everything public of a merchant is shown, what matched first.
    let shown: Vec<_> = answer.merchants[0].locations().map(|(location, _)| location.id.as_str()).collect();
    assert_eq!(shown, ["loc_mission", "loc_oakland"]);
    assert_eq!((answer.total, answer.cursor), (Some(1), None));
    assert_eq!(answer.messages.iter().map(code).collect::<Vec<_>>(), ["LOCATION_APPROXIMATED"]);

    let street = |mut request: search::Request| {
        let filter = request.filters.location.as_mut().expect("a filter");
        filter.address.as_mut().expect("an address").street_address = Some("1 Main St".into());
        request
    };
    assert_eq!(found(&directory(), &street(request)).messages, []);
}

#[test]
fn order_is_by_words_then_by_distance() {
    let request = |query: &str, filters: Filters| search::Request {
        query: query.into(),
        filters,
        context: american(),
        ..search::Request::default()
    };
    let near = Filters { location: near("94105", 8.0), ..Filters::default() };
    assert_eq!(names(&found(&directory(), &request("", near.clone()))), ["mch_diner", "mch_abc123"]);
    assert_eq!(names(&found(&directory(), &request("late pizza", near))), ["mch_abc123", "mch_diner"]);
    assert_eq!(names(&found(&directory(), &request("calzones", Filters::default()))), ["mch_abc123"]);
    let nothing = found(&directory(), &request("haberdashery", Filters::default()));
    assert_eq!((nothing.merchants.len(), nothing.total, nothing.messages.len()), (0, Some(0), 0));
}

#[test]
fn an_address_that_nobody_knows_finds_nothing_and_says_so() {
    for (postal_code, context) in [("00000", american()), ("94105", Context::default())] {
        let filters = Filters { location: near(postal_code, 8.0), ..Filters::default() };
        let answer = found(&directory(), &search::Request { filters, context, ..search::Request::default() });
        assert_eq!((answer.merchants.len(), answer.total), (0, Some(0)));
        let [Message::Error { code, severity, path, .. }] = &answer.messages[..] else { panic!("one error") };
        assert_eq!((code.as_str(), *severity), ("LOCATION_UNRESOLVED", Severity::Recoverable));
        assert_eq!(path.as_deref(), Some("$.filters.location.address"));
    }
}

#[test]
fn an_address_of_blanks_is_nowhere_and_never_everywhere() {
    let addressed = |postal_code: &str| {
        let address = PostalAddress { postal_code: Some(postal_code.to_owned()), ..PostalAddress::default() };
        let location = Some(LocationFilter { address: Some(address), radius: None });
        search::Request { filters: Filters { location, ..Filters::default() }, ..search::Request::default() }
    };
    for blank in [" ", "-", "\u{300}"] {
        let answer = found(&directory(), &addressed(blank));
        assert_eq!((answer.merchants.len(), answer.total), (0, Some(0)));
        assert_eq!(answer.messages.iter().map(code).collect::<Vec<_>>(), ["LOCATION_UNRESOLVED"]);
    }
    assert_eq!(refused(&addressed("")).path.as_deref(), Some("$.filters.location.address"));
}

#[test]
fn a_radius_of_too_many_metres_reaches_around_the_earth() {
    let reached = |miles: f64| {
        let filters = Filters { location: near("94105", miles), ..Filters::default() };
        let request = search::Request { filters, context: american(), ..search::Request::default() };
        run(search_merchants(&directory(), &PlainCursors, &Map::default(), &request, at(EVENING)))
            .map(|found| found.total)
    };
    assert_eq!(reached(f64::MAX), reached(20_000.0));
    assert!(reached(f64::NAN).is_err() && reached(f64::INFINITY).is_err() && reached(-1.0).is_err());
}

#[test]
fn the_country_of_the_address_goes_before_that_of_the_context() {
    let map = Map::default();
    let ask = |country: Option<&str>| {
        let mut filters = Filters { location: near("94105", 8.0), ..Filters::default() };
        let address = filters.location.as_mut().and_then(|filter| filter.address.as_mut()).expect("an address");
        address.address_country = country.map(str::to_owned);
        let request = search::Request { filters, context: american(), ..search::Request::default() };
        run(search_merchants(&directory(), &PlainCursors, &map, &request, at(EVENING))).expect("an answer");
    };
    ask(None);
    ask(Some(" "));
    ask(Some("CA"));
    let asked: Vec<_> =
        map.asked.lock().expect("no panic").iter().map(|address| address.address_country.clone()).collect();
    assert_eq!(asked, [Some("US".into()), Some("US".into()), Some("CA".into())]);
}

#[test]
fn an_address_without_a_radius_is_a_place_to_be_in() {
    let filter = |address: PostalAddress| Filters {
        location: Some(LocationFilter { address: Some(address), radius: None }),
        ..Filters::default()
    };
    let request = |filters| search::Request { filters, ..search::Request::default() };
    let town = PostalAddress {
        address_locality: Some("SAN FRANCISCO".into()),
        address_region: Some("California".into()),
        ..PostalAddress::default()
    };
    let answer = found(&directory(), &request(filter(town.clone())));
    assert_eq!(names(&answer), ["mch_diner", "mch_abc123"]);
    let code =
        PostalAddress { postal_code: Some("94110-0001".into()), street_address: Some("elsewhere".into()), ..town };
    assert_eq!(names(&found(&directory(), &request(filter(code)))), ["mch_abc123"]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    let street = PostalAddress { street_address: Some("1 Main St".into()), ..PostalAddress::default() };
    let radius = |value| Some(Radius { value, unit: Unit::Kilometre });
    let location =
        |address, radius| Filters { location: Some(LocationFilter { address, radius }), ..Filters::default() };
    for (filters, path) in [
        (Filters { unknown: vec!["open_late".into()], ..Filters::default() }, "$.filters['open_late']"),
        (Filters { category: Some(" ".into()), ..Filters::default() }, "$.filters.category"),
        (Filters { category: Some("Restaurants > ".into()), ..Filters::default() }, "$.filters.category"),
        (location(None, None), "$.filters.location"),
        (location(None, radius(1.0)), "$.filters.location"),
        (location(Some(PostalAddress::default()), None), "$.filters.location.address"),
        (location(Some(PostalAddress::default()), radius(1.0)), "$.filters.location.address"),
        (location(Some(street.clone()), None), "$.filters.location.address"),
        (location(Some(street.clone()), radius(-1.0)), "$.filters.location.radius.value"),
        (location(Some(street), radius(f64::NAN)), "$.filters.location.radius.value"),
    ] {
        let refusal = refused(&search::Request { filters, ..search::Request::default() });
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some(path)));
        assert!(refusal.accepted.is_some(), "{path}");
    }
    for limit in [0, 26, u64::MAX] {
        let refusal = refused(&search::Request { limit: Some(limit), ..search::Request::default() });
        assert_eq!(refusal.path.as_deref(), Some("$.pagination.limit"));
    }
    let capped = Directory { policy: Policy { max_radius: Some(10_000.0), ..Policy::default() }, ..directory() };
    let ask = |miles| {
        let filters = Filters { location: near("94105", miles), ..Filters::default() };
        let request = search::Request { filters, ..search::Request::default() };
        run(search_merchants(&capped, &PlainCursors, &Map::default(), &request, at(EVENING)))
    };
    assert_eq!(ask(8.0).expect_err("too far").path.as_deref(), Some("$.filters.location.radius.value"));
    assert!(ask(6.0).is_ok());
}

#[test]
fn pages_follow_each_other_as_of_the_first() {
    let mut request = search::Request {
        filters: Filters { open_now: Some(true), ..Filters::default() },
        limit: Some(1),
        ..search::Request::default()
    };
    let directory = directory();
    let first = found(&directory, &request);
    assert_eq!((names(&first), first.total), (vec!["mch_diner"], Some(2)));
    request.cursor = first.cursor;
    // Long after both have closed.
    let later = run(search_merchants(&directory, &PlainCursors, &Map::default(), &request, at("2026-11-23T20:00:00Z")))
        .expect("a page");
    assert_eq!((names(&later), &later.cursor), (vec!["mch_abc123"], &None));

    // The page size may change, nothing else may.
    request.limit = Some(25);
    assert_eq!(names(&found(&directory, &request)), ["mch_abc123"]);
    for other in [
        search::Request { query: "pizza".into(), ..request.clone() },
        search::Request { context: american(), ..request.clone() },
        search::Request { filters: Filters::default(), ..request.clone() },
        search::Request {
            filters: Filters { fulfillment_method: Some(CombinedMethod::Pickup), ..request.filters.clone() },
            ..request.clone()
        },
        search::Request {
            filters: Filters { category: Some("Shops".into()), ..request.filters.clone() },
            ..request.clone()
        },
        search::Request { cursor: Some("abc".into()), ..request.clone() },
    ] {
        assert_eq!(refused(&other).code, Code::InvalidCursor);
    }
}

#[test]
fn places_and_radii_tell_queries_apart() {
    let directory = directory();
    let ask = |location: Option<LocationFilter>, cursor: Option<String>| {
        let filters = Filters { location, ..Filters::default() };
        let request =
            search::Request { filters, cursor, context: american(), limit: Some(1), ..search::Request::default() };
        run(search_merchants(&directory, &PlainCursors, &Map::default(), &request, at(EVENING)))
    };
    let cursor = ask(near("94105", 8.0), None).expect("a page").cursor;
    assert!(cursor.is_some() && ask(near("94105", 8.0), cursor.clone()).is_ok());
    assert_eq!(ask(near("94105", 8.1), cursor).expect_err("another radius").code, Code::InvalidCursor);
    let within = |region: &str| {
        let address = PostalAddress { address_region: Some(region.into()), ..PostalAddress::default() };
        Some(LocationFilter { address: Some(address), radius: None })
    };
    let cursor = ask(within("CA"), None).expect("a page").cursor;
    assert!(cursor.is_some() && ask(within("CA"), cursor.clone()).is_ok());
    assert_eq!(ask(within("NV"), cursor).expect_err("another place").code, Code::InvalidCursor);
}

#[test]
fn a_page_holds_ten_unless_asked_otherwise() {
    let count = |limit| found(&directory(), &search::Request { limit, ..search::Request::default() }).merchants.len();
    assert_eq!((count(None), count(Some(1)), count(Some(25))), (10, 1, 25));
}

#[test]
fn holidays_and_restricted_regions_are_told() {
    let request = search::Request { query: "owl".into(), ..search::Request::default() };
    let on = |instant: &str| {
        run(search_merchants(&directory(), &PlainCursors, &Map::default(), &request, at(instant)))
            .expect("an answer")
            .messages
    };
    assert_eq!(on(EVENING), []);
    // Christmas begins when it does in San Francisco.
    assert_eq!(on("2026-12-25T07:59:59Z"), []);
    let [Message::Warning { code: holiday, content, path, .. }] = &on("2026-12-25T08:00:00Z")[..] else {
        panic!("one warning")
    };
    assert_eq!((holiday.as_str(), path.as_deref()), ("HOLIDAY_HOURS", Some("$.merchants[0]")));
    assert!(content.contains("Christmas"));

    let policy = Policy { restricted_regions: vec!["CU".into(), "US-CA".into()], ..Policy::default() };
    let directory = Directory { policy, ..directory() };
    let ask = |country: &str, region: Option<&str>| {
        let context =
            Context { country: Some(country.into()), region: region.map(str::to_owned), ..Context::default() };
        let request = search::Request { context: context.clone(), ..search::Request::default() };
        let answer = found(&directory, &request);
        let opened = run(detail(&directory, &detail::Request { id: "mch_diner".into(), context }, at(EVENING)))
            .expect("an answer");
        let codes: Vec<_> =
            answer.messages.iter().chain(&opened.messages).map(|message| code(message).to_owned()).collect();
        assert_eq!(answer.merchants.is_empty(), opened.merchant.is_none());
        codes
    };
    assert_eq!(ask("CU", None), ["REGION_RESTRICTED"; 2]);
    assert_eq!(ask("US", Some("California")), ["REGION_RESTRICTED"; 2]);
    assert_eq!(ask("US", Some("NV")), [""; 0]);
    assert_eq!(ask("US", None), [""; 0]);
}

#[test]
fn a_merchant_is_opened_by_id_and_an_unknown_one_is_no_failure() {
    let open = |id: &str, language: &str, instant: &str| {
        let context = Context { languages: vec![language.into()], ..Context::default() };
        run(detail(&directory(), &detail::Request { id: id.into(), context }, at(instant))).expect("an answer")
    };
    let owl = open("mch_abc123", "ja-JP", "2026-12-25T20:00:00Z");
    let listing = owl.merchant.expect("a merchant");
    assert_eq!(listing.name(), "ナイトオウルピザ");
    assert_eq!(listing.locations().map(|(_, name)| name).collect::<Vec<_>>(), ["Mission", "オークランド"]);
    let [Message::Warning { path, .. }] = &owl.messages[..] else { panic!("one warning") };
    assert_eq!(path.as_deref(), Some("$.merchant"));
    for unknown in ["mch_ABC123", "", "gid://x/1"] {
        let nothing = open(unknown, "en", EVENING);
        assert!(nothing.merchant.is_none());
        assert_eq!(
            nothing.messages,
            [Message::error("NOT_FOUND", "The requested merchant ID does not exist", Severity::Recoverable)]
        );
    }
}
