//! The operations against a directory in memory.

mod draft;
mod standard;

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context as TaskContext, Poll, Waker},
};

use jiff::Timestamp;
use serde_json::{Value, json};
use ucp_core::{
    Refusal,
    merchant::{
        Context,
        criteria::{Circle, Criteria, Policy},
        geo::Point,
        hours::Day,
        location::{self, Demands, Distance},
        record::{Merchant, PostalAddress, Precision},
        search::{self, Filters, LocationFilter, Radius, Unit},
    },
    message::Message,
    ports::PortError,
};
use ucp_testkit::shelf::PlainCursors;

use super::{
    index::{Index, IndexBuilder},
    port::{Geocoder, Hit, LocationHit, Merchants, Page, Preference, Query, Resolved},
    search::search as search_merchants,
};

struct Directory {
    merchants: Vec<Arc<Merchant>>,
    index: Index,
    policy: Policy,
}

impl Directory {
    fn new(documents: Vec<Value>) -> Self {
        let read =
            |document| serde_json::from_value::<Merchant>(document).expect("a merchant").check().expect("usable");
        let merchants: Vec<_> = documents.into_iter().map(read).map(Arc::new).collect();
        let mut builder = IndexBuilder::default();
        merchants.iter().for_each(|merchant| builder.add(merchant));
        Self { merchants, index: builder.finish(), policy: Policy::default() }
    }
}

#[async_trait::async_trait]
impl Merchants for Directory {
    fn policy(&self) -> &Policy {
        &self.policy
    }

    async fn find(&self, query: &Query) -> Result<Page<Hit>, PortError> {
        Ok(self.index.find(query)?)
    }

    async fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, PortError> {
        Ok(self.index.find_locations(query)?)
    }

    async fn fetch(&self, ids: &[&str]) -> Result<Vec<Option<Arc<Merchant>>>, PortError> {
        Ok(ids.iter().map(|id| self.merchants.iter().find(|merchant| merchant.id == *id).cloned()).collect())
    }

    async fn fetch_by_location(&self, ids: &[&str]) -> Result<Vec<Vec<Arc<Merchant>>>, PortError> {
        let named = |merchant: &Merchant, id: &str| {
            merchant.locations.iter().any(|own| own.id == id || own.aliases.iter().any(|alias| alias == id))
        };
        let owners = |id| self.merchants.iter().filter(|merchant| named(merchant, id)).cloned().collect();
        Ok(ids.iter().map(|id| owners(*id)).collect())
    }
}

/// Knows one postal code, one street in it, and what it was asked.
#[derive(Default)]
struct Map {
    asked: Mutex<Vec<PostalAddress>>,
}

#[async_trait::async_trait]
impl Geocoder for Map {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        self.asked.lock().expect("no panic").push(address.clone());
        let point = Point::new(37.7898, -122.3942).expect("a point");
        let known = address.address_country.as_deref() == Some("US") && address.postal_code.as_deref() == Some("94105");
        let precision = if address.street_address.is_some() { Precision::Street } else { Precision::PostalCode };
        Ok(known.then_some(Resolved { point, precision }))
    }
}

/// Runs a future that never waits.
fn run<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a directory in memory answers at once"),
    }
}

fn at(instant: &str) -> Timestamp {
    instant.parse().expect("an instant")
}

/// Friday evening in San Francisco.
const EVENING: &str = "2026-11-21T01:30:00Z";

fn owl() -> Value {
    let nightly: Vec<_> =
        Day::ALL.iter().map(|day| json!({ "day": day, "opens": "17:00", "closes": "02:00" })).collect();
    json!({
        "id": "mch_abc123", "name": "Night Owl Pizza", "category": "Restaurants > Pizza",
        "description": { "plain": "Late-night pizza and calzones." },
        "methods": ["pickup", "delivery"], "translations": { "ja": { "name": "ナイトオウルピザ" } },
        "locations": [
            {
                "id": "loc_mission", "name": "Mission", "aliases": ["owl"], "geo": { "latitude": 37.7599, "longitude": -122.4148 },
                "address": { "address_locality": "San Francisco", "address_region": "CA", "address_country": "US", "postal_code": "94110" },
                "timezone": "America/Los_Angeles",
                "hours": nightly,
                "exception_hours": [{ "valid_from": "2026-12-25", "valid_through": "2026-12-25", "title": "Christmas" }],
                "amenities": { "dev.ucp.amenity.wi_fi": { "description": "Wi-Fi" } },
            },
            {
                "id": "loc_oakland", "name": "Oakland", "aliases": ["owl"], "names": { "ja": "オークランド" }, "geo": { "latitude": 37.8044, "longitude": -122.2712 },
                "address": { "address_locality": "Oakland", "address_region": "CA", "address_country": "US" },
            },
            { "id": "loc_dark", "name": "Kitchen", "public": false, "geo": { "latitude": 37.79, "longitude": -122.39 } },
        ]
    })
}

fn directory() -> Directory {
    let plain = |number: usize| json!({ "id": format!("filler_{number:02}"), "name": format!("Filler {number:02}"), "category": "Shops" });
    Directory::new(
        std::iter::once(owl())
            .chain([json!({
                "id": "mch_diner", "name": "All Day Diner", "category": "Restaurants", "methods": ["pickup"], "tags": ["late"],
                "locations": [{
                    "id": "loc_diner", "name": "Diner", "geo": { "latitude": 37.7930, "longitude": -122.4161 },
                    "address": { "address_locality": "San Francisco", "address_region": "CA", "address_country": "US", "postal_code": "94109" },
                    "timezone": "America/Los_Angeles",
                    "hours": [{ "day": "friday", "opens": "00:00", "closes": "23:59" }],
                }]
            })])
            .chain((0..30).map(plain))
            .collect(),
    )
}

fn near(postal_code: &str, miles: f64) -> Option<LocationFilter> {
    let address = PostalAddress { postal_code: Some(postal_code.into()), ..PostalAddress::default() };
    Some(LocationFilter { address: Some(address), radius: Some(Radius { value: miles, unit: Unit::Mile }) })
}

fn american() -> Context {
    Context { country: Some("US".into()), ..Context::default() }
}

fn found(directory: &Directory, request: &search::Request) -> search::Found {
    run(search_merchants(directory, &PlainCursors, &Map::default(), request, at(EVENING))).expect("an answer")
}

fn names(found: &search::Found) -> Vec<&str> {
    found.merchants.iter().map(|listing| listing.merchant.id.as_str()).collect()
}

fn code(message: &Message) -> &str {
    match message {
        Message::Error { code, .. } | Message::Warning { code, .. } => code,
        Message::Info { code, .. } => code.as_deref().expect("a code"),
    }
}

#[test]
fn nothing_that_tells_where_a_buyer_is_is_printed() {
    let (latitude, longitude) = (37.789_812, -122.394_234);
    let context = Context {
        country: Some("US".into()),
        postal_code: Some("94105".into()),
        intent: Some("near Elm Street".into()),
        ..Context::default()
    };
    let filters = Filters { location: near("94105", 8.0), ..Filters::default() };
    let circle = Circle { center: Point::new(latitude, longitude).expect("a point"), max: 5.0 };
    let criteria = Criteria { within: Some(circle), place: Some(context.place()), ..Criteria::default() };
    let query = Query { criteria, preference: Preference::of(&context), ..Query::default() };
    let distance = Some(Distance { latitude, longitude, max: 5.0 });
    let demands = Demands { distance, ..Demands::default() };
    let placed = location::SearchRequest { demands, context: context.clone(), ..location::SearchRequest::default() };
    let request = search::Request { context, filters, ..search::Request::default() };
    let printed = format!("{request:?} {query:?} {placed:?}");
    for private in ["94105", "Elm", "37.789", "122.394"] {
        assert!(!printed.contains(private), "{private}: {printed}");
    }
}
