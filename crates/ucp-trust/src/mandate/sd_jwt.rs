//! Presentations of SD-JWT with key binding (RFC 9901): `<issuer-signed JWT>~<disclosure>~…~<key binding JWT>`.
//!
//! Sizes are checked before anything is hashed or verified. A disclosure counts only in the place of its digest, and
//! each digest may occur in one place only; a disclosure without a digest is refused, so that nothing can be added to
//! the signed claims.

use std::collections::{HashMap, HashSet};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::jws::{self, Jws};
use crate::jwk::quoted;

/// Maximum length of a presentation, in bytes.
pub const MAX_BYTES: usize = 512 * 1024;

/// Maximum number of disclosures.
pub const MAX_DISCLOSURES: usize = 256;

/// Maximum nesting depth of the claims once disclosures have been put into each other.
const MAX_DEPTH: usize = 96;

/// Member with the digests of an object's disclosed members.
const DIGESTS: &str = "_sd";

/// Member with the digest of a disclosed element of an array.
const ELEMENT: &str = "...";

/// Member with the hash algorithm of the digests.
const ALGORITHM: &str = "_sd_alg";

/// Claims that an issuer has to state openly, without disclosures (SD-JWT VC).
const OPEN: [&str; 6] = ["iss", "nbf", "exp", "cnf", "vct", "status"];

/// A presentation, parsed but not verified.
pub(super) struct Presentation<'a> {
    pub(super) issuer: Jws<'a>,
    disclosures: Vec<&'a str>,
    pub(super) binding: Jws<'a>,
    /// Text that the holder's key is bound to: everything before the key binding JWT.
    bound: &'a str,
}

impl<'a> Presentation<'a> {
    /// Parses the compact form. An error is the second half of a sentence about the mandate.
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("has more than {MAX_BYTES} bytes"));
        }
        let Some(end) = text.rfind('~') else {
            return Err("is not an SD-JWT with key binding: it has no `~`".to_owned());
        };
        let (bound, binding) = text.split_at(end + 1);
        if binding.is_empty() {
            return Err("ends with `~`, so it has no key binding JWT".to_owned());
        }
        let mut parts = bound[..end].split('~');
        let issuer = parts.next().unwrap_or_default();
        let disclosures: Vec<_> = parts.collect();
        if disclosures.iter().any(|disclosure| disclosure.is_empty()) {
            return Err("has an empty disclosure; chains of delegated mandates (`~~`) are not accepted".to_owned());
        }
        if disclosures.len() > MAX_DISCLOSURES {
            return Err(format!("has more than {MAX_DISCLOSURES} disclosures"));
        }
        let issuer = Jws::read(issuer).map_err(|why| format!("has an issuer-signed JWT that {why}"))?;
        let binding = Jws::read(binding).map_err(|why| format!("has a key binding JWT that {why}"))?;
        Ok(Self { issuer, disclosures, binding, bound })
    }

    /// Returns the digest by which the key binding JWT, and a receipt of AP2, refer to the mandate.
    pub(super) fn digest(&self) -> String {
        digest(self.bound)
    }

    /// Returns the claims that the issuer signed, with the disclosed ones in their places. They are credible only once
    /// the signature is verified.
    pub(super) fn claims(&self) -> Result<Map<String, Value>, String> {
        let mut payload = self.issuer.payload().map_err(|why| format!("has an issuer-signed JWT that {why}"))?;
        match payload.remove(ALGORITHM) {
            None => {}
            Some(Value::String(name)) if name == "sha-256" => {}
            Some(Value::String(name)) => {
                return Err(format!("states the hash algorithm {} (_sd_alg); sha-256 is accepted", quoted(&name)));
            }
            Some(_) => return Err("has an _sd_alg that is not a string".to_owned()),
        }
        let mut disclosed = Disclosed::read(&self.disclosures)?;
        let open: Vec<_> = OPEN.into_iter().filter(|name| !payload.contains_key(*name)).collect();
        let claims = disclosed.object(payload, 0)?;
        if let Some(name) = open.into_iter().find(|name| claims.contains_key(*name)) {
            return Err(format!("discloses {name}, which an issuer has to state openly"));
        }
        match disclosed.unused() {
            0 => Ok(claims),
            count => Err(format!("has disclosures ({count}) that its issuer signed no digest of")),
        }
    }
}

/// Returns the SHA-256 of a text in base64url.
pub(super) fn digest(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// Disclosures by digest, and the digests that occurred already.
struct Disclosed {
    by_digest: HashMap<String, Disclosure>,
    met: HashSet<String>,
}

enum Disclosure {
    Member(String, Value),
    Element(Value),
}

impl Disclosed {
    fn read(disclosures: &[&str]) -> Result<Self, String> {
        let mut by_digest = HashMap::with_capacity(disclosures.len());
        for (index, text) in disclosures.iter().enumerate() {
            let disclosure =
                Disclosure::read(text).map_err(|why| format!("has a disclosure (number {index}) that {why}"))?;
            if by_digest.insert(digest(text), disclosure).is_some() {
                return Err(format!("has a disclosure (number {index}) twice"));
            }
        }
        Ok(Self { by_digest, met: HashSet::new() })
    }

    fn unused(&self) -> usize {
        self.by_digest.len()
    }

    /// Returns the disclosure of a digest; `None` for what was not disclosed, and for decoys.
    fn take(&mut self, digest: String) -> Result<Option<Disclosure>, String> {
        let disclosure = self.by_digest.remove(&digest);
        if self.met.insert(digest) { Ok(disclosure) } else { Err("has the same digest in two places".to_owned()) }
    }

    fn value(&mut self, value: Value, depth: usize) -> Result<Value, String> {
        match value {
            Value::Object(members) => self.object(members, depth).map(Value::Object),
            Value::Array(elements) => self.array(elements, depth).map(Value::Array),
            plain => Ok(plain),
        }
    }

    fn object(&mut self, mut members: Map<String, Value>, depth: usize) -> Result<Map<String, Value>, String> {
        deeper(depth)?;
        let digests = members.remove(DIGESTS);
        if members.contains_key(ELEMENT) {
            return Err("has a member `...` outside of an array".to_owned());
        }
        let mut claims = Map::with_capacity(members.len());
        for (name, value) in members {
            let value = self.value(value, depth + 1)?;
            claims.insert(name, value);
        }
        let digests = match digests {
            None => return Ok(claims),
            Some(Value::Array(digests)) => digests,
            Some(_) => return Err("has an _sd that is not a list of digests".to_owned()),
        };
        for digest in digests {
            let Value::String(digest) = digest else {
                return Err("has an _sd that is not a list of digests".to_owned());
            };
            match self.take(digest)? {
                None => {}
                Some(Disclosure::Member(name, _)) if claims.contains_key(&name) => {
                    return Err(format!("discloses the member {}, which is there already", quoted(&name)));
                }
                Some(Disclosure::Member(name, value)) => {
                    let value = self.value(value, depth + 1)?;
                    claims.insert(name, value);
                }
                Some(Disclosure::Element(_)) => return Err("discloses an element of an array as a member".to_owned()),
            }
        }
        Ok(claims)
    }

    fn array(&mut self, elements: Vec<Value>, depth: usize) -> Result<Vec<Value>, String> {
        deeper(depth)?;
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            let digest = match element {
                Value::Object(mut placeholder) if placeholder.len() == 1 && placeholder.contains_key(ELEMENT) => {
                    placeholder.remove(ELEMENT)
                }
                element => {
                    values.push(self.value(element, depth + 1)?);
                    continue;
                }
            };
            let Some(Value::String(digest)) = digest else {
                return Err("has a member `...` that is not a digest".to_owned());
            };
            match self.take(digest)? {
                None => {}
                Some(Disclosure::Element(value)) => values.push(self.value(value, depth + 1)?),
                Some(Disclosure::Member(..)) => return Err("discloses a member as an element of an array".to_owned()),
            }
        }
        Ok(values)
    }
}

fn deeper(depth: usize) -> Result<(), String> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(format!("nests more than {MAX_DEPTH} levels deep")) }
}

impl Disclosure {
    fn read(text: &str) -> Result<Self, String> {
        let parts = match jws::payload_json(text)? {
            Value::Array(parts) if matches!(parts.first(), Some(Value::String(_))) => parts,
            _ => return Err("does not begin with a salt".to_owned()),
        };
        let mut parts = parts.into_iter().skip(1);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(value), None, None) => Ok(Self::Element(value)),
            (Some(Value::String(name)), Some(_), None) if name == DIGESTS || name == ELEMENT || name == ALGORITHM => {
                Err(format!("is of a member with the reserved name `{name}`"))
            }
            (Some(Value::String(name)), Some(value), None) => Ok(Self::Member(name, value)),
            _ => Err("is neither `[salt, name, value]` nor `[salt, value]`".to_owned()),
        }
    }
}
