//! What something costs, and of what that is the sum (UCP *Totals*; rules TOT-01 to TOT-06).
//!
//! Totals are made by [`Totals`], which adds its entries in `i128` and appends the one `total`: a list that does not add
//! up cannot be made. Amounts are signed here; discounts are negative.

use serde::{Deserialize, Serialize};

use crate::money::MAX_AMOUNT;

/// What an entry of a list of totals is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TotalKind {
    /// The lines, before anything else.
    Subtotal,
    /// Discounts on lines; below zero.
    ItemsDiscount,
    /// Discounts on the whole; below zero.
    Discount,
    /// Shipping or pickup.
    Fulfillment,
    /// Taxes that prices do not include.
    Tax,
    /// Fees.
    Fee,
    /// The sum.
    Total,
}

impl TotalKind {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subtotal => "subtotal",
            Self::ItemsDiscount => "items_discount",
            Self::Discount => "discount",
            Self::Fulfillment => "fulfillment",
            Self::Tax => "tax",
            Self::Fee => "fee",
            Self::Total => "total",
        }
    }
}

/// An entry of a list of totals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// What it is about.
    pub kind: TotalKind,
    /// A text to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_text: Option<String>,
    /// Minor units; below zero for discounts, zero or more for everything else.
    pub amount: i64,
}

/// A sum beyond [`MAX_AMOUNT`], which no reader of JSON keeps exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sum is larger than {MAX_AMOUNT} minor units")]
pub struct TooLarge;

/// A list of totals under construction.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    entries: Vec<Total>,
    sum: i128,
}

impl Totals {
    /// A list that starts with the subtotal.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn of(subtotal: i128) -> Result<Self, TooLarge> {
        let mut totals = Self::default();
        totals.push(TotalKind::Subtotal, None, subtotal)?;
        Ok(totals)
    }

    /// Adds an entry. Nothing is added for a discount of nothing, which UCP does not allow (trap T-36).
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn push(&mut self, kind: TotalKind, display_text: Option<String>, amount: i128) -> Result<(), TooLarge> {
        let discount = matches!(kind, TotalKind::ItemsDiscount | TotalKind::Discount);
        if discount && amount == 0 {
            return Ok(());
        }
        debug_assert!(if discount { amount < 0 } else { amount >= 0 }, "{kind:?} of {amount}");
        self.entries.push(Total { kind, display_text, amount: representable(amount)? });
        self.sum += amount;
        Ok(())
    }

    /// The sum so far.
    #[must_use]
    pub const fn sum(&self) -> i128 {
        self.sum
    }

    /// The list, ended by its sum.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn finish(mut self) -> Result<Vec<Total>, TooLarge> {
        let amount = representable(self.sum)?;
        self.entries.push(Total { kind: TotalKind::Total, display_text: None, amount });
        Ok(self.entries)
    }
}

fn representable(amount: i128) -> Result<i64, TooLarge> {
    i64::try_from(amount).ok().filter(|amount| amount.unsigned_abs() <= MAX_AMOUNT.unsigned_abs()).ok_or(TooLarge)
}

/// The amount of the entry of a kind that a list has once; 0 where it has none.
#[must_use]
pub fn amount_of(totals: &[Total], kind: TotalKind) -> i64 {
    totals.iter().filter(|total| total.kind == kind).map(|total| total.amount).sum()
}
