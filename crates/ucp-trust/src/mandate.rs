//! AP2 mandates (extension `ap2_mandate`; rules AP2-01 to AP2-07), which make a checkout a contract that both sides can
//! prove.
//!
//! The business signs every checkout that it answers ([`authorize`]). The platform has the buyer agree to one of these
//! answers, and presents the agreement on completion: an SD-JWT with key binding, in which the signed answer is
//! embedded. [`verify`] accepts it only if every signature in it holds, the innermost being the business's own, and if
//! the terms are still those of the session. Everything is a pure function: keys and time are passed in, nothing is
//! fetched.
//!
//! UCP leaves the structure of the mandate to AP2, and AP2 leaves some of it open. The table lists what is required
//! here; where neither specifies anything, RFC 9901 and SD-JWT VC are read strictly.
//!
//! | part | requirement |
//! | :-- | :-- |
//! | form | compact, with a key binding JWT; no chains of delegated mandates (`~~`) |
//! | issuer | `typ` `dc+sd-jwt` or its older name `vc+sd-jwt`; `kid` of a key in the platform's profile |
//! | algorithms | ES256, ES384, ES512, and the one that the key is for; digests with SHA-256 |
//! | time | `exp` is required; `exp`, `nbf` and `iat` are whole seconds, with [`CLOCK_SKEW`] |
//! | `vct` | `mandate.checkout.1` |
//! | holder | the public key in `cnf.jwk`, which signed the key binding JWT (`typ` `kb+jwt`) |
//! | freshness | the key binding's `iat` is at most [`MAX_AGE`] old, plus [`CLOCK_SKEW`] |
//! | `aud` | one of the names of this business that the caller states |
//! | `nonce` | a value that this business issued for this checkout: its `id`, or the merchant authorization |
//! | checkout | as in UCP, the whole answer in the claim `checkout`; as in AP2, the attached form of the merchant authorization in `checkout_jwt`, with its SHA-256 in `checkout_hash`; or both, which must then agree |
//! | terms | `id`, `currency`, `line_items` and `totals` equal those of the session |
//!
//! The key identifies the issuer, so `iss` is ignored; so is `status`, since nothing is fetched.
//!
//! An ECDSA signature can be turned into another valid one without the key. So the bytes of a mandate do not identify
//! it; [`Verified::reference`] does.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`canonical`](mod@canonical) | canonical form of JSON that is signed (RFC 8785) |
//! | [`authorization`] | signature of the business over a checkout |
//! | [`terms`] | comparison of the terms that the buyer agreed to |
//! | [`error`] | reasons why a mandate is not accepted |

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};
use ucp_core::json;

use self::{
    authorization::{AP2, MERCHANT_AUTHORIZATION},
    sd_jwt::Presentation,
};
use crate::jwk::{PublicKey, quoted};

pub mod authorization;
pub mod canonical;
pub mod error;
mod jws;
mod sd_jwt;
pub mod terms;

pub use self::{
    authorization::{authorize, verify_authorization},
    canonical::canonical,
    error::MandateError,
    sd_jwt::{MAX_BYTES, MAX_DISCLOSURES},
};
pub use crate::signature::verify::CLOCK_SKEW;

/// Maximum age of the holder's signature: the time from the buyer's consent to the completion.
pub const MAX_AGE: Duration = Duration::from_mins(15);

/// Type of a mandate for one checkout (AP2, *Mandate Versioning*).
const TYPE: &str = "mandate.checkout.1";

/// Values against which a mandate is verified.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Keys that the platform's profile publishes.
    pub platform_keys: &'a [PublicKey],
    /// Keys that this business publishes, including those that sign nothing more.
    pub own_keys: &'a [PublicKey],
    /// Names of this business that a mandate may be made for (`aud`), such as its origin and the address of its
    /// profile.
    pub audiences: &'a [&'a str],
    /// The current checkout, as it would be answered.
    pub session: &'a Value,
    /// Current time.
    pub now: SystemTime,
}

/// Proof that the buyer agreed to the terms.
#[derive(Clone, PartialEq)]
pub struct Verified {
    /// Digest by which a receipt refers to the mandate, the same for every spelling of it.
    pub reference: String,
    /// Key of the platform that signed the mandate.
    pub key: PublicKey,
    /// Time at which the mandate expires, in seconds since 1970.
    pub expires: i64,
    /// Name of this business that the mandate was made for.
    pub audience: String,
    /// Checkout that the buyer agreed to, as this business answered it.
    pub checkout: Value,
}

/// Leaves out the checkout, which is confidential.
impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("reference", &self.reference)
            .field("kid", &self.key.kid())
            .field("expires", &self.expires)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// Verifies the mandate of a completion: `ap2.checkout_mandate`, or `None` if the request has none.
///
/// Only for checkouts for which the extension was negotiated, and then for every completion (AP2-01). Fails with
/// [`MandateError`] if the checkout cannot be completed.
pub fn verify(mandate: Option<&str>, expected: &Expected<'_>) -> Result<Verified, MandateError> {
    let mandate = mandate.filter(|mandate| !mandate.is_empty()).ok_or(MandateError::Required)?;
    let presentation = Presentation::read(mandate).map_err(invalid)?;
    let key = issued(&presentation, expected.platform_keys)?.clone();
    let mut claims = presentation.claims().map_err(invalid)?;
    let reference = presentation.digest();
    let binding = bound(&presentation, &claims, &reference)?;

    let clock = Clock::at(expected.now);
    let expires = clock.holds("The mandate", &claims)?;
    let expires = expires.ok_or_else(|| expired("The mandate has no exp. It has to say until when it is good."))?;
    clock.holds("The key binding of the mandate", &binding)?;
    clock.fresh(&binding)?;

    let audience = text(&binding, "aud")?;
    if !expected.audiences.contains(&audience) {
        let names: Vec<_> = expected.audiences.iter().map(|name| format!("`{name}`")).collect();
        return Err(mismatch(format!(
            "The mandate is for another audience (aud {}). Accepted is {}.",
            quoted(audience),
            names.join(" or ")
        )));
    }
    match claims.get("vct") {
        Some(Value::String(vct)) if vct == TYPE => {}
        _ => return Err(mismatch(format!("The mandate is not one for a checkout. Its vct must be `{TYPE}`."))),
    }
    let embedded = Embedded::take(&mut claims, expected.own_keys)?;
    if let Some(path) = terms::difference(&embedded.checkout, expected.session, &terms::TERMS) {
        return Err(mismatch(format!(
            "The buyer agreed to other terms than those of the checkout as it stands: they differ at {path}. Have the \
             buyer agree to the current answer of the checkout."
        )));
    }
    let nonce = text(&binding, "nonce")?;
    let id = embedded.checkout.get("id").and_then(Value::as_str);
    if id.is_none_or(str::is_empty) {
        return Err(mismatch("The checkout in the mandate has no id."));
    }
    if Some(nonce) != id && nonce != embedded.authorization {
        return Err(mismatch(
            "The key binding of the mandate has a nonce that this business did not give out for this checkout. Accepted \
             is the id of the checkout, or its `ap2.merchant_authorization`.",
        ));
    }
    Ok(Verified { reference, key, expires, audience: audience.to_owned(), checkout: embedded.checkout })
}

/// Returns the `kid` of the key with which a mandate claims to be signed; `None` if it cannot be read or names none.
/// Nothing is verified yet.
pub fn stated_key(mandate: &str) -> Option<String> {
    Presentation::read(mandate).ok()?.issuer.header.kid
}

/// Returns the key of the platform that signed the mandate.
fn issued<'a>(presentation: &Presentation<'_>, keys: &'a [PublicKey]) -> Result<&'a PublicKey, MandateError> {
    let header = &presentation.issuer.header;
    let missing = |why: String| {
        MandateError::MissingKey(format!(
            "{why} The kid in the header of the mandate has to name an EC key (P-256, P-384 or P-521) among the keys of \
             the platform's profile."
        ))
    };
    if !matches!(header.typ.as_deref(), Some("dc+sd-jwt" | "vc+sd-jwt")) {
        return Err(invalid("has an issuer-signed JWT whose typ is not `dc+sd-jwt`"));
    }
    let kid =
        header.kid.as_deref().ok_or_else(|| missing("The mandate does not say which key signed it.".to_owned()))?;
    let key = keys
        .iter()
        .find(|key| key.kid() == kid)
        .ok_or_else(|| missing(format!("The platform does not publish the key {} of the mandate.", quoted(kid))))?;
    if let Some(what) = key.unsupported() {
        return Err(missing(format!("The key {} of the mandate is {what}.", quoted(kid))));
    }
    presentation
        .issuer
        .verify(key)
        .map_err(|why| invalid(format!("has an issuer-signed JWT whose signature {why}")))?;
    Ok(key)
}

/// Returns the payload that the holder signed, if the holder is the one that the issuer named and the payload refers to
/// this presentation.
fn bound(
    presentation: &Presentation<'_>,
    claims: &Map<String, Value>,
    reference: &str,
) -> Result<Map<String, Value>, MandateError> {
    let binding = &presentation.binding;
    if binding.header.typ.as_deref() != Some("kb+jwt") {
        return Err(invalid("has a key binding JWT whose typ is not `kb+jwt`"));
    }
    let holder = holder(claims).map_err(|why| invalid(format!("names no key of its holder (cnf.jwk): {why}")))?;
    binding.verify(&holder).map_err(|why| invalid(format!("has a key binding JWT whose signature {why}")))?;
    let payload = binding.payload().map_err(|why| invalid(format!("has a key binding JWT that {why}")))?;
    match payload.get("sd_hash") {
        Some(Value::String(stated)) if stated == reference => Ok(payload),
        Some(_) => Err(invalid("has a key binding JWT for something else (sd_hash)")),
        None => Err(invalid("has a key binding JWT without sd_hash")),
    }
}

/// Returns the key that the issuer bound the mandate to. It is embedded in the mandate and not part of a set, so it
/// needs no name.
fn holder(claims: &Map<String, Value>) -> Result<PublicKey, String> {
    let Some(Value::Object(jwk)) = claims.get("cnf").and_then(|cnf| cnf.get("jwk")) else {
        return Err("it is missing".to_owned());
    };
    // Anyone could sign with a private key that is in the mandate.
    if jwk.contains_key("d") {
        return Err("it is a private key".to_owned());
    }
    let mut jwk = jwk.clone();
    jwk.insert("kid".to_owned(), "cnf".into());
    let mut notes = Vec::new();
    let key = PublicKey::read(&Value::Object(jwk), "cnf.jwk", &mut notes)?;
    match (key.unsupported(), notes.pop()) {
        (Some(what), _) => Err(format!("it is {what}")),
        // Faults that are tolerated in the key of a profile are not in a mandate, which was made for this purchase.
        (None, Some(note)) => Err(note),
        (None, None) => Ok(key),
    }
}

/// Current time and tolerances, in seconds.
struct Clock {
    now: i64,
    skew: i64,
    age: i64,
}

impl Clock {
    fn at(now: SystemTime) -> Self {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let now = seconds(now.duration_since(UNIX_EPOCH).unwrap_or_default());
        Self { now, skew: seconds(CLOCK_SKEW), age: seconds(MAX_AGE) }
    }

    /// Checks that `exp`, `nbf` and `iat` allow use now, within [`CLOCK_SKEW`]. Returns the expiry.
    fn holds(&self, what: &str, claims: &Map<String, Value>) -> Result<Option<i64>, MandateError> {
        let expires = seconds(claims, "exp")?;
        if let Some(expires) = expires.filter(|expires| self.now.saturating_sub(self.skew) >= *expires) {
            let ago = self.now.saturating_sub(expires);
            return Err(expired(format!("{what} expired {ago} seconds ago. Have the buyer agree once more.")));
        }
        for (name, verb) in [("nbf", "is not good for another"), ("iat", "was made in the future, by")] {
            if let Some(from) = seconds(claims, name)?.filter(|from| from.saturating_sub(self.skew) > self.now) {
                let ahead = from.saturating_sub(self.now);
                return Err(expired(format!("{what} {verb} {ahead} seconds ({name}).")));
            }
        }
        Ok(expires)
    }

    /// Checks that the holder signed recently.
    fn fresh(&self, binding: &Map<String, Value>) -> Result<(), MandateError> {
        let made = seconds(binding, "iat")?;
        let made = made.ok_or_else(|| invalid("has a key binding JWT without iat"))?;
        let age = self.now.saturating_sub(made);
        if age > self.age.saturating_add(self.skew) {
            return Err(expired(format!(
                "The key binding of the mandate was made {age} seconds ago; at most {} are accepted.",
                self.age
            )));
        }
        Ok(())
    }
}

/// Returns a claim that is a time in seconds since 1970.
fn seconds(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>, MandateError> {
    match claims.get(name) {
        None => Ok(None),
        Some(Value::Number(number)) if let Some(seconds) = json::integer(number) => Ok(Some(seconds)),
        Some(_) => Err(invalid(format!("has a claim {name} that is not a whole number of seconds since 1970"))),
    }
}

fn text<'a>(binding: &'a Map<String, Value>, name: &str) -> Result<&'a str, MandateError> {
    let text = binding.get(name).and_then(Value::as_str);
    text.ok_or_else(|| invalid(format!("has a key binding JWT without {name}, or with one that is not a string")))
}

/// Checkout in a mandate, with the business's signature over it.
struct Embedded {
    checkout: Value,
    authorization: String,
}

impl Embedded {
    /// Takes the checkout out of the claims, in either form, and verifies its signature.
    fn take(claims: &mut Map<String, Value>, own_keys: &[PublicKey]) -> Result<Self, MandateError> {
        let whole = match claims.remove("checkout") {
            None => None,
            Some(checkout @ Value::Object(_)) => Some(checkout),
            Some(_) => return Err(mismatch("The claim checkout of the mandate must be an object.")),
        };
        let compact = match claims.remove("checkout_jwt") {
            None => None,
            Some(Value::String(compact)) => Some(compact),
            Some(_) => return Err(mismatch("The claim checkout_jwt of the mandate must be a string.")),
        };
        let hash = claims.remove("checkout_hash");
        if compact.is_some() && hash.is_none() {
            return Err(mismatch("The mandate has a checkout_jwt, but not its checkout_hash."));
        }
        let attached = match &whole {
            None => None,
            Some(checkout) => match checkout.get(AP2).and_then(|ap2| ap2.get(MERCHANT_AUTHORIZATION)) {
                Some(Value::String(authorization)) => Some(authorization::attach(checkout, authorization)?),
                _ => return Err(MandateError::AuthorizationMissing),
            },
        };
        let compact = match (attached, compact) {
            (Some(attached), Some(compact)) if attached != compact => {
                return Err(mismatch("The claims checkout and checkout_jwt of the mandate are different checkouts."));
            }
            (Some(compact), _) | (None, Some(compact)) => compact,
            (None, None) => {
                return Err(mismatch(
                    "The mandate does not disclose the checkout that the buyer agreed to. It has to have the claim \
                     `checkout`, or `checkout_jwt` and `checkout_hash`.",
                ));
            }
        };
        let signed = authorization::verify_attached(&compact, own_keys)?;
        if hash.is_some_and(|hash| hash != sd_jwt::digest(&compact)) {
            return Err(mismatch("The checkout_hash of the mandate is not the SHA-256 of its checkout_jwt."));
        }
        let authorization = signed.detached(&compact);
        let checkout = match whole {
            Some(checkout) => checkout,
            None => Value::Object(signed.payload().map_err(|why| mismatch(format!("The checkout_jwt {why}.")))?),
        };
        Ok(Self { checkout, authorization })
    }
}

fn invalid(why: impl AsRef<str>) -> MandateError {
    MandateError::InvalidSignature(format!(
        "The mandate {}. Accepted is an SD-JWT with key binding: `<issuer-signed JWT>~<disclosure>~…~<key binding JWT>`.",
        why.as_ref()
    ))
}

fn expired(text: impl Into<String>) -> MandateError {
    MandateError::Expired(text.into())
}

fn mismatch(text: impl Into<String>) -> MandateError {
    MandateError::ScopeMismatch(text.into())
}
