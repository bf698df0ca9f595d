//! Answering a query.
//!
//! Candidates come from the [grid](super::grid) where a circle is asked for, else from everywhere. What costs least is
//! judged first: chords rule out most of what lies outside a circle, and geodesics are worked out only at its rim and
//! for what may be on the page; then words, then opening hours, each schedule once per query.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use jiff::Timestamp;
use ucp_core::{
    Refusal,
    merchant::{
        address::AddressPlace,
        criteria::{Circle, Criteria},
        geo::{Chord, Point, Position as InSpace, Rim},
        schedule::Local,
    },
};

use super::{
    super::{
        port::{Hit, LocationHit, Page, Preference, Query},
        words::sought_terms,
    },
    Index, Site, Spot, Symbol,
    best::{After, Best, Candidate},
    position::Position,
};

/// Criteria of a query, as numbers of the index.
struct Demand<'a> {
    index: &'a Index,
    center: Option<Center>,
    open_at: Option<Opening>,
    methods: u8,
    /// Amenities; `None` if no location has one of them.
    amenities: Option<Vec<Symbol>>,
    /// By country of the location, what its address has to say.
    place: Option<Vec<Option<Address>>>,
    preferred: Vec<Option<Address>>,
}

/// The numbers of an address; 0 asks for nothing.
#[derive(Clone, Copy)]
struct Address {
    country: Symbol,
    region: Symbol,
    locality: Symbol,
    postal_code: Symbol,
}

/// A circle, and what is worked out of it once.
struct Center {
    circle: Circle,
    position: InSpace,
    rim: Rim,
}

/// An instant at which locations have to be open.
struct Opening {
    instant: Timestamp,
    /// Local time of each zone, computed on demand.
    clocks: RefCell<Vec<Option<Local>>>,
    /// Result of each schedule, computed on demand.
    verdicts: Box<[Cell<Option<bool>>]>,
}

impl Center {
    fn new(circle: Circle) -> Self {
        Self { circle, position: circle.center.position(), rim: Rim::new(circle.max) }
    }

    /// The straight line to a position in the circle.
    fn holds(&self, position: InSpace, point: impl FnOnce() -> Point) -> Option<Chord> {
        let chord = self.position.chord(position);
        self.rim.holds(chord).unwrap_or_else(|| self.circle.holds(point())).then_some(chord)
    }
}

impl<'a> Demand<'a> {
    fn new(index: &'a Index, criteria: &Criteria, preference: &Preference) -> Self {
        let center = criteria.within.map(Center::new);
        let amenities = criteria.amenities.iter().map(|amenity| index.amenities.get(amenity)).collect();
        let preferred = if center.is_some() { Vec::new() } else { index.addresses(&preference.place, false) };
        let opening = |instant| Opening {
            instant,
            clocks: RefCell::new(vec![None; index.zones.len()]),
            verdicts: vec![Cell::new(None); index.schedules.len()].into(),
        };
        Self {
            index,
            center,
            open_at: criteria.open_at.map(opening),
            methods: criteria.methods.iter().fold(0, |methods, method| methods | super::bit(*method)),
            amenities,
            place: criteria.place.as_ref().map(|place| index.addresses(place, true)),
            preferred,
        }
    }

    /// Returns the straight line to a location if it meets the criteria; 0 if the query has no center.
    fn admits(&self, site: &Site) -> Option<Chord> {
        if !self.suits(site) {
            return None;
        }
        let chord = match &self.center {
            None => Chord::ZERO,
            Some(center) => {
                let point = site.point?;
                center.holds(point.position(), || point)?
            }
        };
        self.is_open(site.schedule).then_some(chord)
    }

    /// The same for a location on the map of which a text, or whatever `words` asks for, may demand more.
    fn admits_spot<T>(&self, center: &Center, spot: &Spot, words: impl FnOnce() -> Option<T>) -> Option<(Chord, T)> {
        let site = || &self.index.sites[spot.site as usize];
        let chord = center.holds(spot.position, || site().point.unwrap_or(center.circle.center))?;
        let found = words()?;
        let admitted = self.is_open(spot.schedule) && (self.is_plain() || self.suits(site()));
        admitted.then_some((chord, found))
    }

    /// Returns `true` if a circle and opening hours are the only criteria.
    fn is_plain(&self) -> bool {
        self.methods == 0 && self.place.is_none() && self.amenities.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns `true` if a location meets the criteria that depend on neither distance nor time.
    fn suits(&self, site: &Site) -> bool {
        (self.methods == 0 || self.methods & site.methods != 0)
            && self
                .amenities
                .as_ref()
                .is_some_and(|sought| sought.iter().all(|amenity| site.amenities.binary_search(amenity).is_ok()))
            && self.place.as_ref().is_none_or(|places| {
                places.get(site.country as usize).copied().flatten().is_some_and(|address| address.is_of(site))
            })
    }

    /// Returns `true` if a schedule (an index from 1) is open at the requested time, or none is requested.
    fn is_open(&self, schedule: u32) -> bool {
        let Some(opening) = &self.open_at else { return true };
        let Some(own) = schedule.checked_sub(1) else { return false };
        let verdict = &opening.verdicts[own as usize];
        verdict.get().unwrap_or_else(|| {
            let open = opening.judge(self.index, self.index.schedules[own as usize]);
            verdict.set(Some(open));
            open
        })
    }

    /// The length of the geodesic to a location; 0 where there is nothing to measure from.
    fn distance(&self, site: &Site) -> f64 {
        match (&self.center, site.point) {
            (Some(center), Some(point)) => center.circle.center.distance(point),
            _ => 0.0,
        }
    }

    /// Returns the closeness of a location to the approximate position of the buyer, from 0 to 3.
    fn closeness(&self, site: &Site) -> u32 {
        match self.preferred.get(site.country as usize).copied().flatten() {
            Some(address) if address.country != 0 && address.country == site.country => {
                let region = address.region != 0 && address.region == site.region;
                let code = address.postal_code != 0 && address.postal_code == site.postal_code;
                1 + u32::from(region) + u32::from(region && code)
            }
            _ => 0,
        }
    }
}

impl Opening {
    fn judge(&self, index: &Index, (timetable, zone): (u32, u16)) -> bool {
        let mut clocks = self.clocks.borrow_mut();
        let shown = clocks[zone as usize].get_or_insert_with(|| Local::at(self.instant, &index.zones[zone as usize]));
        index.timetables[timetable as usize].open(shown)
    }
}

impl Address {
    fn is_of(self, site: &Site) -> bool {
        let agrees = |sought: Symbol, own: Symbol| sought == 0 || sought == own;
        agrees(self.country, site.country)
            && agrees(self.region, site.region)
            && agrees(self.locality, site.locality)
            && agrees(self.postal_code, site.postal_code)
    }
}

/// Scores of texts: the words of the query first, the intent of the buyer last.
struct Scores {
    /// Scores by merchant and by location; `None` if the query has no words.
    words: Option<(Vec<u16>, Vec<u16>)>,
    intent: Option<(Vec<u16>, Vec<u16>)>,
}

impl Scores {
    fn new(index: &Index, query: &Query, with_sites: bool) -> Self {
        let score = |text: &str| {
            let terms = sought_terms(text);
            let mut merchants = vec![0; index.merchants.len()];
            index.merchant_terms.score(&terms, &mut merchants);
            let mut sites = Vec::new();
            if with_sites && index.site_terms.any(&terms) {
                sites.resize(index.sites.len(), 0);
                index.site_terms.score(&terms, &mut sites);
            }
            (merchants, sites)
        };
        let nearest_first = query.criteria.within.is_some();
        let intent = query.preference.intent.as_deref().filter(|_| !nearest_first);
        Self { words: query.text.as_deref().map(score), intent: intent.map(score) }
    }

    /// The relevance of a merchant or one of its locations as far as texts decide; `None` where no word is found.
    fn relevance(&self, merchant: u32, site: Option<u32>) -> Option<u32> {
        let of = |(merchants, sites): &(Vec<u16>, Vec<u16>)| {
            let own = site.and_then(|site| sites.get(site as usize)).copied().unwrap_or_default();
            u32::from(merchants[merchant as usize]) + u32::from(own)
        };
        let words = match self.words.as_ref().map(of) {
            Some(0) => return None,
            Some(words) => words,
            None => 0,
        };
        Some(words << 16 | self.intent.as_ref().map_or(0, of).min(0xFF))
    }
}

/// Position of closeness in the relevance: after the words, before the intent.
const CLOSENESS: u32 = 8;

impl Index {
    /// One page of the merchants that a query finds. Fails with [`InvalidCursor`](ucp_core::Code::InvalidCursor) for an
    /// invalid position.
    pub fn find(&self, query: &Query) -> Result<Page<Hit>, Refusal> {
        let after = after(query, &self.merchants_by_name, |own| {
            let entry = &self.merchants[own as usize];
            (&entry.name, &entry.id)
        })?;
        let demand = Demand::new(self, &query.criteria, &query.preference);
        let scores = Scores::new(self, query, false);
        let categories = self.categories_in(&query.criteria);
        let relevance = |own: u32| {
            let fits = categories.as_ref().is_none_or(|fit| fit[self.merchants[own as usize].category as usize]);
            fits.then(|| scores.relevance(own, None)).flatten()
        };

        let nearest = |own: u32| {
            let admitted = || self.sites_of(own).iter().filter_map(|site| Some((demand.admits(site)?, site)));
            let bound = admitted().map(|(chord, _)| chord.at_most()).fold(f64::INFINITY, f64::min);
            let near = admitted().filter(|(chord, _)| chord.at_least() <= bound);
            near.map(|(_, site)| demand.distance(site)).fold(f64::INFINITY, f64::min)
        };
        let measure: Option<&dyn Fn(u32) -> f64> = if demand.center.is_some() { Some(&nearest) } else { None };
        let mut best = Best::new(query.limit, after.as_ref(), measure);
        let candidate =
            |relevance, chord, own: u32| Candidate { relevance, chord, rank: self.merchants[own as usize].rank, own };
        if let Some(center) = &demand.center {
            // Of merchants with several locations, the nearest that is admitted.
            let mut several: HashMap<u32, (u32, Chord)> = HashMap::new();
            for spot in self.grid.near(center.circle) {
                let admitted = demand.admits_spot(center, spot, || relevance(spot.merchant));
                let Some((chord, relevance)) = admitted else { continue };
                if spot.alone {
                    best.add(candidate(relevance, chord, spot.merchant));
                } else {
                    let (_, nearest) = several.entry(spot.merchant).or_insert((relevance, chord));
                    if chord < *nearest {
                        *nearest = chord;
                    }
                }
            }
            for (own, (relevance, chord)) in several {
                best.add(candidate(relevance, chord, own));
            }
        } else {
            let located = query.criteria.concern_locations();
            for own in 0..super::ordinal(self.merchants.len()) {
                let Some(relevance) = relevance(own) else { continue };
                let admitted = || self.sites_of(own).iter().filter(|site| demand.admits(site).is_some());
                if located && admitted().next().is_none() {
                    continue;
                }
                let closeness = match demand.preferred.is_empty() {
                    true => 0,
                    false => admitted().map(|site| demand.closeness(site)).max().unwrap_or_default(),
                };
                best.add(candidate(relevance | closeness << CLOSENESS, Chord::ZERO, own));
            }
        }
        let (page, more, total) = best.page();
        let next = page.last().filter(|_| more).map(|(candidate, distance)| {
            let entry = &self.merchants[candidate.own as usize];
            let (name, id) = (entry.name.to_string(), entry.id.to_string());
            Position { relevance: candidate.relevance, distance: *distance, name, id }.encode()
        });
        let hit = |(candidate, _): &(Candidate, f64)| {
            let admitted = self.sites_of(candidate.own).iter().filter(|site| demand.admits(site).is_some());
            let mut sites: Vec<_> = admitted.map(|site| (demand.distance(site), &site.id)).collect();
            // Stable: equally near ones stay in the merchant's order.
            sites.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            Hit {
                merchant: self.merchants[candidate.own as usize].id.to_string(),
                locations: sites.into_iter().map(|(_, id)| id.to_string()).collect(),
            }
        };
        Ok(Page { hits: page.iter().map(hit).collect(), next, total: Some(total as u64) })
    }

    /// One page of the locations that a query finds. Fails with [`InvalidCursor`](ucp_core::Code::InvalidCursor) for an
    /// invalid position.
    pub fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, Refusal> {
        let after = after(query, &self.sites_by_name, |own| {
            let site = &self.sites[own as usize];
            (&site.name, &site.id)
        })?;
        let demand = Demand::new(self, &query.criteria, &query.preference);
        let scores = Scores::new(self, query, true);
        let categories = self.categories_in(&query.criteria);
        let relevance = |merchant: u32, own: u32| {
            let category = |fit: &Vec<bool>| fit[self.merchants[merchant as usize].category as usize];
            categories.as_ref().is_none_or(category).then(|| scores.relevance(merchant, Some(own))).flatten()
        };
        let measure = |own: u32| demand.distance(&self.sites[own as usize]);
        let measure: Option<&dyn Fn(u32) -> f64> = if demand.center.is_some() { Some(&measure) } else { None };
        let mut best = Best::new(query.limit, after.as_ref(), measure);
        if let Some(center) = &demand.center {
            for spot in self.grid.near(center.circle) {
                let admitted = demand.admits_spot(center, spot, || relevance(spot.merchant, spot.site));
                let Some((chord, relevance)) = admitted else { continue };
                let rank = self.sites[spot.site as usize].rank;
                best.add(Candidate { relevance, chord, rank, own: spot.site });
            }
        } else {
            for (own, site) in (0..).zip(&self.sites) {
                let Some(relevance) = relevance(site.merchant, own) else { continue };
                let Some(chord) = demand.admits(site) else { continue };
                let relevance = relevance | demand.closeness(site) << CLOSENESS;
                best.add(Candidate { relevance, chord, rank: site.rank, own });
            }
        }
        let (page, more, total) = best.page();
        let next = page.last().filter(|_| more).map(|(candidate, distance)| {
            let site = &self.sites[candidate.own as usize];
            let (name, id) = (site.name.to_string(), site.id.to_string());
            Position { relevance: candidate.relevance, distance: *distance, name, id }.encode()
        });
        let hit = |(candidate, _): &(Candidate, f64)| {
            let site = &self.sites[candidate.own as usize];
            let merchant = self.merchants[site.merchant as usize].id.to_string();
            LocationHit { merchant, location: site.id.to_string() }
        };
        Ok(Page { hits: page.iter().map(hit).collect(), next, total: Some(total as u64) })
    }

    fn sites_of(&self, merchant: u32) -> &[Site] {
        let entry = &self.merchants[merchant as usize];
        &self.sites[entry.first_site as usize..(entry.first_site + entry.sites) as usize]
    }

    /// Returns the numbers of the categories that a query admits; `None` for all merchants.
    fn categories_in(&self, criteria: &Criteria) -> Option<Vec<bool>> {
        let sought = criteria.category.as_ref()?;
        Some(std::iter::once(false).chain(self.categories.iter().map(|own| sought.contains(own))).collect())
    }

    /// The numbers of a place in every country; `None` for a country in which no location can be there.
    ///
    /// With `all`, a member that no location has makes the address nobody's; otherwise it asks for nothing.
    fn addresses(&self, place: &AddressPlace, all: bool) -> Vec<Option<Address>> {
        if place.is_empty() {
            return Vec::new();
        }
        let mut addresses = vec![None; self.countries.0.len() + 1];
        let countries = self.countries.0.iter().map(|(name, own)| (Some(&**name), *own));
        for (country, own) in countries.chain([(None, 0)]) {
            let read = place.read_in(country);
            let number = |symbols: &super::Symbols, text: &Option<String>| match text {
                None => Some(0),
                Some(text) => symbols.get(text).or((!all).then_some(0)),
            };
            // What is not said of the country has not been asked.
            let country = match &place.country {
                None => Some(0),
                Some(_) => number(&self.countries, &place.country),
            };
            let (region, locality, postal_code) = (
                number(&self.regions, &read.region),
                number(&self.localities, &read.locality),
                number(&self.postal_codes, &read.postal_code),
            );
            if let (Some(country), Some(region), Some(locality), Some(postal_code)) =
                (country, region, locality, postal_code)
            {
                addresses[own as usize] = Some(Address { country, region, locality, postal_code });
            }
        }
        addresses
    }
}

/// Returns the start of the page of a query among entries in the order of these names and ids.
fn after<'a>(
    query: &Query,
    by_name: &[u32],
    key: impl Fn(u32) -> (&'a Box<str>, &'a Box<str>),
) -> Result<Option<After>, Refusal> {
    let Some(position) = query.after.as_deref().map(Position::decode).transpose()? else { return Ok(None) };
    let ranks = by_name.partition_point(|own| {
        let (name, id) = key(*own);
        (&**name, &**id) <= (position.name.as_str(), position.id.as_str())
    });
    Ok(Some(After { position, ranks }))
}
