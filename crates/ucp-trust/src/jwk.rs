//! Public keys as JSON Web Keys (RFC 7517, RFC 8037), and the verification of raw ECDSA and Ed25519 signatures with them.
//!
//! UCP signs messages with ES256 and, where both sides support it, with ES384 (SIG-01); agents that sign as bots use
//! Ed25519. AP2 mandates use ES256, ES384 or ES512 (trap T-33). The vocabulary of key types is open nevertheless: a key of another type stays in the set under its
//! `kid`, so that a signature made with it can be told from one made with a key that was never published. Any other
//! fault of a key excludes that key, never the set.
//!
//! A key is stored as its bytes: thousands of profiles stay in memory at once, and parsing the point again at
//! every verification costs little compared to the operation on the curve.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING, ED25519, EcdsaSigningAlgorithm, ParsedPublicKey,
    UnparsedPublicKey, VerificationAlgorithm,
};
use base64::{
    Engine as _,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_URL_SAFE_NO_PAD,
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// Maximum number of keys of one set that are read.
pub const MAX_KEYS: usize = 64;

/// Maximum length of a `kid`, in bytes.
const MAX_KID: usize = 256;

/// Maximum length of a quoted text in a note, in characters.
const MAX_QUOTED: usize = 64;

/// Base64url with or without padding; published keys have both.
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Signature algorithm, determined by the curve of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// ECDSA over P-384 with SHA-384.
    Es384,
    /// ECDSA over P-521 with SHA-512: for AP2 mandates only.
    Es512,
    /// `EdDSA` over Curve25519: for HTTP messages only.
    Ed25519,
}

impl Algorithm {
    /// Algorithms with which signatures are verified and made.
    pub const ALL: [Self; 4] = [Self::Es256, Self::Es384, Self::Es512, Self::Ed25519];

    /// Algorithms with which HTTP messages are signed.
    pub const HTTP: [Self; 3] = [Self::Es256, Self::Es384, Self::Ed25519];

    /// Algorithms with which AP2 mandates, and checkouts for them, are signed.
    pub const MANDATE: [Self; 3] = [Self::Es256, Self::Es384, Self::Es512];

    /// Returns the name in a JWK (`alg`).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::Ed25519 => "EdDSA",
        }
    }

    /// Returns the curve in a JWK (`crv`).
    pub const fn curve(self) -> &'static str {
        match self {
            Self::Es256 => "P-256",
            Self::Es384 => "P-384",
            Self::Es512 => "P-521",
            Self::Ed25519 => "Ed25519",
        }
    }

    /// Returns the name in the registry of HTTP Message Signatures (RFC 9421 section 6.2); `None` for an algorithm that
    /// does not sign HTTP messages.
    pub const fn http_name(self) -> Option<&'static str> {
        match self {
            Self::Es256 => Some("ecdsa-p256-sha256"),
            Self::Es384 => Some("ecdsa-p384-sha384"),
            Self::Ed25519 => Some("ed25519"),
            Self::Es512 => None,
        }
    }

    /// Returns the type of the key in a JWK (`kty`).
    pub const fn key_type(self) -> &'static str {
        match self {
            Self::Es256 | Self::Es384 | Self::Es512 => "EC",
            Self::Ed25519 => "OKP",
        }
    }

    /// Returns the length of a signature in bytes: `r` and `s` at the width of the curve, or `R` and `S` of Ed25519.
    pub const fn signature_len(self) -> usize {
        2 * self.coordinate_len()
    }

    /// Returns the length of a coordinate and of a private key, in bytes.
    pub(crate) const fn coordinate_len(self) -> usize {
        match self {
            Self::Es256 | Self::Ed25519 => 32,
            Self::Es384 => 48,
            Self::Es512 => 66,
        }
    }

    /// Returns the ECDSA algorithm of key pairs; `None` for Ed25519.
    pub(crate) fn ecdsa(self) -> Option<&'static EcdsaSigningAlgorithm> {
        match self {
            Self::Es256 => Some(&ECDSA_P256_SHA256_FIXED_SIGNING),
            Self::Es384 => Some(&ECDSA_P384_SHA384_FIXED_SIGNING),
            Self::Es512 => Some(&ECDSA_P521_SHA512_FIXED_SIGNING),
            Self::Ed25519 => None,
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &ECDSA_P384_SHA384_FIXED,
            Self::Es512 => &ECDSA_P521_SHA512_FIXED,
            Self::Ed25519 => &ED25519,
        }
    }
}

/// Reason why a signature is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The key is of a type with which no signature can be verified here.
    #[error("the key is for an algorithm that is not supported here")]
    Unsupported,
    /// The signature is not `r‖s` at the width of the curve (SIG-02). ASN.1/DER is the usual cause.
    #[error("the signature has {found} bytes instead of the {expected} of raw r||s{}", if *der { "; it looks like ASN.1/DER" } else { "" })]
    Encoding {
        /// Length of the signature, in bytes.
        found: usize,
        /// Required length, in bytes.
        expected: usize,
        /// `true` if the signature begins like a DER sequence.
        der: bool,
    },
    /// The signature was not made over these bytes with this key.
    #[error("the signature was not made over this message with this key")]
    Mismatch,
}

/// A public key. The point of a supported one on P-256, P-384 or P-521 is on its curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kid: Box<str>,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    /// The uncompressed point, as encoded by SEC 1, or the 32 bytes of an Ed25519 key (RFC 8032).
    Point(Algorithm, Box<[u8]>),
    /// Description of a key that is not supported, for people.
    Unsupported(Box<str>),
}

impl PublicKey {
    /// Creates the key at this point (SEC 1, or RFC 8032 for Ed25519), which comes from a key pair and so needs no check.
    pub(crate) fn from_point(kid: &str, algorithm: Algorithm, point: &[u8]) -> Self {
        Self { kid: kid.into(), material: Material::Point(algorithm, point.into()) }
    }

    /// Reads one key. `where_` names its place for the notes.
    ///
    /// Harmless faults are noted, and so are keys that are kept although nothing can be verified with them. Fails with a
    /// text for people that states why the key cannot be used.
    pub fn read(jwk: &Value, where_: &str, notes: &mut Vec<String>) -> Result<Self, String> {
        let jwk = jwk.as_object().ok_or("it is not a JSON object")?;
        let kid = match jwk.get("kid") {
            Some(Value::String(kid)) if kid.is_empty() => return Err("its kid is empty".to_owned()),
            Some(Value::String(kid)) if kid.len() > MAX_KID => {
                return Err(format!("its kid has more than {MAX_KID} bytes"));
            }
            Some(Value::String(kid)) => kid.as_str(),
            Some(_) => return Err("its kid is not a string".to_owned()),
            None => return Err("it has no kid".to_owned()),
        };
        if jwk.contains_key("d") {
            notes.push(format!("{where_} ({}): it holds a private key (d), which was ignored", quoted(kid)));
        }
        for_signatures(jwk)?;
        let material = match algorithm_of(jwk) {
            Ok(algorithm) => {
                let point = point(jwk, algorithm, |note| notes.push(format!("{where_} ({}): {note}", quoted(kid))))?;
                Material::Point(algorithm, point)
            }
            Err(what) => {
                notes.push(format!("{where_} ({}): no signature can be verified with {what}", quoted(kid)));
                Material::Unsupported(what.into())
            }
        };
        Ok(Self { kid: kid.into(), material })
    }

    /// Returns the name by which signatures refer to the key.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the algorithm of its signatures; `None` for a key of a type that is not supported.
    pub fn algorithm(&self) -> Option<Algorithm> {
        match self.material {
            Material::Point(algorithm, _) => Some(algorithm),
            Material::Unsupported(_) => None,
        }
    }

    /// Returns the description of a key that is not supported, for people; `None` for a supported one.
    pub fn unsupported(&self) -> Option<&str> {
        match &self.material {
            Material::Point(..) => None,
            Material::Unsupported(what) => Some(what),
        }
    }

    /// Verifies a signature over the message, which is hashed here. The signature has to be raw `r‖s` (SIG-02). Fails
    /// with [`VerifyError`] if the signature is not accepted.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), VerifyError> {
        let Material::Point(algorithm, point) = &self.material else { return Err(VerifyError::Unsupported) };
        let (found, expected) = (signature.len(), algorithm.signature_len());
        if found != expected {
            return Err(VerifyError::Encoding { found, expected, der: signature.first() == Some(&0x30) });
        }
        UnparsedPublicKey::new(algorithm.verification(), point)
            .verify(message, signature)
            .map_err(|_| VerifyError::Mismatch)
    }

    /// Returns the key as a JWK, with public members only; `None` for a key that is not supported.
    pub fn to_jwk(&self) -> Option<Value> {
        let (algorithm, x, y) = self.coordinates()?;
        let mut jwk = json!({ "kid": self.kid, "kty": algorithm.key_type(), "crv": algorithm.curve(), "x": x });
        if let Some(y) = y {
            jwk["y"] = y.into();
        }
        jwk["use"] = "sig".into();
        jwk["alg"] = algorithm.as_str().into();
        Some(jwk)
    }

    /// Returns the SHA-256 thumbprint (RFC 7638, RFC 8037 section 2), in base64url without padding; `None` for a key
    /// that is not supported.
    pub fn thumbprint(&self) -> Option<String> {
        let (algorithm, x, y) = self.coordinates()?;
        // The members are in lexical order, without white space; nothing in them needs escaping.
        let y = y.map(|y| format!(r#","y":"{y}""#)).unwrap_or_default();
        let (curve, key_type) = (algorithm.curve(), algorithm.key_type());
        let canonical = format!(r#"{{"crv":"{curve}","kty":"{key_type}","x":"{x}"{y}}}"#);
        Some(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(canonical)))
    }

    /// Returns the memory that the key takes, in bytes.
    pub fn weight(&self) -> usize {
        let material = match &self.material {
            Material::Point(_, point) => point.len(),
            Material::Unsupported(what) => what.len(),
        };
        size_of::<Self>() + self.kid.len() + material
    }

    /// Returns the point of a supported key (SEC 1, or RFC 8032 for Ed25519).
    pub(crate) fn point(&self) -> Option<&[u8]> {
        match &self.material {
            Material::Point(_, point) => Some(point),
            Material::Unsupported(_) => None,
        }
    }

    /// Returns the members `x` and `y` of the JWK; Ed25519 has no `y`.
    fn coordinates(&self) -> Option<(Algorithm, String, Option<String>)> {
        let Material::Point(algorithm, point) = &self.material else { return None };
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        if *algorithm == Algorithm::Ed25519 {
            return Some((*algorithm, encode(point), None));
        }
        let (x, y) = point[1..].split_at(algorithm.coordinate_len());
        Some((*algorithm, encode(x), Some(encode(y))))
    }
}

/// Reads a list of keys and notes the faults of each.
///
/// Keys that cannot be used are left out; those of a type that is not supported stay, for their `kid`. Of several keys
/// with the same `kid` the first supported one counts. At most [`MAX_KEYS`] are read.
pub fn read_set(keys: &Value, notes: &mut Vec<String>) -> Vec<PublicKey> {
    let mut read = Vec::new();
    read_into(&mut read, keys, "key", notes);
    read
}

/// Reads the keys of a document: a UCP profile of any release (`keys`, `signing_keys`), a JWK Set, a list of keys, or
/// one key. Returns `None` if the document has none of these forms.
///
/// Keys are read as by [`read_set`].
pub fn read_document(document: &Value, notes: &mut Vec<String>) -> Option<Vec<PublicKey>> {
    if document.is_array() {
        return Some(read_set(document, notes));
    }
    let document = document.as_object()?;
    if document.contains_key("kty") {
        return Some(read_set(&json!([document]), notes));
    }
    let mut read = Vec::new();
    let mut found = false;
    for member in ["keys", "signing_keys"] {
        if let Some(keys) = document.get(member) {
            found = true;
            read_into(&mut read, keys, member, notes);
        }
    }
    found.then_some(read)
}

fn read_into(read: &mut Vec<PublicKey>, keys: &Value, what: &str, notes: &mut Vec<String>) {
    let Some(list) = keys.as_array() else {
        notes.push(format!("{what}: not a list of keys"));
        return;
    };
    if list.len() > MAX_KEYS {
        notes.push(format!("{what}: only the first {MAX_KEYS} of {} were read", list.len()));
    }
    for (index, jwk) in list.iter().take(MAX_KEYS).enumerate() {
        let where_ = format!("{what}[{index}]");
        match PublicKey::read(jwk, &where_, notes) {
            Ok(key) => match read.iter_mut().find(|known| known.kid == key.kid) {
                None => read.push(key),
                // Profiles list a key under both names, for callers of several releases.
                Some(known) if *known == key => {}
                Some(known) if known.algorithm().is_none() => *known = key,
                Some(_) => notes.push(format!("{where_} ({}): an earlier key has the same kid", quoted(&key.kid))),
            },
            Err(why) => {
                let kid = jwk.get("kid").and_then(Value::as_str).map(|kid| format!(" ({})", quoted(kid)));
                notes.push(format!("{where_}{}: left out, because {why}", kid.unwrap_or_default()));
            }
        }
    }
    read.shrink_to_fit();
}

/// Checks that the key states no use that excludes the verification of signatures (RFC 7517 sections 4.2 and 4.3).
fn for_signatures(jwk: &Map<String, Value>) -> Result<(), String> {
    match jwk.get("use") {
        None => {}
        Some(Value::String(usage)) if usage == "sig" => {}
        Some(_) => return Err("its use is not sig".to_owned()),
    }
    match jwk.get("key_ops") {
        None => Ok(()),
        Some(Value::Array(operations)) if operations.iter().any(|operation| operation == "verify") => Ok(()),
        Some(_) => Err("its key_ops do not allow to verify".to_owned()),
    }
}

/// Returns the algorithm of a key; the error describes a key of any other type.
fn algorithm_of(jwk: &Map<String, Value>) -> Result<Algorithm, String> {
    let text = |name: &str| match jwk.get(name) {
        Some(Value::String(text)) => quoted(text),
        Some(_) => "no string".to_owned(),
        None => "missing".to_owned(),
    };
    let is = |name: &str, wanted: &str| jwk.get(name).is_some_and(|value| value == wanted);
    let mut known = Algorithm::ALL.into_iter().filter(|algorithm| is("kty", algorithm.key_type())).peekable();
    if known.peek().is_none() {
        return Err(format!("a key whose kty is {}", text("kty")));
    }
    let Some(algorithm) = known.find(|algorithm| is("crv", algorithm.curve())) else {
        let key_type = jwk.get("kty").and_then(Value::as_str).unwrap_or_default();
        return Err(format!("an {key_type} key whose crv is {}", text("crv")));
    };
    // RFC 9864 has a name of its own for EdDSA over this curve.
    let specified = algorithm == Algorithm::Ed25519 && is("alg", algorithm.curve());
    if jwk.contains_key("alg") && !is("alg", algorithm.as_str()) && !specified {
        return Err(format!("a {} key whose alg is {}", algorithm.curve(), text("alg")));
    }
    Ok(algorithm)
}

/// Returns the point; fails if it is not on the curve, as far as the library checks that before a verification.
fn point(jwk: &Map<String, Value>, algorithm: Algorithm, mut note: impl FnMut(String)) -> Result<Box<[u8]>, String> {
    let width = algorithm.coordinate_len();
    if algorithm == Algorithm::Ed25519 {
        let text = jwk.get("x").and_then(Value::as_str).ok_or("its x is not a string")?;
        let bytes = BASE64_URL.decode(text).map_err(|_| "its x is not base64url")?;
        if bytes.len() != width {
            return Err(format!("its x has {} bytes instead of {width}", bytes.len()));
        }
        return Ok(bytes.into_boxed_slice());
    }
    let mut point = Vec::with_capacity(1 + 2 * width);
    point.push(4);
    for name in ["x", "y"] {
        let text = jwk.get(name).and_then(Value::as_str).ok_or_else(|| format!("its {name} is not a string"))?;
        let bytes = BASE64_URL.decode(text).map_err(|_| format!("its {name} is not base64url"))?;
        // Some libraries write coordinates as numbers, without leading zeros or with one for the sign.
        let digits = bytes.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &bytes[first..]);
        if digits.len() > width {
            return Err(format!("its {name} has {} bytes instead of {width}", digits.len()));
        }
        if bytes.len() != width {
            note(format!("its {name} has {} bytes instead of {width}, and was read as a number", bytes.len()));
        }
        point.resize(point.len() + width - digits.len(), 0);
        point.extend_from_slice(digits);
    }
    ParsedPublicKey::new(algorithm.verification(), &point)
        .map_err(|_| format!("its point is not on {}", algorithm.curve()))?;
    Ok(point.into_boxed_slice())
}

/// Returns a text of unknown origin in a form that is fit for a note: quoted, escaped and cut.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: &str = "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA";
    const Y: &str = "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0";

    fn jwk(change: Value) -> Value {
        let mut jwk = json!({ "kid": "a", "kty": "EC", "crv": "P-256", "x": X, "y": Y });
        let (Value::Object(members), Value::Object(change)) = (&mut jwk, change) else { unreachable!() };
        members.extend(change);
        members.retain(|_, value| !value.is_null());
        jwk
    }

    fn read(keys: &Value) -> (Vec<PublicKey>, String) {
        let mut notes = Vec::new();
        let read = read_document(keys, &mut notes).unwrap_or_default();
        (read, notes.join("\n"))
    }

    #[test]
    fn a_key_is_what_it_was_read_from() {
        let (keys, notes) =
            read(&json!([jwk(json!({ "use": "sig", "alg": "ES256", "key_ops": ["verify"], "x5c": [] }))]));
        assert_eq!(notes, "");
        assert_eq!(
            keys[0].to_jwk(),
            Some(json!({ "kid": "a", "kty": "EC", "crv": "P-256", "x": X, "y": Y, "use": "sig", "alg": "ES256" }))
        );
        assert!(keys[0].weight() > 64 && keys[0].weight() < 256);
    }

    #[test]
    fn keys_that_cannot_be_used_are_left_out_and_named() {
        for (change, why) in [
            (json!({ "kid": null }), "key[0]: left out, because it has no kid"),
            (json!({ "kid": 1 }), "key[0]: left out, because its kid is not a string"),
            (json!({ "kid": "" }), "its kid is empty"),
            (json!({ "kid": "k".repeat(257) }), "its kid has more than 256 bytes"),
            (json!({ "x": "!" }), "key[0] (\"a\"): left out, because its x is not base64url"),
            (json!({ "x": X.replace('_', "/") }), "its x is not base64url"),
            (json!({ "y": null }), "its y is not a string"),
            (json!({ "y": X }), "its point is not on P-256"),
            (json!({ "x": "", "y": "" }), "its point is not on P-256"),
            (json!({ "crv": "P-384" }), "its point is not on P-384"),
            (json!({ "y": format!("AQEBAQEB{Y}A") }), "its y has 39 bytes instead of 32"),
            (json!({ "use": "enc" }), "its use is not sig"),
            (json!({ "key_ops": ["sign"] }), "its key_ops do not allow to verify"),
        ] {
            let (keys, notes) = read(&json!([jwk(change)]));
            assert!(keys.is_empty() && notes.contains(why), "{why}: {notes}");
        }
        assert!(read(&json!(["x"])).1.contains("it is not a JSON object"));
    }

    #[test]
    fn keys_of_other_types_stay_under_their_name() {
        for (change, what) in [
            (json!({ "kty": "RSA" }), "kty is \"RSA\""),
            (json!({ "kty": "OKP", "crv": "Ed448" }), "crv is \"Ed448\""),
            (json!({ "kty": null }), "kty is missing"),
            (json!({ "crv": "secp256k1" }), "crv is \"secp256k1\""),
            (json!({ "alg": "ES384" }), "alg is \"ES384\""),
        ] {
            let (keys, notes) = read(&json!([jwk(change)]));
            assert!(notes.contains(what), "{notes}");
            assert_eq!((keys[0].kid(), keys[0].algorithm()), ("a", None));
            assert!(keys[0].unsupported().unwrap().contains(what));
            assert_eq!(keys[0].verify(b"", &[0; 64]), Err(VerifyError::Unsupported));
            assert_eq!((keys[0].to_jwk(), keys[0].thumbprint()), (None, None));
        }
    }

    #[test]
    fn sloppy_keys_are_read_and_private_ones_are_not_kept() {
        let (plain, _) = read(&json!([jwk(json!({}))]));
        let signed = BASE64_URL_SAFE_NO_PAD.encode([&[0], &BASE64_URL_SAFE_NO_PAD.decode(X).unwrap()[..]].concat());
        for (change, note) in [
            (json!({ "x": format!("{X}=") }), ""),
            (json!({ "x": signed }), "its x has 33 bytes instead of 32, and was read as a number"),
            (
                json!({ "d": "UpuF81l-kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpcYDs" }),
                "it holds a private key (d), which was ignored",
            ),
        ] {
            let (keys, notes) = read(&json!([jwk(change)]));
            assert_eq!(keys, plain);
            assert!(notes.contains(note) && !notes.contains("UpuF81l"), "{notes}");
        }
    }

    #[test]
    fn documents_of_every_release_hold_keys() {
        let key = jwk(json!({}));
        let other = jwk(json!({ "crv": "P-999" }));
        assert_eq!(read_document(&json!({ "ucp": {} }), &mut Vec::new()), None);
        assert_eq!(read_document(&json!(1), &mut Vec::new()), None);
        for document in [
            key.clone(),
            json!([key]),
            json!({ "keys": [key] }),
            json!({ "signing_keys": [key] }),
            json!({ "keys": [key], "signing_keys": [key] }),
        ] {
            assert_eq!((read(&document).0.len(), read(&document).1.as_str()), (1, ""));
        }
        let (keys, notes) = read(&json!({ "keys": [other, key], "signing_keys": 1 }));
        assert!(keys.len() == 1 && keys[0].algorithm().is_some(), "{keys:?}");
        assert!(notes.contains("signing_keys: not a list"), "{notes}");
        let (keys, notes) = read(&json!([key, other]));
        assert!(keys[0].algorithm().is_some() && notes.contains("key[1] (\"a\"): an earlier key has the same kid"));
        let many: Vec<_> = (0..100).map(|number| jwk(json!({ "kid": number.to_string() }))).collect();
        let (keys, notes) = read(&json!(many));
        assert!(keys.len() == MAX_KEYS && notes.contains("only the first 64 of 100"), "{notes}");
    }

    #[test]
    fn only_raw_signatures_count() {
        let (keys, _) = read(&json!([jwk(json!({}))]));
        for length in [0, 1, 63, 65, 70, 71, 72, 96] {
            let error = keys[0].verify(b"", &vec![0x30; length]).unwrap_err();
            assert_eq!(error, VerifyError::Encoding { found: length, expected: 64, der: length > 0 });
        }
        assert_eq!(keys[0].verify(b"", &[0x30; 64]), Err(VerifyError::Mismatch));
        assert_eq!(keys[0].verify(b"", &[0; 64]), Err(VerifyError::Mismatch));
    }
}
