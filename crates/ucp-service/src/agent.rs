//! Platform profile and idempotency key as stated by a request (UCP overview, *Platform Advertisement*; rules AGT-01,
//! AGT-02).
//!
//! A request may state the same value in several places: in a header, in `meta`, in the envelope of older releases.
//! Each value is kept with its place, and all of them have to agree (trap T-08).

use sfv::{BareItem, Dictionary, ListEntry, Parser};
use ucp_core::{Code, Refusal};
use ucp_trust::address::{ProfileUrl, Reach};

/// A value that a request states, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The place, in words for error messages.
    pub place: &'static str,
    /// The value, unchecked.
    pub text: String,
}

/// Returns the platform profile URL that all statements of a request agree on, after checking its form.
///
/// # Errors
/// [`Code::InvalidProfileUrl`] if nothing is stated, statements differ, or the URL is malformed or not permitted by
/// `reach`.
pub fn profile(statements: &[Stated], reach: Reach) -> Result<ProfileUrl, Refusal> {
    let stated = stated_profile(statements)?;
    ProfileUrl::parse(&stated.text, reach)
        .map_err(|rejection| refused(&format!("The profile address in {} {rejection}.", stated.place)))
}

/// Returns the first profile statement of a request after checking that all others repeat it.
///
/// # Errors
/// [`Code::InvalidProfileUrl`] if there is none, or they differ.
pub fn stated_profile(statements: &[Stated]) -> Result<&Stated, Refusal> {
    let missing = || {
        let refusal = refused("The request does not say which platform is calling.");
        let accepted = refusal.accepted.as_deref().unwrap_or_default().to_owned();
        refusal.accepting(format!("{accepted}; or an API key of a registered platform"))
    };
    let stated = statements.first().ok_or_else(missing)?;
    match statements.iter().find(|other| other.text != stated.text) {
        Some(other) => Err(refused(&format!("{} and {} name different platforms.", stated.place, other.place))),
        None => Ok(stated),
    }
}

/// Maximum length of an idempotency key, in bytes.
const MAX_KEY_LENGTH: usize = 255;

/// Returns the idempotency key that all statements of a request agree on, if there is one.
///
/// # Errors
/// [`Code::InvalidRequest`] if the statements differ, or the key is not 1 to 255 visible ASCII characters.
pub fn idempotency_key(statements: &[Stated]) -> Result<Option<&str>, Refusal> {
    let Some(stated) = statements.first() else { return Ok(None) };
    if let Some(other) = statements.iter().find(|other| other.text != stated.text) {
        let content = format!("{} and {} are different idempotency keys.", stated.place, other.place);
        return Err(Refusal::new(Code::InvalidRequest, content).accepting("one key, wherever it is repeated"));
    }
    let sane =
        (1..=MAX_KEY_LENGTH).contains(&stated.text.len()) && stated.text.bytes().all(|byte| byte.is_ascii_graphic());
    if !sane {
        let content = format!("The idempotency key in {} must be 1 to 255 visible ASCII characters.", stated.place);
        let accepted = format!("1 to {MAX_KEY_LENGTH} visible ASCII characters, preferably a UUID");
        return Err(Refusal::new(Code::InvalidRequest, content).accepting(accepted));
    }
    Ok(Some(&stated.text))
}

/// Reads the profile URL from the value of a `UCP-Agent` header: an RFC 8941 dictionary with a string member `profile`.
/// Other members are ignored; a header without a profile states none.
///
/// # Errors
/// [`Code::InvalidProfileUrl`] if the value is empty or not such a dictionary.
pub fn profile_of_header(value: &[u8]) -> Result<Option<Stated>, Refusal> {
    let stated = |text: &str| Ok(Some(Stated { place: "the `UCP-Agent` header", text: text.to_owned() }));
    // Nothing but a profile without escapes, as most platforms send it.
    let alone = value.strip_prefix(b"profile=\"").and_then(|rest| rest.strip_suffix(b"\""));
    let alone = alone.filter(|text| text.iter().all(|byte| matches!(byte, b' '..=b'~' if !b"\"\\".contains(byte))));
    if let Some(text) = alone.and_then(|text| str::from_utf8(text).ok()) {
        return stated(text);
    }
    let refused = || refused("The `UCP-Agent` header must be a dictionary with a quoted `profile`.");
    let members: Dictionary = Parser::new(value).parse().map_err(|_| refused())?;
    match members.get("profile") {
        None if !members.is_empty() => Ok(None),
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::String(profile) => stated(profile.as_str()),
            _ => Err(refused()),
        },
        _ => Err(refused()),
    }
}

fn refused(content: &str) -> Refusal {
    Refusal::new(Code::InvalidProfileUrl, content).accepting(
        "the https address of the platform's UCP profile: on REST `UCP-Agent: profile=\"https://…\"`, on MCP \
         `meta[\"ucp-agent\"].profile`",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stated(texts: &[&str]) -> Vec<Stated> {
        texts.iter().map(|&text| Stated { place: "the test", text: text.to_owned() }).collect()
    }

    fn identify(profiles: &[&str]) -> Result<String, String> {
        profile(&stated(profiles), Reach::Public).map(|profile| profile.as_str().to_owned()).map_err(|refusal| {
            assert_eq!(refusal.code, Code::InvalidProfileUrl);
            refusal.content
        })
    }

    #[test]
    fn statements_must_exist_and_agree() {
        assert!(identify(&[]).is_err());
        assert!(identify(&["https://a.example/", "https://a.example/"]).is_ok());
        assert!(identify(&["https://a.example/", "https://b.example/"]).expect_err("differ").contains("different"));
        let content = identify(&["https://user:secret@a.example/"]).expect_err("user information");
        assert!(!content.contains("secret"), "{content}");
    }

    #[test]
    fn idempotency_keys_must_agree_and_be_sane() {
        assert_eq!(idempotency_key(&[]), Ok(None));
        assert_eq!(idempotency_key(&stated(&["k-1", "k-1"])), Ok(Some("k-1")));
        for wrong in [&["a", "b"] as &[_], &[""], &["a b"], &["é"], &[&"a".repeat(300)]] {
            assert_eq!(idempotency_key(&stated(wrong)).expect_err("refused").code, Code::InvalidRequest);
        }
    }

    #[test]
    fn the_header_is_a_dictionary() {
        let read = |value: &str| profile_of_header(value.as_bytes()).map(|stated| stated.map(|stated| stated.text));
        let stated = Ok(Some("https://a.example/p".to_owned()));
        assert_eq!(read(r#"profile="https://a.example/p""#), stated);
        assert_eq!(read(r#"x=1, profile="https://a.example/p"; version="2026-04-08""#), stated);
        assert_eq!(read(r#"profile="a", profile="https://a.example/p""#), stated, "the last one counts");
        assert_eq!(read(r#"profile="a\"b""#), Ok(Some("a\"b".to_owned())));
        for without in [r#"name; version="1""#, "other=\"a\""] {
            assert_eq!(read(without), Ok(None), "{without}");
        }
        for wrong in ["", "https://a.example/p", "profile=https", "profile=(\"a\")", "profile", "profile=\"a"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_header_and_any_address_get_a_verdict(header: Vec<u8>, address: String) {
            let _ = profile_of_header(&header);
            let _ = identify(&[&address]);
        }
    }
}
