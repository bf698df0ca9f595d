//! Money of orders that moves after the purchase: captured, released, given back.
//!
//! A capture, a release or a refund is stored with its identifier before the processor is asked, together with the task that
//! asks: after a crash, or an answer that was lost, the processor is asked again under the same identifier until it states the
//! result.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::SalesService;
use crate::{
    Refusal,
    money::Amount,
    order::{AdjustmentStatus, Hold, Order},
    ports::{
        agenda::{Claimed, Kind, Next, Plan, Task},
        ledger::{Change, Committed, Ledger, Stored},
        payment_handler::Handler,
    },
    purchase::{
        payment::{Capture, Refund, TransferOutcome},
        totals::{TotalKind, amount_of},
    },
};

/// Time after which money is moved whose step may be gone.
const MOVED_AFTER: SignedDuration = SignedDuration::from_secs(2);

/// Time for which a refund that was given can still fail, by the word of its processor.
const FOLLOWED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Money that is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movement {
    /// A capture of an authorized payment, or its release.
    Capture(Capture),
    /// A refund, with the position of its adjustment.
    Refund(Refund, usize),
}

/// State of an order's money after the processor was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing is to move any more. The reason is that of the last movement that the processor refused.
    Ended(Option<String>),
    /// The order was changed meanwhile.
    Stale,
    /// It is not known what came of a movement.
    Unknown(String),
}

impl Order {
    /// Returns the money that is to move next; `None` if there is none.
    pub fn movement(&self) -> Option<Movement> {
        if let Some(capture) = self.begun_capture() {
            return Some(Movement::Capture(capture));
        }
        let (refund, position) = self.refunds(AdjustmentStatus::Pending).next()?;
        Some(Movement::Refund(refund, position))
    }

    /// Returns the refunds in a state that are no operator's affair, each with the position of its adjustment.
    fn refunds(&self, status: AdjustmentStatus) -> impl Iterator<Item = (Refund, usize)> {
        let refunds = self.adjustments.iter().enumerate().filter(|(_, adjustment)| adjustment.kind == "refund");
        (1..).zip(refunds).filter_map(move |(ordinal, (position, refund))| {
            let minor = -amount_of(&refund.totals, TotalKind::Total);
            let amount = Amount::new(minor).filter(|_| refund.status == status && !refund.by_hand)?;
            let id = format!("{}:refund:{ordinal}:{minor}", self.payment.attempt_id);
            let (attempt_id, reference) = (self.payment.attempt_id.clone(), self.payment.reference.clone());
            Some((Refund { id, attempt_id, reference, amount, currency: self.currency }, position))
        })
    }

    /// Returns the time until which a refund that was given can fail; `None` if there is none.
    fn followed_until(&self, handler: &dyn Handler) -> Option<Timestamp> {
        let given = self.refunds(AdjustmentStatus::Completed).filter(|_| handler.gives_back());
        let last = given.filter_map(|(_, position)| Some(self.adjustments.get(position)?.occurred_at)).max();
        last.map(|last| last.saturating_add(FOLLOWED_FOR).unwrap_or(Timestamp::MAX))
    }

    /// Returns the task that moves the money that is to move, should the step not come to it that has begun now.
    pub fn task(&self, now: Timestamp) -> Option<Task> {
        self.movement()?;
        Some(self.task_at(now.checked_add(MOVED_AFTER).unwrap_or(Timestamp::MAX)))
    }

    fn task_at(&self, due: Timestamp) -> Task {
        Task {
            kind: Kind::MoveMoney,
            key: self.id.clone(),
            lane: format!("{}:{}", Kind::MoveMoney.as_str(), self.payment.handler_id),
            name: Some(self.payment.attempt_id.clone()),
            due,
            body: self.owner.clone(),
        }
    }

    /// Confirms a refund that the operator has carried out at the processor. Fails with
    /// [`Impossible`](crate::order::progress::Impossible) if there is no such refund that waits for it.
    pub fn confirm(&mut self, id: &str) -> Result<(), crate::order::progress::Impossible> {
        let waits = |refund: &&mut crate::order::Adjustment| refund.id == id && refund.by_hand;
        let refund = self.adjustments.iter_mut().find(waits);
        let refund = refund.ok_or_else(|| crate::order::progress::Impossible::NoSuchRefund(id.to_owned()))?;
        (refund.status, refund.by_hand) = (AdjustmentStatus::Completed, false);
        Ok(())
    }

    /// Ends a movement as the processor says. Returns the reason if it refused.
    fn moved(&mut self, movement: &Movement, moved: TransferOutcome) -> Option<String> {
        match (movement, moved) {
            (Movement::Capture(_), moved) => {
                let refused = match moved {
                    TransferOutcome::Done { .. } => None,
                    TransferOutcome::Refused { reason } => Some(reason),
                    TransferOutcome::ByHand | TransferOutcome::Unknown => {
                        Some("the payment handler does not capture".to_owned())
                    }
                };
                self.end_capture(refused.is_none());
                refused
            }
            (Movement::Refund(_, position), moved) => {
                let refund = self.adjustments.get_mut(*position)?;
                match moved {
                    TransferOutcome::Done { .. } => refund.status = AdjustmentStatus::Completed,
                    TransferOutcome::Refused { reason } => {
                        refund.status = AdjustmentStatus::Failed;
                        return Some(reason);
                    }
                    TransferOutcome::ByHand | TransferOutcome::Unknown => refund.by_hand = true,
                }
                None
            }
        }
    }

    /// Returns `true` if the money of the order waits to be captured, and all its goods were canceled.
    pub fn is_to_be_released(&self) -> bool {
        self.is_canceled() && self.payment.hold == Some(Hold::Authorized)
    }
}

/// Returns the handler that took the payment of an order, or has authorized it.
pub fn handler_of<'h>(handlers: &'h [Arc<dyn Handler>], order: &Order) -> Option<&'h Arc<dyn Handler>> {
    let handler = handlers.iter().find(|handler| handler.declaration().id == order.payment.handler_id);
    handler.filter(|_| order.remote.is_none())
}

/// Has the money of an order moved that is to move, and stores what came of it. Returns the order as stored.
pub async fn settle(
    ledger: &dyn Ledger,
    handlers: &[Arc<dyn Handler>],
    order: Stored<Order>,
) -> Result<(Stored<Order>, Settled), Refusal> {
    let Stored { mut document, mut version } = order;
    let mut refused = None;
    while let Some(movement) = document.movement() {
        let Some(handler) = handler_of(handlers, &document) else {
            let problem = format!("the payment handler `{}` is not configured here", document.payment.handler_id);
            return Ok((Stored { document, version }, Settled::Unknown(problem)));
        };
        let moved = match &movement {
            Movement::Capture(capture) => handler.capture(capture).await,
            Movement::Refund(refund, _) => handler.refund(refund).await,
        };
        if moved == TransferOutcome::Unknown {
            let problem = "the processor did not say what came of it".to_owned();
            return Ok((Stored { document, version }, Settled::Unknown(problem)));
        }
        refused = document.moved(&movement, moved).or(refused);
        let done = document.movement().is_none().then(|| match document.followed_until(&**handler) {
            Some(until) => Plan::Due(document.task_at(until)),
            None => Plan::Done(Kind::MoveMoney, document.id.clone()),
        });
        let change = Change {
            order: Some(Stored { document: document.clone(), version }),
            quiet: matches!(movement, Movement::Capture(_)),
            plans: done.into_iter().collect(),
            ..Change::default()
        };
        if ledger.commit(change, None).await? != Committed::Done {
            return Ok((Stored { document, version }, Settled::Stale));
        }
        version += 1;
    }
    Ok((Stored { document, version }, Settled::Ended(refused)))
}

impl SalesService {
    /// Has the money of an order moved that is to move.
    pub(crate) async fn move_money(&self, task: &Claimed) -> Result<Next, Refusal> {
        let Some(order) = self.ledger.order(&task.body, &task.key).await? else { return Ok(Next::Done) };
        let (order, settled) = settle(&*self.ledger, &self.handlers, order).await?;
        Ok(match settled {
            Settled::Ended(_) => self.follow_refunds(order).await?,
            Settled::Stale => Next::At { at: self.now(), problem: None },
            Settled::Unknown(problem) => Next::Later { by: None, problem: Some(problem) },
        })
    }

    /// Asks what has become of the refunds of an order that were given: a bank can send one back days later.
    async fn follow_refunds(&self, Stored { mut document, version }: Stored<Order>) -> Result<Next, Refusal> {
        let Some(handler) = handler_of(&self.handlers, &document) else { return Ok(Next::Done) };
        let Some(until) = document.followed_until(&**handler) else { return Ok(Next::Done) };
        let given: Vec<_> = document.refunds(AdjustmentStatus::Completed).collect();
        let mut problem = None;
        for (refund, position) in given {
            if let TransferOutcome::Refused { reason } = handler.refunded(&refund).await
                && let Some(adjustment) = document.adjustments.get_mut(position)
            {
                (adjustment.status, problem) = (AdjustmentStatus::Failed, Some(reason));
            }
        }
        let change = Change { order: Some(Stored { document, version }), ..Change::default() };
        if problem.is_some() && self.ledger.commit(change, None).await? != Committed::Done {
            return Ok(Next::At { at: self.now(), problem: None });
        }
        Ok(if until <= self.now() { Next::Done } else { Next::At { at: until, problem } })
    }
}
