//! The record of a call under way, for its line in the log and for the metrics.
//!
//! The listener begins a record and makes it the [current] one of the task that answers the call. Whoever
//! learns something on the way notes it there, wherever that is; the listener reads it once, when the call has ended. Without
//! a current record, as in tests of single parts, notes are dropped. A record that [follows](CallRecord::following) its call
//! also keeps what [happened](tell) on the way, for the inspector.

mod step;

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    mem,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

pub use self::step::Step;
use crate::{Code, Operation, Release, checkout::Status};

/// Part of a call that its time is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Finding out who calls, and whether that caller may.
    Identify,
    /// Receiving and reading what is asked.
    Read,
    /// Deciding.
    Domain,
    /// Waiting for the shop behind the gateway.
    Upstream,
    /// Waiting for the store.
    Store,
    /// Writing the answer.
    Encode,
}

impl Stage {
    /// All stages, in the order of their declaration.
    pub const ALL: [Self; 6] = [Self::Identify, Self::Read, Self::Domain, Self::Upstream, Self::Store, Self::Encode];

    /// Returns the name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identify => "identify",
            Self::Read => "read",
            Self::Domain => "domain",
            Self::Upstream => "upstream",
            Self::Store => "store",
            Self::Encode => "encode",
        }
    }
}

/// Way by which a request came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// HTTP, and no call of an operation: a document, or an unknown path.
    #[default]
    Http,
    /// REST.
    Rest,
    /// JSON-RPC over HTTP.
    Mcp,
    /// The pages for buyers.
    Page,
}

impl Transport {
    /// All transports, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Http, Self::Rest, Self::Mcp, Self::Page];

    /// Returns the name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Rest => "rest",
            Self::Mcp => "mcp",
            Self::Page => "page",
        }
    }
}

/// Result of looking for an answer in a cache; of several in one call, the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cached {
    /// It was there.
    Hit,
    /// It was there, and older than it should be.
    Stale,
    /// Another call was asking for it.
    Coalesced,
    /// It was not there.
    Miss,
}

impl Cached {
    /// Returns the name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Coalesced => "coalesced",
            Self::Miss => "miss",
        }
    }
}

/// What an idempotency key of a call turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// A new one.
    New,
    /// That of the same call, which was answered before.
    Replayed,
    /// That of another call.
    Conflict,
}

impl Repetition {
    /// Returns the name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Replayed => "replayed",
            Self::Conflict => "conflict",
        }
    }
}

/// A cart or checkout in an answer, without what is known about its buyer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    /// Identifier.
    pub id: String,
    /// Status; `None` for a cart.
    pub status: Option<Status>,
    /// Identifier of the order.
    pub order_id: Option<String>,
    /// Currency, as an ISO 4217 code.
    pub currency: String,
    /// Total in minor units; `None` if it is unknown.
    pub total: Option<i64>,
    /// Number of lines.
    pub lines: usize,
}

/// What is known about a call. Everything is `None`, empty or zero until it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Identifier of the request, of ASCII letters, digits and `-_.:`.
    pub request_id: String,
    /// Way by which it came.
    pub transport: Transport,
    /// Release in which it is answered.
    pub release: Option<Release>,
    /// Operation that is called.
    pub operation: Option<Operation>,
    /// Profile URL of the platform, once it is identified.
    pub profile: Option<String>,
    /// Code of the refusal.
    pub refused: Option<Code>,
    /// Code of the first message of an answer without a resource.
    pub error: Option<String>,
    /// Cart or checkout in the answer.
    pub sale: Option<Sale>,
    /// `true` if a payment was declined.
    pub declined: bool,
    /// Bytes of the body of the request.
    pub bytes_in: usize,
    /// Result of looking for the answer in a cache.
    pub cached: Option<Cached>,
    /// What its idempotency key turned out to be.
    pub repetition: Option<Repetition>,
    /// Words of a search, if they are asked for.
    pub query: Option<String>,
}

impl Facts {
    /// Notes the result of looking for a part of the answer in a cache.
    pub fn looked_up(&mut self, cached: Cached) {
        self.cached = self.cached.max(Some(cached));
    }
}

/// Maximum number of events of a call; later ones are dropped.
const MAX_EVENTS: usize = 100;

/// Something that happened on the way of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time since the call began.
    pub after: Duration,
    /// Name of the kind, such as `negotiated` or `upstream`.
    pub kind: &'static str,
    /// What happened, for people; without data of buyers.
    pub detail: String,
}

/// The record of a call under way.
#[derive(Debug)]
pub struct CallRecord {
    clock: fn() -> Instant,
    keeps_queries: bool,
    /// Time at which it began, if it keeps events.
    follows: Option<Instant>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    facts: Facts,
    /// Stage of the call, but for the time that it waits.
    stage: Stage,
    /// Number of waits under way for the upstream, and for the store.
    waits: (u32, u32),
    /// When time was counted last.
    counted: Instant,
    spent: [Duration; Stage::ALL.len()],
    events: Vec<Event>,
}

impl State {
    /// Counts the time since it was counted last for the stage that the call is in.
    fn count(&mut self, now: Instant) {
        let stage = match self.waits {
            (1.., _) => Stage::Upstream,
            (0, 1..) => Stage::Store,
            (0, 0) => self.stage,
        };
        self.spent[stage as usize] += now.saturating_duration_since(self.counted);
        self.counted = now;
    }
}

impl CallRecord {
    /// Begins the record of a call at the time that `clock` tells, in the stage [`Stage::Identify`]. The words of a
    /// search are kept if `keeps_queries` is `true`.
    #[must_use]
    pub fn begin(clock: fn() -> Instant, keeps_queries: bool) -> Arc<Self> {
        Self::new(clock, keeps_queries, false)
    }

    /// Begins a record as [`begin`](Self::begin) does, that also keeps what happens on the way.
    #[must_use]
    pub fn following(clock: fn() -> Instant, keeps_queries: bool) -> Arc<Self> {
        Self::new(clock, keeps_queries, true)
    }

    fn new(clock: fn() -> Instant, keeps_queries: bool, follows: bool) -> Arc<Self> {
        let state = State {
            facts: Facts::default(),
            stage: Stage::Identify,
            waits: (0, 0),
            counted: clock(),
            spent: [Duration::ZERO; Stage::ALL.len()],
            events: Vec::new(),
        };
        let follows = follows.then_some(state.counted);
        Arc::new(Self { clock, keeps_queries, follows, state: Mutex::new(state) })
    }

    /// Ends the record. Returns what is known, and the time spent in each of [`Stage::ALL`].
    pub fn end(&self) -> (Facts, [Duration; Stage::ALL.len()]) {
        let mut state = self.locked();
        state.count((self.clock)());
        (mem::take(&mut state.facts), state.spent)
    }

    /// Takes the events so far, in the order in which they happened.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        mem::take(&mut self.locked().events)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, stage: Stage, by: i32) {
        let mut state = self.locked();
        state.count((self.clock)());
        let (upstream, store) = &mut state.waits;
        let wait = if stage == Stage::Store { store } else { upstream };
        *wait = wait.saturating_add_signed(by);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<CallRecord>>> = const { RefCell::new(None) };
}

/// Puts the record that was current before back when it is dropped.
struct Entered(Option<Arc<CallRecord>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs a future with this current record.
pub async fn scope<F: Future>(record: Arc<CallRecord>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = Entered(CURRENT.replace(Some(Arc::clone(&record))));
        future.as_mut().poll(context)
    })
    .await
}

/// Returns the current record, to take it along into another task.
#[must_use]
pub fn current() -> Option<Arc<CallRecord>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Gives a future that another task runs the record that is current here.
pub fn inherit<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send {
    let record = current();
    async move {
        match record {
            Some(record) => scope(record, future).await,
            None => future.await,
        }
    }
}

/// Notes something in the current record.
pub fn note(note: impl FnOnce(&mut Facts)) {
    CURRENT.with_borrow(|record| {
        if let Some(record) = record {
            note(&mut record.locked().facts);
        }
    });
}

/// Notes the words of a search in the current record, if it keeps them.
pub fn note_query(words: Option<&str>) {
    CURRENT.with_borrow(|record| {
        if let Some(record) = record.as_ref().filter(|record| record.keeps_queries) {
            record.locked().facts.query = words.map(str::to_owned);
        }
    });
}

/// Tells the current record what happens, if it follows its call.
pub fn tell(kind: &'static str, detail: impl FnOnce() -> String) {
    CURRENT.with_borrow(|record| {
        if let Some(record) = record
            && let Some(begun) = record.follows
        {
            let (after, detail) = ((record.clock)().saturating_duration_since(begun), detail());
            let mut state = record.locked();
            if state.events.len() < MAX_EVENTS {
                state.events.push(Event { after, kind, detail });
            }
        }
    });
}

/// Notes that the current call enters a stage.
pub fn enter(stage: Stage) {
    CURRENT.with_borrow(|record| {
        if let Some(record) = record {
            let mut state = record.locked();
            state.count((record.clock)());
            state.stage = stage;
        }
    });
}

/// Waits for the upstream ([`Stage::Upstream`]) or the store ([`Stage::Store`]). The current call is in its previous stage
/// again once no such wait is left.
pub async fn during<F: Future>(stage: Stage, future: F) -> F::Output {
    struct Waiting(Arc<CallRecord>, Stage);
    impl Drop for Waiting {
        fn drop(&mut self) {
            self.0.wait(self.1, -1);
        }
    }
    let _waiting = current().map(|record| {
        record.wait(stage, 1);
        Waiting(record, stage)
    });
    future.await
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, task::Poll};

    use super::*;

    thread_local! {
        static NOW: Cell<(Option<Instant>, u64)> = const { Cell::new((None, 0)) };
    }

    fn now() -> Instant {
        let (start, seconds) = NOW.get();
        let start = start.unwrap_or_else(Instant::now);
        NOW.set((Some(start), seconds));
        start + Duration::from_secs(seconds)
    }

    fn pass(seconds: u64) {
        let (start, before) = NOW.get();
        NOW.set((start, before + seconds));
    }

    /// Lets a future wait once, while time passes.
    async fn waiting(seconds: u64) {
        let mut waited = false;
        poll_fn(|context| {
            if mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            pass(seconds);
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[tokio::test]
    async fn time_is_counted_for_one_stage_at_a_time() {
        let record = CallRecord::begin(now, false);
        scope(Arc::clone(&record), async {
            pass(1);
            enter(Stage::Read);
            pass(2);
            enter(Stage::Domain);
            pass(3);
            // Two waits at the same time; the first one ends later than the second.
            let store = during(Stage::Store, async {
                waiting(10).await;
                waiting(20).await;
            });
            let upstream = during(Stage::Upstream, waiting(100));
            tokio::join!(store, upstream);
            pass(4);
            // A wait that is given up.
            let given_up = during(Stage::Store, waiting(1_000));
            tokio::select! { biased; () = given_up => {}, () = std::future::ready(()) => {} }
            pass(5);
            enter(Stage::Encode);
            pass(6);
        })
        .await;
        let spent = record.end().1.map(|time| time.as_secs());
        assert_eq!(spent.iter().sum::<u64>(), 1 + 2 + 3 + 130 + 4 + 1_000 + 5 + 6);
        assert_eq!((spent[0], spent[1], spent[2], spent[5]), (1, 2, 3 + 4 + 5, 6));
        assert_eq!((spent[3], spent[4]), (100, 1_030));
    }

    #[tokio::test]
    async fn what_happens_is_kept_only_by_records_that_follow_their_call() {
        tell("nothing", || panic!("there is no call"));
        let quiet = CallRecord::begin(now, false);
        scope(quiet, async { tell("nothing", || panic!("nobody follows")) }).await;
        let followed = CallRecord::following(now, false);
        scope(Arc::clone(&followed), async {
            pass(2);
            tell("one", || "first".into());
            tokio::spawn(inherit(async { tell("two", String::new) })).await.expect("no panic");
            (0..2 * MAX_EVENTS).for_each(|_| tell("more", String::new));
        })
        .await;
        let events = followed.take_events();
        let one = Event { after: Duration::from_secs(2), kind: "one", detail: "first".into() };
        assert_eq!((&events[0], events[1].kind, events.len()), (&one, "two", MAX_EVENTS));
        assert!(followed.take_events().is_empty());
    }

    #[tokio::test]
    async fn notes_go_to_the_call_of_the_task() {
        note(|_| panic!("there is no call"));
        let [one, two] = [(); 2].map(|()| CallRecord::begin(now, false));
        let call = |record: &Arc<CallRecord>, bytes| {
            scope(Arc::clone(record), async move {
                waiting(0).await;
                let inherited = inherit(async { note(|facts| facts.looked_up(Cached::Stale)) });
                tokio::spawn(inherited).await.expect("no panic");
                note(|facts| facts.bytes_in = bytes);
                note(|facts| facts.looked_up(Cached::Hit));
            })
        };
        tokio::join!(call(&one, 1), call(&two, 2));
        for (record, bytes) in [(one, 1), (two, 2)] {
            let facts = record.end().0;
            assert_eq!((facts.bytes_in, facts.cached), (bytes, Some(Cached::Stale)));
        }
        assert!(current().is_none());
    }
}
