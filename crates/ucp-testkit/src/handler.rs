//! A payment handler that does what it is told, and remembers what really happened.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::watch;
use ucp_core::{
    message::{Message, Severity},
    money::Amount,
    ports::payment_handler::Handler,
    purchase::payment::{Attempt, AuthenticationStep, Declaration, Settlement, Tender},
};

use crate::{PATIENCE, give_way, locked, within};

/// Course of an attempt to pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// The money is captured, and the shop hears of it.
    Captured,
    /// The payment is refused.
    Declined,
    /// The buyer has to prove something first.
    Challenged,
    /// The money is captured, and the answer is lost.
    AnswerLost,
    /// The request is lost: the processor never hears of it.
    RequestLost,
    /// The processor takes its time: it does not know until it was asked so many times, then the money is captured.
    Slow(u32),
    /// The request is under way for long: the processor has not heard of it until it was asked so many times, then it
    /// arrives and the money is captured, unless the attempt was forgotten before.
    Late(u32),
    /// The same, but the processor declines it when it arrives.
    LateDeclined(u32),
    /// The payment waits for its buyer, who confirms it after it was asked for so many times; then the money is captured.
    Awaiting(u32),
}

/// Money that was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The attempt.
    pub attempt_id: String,
    /// Identifier of the checkout that was paid.
    pub checkout_id: String,
    /// Amount that was captured.
    pub amount: Amount,
}

/// A payment [`Handler`] with a truth of its own.
///
/// It takes instruments of the kind `card` that have a credential.
pub struct ScriptedHandler {
    declaration: Declaration,
    truth: Mutex<Truth>,
    /// Number of attempts to pay that have begun.
    begun: watch::Sender<usize>,
    /// `true` if paying waits.
    held: watch::Sender<bool>,
}

#[derive(Default)]
struct Truth {
    script: VecDeque<Course>,
    attempts: BTreeMap<String, Standing>,
    captures: Vec<Capture>,
    asked: usize,
}

/// State of an attempt at the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Captured,
    Declined,
    Challenged,
    /// It is worked on until it was asked for so many times.
    Pending(u32),
    /// It is not there yet, and will be when it was asked for so many times.
    UnderWay {
        asked: u32,
        declined: bool,
    },
    /// Its buyer has to confirm it, and has when it was asked for so many times.
    Awaiting(u32),
    /// It must not count when it arrives.
    Forgotten,
}

ucp_core::opaque!(ScriptedHandler { declaration.id });

impl ScriptedHandler {
    /// Maximum time that an attempt can be under way.
    pub const DEADLINE: Duration = Duration::from_secs(60);

    /// Time that a payment waits for its buyer.
    pub const PATIENCE: Duration = Duration::from_secs(900);

    /// A handler of this id, for which everything goes well.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self {
            declaration: Declaration {
                name: "com.example.scripted".into(),
                id: id.into(),
                version: "2026-04-08".into(),
                spec: "https://example.com/scripted".into(),
                schema: "https://example.com/scripted.json".into(),
                instruments: vec!["card".into()],
                config: Map::new(),
            },
            truth: Mutex::default(),
            begun: watch::Sender::new(0),
            held: watch::Sender::new(false),
        }
    }

    /// Adds the courses of the next attempts, after those that were scripted before.
    pub fn script(&self, courses: impl IntoIterator<Item = Course>) {
        locked(&self.truth).script.extend(courses);
    }

    /// From now on paying waits, or goes on.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Waits until this number of attempts to pay have begun. Panics if they have not after [`PATIENCE`].
    pub async fn begun(&self, attempts: usize) {
        let mut begun = self.begun.subscribe();
        let enough = begun.wait_for(|begun| *begun >= attempts);
        let _ = within(&format!("attempt {attempts} to pay to begin"), PATIENCE, enough).await;
    }

    /// Returns the number of attempts to pay that have begun.
    pub fn attempts(&self) -> usize {
        *self.begun.borrow()
    }

    /// Number of times that it was asked for the result of an attempt.
    pub fn asked(&self) -> usize {
        locked(&self.truth).asked
    }

    /// All the money that was captured.
    pub fn captures(&self) -> Vec<Capture> {
        locked(&self.truth).captures.clone()
    }
}

impl Truth {
    fn arrive(&mut self, attempt: &Attempt, course: Course) -> Settlement {
        // What is not known yet can only have been forgotten, or come a second time.
        if let Some(before) = self.attempts.get(&attempt.id) {
            assert_eq!(*before, Standing::Forgotten, "the attempt {} is paid twice", attempt.id);
            return Settlement::Declined { reason: "This attempt was given up.".into() };
        }
        let (standing, settlement) = match course {
            Course::Captured => (Standing::Captured, captured(attempt)),
            Course::Declined => (Standing::Declined, declined()),
            Course::Challenged => (Standing::Challenged, challenged()),
            Course::AnswerLost => (Standing::Captured, Settlement::Unknown),
            Course::RequestLost => (Standing::UnderWay { asked: u32::MAX, declined: false }, Settlement::Unknown),
            Course::Slow(asked) => (Standing::Pending(asked), Settlement::Unknown),
            Course::Late(asked) => (Standing::UnderWay { asked, declined: false }, Settlement::Unknown),
            Course::LateDeclined(asked) => (Standing::UnderWay { asked, declined: true }, Settlement::Unknown),
            Course::Awaiting(asked) => (Standing::Awaiting(asked), awaiting(attempt)),
        };
        self.attempts.insert(attempt.id.clone(), standing);
        if standing == Standing::Captured {
            self.capture(attempt);
        }
        settlement
    }

    fn capture(&mut self, attempt: &Attempt) {
        let Attempt { id, checkout_id, amount, .. } = attempt.clone();
        self.attempts.insert(id.clone(), Standing::Captured);
        self.captures.push(Capture { attempt_id: id, checkout_id, amount });
    }

    fn ask(&mut self, attempt: &Attempt) -> Settlement {
        self.asked += 1;
        let Some(standing) = self.attempts.get_mut(&attempt.id) else { return Settlement::Absent };
        match standing {
            Standing::Captured => captured(attempt),
            Standing::Declined => declined(),
            Standing::Challenged => challenged(),
            Standing::Forgotten => Settlement::Absent,
            Standing::Pending(0) | Standing::Awaiting(0) | Standing::UnderWay { asked: 0, declined: false } => {
                self.capture(attempt);
                captured(attempt)
            }
            Standing::UnderWay { asked: 0, declined: true } => {
                *standing = Standing::Declined;
                declined()
            }
            Standing::Pending(asked) => {
                *asked -= 1;
                Settlement::Unknown
            }
            Standing::Awaiting(asked) => {
                *asked -= 1;
                awaiting(attempt)
            }
            Standing::UnderWay { asked, .. } => {
                *asked -= 1;
                Settlement::Absent
            }
        }
    }
}

fn captured(attempt: &Attempt) -> Settlement {
    Settlement::Captured { reference: format!("capture of {}", attempt.id) }
}

fn awaiting(attempt: &Attempt) -> Settlement {
    let url = format!("https://bank.example/{}", attempt.id);
    Settlement::AwaitingBuyer {
        step: AuthenticationStep::ThreeDsChallenge,
        url,
        until: attempt.begun_at.saturating_add(ScriptedHandler::PATIENCE).expect("a time"),
    }
}

fn declined() -> Settlement {
    Settlement::Declined { reason: "The card was declined.".into() }
}

fn challenged() -> Settlement {
    Settlement::Challenged { reason: "The bank wants to see the buyer.".into() }
}

#[async_trait]
impl Handler for ScriptedHandler {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn prepare(&self, tender: &Tender) -> Result<Value, Message> {
        let failed = |content: &str| Message::error("payment_failed", content, Severity::Recoverable);
        if tender.instrument.kind != "card" {
            return Err(failed("This handler takes cards only."));
        }
        match &tender.credential {
            Some(credential) => Ok(Value::String(format!("a {}", credential.kind))),
            None => Err(failed("There is no credential.").at("$.payment.instruments[0].credential")),
        }
    }

    fn deadline(&self) -> Duration {
        Self::DEADLINE
    }

    fn authentication_origins(&self) -> Option<Vec<String>> {
        Some(vec!["https://bank.example".to_owned()])
    }

    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement {
        assert_eq!(attempt.handler_id, self.declaration.id, "an attempt of another handler");
        assert_eq!(Ok(&attempt.memo), self.prepare(tender).as_ref(), "the memo of another tender");
        self.begun.send_modify(|begun| *begun += 1);
        let _ = self.held.subscribe().wait_for(|held| !held).await;
        give_way().await;
        let settlement = {
            let mut truth = locked(&self.truth);
            let course = truth.script.pop_front().unwrap_or(Course::Captured);
            truth.arrive(attempt, course)
        };
        give_way().await;
        settlement
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        give_way().await;
        let settlement = locked(&self.truth).ask(attempt);
        give_way().await;
        settlement
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        give_way().await;
        let forgotten = {
            let mut truth = locked(&self.truth);
            let standing = truth.attempts.entry(attempt.id.clone()).or_insert(Standing::Forgotten);
            if matches!(standing, Standing::UnderWay { .. } | Standing::Awaiting(_)) {
                *standing = Standing::Forgotten;
            }
            *standing == Standing::Forgotten
        };
        give_way().await;
        forgotten
    }
}
