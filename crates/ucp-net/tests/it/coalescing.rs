//! Equal reads, and what is kept of them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use proptest::prelude::*;
use tokio::{
    sync::Notify,
    task::yield_now,
    time::{Instant, sleep, timeout},
};
use ucp_core::operation::{Freshness, Operation};
use ucp_net::{
    Clock, CoalescingCache, Counters, Failure, Filled, Key, Served, Snapshot, Staleness, coalescing::Capacity, deadline,
};
use ucp_testkit::{PATIENCE, eventually, until, wait, within};

use super::clock;

const FRESH: Freshness = Freshness {
    fresh: Duration::from_secs(10),
    while_revalidating: Duration::from_secs(20),
    on_error: Duration::from_secs(60),
    missing: Duration::from_secs(5),
};

/// Shared reads of numbers: each fill that succeeds is one more.
struct Bench {
    shared: CoalescingCache<usize>,
    counters: Arc<Counters>,
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Bench {
    fn new(capacity: Capacity) -> Self {
        let counters = Arc::new(Counters::default());
        let shared = CoalescingCache::new(capacity, |_| 1_000, clock(), Arc::clone(&counters));
        Self { shared, counters, begun: Arc::default(), ended: Arc::default() }
    }

    async fn get<F>(&self, key: &str, freshness: Freshness, answer: F) -> Result<Served<usize>, Failure>
    where
        F: FnOnce(usize) -> Result<Filled<usize>, Failure> + Send + 'static,
    {
        let (begun, ended) = (Arc::clone(&self.begun), Arc::clone(&self.ended));
        let fill = move || {
            let number = begun.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(Duration::from_secs(1)).await;
                ended.fetch_add(1, Ordering::Relaxed);
                answer(number)
            }
        };
        self.shared.get(&Key::of([key]), freshness, fill).await
    }

    async fn found(&self, key: &str) -> Result<Served<usize>, Failure> {
        self.get(key, FRESH, |number| Ok(Filled::Found(number))).await
    }

    async fn failing(&self, key: &str) -> Result<Served<usize>, Failure> {
        self.get(key, FRESH, |_| Err(Failure::Connect)).await
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    fn counts(&self) -> Snapshot {
        self.counters.snapshot()
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self::new(Capacity::default())
    }
}

async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_equal_cold_reads_are_one() {
    let bench = Bench::default();
    let served = wait::all((0..200).map(|_| bench.found("a"))).await;
    assert!(served.iter().all(|served| matches!(served, Ok(Served { value: 0, stale: None, .. }))));
    assert_eq!(bench.begun(), 1);
    let counts = bench.counts();
    assert_eq!((counts.filled, counts.coalesced, counts.cached), (1, 199, 0));
    bench.found("a").await.expect("a value");
    assert_eq!((bench.begun(), bench.counts().cached), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn they_are_one_on_many_threads_too() {
    let (shared, begun) = (Bench::default().shared, Arc::new(AtomicUsize::new(0)));
    for round in 0..50_usize {
        let calls = (0..40).map(|_| {
            let (shared, begun) = (shared.clone(), Arc::clone(&begun));
            tokio::spawn(async move {
                let fill = move || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    async move {
                        yield_now().await;
                        Ok(Filled::Found(round))
                    }
                };
                shared.get(&Key::of([round.to_string()]), Freshness::seconds(3_600, 3_600, 86_400, 60), fill).await
            })
        });
        for served in wait::all(calls).await {
            assert_eq!(served.expect("a task").expect("a value").value, round);
        }
        assert_eq!(begun.load(Ordering::Relaxed), round + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_misses_the_end_of_a_call_by_a_hair_does_not_repeat_it() {
    let flag = || Arc::new(AtomicBool::new(false));
    let (armed, between, ended) = (flag(), flag(), flag());
    // Between looking for what is kept and asking who is under way, a caller looks at the clock. There the other one
    // ends.
    let clock: Clock = {
        let (armed, between, ended) = (Arc::clone(&armed), Arc::clone(&between), Arc::clone(&ended));
        Arc::new(move || {
            if armed.swap(false, Ordering::SeqCst) {
                between.store(true, Ordering::SeqCst);
                eventually("the first call to end", PATIENCE, || ended.load(Ordering::SeqCst).then_some(()));
            }
            Instant::now()
        })
    };
    let (release, fills) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let shared = CoalescingCache::new(Capacity::default(), |_: &usize| 8, clock, Arc::default());
    let get = |release: Option<Arc<Notify>>| {
        let (shared, fills) = (shared.clone(), Arc::clone(&fills));
        tokio::spawn(async move {
            let fill = move || async move {
                let number = fills.fetch_add(1, Ordering::SeqCst);
                if let Some(release) = release {
                    release.notified().await;
                }
                Ok(Filled::Found(number))
            };
            shared.get(&Key::of(["a"]), FRESH, fill).await
        })
    };
    let first = get(Some(Arc::clone(&release)));
    until("the first call to begin", PATIENCE, async || (fills.load(Ordering::SeqCst) > 0).then_some(())).await;
    armed.store(true, Ordering::SeqCst);
    let second = get(None);
    until("the second caller to look at the clock", PATIENCE, async || between.load(Ordering::SeqCst).then_some(()))
        .await;
    release.notify_one();
    let first = within("the first caller", PATIENCE, first).await;
    assert_eq!(first.expect("a task").expect("a value").value, 0);
    // The call is off the list a moment after its callers have their answer.
    std::thread::sleep(Duration::from_millis(20));
    ended.store(true, Ordering::SeqCst);
    let second = within("the second caller", PATIENCE, second).await;
    assert_eq!(second.expect("a task").expect("a value").value, 0);
    assert_eq!(fills.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_neither_cancels_nor_repeats_the_call() {
    let bench = Bench::default();
    let (first, others) =
        wait::both(timeout(Duration::from_millis(500), bench.found("a")), wait::all((0..3).map(|_| bench.found("a"))))
            .await;
    assert!(first.is_err(), "gone");
    assert!(others.iter().all(|served| matches!(served, Ok(Served { value: 0, .. }))));
    assert_eq!(bench.begun(), 1);
    // Also when nobody is left.
    assert!(timeout(Duration::from_millis(500), bench.found("b")).await.is_err());
    pass(1).await;
    assert_eq!((bench.begun(), bench.ended.load(Ordering::Relaxed)), (2, 2));
    assert_eq!(bench.found("b").await.expect("a value").value, 1);
    assert_eq!(bench.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn failures_and_panics_are_shared_and_not_kept() {
    let bench = Bench::default();
    let failed = wait::all((0..10).map(|_| bench.failing("a"))).await;
    assert!(failed.iter().all(|served| matches!(served, Err(Failure::Connect))));
    assert_eq!(bench.begun(), 1);
    let panicked = wait::all((0..10).map(|_| bench.get("a", FRESH, |_| panic!("on purpose")))).await;
    assert!(panicked.iter().all(|served| matches!(served, Err(Failure::Abandoned))));
    assert_eq!(bench.begun(), 2);
    assert_eq!(bench.found("a").await.expect("a value").value, 2);
}

#[tokio::test(start_paused = true)]
async fn a_fill_that_panics_before_it_begins_is_one_too() {
    let shared: CoalescingCache<usize> = Bench::default().shared;
    let fill = || -> std::future::Ready<Result<Filled<usize>, Failure>> { panic!("on purpose") };
    let served = shared.get(&Key::of(["a"]), FRESH, fill).await;
    assert!(matches!(served, Err(Failure::Abandoned)));
}

#[tokio::test(start_paused = true)]
async fn what_went_stale_is_served_and_renewed_once() {
    let bench = Bench::default();
    bench.found("a").await.expect("a value");
    pass(9).await;
    let stale = wait::all((0..50).map(|_| bench.found("a"))).await;
    for served in stale {
        let expected = Served { value: 0, age: Duration::from_secs(10), stale: Some(Staleness::Renewing) };
        assert_eq!(served.expect("a value"), expected);
    }
    pass(2).await;
    assert_eq!((bench.begun(), bench.counts().refreshed, bench.counts().stale_renewed), (2, 1, 50));
    let served = bench.found("a").await.expect("a value");
    assert_eq!((served.value, served.age, served.stale), (1, Duration::from_secs(2), None));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_for_that_is_served_when_the_upstream_fails() {
    let bench = Bench::default();
    bench.found("a").await.expect("a value");
    pass(31).await;
    let served = bench.failing("a").await.expect("a value");
    let expected = Served { value: 0, age: Duration::from_secs(33), stale: Some(Staleness::Failed) };
    assert_eq!((served, bench.counts().stale_failed), (expected, 1));
    pass(36).await;
    // It was young enough when it was asked for, and is too old by now.
    assert!(matches!(bench.failing("a").await, Err(Failure::Connect)));
    assert!(matches!(bench.failing("a").await, Err(Failure::Connect)));
    let counts = bench.counts();
    assert_eq!((counts.stale_failed, bench.begun()), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn that_there_is_nothing_is_kept_for_a_moment_and_never_stale() {
    let bench = Bench::default();
    let missing = async || bench.get("a", FRESH, |number| Ok(Filled::Missing(number))).await.expect("a value").value;
    assert_eq!((missing().await, missing().await), (0, 0));
    pass(4).await;
    assert_eq!(missing().await, 1);
    pass(5).await;
    assert!(bench.failing("a").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_good_for_one_answer_is_not_kept() {
    let bench = Bench::default();
    let partial = async || bench.get("a", FRESH, |number| Ok(Filled::Once(number))).await.expect("a value").value;
    assert_eq!((partial().await, partial().await), (0, 1));
    let unkept =
        async || bench.get("b", Freshness::NONE, |number| Ok(Filled::Found(number))).await.expect("a value").value;
    assert_eq!((unkept().await, unkept().await), (2, 3));
    assert_eq!(bench.shared.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_no_longer_than_its_deadline() {
    let bench = Bench::default();
    let soon = |millis| Instant::now() + Duration::from_millis(millis);
    let hasty = deadline::within(soon(300), bench.found("a"));
    let (hasty, patient) = wait::both(hasty, bench.found("a")).await;
    assert!(matches!(hasty, Err(Failure::Expired { .. })));
    assert_eq!(patient.expect("a value").value, 0);
    pass(40).await;
    let served = deadline::within(soon(300), bench.found("a")).await.expect("something stale");
    assert_eq!((served.value, served.stale), (0, Some(Staleness::Failed)));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_keys_stay_within_the_bytes_that_were_set() {
    let bytes = 8 << 20;
    let bench = Bench::new(Capacity { bytes, fills: 1_000 });
    let mut most = 0;
    for hundred in 0..1_000 {
        let keys: Vec<_> = (0..100).map(|key| format!("key-{hundred}-{key}")).collect();
        let served = wait::all(keys.iter().map(|key| bench.found(key))).await;
        assert!(served.iter().all(Result::is_ok));
        most = bench.shared.bytes().max(most);
    }
    assert_eq!(bench.begun(), 100_000);
    assert!(most <= bytes, "{most}");
    // It is not small because nothing is kept.
    assert!(most > bytes * 3 / 4, "{most}");
}

#[tokio::test(start_paused = true)]
async fn what_is_larger_than_the_cache_is_served_and_not_kept() {
    let counters = Arc::new(Counters::default());
    let shared: CoalescingCache<Arc<str>> =
        CoalescingCache::new(Capacity { bytes: 10_000, fills: 8 }, |text| text.len(), clock(), counters);
    let large: Arc<str> = "x".repeat(100_000).into();
    let fill = move || std::future::ready(Ok(Filled::Found(large)));
    assert_eq!(shared.get(&Key::of(["a"]), FRESH, fill).await.expect("a value").value.len(), 100_000);
    assert_eq!(shared.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_are_bounded() {
    let bench = Bench::new(Capacity { bytes: 1 << 20, fills: 10 });
    let keys: Vec<_> = (0..100).map(|key| key.to_string()).collect();
    let served = wait::all(keys.iter().map(|key| bench.found(key))).await;
    assert_eq!(served.iter().filter(|served| served.is_ok()).count(), 10);
    assert!(served.iter().all(|served| matches!(served, Ok(_) | Err(Failure::Saturated))));
    assert_eq!(bench.counts().shed, 90);
    bench.found("99").await.expect("there is room again");
}

#[test]
fn different_lists_have_different_keys() {
    let lists: [&[&str]; 7] = [&[], &[""], &["", ""], &["ab"], &["a", "b"], &["b", "a"], &["", "ab"]];
    for (index, one) in lists.iter().enumerate() {
        for (other_index, other) in lists.iter().enumerate() {
            assert_eq!(Key::of(*one) == Key::of(*other), index == other_index, "{one:?} {other:?}");
        }
    }
}

#[test]
fn only_the_catalog_is_shared_and_products_are_young() {
    let shared = Operation::ALL.iter().filter(|operation| operation.row().freshness.is_some());
    let expected = [Operation::SearchCatalog, Operation::LookupCatalog, Operation::GetProduct];
    assert!(shared.eq(expected.iter()));
    let product = Operation::GetProduct.row().freshness.expect("it is shared");
    let oldest = product.fresh
        + product.while_revalidating.max(product.on_error).max(product.missing.saturating_sub(product.fresh));
    assert_eq!(oldest, Duration::from_secs(5));
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Found,
    Missing,
    Once,
    Failed,
    Panicked,
}

#[derive(Clone, Debug)]
struct Read {
    /// Tens of milliseconds since the read before.
    after: u64,
    key: usize,
    strict: bool,
    answer: Answer,
    /// Tens of milliseconds, and a half: nothing happens at the same time.
    takes: u64,
    /// After how many tens of milliseconds, and a quarter, the caller is gone.
    patience: Option<u64>,
}

fn read() -> impl Strategy<Value = Read> {
    let answer = prop_oneof![
        5 => Just(Answer::Found),
        1 => Just(Answer::Missing),
        1 => Just(Answer::Once),
        3 => Just(Answer::Failed),
        1 => Just(Answer::Panicked),
    ];
    let after = prop_oneof![4 => 0_u64..10, 2 => 0_u64..100, 1 => 0_u64..400];
    (after, 0_usize..3, prop::bool::weighted(0.2), answer, 0_u64..40, prop::option::weighted(0.3, 0_u64..20))
        .prop_map(|(after, key, strict, answer, takes, patience)| Read { after, key, strict, answer, takes, patience })
}

const TENTH: Duration = Duration::from_millis(10);

/// In seconds and parts of them, so that a schedule goes through all ages.
const LOOSE: Freshness = Freshness {
    fresh: Duration::from_millis(300),
    while_revalidating: Duration::from_millis(500),
    on_error: Duration::from_millis(1_500),
    missing: Duration::from_millis(100),
};
const STRICT: Freshness =
    Freshness { fresh: Duration::from_millis(100), missing: Duration::from_millis(100), ..Freshness::NONE };

/// Response that a caller got, as the oracle and the bench record it; `None` for a caller that was gone.
type Got = Option<Result<(usize, Duration, Option<Staleness>), ()>>;

/// The rules, told one event after the other.
#[derive(Default)]
struct Oracle {
    kept: HashMap<usize, Kept>,
    flights: HashMap<usize, Flown>,
    fills: usize,
}

#[derive(Clone, Copy)]
struct Kept {
    value: usize,
    since: Duration,
    missing: bool,
}

#[derive(Clone, Copy)]
struct Flown {
    value: usize,
    began: Duration,
    lands: Duration,
    answer: Answer,
}

impl Oracle {
    fn land(&mut self, now: Duration) {
        let kept = &mut self.kept;
        self.flights.retain(|key, flight| {
            let landed = flight.lands <= now;
            if landed && matches!(flight.answer, Answer::Found | Answer::Missing) {
                let missing = matches!(flight.answer, Answer::Missing);
                kept.insert(*key, Kept { value: flight.value, since: flight.began, missing });
            }
            !landed
        });
    }

    fn fly(&mut self, read: &Read, now: Duration) -> Flown {
        *self.flights.entry(read.key).or_insert_with(|| {
            self.fills += 1;
            let lands = now + TENTH * u32::try_from(read.takes).expect("it is small") + TENTH / 2;
            Flown { value: self.fills - 1, began: now, lands, answer: read.answer }
        })
    }

    fn read(&mut self, read: &Read, now: Duration) -> Got {
        self.land(now);
        let freshness = if read.strict { STRICT } else { LOOSE };
        let kept = self.kept.get(&read.key).copied();
        if let Some(kept) = kept {
            let age = now - kept.since;
            if age < if kept.missing { freshness.missing } else { freshness.fresh } {
                return Some(Ok((kept.value, age, None)));
            }
            if !kept.missing && age < freshness.fresh + freshness.while_revalidating {
                self.fly(read, now);
                return Some(Ok((kept.value, age, Some(Staleness::Renewing))));
            }
        }
        let flight = self.fly(read, now);
        let gone = read.patience.map(|tenths| now + TENTH * u32::try_from(tenths).expect("it is small") + TENTH / 4);
        if gone.is_some_and(|gone| gone < flight.lands) {
            return None;
        }
        if matches!(flight.answer, Answer::Found | Answer::Missing | Answer::Once) {
            return Some(Ok((flight.value, Duration::ZERO, None)));
        }
        let usable = kept.filter(|kept| {
            let longest = freshness.fresh + freshness.on_error.max(freshness.while_revalidating);
            !kept.missing && flight.lands - kept.since < longest
        });
        Some(usable.map(|kept| (kept.value, flight.lands - kept.since, Some(Staleness::Failed))).ok_or(()))
    }
}

async fn run(reads: &[Read]) -> (Vec<Got>, usize) {
    let (shared, fills): (CoalescingCache<usize>, _) = (Bench::default().shared, Arc::new(AtomicUsize::new(0)));
    let got = Arc::new(Mutex::new(vec![None; reads.len()]));
    let callers = reads.iter().cloned().enumerate().map(|(index, read)| (index, read, got.clone(), fills.clone()));
    let mut tasks = Vec::new();
    for (index, read, got, fills) in callers {
        sleep(TENTH * u32::try_from(read.after).expect("it is small")).await;
        let shared = shared.clone();
        tasks.push(tokio::spawn(async move {
            let Read { key, strict, answer, takes, patience, .. } = read;
            let fill = move || async move {
                let number = fills.fetch_add(1, Ordering::Relaxed);
                sleep(TENTH * u32::try_from(takes).expect("it is small") + TENTH / 2).await;
                match answer {
                    Answer::Found => Ok(Filled::Found(number)),
                    Answer::Missing => Ok(Filled::Missing(number)),
                    Answer::Once => Ok(Filled::Once(number)),
                    Answer::Failed => Err(Failure::Connect),
                    Answer::Panicked => std::panic::resume_unwind(Box::new("on purpose")),
                }
            };
            let (key, freshness) = (Key::of([key.to_string()]), if strict { STRICT } else { LOOSE });
            let reading = shared.get(&key, freshness, fill);
            let served = match patience {
                Some(tenths) => {
                    let patience = TENTH * u32::try_from(tenths).expect("it is small") + TENTH / 4;
                    timeout(patience, reading).await.ok()
                }
                None => Some(reading.await),
            };
            let served = served.map(|served| served.map(|it| (it.value, it.age, it.stale)).map_err(|_| ()));
            got.lock().unwrap_or_else(PoisonError::into_inner)[index] = served;
        }));
        // The caller and the call it may begin get as far as they can.
        for _ in 0..4 {
            yield_now().await;
        }
    }
    for task in tasks {
        task.await.expect("a task");
    }
    pass(1).await;
    let got = got.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (got, fills.load(Ordering::Relaxed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_schedule_is_answered_as_the_rules_say(reads in prop::collection::vec(read(), 0..60)) {
        let (mut oracle, mut now) = (Oracle::default(), Duration::ZERO);
        let expected: Vec<Got> = reads
            .iter()
            .map(|read| {
                now += TENTH * u32::try_from(read.after).expect("it is small");
                oracle.read(read, now)
            })
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (got, fills) = runtime.expect("a runtime").block_on(run(&reads));
        prop_assert_eq!(fills, oracle.fills);
        for (index, (got, expected)) in got.iter().zip(&expected).enumerate() {
            prop_assert_eq!(got, expected, "read {}: {:?}", index, reads[index]);
        }
    }
}
