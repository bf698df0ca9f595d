//! Tests of the directory with hosts that count requests, on a clock that the tests advance.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::json;
use tokio::time::{advance, sleep};
use ucp_testkit::wait;

use super::*;
use crate::{address::Reach, client::ClientAddress, fetch::FetchError, limit::Stranger};

/// Hosts that all behave in the same way, until a test changes it.
#[derive(Clone, Default)]
struct Hosts(Arc<Scene>);

#[derive(Default)]
struct Scene {
    visits: AtomicUsize,
    by_url: Mutex<HashMap<String, usize>>,
    running: AtomicUsize,
    most_running: AtomicUsize,
    manner: Mutex<Manner>,
}

#[derive(Clone, Default)]
struct Manner {
    takes: Duration,
    max_age: Option<Duration>,
    error: Option<FetchError>,
    body: Option<String>,
}

impl Hosts {
    fn behave(&self, change: impl FnOnce(&mut Manner)) {
        change(&mut self.0.manner.lock().expect("manner"));
    }

    fn visits(&self) -> usize {
        self.0.visits.load(SeqCst)
    }

    fn visits_of(&self, url: &ProfileUrl) -> usize {
        self.0.by_url.lock().expect("urls").get(url.as_str()).copied().unwrap_or_default()
    }
}

impl Fetch for Hosts {
    fn fetch<'a>(&'a self, url: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let scene = &self.0;
            scene.visits.fetch_add(1, SeqCst);
            *scene.by_url.lock().expect("urls").entry(url.to_string()).or_default() += 1;
            let running = scene.running.fetch_add(1, SeqCst) + 1;
            scene.most_running.fetch_max(running, SeqCst);
            let manner = scene.manner.lock().expect("manner").clone();
            sleep(manner.takes).await;
            scene.running.fetch_sub(1, SeqCst);
            match manner.error {
                Some(error) => Err(error),
                None => {
                    Ok(Fetched { body: manner.body.unwrap_or_else(|| profile(&[])).into(), max_age: manner.max_age })
                }
            }
        })
    }
}

/// A profile with these keys.
fn profile(kids: &[&str]) -> String {
    let keys: Vec<_> = kids.iter().map(|kid| json!({ "kty": "oct", "kid": kid })).collect();
    json!({ "ucp": { "version": "2026-04-08", "capabilities": {} }, "keys": keys }).to_string()
}

fn url(text: &str) -> ProfileUrl {
    ProfileUrl::parse(text, Reach::Public).expect("an address")
}

fn one() -> ProfileUrl {
    url("https://one.example/profile.json")
}

fn directory(hosts: &Hosts) -> Directory<()> {
    directory_with(hosts, DirectoryOptions::default())
}

fn directory_with(hosts: &Hosts, options: DirectoryOptions) -> Directory<()> {
    Directory::new(hosts.clone(), options, |_| ())
}

/// Lets background tasks run for one millisecond.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn two_hundred_callers_cost_one_fetch() {
    let hosts = Hosts::default();
    hosts.behave(|manner| manner.takes = SECOND);
    let directory = directory(&hosts);
    let callers = (0..200).map(|_| {
        let directory = directory.clone();
        tokio::spawn(async move { directory.get(&one()).await })
    });
    for caller in wait::all(callers).await {
        assert!(caller.expect("ends").is_ok());
    }
    assert_eq!(hosts.visits(), 1);
    assert!(directory.peek(one().as_str()).is_some());
    assert!(directory.peek("https://other.example/").is_none());
    assert!(directory.get(&one()).await.is_ok());
    assert_eq!((hosts.visits(), directory.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_takes_nothing_from_the_others() {
    let hosts = Hosts::default();
    hosts.behave(|manner| manner.takes = SECOND);
    let directory = directory(&hosts);
    let first = tokio::spawn({
        let directory = directory.clone();
        async move { directory.get(&one()).await }
    });
    settle().await;
    let second = tokio::spawn({
        let directory = directory.clone();
        async move { directory.get(&one()).await }
    });
    settle().await;
    first.abort();
    assert!(second.await.expect("ends").is_ok());
    assert_eq!(hosts.visits(), 1);
}

#[tokio::test(start_paused = true)]
async fn freshness_has_a_floor_and_a_cap() {
    for (max_age, lifetime) in [
        (None, MINUTE),
        (Some(Duration::ZERO), MINUTE),
        (Some(59 * SECOND), MINUTE),
        (Some(5 * MINUTE), 5 * MINUTE),
        (Some(48 * 60 * MINUTE), 24 * 60 * MINUTE),
    ] {
        let hosts = Hosts::default();
        hosts.behave(|manner| manner.max_age = max_age);
        let directory = directory(&hosts);
        assert!(directory.get(&one()).await.is_ok());
        advance(lifetime - Duration::from_millis(1)).await;
        assert!(directory.peek(one().as_str()).is_some(), "{max_age:?}");
        advance(Duration::from_millis(2)).await;
        assert!(directory.peek(one().as_str()).is_none(), "{max_age:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_stale_is_served_while_one_task_fetches_it_again() {
    let hosts = Hosts::default();
    let directory = directory(&hosts);
    let before = directory.get(&one()).await.expect("known").fetched_at;
    advance(2 * MINUTE).await;
    hosts.behave(|manner| manner.takes = SECOND);
    for _ in 0..50 {
        assert_eq!(directory.get(&one()).now_or_never().expect("no waiting").expect("known").fetched_at, before);
    }
    sleep(2 * SECOND).await;
    assert_eq!(hosts.visits(), 2);
    assert!(directory.peek(one().as_str()).expect("fresh again").fetched_at > before);
}

#[tokio::test(start_paused = true)]
async fn what_is_very_stale_is_served_only_when_it_cannot_be_fetched() {
    let hosts = Hosts::default();
    let directory = directory(&hosts);
    let before = directory.get(&one()).await.expect("known").fetched_at;
    advance(60 * MINUTE).await;
    hosts.behave(|manner| (manner.takes, manner.error) = (SECOND, Some(FetchError::Status(500))));
    assert_eq!(directory.get(&one()).await.expect("served all the same").fetched_at, before);
    assert_eq!(hosts.visits(), 2);
    // During the backoff callers do not wait.
    let again = directory.get(&one()).now_or_never().expect("no waiting");
    assert_eq!(again.expect("served all the same").fetched_at, before);
    assert_eq!(hosts.visits(), 2);
    advance(MINUTE).await;
    hosts.behave(|manner| manner.error = None);
    assert!(directory.get(&one()).await.expect("fetched").fetched_at > before);
    // Once it is too old, it is not served at all.
    advance(26 * 60 * MINUTE).await;
    hosts.behave(|manner| manner.error = Some(FetchError::Timeout));
    assert_eq!(directory.get(&one()).await.expect_err("too old").code, Code::ProfileUnreachable);
}

#[tokio::test(start_paused = true)]
async fn failures_are_left_in_peace_for_longer_and_longer() {
    let hosts = Hosts::default();
    hosts.behave(|manner| manner.error = Some(FetchError::Status(404)));
    let directory = directory(&hosts);
    let mut fetched = 0;
    for pause in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        let refusal = directory.get(&one()).await.expect_err("refused");
        fetched += 1;
        assert_eq!((refusal.code, refusal.retry_after), (Code::ProfileUnreachable, Some(pause)));
        assert!(refusal.content.contains("404"), "{refusal}");
        advance(pause * SECOND - Duration::from_millis(500)).await;
        let again = directory.get(&one()).now_or_never().expect("no waiting").expect_err("refused");
        assert_eq!((&again.content, again.retry_after), (&refusal.content, Some(1)));
        assert_eq!(hosts.visits(), fetched);
        advance(SECOND).await;
    }
    hosts.behave(|manner| manner.error = None);
    advance(5 * MINUTE).await;
    assert!(directory.get(&one()).await.is_ok());
    assert!(directory.peek(one().as_str()).is_some());
}

#[tokio::test(start_paused = true)]
async fn nobody_has_to_wait_twice_for_what_could_not_be_had() {
    let hosts = Hosts::default();
    let directory = directory(&hosts);
    hosts.behave(|manner| {
        manner.error = Some(FetchError::Timeout);
        manner.takes = Duration::from_secs(5);
    });
    let asked = Instant::now();
    assert!(directory.get_or_last_failure(&one()).await.is_err());
    assert_eq!(asked.elapsed(), Duration::from_secs(5), "the first caller waits");
    for _ in 0..3 {
        advance(Duration::from_secs(2)).await;
        let (asked, visits) = (Instant::now(), hosts.visits());
        assert!(directory.get_or_last_failure(&one()).await.is_err());
        assert_eq!(asked.elapsed(), Duration::ZERO);
        settle().await;
        assert!(hosts.visits() <= visits + 1, "another attempt is made in the background, once");
    }
    // The attempt in flight fails as the others did.
    sleep(Duration::from_secs(10)).await;
    hosts.behave(|manner| *manner = Manner::default());
    advance(Duration::from_mins(10)).await;
    assert!(directory.get_or_last_failure(&one()).await.is_err());
    settle().await;
    assert!(directory.get_or_last_failure(&one()).await.is_ok(), "what was fetched in the background is there");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_profile_is_refused_and_remembered() {
    let hosts = Hosts::default();
    hosts.behave(|manner| manner.body = Some("<html>".into()));
    let directory = directory(&hosts);
    for _ in 0..3 {
        let refusal = directory.get(&one()).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.retry_after), (Code::ProfileMalformed, None));
    }
    assert_eq!(hosts.visits(), 1);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_unknown_addresses_stay_within_the_budget() {
    let hosts = Hosts::default();
    hosts.behave(|manner| manner.takes = Duration::from_millis(10));
    let directory = directory(&hosts);
    directory.pin(url("https://friend.example/p"), PlatformProfile::default());
    let callers = (0..10_000u64).map(|index| {
        let directory = directory.clone();
        tokio::spawn(async move {
            // The calls are spread over ten seconds.
            sleep(Duration::from_millis(index)).await;
            directory.get(&url(&format!("https://host-{index}.example/p"))).await.map(|_| ())
        })
    });
    let mut busy = 0;
    for caller in wait::all(callers).await {
        if let Err(refusal) = caller.expect("ends") {
            assert_eq!(refusal.code, Code::Unavailable);
            assert!(refusal.retry_after.is_some());
            busy += 1;
        }
    }
    assert!((200..=241).contains(&hosts.visits()), "{}", hosts.visits());
    assert_eq!(busy, 10_000 - hosts.visits());
    assert!(hosts.0.most_running.load(SeqCst) <= 32);
    assert!(directory.get(&url("https://friend.example/p")).now_or_never().expect("no waiting").is_ok());
}

#[tokio::test(start_paused = true)]
async fn few_fetches_run_at_once_and_fewer_to_one_origin() {
    let hosts = Hosts::default();
    hosts.behave(|manner| manner.takes = 5 * SECOND);
    let directory = directory(&hosts);
    let ask = |text: String| {
        let directory = directory.clone();
        tokio::spawn(async move { directory.get(&url(&text)).await.map(|_| ()) })
    };
    let same: Vec<_> = (0..20).map(|index| ask(format!("https://slow.example/{index}"))).collect();
    settle().await;
    assert_eq!(hosts.visits(), 8);
    let other: Vec<_> = (0..20).map(|index| ask(format!("https://host-{index}.example/"))).collect();
    settle().await;
    assert_eq!(hosts.visits(), 28);
    let served = wait::all(same.into_iter().chain(other)).await;
    assert_eq!(
        served.into_iter().filter(|ended| matches!(ended, Ok(Ok(())))).count(),
        28,
        "the others gave up waiting"
    );
}

#[tokio::test(start_paused = true)]
async fn silent_hosts_that_two_callers_name_keep_no_new_platform_out() {
    let (hosts, from) = (Hosts::default(), |network: u8| {
        let address = ClientAddress::new([192, 0, network, 1].into());
        Share::Stranger(Stranger::anonymous(address))
    });
    hosts.behave(|manner| manner.takes = 5 * SECOND);
    let options = DirectoryOptions { fetch_burst: 100, ..DirectoryOptions::default() };
    let directory = directory_with(&hosts, options);
    let ask = |text: String, network: u8| {
        let directory = directory.charged_to(Some(&from(network)));
        tokio::spawn(async move { directory.get(&url(&text)).await.map(|_| ()) })
    };
    let silent: Vec<_> = (0..20).map(|index| ask(format!("https://silent-{index}.example/"), 1 + index % 2)).collect();
    settle().await;
    assert_eq!(hosts.visits(), 16);
    hosts.behave(|manner| manner.takes = Duration::from_millis(5));
    let new: Vec<_> = (0..16).map(|index| ask(format!("https://new-{index}.example/"), 10 + index % 4)).collect();
    for found in wait::all(new).await {
        assert!(matches!(found, Ok(Ok(()))), "{found:?}");
    }
    // One of them names what the others name: they wait for it as for their own.
    let shadowed: Vec<_> =
        [1, 20].into_iter().map(|network| ask("https://late.example/".to_owned(), network)).collect();
    let ends: Vec<_> = wait::all(shadowed).await.into_iter().map(|end| end.expect("ends").is_ok()).collect();
    assert_eq!(ends, [false, true], "the share of the other one is taken, and its own is not");
    wait::all(silent).await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_forces_one_refresh_per_origin_and_floor() {
    let hosts = Hosts::default();
    hosts.behave(|manner| (manner.body, manner.max_age) = (Some(profile(&["old"])), Some(60 * MINUTE)));
    let directory = directory(&hosts);
    let (first, second) = (url("https://one.example/a"), url("https://one.example/b"));
    // A profile that was just fetched is not fetched again.
    assert!(directory.refresh_for_key(&first, "new").await.is_ok());
    assert!(directory.get(&second).await.is_ok());
    assert_eq!(hosts.visits(), 2);
    advance(SECOND).await;
    assert!(directory.refresh_for_key(&first, "old").await.is_ok());
    assert_eq!(hosts.visits(), 2);

    hosts.behave(|manner| (manner.body, manner.takes) = (Some(profile(&["new"])), SECOND));
    let callers = (0..50).map(|_| {
        let (directory, first) = (directory.clone(), first.clone());
        tokio::spawn(async move { directory.refresh_for_key(&first, "new").await })
    });
    for caller in wait::all(callers).await {
        assert!(caller.expect("ends").expect("known").profile.key("new").is_some());
    }
    assert_eq!(hosts.visits(), 3);
    // The origin was refreshed already, for either profile and any key.
    for (platform, kid) in [(&first, "newer"), (&second, "new")] {
        let known = directory.refresh_for_key(platform, kid).await.expect("known");
        assert!(known.profile.key(kid).is_none());
    }
    assert_eq!(hosts.visits(), 3);
    advance(MINUTE).await;
    assert!(directory.refresh_for_key(&second, "new").await.expect("known").profile.key("new").is_some());
    assert_eq!(hosts.visits(), 4);
    // A failed refresh leaves the known profile in place.
    advance(MINUTE).await;
    hosts.behave(|manner| manner.error = Some(FetchError::Connection));
    assert!(directory.refresh_for_key(&second, "newest").await.expect("known").profile.key("new").is_some());
    assert_eq!(hosts.visits(), 5);
}

#[tokio::test(start_paused = true)]
async fn pinned_profiles_are_never_fetched() {
    let hosts = Hosts::default();
    let directory = directory(&hosts);
    let (profile, _) = PlatformProfile::read(profile(&["k"]).as_bytes()).expect("a profile");
    directory.pin(one(), profile);
    advance(1_000 * 60 * MINUTE).await;
    let known = directory.peek(one().as_str()).expect("fresh for ever");
    assert!(known.is_pinned());
    assert!(directory.refresh_for_key(&one(), "other").await.is_ok());
    assert_eq!((hosts.visits(), directory.weight()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn registered_addresses_are_followed_without_anybody_waiting() {
    let hosts = Hosts::default();
    hosts.behave(|manner| (manner.takes, manner.error) = (SECOND, Some(FetchError::Timeout)));
    // Nothing may be fetched here for platforms that are not registered.
    let options = DirectoryOptions { fetch_burst: 0, fetches_per_second: 0, ..DirectoryOptions::default() };
    let directory = directory_with(&hosts, options);
    let first = directory.pin_url(one());
    let early = directory.get(&one()).now_or_never().expect("no waiting").expect_err("not yet");
    assert_eq!((early.code, early.retry_after), (Code::ProfileUnreachable, Some(1)));
    assert_eq!(first.await.expect_err("fails").code, Code::ProfileUnreachable);
    let failed = directory.get(&one()).now_or_never().expect("no waiting").expect_err("failed");
    assert_eq!((failed.code, failed.retry_after), (Code::ProfileUnreachable, Some(1)));
    assert_eq!(directory.get(&url("https://stranger.example/")).await.expect_err("busy").code, Code::Unavailable);

    hosts.behave(|manner| manner.error = None);
    sleep(3 * SECOND).await;
    let known = directory.peek(one().as_str()).expect("fetched in the background");
    assert!(known.is_pinned());
    sleep(MINUTE + 2 * SECOND).await;
    let later = directory.peek(one().as_str()).expect("fetched again");
    assert!(later.fetched_at > known.fetched_at);
    // A new key causes a fetch outside of the budget.
    hosts.behave(|manner| manner.body = Some(profile(&["new"])));
    assert!(directory.refresh_for_key(&one(), "new").await.expect("known").profile.key("new").is_some());
    // A host that became unreachable changes nothing.
    hosts.behave(|manner| manner.error = Some(FetchError::UnknownHost));
    let before = hosts.visits();
    sleep(100 * 60 * MINUTE).await;
    assert!(directory.peek(one().as_str()).is_some());
    let tried = hosts.visits() - before;
    assert!((1_000..1_300).contains(&tried), "one attempt in five minutes, not {tried}");

    assert!(directory.pin_url(one()).await.is_ok(), "registered already");
    drop(directory);
    let before = hosts.visits();
    sleep(60 * MINUTE).await;
    assert!(hosts.visits() - before <= 1, "nothing is followed for nobody");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_fetch_is_not_contagious() {
    let hosts = Hosts::default();
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    let directory: Directory<()> = Directory::new(hosts.clone(), DirectoryOptions::default(), move |_| {
        assert!(counted.fetch_add(1, SeqCst) > 0, "the first one fails");
    });
    assert_eq!(directory.get(&one()).await.expect_err("fails").code, Code::InternalError);
    assert!(directory.get(&one()).await.is_ok());
    assert_eq!(hosts.visits_of(&one()), 2);
}

/// A profile of about six kilobytes, as large platforms publish it.
fn realistic(index: usize) -> String {
    let of = |name: &str, extends: &[&str]| {
        json!([{
            "version": "2026-04-08",
            "spec": format!("https://ucp.dev/2026-04-08/specification/{name}"),
            "schema": format!("https://ucp.dev/2026-04-08/schemas/shopping/{name}.json"),
            "extends": extends,
            "config": { "webhook_url": format!("https://platform-{index}.example/webhooks/ucp/orders") },
        }])
    };
    let roots = ["checkout", "cart", "order", "catalog.search", "catalog.lookup"];
    let mut capabilities = serde_json::Map::new();
    for name in roots {
        capabilities.insert(format!("dev.ucp.shopping.{name}"), of(name, &[]));
    }
    for name in ["fulfillment", "discount", "buyer_consent", "ap2_mandate", "loyalty", "permalink", "returns"] {
        let parents = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.cart"];
        capabilities.insert(format!("dev.ucp.shopping.{name}"), of(name, &parents));
    }
    let keys: Vec<_> = (0..3)
        .map(|key| {
            json!({
                "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": format!("platform-{index}-{key}"),
                "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            })
        })
        .collect();
    let handlers = "An instrument that this platform can hold, with all of its configuration. ".repeat(20);
    json!({
        "ucp": {
            "version": "2026-04-08",
            "services": { "dev.ucp.shopping": [{ "version": "2026-04-08", "transport": "mcp" }] },
            "capabilities": capabilities,
            "payment_handlers": { "com.example.pay": [{ "id": "pay", "version": "2026-04-08", "config": handlers }] },
        },
        "signing_keys": keys,
    })
    .to_string()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_profiles_fit_into_memory() {
    let hosts = Hosts::default();
    let options = DirectoryOptions {
        fetches_per_second: u32::MAX,
        fetch_burst: u32::MAX,
        capacity: 1 << 40,
        ..DirectoryOptions::default()
    };
    let directory = directory_with(&hosts, options);
    for index in 0..10_000 {
        let body = realistic(index);
        assert!((5_000..8_000).contains(&body.len()), "{}", body.len());
        hosts.behave(|manner| manner.body = Some(body));
        let known = directory.get(&url(&format!("https://platform-{index}.example/profiles/ucp.json"))).await;
        assert_eq!(known.expect("known").profile.keys.len(), 3);
    }
    assert_eq!(directory.len(), 10_000);
    assert!(directory.weight() < 64 * 1024 * 1024, "{}", directory.weight());
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded_by_bytes_and_evicts_no_pinned_platform() {
    let hosts = Hosts::default();
    let options = DirectoryOptions {
        fetches_per_second: u32::MAX,
        fetch_burst: u32::MAX,
        capacity: 1024 * 1024,
        ..DirectoryOptions::default()
    };
    let directory = directory_with(&hosts, options);
    directory.pin(one(), PlatformProfile::default());
    hosts.behave(|manner| manner.body = Some(realistic(0)));
    for index in 0..1_000 {
        assert!(directory.get(&url(&format!("https://platform-{index}.example/p"))).await.is_ok());
        assert!(directory.weight() <= 1024 * 1024, "{}", directory.weight());
    }
    assert!((100..1_000).contains(&directory.len()), "{}", directory.len());
    assert!(directory.peek(one().as_str()).is_some());
}
