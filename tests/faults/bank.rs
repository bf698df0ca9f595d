//! Actions of Stripe besides responses: buyers confirm payments at their bank, and events are sent to gateways.
//!
//! The journal of the stand-in for Stripe records its actions. Every step of a payment makes an event, and every event
//! is sent until it is accepted: to any gateway, in any order, early, late and more than once.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Scope},
    time::{Duration, Instant, SystemTime},
};

use aws_lc_rs::hmac;
use serde_json::{Value, json};

use crate::{
    client::{exchange, text},
    process::{HANDLER, SIGNING_SECRET, World, eventually},
    random::Random,
};

/// Number of events that are sent at the same time.
const COURIERS: u64 = 4;

/// A payment at Stripe (`PaymentIntent`), as it was after a step.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    id: String,
    pub(crate) attempt: String,
    status: String,
    has_failed: bool,
}

impl Intent {
    /// Returns `true` if its buyer has to confirm it.
    pub(crate) fn waits(&self) -> bool {
        self.status == "requires_action"
    }

    /// The buyer confirms the payment at the bank, or does not. Whether the bank was there.
    pub(crate) fn decide(&self, world: &World, confirmed: bool) -> bool {
        let verdict = if confirmed { "pass" } else { "fail" };
        let request =
            format!("GET /fake/3ds/{}/{verdict} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.id);
        exchange(world.provider_address(), request.as_bytes()).is_ok_and(|answer| answer.status == 303)
    }

    /// Sends the event about the last step to a gateway, signed as Stripe does. Whether it was taken.
    pub(crate) fn report(&self, gateway: SocketAddr) -> bool {
        let Self { id, attempt, status, .. } = self;
        let kind = match status.as_str() {
            "requires_payment_method" if self.has_failed => "payment_failed",
            "requires_payment_method" => "created",
            "requires_capture" => "amount_capturable_updated",
            status => status,
        };
        let object = json!({
            "id": id, "object": "payment_intent", "status": status, "metadata": { "ucp_attempt": attempt },
        });
        let body = json!({
            "id": format!("evt_{id}_{status}"), "object": "event", "type": format!("payment_intent.{kind}"),
            "data": { "object": object },
        });
        let (body, at) = (body.to_string(), now());
        let key = hmac::Key::new(hmac::HMAC_SHA256, SIGNING_SECRET.as_bytes());
        let signature = hmac::sign(&key, format!("{at}.{body}").as_bytes());
        let signature: String = signature.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let request = format!(
            "POST /payments/{HANDLER}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nStripe-Signature: t={at},v1={signature}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = exchange(gateway, request.as_bytes());
        if let Ok(answer) = &answer {
            assert!(matches!(answer.status, 200 | 503), "an event is taken, or to be sent again: {answer:?} {body}");
        }
        answer.is_ok_and(|answer| answer.status == 200)
    }
}

/// The time, in seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "Stripe has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs()
}

/// The journal of Stripe, read as it grows.
pub(crate) struct Journal {
    lines: BufReader<File>,
    /// A line that is not yet written to its end.
    begun: String,
}

impl Journal {
    pub(crate) fn open(world: &World) -> Self {
        let file = File::open(world.journal()).expect("the journal");
        Self { lines: BufReader::new(file), begun: String::new() }
    }
}

impl Iterator for Journal {
    type Item = Intent;

    /// The next step of a payment, if there was another one.
    fn next(&mut self) -> Option<Intent> {
        loop {
            self.lines.read_line(&mut self.begun).expect("it is read");
            if !self.begun.ends_with('\n') {
                return None;
            }
            let line: Value = serde_json::from_str(&self.begun).expect("a line of the journal");
            self.begun.clear();
            let intent = &line["intent"];
            if intent.is_object() {
                return Some(Intent {
                    id: text(intent, "id").to_owned(),
                    attempt: text(&intent["metadata"], "ucp_attempt").to_owned(),
                    status: text(intent, "status").to_owned(),
                    has_failed: !intent["error"].is_null(),
                });
            }
        }
    }
}

/// An event to send.
struct Event {
    about: Intent,
    not_before: Instant,
}

#[derive(Default)]
struct Post {
    waiting: Vec<Event>,
    under_way: usize,
    taken: u64,
    tried: u64,
    /// `true` if all buyers have decided, and everything in the journal has become an event.
    is_complete: bool,
}

/// The bank of all buyers, and the events about their payments.
pub(crate) struct Bank<'w> {
    world: &'w World,
    post: Mutex<Post>,
}

impl<'w> Bank<'w> {
    pub(crate) fn new(world: &'w World) -> Self {
        Self { world, post: Mutex::default() }
    }

    fn post(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is open until `closed` says otherwise.
    pub(crate) fn open<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        random: &Random,
        closed: &'scope AtomicBool,
    ) {
        let own = Random::new(random.next());
        scope.spawn(move || self.attend(&own, closed));
        for _ in 0..COURIERS {
            let own = Random::new(random.next());
            scope.spawn(move || {
                while !closed.load(Ordering::Relaxed) {
                    self.carry(&own);
                }
            });
        }
    }

    /// Waits until every buyer has decided and every event was taken. Nobody buys meanwhile.
    pub(crate) fn finish(&self) {
        self.post().is_complete = false;
        eventually("every buyer decides, and every event is taken", || {
            let post = self.post();
            (post.is_complete && post.waiting.is_empty() && post.under_way == 0).then_some(())
        });
    }

    /// Returns a summary of the events sent.
    pub(crate) fn summary(&self) -> String {
        let Post { taken, tried, .. } = &*self.post();
        format!("{taken} events taken of {tried} sent")
    }

    /// Lets buyers decide, and makes events of what happens.
    fn attend(&self, random: &Random, closed: &AtomicBool) {
        let mut journal = Journal::open(self.world);
        let (mut undecided, mut seen) = (HashMap::new(), HashSet::new());
        while !closed.load(Ordering::Relaxed) {
            let steps: Vec<_> = journal.by_ref().collect();
            for intent in &steps {
                // An answer that is written down once more is no other step.
                if seen.insert((intent.id.clone(), intent.status.clone(), intent.has_failed)) {
                    self.tell_of(random, intent);
                }
                if intent.waits() {
                    undecided
                        .insert(intent.id.clone(), (intent.clone(), Instant::now() + soon(random), random.percent(85)));
                } else {
                    undecided.remove(&intent.id);
                }
            }
            undecided.retain(|_, (intent, at, confirms)| Instant::now() < *at || !intent.decide(self.world, *confirms));
            self.post().is_complete = steps.is_empty() && undecided.is_empty();
            thread::sleep(Duration::from_millis(3));
        }
    }

    /// Sends an event about the last step of a payment, or several.
    fn tell_of(&self, random: &Random, intent: &Intent) {
        for _ in 0..random.of(&[1, 1, 1, 2, 3]) {
            let event = Event { about: intent.clone(), not_before: Instant::now() + soon(random) };
            self.post().waiting.push(event);
        }
    }

    /// Sends one of the events, whichever, to one of the gateways. What is not taken is sent again later.
    fn carry(&self, random: &Random) {
        let mut post = self.post();
        let due: Vec<_> =
            (0..post.waiting.len()).filter(|nth| post.waiting[*nth].not_before <= Instant::now()).collect();
        let Some(nth) = random.index(due.len()) else {
            drop(post);
            thread::sleep(Duration::from_millis(3));
            return;
        };
        let Event { about, .. } = post.waiting.swap_remove(due[nth]);
        post.under_way += 1;
        post.tried += 1;
        drop(post);
        let taken = self.world.clients.address(random).is_some_and(|gateway| about.report(gateway));
        let mut post = self.post();
        post.under_way -= 1;
        if taken {
            post.taken += 1;
        } else {
            post.waiting.push(Event { about, not_before: Instant::now() + soon(random) });
        }
    }
}

/// At once, or in a while.
fn soon(random: &Random) -> Duration {
    Duration::from_millis(match random.below(4) {
        0 => 0,
        1 | 2 => random.below(200),
        _ => random.below(2_000),
    })
}
