//! Sound JSON of the wrong shape: every member of a whole request with other values, taken away, and with a stranger
//! beside it.

use serde_json::{Value, json};

use super::{
    id,
    payloads::{paying, ready, whole_cart, whole_checkout, whole_lookup, whole_product, whole_search},
};
use crate::{
    Done,
    operation::{Caller, NEWEST, RELEASES, Way},
    process::Gateway,
    stage::{Setup, Stage},
};

/// Plays requests about the catalog.
pub(crate) fn catalog(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("").outfitters())?;
    for (name, whole) in
        [("search_catalog", whole_search()), ("lookup_catalog", whole_lookup()), ("get_product", whole_product())]
    {
        bend(stage, &gateway, name, None, &whole);
    }
    Ok(())
}

/// Plays requests about carts and checkouts.
pub(crate) fn purchase(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new(""))?;
    bend(stage, &gateway, "create_cart", None, &whole_cart("pot_ceramic"));
    bend(stage, &gateway, "create_checkout", None, &whole_checkout("pot_ceramic"));
    let caller = Caller::new(None, Way::Rest);
    let mut new =
        |name: &str, payload: &Value| id(&stage.ask(name, &gateway, &caller.call(name, None, payload)).document());
    let cart = new("create_cart", &whole_cart("pot_ceramic"));
    // It is not ready, so that nothing here pays for it.
    let checkout =
        new("create_checkout", &json!({ "line_items": [{ "item": { "id": "pot_ceramic" }, "quantity": 1 }] }));
    bend(stage, &gateway, "update_cart", Some(&cart), &whole_cart("pot_ceramic"));
    bend(stage, &gateway, "complete_checkout", Some(&checkout), &paying(NEWEST, "success_token"));
    bend(stage, &gateway, "complete_checkout", Some(&checkout), &paying("2026-01-11", "success_token"));
    bend(stage, &gateway, "update_checkout", Some(&checkout), &ready(&[("pot_ceramic", 1)]));
    Ok(())
}

/// Plays requests about merchants and places.
pub(crate) fn places(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("").outfitters())?;
    let merchants = json!({
        "query": "pizza",
        "context": { "address_country": "US", "address_region": "CA", "language": "en" },
        "filters": {
            "category": "Restaurants", "fulfillment_method": "shipping",
            "location": {
                "address": { "address_locality": "San Francisco", "address_region": "CA", "postal_code": "94105", "address_country": "US" },
                "radius": { "value": 8, "unit": "mi" },
            },
        },
        "pagination": { "limit": 3 },
    });
    let locations = json!({
        "query": "pizza",
        "distance": { "center": { "latitude": 37.7898, "longitude": -122.3942 }, "max": 12_000.0 },
        "filters": { "hours": { "open_at": "2026-11-21T01:00:00Z" }, "amenities": ["dev.ucp.amenity.outdoor_seating"] },
        "pagination": { "limit": 3 },
    });
    bend(stage, &gateway, "search_merchants", None, &merchants);
    bend(stage, &gateway, "search_locations", None, &locations);
    bend(
        stage,
        &gateway,
        "lookup_locations",
        None,
        &json!({ "ids": ["loc_night_owl_soma"], "filters": { "hours": { "open_at": "2026-11-21T01:00:00Z" } } }),
    );
    Ok(())
}

/// Sends every bent form of a request: at the root over REST and MCP, at the endpoints of releases a part of them.
fn bend(stage: &mut Stage<'_>, gateway: &Gateway, name: &str, resource: Option<&str>, whole: &Value) {
    let mut all = Vec::new();
    for pointer in places_of(whole) {
        let there = whole.pointer(&pointer).cloned().unwrap_or_default();
        for (number, wrong) in values().into_iter().enumerate().filter(|(_, wrong)| *wrong != there) {
            let mut bent = whole.clone();
            if let Some(place) = bent.pointer_mut(&pointer) {
                *place = wrong.clone();
            }
            all.push((format!("{pointer}={}", short(&wrong)), bent, number < 2));
        }
        if let Some(bent) = without(whole, &pointer) {
            all.push((format!("{pointer}-left-out"), bent, true));
        }
        if there.is_object() {
            let mut bent = whole.clone();
            if let Some(members) = bent.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                members.insert("unheard_of".to_owned(), json!({ "a": [1] }));
            }
            all.push((format!("{pointer}+unheard_of"), bent, true));
        }
        if let Some(first) = there.as_array().and_then(|list| list.first()) {
            let mut bent = whole.clone();
            if let Some(list) = bent.pointer_mut(&pointer).and_then(Value::as_array_mut) {
                *list = vec![first.clone(); 300];
            }
            all.push((format!("{pointer}-300-times"), bent, false));
        }
    }
    for (label, bent, everywhere) in all {
        for way in [Way::Rest, Way::Tool] {
            let caller = Caller::new(None, way);
            stage.ask(&format!("{}/{name}{label}", caller.label()), gateway, &caller.call(name, resource, &bent));
        }
        for release in RELEASES.into_iter().filter(|_| everywhere) {
            let caller = Caller::new(Some(release), if release < "2026-04-08" { Way::Flat } else { Way::Rest });
            stage.ask(&format!("{}/{name}{label}", caller.label()), gateway, &caller.call(name, resource, &bent));
        }
    }
}

/// Values for every place.
fn values() -> [Value; 8] {
    [json!(null), json!({}), json!(true), json!(3), json!(-1.5), json!("text"), json!(""), json!([])]
}

fn short(value: &Value) -> String {
    if *value == json!("") { "empty".to_owned() } else { value.to_string() }
}

/// The places of a document, as JSON pointers.
fn places_of(document: &Value) -> Vec<String> {
    fn collect(value: &Value, pointer: &str, found: &mut Vec<String>) {
        found.push(pointer.to_owned());
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    collect(member, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), found);
                }
            }
            Value::Array(list) => {
                if let Some(first) = list.first() {
                    collect(first, &format!("{pointer}/0"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(document, "", &mut found);
    found
}

/// A document without the member at a place.
fn without(document: &Value, pointer: &str) -> Option<Value> {
    let (parent, name) = pointer.rsplit_once('/')?;
    let mut bent = document.clone();
    bent.pointer_mut(parent)?.as_object_mut()?.shift_remove(name)?;
    Some(bent)
}
