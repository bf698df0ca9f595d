//! Delivery options of a group and their prices.

use jiff::{Timestamp, ToSpan as _, civil::Time, tz::TimeZone};

use super::{
    lines::Line,
    terms::{Amounts, FreeShipping, PickupPlace, ShippingRate, Terms},
};
use crate::{
    money::Amount,
    purchase::{
        fulfillment::{DeliveryOption, Destination, MethodKind},
        quote::Facts,
        totals::{TooLarge, Total, TotalKind, Totals, amount_of},
    },
};

/// Identifier of the single option of a pickup place.
const PICKUP: &str = "pickup";

/// Goods that are delivered together, and the purchase that they belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Package<'a> {
    pub(super) lines: &'a [Line<'a>],
    /// Price of each line of the purchase after all discounts, in minor units.
    pub(super) left: &'a [i128],
    /// Positions of the lines in the package.
    pub(super) inside: &'a [usize],
}

impl Package<'_> {
    fn grams(&self) -> u128 {
        let grams = |line: &Line<'_>| u128::from(line.good.weight_grams) * u128::from(line.quantity);
        self.inside.iter().filter_map(|position| self.lines.get(*position)).map(grams).sum()
    }

    /// Returns the number of days after `now` on which all goods can leave the shop.
    fn wait(&self, now: Timestamp) -> u16 {
        let today = now.to_zoned(TimeZone::UTC).date();
        let lines = self.inside.iter().filter_map(|position| self.lines.get(*position));
        lines.map(|line| line.good.lead_time.wait(today)).max().unwrap_or_default()
    }

    fn subtotal(&self) -> i128 {
        self.inside.iter().filter_map(|position| self.left.get(*position)).sum()
    }
}

/// Options for a package, cheapest first, and the reasons for free shipping.
#[derive(Clone, Debug, Default)]
pub(super) struct Offers {
    pub(super) options: Vec<DeliveryOption>,
    /// Title of the rule that makes the option free, by position of the option.
    pub(super) free: Vec<Option<String>>,
    /// `true` if a rate serves the country of destination, whether or not it fits the package.
    pub(super) reachable: bool,
}

/// Returns the options to deliver a package to a destination. Fails with [`TooLarge`] if a total exceeds
/// [`MAX_AMOUNT`](crate::money::MAX_AMOUNT).
pub(super) fn offers(
    kind: MethodKind,
    destination: &Destination,
    package: Package<'_>,
    facts: &Facts,
    terms: &Terms,
) -> Result<Offers, TooLarge> {
    match kind {
        MethodKind::Shipping => shipping(destination, package, facts, terms),
        MethodKind::Pickup => {
            let place = terms.pickup.places.iter().find(|place| place.id == destination.id);
            let option = place.map(|place| pickup(place, package, facts)).transpose()?.flatten();
            Ok(Offers { free: vec![None; option.iter().len()], options: option.into_iter().collect(), reachable: true })
        }
    }
}

fn shipping(destination: &Destination, package: Package<'_>, facts: &Facts, terms: &Terms) -> Result<Offers, TooLarge> {
    let country = destination.address.address_country.as_deref().unwrap_or_default().trim();
    let is = |code: &String| code.eq_ignore_ascii_case(country);
    let mut offers = Offers::default();
    let wait = package.wait(facts.now);
    let mut found: Vec<(DeliveryOption, Option<String>)> = Vec::new();
    for rate in &terms.shipping.rates {
        if !(rate.countries.is_empty() || rate.countries.iter().any(is)) || rate.except.iter().any(is) {
            continue;
        }
        offers.reachable = true;
        let Some(price) = price(rate, package, facts) else { continue };
        if found.iter().any(|(other, _)| other.id == rate.id) {
            continue;
        }
        let free = terms
            .shipping
            .free
            .iter()
            .find(|free| free.rates.contains(&rate.id) && is_met(free, country, package, facts));
        let option = DeliveryOption {
            id: rate.id.clone(),
            title: match free {
                Some(free) => format!("{} ({})", rate.title, free.title),
                None => rate.title.clone(),
            },
            description: rate.description.clone(),
            carrier: rate.carrier.clone(),
            earliest: rate.min_days.and_then(|days| in_days(facts.now, wait.saturating_add(days), Time::MIN)),
            latest: rate
                .max_days
                .and_then(|days| in_days(facts.now, wait.saturating_add(days), Time::constant(23, 59, 59, 0))),
            totals: totals(price, free.is_some())?,
        };
        found.push((option, free.map(|free| free.title.clone())));
    }
    found.sort_by_key(|(option, _)| amount_of(&option.totals, TotalKind::Total));
    (offers.options, offers.free) = found.into_iter().unzip();
    Ok(offers)
}

/// Returns the price of a rate; `None` if the package does not fit it or it has no price in the currency.
fn price(rate: &ShippingRate, package: Package<'_>, facts: &Facts) -> Option<Amount> {
    let bound = |amounts: &Amounts| amounts.in_currency(facts.currency, facts.own_currency);
    let grams = package.grams();
    let fits =
        rate.min_grams.is_none_or(|min| grams >= min.into()) && rate.max_grams.is_none_or(|max| grams <= max.into());
    let reaches = |amounts: &Amounts| bound(amounts).map(|bound| package.subtotal() >= bound.minor().into());
    let dear_enough = rate.min_subtotal.as_ref().is_none_or(|amounts| reaches(amounts) == Some(true));
    let cheap_enough = rate.below_subtotal.as_ref().is_none_or(|amounts| reaches(amounts) == Some(false));
    bound(&rate.price).filter(|_| fits && dear_enough && cheap_enough)
}

fn is_met(free: &FreeShipping, country: &str, package: Package<'_>, facts: &Facts) -> bool {
    let goods: i128 = package.left.iter().sum();
    let reaches = |amounts: &Amounts| {
        amounts.in_currency(facts.currency, facts.own_currency).is_some_and(|least| goods >= least.minor().into())
    };
    (free.countries.is_empty() || free.countries.iter().any(|code| code.eq_ignore_ascii_case(country)))
        && free.min_subtotal.as_ref().is_none_or(reaches)
        && (free.items.is_empty() || package.lines.iter().any(|line| line.is_one_of(&free.items)))
}

fn pickup(place: &PickupPlace, package: Package<'_>, facts: &Facts) -> Result<Option<DeliveryOption>, TooLarge> {
    let price = match &place.price {
        None => Some(Amount::ZERO),
        Some(amounts) => amounts.in_currency(facts.currency, facts.own_currency),
    };
    let option = |price| {
        Ok(DeliveryOption {
            id: PICKUP.to_owned(),
            title: format!("Pickup at {}", place.name),
            description: place.description.clone(),
            carrier: None,
            earliest: place
                .ready_after_days
                .and_then(|days| in_days(facts.now, package.wait(facts.now).saturating_add(days), Time::MIN)),
            latest: None,
            totals: totals(price, false)?,
        })
    };
    price.map(option).transpose()
}

fn totals(price: Amount, free: bool) -> Result<Vec<Total>, TooLarge> {
    let mut totals = Totals::of(price.minor().into())?;
    if free {
        totals.push(TotalKind::Discount, None, -i128::from(price.minor()))?;
    }
    totals.finish()
}

/// Returns a time of day `days` days from now, UTC. It depends on whole days only, so that answers do not change every
/// second.
fn in_days(now: Timestamp, days: u16, time: Time) -> Option<Timestamp> {
    let day = now.to_zoned(TimeZone::UTC).date().checked_add(i64::from(days).days()).ok()?;
    day.to_datetime(time).to_zoned(TimeZone::UTC).ok().map(|moment| moment.timestamp())
}
