//! Orders where they cannot be looked at: under which capability platforms are told about them, and when it is there.

use jiff::Timestamp;
use serde_json::{Value, json};
use ucp_core::{
    Operation, Release,
    negotiation::{Active, Names},
    operation::{CHECKOUT, ORDER, SupportedOperations},
};

use super::{dialects, official, sample};
use crate::{
    codec::webhook_event,
    dialect::{Dialect, Occasion, offered, publishes},
    offer::Offer,
    site::Site,
};

/// The names of the capabilities in a profile of a business with these operations.
fn advertised(dialect: &dyn Dialect, operations: &[Operation], keys: &[Value]) -> Vec<String> {
    let profile = dialect.profile(&Site {
        endpoint: "https://shop.example/ucp",
        offering: &SupportedOperations::of(operations),
        names: &Names::default(),
        keys,
        handlers: &[],
        supported_versions: &[],
    });
    match &profile["ucp"]["capabilities"] {
        Value::Array(listed) => listed.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect(),
        named => named.as_object().expect("names").keys().cloned().collect(),
    }
}

#[test]
fn orders_are_advertised_where_they_are_told_of() {
    let key = json!({ "kid": "key", "kty": "EC", "crv": "P-256", "x": "x", "y": "y", "alg": "ES256", "use": "sig" });
    let without: Vec<_> = Operation::ALL.iter().copied().filter(|one| *one != Operation::GetOrder).collect();
    for dialect in dialects() {
        let told_only = dialect.release() < Release::V2026_04_08;
        let has = |operations: &[Operation], keys: &[Value]| {
            advertised(dialect, operations, keys).iter().any(|name| name == ORDER)
        };
        assert!(has(Operation::ALL, std::slice::from_ref(&key)), "{}", dialect.release());
        assert_eq!(has(Operation::ALL, &[]), !told_only, "{}: nothing is told unsigned", dialect.release());
        assert!(!has(&without, std::slice::from_ref(&key)), "{}: there are no orders", dialect.release());
        assert_eq!(publishes(dialect, Operation::GetOrder), !told_only, "{}", dialect.release());
    }
}

#[test]
fn webhook_events_name_their_capability_and_conform() {
    for dialect in dialects().filter(|dialect| dialect.release() < Release::V2026_04_08) {
        let all: Vec<_> = offered(dialect, &SupportedOperations::of(Operation::ALL)).map(Offer::declaration).collect();
        let other: Vec<_> = all.iter().filter(|offer| offer.name == CHECKOUT).cloned().collect();
        for active in [Active::all(&all), Active::all(&other)] {
            let occasion = Occasion { id: "4d6c3a1c-0000-4000-8000-000000000001", at: Timestamp::UNIX_EPOCH };
            let told: Value =
                serde_json::from_str(&webhook_event(dialect, sample::order(), &active, &occasion)).expect("JSON");
            let capabilities = &told["ucp"]["capabilities"];
            let version = match capabilities {
                Value::Array(listed) => {
                    assert_eq!((listed.len(), &listed[0]["name"]), (1, &json!(ORDER)), "{told}");
                    &listed[0]["version"]
                }
                named => &named[ORDER][0]["version"],
            };
            assert_eq!(version, dialect.release().date(), "{told}");
            assert_eq!(told["event_id"], occasion.id);
            let Some(folder) = official::folder(dialect.release()) else { continue };
            let schema = official::official(folder, "schemas/shopping/order.json");
            if let Err(error) = schema.validate(&told) {
                panic!("{}: {error} at {} of {told}", dialect.release(), error.instance_path());
            }
        }
    }
}
