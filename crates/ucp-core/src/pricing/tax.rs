//! Taxes, by a table of rates per country and region.

use super::terms::{CountryRegion, Percent, Tax, TaxRate, half_up};
use crate::text::fold;

/// An amount to be taxed, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Base<'a> {
    /// Place of taxation; no tax is due if it is unknown.
    pub(crate) place: Option<&'a CountryRegion>,
    /// Amount in minor units, after all discounts.
    pub(crate) amount: i128,
}

/// A tax that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due<'a> {
    pub(crate) rate: &'a TaxRate,
    /// Amount in minor units.
    pub(crate) amount: i128,
}

/// Returns the taxes due on `bases`, in the order of the rates in the terms; each is rounded once, half up.
///
/// The amount of a tax that prices do not include is `amount × rate`, otherwise `amount × rate ÷ (1 + all rates of the
/// place)`.
pub(crate) fn due<'a>(tax: &'a Tax, bases: &[Base<'_>]) -> Vec<Due<'a>> {
    let mut due = Vec::new();
    for rate in &tax.rates {
        let mut taxed =
            bases.iter().filter(|base| base.place.is_some_and(|place| applies(tax, rate, place))).peekable();
        if taxed.peek().is_none() {
            continue;
        }
        let sum: i128 = taxed.map(|base| base.amount).sum();
        let whole = i128::from(Percent::ALL.millionths());
        let part = i128::from(rate.percent.millionths());
        let all: i128 = tax
            .rates
            .iter()
            .filter(|other| same_place(rate, other))
            .map(|other| i128::from(other.percent.millionths()))
            .sum();
        let denominator = if rate.included { whole + all } else { whole };
        due.push(Due { rate, amount: half_up(sum * part, denominator) });
    }
    due
}

/// Returns `true` if a rate applies to a place. The rates of its region take precedence over those of the whole
/// country.
fn applies(tax: &Tax, rate: &TaxRate, place: &CountryRegion) -> bool {
    let in_region = |rate: &TaxRate| match (&rate.region, &place.region) {
        (Some(of_rate), Some(of_place)) => fold(of_rate) == fold(of_place.trim()),
        _ => false,
    };
    let in_country = |rate: &TaxRate| rate.country.eq_ignore_ascii_case(place.country.trim());
    in_country(rate)
        && match rate.region {
            Some(_) => in_region(rate),
            None => !tax.rates.iter().any(|other| in_country(other) && in_region(other)),
        }
}

fn same_place(one: &TaxRate, other: &TaxRate) -> bool {
    one.country.eq_ignore_ascii_case(&other.country)
        && one.region.as_deref().map(fold) == other.region.as_deref().map(fold)
}
