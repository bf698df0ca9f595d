//! Minor units from decimal texts, exactly: no float is made on the way, and nothing is rounded.

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
    #[error("has more decimal places than {0} has; round it in the shop's own way first")]
    Fraction(Currency),
    /// Beyond what every JSON parser keeps exact.
    #[error("must be at most {MAX_AMOUNT} minor units")]
    Range,
}

/// Returns the minor units of `currency` that a decimal states: `12.5` is 1250 in USD. An exponent is read, too: JSON
/// allows it. Fails with [`NotMinor`].
pub fn minor(decimal: &str, currency: Currency) -> Result<i64, NotMinor> {
    let (mantissa, power) = match decimal.split_once(['e', 'E']) {
        Some((mantissa, power)) if power.len() <= 4 => (mantissa, power.parse().map_err(|_| NotMinor::Decimal)?),
        Some(_) => return Err(NotMinor::Decimal),
        None => (decimal, 0_i32),
    };
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut digits = [whole, fraction].concat();
    if whole.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotMinor::Decimal);
    }
    let exponent = i32::try_from(currency.exponent()).unwrap_or_default();
    let shift = power + exponent - i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let digits = match usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX) {
        _ if digits.bytes().all(|digit| digit == b'0') => "0",
        more if shift >= 0 => {
            if digits.len() + more > MAX_DIGITS {
                return Err(NotMinor::Range);
            }
            digits.extend(std::iter::repeat_n('0', more));
            &digits
        }
        fewer => {
            let kept = digits.len().saturating_sub(fewer);
            let (kept, cut) = digits.split_at(kept);
            if cut.bytes().any(|digit| digit != b'0') {
                return Err(NotMinor::Fraction(currency));
            }
            kept
        }
    };
    let units: i64 = digits.parse().map_err(|_| NotMinor::Range)?;
    if units > MAX_AMOUNT {
        return Err(NotMinor::Range);
    }
    Ok(if negative { -units } else { units })
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
            assert_eq!(minor(text, currency(code)), Ok(units), "{text} {code}");
        }
    }

    #[test]
    fn what_is_not_exact_is_refused() {
        for text in ["", ".", ".5", "1,5", "1.2.3", "NaN", "Infinity", "1e", "1e99999", "--1", "1 ", "0x10", "1_0", "٣"]
        {
            assert_eq!(minor(text, Currency::USD), Err(NotMinor::Decimal), "{text}");
        }
        for (text, code) in [("1.005", "USD"), ("0.5", "JPY"), ("1e-3", "USD"), ("0.001", "USD")] {
            assert_eq!(minor(text, currency(code)), Err(NotMinor::Fraction(currency(code))), "{text} {code}");
        }
        for text in ["90071992547409.92", "1e300", &"9".repeat(60)] {
            assert_eq!(minor(text, Currency::USD), Err(NotMinor::Range), "{text}");
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
            let read = written(text, mark).and_then(|decimal| minor(&decimal, Currency::USD));
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
                prop_assert_eq!(minor(&currency(code).decimal(units), currency(code)), Ok(units));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,20}", mark in prop_oneof![Just('.'), Just(',')]) {
            let _ = minor(&text, Currency::USD);
            let _ = written(&text, mark).and_then(|decimal| minor(&decimal, Currency::USD));
        }
    }
}
