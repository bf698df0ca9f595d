//! Tests of profiles of every release, sloppy ones, and documents that are not profiles.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use super::*;

fn read(document: &Value) -> (PlatformProfile, Vec<String>) {
    PlatformProfile::read(document.to_string().as_bytes()).expect("a profile")
}

fn names(profile: &PlatformProfile) -> Vec<(&str, &str, usize)> {
    let of = |declared: &'_ Declaration| declared.extends.len();
    profile.capabilities.iter().map(|one| (one.name.as_str(), one.version.as_str(), of(one))).collect()
}

const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

fn key(kid: &str) -> Value {
    json!({ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": kid })
}

#[test]
fn a_profile_is_read_in_the_form_of_every_release() {
    let webhook = "https://agent.example/hooks";
    let map = json!({
        "ucp": {
            "version": "2026-04-08",
            "services": { "dev.ucp.shopping": [] },
            "capabilities": {
                "dev.ucp.shopping.order": [
                    { "version": "2026-04-08", "spec": "https://a/", "schema": "https://b/",
                      "config": { "webhook_url": webhook } },
                    { "version": "2026-01-23", "config": { "webhook_url": "https://old.example/" } }
                ],
                "dev.ucp.shopping.discount": [
                    { "version": "2026-04-08", "extends": ["dev.ucp.shopping.cart", "dev.ucp.shopping.checkout"] }
                ],
                "com.x-shop.2nd-hand": { "version": "2026-04-08", "extends": "dev.ucp.shopping.cart" }
            },
            "payment_handlers": {}
        },
        "signing_keys": [key("old"), key("both")],
        "keys": [key("both"), key("new")]
    });
    let (profile, notes) = read(&map);
    assert_eq!(profile.version, "2026-04-08");
    assert_eq!(
        names(&profile),
        [
            ("dev.ucp.shopping.order", "2026-04-08", 0),
            ("dev.ucp.shopping.order", "2026-01-23", 0),
            ("dev.ucp.shopping.discount", "2026-04-08", 2),
            ("com.x-shop.2nd-hand", "2026-04-08", 1),
        ]
    );
    assert_eq!(profile.order_webhook.as_deref(), Some(webhook));
    assert_eq!(profile.keys.iter().map(PublicKey::kid).collect::<Vec<_>>(), ["both", "new", "old"]);
    assert!(profile.key("old").is_some() && profile.key("none").is_none());
    assert!(notes.is_empty(), "{notes:?}");

    let (profile, notes) = read(&json!({
        "ucp": {
            "version": "2026-01-11",
            "capabilities": [
                { "name": "dev.ucp.shopping.checkout", "version": "2026-01-11" },
                { "name": "dev.ucp.shopping.fulfillment", "version": "2026-01-11",
                  "extends": "dev.ucp.shopping.checkout" }
            ],
            "signing_keys": [key("inside")]
        }
    }));
    let fulfillment = ("dev.ucp.shopping.fulfillment", "2026-01-11", 1);
    assert_eq!(names(&profile), [("dev.ucp.shopping.checkout", "2026-01-11", 0), fulfillment]);
    assert_eq!(profile.keys.len(), 1);
    assert_eq!(notes, ["$.ucp.signing_keys belongs to the root of the profile"]);
}

#[test]
fn sloppy_profiles_are_read_and_noted() {
    let (profile, notes) = read(&json!({
        "ucp": {
            "version": "2026-04-08",
            "capabilities": {
                "dev.ucp.shopping.cart": [{ "version": "draft", "extends": [] }],
                "dev.ucp.shopping.checkout": [{}, { "version": "2026-04-08", "extends": null }],
                "Not A Name\n": [{ "version": "2026-04-08" }],
                "dev.ucp.shopping.order": [{ "version": "2026-04-08", "config": { "webhook_url": 7 } }]
            }
        },
        "keys": [{ "kty": "alien", "kid": "a" }, 5],
        "signing_keys": null
    }));
    let expected = [
        ("dev.ucp.shopping.cart", "draft", 0),
        ("dev.ucp.shopping.checkout", "2026-04-08", 0),
        ("dev.ucp.shopping.order", "2026-04-08", 0),
    ];
    assert_eq!(names(&profile), expected);
    assert_eq!(profile.order_webhook, None);
    for part in ["cart'][0].extends is empty", "not a date", "checkout'][0] has no version", "webhook_url", "null"] {
        assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:#?}");
    }
    assert!(notes.iter().all(|note| !note.chars().any(char::is_control)), "{notes:?}");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let many = format!("[{}1]", "1,".repeat(20_001));
    let key_list = |count: usize| vec![json!({ "kid": "k" }); count];
    let entries = vec![json!({ "version": "2026-04-08" }); MAX_DECLARATIONS + 1];
    let with =
        |capabilities: Value| json!({ "ucp": { "version": "2026-04-08", "capabilities": capabilities } }).to_string();
    for (document, path) in [
        (String::new(), "$"),
        ("{".to_owned(), "$"),
        ("<html>".to_owned(), "$"),
        ("[]".to_owned(), "$"),
        ("{}".to_owned(), "$.ucp"),
        (r#"{"ucp":[]}"#.to_owned(), "$.ucp"),
        (r#"{"ucp":{}}"#.to_owned(), "$.ucp.version"),
        (r#"{"ucp":{"version":20260408}}"#.to_owned(), "$.ucp.version"),
        (r#"{"ucp":{"version":"draft"}}"#.to_owned(), "$.ucp.version"),
        (r#"{"ucp":{"version":"2026-04-08","version":"2026-01-23"}}"#.to_owned(), "$.ucp.version"),
        (format!(r#"{{"ucp":{deep}}}"#), "$.ucp"),
        (format!(r#"{{"ucp":{many}}}"#), "$.ucp"),
        (with(json!("all")), "$.ucp.capabilities"),
        (with(json!({ "a.b": "2026-04-08" })), "$.ucp.capabilities['a.b']"),
        (with(json!({ "a.b": [7] })), "$.ucp.capabilities['a.b'][0]"),
        (with(json!({ "a.b": [{ "version": 7 }] })), "$.ucp.capabilities['a.b'][0].version"),
        (with(json!({ "a.b": [{ "version": "1", "extends": 7 }] })), "$.ucp.capabilities['a.b'][0].extends"),
        (with(json!({ "a.b": { "version": "1", "extends": [7] } })), "$.ucp.capabilities['a.b'].extends"),
        (with(json!([{ "name": 7, "version": "1" }])), "$.ucp.capabilities[0].name"),
        (with(json!([null])), "$.ucp.capabilities[0]"),
        (with(json!({ "a.b": entries })), "$.ucp.capabilities"),
        (with(json!({ "a.b": { "version": "1", "extends": vec!["a"; 17] } })), "$.ucp.capabilities['a.b'].extends"),
        (json!({ "ucp": { "version": "2026-04-08" }, "keys": key_list(65) }).to_string(), "$.keys"),
        (json!({ "ucp": { "version": "2026-04-08" }, "signing_keys": {} }).to_string(), "$.signing_keys"),
    ] {
        let refusal = PlatformProfile::read(document.as_bytes()).expect_err(path);
        assert_eq!(refusal.code, Code::ProfileMalformed, "{path}");
        let found = refusal.path.expect("a path");
        assert!(found.starts_with(path), "{found} instead of {path}");
        assert!(refusal.accepted.is_some(), "{path}");
    }
}

#[test]
fn names_follow_the_widest_grammar() {
    for good in ["dev.ucp.shopping.catalog.search", "a.b", "com.x-shop.2nd", "xn--bcher-kva.a_b", "com.a.b_"] {
        assert!(is_name(good), "{good}");
    }
    for bad in ["", "dev", "dev.", ".dev", "Dev.ucp", "1com.a", "dev..a", "-a.b", "a-.b", "a_b.c", "a.-b", "a.b-"] {
        assert!(!is_name(bad), "{bad}");
    }
    assert!(!is_name(&format!("a.{}", "b".repeat(300))));
}

fn declarations() -> impl Strategy<Value = Vec<Declaration>> {
    let name = "[a-z]{2,3}\\.[a-z0-9]{1,4}\\.[a-z][a-z_]{0,5}";
    let version = select(vec!["2026-01-11", "2026-01-23", "2026-04-08", "2026-08-25"]);
    let declaration = (name, version, vec(name, 0..3)).prop_map(|(name, version, extends)| Declaration {
        name,
        version: version.into(),
        extends,
        ..Declaration::default()
    });
    vec(declaration, 0..20)
}

fn entry(declared: &Declaration, named: bool, sloppy: bool) -> Value {
    let mut entry = json!({ "version": declared.version, "unknown": { "member": [1, null] } });
    match declared.extends.as_slice() {
        [] => {}
        [one] if sloppy => entry["extends"] = json!(one),
        many => entry["extends"] = json!(many),
    }
    if named {
        entry["name"] = json!(declared.name);
    }
    entry
}

proptest! {
    #[test]
    fn any_bytes_get_a_verdict(bytes: Vec<u8>, text in "\\PC{0,60}") {
        let _ = PlatformProfile::read(&bytes);
        let _ = PlatformProfile::read(text.as_bytes());
        let quoted = json!({ "ucp": { "version": "2026-04-08", "capabilities": { &text: [{ "version": &text }] } } });
        let (_, notes) = read(&quoted);
        prop_assert!(notes.iter().all(|note| !note.chars().any(char::is_control)));
    }

    #[test]
    fn any_structure_gets_a_verdict(parts in vec("[\\[\\]{}:,]|\"ucp\"|\"version\"|\"2026-04-08\"|\"capabilities\"|null|1", 0..30)) {
        let _ = PlatformProfile::read(parts.concat().as_bytes());
        let inside = format!(r#"{{"ucp":{{"version":"2026-04-08","capabilities":{}}}}}"#, parts.concat());
        let _ = PlatformProfile::read(inside.as_bytes());
    }

    #[test]
    fn both_shapes_declare_the_same(mut declared in declarations(), sloppy: bool) {
        // A map keeps entries of one name together.
        declared.sort_by(|a, b| a.name.cmp(&b.name));
        let list: Vec<_> = declared.iter().map(|one| entry(one, true, sloppy)).collect();
        let mut map = Map::new();
        for one in &declared {
            let entries = map.entry(one.name.clone()).or_insert_with(|| json!([]));
            entries.as_array_mut().expect("an array").push(entry(one, false, sloppy));
        }
        for capabilities in [json!(list), json!(map)] {
            let (profile, notes) = read(&json!({ "ucp": { "version": "2026-01-11", "capabilities": capabilities } }));
            prop_assert_eq!(&profile.capabilities, &declared);
            prop_assert!(notes.is_empty(), "{:?}", notes);
            prop_assert!(profile.weight() >= size_of::<PlatformProfile>() + declared.len() * size_of::<Declaration>());
        }
    }
}
