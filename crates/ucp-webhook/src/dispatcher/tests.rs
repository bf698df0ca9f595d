//! Tests of the dispatcher's guarantees, with an outbox in memory and a paused clock.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU32, Ordering},
    },
};

use proptest::prelude::*;
use serde_json::Value;
use tokio::task::JoinHandle;
use ucp_agenda::{Runner, Worker};
use ucp_core::{
    Release,
    ports::{
        PortError,
        agenda::{Agenda as _, Kind, Plan},
        outbox::{Backlog, State, WebhookEvent, WebhookMessage, task},
    },
};
use ucp_testkit::{MemoryLedger, shop::order, within};
use ucp_trust::{
    jwk::Algorithm,
    signature::{Message, RequestLine, Scheme, Signed, Start},
};

use super::*;
use crate::recipient::Recipient;

/// Age of webhook events at the first attempt, so that three days pass soon.
const AGE: SignedDuration = SignedDuration::from_hours(66);

/// Virtual time after which a test that waits has failed: all webhook events have expired by then.
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Checks a condition once in every `step` of virtual time, until it holds.
async fn until(what: &str, step: Duration, is: impl Fn() -> bool) {
    let looking = async {
        while !is() {
            tokio::time::sleep(step).await;
        }
    };
    within(what, WEEK, looking).await;
}

/// A source of numbers that are spread evenly.
fn random() -> Random {
    let drawn = AtomicU32::new(0);
    Arc::new(move || drawn.fetch_add(0x1357_9bdf, Ordering::Relaxed))
}

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

/// An outbox with webhook events in the order in which they were queued.
#[derive(Default)]
struct Memory(Mutex<Vec<Content>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Vec<Content>> {
        self.0.lock().expect("no panic")
    }

    fn queue(&self, owner: &str, order_id: &str) {
        let mut all = self.lock();
        let before = all.iter().filter(|one| one.webhook_event.order_id == order_id).count() as u64;
        let webhook_event = WebhookEvent {
            id: format!("n{}", all.len()),
            order_id: order_id.into(),
            owner: owner.into(),
            order_version: before + 1,
            occurred_at: start(),
            state: State::Waiting,
            attempts: 0,
            next_at: None,
            problem: None,
        };
        let payload = Payload::Order(Box::new(order(owner, order_id)));
        all.push(Content { webhook_event, since: start() - AGE, payload });
    }

    fn settled(&self) -> bool {
        self.lock().iter().all(|one| one.webhook_event.state != State::Waiting)
    }
}

#[async_trait]
impl Outbox for Memory {
    async fn first(&self, order_id: &str, _: Timestamp) -> Result<Option<Content>, PortError> {
        let waits = |one: &&Content| {
            let event = &one.webhook_event;
            event.order_id == order_id && event.state == State::Waiting
        };
        Ok(self.lock().iter().find(waits).cloned())
    }

    async fn keep(&self, id: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError> {
        let mut all = self.lock();
        let one = all.iter_mut().find(|one| one.webhook_event.id == id).expect("is there");
        one.payload = Payload::WebhookMessage(webhook_message.clone());
        Ok(true)
    }

    async fn record(&self, read: &WebhookEvent, attempted: Attempted) -> Result<bool, PortError> {
        let mut all = self.lock();
        let one = all.iter_mut().find(|one| one.webhook_event.id == read.id).expect("is there");
        let event = &mut one.webhook_event;
        if event.state != State::Waiting || event.attempts != read.attempts {
            return Ok(false);
        }
        event.attempts += 1;
        (event.state, event.problem) = match attempted {
            Attempted::Again { problem } => (State::Waiting, Some(problem)),
            Attempted::Settled { state, problem, .. } => (state, problem),
        };
        Ok(true)
    }

    async fn webhook_events(&self, _: usize) -> Result<Vec<WebhookEvent>, PortError> {
        Ok(self.lock().iter().map(|one| one.webhook_event.clone()).collect())
    }

    async fn backlog(&self) -> Result<Backlog, PortError> {
        Ok(Backlog { waiting: u64::from(!self.settled()), since: None })
    }

    async fn resend(&self, _: &str, _: Timestamp) -> Result<bool, PortError> {
        Ok(false)
    }
}

/// A dispatcher as the worker of an agenda.
struct Telling(WebhookDispatcher);

#[async_trait]
impl Worker for Telling {
    async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal> {
        Ok(self.0.tell(task).await)
    }

    async fn rests(&self, _: Kind) -> bool {
        self.0.rests().await
    }
}

/// Platforms whose addresses are derived from their names.
struct Named;

#[async_trait]
impl Recipients for Named {
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal> {
        let webhook = match owner {
            "silent" => None,
            "inside" => Some("https://169.254.169.254/latest".to_owned()),
            "plain" => Some("http://shop.example/hook".to_owned()),
            _ => Some(format!("https://{owner}.example/hook?a=b")),
        };
        let release = if owner == "old" { Release::V2026_01_11 } else { Release::NEWEST };
        Ok(Recipient { webhook, release, active: Arc::default(), delivery: Arc::default() })
    }
}

/// Message that a receiver got.
#[derive(Clone, Debug, PartialEq)]
struct Got {
    host: String,
    id: String,
    headers: HeaderMap,
    body: Bytes,
    at: Timestamp,
}

/// Receivers that answer as planned.
struct Receivers {
    got: Mutex<Vec<Got>>,
    /// Answers in their order; after them, all are 200.
    plan: Mutex<Vec<Result<Answered, FetchError>>>,
    /// Hosts that never answer in time.
    dead: HashSet<String>,
    /// Number of messages in flight to each host, and its maximum so far.
    open: Mutex<BTreeMap<String, (usize, usize)>>,
    clock: Clock,
}

impl Receivers {
    /// Returns the maximum number of messages that were in flight at once to one of the hosts that satisfy `of`.
    fn most(&self, of: impl Fn(&str) -> bool) -> usize {
        let open = self.open.lock().expect("no panic");
        open.iter().filter(|(host, _)| of(host)).map(|(_, (_, most))| *most).max().unwrap_or_default()
    }
}

#[async_trait]
impl Post for Receivers {
    fn reach(&self) -> Reach {
        Reach::Public
    }

    async fn post(&self, url: &ProfileUrl, headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        let host = url.url().host_str().expect("a host").to_owned();
        let id = headers["webhook-id"].to_str().expect("text").to_owned();
        self.got.lock().expect("no panic").push(Got { host: host.clone(), id, headers, body, at: (self.clock)() });
        let count = |by: fn(usize) -> usize| {
            let mut open = self.open.lock().expect("no panic");
            let (now, most) = open.entry(host.clone()).or_default();
            *now = by(*now);
            *most = (*most).max(*now);
        };
        count(|now| now + 1);
        let dead = self.dead.contains(&host);
        tokio::time::sleep(Duration::from_millis(if dead { 5_000 } else { 1 })).await;
        count(|now| now - 1);
        if dead {
            return Err(FetchError::Timeout);
        }
        let mut plan = self.plan.lock().expect("no panic");
        if plan.is_empty() { status(200) } else { plan.remove(0) }
    }
}

fn status(status: u16) -> Result<Answered, FetchError> {
    Ok(Answered { status, retry_after: None })
}

struct DispatcherSetup {
    outbox: Arc<Memory>,
    agenda: Arc<MemoryLedger>,
    receivers: Arc<Receivers>,
    key: Arc<SigningKey>,
}

impl DispatcherSetup {
    fn new(plan: Vec<Result<Answered, FetchError>>, dead: &[&str]) -> Self {
        let began = tokio::time::Instant::now();
        let clock: Clock = Arc::new(move || start() + SignedDuration::try_from(began.elapsed()).expect("a duration"));
        let receivers = Receivers {
            got: Mutex::default(),
            plan: Mutex::new(plan),
            dead: dead.iter().map(|host| (*host).to_owned()).collect(),
            open: Mutex::default(),
            clock,
        };
        let key = Arc::new(SigningKey::generate(Algorithm::Es256).expect("a key"));
        let (outbox, agenda) = (Arc::default(), Arc::new(MemoryLedger::default()));
        Self { outbox, agenda, receivers: Arc::new(receivers), key }
    }

    fn dispatcher(&self) -> WebhookDispatcher {
        let key = Arc::clone(&self.key);
        WebhookDispatcher {
            attempts: Arc::default(),
            outbox: Arc::clone(&self.outbox) as Arc<dyn Outbox>,
            recipients: Arc::new(Named),
            post: Arc::clone(&self.receivers) as Arc<dyn Post>,
            agent: HeaderValue::from_static("profile=\"https://shop.example/.well-known/ucp\""),
            key: Arc::new(move || Some(Arc::clone(&key))),
            permalink: Arc::new(|token| format!("https://shop.example/order/{token}")),
            clock: Arc::clone(&self.receivers.clock),
            random: random(),
            tracer: None,
            warned: AtomicBool::new(false),
        }
    }

    /// Starts to tell what is to be told, under a name for claims.
    fn run(&self, claimant: &str, dispatcher: WebhookDispatcher) -> JoinHandle<()> {
        let runner = Runner {
            agenda: Arc::clone(&self.agenda) as _,
            worker: Arc::new(Telling(dispatcher)),
            clock: Arc::clone(&self.receivers.clock),
            random: random(),
            claimant: claimant.to_owned(),
            counts: Arc::default(),
        };
        tokio::spawn(runner.run())
    }

    async fn queue(&self, owner: &str, order_id: &str) {
        self.outbox.queue(owner, order_id);
        self.agenda.plan(Plan::Also(task(owner, order_id, start()))).await.expect("plans");
    }

    fn delivered(&self) -> usize {
        self.outbox.lock().iter().filter(|one| one.webhook_event.state == State::Delivered).count()
    }

    /// Runs a dispatcher until all events are settled.
    async fn settle(&self) {
        let running = self.run("one", self.dispatcher());
        until("all notices to be settled", Duration::from_millis(500), || self.outbox.settled()).await;
        running.abort();
    }

    fn got(&self) -> Vec<Got> {
        self.receivers.got.lock().expect("no panic").clone()
    }

    fn states(&self) -> Vec<State> {
        self.outbox.lock().iter().map(|one| one.webhook_event.state).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn whk_03_a_notice_is_sent_until_it_arrives_with_the_same_bytes_and_identifier() {
    let plan = vec![status(500), Err(FetchError::Timeout), status(302), status(404), Err(FetchError::Interrupted)];
    let failures = plan.len();
    let place = DispatcherSetup::new(plan, &[]);
    place.queue("alice", "o1").await;
    place.queue("alice", "o1").await;
    place.settle().await;
    assert_eq!(place.states(), [State::Delivered; 2]);
    let got = place.got();
    assert_eq!(got.len(), failures + 2);
    for again in &got[..=failures] {
        assert_eq!((&again.id, &again.body), (&got[0].id, &got[0].body));
        assert_eq!(again.headers["webhook-timestamp"], got[0].headers["webhook-timestamp"]);
    }
    // The second event is sent after the first has arrived.
    assert_eq!((got[failures].id.as_str(), got[failures + 1].id.as_str()), ("n0", "n1"));
    // Each pause is at least as long as the minimum of its attempt.
    for (number, pair) in got[..=failures].windows(2).enumerate() {
        let pause = pair[1].at.duration_since(pair[0].at).as_millis();
        assert!(pause >= 500 << number, "pause {number}: {pause} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn t_32_the_signature_covers_who_what_and_when() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    place.queue("alice", "o1").await;
    place.settle().await;
    let Got { headers, body, .. } = place.got().remove(0);
    let line = |path| RequestLine {
        method: "POST",
        scheme: Scheme::Https,
        authority: "alice.example",
        path,
        query: Some("a=b"),
    };
    let verify = |path, headers: &HeaderMap, body: &[u8]| {
        let signed = Signed::read(headers).expect("readable").expect("signed");
        let keys = [place.key.public().clone()];
        signed.verify(&Message { start: Start::Request(line(path)), headers }, body, &keys, start().into())
    };
    verify("/hook", &headers, &body).expect("holds");
    assert!(verify("/other", &headers, &body).is_err());
    assert!(verify("/hook", &headers, b"{}").is_err());
    assert_eq!(headers["idempotency-key"], headers["webhook-id"]);
    for name in ["webhook-id", "idempotency-key", "webhook-timestamp", "ucp-agent", "content-type"] {
        let mut changed = headers.clone();
        changed.insert(name, HeaderValue::from_static("1"));
        assert!(verify("/hook", &changed, &body).is_err(), "{name}");
    }
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["id"], "o1");
    assert!(body.get("event_id").is_none(), "{body}");
}

#[tokio::test(start_paused = true)]
async fn older_releases_sign_the_body_and_say_in_it_what_it_is() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    place.queue("old", "o1").await;
    place.settle().await;
    let Got { headers, body, id, .. } = place.got().remove(0);
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((&body["event_id"], &body["created_time"]), (&id.into(), &start().to_string().into()));
    assert!(headers.contains_key("request-signature") && !headers.contains_key("signature"), "{headers:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_to_whoever_wants_none_and_to_where_nobody_may_be_sent() {
    let place = DispatcherSetup::new(vec![status(410)], &[]);
    for owner in ["silent", "inside", "plain", "alice"] {
        place.queue(owner, owner).await;
    }
    place.settle().await;
    assert_eq!(place.states(), [State::Unwanted, State::Expired, State::Expired, State::Gone]);
    assert_eq!(place.got().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_given_up_on_after_three_days() {
    let place = DispatcherSetup::new(Vec::new(), &["dead.example"]);
    place.queue("dead", "o1").await;
    place.settle().await;
    let got = place.got();
    let tried = got[got.len() - 1].at.duration_since(got[0].at);
    assert!((5..=6).contains(&tried.as_hours()), "{tried}");
    assert!((15..30).contains(&got.len()), "{} tries", got.len());
    assert_eq!(place.states(), [State::Expired]);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_notices_for_a_platform_that_does_not_answer_take_one_connection_and_delay_no_other() {
    let place = DispatcherSetup::new(Vec::new(), &["dead.example"]);
    for number in 0..10_000 {
        place.queue("dead", &format!("d{number}")).await;
    }
    for number in 0..200 {
        place.queue(&format!("p{}", number % 40), &format!("o{number}")).await;
    }
    let running = place.run("one", place.dispatcher());
    // None of the attempts to `dead` has failed by now.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(place.delivered(), 200);
    let got = place.got();
    assert_eq!(got.iter().filter(|got| got.host == "dead.example").count(), 1, "before all of the others");
    tokio::time::sleep(Duration::from_secs(60)).await;
    running.abort();
    let tried = place.got().iter().filter(|got| got.host == "dead.example").count();
    assert!((10..=14).contains(&tried), "{tried} tries, one after the other");
    assert_eq!(place.receivers.most(|host| host == "dead.example"), 1);
}

#[tokio::test(start_paused = true)]
async fn many_platforms_that_do_not_answer_leave_half_of_the_room_to_the_others() {
    let dead: Vec<_> = (0..100).map(|number| format!("dead{number}.example")).collect();
    let place = DispatcherSetup::new(Vec::new(), &dead.iter().map(String::as_str).collect::<Vec<_>>());
    for number in 0..2_000 {
        place.queue(&format!("dead{}", number % 100), &format!("d{number}")).await;
    }
    let running = place.run("one", place.dispatcher());
    // By now all platforms that do not answer are known.
    tokio::time::sleep(Duration::from_secs(21)).await;
    for number in 0..100 {
        place.queue(&format!("p{number}"), &format!("o{number}")).await;
    }
    let before = place.got().len();
    until("a hundred deliveries", Duration::from_millis(1), || place.delivered() >= 100).await;
    running.abort();
    let got = place.got().split_off(before);
    let others = got.iter().filter(|got| got.host.starts_with("dead")).count();
    assert!(others <= 32, "{others} deliveries to the dead came between");
    assert_eq!(place.receivers.most(|host| host.starts_with("dead")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_answers_is_soon_told_fast_and_one_that_fails_is_not() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    for number in 0..200 {
        place.queue("alice", &format!("o{number}")).await;
    }
    place.settle().await;
    assert_eq!(place.receivers.most(|_| true), 16);
    let place = DispatcherSetup::new(vec![status(500); 400], &[]);
    for number in 0..50 {
        place.queue("alice", &format!("o{number}")).await;
    }
    place.settle().await;
    let got = place.got();
    assert_eq!(got.len(), 450);
    let failed: HashSet<_> = got[..400].iter().map(|got| got.at).collect();
    assert_eq!(failed.len(), 400, "as long as it fails, one at a time");
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_here_goes_at_once_and_what_others_queue_after_a_look() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    let running = place.run("one", place.dispatcher());
    // The event is queued between two looks, which are a second apart.
    tokio::time::sleep(Duration::from_millis(600_500)).await;
    place.queue("alice", "o1").await;
    let before = (place.receivers.clock)();
    until("a delivery", Duration::from_millis(1), || !place.got().is_empty()).await;
    let waited = place.got()[0].at.duration_since(before);
    assert!(waited < SignedDuration::from_millis(10), "{waited:?}");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn two_couriers_of_one_outbox_send_nothing_twice_and_keep_the_order() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    for number in 0..300 {
        place.queue(&format!("p{}", number % 3), &format!("o{}", number % 60)).await;
    }
    let both = ["one", "another"].map(|claimant| place.run(claimant, place.dispatcher()));
    until("all notices to be settled", Duration::from_millis(100), || place.outbox.settled()).await;
    both.iter().for_each(JoinHandle::abort);
    let got = place.got();
    let webhook_events: BTreeMap<_, _> = place
        .outbox
        .lock()
        .iter()
        .map(|one| one.webhook_event.clone())
        .map(|event| (event.id, (event.order_id, event.order_version)))
        .collect();
    let mut versions = BTreeMap::<_, Vec<u64>>::new();
    for got in &got {
        let (order, version) = &webhook_events[&got.id];
        versions.entry(order).or_default().push(*version);
    }
    assert_eq!((got.len(), versions.len()), (300, 60));
    for (order, versions) in versions {
        assert_eq!(versions, [1, 2, 3, 4, 5], "{order}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_courier_that_died_had_claimed_is_sent_when_its_claim_ends_and_not_before() {
    let place = DispatcherSetup::new(Vec::new(), &["dead.example"]);
    place.queue("dead", "o1").await;
    let first = place.run("one", place.dispatcher());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = place.run("another", place.dispatcher());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(place.got().len(), 1, "one of them sends it");
    first.abort();
    until("a second delivery", Duration::from_millis(100), || place.got().len() >= 2).await;
    second.abort();
    let waited = place.got()[1].at.duration_since(place.got()[0].at).as_millis();
    assert!((10_000..=15_000).contains(&waited), "a claim of ten seconds that was extended after three: {waited} ms");
    assert_eq!((&place.got()[0].id, &place.got()[0].body), (&place.got()[1].id, &place.got()[1].body));
}

/// Receivers that answer later than a claim expires.
struct Slow(Arc<Receivers>);

#[async_trait]
impl Post for Slow {
    fn reach(&self) -> Reach {
        Reach::Public
    }

    async fn post(&self, url: &ProfileUrl, headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        tokio::time::sleep(Duration::from_secs(30)).await;
        self.0.post(url, headers, body).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_holds_for_as_long_as_the_work_goes_on() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    place.queue("alice", "o1").await;
    let slow = WebhookDispatcher { post: Arc::new(Slow(Arc::clone(&place.receivers))), ..place.dispatcher() };
    let first = place.run("one", slow);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = place.run("another", place.dispatcher());
    until("the notice to be settled", Duration::from_millis(500), || place.outbox.settled()).await;
    first.abort();
    second.abort();
    assert_eq!(place.got().len(), 1, "the other one did not interfere");
}

#[tokio::test(start_paused = true)]
async fn without_a_key_all_waits() {
    let place = DispatcherSetup::new(Vec::new(), &[]);
    place.queue("alice", "o1").await;
    let running = place.run("one", WebhookDispatcher { key: Arc::new(|| None), ..place.dispatcher() });
    tokio::time::sleep(Duration::from_secs(60)).await;
    running.abort();
    assert!(place.got().is_empty());
    place.settle().await;
    assert_eq!(place.states(), [State::Delivered]);
}

proptest! {
    #[test]
    fn pauses_double_and_stay_within_bounds(attempts in 0u32..200, random: u32, wish in prop::option::of(0u64..200_000)) {
        let pause = pause(attempts, random, wish.map(Duration::from_secs));
        let full = FIRST_PAUSE * 2u32.pow(attempts.min(12));
        prop_assert!(pause >= full.min(LONGEST_PAUSE) / 2);
        prop_assert!(pause <= LONGEST_PAUSE);
        let wish = wish.map_or(Duration::ZERO, Duration::from_secs).min(LONGEST_PAUSE);
        prop_assert!(pause >= wish && pause <= full.max(wish));
    }

    /// Every webhook event arrives, and those of one order in their order, whatever the receivers respond.
    #[test]
    fn every_notice_arrives_and_those_of_an_order_in_turn(
        orders in prop::collection::vec(0usize..4, 1..20),
        plan in prop::collection::vec(prop::sample::select(vec![200u16, 204, 301, 429, 500, 503]), 0..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let place = DispatcherSetup::new(plan.into_iter().map(status).collect(), &[]);
            for order in &orders {
                place.queue(&format!("p{}", order % 2), &format!("o{order}")).await;
            }
            place.settle().await;
            assert!(place.states().iter().all(|state| *state == State::Delivered));
            let all = place.outbox.lock().clone();
            let mut last = BTreeMap::new();
            for got in place.got() {
                let webhook_event = &all.iter().find(|one| one.webhook_event.id == got.id).expect("is there").webhook_event;
                let last = last.insert(webhook_event.order_id.clone(), webhook_event.order_version).unwrap_or(1);
                assert!(webhook_event.order_version == last || webhook_event.order_version == last + 1, "in turn");
            }
        });
    }
}
