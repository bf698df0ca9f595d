//! Totals: lists of charges and discounts with their sum (UCP *Totals*; rules TOT-01 to TOT-06).
//!
//! [`Totals`] adds its entries in `i128` and appends the one `total`: a list that does not add up cannot be built.
//! Amounts are signed here; discounts and credits are negative.

use serde::{Deserialize, Serialize};

use crate::money::MAX_AMOUNT;

named! {
    /// Kind of an entry of a list of totals.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TotalKind {
        /// Sum of the lines before discounts, charges and taxes.
        Subtotal = "subtotal",
        /// Discounts on lines; negative.
        ItemsDiscount = "items_discount",
        /// Discounts on the whole order; negative.
        Discount = "discount",
        /// Charge for shipping or pickup.
        Fulfillment = "fulfillment",
        /// Taxes that are not included in prices.
        Tax = "tax",
        /// Fee.
        Fee = "fee",
        /// Amount that a gift card pays; negative. A type of its own, which UCP leaves to the business.
        GiftCard = "gift_card",
        /// Amount that the buyer's credit at the shop pays; negative. A type of its own as well.
        StoreCredit = "store_credit",
        /// Sum of all other entries.
        Total = "total",
    }
}

impl TotalKind {
    /// Returns `true` if entries of this kind are below zero.
    pub const fn is_deducted(self) -> bool {
        matches!(self, Self::ItemsDiscount | Self::Discount | Self::GiftCard | Self::StoreCredit)
    }
}

/// An entry of a list of totals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Kind of the entry.
    pub kind: TotalKind,
    /// Label shown to the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_text: Option<String>,
    /// Amount in minor units; negative for discounts and credits, 0 or more for all other kinds.
    pub amount: i64,
}

/// Error for an amount beyond [`MAX_AMOUNT`], which JSON readers do not keep exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sum is larger than {MAX_AMOUNT} minor units")]
pub struct TooLarge;

/// Builder of a list of totals. Amounts beyond [`MAX_AMOUNT`] are [`TooLarge`].
#[derive(Clone, Debug, Default)]
pub struct Totals {
    entries: Vec<Total>,
    sum: i128,
}

impl Totals {
    /// Starts a list with its subtotal.
    pub fn of(subtotal: i128) -> Result<Self, TooLarge> {
        let mut totals = Self::default();
        totals.push(TotalKind::Subtotal, None, subtotal)?;
        Ok(totals)
    }

    /// Adds an entry. A discount or credit of 0 is left out: UCP does not allow the first (trap T-36).
    pub fn push(&mut self, kind: TotalKind, display_text: Option<String>, amount: i128) -> Result<(), TooLarge> {
        let deducted = kind.is_deducted();
        if deducted && amount == 0 {
            return Ok(());
        }
        debug_assert!(if deducted { amount < 0 } else { amount >= 0 }, "{kind:?} of {amount}");
        self.entries.push(Total { kind, display_text, amount: representable(amount)? });
        self.sum += amount;
        Ok(())
    }

    /// Returns the sum of the entries so far.
    pub const fn sum(&self) -> i128 {
        self.sum
    }

    /// Appends the entry `total` and returns the list.
    pub fn finish(mut self) -> Result<Vec<Total>, TooLarge> {
        let amount = representable(self.sum)?;
        self.entries.push(Total { kind: TotalKind::Total, display_text: None, amount });
        Ok(self.entries)
    }
}

fn representable(amount: i128) -> Result<i64, TooLarge> {
    i64::try_from(amount).ok().filter(|amount| amount.unsigned_abs() <= MAX_AMOUNT.unsigned_abs()).ok_or(TooLarge)
}

/// Returns the sum of the entries of a kind; 0 if there is none.
pub fn amount_of(totals: &[Total], kind: TotalKind) -> i64 {
    totals.iter().filter(|total| total.kind == kind).map(|total| total.amount).sum()
}
