//! A large directory of merchants: many restaurants around a few cities, asked for by words, nearness and the hour.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    Done, Options, flat_out,
    goods::{Random, common_word},
    paced,
    report::{self, Row, Series, milliseconds, table},
    scenario::{Request, Scenario, post},
    server::{self, Server},
    settle, warm,
};

/// Number of locations, one for each merchant.
const LOCATIONS: usize = 100_000;

/// Postal codes that the gateway knows without a table of its own, and their middles.
const CITIES: [(&str, &str, f64, f64, &str); 6] = [
    ("94105", "US", 37.7898, -122.3942, "America/Los_Angeles"),
    ("94612", "US", 37.809, -122.27, "America/Los_Angeles"),
    ("10012", "US", 40.726, -73.998, "America/New_York"),
    ("75011", "FR", 48.858, 2.38, "Europe/Paris"),
    ("10115", "DE", 52.532, 13.385, "Europe/Berlin"),
    ("2000", "AU", -33.869, 151.207, "Australia/Sydney"),
];

const NAMES: [&str; 2] = ["merchants near, open, words", "locations near, open, words"];

/// Imports the directory and asks for parts of it.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if options.quick || !NAMES.iter().any(|name| options.wants(name)) {
        return Ok(());
    }
    let (data, file) = (directory.join("places"), directory.join("merchants.jsonl"));
    println!("\nA directory of {LOCATIONS} locations");
    let bytes = write(&file)?;
    let start = Instant::now();
    server::import_merchants(gateway, &file, &data)?;
    println!("  imported in {} ({} MB of JSON Lines)", milliseconds(start.elapsed()), bytes / 1_000_000);
    std::fs::remove_file(&file)?;
    let server = Server::gateway(gateway, &data)?;
    settle().await;
    println!("  start on the existing directory: {}", milliseconds(server.started));
    println!("  idle: {}\n", report::memory(server.memory()?));
    let effort = options.effort();
    let mut rows = Vec::new();
    for scenario in scenarios().into_iter().filter(|scenario| options.wants(&scenario.name)) {
        warm(&effort, &server, &scenario).await?;
        let mut series = Series::default();
        for _ in 0..effort.rounds {
            series.add(&flat_out(&effort, &server, &scenario).await?);
        }
        let paced = paced(&effort, &server, &scenario, series.rate()).await?;
        rows.push(Row::new(&scenario.name, &series, &paced, server.memory()?, None));
        for (kind, name) in scenario.kinds.iter().enumerate() {
            rows.push(Row::part(name, &paced, kind));
        }
    }
    table(&rows);
    settle().await;
    println!("\n  after the load: {}", report::memory(server.memory()?));
    Ok(())
}

/// Radii in kilometers, each a kind of requests.
const RADII: [(&str, usize); 3] = [("within 2 km", 2), ("within 10 km", 10), ("within 100 km", 100)];

fn scenarios() -> Vec<Scenario> {
    let mut random = Random::new(11);
    let kinds = || RADII.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let text = |random: &mut Random| format!("{} {}", common_word(random), common_word(random));
    let merchants = (0..4_000).map(|number| {
        let (kind, city) = (number % RADII.len(), CITIES[random.below(CITIES.len())]);
        let body = json!({
            "query": text(&mut random),
            "filters": { "open_now": true, "location": {
                "address": { "postal_code": city.0, "address_country": city.1 },
                "radius": { "value": RADII[kind].1, "unit": "km" },
            } },
        });
        Request { bytes: post("/merchants/search", &body.to_string()), kind }
    });
    let merchants = Scenario { name: NAMES[0].to_owned(), requests: merchants.collect(), kinds: kinds() };
    let locations = (0..4_000).map(|number| {
        let (kind, city) = (number % RADII.len(), CITIES[random.below(CITIES.len())]);
        let body = json!({
            "query": text(&mut random),
            "distance": { "center": near(city, &mut random), "max": RADII[kind].1 * 1_000 },
            "filters": { "hours": { "open_at": "2026-11-20T19:30:00Z" } },
        });
        Request { bytes: post("/locations/search", &body.to_string()), kind }
    });
    let locations = Scenario { name: NAMES[1].to_owned(), requests: locations.collect(), kinds: kinds() };
    vec![merchants, locations]
}

/// A point within some 20 km of a city.
fn near((_, _, latitude, longitude, _): (&str, &str, f64, f64, &str), random: &mut Random) -> Value {
    let mut aside = || (f64::from(u32::try_from(random.below(4_000)).unwrap_or_default()) - 2_000.0) / 10_000.0;
    json!({ "latitude": latitude + aside(), "longitude": longitude + aside() })
}

fn merchant(number: usize, random: &mut Random) -> Value {
    let city = CITIES[random.below(CITIES.len())];
    let opens = 6 + random.below(12);
    let closes = (opens + 6 + random.below(8)) % 24;
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let hours: Vec<_> = days
        .iter()
        .map(|day| json!({ "day": day, "opens": format!("{opens:02}:00"), "closes": format!("{closes:02}:30") }))
        .collect();
    json!({
        "id": format!("m-{number}"),
        "name": format!("{} {} {}", common_word(random), common_word(random), common_word(random)),
        "category": format!("Restaurants > Kitchen {}", random.below(40)),
        "tags": [common_word(random), common_word(random)],
        "description": { "plain": (0..12).map(|_| common_word(random)).collect::<Vec<_>>().join(" ") },
        "methods": ["pickup", "delivery"],
        "locations": [{
            "id": format!("l-{number}"),
            "name": "Counter",
            "address": { "street_address": format!("{number} Made Up Street"), "postal_code": city.0, "address_country": city.1 },
            "geo": near(city, random),
            "timezone": city.4,
            "hours": hours,
        }],
    })
}

fn write(file: &Path) -> Done<u64> {
    let mut lines = BufWriter::new(File::create(file)?);
    let mut random = Random::new(42);
    for number in 0..LOCATIONS {
        serde_json::to_writer(&mut lines, &merchant(number, &mut random))?;
        lines.write_all(b"\n")?;
    }
    lines.flush()?;
    Ok(std::fs::metadata(file)?.len())
}
