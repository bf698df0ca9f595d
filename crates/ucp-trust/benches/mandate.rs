//! Costs of AP2 beside the signatures themselves, and of cursors: `cargo bench -p ucp-trust`.
//!
//! A checkout of ten line items, some five kilobytes. A mandate holds three signatures of ES256, so that verifying it
//! costs at least three times what one does.

#![allow(missing_docs, reason = "criterion's macros document nothing")]

use std::{
    hint::black_box,
    time::{Duration, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ucp_core::catalog::cursor::{CursorSecret, Cursors as _};
use ucp_trust::{
    cursor::SealedCursors,
    jwk::Algorithm,
    mandate::{Expected, authorize, canonical, verify, verify_authorization},
    signature::SigningKey,
};

const NOW: u64 = 1_767_225_600;
const SHOP: &str = "https://shop.example";

fn checkout() -> Value {
    let totals = |amount: u32| json!([{ "type": "subtotal", "amount": amount }, { "type": "total", "amount": amount }]);
    let line_item = |number: u32| {
        json!({
            "id": format!("li_{number}"),
            "item": {
                "id": format!("variant_{number}"),
                "title": "Running shoe, midnight blue, size 42, wide",
                "price": 8_999 + number,
                "image_url": format!("https://shop.example/images/products/{number}/large.jpg"),
            },
            "quantity": 2,
            "totals": totals(2 * (8_999 + number)),
        })
    };
    json!({
        "ucp": { "version": "2026-08-25", "capabilities": { "dev.ucp.shopping.checkout": [{ "version": "2026-08-25" }] } },
        "id": "chk_7f9d1c",
        "status": "ready_for_complete",
        "currency": "EUR",
        "line_items": (0..10).map(line_item).collect::<Vec<_>>(),
        "totals": totals(180_070),
        "links": [{ "type": "terms_of_service", "url": "https://shop.example/terms" }],
    })
}

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).expect("a key")
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn sign(key: &SigningKey, typ: &str, payload: &Value) -> String {
    let header = json!({ "alg": "ES256", "typ": typ, "kid": key.public().kid() });
    let signed = format!("{}.{}", base64(header.to_string()), base64(payload.to_string()));
    let signature = base64(key.sign(signed.as_bytes()).expect("a signature"));
    format!("{signed}.{signature}")
}

fn mandate(answered: &Value, platform: &SigningKey, holder: &SigningKey) -> String {
    let disclosure = base64(json!(["_26bc4LT-ac6q2KI6cBW5es", "checkout", answered]).to_string());
    let payload = json!({
        "vct": "mandate.checkout.1",
        "exp": NOW + 600,
        "_sd": [base64(Sha256::digest(&disclosure))],
        "cnf": { "jwk": holder.public().to_jwk() },
    });
    let bound = format!("{}~{disclosure}~", sign(platform, "dc+sd-jwt", &payload));
    let binding =
        json!({ "aud": SHOP, "nonce": answered["id"], "iat": NOW, "sd_hash": base64(Sha256::digest(&bound)) });
    bound + &sign(holder, "kb+jwt", &binding)
}

fn mandates(criterion: &mut Criterion) {
    let (business, platform, holder) = (key(), key(), key());
    let (own_keys, platform_keys) = ([business.public().clone()], [platform.public().clone()]);
    let session = checkout();
    let authorization = authorize(&session, &business).expect("a signature");
    let mut answered = session.clone();
    answered["ap2"] = json!({ "merchant_authorization": authorization });
    let mandate = mandate(&answered, &platform, &holder);
    let payload = canonical(&session);
    let signature = business.sign(&payload).expect("a signature");
    let expected = Expected {
        platform_keys: &platform_keys,
        own_keys: &own_keys,
        audiences: &[SHOP],
        session: &session,
        now: UNIX_EPOCH + Duration::from_secs(NOW),
    };
    verify(Some(&mandate), &expected).expect("a good mandate");

    criterion.bench_function("ecdsa: verify", |bencher| {
        bencher.iter(|| own_keys[0].verify(black_box(&payload), signature.as_ref()));
    });
    criterion.bench_function("ecdsa: sign", |bencher| bencher.iter(|| business.sign(black_box(&payload))));
    criterion.bench_function("checkout: canonical form", |bencher| bencher.iter(|| canonical(black_box(&session))));
    criterion.bench_function("checkout: authorize", |bencher| {
        bencher.iter(|| authorize(black_box(&session), &business));
    });
    criterion.bench_function("checkout: verify the authorization", |bencher| {
        bencher.iter(|| verify_authorization(black_box(&answered), &authorization, &own_keys));
    });
    criterion.bench_function("mandate: verify", |bencher| {
        bencher.iter(|| verify(black_box(Some(&mandate)), &expected));
    });
}

fn cursors(criterion: &mut Criterion) {
    let cursors = SealedCursors::new(CursorSecret::new([7; 32]));
    let query = r#"(Some("blue running shoes"), Criteria, Presentation { language: "en", currency: USD })"#;
    let cursor = cursors.seal(query, &[1; 22]);
    criterion.bench_function("cursor: seal", |bencher| bencher.iter(|| cursors.seal(query, black_box(&[1; 22]))));
    criterion.bench_function("cursor: open", |bencher| bencher.iter(|| cursors.open(query, black_box(&cursor))));
}

criterion_group!(benches, mandates, cursors);
criterion_main!(benches);
