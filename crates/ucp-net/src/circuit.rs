//! The layer that leaves an upstream alone, around a [`breaker`](super::breaker) for each kind of traffic.
//!
//! Failures of callers' requests make an upstream suspect; a probe of the gateway's own decides. It is sent once for all
//! who wait for its result, and has slots of its own.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::Method;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tower::ServiceExt as _;
use url::Url;

use super::{
    Author, CallKind, Clock, Counters, Failure, Lane, Received, Scope, UpstreamRequest,
    breaker::{Admission, Breaker, Change, Circuit, Outcome, PROBE, Permit, Rules},
    failure::{Blame, Unfit},
    policy::{Policy, Sender},
};

/// The gateway's own question.
pub(super) enum Probe {
    /// A request, made anew each time.
    Request(Box<dyn Fn() -> UpstreamRequest + Send + Sync>),
    /// A question that is asked by requests with [`Author::Probe`].
    Question(Box<dyn Fn() -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>),
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request(_) => "Request(..)",
            Self::Question(_) => "Question(..)",
        })
    }
}

/// Settings of a circuit.
pub(super) struct Setup {
    pub(super) rules: Rules,
    pub(super) upstream: Arc<str>,
    /// Address that is asked for if there is no other question.
    pub(super) address: Url,
    /// Time for the answer to the gateway's own question.
    pub(super) patience: Duration,
}

/// The circuits of one upstream. Clones are the same ones.
#[derive(Clone)]
pub(super) struct CircuitBreaker(Arc<Shared>);

struct Shared {
    setup: Setup,
    lanes: [Mutex<Breaker>; Lane::ALL.len()],
    probe: OnceLock<Probe>,
    probing: Mutex<Probing>,
    clock: Clock,
    counters: Arc<Counters>,
}

/// Subject of the gateway's own question.
#[derive(Default)]
struct Probing {
    /// Turns to `true` at the end of the one that is being asked.
    under_way: Option<watch::Receiver<bool>>,
    began: Option<Instant>,
    /// Lanes that its answer decides about.
    about: Vec<Lane>,
}

impl CircuitBreaker {
    pub(super) fn new(setup: Setup, clock: &Clock, counters: &Arc<Counters>) -> Self {
        let lanes = Lane::ALL.map(|_| Mutex::new(Breaker::new(setup.rules, clock())));
        let (clock, counters) = (Arc::clone(clock), Arc::clone(counters));
        let (probe, probing) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(Shared { setup, lanes, probe, probing, clock, counters }))
    }

    pub(super) fn circuit(&self, lane: Lane) -> Circuit {
        self.breaker(lane).circuit((self.0.clock)())
    }

    /// Sets the gateway's own question, once.
    pub(super) fn ask_by(&self, probe: Probe) {
        let _ = self.0.probe.set(probe);
    }

    fn breaker(&self, lane: Lane) -> MutexGuard<'_, Breaker> {
        self.0.lanes[lane as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn probing(&self) -> MutexGuard<'_, Probing> {
        self.0.probing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a call may be made.
    async fn admitted(&self, inner: impl Sender, lane: Lane, deadline: Option<Instant>) -> Result<Ticket, Failure> {
        for _ in 0..2 {
            let now = (self.0.clock)();
            let admission = self.breaker(lane).admit(now);
            match admission {
                Admission::Granted(permit) => return Ok(Ticket { circuit: self.clone(), lane, permit: Some(permit) }),
                Admission::Refused(wait) => return Err(Failure::Open { wait }),
                Admission::Limited(wait) => return Err(Failure::Limited { wait }),
                Admission::Due => {
                    let Some(mut ended) = self.ask(inner.clone(), lane, true) else { break };
                    let until = deadline.map_or(now + PROBE, |deadline| deadline.min(now + PROBE));
                    if timeout_at(until, ended.wait_for(|ended| *ended)).await.is_err() {
                        break;
                    }
                }
            }
        }
        Err(Failure::Open { wait: PROBE })
    }

    fn report(&self, lane: Lane, permit: Permit, outcome: Outcome) -> bool {
        self.breaker(lane).report(permit, outcome, (self.0.clock)())
    }

    fn conclude(&self, lane: Lane, outcome: Outcome) {
        let change = self.breaker(lane).conclude(outcome, (self.0.clock)());
        let (upstream, lane) = (&*self.0.setup.upstream, lane.name());
        match change {
            Some(Change::Opened(time)) => {
                self.0.counters.opened.add();
                tracing::warn!(upstream, lane, ?time, "circuit breaker opened");
            }
            Some(Change::Closed) => {
                self.0.counters.closed.add();
                tracing::info!(upstream, lane, "circuit breaker closed");
            }
            None => {}
        }
    }

    /// Draws the conclusion from what the gateway asked by itself. That it is refused holds for all lanes.
    fn conclude_about(&self, lanes: &[Lane], outcome: Outcome) {
        let lanes = if matches!(outcome, Outcome::Refused(_)) { &Lane::ALL } else { lanes };
        for lane in lanes {
            self.conclude(*lane, outcome);
        }
    }

    /// Asks the gateway's own question about a lane, or joins the one that is being asked. Returns `None` if suspicion
    /// (without `due`) had it asked a moment ago.
    pub(super) fn ask(&self, inner: impl Sender, lane: Lane, due: bool) -> Option<watch::Receiver<bool>> {
        let now = (self.0.clock)();
        let mut probing = self.probing();
        if let Some(under_way) = &probing.under_way {
            let under_way = under_way.clone();
            if !probing.about.contains(&lane) {
                probing.about.push(lane);
            }
            return Some(under_way);
        }
        if !due && probing.began.is_some_and(|began| now < began + self.0.setup.rules.open) {
            return None;
        }
        let (sender, under_way) = watch::channel(false);
        *probing = Probing { under_way: Some(under_way.clone()), began: Some(now), about: vec![lane] };
        drop(probing);
        let asked = Asked { circuit: self.clone(), outcome: Outcome::Unknown, sender };
        tokio::spawn(async move {
            let mut asked = asked;
            asked.outcome = asked.circuit.clone().probe(inner).await;
        });
        Some(under_way)
    }

    async fn probe(&self, inner: impl Sender) -> Outcome {
        let Setup { address, patience, .. } = &self.0.setup;
        let until = (self.0.clock)() + *patience;
        let send = async |request: UpstreamRequest| {
            let sent = inner.oneshot(UpstreamRequest { author: Author::Probe, ..request }.by(until));
            timeout_at(until, sent).await.unwrap_or(Err(Failure::Timeout { sent: true }))
        };
        match self.0.probe.get() {
            Some(Probe::Request(request)) => outcome(&send(request()).await),
            Some(Probe::Question(ask)) => match timeout_at(until, Scope::default().by(until, ask())).await {
                Ok(Ok(())) => Outcome::Good,
                Ok(Err(failure)) => outcome(&Err(failure)),
                Err(_) => Outcome::Failed,
            },
            // Whatever is under the address: an answer shows that the upstream is there.
            None => match send(UpstreamRequest::new(CallKind::Read, Method::GET, address.clone())).await {
                Err(Failure::Answered(answered)) if is_there(&answered.received) => Outcome::Good,
                Err(Failure::Redirect(_) | Failure::Unreadable(_) | Failure::TooLarge { .. }) => Outcome::Good,
                result => outcome(&result),
            },
        }
    }
}

fn is_there(received: &Received) -> bool {
    received.status.as_u16() < 500 && received.status.as_u16() != 429
}

/// The gateway's own question while it is asked. Its end is told however it comes.
struct Asked {
    circuit: CircuitBreaker,
    outcome: Outcome,
    sender: watch::Sender<bool>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let about = {
            let mut probing = self.circuit.probing();
            probing.under_way = None;
            std::mem::take(&mut probing.about)
        };
        self.circuit.conclude_about(&about, self.outcome);
        self.sender.send_replace(true);
    }
}

/// A permit that is handed back whatever becomes of its call.
struct Ticket {
    circuit: CircuitBreaker,
    lane: Lane,
    permit: Option<Permit>,
}

impl Ticket {
    fn report(mut self, outcome: Outcome) -> bool {
        self.permit.take().is_some_and(|permit| self.circuit.report(self.lane, permit, outcome))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.circuit.report(self.lane, permit, Outcome::Unknown);
        }
    }
}

/// Classifies the result of a call for the breaker.
fn outcome(result: &Result<Received, Failure>) -> Outcome {
    match result {
        Ok(_) => Outcome::Good,
        Err(Failure::Answered(answered)) if matches!(answered.unfit, Unfit::Rejected | Unfit::Misconfigured) => {
            Outcome::Refused(answered.pause.unwrap_or_default())
        }
        Err(failure) if failure.blame() == Blame::Upstream => Outcome::Failed,
        Err(_) => Outcome::Unknown,
    }
}

/// Time for which the upstream asks the gateway to leave it alone, and `true` if that is because it was asked too much.
fn stated_pause(result: &Result<Received, Failure>) -> Option<(Duration, bool)> {
    match result {
        Err(Failure::Answered(answered)) if matches!(answered.unfit, Unfit::Throttled | Unfit::Transient) => {
            let pause = answered.pause.filter(|pause| !pause.is_zero())?;
            Some((pause, answered.unfit == Unfit::Throttled))
        }
        _ => None,
    }
}

impl Policy for CircuitBreaker {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let UpstreamRequest { lane, author, for_buyer, deadline, .. } = upstream_request;
        if author == Author::Probe {
            return inner.oneshot(upstream_request).await;
        }
        let ticket = match self.admitted(inner.clone(), lane, deadline).await {
            Ok(ticket) => ticket,
            Err(failure) => {
                self.0.counters.refused.add();
                return Err(failure);
            }
        };
        let result = inner.clone().oneshot(upstream_request).await;
        if let Some((pause, is_limit)) = stated_pause(&result).filter(|_| !for_buyer) {
            self.breaker(lane).pause(pause, is_limit, (self.0.clock)());
        }
        let outcome = outcome(&result);
        let suspected = ticket.report(outcome);
        match author {
            Author::Gateway if suspected => self.conclude_about(&[lane], outcome),
            Author::Caller if suspected => drop(self.ask(inner, lane, false)),
            _ => {}
        }
        result
    }
}
