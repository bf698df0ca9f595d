//! Completing a checkout: a saga of three steps that may be interrupted anywhere (rule CHK-08).
//!
//! 1. The payment to make is stored as an [`Attempt`], together with the removal of the goods from the stock.
//! 2. The handler is called to pay, once; or the shop behind another API to place the order and take the payment.
//! 3. The result is stored: an order, or a checkout that is open again with its goods back in the stock.
//!
//! A call that finds a checkout between 1 and 3, after a crash or because the processor did not answer, never pays
//! again: it *asks* the handler or the shop for the result of the attempt. Until the result is known the checkout is
//! `complete_in_progress`.

use std::{collections::HashSet, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{Checkout, Complete, Status, operations::unreachable_transition};
use crate::{
    Answer, Code, Outcome, Refusal,
    message::{Message, Severity},
    money::{Amount, Currency},
    operation::{AP2_MANDATE, PAYMENT_AUTHENTICATION},
    order::{Confirmation, Expectation, Hold, LineQuantity, Order, OrderLine, Payment, RemoteOrder},
    port::{Completion, Decision},
    purchase::{
        buyer::PostalAddress,
        caller::Caller,
        fulfillment::fulfillable_on,
        ledger::{Change, Committed, Movement, Stored},
        mandate::{Evidence, Mandate, Presented, refused},
        payment::{Attempt, AuthenticationStep, Challenge, Handler, Settlement, Tender},
        remote_cart::{OrderOutcome, PlaceRequest, RemoteCart, ShopOrder},
        sales_service::{SalesService, not_found},
        totals::{Total, TotalKind, amount_of},
    },
};

/// Maximum number of tries to begin a payment while other calls change the checkout or buy the same goods.
const TRIES: usize = 16;

/// Maximum number of open payments among which that of a processor's message is looked for.
const UNSETTLED: usize = 1_000;

/// JSONPath prefix in messages of handlers.
const FIRST_INSTRUMENT: &str = "$.payment.instruments[0]";

impl SalesService {
    /// Pays for a checkout and turns it into an order.
    ///
    /// # Errors
    /// Errors of the ports before the payment, and [`Unavailable`](Code::Unavailable) if concurrent changes persist.
    /// Once the payment was made the answer is the checkout as it stands.
    pub async fn complete_checkout(&self, caller: &Caller, request: Complete) -> Result<Decision, Refusal> {
        self.complete_seen(caller, request, None).await?.ok_or_else(Refusal::internal)
    }

    /// Completes a checkout for a buyer who agreed to one version of it; returns `None` if the checkout has another
    /// version by now.
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
                    None if checkout.state.challenge().is_some() => self.outstanding(caller, checkout),
                    None => self.closed(checkout, "be completed again"),
                }));
            }
            // Another call finished what this call had begun. A call pays only once, whatever the result was.
            if begun && checkout.status() != Status::Canceled {
                return Ok(Some(self.standing(checkout)));
            }
            if !checkout.status().is_open() {
                return Ok(Some(self.closed(checkout, "be completed")));
            }
            match self.begin(caller, checkout, version, &request, seen.is_some()).await? {
                Begun::Decided(decision) => return Ok(Some(*decision)),
                Begun::Stale => {}
                Begun::Paying { checkout, version, payer, tender } => {
                    let Some(attempt) = checkout.state.attempt() else { return Err(Refusal::internal()) };
                    let ending = match (&payer, tender.as_deref()) {
                        (Payer::Handler(handler), Some(tender)) => handler.pay(attempt, tender).await.into(),
                        (Payer::Shop(shop), tender) => {
                            let buyer_signals = caller.buyer_signals;
                            shop.place(PlaceRequest { attempt, checkout: &checkout, tender, buyer_signals })
                                .await
                                .into()
                        }
                        (Payer::Nobody, _) | (Payer::Handler(_), None) => Ending::nothing_to_pay(),
                    };
                    return Ok(Some(match self.settled(&checkout, version, ending) {
                        Some(decision) => decision,
                        None => self.standing(*checkout),
                    }));
                }
            }
        }
        Err(Refusal::unavailable("Too many changes are made to this checkout at the same time.", 1))
    }

    /// Asks for the results of payments that no call is waiting for any more, and stores them: all that are known now,
    /// or about `limit` of them. Returns the number of settled checkouts.
    ///
    /// Errors of the ports.
    pub async fn reconcile(&self, limit: usize) -> Result<usize, Refusal> {
        let (mut settled, mut unknown) = (0, HashSet::new());
        loop {
            // Attempts without a known result must not keep others from being settled.
            let wanted = limit + unknown.len();
            let found = self.ledger.unsettled(self.now(), wanted).await?;
            let all = found.len() < wanted;
            for Stored { document, version } in found {
                if unknown.contains(&document.id) {
                    continue;
                }
                let id = document.id.clone();
                // Whoever looks at the checkout asks meanwhile, and so does the processor's message.
                if document.state.challenge().is_some_and(|challenge| challenge.until > self.now()) {
                    unknown.insert(id);
                    continue;
                }
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

    /// Settles a checkout whose payment was begun by a call that may be gone; returns `None` as long as the result is
    /// unknown.
    async fn reconciled(&self, checkout: Checkout, version: u64) -> Option<Decision> {
        let attempt = checkout.state.attempt()?.clone();
        // A handler or a shop that is no longer configured cannot be asked: the checkout waits until it is configured
        // again.
        if attempt.at_shop {
            let shop = self.placing_shop()?;
            let cart = checkout.remote_cart.as_ref();
            let ending = match shop.placed(&attempt, cart).await {
                OrderOutcome::Absent
                    if self.is_lost(&attempt, shop.place_deadline()) && shop.cancel(&attempt, cart).await =>
                {
                    Ending::Declined { reason: "The order did not reach the shop.".into() }
                }
                other => other.into(),
            };
            return self.settled(&checkout, version, ending);
        }
        if attempt.amount == Amount::ZERO {
            return self.settled(&checkout, version, Ending::nothing_to_pay());
        }
        let handler = self.handler(&attempt.handler_id)?;
        let ending = match handler.inquire(&attempt).await {
            Settlement::Absent if self.is_lost(&attempt, handler.deadline()) && handler.forget(&attempt).await => {
                Ending::Declined { reason: "The payment did not reach the processor.".into() }
            }
            Settlement::AwaitingBuyer { until, .. } if until <= self.now() && handler.forget(&attempt).await => {
                Ending::Declined { reason: "The payment was not confirmed in time. Nothing was charged.".into() }
            }
            other => other.into(),
        };
        self.settled(&checkout, version, ending)
    }

    /// Returns a checkout as it stands once its processor was asked, if it waits for its buyer.
    ///
    /// # Errors
    /// Errors of the ledger.
    pub(super) async fn looked_after(&self, stored: Stored<Checkout>) -> Result<Stored<Checkout>, Refusal> {
        if stored.document.state.challenge().is_none() {
            return Ok(stored);
        }
        let decision = self.reconciled(stored.document.clone(), stored.version).await;
        self.committed(stored, decision).await
    }

    /// Returns a checkout that waits for its buyer as it is once its payment is called off; `None` for any other.
    pub(super) fn if_called_off(&self, stored: &Stored<Checkout>) -> Option<Stored<Checkout>> {
        stored.document.state.challenge()?;
        self.settled(&stored.document, stored.version, Ending::called_off())?.change.checkout
    }

    /// Calls off a payment that waits for its buyer, so that the checkout can be changed or canceled, and returns the
    /// checkout as it stands after that: a payment may have been captured meanwhile.
    ///
    /// # Errors
    /// Errors of the ledger.
    pub(super) async fn released(&self, stored: Stored<Checkout>) -> Result<Stored<Checkout>, Refusal> {
        let attempt = stored.document.state.attempt().filter(|attempt| attempt.challenge.is_some());
        let Some((attempt, handler)) =
            attempt.and_then(|attempt| Some((attempt.clone(), self.handler(&attempt.handler_id)?)))
        else {
            return Ok(stored);
        };
        let ending = match handler.inquire(&attempt).await {
            Settlement::AwaitingBuyer { .. } if handler.forget(&attempt).await => Ending::called_off(),
            other => other.into(),
        };
        let decision = self.settled(&stored.document, stored.version, ending);
        self.committed(stored, decision).await
    }

    /// Commits a decision about a checkout, and returns the checkout as it stands then.
    async fn committed(
        &self,
        stored: Stored<Checkout>,
        decision: Option<Decision>,
    ) -> Result<Stored<Checkout>, Refusal> {
        let Some(decision) = decision else { return Ok(stored) };
        // Whether this or a concurrent change was committed, the ledger has what came of it.
        self.ledger.commit(decision.change, None).await?;
        let now = self.ledger.checkout(&stored.document.owner, &stored.document.id).await?;
        Ok(now.unwrap_or(stored))
    }

    /// Settles the checkout with this payment attempt, if it is still open. Returns `true` if it was settled.
    ///
    /// # Errors
    /// Errors of the ledger.
    pub async fn settle(&self, attempt_id: &str) -> Result<bool, Refusal> {
        // The message may be faster than the clock is fine.
        let before = self.now().saturating_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
        let found = self.ledger.unsettled(before, UNSETTLED).await?;
        let is_it =
            |stored: &Stored<Checkout>| stored.document.state.attempt().is_some_and(|attempt| attempt.id == attempt_id);
        let Some(Stored { document, version }) = found.into_iter().find(is_it) else { return Ok(false) };
        Ok(match self.reconciled(document, version).await {
            Some(decision) => self.ledger.commit(decision.change, None).await? == Committed::Done,
            None => false,
        })
    }

    /// Returns the shop behind another API, if orders are placed there.
    fn placing_shop(&self) -> Option<&Arc<dyn RemoteCart>> {
        self.remote_carts.as_ref().filter(|shop| shop.capabilities().completion == Completion::Native)
    }

    /// Returns `true` if an attempt that the processor does not know cannot arrive there any more.
    fn is_lost(&self, attempt: &Attempt, deadline: Duration) -> bool {
        let deadline = SignedDuration::try_from(deadline).unwrap_or(SignedDuration::MAX);
        let over = attempt.begun_at.checked_add(deadline).unwrap_or(Timestamp::MAX);
        over <= self.now()
    }

    pub(super) fn handler(&self, id: &str) -> Option<&Arc<dyn Handler>> {
        self.handlers.iter().find(|handler| handler.declaration().id == id)
    }

    /// Prices and checks the checkout once more and stores the payment attempt. With `in_person` the buyer approves
    /// what is about to be paid.
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
        // A total that the buyer has not seen must not be charged.
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
            return Err(Refusal::new(Code::InternalError, "The total of this checkout is not an amount."));
        };
        let Chosen { payer, tender, memo } = if amount == Amount::ZERO {
            Chosen { payer: self.placing_shop().cloned().map_or(Payer::Nobody, Payer::Shop), ..Chosen::default() }
        } else {
            match self.chosen(&request.tenders) {
                Ok(chosen) => chosen,
                Err(message) => return self.not_begun(checkout, version, message),
            }
        };
        let page_url = self.continue_url(&checkout.token, checkout.remote_cart.as_ref());
        let attempt = Attempt {
            id: self.unguessable("pay_"),
            handler_id: tender.as_ref().map(|tender| tender.instrument.handler_id.clone()).unwrap_or_default(),
            checkout_id: checkout.id.clone(),
            amount,
            currency: checkout.currency,
            begun_at: self.now(),
            memo,
            at_shop: matches!(payer, Payer::Shop(_)),
            return_url: page_url.as_ref().map(|url| {
                // A page that the platform shows tells it when the buyer comes back.
                if caller.has(PAYMENT_AUTHENTICATION) { format!("{url}/returned") } else { url.clone() }
            }),
            page_url,
            challenge: None,
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
                payer,
                tender: tender.map(Box::new),
            },
            Committed::Stale | Committed::Kept(_) | Committed::Full(_) => Begun::Stale,
        })
    }

    /// Returns the decision for a checkout that is not paid, for the reason in `message`.
    fn not_begun(&self, mut checkout: Checkout, version: u64, message: Message) -> Result<Begun, Refusal> {
        checkout.messages.push(message);
        let state = checkout.state.judge(&checkout.messages);
        checkout.state = state.map_err(|illegal| unreachable_transition(&illegal))?;
        Ok(Begun::decided(self.changed_checkout(checkout, version)))
    }

    /// Verifies that the buyer agrees to the checkout as it stands (rules AP2-03 and AP2-04).
    async fn agreed(
        &self,
        caller: &Caller,
        checkout: &Checkout,
        mandate: Option<&Mandate>,
    ) -> Result<Evidence, Message> {
        let Some(mandate_verifier) = &caller.mandate_verifier else {
            let content = "This checkout is completed by its platform only, with a mandate of the buyer.";
            return Err(refused("mandate_required", content));
        };
        mandate_verifier.verify(mandate, self.view_checkout(checkout.clone(), false), self.now()).await
    }

    /// Returns the instrument to pay with, who takes the payment, and the data to store in [`Attempt::memo`].
    fn chosen(&self, tenders: &[Tender]) -> Result<Chosen, Message> {
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
                "A purchase is paid with one instrument here; submit exactly one."
            };
            return Err(failed(content).at("$.payment.instruments"));
        };
        let at = |member: &str| format!("$.payment.instruments[{position}]{member}");
        let declared = self.shop_handlers.iter().find(|declared| declared.id == tender.instrument.handler_id);
        if let (Some(declared), Some(shop)) = (declared, self.placing_shop()) {
            if !declared.instruments.contains(&tender.instrument.kind) {
                let content = format!("This handler takes instruments of type {}.", declared.instruments.join(", "));
                return Err(failed(&content).at(at(".type")));
            }
            return Ok(Chosen {
                payer: Payer::Shop(Arc::clone(shop)),
                tender: Some((*tender).clone()),
                memo: serde_json::Value::Null,
            });
        }
        let Some(handler) = self.handler(&tender.instrument.handler_id) else {
            let taken: Vec<_> = self.declarations().iter().map(|declaration| format!("`{}`", declaration.id)).collect();
            let content = if taken.is_empty() {
                "This checkout takes no payments; the buyer pays on the page under `continue_url`.".to_owned()
            } else {
                format!("This checkout takes payments of these handlers only: {}.", taken.join(", "))
            };
            return Err(failed(&content).at(at(".handler_id")));
        };
        // A handler sees a single instrument and does not know its position.
        let memo = handler.prepare(tender).map_err(|message| {
            let member = message.path().and_then(|path| path.strip_prefix(FIRST_INSTRUMENT)).unwrap_or_default();
            let place = at(member);
            message.at(place)
        })?;
        Ok(Chosen { payer: Payer::Handler(Arc::clone(handler)), tender: Some((*tender).clone()), memo })
    }

    /// Returns the decision for the end of an attempt; `None` as long as it is open.
    fn settled(&self, checkout: &Checkout, version: u64, ending: Ending) -> Option<Decision> {
        let reopened = |message: Message, page: Option<String>| {
            let mut checkout = checkout.clone();
            if let (Some(page), Some(cart)) = (page, &mut checkout.remote_cart) {
                cart.continue_url = Some(page);
            }
            let stock = movements(&checkout, 1);
            let messages = vec![message];
            checkout.state = checkout.state.reopen(&messages).ok()?;
            checkout.messages = messages;
            let mut decision = self.changed_checkout(checkout, version);
            decision.change.stock = stock;
            Some(decision)
        };
        let chosen = checkout.draft.chosen_instrument();
        let failed = |code: &str, reason: String, severity, page| {
            let path = format!("$.payment.instruments[{chosen}]");
            reopened(Message::error(code, reason, severity).at(path), page)
        };
        match ending {
            Ending::Captured { reference } => self.concluded(checkout.clone(), version, reference, None, None),
            Ending::Authorized { reference } => {
                self.concluded(checkout.clone(), version, reference, Some(Hold::Authorized), None)
            }
            Ending::Placed(order) => self.concluded(checkout.clone(), version, order.id.clone(), None, Some(order)),
            Ending::Declined { reason } => failed("payment_failed", reason, Severity::Recoverable, None),
            Ending::Challenged { reason, continue_url } => {
                failed("requires_3ds", reason, Severity::RequiresBuyerInput, continue_url)
            }
            Ending::AwaitingBuyer { step, url, until } => {
                let known = checkout.state.challenge();
                if known.is_some_and(|known| known.step == step && known.url == url) {
                    return None;
                }
                let challenge = Challenge { id: self.unguessable("act_"), step, url, until, answer: None };
                let mut checkout = checkout.clone();
                checkout.expires_at = checkout.expires_at.max(until);
                checkout.state = checkout.state.await_buyer(challenge).ok()?;
                Some(self.changed_checkout(checkout, version))
            }
            Ending::Open => None,
        }
    }

    /// Creates the order of a paid checkout, which a shop behind another API may have placed.
    fn concluded(
        &self,
        mut checkout: Checkout,
        version: u64,
        reference: String,
        hold: Option<Hold>,
        placed: Option<ShopOrder>,
    ) -> Option<Decision> {
        let attempt = checkout.state.attempt()?.clone();
        let id = self.unguessable("ord_");
        let label = placed.as_ref().and_then(|order| order.label.clone());
        let label = label.unwrap_or_else(|| format!("#{}", id[id.len() - 8..].to_uppercase()));
        let permalink_url = placed.as_ref().and_then(|order| order.permalink_url.clone());
        let confirmation =
            Confirmation { id, label, token: self.unguessable(""), permalink_url: permalink_url.clone() };
        checkout.remote_cart = checkout.remote_cart.filter(|_| placed.is_none());
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
            expectations: expectations(&checkout, self.now()),
            events: Vec::new(),
            adjustments: Vec::new(),
            attribution: checkout.draft.attribution.clone(),
            payment: Payment {
                handler_id: attempt.handler_id,
                attempt_id: attempt.id,
                reference,
                mandate: checkout.evidence.clone(),
                hold,
            },
            remote: placed.map(|order| RemoteOrder { reference: order.id, permalink_url, reported_at: self.now() }),
            placed_at: self.now(),
        };
        let mut decision = self.changed_checkout(checkout, version);
        decision.change.order = Some(Stored { document: order, version: 0 });
        Some(decision)
    }

    /// Returns the answer to another call that completes a checkout whose buyer has to be authenticated first: the
    /// checkout as it stands, with the reason why the call had no effect.
    fn outstanding(&self, caller: &Caller, checkout: Checkout) -> Decision {
        let mut view = self.view_checkout(checkout, false);
        if let Some(action) = view.action.as_ref().filter(|_| caller.has(PAYMENT_AUTHENTICATION)) {
            let content = "The payment goes on once the action was processed. Read the checkout to learn its result.";
            let path = format!("$.actions['{}'][0]", action.step.action_type());
            view.messages.push(Message::error("action_outstanding", content, Severity::Recoverable).at(path));
        }
        Decision::unchanged(Outcome::Answer(Answer::Checkout(view)))
    }

    /// Records the answer of a buyer on a page of the gateway that plays the bank, and settles the payment as far as that
    /// is possible. `challenge` is the identifier of the authentication. Returns `false` if it is not outstanding.
    ///
    /// # Errors
    /// Errors of the ledger.
    pub async fn answer_challenge(&self, token: &str, challenge: &str, confirmed: bool) -> Result<bool, Refusal> {
        for _ in 0..TRIES {
            let Some(stored) = self.ledger.checkout_by_token(token).await? else { return Ok(false) };
            let Stored { document: mut checkout, version } = stored;
            let Some(state) = checkout.state.answered(challenge, confirmed) else { return Ok(false) };
            checkout.state = state;
            let decision = match self.reconciled(checkout.clone(), version).await {
                Some(decision) => decision,
                None => self.changed_checkout(checkout, version),
            };
            if self.ledger.commit(decision.change, None).await? == Committed::Done {
                return Ok(true);
            }
        }
        Err(Refusal::unavailable("Too many changes are made to this checkout at the same time.", 1))
    }

    /// Returns the answer to a call that has paid, or tried to: the checkout as it stands.
    fn standing(&self, checkout: Checkout) -> Decision {
        Decision::unchanged(Outcome::Answer(Answer::Checkout(self.view_checkout(checkout, false))))
    }
}

/// Result of [`SalesService::begin`].
enum Begun {
    /// There is an answer, and nothing to pay.
    Decided(Box<Decision>),
    /// A concurrent change prevented the commit: start over.
    Stale,
    /// The attempt is stored; the payment follows.
    Paying { checkout: Box<Checkout>, version: u64, payer: Payer, tender: Option<Box<Tender>> },
}

/// Who takes a payment.
#[derive(Clone, Default)]
enum Payer {
    /// Nobody: there is nothing to pay.
    #[default]
    Nobody,
    /// A payment handler of the gateway.
    Handler(Arc<dyn Handler>),
    /// The shop behind another API, which places the order as well.
    Shop(Arc<dyn RemoteCart>),
}

/// How a purchase is paid.
#[derive(Default)]
struct Chosen {
    payer: Payer,
    tender: Option<Tender>,
    memo: serde_json::Value,
}

/// End of an attempt.
enum Ending {
    /// The payment was captured; `reference` is its reference at the processor.
    Captured { reference: String },
    /// The payment was authorized, and the merchant captures it; `reference` is its reference at the processor.
    Authorized { reference: String },
    /// The shop placed the order and took the payment.
    Placed(ShopOrder),
    /// No money moved, and none will.
    Declined { reason: String },
    /// The buyer has to authenticate first. No money moved, and none will for this attempt.
    Challenged { reason: String, continue_url: Option<String> },
    /// None yet: the attempt goes on once the buyer has authenticated.
    AwaitingBuyer { step: AuthenticationStep, url: String, until: Timestamp },
    /// It is not known yet.
    Open,
}

impl Ending {
    /// End of a payment that waited for its buyer.
    fn called_off() -> Self {
        Self::Declined { reason: "The payment was called off. Nothing was charged.".into() }
    }

    fn nothing_to_pay() -> Self {
        Self::Captured { reference: String::new() }
    }
}

impl From<Settlement> for Ending {
    fn from(settlement: Settlement) -> Self {
        match settlement {
            Settlement::Captured { reference } => Self::Captured { reference },
            Settlement::Authorized { reference } => Self::Authorized { reference },
            Settlement::Declined { reason } => Self::Declined { reason },
            Settlement::Challenged { reason } => Self::Challenged { reason, continue_url: None },
            Settlement::AwaitingBuyer { step, url, until } => Self::AwaitingBuyer { step, url, until },
            Settlement::Unknown | Settlement::Absent => Self::Open,
        }
    }
}

impl From<OrderOutcome> for Ending {
    fn from(outcome: OrderOutcome) -> Self {
        match outcome {
            OrderOutcome::Placed(order) => Self::Placed(order),
            OrderOutcome::Declined { reason } => Self::Declined { reason },
            OrderOutcome::Challenged { reason, continue_url } => Self::Challenged { reason, continue_url },
            OrderOutcome::Unknown | OrderOutcome::Absent => Self::Open,
        }
    }
}

impl Begun {
    fn decided(decision: Decision) -> Self {
        Self::Decided(Box::new(decision))
    }
}

/// Returns everything that a buyer agrees to by completing: items with quantity and price, totals and currency.
fn bill(checkout: &Checkout) -> (Vec<(String, u64, Amount)>, Vec<Total>, Currency) {
    let lines = checkout.line_items.iter().map(|line| (line.item.id.clone(), line.quantity, line.item.price));
    (lines.collect(), checkout.totals.clone(), checkout.currency)
}

/// Returns the stock movements of a checkout: out of the stock (`sign` -1) or back (1).
fn movements(checkout: &Checkout, sign: i64) -> Vec<Movement> {
    // A shop behind another API counts its goods itself.
    if checkout.state.attempt().is_some_and(|attempt| attempt.at_shop) {
        return Vec::new();
    }
    let quantity = |quantity: u64| sign * i64::try_from(quantity).unwrap_or(i64::MAX);
    checkout
        .line_items
        .iter()
        .map(|line| Movement { variant: line.item.id.clone(), quantity: quantity(line.quantity) })
        .collect()
}

/// Returns an expectation for each delivery group.
fn expectations(checkout: &Checkout, now: Timestamp) -> Vec<Expectation> {
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
            let lines = checkout.line_items.iter().filter(|line| group.line_item_ids.contains(&line.id));
            Expectation {
                id: format!("exp_{}", position + 1),
                line_items: group.line_item_ids.iter().filter_map(quantity).collect(),
                method: Some(method.kind),
                destination: destination.map_or_else(PostalAddress::default, |destination| destination.address.clone()),
                description: option.map(|option| option.title.clone()),
                fulfillable_on: Some(fulfillable_on(lines.map(|line| line.item.lead_time), now)),
            }
        })
        .collect()
}
