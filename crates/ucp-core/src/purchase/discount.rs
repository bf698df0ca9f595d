//! Discounts in effect, and where they went (UCP *Discount Extension*).

use serde::{Deserialize, Serialize};

use crate::money::Amount;

/// The discounts of a cart or checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Discounts {
    /// The codes as sent, rejected ones too.
    pub codes: Vec<String>,
    /// The discounts that are in effect, in the order in which they were applied.
    pub applied: Vec<Applied>,
}

/// A discount that is in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The code it was asked for with, as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What to call it.
    pub title: String,
    /// How much it takes off, in minor units.
    pub amount: Amount,
    /// Whether it applies by itself.
    pub automatic: bool,
    /// How the amount came to be spread.
    pub method: Method,
    /// Its place in the order of application, from 1.
    pub priority: u32,
    /// The claim it depends on, when it is granted on a claim that is not verified yet (rule DSC-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligibility: Option<String>,
    /// Where the amount went; the parts add up to it (rule DSC-03).
    pub allocations: Vec<Allocation>,
}

/// How a discount is spread over lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Taken from each line on its own.
    Each,
    /// One amount, spread over the lines by what they cost.
    Across,
}

/// A part of a discount, and where it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// RFC 9535 JSONPath from the root of the cart or checkout: a line such as `$.line_items[0]`, or an entry of
    /// `$.totals` (trap T-36).
    pub path: String,
    /// How much of it, in minor units.
    pub amount: Amount,
}
