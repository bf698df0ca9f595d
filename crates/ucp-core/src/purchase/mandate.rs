//! Mandates: proofs that the buyer agreed to exactly these terms (UCP *AP2 Mandates*; rules AP2-01 to AP2-06).
//!
//! Format, signatures and keys of mandates are checked behind a [port](crate::ports::mandate_verifier). The core decides
//! when a mandate is required: once the extension was negotiated for a checkout, for the rest of its life.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Severity};

/// JSONPath of the mandate in a request.
const PLACE: &str = "$.ap2.checkout_mandate";

/// A mandate as received. It is opaque, and never printed because it says who buys what.
#[derive(Clone, PartialEq, Eq)]
pub struct Mandate(String);

impl Mandate {
    /// Wraps the text of a mandate.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for verification and storage.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

crate::opaque!(Mandate);

/// Stored result of the verification of a mandate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Digest of the mandate, by which receipts refer to it.
    pub reference: String,
    /// Identifier of the platform's key that signed the mandate.
    pub kid: String,
    /// Public JSON Web Key of that key, as the platform published it then; `null` in evidence stored earlier,
    /// before this member existed.
    #[serde(default)]
    pub key: Value,
    /// Time of the verification, UTC.
    pub verified_at: Timestamp,
    /// `true` if the mandate itself is stored beside the order.
    #[serde(default)]
    pub kept: bool,
}

/// A verified mandate as presented, kept to settle disputes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    /// Identifier of the checkout that it was presented for.
    pub checkout_id: String,
    /// Text of the mandate.
    pub mandate: Mandate,
}

/// Returns the error message for a rejected or missing mandate: `code` is defined by the extension, `content` is for
/// people.
pub fn refused(code: &str, content: impl Into<String>) -> Message {
    Message::error(code, content, Severity::Recoverable).at(PLACE)
}
