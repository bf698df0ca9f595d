//! Signatures that others made: RFC 9421's own example, and those of Python's `http-message-signatures`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use ucp_core::refusal::Refusal;
use ucp_trust::{
    jwk::{self, PublicKey},
    signature::{Scheme, Signed, SigningKey, Verified, message::RawMessage},
};

/// Made by `tests/vectors/make.py`.
const VECTORS: &str = include_str!("../vectors/vectors.json");

fn keys(jwks: &Value) -> Vec<PublicKey> {
    jwk::read_set(jwks, &mut Vec::new())
}

fn verify(message: &str, keys: &[PublicKey], now: SystemTime) -> Result<Verified, Refusal> {
    let message = RawMessage::parse(message.as_bytes()).expect("is a message");
    let signed = Signed::read(message.headers())?.expect("is signed");
    signed.verify(&message.view(Scheme::Https), message.body(), keys, now)
}

#[test]
fn the_vectors_of_another_implementation_are_judged_right() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors["keys"]);
    let now = UNIX_EPOCH + Duration::from_secs(vectors["created"].as_u64().unwrap() + 10);
    let cases = vectors["cases"].as_array().unwrap();
    for case in cases {
        let verdict = verify(case["message"].as_str().unwrap(), &keys, now);
        let refused = verdict.as_ref().err().map(|refusal| refusal.code.as_str());
        assert_eq!(refused, case["refused"].as_str(), "{}: {verdict:?}", case["name"]);
    }
    assert!(cases.len() > 40, "{}", cases.len());
}

#[test]
fn der_is_named_as_the_mistake_it_is() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors["keys"]);
    let now = UNIX_EPOCH + Duration::from_secs(vectors["created"].as_u64().unwrap());
    let cases = vectors["cases"].as_array().unwrap();
    let der: Vec<_> = cases.iter().filter(|case| case["name"].as_str().unwrap().contains("DER")).collect();
    assert_eq!(der.len(), 2);
    for case in der {
        let refusal = verify(case["message"].as_str().unwrap(), &keys, now).unwrap_err();
        assert!(refusal.content.contains("it looks like ASN.1/DER"), "{refusal}");
    }
}

/// RFC 9421 appendix B.2.4, with the key of B.1.3.
#[test]
fn the_example_of_the_rfc_verifies() {
    let keys = keys(&json!([{
        "kty": "EC",
        "crv": "P-256",
        "kid": "test-key-ecc-p256",
        "x": "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
        "y": "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0"
    }]));
    let response = concat!(
        "HTTP/1.1 200 OK\n",
        "Date: Tue, 20 Apr 2021 02:07:56 GMT\n",
        "Content-Type: application/json\n",
        "Content-Digest: sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:\n",
        "Content-Length: 23\n",
        "Signature-Input: sig-b24=(\"@status\" \"content-type\" \"content-digest\" \"content-length\")",
        ";created=1618884473;keyid=\"test-key-ecc-p256\"\n",
        "Signature: sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:\n",
        "\n",
        "{\"message\": \"good dog\"}",
    );
    let now = UNIX_EPOCH + Duration::from_secs(1_618_884_480);
    let verified = verify(response, &keys, now).unwrap();
    assert_eq!((verified.keyid.as_str(), verified.label.as_str()), ("test-key-ecc-p256", "sig-b24"));
    for (old, new) in [("200", "201"), ("good", "mood"), ("1618884473", "1618884474")] {
        assert!(verify(&response.replace(old, new), &keys, now).is_err(), "{old}");
    }
}

/// RFC 9421 appendix B.2.6, with the key of B.1.4. The algorithm has no randomness, so that signing gives the same.
#[test]
fn the_example_of_the_rfc_with_ed25519_verifies_and_is_made_again() {
    let private = json!({
        "kty": "OKP",
        "crv": "Ed25519",
        "kid": "test-key-ed25519",
        "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
        "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
    });
    let base = concat!(
        "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n",
        "\"@method\": POST\n",
        "\"@path\": /foo\n",
        "\"@authority\": example.com\n",
        "\"content-type\": application/json\n",
        "\"content-length\": 18\n",
        "\"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\")",
        ";created=1618884473;keyid=\"test-key-ed25519\"",
    );
    let expected = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    let key = SigningKey::from_jwk(&private).expect("a key");
    let signature = key.sign(base.as_bytes()).expect("signs");
    assert_eq!(BASE64_STANDARD.encode(&signature), expected);
    key.public().verify(base.as_bytes(), signature.as_ref()).expect("is its own");
    assert!(key.public().verify(base.replace("foo", "fop").as_bytes(), signature.as_ref()).is_err());
    assert!(key.public().verify(base.as_bytes(), &signature.as_ref()[..63]).is_err());
}

/// RFC 8037 appendix A.3.
#[test]
fn the_thumbprint_of_an_ed25519_key_is_that_of_the_rfc() {
    let jwks = json!([{
        "kty": "OKP", "crv": "Ed25519", "kid": "a", "alg": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    }]);
    let keys = keys(&jwks);
    assert_eq!(keys[0].thumbprint().as_deref(), Some("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"));
    let written = keys[0].to_jwk().expect("a key");
    assert_eq!((&written["kty"], &written["alg"], written.get("y")), (&json!("OKP"), &json!("EdDSA"), None));
    for (member, value) in [("x", json!("11qY")), ("x", json!(1)), ("alg", json!("ES256")), ("crv", json!("Ed448"))] {
        let mut changed = jwks.clone();
        changed[0][member] = value;
        let read = self::keys(&changed);
        assert!(read.iter().all(|key| key.algorithm().is_none()), "{changed}");
    }
}
