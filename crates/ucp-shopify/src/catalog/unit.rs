//! Verification of prices per unit of measurement.
//!
//! The unit price that a shop states must follow from the price and the contents (UCP *Variant*, `unit_price`); one
//! that does not, or that cannot be checked, is left out. The computation is exact: quantities are decimals, units are
//! whole numbers of a common one.

use serde_json::Number;
use ucp_core::{
    catalog::product::{Measure, Reference, UnitPrice},
    money::Price,
};

use super::{super::money::Money, shape::Measurement};

/// Dimension of a unit, and its size in the smallest common unit of that dimension.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Mass in tenths of a nanogram: the pound is a whole number of these.
    Mass(i128),
    /// Volume in 10^-10 millilitres: the US fluid ounce is a whole number of these.
    Volume(i128),
    /// Length in 10^-4 millimetres: the inch is a whole number of these.
    Length(i128),
    /// Area in squares of the unit of length.
    Area(i128),
    /// Number of pieces.
    Pieces,
}

/// Returns a unit by its name in the API, with the name that it is shown under.
fn unit(name: &str) -> Option<(Unit, &'static str)> {
    Some(match name {
        "MG" => (Unit::Mass(10_000_000), "mg"),
        "G" => (Unit::Mass(10_000_000_000), "g"),
        "KG" => (Unit::Mass(10_000_000_000_000), "kg"),
        "OZ" => (Unit::Mass(283_495_231_250), "oz"),
        "LB" => (Unit::Mass(4_535_923_700_000), "lb"),
        "ML" => (Unit::Volume(10_000_000_000), "ml"),
        "CL" => (Unit::Volume(100_000_000_000), "cl"),
        "L" => (Unit::Volume(10_000_000_000_000), "l"),
        "M3" => (Unit::Volume(10_000_000_000_000_000), "m3"),
        "FLOZ" => (Unit::Volume(295_735_295_625), "fl oz"),
        "PT" => (Unit::Volume(4_731_764_730_000), "pt"),
        "QT" => (Unit::Volume(9_463_529_460_000), "qt"),
        "GAL" => (Unit::Volume(37_854_117_840_000), "gal"),
        "MM" => (Unit::Length(10_000), "mm"),
        "CM" => (Unit::Length(100_000), "cm"),
        "M" => (Unit::Length(10_000_000), "m"),
        "IN" => (Unit::Length(254_000), "in"),
        "FT" => (Unit::Length(3_048_000), "ft"),
        "YD" => (Unit::Length(9_144_000), "yd"),
        "M2" => (Unit::Area(100_000_000_000_000), "m2"),
        "FT2" => (Unit::Area(9_290_304_000_000), "ft2"),
        "ITEM" => (Unit::Pieces, "item"),
        _ => return None,
    })
}

/// Returns the stated price of a reference quantity if it follows from the price of the contents.
pub(super) fn price(stated: &Money, measurement: &Measurement, price: Price) -> Option<UnitPrice> {
    let (stated, _) = stated.price().ok()?;
    let ((quantity, shown), (reference, reference_shown)) =
        (unit(measurement.quantity_unit.as_deref()?)?, unit(measurement.reference_unit.as_deref()?)?);
    let (quantity, reference) = match (quantity, reference) {
        (Unit::Mass(one), Unit::Mass(other))
        | (Unit::Volume(one), Unit::Volume(other))
        | (Unit::Length(one), Unit::Length(other))
        | (Unit::Area(one), Unit::Area(other)) => (one, other),
        (Unit::Pieces, Unit::Pieces) => (1, 1),
        _ => return None,
    };
    let (contents, standard) = (measurement.quantity_value.as_ref()?, (*measurement.reference_value)?);
    let (digits, scale) = decimal(contents)?;
    if stated.currency != price.currency || standard <= 0 || digits == 0 {
        return None;
    }
    // price / (digits / scale * quantity) * (reference_value * reference), without a division.
    let numerator = i128::from(price.amount.minor())
        .checked_mul(i128::from(standard))?
        .checked_mul(reference)?
        .checked_mul(scale)?;
    let denominator = digits.checked_mul(quantity)?;
    // Shops round differently: a difference of up to one minor unit is accepted.
    let difference =
        i128::from(stated.amount.minor()).checked_mul(denominator)?.checked_sub(numerator)?.checked_abs()?;
    (difference <= denominator).then(|| UnitPrice {
        price: stated,
        measure: Measure { value: contents.clone(), unit: shown.to_owned() },
        reference: Reference { value: standard, unit: reference_shown.to_owned() },
    })
}

/// Splits a number into its digits and the power of ten to divide them by.
fn decimal(number: &Number) -> Option<(i128, i128)> {
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fits = |part: &str| part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !fits(whole) || !fits(fraction) {
        return None;
    }
    Some((format!("{whole}{fraction}").parse().ok()?, 10_i128.pow(u32::try_from(fraction.len()).ok()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use ucp_core::money::{Amount, Currency};

    use super::*;

    fn shown(
        stated: &str,
        minor: i64,
        quantity: &Value,
        unit: &str,
        reference: i64,
        reference_unit: &str,
    ) -> Option<UnitPrice> {
        let measurement = json!({
            "quantityValue": quantity, "quantityUnit": unit, "referenceValue": reference, "referenceUnit": reference_unit,
        });
        let measurement = serde_json::from_value(measurement).expect("a measurement");
        let stated = Money { amount: stated.into(), currency_code: "USD".into() };
        price(&stated, &measurement, Price { amount: Amount::new(minor).expect("in range"), currency: Currency::USD })
    }

    #[test]
    fn what_follows_from_the_price_is_shown() {
        let bottle = shown("2.0", 1_500, &json!(750.0), "ML", 100, "ML").expect("shown");
        assert_eq!(
            serde_json::to_value(&bottle).expect("JSON"),
            json!({
                "amount": 200, "currency": "USD",
                "measure": { "value": 750.0, "unit": "ml" }, "reference": { "value": 100, "unit": "ml" },
            })
        );
        for (stated, minor, quantity, unit, reference, reference_unit) in [
            ("20.0", 1_500, json!(750), "ML", 1, "L"),
            ("6.67", 500, json!(0.75), "KG", 1, "KG"),
            ("1.10", 500, json!(1), "LB", 100, "G"),
            ("3.33", 1_000, json!(3), "ITEM", 1, "ITEM"),
            ("10.76", 100, json!(1), "FT2", 1, "M2"),
        ] {
            assert!(shown(stated, minor, &quantity, unit, reference, reference_unit).is_some(), "{stated} {unit}");
        }
    }

    #[test]
    fn what_does_not_follow_is_left_out() {
        for (stated, minor, quantity, unit, reference, reference_unit) in [
            ("2.5", 1_500, json!(750), "ML", 100, "ML"),
            ("2.0", 1_500, json!(750), "ML", 100, "G"),
            ("2.0", 1_500, json!(750), "UNKNOWN", 100, "ML"),
            ("2.0", 1_500, json!(0), "ML", 100, "ML"),
            ("2.0", 1_500, json!(-750), "ML", -100, "ML"),
            ("2.0", 1_500, json!(1e30), "ML", 100, "ML"),
            ("two", 1_500, json!(750), "ML", 100, "ML"),
            ("2.0", 1_500, json!(750), "ML", i64::MAX, "M3"),
        ] {
            assert_eq!(shown(stated, minor, &quantity, unit, reference, reference_unit), None, "{stated} {unit}");
        }
    }
}
