//! Conversion of the Storefront API's amounts, decimal texts in major units, to integers in minor units.
//!
//! The API writes any number of decimals: `25.0` dollars are 2500 cents, `1500.0` yen are 1500. No float is involved.
//! Decimals beyond those of the currency are rounded, half away from zero, and [`Minor::rounded`] reports it.

use serde::Deserialize;
use ucp_core::money::{Amount, Currency, Price};

/// Maximum length of an amount, in characters. The largest amount that the gateway sells for has sixteen digits.
const LONGEST: usize = 32;

/// An amount as the API states it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Money {
    /// Decimal number in major units.
    pub amount: String,
    /// ISO 4217 code of the currency.
    pub currency_code: String,
}

/// Reason why an amount cannot be used. The texts complete "the amount …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMoney {
    /// The amount is not a decimal number, or longer than 32 characters.
    #[error("is not written as a decimal number")]
    Amount,
    /// The currency is not one of ISO 4217.
    #[error("is in no currency of ISO 4217")]
    Currency,
    /// The price is negative, or larger than any amount that the gateway accepts.
    #[error("is negative or too large for a price")]
    Range,
}

/// An amount in minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minor {
    /// Number of minor units, of either sign.
    pub units: i128,
    /// `true` if the amount was rounded to whole minor units.
    pub rounded: bool,
}

/// Converts a decimal text to minor units of a currency. Fails with [`NoMoney::Amount`] if the text is not a decimal
/// number.
pub fn minor(amount: &str, currency: Currency) -> Result<Minor, NoMoney> {
    if amount.len() > LONGEST {
        return Err(NoMoney::Amount);
    }
    let (negative, digits) = amount.strip_prefix('-').map_or((false, amount), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !number(whole) || !fraction.is_none_or(number) {
        return Err(NoMoney::Amount);
    }
    let fraction = fraction.unwrap_or_default();
    let exponent = currency.exponent() as usize;
    let (kept, beyond) = fraction.split_at(fraction.len().min(exponent));
    let mut units: i128 = format!("{whole}{kept:0<exponent$}").parse().map_err(|_| NoMoney::Amount)?;
    if beyond.bytes().next().is_some_and(|digit| digit >= b'5') {
        units += 1;
    }
    let rounded = beyond.bytes().any(|digit| digit != b'0');
    Ok(Minor { units: if negative { -units } else { units }, rounded })
}

impl Money {
    /// Returns the currency. Fails with [`NoMoney::Currency`] if the code is not one of ISO 4217.
    pub fn currency(&self) -> Result<Currency, NoMoney> {
        self.currency_code.parse().map_err(|_| NoMoney::Currency)
    }

    /// Returns the amount in minor units, of either sign. Fails with [`NoMoney::Currency`] or [`NoMoney::Amount`] if
    /// the currency or the number cannot be read.
    pub fn minor(&self) -> Result<Minor, NoMoney> {
        minor(&self.amount, self.currency()?)
    }

    /// Returns the amount as a price, and `true` if it was rounded. Fails with [`NoMoney`] if the amount cannot be
    /// read, is negative, or is too large for a price.
    pub fn price(&self) -> Result<(Price, bool), NoMoney> {
        let currency = self.currency()?;
        let Minor { units, rounded } = minor(&self.amount, currency)?;
        let amount = i64::try_from(units).ok().and_then(Amount::new).ok_or(NoMoney::Range)?;
        Ok((Price { amount, currency }, rounded))
    }
}

/// Returns an amount as a decimal number of major units, as the API's filters take it. (A JSON number: nothing is
/// computed with it.)
pub fn major(amount: Amount, currency: Currency) -> serde_json::Number {
    let exponent = currency.exponent() as usize;
    let digits = format!("{:0>width$}", amount.minor(), width = exponent + 1);
    let (whole, fraction) = digits.split_at(digits.len() - exponent);
    let text = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
    text.parse().unwrap_or_else(|_| amount.minor().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().expect("a currency")
    }

    #[test]
    fn decimals_become_minor_units() {
        for (amount, code, units, rounded) in [
            ("25.0", "USD", 2_500, false),
            ("70.2", "USD", 7_020, false),
            ("70.20", "USD", 7_020, false),
            ("1500.0", "JPY", 1_500, false),
            ("1500", "JPY", 1_500, false),
            ("1.5", "KWD", 1_500, false),
            ("0.0", "USD", 0, false),
            ("-3.25", "EUR", -325, false),
            ("68.973", "USD", 6_897, true),
            ("0.005", "USD", 1, true),
            ("0.0049999", "USD", 0, true),
            ("-0.005", "USD", -1, true),
            ("99.999", "USD", 10_000, true),
            ("0.5", "JPY", 1, true),
            ("1.000000", "USD", 100, false),
            ("00012.3", "USD", 1_230, false),
        ] {
            assert_eq!(minor(amount, currency(code)), Ok(Minor { units, rounded }), "{amount} {code}");
        }
    }

    #[test]
    fn what_is_no_decimal_number_is_refused() {
        for wrong in [
            "",
            "-",
            ".",
            "1.",
            ".5",
            "1e3",
            "1,5",
            "+1",
            " 1",
            "1 ",
            "0x1",
            "NaN",
            "Infinity",
            "--1",
            "1.2.3",
            "1_000",
            "１",
            "9".repeat(33).as_str(),
        ] {
            assert_eq!(minor(wrong, Currency::USD), Err(NoMoney::Amount), "{wrong}");
        }
        // Thirty-two digits are read; as a price they are refused.
        let price = |amount: &str, code: &str| Money { amount: amount.into(), currency_code: code.into() }.price();
        assert_eq!(price(&"9".repeat(32), "USD"), Err(NoMoney::Range));
        assert_eq!(price("90071992547409.92", "USD"), Err(NoMoney::Range));
        assert!(price("90071992547409.91", "USD").is_ok());
        assert_eq!(price("-0.01", "USD"), Err(NoMoney::Range));
        assert_eq!(price("1.0", ""), Err(NoMoney::Currency));
        assert_eq!(price("1.0", "XQZ"), Err(NoMoney::Currency));
    }

    proptest! {
        #[test]
        fn minor_units_survive_the_way_there_and_back(units in 0..=ucp_core::money::MAX_AMOUNT, code in prop::sample::select(vec!["USD", "JPY", "KWD", "EUR"])) {
            let currency = currency(code);
            let exponent = currency.exponent() as usize;
            let digits = format!("{units:0>width$}", width = exponent + 1);
            let (whole, fraction) = digits.split_at(digits.len() - exponent);
            let decimal = if exponent == 0 { format!("{whole}.0") } else { format!("{whole}.{fraction}") };
            prop_assert_eq!(minor(&decimal, currency), Ok(Minor { units: i128::from(units), rounded: false }));
        }

        #[test]
        fn rounding_is_off_by_at_most_half_a_unit(whole in 0_i128..1_000_000, fraction in "[0-9]{3,12}") {
            let Minor { units, rounded } = minor(&format!("{whole}.{fraction}"), Currency::USD).expect("a decimal number");
            let scale = 10_i128.pow(u32::try_from(fraction.len()).expect("short"));
            let exact = (whole * scale + fraction.parse::<i128>().expect("digits")) * 100;
            prop_assert!(2 * (units * scale - exact).abs() <= scale);
            prop_assert_eq!(rounded, exact % scale != 0);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = minor(&text, Currency::USD);
        }

        #[test]
        fn filters_are_stated_in_major_units(units in 0..1_000_000_000_i64) {
            let amount = Amount::new(units).expect("in range");
            let text = major(amount, Currency::USD).to_string();
            let minor = minor(&text, Currency::USD).expect("a decimal number");
            prop_assert_eq!((minor.units, minor.rounded), (i128::from(units), false));
            prop_assert_eq!(major(amount, currency("JPY")).to_string(), units.to_string());
        }
    }
}
