use std::io::Cursor;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read_with(file: impl Into<Vec<u8>>, tolerance: Tolerance) -> Vec<Item> {
    Import::read(Cursor::new(file.into()), tolerance).collect()
}

fn read(file: impl Into<Vec<u8>>) -> Vec<Item> {
    read_with(file, Tolerance::Strict)
}

/// A merchant with one location.
fn good() -> Value {
    json!({
        "id": "m1", "name": "Night Owl Pizza", "description": {"plain": "Pizza."}, "category": "Restaurants > Pizza",
        "url": "https://night-owl.example.com/", "methods": ["pickup"],
        "media": [{"type": "image", "url": "https://night-owl.example.com/a.jpg"}],
        "locations": [{
            "id": "l1", "name": "SoMa", "geo": {"latitude": 37.79, "longitude": -122.41},
            "timezone": "America/Los_Angeles", "hours": [{"day": "monday", "opens": "17:00", "closes": "02:00"}],
            "exception_hours": [{"valid_from": "2026-12-25", "valid_through": "2026-12-25"}],
        }],
    })
}

/// The good merchant with something else at a JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut merchant = good();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    match merchant.pointer_mut(parent).expect(pointer) {
        Value::Object(members) => drop(members.insert(name.to_owned(), value)),
        Value::Array(items) => items[name.parse::<usize>().expect("a position")] = value,
        _ => panic!("{pointer} leads nowhere"),
    }
    merchant
}

fn fault(merchant: &Value) -> (String, String) {
    let line = merchant.to_string();
    let bad = read(line.clone()).remove(0).expect_err(&line);
    assert_eq!((bad.line, bad.verdict), (1, Verdict::Faulty), "{line}");
    (bad.place.unwrap_or_default(), bad.reason)
}

#[test]
fn every_line_stands_alone() {
    let second = with("/id", json!("m2")).to_string().replace("l1", "l2");
    let file = format!("\u{feff}{}\r\n\n{{\"id\":\n[1]\n\"\n{second}", good());
    let items = read(file);
    let lines: Vec<_> = items
        .iter()
        .map(|item| match item {
            Ok(row) => (row.line, row.merchant.id.clone()),
            Err(bad) => (bad.line, bad.reason.clone()),
        })
        .collect();
    let expected = [
        (1, "m1"),
        (3, "not valid JSON at column 6"),
        (4, "a line holds one merchant as a JSON object"),
        (5, "not valid JSON at column 1"),
        (6, "m2"),
    ];
    assert_eq!(lines, expected.map(|(line, text)| (line, text.to_owned())));
    assert!(items.iter().flatten().all(|row| row.set_aside.is_empty()));
}

#[test]
fn faults_are_named_with_their_place_and_reason() {
    let location = |member: &str| format!("/locations/0/{member}");
    for (pointer, value, place, reason) in [
        ("/id", json!(" "), "$.id", "empty"),
        ("/id", json!("x".repeat(256)), "$.id", "255"),
        ("/id", json!(7), "$.id", "expected a string"),
        ("/name", json!("\u{200b}"), "$.name", "empty"),
        ("/description", json!({}), "$.description", "needs a text"),
        ("/description", json!("Pizza."), "$.description", "expected an object"),
        ("/category", json!("Restaurants >"), "$.category", "between each two"),
        ("/url", json!("javascript:alert(1)"), "$.url", "http"),
        ("/url", json!("https://example.com/\u{202e}x"), "$.url", "https://"),
        ("/media/0/url", json!("data:x"), "$.media[0].url", "http"),
        ("/methods", json!(["teleport"]), "$.methods[0]", "unknown variant"),
        (&location("id"), json!(""), "$.locations[0].id", "empty"),
        (&location("timezone"), json!("America/Gotham"), "$.locations[0].timezone", "America/Gotham"),
        (&location("timezone"), json!(null), "$.locations[0].timezone", "needed"),
        (&location("hours/0/closes"), json!("17:00"), "$.locations[0].hours[0]", "equal"),
        (&location("hours/0/opens"), json!("24:00"), "$.locations[0].hours[0].opens", "HH:MM"),
        (&location("hours/0/day"), json!("Mo"), "$.locations[0].hours[0].day", "unknown variant"),
        (&location("geo/latitude"), json!(97.5), "$.locations[0].geo", "from -90 to 90"),
        (&location("geo/longitude"), json!(-180.5), "$.locations[0].geo", "from -180 to 180"),
        (&location("geo"), json!({"latitude": 0, "longitude": 0}), "$.locations[0].geo", "not both 0"),
        (&location("geo"), json!({"latitude": 1}), "$.locations[0].geo", "missing field `longitude`"),
        (
            &location("exception_hours/0/valid_through"),
            json!("2026-12-24"),
            "$.locations[0].exception_hours[0]",
            "before",
        ),
        (
            &location("exception_hours/0/valid_from"),
            json!("2026-02-30"),
            "$.locations[0].exception_hours[0].valid_from",
            "calendar",
        ),
        (&location("exception_hours/0/opens"), json!("09:00"), "$.locations[0].exception_hours[0]", "both"),
        (
            &location("exception_hours"),
            json!([
                {"valid_from": "2026-12-24", "valid_through": "2026-12-26"},
                {"valid_from": "2026-12-25", "valid_through": "2026-12-25", "opens": "09:00", "closes": "12:00"},
            ]),
            "$.locations[0].exception_hours[1]",
            "overlaps",
        ),
    ] {
        let (at, why) = fault(&with(pointer, value));
        assert_eq!(at, place, "{pointer}: {why}");
        assert!(why.contains(reason), "{pointer}: {why}");
    }
    let line = good().to_string().replace(r#""name":"SoMa""#, r#""name":"SoMa","name":"Soma""#);
    let bad = read(line).remove(0).expect_err("twice");
    assert_eq!(bad.place.as_deref(), Some("$.locations[0].name"));
    let mut nameless = good();
    nameless.as_object_mut().expect("an object").shift_remove("name");
    assert!(fault(&nameless).1.contains("missing field `name`"));
}

#[test]
fn all_faults_of_a_line_are_reported_together() {
    let mut merchant = with("/locations/0/geo/latitude", json!(97.5));
    let mut other = merchant["locations"][0].clone();
    (other["id"], other["timezone"]) = (json!("l2"), json!("Mars/Olympus"));
    merchant["locations"].as_array_mut().expect("a list").push(other);
    let (place, reason) = fault(&merchant);
    assert_eq!(place, "$.locations[0].geo");
    assert!(reason.contains("$.locations[1].geo") && reason.contains("Mars/Olympus"), "{reason}");
}

#[test]
fn identifiers_are_taken_once_from_a_file() {
    let twice = format!("{}\n\n{}", good(), good());
    assert_eq!(
        read(twice)[1].as_ref().expect_err("twice").to_string(),
        "line 3: $.id: the merchant `m1` was already on line 1 of this file"
    );
    let shared = format!("{}\n{}", good(), with("/id", json!("m2")));
    assert_eq!(
        read(shared)[1].as_ref().expect_err("shared").to_string(),
        "line 2: $.locations[0].id: the location `l1` was already on line 1 of this file"
    );
    let mut merchant = good();
    let location = merchant["locations"][0].clone();
    merchant["locations"].as_array_mut().expect("a list").push(location);
    assert_eq!(fault(&merchant).0, "$.locations[1].id");
    // A line that is left out takes nothing.
    let bad_first = format!("{}\n{}", with("/url", json!("x")), good());
    assert!(read(bad_first)[1].is_ok());
}

#[test]
fn a_lenient_reader_leaves_out_what_means_nothing() {
    let merchant = with("/locations/0/timezone", json!("America/Gotham"));
    let row = read_with(merchant.to_string(), Tolerance::Lenient).remove(0).expect("usable");
    let location = &row.merchant.locations[0];
    assert_eq!((&location.hours, &location.timezone), (&None, &None));
    assert!(location.point().is_some());
    let reported: Vec<_> = row.set_aside.iter().map(ToString::to_string).collect();
    assert_eq!(reported.len(), 1);
    assert!(reported[0].starts_with("line 1: $.locations[0].timezone: `America/Gotham`"), "{reported:?}");
    let row = read_with(with("/locations/0/geo/latitude", json!(-91)).to_string(), Tolerance::Lenient).remove(0);
    assert!(row.expect("usable").merchant.locations[0].geo.is_none());
    // What is wrong with the merchant as a whole is still wrong.
    assert!(read_with(with("/name", json!("")).to_string(), Tolerance::Lenient)[0].is_err());
}

#[test]
fn opening_hours_of_openstreetmap_are_refused_with_what_to_state_instead() {
    for hours in [json!("Mo-Fr 10:00-18:00"), json!({"Mo": "9-5"})] {
        let merchant = with("/locations/0/opening_hours", hours);
        let (place, why) = fault(&merchant);
        assert_eq!(place, "$.locations[0].opening_hours");
        assert!(why.contains("state the week in `hours`") && why.contains("`exception_hours`"), "{why}");
        let row = read_with(merchant.to_string(), Tolerance::Lenient).remove(0).expect("usable");
        assert_eq!(row.set_aside.len(), 1);
        // What is stated beside it counts.
        let location = &row.merchant.locations[0];
        assert!(location.hours.is_some() && !location.extra.contains_key("opening_hours"));
    }
    let absent = read(with("/locations/0/opening_hours", json!(null)).to_string()).remove(0).expect("usable");
    assert!(absent.set_aside.is_empty() && !absent.merchant.locations[0].extra.contains_key("opening_hours"));
}

#[test]
fn texts_hold_only_what_a_reader_sees() {
    let mut merchant = with(
        "/description",
        json!({"html": "<p>Fish &amp; <b>chips</b></p><script>alert(1)</script>", "markdown": "**Fish**"}),
    );
    merchant["name"] = json!("Night\u{202e} Owl");
    merchant["tags"] = json!(["pi\u{200b}zza"]);
    merchant["translations"] =
        json!({"es": {"name": "B\u{ad}úho", "description": {"markdown": "Pizza <img onerror=x>"}}});
    let row = read(merchant.to_string()).remove(0).expect("usable");
    let stated = serde_json::to_value(&row.merchant).expect("JSON");
    assert_eq!(stated["description"], json!({"plain": "Fish & chips"}));
    assert_eq!((&stated["name"], &stated["tags"][0]), (&json!("Night Owl"), &json!("pizza")));
    assert_eq!(stated["translations"]["es"], json!({"name": "Búho", "description": {"plain": "Pizza"}}));
    let bad = read(with("/name", json!("Night\u{0} Owl")).to_string()).remove(0).expect_err("left out");
    assert_eq!(bad.place.as_deref(), Some("$.name"));
    assert!(bad.reason.contains("U+0000"), "{}", bad.reason);
}

#[test]
fn what_is_written_reads_back() {
    let row = read(good().to_string()).remove(0).expect("usable");
    let line = serde_json::to_string(&row.merchant).expect("JSON");
    assert_eq!(read(line).remove(0), Ok(row));
}

#[test]
fn progress_is_known_and_a_broken_file_ends() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let line = format!("{}\n", good());
    let length = line.len() as u64;
    let mut import = Import::read(Cursor::new(line).chain(Broken), Tolerance::Strict);
    assert!(import.next().expect("a line").is_ok());
    let end = import.next().expect("an end").expect_err("broken");
    let progress = import.progress();
    assert_eq!((end.verdict, progress.bytes(), progress.total), (Verdict::Unreadable, length, None));
    assert!(import.next().is_none());

    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("merchants.jsonl");
    std::fs::write(&path, good().to_string()).expect("written");
    assert_eq!(Import::open(&path, Tolerance::Strict).expect("opened").progress().total, Some(length - 1));
    assert!(Import::open(&directory.path().join("missing"), Tolerance::Strict).is_err());
}

proptest! {
    #[test]
    fn a_damaged_line_never_panics(place in any::<prop::sample::Index>(), byte in any::<u8>(), lenient in any::<bool>()) {
        let mut bytes = good().to_string().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let tolerance = if lenient { Tolerance::Lenient } else { Tolerance::Strict };
        for item in read_with(bytes, tolerance) {
            match item {
                Ok(row) => prop_assert!(row.merchant.check().is_ok()),
                Err(bad) => prop_assert!(!bad.to_string().chars().any(char::is_control)),
            }
        }
    }
}
