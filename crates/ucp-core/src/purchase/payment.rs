//! Instruments, credentials, and the port behind which money moves (UCP *Payment Handlers*; rules PAY-01 to PAY-08).
//!
//! A credential is used once: it goes from the request to the handler and is dropped. It has a type that neither prints
//! nor serialises. What is kept of a payment is an [`Attempt`]: enough to ask what became of it, never enough to make it
//! again.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::buyer::PostalAddress;
use crate::{
    message::Message,
    money::{Amount, Currency},
};

/// A payment instrument without its credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// The platform's identifier for it.
    pub id: String,
    /// The handler that takes it.
    pub handler_id: String,
    /// `card` or another.
    pub kind: String,
    /// Whether it is the chosen one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// The billing address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    /// What may be shown of it (brand, last digits), as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Map<String, Value>>,
}

/// What pays: used once, never stored, logged or given back (rule PAY-01). It has no serialised form, and prints as its
/// type only.
#[derive(Clone)]
pub struct Credential {
    /// `token`, `card` or another.
    pub kind: String,
    members: Arc<Map<String, Value>>,
}

impl Credential {
    /// The credential of these members, `type` among them.
    #[must_use]
    pub fn new(kind: String, members: Map<String, Value>) -> Self {
        Self { kind, members: Arc::new(members) }
    }

    /// Everything in it, for the handler that uses it up.
    #[must_use]
    pub fn reveal(&self) -> &Map<String, Value> {
        &self.members
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// An instrument as it is submitted for paying.
#[derive(Clone, Debug)]
pub struct Tender {
    /// The instrument.
    pub instrument: Instrument,
    /// What pays, if the platform sent it.
    pub credential: Option<Credential>,
}

/// What a shop says about a payment handler it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The reverse-domain name of its kind, under which profiles list it.
    pub name: String,
    /// Which one of its kind; what `handler_id` names.
    pub id: String,
    /// The version of its specification, a date.
    pub version: String,
    /// Where its specification is.
    pub spec: String,
    /// Where the schema of its configuration is.
    pub schema: String,
    /// The kinds of instruments it takes, such as `card`, at least one.
    pub instruments: Vec<String>,
    /// What platforms need to know to use it. Public.
    pub config: Map<String, Value>,
}

/// A try to pay for a checkout, as it is kept: written before the processor hears of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The name of this try, random; the processor's idempotency key.
    pub id: String,
    /// The handler that carries it out.
    pub handler_id: String,
    /// The checkout it is for.
    pub checkout_id: String,
    /// How much, in minor units.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// When it was written down.
    pub begun_at: Timestamp,
    /// What the handler wants to remember of it; nothing of the credential that could pay.
    pub memo: Value,
}

/// What became of a try to pay.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// The money is captured.
    Captured {
        /// The processor's name for the payment.
        reference: String,
    },
    /// The payment was refused. No money moved, and none will.
    Declined {
        /// Why, for the buyer.
        reason: String,
    },
    /// The buyer has to prove something to the processor first (rule CHK-14). No money moved, and none will for this try.
    Challenged {
        /// Why, for the buyer.
        reason: String,
    },
    /// Nobody knows yet: the processor did not answer, or is still at it. It has to be asked again.
    Unknown,
    /// The processor never heard of it. Only ever the answer to a question.
    Absent,
}

/// Where money moves: one handler that the shop takes.
#[async_trait]
pub trait Handler: Send + Sync {
    /// What the shop says about it.
    fn declaration(&self) -> &Declaration;

    /// Looks at what is submitted before anything is written, and says what to remember of it.
    ///
    /// # Errors
    /// Why this cannot pay, as an error message about the instrument. A path in it begins with `$.payment.instruments[0]`,
    /// wherever the instrument stands.
    fn prepare(&self, tender: &Tender) -> Result<Value, Message>;

    /// How long after [`Attempt::begun_at`] nothing is on its way to the processor any more, whatever happened. An attempt
    /// that the processor does not know by then was lost on the way.
    fn deadline(&self) -> std::time::Duration;

    /// Authorises and captures. Called at most once per attempt.
    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement;

    /// Asks what became of an attempt; never moves money that was not authorised before. An authorisation that was not
    /// captured yet may be captured.
    async fn inquire(&self, attempt: &Attempt) -> Settlement;

    /// What a buyer pays with who has just confirmed on the shop's own page to pay; `None` for handlers that need more than
    /// that page has.
    fn confirmed_in_person(&self) -> Option<Tender> {
        None
    }

    /// Makes sure that an attempt the processor does not know will not count either when it arrives late. Whether the
    /// processor agreed.
    async fn forget(&self, attempt: &Attempt) -> bool;
}
