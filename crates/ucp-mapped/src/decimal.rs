//! Minor units from decimal texts, exactly: no float is made on the way, and nothing is rounded unless its way is stated.

use ucp_core::money::{Currency, MAX_AMOUNT};

/// Maximum number of digits of a decimal; far more than an amount has.
const MAX_DIGITS: usize = 64;

/// Reason why a text is not an amount. The texts complete "`…` …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMinor {
    /// Not a decimal.
    #[error("must be a decimal such as 12.50")]
    Decimal,
    /// Digits below the minor unit.
    #[error(
        "has more decimal places than {0} has; round it in the shop's own way, by `rounded(currency; \"half_up\")`"
    )]
    Fraction(Currency),
    /// Beyond what every JSON parser keeps exact.
    #[error("must be at most {MAX_AMOUNT} minor units")]
    Range,
}

ucp_core::named! {
    /// Way to round what is between two minor units.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Rounding {
        /// To the nearest; halves away from zero.
        HalfUp = "half_up",
        /// To the nearest; halves to the even one.
        HalfEven = "half_even",
        /// Away from zero.
        Up = "up",
        /// Towards zero.
        Down = "down",
    }
}

impl Rounding {
    /// Returns the way of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == name)
    }

    /// Returns `true` if `rest` of `whole`, which is more than nothing and less than all of it, makes one more of `kept`.
    const fn is_one_more(self, kept: i128, rest: i128, whole: i128) -> bool {
        match self {
            Self::Down => false,
            Self::Up => true,
            Self::HalfUp => rest >= whole - rest,
            Self::HalfEven => rest > whole - rest || rest == whole - rest && kept % 2 == 1,
        }
    }
}

/// A decimal: digits, and the power of ten that the last one stands for.
struct Decimal {
    is_negative: bool,
    digits: String,
    power: i32,
}

impl Decimal {
    /// Reads a decimal, with or without an exponent: JSON allows it.
    fn read(text: &str) -> Result<Self, NotMinor> {
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            Some((mantissa, power)) if power.len() <= 4 => (mantissa, power.parse().map_err(|_| NotMinor::Decimal)?),
            Some(_) => return Err(NotMinor::Decimal),
            None => (text, 0_i32),
        };
        let (is_negative, unsigned) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = [whole, fraction].concat();
        if whole.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotMinor::Decimal);
        }
        Ok(Self { is_negative, digits, power: power - i32::try_from(fraction.len()).unwrap_or(i32::MAX) })
    }

    fn signed(&self, units: i128) -> Result<i64, NotMinor> {
        let units = i64::try_from(units).ok().filter(|units| *units <= MAX_AMOUNT).ok_or(NotMinor::Range)?;
        Ok(if self.is_negative { -units } else { units })
    }
}

/// Returns the minor units of `currency` that a decimal states: `12.5` is 1250 in USD. Decimal places below the minor
/// unit are rounded as stated, or fail. Fails with [`NotMinor`].
pub fn minor(decimal: &str, currency: Currency, rounding: Option<Rounding>) -> Result<i64, NotMinor> {
    let mut decimal = Decimal::read(decimal)?;
    if decimal.digits.bytes().all(|digit| digit == b'0') {
        return Ok(0);
    }
    let shift = decimal.power + i32::try_from(currency.exponent()).unwrap_or_default();
    let places = usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX);
    if shift >= 0 {
        if decimal.digits.len() + places > MAX_DIGITS {
            return Err(NotMinor::Range);
        }
        decimal.digits.extend(std::iter::repeat_n('0', places));
    }
    let kept = if shift >= 0 { decimal.digits.len() } else { decimal.digits.len().saturating_sub(places) };
    let (kept, cut) = decimal.digits.split_at(kept);
    let units: i128 = if kept.is_empty() { 0 } else { kept.parse().map_err(|_| NotMinor::Range)? };
    let is_inexact = cut.bytes().any(|digit| digit != b'0');
    let is_one_more = match rounding {
        _ if !is_inexact => false,
        None => return Err(NotMinor::Fraction(currency)),
        // Zeros that are not written are before the digits: less than a tenth is cut.
        Some(way) if cut.len() < places => way.is_one_more(units, 1, 10),
        // The first digit decides, unless it is a half with more behind it.
        Some(way) => {
            let tenths = i128::from(cut.as_bytes()[0] - b'0');
            let more = i128::from(cut[1..].bytes().any(|digit| digit != b'0'));
            way.is_one_more(units, 2 * tenths + more, 20)
        }
    };
    decimal.signed(units + i128::from(is_one_more))
}

/// Returns minor units times a decimal, such as a rate of tax, exactly, and then rounded. Fails with [`NotMinor`].
pub fn times(units: i64, factor: &str, rounding: Rounding) -> Result<i64, NotMinor> {
    let factor = Decimal::read(factor)?;
    let digits: i128 = factor.digits.parse().map_err(|_| NotMinor::Range)?;
    let ten = |power: i32| 10_i128.checked_pow(power.unsigned_abs()).ok_or(NotMinor::Range);
    let product = digits.checked_mul(i128::from(units.unsigned_abs())).ok_or(NotMinor::Range)?;
    let is_negative = factor.is_negative != (units < 0);
    let of = Decimal { is_negative, ..factor };
    if product == 0 {
        return Ok(0);
    }
    if of.power >= 0 {
        return of.signed(product.checked_mul(ten(of.power)?).ok_or(NotMinor::Range)?);
    }
    let whole = ten(of.power)?;
    let (kept, rest) = (product / whole, product % whole);
    of.signed(kept + i128::from(rest != 0 && rounding.is_one_more(kept, rest, whole)))
}

/// Returns the price of one piece of which `quantity` cost `units` after the discount that comes with it: the price is
/// rounded up, and the difference is the discount. `None` unless there is at least one piece, and no negative amount.
pub fn per_piece(units: i64, quantity: i64) -> Option<(i64, i64)> {
    if units < 0 || quantity < 1 {
        return None;
    }
    let price = units / quantity + i64::from(units % quantity != 0);
    Some((price, price.checked_mul(quantity)? - units))
}

/// Returns the decimal in a text that is written for people, such as `1.234,50 €` with the decimal mark `,`: letters
/// and signs of currencies around it and separators of groups are dropped. Fails with [`NotMinor::Decimal`] if anything
/// else is in it, a separator after the decimal mark, or nothing before it.
pub fn written(text: &str, mark: char) -> Result<String, NotMinor> {
    let is_separator = |letter: char| matches!(letter, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '’' | '.' | ',');
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '-';
    let from = text.find(is_number).ok_or(NotMinor::Decimal)?;
    let to = text.rfind(is_number).ok_or(NotMinor::Decimal)?;
    if text[..from].ends_with(['.', ',', mark]) {
        return Err(NotMinor::Decimal);
    }
    let (mut decimal, mut in_fraction) = (String::new(), false);
    for letter in text[from..=to].chars() {
        match letter {
            _ if is_number(letter) => decimal.push(letter),
            _ if letter == mark && !in_fraction => {
                in_fraction = true;
                decimal.push('.');
            }
            _ if is_separator(letter) && letter != mark && !in_fraction => {}
            _ => return Err(NotMinor::Decimal),
        }
    }
    Ok(decimal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().expect("a currency")
    }

    #[test]
    fn decimals_are_read_exactly() {
        for (text, code, units) in [
            ("12.5", "USD", 1250),
            ("0.29", "EUR", 29),
            ("19.99", "EUR", 1999),
            ("-3", "USD", -300),
            ("+3.10", "USD", 310),
            ("100", "JPY", 100),
            ("100.00", "JPY", 100),
            ("1.234", "KWD", 1234),
            ("1.5e2", "USD", 15000),
            ("1250E-2", "USD", 1250),
            ("0.000", "USD", 0),
            ("0.0000000000", "JPY", 0),
            ("0e9999", "USD", 0),
            ("007.10", "USD", 710),
            ("90071992547409.91", "USD", MAX_AMOUNT),
        ] {
            assert_eq!(minor(text, currency(code), None), Ok(units), "{text} {code}");
        }
    }

    #[test]
    fn what_is_not_exact_is_refused() {
        for text in ["", ".", ".5", "1,5", "1.2.3", "NaN", "Infinity", "1e", "1e99999", "--1", "1 ", "0x10", "1_0", "٣"]
        {
            assert_eq!(minor(text, Currency::USD, None), Err(NotMinor::Decimal), "{text}");
        }
        for (text, code) in [("1.005", "USD"), ("0.5", "JPY"), ("1e-3", "USD"), ("0.001", "USD")] {
            assert_eq!(minor(text, currency(code), None), Err(NotMinor::Fraction(currency(code))), "{text} {code}");
        }
        for text in ["90071992547409.92", "1e300", &"9".repeat(60)] {
            assert_eq!(minor(text, Currency::USD, None), Err(NotMinor::Range), "{text}");
        }
    }

    #[test]
    fn decimals_are_rounded_by_the_way_that_is_named() {
        for (text, code, [half_up, half_even, up, down]) in [
            ("1.005", "USD", [101, 100, 101, 100]),
            ("1.015", "USD", [102, 102, 102, 101]),
            ("1.0050001", "USD", [101, 101, 101, 100]),
            ("1.0049999", "USD", [100, 100, 101, 100]),
            ("-1.005", "USD", [-101, -100, -101, -100]),
            ("0.5", "JPY", [1, 0, 1, 0]),
            ("1.5", "JPY", [2, 2, 2, 1]),
            ("0.05", "JPY", [0, 0, 1, 0]),
            ("5e-9", "USD", [0, 0, 1, 0]),
            ("9e-3", "USD", [1, 1, 1, 0]),
            ("12.50", "USD", [1250, 1250, 1250, 1250]),
            ("0.000", "KWD", [0, 0, 0, 0]),
        ] {
            let rounded = |way| minor(text, currency(code), Some(way));
            let expected = [half_up, half_even, up, down].map(Ok);
            assert_eq!(Rounding::ALL.map(rounded), expected, "{text} {code}");
        }
    }

    #[test]
    fn shares_are_computed_exactly_and_rounded_by_the_way_that_is_named() {
        for (units, factor, way, expected) in [
            (1999, "0.19", Rounding::HalfUp, Ok(380)),
            (1050, "0.05", Rounding::HalfUp, Ok(53)),
            (1050, "0.05", Rounding::HalfEven, Ok(52)),
            (1050, "5e-2", Rounding::Up, Ok(53)),
            (-1050, "0.05", Rounding::HalfUp, Ok(-53)),
            (1050, "-0.05", Rounding::Down, Ok(-52)),
            (7, "100", Rounding::HalfUp, Ok(700)),
            (0, "1e99", Rounding::HalfUp, Ok(0)),
            (1, "1e99", Rounding::HalfUp, Err(NotMinor::Range)),
            (MAX_AMOUNT, "1.1", Rounding::HalfUp, Err(NotMinor::Range)),
            (1, "19%", Rounding::HalfUp, Err(NotMinor::Decimal)),
        ] {
            assert_eq!(times(units, factor, way), expected, "{units} * {factor}");
        }
    }

    #[test]
    fn texts_for_people_are_read_by_their_decimal_mark() {
        for (text, mark, decimal) in [
            ("1.234,50 €", ',', "1234.50"),
            ("$1,234.50", '.', "1234.50"),
            ("USD 12", '.', "12"),
            ("CHF 1’234.05", '.', "1234.05"),
            ("Fr. 12.05", '.', "12.05"),
            ("-5,00\u{a0}kr", ',', "-5.00"),
            ("12 345,6 zł", ',', "12345.6"),
        ] {
            assert_eq!(written(text, mark).as_deref(), Ok(decimal), "{text}");
        }
        for (text, mark) in
            [("", '.'), ("free", '.'), ("1.2.3", '.'), ("1,5 or 2", '.'), ("1.5,0", '.'), ("10-", ','), (",50 €", ',')]
        {
            let read = written(text, mark).and_then(|decimal| minor(&decimal, Currency::USD, None));
            assert_eq!(read, Err(NotMinor::Decimal), "{text}");
        }
    }

    #[test]
    fn minor_units_are_written_with_the_places_of_their_currency() {
        for (units, code, expected) in [
            (1250, "USD", "12.50"),
            (5, "USD", "0.05"),
            (-5, "EUR", "-0.05"),
            (0, "EUR", "0.00"),
            (1250, "JPY", "1250"),
            (1250, "KWD", "1.250"),
        ] {
            assert_eq!(currency(code).decimal(units), expected);
        }
    }

    proptest! {
        #[test]
        fn minor_units_survive_being_written_as_a_decimal(units in -MAX_AMOUNT..=MAX_AMOUNT) {
            for code in ["USD", "JPY", "KWD"] {
                prop_assert_eq!(minor(&currency(code).decimal(units), currency(code), None), Ok(units));
            }
        }

        #[test]
        fn a_price_per_piece_loses_nothing(units in 0..=MAX_AMOUNT, quantity in 1..100_000_i64) {
            let (price, discount) = per_piece(units, quantity).expect("a price");
            prop_assert_eq!(price * quantity - discount, units);
            prop_assert!((0..quantity).contains(&discount));
        }

        #[test]
        fn what_is_rounded_is_less_than_one_away(units in 0..1_000_000_i64, thousandths in 1..1_000_i64) {
            let text = format!("{units}.{thousandths:03}");
            for way in Rounding::ALL {
                let rounded = minor(&text, currency("JPY"), Some(way)).expect("an amount");
                prop_assert!(rounded == units || rounded == units + 1, "{} {:?}", text, way);
                prop_assert_eq!(times(units * 1_000 + thousandths, "0.001", way), Ok(rounded));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,20}", mark in prop_oneof![Just('.'), Just(',')]) {
            let _ = minor(&text, Currency::USD, None);
            let _ = Rounding::ALL.map(|way| (minor(&text, Currency::USD, Some(way)), times(7, &text, way)));
            let _ = written(&text, mark).and_then(|decimal| minor(&decimal, Currency::USD, None));
        }
    }
}
