//! Costs of callers: known platforms, verified signatures, cached profiles, and callers that send too much.

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use serde_json::json;
use tokio::{runtime, task};
use ucp_core::operation::SupportedOperations;
use ucp_service::{negotiated_profile::NegotiatedProfile, platform::Business};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    api_key::ApiKey,
    directory::{Directory, DirectoryOptions},
    fetch::{Fetch, FetchError, Fetched},
};

use crate::{
    Done, Options, Yardstick, flat_out,
    load::Load,
    paced,
    platform::{ACCEPT_SIGNATURE, Bounds, Platforms},
    report::{Row, Series, mebibytes, median, milliseconds, percentiles, table},
    scenario::{Request, SampleShop, Scenario},
    server::{self, Server},
    settle, warm,
};

/// The parts, by the names under which they can be chosen.
const NEGOTIATION: &str = "callers";
const MEMORY: &str = "profiles";
const FLOOD: &str = "flood";

/// Every profile is fetched on this machine, from one server; and the limits are there, but never reached.
const OPEN: &str = r#"
[callers]
policy = "require"

[profiles]
loopback = true
fetches = { per_second = 1_000_000, burst = 1_000_000 }

[limits]
anonymous = { per_second = 1_000_000, burst = 1_000_000 }
signed = { per_second = 1_000_000, burst = 1_000_000 }
"#;

/// Number of platforms that are remembered.
const REMEMBERED: usize = 10_000;

/// As many profiles as a gateway fetches from one origin at once.
const FETCHES_AT_ONCE: usize = 4;

/// Rate of the neighbor's requests and rate of the flood, per second.
const NEIGHBOUR: f64 = 50.0;
const FLOODED: f64 = 5_000.0;

const LOOKUP: &str = "/catalog/lookup";

/// All parts that are wanted. `open` is a gateway that takes callers at their word.
pub(crate) async fn all(
    options: &Options,
    gateway: &Path,
    directory: &Path,
    shop: &SampleShop,
    open: &Server,
    bare: &Yardstick,
) -> Done<()> {
    if ![NEGOTIATION, MEMORY, FLOOD].into_iter().any(|name| options.wants(name)) {
        return Ok(());
    }
    let platforms = Arc::new(Platforms::publish()?);
    if options.wants(NEGOTIATION) || options.wants(MEMORY) {
        let data = directory.join("callers");
        server::generate_key(gateway, &data)?;
        // Creating the shop leaves memory behind that would hide what platforms take.
        drop(Server::configured(gateway, &data, OPEN, &platforms.profile(0))?);
        let strict = Server::configured(gateway, &data, OPEN, &platforms.profile(0))?;
        if options.wants(NEGOTIATION) {
            negotiation(options, &platforms, shop, &strict, open, bare).await?;
        }
        if options.wants(MEMORY) {
            memory(&platforms, &strict).await?;
        }
    }
    if options.wants(FLOOD) {
        flood(options, gateway, &directory.join("flood"), &platforms, &shop.lookup()).await?;
    }
    Ok(())
}

/// The same lookup by callers of several kinds.
async fn negotiation(
    options: &Options,
    platforms: &Platforms,
    shop: &SampleShop,
    strict: &Server,
    open: &Server,
    bare: &Yardstick,
) -> Done<()> {
    let body = &shop.lookup();
    let signed = platforms.post_signed(0, LOOKUP, body)?;
    let known = platforms.post(0, LOOKUP, body, &[])?;
    let asking = platforms.post(0, LOOKUP, body, &[ACCEPT_SIGNATURE])?;
    let contestants = [
        (&bare.server, Scenario::one("bare handler", bare.scenario.requests[0].bytes.clone())),
        (open, Scenario::one("opaque platform", crate::scenario::post(LOOKUP, body))),
        (strict, Scenario::one("platform with known profile", known)),
        (strict, Scenario::one("the same, signed request", signed.bytes.clone())),
        (strict, Scenario::one("the same, signed answer", asking)),
    ];
    println!("\nLookup of 10 ids, by callers of several kinds\n");
    let effort = options.effort();
    for (server, scenario) in &contestants {
        warm(&effort, server, scenario).await?;
    }
    let mut series: Vec<Series> = contestants.iter().map(|_| Series::default()).collect();
    let mut costs: Vec<Vec<f64>> = Vec::new();
    let mut bounds = Vec::new();
    for _ in 0..effort.rounds {
        let mut round = Vec::new();
        for ((server, scenario), series) in contestants.iter().zip(&mut series) {
            let run = flat_out(&effort, server, scenario).await?;
            series.add(&run);
            round.push(run.cpu_per_request());
        }
        costs.push(round);
        bounds.push(platforms.bounds(&signed, &shop.lookup_answer, effort.round / 3)?);
    }
    let mut rows = Vec::new();
    for ((server, scenario), own) in contestants.iter().zip(&series) {
        let paced = paced(&effort, server, scenario, own.rate()).await?;
        let shares = (own.rate() / series[0].rate(), own.cost() / series[0].cost());
        rows.push(Row::new(&scenario.name, own, &paced, server.memory()?, Some(shares)));
    }
    table(&rows);

    let micros = |of: &dyn Fn(usize) -> f64| 1e6 * median((0..effort.rounds).map(of).collect());
    let more = |one: usize, than: usize| micros(&|round| costs[round][one] - costs[round][than]);
    let bound = |of: fn(&Bounds) -> f64| micros(&|round| of(&bounds[round]));
    let share = |part: f64, whole: f64| format!("{part:.1} us ({:.0} %)", 100.0 * part / whole);
    println!("\n  a known profile adds {:.1} us to being taken at one's word (target: under 5 us)", more(2, 1));
    let verify = bound(|bounds| bounds.verify);
    println!(
        "  a signed request adds {:.1} us; verifying it alone takes {verify:.1} us, the curve {} of that",
        more(3, 2),
        share(bound(|bounds| bounds.verify_curve), verify)
    );
    let sign = bound(|bounds| bounds.sign);
    println!(
        "  a signed answer adds {:.1} us; signing it alone takes {sign:.1} us, the curve {} of that, the digest {}",
        more(4, 2),
        share(bound(|bounds| bounds.sign_curve), sign),
        share(bound(|bounds| bounds.sign_digest), sign)
    );
    Ok(())
}

/// Measures the memory of a gateway that knows many platforms.
async fn memory(platforms: &Arc<Platforms>, strict: &Server) -> Done<()> {
    let body = json!({ "ids": ["prod_abc123"] }).to_string();
    let numbers = 1..=REMEMBERED;
    let bytes = numbers.clone().map(|number| platforms.document(number).len()).sum::<usize>() / REMEMBERED;
    let calls = numbers.map(|number| Ok(Request { bytes: platforms.post(number, LOOKUP, &body, &[])?, kind: 0 }));
    let everyone = Scenario { name: MEMORY.to_owned(), requests: calls.collect::<Done<_>>()?, kinds: Vec::new() };
    let load = Load { server: strict, scenario: &everyone, connections: FETCHES_AT_ONCE };
    settle().await;
    let before = strict.memory()?;
    let run = load.once().await?;
    settle().await;
    let after = strict.memory()?;
    let fetched = platforms.visits();
    load.once().await?;
    println!("\n{REMEMBERED} platforms with profiles of {bytes} bytes\n");
    println!("  fetched and read in {}: {:.0} us each", milliseconds(run.elapsed), 1e6 * run.cpu_per_request());
    println!(
        "  RSS grew by {:.1} MiB, from {:.1} to {:.1} (target: under 64 MiB)",
        mebibytes(after.resident.saturating_sub(before.resident)),
        mebibytes(before.resident),
        mebibytes(after.resident)
    );
    println!("  when all called again, {} had to be fetched again", platforms.visits() - fetched);
    let (kept, weight) = weighed(platforms).await?;
    println!("  in a directory of their own: {kept} kept, counted as {:.1} MiB", mebibytes(weight));
    Ok(())
}

/// Profiles without a network.
struct Documents(Arc<Platforms>);

impl Fetch for Documents {
    fn fetch<'a>(&'a self, url: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let number = url.url().path().trim_start_matches("/agent-").parse();
        let body = number.map(|number| self.0.document(number)).map_err(|_| FetchError::Connection);
        Box::pin(async { Ok(Fetched { body: body?.into(), max_age: Some(Duration::from_hours(24)) }) })
    }
}

/// Returns the number of platforms that a directory keeps, and their size in bytes as it counts them.
async fn weighed(platforms: &Arc<Platforms>) -> Done<(usize, u64)> {
    let business = Business::new(&SupportedOperations::everything(), None);
    let options = DirectoryOptions { fetch_burst: u32::MAX, ..DirectoryOptions::default() };
    let directory: Directory<NegotiatedProfile> =
        Directory::new(Documents(Arc::clone(platforms)), options, move |profile| business.negotiated_profile(profile));
    for number in 1..=REMEMBERED {
        let url = ProfileUrl::parse(&platforms.profile(number), Reach::Loopback)?;
        directory.get(&url).await.map_err(|refusal| refusal.content)?;
    }
    Ok((directory.len(), directory.weight()))
}

/// Measures the effect on one platform of another that exceeds its rate limit by far.
async fn flood(options: &Options, gateway: &Path, data: &Path, platforms: &Platforms, body: &str) -> Done<()> {
    let (flooder, neighbour) = (ApiKey::generate()?, ApiKey::generate()?);
    let mut config = "[callers]\npolicy = \"require\"\n\n[profiles]\nloopback = true\n".to_owned();
    for (number, key) in [(1, &flooder), (2, &neighbour)] {
        let (profile, hash) = (platforms.profile(number), key.hash());
        config += &format!("\n[[platform]]\nname = \"{number}\"\nprofile = \"{profile}\"\napi_key_hash = \"{hash}\"\n");
    }
    let server = Arc::new(Server::configured(gateway, data, &config, &platforms.profile(2))?);
    let keyed = |number, key: &ApiKey| {
        let key = (HeaderName::from_static("x-api-key"), HeaderValue::from_str(key.reveal())?);
        Done::Ok(Scenario::one(FLOOD, platforms.post(number, LOOKUP, body, &[key])?))
    };
    let neighbour = keyed(2, &neighbour)?;
    let quiet = Load { server: &server, scenario: &neighbour, connections: 4 };
    let floods = [
        ("alone", None),
        ("beside a flood with API key", Some(keyed(1, &flooder)?)),
        ("beside a flood of signatures", Some(Scenario::one(FLOOD, platforms.post_signed(3, LOOKUP, body)?.bytes))),
    ];
    println!("\nA platform that asks {NEIGHBOUR} times a second, beside one that does {FLOODED} times\n");
    println!("{:<32}{:>10}{:>10}{:>18}{:>18}", "", "p50 ms", "p99 ms", "of it, refused", "CPU us each");
    let duration = if options.quick { Duration::from_secs(1) } else { Duration::from_secs(10) };
    for (name, flood) in floods {
        let Some(scenario) = flood else {
            let run = quiet.paced(NEIGHBOUR, duration).await?;
            let [p50, p99] = percentiles(&[run], |_| true);
            println!("{name:<32}{p50:>10}{p99:>10}");
            continue;
        };
        // On a thread of its own: what is measured here has to be sent in time.
        let server = Arc::clone(&server);
        let flooding = task::spawn_blocking(move || {
            let runtime =
                runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
            let load = Load { server: &server, scenario: &scenario, connections: 16 };
            runtime.block_on(load.flood(FLOODED, duration + duration / 5)).map_err(|error| error.to_string())
        });
        tokio::time::sleep(duration / 10).await;
        let run = quiet.paced(NEIGHBOUR, duration).await?;
        let flooded = flooding.await??;
        let [p50, p99] = percentiles(&[run], |_| true);
        let away = format!("{:.1} %", 100.0 * flooded.refused_share());
        println!("{name:<32}{p50:>10}{p99:>10}{away:>18}{:>18.1}", 1e6 * flooded.cpu_per_request());
    }
    Ok(())
}
