//! Mandates: proofs that the buyer agreed to exactly these terms (UCP *AP2 Mandates*; rules AP2-01 to AP2-06).
//!
//! What a mandate looks like, and who signed it with which keys, is a matter of those who identify platforms. The core
//! decides when one is asked for: as soon as the extension was negotiated once in the life of a checkout, and then for good.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Severity};

/// Where a mandate stands in a request.
const PLACE: &str = "$.ap2.checkout_mandate";

/// A mandate as it came: opaque, and never printed, because it tells who buys what.
#[derive(Clone, PartialEq, Eq)]
pub struct Mandate(String);

impl Mandate {
    /// The mandate of this text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for whoever verifies it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Mandate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mandate(…)")
    }
}

/// What is kept of a mandate that was verified, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The digest of the mandate, by which receipts refer to it.
    pub reference: String,
    /// The platform's key that signed it.
    pub kid: String,
    /// That key, as the platform published it then: a public JSON Web Key. `null` in what was kept before there was this.
    #[serde(default)]
    pub key: Value,
    /// When it was verified.
    pub verified_at: Timestamp,
    /// Whether the mandate itself is kept beside the order.
    #[serde(default)]
    pub kept: bool,
}

/// A mandate that was verified, as it was presented: what a dispute is settled by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    /// The checkout it was presented for.
    pub checkout_id: String,
    /// The mandate.
    pub mandate: Mandate,
}

/// Why a checkout is not completed: a code of the extension, and a text for people.
#[must_use]
pub fn refused(code: &str, content: impl Into<String>) -> Message {
    Message::error(code, content, Severity::Recoverable).at(PLACE)
}
