use serde_json::json;

use super::*;

fn read(document: Value) -> Merchant {
    serde_json::from_value(document).expect("a merchant")
}

fn owl() -> Value {
    json!({
        "id": "mch_abc123",
        "name": "Night Owl Pizza",
        "description": { "html": "<p>Late-night <b>pizza</b></p>" },
        "url": "https://owl.example.com/",
        "category": "Restaurants > Pizza",
        "media": [{ "type": "image", "url": "https://owl.example.com/front.jpg" }],
        "methods": ["pickup", "delivery"],
        "fulfillment_config": { "allows_method_combinations": [["pickup"]] },
        "translations": { "ja": { "name": "ナイトオウルピザ" } },
        "locations": [{
            "id": "loc_1",
            "name": "Mission",
            "address": { "address_locality": "San Francisco", "address_country": "US", "x_door": "blue" },
            "geo": { "latitude": 37.7599, "longitude": -122.4148, "precision": "street" },
            "timezone": "America/Los_Angeles",
            "hours": [{ "day": "friday", "opens": "17:00", "closes": "02:00" }],
            "exception_hours": [{ "valid_from": "2026-12-25", "valid_through": "2026-12-25", "title": "Christmas" }],
            "amenities": { "dev.ucp.amenity.wi_fi": { "description": "Free Wi-Fi" } },
            "x_floor": 2
        }]
    })
}

#[test]
fn a_merchant_is_kept_as_it_was_stated() {
    let merchant = read(owl()).check().expect("usable");
    assert_eq!(merchant.description.as_ref().expect("one").plain.as_deref(), Some("Late-night pizza"));
    let mut expected = owl();
    expected["description"]["plain"] = json!("Late-night pizza");
    assert_eq!(serde_json::to_value(&merchant).expect("JSON"), expected);
    assert_eq!(merchant.methods_at(&merchant.locations[0]), [Method::Pickup, Method::Delivery]);
    assert_eq!(format!("{:?}", merchant.locations[0].address), "Some(PostalAddress { .. })");
}

#[test]
fn what_makes_a_merchant_unusable_is_named_with_its_place() {
    for (pointer, value, path) in [
        ("/id", json!(" "), "$.id"),
        ("/id", json!("x".repeat(256)), "$.id"),
        ("/name", json!(""), "$.name"),
        ("/description", json!({}), "$.description"),
        ("/url", json!("javascript:alert(1)"), "$.url"),
        ("/category", json!("Restaurants >"), "$.category"),
        ("/media/0/type", json!("gif"), "$.media[0].type"),
        ("/translations/ja/name", json!(""), "$.translations['ja'].name"),
        ("/locations/0/name", json!(""), "$.locations[0].name"),
        ("/locations/0/amenities", json!({ "Wi-Fi": { "description": "x" } }), "$.locations[0].amenities['Wi-Fi']"),
        (
            "/locations/0/amenities/dev.ucp.amenity.wi_fi/description",
            json!(""),
            "$.locations[0].amenities['dev.ucp.amenity.wi_fi'].description",
        ),
    ] {
        let mut document = owl();
        *document.pointer_mut(pointer).expect(pointer) = value;
        assert_eq!(read(document).salvage().expect_err(pointer).path, path);
    }
    let mut twice = owl();
    twice["locations"] = json!([twice["locations"][0], twice["locations"][0]]);
    let twice = read(twice).check().expect_err("twice");
    assert_eq!(twice.to_string(), "$.locations[1].id: `loc_1` is used twice");
}

#[test]
fn coordinates_and_hours_that_mean_nothing_are_set_aside() {
    let day = |from: &str, through: &str| json!({ "valid_from": from, "valid_through": through });
    for (member, value, path) in [
        ("geo", json!({ "latitude": 0, "longitude": 0 }), "$.locations[0].geo"),
        ("geo", json!({ "latitude": 122.4, "longitude": 37.7 }), "$.locations[0].geo"),
        ("timezone", json!("America/Gotham"), "$.locations[0].timezone"),
        ("timezone", json!("america/los_angeles"), "$.locations[0].timezone"),
        ("timezone", Value::Null, "$.locations[0].timezone"),
        ("hours", json!([{ "day": "monday", "opens": "09:00", "closes": "09:00" }]), "$.locations[0].hours[0]"),
        ("exception_hours", json!([day("2026-12-25", "2026-12-24")]), "$.locations[0].exception_hours[0]"),
        (
            "exception_hours",
            json!([day("2026-12-20", "2026-12-26"), day("2026-12-26", "2026-12-27")]),
            "$.locations[0].exception_hours[1]",
        ),
    ] {
        let mut document = owl();
        document["locations"][0][member] = value.clone();
        let (merchant, reasons) = read(document.clone()).salvage().expect("usable");
        assert_eq!(reasons.iter().map(|reason| reason.path.as_str()).collect::<Vec<_>>(), [path], "{value}");
        let location = &merchant.locations[0];
        if member == "geo" {
            assert!(location.geo.is_none() && location.hours.is_some());
        } else {
            assert!(location.timezone.is_none() && location.hours.is_none() && location.exception_hours.is_empty());
            assert_eq!(location.schedule(), Ok(None));
        }
        assert_eq!(read(document).check().expect_err(path).path, path);
    }
    let mut zone_only = owl();
    zone_only["locations"][0]["hours"] = Value::Null;
    zone_only["locations"][0]["exception_hours"] = json!([]);
    zone_only["locations"][0]["timezone"] = json!("Mars/Olympus");
    assert_eq!(read(zone_only).salvage().expect("usable").1.len(), 1);
}

#[test]
fn reverse_domain_names_are_told_from_others() {
    for name in ["dev.ucp.amenity.wi_fi", "com.example.amenity.auto_care", "a.b", "com.4x4.x-y_"] {
        assert!(is_reverse_domain(name), "{name}");
    }
    for name in
        ["wi_fi", "Dev.ucp", "dev..ucp", "dev.ucp.", ".ucp", "dev.ucp.wi fi", "4x4.com", "dev.-x", "dev_x.y", ""]
    {
        assert!(!is_reverse_domain(name), "{name}");
    }
}

#[test]
fn markup_is_taken_off() {
    for (formatted, plain) in [
        ("<p>Fish &amp; <b>chips</b></p><p>Daily</p>", "Fish & chips Daily"),
        ("# Late\n**night** _pizza_ at [ours](https://pizza.example.com)", "Late night pizza at ours"),
        ("snake_case, 1 < 2, &bogus; <unclosed", "snake_case, 1 < 2, &bogus;"),
        ("", ""),
    ] {
        assert_eq!(plain_text(formatted), plain);
    }
}
