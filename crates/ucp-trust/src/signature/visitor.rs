//! Requests of bots that identify themselves (Web Bot Auth, draft-ietf-webbotauth-httpsig-protocol).
//!
//! A bot signs the host that it calls and the address at which it publishes its keys, for a short time. That proves which
//! bot calls, and nothing about the request: whoever sees the signature can use it until it expires. A nonce is signed, and
//! may occur again for as long, because bots send a signature with many requests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ucp_core::refusal::{Code, Refusal};

use super::{
    base::{self, Component, Message},
    bot::DIRECTORY_PATH,
    input::{Candidate, Input},
    verify::{CLOCK_SKEW, MAX_LIFETIME, SIGNATURE_AGENT, Signed, Verifier, WEB_BOT_AUTH, is_for_ucp, unusable},
};
use crate::{
    address::{ProfileUrl, Reach},
    jwk::{Algorithm, PublicKey},
};

/// Maximum length of a nonce, in bytes. The draft recommends 64 random bytes, which are 88 characters.
const MAX_NONCE: usize = 256;

/// A bot that a request says it is from.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Address of the bot's keys.
    pub directory: ProfileUrl,
    candidate: Candidate,
}

impl Signed {
    /// Returns the bot that a request says it is from; `None` if no signature was made for that, or one of them covers
    /// everything that UCP requires and so identifies a platform.
    ///
    /// # Errors
    ///
    /// [`Code::SignatureInvalid`] if the signature for that, or none at all, can be used.
    pub fn visitor(&self, message: &Message<'_>, body: &[u8], reach: Reach) -> Result<Option<Visitor>, Refusal> {
        if let Some(refusal) = unusable(self) {
            return Err(refusal);
        }
        let verifier = Verifier::new(message, body, &[], UNIX_EPOCH);
        let usable = || self.candidates().iter().filter_map(|it| Some((it, it.input.as_ref().ok()?)));
        if usable().any(|(it, input)| is_for_ucp(input) && verifier.missing(&it.label, input).is_empty()) {
            return Ok(None);
        }
        let tagged = usable().find(|(_, input)| input.tag.as_deref() == Some(WEB_BOT_AUTH));
        let Some((candidate, input)) = tagged else { return Ok(None) };
        let directory = directory_of(input, message, reach).map_err(|problem| invalid(candidate, &problem))?;
        Ok(Some(Visitor { directory, candidate: candidate.clone() }))
    }
}

impl Visitor {
    /// Returns the identifier of the key that the signature names, the thumbprint of that key.
    #[must_use]
    pub fn keyid(&self) -> Option<&str> {
        self.candidate.input.as_ref().ok()?.keyid.as_deref()
    }

    /// Verifies that the request is from the bot with these keys.
    ///
    /// # Errors
    ///
    /// [`Code::KeyNotFound`] if the bot has not published the key; [`Code::SignatureInvalid`] with the fault of the
    /// signature.
    pub fn verify(&self, message: &Message<'_>, keys: &[PublicKey], now: SystemTime) -> Result<(), Refusal> {
        let wrong = |problem: &str| invalid(&self.candidate, problem);
        let input = self.candidate.input.as_ref().map_err(|problem| wrong(problem))?;
        fresh(input, now).map_err(|problem| wrong(&problem))?;
        let keyid = input.keyid.as_deref().ok_or_else(|| wrong("it names no key (keyid)"))?;
        let key = keys.iter().find(|key| key.thumbprint().as_deref() == Some(keyid)).ok_or_else(|| {
            Refusal::new(
                Code::KeyNotFound,
                "The bot has not published a key with the thumbprint that its signature names.",
            )
        })?;
        let algorithm = key.algorithm().and_then(Algorithm::http_name);
        let algorithm = algorithm.ok_or_else(|| wrong("its key is of an algorithm that cannot be verified here"))?;
        if input.algorithm.as_deref().is_some_and(|stated| stated != algorithm) {
            return Err(wrong(&format!("it states another algorithm than its key is for, {algorithm}")));
        }
        let base = base::build(&input.covered, &input.parameters, message).map_err(|problem| wrong(&problem))?;
        key.verify(&base, &input.signature).map_err(|_| wrong("it was not made over this request with the bot's key"))
    }
}

fn invalid(candidate: &Candidate, problem: &str) -> Refusal {
    let label = crate::jwk::quoted(&candidate.label);
    Refusal::new(Code::SignatureInvalid, format!("Signature {label} of the bot: {problem}."))
}

/// Returns the address of the keys that a signature covers.
fn directory_of(input: &Input, message: &Message<'_>, reach: Reach) -> Result<ProfileUrl, String> {
    if ![Component::Authority, Component::TargetUri].iter().any(|host| input.covered.contains(host)) {
        return Err("it covers neither \"@authority\" nor \"@target-uri\"".to_owned());
    }
    let agent = input.covered.iter().find_map(|component| match component {
        Component::Field(name) if *name == SIGNATURE_AGENT => {
            let value = message.headers.get(name)?.as_bytes();
            sfv::Parser::new(value).parse::<sfv::Item>().ok()
        }
        Component::Member(name, key) if *name == SIGNATURE_AGENT => {
            match base::dictionary(name, message.headers).ok()?.swap_remove(key) {
                Some(sfv::ListEntry::Item(item)) => Some(item),
                _ => None,
            }
        }
        _ => None,
    });
    let agent =
        agent.ok_or_else(|| "it does not cover a \"signature-agent\" with the address of its keys".to_owned())?;
    let kind = agent.params.iter().find(|(name, _)| name.as_str() == "type").map(|(_, kind)| {
        let token = kind.as_token().map(sfv::TokenRef::as_str);
        token.or_else(|| kind.as_string().map(sfv::StringRef::as_str)).unwrap_or_default()
    });
    let text = agent.bare_item.as_string().map(sfv::StringRef::as_str);
    let text = text.ok_or_else(|| "its signature-agent must be a string".to_owned())?;
    let address = match kind {
        None | Some("directory") => address(text, reach),
        Some("jwks_uri") => ProfileUrl::parse(text, reach).map_err(|rejection| rejection.to_string()),
        Some(_) => return Err("the type of its signature-agent must be `directory` or `jwks_uri`".to_owned()),
    };
    address.map_err(|problem| format!("its signature-agent {problem}"))
}

/// Returns the address of the keys of a bot that is known in advance: its origin, or the address of the keys themselves.
///
/// # Errors
///
/// Text for people, the second half of a sentence about the address.
pub fn known_address(text: &str, reach: Reach) -> Result<ProfileUrl, String> {
    let is_path = |(_, rest): (&str, &str)| rest.split_once('/').is_some_and(|(_, path)| !path.is_empty());
    match text.split_once("://") {
        Some(parts) if is_path(parts) => ProfileUrl::parse(text, reach).map_err(|rejection| rejection.to_string()),
        _ => address(text, reach),
    }
}

/// Returns the address of the directory of a bot's keys, from its origin or from that address itself.
///
/// # Errors
///
/// Text for people, the second half of a sentence about the address.
fn address(text: &str, reach: Reach) -> Result<ProfileUrl, String> {
    let origin = text.strip_suffix(DIRECTORY_PATH).unwrap_or(text);
    let origin = origin.strip_suffix('/').unwrap_or(origin);
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    if authority.is_none_or(|authority| authority.contains(['/', '?', '#'])) {
        return Err("must be the origin of the keys, such as https://bot.example".to_owned());
    }
    ProfileUrl::parse(&format!("{origin}{DIRECTORY_PATH}"), reach).map_err(|rejection| rejection.to_string())
}

/// Checks that a signature is valid now, and not for longer than a bot may say.
fn fresh(input: &Input, now: SystemTime) -> Result<(), String> {
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let now = seconds(now.duration_since(UNIX_EPOCH).unwrap_or_default());
    let skew = seconds(CLOCK_SKEW);
    let created = input.created.ok_or("it has no `created`, in seconds since 1970")?;
    let expires = input.expires.ok_or("it has no `expires`, in seconds since 1970")?;
    if expires < now - skew {
        return Err(format!("it expired {} seconds ago", now - expires));
    }
    if created > now + skew {
        return Err(format!("it was made {} seconds in the future", created - now));
    }
    if expires < created || expires.saturating_sub(created) > seconds(MAX_LIFETIME) {
        return Err("it must expire within 24 hours after it was made".to_owned());
    }
    if input.nonce.as_ref().is_some_and(|nonce| !(1..=MAX_NONCE).contains(&nonce.len())) {
        return Err(format!("its nonce must be 1 to {MAX_NONCE} characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        jwk::read_set,
        signature::{Scheme, SigningKey, bot::BotSignature, message::RawMessage},
    };

    /// Key of RFC 9421, B.1.4.
    fn key() -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "test-key-ed25519", "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" })
    }

    fn judged(request: &str, keys: &[PublicKey], now: u64) -> Result<String, String> {
        let raw = RawMessage::parse(request.as_bytes()).expect("a message");
        let signed = Signed::read(raw.headers()).expect("readable").expect("signed");
        let message = raw.view(Scheme::Https);
        let visitor =
            signed.visitor(&message, raw.body(), Reach::Public).map_err(|refusal| refusal.content.to_string())?;
        let visitor = visitor.ok_or("no bot")?;
        let now = UNIX_EPOCH + Duration::from_secs(now);
        visitor.verify(&message, keys, now).map_err(|refusal| format!("{}: {}", refusal.code, refusal.content))?;
        Ok(visitor.directory.as_str().to_owned())
    }

    /// The vectors of the draft for Ed25519, whose signatures are good for a century: everything of them holds but that.
    #[test]
    fn the_vectors_of_the_draft_are_what_their_makers_say() {
        let agent = "GET /path/to/resource HTTP/1.1\nHost: example.com\n\
            Signature-Agent: agent2=\"https://signature-agent.test\"\n\
            Signature-Input: sig2=(\"@authority\" \"signature-agent\";key=\"agent2\");created=1735689600;\
            keyid=\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\";alg=\"ed25519\";expires=4889289600;\
            nonce=\"n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==\";\
            tag=\"web-bot-auth\"\n\
            Signature: sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:\n\n";
        let keys = read_set(&json!([key()]), &mut Vec::new());
        let raw = RawMessage::parse(agent.as_bytes()).expect("a message");
        let signed = Signed::read(raw.headers()).expect("readable").expect("signed");
        let message = raw.view(Scheme::Https);
        let visitor = signed.visitor(&message, b"", Reach::Public).expect("usable").expect("a bot");
        assert_eq!(visitor.directory.as_str(), format!("https://signature-agent.test{DIRECTORY_PATH}"));
        let input = visitor.candidate.input.as_ref().expect("read");
        let base = base::build(&input.covered, &input.parameters, &message).expect("a base");
        keys[0].verify(&base, &input.signature).expect("their signature over our base");
        assert_eq!(visitor.keyid(), keys[0].thumbprint().as_deref());
        let judged = judged(agent, &keys, 1_735_689_700);
        assert!(judged.as_ref().is_err_and(|problem| problem.contains("within 24 hours")), "{judged:?}");
        // The other vector covers no address of keys: nobody could find them.
        let bare = agent
            .replace(" \"signature-agent\";key=\"agent2\"", "")
            .replace("Signature-Agent: agent2=\"https://signature-agent.test\"\n", "");
        assert!(self::judged(&bare, &keys, 1_735_689_700).is_err_and(|problem| problem.contains("signature-agent")));
    }

    #[test]
    fn a_bot_says_where_its_keys_are_in_every_form() {
        let (now, own) = (1_800_000_000, SigningKey::generate(Algorithm::Ed25519).expect("a key"));
        let keyid = own.public().thumbprint().expect("a thumbprint");
        let judge = |agent: &str, covered: &str, more: &str| {
            let parameters =
                format!("({covered});created={now};expires={};keyid=\"{keyid}\";tag=\"web-bot-auth\"", now + 60);
            let head = format!("POST /mcp?q=a%20b HTTP/1.1\nHost: shop.example\nSignature-Agent: {agent}\n{more}");
            let raw = RawMessage::parse(format!("{head}\n").as_bytes()).expect("a message");
            let list = sfv::Parser::new(&parameters).parse::<sfv::List>().expect("a list").remove(0);
            let sfv::ListEntry::InnerList(list) = list else { panic!("{list:?}") };
            let components: Result<Vec<_>, _> = list.items.iter().map(Component::read).collect();
            // What cannot be covered is signed by those who can.
            let base = components.and_then(|covered| base::build(&covered, &parameters, &raw.view(Scheme::Https)));
            let signature = own.sign(&base.unwrap_or_default()).expect("a signature");
            let signature = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, signature);
            let signed = format!("{head}Signature-Input: sig1={parameters}\nSignature: sig1=:{signature}:\n\n");
            judged(&signed, &[own.public().clone()], now)
        };
        let (home, member) =
            (format!("https://bot.example{DIRECTORY_PATH}"), "\"@authority\" \"signature-agent\";key=\"sig1\"");
        for agent in [
            "sig1=\"https://bot.example\"",
            "sig1=\"https://bot.example\";type=directory",
            "sig1=\"https://bot.example/\";type=\"directory\"",
        ] {
            assert_eq!(judge(agent, member, ""), Ok(home.clone()), "{agent}");
        }
        let keys = "https://bot.example/keys.json?v=1";
        for agent in [format!("sig1=\"{keys}\";type=jwks_uri"), format!("sig1=\"{keys}\";type=\"jwks_uri\";x=1")] {
            assert_eq!(judge(&agent, member, ""), Ok(keys.to_owned()), "{agent}");
        }
        let agent = "sig1=\"https://bot.example\";type=directory";
        let rest = "\"signature-agent\";key=\"sig1\"";
        for covered in [
            format!("\"@target-uri\" {rest}"),
            format!("{member} \"@scheme\" \"@method\" \"@request-target\" \"@query-param\";name=\"q\""),
            format!("{member} \"x-a\";sf \"x-a\";bs \"x-a\" \"x-b\";key=\"k\" \"signature-agent\";sf"),
        ] {
            assert_eq!(judge(agent, &covered, "X-A: a,  b\nX-B: k=1\n"), Ok(home.clone()), "{covered}");
        }
        for (agent, covered, expected) in [
            ("sig1=\"https://bot.example\";type=cimd", member.to_owned(), "must be `directory` or `jwks_uri`"),
            ("sig1=\"http://bot.example/keys.json\";type=jwks_uri", member.to_owned(), "its signature-agent"),
            ("sig1=\"https://127.0.0.1/keys.json\";type=jwks_uri", member.to_owned(), "its signature-agent"),
            ("sig1=\"https://bot.example/keys.json\";type=directory", member.to_owned(), "the origin of the keys"),
            ("sig1=(\"https://bot.example\")", member.to_owned(), "does not cover a \"signature-agent\""),
            (agent, rest.to_owned(), "neither \"@authority\" nor \"@target-uri\""),
            (agent, format!("{member} \"x-a\";tr"), "trailers, which are not read"),
            (agent, format!("{member} \"@method\";req"), "the request that a response answers"),
            (agent, format!("{member} \"x-missing\""), "the message has no x-missing"),
        ] {
            let judged = judge(agent, &covered, "");
            assert!(judged.as_ref().is_err_and(|problem| problem.contains(expected)), "{expected}: {judged:?}");
        }
    }

    #[test]
    fn a_bot_is_known_by_a_fresh_signature_over_this_host_and_nothing_else() {
        let now = 1_800_000_000;
        let at = UNIX_EPOCH + Duration::from_secs(now);
        for algorithm in Algorithm::HTTP {
            let own = SigningKey::generate(algorithm).expect("a key");
            let keys = [own.public().clone()];
            let made = |agent: &str, lifetime: u64| {
                let lifetime = Duration::from_secs(lifetime);
                BotSignature::make(agent, Scheme::Https, "shop.example", &own, at, lifetime).expect("signs")
            };
            let request = |signature: &BotSignature, host: &str| {
                let fields: Vec<_> = signature
                    .fields()
                    .map(|(name, value)| format!("{name}: {}\n", value.to_str().expect("text")))
                    .collect();
                format!("POST /mcp HTTP/1.1\nHost: {host}\n{}\n", fields.concat())
            };
            let good = request(&made("https://bot.example", 60), "shop.example");
            let home = format!("https://bot.example{DIRECTORY_PATH}");
            for time in [now, now + 60, now + 119, now - 59] {
                assert_eq!(judged(&good, &keys, time), Ok(home.clone()), "{time}");
            }
            assert_eq!(judged(&request(&made(&home, 60), "shop.example"), &keys, now), Ok(home.clone()));
            let other = SigningKey::generate(algorithm).expect("a key");
            for (request, keys, time, expected) in [
                (good.clone(), &keys[..], now + 121, "it expired"),
                (good.clone(), &keys[..], now - 61, "in the future"),
                (good.clone(), &[other.public().clone()][..], now, "key_not_found"),
                (good.clone(), &[][..], now, "key_not_found"),
                (request(&made("https://bot.example", 60), "other.example"), &keys[..], now, "not made over this"),
                (request(&made("https://bot.example", 90_000), "shop.example"), &keys[..], now, "within 24 hours"),
                (request(&made("http://bot.example", 60), "shop.example"), &keys[..], now, "its signature-agent"),
                (request(&made("https://127.0.0.1", 60), "shop.example"), &keys[..], now, "its signature-agent"),
                (
                    request(&made("https://bot.example/keys.json", 60), "shop.example"),
                    &keys[..],
                    now,
                    "the origin of the keys",
                ),
                (request(&made("data:text/plain,x", 60), "shop.example"), &keys[..], now, "the origin of the keys"),
                (good.replace("https://bot.example", "https://bog.example"), &keys[..], now, "not made over this"),
                (good.replace("\"web-bot-auth\"", "\"crawler\""), &keys[..], now, "no bot"),
            ] {
                let judged = judged(&request, keys, time);
                assert!(judged.as_ref().is_err_and(|problem| problem.contains(expected)), "{expected}: {judged:?}");
            }
        }
    }
}
