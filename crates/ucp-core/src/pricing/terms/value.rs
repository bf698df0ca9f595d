//! Percentages and amounts as written in terms: exact, never floats.

use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::money::{Amount, Currency};

/// Millionths per percent.
const PER_PERCENT: u64 = 10_000;

/// Maximum number of digits of a percentage after the decimal point.
const DIGITS: usize = 4;

/// Largest percentage.
const MAX_PERCENT: u64 = 1_000;

/// A percentage in millionths, 0 to 1000 %: 8.875 % is 88,750.
///
/// Written as text with at most four digits after the decimal point, with or without a percent sign (`"8.875%"`,
/// `"20"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String", title = "percentage", extend("pattern" = r"^[0-9]{1,4}(\.[0-9]{1,4})? *%?$"))]
pub struct Percent(u32);

/// Error for a text that is not a valid percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a percentage is a text such as \"8.875%\": at most four digits after the point, from 0 to {MAX_PERCENT}, and no \
     float"
)]
pub struct InvalidPercent;

impl Percent {
    /// One hundred percent.
    pub const ALL: Self = Self(1_000_000);

    /// Creates a percentage of `millionths`; `None` above 1000 %.
    pub const fn of_millionths(millionths: u32) -> Option<Self> {
        if millionths as u64 > MAX_PERCENT * PER_PERCENT { None } else { Some(Self(millionths)) }
    }

    /// Returns the percentage in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Returns this share of `amount`, which must not be negative, rounded half up.
    pub fn of(self, amount: i128) -> i128 {
        half_up(amount * i128::from(self.0), i128::from(Self::ALL.0))
    }
}

/// Divides and rounds half up. The numerator must not be negative, the denominator must be positive.
pub(crate) const fn half_up(numerator: i128, denominator: i128) -> i128 {
    let (quotient, rest) = (numerator / denominator, numerator % denominator);
    if rest >= denominator - rest { quotient + 1 } else { quotient }
}

impl FromStr for Percent {
    type Err = InvalidPercent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_suffix('%').unwrap_or(text).trim_end();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || whole.len() > 4 || fraction.len() > DIGITS {
            return Err(InvalidPercent);
        }
        let whole: u64 = whole.parse().map_err(|_| InvalidPercent)?;
        let fraction: u64 = format!("{fraction:0<DIGITS$}").parse().map_err(|_| InvalidPercent)?;
        u32::try_from(whole * PER_PERCENT + fraction).ok().and_then(Self::of_millionths).ok_or(InvalidPercent)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (u64::from(self.0) / PER_PERCENT, u64::from(self.0) % PER_PERCENT);
        if fraction == 0 {
            write!(f, "{whole}%")
        } else {
            write!(f, "{whole}.{}%", format!("{fraction:0>DIGITS$}").trim_end_matches('0'))
        }
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// An amount in one or several currencies.
///
/// Written as a number of minor units of the shop's own currency (`500`), or as an object of minor units by currency (`{
/// "USD": 500, "EUR": 450 }`). Amounts are never converted: a rule without an amount in the currency of a purchase does
/// not apply to it, unless its documentation says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of minor units, or a table of minor units by ISO 4217 code")]
#[schemars(title = "amount")]
pub enum Amounts {
    /// An amount in the shop's own currency only.
    Own(Amount),
    /// Amounts by currency.
    ByCurrency(BTreeMap<Currency, Amount>),
}

impl Amounts {
    /// Returns the amount in `currency`; `own` is the currency of the shop.
    pub fn in_currency(&self, currency: Currency, own: Currency) -> Option<Amount> {
        match self {
            Self::Own(amount) => (currency == own).then_some(*amount),
            Self::ByCurrency(amounts) => amounts.get(&currency).copied(),
        }
    }
}

/// A percentage of a price, or a fixed amount: `"10%"`, `500`, or `{ "USD": 500, "EUR": 450 }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a percentage such as \"10%\", a number of minor units, or a table of minor units by ISO 4217 code"
)]
#[schemars(title = "percentage or amount")]
pub enum PercentOrAmount {
    /// A percentage of the price.
    Percent(Percent),
    /// A fixed amount.
    Fixed(Amounts),
}
