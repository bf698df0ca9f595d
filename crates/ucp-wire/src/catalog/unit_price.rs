//! The price of a standard quantity, with quantities as integers (UCP *Unit Price*, *Measure*, *Unit*).
//!
//! Merchants state quantities as decimals in units of their own spelling. Here a quantity is an integer count of
//! `10^-scale` of a unit, and both quantities of a unit price are in one unit. Only exact conversions are made: a
//! rounded unit price would no longer follow from the price, so it is left out.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Number, Value, json};
use ucp_core::{
    catalog::product,
    money::{Amount, Currency, MAX_AMOUNT},
};

/// Maximum scale of a quantity: steps of `10^-15` of its unit.
const MAX_SCALE: u32 = 15;

/// The price of a standard quantity.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct UnitPrice<'a> {
    /// Price of the reference quantity, in minor units of `currency`.
    amount: Amount,
    /// Currency of the unit price, the same as that of the price.
    currency: Currency,
    /// Quantity that the package holds.
    measure: Measure<'a>,
    /// Quantity that the price is for, in the unit of `measure`.
    reference: Measure<'a>,
}

/// A quantity.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Measure<'a> {
    /// Number of steps of `10^-scale` of the unit.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_i64))]
    value: i64,
    /// The unit: a UN/CEFACT Recommendation 20 code, or the merchant's own text for a unit without a known code.
    unit: &'a str,
    /// Scale of `value`; 0 (whole units) if absent.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(max = 15))]
    scale: u32,
    /// The unit as the merchant writes it.
    display_text: &'a str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
const fn is_zero(scale: &u32) -> bool {
    *scale == 0
}

impl<'a> UnitPrice<'a> {
    /// Converts a unit price, or returns `None` if it cannot be expressed exactly.
    pub(crate) fn exact(price: &'a product::UnitPrice) -> Option<Self> {
        let (measure, reference) = (Unit::of(&price.measure.unit), Unit::of(&price.reference.unit));
        let shift = measure.shift_to(&reference)?;
        Some(Self {
            amount: price.price.amount,
            currency: price.price.currency,
            measure: reference.holding(Decimal::of(&price.measure.value)?.shifted(shift))?,
            reference: reference.holding(Decimal { digits: price.reference.value.into(), power: 0 })?,
        })
    }
}

/// Converts a unit price to the form of releases before 2026-08-25: quantities as decimals in units of the merchant's
/// spelling, the reference as a whole number. Returns `None` if `stated` is malformed or its reference is not whole.
pub(crate) fn older(stated: &Value) -> Option<Value> {
    let mut price = stated.as_object()?.clone();
    for name in ["measure", "reference"] {
        let quantity = price.get(name)?.as_object()?;
        let value = quantity.get("value")?.as_i64()?;
        let scale = quantity.get("scale").map_or(Some(0), Value::as_u64)?;
        let unit = quantity.get("display_text").or_else(|| quantity.get("unit"))?.as_str()?;
        let value = if scale == 0 {
            value.into()
        } else if name == "reference" || scale > MAX_SCALE.into() {
            return None;
        } else {
            serde_json::from_str::<Number>(&format!("{value}e-{scale}")).ok()?
        };
        price.insert(name.to_owned(), json!({ "value": value, "unit": unit }));
    }
    Some(Value::Object(price))
}

/// A physical dimension. Units are converted only within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Mass,
    Volume,
    Length,
    Area,
    /// No conversion to other units.
    Single,
}

use Dimension::{Area, Length, Mass, Single, Volume};

/// Units that merchants state and their codes in UN/CEFACT Recommendation 20. The power of ten relates units of one
/// dimension to each other.
const UNITS: &[(&[&str], &str, Dimension, i32)] = &[
    (&["mg", "milligram", "milligrams"], "MGM", Mass, -3),
    (&["g", "gram", "grams"], "GRM", Mass, 0),
    (&["kg", "kilogram", "kilograms"], "KGM", Mass, 3),
    (&["ml", "millilitre", "millilitres", "milliliter", "milliliters"], "MLT", Volume, -3),
    (&["cl", "centilitre", "centilitres", "centiliter", "centiliters"], "CLT", Volume, -2),
    (&["dl", "decilitre", "decilitres", "deciliter", "deciliters"], "DLT", Volume, -1),
    (&["l", "litre", "litres", "liter", "liters"], "LTR", Volume, 0),
    (&["mm", "millimetre", "millimetres", "millimeter", "millimeters"], "MMT", Length, -3),
    (&["cm", "centimetre", "centimetres", "centimeter", "centimeters"], "CMT", Length, -2),
    (&["m", "metre", "metres", "meter", "meters"], "MTR", Length, 0),
    (&["cm2", "cm²"], "CMK", Area, -4),
    (&["m2", "m²", "sqm"], "MTK", Area, 0),
    (&["m3", "m³"], "MTQ", Volume, 3),
    (&["oz", "ounce", "ounces"], "ONZ", Single, 0),
    (&["lb", "lbs", "pound", "pounds"], "LBR", Single, 0),
    (&["in", "inch", "inches"], "INH", Single, 0),
    (&["ft", "foot", "feet"], "FOT", Single, 0),
    (&["yd", "yard", "yards"], "YRD", Single, 0),
    (&["each", "ea"], EACH, Single, 0),
];

/// Code of a single item, which cannot be divided.
const EACH: &str = "C62";

/// A unit as the merchant writes it, with its code.
#[derive(Debug)]
struct Unit<'a> {
    text: &'a str,
    code: &'a str,
    dimension: Dimension,
    power: i32,
}

impl<'a> Unit<'a> {
    fn of(text: &'a str) -> Self {
        let known = UNITS.iter().find(|(names, ..)| names.iter().any(|name| name.eq_ignore_ascii_case(text.trim())));
        let (code, dimension, power) =
            known.map_or((text, Single, 0), |(_, code, dimension, power)| (*code, *dimension, *power));
        Self { text, code, dimension, power }
    }

    /// Returns the power of ten that converts quantities in this unit to another, or `None` if they cannot be
    /// converted.
    fn shift_to(&self, other: &Self) -> Option<i32> {
        let related = self.dimension == other.dimension && self.dimension != Single;
        (related || self.code == other.code).then_some(self.power - other.power)
    }

    /// Expresses a quantity in this unit. Returns `None` if it is out of range, or a fraction of single items.
    fn holding(&self, quantity: Decimal) -> Option<Measure<'a>> {
        let (value, scale) = quantity.steps()?;
        let divisible = scale == 0 || self.code != EACH;
        divisible.then_some(Measure { value, unit: self.code, scale, display_text: self.text })
    }
}

/// The number `digits × 10^power`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: i128,
    power: i32,
}

impl Decimal {
    /// Parses the decimal notation of a JSON number.
    fn of(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            power: exponent.parse::<i32>().ok()?.checked_sub(places)?,
        })
    }

    /// Multiplies by a power of ten.
    const fn shifted(self, by: i32) -> Self {
        Self { digits: self.digits, power: self.power.saturating_add(by) }
    }

    /// Returns the number as a count of steps of `10^-scale` with the smallest possible scale, or `None` unless it is
    /// positive and in range.
    fn steps(self) -> Option<(i64, u32)> {
        let Self { mut digits, mut power } = self;
        if digits <= 0 {
            return None;
        }
        while power < 0 && digits % 10 == 0 {
            (digits, power) = (digits / 10, power + 1);
        }
        let (scale, factor) = if power < 0 { (power.unsigned_abs(), 0) } else { (0, power.unsigned_abs()) };
        let value = 10_i128.checked_pow(factor).and_then(|factor| digits.checked_mul(factor))?;
        let value = i64::try_from(value).ok().filter(|value| *value <= MAX_AMOUNT)?;
        (scale <= MAX_SCALE).then_some((value, scale))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn converted(measure: &Value, reference: &Value) -> Option<Value> {
        let stated = json!({ "amount": 120, "currency": "EUR", "measure": measure, "reference": reference });
        let stated = serde_json::from_value(stated).expect("a unit price");
        UnitPrice::exact(&stated).map(|price| serde_json::to_value(price).expect("serialises"))
    }

    #[test]
    fn quantities_are_steps_of_one_unit() {
        let bottle = converted(&json!({ "value": 0.75, "unit": "l" }), &json!({ "value": 1, "unit": "l" }));
        let litres = |value: i64, scale: Option<u32>| {
            let mut measure = json!({ "value": value, "unit": "LTR", "display_text": "l" });
            if let Some(scale) = scale {
                measure["scale"] = scale.into();
            }
            measure
        };
        let expected =
            json!({ "amount": 120, "currency": "EUR", "measure": litres(75, Some(2)), "reference": litres(1, None) });
        assert_eq!(bottle, Some(expected.clone()));
        let restated = converted(&json!({ "value": 750, "unit": "mL" }), &json!({ "value": 1, "unit": "l" }));
        assert_eq!(restated, Some(expected));
        let own = converted(&json!({ "value": 20, "unit": "scoop" }), &json!({ "value": 1, "unit": "scoop" }));
        assert_eq!(own.expect("exact")["measure"], json!({ "value": 20, "unit": "scoop", "display_text": "scoop" }));
    }

    #[test]
    fn unit_prices_that_are_not_exact_are_omitted() {
        let one = |unit: &str| json!({ "value": 1, "unit": unit });
        for (measure, reference) in [
            (one("lb"), one("kg")),
            (one("scoop"), one("spoon")),
            (one("m"), one("g")),
            (json!({ "value": 0, "unit": "g" }), one("g")),
            (json!({ "value": -1.5, "unit": "g" }), one("g")),
            (json!({ "value": 1e-16, "unit": "g" }), one("g")),
            (json!({ "value": 1e300, "unit": "g" }), one("g")),
            (json!({ "value": 1.5, "unit": "each" }), one("each")),
            (one("g"), json!({ "value": 0, "unit": "g" })),
        ] {
            assert_eq!(converted(&measure, &reference), None, "{measure} per {reference}");
        }
    }

    proptest! {
        #[test]
        fn decimals_keep_their_value(value in 1_i64..=MAX_AMOUNT, scale in 0_u32..=MAX_SCALE) {
            let exact = Decimal { digits: value.into(), power: -i32::try_from(scale).expect("small") };
            let (steps, kept) = exact.steps().expect("within bounds");
            // steps × 10^-kept == value × 10^-scale, decided without division:
            prop_assert_eq!(i128::from(steps) * 10_i128.pow(scale), i128::from(value) * 10_i128.pow(kept));
            prop_assert!(kept <= scale && (kept == 0 || steps % 10 != 0));
        }

        #[test]
        fn every_number_is_read_as_it_is_written(text in "[1-9][0-9]{0,6}(\\.[0-9]{1,6})?(e-?[0-9])?") {
            let number: Number = serde_json::from_str(&text).expect("a number");
            let read = Decimal::of(&number).expect("a decimal");
            let written: f64 = text.parse().expect("a number");
            let again: f64 = format!("{}e{}", read.digits, read.power).parse().expect("a number");
            prop_assert_eq!(again, written);
        }

        #[test]
        fn unit_prices_of_any_number_and_unit_do_not_panic(value in any::<f64>(), unit in "\\PC{0,5}", other in "\\PC{0,5}") {
            if let Some(value) = Number::from_f64(value) {
                converted(&json!({ "value": value.clone(), "unit": unit }), &json!({ "value": 1, "unit": unit }));
                converted(&json!({ "value": value, "unit": unit }), &json!({ "value": 1, "unit": other }));
            }
        }
    }
}
