//! Amounts as Stripe counts them.
//!
//! Stripe counts most currencies in the minor units of ISO 4217. It deviates in these:
//!
//! | currencies | ISO 4217 | Stripe |
//! | :-- | :-- | :-- |
//! | MGA | hundredths | whole units |
//! | ISK, UGX | whole units | hundredths, of which the last two digits are 0 |
//! | BHD, JOD, KWD, OMR, TND | thousandths | thousandths, of which the last digit is 0 |
//!
//! HUF and TWD are charged in hundredths like any other; only payouts to the merchant are in whole units.

use ucp_core::money::{Amount, Currency};

/// Currencies that Stripe counts in whole units, and ISO 4217 in hundredths.
const WHOLE: &[&str] = &["MGA"];

/// Currencies that Stripe counts in hundredths, and ISO 4217 in whole units.
const HUNDREDTHS: &[&str] = &["ISK", "UGX"];

/// Number of minor units of ISO 4217 of which a charge is a multiple.
pub(super) fn step(currency: Currency) -> i64 {
    match (WHOLE.contains(&currency.as_str()), currency.exponent()) {
        (true, _) => 100,
        (false, 3) => 10,
        _ => 1,
    }
}

/// Returns an amount as Stripe counts it; `None` if Stripe cannot charge exactly that.
pub(super) fn charged(amount: Amount, currency: Currency) -> Option<i64> {
    // Stripe has no currency with more than three digits.
    if amount.minor() % step(currency) != 0 || currency.exponent() > 3 {
        return None;
    }
    if WHOLE.contains(&currency.as_str()) {
        Some(amount.minor() / 100)
    } else if HUNDREDTHS.contains(&currency.as_str()) {
        amount.minor().checked_mul(100)
    } else {
        Some(amount.minor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_counted_as_stripe_does_and_never_rounded() {
        for (currency, minor, expected) in [
            ("USD", 1_099, Some(1_099)),
            ("EUR", 1, Some(1)),
            ("JPY", 500, Some(500)),
            ("KRW", 500, Some(500)),
            ("CLP", 500, Some(500)),
            ("VND", 500, Some(500)),
            ("XAF", 500, Some(500)),
            ("ISK", 5, Some(500)),
            ("UGX", 5, Some(500)),
            ("HUF", 1_050, Some(1_050)),
            ("TWD", 80_045, Some(80_045)),
            ("MGA", 500, Some(5)),
            ("MGA", 550, None),
            ("KWD", 5_120, Some(5_120)),
            ("KWD", 5_124, None),
            ("BHD", 10, Some(10)),
            ("TND", 9, None),
            ("CLF", 10_000, None),
            ("USD", 0, Some(0)),
        ] {
            let amount = Amount::new(minor).expect("an amount");
            assert_eq!(charged(amount, currency.parse().expect("a currency")), expected, "{minor} {currency}");
        }
    }
}
