//! Discounts in effect and their allocation to lines (UCP *Discount Extension*).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::Amount;

/// Discounts of a cart or checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Discounts {
    /// Discount codes as sent, including rejected ones.
    pub codes: Vec<String>,
    /// Discounts in effect, in the order of application.
    pub applied: Vec<Applied>,
}

/// A discount that is in effect.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Discount code as sent; `None` for an automatic discount.
    pub code: Option<String>,
    /// Name shown to the buyer.
    pub title: String,
    /// Amount taken off, in minor units.
    pub amount: Amount,
    /// `true` if the discount applies without a code.
    pub automatic: bool,
    /// Method of allocation.
    pub method: Method,
    /// Position in the order of application, from 1.
    pub priority: u32,
    /// Claim that the discount depends on, if the claim is not verified yet (rule DSC-05).
    pub eligibility: Option<String>,
    /// Parts of `amount` by line, which add up to it; empty for a discount on the whole order (rule DSC-03).
    pub allocations: Vec<Allocation>,
}

/// Method by which a discount is allocated to lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The discount is calculated for each line separately.
    Each,
    /// One amount is calculated for all lines and allocated in proportion to their prices.
    Across,
}

/// A part of a discount and its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// RFC 9535 JSONPath from the root of the cart or checkout: a line such as `$.line_items[0]`, or an entry of
    /// `$.totals` (trap T-36).
    pub path: String,
    /// Amount of the part, in minor units.
    pub amount: Amount,
}
