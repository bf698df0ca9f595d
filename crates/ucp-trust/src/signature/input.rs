//! Parser of `Signature-Input` and `Signature` (RFC 9421 section 4).
//!
//! The fault of a signature is kept with it: a message counts as signed if any of its signatures does.

use http::{HeaderMap, HeaderName};
use sfv::{BareItem, InnerList, ListEntry};
use ucp_core::refusal::{Code, Refusal};

use super::base::{self, Component};

/// Header field with the covered parts and parameters of each signature.
pub const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
/// Header field with the signatures.
pub const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// Maximum number of signatures of a message that are read. Each costs a verification.
pub const MAX_SIGNATURES: usize = 8;

/// Maximum number of parts of a message that a signature may cover.
const MAX_COVERED: usize = 32;

/// One labeled signature of a message.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Label of the signature.
    pub label: String,
    /// Content of the signature, or the reason why it cannot be used.
    pub input: Result<Input, String>,
}

/// Parameters of a signature, and its bytes.
#[derive(Clone, Debug)]
pub struct Input {
    /// Parts of the message that it covers, in the order of the base, without duplicates.
    pub covered: Vec<Component>,
    /// Its member of `Signature-Input` in canonical form, which ends the base.
    pub parameters: String,
    /// Identifier of the key that made it.
    pub keyid: Option<String>,
    /// Time at which it was made, in seconds since 1970.
    pub created: Option<i64>,
    /// Time until which it is valid, in seconds since 1970.
    pub expires: Option<i64>,
    /// Algorithm that it states; UCP derives it from the key.
    pub algorithm: Option<String>,
    /// Purpose for which it was made.
    pub tag: Option<String>,
    /// Random text that tells it from others.
    pub nonce: Option<String>,
    /// Bytes of the signature.
    pub signature: Vec<u8>,
}

/// Returns the signatures of a message in the order of `Signature-Input`, at most [`MAX_SIGNATURES`]; empty if it is
/// not signed. Fails with [`Code::SignatureMissing`] if one header field is present without the other, or
/// `Signature-Input` is empty; [`Code::SignatureInvalid`] if one of them is not a dictionary.
pub fn read(headers: &HeaderMap) -> Result<Vec<Candidate>, Refusal> {
    match (headers.contains_key(SIGNATURE_INPUT), headers.contains_key(SIGNATURE)) {
        (false, false) => return Ok(Vec::new()),
        (true, true) => {}
        (true, false) => return Err(half("Signature-Input", "Signature")),
        (false, true) => return Err(half("Signature", "Signature-Input")),
    }
    let fields = |name: &HeaderName, shown: &str| {
        base::dictionary(name, headers)
            .map_err(|error| Refusal::new(Code::SignatureInvalid, format!("{shown} cannot be read: {error}.")))
    };
    let inputs = fields(&SIGNATURE_INPUT, "Signature-Input")?;
    let mut signatures = fields(&SIGNATURE, "Signature")?;
    let candidates: Vec<_> = inputs
        .into_iter()
        .take(MAX_SIGNATURES)
        .map(|(label, input)| {
            let signature = signatures.swap_remove(&label);
            Candidate { label: label.into(), input: Input::read(input, signature) }
        })
        .collect();
    if candidates.is_empty() {
        return Err(Refusal::new(Code::SignatureMissing, "Signature-Input is there, but describes no signature."));
    }
    Ok(candidates)
}

/// Returns the refusal of a message that lacks one of the two header fields.
fn half(present: &str, missing: &str) -> Refusal {
    Refusal::new(Code::SignatureMissing, format!("{present} is there, but {missing} is not."))
}

impl Input {
    pub(super) fn read(input: ListEntry, signature: Option<ListEntry>) -> Result<Self, String> {
        let signature = match signature {
            Some(ListEntry::Item(item)) => match item.bare_item {
                BareItem::ByteSequence(bytes) => bytes,
                _ => return Err("its member of Signature is not a byte sequence".to_owned()),
            },
            Some(ListEntry::InnerList(_)) => return Err("its member of Signature is not a byte sequence".to_owned()),
            None => return Err("Signature has no such member".to_owned()),
        };
        let parameters = base::canonical(&input).unwrap_or_default();
        let ListEntry::InnerList(InnerList { items, params }) = input else {
            return Err("its member of Signature-Input is not a list in parentheses".to_owned());
        };
        if items.len() > MAX_COVERED {
            return Err(format!("it covers more than {MAX_COVERED} parts"));
        }
        let mut covered = Vec::with_capacity(items.len());
        for item in &items {
            let component = Component::read(item)?;
            if covered.contains(&component) {
                return Err(format!("it covers {component} twice"));
            }
            covered.push(component);
        }
        let mut read = Self {
            covered,
            parameters,
            keyid: None,
            created: None,
            expires: None,
            algorithm: None,
            tag: None,
            nonce: None,
            signature,
        };
        for (name, value) in params {
            let wrong = || format!("its parameter {} is not of the right type", name.as_str());
            let text = || value.as_string().map(|text| Some(text.as_str().to_owned())).ok_or_else(wrong);
            let seconds = || value.as_integer().map(|seconds| Some(seconds.into())).ok_or_else(wrong);
            match name.as_str() {
                "keyid" => read.keyid = text()?,
                "created" => read.created = seconds()?,
                "expires" => read.expires = seconds()?,
                "alg" => read.algorithm = text()?,
                "tag" => read.tag = text()?,
                "nonce" => read.nonce = text()?,
                // Other parameters are part of the base, and have no effect here.
                _ => {}
            }
        }
        Ok(read)
    }
}
