//! What the courier promises, with an outbox in memory and a paused clock.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;
use serde_json::{Value, json};
use ucp_core::order::{
    Order,
    outbox::{Notice, State},
};
use ucp_trust::{
    jwk::Algorithm,
    signature::{Message, RequestLine, Scheme, Signed, Start},
};

use super::*;

/// How old notices are when they are tried first, so that three days pass soon.
const AGE: SignedDuration = SignedDuration::from_hours(66);

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

fn order(owner: &str, id: &str) -> Order {
    serde_json::from_value(json!({
        "id": id, "label": id, "token": format!("t_{id}"), "owner": owner, "checkout_id": format!("chk_{id}"),
        "line_items": [], "currency": "USD", "totals": [{"kind": "total", "amount": 900}], "expectations": [],
        "events": [], "adjustments": [],
        "payment": {"handler_id": "h", "attempt_id": "a", "reference": "r"}, "placed_at": start(),
    }))
    .expect("an order")
}

/// An outbox with notices in the order in which they were queued.
#[derive(Default)]
struct Memory(Mutex<Vec<Content>>);

impl Memory {
    fn queue(&self, owner: &str, order_id: &str) {
        let mut all = self.0.lock().expect("no panic");
        let before = all.iter().filter(|one| one.notice.order_id == order_id).count() as u64;
        let notice = Notice {
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
        all.push(Content { notice, since: start() - AGE, order: order(owner, order_id), letter: None });
    }

    fn all(&self) -> Vec<Content> {
        self.0.lock().expect("no panic").clone()
    }

    fn settled(&self) -> bool {
        self.all().iter().all(|one| one.notice.state != State::Waiting)
    }
}

#[async_trait]
impl Outbox for Memory {
    async fn due(&self, now: Timestamp, per_owner: usize, limit: usize) -> Result<Vec<Due>, Refusal> {
        let (mut orders, mut owners) = (HashSet::new(), BTreeMap::<String, usize>::new());
        let all = self.all();
        let waiting = all.iter().map(|one| &one.notice).filter(|one| one.state == State::Waiting);
        let heads = waiting.filter(|one| orders.insert(one.order_id.clone()));
        let due = heads.filter(|one| one.next_at.is_some_and(|at| at <= now)).filter(|one| {
            let count = owners.entry(one.owner.clone()).or_default();
            *count += 1;
            *count <= per_owner
        });
        Ok(due.take(limit).map(|one| Due { id: one.id.clone(), owner: one.owner.clone() }).collect())
    }

    async fn content(&self, id: &str) -> Result<Option<Content>, Refusal> {
        Ok(self.all().into_iter().find(|one| one.notice.id == id))
    }

    async fn keep(&self, id: &str, letter: &Letter) -> Result<(), Refusal> {
        let mut all = self.0.lock().expect("no panic");
        let one = all.iter_mut().find(|one| one.notice.id == id).expect("is there");
        one.letter.get_or_insert_with(|| letter.clone());
        Ok(())
    }

    async fn record(&self, id: &str, attempted: Attempted) -> Result<(), Refusal> {
        let mut all = self.0.lock().expect("no panic");
        let notice = &mut all.iter_mut().find(|one| one.notice.id == id).expect("is there").notice;
        notice.attempts += 1;
        match attempted {
            Attempted::Again { at, problem } => (notice.next_at, notice.problem) = (Some(at), Some(problem)),
            Attempted::Settled { state, problem, .. } => {
                (notice.state, notice.next_at, notice.problem) = (state, None, problem);
            }
        }
        Ok(())
    }

    async fn notices(&self, _: usize) -> Result<Vec<Notice>, Refusal> {
        Ok(self.all().into_iter().map(|one| one.notice).collect())
    }

    async fn resend(&self, _: &str, _: Timestamp) -> Result<bool, Refusal> {
        Ok(false)
    }
}

/// Platforms whose addresses follow from their names.
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

/// What a receiver got.
#[derive(Clone, Debug, PartialEq)]
struct Got {
    host: String,
    id: String,
    headers: HeaderMap,
    body: Bytes,
    at: Timestamp,
}

/// Receivers that fail by plan.
struct Receivers {
    got: Mutex<Vec<Got>>,
    /// The answers, one after the other; then 200.
    plan: Mutex<Vec<Result<Answered, FetchError>>>,
    /// Hosts that never answer in time.
    dead: HashSet<String>,
    open: AtomicUsize,
    most: AtomicUsize,
    clock: Clock,
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
        self.most.fetch_max(self.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let dead = self.dead.contains(&host);
        tokio::time::sleep(Duration::from_millis(if dead { 5_000 } else { 1 })).await;
        self.open.fetch_sub(1, Ordering::SeqCst);
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
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            clock,
        };
        let key = Arc::new(SigningKey::generate(Algorithm::Es256).expect("a key"));
        Self { outbox: Arc::default(), receivers: Arc::new(receivers), key }
    }

    fn courier(&self) -> Courier {
        let (key, drawn) = (Arc::clone(&self.key), AtomicU32::new(0));
        Courier {
            outbox: Arc::clone(&self.outbox) as Arc<dyn Outbox>,
            recipients: Arc::new(Named),
            post: Arc::clone(&self.receivers) as Arc<dyn Post>,
            agent: HeaderValue::from_static("profile=\"https://shop.example/.well-known/ucp\""),
            key: Arc::new(move || Some(Arc::clone(&key))),
            permalink: Arc::new(|token| format!("https://shop.example/order/{token}")),
            clock: Arc::clone(&self.receivers.clock),
            random: Arc::new(move || drawn.fetch_add(0x1357_9bdf, Ordering::Relaxed)),
        }
    }

    /// Runs a courier until all is settled.
    async fn settle(&self) {
        let running = tokio::spawn(self.courier().run());
        while !self.outbox.settled() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        running.abort();
    }

    fn got(&self) -> Vec<Got> {
        self.receivers.got.lock().expect("no panic").clone()
    }

    fn states(&self) -> Vec<State> {
        self.outbox.all().into_iter().map(|one| one.notice.state).collect()
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
    // The second goes when the first has arrived.
    assert_eq!((got[failures].id.as_str(), got[failures + 1].id.as_str()), ("n0", "n1"));
    // Each pause is longer than the one before could have been at least.
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
    for name in ["webhook-id", "webhook-timestamp", "ucp-agent", "content-type"] {
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
async fn a_platform_that_does_not_answer_delays_no_other() {
    let place = Place::new(Vec::new(), &["dead.example"]);
    for number in 0..500 {
        place.outbox.queue("dead", &format!("d{number}"));
    }
    for number in 0..40 {
        place.outbox.queue(&format!("p{number}"), &format!("o{number}"));
    }
    let running = tokio::spawn(place.courier().run());
    tokio::time::sleep(Duration::from_secs(4)).await;
    running.abort();
    let got = place.got();
    assert_eq!(got.iter().filter(|got| got.host == "dead.example").count(), PER_PLATFORM);
    assert_eq!(place.states().iter().filter(|state| **state == State::Delivered).count(), 40);
    assert!(place.receivers.most.load(Ordering::SeqCst) <= AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn without_a_key_all_waits() {
    let place = Place::new(Vec::new(), &[]);
    place.outbox.queue("alice", "o1");
    let running = tokio::spawn(Courier { key: Arc::new(|| None), ..place.courier() }.run());
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

    /// Whatever the receivers answer, each notice arrives, and those of an order in their order.
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
                let notice = &all.iter().find(|one| one.notice.id == got.id).expect("is there").notice;
                let last = last.insert(notice.order_id.clone(), notice.order_version).unwrap_or(1);
                assert!(notice.order_version == last || notice.order_version == last + 1, "in turn");
            }
        });
    }
}
