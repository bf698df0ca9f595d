//! Costs of a search over a large directory, without transport and store: `cargo bench -p ucp-directory`.
//!
//! 100,000 locations of 60,000 merchants, most of them in ten towns, as directories are. Before it measures, it says
//! how much memory the index takes.

#![allow(missing_docs, reason = "criterion's macros document nothing")]

use std::{fs, hint::black_box};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use ucp_core::{
    catalog::filter::CategoryPath,
    merchant::{
        criteria::{Circle, Criteria},
        geo::Point,
        record::Merchant,
    },
};
use ucp_directory::engine::{
    index::{Index, IndexBuilder},
    port::Query,
};

const MERCHANTS: u64 = 60_000;
const LOCATIONS: u64 = 100_000;
/// Positions of the towns, and their time zone.
const TOWNS: [(f64, f64, &str); 10] = [
    (37.7898, -122.3942, "America/Los_Angeles"),
    (40.7128, -74.0060, "America/New_York"),
    (51.5074, -0.1278, "Europe/London"),
    (35.6595, 139.7005, "Asia/Tokyo"),
    (27.7172, 85.3240, "Asia/Kathmandu"),
    (48.8566, 2.3522, "Europe/Paris"),
    (-33.4489, -70.6693, "America/Santiago"),
    (-33.8688, 151.2093, "Australia/Sydney"),
    (19.4326, -99.1332, "America/Mexico_City"),
    (52.5200, 13.4050, "Europe/Berlin"),
];
const FIRST: [&str; 16] = [
    "Night", "Golden", "Royal", "Little", "Old", "Blue", "Green", "Happy", "Corner", "Market", "Harbour", "Garden",
    "Sunny", "Silver", "Grand", "Lucky",
];
const SECOND: [&str; 16] = [
    "Owl", "Dragon", "Lion", "Kitchen", "Oven", "Table", "Spoon", "Lantern", "Bakery", "House", "Bistro", "Café",
    "Diner", "Tavern", "Grill", "Cantina",
];
const KINDS: [&str; 8] = ["Pizza", "Sushi", "Burgers", "Thai", "Vegan", "Indian", "Tacos", "Ramen"];

/// Numbers without a pattern that matters, the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).expect("small")]
    }

    fn about(&mut self, middle: f64, spread: f64) -> f64 {
        let thousandths = (0..3).map(|_| self.below(2_000)).sum::<u64>();
        middle + spread * (f64::from(u32::try_from(thousandths).expect("small")) / 3_000.0 - 1.0)
    }
}

fn location(dice: &mut Dice, number: u64) -> Value {
    let (latitude, longitude, zone) = dice.of(&TOWNS);
    let (opens, closes) = dice.of(&[("07:00", "15:00"), ("11:00", "22:00"), ("17:00", "02:00"), ("00:00", "23:59")]);
    let closed = dice.below(7);
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let opens = format!("{}:{:02}", &opens[..2], dice.below(4) * 15);
    let closes =
        if closes == "23:59" { closes.to_owned() } else { format!("{}:{:02}", &closes[..2], dice.below(4) * 15) };
    let open = (0_u64..).zip(days).filter(|(day, _)| *day != closed);
    let hours: Vec<_> = open.map(|(_, day)| json!({ "day": day, "opens": opens, "closes": closes })).collect();
    json!({
        "id": format!("loc_{number}"),
        "name": format!("{} {}", dice.of(&FIRST), number % 100),
        "geo": { "latitude": dice.about(latitude, 0.2), "longitude": dice.about(longitude, 0.2) },
        "address": { "address_country": "US", "address_region": "CA", "postal_code": format!("{:05}", dice.below(20_000)) },
        "timezone": zone,
        "hours": hours,
        "exception_hours": [{ "valid_from": "2026-12-25", "valid_through": "2026-12-25" }],
        "methods": if dice.below(2) == 0 { json!(["pickup"]) } else { json!(["pickup", "delivery"]) },
    })
}

fn index() -> Index {
    let mut dice = Dice(7);
    let mut builder = IndexBuilder::default();
    let mut locations = 0;
    for number in 0..MERCHANTS {
        let left = MERCHANTS - number;
        let own =
            if left == 1 { LOCATIONS - locations } else { (1 + dice.below(3)).min(LOCATIONS - locations - (left - 1)) };
        let kind = dice.of(&KINDS);
        let merchant = json!({
            "id": format!("mch_{number}"),
            "name": format!("{} {} {kind}", dice.of(&FIRST), dice.of(&SECOND)),
            "category": format!("Restaurants > {kind}"),
            "description": { "plain": format!("{} and {} near the {}.", dice.of(&KINDS), dice.of(&KINDS), dice.of(&SECOND)) },
            "tags": [dice.of(&["late", "family", "takeaway", "terrace"])],
            "locations": (0..own).map(|place| location(&mut dice, locations + place)).collect::<Vec<_>>(),
        });
        locations += own;
        let merchant: Merchant = serde_json::from_value(merchant).expect("a merchant");
        builder.add(&merchant.check().expect("usable"));
    }
    builder.finish()
}

/// Resident memory in MiB, where the machine tells.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()? / 1_024)
}

fn searches(criterion: &mut Criterion) {
    let before = resident();
    let index = index();
    if let (Some(before), Some(after)) = (before, resident()) {
        println!("{} locations of {} merchants: {} MiB", index.locations(), index.merchants(), after - before);
    }
    let center = Point::new(37.7898, -122.3942).expect("a point");
    let circle = |max| Some(Circle { center, max });
    let open_at = Some("2026-11-21T03:30:00Z".parse().expect("an instant"));
    let query = |text: Option<&str>, criteria: Criteria| Query {
        text: text.map(str::to_owned),
        criteria,
        limit: 10,
        ..Query::default()
    };
    let town = 8.0 * 1_609.344;
    for (name, query) in [
        (
            "radius, open now, text",
            query(Some("late-night pizza"), Criteria { within: circle(town), open_at, ..Criteria::default() }),
        ),
        ("radius, open now", query(None, Criteria { within: circle(town), open_at, ..Criteria::default() })),
        (
            "whole Earth, open now, text",
            query(Some("late-night pizza"), Criteria { within: circle(2e7), open_at, ..Criteria::default() }),
        ),
        ("open now", query(None, Criteria { open_at, ..Criteria::default() })),
        ("text", query(Some("golden dragon"), Criteria::default())),
        (
            "category",
            query(None, Criteria { category: Some(CategoryPath::new("Restaurants > Sushi")), ..Criteria::default() }),
        ),
        ("everything", query(None, Criteria::default())),
    ] {
        let total = index.find(&query).expect("a page").total.unwrap_or_default();
        criterion.bench_function(&format!("merchants: {name} ({total})"), |bench| {
            bench.iter(|| black_box(index.find(black_box(&query))));
        });
        let total = index.find_locations(&query).expect("a page").total.unwrap_or_default();
        criterion.bench_function(&format!("locations: {name} ({total})"), |bench| {
            bench.iter(|| black_box(index.find_locations(black_box(&query))));
        });
    }
}

criterion_group!(benches, searches);
criterion_main!(benches);
