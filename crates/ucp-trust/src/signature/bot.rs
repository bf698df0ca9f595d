//! Web Bot Auth: signatures that identify the bot that sends a request, and do not cover the request itself
//! (draft-ietf-webbotauth-httpsig-protocol).
//!
//! Such a signature covers the host of the request and the address where the bot publishes its keys. So it is the same
//! for all requests to that host until it expires, and can be made in advance, even by the operator of the host. Anyone
//! who sees it can use it for as long: it is kept secret like a token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use sfv::{Item, KeyRef, ListEntry, Parser, StringRef};

use super::{
    base::{self, Component, Message, RequestLine, Scheme, Start},
    input::{Input, SIGNATURE, SIGNATURE_INPUT},
    key::SigningKey,
    sign::{self, LABEL, Made, SignError},
    verify::{SIGNATURE_AGENT, WEB_BOT_AUTH},
};
use crate::jwk::{Algorithm, PublicKey};

/// Default path of a bot's keys on its host.
pub const DIRECTORY_PATH: &str = "/.well-known/http-message-signatures-directory";

/// Media type of the keys there.
pub const DIRECTORY_TYPE: &str = "application/http-message-signatures-directory+json";

/// Header fields of a signature, with their names in the usual spelling.
const FIELDS: [(&str, HeaderName); 3] =
    [("Signature-Agent", SIGNATURE_AGENT), ("Signature-Input", SIGNATURE_INPUT), ("Signature", SIGNATURE)];

/// A signature that is valid for all requests to a host until it expires. Its `Debug` form leaves the signature out.
#[derive(Clone)]
pub struct BotSignature {
    /// Values of [`FIELDS`].
    values: [HeaderValue; 3],
    expires: SystemTime,
}
ucp_core::opaque!(BotSignature { expires });

/// Reason why a text is not a usable signature. It contains nothing of the text but names and positions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

impl BotSignature {
    /// Parses a signature made elsewhere from its three header fields as a request has them: one per line, and nothing
    /// else. Callers check the expiry. Fails with [`Unusable`] with the field and its fault.
    pub fn read(text: &str) -> Result<Self, Unusable> {
        let headers = lines(text)?;
        let one = |name: &HeaderName, shown: &str| {
            let members = base::dictionary(name, &headers)
                .map_err(|error| Unusable(format!("{shown} cannot be read: {error}")))?;
            let count = members.len();
            let mut members = members.into_iter();
            members
                .next()
                .filter(|_| count == 1)
                .ok_or_else(|| Unusable(format!("{shown} has {count} members, and one signature is expected")))
        };
        let (label, input) = one(&SIGNATURE_INPUT, "Signature-Input")?;
        let (other, signature) = one(&SIGNATURE, "Signature")?;
        if label != other {
            return Err(Unusable(
                "Signature-Input and Signature have different labels, and so do not belong together".into(),
            ));
        }
        let input = Input::read(input, Some(signature))
            .map_err(|problem| Unusable(format!("the signature cannot be used: {problem}")))?;
        check_covered(&input, &headers)?;
        if input.tag.as_deref() != Some(WEB_BOT_AUTH) {
            return Err(Unusable(format!("Signature-Input has another `tag` than \"{WEB_BOT_AUTH}\", or none")));
        }
        for (parameter, is_there) in [("keyid", input.keyid.is_some()), ("created", input.created.is_some())] {
            if !is_there {
                return Err(Unusable(format!("Signature-Input has no `{parameter}`")));
            }
        }
        let expires = input.expires.and_then(|expires| u64::try_from(expires).ok()).map(Duration::from_secs);
        let expires = expires.and_then(|expires| UNIX_EPOCH.checked_add(expires));
        let expires =
            expires.ok_or_else(|| Unusable("Signature-Input has no `expires`, in seconds since 1970".into()))?;
        Ok(Self::of(FIELDS.map(|(_, name)| headers[name].clone()), expires))
    }

    /// Signs for the host `authority`, as a bot whose keys are published at `agent`. Fails with [`SignError::Curve`]
    /// for a key on P-521, which only AP2 uses; [`SignError::Incomplete`] if `agent` is not ASCII; [`SignError::Key`]
    /// if the cryptographic library fails.
    pub fn make(
        agent: &str,
        scheme: Scheme,
        authority: &str,
        key: &SigningKey,
        now: SystemTime,
        lifetime: Duration,
    ) -> Result<Self, SignError> {
        if key.algorithm().http_name().is_none() {
            return Err(SignError::Curve);
        }
        let unwritable = |_| SignError::Incomplete("the address of the keys is not ASCII".to_owned());
        let text = sfv::ItemSerializer::new().bare_item(StringRef::from_str(agent).map_err(unwritable)?).finish();
        let agent = sign::field(format!("{LABEL}={text}"))?;
        let headers = HeaderMap::from_iter([(SIGNATURE_AGENT, agent.clone())]);
        // Parts that are not covered do not matter.
        let line = RequestLine { method: "POST", scheme, authority, path: "/", query: None };
        let message = Message { start: Start::Request(line), headers: &headers };
        let label = KeyRef::from_str(LABEL).map_err(|_| SignError::KeyId)?.to_owned();
        let covered = [Component::Authority, Component::Member(SIGNATURE_AGENT, label)];
        let keyid = key.public().thumbprint().ok_or(SignError::Curve)?;
        let parameters = sign::parameters(&covered, &keyid, now)?;
        let expires = now + lifetime;
        let seconds = expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let parameters = format!("{parameters};expires={seconds};tag=\"{WEB_BOT_AUTH}\"");
        let Made { input, signature, .. } = sign::make(&covered, &parameters, &message, key)?;
        Ok(Self::of([agent, input, signature], expires))
    }

    fn of(mut values: [HeaderValue; 3], expires: SystemTime) -> Self {
        values.iter_mut().for_each(|value| value.set_sensitive(true));
        Self { values, expires }
    }

    /// Returns the header fields for a request. Their values are marked as sensitive.
    pub fn fields(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        FIELDS.into_iter().map(|(_, name)| name).zip(self.values.iter().cloned())
    }

    /// Returns the time at which the signature expires.
    pub fn expires(&self) -> SystemTime {
        self.expires
    }
}

/// Returns the keys of a bot in the form of a directory, in which their thumbprints are their names. Keys that do not
/// sign HTTP messages are left out.
pub fn directory<'a>(keys: impl IntoIterator<Item = &'a PublicKey>) -> Value {
    let of_messages = |key: &&PublicKey| key.algorithm().and_then(Algorithm::http_name).is_some();
    let jwk = |key: &PublicKey| {
        let (mut jwk, thumbprint) = (key.to_jwk()?, key.thumbprint()?);
        let members = jwk.as_object_mut()?;
        members.insert("kid".to_owned(), thumbprint.into());
        // In a directory, `alg` has names from RFC 9421; the curve states the same.
        members.remove("alg");
        Some(jwk)
    };
    json!({ "keys": keys.into_iter().filter(of_messages).filter_map(jwk).collect::<Vec<_>>() })
}

/// Parses the header fields of a signature, each of which must occur once.
fn lines(text: &str) -> Result<HeaderMap, Unusable> {
    let mut headers = HeaderMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 1;
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let Some((shown, name)) = FIELDS.into_iter().find(|(shown, _)| shown.eq_ignore_ascii_case(name.trim())) else {
            let problem =
                "must be one of the header fields Signature-Agent, Signature-Input and Signature, each with its value";
            return Err(Unusable(format!("line {number} {problem}")));
        };
        let value = HeaderValue::from_str(value.trim())
            .map_err(|_| Unusable(format!("{shown} has characters that no header field has")))?;
        if headers.insert(name, value).is_some() {
            return Err(Unusable(format!("{shown} is there twice")));
        }
    }
    match FIELDS.into_iter().find(|(_, name)| !headers.contains_key(name)) {
        None => Ok(headers),
        Some((missing, _)) => Err(Unusable(format!("{missing} is missing"))),
    }
}

/// Checks that a signature covers what it has to, and nothing that differs between requests.
fn check_covered(input: &Input, headers: &HeaderMap) -> Result<(), Unusable> {
    if !input.covered.contains(&Component::Authority) {
        return Err(Unusable("Signature-Input does not cover \"@authority\"".into()));
    }
    let mut agent = None;
    for component in &input.covered {
        agent = match component {
            Component::Authority => continue,
            Component::Field(name) if *name == SIGNATURE_AGENT => {
                Parser::new(headers[SIGNATURE_AGENT].as_bytes()).parse::<Item>().ok()
            }
            Component::Member(name, key) if *name == SIGNATURE_AGENT => {
                base::dictionary(&SIGNATURE_AGENT, headers).ok().and_then(|mut agents| match agents.swap_remove(key) {
                    Some(ListEntry::Item(item)) => Some(item),
                    _ => None,
                })
            }
            other => {
                return Err(Unusable(format!(
                    "Signature-Input covers {other}: what is sent with all requests covers \"@authority\" and \
                     \"signature-agent\""
                )));
            }
        };
        let address = agent.as_ref().and_then(|item| item.bare_item.as_string());
        if !address.is_some_and(|address| address.as_str().starts_with("https://")) {
            return Err(Unusable("Signature-Agent is not an https address in double quotes, as it is signed".into()));
        }
    }
    agent.map(drop).ok_or_else(|| Unusable("Signature-Input does not cover \"signature-agent\"".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::input;

    const AGENT: &str = "https://gateway.example.com/.well-known/http-message-signatures-directory";
    const NOW: Duration = Duration::from_secs(1_790_000_000);
    const GIVEN: &str = "Signature-Agent: \"https://shopify.com\"\n\
        Signature-Input: sig1=(\"@authority\" \"signature-agent\");keyid=\"k-7f3a91\";nonce=\"n-7f3a91\";tag=\"web-bot-auth\";\
        created=1790000000;expires=1797000000\n\
        Signature: sig1=:c2lnbmF0dXJlLTdmM2E5MQ==:\n";

    /// Parts of [`GIVEN`] that must stay secret.
    const SECRETS: [&str; 3] = ["7f3a91", "c2lnbmF0dXJlLTdmM2E5MQ", "sig1="];

    #[test]
    fn a_signature_that_was_given_is_sent_as_it_is() {
        let crlf = GIVEN.replace('\n', "\r\n");
        let reordered: String = GIVEN.lines().rev().map(|line| format!("\n{}  \n", line.to_lowercase())).collect();
        let dictionary = GIVEN
            .replace("\"https://shopify.com\"", "agent2=\"https://shopify.com/keys\"")
            .replace("\"signature-agent\"", "\"signature-agent\";key=\"agent2\"");
        let lowered = GIVEN.to_lowercase();
        for (text, expected) in [(GIVEN, GIVEN), (&crlf, GIVEN), (&reordered, &lowered), (&dictionary, &dictionary)] {
            let read = BotSignature::read(text).unwrap();
            assert_eq!(read.expires(), UNIX_EPOCH + Duration::from_secs(1_797_000_000));
            for ((name, value), line) in read.fields().zip(expected.lines()) {
                assert!(value.is_sensitive());
                assert_eq!(line.split_once(": ").unwrap().1, value.to_str().unwrap(), "{name}");
            }
            assert_eq!(read.fields().count(), 3);
            let shown = format!("{read:?} {read:#?} {:?}", read.fields().collect::<HeaderMap>());
            assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
        }
    }

    #[test]
    fn what_is_no_signature_for_all_requests_is_refused_and_not_repeated() {
        for (what, instead, expected) in [
            ("Signature: sig1=:c2lnbmF0dXJlLTdmM2E5MQ==:\n", "", "Signature is missing"),
            ("Signature-Agent: \"https://shopify.com\"\n", "", "Signature-Agent is missing"),
            ("Signature: sig1", "Signature-Agent: sig1", "Signature-Agent is there twice"),
            ("Signature: sig1", "Authorization: sig1", "line 3 must be one of the header fields"),
            ("Signature: ", "", "line 3 must be one of the header fields"),
            ("Signature: ", "\nSignature ", "line 4 must be one of the header fields"),
            ("c2lnbm", "\u{7}", "Signature has characters that no header field has"),
            ("c2lnbm", "!", "Signature cannot be read: invalid"),
            ("Signature: sig1", "Signature: sig2", "different labels"),
            ("Signature: sig1", "Signature: sig2=:YQ==:, sig1", "Signature has 2 members, and one"),
            ("Signature-Input: sig1", "Signature-Input: sig2=(), sig1", "Signature-Input has 2 members, and one"),
            ("(\"@authority\" \"signature-agent\")", "\"@authority\"", "not a list in parentheses"),
            (":c2lnbmF0dXJlLTdmM2E5MQ==:", "\"c2lnbmF0dXJlLTdmM2E5MQ\"", "not a byte sequence"),
            ("\"@authority\" ", "", "does not cover \"@authority\""),
            (" \"signature-agent\"", "", "does not cover \"signature-agent\""),
            ("\"@authority\"", "\"@authority\" \"@path\"", "covers \"@path\": what is sent with all requests covers"),
            ("\"signature-agent\")", "\"signature-agent\";key=\"sig1\")", "Signature-Agent is not an https address"),
            ("\"https://shopify.com\"", "https://shopify.com", "Signature-Agent is not an https address"),
            ("\"https://shopify.com\"", "\"http://shopify.com\"", "Signature-Agent is not an https address"),
            ("web-bot-auth", "crawler", "another `tag` than \"web-bot-auth\", or none"),
            (";tag=\"web-bot-auth\"", "", "another `tag` than \"web-bot-auth\", or none"),
            ("keyid=\"k-7f3a91\";", "", "no `keyid`"),
            ("created=1790000000;", "", "no `created`"),
            (";expires=1797000000", "", "no `expires`"),
            ("expires=1797000000", "expires=-1", "no `expires`"),
            ("expires=1797000000", "expires=\"1797000000\"", "its parameter expires is not of the right type"),
        ] {
            let text = GIVEN.replacen(what, instead, 1);
            assert_ne!(text, GIVEN, "{what}");
            let error = BotSignature::read(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}: {text}");
            assert!(!SECRETS.iter().any(|secret| error.contains(secret)), "{error}");
        }
    }

    #[test]
    fn a_signature_of_our_own_holds_for_its_host_and_no_other() {
        let now = UNIX_EPOCH + NOW;
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        let made =
            BotSignature::make(AGENT, Scheme::Https, "Shop.example.com:443", &key, now, Duration::from_secs(300))
                .unwrap();
        assert_eq!(made.expires(), now + Duration::from_secs(300));
        let headers: HeaderMap = made.fields().collect();
        assert_eq!(headers["signature-agent"], format!("sig1=\"{AGENT}\""));
        let thumbprint = key.public().thumbprint().unwrap();
        let expected = format!(
            "sig1=(\"@authority\" \"signature-agent\";key=\"sig1\");created=1790000000;keyid=\"{thumbprint}\";\
             expires=1790000300;tag=\"web-bot-auth\""
        );
        assert_eq!(headers["signature-input"], expected);

        let candidates = input::read(&headers).unwrap();
        let input = candidates[0].input.as_ref().unwrap();
        let verified = |authority| {
            let line = RequestLine { method: "POST", scheme: Scheme::Https, authority, path: "/api", query: Some("a") };
            let message = Message { start: Start::Request(line), headers: &headers };
            key.public().verify(&base::build(&input.covered, &input.parameters, &message).unwrap(), &input.signature)
        };
        assert!(verified("shop.example.com").is_ok() && verified("other.example.com").is_err());

        // A reader of signatures from files accepts this one.
        let text: String =
            made.fields().map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap())).collect();
        assert_eq!(BotSignature::read(&text).unwrap().expires(), made.expires());
        let key = SigningKey::generate(Algorithm::Es512).unwrap();
        let refused = BotSignature::make(AGENT, Scheme::Https, "shop.example.com", &key, now, NOW).unwrap_err();
        assert_eq!(refused, SignError::Curve);
    }

    #[test]
    fn a_directory_calls_keys_by_their_thumbprints() {
        let [es256, es512] =
            [Algorithm::Es256, Algorithm::Es512].map(|algorithm| SigningKey::generate(algorithm).unwrap());
        let mut jwk = es256.public().to_jwk().unwrap();
        jwk["kid"] = "summer".into();
        let named = PublicKey::read(&jwk, "", &mut Vec::new()).unwrap();
        let directory = directory([&named, es512.public()]);
        let keys = directory["keys"].as_array().unwrap();
        assert_eq!(keys.len(), 1, "{directory}");
        assert_eq!(keys[0]["kid"], es256.public().thumbprint().unwrap());
        assert!(keys[0].get("alg").is_none() && keys[0]["x"] == jwk["x"], "{directory}");
    }
}
