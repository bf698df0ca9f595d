//! Mandates that were made, and tampered with, by implementations that are not ours (`tests/vectors/mandates.py`).

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use ucp_trust::{
    jwk::{PublicKey, read_set},
    mandate::{Expected, MandateError, Verified, verify},
};

struct Vectors(Value);

impl Vectors {
    fn read() -> Self {
        Self(serde_json::from_str(include_str!("../vectors/mandates.json")).unwrap())
    }

    fn keys(&self, whose: &str) -> Vec<PublicKey> {
        read_set(&self.0[whose], &mut Vec::new())
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0["now"].as_u64().unwrap())
    }

    fn verify(&self, mandate: Option<&str>) -> Result<Verified, MandateError> {
        let (platform_keys, own_keys) = (self.keys("platform_keys"), self.keys("own_keys"));
        verify(
            mandate,
            &Expected {
                platform_keys: &platform_keys,
                own_keys: &own_keys,
                audiences: &["https://shop.example/.well-known/ucp", self.0["audience"].as_str().unwrap()],
                session: &self.0["session"],
                now: self.now(),
            },
        )
    }

    fn cases(&self) -> impl Iterator<Item = (&str, Option<&str>, Option<&str>)> {
        self.0["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| (case["name"].as_str().unwrap(), case["mandate"].as_str(), case["refused"].as_str()))
    }
}

#[test]
fn every_mandate_gets_its_verdict() {
    let vectors = Vectors::read();
    let mut wrong = Vec::new();
    let (mut accepted, mut codes) = (0, std::collections::BTreeSet::new());
    for (name, mandate, refused) in vectors.cases() {
        let verdict = vectors.verify(mandate);
        codes.extend(refused);
        accepted += usize::from(refused.is_none());
        if verdict.as_ref().err().map(MandateError::code) != refused {
            wrong.push(format!("{name}: wanted {refused:?}, got {verdict:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted >= 20 && codes.len() == 7, "{accepted} {codes:?}");
}

#[test]
fn what_is_accepted_is_what_was_agreed_to() {
    let vectors = Vectors::read();
    for (name, mandate, _) in vectors.cases().filter(|(.., refused)| refused.is_none()) {
        let verified = vectors.verify(mandate).unwrap();
        assert_eq!(verified.checkout["id"], "chk_7f9d1c", "{name}");
        assert_eq!(verified.checkout["line_items"], vectors.0["session"]["line_items"], "{name}");
        assert!(verified.key.kid().starts_with("platform-es") && verified.audience == "https://shop.example", "{name}");
        assert_eq!(verified.reference.len(), 43, "{name}");
        assert!(verified.expires > 1_767_225_500, "{name}");
        assert!(!format!("{verified:?}").contains("Socks"), "{name}");
    }
}

#[test]
fn refusals_say_what_is_wrong_in_a_few_printable_sentences() {
    let vectors = Vectors::read();
    for (name, mandate, _) in vectors.cases().filter(|(.., refused)| refused.is_some()) {
        let text = vectors.verify(mandate).unwrap_err().to_string();
        assert!(text.ends_with('.') && !text.contains(".. ") && (40..700).contains(&text.len()), "{name}: {text}");
        assert!(!text.contains("  ") && !text.chars().any(char::is_control), "{name}: {text}");
    }
}
