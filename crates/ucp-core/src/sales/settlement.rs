//! Payments of checkouts carried out: made, asked for, called off.
//!
//! The module `completion` decides about a checkout. This one calls the processor or the shop and commits the decision about
//! the answer: for a call that waits, for whoever looks at a checkout, and for the agenda.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{SalesService, completion::Ending};
use crate::{
    Refusal,
    checkout::{Checkout, due_payment::DuePayment},
    money::Amount,
    ports::{
        Decision, Then,
        agenda::{Claim, Claimed, Kind, Next, Rested},
        caller::Caller,
        ledger::{Committed, Stored},
        remote_cart::{OrderOutcome, PlaceRequest},
    },
    purchase::payment::{Attempt, Settlement},
};

/// Maximum number of attempts to commit while other calls change the same checkout.
const TRIES: usize = 16;

/// Time for which nobody asks a processor again for those who look at a checkout.
const RESTED: SignedDuration = SignedDuration::from_secs(2);

/// Number of times that a processor is asked about a payment without a rest for a buyer, who comes back from the bank.
const EAGER: u32 = 8;

/// Reason to ask what became of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody looks at the checkout.
    Look,
    /// The buyer is on the page of the checkout, and may come from the bank.
    Buyer,
    /// Something has happened to the payment, or is about to.
    Change,
}

/// Duration of a claim for somebody who looks at a checkout.
const CLAIMED_FOR: SignedDuration = SignedDuration::from_secs(60);

impl SalesService {
    /// Carries out what follows a decision.
    pub(crate) async fn followed(&self, caller: &Caller, then: Then) -> Result<Option<Decision>, Refusal> {
        match then {
            Then::Pay(payment) => Ok(Some(self.pay(caller, *payment).await)),
            Then::Ask(stored) => {
                let asked = self.looked_after(*stored, Why::Look).await?;
                Ok(asked.map(|stored| self.standing(stored.document)))
            }
            Then::CallOff(stored) => self.call_off(*stored).await.map(|()| None),
        }
    }

    /// Makes a payment whose attempt is stored. Returns the decision about its end.
    async fn pay(&self, caller: &Caller, payment: DuePayment) -> Decision {
        let DuePayment { checkout, version, tender } = payment;
        let Some(attempt) = checkout.state.attempt() else { return self.standing(checkout) };
        let (shop, handler) = (self.placing_shop(), self.handler(&attempt.handler_id));
        let ending = match (tender.as_ref(), shop.filter(|_| attempt.at_shop), handler) {
            (tender, Some(shop), _) => {
                let buyer_signals = caller.buyer_signals;
                shop.place(PlaceRequest { attempt, checkout: &checkout, tender, buyer_signals }).await.into()
            }
            (Some(tender), None, Some(handler)) => handler.pay(attempt, tender).await.into(),
            _ if attempt.amount == Amount::ZERO => Ending::nothing_to_pay(),
            _ => Ending::Open,
        };
        match self.settled(&checkout, version, ending) {
            Some(decision) => decision,
            None => self.standing(checkout),
        }
    }

    /// Has the end of a checkout's payment asked for, or the order of one whose cart the shop no longer has, unless
    /// somebody has asked just now. Returns the checkout as it stands then; `None` if nobody was asked, or nothing
    /// came of it.
    pub(super) async fn looked_after(
        &self,
        stored: Stored<Checkout>,
        why: Why,
    ) -> Result<Option<Stored<Checkout>>, Refusal> {
        let Stored { document: checkout, version } = &stored;
        if checkout.state.attempt().is_none() {
            let Some((claimant, task)) = self.seized(Kind::FindOrder, &checkout.id, why).await? else {
                return Ok(None);
            };
            let next = self.find_order(&task).await?;
            self.ended(&task, &claimant, next).await?;
        } else if let Some((claimant, task)) = self.seized(Kind::Settle, &checkout.id, why).await? {
            let next = self.settle(&task, Some(stored.clone())).await?;
            self.ended(&task, &claimant, next).await?;
        }
        let now = self.ledger.checkout(&checkout.owner, &checkout.id).await?;
        Ok(now.filter(|now| now.version != *version))
    }

    /// Claims the task of a kind about a checkout, if it has rested. Returns it with its claimant.
    async fn seized(&self, kind: Kind, id: &str, why: Why) -> Result<Option<(String, Claimed)>, Refusal> {
        let now = self.now();
        let claimant = self.unguessable("");
        let until = now.checked_add(CLAIMED_FOR).unwrap_or(Timestamp::MAX);
        let claim = Claim { claimant, until };
        let (rest, tries) = match why {
            Why::Look => (RESTED, 0),
            Why::Buyer => (RESTED, EAGER),
            Why::Change => (SignedDuration::ZERO, 0),
        };
        let rested = Rested { since: now.checked_sub(rest).unwrap_or(Timestamp::MIN), tries };
        let seized = self.ledger.seize(kind, id, rested, now, &claim).await?;
        Ok(seized.map(|task| (claim.claimant, task)))
    }

    /// Records what came of a task that was carried out.
    async fn ended(&self, task: &Claimed, claimant: &str, next: Next) -> Result<(), Refusal> {
        let [a, b, c, d, ..] = (self.random)();
        let recorded = next.recorded(task, self.now(), u32::from_be_bytes([a, b, c, d]));
        self.ledger.record_task(task.kind, &task.key, claimant, recorded).await?;
        Ok(())
    }

    /// Asks for the end of the payment of a checkout, and stores it. `known` is the checkout, if it was just read.
    pub(crate) async fn settle(&self, task: &Claimed, known: Option<Stored<Checkout>>) -> Result<Next, Refusal> {
        let stored = match known {
            Some(stored) => Some(stored),
            None => self.ledger.checkout(&task.body, &task.key).await?,
        };
        let Some(Stored { document: checkout, version }) = stored else { return Ok(Next::Done) };
        let Some(attempt) = checkout.state.attempt() else { return Ok(Next::Done) };
        let Some((ending, deadline)) = self.asked(&checkout, attempt).await else {
            let problem = Some(format!("the payment handler `{}` is not configured here", attempt.handler_id));
            return Ok(Next::Later { by: None, problem });
        };
        let waits_until = match &ending {
            Ending::AwaitingBuyer { until, .. } => Some(*until),
            _ => None,
        };
        match self.settled(&checkout, version, ending) {
            Some(decision) => Ok(match self.ledger.commit(*decision.change, None).await? {
                // A payment that waits for its buyer now is planned anew by the commit.
                Committed::Done => Next::Done,
                Committed::Stale | Committed::Kept(_) | Committed::Full(_) => {
                    Next::At { at: self.now(), problem: None }
                }
            }),
            None => Ok(match waits_until {
                Some(until) => Next::At { at: until, problem: None },
                None => {
                    let by = Some(over(attempt, deadline)).filter(|over| *over > self.now());
                    Next::Later { by, problem: Some("the end of the payment is not known".to_owned()) }
                }
            }),
        }
    }

    /// Asks for the end of a payment, and forgets one that did not arrive or that its buyer did not confirm. Returns the
    /// end, and the time after which it cannot arrive any more; `None` if whom to ask is no longer configured: the checkout
    /// waits until it is again.
    async fn asked(&self, checkout: &Checkout, attempt: &Attempt) -> Option<(Ending, Duration)> {
        if attempt.at_shop {
            let shop = self.placing_shop()?;
            let (cart, deadline) = (checkout.remote_cart.as_ref(), shop.place_deadline());
            let ending = match shop.placed(attempt, cart).await {
                OrderOutcome::Absent if over(attempt, deadline) <= self.now() && shop.cancel(attempt, cart).await => {
                    let content =
                        "The order did not reach the shop, and nothing was charged. Complete the checkout again.";
                    Ending::Unsent { content }
                }
                other => other.into(),
            };
            return Some((ending, deadline));
        }
        if attempt.amount == Amount::ZERO {
            return Some((Ending::nothing_to_pay(), Duration::ZERO));
        }
        let handler = self.handler(&attempt.handler_id)?;
        let deadline = handler.deadline();
        let ending = match handler.inquire(attempt).await {
            Settlement::Absent if over(attempt, deadline) <= self.now() && handler.forget(attempt).await => {
                let content =
                    "The payment did not reach its provider, and nothing was charged. Complete the checkout again.";
                Ending::Unsent { content }
            }
            Settlement::AwaitingBuyer { until, .. } if until <= self.now() && handler.forget(attempt).await => {
                Ending::Declined { reason: "The payment was not confirmed in time. Nothing was charged.".into() }
            }
            other => other.into(),
        };
        Some((ending, deadline))
    }

    /// Calls off a payment that waits for its buyer, so that the checkout can be changed or canceled: it may turn out to have
    /// been captured meanwhile. If this is interrupted, the agenda finds out.
    pub(super) async fn call_off(&self, stored: Stored<Checkout>) -> Result<(), Refusal> {
        let Stored { document: checkout, version } = stored;
        let Some((attempt, handler)) =
            checkout.state.attempt().and_then(|attempt| Some((attempt, self.handler(&attempt.handler_id)?)))
        else {
            return Ok(());
        };
        let seized = self.seized(Kind::Settle, &checkout.id, Why::Change).await?;
        let ending = match handler.inquire(attempt).await {
            Settlement::AwaitingBuyer { .. } if handler.forget(attempt).await => Ending::called_off(),
            other => other.into(),
        };
        match self.settled(&checkout, version, ending) {
            // Whether this or a concurrent change was committed, the ledger has what came of it.
            Some(decision) => self.ledger.commit(*decision.change, None).await.map(drop)?,
            None => {
                if let Some((claimant, task)) = seized {
                    self.ended(&task, &claimant, Next::At { at: self.now(), problem: None }).await?;
                }
            }
        }
        Ok(())
    }

    /// Records the answer of a buyer on a page of the gateway that plays the bank, and settles the payment as far as that
    /// is possible. `challenge` is the identifier of the authentication. Returns `false` if it is not outstanding.
    pub async fn answer_challenge(&self, token: &str, challenge: &str, confirmed: bool) -> Result<bool, Refusal> {
        for _ in 0..TRIES {
            let Some(stored) = self.ledger.checkout_by_token(token).await? else { return Ok(false) };
            let Stored { document: mut checkout, version } = stored;
            let Some(state) = checkout.state.answered(challenge, confirmed) else { return Ok(false) };
            checkout.state = state;
            let decision = self.changed_checkout(checkout.clone(), version);
            if self.ledger.commit(*decision.change, None).await? == Committed::Done {
                let stored = Stored { document: checkout, version: version + 1 };
                self.looked_after(stored, Why::Change).await?;
                return Ok(true);
            }
        }
        Err(Refusal::unavailable("Too many concurrent changes to this checkout.", 1))
    }
}

/// Returns the time from which no request of an attempt can arrive any more.
fn over(attempt: &Attempt, deadline: Duration) -> Timestamp {
    let deadline = SignedDuration::try_from(deadline).unwrap_or(SignedDuration::MAX);
    attempt.begun_at.checked_add(deadline).unwrap_or(Timestamp::MAX)
}
