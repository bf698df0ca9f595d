//! Decisions about the payment of a checkout: how it begins, and what its end means (rule CHK-08).
//!
//! Completing a checkout is a saga of three steps that may be interrupted anywhere. The [settlement](super::settlement)
//! carries out what is decided here:
//!
//! 1. The payment to make is stored as an [`Attempt`], together with the removal of the goods from the stock and the task
//!    that settles it.
//! 2. The handler is called to pay, once; or the shop behind another API to place the order and take the payment.
//! 3. The result is stored: an order, or a checkout that is open again with its goods back in the stock.
//!
//! A call that finds a checkout between 1 and 3, after a crash or because the processor did not answer, never pays
//! again: the handler or the shop is *asked* for the result of the attempt. Until the result is known the checkout is
//! `complete_in_progress`.

use std::sync::Arc;

use jiff::Timestamp;

use super::{SalesService, checkouts::unreachable_transition, not_found};
use crate::{
    Answer, Code, Outcome, Refusal,
    checkout::{Checkout, Complete, Status, due_payment::DuePayment},
    message::{Message, Severity},
    money::{Amount, Currency},
    operation::{AP2_MANDATE, PAYMENT_AUTHENTICATION},
    order::{Confirmation, Expectation, Hold, LineQuantity, Order, Payment, RemoteOrder},
    ports::{
        Completion, Decision, Then,
        agenda::{Kind, Plan},
        caller::Caller,
        ledger::{Change, Movement, Stored},
        payment_handler::Handler,
        remote_cart::{OrderOutcome, OrderRefusal, RefusalKind, RemoteCart, ShopOrder},
    },
    purchase::{
        buyer::PostalAddress,
        fulfillment::{destination_path, fulfillable_on},
        mandate::{Evidence, Mandate, Presented, refused},
        payment::{Attempt, AuthenticationStep, Challenge, Settlement, Tender},
        totals::{Total, TotalKind, amount_of},
    },
};

/// JSONPath prefix in messages of handlers.
const FIRST_INSTRUMENT: &str = "$.payment.instruments[0]";

impl SalesService {
    /// Begins the payment that turns a checkout into an order.
    pub async fn complete_checkout(&self, caller: &Caller, request: Complete) -> Result<Decision, Refusal> {
        let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("checkout", &request.id)));
        };
        self.completed(caller, &request, stored, false).await
    }

    /// Begins the payment of a checkout as it was read. With `in_person` the buyer approves what is about to be paid.
    pub(super) async fn completed(
        &self,
        caller: &Caller,
        request: &Complete,
        stored: Stored<Checkout>,
        in_person: bool,
    ) -> Result<Decision, Refusal> {
        let begun = request.call.is_some() && stored.document.completing == request.call;
        if stored.document.state.attempt().is_some() {
            let checkout = stored.document.clone();
            let decision = if begun {
                self.standing(checkout)
            } else if checkout.state.challenge().is_some() {
                self.outstanding(caller, checkout)
            } else {
                self.closed(checkout, "be completed again")
            };
            return Ok(decision.then(Then::Ask(Box::new(stored))));
        }
        let (checkout, version) = (self.as_of_now(stored.document), stored.version);
        // Another call finished what this call had begun. A call pays only once, whatever the result was.
        if begun && checkout.status() != Status::Canceled {
            return Ok(self.standing(checkout));
        }
        if !checkout.status().is_open() {
            return Ok(self.closed(checkout, "be completed"));
        }
        self.begin(caller, checkout, version, request, in_person).await
    }

    /// Returns the shop behind another API, if orders are placed there.
    pub(super) fn placing_shop(&self) -> Option<&Arc<dyn RemoteCart>> {
        self.remote_carts.as_ref().filter(|shop| shop.capabilities().completion == Completion::Native)
    }

    pub(super) fn handler(&self, id: &str) -> Option<&Arc<dyn Handler>> {
        self.handlers.iter().find(|handler| handler.declaration().id == id)
    }

    /// Returns a checkout that waits for its buyer as it is once its payment is called off; `None` for any other.
    pub(super) fn if_called_off(&self, stored: &Stored<Checkout>) -> Option<Stored<Checkout>> {
        stored.document.state.challenge()?;
        self.settled(&stored.document, stored.version, Ending::called_off())?.change.checkout
    }

    /// Prices and checks the checkout once more, and decides about the payment attempt. With `in_person` the buyer approves
    /// what is about to be paid.
    async fn begin(
        &self,
        caller: &Caller,
        mut checkout: Checkout,
        version: u64,
        request: &Complete,
        in_person: bool,
    ) -> Result<Decision, Refusal> {
        let shown = bill(&checkout);
        if in_person {
            checkout.approve(self.now());
        }
        let draft = checkout.draft.clone();
        self.restate(caller, &mut checkout, draft).await?;
        if !checkout.status().is_open() {
            return Ok(self.found_over(checkout, version, "be completed"));
        }
        if checkout.messages.iter().any(|message| matches!(message, Message::Error { .. })) {
            return Ok(self.changed_checkout(checkout, version));
        }
        // A total that the buyer has not seen must not be charged.
        if shown != bill(&checkout) {
            let warning = "What this purchase costs has changed. Show the new total to the buyer before completing it.";
            checkout.messages.push(Message::warning("total_changed", warning).at("$.totals"));
            return Ok(self.changed_checkout(checkout, version));
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
            return Err(Refusal::new(Code::InternalError, "The checkout total is invalid."));
        };
        let Chosen { at_shop, tender, memo } = if amount == Amount::ZERO {
            Chosen { at_shop: self.placing_shop().is_some(), ..Chosen::default() }
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
            at_shop,
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
            answered_later: true,
            ..Change::default()
        };
        let begun = Message::info("complete_in_progress", "The payment has begun.");
        let outcome = Outcome::nothing_under(&checkout.id, begun);
        let due = Then::Pay(Box::new(DuePayment { checkout, version: version + 1, tender }));
        Ok(Decision { outcome, change: change.into(), then: Some(due) })
    }

    /// Returns the decision for a checkout that is not paid, for the reason in `message`.
    fn not_begun(&self, mut checkout: Checkout, version: u64, message: Message) -> Result<Decision, Refusal> {
        checkout.messages.push(message);
        let state = checkout.state.judge(&checkout.messages);
        checkout.state = state.map_err(|illegal| unreachable_transition(&illegal))?;
        Ok(self.changed_checkout(checkout, version))
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
        if let (Some(declared), Some(_)) = (declared, self.placing_shop()) {
            if !declared.instruments.contains(&tender.instrument.kind) {
                let content = format!("This handler takes instruments of type {}.", declared.instruments.join(", "));
                return Err(failed(&content).at(at(".type")));
            }
            let tender = Some((*tender).clone());
            return Ok(Chosen { at_shop: true, tender, memo: serde_json::Value::Null });
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
        Ok(Chosen { at_shop: false, tender: Some((*tender).clone()), memo })
    }

    /// Returns the decision for the end of an attempt; `None` as long as it is open.
    pub(super) fn settled(&self, checkout: &Checkout, version: u64, ending: Ending) -> Option<Decision> {
        let reopened = |messages: Vec<Message>, page: Option<String>| {
            let mut checkout = checkout.clone();
            if let (Some(page), Some(cart)) = (page, &mut checkout.remote_cart) {
                cart.continue_url = Some(page);
            }
            let (stock, id) = (movements(&checkout, 1), checkout.id.clone());
            checkout.state = checkout.state.reopen(&messages).ok()?;
            checkout.messages = messages;
            let mut decision = self.changed_checkout(checkout, version);
            decision.change.stock = stock;
            decision.change.plans = vec![Plan::Done(Kind::Settle, id)];
            Some(decision)
        };
        let chosen = checkout.draft.chosen_instrument();
        let failed = |code: &str, reason: String, severity, page| {
            let path = format!("$.payment.instruments[{chosen}]");
            reopened(vec![Message::error(code, reason, severity).at(path)], page)
        };
        match ending {
            Ending::Captured { reference } => self.concluded(checkout.clone(), version, reference, None, None),
            Ending::Authorized { reference } => {
                self.concluded(checkout.clone(), version, reference, Some(Hold::Authorized), None)
            }
            Ending::Placed(order) => {
                let hold = order.is_authorized.then_some(Hold::Authorized);
                self.concluded(checkout.clone(), version, order.id.clone(), hold, Some(order))
            }
            Ending::Declined { reason } => failed("payment_failed", reason, Severity::Recoverable, None),
            Ending::Unsent { content } => reopened(vec![Message::warning("completion_not_sent", content)], None),
            Ending::Refused(refusal) => reopened(refused_order(checkout, refusal), None),
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
            expectations: expectations(&checkout, self.now()),
            payment: Payment {
                handler_id: attempt.handler_id,
                attempt_id: attempt.id,
                reference,
                mandate: checkout.evidence.clone(),
                hold,
            },
            remote: placed.map(|order| RemoteOrder::new(order.id, permalink_url, self.now())),
            ..checkout.ordered(confirmation, self.now())
        };
        let mut decision = self.changed_checkout(checkout, version);
        decision.change.plans = vec![Plan::Done(Kind::Settle, order.checkout_id.clone())];
        decision.change.plans.extend(self.to_follow(&order));
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

    /// Returns the answer to a call that has paid, or tried to: the checkout as it stands.
    pub(super) fn standing(&self, checkout: Checkout) -> Decision {
        Decision::unchanged(Outcome::Answer(Answer::Checkout(self.view_checkout(checkout, false))))
    }
}

/// Chosen payment of a purchase.
#[derive(Default)]
struct Chosen {
    /// `true` if the shop behind another API takes the payment, and places the order as well.
    at_shop: bool,
    tender: Option<Tender>,
    memo: serde_json::Value,
}

/// End of an attempt.
pub(super) enum Ending {
    /// The payment was captured; `reference` is its reference at the processor.
    Captured { reference: String },
    /// The payment was authorized, and the merchant captures it; `reference` is its reference at the processor.
    Authorized { reference: String },
    /// The shop placed the order and took the payment.
    Placed(ShopOrder),
    /// No money moved, and none will.
    Declined { reason: String },
    /// Nothing was sent, or it did not arrive and will not. No money moved: the same can be tried again.
    Unsent { content: &'static str },
    /// The shop did not take the order for a reason beside the payment. No money moved, and none will.
    Refused(OrderRefusal),
    /// The buyer has to authenticate first. No money moved, and none will for this attempt.
    Challenged { reason: String, continue_url: Option<String> },
    /// None yet: the attempt goes on once the buyer has authenticated.
    AwaitingBuyer { step: AuthenticationStep, url: String, until: Timestamp },
    /// It is not known yet.
    Open,
}

impl Ending {
    /// End of a payment that waited for its buyer.
    pub(super) fn called_off() -> Self {
        Self::Declined { reason: "The payment was called off. Nothing was charged.".into() }
    }

    pub(super) fn nothing_to_pay() -> Self {
        Self::Captured { reference: String::new() }
    }
}

impl From<Settlement> for Ending {
    fn from(settlement: Settlement) -> Self {
        match settlement {
            Settlement::Captured { reference } => Self::Captured { reference },
            Settlement::Authorized { reference } => Self::Authorized { reference },
            Settlement::Declined { reason } => Self::Declined { reason },
            Settlement::Unsent => Self::Unsent {
                content: "The payment provider could not be reached. No payment was sent, and nothing was charged. \
                          Complete the checkout again.",
            },
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
            OrderOutcome::Unsent => Self::Unsent {
                content: "The shop does not answer at the moment. No order was sent, and nothing was charged. Complete \
                          the checkout again.",
            },
            OrderOutcome::Refused(refusal) => Self::Refused(refusal),
            OrderOutcome::Challenged { reason, continue_url } => Self::Challenged { reason, continue_url },
            OrderOutcome::Unknown | OrderOutcome::Absent => Self::Open,
        }
    }
}

/// Returns the messages about an order that the shop did not take, each at what it is about.
fn refused_order(checkout: &Checkout, refusal: OrderRefusal) -> Vec<Message> {
    let OrderRefusal { kind, variants, field, reason } = refusal;
    let field = field.map(|field| format!(".{field}")).unwrap_or_default();
    let said = |own: &str| reason.clone().unwrap_or_else(|| own.to_owned());
    let error = |code: &str, own: &str, path: String| Message::error(code, said(own), Severity::Recoverable).at(path);
    match kind {
        RefusalKind::SoldOut => {
            let lines = checkout.line_items.iter().enumerate();
            let lines = lines.filter(|(_, line)| variants.contains(&line.item.id));
            let sold_out = |own: &str, path| error("out_of_stock", own, path);
            let mut messages: Vec<_> = lines
                .map(|(position, line)| {
                    sold_out(&format!("{} is out of stock.", line.item.title), format!("$.line_items[{position}]"))
                })
                .collect();
            if messages.is_empty() {
                messages.push(sold_out("Some of the items are out of stock.", "$.line_items".to_owned()));
            }
            messages
        }
        RefusalKind::Undeliverable => {
            let path = format!("{}{field}", destination_path(checkout.fulfillment.as_ref()));
            vec![error("address_undeliverable", "The shop does not deliver to this address.", path)]
        }
        RefusalKind::Buyer => {
            vec![error("field_invalid", "The shop does not take the order of this buyer.", format!("$.buyer{field}"))]
        }
        RefusalKind::PriceChanged => {
            let own = "The price has changed. Show the new total to the buyer before completing the checkout.";
            vec![Message::warning("total_changed", said(own)).at("$.totals")]
        }
        RefusalKind::Other => {
            vec![Message::error("shop_error", said("The shop does not take the order."), Severity::Recoverable)]
        }
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
