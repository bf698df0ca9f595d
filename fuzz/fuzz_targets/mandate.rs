//! AP2 mandates: SD-JWTs with key binding, whose claims and disclosures a stranger wrote.
//!
//! An input is read as a mandate, and as a list of edits to one of the recorded ones: a search that had to keep the
//! rest of a signed text as it is would hardly ever change just one thing about it.
//!
//! Invariants: any text gets a verdict, in a few printable words. What is accepted is about the session of the vectors:
//! its checkout has the same terms, and it has the reference of one that was recorded as good, since the keys behind
//! those are used nowhere else. Nothing is accepted against no key, later, or of another session.

#![no_main]

use std::{
    collections::HashSet,
    sync::LazyLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ucp_trust::{
    jwk::{PublicKey, read_set},
    mandate::{Expected, stated_key, terms, verify},
};

/// Recorded data: see `crates/ucp-trust/tests/vectors/mandates.py`.
struct Recorded {
    platform_keys: Vec<PublicKey>,
    own_keys: Vec<PublicKey>,
    session: Value,
    other_session: Value,
    now: SystemTime,
    /// Good mandates first.
    mandates: Vec<String>,
    references: HashSet<String>,
}

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let vectors: Value =
        serde_json::from_str(include_str!("../../crates/ucp-trust/tests/vectors/mandates.json")).expect("JSON");
    let mut cases: Vec<_> = vectors["cases"].as_array().expect("cases").iter().collect();
    cases.sort_by_key(|case| !case["refused"].is_null());
    let mut other_session = vectors["session"].clone();
    other_session["totals"][0]["amount"] = 1.into();
    let mut recorded = Recorded {
        platform_keys: read_set(&vectors["platform_keys"], &mut Vec::new()),
        own_keys: read_set(&vectors["own_keys"], &mut Vec::new()),
        session: vectors["session"].clone(),
        other_session,
        now: UNIX_EPOCH + Duration::from_secs(vectors["now"].as_u64().expect("a time")),
        mandates: cases.iter().filter_map(|case| case["mandate"].as_str()).map(str::to_owned).collect(),
        references: HashSet::new(),
    };
    let good = cases.iter().filter(|case| case["refused"].is_null()).filter_map(|case| case["mandate"].as_str());
    let references = good.map(|mandate| verify(Some(mandate), &recorded.expected()).expect("a good one").reference);
    recorded.references = references.collect();
    recorded
});

impl Recorded {
    fn expected(&self) -> Expected<'_> {
        Expected {
            platform_keys: &self.platform_keys,
            own_keys: &self.own_keys,
            audiences: &["https://shop.example"],
            session: &self.session,
            now: self.now,
        }
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
    if let Ok(text) = String::from_utf8(edited(data)) {
        check(&text);
    }
});

fn check(mandate: &str) {
    let recorded = &*RECORDED;
    let expected = recorded.expected();
    let verdict = verify(Some(mandate), &expected);
    match &verdict {
        Ok(verified) => {
            assert!(recorded.references.contains(&verified.reference), "nobody made {mandate}");
            assert_eq!(terms::difference(&verified.checkout, &recorded.session, &terms::TERMS), None);
            assert_eq!(stated_key(mandate).as_deref(), Some(verified.key.kid()));
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control) && text.len() < 2_000, "{text}");
        }
    }
    for worse in [
        Expected { platform_keys: &[], ..expected },
        Expected { own_keys: &[], ..expected },
        Expected { audiences: &["https://shot.example"], ..expected },
        Expected { session: &recorded.other_session, ..expected },
        Expected { now: recorded.now + Duration::from_hours(24), ..expected },
    ] {
        // Rejected input needs no further checks.
        assert!(verdict.is_err() || verify(Some(mandate), &worse).is_err(), "{worse:?}");
    }
}

/// One of the recorded mandates after edits: a place in 1/65536 of what is there, how much to take out, what to put in.
fn edited(data: &[u8]) -> Vec<u8> {
    let Some((which, mut edits)) = data.split_first() else { return Vec::new() };
    let mandates = &RECORDED.mandates;
    let mut mandate = mandates[usize::from(*which) % mandates.len()].clone().into_bytes();
    while let [high, low, lengths, rest @ ..] = edits {
        let at = (usize::from(u16::from_be_bytes([*high, *low])) * (mandate.len() + 1)) >> 16;
        let end = mandate.len().min(at + usize::from(lengths >> 5));
        let (inserted, rest) = rest.split_at(rest.len().min(usize::from(lengths & 0x1f)));
        mandate.splice(at..end, inserted.iter().copied());
        edits = rest;
    }
    mandate
}
