//! An index of a whole directory, in memory.
//!
//! It answers queries over locations and groups them by merchant where merchants are asked for. Of a merchant it keeps
//! only what decides about queries; documents stay where they are. An index does not change: when the directory does, a
//! new one takes its place.
//!
//! Ranking depends on nothing but the query and what is ranked, so that an entry keeps its place when others come and
//! go, and a page goes on strictly after the sort key of the one before.

mod best;
mod grid;
mod position;
mod search;
mod terms;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use jiff::tz::TimeZone;
use ucp_core::{
    catalog::filter::CategoryPath,
    merchant::{
        address::AddressPlace,
        geo::Point,
        record::{Location, Merchant, Method},
        schedule::{self, Timetable},
    },
    text::fold,
};

use self::{
    grid::{Grid, Spot},
    terms::{Terms, TermsBuilder},
};
use super::words::indexed_terms;

/// Weights of a term: in a name, in a tag, category or town, in a description (each hit counts once, where it counts
/// most).
const IN_NAME: u8 = 4;
const IN_TAG: u8 = 2;
const IN_DESCRIPTION: u8 = 1;

/// A number that stands for a text; 0 for none.
type Symbol = u32;

/// Index of all merchants and public locations of a directory.
#[derive(Debug, Default)]
pub struct Index {
    merchants: Vec<Entry>,
    sites: Vec<Site>,
    /// Merchants and locations in the order of their folded names and ids.
    merchants_by_name: Vec<u32>,
    sites_by_name: Vec<u32>,
    grid: Grid,
    merchant_terms: Terms,
    /// Terms of the names and towns of locations, in addition to those of their merchants.
    site_terms: Terms,
    categories: Vec<CategoryPath>,
    countries: Symbols,
    regions: Symbols,
    localities: Symbols,
    postal_codes: Symbols,
    amenities: Symbols,
    timetables: Vec<Timetable>,
    zones: Vec<TimeZone>,
    /// The timetable and the zone of each schedule.
    schedules: Vec<(u32, u16)>,
}

/// A merchant.
#[derive(Debug)]
struct Entry {
    id: Box<str>,
    /// The folded name.
    name: Box<str>,
    /// Its place among all merchants by name.
    rank: u32,
    /// Its category as an index from 1, or 0.
    category: u32,
    /// Its public locations: from here, so many.
    first_site: u32,
    sites: u32,
}

/// A public location.
#[derive(Debug)]
struct Site {
    id: Box<str>,
    /// The folded name.
    name: Box<str>,
    /// Its place among all locations by name.
    rank: u32,
    merchant: u32,
    point: Option<Point>,
    /// Its schedule as an index from 1, or 0 where its hours are unknown or mean nothing, which is never open.
    schedule: u32,
    methods: u8,
    country: Symbol,
    region: Symbol,
    locality: Symbol,
    postal_code: Symbol,
    amenities: Box<[Symbol]>,
}

/// Texts that occur again and again.
#[derive(Debug, Default)]
struct Symbols(HashMap<Box<str>, Symbol>);

impl Symbols {
    fn intern(&mut self, text: Option<&str>) -> Symbol {
        let Some(text) = text else { return 0 };
        if let Some(symbol) = self.0.get(text) {
            return *symbol;
        }
        let symbol = ordinal(self.0.len() + 1);
        self.0.insert(text.into(), symbol);
        symbol
    }

    /// The number of a text, if it occurs.
    fn get(&self, text: &str) -> Option<Symbol> {
        self.0.get(text).copied()
    }
}

/// A position in a list. No directory has four thousand million of anything.
fn ordinal(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

const fn bit(method: Method) -> u8 {
    match method {
        Method::Pickup => 1,
        Method::Delivery => 2,
        Method::Shipping => 4,
    }
}

/// Collects the merchants of a directory for an [`Index`].
#[derive(Debug, Default)]
pub struct IndexBuilder {
    index: Index,
    merchant_terms: TermsBuilder,
    site_terms: TermsBuilder,
    categories: HashMap<CategoryPath, u32>,
    timetables: HashMap<Timetable, u32>,
    zones: HashMap<Box<str>, u16>,
    schedules: HashMap<(u32, u16), u32>,
}

impl IndexBuilder {
    /// Adds a merchant that passed [`Merchant::check`] or came out of [`Merchant::salvage`]. Ids have to be unique.
    pub fn add(&mut self, merchant: &Merchant) {
        let own = ordinal(self.index.merchants.len());
        let mut terms = terms_of(merchant);
        let category = merchant.category.as_deref().map_or(0, |category| {
            let next = ordinal(self.categories.len() + 1);
            *self.categories.entry(CategoryPath::new(category)).or_insert(next)
        });
        let first_site = ordinal(self.index.sites.len());
        for location in merchant.locations.iter().filter(|location| location.public) {
            self.add_site(own, merchant, location, &terms);
        }
        for (term, weight) in terms.drain() {
            self.merchant_terms.add(term, own, weight);
        }
        self.index.merchants.push(Entry {
            id: merchant.id.as_str().into(),
            name: fold(&merchant.name).into(),
            rank: 0,
            category,
            first_site,
            sites: ordinal(self.index.sites.len()) - first_site,
        });
    }

    fn add_site(&mut self, merchant: u32, of: &Merchant, location: &Location, merchants_terms: &HashMap<String, u8>) {
        let own = ordinal(self.index.sites.len());
        let address = location.address.as_ref();
        let place = address.map(AddressPlace::of).unwrap_or_default();

        let mut terms = HashMap::new();
        let names = std::iter::once(&location.name).chain(location.names.values());
        names.for_each(|name| note(&mut terms, name, IN_NAME));
        if let Some(town) = address.and_then(|address| address.address_locality.as_deref()) {
            note(&mut terms, town, IN_TAG);
        }
        for (term, weight) in terms {
            let surplus = weight.saturating_sub(merchants_terms.get(&term).copied().unwrap_or_default());
            if surplus > 0 {
                self.site_terms.add(term, own, surplus);
            }
        }

        let index = &mut self.index;
        let mut amenities: Vec<_> =
            location.amenities.keys().map(|amenity| index.amenities.intern(Some(amenity))).collect();
        amenities.sort_unstable();
        let site = Site {
            id: location.id.as_str().into(),
            name: fold(&location.name).into(),
            rank: 0,
            merchant,
            point: location.point(),
            schedule: 0,
            methods: of.methods_at(location).iter().fold(0, |methods, method| methods | bit(*method)),
            country: index.countries.intern(place.country.as_deref()),
            region: index.regions.intern(place.region.as_deref()),
            locality: index.localities.intern(place.locality.as_deref()),
            postal_code: index.postal_codes.intern(place.postal_code.as_deref()),
            amenities: amenities.into(),
        };
        let schedule = self.schedule_of(location).unwrap_or_default();
        self.index.sites.push(Site { schedule, ..site });
    }

    /// The number of a location's hours in their zone.
    fn schedule_of(&mut self, location: &Location) -> Option<u32> {
        if location.hours.is_none() && location.exception_hours.is_empty() {
            return None;
        }
        let name = location.timezone.as_deref()?;
        let zone = match self.zones.get(name) {
            Some(zone) => *zone,
            None => {
                self.index.zones.push(schedule::zone(name).ok()?);
                let zone = u16::try_from(self.zones.len()).ok()?;
                self.zones.insert(name.into(), zone);
                zone
            }
        };
        let timetable = Timetable::new(location.hours.as_deref(), &location.exception_hours).ok()?;
        let next = ordinal(self.timetables.len());
        let timetable = *self.timetables.entry(timetable).or_insert(next);
        let next = ordinal(self.schedules.len() + 1);
        Some(*self.schedules.entry((timetable, zone)).or_insert(next))
    }

    /// The index of everything that was added.
    pub fn finish(self) -> Index {
        let mut index = self.index;
        index.merchant_terms = self.merchant_terms.finish();
        index.site_terms = self.site_terms.finish();
        index.categories = in_order(self.categories);
        index.timetables = in_order(self.timetables);
        index.schedules = in_order(self.schedules);
        index.merchants_by_name = order(index.merchants.len(), |own| {
            let entry = &index.merchants[own as usize];
            (&entry.name, &entry.id)
        });
        for (rank, own) in (0..).zip(&index.merchants_by_name) {
            index.merchants[*own as usize].rank = rank;
        }
        index.sites_by_name = order(index.sites.len(), |own| {
            let site = &index.sites[own as usize];
            (&site.name, &site.id)
        });
        for (rank, own) in (0..).zip(&index.sites_by_name) {
            index.sites[*own as usize].rank = rank;
        }
        let located = (0..).zip(&index.sites).filter_map(|(own, site)| {
            let point = site.point?;
            let alone = index.merchants[site.merchant as usize].sites == 1;
            let position = point.position();
            Some((point, Spot { position, site: own, merchant: site.merchant, schedule: site.schedule, alone }))
        });
        index.grid = Grid::new(located);
        index
    }
}

impl Index {
    /// Returns the number of merchants.
    pub fn merchants(&self) -> usize {
        self.merchants.len()
    }

    /// Returns the number of public locations.
    pub fn locations(&self) -> usize {
        self.sites.len()
    }
}

/// The terms of a merchant, each with its greatest weight.
fn terms_of(merchant: &Merchant) -> HashMap<String, u8> {
    let mut terms = HashMap::new();
    let translations = || merchant.translations.values();
    let names = std::iter::once(&merchant.name).chain(translations().filter_map(|texts| texts.name.as_ref()));
    names.for_each(|name| note(&mut terms, name, IN_NAME));
    merchant.tags.iter().chain(&merchant.category).for_each(|tag| note(&mut terms, tag, IN_TAG));
    let descriptions = merchant.description.iter().chain(translations().filter_map(|texts| texts.description.as_ref()));
    descriptions
        .filter_map(|description| description.plain.as_deref())
        .for_each(|text| note(&mut terms, text, IN_DESCRIPTION));
    terms
}

fn note(terms: &mut HashMap<String, u8>, text: &str, weight: u8) {
    for term in indexed_terms(text) {
        let known = terms.entry(term).or_default();
        *known = weight.max(*known);
    }
}

fn in_order<T>(numbered: HashMap<T, u32>) -> Vec<T> {
    let mut pairs: Vec<_> = numbered.into_iter().collect();
    pairs.sort_unstable_by_key(|(_, number)| *number);
    pairs.into_iter().map(|(value, _)| value).collect()
}

fn order<'a>(length: usize, key: impl Fn(u32) -> (&'a Box<str>, &'a Box<str>)) -> Vec<u32> {
    let mut all: Vec<_> = (0..ordinal(length)).collect();
    all.sort_unstable_by(|a, b| key(*a).cmp(&key(*b)));
    all
}
