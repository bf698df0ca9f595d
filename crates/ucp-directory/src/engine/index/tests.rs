use std::{cmp::Reverse, collections::HashSet};

use geographiclib_rs::{DirectGeodesic as _, Geodesic};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use ucp_core::merchant::{
    criteria::{Circle, Criteria},
    record::Precision,
};

use super::{
    super::{
        port::{Hit, LocationHit, Page, Preference, Query},
        words::sought_terms,
    },
    *,
};

const NAMES: [&str; 8] =
    ["Night Owl", "Pizza Roma", "Café Noir", "カフェ渋谷", "Late Bites", "Diner", "diner", "Sushi Roma"];
const TOWNS: [(&str, &str, &str, &str); 5] = [
    ("US", "CA", "San Francisco", "94105"),
    ("USA", "California", "Oakland", "94612-1234"),
    ("GB", "", "London", "SW1A 1AA"),
    ("JP", "", "渋谷区", "150-0002"),
    ("", "", "San Francisco", ""),
];
const AMENITIES: [&str; 2] = ["dev.ucp.amenity.wi_fi", "dev.ucp.amenity.parking"];
/// Saturday, 2 o'clock in New York.
const INSTANT: &str = "2026-11-21T07:00:00Z";

fn location() -> impl Strategy<Value = Value> {
    let geo = prop_oneof![
        1 => Just(Value::Null),
        4 => (37.6..38.0, -122.6..-122.2).prop_map(|(latitude, longitude)| json!({ "latitude": latitude, "longitude": longitude })),
        3 => (0..4, 0..4).prop_map(|(y, x)| json!({ "latitude": 37.75 + 0.01 * f64::from(y), "longitude": -122.4 + 0.01 * f64::from(x) })),
        1 => Just(json!({ "latitude": -17.7134, "longitude": 179.97 })),
        1 => Just(json!({ "latitude": -17.7134, "longitude": -179.99 })),
    ];
    let hours = select(vec![
        Value::Null,
        json!([]),
        json!([{ "day": "friday", "opens": "18:00", "closes": "03:00" }]),
        json!([{ "day": "saturday", "opens": "00:00", "closes": "23:59" }]),
    ]);
    let zone = select(vec!["America/Los_Angeles", "America/New_York", "Asia/Tokyo"]);
    let exceptions = select(vec![json!([]), json!([{ "valid_from": "2026-11-21", "valid_through": "2026-11-21" }])]);
    let methods = select(vec![Value::Null, json!([]), json!(["pickup"]), json!(["delivery", "shipping"])]);
    let amenities = prop::sample::subsequence(AMENITIES.to_vec(), 0..=2);
    (geo, hours, zone, exceptions, methods, amenities, select(TOWNS.to_vec()), select(NAMES.to_vec()), prop::bool::weighted(0.9))
        .prop_map(|(geo, hours, zone, exceptions, methods, amenities, town, name, public)| {
            let (country, region, locality, code) = town;
            let amenities: serde_json::Map<_, _> =
                amenities.iter().map(|amenity| ((*amenity).to_owned(), json!({ "description": amenity }))).collect();
            json!({
                "name": name, "geo": geo, "timezone": zone, "hours": hours, "exception_hours": exceptions,
                "methods": methods, "amenities": amenities, "public": public,
                "address": { "address_country": country, "address_region": region, "address_locality": locality, "postal_code": code },
            })
        })
}

fn merchant() -> impl Strategy<Value = Value> {
    let category = select(vec![
        Value::Null,
        json!("Restaurants"),
        json!("Restaurants > Pizza"),
        json!("restaurants>Sushi"),
        json!("Rest"),
    ]);
    let tags = prop::sample::subsequence(vec!["late", "roma", "vegan"], 0..=2);
    let text =
        select(vec![Value::Null, json!({ "plain": "Pizza until late." }), json!({ "plain": "Owls, noir and sushi" })]);
    (select(NAMES.to_vec()), category, tags, text, prop::collection::vec(location(), 0..4)).prop_map(
        |(name, category, tags, text, locations)| {
            json!({ "name": name, "category": category, "tags": tags, "description": text, "locations": locations, "methods": ["pickup", "delivery"] })
        },
    )
}

/// A directory, with ids in no particular order.
fn directory() -> impl Strategy<Value = Vec<Merchant>> {
    prop::collection::vec(merchant(), 0..40).prop_map(|documents| {
        let number = |own: usize, document: Value| {
            let mut document = document;
            document["id"] = json!(format!("m{}", (own * 37) % 101));
            for (place, location) in document["locations"].as_array_mut().expect("a list").iter_mut().enumerate() {
                location["id"] = json!(format!("l{}-{place}", (own * 53) % 101));
            }
            serde_json::from_value::<Merchant>(document).expect("a merchant").check().expect("usable")
        };
        documents.into_iter().enumerate().map(|(own, document)| number(own, document)).collect()
    })
}

fn query() -> impl Strategy<Value = Query> {
    let text = select(vec![
        None,
        Some("late-night pizza"),
        Some("roma"),
        Some("OWL cafe"),
        Some("渋谷 diner"),
        Some("nothing like it"),
        Some("!"),
    ]);
    let category = select(vec![None, None, Some("Restaurants"), Some("restaurants > pizza"), Some("Pizza")]);
    let methods = select(vec![vec![], vec![], vec![Method::Pickup], vec![Method::Shipping, Method::Delivery]]);
    let within = prop_oneof![
        2 => Just(None),
        3 => ((37.75..37.8, -122.42..-122.38), prop_oneof![0.0..30_000.0, Just(2e7)]).prop_map(|((latitude, longitude), max)| {
            Some(Circle { center: Point::new(latitude, longitude).expect("a point"), max })
        }),
        1 => Just(Some(Circle { center: Point::new(37.76, -122.39).expect("a point"), max: 5_000.0 })),
        1 => Just(Some(Circle { center: Point::new(-17.7134, 179.97).expect("a point"), max: 4_243.0 })),
    ];
    let place = select(vec![
        None,
        None,
        Some((Some("us"), None, None, None)),
        Some((None, Some("California"), None, None)),
        Some((Some("US"), Some("CA"), Some("oakland"), Some("94612"))),
        Some((None, None, Some("San Francisco"), None)),
        Some((None, None, None, Some("sw1a1aa"))),
        Some((Some("Mars"), None, None, None)),
    ]);
    let amenities =
        select(vec![vec![], vec![], vec![AMENITIES[0]], AMENITIES.to_vec(), vec!["com.example.unheard_of"]]);
    let preference = select(vec![
        Preference::default(),
        Preference { intent: Some("sushi or noir".into()), ..Preference::default() },
        Preference {
            place: AddressPlace::new(Some("US"), Some("CA"), None, Some("94105")),
            intent: Some("vegan".into()),
        },
        Preference { place: AddressPlace::new(Some("GB"), None, None, None), intent: None },
    ]);
    (text, category, methods, within, place, amenities, preference, prop::bool::weighted(0.3), 1_usize..8).prop_map(
        |(text, category, methods, within, place, amenities, preference, open, limit)| Query {
            text: text.map(str::to_owned),
            criteria: Criteria {
                category: category.map(CategoryPath::new),
                open_at: open.then(|| INSTANT.parse().expect("an instant")),
                methods,
                within,
                place: place
                    .map(|(country, region, locality, code)| AddressPlace::new(country, region, locality, code)),
                amenities: amenities.into_iter().map(str::to_owned).collect(),
            },
            preference,
            limit,
            after: None,
        },
    )
}

/// The rules, location by location, from the documents.
struct Oracle<'a>(&'a Query);

impl Oracle<'_> {
    fn admits(&self, merchant: &Merchant, location: &Location) -> bool {
        let criteria = &self.0.criteria;
        location.public
            && criteria.open_at.is_none_or(|instant| {
                location.schedule().expect("usable").is_some_and(|schedule| schedule.open_at(instant))
            })
            && (criteria.methods.is_empty()
                || merchant.methods_at(location).iter().any(|method| criteria.methods.contains(method)))
            && criteria
                .within
                .is_none_or(|circle| location.point().is_some_and(|point| circle.center.distance(point) <= circle.max))
            && criteria
                .place
                .as_ref()
                .is_none_or(|place| place.holds(&location.address.as_ref().map(AddressPlace::of).unwrap_or_default()))
            && criteria.amenities.iter().all(|amenity| location.amenities.contains_key(amenity))
    }

    fn admits_category(&self, merchant: &Merchant) -> bool {
        self.0
            .criteria
            .category
            .as_ref()
            .is_none_or(|filter| merchant.category.as_ref().is_some_and(|own| filter.contains(&CategoryPath::new(own))))
    }

    fn score(&self, text: &str, merchant: &Merchant, location: Option<&Location>) -> u32 {
        let named = |term: &String| {
            indexed_terms(&merchant.name).contains(term)
                || location.is_some_and(|location| indexed_terms(&location.name).contains(term))
        };
        let tagged = |term: &String| {
            let town = location
                .and_then(|location| location.address.as_ref())
                .and_then(|address| address.address_locality.as_ref());
            merchant.tags.iter().chain(&merchant.category).chain(town).any(|tag| indexed_terms(tag).contains(term))
        };
        let described = |term: &String| {
            let plain = merchant.description.as_ref().and_then(|description| description.plain.as_ref());
            plain.is_some_and(|plain| indexed_terms(plain).contains(term))
        };
        let weight = |term: &String| match () {
            () if named(term) => 4,
            () if tagged(term) => 2,
            () if described(term) => 1,
            () => 0,
        };
        sought_terms(text).iter().map(weight).sum()
    }

    fn closeness(&self, location: &Location) -> u32 {
        let (wanted, own) =
            (&self.0.preference.place, location.address.as_ref().map(AddressPlace::of).unwrap_or_default());
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        match () {
            () if !same(&wanted.country, &own.country) => 0,
            () if !same(&wanted.region, &own.region) => 1,
            () if !same(&wanted.postal_code, &own.postal_code) => 2,
            () => 3,
        }
    }

    /// The sort key of a merchant or location, or `None` where no word of the query is found.
    fn key(&self, merchant: &Merchant, location: Option<&Location>, admitted: &[&Location]) -> Option<Key> {
        let words = match &self.0.text {
            Some(text) => Some(self.score(text, merchant, location)).filter(|score| *score > 0)?,
            None => 0,
        };
        let (name, id) = match location {
            Some(location) => (fold(&location.name), location.id.clone()),
            None => (fold(&merchant.name), merchant.id.clone()),
        };
        Some(match self.0.criteria.within {
            Some(circle) => {
                let distances = admitted.iter().filter_map(|own| Some(circle.center.distance(own.point()?)));
                (Reverse((words, 0, 0)), distances.fold(f64::INFINITY, f64::min).to_bits(), name, id)
            }
            None => {
                let intent = self.0.preference.intent.as_ref();
                let intent = intent.map_or(0, |intent| self.score(intent, merchant, location));
                let closeness = admitted.iter().map(|own| self.closeness(own)).max().unwrap_or_default();
                (Reverse((words, closeness, intent)), 0, name, id)
            }
        })
    }

    fn merchants(&self, directory: &[Merchant]) -> Vec<Hit> {
        let hit = |merchant: &Merchant| {
            let mut admitted: Vec<_> =
                merchant.locations.iter().filter(|location| self.admits(merchant, location)).collect();
            if !self.admits_category(merchant) || self.0.criteria.concern_locations() && admitted.is_empty() {
                return None;
            }
            let key = self.key(merchant, None, &admitted)?;
            if let Some(circle) = self.0.criteria.within {
                let distance = |location: &Location| location.point().map(|point| circle.center.distance(point));
                admitted.sort_by(|a, b| distance(a).partial_cmp(&distance(b)).expect("comparable"));
            }
            let locations = admitted.into_iter().map(|location| location.id.clone()).collect();
            Some((key, Hit { merchant: merchant.id.clone(), locations }))
        };
        sorted(directory.iter().filter_map(hit))
    }

    fn locations(&self, directory: &[Merchant]) -> Vec<LocationHit> {
        let all = directory.iter().filter(|merchant| self.admits_category(merchant)).flat_map(|merchant| {
            let admitted = merchant.locations.iter().filter(|location| self.admits(merchant, location));
            admitted.filter_map(|location| {
                let key = self.key(merchant, Some(location), &[location])?;
                Some((key, LocationHit { merchant: merchant.id.clone(), location: location.id.clone() }))
            })
        });
        sorted(all)
    }
}

type Key = (Reverse<(u32, u32, u32)>, u64, String, String);

fn sorted<T>(hits: impl Iterator<Item = (Key, T)>) -> Vec<T> {
    let mut hits: Vec<_> = hits.collect();
    hits.sort_by(|(a, _), (b, _)| a.cmp(b));
    hits.into_iter().map(|(_, hit)| hit).collect()
}

fn index(directory: &[Merchant]) -> Index {
    let mut builder = IndexBuilder::default();
    directory.iter().for_each(|merchant| builder.add(merchant));
    builder.finish()
}

/// Every page of a query, one after the other.
fn pages<T>(query: &Query, find: impl Fn(&Query) -> Page<T>) -> Vec<T> {
    let mut query = query.clone();
    let mut all = Vec::new();
    loop {
        let page = find(&query);
        assert!(page.hits.len() == query.limit || page.next.is_none());
        all.extend(page.hits);
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
        if page.total.is_some_and(|total| all.len() as u64 >= total) {
            panic!("a page after the last");
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn finds_what_the_rules_say_in_the_order_they_say(directory in directory(), queries in prop::collection::vec(query(), 8)) {
        let index = index(&directory);
        for query in queries {
            let expected = Oracle(&query).merchants(&directory);
            let found = index.find(&query).expect("a page");
            prop_assert_eq!(found.total, Some(expected.len() as u64), "{:?}", query);
            prop_assert_eq!(pages(&query, |query| index.find(query).expect("a page")), expected, "{:?}", query);

            let expected = Oracle(&query).locations(&directory);
            let found = index.find_locations(&query).expect("a page");
            prop_assert_eq!(found.total, Some(expected.len() as u64), "{:?}", query);
            prop_assert_eq!(pages(&query, |query| index.find_locations(query).expect("a page")), expected, "{:?}", query);
        }
    }

    /// Finds a lasting entry exactly once, whatever is added and removed between two pages.
    #[test]
    fn paging_neither_repeats_nor_skips_what_stays(
        directory in directory(),
        query in query(),
        presence in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.8), 40), 20),
    ) {
        let snapshots: Vec<Vec<Merchant>> = presence
            .iter()
            .map(|present| directory.iter().zip(present).filter(|(_, present)| **present).map(|(own, _)| own.clone()).collect())
            .collect();
        let mut query = query;
        let mut seen: Vec<String> = Vec::new();
        let mut used: Vec<&Vec<Merchant>> = Vec::new();
        for snapshot in snapshots.iter().chain(std::iter::repeat(snapshots.last().expect("some"))) {
            used.push(snapshot);
            let page = index(snapshot).find(&query).expect("a page");
            seen.extend(page.hits.into_iter().map(|hit| hit.merchant));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let distinct: HashSet<_> = seen.iter().collect();
        prop_assert_eq!(distinct.len(), seen.len());
        query.after = None;
        for hit in Oracle(&query).merchants(&directory) {
            let always = used.iter().all(|snapshot| snapshot.iter().any(|own| own.id == hit.merchant));
            prop_assert!(!always || seen.contains(&hit.merchant), "{}", hit.merchant);
        }
    }
}

fn one(document: Value) -> Merchant {
    serde_json::from_value::<Merchant>(document).expect("a merchant").check().expect("usable")
}

#[test]
fn one_and_the_same_location_has_to_satisfy_everything() {
    let geo = |latitude: f64| json!({ "latitude": latitude, "longitude": -122.4 });
    let always = json!([{ "day": "saturday", "opens": "00:00", "closes": "23:59" }]);
    let chain = one(json!({
        "id": "m1", "name": "Chain", "methods": ["pickup"], "locations": [
            { "id": "near-closed", "name": "Near", "geo": geo(37.79), "timezone": "UTC", "hours": [] },
            { "id": "far-open", "name": "Far", "geo": geo(38.5), "timezone": "UTC", "hours": always },
        ]
    }));
    let index = index(&[chain]);
    let near = Circle { center: Point::new(37.79, -122.39).expect("a point"), max: 10_000.0 };
    let found = |open: bool, within: Option<Circle>| {
        let criteria =
            Criteria { open_at: open.then(|| INSTANT.parse().expect("an instant")), within, ..Criteria::default() };
        let page = index.find(&Query { criteria, limit: 10, ..Query::default() }).expect("a page");
        page.hits.into_iter().flat_map(|hit| hit.locations).collect::<Vec<_>>()
    };
    assert_eq!(found(true, None), ["far-open"]);
    assert_eq!(found(false, Some(near)), ["near-closed"]);
    assert_eq!(found(true, Some(near)), [""; 0]);
    assert_eq!(found(true, Some(Circle { max: 100_000.0, ..near })), ["far-open"]);
    assert_eq!(found(false, Some(Circle { max: 100_000.0, ..near })), ["near-closed", "far-open"]);
}

#[test]
fn the_rim_of_a_radius_is_where_the_ellipsoid_has_it() {
    let at = |id: &str, latitude: f64, longitude: f64| {
        one(
            json!({ "id": id, "name": id, "locations": [{ "id": id, "name": id, "geo": { "latitude": latitude, "longitude": longitude, "precision": Precision::Street } }] }),
        )
    };
    let index = index(&[at("in", 37.9057, -122.3942), at("out", 37.7897, -122.2479), at("fiji", -17.7134, -179.99)]);
    let within = |latitude, longitude, max| {
        let circle = Circle { center: Point::new(latitude, longitude).expect("a point"), max };
        let criteria = Criteria { within: Some(circle), ..Criteria::default() };
        let page = index.find(&Query { criteria, limit: 10, ..Query::default() }).expect("a page");
        page.hits.into_iter().map(|hit| hit.merchant).collect::<Vec<_>>()
    };
    assert_eq!(within(37.7898, -122.3942, 8.0 * 1_609.344), ["in"]);
    assert_eq!(within(-17.7134, 179.97, 4_243.0), ["fiji"]);
    assert_eq!(within(-17.7134, 179.97, 4_242.0), [""; 0]);
}

/// A straight line through the Earth leads sooner to the south than to the east; the ground does not.
#[test]
fn far_away_too_the_way_along_the_ground_decides() {
    let center = Point::new(37.7898, -122.3942).expect("a point");
    let metres = |step: u32| 8_000_000.0 + f64::from(step);
    // One meter farther with each step, in ever other directions.
    let ring: Vec<_> = (0..60)
        .map(|step| {
            let bearing = f64::from(step * 37 % 60) * 6.0;
            let (latitude, longitude): (f64, f64) =
                Geodesic::wgs84().direct(center.latitude(), center.longitude(), bearing, metres(step));
            let (id, geo) = (format!("{step:02}"), json!({ "latitude": latitude, "longitude": longitude }));
            one(json!({ "id": id, "name": "same", "locations": [{ "id": id, "name": "same", "geo": geo }] }))
        })
        .rev()
        .collect();
    let straight = |merchant: &Merchant| {
        let point = merchant.locations[0].point().expect("a point");
        center.position().chord(point.position())
    };
    assert!(ring.windows(2).any(|pair| straight(&pair[0]) < straight(&pair[1])), "the test proves nothing");
    let index = index(&ring);
    for limit in [1, 7, 60] {
        let within = Some(Circle { center, max: metres(40) + 0.5 });
        let query = Query { criteria: Criteria { within, ..Criteria::default() }, limit, ..Query::default() };
        let expected: Vec<_> = (0..=40).map(|step| format!("{step:02}")).collect();
        let merchants = pages(&query, |query| index.find(query).expect("a page"));
        assert_eq!(merchants.into_iter().map(|hit| hit.merchant).collect::<Vec<_>>(), expected);
        let locations = pages(&query, |query| index.find_locations(query).expect("a page"));
        assert_eq!(locations.into_iter().map(|hit| hit.location).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_is_not_public_is_not_there() {
    let index = index(&[one(json!({
        "id": "m1", "name": "Counter", "locations": [
            { "id": "l1", "name": "Dark kitchen", "public": false, "geo": { "latitude": 1.0, "longitude": 1.0 } },
        ]
    }))]);
    assert_eq!((index.merchants(), index.locations()), (1, 0));
    let found = index.find_locations(&Query { text: Some("kitchen".into()), limit: 10, ..Query::default() });
    assert_eq!(found, Ok(Page { hits: vec![], next: None, total: Some(0) }));
    assert_eq!(index.find(&Query { limit: 10, ..Query::default() }).expect("a page").hits[0].locations, [""; 0]);
}
