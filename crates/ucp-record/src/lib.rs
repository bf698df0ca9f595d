//! The record of a call under way, for its line in the log and for the metrics.
//!
//! The listener begins a record and makes it the [current] one of the task that answers the call. Whoever
//! learns something on the way notes it there, wherever that is; the listener reads it once, when the call has ended. Without
//! a current record, as in tests of single parts, notes are dropped.

pub mod trace;

use std::{
    future::Future,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::futures::TaskLocalFuture;
use ucp_core::{Code, Operation, Release, checkout::Status, named};

pub use self::trace::{Note, OutboundRequest, RequestSpan, Spans, StageSpan, Trace, TraceContext, Tracer};

named! {
    /// Part of a call that its time is counted for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Stage {
        /// Finding out who calls, and whether that caller may.
        Identify = "identify",
        /// Receiving and reading what is asked.
        Read = "read",
        /// Deciding.
        Domain = "domain",
        /// Waiting for the shop behind the gateway.
        Upstream = "upstream",
        /// Waiting for the store.
        Store = "store",
        /// Writing the answer.
        Encode = "encode",
    }
}

named! {
    /// Way by which a request came.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Transport {
        /// HTTP, and no call of an operation: a document, or an unknown path.
        #[default]
        Http = "http",
        /// REST.
        Rest = "rest",
        /// JSON-RPC over HTTP.
        Mcp = "mcp",
        /// The pages for buyers.
        Page = "page",
    }
}

named! {
    /// Result of looking for an answer in a cache; of several in one call, the greatest.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Cached {
        /// It was there.
        Hit = "hit",
        /// It was there, and older than it should be.
        Stale = "stale",
        /// Another call was asking for it.
        Coalesced = "coalesced",
        /// It was not there.
        Miss = "miss",
    }
}

named! {
    /// Result of looking up the idempotency key of a call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Repetition {
        /// A new one.
        New = "new",
        /// Key of the same request, which has a stored response.
        Replayed = "replayed",
        /// Key of another request.
        Conflict = "conflict",
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

/// Known facts about a call. Everything is `None`, empty or zero until it is known.
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
    /// Identifier of the cart, checkout or order that is asked for, whether there is one or not.
    pub resource: Option<String>,
    /// Profile URL of the platform, once it is identified.
    pub profile: Option<String>,
    /// Origin at which the bot that calls publishes its keys, once it is identified (Web Bot Auth).
    pub agent: Option<String>,
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
    /// Result of looking up its idempotency key.
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

named! {
    /// Step of a buyer's way through the shop, for the operator's funnel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Step {
        /// Products were searched.
        Search = "search",
        /// Products were looked at.
        Product = "product",
        /// A cart was made.
        Cart = "cart",
        /// A checkout was made.
        Checkout = "checkout",
        /// A purchase was completed.
        Completed = "completed",
        /// The buyer has to continue in person.
        Escalated = "escalated",
        /// A payment was declined.
        Declined = "declined",
        /// A cart or checkout was canceled.
        Canceled = "canceled",
        /// A checkout expired unfinished.
        Abandoned = "abandoned",
    }
}

impl Step {
    /// Returns the step that a call was, once it has been answered; `None` if it was none, failed, or told again what
    /// was told before.
    pub fn of(facts: &Facts) -> Option<Self> {
        let replayed = facts.repetition.is_some_and(|repetition| repetition != Repetition::New);
        if facts.refused.is_some() || facts.error.is_some() || replayed {
            return None;
        }
        let status = facts.sale.as_ref().and_then(|sale| sale.status);
        let escalated = status == Some(Status::RequiresEscalation);
        match facts.operation? {
            Operation::SearchCatalog => Some(Self::Search),
            Operation::LookupCatalog | Operation::GetProduct => Some(Self::Product),
            Operation::CreateCart => Some(Self::Cart),
            Operation::CreateCheckout => Some(Self::Checkout),
            Operation::CompleteCheckout if facts.declined => Some(Self::Declined),
            Operation::CompleteCheckout if status == Some(Status::Completed) => Some(Self::Completed),
            Operation::CompleteCheckout | Operation::UpdateCheckout if escalated => Some(Self::Escalated),
            Operation::CancelCart | Operation::CancelCheckout => Some(Self::Canceled),
            Operation::GetCart
            | Operation::UpdateCart
            | Operation::GetCheckout
            | Operation::UpdateCheckout
            | Operation::CompleteCheckout
            | Operation::GetOrder
            | Operation::SearchMerchants
            | Operation::GetMerchant
            | Operation::SearchLocations
            | Operation::LookupLocations => None,
        }
    }
}

/// The record of a call under way.
#[derive(Debug)]
pub struct CallRecord {
    clock: fn() -> Instant,
    keeps_queries: bool,
    trace: Option<Arc<Trace>>,
    /// `false` if its stages are not those of the call that is traced.
    is_staged: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    facts: Facts,
    /// Stage of the call, but for the time that it waits.
    stage: Stage,
    /// Number of waits under way for the upstream, and for the store.
    waits: (u32, u32),
    /// Time of the last count.
    counted: Instant,
    spent: [Duration; Stage::ALL.len()],
}

impl State {
    /// Counts the time since it was counted last for the stage that the call is in.
    fn count(&mut self, now: Instant, trace: Option<&Arc<Trace>>) {
        let stage = match self.waits {
            (1.., _) => Stage::Upstream,
            (0, 1..) => Stage::Store,
            (0, 0) => self.stage,
        };
        self.spent[stage as usize] += now.saturating_duration_since(self.counted);
        if let Some(trace) = trace {
            trace.stage(stage, self.counted, now);
        }
        self.counted = now;
    }
}

impl CallRecord {
    /// Begins the record of a call at the time that `clock` tells, in the stage [`Stage::Identify`]. The words of a
    /// search are kept if `keeps_queries` is `true`.
    pub fn begin(clock: fn() -> Instant, keeps_queries: bool, trace: Option<Arc<Trace>>) -> Arc<Self> {
        Self::new(clock, keeps_queries, trace, true)
    }

    fn new(clock: fn() -> Instant, keeps_queries: bool, trace: Option<Arc<Trace>>, is_staged: bool) -> Arc<Self> {
        let state = State {
            facts: Facts::default(),
            stage: Stage::Identify,
            waits: (0, 0),
            counted: clock(),
            spent: [Duration::ZERO; Stage::ALL.len()],
        };
        Arc::new(Self { clock, keeps_queries, trace, is_staged, state: Mutex::new(state) })
    }

    /// Ends the record. Returns what is known, and the time spent in each of [`Stage::ALL`].
    pub fn end(&self) -> (Facts, [Duration; Stage::ALL.len()]) {
        let mut state = self.locked();
        let now = (self.clock)();
        state.count(now, self.staged());
        if let Some(trace) = self.staged() {
            trace.end(now);
        }
        (mem::take(&mut state.facts), state.spent)
    }

    /// Returns the trace of the call.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        self.trace.as_ref()
    }

    /// Returns the trace that the stages of this record are spans of.
    fn staged(&self) -> Option<&Arc<Trace>> {
        self.trace.as_ref().filter(|_| self.is_staged)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, stage: Stage, by: i32) {
        let mut state = self.locked();
        state.count((self.clock)(), self.staged());
        let (upstream, store) = &mut state.waits;
        let wait = if stage == Stage::Store { store } else { upstream };
        *wait = wait.saturating_add_signed(by);
    }
}

tokio::task_local! {
    static CURRENT: Arc<CallRecord>;
}

/// Runs a future with this current record.
pub fn scope<F: Future>(record: Arc<CallRecord>, future: F) -> TaskLocalFuture<Arc<CallRecord>, F> {
    CURRENT.scope(record, future)
}

/// Returns the current record, to take it along into another task.
pub fn current() -> Option<Arc<CallRecord>> {
    CURRENT.try_with(Clone::clone).ok()
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

/// Gives a future that another task runs on behalf of several calls the trace of the one that is current here, whose other
/// facts and stages it leaves alone.
pub fn inherit_trace<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send {
    let record = current().and_then(|record| Some((record.clock, Arc::clone(record.trace.as_ref()?))));
    let record = record.map(|(clock, trace)| CallRecord::new(clock, false, Some(trace), false));
    async move {
        match record {
            Some(record) => scope(record, future).await,
            None => future.await,
        }
    }
}

/// Notes something in the current record.
pub fn note(note: impl FnOnce(&mut Facts)) {
    // Without a record there is nothing to note.
    let _ = CURRENT.try_with(|record| note(&mut record.locked().facts));
}

/// Notes the words of a search in the current record, if it keeps them.
pub fn note_query(words: Option<&str>) {
    let _ = CURRENT.try_with(|record| {
        if record.keeps_queries {
            record.locked().facts.query = words.map(str::to_owned);
        }
    });
}

/// Tells what happened in the current call to those who look at it afterwards. What it was is asked for only if there are
/// such.
pub fn tell(kind: &'static str, detail: impl FnOnce() -> String) {
    let _ = CURRENT.try_with(|record| {
        if let Some(trace) = &record.trace {
            trace.tell(record.clock, kind, detail);
        }
    });
}

/// Notes that the current call enters a stage.
pub fn enter(stage: Stage) {
    let _ = CURRENT.try_with(|record| {
        let mut state = record.locked();
        state.count((record.clock)(), record.staged());
        state.stage = stage;
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
mod tests;
