//! Verification that a message comes unaltered from the holder of a published key (SIG-07).
//!
//! A signature that does not cover the parts that UCP requires proves nothing about the message, even if it verifies,
//! and is skipped like one whose key is unknown (SIG-13). One valid signature is enough; the caller learns the faults
//! only if none is valid. The cheap checks come first: nothing is hashed and no operation on a curve is made for a
//! signature that could not count anyway.

use std::{
    cell::OnceCell,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderName, header::CONTENT_TYPE};
use ucp_core::refusal::{Code, Refusal};

use super::{
    base::{self, Component, Message, Start},
    digest::{self, CONTENT_DIGEST},
    input::{self, Candidate, Input},
};
use crate::jwk::{Algorithm, PublicKey, VerifyError, quoted};

/// Maximum difference between the clocks of two parties.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Maximum age of a signature that states when it was made and not until when it is valid, and maximum time for which one
/// that states only the latter is still valid, beside [`CLOCK_SKEW`]. Long enough for a caller that repeats a signed request
/// until it is answered.
pub const MAX_AGE: Duration = Duration::from_hours(1);

/// Maximum time between `created` and `expires`.
pub(super) const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// Tag of signatures that are shared with Web Bot Auth; UCP has none of its own.
pub(super) const WEB_BOT_AUTH: &str = "web-bot-auth";

const UCP_AGENT: HeaderName = HeaderName::from_static("ucp-agent");
pub(super) const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Signatures of a message, parsed but not verified.
#[derive(Clone, Debug)]
pub struct Signed {
    candidates: Vec<Candidate>,
}

/// Proven sender of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Identifier of the key that made the valid signature.
    pub keyid: String,
    /// Label of the valid signature.
    pub label: String,
}

/// Fault of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Kind of failure.
    pub code: Code,
    /// Description of the fault for people: the second half of a sentence about the signature.
    pub text: String,
}

impl Signed {
    /// Parses the signatures of a message. Returns `None` if it has none. Fails with [`Code::SignatureMissing`] if only
    /// half of a signature is present, [`Code::SignatureInvalid`] if the header fields cannot be parsed.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let candidates = input::read(headers)?;
        Ok((!candidates.is_empty()).then_some(Self { candidates }))
    }

    /// Returns the signatures in the order in which they are tried.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Returns the identifiers of the keys that the signatures name.
    pub fn key_ids(&self) -> impl Iterator<Item = &str> {
        self.candidates.iter().filter_map(|candidate| candidate.input.as_ref().ok()?.keyid.as_deref())
    }

    /// Returns the first key that a signature for UCP names and that is not among `keys`. If the message does not
    /// verify with `keys`, it can be worth fetching them again.
    pub fn unknown_key(&self, keys: &[PublicKey]) -> Option<&str> {
        let inputs = self.candidates.iter().filter_map(|candidate| candidate.input.as_ref().ok());
        let mut named = inputs.filter(|input| is_for_ucp(input)).filter_map(|input| input.keyid.as_deref());
        named.find(|keyid| !keys.iter().any(|key| key.kid() == *keyid))
    }

    /// Verifies the message with the keys of its sender. `body` holds the bytes as they were received. Fails with the
    /// faults of all signatures, with the code of the one that came closest. So [`Code::KeyNotFound`] means that no
    /// signature for UCP names one of the keys.
    pub fn verify(
        &self,
        message: &Message<'_>,
        body: &[u8],
        keys: &[PublicKey],
        now: SystemTime,
    ) -> Result<Verified, Refusal> {
        let verifier = Verifier::new(message, body, keys, now);
        let mut flaws = Vec::new();
        for candidate in &self.candidates {
            match verifier.check(candidate) {
                Ok(keyid) => return Ok(Verified { keyid: keyid.to_owned(), label: candidate.label.clone() }),
                Err(flaw) => flaws.push((candidate, flaw)),
            }
        }
        Err(refusal(&flaws))
    }
}

/// Returns the refusal of a message none of whose signatures can be read; `None` if one can.
pub(super) fn unusable(signed: &Signed) -> Option<Refusal> {
    let flaw = |candidate: &'_ Candidate| candidate.input.as_ref().err().map(Flaw::invalid);
    let flaws: Option<Vec<_>> = signed.candidates.iter().map(|it| Some((it, flaw(it)?))).collect();
    flaws.map(|flaws| refusal(&flaws))
}

/// Returns the refusal of a message all of whose signatures have faults.
fn refusal(flaws: &[(&Candidate, Flaw)]) -> Refusal {
    let closest = flaws.iter().max_by_key(|(candidate, flaw)| {
        let progress = match flaw.code {
            Code::DigestMismatch => 3,
            Code::SignatureInvalid => 2,
            Code::AlgorithmUnsupported => 1,
            _ => 0,
        };
        // A signature that was not made for UCP is not the one that failed.
        (candidate.input.as_ref().is_ok_and(is_for_ucp), progress)
    });
    let code = closest.map_or(Code::SignatureMissing, |(_, flaw)| flaw.code);
    let texts: Vec<_> = flaws
        .iter()
        .map(|(candidate, flaw)| format!("Signature {}: {}.", quoted(&candidate.label), flaw.text))
        .collect();
    Refusal::new(code, texts.join(" "))
}

/// Returns `true` if the signature was made for UCP, or for UCP as well (SIG-13).
pub(super) fn is_for_ucp(input: &Input) -> bool {
    input.tag.as_deref().is_none_or(|tag| tag == WEB_BOT_AUTH)
}

/// Returns the parts of this message that a signature has to cover (SIG-04, SIG-05, SIG-13).
///
/// Rules of the operations determine which requests need an `Idempotency-Key`; if one is present, it is covered.
pub fn required(message: &Message<'_>, has_body: bool) -> impl Iterator<Item = Component> {
    let (request, query) = match message.start {
        Start::Request(line) => (true, line.query.is_some_and(|query| !query.is_empty())),
        Start::Response(_) => (false, false),
    };
    let field = |name: HeaderName, needed: bool| needed.then_some(Component::Field(name));
    let carried = |name: HeaderName| {
        let needed = request && message.headers.contains_key(&name);
        field(name, needed)
    };
    [
        request.then_some(Component::Method),
        request.then_some(Component::Authority),
        request.then_some(Component::Path),
        query.then_some(Component::Query),
        (!request).then_some(Component::Status),
        carried(UCP_AGENT),
        carried(SIGNATURE_AGENT),
        carried(IDEMPOTENCY_KEY),
        field(CONTENT_DIGEST, has_body),
        field(CONTENT_TYPE, has_body),
    ]
    .into_iter()
    .flatten()
}

/// A message, with everything that its signatures are checked against.
pub(super) struct Verifier<'a> {
    message: &'a Message<'a>,
    body: &'a [u8],
    keys: &'a [PublicKey],
    now: SystemTime,
    /// Result of the comparison of the body with its digest, the same for all signatures and therefore computed once.
    digest: OnceCell<Result<(), String>>,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(message: &'a Message<'a>, body: &'a [u8], keys: &'a [PublicKey], now: SystemTime) -> Self {
        Self { message, body, keys, now, digest: OnceCell::new() }
    }

    /// Checks one signature, and returns the identifier of the key that made it.
    pub(super) fn check<'c>(&self, candidate: &'c Candidate) -> Result<&'c str, Flaw> {
        let input = candidate.input.as_ref().map_err(Flaw::invalid)?;
        let (keyid, key) = self.key(input)?;
        self.fresh(input)?;
        let missing = self.missing(&candidate.label, input);
        if !missing.is_empty() {
            return Err(Flaw::invalid(format!("it does not cover {}, and so does not count", missing.join(", "))));
        }
        let base = base::build(&input.covered, &input.parameters, self.message).map_err(Flaw::invalid)?;
        if input.covered.contains(&Component::Field(CONTENT_DIGEST)) {
            let digest = self.digest.get_or_init(|| digest::check(self.message.headers, self.body));
            digest.clone().map_err(|text| Flaw { code: Code::DigestMismatch, text })?;
        }
        key.verify(&base, &input.signature).map_err(|error| match error {
            VerifyError::Unsupported => Flaw::unsupported(key),
            VerifyError::Encoding { .. } => Flaw::invalid(error.to_string()),
            VerifyError::Mismatch => {
                Flaw::invalid(format!("it was not made over this message with the key {}", quoted(keyid)))
            }
        })?;
        Ok(keyid)
    }

    /// Returns the parts that the signature would have to cover and does not.
    pub(super) fn missing(&self, label: &str, input: &Input) -> Vec<String> {
        let covers = |wanted: &Component| {
            input.covered.iter().any(|covered| match (covered, wanted) {
                // Each member of the field belongs to the signature with the same label.
                (Component::Member(name, key), Component::Field(wanted)) => {
                    name == wanted && *name == SIGNATURE_AGENT && key.as_str() == label
                }
                (covered, wanted) => covered == wanted,
            })
        };
        required(self.message, !self.body.is_empty())
            .filter(|component| !covers(component))
            .map(|component| component.to_string())
            .collect()
    }

    /// Returns the key that the signature names, if that key is for signatures of this kind.
    fn key<'i>(&self, input: &'i Input) -> Result<(&'i str, &'a PublicKey), Flaw> {
        let keyid = input.keyid.as_deref().ok_or_else(|| Flaw::invalid("it names no key (keyid)"))?;
        let tag = input.tag.as_deref();
        if !is_for_ucp(input) {
            let tag = quoted(tag.unwrap_or_default());
            return Err(Flaw::invalid(format!("it was made for another purpose than UCP (tag {tag})")));
        }
        let key = self.keys.iter().find(|key| key.kid() == keyid).ok_or_else(|| Flaw {
            code: Code::KeyNotFound,
            text: format!("its sender has not published the key {}", quoted(keyid)),
        })?;
        let algorithm = key.algorithm().and_then(Algorithm::http_name).ok_or_else(|| Flaw::unsupported(key))?;
        if tag == Some(WEB_BOT_AUTH) && key.thumbprint().as_deref() != Some(keyid) {
            return Err(Flaw::invalid(format!(
                "with the tag {WEB_BOT_AUTH} its keyid has to be the thumbprint of the key"
            )));
        }
        match input.algorithm.as_deref() {
            None => Ok((keyid, key)),
            Some(stated) if stated == algorithm => Ok((keyid, key)),
            Some(stated) => {
                let text = format!("it states the algorithm {}, but its key is for {algorithm}", quoted(stated));
                let known = Algorithm::HTTP.iter().any(|algorithm| algorithm.http_name() == Some(stated));
                Err(Flaw { code: if known { Code::SignatureInvalid } else { Code::AlgorithmUnsupported }, text })
            }
        }
    }

    /// Checks that the signature is valid at this time (SIG-06). That of a request has to age, or whoever records the request
    /// could repeat it for ever; that of a response is read once.
    fn fresh(&self, input: &Input) -> Result<(), Flaw> {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let now = seconds(self.now.duration_since(UNIX_EPOCH).unwrap_or_default());
        let skew = seconds(CLOCK_SKEW);
        if let Some(expires) = input.expires.filter(|expires| *expires < now - skew) {
            return Err(Flaw::invalid(format!("it expired {} seconds ago", now - expires)));
        }
        if let Some(created) = input.created.filter(|created| *created > now + skew) {
            return Err(Flaw::invalid(format!("it was made {} seconds in the future", created - now)));
        }
        let (oldest, ages) = (now - seconds(MAX_AGE) - skew, input.expires.is_none());
        if let Some(created) = input.created.filter(|created| ages && *created < oldest) {
            let (ago, limit) = (now.saturating_sub(created), MAX_AGE.as_secs());
            return Err(Flaw::invalid(format!(
                "it was made {ago} seconds ago; without `expires` it must be at most {limit} seconds old"
            )));
        }
        if matches!(self.message.start, Start::Response(_)) {
            return Ok(());
        }
        match (input.created, input.expires) {
            (None, None) => Err(Flaw::invalid(
                "it states neither `created` nor `expires`, so that it would never age; it must have been made at most an \
                 hour ago, by `created`",
            )),
            (None, Some(expires)) if expires > now + seconds(MAX_AGE) + skew => Err(Flaw::invalid(format!(
                "it expires in {} seconds; without `created` it must expire within {} seconds",
                expires.saturating_sub(now),
                MAX_AGE.as_secs()
            ))),
            (Some(created), Some(expires)) if expires.saturating_sub(created) > seconds(MAX_LIFETIME) => {
                Err(Flaw::invalid("it must expire within 24 hours after it was made"))
            }
            _ => Ok(()),
        }
    }
}

impl Flaw {
    fn invalid(text: impl Into<String>) -> Self {
        Self { code: Code::SignatureInvalid, text: text.into() }
    }

    fn unsupported(key: &PublicKey) -> Self {
        let what = key.unsupported().unwrap_or("a P-521 key");
        Self {
            code: Code::AlgorithmUnsupported,
            text: format!("no signature can be verified with {what} ({}); use ES256", quoted(key.kid())),
        }
    }
}
