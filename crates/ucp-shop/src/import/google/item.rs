//! An item of a feed: its attributes as they are stated.

use jiff::{Timestamp, Zoned, civil::Date};
use ucp_core::money::{Amount, Currency};
use ucp_import::{
    BadRow, is_web_address,
    text::{line, unfit},
};

use super::super::shopify::amount;

/// Maximum number of attributes of an item.
const MOST_ATTRIBUTES: usize = 500;

/// Name of an attribute as it is compared: in lower case, without prefix, with underscores.
pub(super) fn name(stated: &str) -> String {
    let stated = stated.trim_start_matches('\u{feff}').trim().to_ascii_lowercase();
    stated.strip_prefix("g:").unwrap_or(&stated).replace([' ', '-'], "_")
}

/// An item, with the line that it starts on.
#[derive(Clone, Debug, Default)]
pub(super) struct FeedItem {
    pub(super) line: u64,
    attributes: Vec<(Box<str>, Box<str>)>,
    size: usize,
}

impl FeedItem {
    pub(super) fn new(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    /// Adds an attribute, unless it is empty. Returns `false` if the item is larger than an item may be.
    pub(super) fn add(&mut self, name: String, value: &str) -> bool {
        let value = value.trim();
        if value.is_empty() {
            return true;
        }
        self.size += name.len() + value.len() + 2 * size_of::<Box<str>>();
        self.attributes.push((name.into(), value.into()));
        self.attributes.len() <= MOST_ATTRIBUTES && self.size <= super::LONGEST_ITEM
    }

    /// Returns the item if all of its values are texts that can be kept.
    pub(super) fn fit(self) -> Result<Self, BadRow> {
        let fault = self.attributes.iter().find_map(|(name, value)| Some(self.fault(name, unfit(value)?)));
        fault.map_or(Ok(self), Err)
    }

    /// Returns the approximate size in bytes.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Returns the first value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns all values of an attribute.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.attributes.iter().filter(move |(own, _)| **own == *name).map(|(_, value)| &**value)
    }

    /// Returns a value as one line for display.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(line)
    }

    /// Returns a value that has to be there.
    pub(super) fn required(&self, name: &str) -> Result<&str, BadRow> {
        self.get(name).ok_or_else(|| self.fault(name, "is missing"))
    }

    pub(super) fn fault(&self, name: &str, reason: impl AsRef<str>) -> BadRow {
        BadRow::faulty(self.line, Some(name.to_owned()), reason)
    }

    /// Returns a URL.
    pub(super) fn address(&self, name: &str) -> Result<Option<String>, BadRow> {
        self.get(name).map(|address| self.checked_address(name, address)).transpose()
    }

    pub(super) fn checked_address(&self, name: &str, address: &str) -> Result<String, BadRow> {
        match is_web_address(address) {
            true => Ok(address.to_owned()),
            false => Err(self.fault(name, "must be an address that starts with `https://` or `http://`")),
        }
    }

    /// Returns an amount of money, such as `19.99 USD`, which has to be in `currency`.
    pub(super) fn money(&self, name: &str, currency: Currency) -> Result<Option<Amount>, BadRow> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let (number, code) = match text.rsplit_once(|letter: char| letter.is_ascii_whitespace()) {
            Some((number, code)) if code.bytes().all(|byte| byte.is_ascii_alphabetic()) => (number.trim(), code),
            Some((code, number)) if code.trim().bytes().all(|byte| byte.is_ascii_alphabetic()) => (number, code.trim()),
            _ => return Err(self.fault(name, "must be an amount with its currency, such as `19.99 USD`")),
        };
        if !code.eq_ignore_ascii_case(currency.as_str()) {
            return Err(self.fault(name, format!("must be in the shop's own currency, {currency}")));
        }
        amount(number, currency).map(Some).map_err(|reason| self.fault(name, reason))
    }

    /// Returns the shipping weight in grams, rounded up.
    pub(super) fn grams(&self) -> Result<Option<u64>, BadRow> {
        /// Micrograms per unit.
        const UNITS: [(&str, u128); 8] = [
            ("kg", 1_000_000_000),
            ("g", 1_000_000),
            ("lb", 453_592_370),
            ("lbs", 453_592_370),
            ("oz", 28_349_523),
            ("kilograms", 1_000_000_000),
            ("grams", 1_000_000),
            ("pounds", 453_592_370),
        ];
        let name = "shipping_weight";
        let Some(text) = self.get(name) else { return Ok(None) };
        let fault = || self.fault(name, "must be a weight with its unit, such as `0.5 kg`");
        let split = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or_else(fault)?;
        let (number, unit) = (text[..split].trim(), text[split..].trim().to_ascii_lowercase());
        let (_, micrograms) = UNITS.into_iter().find(|(known, _)| *known == unit).ok_or_else(fault)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.len() <= 12 && part.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(fault());
        }
        let scaled: u128 = format!("{whole}{fraction}").parse().map_err(|_| fault())?;
        let scale = 1_000_000 * 10_u128.pow(u32::try_from(fraction.len()).unwrap_or_default());
        let grams = u64::try_from((scaled * micrograms).div_ceil(scale)).map_err(|_| fault())?;
        Ok(Some(grams).filter(|grams| *grams > 0))
    }

    /// Returns `true` if the item is no longer offered.
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.get("expiration_date").and_then(moment).is_some_and(|end| end <= now)
    }

    /// Returns why an item that is no longer offered is left out.
    pub(super) fn expired(&self) -> BadRow {
        let id = self.get("id").unwrap_or_default();
        BadRow::skipped(self.line, "expiration_date", format!("`{id}` is no longer offered"))
    }

    /// Returns `true` if a sale price holds: in its period, or always if none is stated.
    pub(super) fn is_on_sale(&self, now: Timestamp) -> Result<bool, BadRow> {
        let name = "sale_price_effective_date";
        let Some(period) = self.get(name) else { return Ok(true) };
        let ends = period.split_once('/').and_then(|(start, end)| moment(start).zip(moment(end)));
        match ends {
            Some((start, end)) => Ok(start <= now && now < end),
            None => {
                Err(self.fault(name, "must be two dates with a slash, such as `2026-11-24T00:00Z/2026-11-30T00:00Z`"))
            }
        }
    }
}

/// Reads an ISO 8601 date, with a time of day and an offset if they are stated; UTC otherwise.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(date) = text.parse::<Date>()
        && text.len() <= 10
    {
        return date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned: Zoned| zoned.timestamp());
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp);
    }
    let forms = ["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%dT%H:%M%:z"];
    let with_offset = forms.iter().find_map(|form| jiff::fmt::strtime::parse(form, text).ok()?.to_timestamp().ok());
    with_offset.or_else(|| {
        let forms = ["%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"];
        let civil = forms.iter().find_map(|form| jiff::fmt::strtime::parse(form, text).ok()?.to_datetime().ok());
        civil.and_then(|civil| civil.to_zoned(jiff::tz::TimeZone::UTC).ok()).map(|zoned| zoned.timestamp())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(attributes: &[(&str, &str)]) -> FeedItem {
        let mut item = FeedItem::new(1);
        for (name, value) in attributes {
            assert!(item.add((*name).to_owned(), value));
        }
        item
    }

    #[test]
    fn moments_are_read_with_and_without_offset() {
        for (text, seconds) in [
            ("2026-01-02", Some(1_767_312_000)),
            ("2026-01-02T00:00Z", Some(1_767_312_000)),
            ("2026-01-02T00:00:00Z", Some(1_767_312_000)),
            ("2026-01-02T01:00+0100", Some(1_767_312_000)),
            ("2026-01-02T01:00:00+01:00", Some(1_767_312_000)),
            ("2026-01-02T00:00:00", Some(1_767_312_000)),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(moment(text).map(Timestamp::as_second), seconds, "{text}");
        }
    }

    #[test]
    fn amounts_carry_the_currency_of_the_shop() {
        let usd = Currency::USD;
        let money = |text: &str| item(&[("price", text)]).money("price", usd).map(|amount| amount.map(Amount::minor));
        assert_eq!(money("15.00 USD"), Ok(Some(1_500)));
        assert_eq!(money("USD 15"), Ok(Some(1_500)));
        assert_eq!(money("1,299.5 usd"), Ok(Some(129_950)));
        for wrong in ["15.00", "15.00 EUR", "15,00 USD", "-1 USD", "a USD", "1.999 USD"] {
            assert!(money(wrong).is_err(), "{wrong}");
        }
        assert_eq!(item(&[]).money("price", usd), Ok(None));
    }

    #[test]
    fn weights_are_rounded_up_to_grams() {
        let grams = |text: &str| item(&[("shipping_weight", text)]).grams();
        assert_eq!(grams("0.5 kg"), Ok(Some(500)));
        assert_eq!(grams("20g"), Ok(Some(20)));
        assert_eq!(grams("1 lb"), Ok(Some(454)));
        assert_eq!(grams("0 kg"), Ok(None));
        for wrong in ["5", "kg", "5 stone", "1.2.3 kg", "9999999999999999 kg"] {
            assert!(grams(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_item_has_a_bound() {
        let mut item = FeedItem::new(1);
        assert!((0..MOST_ATTRIBUTES).all(|_| item.add("a".to_owned(), "b")));
        assert!(!item.add("a".to_owned(), "b"));
        assert!(!FeedItem::new(1).add("a".to_owned(), &"b".repeat(super::super::LONGEST_ITEM)));
    }
}
