//! `Signature-Input`, `Signature` and `Content-Digest` of whole messages, as `ucp-gateway verify` reads them from
//! files.
//!
//! An input is read as a message, and as a list of edits to one of the seeds: a search that had to keep the rest of a
//! signed message as it is would hardly ever change just one thing about it.
//!
//! Invariants: any message gets a verdict, the same one that is explained to people. The private keys behind the seeds
//! `genuine-*` are gone, so nothing verifies but what they signed: a message that does says in every part that UCP
//! binds what one of them says. A body that fits its digest fits with no byte more or less.

#![no_main]

use std::{
    sync::LazyLock,
    time::{Duration, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderName, header::CONTENT_TYPE};
use libfuzzer_sys::fuzz_target;
use ucp_trust::{
    jwk::{self, PublicKey},
    signature::{
        Message, Scheme, Signed, Start,
        digest::{self, CONTENT_DIGEST},
        explain::explain,
        message::RawMessage,
    },
};

/// When the seeds were signed.
const NOW: Duration = Duration::from_secs(1_800_000_000);

/// The public keys: one for each algorithm, and one of a type that nothing can be verified with.
static KEYS: LazyLock<Vec<PublicKey>> = LazyLock::new(|| {
    let keys = serde_json::from_str(include_str!("../keys.json")).expect("JSON");
    jwk::read_document(&keys, &mut Vec::new()).expect("keys")
});

/// Messages that were signed with these keys.
const SEEDS: [&[u8]; 3] = [
    include_bytes!("../corpus/signature/genuine-request"),
    include_bytes!("../corpus/signature/genuine-request-without-body"),
    include_bytes!("../corpus/signature/genuine-response"),
];

static GENUINE: LazyLock<[Bound; 3]> = LazyLock::new(|| {
    SEEDS.map(|seed| {
        let raw = RawMessage::parse(seed).expect("a message");
        assert!(verifies(&raw), "the seeds do not verify any more");
        Bound::of(&raw)
    })
});

fuzz_target!(|data: &[u8]| {
    check(data);
    check(&edited(data));
});

fn check(file: &[u8]) {
    let Ok(raw) = RawMessage::parse(file) else { return };
    check_digest(raw.headers(), raw.body());
    if verifies(&raw) {
        let bound = Bound::of(&raw);
        assert!(GENUINE.contains(&bound), "{bound:?} was never signed");
    }
}

/// One of the seeds after edits: a place in 1/65536 of what is there, how much to take out, what to put in.
fn edited(data: &[u8]) -> Vec<u8> {
    let Some((which, mut edits)) = data.split_first() else { return Vec::new() };
    let mut message = SEEDS[usize::from(*which) % SEEDS.len()].to_vec();
    while let [high, low, lengths, rest @ ..] = edits {
        let at = (usize::from(u16::from_be_bytes([*high, *low])) * (message.len() + 1)) >> 16;
        let end = message.len().min(at + usize::from(lengths >> 5));
        let (inserted, rest) = rest.split_at(rest.len().min(usize::from(lengths & 0x1f)));
        message.splice(at..end, inserted.iter().copied());
        edits = rest;
    }
    message
}

/// Returns `true` if a message verifies, as it is said to programs and to people.
fn verifies(raw: &RawMessage) -> bool {
    let Ok(Some(signed)) = Signed::read(raw.headers()) else { return false };
    let (message, now) = (raw.view(Scheme::Https), UNIX_EPOCH + NOW);
    let verdict = signed.verify(&message, raw.body(), &KEYS, now);
    let explained = explain(&signed, &message, raw.body(), &KEYS, now);
    let holds = explained.iter().find(|one| one.verdict.is_ok()).map(|one| one.label.as_str());
    assert_eq!(verdict.as_ref().ok().map(|verified| verified.label.as_str()), holds, "{verdict:?}");
    let content = verdict.as_ref().err().map_or("", |refusal| &refusal.content);
    assert!(!content.chars().any(char::is_control), "{content:?}");
    // Nothing holds against no key.
    assert!(signed.verify(&message, raw.body(), &[], now).is_err());
    verdict.is_ok()
}

/// A digest that is made is right, and one that is right is of this body only.
fn check_digest(headers: &HeaderMap, body: &[u8]) {
    if digest::check(headers, body).is_ok() {
        assert!(digest::check(headers, &[body, b"\n"].concat()).is_err());
        assert!(body.split_last().is_none_or(|(_, shorter)| digest::check(headers, shorter).is_err()));
    }
    let mut headers = headers.clone();
    headers.insert(CONTENT_DIGEST, digest::make(body));
    assert_eq!(digest::check(&headers, body), Ok(()));
}

/// Components that UCP requires in a signature, in a form that is the same for messages with the same meaning.
#[derive(Debug, PartialEq)]
struct Bound {
    start: String,
    fields: [Vec<u8>; 4],
    body: Vec<u8>,
}

impl Bound {
    fn of(raw: &RawMessage) -> Self {
        let Message { start, headers } = raw.view(Scheme::Https);
        let (request, start) = match start {
            Start::Response(status) => (false, status.to_string()),
            Start::Request(line) => {
                let port = if line.scheme == Scheme::Https { ":443" } else { ":80" };
                let authority = line.authority.strip_suffix(port).unwrap_or(line.authority).to_ascii_lowercase();
                let path = if line.path.is_empty() { "/" } else { line.path };
                (true, format!("{} {authority} {path}?{}", line.method, line.query.unwrap_or_default()))
            }
        };
        let field = |name: HeaderName, matters: bool| {
            let values = headers.get_all(name).iter().filter(|_| matters).map(|value| value.as_bytes().trim_ascii());
            values.collect::<Vec<_>>().join(&b", "[..])
        };
        let fields = [
            field(HeaderName::from_static("ucp-agent"), request),
            field(HeaderName::from_static("signature-agent"), request),
            field(HeaderName::from_static("idempotency-key"), request),
            field(CONTENT_TYPE, !raw.body().is_empty()),
        ];
        Self { start, fields, body: raw.body().to_vec() }
    }
}
