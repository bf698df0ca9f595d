//! A merchant as an answer shows it: in the caller's language, with the locations that buyers may know of.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

use super::{
    hours::ExceptionHours,
    record::{Location, Merchant, Translation},
    schedule::{Local, zone},
};
use crate::catalog::product::Description;

/// A merchant in an answer.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The merchant, with everything that is stated of it.
    pub merchant: Arc<Merchant>,
    /// The positions of the locations to show, in this order.
    pub locations: Vec<usize>,
    /// The tag of the translation to show; `None` shows the merchant's own texts.
    pub translation: Option<String>,
}

impl Listing {
    /// A merchant in the first of these languages that it has texts in. The locations of these ids come first, in this
    /// order, then the other public ones.
    pub fn new(merchant: Arc<Merchant>, first: &[String], languages: &[String]) -> Self {
        let turns: HashMap<&str, usize> = first.iter().enumerate().map(|(turn, id)| (id.as_str(), turn)).collect();
        let public = (0..merchant.locations.len()).filter(|place| merchant.locations[*place].public);
        let mut locations: Vec<_> = public.collect();
        locations.sort_by_key(|place| turns.get(merchant.locations[*place].id.as_str()).copied().unwrap_or(usize::MAX));
        let translation = translation(&merchant, languages).map(str::to_owned);
        Self { merchant, locations, translation }
    }

    /// The name to show.
    pub fn name(&self) -> &str {
        let translated = self.texts().and_then(|texts| texts.name.as_deref());
        translated.unwrap_or(&self.merchant.name)
    }

    /// The description to show.
    pub fn description(&self) -> Option<&Description> {
        let translated = self.texts().and_then(|texts| texts.description.as_ref());
        translated.or(self.merchant.description.as_ref())
    }

    /// The locations to show, in order, each with its name.
    pub fn locations(&self) -> impl Iterator<Item = (&Location, &str)> {
        self.locations.iter().map(|place| {
            let location = &self.merchant.locations[*place];
            (location, name_of(location, self.translation.as_deref()))
        })
    }

    fn texts(&self) -> Option<&Translation> {
        self.merchant.translations.get(self.translation.as_deref()?)
    }
}

/// The name of a location in this translation of its merchant, where it has one.
pub fn name_of<'a>(location: &'a Location, translation: Option<&str>) -> &'a str {
    translation.and_then(|tag| location.names.get(tag)).unwrap_or(&location.name)
}

/// The tag of the translation in the first of these languages that a merchant has texts in; `None` for its own.
///
/// A tag matches itself, or else one with the same primary language (RFC 4647 lookup).
pub fn translation<'a>(merchant: &'a Merchant, languages: &[String]) -> Option<&'a str> {
    fn primary(tag: &str) -> &str {
        tag.split(['-', '_']).next().unwrap_or_default()
    }
    let own = || merchant.language.iter().map(|own| (own, None));
    let names = merchant.locations.iter().flat_map(|location| location.names.keys());
    let others = || merchant.translations.keys().chain(names.clone()).map(|tag| (tag, Some(tag.as_str())));
    languages
        .iter()
        .find_map(|wanted| {
            own()
                .chain(others())
                .find(|(tag, _)| tag.eq_ignore_ascii_case(wanted))
                .or_else(|| own().chain(others()).find(|(tag, _)| primary(tag).eq_ignore_ascii_case(primary(wanted))))
        })
        .and_then(|(_, translation)| translation)
}

/// Returns the occasion of the exception to the weekly hours that rules today at a location: `None` without an exception,
/// `Some(None)` for one without a name.
pub fn occasion(location: &Location, instant: Timestamp) -> Option<Option<&str>> {
    if location.exception_hours.is_empty() {
        return None;
    }
    let today = Local::at(instant, &zone(location.timezone.as_deref()?).ok()?).date();
    let ruling = |hours: &&ExceptionHours| hours.valid_from <= today && today <= hours.valid_through;
    let mut ruling = location.exception_hours.iter().filter(ruling).peekable();
    ruling.peek()?;
    Some(ruling.find_map(|hours| hours.title.as_deref()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listing(first: &[&str], languages: &[&str]) -> Listing {
        let merchant = json!({
            "id": "m", "name": "Night Owl", "language": "en",
            "description": { "plain": "Pizza" },
            "translations": { "ja-JP": { "name": "ナイトオウル" }, "es": { "description": { "plain": "Pizzas" } } },
            "locations": [
                { "id": "a", "name": "First" },
                { "id": "hidden", "name": "Kitchen", "public": false },
                { "id": "b", "name": "Second", "names": { "ja-JP": "二番" } },
                { "id": "c", "name": "Third" },
            ]
        });
        let merchant: Merchant = serde_json::from_value(merchant).expect("a merchant");
        let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Listing::new(Arc::new(merchant), &strings(first), &strings(languages))
    }

    #[test]
    fn what_is_public_is_shown_in_the_order_asked_for() {
        let names = |listing: &Listing| listing.locations().map(|(_, name)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&listing(&[], &[])), ["First", "Second", "Third"]);
        assert_eq!(names(&listing(&["c", "hidden", "b"], &["ja"])), ["Third", "二番", "First"]);
    }

    #[test]
    fn languages_are_tried_in_the_order_of_preference() {
        let shown = |languages: &[&str]| {
            let listing = listing(&[], languages);
            (listing.name().to_owned(), listing.description().and_then(|text| text.plain.clone()).expect("a text"))
        };
        let expect = |got: (String, String), name: &str, text: &str| assert_eq!(got, (name.into(), text.into()));
        expect(shown(&[]), "Night Owl", "Pizza");
        expect(shown(&["ja"]), "ナイトオウル", "Pizza");
        expect(shown(&["en-GB", "ja"]), "Night Owl", "Pizza");
        expect(shown(&["fr", "ES-mx"]), "Night Owl", "Pizzas");
        expect(shown(&["", "-"]), "Night Owl", "Pizza");
    }
}
