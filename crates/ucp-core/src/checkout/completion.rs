//! Completing a checkout: a saga of three steps that may be interrupted anywhere (rule CHK-08).
//!
//! 1. What is about to be paid is written down as an [`Attempt`], together with the goods that leave the stock.
//! 2. The handler is told to pay, once.
//! 3. What came of it is written down: an order, or a checkout that is open again and goods that are back.
//!
//! Whoever finds a checkout between 1 and 3, after a crash or because the processor did not answer, never pays again: the
//! handler is *asked* what became of the attempt. Until that is known the checkout is `complete_in_progress`.

use std::{collections::HashSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{Checkout, Complete, Status, operations::unreachable_transition};
use crate::{
    Answer, Code, Outcome, Refusal,
    message::{Message, Severity},
    money::{Amount, Currency},
    operation::AP2_MANDATE,
    order::{Confirmation, Expectation, LineQuantity, Order, OrderLine, Payment},
    port::Decision,
    purchase::{
        buyer::PostalAddress,
        caller::Caller,
        desk::{Desk, not_found},
        ledger::{Change, Committed, Movement, Stored},
        mandate::{Evidence, Mandate, Presented, refused},
        payment::{Attempt, Handler, Settlement, Tender},
        totals::{Total, TotalKind, amount_of},
    },
};

/// How often completing starts over when others change the checkout or buy the same goods meanwhile.
const TRIES: usize = 16;

/// How the paths of handlers' messages begin.
const FIRST_INSTRUMENT: &str = "$.payment.instruments[0]";

impl Desk {
    /// Pays for a checkout and makes an order of it.
    ///
    /// # Errors
    /// What the ports fail with before anything is paid. After that the answer is about the checkout as it stands.
    pub async fn complete_checkout(&self, caller: &Caller, request: Complete) -> Result<Decision, Refusal> {
        self.complete_seen(caller, request, None).await?.ok_or_else(Refusal::internal)
    }

    /// The same for somebody who has seen the checkout in one version and agrees to that one only; `None` when there is
    /// another by now.
    pub(super) async fn complete_seen(
        &self,
        caller: &Caller,
        request: Complete,
        seen: Option<u64>,
    ) -> Result<Option<Decision>, Refusal> {
        for _ in 0..TRIES {
            let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
                return Ok(Some(Decision::unchanged(not_found("checkout", &request.id))));
            };
            if seen.is_some_and(|seen| seen != stored.version) {
                return Ok(None);
            }
            let (checkout, version) = (self.as_of_now(stored.document), stored.version);
            let begun = request.call.is_some() && checkout.completing == request.call;
            if checkout.state.attempt().is_some() {
                return Ok(Some(match self.reconciled(checkout.clone(), version).await {
                    Some(decision) => decision,
                    None if begun => self.standing(checkout),
                    None => self.closed(checkout, "be completed again"),
                }));
            }
            // Somebody else has brought to its end what this call had begun. It pays once, whatever became of that.
            if begun && checkout.status() != Status::Canceled {
                return Ok(Some(self.standing(checkout)));
            }
            if !checkout.status().is_open() {
                return Ok(Some(self.closed(checkout, "be completed")));
            }
            match self.begin(caller, checkout, version, &request, seen.is_some()).await? {
                Begun::Decided(decision) => return Ok(Some(*decision)),
                Begun::Stale => {}
                Begun::Paying { checkout, version, payment } => {
                    let settlement = match &payment {
                        Some((handler, tender)) => {
                            let Some(attempt) = checkout.state.attempt() else { return Err(Refusal::internal()) };
                            handler.pay(attempt, tender).await
                        }
                        None => Settlement::Captured { reference: String::new() },
                    };
                    return Ok(Some(match self.settled(&checkout, version, settlement) {
                        Some(decision) => decision,
                        None => self.standing(*checkout),
                    }));
                }
            }
        }
        Err(Refusal::unavailable("Too many changes are made to this checkout at the same time.", 1))
    }

    /// Asks what became of payments that nobody is waiting for any more, and writes it down: of all that can be told now,
    /// or of about `limit` of them. Returns how many checkouts it settled.
    ///
    /// # Errors
    /// What the ports fail with.
    pub async fn reconcile(&self, limit: usize) -> Result<usize, Refusal> {
        let (mut settled, mut unknown) = (0, HashSet::new());
        loop {
            // Those of which nothing can be told yet must not be in the way of others.
            let wanted = limit + unknown.len();
            let found = self.ledger.unsettled(self.now(), wanted).await?;
            let all = found.len() < wanted;
            for Stored { document, version } in found {
                if unknown.contains(&document.id) {
                    continue;
                }
                let id = document.id.clone();
                if let Some(decision) = self.reconciled(document, version).await
                    && self.ledger.commit(decision.change, None).await? == Committed::Done
                {
                    settled += 1;
                } else {
                    unknown.insert(id);
                }
            }
            if all || settled >= limit {
                return Ok(settled);
            }
        }
    }

    /// What becomes of a checkout whose payment was begun by somebody who may be gone; `None` while nobody knows.
    async fn reconciled(&self, checkout: Checkout, version: u64) -> Option<Decision> {
        let attempt = checkout.state.attempt()?.clone();
        if attempt.amount == Amount::ZERO {
            return self.settled(&checkout, version, Settlement::Captured { reference: String::new() });
        }
        // A handler that is not configured any more cannot be asked: the checkout waits until it is again.
        let handler = self.handler(&attempt.handler_id)?;
        let settlement = match handler.inquire(&attempt).await {
            Settlement::Absent if self.is_lost(&attempt, &**handler) && handler.forget(&attempt).await => {
                Settlement::Declined { reason: "The payment did not reach the processor.".into() }
            }
            other => other,
        };
        self.settled(&checkout, version, settlement)
    }

    /// Whether an attempt that the processor does not know cannot be on its way any more.
    fn is_lost(&self, attempt: &Attempt, handler: &dyn Handler) -> bool {
        let deadline = SignedDuration::try_from(handler.deadline()).unwrap_or(SignedDuration::MAX);
        let over = attempt.begun_at.checked_add(deadline).unwrap_or(Timestamp::MAX);
        over <= self.now()
    }

    pub(super) fn handler(&self, id: &str) -> Option<&Arc<dyn Handler>> {
        self.handlers.iter().find(|handler| handler.declaration().id == id)
    }

    /// Checks everything once more, and writes down that this is about to be paid. A buyer who pays in person approves
    /// what is paid.
    async fn begin(
        &self,
        caller: &Caller,
        mut checkout: Checkout,
        version: u64,
        request: &Complete,
        in_person: bool,
    ) -> Result<Begun, Refusal> {
        let shown = bill(&checkout);
        if in_person {
            checkout.approve(self.now());
        }
        let draft = checkout.draft.clone();
        self.restate(caller, &mut checkout, draft).await?;
        if !checkout.status().is_open() {
            return Ok(Begun::decided(self.found_over(checkout, version, "be completed")));
        }
        if checkout.messages.iter().any(|message| matches!(message, Message::Error { .. })) {
            return Ok(Begun::decided(self.changed_checkout(checkout, version)));
        }
        // A total that the buyer has not seen is never charged.
        if shown != bill(&checkout) {
            let warning = "What this purchase costs has changed. Show the new total to the buyer before completing it.";
            checkout.messages.push(Message::warning("total_changed", warning).at("$.totals"));
            return Ok(Begun::decided(self.changed_checkout(checkout, version)));
        }
        checkout.mandated |= caller.has(AP2_MANDATE);
        let mut presented = None;
        if checkout.mandated {
            match self.agreed(caller, &checkout, request.mandate.as_ref()).await {
                Ok(evidence) => {
                    presented =
                        request.mandate.clone().map(|mandate| Presented { checkout_id: checkout.id.clone(), mandate });
                    checkout.evidence = Some(Evidence { kept: presented.is_some(), ..evidence });
                }
                Err(message) => return self.not_begun(checkout, version, message),
            }
        }
        let Some(amount) = Amount::new(amount_of(&checkout.totals, TotalKind::Total)) else {
            return Err(Refusal::new(Code::InternalError, "The total of this checkout is no amount."));
        };
        let payment = if amount == Amount::ZERO {
            None
        } else {
            match self.chosen(&request.tenders) {
                Ok((handler, tender, memo)) => Some((handler, tender, memo)),
                Err(message) => return self.not_begun(checkout, version, message),
            }
        };
        let attempt = Attempt {
            id: self.unguessable("pay_"),
            handler_id: payment.as_ref().map_or_else(String::new, |(handler, ..)| handler.declaration().id.clone()),
            checkout_id: checkout.id.clone(),
            amount,
            currency: checkout.currency,
            begun_at: self.now(),
            memo: payment.as_ref().map_or(serde_json::Value::Null, |(.., memo)| memo.clone()),
        };
        checkout.state = checkout.state.begin(attempt).map_err(|illegal| unreachable_transition(&illegal))?;
        checkout.completing = request.call.clone();
        checkout.draft.instruments = request.tenders.iter().map(|tender| tender.instrument.clone()).collect();
        let change = Change {
            checkout: Some(Stored { document: checkout.clone(), version }),
            stock: movements(&checkout, -1),
            mandate: presented,
            ..Change::default()
        };
        Ok(match self.ledger.commit(change, None).await? {
            Committed::Done => Begun::Paying {
                checkout: Box::new(checkout),
                version: version + 1,
                payment: payment.map(|(handler, tender, _)| (handler, Box::new(tender))),
            },
            Committed::Stale | Committed::Kept(_) => Begun::Stale,
        })
    }

    /// Nothing is paid, for this reason.
    fn not_begun(&self, mut checkout: Checkout, version: u64, message: Message) -> Result<Begun, Refusal> {
        checkout.messages.push(message);
        let state = checkout.state.judge(&checkout.messages);
        checkout.state = state.map_err(|illegal| unreachable_transition(&illegal))?;
        Ok(Begun::decided(self.changed_checkout(checkout, version)))
    }

    /// The proof that the buyer agrees to a checkout as it stands (rules AP2-03 and AP2-04).
    async fn agreed(
        &self,
        caller: &Caller,
        checkout: &Checkout,
        mandate: Option<&Mandate>,
    ) -> Result<Evidence, Message> {
        let Some(notary) = &caller.notary else {
            let content = "This checkout is completed by its platform only, with a mandate of the buyer.";
            return Err(refused("mandate_required", content));
        };
        notary.verify(mandate, self.view_checkout(checkout.clone(), false), self.now()).await
    }

    /// The instrument to pay with, its handler, and what that wants to remember.
    fn chosen(&self, tenders: &[Tender]) -> Result<(Arc<dyn Handler>, Tender, serde_json::Value), Message> {
        let mut selected: Vec<_> =
            tenders.iter().enumerate().filter(|(_, tender)| tender.instrument.selected == Some(true)).collect();
        if selected.is_empty() {
            selected = tenders.iter().enumerate().collect();
        }
        let failed = |content: &str| Message::error("payment_failed", content, Severity::Recoverable);
        let [(position, tender)] = selected.as_slice() else {
            let content = if selected.is_empty() {
                "There is no payment instrument to pay with."
            } else {
                "A purchase is paid with one instrument here; say which with `selected`."
            };
            return Err(failed(content).at("$.payment.instruments"));
        };
        let at = |member: &str| format!("$.payment.instruments[{position}]{member}");
        let Some(handler) = self.handler(&tender.instrument.handler_id) else {
            return Err(failed("This checkout does not take payments of this handler.").at(at(".handler_id")));
        };
        // A handler sees one instrument, and knows nothing of its place.
        let memo = handler.prepare(tender).map_err(|message| {
            let member = message.path().and_then(|path| path.strip_prefix(FIRST_INSTRUMENT)).unwrap_or_default();
            let place = at(member);
            message.at(place)
        })?;
        Ok((Arc::clone(handler), (*tender).clone(), memo))
    }

    /// What becomes of a checkout once it is known what became of its payment; `None` while it is not.
    fn settled(&self, checkout: &Checkout, version: u64, settlement: Settlement) -> Option<Decision> {
        let reopened = |message: Message| {
            let mut checkout = checkout.clone();
            let messages = vec![message];
            checkout.state = checkout.state.reopen(&messages).ok()?;
            checkout.messages = messages;
            let stock = movements(&checkout, 1);
            let mut decision = self.changed_checkout(checkout, version);
            decision.change.stock = stock;
            Some(decision)
        };
        let instruments = &checkout.draft.instruments;
        let chosen = instruments.iter().position(|instrument| instrument.selected == Some(true)).unwrap_or_default();
        let failed = |code: &str, reason: String, severity| {
            reopened(Message::error(code, reason, severity).at(format!("$.payment.instruments[{chosen}]")))
        };
        match settlement {
            Settlement::Captured { reference } => self.concluded(checkout.clone(), version, reference),
            Settlement::Declined { reason } => failed("payment_failed", reason, Severity::Recoverable),
            Settlement::Challenged { reason } => failed("requires_3ds", reason, Severity::RequiresBuyerInput),
            Settlement::Unknown | Settlement::Absent => None,
        }
    }

    /// The order of a checkout that is paid for.
    fn concluded(&self, mut checkout: Checkout, version: u64, reference: String) -> Option<Decision> {
        let attempt = checkout.state.attempt()?.clone();
        let id = self.unguessable("ord_");
        let label = format!("#{}", id[id.len() - 8..].to_uppercase());
        let confirmation = Confirmation { id, label, token: self.unguessable("") };
        checkout.state = checkout.state.conclude(confirmation.clone()).ok()?;
        checkout.messages.retain(|message| !matches!(message, Message::Error { .. }));
        let order = Order {
            id: confirmation.id,
            label: confirmation.label,
            token: confirmation.token,
            owner: checkout.owner.clone(),
            checkout_id: checkout.id.clone(),
            line_items: checkout.line_items.iter().cloned().map(OrderLine::bought).collect(),
            currency: checkout.currency,
            totals: checkout.totals.clone(),
            expectations: expectations(&checkout),
            events: Vec::new(),
            adjustments: Vec::new(),
            attribution: checkout.draft.attribution.clone(),
            payment: Payment {
                handler_id: attempt.handler_id,
                attempt_id: attempt.id,
                reference,
                mandate: checkout.evidence.clone(),
            },
            placed_at: self.now(),
        };
        let mut decision = self.changed_checkout(checkout, version);
        decision.change.order = Some(Stored { document: order, version: 0 });
        Some(decision)
    }

    /// The answer to a call that has paid, or tried to: how the checkout stands.
    fn standing(&self, checkout: Checkout) -> Decision {
        Decision::unchanged(Outcome::Answer(Answer::Checkout(self.view_checkout(checkout, false))))
    }
}

/// How far [`Desk::begin`] got.
enum Begun {
    /// There is an answer, and nothing to pay.
    Decided(Box<Decision>),
    /// Somebody else was faster: start over.
    Stale,
    /// It is written down; now it is to be paid.
    Paying { checkout: Box<Checkout>, version: u64, payment: Option<(Arc<dyn Handler>, Box<Tender>)> },
}

impl Begun {
    fn decided(decision: Decision) -> Self {
        Self::Decided(Box::new(decision))
    }
}

/// What a buyer agrees to by completing: so many of what, at which price, and what that comes to.
fn bill(checkout: &Checkout) -> (Vec<(String, u64, Amount)>, Vec<Total>, Currency) {
    let lines = checkout.line_items.iter().map(|line| (line.item.id.clone(), line.quantity, line.item.price));
    (lines.collect(), checkout.totals.clone(), checkout.currency)
}

/// The goods of a checkout that leave the stock (`sign` -1) or come back (1).
fn movements(checkout: &Checkout, sign: i64) -> Vec<Movement> {
    let quantity = |quantity: u64| sign * i64::try_from(quantity).unwrap_or(i64::MAX);
    checkout
        .line_items
        .iter()
        .map(|line| Movement { variant: line.item.id.clone(), quantity: quantity(line.quantity) })
        .collect()
}

/// What the buyer can expect of each group that travels.
fn expectations(checkout: &Checkout) -> Vec<Expectation> {
    let methods = checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
    let groups = methods.flat_map(|method| method.groups.iter().map(move |group| (method, group)));
    groups
        .enumerate()
        .map(|(position, (method, group))| {
            let selected = group.selected_option_id.as_ref();
            let option = group.options.iter().find(|option| Some(&option.id) == selected);
            let destination = method
                .destinations
                .iter()
                .find(|destination| Some(&destination.id) == method.selected_destination_id.as_ref());
            let quantity = |id: &String| {
                let line = checkout.line_items.iter().find(|line| line.id == *id)?;
                Some(LineQuantity { id: id.clone(), quantity: i64::try_from(line.quantity).ok()? })
            };
            Expectation {
                id: format!("exp_{}", position + 1),
                line_items: group.line_item_ids.iter().filter_map(quantity).collect(),
                method: Some(method.kind),
                destination: destination.map_or_else(PostalAddress::default, |destination| destination.address.clone()),
                description: option.map(|option| option.title.clone()),
                fulfillable_on: Some("now".into()),
            }
        })
        .collect()
}
