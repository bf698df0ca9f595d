//! Properties of signatures over generated messages, with the base written out a second time as oracle.

use std::{
    sync::LazyLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use ucp_trust::{
    jwk::{Algorithm, PublicKey},
    signature::{Message, RequestLine, Scheme, Signed, SigningKey, Start, sign_request, sign_response},
};

static KEYS: LazyLock<[SigningKey; 3]> =
    LazyLock::new(|| Algorithm::HTTP.map(|algorithm| SigningKey::generate(algorithm).expect("makes a key")));

static PUBLISHED: LazyLock<Vec<PublicKey>> = LazyLock::new(|| KEYS.iter().map(|key| key.public().clone()).collect());

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

/// A request that can be taken apart and changed.
#[derive(Clone, Debug)]
struct Request {
    method: String,
    authority: String,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Request {
    fn line(&self) -> RequestLine<'_> {
        RequestLine {
            method: &self.method,
            scheme: Scheme::Https,
            authority: &self.authority,
            path: &self.path,
            query: self.query.as_deref(),
        }
    }

    fn sign(&mut self, key: &SigningKey) -> Vec<u8> {
        let mut headers = self.headers.clone();
        let extra = [HeaderName::from_static("x-covered")];
        let base = sign_request(self.line(), &mut headers, &self.body, &extra, key, now()).expect("signs");
        self.headers = headers;
        base
    }

    fn holds(&self) -> bool {
        let message = Message { start: Start::Request(self.line()), headers: &self.headers };
        let signed = Signed::read(&self.headers);
        let Ok(Some(signed)) = signed else { return false };
        signed.verify(&message, &self.body, &PUBLISHED, now()).is_ok()
    }

    fn header(&self, name: &str) -> String {
        let values: Vec<_> =
            self.headers.get_all(name).iter().map(|value| value.to_str().expect("is ASCII").trim()).collect();
        values.join(", ")
    }

    /// Signature base by the specification, in the plainest way.
    fn expected_base(&self, keyid: &str) -> String {
        let mut lines = vec![
            ("@method", self.method.clone()),
            ("@authority", self.authority.to_lowercase()),
            ("@path", self.path.clone()),
        ];
        if let Some(query) = self.query.as_ref().filter(|query| !query.is_empty()) {
            lines.push(("@query", format!("?{query}")));
        }
        for name in ["ucp-agent", "idempotency-key"] {
            if self.headers.contains_key(name) {
                lines.push((name, self.header(name)));
            }
        }
        if !self.body.is_empty() {
            lines.push(("content-digest", self.header("content-digest")));
            lines.push(("content-type", self.header("content-type")));
        }
        lines.push(("x-covered", self.header("x-covered")));
        let covered: Vec<_> = lines.iter().map(|(name, _)| format!("{name:?}")).collect();
        let mut base: String = lines.iter().map(|(name, value)| format!("\"{name}\": {value}\n")).collect();
        base += &format!("\"@signature-params\": ({});created=1767225600;keyid=\"{keyid}\"", covered.join(" "));
        base
    }
}

prop_compose! {
    fn request()(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE"]),
        authority in "[a-zA-Z0-9]{1,12}\\.example(:8[0-9]{3})?",
        path in "(/[a-zA-Z0-9._~%-]{0,12}){1,4}",
        query in proptest::option::of("[a-z0-9=&%+]{0,20}"),
        agent in proptest::option::of("profile=\"https://[a-z]{1,10}\\.example/[a-z0-9]{1,10}\""),
        idempotency_key in proptest::option::of("[a-zA-Z0-9-]{22,36}"),
        covered in proptest::collection::vec("[!-~]([ -~]{0,10}[!-~])?", 1..4),
        uncovered in "[!-~]{0,20}",
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) -> Request {
        let mut headers = HeaderMap::new();
        let mut put = |name: &'static str, value: &str| {
            headers.append(name, HeaderValue::from_str(value).expect("is a value"));
        };
        put("content-type", "application/json");
        put("x-uncovered", &uncovered);
        for value in &covered {
            put("x-covered", value);
        }
        if let Some(agent) = &agent {
            put("ucp-agent", agent);
        }
        if let Some(key) = &idempotency_key {
            put("idempotency-key", key);
        }
        Request { method: method.to_owned(), authority, path, query, headers, body }
    }
}

/// The text with another character at one place.
fn altered(text: &str, at: prop::sample::Index, with: char) -> Option<String> {
    let at = at.index(text.len());
    let changed = format!("{}{with}{}", &text[..at], &text[at + 1..]);
    (!changed.eq_ignore_ascii_case(text)).then_some(changed)
}

fn altered_header(headers: &HeaderMap, name: &str, at: prop::sample::Index, with: char) -> Option<HeaderValue> {
    HeaderValue::from_str(&altered(headers.get(name)?.to_str().ok()?, at, with)?).ok()
}

proptest! {
    #[test]
    fn what_is_signed_verifies_and_has_the_base_of_the_rfc(mut request in request(), which in 0..3_usize) {
        let base = request.sign(&KEYS[which]);
        prop_assert_eq!(String::from_utf8(base).unwrap(), request.expected_base(KEYS[which].public().kid()));
        prop_assert!(request.holds());
    }

    #[test]
    fn one_changed_byte_of_a_covered_part_is_noticed(
        mut request in request(),
        part in 0..10_usize,
        at in any::<prop::sample::Index>(),
        with in "[!-~]",
        bit in 0..8,
    ) {
        let with = with.chars().next().unwrap();
        request.sign(&KEYS[0]);
        let mut changed = request.clone();
        let new = match part {
            0 => altered(&request.method, at, with).map(|new| changed.method = new),
            1 => altered(&request.authority, at, with).map(|new| changed.authority = new),
            2 => altered(&request.path, at, with).map(|new| changed.path = new),
            3 => request.query.as_ref().filter(|query| !query.is_empty())
                .and_then(|query| altered(query, at, with))
                .map(|new| changed.query = Some(new)),
            4 => (!request.body.is_empty()).then(|| {
                let at = at.index(request.body.len());
                changed.body[at] ^= 1_u8 << bit;
            }),
            5 => {
                let value = request.headers["signature"].to_str().unwrap();
                let mut bytes = BASE64_STANDARD.decode(&value["sig1=:".len()..value.len() - 1]).unwrap();
                let at = at.index(bytes.len());
                bytes[at] ^= 1_u8 << bit;
                let value = format!("sig1=:{}:", BASE64_STANDARD.encode(bytes));
                changed.headers.insert("signature", value.parse().unwrap());
                Some(())
            }
            part => {
                let name = ["signature-input", "ucp-agent", "idempotency-key", "x-covered"][part - 6];
                let value = altered_header(&request.headers, name, at, with);
                // Of several values the first one is changed, and the others stay.
                value.map(|value| *changed.headers.get_mut(name).unwrap() = value)
            }
        };
        // Now and then the request does not have the part, or the new character is the old one.
        if new.is_some() {
            prop_assert!(!changed.holds(), "{changed:?}");
        }
    }

    #[test]
    fn what_is_not_covered_may_change(mut request in request(), value in "[!-~]{0,20}", name in "x-[a-z]{1,8}") {
        prop_assume!(name != "x-covered");
        request.sign(&KEYS[1]);
        request.headers.insert("x-uncovered", value.parse().unwrap());
        request.headers.append(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
        request.headers.remove("x-uncovered");
        if request.body.is_empty() {
            request.headers.remove("content-type");
        }
        request.authority.make_ascii_uppercase();
        prop_assert!(request.holds());
    }

    #[test]
    fn a_part_that_is_removed_or_added_is_noticed(mut request in request()) {
        request.sign(&KEYS[0]);
        for name in ["ucp-agent", "idempotency-key", "x-covered", "content-digest", "signature", "signature-input"] {
            let mut without = request.clone();
            if without.headers.remove(name).is_some() {
                prop_assert!(!without.holds(), "{name}");
            }
            let mut with = request.clone();
            if name != "content-digest" || !with.body.is_empty() {
                with.headers.append(name, "profile=\"https://other.example\"".parse().unwrap());
                // A label more among the signatures is nothing to the ones that are there.
                prop_assert_eq!(with.holds(), name.starts_with("signature"), "{}", name);
            }
        }
        let mut other = request.clone();
        other.body.push(b' ');
        prop_assert!(!other.holds());
        let mut other = request.clone();
        other.query = Some(format!("{}&a", request.query.unwrap_or_default()));
        prop_assert!(!other.holds());
    }

    #[test]
    fn responses_go_around_too(status in 200..600_u16, body in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "application/json".parse().unwrap());
        sign_response(status, &mut headers, &body, &KEYS[0], now()).unwrap();
        let signed = Signed::read(&headers).unwrap().unwrap();
        let verify = |status, body: &[u8]| {
            signed.verify(&Message { start: Start::Response(status), headers: &headers }, body, &PUBLISHED, now()).is_ok()
        };
        prop_assert!(verify(status, &body));
        prop_assert!(!verify(status + 1, &body));
        prop_assert!(!verify(status, &[&body[..], b"x"].concat()));
    }

    #[test]
    fn anything_in_the_headers_gets_a_verdict(
        mut request in request(),
        input in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            "(sig[12]=\\(([a-z@\"; =-]{0,20} ?){0,4}\\)(;[a-z]{1,7}=[0-9\":a-z]{0,9}){0,3},? ?){0,3}".prop_map(String::into_bytes),
        ],
        signature in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            "(sig[12]=:[A-Za-z0-9+/=]{0,90}:,? ?){0,3}".prop_map(String::into_bytes),
        ],
        digest in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let Ok(input) = HeaderValue::from_bytes(&input) else { return Ok(()) };
        let Ok(signature) = HeaderValue::from_bytes(&signature) else { return Ok(()) };
        if let Ok(digest) = HeaderValue::from_bytes(&digest) {
            request.headers.insert("content-digest", digest);
        }
        request.headers.insert("signature-input", input);
        request.headers.insert("signature", signature);
        prop_assert!(!request.holds());
    }
}
