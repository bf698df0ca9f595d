//! Requirements on a signed message, and the errors of its sender.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderName;
use serde_json::json;
use ucp_core::refusal::{Code, Refusal};
use ucp_trust::{
    jwk::{self, Algorithm, PublicKey},
    signature::{
        Scheme, Signed, SigningKey, Verified,
        explain::{Explanation, explain},
        message::RawMessage,
        sign::SignError,
    },
};

const POST: &str = concat!(
    "POST /checkout-sessions HTTP/1.1\n",
    "Host: shop.example\n",
    "Content-Type: application/json\n",
    "UCP-Agent: profile=\"https://platform.example/profile.json\"\n",
    "Idempotency-Key: 550e8400-e29b-41d4-a716-446655440000\n",
    "\n",
    "{}",
);

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).expect("makes a key")
}

fn signed(text: &str, key: &SigningKey) -> String {
    let mut message = RawMessage::parse(text.as_bytes()).expect("is a message");
    message.sign(Scheme::Https, &[], key, now()).expect("signs");
    String::from_utf8(message.to_bytes()).expect("is UTF-8")
}

fn verify_at(text: &str, keys: &[PublicKey], now: SystemTime) -> Result<Verified, Refusal> {
    let message = RawMessage::parse(text.as_bytes()).expect("is a message");
    let signed = Signed::read(message.headers())?.expect("is signed");
    signed.verify(&message.view(Scheme::Https), message.body(), keys, now)
}

fn verify(text: &str, keys: &[PublicKey]) -> Result<Verified, Refusal> {
    verify_at(text, keys, now())
}

/// A message with this text in its `Signature-Input`, and the right signature to it.
fn signed_with(head: &str, covered_and_parameters: &str, base: &str, key: &SigningKey) -> String {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let base = format!("{base}\n\"@signature-params\": {covered_and_parameters}");
    let signature = BASE64_STANDARD.encode(key.sign(base.trim_start().as_bytes()).expect("signs"));
    format!("{head}Signature-Input: a={covered_and_parameters}\nSignature: a=:{signature}:\n\n")
}

fn get_with(parameters: &str, key: &SigningKey) -> String {
    signed_with(
        "GET / HTTP/1.1\nHost: shop.example\n",
        &format!("(\"@method\" \"@authority\" \"@path\"){parameters}"),
        "\"@method\": GET\n\"@authority\": shop.example\n\"@path\": /",
        key,
    )
}

/// When the messages here are made, as a parameter.
const MADE: &str = ";created=1767225600";

#[test]
fn a_message_without_signatures_is_not_signed_and_half_a_signature_is_refused() {
    let read =
        |text: &str| Signed::read(RawMessage::parse(text.as_bytes()).unwrap().headers()).map(|read| read.is_some());
    assert_eq!(read(POST), Ok(false));
    let key = key();
    let text = signed(POST, &key);
    assert_eq!(read(&text), Ok(true));
    for name in ["Signature-Input", "Signature"] {
        let half: Vec<_> = text.lines().filter(|line| !line.starts_with(&format!("{name}:"))).collect();
        let refusal = read(&half.join("\n")).unwrap_err();
        assert_eq!(refusal.code, Code::SignatureMissing);
        assert!(refusal.content.contains(&format!("but {name} is not")), "{refusal}");
    }
    let garbled = text.replace("Signature: sig1=", "Signature: !");
    assert_eq!(read(&garbled).unwrap_err().code, Code::SignatureInvalid);
    let empty = text.replace("Signature-Input: sig1=", "Signature-Input: \nX: ");
    assert_eq!(read(&empty).unwrap_err().code, Code::SignatureMissing);
}

#[test]
fn every_part_that_ucp_asks_for_has_to_be_covered() {
    let key = key();
    let keys = [key.public().clone()];
    let text = signed(POST, &key);
    assert_eq!(verify(&text, &keys).unwrap().label, "sig1");
    // A part that arrives later was not signed.
    for (text, part) in [
        (text.replace("/checkout-sessions HTTP", "/checkout-sessions?a=b HTTP"), "@query"),
        (text.replace("Host:", "Signature-Agent: sig1=\"https://a.example\"\nHost:"), "signature-agent"),
        (signed(&POST.replace("UCP-Agent", "X"), &key).replace("X:", "UCP-Agent:"), "ucp-agent"),
        (signed(&POST.replace("Idempotency-Key", "X"), &key).replace("X:", "Idempotency-Key:"), "idempotency-key"),
        (signed(&POST.replace("{}", ""), &key) + "{}", "\"content-digest\", \"content-type\""),
    ] {
        let refusal = verify(&text, &keys).unwrap_err();
        assert_eq!(refusal.code, Code::SignatureInvalid);
        assert!(refusal.content.contains("it does not cover") && refusal.content.contains(part), "{part}: {refusal}");
    }
    let without = text.replace("\"@authority\" ", "");
    assert!(verify(&without, &keys).unwrap_err().content.contains("\"@authority\""));
}

#[test]
fn what_has_no_key_no_query_and_no_body_needs_none_of_them_covered() {
    let key = key();
    for text in [
        "POST /catalog/search HTTP/1.1\nHost: shop.example\nContent-Type: application/json\n\n{}",
        "GET /? HTTP/1.1\nHost: shop.example\n\n",
        "HTTP/1.1 204 No Content\n\n",
    ] {
        let text = signed(text, &key);
        verify(&text, &[key.public().clone()]).unwrap();
        assert!(!text.contains("idempotency-key") && !text.contains("@query"), "{text}");
    }
}

#[test]
fn keys_are_looked_for_before_anything_else() {
    let key = key();
    let text = signed(POST, &key);
    assert_eq!(verify(&text, &[]).unwrap_err().code, Code::KeyNotFound);
    // Even when the message is not what was signed.
    assert_eq!(verify(&text.replace("{}", "[]"), &[]).unwrap_err().code, Code::KeyNotFound);
    let kid = key.public().kid();
    let rsa = jwk::read_set(&json!([{ "kid": kid, "kty": "RSA", "n": "AQAB", "e": "AQAB" }]), &mut Vec::new());
    let refusal = verify(&text, &rsa).unwrap_err();
    assert_eq!(refusal.code, Code::AlgorithmUnsupported);
    assert!(refusal.content.contains("kty is \"RSA\""), "{refusal}");
    let nameless = get_with("", &key);
    assert_eq!(verify(&nameless, &[key.public().clone()]).unwrap_err().code, Code::SignatureInvalid);
}

#[test]
fn a_key_that_is_not_known_yet_can_be_asked_for() {
    let (old, new) = (key(), key());
    let kid = |key: &SigningKey| key.public().kid().to_owned();
    let text = get_with(&format!("{MADE};keyid=\"{}\"", kid(&new)), &new);
    let about = |others: &str| {
        let text = text
            .replace("Signature-Input: a=", &format!("Signature-Input: {others}a="))
            .replace("Signature: a=", "Signature: x=:AA==:, a=");
        let message = RawMessage::parse(text.as_bytes()).unwrap();
        let signed = Signed::read(message.headers()).unwrap().unwrap();
        let code =
            |key: &SigningKey| verify(&text, &[key.public().clone()]).map(|_| ()).map_err(|refusal| refusal.code);
        let unknown = signed.unknown_key(&[old.public().clone()]).map(str::to_owned);
        (unknown, signed.unknown_key(&[new.public().clone()]).is_some(), code(&old), code(&new))
    };
    let unknown = Some(kid(&new));
    assert_eq!(about(""), (unknown.clone(), false, Err(Code::KeyNotFound), Ok(())));
    // One for somebody else is no reason to call this one wrong, nor to look for its key.
    let other = "x=();keyid=\"x\";tag=\"cdn\", ";
    assert_eq!(about(other), (unknown.clone(), false, Err(Code::KeyNotFound), Ok(())));
    // A wrong signature with a known key does not hide the key that is not known.
    let wrong = format!("x=();keyid=\"{}\", ", kid(&old));
    let (asked, ..) = about(&wrong);
    assert_eq!(asked, unknown);
}

#[test]
fn parameters_mean_what_the_rfc_says() {
    let key = key();
    let keys = [key.public().clone()];
    let kid = key.public().kid();
    let seconds = 1_767_225_600;
    let invalid = Some(Code::SignatureInvalid);
    let cases = [
        (MADE.to_owned(), None),
        (format!("{MADE};nonce=\"x\";whatever=?0;tag=\"web-bot-auth\""), None),
        (format!("{MADE};alg=\"ecdsa-p256-sha256\""), None),
        (format!("{MADE};alg=\"ecdsa-p384-sha384\""), invalid),
        (format!("{MADE};alg=\"hmac-sha256\""), Some(Code::AlgorithmUnsupported)),
        (format!("{MADE};alg=es256"), invalid),
        (format!("{MADE};tag=\"other\""), invalid),
        (format!(";created={}", seconds + 60), None),
        (format!(";created={}", seconds + 61), invalid),
        (format!(";expires={}", seconds - 60), None),
        (format!(";expires={}", seconds - 61), invalid),
        (format!(";created={}", seconds - 3_660), None),
        (format!(";created={}", seconds - 3_661), invalid),
        (format!(";created={};expires={seconds}", seconds - 3_661), None),
        (";created=-999999999999999".to_owned(), invalid),
        (";expires=-999999999999999".to_owned(), invalid),
        (";created=\"now\"".to_owned(), invalid),
        (";created=1.5".to_owned(), invalid),
        // Nothing holds for ever, whatever its sender leaves out or says.
        (String::new(), invalid),
        (";nonce=\"x\"".to_owned(), invalid),
        (format!(";expires={}", seconds + 3_660), None),
        (format!(";expires={}", seconds + 3_661), invalid),
        (";expires=999999999999999".to_owned(), invalid),
        (format!("{MADE};expires={}", seconds + 86_400), None),
        (format!("{MADE};expires={}", seconds + 86_401), invalid),
        (";created=-999999999999999;expires=999999999999999".to_owned(), invalid),
    ];
    for (parameters, expected) in cases {
        let verdict = verify(&get_with(&format!("{parameters};keyid=\"{kid}\""), &key), &keys);
        assert_eq!(verdict.as_ref().err().map(|refusal| refusal.code), expected, "{parameters}: {verdict:?}");
    }
}

#[test]
fn parts_that_cannot_be_checked_make_a_signature_useless() {
    let key = key();
    let keys = [key.public().clone()];
    for part in [
        "\"@status\"",
        "\"@method\";req",
        "\"@method\"",
        "\"Host\"",
        "\"host\";sf",
        "\"host\";key=\"a\";sf",
        "\"host\";key=a",
        "\"host\";key=\"A\"",
        "\"host\";key=\"a\"",
        "\"absent\"",
        "\"\"",
        "host",
    ] {
        let text = get_with(&format!("{MADE};keyid=\"{}\"", key.public().kid()), &key)
            .replace("\"@path\")", &format!("\"@path\" {part})"));
        let refusal = verify(&text, &keys).unwrap_err();
        assert_eq!(refusal.code, Code::SignatureInvalid, "{part}: {refusal}");
        // Parts of `host` can be read; this message was signed without them.
        let was_read = part.starts_with("\"host\"");
        assert!(was_read || !refusal.content.contains("was not made over"), "{part}: {refusal}");
    }
}

#[test]
fn one_member_of_a_dictionary_can_be_covered() {
    let key = key();
    let with = |line: &str| {
        signed_with(
            &format!("GET / HTTP/1.1\nHost: shop.example\n{line}\n"),
            &format!(
                "(\"@method\" \"@authority\" \"@path\" \"signature-agent\";key=\"a\"){MADE};keyid=\"{}\"",
                key.public().kid()
            ),
            "\"@method\": GET\n\"@authority\": shop.example\n\"@path\": /\n\"signature-agent\";key=\"a\": \"https://a.example\";type=jwks_uri",
            &key,
        )
    };
    let keys = [key.public().clone()];
    verify(&with("Signature-Agent: b=1, a=\"https://a.example\";  type=jwks_uri"), &keys).unwrap();
    assert!(verify(&with("Signature-Agent: a=\"https://b.example\";type=jwks_uri"), &keys).is_err());
    // The member of another signature covers nothing for this one.
    let other = with("Signature-Agent: a=1, b=2").replace("key=\"a\"", "key=\"b\"");
    assert!(verify(&other, &keys).unwrap_err().content.contains("it does not cover \"signature-agent\""));
}

#[test]
fn what_a_stranger_can_make_us_do_is_bounded() {
    let key = key();
    let keys = [key.public().clone()];
    let text = get_with(&format!("{MADE};keyid=\"{}\"", key.public().kid()), &key);
    let parts: String = (0..40).map(|number| format!(" \"x-{number}\"")).collect();
    let refusal = verify(&text.replace("\"@path\")", &format!("\"@path\"{parts})")), &keys).unwrap_err();
    assert!(refusal.content.contains("it covers more than 32 parts"), "{refusal}");
    let long = "a".repeat(16 * 1024);
    let refusal = verify(&text.replace("Signature: ", &format!("Signature: {long}, ")), &keys).unwrap_err();
    assert!(refusal.content.contains("it has more than 16384 bytes"), "{refusal}");
}

#[test]
fn one_good_signature_among_eight_is_enough() {
    let key = key();
    let text = get_with(&format!("{MADE};keyid=\"{}\"", key.public().kid()), &key);
    let keys = [key.public().clone()];
    let behind = |count: usize| {
        let others: String = (0..count).map(|number| format!("x{number}=();keyid=\"x\", ")).collect();
        verify(&text.replace("Signature-Input: a=", &format!("Signature-Input: {others}a=")), &keys)
    };
    assert_eq!(behind(7).unwrap().label, "a");
    // The ninth is not looked at.
    assert!(behind(8).is_err());
}

#[test]
fn every_digest_that_is_known_has_to_fit() {
    let key = key();
    let keys = [key.public().clone()];
    let text = signed(POST, &key);
    let digest = text.lines().find_map(|line| line.strip_prefix("Content-Digest: ")).unwrap();
    let with = |value: &str| {
        let line = format!("Content-Digest: {digest}");
        verify(&text.replace(&line, &format!("Content-Digest: {value}")), &keys).unwrap_err().code
    };
    // The field is covered, so every change is noticed; what differs is why.
    let wrong = "sha-512=:AAAA:";
    assert_eq!(with(wrong), Code::DigestMismatch);
    assert_eq!(with(&format!("{digest}, {wrong}")), Code::DigestMismatch);
    assert_eq!(with("md5=:AAAA:"), Code::DigestMismatch);
    assert_eq!(with("sha-256=1"), Code::DigestMismatch);
    assert_eq!(with("sha-256"), Code::DigestMismatch);
    assert_eq!(with("=="), Code::DigestMismatch);
    assert_eq!(with(&format!("{digest}, md5=:AAAA:")), Code::SignatureInvalid);
}

#[test]
fn signing_takes_the_place_of_older_signatures_and_wants_everything_there() {
    let key = key();
    let text = signed(&signed(POST, &key), &key);
    for name in ["Content-Digest", "Signature-Input", "Signature"] {
        assert_eq!(text.matches(&format!("\n{name}: ")).count(), 1, "{text}");
    }
    let sign = |text: &str, extra: &'static str| {
        let mut message = RawMessage::parse(text.as_bytes()).unwrap();
        let base = message.sign(Scheme::Https, &[HeaderName::from_static(extra)], &key, now())?;
        Ok(String::from_utf8(base).unwrap())
    };
    assert!(sign(POST, "content-type").unwrap().matches("\"content-type\": ").count() == 1);
    assert!(
        sign(&POST.replace("Host", "Webhook-Id: 1\nHost"), "webhook-id").unwrap().contains("\n\"webhook-id\": 1\n")
    );
    for (text, extra) in [(POST.to_owned(), "webhook-id"), (POST.replace("Content-Type", "X"), "x")] {
        assert!(matches!(sign(&text, extra), Err(SignError::Incomplete(_))));
    }
}

#[test]
fn keys_of_mandates_are_not_for_messages() {
    let key = SigningKey::generate(Algorithm::Es512).expect("makes a key");
    let mut message = RawMessage::parse(POST.as_bytes()).unwrap();
    assert_eq!(message.sign(Scheme::Https, &[], &key, now()).unwrap_err(), SignError::Curve);
    assert!(!String::from_utf8(message.to_bytes()).unwrap().contains("Signature"));
    let refusal = verify(&get_with(&format!("{MADE};keyid=\"{}\"", key.public().kid()), &key), &[key.public().clone()])
        .unwrap_err();
    assert_eq!(refusal.code, Code::AlgorithmUnsupported);
    assert!(refusal.content.contains("no signature can be verified with a P-521 key"), "{}", refusal.content);
}

#[test]
fn an_explanation_shows_the_base_what_is_missing_and_the_verdict() {
    let key = key();
    let about = |text: &str| -> Explanation {
        let message = RawMessage::parse(text.as_bytes()).unwrap();
        let signed = Signed::read(message.headers()).unwrap().unwrap();
        let keys = [key.public().clone()];
        explain(&signed, &message.view(Scheme::Https), message.body(), &keys, now()).remove(0)
    };
    let text = signed(POST, &key);
    let good = about(&text).to_string();
    for part in ["signature sig1", "missing: nothing", "    \"@path\": /checkout-sessions\n", "verdict: valid"] {
        assert!(good.contains(part), "{good}");
    }
    let edited = about(&(text.clone() + "\n"));
    assert_eq!(edited.verdict.as_ref().unwrap_err().code, Code::DigestMismatch);
    assert!(edited.to_string().contains("fits without its last line break"), "{edited}");
    let without = about(&text.replace("\"@path\" ", ""));
    assert_eq!(without.missing, ["\"@path\""]);
    let headless = about(&text.replace("Idempotency-Key", "X"));
    assert!(headless.base.unwrap_err().contains("has no idempotency-key"));
}
