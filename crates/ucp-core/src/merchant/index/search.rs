//! Answering a query.
//!
//! Candidates come from the [grid](super::grid) where a circle is asked for, else from everywhere. A candidate's distance
//! is bounded by its chord first; geodesics are worked out only at the rim of the circle and for what may be on the page.

use std::{cell::RefCell, cmp::Reverse};

use jiff::Timestamp;

use super::{Index, Site, Symbol, position::Position};
use crate::{
    Refusal,
    merchant::{
        address::Place,
        geo::{Chord, Point, Position as InSpace},
        port::{Criteria, Hit, LocationHit, Page, Preference, Query},
        schedule::Local,
        words::sought_terms,
    },
};

/// What a query demands of a location, in the index's numbers.
struct Demand<'a> {
    index: &'a Index,
    center: Option<(Point, InSpace, f64)>,
    open_at: Option<Timestamp>,
    /// What the clocks of each zone show at that instant, as far as anyone asked.
    clocks: RefCell<Vec<Option<Local>>>,
    methods: u8,
    /// `None` where no location has one of them.
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

/// Something that may be on the page.
#[derive(Clone, Copy)]
struct Candidate {
    relevance: u32,
    chord: Chord,
    rank: u32,
    own: u32,
}

impl Candidate {
    /// Orders candidates by what is known without working out a geodesic.
    fn key(&self) -> (Reverse<u32>, u64, u32) {
        (Reverse(self.relevance), self.chord.order(), self.rank)
    }
}

impl<'a> Demand<'a> {
    fn new(index: &'a Index, criteria: &Criteria, preference: &Preference) -> Self {
        let center = criteria.within.map(|circle| (circle.center, circle.center.position(), circle.max));
        let amenities = criteria.amenities.iter().map(|amenity| index.amenities.get(amenity)).collect();
        let preferred = if center.is_some() { Vec::new() } else { index.addresses(&preference.place, false) };
        Self {
            index,
            center,
            open_at: criteria.open_at,
            clocks: RefCell::new(vec![None; index.zones.len()]),
            methods: criteria.methods.iter().fold(0, |methods, method| methods | super::bit(*method)),
            amenities,
            place: criteria.place.as_ref().map(|place| index.addresses(place, true)),
            preferred,
        }
    }

    /// Whether a location has what is demanded, and the straight line to it; 0 where there is nothing to measure from.
    fn admits(&self, site: &Site) -> Option<Chord> {
        let suits = (self.methods == 0 || self.methods & site.methods != 0)
            && self
                .amenities
                .as_ref()
                .is_some_and(|sought| sought.iter().all(|amenity| site.amenities.binary_search(amenity).is_ok()))
            && self.place.as_ref().is_none_or(|places| {
                places.get(site.country as usize).copied().flatten().is_some_and(|address| address.is_of(site))
            });
        if !suits {
            return None;
        }
        let chord = match self.center {
            None => Chord::ZERO,
            Some((center, position, max)) => {
                let (point, own) = site.point?;
                let chord = position.chord(own);
                let inside = chord.at_least() <= max && (chord.at_most() <= max || center.distance(point) <= max);
                inside.then_some(chord)?
            }
        };
        self.open_at.is_none_or(|instant| self.is_open(site, instant)).then_some(chord)
    }

    fn is_open(&self, site: &Site, instant: Timestamp) -> bool {
        let Some((timetable, zone)) = site.schedule else { return false };
        let mut clocks = self.clocks.borrow_mut();
        let shown = clocks[zone as usize].get_or_insert_with(|| Local::at(instant, &self.index.zones[zone as usize]));
        self.index.timetables[timetable as usize].open(shown)
    }

    /// The length of the geodesic to a location; 0 where there is nothing to measure from.
    fn distance(&self, site: &Site) -> f64 {
        match (self.center, site.point) {
            (Some((center, ..)), Some((point, _))) => center.distance(point),
            _ => 0.0,
        }
    }

    /// How close a location is to where the buyer roughly is, from 0 to 3.
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

impl Address {
    fn is_of(self, site: &Site) -> bool {
        let agrees = |sought: Symbol, own: Symbol| sought == 0 || sought == own;
        agrees(self.country, site.country)
            && agrees(self.region, site.region)
            && agrees(self.locality, site.locality)
            && agrees(self.postal_code, site.postal_code)
    }
}

/// How well texts fit a query: words first, what the buyer is after last.
struct Scores {
    /// By merchant and by location; `None` where no words are sought.
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
            if with_sites {
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

/// Where closeness stands in the relevance: after the words, before the intent.
const CLOSENESS: u32 = 8;

impl Index {
    /// One page of the merchants that a query finds.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) for a position that no index gave.
    pub fn find(&self, query: &Query) -> Result<Page<Hit>, Refusal> {
        let after = query.after.as_deref().map(Position::decode).transpose()?;
        let demand = Demand::new(self, &query.criteria, &query.preference);
        let scores = Scores::new(self, query, false);
        let categories = self.categories_in(&query.criteria);
        let relevance = |own: u32| {
            let fits = categories.as_ref().is_none_or(|fit| fit[self.merchants[own as usize].category as usize]);
            fits.then(|| scores.relevance(own, None)).flatten()
        };

        let mut candidates = Vec::new();
        if let Some(circle) = query.criteria.within {
            // Where a merchant stands among the candidates, counted from 1.
            let mut places = vec![0_u32; self.merchants.len()];
            for site in self.grid.near(circle).map(|site| &self.sites[site as usize]) {
                let Some(relevance) = relevance(site.merchant) else { continue };
                let Some(chord) = demand.admits(site) else { continue };
                let place = &mut places[site.merchant as usize];
                if *place == 0 {
                    let rank = self.merchants[site.merchant as usize].rank;
                    candidates.push(Candidate { relevance, chord, rank, own: site.merchant });
                    *place = super::ordinal(candidates.len());
                } else {
                    let candidate = &mut candidates[*place as usize - 1];
                    if chord < candidate.chord {
                        candidate.chord = chord;
                    }
                }
            }
        } else {
            let located = query.criteria.concern_locations();
            for (own, entry) in (0..).zip(&self.merchants) {
                let Some(relevance) = relevance(own) else { continue };
                let admitted = || self.sites_of(own).iter().filter(|site| demand.admits(site).is_some());
                if located && admitted().next().is_none() {
                    continue;
                }
                let closeness = match demand.preferred.is_empty() {
                    true => 0,
                    false => admitted().map(|site| demand.closeness(site)).max().unwrap_or_default(),
                };
                let relevance = relevance | closeness << CLOSENESS;
                candidates.push(Candidate { relevance, chord: Chord::ZERO, rank: entry.rank, own });
            }
        }

        let nearest = |own: u32| {
            let admitted = || self.sites_of(own).iter().filter_map(|site| Some((demand.admits(site)?, site)));
            let bound = admitted().map(|(chord, _)| chord.at_most()).fold(f64::INFINITY, f64::min);
            let near = admitted().filter(|(chord, _)| chord.at_least() <= bound);
            near.map(|(_, site)| demand.distance(site)).fold(f64::INFINITY, f64::min)
        };
        let bound = |after: &Position| {
            let by_name = &self.merchants_by_name;
            by_name.partition_point(|own| {
                let entry = &self.merchants[*own as usize];
                (&*entry.name, &*entry.id) <= (after.name.as_str(), after.id.as_str())
            })
        };
        let total = candidates.len();
        let measure: Option<&dyn Fn(u32) -> f64> = if demand.center.is_some() { Some(&nearest) } else { None };
        let (page, more) = first(candidates, after.as_ref(), query.limit, measure, &bound);
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

    /// One page of the locations that a query finds.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) for a position that no index gave.
    pub fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, Refusal> {
        let after = query.after.as_deref().map(Position::decode).transpose()?;
        let demand = Demand::new(self, &query.criteria, &query.preference);
        let scores = Scores::new(self, query, true);
        let categories = self.categories_in(&query.criteria);
        let candidate = |own: u32| {
            let site = &self.sites[own as usize];
            let category = self.merchants[site.merchant as usize].category as usize;
            if categories.as_ref().is_some_and(|fit| !fit[category]) {
                return None;
            }
            let relevance = scores.relevance(site.merchant, Some(own))?;
            let chord = demand.admits(site)?;
            let relevance = relevance | demand.closeness(site) << CLOSENESS;
            Some(Candidate { relevance, chord, rank: site.rank, own })
        };
        let candidates: Vec<_> = match query.criteria.within {
            Some(circle) => self.grid.near(circle).filter_map(candidate).collect(),
            None => (0..super::ordinal(self.sites.len())).filter_map(candidate).collect(),
        };

        let measure = |own: u32| demand.distance(&self.sites[own as usize]);
        let measure: Option<&dyn Fn(u32) -> f64> = if demand.center.is_some() { Some(&measure) } else { None };
        let bound = |after: &Position| {
            self.sites_by_name.partition_point(|own| {
                let site = &self.sites[*own as usize];
                (&*site.name, &*site.id) <= (after.name.as_str(), after.id.as_str())
            })
        };
        let total = candidates.len();
        let (page, more) = first(candidates, after.as_ref(), query.limit, measure, &bound);
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

    /// Which categories a query admits, by their numbers; `None` admits every merchant.
    fn categories_in(&self, criteria: &Criteria) -> Option<Vec<bool>> {
        let sought = criteria.category.as_ref()?;
        Some(std::iter::once(false).chain(self.categories.iter().map(|own| sought.contains(own))).collect())
    }

    /// The numbers of a place in every country; `None` for a country in which no location can be there.
    ///
    /// With `all`, a member that no location has makes the address nobody's; otherwise it asks for nothing.
    fn addresses(&self, place: &Place, all: bool) -> Vec<Option<Address>> {
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

/// The first candidates after a position, with their distances, in order; and whether there are more.
///
/// `measure` works a distance out, where there is something to measure from; `bound` says how many come before or at a
/// position by name.
fn first(
    mut candidates: Vec<Candidate>,
    after: Option<&Position>,
    limit: usize,
    measure: Option<&dyn Fn(u32) -> f64>,
    bound: &dyn Fn(&Position) -> usize,
) -> (Vec<(Candidate, f64)>, bool) {
    let distance = |candidate: &Candidate| measure.map_or(0.0, |measure| measure(candidate.own));
    if let Some(after) = after {
        let bound = super::ordinal(bound(after));
        candidates.retain(|candidate| {
            if candidate.relevance != after.relevance {
                return candidate.relevance < after.relevance;
            }
            if candidate.chord.at_least() > after.distance {
                return true;
            }
            if candidate.chord.at_most() < after.distance {
                return false;
            }
            let distance = distance(candidate);
            distance > after.distance || (distance == after.distance && candidate.rank >= bound)
        });
    }
    let more = candidates.len() > limit;
    if more && limit > 0 {
        let (_, last, _) = candidates.select_nth_unstable_by_key(limit - 1, Candidate::key);
        let least = last.relevance;
        let rest = candidates.split_off(limit);
        if measure.is_some() {
            // Whoever can be as near as the farthest of them may belong before it.
            let of_last = candidates.iter().filter(|candidate| candidate.relevance == least);
            let reach = of_last.map(|candidate| candidate.chord.at_most()).fold(0.0, f64::max);
            let near = |candidate: &Candidate| candidate.relevance == least && candidate.chord.at_least() <= reach;
            candidates.extend(rest.into_iter().filter(near));
        }
    }
    let mut page: Vec<_> = candidates.into_iter().map(|candidate| (candidate, distance(&candidate))).collect();
    page.sort_unstable_by_key(|(candidate, distance)| {
        (Reverse(candidate.relevance), distance.to_bits(), candidate.rank)
    });
    page.truncate(limit);
    (page, more)
}
