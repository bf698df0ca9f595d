//! Sessions of carts: the cookies and headers by which a shop knows a cart, and the choice of its sources, within the identifier
//! that the contract hands back.
//!
//! The contract tells the identifier of a cart to nobody, so that it may hold what opens the cart. It is opaque to the
//! gateway, which keeps it with its own record of the cart; nothing is kept here.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Start of identifiers that hold a session, and the version of their form.
const PREFIX: &str = "m1.";

/// Maximum size of the cookies of a session in bytes, and of its headers.
const MAX_COOKIES: usize = 3 << 10;

/// Session of a cart: the cookies, headers and choices that open it. Has no `Debug` form: whoever knows it can open the cart.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// Cookies by source and name.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
    /// Choices by the names of sources that have several; `None` for the source as it is stated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) chosen: BTreeMap<String, Option<String>>,
    /// Headers by source and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    cart: Value,
    #[serde(flatten)]
    session: Session,
}

impl Session {
    /// Takes the session out of an identifier, and returns the shop's own identifier of the cart; `None` for an
    /// identifier that was not made here.
    pub(super) fn open(identifier: &str) -> Option<(Self, Value)> {
        let bytes = URL_SAFE_NO_PAD.decode(identifier.strip_prefix(PREFIX)?).ok()?;
        let Sealed { cart, session } = serde_json::from_slice(&bytes).ok()?;
        Some((session, cart))
    }

    /// Returns the identifier of a cart in this session.
    pub(super) fn seal(&self, cart: Value) -> Option<String> {
        let sealed = serde_json::to_vec(&Sealed { cart, session: self.clone() }).ok()?;
        Some(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Returns the `Cookie` header for a source.
    pub(super) fn header(&self, source: &str) -> Option<HeaderValue> {
        let cookies: Vec<_> = self.cookies.get(source)?.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut value = HeaderValue::from_str(&cookies.join("; ")).ok().filter(|value| !value.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns the headers for a source.
    pub(super) fn headers(&self, source: &str) -> Vec<(HeaderName, HeaderValue)> {
        let header = |(name, value): (&String, &String)| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            Some((name.parse().ok()?, value))
        };
        self.headers.get(source).into_iter().flatten().filter_map(header).collect()
    }

    /// Takes over the headers of these names that an answer of a source has.
    pub(super) fn note_headers(&mut self, source: &str, names: &[HeaderName], headers: &HeaderMap) {
        for name in names {
            let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else { continue };
            let kept = self.headers.entry(source.to_owned()).or_default();
            let held: usize =
                kept.iter().filter(|(known, _)| *known != name.as_str()).map(|(_, value)| value.len()).sum();
            if held + value.len() <= MAX_COOKIES {
                kept.insert(name.as_str().to_owned(), value.to_owned());
            }
        }
    }

    /// Takes over the cookies of these names that an answer of a source sets.
    pub(super) fn note(&mut self, source: &str, names: &[String], headers: &HeaderMap) {
        for set in headers.get_all(header::SET_COOKIE) {
            let Some(text) = set.to_str().ok() else { continue };
            let mut parts = text.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
            if !names.iter().any(|known| known == name) {
                continue;
            }
            let ended = value.is_empty() || parts.any(|part| part.eq_ignore_ascii_case("max-age=0"));
            let jar = self.cookies.entry(source.to_owned()).or_default();
            let held: usize = jar.iter().map(|(name, value)| name.len() + value.len()).sum();
            if ended {
                jar.remove(name);
            } else if held + text.len() <= MAX_COOKIES || jar.contains_key(name) && value.len() <= MAX_COOKIES {
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(lines: &[&str]) -> HeaderMap {
        let set = lines.iter().map(|line| (header::SET_COOKIE, HeaderValue::from_str(line).expect("a header")));
        set.collect()
    }

    #[test]
    fn a_session_travels_within_the_identifier_of_its_cart() {
        let names = ["sid".to_owned(), "sig".to_owned()];
        let mut session = Session::default();
        session.note("shop", &names, &set(&["sid=a=b; Path=/; HttpOnly", "other=1", "sig=2"]));
        let identifier = session.seal(Value::from(7)).expect("an identifier");
        assert!(!identifier.contains("sid"), "{identifier}");
        let (mut opened, cart) = Session::open(&identifier).expect("one of ours");
        assert!(opened == session && cart == 7);
        assert_eq!(opened.header("shop").expect("cookies"), "sid=a=b; sig=2");
        assert!(opened.header("shop").expect("cookies").is_sensitive());
        assert_eq!(opened.header("other"), None);
        opened.note("shop", &names, &set(&["sid=; Path=/", "sig=3; Max-Age=0"]));
        assert_eq!(opened.header("shop"), None);
    }

    #[test]
    fn identifiers_of_carts_from_before_choices_are_read() {
        let sealed = URL_SAFE_NO_PAD.encode(br#"{"cart":7,"cookies":{"shop":{"sid":"1"}}}"#);
        let (session, cart) = Session::open(&format!("m1.{sealed}")).expect("one of ours");
        assert_eq!((cart, session.header("shop").expect("cookies").as_bytes()), (Value::from(7), &b"sid=1"[..]));
        assert!(session.seal(Value::from(7)).expect("an identifier") == format!("m1.{sealed}"));
    }

    #[test]
    fn headers_of_a_session_travel_with_its_cookies() {
        let names = [HeaderName::from_static("cart-token")];
        let answer = |token: &str| {
            let text = HeaderValue::from_str(token).expect("a header");
            HeaderMap::from_iter([(names[0].clone(), text), (header::ETAG, HeaderValue::from_static("other"))])
        };
        let mut session = Session::default();
        session.note_headers("shop", &names, &answer("a"));
        session.note_headers("shop", &names, &answer("b"));
        session.note_headers("shop", &names, &answer(&"x".repeat(MAX_COOKIES + 1)));
        let (opened, _) = Session::open(&session.seal(Value::from(7)).expect("an identifier")).expect("one of ours");
        assert_eq!(opened.headers("shop"), [(names[0].clone(), HeaderValue::from_static("b"))]);
        assert!(opened.headers("shop")[0].1.is_sensitive() && opened.headers("other").is_empty());
        // Of a gateway from before there were headers.
        let sealed = URL_SAFE_NO_PAD.encode(br#"{"cart":7,"cookies":{"shop":{"sid":"1"}}}"#);
        let (session, _) = Session::open(&format!("m1.{sealed}")).expect("one of ours");
        assert_eq!(session.header("shop").expect("cookies"), "sid=1");
    }

    #[test]
    fn other_identifiers_hold_no_session() {
        for identifier in ["", "7", "m1.", "m1.!", "m1.e30"] {
            assert!(Session::open(identifier).is_none(), "{identifier}");
        }
    }

    #[test]
    fn a_shop_cannot_make_identifiers_of_any_size() {
        let names: Vec<_> = (0..100).map(|number| format!("c{number}")).collect();
        let lines: Vec<_> = names.iter().map(|name| format!("{name}={}", "x".repeat(1000))).collect();
        let mut session = Session::default();
        session.note("shop", &names, &set(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
        assert!(session.seal(Value::Null).expect("an identifier").len() < 2 * MAX_COOKIES);
    }
}
