//! Merchants and locations in every release.

use ucp_core::call::DirectoryRequest;
use ucp_core::{
    Request,
    merchant::{
        detail,
        listing::Listing,
        location,
        record::CombinedMethod,
        record::Merchant,
        search::{self, Unit},
    },
    negotiation::{Names, OwnName},
    operation::{MERCHANT, RESTAURANT},
};

use super::*;

/// A merchant that states everything, also what only its operator has to know.
fn merchant() -> Arc<Merchant> {
    let merchant = json!({
        "id": "m", "name": "Night Owl", "language": "en", "methods": ["pickup"],
        "description": { "plain": "Pizza" }, "url": "https://owl.example/", "category": "Restaurants > Pizza",
        "media": [{ "type": "image", "url": "https://owl.example/a.jpg" }], "tags": ["pizza"],
        "fulfillment_config": {
            "allows_multi_destination": { "shipping": true },
            "allows_method_combinations": [["pickup", "shipping"]]
        },
        "metadata": { "seats": 4 },
        "translations": { "ja": { "name": "ナイトオウル" } },
        "x-own": 1,
        "locations": [
            {
                "id": "l", "name": "Counter", "aliases": ["old"], "names": { "ja": "一番" }, "methods": ["delivery"],
                "address": { "street_address": "1 A Street", "postal_code": "94105", "address_country": "US" },
                "geo": { "latitude": 37.5, "longitude": -122.25, "source": "survey", "precision": "street" },
                "timezone": "America/Los_Angeles",
                "hours": [{ "day": "monday", "opens": "17:00", "closes": "02:00" }],
                "exception_hours": [{ "valid_from": "2026-12-25", "valid_through": "2026-12-25", "title": "Christmas" }],
                "amenities": { "dev.ucp.amenity.wi_fi": { "description": "Free" } }
            },
            { "id": "hidden", "name": "Kitchen", "public": false }
        ]
    });
    let merchant: Merchant = serde_json::from_value(merchant).expect("a merchant");
    Arc::new(merchant.check().expect("nothing is wrong with it"))
}

/// An answer of an operation of the directory that says everything it can say.
pub(super) fn answer(operation: Operation, messages: Vec<Message>) -> Answer {
    let listing = || Listing::new(merchant(), &[], &["ja".to_owned()]);
    let listed = |inputs: &[&str]| location::Listed {
        merchant: merchant(),
        place: 0,
        translation: None,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
    };
    let cursor = Some("next".to_owned());
    match operation {
        Operation::SearchMerchants => {
            Answer::Merchants(search::Found { merchants: vec![listing()], cursor, total: Some(2), messages })
        }
        Operation::GetMerchant => Answer::Merchant(detail::Detail { merchant: Some(listing()), messages }),
        Operation::SearchLocations => {
            Answer::Locations(location::Found { locations: vec![listed(&[])], cursor, total: None, messages })
        }
        _ => Answer::LocationsById(location::Resolved { locations: vec![listed(&["l", "old"])], messages }),
    }
}

#[test]
fn a_merchant_shows_what_it_states_for_buyers_and_nothing_else() {
    let location = json!({
        "id": "l", "name": "一番",
        "address": { "street_address": "1 A Street", "postal_code": "94105", "address_country": "US" },
        "geo": { "latitude": 37.5, "longitude": -122.25 },
        "timezone": "America/Los_Angeles",
        "hours": [{ "day": "monday", "opens": "17:00", "closes": "02:00" }],
        "exception_hours": [{ "valid_from": "2026-12-25", "valid_through": "2026-12-25", "title": "Christmas" }],
        "amenities": { "dev.ucp.amenity.wi_fi": { "description": "Free" } }
    });
    for dialect in dialects() {
        let said = encoded(dialect, Operation::GetMerchant, &super::answer(Operation::GetMerchant));
        let expected = json!({
            "id": "m", "name": "ナイトオウル",
            "description": { "plain": "Pizza" }, "url": "https://owl.example/", "category": "Restaurants > Pizza",
            "media": [{ "type": "image", "url": "https://owl.example/a.jpg" }], "tags": ["pizza"],
            "locations": [location],
            "fulfillment_config": {
                "allows_multi_destination": { "shipping": true },
                "allows_method_combinations": [["pickup", "shipping"]]
            },
            "metadata": { "seats": 4 },
            "x-own": 1
        });
        assert_eq!(said["merchant"], expected, "{}", dialect.release());
        let found = encoded(dialect, Operation::SearchMerchants, &super::answer(Operation::SearchMerchants));
        assert_eq!(found["merchants"], json!([expected]));
        assert_eq!(found["pagination"], json!({ "cursor": "next", "has_next_page": true, "total_count": 2 }));
    }
    let newest = dialect(Release::NEWEST);
    let resolved = encoded(newest, Operation::LookupLocations, &super::answer(Operation::LookupLocations));
    let mut expected = location;
    (expected["name"], expected["inputs"]) = (json!("Counter"), json!([{ "id": "l" }, { "id": "old" }]));
    assert_eq!(resolved["locations"], json!([expected]));
}

#[test]
fn methods_of_the_draft_are_answered_like_tools() {
    let first = dialect(Release::V2026_01_11);
    let outcome = super::answer(Operation::GetMerchant);
    let document = encode(first, Operation::GetMerchant, &outcome, &active(first)).document;
    let direct = first.direct(Operation::GetMerchant, document.clone());
    assert_eq!(direct, document);
    let metadata = json!({
        "version": "2026-01-11",
        "capabilities": [{ "name": "dev.ucp.menu.merchant", "version": "2026-01-11" }]
    });
    assert_eq!(parsed(&direct)["ucp"], metadata);
}

#[test]
fn filters_that_nobody_knows_reach_the_domain_by_name() {
    for dialect in dialects() {
        let payload = json!({
            "query": "pizza",
            "context": { "address_country": "US", "region": "CA", "language": "es" },
            "filters": {
                "fulfillment_method": "shipping", "cuisine": "x",
                "location": { "address": { "postal_code": "94105" }, "radius": { "value": 8, "unit": "mi" }, "near": 1 }
            },
            "pagination": { "limit": 20.0 }
        });
        let read = read(dialect, Operation::SearchMerchants, None, payload, &["fr".to_owned()]);
        let Ok(Request::Directory(DirectoryRequest::SearchMerchants(request))) = read else {
            panic!("a search: {read:?}")
        };
        assert_eq!(request.filters.unknown, ["cuisine", "location.near"]);
        assert_eq!((request.context.country.as_deref(), request.context.region.as_deref()), (Some("US"), Some("CA")));
        assert_eq!((request.context.languages, request.limit), (vec!["es".to_owned(), "fr".to_owned()], Some(20)));
        assert_eq!(request.filters.fulfillment_method, Some(CombinedMethod::Shipping));
        let radius = request.filters.location.and_then(|location| location.radius).expect("a radius");
        assert_eq!((radius.value, radius.unit), (8.0, Unit::Mile));
    }
    let payload = json!({
        "serves": { "address": { "postal_code": "94105" } },
        "filters": { "hours": { "open_at": "2026-11-20T18:30:00Z", "open_until": 1 }, "inventory": [] }
    });
    let read = read(dialect(Release::NEWEST), Operation::SearchLocations, None, payload, &[]);
    let Ok(Request::Directory(DirectoryRequest::SearchLocations(request))) = read else { panic!("a search: {read:?}") };
    assert_eq!(request.demands.unknown, ["inventory", "hours.open_until"]);
    assert_eq!(request.demands.serves.as_deref(), Some("address"));
}

#[test]
fn the_shape_is_held_before_the_domain_is_asked() {
    for (payload, path) in [
        (json!({}), "$.query"),
        (json!({ "query": 1 }), "$.query"),
        (json!({ "query": "", "pagination": { "limit": 26 } }), "$.pagination.limit"),
        (json!({ "query": "", "pagination": { "limit": 0 } }), "$.pagination.limit"),
        (json!({ "query": "", "context": { "country": "us" } }), "$.context.country"),
        (json!({ "query": "", "filters": { "open_now": "yes" } }), "$.filters.open_now"),
        (json!({ "query": "", "filters": { "fulfillment_method": "drone" } }), "$.filters.fulfillment_method"),
        (
            json!({ "query": "", "filters": { "location": { "radius": { "value": -1, "unit": "km" } } } }),
            "$.filters.location.radius.value",
        ),
        (
            json!({ "query": "", "filters": { "location": { "address": { "postal_code": 94105 } } } }),
            "$.filters.location.address.postal_code",
        ),
    ] {
        let refusal = read(dialect(Release::NEWEST), Operation::SearchMerchants, None, payload.clone(), &[]);
        let refusal = refusal.expect_err("wrong");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some(path)), "{payload}");
    }
}

#[test]
fn configured_names_replace_those_of_drafts_everywhere() {
    let mut names = Names::default();
    let own = |name: &str| OwnName {
        name: name.to_owned(),
        spec: Some("https://example.com/spec".to_owned()),
        schema: Some("https://example.com/schema.json".to_owned()),
    };
    names.replace(MERCHANT, own("com.example.directory.merchant"));
    names.replace(RESTAURANT, own("com.example.directory"));
    for dialect in dialects() {
        let declared: Vec<_> = offered(dialect, &ucp_core::operation::SupportedOperations::everything())
            .map(|offer| offer.declaration_under(&names))
            .collect();
        let active = Active::all(&declared).under(&names);
        assert!(active.contains(MERCHANT), "{}", dialect.release());
        let outcome = super::answer(Operation::GetMerchant);
        let said = encode(dialect, Operation::GetMerchant, &outcome, &active).document;
        assert!(said.contains("com.example.directory.merchant") && !said.contains(MERCHANT), "{said}");
        let profile = dialect.profile(&Site {
            endpoint: "https://example.com/ucp",
            offering: &ucp_core::operation::SupportedOperations::everything(),
            names: &names,
            keys: &[],
            handlers: &[],
            supported_versions: &[],
        });
        let text = profile.to_string();
        assert!(!text.contains(MERCHANT) && !text.contains(RESTAURANT), "{text}");
        let service = &profile["ucp"]["services"]["com.example.directory"];
        let rest = if service.is_array() { &service[0] } else { &service["rest"] };
        assert_eq!(rest["schema"], "https://example.com/ucp/openapi.json");
    }
}
