//! API keys, which a platform presents instead of signing its requests.
//!
//! A key of this gateway is `ucpk_` followed by 32 random bytes in base64url. Only its SHA-256 is stored. A fast hash
//! is the right one: slow hashes protect secrets that can be guessed, and 256 random bits cannot be. For the same
//! reason a key that a person made up is accepted only as a hash, from an operator who answers for its strength.
//!
//! [`ApiKey`] is never printed: its `Debug` output leaves the key out, and only [`ApiKey::reveal`] returns its text.

use std::{fmt, str::FromStr, time::SystemTime};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};
use ucp_core::refusal::{Code, Refusal};

use crate::access_token::{self, Clients};

/// Prefix of every key of this gateway, by which people and secret scanners recognize one that leaked.
pub const PREFIX: &str = "ucpk_";

/// Header that carries a key.
pub const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Prefix of a stored hash, which names the algorithm.
const ALGORITHM: &str = "sha256:";

/// Number of random bytes in a key of this gateway.
const KEY_BYTES: usize = 32;

/// An API key in clear text, newly generated or as a request presents it.
#[derive(Clone)]
pub struct ApiKey(Box<str>);
ucp_core::opaque!(ApiKey);

impl ApiKey {
    /// Generates a new key. Fails with [`getrandom::Error`] if the operating system supplies no random bytes.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)).into()))
    }

    /// Returns the hash that is stored of the key.
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// Returns the text of the key, for the one time that it is handed out.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Parses a key of the form that [`ApiKey::generate`] produces.
impl FromStr for ApiKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let random = text.strip_prefix(PREFIX).and_then(|encoded| BASE64_URL_SAFE_NO_PAD.decode(encoded).ok());
        if random.is_some_and(|bytes| bytes.len() == KEY_BYTES) { Ok(Self(text.into())) } else { Err(NotAKey) }
    }
}

/// Returns a header's value without surrounding white space; `None` if it is empty or not visible ASCII.
fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

/// Returns the token in an `Authorization` header, empty if it is none of visible ASCII; `None` if the header is of another
/// scheme.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let value = value.as_bytes().trim_ascii();
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    let (scheme, token) = value.split_at(end);
    let token = token.trim_ascii();
    let token = if token.iter().all(|byte| (b' '..=b'~').contains(byte)) { str::from_utf8(token) } else { Ok("") };
    scheme.eq_ignore_ascii_case(b"Bearer").then(|| token.unwrap_or_default())
}

fn unreadable() -> Refusal {
    Refusal::new(Code::Unauthorized, "The `X-API-Key` header has no API key.")
        .accepting("one API key in visible ASCII, or no such header")
}

/// Error of a text that is not an API key of this gateway. It does not repeat the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an API key of this gateway (`{PREFIX}` and 43 characters); of any other key, give the hash")]
pub struct NotAKey;

/// Stored hash of an API key. Its text form is `sha256:` and the hash in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash([u8; 32]);

impl FromStr for KeyHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        text.strip_prefix(ALGORITHM).and_then(digest).map(Self).ok_or(NotAHash)
    }
}

/// Reads 32 bytes in hexadecimal.
pub(crate) fn digest(digits: &str) -> Option<[u8; 32]> {
    let digits = digits.as_bytes();
    let mut digest = [0; 32];
    if digits.len() != 2 * digest.len() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(digest)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        b'A'..=b'F' => Some(character - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ALGORITHM)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHash({self})")
    }
}

/// Error of a text that is not a hash of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `{ALGORITHM}` and 64 hexadecimal digits")]
pub struct NotAHash;

/// Register of the keys' hashes with the platform of each. A platform may have several keys, so that they can be
/// changed without a gap.
#[derive(Clone, Debug)]
pub struct ApiKeys<P> {
    entries: Vec<(KeyHash, P)>,
}

impl<P> ApiKeys<P> {
    /// Creates a register of these keys. If two platforms share a key, it belongs to the later one; callers rule that
    /// out beforehand.
    pub fn new(entries: impl IntoIterator<Item = (KeyHash, P)>) -> Self {
        Self { entries: entries.into_iter().collect() }
    }

    /// Returns the platform that `presented` belongs to.
    ///
    /// Every registered hash is compared, each in constant time, so that the time taken reveals neither the hash nor
    /// its position.
    pub fn find(&self, presented: &ApiKey) -> Option<&P> {
        let hash = presented.hash();
        let mut found = u64::MAX;
        for (index, (registered, _)) in (0_u64..).zip(&self.entries) {
            found.conditional_assign(&index, registered.0.ct_eq(&hash.0));
        }
        usize::try_from(found).ok().and_then(|index| self.entries.get(index)).map(|(_, platform)| platform)
    }

    /// Returns what a request presents in `X-API-Key` and as `Authorization: Bearer`: a key, or an access token of one of
    /// `clients` at the time `now`.
    ///
    /// A bearer token is a key or an access token if it begins as those of this gateway do, or is registered. Any other one
    /// may be a buyer's, and does not contradict a key in `X-API-Key`. Fails with [`Code::Unauthorized`] if the request
    /// presents an unreadable key, two different keys, or a key or access token that is not valid.
    pub fn identify<'a>(
        &'a self,
        headers: &HeaderMap,
        clients: &'a Clients<P>,
        now: SystemTime,
    ) -> Result<Shown<&'a P>, Refusal> {
        let known = |key: &str| self.find(&ApiKey(key.into()));
        let is_own = |token: &str| token.starts_with(PREFIX) || token.starts_with(access_token::PREFIX);
        let stated = headers.get_all(&X_API_KEY).iter().map(|value| text(value).ok_or_else(unreadable));
        let tokens = headers.get_all(AUTHORIZATION).iter().filter_map(bearer);
        let (keys, others): (Vec<_>, Vec<_>) = tokens.partition(|token| is_own(token) || known(token).is_some());
        let mut presented: Option<&str> = None;
        for key in stated.chain(keys.into_iter().map(Ok)) {
            let key = key?;
            // Both keys come from the caller, so the time that this comparison takes reveals nothing.
            if presented.is_some_and(|other| other != key) {
                return Err(Refusal::new(Code::Unauthorized, "The request has two different API keys.")
                    .accepting("one API key, in `X-API-Key` or as `Authorization: Bearer`"));
            }
            presented = Some(key);
        }
        match presented {
            Some(token) if token.starts_with(access_token::PREFIX) => clients.find(token, now).map(Shown::Key),
            Some(key) => known(key).map(Shown::Key).ok_or_else(|| {
                Refusal::new(Code::Unauthorized, "Invalid API key.")
                    .accepting("a key that this gateway's operator gave to the platform")
            }),
            None if others.is_empty() => Ok(Shown::Nothing),
            None => Ok(Shown::OtherBearer),
        }
    }
}

/// Credentials that a request presents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<P> {
    /// No key and no bearer token.
    Nothing,
    /// A key or an access token of this platform.
    Key(P),
    /// A bearer token that is neither.
    OtherBearer,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header value")))
            .collect()
    }

    fn identify<'a, P>(register: &'a ApiKeys<P>, headers: &HeaderMap) -> Result<Shown<&'a P>, Refusal> {
        let clients = Box::leak(Box::new(Clients::new("https://shop.example", Vec::new())));
        register.identify(headers, clients, SystemTime::UNIX_EPOCH)
    }

    /// Tells the key that is read, for a register that knows it, and what is read where another one is known.
    fn presented(key: &str, pairs: &[(&'static str, &str)]) -> Result<Shown<()>, Code> {
        let register = ApiKeys::new([(ApiKey(key.into()).hash(), ())]);
        match identify(&register, &headers(pairs)) {
            Ok(Shown::Key(())) => Ok(Shown::Key(())),
            Ok(Shown::Nothing) => Ok(Shown::Nothing),
            Ok(Shown::OtherBearer) => Ok(Shown::OtherBearer),
            Err(refusal) => Err(refusal.code),
        }
    }

    #[test]
    fn new_keys_have_the_form_of_keys_and_never_repeat() {
        let keys: HashSet<_> =
            (0..100).map(|_| ApiKey::generate().expect("random bytes").reveal().to_owned()).collect();
        assert_eq!(keys.len(), 100);
        for key in keys {
            assert_eq!(key.len(), PREFIX.len() + 43);
            assert_eq!(key.parse::<ApiKey>().expect("a key").reveal(), key);
        }
    }

    #[test]
    fn other_secrets_are_no_keys_and_are_not_repeated() {
        for wrong in ["", "hunter2", "ucpk_", "ucpk_short", "ucpk_!!!!", &format!("ucpk_{}", "A".repeat(44))] {
            let error = wrong.parse::<ApiKey>().expect_err(wrong);
            assert!(wrong.len() < 6 || !error.to_string().contains(wrong));
        }
    }

    #[test]
    fn a_key_cannot_be_printed() {
        let key = ApiKey::generate().expect("random bytes");
        assert_eq!(format!("{key:?}"), "ApiKey { .. }");
    }

    #[test]
    fn the_hash_is_the_one_that_other_tools_print() {
        // printf %s abc | sha256sum
        let hash = ApiKey("abc".into()).hash();
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        assert_eq!(text.to_uppercase().replace("SHA256", "sha256").parse(), Ok(hash));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for wrong in ["", "sha256:", "sha256:00", "md5:00", &format!("sha256:{}", "g".repeat(64)), &"0".repeat(64)] {
            assert_eq!(wrong.parse::<KeyHash>(), Err(NotAHash), "{wrong}");
        }
    }

    #[test]
    fn a_key_leads_to_its_platform() {
        let keys: Vec<_> = (0..5).map(|_| ApiKey::generate().expect("random bytes")).collect();
        // The last two belong to one platform: its old key and its new one.
        let register = ApiKeys::new(keys.iter().map(ApiKey::hash).zip(["a", "b", "c", "d", "d"]));
        let found: Vec<_> = keys.iter().map(|key| register.find(key).copied()).collect();
        assert_eq!(found, [Some("a"), Some("b"), Some("c"), Some("d"), Some("d")]);
        assert_eq!(register.find(&ApiKey::generate().expect("random bytes")), None);
        assert_eq!(ApiKeys::<&str>::new([]).find(&keys[0]), None);
    }

    #[test]
    fn a_key_is_read_from_either_header() {
        assert_eq!(presented("ucpk_x", &[]), Ok(Shown::Nothing));
        for (key, pairs) in [
            ("chosen by people", &[("x-api-key", " chosen by people ")][..]),
            ("ucpk_x", &[("authorization", "bearer  ucpk_x")]),
            ("made-elsewhere", &[("authorization", "BEARER made-elsewhere ")]),
            ("ucpk_x", &[("authorization", "Bearer ucpk_x"), ("x-api-key", "ucpk_x")]),
            ("made-elsewhere", &[("authorization", "Bearer made-elsewhere"), ("x-api-key", "made-elsewhere")]),
        ] {
            assert_eq!(presented(key, pairs), Ok(Shown::Key(())), "{pairs:?}");
        }
    }

    #[test]
    fn a_bearer_token_is_no_key_unless_it_is_registered() {
        for (other, shown) in [
            ("Bearer eyJhbGciOi.x.y", Shown::OtherBearer),
            ("Bearer two words", Shown::OtherBearer),
            ("Bearer", Shown::OtherBearer),
            ("bearer ", Shown::OtherBearer),
            ("Basic ucpk_x", Shown::Nothing),
            ("ucpk_x", Shown::Nothing),
            ("", Shown::Nothing),
        ] {
            assert_eq!(presented("ucpk_x", &[("authorization", other)]), Ok(shown), "{other}");
            let nobody = ApiKeys::<()>::new([]);
            let shown = if shown == Shown::Nothing { Shown::Nothing } else { Shown::OtherBearer };
            assert_eq!(identify(&nobody, &headers(&[("authorization", other)])), Ok(shown), "{other}");
            let both = [("authorization", other), ("x-api-key", "ucpk_x")];
            assert_eq!(presented("ucpk_x", &both), Ok(Shown::Key(())), "{other}");
        }
        assert_eq!(presented("made-elsewhere", &[("authorization", "Bearer ucpk_x")]), Err(Code::Unauthorized));
        let value = HeaderValue::from_bytes("Bearer clé".as_bytes()).expect("a value");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
        let register = ApiKeys::new([(ApiKey("x".into()).hash(), ())]);
        assert_eq!(identify(&register, &headers), Ok(Shown::OtherBearer));
    }

    #[test]
    fn keys_that_differ_or_say_nothing_are_refused() {
        for wrong in [
            &[("x-api-key", "ucpk_x"), ("authorization", "Bearer ucpk_y")][..],
            &[("x-api-key", "ucpk_x"), ("x-api-key", "ucpk_y")],
            &[("x-api-key", "other"), ("authorization", "Bearer ucpk_x")],
            &[("x-api-key", "")],
            &[("x-api-key", "clé")],
        ] {
            assert_eq!(presented("ucpk_x", wrong), Err(Code::Unauthorized), "{wrong:?}");
        }
    }

    #[test]
    fn an_unknown_key_is_refused_without_repeating_it() {
        let register = ApiKeys::new([(ApiKey("known".into()).hash(), "a")]);
        assert_eq!(identify(&register, &headers(&[("x-api-key", "known")])), Ok(Shown::Key(&"a")));
        assert_eq!(identify(&register, &headers(&[])), Ok(Shown::Nothing));
        let refusal = identify(&register, &headers(&[("x-api-key", "secret")])).expect_err("unknown");
        assert_eq!(refusal.code, Code::Unauthorized);
        assert!(!format!("{refusal:?}").contains("secret"));
    }

    proptest! {
        #[test]
        fn hashes_survive_being_written(bytes: [u8; 32]) {
            prop_assert_eq!(KeyHash(bytes).to_string().parse(), Ok(KeyHash(bytes)));
        }

        #[test]
        fn no_header_panics(name in prop::sample::select(vec![X_API_KEY, AUTHORIZATION]), value: Vec<u8>) {
            let headers: HeaderMap = HeaderValue::from_bytes(&value).into_iter().map(|value| (name.clone(), value)).collect();
            let _ = identify(&ApiKeys::new([(ApiKey("x".into()).hash(), ())]), &headers);
        }
    }
}
