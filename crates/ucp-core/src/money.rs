//! Currencies and amounts.
//!
//! An amount is an integer number of ISO 4217 minor units; no float ever holds money. The exponent (USD 2, JPY 0,
//! KWD 3) belongs to the currency. Conversions are exact rationals over `i128` and say which way they round.

use std::{cmp::Ordering, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Maximum amount: the largest integer that every JSON parser keeps exact, 2^53 - 1.
pub const MAX_AMOUNT: i64 = (1 << 53) - 1;

/// An ISO 4217 currency code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    letters: [u8; 3],
    /// Looked up once, when the code is.
    exponent: u8,
}

/// Error of a text that is not an ISO 4217 currency code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an ISO 4217 currency code")]
pub struct UnknownCurrency;

impl Currency {
    /// US dollar.
    pub const USD: Self = Self { letters: *b"USD", exponent: 2 };

    /// Returns the three letters, in upper case.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.letters).unwrap_or_default()
    }

    /// Returns the number of decimal digits of the minor unit: 2 for USD, 0 for JPY, 3 for KWD.
    pub const fn exponent(self) -> u32 {
        self.exponent as u32
    }

    /// Formats an amount in minor units as a decimal: 1250 is `12.50` in USD and `1250` in JPY.
    pub fn decimal(self, minor: impl Into<i128>) -> String {
        let minor = minor.into();
        let (places, sign) = (usize::from(self.exponent), if minor < 0 { "-" } else { "" });
        let digits = format!("{:0>width$}", minor.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let point = if places == 0 { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}")
    }

    /// Formats an amount in minor units for people, such as `12.50 USD`.
    pub fn amount(self, minor: impl Into<i128>) -> String {
        format!("{} {self}", self.decimal(minor))
    }
}

impl FromStr for Currency {
    type Err = UnknownCurrency;

    /// Reads a code in any letter case; only codes that ISO 4217 lists are accepted.
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let mut letters: [u8; 3] = code.as_bytes().try_into().map_err(|_| UnknownCurrency)?;
        letters.make_ascii_uppercase();
        let upper = std::str::from_utf8(&letters).map_err(|_| UnknownCurrency)?;
        let listed = iso_currency::Currency::from_code(upper).ok_or(UnknownCurrency)?;
        // Those without minor units, such as gold, are counted in hundredths.
        let exponent = listed.exponent().and_then(|exponent| exponent.try_into().ok()).unwrap_or(2);
        Ok(Self { letters, exponent })
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        code.parse().map_err(|_| D::Error::custom(format_args!("`{code}` is not an ISO 4217 currency code")))
    }
}

impl JsonSchema for Currency {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Currency".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[A-Z]{3}$" })
    }
}

/// An amount in minor units, from zero to [`MAX_AMOUNT`].
///
/// Reads JSON numbers with a zero fraction (`100.0`) as the integers they are (trap T-41).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Amount(i64);

impl Amount {
    /// Zero minor units.
    pub const ZERO: Self = Self(0);

    /// An amount of `minor` units, if it is in range.
    pub const fn new(minor: i64) -> Option<Self> {
        if minor < 0 || minor > MAX_AMOUNT { None } else { Some(Self(minor)) }
    }

    /// Returns the number of minor units.
    pub const fn minor(self) -> i64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        crate::json::integer(&number).and_then(Self::new).ok_or_else(|| {
            D::Error::custom(format_args!(
                "{number} is not an amount: it must be an integer of minor units from 0 to {MAX_AMOUNT}"
            ))
        })
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": MAX_AMOUNT })
    }
}

/// A price: an amount in minor units of a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Amount in minor units of `currency`; 0 is free.
    pub amount: Amount,
    /// ISO 4217 code.
    pub currency: Currency,
}

/// Lowest and highest of several prices in one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceRange {
    /// Lowest price.
    pub min: Price,
    /// Highest price.
    pub max: Price,
}

impl PriceRange {
    /// Returns the range of `prices`, which must be in one currency; `None` if there are none.
    pub fn spanning(prices: impl IntoIterator<Item = Price>) -> Option<Self> {
        prices.into_iter().fold(None, |range, price| {
            Some(match range {
                None => Self { min: price, max: price },
                Some(Self { min, max }) => Self {
                    min: if price.amount < min.amount { price } else { min },
                    max: if price.amount > max.amount { price } else { max },
                },
            })
        })
    }
}

/// Exchange rate: units of one currency per unit of another, as an exact decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    digits: i128,
    scale: u32,
}

/// Error of a text that is not a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a positive decimal number with at most 12 digits on either side of the point, such as `1.0832`")]
pub struct InvalidRate;

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits_only = |part: &str| part.len() <= 12 && part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits_only(whole) || !digits_only(fraction) {
            return Err(InvalidRate);
        }
        let digits = format!("{whole}{fraction}").parse().map_err(|_| InvalidRate)?;
        let scale = u32::try_from(fraction.len()).map_err(|_| InvalidRate)?;
        if digits == 0 { Err(InvalidRate) } else { Ok(Self { digits, scale }) }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = format!("{:0>width$}", self.digits, width = self.scale as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.scale as usize);
        if fraction.is_empty() {
            serializer.serialize_str(whole)
        } else {
            serializer.collect_str(&format_args!("{whole}.{fraction}"))
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Rounding direction of an inexact conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next lower minor unit.
    Down,
    /// To the next higher minor unit.
    Up,
}

impl Rate {
    /// Converts `amount` of `from` into `to`, where this rate says how many units of `from` one unit of `to` is worth.
    ///
    /// Amounts beyond [`MAX_AMOUNT`] become that amount: the callers are bounds, where more is as good as that much.
    pub fn divide(self, amount: Amount, from: Currency, to: Currency, rounding: Rounding) -> Amount {
        let ten = |power: u32| 10_i128.pow(power);
        let numerator = i128::from(amount.0) * ten(to.exponent()) * ten(self.scale);
        let denominator = self.digits * ten(from.exponent());
        let (quotient, rest) = (numerator / denominator, numerator % denominator);
        let rounded = match (rounding, rest.cmp(&0)) {
            (Rounding::Up, Ordering::Greater) => quotient + 1,
            _ => quotient,
        };
        Amount(i64::try_from(rounded).unwrap_or(MAX_AMOUNT).min(MAX_AMOUNT))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().expect("a currency")
    }

    #[test]
    fn amounts_have_the_places_of_their_currency() {
        let of = |minor: i64, code| currency(code).amount(minor);
        assert_eq!([of(12_345, "USD"), of(5, "USD"), of(0, "USD")], ["123.45 USD", "0.05 USD", "0.00 USD"]);
        assert_eq!([of(-5, "USD"), of(1_200, "JPY"), of(-1, "KWD")], ["-0.05 USD", "1200 JPY", "-0.001 KWD"]);
    }

    #[test]
    fn exponents_follow_iso_4217() {
        assert_eq!(currency("USD").exponent(), 2);
        assert_eq!(currency("jpy").exponent(), 0);
        assert_eq!(currency("KWD").exponent(), 3);
        assert_eq!("XQZ".parse::<Currency>(), Err(UnknownCurrency));
        assert_eq!("€UR".parse::<Currency>(), Err(UnknownCurrency));
    }

    #[test]
    fn amounts_read_integers_however_they_are_written() {
        assert_eq!(serde_json::from_str::<Amount>("100.0").expect("integer").minor(), 100);
        for wrong in ["100.5", "-1", "9007199254740992", "1e300", "\"100\""] {
            assert!(serde_json::from_str::<Amount>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_convert_between_exponents() {
        let rate: Rate = "150.25".parse().expect("rate");
        let converted = |rounding| rate.divide(Amount(10_000), currency("JPY"), currency("USD"), rounding).minor();
        assert_eq!((converted(Rounding::Down), converted(Rounding::Up)), (6655, 6656));
        for wrong in ["", "0", "0.0", "-1", "1e3", ".5", "1,5", "1234567890123"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn rates_survive_serialisation(whole in 0_u64..1_000_000, fraction in "[0-9]{0,12}") {
            let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
            if let Ok(rate) = text.parse::<Rate>() {
                let json = serde_json::to_string(&rate).expect("serialises");
                prop_assert_eq!(serde_json::from_str::<Rate>(&json).expect("reads back"), rate);
            }
        }

        #[test]
        fn converted_bounds_keep_exactly_the_prices_between_them(price in 0_i64..1_000_000, bound in 0_i64..1_000_000, digits in 1_i128..1_000_000) {
            let rate = Rate { digits, scale: 4 };
            let (usd, eur) = (currency("USD"), currency("EUR"));
            // price[usd] * rate >= bound[eur], decided without division:
            let at_least = i128::from(price) * digits >= i128::from(bound) * 10_000;
            let at_most = i128::from(price) * digits <= i128::from(bound) * 10_000;
            prop_assert_eq!(Amount(price) >= rate.divide(Amount(bound), eur, usd, Rounding::Up), at_least);
            prop_assert_eq!(Amount(price) <= rate.divide(Amount(bound), eur, usd, Rounding::Down), at_most);
        }
    }
}
