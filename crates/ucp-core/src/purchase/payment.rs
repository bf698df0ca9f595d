//! Instruments, credentials and payments (UCP *Payment Handlers*; rules PAY-01 to PAY-08).
//!
//! A credential is used once: it goes from the request to the handler and is dropped. Its type neither prints nor
//! serializes it. The stored record of a payment is an [`Attempt`]: enough to ask for its result, never enough to
//! repeat it.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::buyer::PostalAddress;
use crate::money::{Amount, Currency};

/// A payment instrument without its credential.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// Identifier assigned by the platform.
    pub id: String,
    /// Identifier of the payment handler that accepts it.
    pub handler_id: String,
    /// Type of the instrument, such as `card`.
    pub kind: String,
    /// `true` if the platform chose this instrument.
    pub selected: Option<bool>,
    /// The billing address.
    pub billing_address: Option<PostalAddress>,
    /// Displayable details such as brand and last digits, as received.
    pub display: Option<Map<String, Value>>,
}

/// Payment credential: used once, never stored, logged or returned (rule PAY-01). It has no serialized form, and
/// `Debug` prints its type only.
#[derive(Clone)]
pub struct Credential {
    /// Type of the credential, such as `token` or `card`.
    pub kind: String,
    members: Arc<Map<String, Value>>,
}

impl Credential {
    /// Creates a credential from its members, including `type`.
    pub fn new(kind: String, members: Map<String, Value>) -> Self {
        Self { kind, members: Arc::new(members) }
    }

    /// Returns all members, for the handler that uses the credential up.
    pub fn reveal(&self) -> &Map<String, Value> {
        &self.members
    }
}

crate::opaque!(Credential);

/// An instrument as submitted for payment.
#[derive(Clone, Debug)]
pub struct Tender {
    /// Payment instrument.
    pub instrument: Instrument,
    /// Credential, if the platform sent one.
    pub credential: Option<Credential>,
}

/// A shop's declaration of a payment handler.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Reverse-domain name of the kind of handler, under which profiles list it.
    pub name: String,
    /// Identifier of this handler among those of its kind, to which `handler_id` refers.
    pub id: String,
    /// Version of the handler's specification, a date.
    pub version: String,
    /// URL of the specification; empty if it states none.
    pub spec: String,
    /// URL of the schema of the handler's configuration; empty if it states none.
    pub schema: String,
    /// Types of instruments that the handler accepts, such as `card`; at least one.
    pub instruments: Vec<String>,
    /// Public configuration that platforms need to use the handler.
    pub config: Map<String, Value>,
}

/// A payment attempt, stored before the processor or the shop is called.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Random identifier of the attempt, used as the processor's idempotency key.
    pub id: String,
    /// Identifier of the handler that carries the attempt out.
    pub handler_id: String,
    /// Identifier of the checkout to pay for.
    pub checkout_id: String,
    /// Amount in minor units of `currency`.
    pub amount: Amount,
    /// Currency of the amount.
    pub currency: Currency,
    /// Time at which the attempt was stored, UTC.
    pub begun_at: Timestamp,
    /// Data that the handler needs to inquire about the attempt; nothing of the credential that could pay.
    pub memo: Value,
    /// `true` if the attempt places an order at a shop behind another API, which takes the payment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_shop: bool,
    /// URL to which the processor sends the buyer back after an authentication.
    pub return_url: Option<String>,
    /// URL of the buyer's page.
    pub page_url: Option<String>,
    /// Authentication of the buyer that the attempt waits for.
    pub challenge: Option<Challenge>,
}

/// An authentication of the buyer in the middle of an attempt (3-D Secure): the attempt goes on after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Identifier of the authentication, unguessable; another one has another identifier.
    pub id: String,
    /// Step of the authentication.
    #[serde(default)]
    pub step: AuthenticationStep,
    /// URL of the page of the processor or the bank.
    pub url: String,
    /// Time at which the attempt is called off unless the buyer has been authenticated, UTC.
    pub until: Timestamp,
    /// Answer on a page of the gateway that plays the bank: `true` if the buyer confirmed. Processors know it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<bool>,
}

/// Step of an authentication (UCP *Payment Authentication*, *Actions*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthenticationStep {
    /// Data of the buyer's device are collected, without anything to see.
    DeviceDataCollection,
    /// The bank challenges the buyer.
    #[default]
    ThreeDsChallenge,
}

impl AuthenticationStep {
    /// Returns the type of the action that asks a platform for the step.
    pub const fn action_type(self) -> &'static str {
        match self {
            Self::DeviceDataCollection => "dev.ucp.common.payment.device_data_collection",
            Self::ThreeDsChallenge => "dev.ucp.common.payment.three_ds_challenge",
        }
    }
}

/// Result of a payment attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// The payment was captured.
    Captured {
        /// Reference of the payment at the processor.
        reference: String,
    },
    /// The payment was authorized, and is captured later, by the handler's `capture`.
    Authorized {
        /// Reference of the payment at the processor.
        reference: String,
    },
    /// The payment was declined. No money moved, and none will.
    Declined {
        /// Reason, for the buyer.
        reason: String,
    },
    /// The processor could not be reached: nothing was sent, and no money moved.
    Unsent,
    /// The processor requires an authentication of the buyer first (rule CHK-14). No money moved, and none will for
    /// this attempt.
    Challenged {
        /// Reason, for the buyer.
        reason: String,
    },
    /// The processor waits for an authentication of the buyer, and goes on with this attempt after it. No money has
    /// moved so far.
    AwaitingBuyer {
        /// Step of the authentication.
        step: AuthenticationStep,
        /// URL of the page of the processor or the bank: https, or http to the loopback interface in development.
        url: String,
        /// Time at which the attempt is called off unless the buyer has been authenticated, UTC.
        until: Timestamp,
    },
    /// The result is unknown: the processor did not answer, or is still working. It has to be asked again.
    Unknown,
    /// The processor does not know the attempt. Only `inquire` of the handler returns this.
    Absent,
}

/// Time at which the money of a purchase is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureMode {
    /// With the purchase.
    #[default]
    Automatic,
    /// By the merchant, after the purchase.
    Manual,
}

/// An amount to be captured of an authorized payment. What is left of the payment is released: a payment is captured
/// once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Identifier of the capture, used as the processor's idempotency key.
    pub id: String,
    /// Identifier of the payment attempt that was authorized.
    pub attempt_id: String,
    /// Identifier of the checkout that was paid for.
    pub checkout_id: String,
    /// Reference of the authorized payment at the processor, from [`Settlement::Authorized`].
    pub reference: String,
    /// Amount in minor units of `currency`, at most `authorized`; zero releases everything.
    pub amount: Amount,
    /// Amount that was authorized, in minor units of `currency`.
    pub authorized: Amount,
    /// Currency of the amounts.
    pub currency: Currency,
}

/// An amount to be given back to a buyer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    /// Identifier of the refund, used as the processor's idempotency key.
    pub id: String,
    /// Identifier of the payment attempt that was captured.
    pub attempt_id: String,
    /// Reference of the captured payment at the processor, from [`Settlement::Captured`].
    pub reference: String,
    /// Amount in minor units of `currency`, at least 1.
    pub amount: Amount,
    /// Currency of the amount.
    pub currency: Currency,
}

/// Result of a capture or a refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferOutcome {
    /// The processor carries it out.
    Done {
        /// Reference of the capture or the refund at the processor.
        reference: String,
    },
    /// The handler does not do that: the operator does, at the processor.
    ByHand,
    /// The processor refused. No money moved.
    Refused {
        /// Reason, for the operator.
        reason: String,
    },
    /// The result is unknown. The same can be requested again, under the same identifier.
    Unknown,
}

/// Returns `true` if a text holds a card number: 12 to 19 digits whose check digit is right (ISO/IEC 7812-1), with
/// white space or hyphens between them.
///
/// Hashes and UUIDs with letters (32 hexadecimal digits and more) and Unix times in milliseconds, microseconds or
/// nanoseconds are none, or one of ten would be.
pub fn holds_card_number(text: &str) -> bool {
    let is_separator = |letter: char| letter.is_whitespace() || matches!(letter, '-' | '\u{2010}'..='\u{2015}');
    let mut rest = text;
    let mut words = std::iter::from_fn(|| {
        // Up to what no number goes on after, in which a hash stands by itself.
        let start = rest.find(|letter: char| letter.is_ascii_alphanumeric())?;
        let after = &rest[start..];
        let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && !is_separator(letter));
        let (word, left) = after.split_at(end.unwrap_or(after.len()));
        rest = left;
        Some(word)
    });
    words.any(|words| {
        let is_hash = |word: &str| {
            let digits = word.bytes().filter(|byte| *byte != b'-');
            digits.clone().count() >= 32
                && digits.clone().all(|byte| byte.is_ascii_hexdigit())
                && digits.clone().any(|byte| byte.is_ascii_alphabetic())
        };
        let numbers: Vec<_> = words.split_whitespace().map(|word| if is_hash(word) { "x" } else { word }).collect();
        let numbers = numbers.join(" ");
        numbers.split(|letter: char| letter.is_ascii_alphabetic()).any(|run| {
            let groups: Vec<_> = run.split(is_separator).filter(|group| !group.is_empty()).collect();
            let digits: usize = groups.iter().map(|group| group.len()).sum();
            is_card_number(&groups)
                || digits > 12
                    && (0..groups.len()).any(|start| {
                        // Beside another number, such as the month in which a card expires.
                        let few = groups[start..].iter().take_while(|group| group.len() > 1).take(9).count();
                        (start + 1..=start + few).any(|end| is_card_number(&groups[start..end]))
                    })
        })
    })
}

/// Returns `true` if groups of digits are a card number together.
fn is_card_number(groups: &[&str]) -> bool {
    let count: usize = groups.iter().map(|group| group.len()).sum();
    if !(12..=19).contains(&count) {
        return false;
    }
    if let [number] = groups
        && matches!(count, 13 | 16 | 19)
        && ("142".."220").contains(&&number[..3])
    {
        // A time from 2015 to 2039.
        return false;
    }
    let digits: Vec<u32> = groups.iter().flat_map(|group| group.bytes()).map(|byte| u32::from(byte - b'0')).collect();
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let weighed = digits.iter().rev().enumerate();
    let sum: u32 = weighed.map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_numbers_are_told_from_other_numbers() {
        for text in [
            "",
            "4242",
            "42424242424",
            "42424242424242424242",
            "4242424242424241",
            "1234567890123456",
            "2026-11-26T14:56:31Z",
            // The digits of each have a right check digit.
            "1732735334127",
            "inst_1732735334127",
            "a4242424242424242e4b1c0d9f3a5b7c",
            "42424242-4242-4242-8a5b-0123456789ab",
        ] {
            assert!(!holds_card_number(text), "{text}");
        }
        for text in [
            "378282246310005",
            "6011 1111 1111 1117",
            "3056 9309 0259 04",
            "a4242424242424242b",
            "card_4242424242424242",
            "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2",
            "4242 4242 4242 4242 12 30",
            "12-4111-1111-1111-1111 of Ada",
            "4111\u{a0}1111\u{2011}1111\t1111",
            "1234567812345670",
            "6304000000000000000 ",
        ] {
            assert!(holds_card_number(text), "{text}");
        }
    }
}
