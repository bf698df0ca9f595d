//! Documents of older releases on their way to the newest one and back, step by step, and what is kept beside them.

use serde_json::{Map, Value, json};
use ucp_core::{
    Answer, Operation, Outcome, Release, Request,
    call::SaleRequest,
    catalog::{product::UnitPrice, search::Found},
};

use super::{active, answer, encoded, listing, parsed, product, sample};
use crate::{
    codec::{encode, read},
    releases::{dialect, upgrades},
    schema::{self, Direction},
    upgrade::Upgrade,
};

/// The older releases, with what can be called in them.
fn older() -> impl Iterator<Item = (Release, Operation)> {
    let callable = |release: Release| {
        Operation::ALL.iter().filter(move |operation| dialect(release).shapes(**operation).is_some())
    };
    let releases = Release::ALL.iter().copied().filter(|release| *release != Release::NEWEST);
    releases.flat_map(move |release| callable(release).map(move |operation| (release, *operation)))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is not an object"),
    }
}

/// A document on the way from `release` to the newest release, and one on the way back.
fn walked(
    release: Release,
    document: Map<String, Value>,
    up: impl Fn(&Upgrade, &mut Map<String, Value>),
    down: impl Fn(&Upgrade, &mut Map<String, Value>),
) -> [Map<String, Value>; 2] {
    let mut newest = document;
    upgrades(release, Release::NEWEST).for_each(|upgrade| up(upgrade, &mut newest));
    let mut back = newest.clone();
    upgrades(release, Release::NEWEST).rev().for_each(|upgrade| down(upgrade, &mut back));
    [newest, back]
}

#[test]
fn answers_of_every_operation_fit_the_newest_release_and_come_back_as_they_were() {
    let mut compared = 0;
    for (release, operation) in older() {
        let at = format!("{} of {release}", operation.row().name);
        let said = encoded(dialect(release), operation, &answer(operation));
        let [mut newest, mut back] = walked(
            release,
            object(said.clone()),
            |upgrade, document| (upgrade.answer.up)(operation, document),
            |upgrade, document| (upgrade.answer.down)(operation, document),
        );
        // Of the envelope, payment handlers alone are on the way.
        newest["ucp"] = encoded(dialect(Release::NEWEST), operation, &answer(operation))["ucp"].clone();
        let shapes = dialect(Release::NEWEST).shapes(operation).expect("the newest release has all operations");
        let shape = schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
        let newest = Value::Object(newest);
        schema::validator(&shape).validate(&newest).unwrap_or_else(|error| panic!("{at}: {error} in {newest}"));
        back["ucp"] = said["ucp"].clone();
        assert_eq!(Value::Object(back), said, "{at}");
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn requests_of_every_operation_fit_the_newest_release_and_come_back_with_the_same_meaning() {
    let mut compared = 0;
    for (release, operation) in older() {
        let at = format!("{} of {release}", operation.row().name);
        let shapes = dialect(release).shapes(operation).expect("shapes");
        let mut generator = schema::generator(Direction::Request);
        let Some(request) = shapes.request(&mut generator) else { continue };
        let mut payload = schema::bundle(&mut generator, |_| request)["examples"][0].clone();
        dialect(release).normalize(operation, &mut payload);
        let [newest, back] = walked(
            release,
            object(payload.clone()),
            |upgrade, document| (upgrade.request.up)(operation, document),
            |upgrade, document| (upgrade.request.down)(operation, document),
        );
        let id = operation.takes_id().then_some("the one");
        let meant = |release: Release, payload: &Value| {
            let request = read(dialect(release), operation, id, payload.clone(), &[]);
            let request = format!("{:?}", request.unwrap_or_else(|refusal| panic!("{at}: {refusal} in {payload}")));
            // The only instrument is the chosen one, and in the newest release alone an update applies whole or not at
            // all.
            request
                .replace("selected: None", "selected: Some(true)")
                .replace("all_or_nothing: true", "all_or_nothing: false")
        };
        assert_eq!(meant(Release::NEWEST, &Value::Object(newest)), meant(release, &payload), "{at}");
        assert_eq!(meant(release, &Value::Object(back)), meant(release, &payload), "{at}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

/// Unit prices that the newest release cannot express are returned to older ones as they are stored.
#[test]
fn unit_prices_are_told_older_releases_as_the_merchant_states_them() {
    let stated = [
        json!({ "amount": 2000, "currency": "USD", "measure": { "value": 750.0, "unit": "mL" },
            "reference": { "value": 1, "unit": "l" } }),
        // Pounds are no whole number of steps of a kilogram.
        json!({ "amount": 2000, "currency": "USD", "measure": { "value": 1.5, "unit": "lb" },
            "reference": { "value": 1, "unit": "kg" } }),
    ];
    for (stated, exact) in stated.iter().zip([true, false]) {
        let mut product = std::sync::Arc::into_inner(product()).expect("nobody else has it");
        product.variants[1].unit_price =
            Some(serde_json::from_value::<UnitPrice>(stated.clone()).expect("a unit price"));
        let listing = ucp_core::catalog::lookup::Listing { product: product.into(), ..listing(&[]) };
        let found = Outcome::Answer(Answer::Products(Found {
            products: vec![listing],
            cursor: None,
            total: None,
            messages: Vec::new(),
        }));
        for release in Release::ALL {
            let said = encoded(dialect(*release), Operation::SearchCatalog, &found);
            let variant = &said["products"][0]["variants"][0];
            if *release == Release::NEWEST {
                assert_eq!(variant.get("unit_price").is_some(), exact, "{variant}");
            } else {
                assert_eq!(variant["unit_price"], *stated, "{release}");
                let members: Vec<_> = variant.as_object().expect("an object").keys().collect();
                let place = members.iter().position(|name| *name == "unit_price");
                assert_eq!(members[place.expect("there") + 1], "availability", "{release}");
            }
        }
    }
}

#[test]
fn consent_of_older_releases_is_kept_under_whatever_name_it_has() {
    let consent = json!({ "marketing": true, "newsletter": false });
    for release in Release::ALL.iter().filter(|release| **release != Release::NEWEST) {
        let payload = json!({
            "line_items": [{ "item": { "id": "small" }, "quantity": 1 }], "buyer": { "consent": consent },
            "context": { "address_country": "US" }, "cart_id": "cart_1",
        });
        let request = read(dialect(*release), Operation::CreateCheckout, None, payload, &[]).expect("a request");
        let Request::Sale(SaleRequest::CreateCheckout(create)) = request else { panic!("a checkout") };
        // Carts, and circumstances that are given back, came with 2026-04-08.
        let carts = *release >= Release::V2026_04_08;
        assert_eq!((create.cart_id.is_some(), create.draft.context_stated.is_some()), (carts, carts), "{release}");
        assert_eq!(create.draft.context.country.as_deref(), Some("US"));
        let mut view = sample::checkout(&json!({ "status": "incomplete" }));
        view.checkout.draft.buyer = create.draft.buyer;
        let outcome = Outcome::Answer(Answer::Checkout(view));
        assert_eq!(
            encoded(dialect(*release), Operation::GetCheckout, &outcome)["buyer"]["consent"],
            consent,
            "{release}"
        );
        let newest = encoded(dialect(Release::NEWEST), Operation::GetCheckout, &outcome);
        let told: Vec<_> = newest["buyer"]["consent"].as_object().expect("consent").keys().cloned().collect();
        assert_eq!(told, ["dev.ucp.consent.marketing"], "{release}");
    }
}

#[test]
fn an_instrument_that_nobody_chose_is_not_said_to_be_chosen() {
    let first = dialect(Release::V2026_01_11);
    for chosen in [None, Some(true)] {
        let mut paying =
            json!({ "id": "pi_1", "handler_id": "sandbox", "type": "card", "brand": "Visa", "last_digits": "4242" });
        if let Some(chosen) = chosen {
            paying["selected"] = chosen.into();
        }
        let payload = json!({ "payment_data": paying });
        let request = read(first, Operation::CompleteCheckout, Some("chk_1"), payload, &[]).expect("a request");
        let Request::Sale(SaleRequest::CompleteCheckout(complete)) = request else { panic!("a completion") };
        assert_eq!(complete.tenders[0].instrument.selected, chosen);
        let mut view = sample::checkout(&json!({ "status": "incomplete" }));
        view.checkout.draft.instruments = complete.tenders.into_iter().map(|tender| tender.instrument).collect();
        let outcome = Outcome::Answer(Answer::Checkout(view));
        let said = parsed(&encode(first, Operation::GetCheckout, &outcome, &active(first)).document);
        assert_eq!(said["payment"].get("selected_instrument_id").is_some(), chosen.is_some());
        let members: Vec<_> = said["payment"].as_object().expect("payment").keys().map(String::as_str).collect();
        let expected: &[&str] = match chosen {
            None => &["handlers", "instruments"],
            Some(_) => &["handlers", "selected_instrument_id", "instruments"],
        };
        assert_eq!(members, expected);
    }
}
