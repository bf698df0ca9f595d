//! Tests of the dispatcher's guarantees, with an outbox in memory and a paused clock.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;
use serde_json::Value;
use tokio::sync::Notify;
use ucp_core::{
    Release,
    order::outbox::{Backlog, Due, State, WebhookEvent, WebhookMessage},
    port::PortError,
};
use ucp_testkit::{shop::order, within};
use ucp_trust::{
    jwk::Algorithm,
    signature::{Message, RequestLine, Scheme, Signed, Start},
};

use super::{traffic::FAILING_AT_ONCE, *};
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

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

/// An outbox with webhook events in the order in which they were queued.
#[derive(Default)]
struct Memory {
    webhook_events: Mutex<Vec<Kept>>,
    queued: Notify,
    /// Number of queries for due events.
    looked: AtomicUsize,
}

/// A webhook event and its claim.
#[derive(Clone)]
struct Kept {
    content: Content,
    claim: Option<Claim>,
}

impl Kept {
    fn is_claimed(&self, now: Timestamp) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.until > now)
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.webhook_events.lock().expect("no panic")
    }

    fn queue(&self, owner: &str, order_id: &str) {
        let mut all = self.lock();
        let before = all.iter().filter(|one| one.content.webhook_event.order_id == order_id).count() as u64;
        let webhook_event = WebhookEvent {
            id: format!("n{}", all.len()),
            order_id: order_id.into(),
            owner: owner.into(),
            order_version: before + 1,
            occurred_at: start(),
            state: State::Waiting,
            attempts: 0,
            next_at: Some(start()),
            problem: None,
        };
        let content =
            Content { webhook_event, since: start() - AGE, payload: Payload::Order(Box::new(order(owner, order_id))) };
        all.push(Kept { content, claim: None });
        self.queued.notify_one();
    }

    fn all(&self) -> Vec<Content> {
        self.lock().iter().map(|one| one.content.clone()).collect()
    }

    fn settled(&self) -> bool {
        self.lock().iter().all(|one| one.content.webhook_event.state != State::Waiting)
    }

    /// Applies `act` to a webhook event that this claimant has claimed; returns `None` if it has not.
    fn own<T>(&self, id: &str, claimant: &str, act: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        let mut all = self.lock();
        let mut own = all.iter_mut().filter(|one| one.claim.as_ref().is_some_and(|claim| claim.claimant == claimant));
        own.find(|one| one.content.webhook_event.id == id).map(act)
    }
}

#[async_trait]
impl Outbox for Memory {
    async fn due(&self, now: Timestamp, wanted: Wanted<'_>) -> Result<Vec<Due>, PortError> {
        self.looked.fetch_add(1, Ordering::SeqCst);
        let (mut orders, mut owners) = (HashSet::new(), BTreeMap::<&str, usize>::new());
        let all = self.lock();
        let waiting = all.iter().filter(|one| one.content.webhook_event.state == State::Waiting);
        let heads = waiting.filter(|one| orders.insert(one.content.webhook_event.order_id.as_str()));
        let free =
            heads.filter(|one| one.content.webhook_event.next_at.is_some_and(|at| at <= now) && !one.is_claimed(now));
        let mut due = Vec::new();
        for webhook_event in
            free.map(|one| &one.content.webhook_event).filter(|one| !wanted.except.contains(&&*one.owner))
        {
            let turn = owners.entry(&webhook_event.owner).or_default();
            *turn += 1;
            if *turn <= wanted.per_owner {
                due.push((*turn, Due { id: webhook_event.id.clone(), owner: webhook_event.owner.clone() }));
            }
        }
        due.sort_by_key(|(turn, _)| *turn);
        Ok(due.into_iter().map(|(_, due)| due).take(wanted.limit).collect())
    }

    async fn claim(&self, ids: Vec<String>, now: Timestamp, claim: &Claim) -> Result<Vec<Content>, PortError> {
        let mut all = self.lock();
        let mut claimed = Vec::new();
        for one in all.iter_mut().filter(|one| ids.contains(&one.content.webhook_event.id) && !one.is_claimed(now)) {
            one.claim = Some(claim.clone());
            claimed.push(one.content.clone());
        }
        Ok(claimed)
    }

    async fn extend(&self, ids: Vec<String>, claim: &Claim) -> Result<(), PortError> {
        for id in ids {
            self.own(&id, &claim.claimant, |one| one.claim = Some(claim.clone()));
        }
        Ok(())
    }

    async fn keep(&self, id: &str, claimant: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError> {
        Ok(self
            .own(id, claimant, |one| one.content.payload = Payload::WebhookMessage(webhook_message.clone()))
            .is_some())
    }

    async fn record(&self, id: &str, claimant: &str, attempted: Attempted) -> Result<bool, PortError> {
        let recorded = self.own(id, claimant, |one| {
            one.claim = None;
            let webhook_event = &mut one.content.webhook_event;
            webhook_event.attempts += 1;
            match attempted {
                Attempted::Again { at, problem } => {
                    (webhook_event.next_at, webhook_event.problem) = (Some(at), Some(problem));
                }
                Attempted::Settled { state, problem, .. } => {
                    (webhook_event.state, webhook_event.next_at, webhook_event.problem) = (state, None, problem);
                }
            }
        });
        Ok(recorded.is_some())
    }

    async fn queued(&self) {
        self.queued.notified().await;
    }

    async fn webhook_events(&self, _: usize) -> Result<Vec<WebhookEvent>, PortError> {
        Ok(self.all().into_iter().map(|one| one.webhook_event).collect())
    }

    async fn backlog(&self) -> Result<Backlog, PortError> {
        Ok(Backlog::default())
    }

    async fn resend(&self, _: &str, _: Timestamp) -> Result<bool, PortError> {
        Ok(false)
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
        Ok(Recipient { webhook, release, active: Arc::default() })
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

struct Place {
    outbox: Arc<Memory>,
    receivers: Arc<Receivers>,
    key: Arc<SigningKey>,
}

impl Place {
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
        Self { outbox: Arc::default(), receivers: Arc::new(receivers), key }
    }

    fn dispatcher(&self) -> WebhookDispatcher {
        let (key, drawn) = (Arc::clone(&self.key), AtomicU32::new(0));
        WebhookDispatcher {
            attempts: Arc::default(),
            outbox: Arc::clone(&self.outbox) as Arc<dyn Outbox>,
            recipients: Arc::new(Named),
            post: Arc::clone(&self.receivers) as Arc<dyn Post>,
            agent: HeaderValue::from_static("profile=\"https://shop.example/.well-known/ucp\""),
            key: Arc::new(move || Some(Arc::clone(&key))),
            permalink: Arc::new(|token| format!("https://shop.example/order/{token}")),
            clock: Arc::clone(&self.receivers.clock),
            random: Arc::new(move || drawn.fetch_add(0x1357_9bdf, Ordering::Relaxed)),
            tracer: None,
            claimant: "one".to_owned(),
        }
    }

    /// Creates another dispatcher that shares the outbox.
    fn another(&self) -> WebhookDispatcher {
        WebhookDispatcher { claimant: "another".to_owned(), ..self.dispatcher() }
    }

    fn delivered(&self) -> usize {
        self.outbox.lock().iter().filter(|one| one.content.webhook_event.state == State::Delivered).count()
    }

    /// Runs a dispatcher until all events are settled.
    async fn settle(&self) {
        let running = tokio::spawn(self.dispatcher().run());
        until("all notices to be settled", Duration::from_millis(500), || self.outbox.settled()).await;
        running.abort();
    }

    fn got(&self) -> Vec<Got> {
        self.receivers.got.lock().expect("no panic").clone()
    }

    fn states(&self) -> Vec<State> {
        self.outbox.all().into_iter().map(|one| one.webhook_event.state).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn whk_03_a_notice_is_sent_until_it_arrives_with_the_same_bytes_and_identifier() {
    let plan = vec![status(500), Err(FetchError::Timeout), status(302), status(404), Err(FetchError::Interrupted)];
    let failures = plan.len();
    let place = Place::new(plan, &[]);
    place.outbox.queue("alice", "o1");
    place.outbox.queue("alice", "o1");
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
    let place = Place::new(Vec::new(), &[]);
    place.outbox.queue("alice", "o1");
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
    let place = Place::new(Vec::new(), &[]);
    place.outbox.queue("old", "o1");
    place.settle().await;
    let Got { headers, body, id, .. } = place.got().remove(0);
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((&body["event_id"], &body["created_time"]), (&id.into(), &start().to_string().into()));
    assert!(headers.contains_key("request-signature") && !headers.contains_key("signature"), "{headers:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_to_whoever_wants_none_and_to_where_nobody_may_be_sent() {
    let place = Place::new(vec![status(410)], &[]);
    for owner in ["silent", "inside", "plain", "alice"] {
        place.outbox.queue(owner, owner);
    }
    place.settle().await;
    assert_eq!(place.states(), [State::Unwanted, State::Expired, State::Expired, State::Gone]);
    assert_eq!(place.got().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_given_up_on_after_three_days() {
    let place = Place::new(Vec::new(), &["dead.example"]);
    place.outbox.queue("dead", "o1");
    place.settle().await;
    let got = place.got();
    let tried = got[got.len() - 1].at.duration_since(got[0].at);
    assert!((5..=6).contains(&tried.as_hours()), "{tried}");
    assert!((15..30).contains(&got.len()), "{} tries", got.len());
    assert_eq!(place.states(), [State::Expired]);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_notices_for_a_platform_that_does_not_answer_take_one_connection_and_delay_no_other() {
    let place = Place::new(Vec::new(), &["dead.example"]);
    for number in 0..10_000 {
        place.outbox.queue("dead", &format!("d{number}"));
    }
    for number in 0..200 {
        place.outbox.queue(&format!("p{}", number % 40), &format!("o{number}"));
    }
    let running = tokio::spawn(place.dispatcher().run());
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
    assert_eq!(place.outbox.lock().iter().filter(|one| one.claim.is_some()).count(), 1, "what is claimed is under way");
}

#[tokio::test(start_paused = true)]
async fn many_platforms_that_do_not_answer_leave_half_of_the_room_to_the_others() {
    let dead: Vec<_> = (0..100).map(|number| format!("dead{number}.example")).collect();
    let place = Place::new(Vec::new(), &dead.iter().map(String::as_str).collect::<Vec<_>>());
    for number in 0..2_000 {
        place.outbox.queue(&format!("dead{}", number % 100), &format!("d{number}"));
    }
    let running = tokio::spawn(place.dispatcher().run());
    // By now all platforms that do not answer are known.
    tokio::time::sleep(Duration::from_secs(21)).await;
    for number in 0..100 {
        place.outbox.queue(&format!("p{number}"), &format!("o{number}"));
    }
    let before = place.got().len();
    until("a hundred deliveries", Duration::from_millis(1), || place.delivered() >= 100).await;
    running.abort();
    let got = place.got().split_off(before);
    let others = got.iter().filter(|got| got.host.starts_with("dead")).count();
    assert!(others <= FAILING_AT_ONCE, "{others} deliveries to the dead came between");
    assert_eq!(place.receivers.most(|host| host.starts_with("dead")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_answers_is_soon_told_fast_and_one_that_fails_is_not() {
    let place = Place::new(Vec::new(), &[]);
    for number in 0..200 {
        place.outbox.queue("alice", &format!("o{number}"));
    }
    place.settle().await;
    assert_eq!(place.receivers.most(|_| true), PER_PLATFORM);
    let place = Place::new(vec![status(500); 400], &[]);
    for number in 0..50 {
        place.outbox.queue("alice", &format!("o{number}"));
    }
    place.settle().await;
    let got = place.got();
    assert_eq!(got.len(), 450);
    let failed: HashSet<_> = got[..400].iter().map(|got| got.at).collect();
    assert_eq!(failed.len(), 400, "as long as it fails, one at a time");
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_here_goes_at_once_and_what_others_queue_after_a_look() {
    let place = Place::new(Vec::new(), &[]);
    let running = tokio::spawn(place.dispatcher().run());
    tokio::time::sleep(Duration::from_secs(600)).await;
    let idle = place.outbox.looked.load(Ordering::SeqCst);
    assert!(idle <= 601, "{idle} looks in ten minutes without anything to do");
    // The event is queued between two queries.
    tokio::time::sleep(INTERVAL / 2).await;
    place.outbox.queue("alice", "o1");
    let before = (place.receivers.clock)();
    until("a delivery", Duration::from_millis(1), || !place.got().is_empty()).await;
    let waited = place.got()[0].at.duration_since(before);
    assert!(waited < SignedDuration::from_millis(10), "{waited:?}");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn two_couriers_of_one_outbox_send_nothing_twice_and_keep_the_order() {
    let place = Place::new(Vec::new(), &[]);
    for number in 0..300 {
        place.outbox.queue(&format!("p{}", number % 3), &format!("o{}", number % 60));
    }
    let both = [place.dispatcher(), place.another()].map(|dispatcher| tokio::spawn(dispatcher.run()));
    until("all notices to be settled", Duration::from_millis(100), || place.outbox.settled()).await;
    both.iter().for_each(tokio::task::JoinHandle::abort);
    let got = place.got();
    let webhook_events: BTreeMap<_, _> = place
        .outbox
        .all()
        .into_iter()
        .map(|one| (one.webhook_event.id, (one.webhook_event.order_id, one.webhook_event.order_version)))
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
    let place = Place::new(Vec::new(), &["dead.example"]);
    place.outbox.queue("dead", "o1");
    let first = tokio::spawn(place.dispatcher().run());
    let second = tokio::spawn(place.another().run());
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(place.got().len(), 1, "one of them sends it");
    let claimant = place.outbox.lock()[0].claim.clone().expect("claimed").claimant;
    let (died, other) = if claimant == "one" { (first, second) } else { (second, first) };
    died.abort();
    let free = place.outbox.lock()[0].claim.clone().expect("still claimed").until;
    until("a second delivery", Duration::from_millis(100), || place.got().len() >= 2).await;
    other.abort();
    let again = place.got()[1].at;
    assert!(again >= free, "{again} before {free}");
    let late = again.duration_since(free);
    assert!(late <= SignedDuration::try_from(INTERVAL).expect("a duration") * 2, "{late:?}");
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
        let claimed_for = Duration::try_from(CLAIMED_FOR).expect("a duration");
        tokio::time::sleep(claimed_for * 3).await;
        self.0.post(url, headers, body).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_holds_for_as_long_as_the_work_goes_on() {
    let place = Place::new(Vec::new(), &[]);
    place.outbox.queue("alice", "o1");
    let slow = WebhookDispatcher { post: Arc::new(Slow(Arc::clone(&place.receivers))), ..place.dispatcher() };
    let first = tokio::spawn(slow.run());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = tokio::spawn(place.another().run());
    until("the notice to be settled", Duration::from_millis(500), || place.outbox.settled()).await;
    first.abort();
    second.abort();
    assert_eq!(place.got().len(), 1, "the other one did not interfere");
}

#[tokio::test(start_paused = true)]
async fn without_a_key_all_waits() {
    let place = Place::new(Vec::new(), &[]);
    place.outbox.queue("alice", "o1");
    let running = tokio::spawn(WebhookDispatcher { key: Arc::new(|| None), ..place.dispatcher() }.run());
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

    /// Whatever the receivers answer, each webhook event arrives, and those of one order arrive in their order.
    #[test]
    fn every_notice_arrives_and_those_of_an_order_in_turn(
        orders in prop::collection::vec(0usize..4, 1..20),
        plan in prop::collection::vec(prop::sample::select(vec![200u16, 204, 301, 429, 500, 503]), 0..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let place = Place::new(plan.into_iter().map(status).collect(), &[]);
            for order in &orders {
                place.outbox.queue(&format!("p{}", order % 2), &format!("o{order}"));
            }
            place.settle().await;
            assert!(place.states().iter().all(|state| *state == State::Delivered));
            let all = place.outbox.all();
            let mut last = BTreeMap::new();
            for got in place.got() {
                let webhook_event = &all.iter().find(|one| one.webhook_event.id == got.id).expect("is there").webhook_event;
                let last = last.insert(webhook_event.order_id.clone(), webhook_event.order_version).unwrap_or(1);
                assert!(webhook_event.order_version == last || webhook_event.order_version == last + 1, "in turn");
            }
        });
    }
}
