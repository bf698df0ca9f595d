//! No byte of a mandate, and nothing that the buyer agreed to, can be changed.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    sync::LazyLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use ucp_trust::{
    jwk::{Algorithm, PublicKey},
    mandate::{Expected, MAX_BYTES, MandateError, Verified, authorize, verify, verify_authorization},
    signature::SigningKey,
};

const NOW: u64 = 1_767_225_600;
const SHOP: &str = "https://shop.example";

struct Party {
    key: SigningKey,
    published: [PublicKey; 1],
}

impl Party {
    fn new(algorithm: Algorithm) -> Self {
        let key = SigningKey::generate(algorithm).unwrap();
        let published = [key.public().clone()];
        Self { key, published }
    }

    fn sign(&self, typ: &str, payload: &Value) -> String {
        let header = json!({ "alg": self.key.algorithm().as_str(), "typ": typ, "kid": self.key.public().kid() });
        let signed = format!("{}.{}", base64(header.to_string()), base64(payload.to_string()));
        let signature = base64(self.key.sign(signed.as_bytes()).unwrap());
        format!("{signed}.{signature}")
    }
}

static PLATFORM: LazyLock<Party> = LazyLock::new(|| Party::new(Algorithm::Es256));
static BUSINESS: LazyLock<Party> = LazyLock::new(|| Party::new(Algorithm::Es384));
static HOLDER: LazyLock<Party> = LazyLock::new(|| Party::new(Algorithm::Es512));

fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn answered(checkout: &Value) -> Value {
    let mut answered = checkout.clone();
    answered["ap2"] = json!({ "merchant_authorization": authorize(checkout, &BUSINESS.key).unwrap() });
    answered
}

/// A mandate for this answer, with the checkout and one more claim disclosed, and another one kept back.
fn mandate(answered: &Value) -> String {
    let disclosures = [json!(["salt", "checkout", answered]), json!(["salt", "email", "jane@example.com"])]
        .map(|it| base64(it.to_string()));
    let digests = disclosures.each_ref().map(|it| base64(Sha256::digest(it)));
    let payload = json!({
        "vct": "mandate.checkout.1",
        "exp": NOW + 600,
        "_sd": [digests[0], digests[1], base64(Sha256::digest("kept back"))],
        "_sd_alg": "sha-256",
        "cnf": { "jwk": HOLDER.key.public().to_jwk() },
    });
    let bound = format!("{}~{}~", PLATFORM.sign("dc+sd-jwt", &payload), disclosures.join("~"));
    let binding =
        json!({ "aud": SHOP, "nonce": answered["id"], "iat": NOW, "sd_hash": base64(Sha256::digest(&bound)) });
    bound + &HOLDER.sign("kb+jwt", &binding)
}

fn judge(mandate: &str, session: &Value) -> Result<Verified, MandateError> {
    verify(
        Some(mandate),
        &Expected {
            platform_keys: &PLATFORM.published,
            own_keys: &BUSINESS.published,
            audiences: &[SHOP],
            session,
            now: now(),
        },
    )
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW)
}

fn checkout() -> Value {
    json!({
        "id": "chk_1",
        "status": "ready_for_complete",
        "currency": "EUR",
        "line_items": [{ "id": "li_1", "item": { "id": "a", "title": "Läufer", "price": 1250 }, "quantity": 2 }],
        "totals": [{ "type": "subtotal", "amount": 2500 }, { "type": "total", "amount": 2500 }],
    })
}

static MANDATE: LazyLock<String> = LazyLock::new(|| mandate(&answered(&checkout())));

/// Possible content of a checkout.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        (-1000..1000).prop_map(|number| json!(f64::from(number) / 8.0)),
        "[a-zé€\u{2028}😀\"\\\\]{0,4}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z€😀]{1,2}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn checkouts() -> impl Strategy<Value = Value> {
    let list = || prop::collection::vec(values(), 0..4);
    ("[a-z0-9_]{1,12}", "[A-Z]{3}", list(), list(), values()).prop_map(|(id, currency, line_items, totals, other)| {
        json!({ "id": id, "currency": currency, "line_items": line_items, "totals": totals, "other": other })
    })
}

/// The places of a document, as pointers; the document itself is none.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(elements) => elements.iter().enumerate().map(|(index, it)| (index.to_string(), it)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in inner {
        let at = format!("{at}/{step}");
        places(value, &at, found);
        found.push(at);
    }
}

/// Another value than this one, in most cases close to it.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => false.into(),
        Value::Bool(value) => (!value).into(),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| json!(number.as_f64().unwrap() + 1.0), |number| number.wrapping_add(1).into()),
        Value::String(text) => format!("{text}.").into(),
        Value::Array(elements) => Value::Array([&elements[..], &[Value::Null]].concat()),
        Value::Object(members) => {
            let mut members = members.clone();
            members.insert("another one".to_owned(), Value::Null);
            members.into()
        }
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.iter().map(reversed).collect(),
        plain => plain.clone(),
    }
}

#[test]
fn the_mandate_that_is_changed_below_is_good() {
    let verified = judge(&MANDATE, &checkout()).unwrap();
    assert_eq!(verified.checkout, answered_checkout(&MANDATE));
}

/// The checkout in the first disclosure.
fn answered_checkout(mandate: &str) -> Value {
    let disclosure = BASE64_URL_SAFE_NO_PAD.decode(mandate.split('~').nth(1).unwrap()).unwrap();
    serde_json::from_slice::<Value>(&disclosure).unwrap()[2].clone()
}

#[test]
fn how_much_is_read_is_bounded() {
    let with = |size: usize| {
        let mut checkout = checkout();
        checkout["note"] = "x".repeat(size).into();
        judge(&mandate(&answered(&checkout)), &checkout)
    };
    assert_eq!(MAX_BYTES, 524_288, "as documented");
    assert_eq!(with(MAX_BYTES / 2).map(|_| ()), Ok(()));
    let refused = with(MAX_BYTES).unwrap_err();
    assert!(
        refused.code() == "mandate_invalid_signature" && refused.to_string().contains("has more than"),
        "{refused}"
    );
    for text in ["~", ".", "A", "~A", "e30.e30.A~"] {
        assert!(judge(&text.repeat(2 * MAX_BYTES / text.len()), &checkout()).is_err());
    }
}

/// Every byte, and for each of them every other one of a sample.
#[test]
fn no_byte_can_be_changed_left_out_or_added() {
    let session = checkout();
    let bytes = MANDATE.as_bytes();
    for at in 0..bytes.len() {
        let flipped = if bytes[at] == b'A' { b'B' } else { b'A' };
        for new in [vec![flipped], vec![b'~'], vec![b'.'], vec![], vec![bytes[at], b'A']] {
            if new == [bytes[at]] {
                continue;
            }
            let changed = [&bytes[..at], &new, &bytes[at + 1..]].concat();
            let verdict = judge(std::str::from_utf8(&changed).unwrap(), &session);
            assert!(verdict.is_err(), "byte {at} as {new:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_mandate_is_refused(at in any::<prop::sample::Index>(), new in 0_u8..128) {
        let mut bytes = MANDATE.clone().into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != new);
        bytes[at] = new;
        prop_assert!(judge(std::str::from_utf8(&bytes).unwrap(), &checkout()).is_err());
    }

    #[test]
    fn every_checkout_can_be_agreed_to_however_it_is_spelled(checkout in checkouts()) {
        let answered = reversed(&answered(&checkout));
        let verified = judge(&mandate(&answered), &reversed(&checkout));
        prop_assert_eq!(verified.map(|verified| verified.checkout), Ok(answered));
    }

    #[test]
    fn no_term_can_be_changed(checkout in checkouts(), at in any::<prop::sample::Index>()) {
        let answered = answered(&checkout);
        let mut found = Vec::new();
        for term in ["id", "currency", "line_items", "totals"] {
            places(&checkout[term], &format!("/{term}"), &mut found);
            found.push(format!("/{term}"));
        }
        let place = at.get(&found);
        let mut changed = checkout.clone();
        let value = changed.pointer_mut(place).unwrap();
        *value = other(value);
        // The session moved on after the buyer agreed.
        let verdict = judge(&mandate(&answered), &changed).map_err(|error| error.code());
        prop_assert_eq!(verdict, Err("mandate_scope_mismatch"), "{}", place);
        // The platform states other terms than those that were signed; in the canonical form, large integers may not
        // differ, and then the comparison with the session finds it.
        let forged = { changed["ap2"] = answered["ap2"].clone(); changed };
        let verdict = judge(&mandate(&forged), &checkout).map_err(|error| error.code());
        prop_assert!(matches!(verdict, Err("merchant_authorization_invalid" | "mandate_scope_mismatch")), "{place}");
        // Even if the session says so too.
        let authorization = forged["ap2"]["merchant_authorization"].as_str().unwrap();
        let large = forged.pointer(place).and_then(Value::as_i64).is_some_and(|it| it.unsigned_abs() >= 1 << 53);
        prop_assert!(large || verify_authorization(&forged, authorization, &BUSINESS.published).is_err(), "{place}");
    }

    #[test]
    fn an_authorization_covers_everything_but_ap2(checkout in checkouts(), ap2 in values(), at in any::<prop::sample::Index>()) {
        let authorization = authorize(&checkout, &BUSINESS.key).unwrap();
        let mut with = reversed(&checkout);
        with["ap2"] = ap2;
        prop_assert_eq!(verify_authorization(&with, &authorization, &BUSINESS.published), Ok(()));
        let mut bytes = authorization.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        prop_assert!(verify_authorization(&with, std::str::from_utf8(&bytes).unwrap(), &BUSINESS.published).is_err());
    }
}

proptest! {
    #[test]
    fn whatever_comes_gets_an_answer(text in ".{0,60}", seams in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        prop_assert!(judge(&text, &checkout()).is_err());
        let mut spliced = MANDATE.clone();
        let mut seams: Vec<_> = seams.into_iter().map(|seam| seam.index(MANDATE.len())).collect();
        seams.sort_unstable();
        for seam in seams.into_iter().rev() {
            spliced.insert_str(seam, &text);
        }
        prop_assert!(spliced == *MANDATE || judge(&spliced, &checkout()).is_err());
    }

    /// Arbitrary content that the platform signs: JSON in the places where structure is expected.
    #[test]
    fn whatever_is_signed_gets_an_answer(
        claims in values(), sd in values(), disclosures in prop::collection::vec(values(), 0..4), binding in values(),
    ) {
        let mut payload = json!({ "vct": "mandate.checkout.1", "exp": NOW + 600, "cnf": { "jwk": HOLDER.key.public().to_jwk() } });
        let texts: Vec<_> = disclosures.iter().map(|it| base64(it.to_string())).collect();
        let digests: Vec<_> = texts.iter().map(|text| Value::from(base64(Sha256::digest(text)))).collect();
        payload["_sd"] = if texts.is_empty() { sd } else { digests.into() };
        payload["checkout"] = claims;
        let bound = [&[PLATFORM.sign("dc+sd-jwt", &payload)], &texts[..], &[String::new()]].concat().join("~");
        let signed = format!("{bound}{}", HOLDER.sign("kb+jwt", &binding));
        prop_assert!(judge(&signed, &checkout()).is_err());
    }
}
