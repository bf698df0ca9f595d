//! Validation of terms, on which the pricing engine relies.

use std::collections::BTreeMap;

use super::{Amounts, Combines, Percent, PercentOrAmount, Target, Terms};
use crate::{
    catalog::{market::Market, record::Unusable},
    text::fold,
};

/// Result of a check: the first invalid member, if there is one.
type Checked = Result<(), Unusable>;

fn wrong<T>(path: impl Into<String>, reason: impl Into<String>) -> Result<T, Unusable> {
    Err(Unusable { path: path.into(), reason: reason.into() })
}

impl Terms {
    /// Checks that the engine can work with these terms in this market. Fails with the first unusable member, and the
    /// reason.
    pub fn check(&self, market: &Market) -> Checked {
        self.check_tax()?;
        for (position, fee) in self.fees.iter().enumerate() {
            let at = |member: &str| format!("$.fees[{position}].{member}");
            filled(at("title"), &fee.title)?;
            value(&at("charge"), &fee.charge, market)?;
            countries(&at("countries"), &fee.countries)?;
        }
        self.check_discounts(market)?;
        self.check_shipping(market)?;
        self.check_places(market)?;
        self.check_buyers()?;
        for (position, review) in self.reviews.iter().enumerate() {
            let at = |member: &str| format!("$.reviews[{position}].{member}");
            if !is_code(&review.code) {
                return wrong(
                    at("code"),
                    "must be made of small letters, digits and underscores, such as `high_value_order`",
                );
            }
            filled(at("reason"), &review.reason)?;
            if let Some(amounts) = &review.min_total {
                currencies(&at("min_total"), amounts, market)?;
            }
        }
        for (member, seconds) in
            [("cart_seconds", self.lifetimes.cart_seconds), ("checkout_seconds", self.lifetimes.checkout_seconds)]
        {
            if seconds == 0 {
                return wrong(format!("$.lifetimes.{member}"), "must be at least 1 second");
            }
        }
        Ok(())
    }

    fn check_tax(&self) -> Checked {
        let mut included: BTreeMap<(String, Option<String>), bool> = BTreeMap::new();
        for (position, rate) in self.tax.rates.iter().enumerate() {
            let at = |member: &str| format!("$.tax.rates[{position}].{member}");
            filled(at("title"), &rate.title)?;
            country(at("country"), &rate.country)?;
            if let Some(region) = &rate.region {
                filled(at("region"), region)?;
            }
            if rate.percent > Percent::ALL {
                return wrong(at("percent"), "must not be more than 100%");
            }
            let place = (fold(&rate.country), rate.region.as_deref().map(fold));
            if *included.entry(place).or_insert(rate.included) != rate.included {
                return wrong(at("included"), "must be the same for all rates of one place");
            }
        }
        match &self.tax.fallback {
            Some(place) => country("$.tax.fallback.country".to_owned(), &place.country),
            None => Ok(()),
        }
    }

    fn check_discounts(&self, market: &Market) -> Checked {
        let mut codes: BTreeMap<String, usize> = BTreeMap::new();
        for (position, discount) in self.discounts.iter().enumerate() {
            let at = |member: &str| format!("$.discounts[{position}].{member}");
            filled(at("id"), &discount.id)?;
            filled(at("title"), &discount.title)?;
            if self.discounts.iter().take(position).any(|other| other.id == discount.id) {
                return wrong(at("id"), format!("`{}` is used twice", discount.id));
            }
            for code in &discount.codes {
                filled(at("codes"), code)?;
                if code.trim() != code {
                    return wrong(at("codes"), format!("`{code}` begins or ends with a space"));
                }
                if codes.insert(fold(code), position).is_some() {
                    return wrong(at("codes"), format!("`{code}` is used twice; letter case does not count"));
                }
            }
            value(&at("off"), &discount.off, market)?;
            if matches!(discount.off, PercentOrAmount::Percent(percent) if percent > Percent::ALL) {
                return wrong(at("off"), "must not be more than 100%");
            }
            if discount.target == Target::Order && !discount.items.is_empty() {
                return wrong(at("items"), "belongs to discounts with `target = \"lines\"`");
            }
            if let Some(amounts) = &discount.min_subtotal {
                currencies(&at("min_subtotal"), amounts, market)?;
            }
            if let (Some(from), Some(until)) = (discount.from, discount.until)
                && from >= until
            {
                return wrong(at("until"), "must be later than `from`");
            }
            if let Combines::Only(ids) = &discount.combines
                && let Some(id) = ids.iter().find(|id| !self.discounts.iter().any(|other| other.id == **id))
            {
                return wrong(at("combines"), format!("there is no discount `{id}`"));
            }
            if let Some(claim) = &discount.claim {
                if !self.claims.iter().any(|known| known.id == *claim) {
                    return wrong(at("claim"), format!("`{claim}` is not one of `claims`"));
                }
                if !discount.codes.is_empty() {
                    return wrong(at("codes"), "a discount that depends on a claim applies by itself and has no codes");
                }
            }
        }
        Ok(())
    }

    fn check_shipping(&self, market: &Market) -> Checked {
        let rates = &self.shipping.rates;
        for (position, rate) in rates.iter().enumerate() {
            let at = |member: &str| format!("$.shipping.rates[{position}].{member}");
            filled(at("id"), &rate.id)?;
            filled(at("title"), &rate.title)?;
            if let Some(other) = rates.iter().find(|other| other.id != rate.id && other.title == rate.title) {
                let reason = format!("`{}` has the same title: buyers could not tell them apart", other.id);
                return wrong(at("title"), reason);
            }
            countries(&at("countries"), &rate.countries)?;
            countries(&at("except"), &rate.except)?;
            currencies(&at("price"), &rate.price, market)?;
            for (member, amounts) in [("min_subtotal", &rate.min_subtotal), ("below_subtotal", &rate.below_subtotal)] {
                if let Some(amounts) = amounts {
                    currencies(&at(member), amounts, market)?;
                }
            }
            if rate.min_grams.zip(rate.max_grams).is_some_and(|(min, max)| min > max) {
                return wrong(at("max_grams"), "must not be less than `min_grams`");
            }
            if rate.min_days.zip(rate.max_days).is_some_and(|(min, max)| min > max) {
                return wrong(at("max_days"), "must not be less than `min_days`");
            }
        }
        for (position, free) in self.shipping.free.iter().enumerate() {
            let at = |member: &str| format!("$.shipping.free[{position}].{member}");
            filled(at("title"), &free.title)?;
            if free.rates.is_empty() {
                return wrong(at("rates"), "must name at least one of `rates`");
            }
            if let Some(id) = free.rates.iter().find(|id| !rates.iter().any(|rate| rate.id == **id)) {
                return wrong(at("rates"), format!("there is no rate `{id}`"));
            }
            if let Some(amounts) = &free.min_subtotal {
                currencies(&at("min_subtotal"), amounts, market)?;
            }
            countries(&at("countries"), &free.countries)?;
        }
        Ok(())
    }

    fn check_places(&self, market: &Market) -> Checked {
        let places = &self.pickup.places;
        for (position, place) in places.iter().enumerate() {
            let at = |member: &str| format!("$.pickup.places[{position}].{member}");
            filled(at("id"), &place.id)?;
            filled(at("name"), &place.name)?;
            if places.iter().take(position).any(|other| other.id == place.id) {
                return wrong(at("id"), format!("`{}` is used twice", place.id));
            }
            country(at("address.address_country"), place.address.address_country.as_deref().unwrap_or_default())?;
            if let Some(amounts) = &place.price {
                currencies(&at("price"), amounts, market)?;
            }
        }
        Ok(())
    }

    fn check_buyers(&self) -> Checked {
        let mut ids: Vec<&str> = Vec::new();
        for (position, customer) in self.customers.iter().enumerate() {
            let at = |member: &str| format!("$.customers[{position}].{member}");
            if !is_email(&customer.email) {
                return wrong(at("email"), "must be an email address");
            }
            if self.customers.iter().take(position).any(|other| fold(&other.email) == fold(&customer.email)) {
                return wrong(at("email"), format!("`{}` is used twice", customer.email));
            }
            for (place, stored) in customer.addresses.iter().enumerate() {
                let at = |member: &str| at(&format!("addresses[{place}].{member}"));
                filled(at("id"), &stored.id)?;
                country(at("address.address_country"), stored.address.address_country.as_deref().unwrap_or_default())?;
                if ids.contains(&stored.id.as_str()) {
                    return wrong(at("id"), format!("`{}` is used twice", stored.id));
                }
                ids.push(&stored.id);
            }
        }
        for (position, claim) in self.claims.iter().enumerate() {
            let at = |member: &str| format!("$.claims[{position}].{member}");
            if !claim.id.contains('.') {
                return wrong(at("id"), "must be a reverse-domain name, such as `com.example.student`");
            }
            filled(at("title"), &claim.title)?;
            if self.claims.iter().take(position).any(|other| other.id == claim.id) {
                return wrong(at("id"), format!("`{}` is used twice", claim.id));
            }
        }
        Ok(())
    }
}

fn filled(path: String, text: &str) -> Checked {
    if text.trim().is_empty() { wrong(path, "must not be empty") } else { Ok(()) }
}

/// Returns `true` if a text can be the code of a message.
fn is_code(code: &str) -> bool {
    !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns `true` if a text has the form of an ISO 3166-1 alpha-2 code.
pub(crate) fn is_country(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns `true` if a text has the form of an email address: no spaces or control characters, and text on both sides
/// of the last at sign.
pub(crate) fn is_email(text: &str) -> bool {
    let bare = !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    bare && text.rsplit_once('@').is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty())
}

fn country(path: String, code: &str) -> Checked {
    if is_country(code) { Ok(()) } else { wrong(path, "must be an ISO 3166-1 alpha-2 code, such as `US`") }
}

fn countries(path: &str, codes: &[String]) -> Checked {
    codes.iter().enumerate().try_for_each(|(position, code)| country(format!("{path}[{position}]"), code))
}

fn currencies(path: &str, amounts: &Amounts, market: &Market) -> Checked {
    let Amounts::ByCurrency(amounts) = amounts else { return Ok(()) };
    match amounts.keys().find(|currency| !market.trades_in(**currency)) {
        Some(currency) => wrong(path, format!("the shop does not trade in {currency}")),
        None => Ok(()),
    }
}

fn value(path: &str, value: &PercentOrAmount, market: &Market) -> Checked {
    match value {
        PercentOrAmount::Percent(_) => Ok(()),
        PercentOrAmount::Fixed(amounts) => currencies(path, amounts, market),
    }
}
