//! Tests that requests are rejected if, and only if, the published schemas exclude them.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use ucp_core::call::DirectoryRequest;
use ucp_core::{Operation, Release, Request, merchant::criteria::Policy};

use crate::{
    codec::read,
    releases::dialect,
    schema::{self, Direction},
};

/// Objects with some of these members, each with one of its values.
fn object(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let pairs: Vec<_> = members
        .into_iter()
        .map(|(name, values)| {
            prop::option::of(values).prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    pairs.prop_map(|pairs| Value::Object(pairs.into_iter().flatten().collect())).boxed()
}

fn one_of(values: &[Value]) -> BoxedStrategy<Value> {
    select(values.to_vec()).boxed()
}

fn text(texts: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop_oneof![4 => select(texts).prop_map(Value::from), 1 => any::<String>().prop_map(Value::from)].boxed()
}

fn category() -> BoxedStrategy<Value> {
    let parts =
        prop::collection::vec(select(vec!["Pizza", " ", "", "\u{85}", "\u{1c}", "\u{feff}", "\n", "é", ">"]), 0..5);
    prop_oneof![parts.prop_map(|parts| json!(parts.join(">"))), text(&["Restaurants > Pizza", ">", ""])].boxed()
}

fn address() -> BoxedStrategy<Value> {
    let member = || text(&["US", "", " ", "-", "\u{300}", "CA", "94105"]);
    let names = ["address_country", "address_region", "address_locality", "postal_code", "first_name", "planet"];
    object(names.into_iter().map(|name| (name, member())).collect())
}

fn instant() -> BoxedStrategy<Value> {
    let number = |from: u32, to: u32| (from..to).prop_map(|number| format!("{number:02}"));
    let year = select(vec!["2026", "2024", "1900", "2000", "0000", "9998", "9999", "20261"]);
    let zone = prop_oneof![
        select(vec!["Z", "z", "", "+00:00", "-23:59", "+24:00", "+14:60", "[UTC]", "+0100", " Z"])
            .prop_map(str::to_owned),
        (number(0, 26), number(0, 62)).prop_map(|(hours, minutes)| format!("+{hours}:{minutes}")),
    ];
    let fraction = select(vec!["", "", ".", ".5", ".123456789", ".1234567890", ",5"]);
    let date = (year, number(0, 14), number(0, 33));
    let clock = (select(vec!["T", "t", " "]), number(0, 26), number(0, 62), number(58, 62));
    let made =
        (date, clock, fraction, zone).prop_map(|((year, month, day), (t, hour, minute, second), fraction, zone)| {
            json!(format!("{year}-{month}-{day}{t}{hour}:{minute}:{second}{fraction}{zone}"))
        });
    let usual = text(&["2026-05-18T17:00:00-07:00", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "2026-05-18"]);
    prop_oneof![4 => made, 1 => usual].boxed()
}

fn distance() -> BoxedStrategy<Value> {
    let degrees = || one_of(&[json!(0), json!(37.5), json!(-90), json!(90.5), json!(181), json!("1")]);
    let center = object(vec![("latitude", degrees()), ("longitude", degrees())]);
    object(vec![("center", center), ("max", one_of(&[json!(0), json!(-1), json!(5e3), json!(1e308), json!(null)]))])
}

fn location_filters() -> BoxedStrategy<Value> {
    let names = text(&["dev.ucp.amenity.wi_fi", "wifi", "a.b_", "a.b-", "A.b", "a..b", "a.-b", "a.b\n", ""]);
    object(vec![
        ("hours", object(vec![("open_at", instant()), ("open_until", one_of(&[json!(1)]))])),
        ("amenities", prop::collection::vec(names, 0..3).prop_map(Value::from).boxed()),
        ("items", one_of(&[json!([])])),
    ])
}

fn merchants() -> BoxedStrategy<Value> {
    let radius = object(vec![
        ("value", one_of(&[json!(8), json!(0.0), json!(-1), json!(1e308), json!("8")])),
        ("unit", one_of(&[json!("km"), json!("mi"), json!("league")])),
    ]);
    let location = object(vec![("address", address()), ("radius", radius), ("polygon", one_of(&[json!([])]))]);
    let filters = object(vec![
        ("category", category()),
        ("open_now", one_of(&[json!(true), json!(false), json!("yes")])),
        ("fulfillment_method", one_of(&[json!("shipping"), json!("pickup"), json!("drone")])),
        ("location", location),
        ("stars", one_of(&[json!(3)])),
    ]);
    let limit = one_of(&[json!(0), json!(1), json!(25), json!(25.0), json!(26), json!(1e30), json!(2.5)]);
    object(vec![
        ("query", prop_oneof![9 => text(&["", "pizza"]), 1 => Just(json!(3))].boxed()),
        ("filters", filters),
        ("context", object(vec![("country", text(&["US", "us", "USA"]))])),
        ("pagination", object(vec![("limit", limit)])),
        ("anything", one_of(&[json!(1)])),
    ])
}

fn locations(lookup: bool) -> BoxedStrategy<Value> {
    let serves = one_of(&[json!({}), json!({ "point": { "latitude": 1, "longitude": 1 } }), json!({ "a": 1, "b": 2 })]);
    let serves = prop_oneof![1 => serves.prop_map(Some), 5 => Just(None)];
    let limit = one_of(&[json!(0), json!(1), json!(26), json!(1e30), json!(2.5)]);
    let ids = one_of(&[json!([]), json!(["a"]), json!(["a", "a", ""]), json!([1])]);
    let mut members = vec![("distance", distance()), ("filters", location_filters())];
    if lookup {
        members.push(("ids", ids));
    } else {
        members.push(("query", text(&["", "pizza"])));
        members.push(("pagination", object(vec![("limit", limit)])));
    }
    (object(members), serves)
        .prop_map(|(mut payload, serves)| {
            if let Some(serves) = serves {
                payload["serves"] = serves;
            }
            payload
        })
        .boxed()
}

/// Returns `true` if the gateway carries a request out as far as the request decides about it.
fn is_taken(operation: Operation, payload: Value) -> bool {
    let policy = Policy::default();
    match read(dialect(Release::NEWEST), operation, None, payload, &[]) {
        Ok(Request::Directory(DirectoryRequest::SearchMerchants(request))) => request.filters.check(&policy).is_ok(),
        Ok(Request::Directory(DirectoryRequest::SearchLocations(request))) => request.demands.criteria(&policy).is_ok(),
        Ok(Request::Directory(DirectoryRequest::LookupLocations(request))) => request.demands.criteria(&policy).is_ok(),
        Ok(other) => panic!("another operation: {other:?}"),
        Err(_) => false,
    }
}

fn published(operation: Operation) -> jsonschema::Validator {
    let mut generator = schema::generator(Direction::Request);
    let shapes = dialect(Release::NEWEST).shapes(operation).expect("an operation of the release");
    let schema = schema::bundle(&mut generator, |generator| shapes.request(generator).expect("a request"));
    assert!(!schema.to_string().contains("x-left-to-domain"), "{schema}");
    schema::validator(&schema)
}

/// Holds many requests against the schema and against the gateway; both kinds of verdict have to occur.
fn held_against(operation: Operation, requests: &BoxedStrategy<Value>) {
    let schema = published(operation);
    let (mut taken, mut refused) = (0, 0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(20_000));
    let outcome = runner.run(requests, |payload| {
        let (fits, carried_out) = (schema.is_valid(&payload), is_taken(operation, payload.clone()));
        prop_assert_eq!(fits, carried_out, "{}", payload);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..2_000 {
        let payload = requests.new_tree(&mut runner).expect("a request").current();
        *(if schema.is_valid(&payload) { &mut taken } else { &mut refused }) += 1;
    }
    assert!(taken > 20 && refused > 20, "{taken} taken, {refused} refused");
}

#[test]
fn searches_for_merchants_are_refused_as_their_schema_says() {
    held_against(Operation::SearchMerchants, &merchants());
}

#[test]
fn searches_for_locations_are_refused_as_their_schema_says() {
    held_against(Operation::SearchLocations, &locations(false));
}

#[test]
fn lookups_of_locations_are_refused_as_their_schema_says() {
    held_against(Operation::LookupLocations, &locations(true));
}

#[test]
fn instants_are_read_as_the_pattern_says() {
    let instants = instant().prop_map(|instant| json!({ "filters": { "hours": { "open_at": instant } } }));
    held_against(Operation::SearchLocations, &instants.boxed());
}

#[test]
fn categories_and_places_are_read_as_the_schema_says() {
    let filters = prop_oneof![
        category().prop_map(|category| json!({ "category": category })),
        address().prop_map(|address| json!({ "location": { "address": address } })),
        address().prop_map(|address| {
            json!({ "location": { "address": address, "radius": { "value": 1, "unit": "mi" } } })
        }),
    ];
    let requests = filters.prop_map(|filters| json!({ "query": "", "filters": filters }));
    held_against(Operation::SearchMerchants, &requests.boxed());
}
