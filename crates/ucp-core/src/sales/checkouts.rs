//! Operations on checkouts: create, get, update and cancel. Completion is in the module `completion`.

use jiff::Timestamp;

use super::{SalesService, no_cart, not_found, nothing_to_buy, origin};
use crate::{
    Answer, Code, Outcome, Refusal,
    checkout::{Action, Checkout, Create, State, Status, Update, View, status::Illegal},
    message::{Message, Severity},
    operation::{AP2_MANDATE, ById, CART, FULFILLMENT},
    order::{Confirmation, Order, OrderLine, Payment},
    ports::{
        Decision, Then,
        agenda::Plan,
        caller::Caller,
        ledger::{Change, Stored},
        remote_cart::{PriceQuote, PriceRequest},
    },
    pricing::missing,
    purchase::{
        approval::Approved,
        draft::{Draft, LineDraft},
        quote::{Previous, Purpose},
        totals::{TotalKind, amount_of},
    },
};

impl SalesService {
    /// Creates a checkout, or returns the open one that was already created from the same cart (rule CRT-05).
    pub async fn create_checkout(&self, caller: &Caller, request: Create) -> Result<Decision, Refusal> {
        let Create { mut draft, cart_id } = request;
        let mut previous = Previous::default();
        let cart_id = cart_id.filter(|_| caller.has(CART));
        if let Some(id) = &cart_id {
            if let Some(stored) = self.ledger.checkout_of_cart(&caller.owner, id).await? {
                let checkout = self.as_of_now(stored.document);
                if !checkout.status().is_terminal() {
                    let view = self.view_checkout(checkout, false);
                    return Ok(Decision::unchanged(Outcome::Answer(Answer::Checkout(view))));
                }
            }
            let Some(stored) = self.cart(caller, id).await? else {
                return Ok(Decision::unchanged(not_found("cart", id)));
            };
            let cart = stored.document;
            if cart.line_items.is_empty() {
                return Ok(Decision::unchanged(nothing_to_buy(cart.messages)));
            }
            let lines = cart.line_items.iter().map(|line| LineDraft {
                id: Some(line.id.clone()),
                item: line.item.id.clone(),
                quantity: line.quantity,
                other_unit: None,
                parent_id: line.parent_id.clone(),
            });
            // The cart takes precedence over the request (rule CRT-04), and its codes go with it (rule CRT-07).
            draft.line_items = lines.collect();
            draft.context = cart.draft.context;
            draft.context_stated = cart.draft.context_stated;
            draft.buyer = cart.draft.buyer.or(draft.buyer);
            draft.codes = draft.codes.or(cart.draft.codes);
            draft.attribution = draft.attribution.or(cart.draft.attribution);
            previous.line_items = cart.line_items;
            previous.lines_ever = cart.lines_ever;
        }
        something(&draft, "at least one line item, or the `cart_id` of a cart that has one")?;
        let draft = Self::negotiated(draft, Purpose::Checkout, caller);
        // A shop behind another API creates a cart of its own for the checkout, so that later changes of this cart do
        // not affect the purchase, and the other way round.
        let token = self.unguessable("");
        let request = PriceRequest {
            purpose: Purpose::Checkout,
            draft: &draft,
            caller,
            previous: &previous,
            remote_cart: None,
            reference: Some(&token),
        };
        let priced = self.price(request).await?.ok_or_else(no_cart)?;
        if !priced.purchasable {
            return Ok(Decision::unchanged(nothing_to_buy(priced.quote.messages)));
        }
        let now = self.now();
        let mut checkout = Checkout {
            id: self.unguessable("chk_"),
            owner: caller.owner.clone(),
            token,
            cart_id,
            state: State::Incomplete,
            draft: Draft::default(),
            line_items: Vec::new(),
            lines_ever: 0,
            currency: priced.quote.currency,
            totals: Vec::new(),
            discounts: None,
            fulfillment: None,
            messages: Vec::new(),
            completing: None,
            mandated: caller.has(AP2_MANDATE),
            approval: None,
            evidence: None,
            remote_cart: None,
            created_at: now,
            expires_at: now,
        };
        self.reprice(&mut checkout, draft, priced).map_err(|illegal| unreachable_transition(&illegal))?;
        Ok(self.changed_checkout(checkout, 0))
    }

    /// Returns a checkout, with current prices if it is open and a shop behind another API prices it.
    pub async fn get_checkout(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("checkout", &request.id)));
        };
        let waits = stored.document.state.challenge().is_some() || self.to_find(&stored.document).is_some();
        let (checkout, lost) = self.looked_at_checkout(caller, self.as_of_now(stored.document.clone())).await?;
        let decision = self.standing(checkout);
        Ok(if waits || lost { decision.then(Then::Ask(Box::new(stored))) } else { decision })
    }

    /// Replaces the contents of a checkout (rule CHK-06), or nothing, if a destination was chosen that the shop does not
    /// know (rule FUL-08).
    pub async fn update_checkout(&self, caller: &Caller, request: Update) -> Result<Decision, Refusal> {
        let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("checkout", &request.id)));
        };
        if self.remote_carts.is_none()
            && stored.document.expires_at > self.now()
            && let Some(trial) = self.if_called_off(&stored)
        {
            let standing = Some(stored.document.clone());
            let tried = self.updated(caller, request.clone(), trial, standing).await?;
            // A call that changes nothing calls nothing off.
            if tried.change.is_empty() {
                return Ok(tried);
            }
        }
        let waits = (stored.document.state.challenge().is_some() && !request.draft.line_items.is_empty())
            .then(|| Then::CallOff(Box::new(stored.clone())));
        let decision = self.updated(caller, request, stored, None).await?;
        Ok(Decision { then: waits, ..decision })
    }

    /// Decides about the update of a checkout whose payment does not wait for its buyer. `standing` is shown instead if
    /// nothing changes.
    async fn updated(
        &self,
        caller: &Caller,
        request: Update,
        stored: Stored<Checkout>,
        standing: Option<Checkout>,
    ) -> Result<Decision, Refusal> {
        let (mut checkout, version) = (self.as_of_now(stored.document), stored.version);
        if !checkout.status().is_open() {
            return Ok(self.closed(checkout, "be changed"));
        }
        something(&request.draft, "at least one line item")?;
        // A shop behind another API has applied what it could by the time that it answers.
        let before = (request.draft.all_or_nothing && self.remote_carts.is_none())
            .then(|| standing.unwrap_or_else(|| checkout.clone()));
        checkout.mandated |= caller.has(AP2_MANDATE);
        let mut draft = Self::negotiated(request.draft, Purpose::Checkout, caller);
        if !caller.has(FULFILLMENT) {
            // A platform without the extension must not undo the buyer's choice on the page.
            draft.fulfillment.clone_from(&checkout.draft.fulfillment);
        }
        self.restate(caller, &mut checkout, draft).await?;
        if !checkout.status().is_open() {
            return Ok(self.found_over(checkout, version, "be changed"));
        }
        let unknown =
            |message: &Message| matches!(message, Message::Error { code, .. } if code == "destination_unknown");
        if let Some(before) = before.filter(|_| checkout.messages.iter().any(unknown)) {
            let mut view = self.view_checkout(before, false);
            view.messages.extend(checkout.messages.into_iter().filter(unknown));
            return Ok(Decision::unchanged(Outcome::Answer(Answer::Checkout(view))));
        }
        Ok(self.changed_checkout(checkout, version))
    }

    /// Cancels a checkout (rule CHK-05).
    pub async fn cancel_checkout(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("checkout", &request.id)));
        };
        self.canceled(stored)
    }

    /// Decides to cancel a checkout as it was read. One that waits for its buyer is canceled once its payment is called off,
    /// and the cart that a shop behind another API holds for it is abandoned.
    pub(super) fn canceled(&self, stored: Stored<Checkout>) -> Result<Decision, Refusal> {
        let waits = stored.document.state.challenge().is_some().then(|| Then::CallOff(Box::new(stored.clone())));
        let (mut checkout, version) = (self.as_of_now(stored.document), stored.version);
        let Ok(canceled) = checkout.state.cancel() else {
            return Ok(Decision { then: waits, ..self.closed(checkout, "be canceled") });
        };
        let abandoned = checkout.remote_cart.take();
        checkout.state = canceled;
        checkout.messages.clear();
        let mut decision = self.changed_checkout(checkout, version);
        decision.change.plans = abandoned.iter().map(|cart| Plan::Due(cart.abandonment(self.now()))).collect();
        Ok(decision)
    }

    /// Brings an open checkout up to date with the shop behind another API. Returns `true` with one
    /// whose cart the shop no longer has: it may have been bought there.
    async fn looked_at_checkout(&self, caller: &Caller, mut checkout: Checkout) -> Result<(Checkout, bool), Refusal> {
        let is_held = checkout.status().is_open() && checkout.remote_cart.is_some();
        let Some(shop) = self.remote_carts.as_ref().filter(|_| is_held) else {
            return Ok((checkout, false));
        };
        let (previous, draft) = (checkout.previous(), checkout.draft.clone());
        match shop.fetch(checkout.price_request(caller, &draft, &previous)).await? {
            Some(priced) => {
                let expires_at = checkout.expires_at;
                self.reprice(&mut checkout, draft, priced).map_err(|illegal| unreachable_transition(&illegal))?;
                checkout.expires_at = expires_at;
                Ok((checkout, false))
            }
            // Nobody can have paid it: the next change makes another one.
            None if !self.may_be_paid(&checkout).await => {
                checkout.messages.push(cart_lost("checkout"));
                Ok((checkout, false))
            }
            None => {
                self.lose_cart(&mut checkout).map_err(|illegal| unreachable_transition(&illegal))?;
                Ok((checkout, true))
            }
        }
    }

    /// Replaces the draft of an open checkout and prices it anew, with another cart at a shop behind another API that no
    /// longer has the one it made. A checkout whose cart the buyer may have paid there stays as it is: another cart in
    /// its place could be paid a second time.
    pub(crate) async fn restate(&self, caller: &Caller, checkout: &mut Checkout, draft: Draft) -> Result<(), Refusal> {
        let previous = checkout.previous();
        let request = checkout.price_request(caller, &draft, &previous);
        let restated = match self.price(request).await? {
            Some(priced) => self.reprice(checkout, draft, priced),
            None if self.may_be_paid(checkout).await => self.lose_cart(checkout),
            None => {
                let priced = self.price(PriceRequest { remote_cart: None, ..request }).await?.ok_or_else(no_cart)?;
                let repriced = self.reprice(checkout, draft, priced);
                let content = "The shop no longer had the cart of this checkout, and has made another one with the same \
                               contents.";
                checkout.messages.push(Message::info("cart_renewed", content));
                repriced
            }
        };
        restated.map_err(|illegal| unreachable_transition(&illegal))
    }

    /// Returns the decision for a checkout that was just found to be closed, including the commit of that state.
    pub(crate) fn found_over(&self, checkout: Checkout, version: u64, transition: &str) -> Decision {
        let closed = self.closed(checkout.clone(), transition);
        let change = Change { checkout: Some(Stored { document: checkout, version }), ..Change::default() };
        Decision { change: change.into(), ..closed }
    }

    /// Returns a checkout as of now: an open one whose time has expired is canceled.
    pub(crate) fn as_of_now(&self, mut checkout: Checkout) -> Checkout {
        if checkout.expires_at <= self.now()
            && let Ok(canceled) = checkout.state.cancel()
        {
            checkout.state = canceled;
            checkout.messages = vec![Message::info("expired", "The checkout was not completed in time.")];
        }
        checkout
    }

    /// Replaces draft and price of an open checkout, and derives its new state.
    pub(crate) fn reprice(&self, checkout: &mut Checkout, draft: Draft, priced: PriceQuote) -> Result<(), Illegal> {
        let PriceQuote { quote, remote_cart, .. } = priced;
        let mut messages = quote.messages;
        messages.extend(missing(&draft, &self.terms));
        // A shop behind another API reports itself the reasons for which the buyer has to continue there.
        if self.remote_carts.is_none() && self.handlers.is_empty() && amount_of(&quote.totals, TotalKind::Total) != 0 {
            messages.push(Message::error(
                "payment_unavailable",
                "This shop takes payments on its own page only.",
                Severity::RequiresBuyerInput,
            ));
        }
        // A review makes sense only once nothing else prevents the completion.
        let complete = !messages.iter().any(|message| matches!(message, Message::Error { .. }));
        let stated = Approved {
            line_items: &quote.line_items,
            totals: &quote.totals,
            currency: quote.currency,
            fulfillment: quote.fulfillment.as_ref(),
            buyer: draft.buyer.as_ref(),
        };
        if complete && !quote.reviews.is_empty() && !stated.is_approved(checkout.approval.as_ref()) {
            messages.extend(quote.reviews);
        }
        checkout.state = checkout.state.judge(&messages)?;
        checkout.draft = draft;
        checkout.line_items = quote.line_items;
        checkout.lines_ever = quote.lines_ever;
        checkout.currency = quote.currency;
        checkout.totals = quote.totals;
        checkout.discounts = quote.discounts;
        checkout.fulfillment = quote.fulfillment;
        checkout.messages = messages;
        checkout.remote_cart = remote_cart;
        checkout.expires_at = Self::expiry(self.now(), self.terms.lifetimes.checkout_seconds);
        Ok(())
    }

    /// Returns the decision for a checkout that is not open. While it is being paid, the answer shows it unchanged with
    /// an error message; a completed or canceled one is answered with an error only (trap T-21).
    pub(crate) fn closed(&self, checkout: Checkout, transition: &str) -> Decision {
        let status = checkout.status();
        let content = format!("A checkout that is `{}` cannot {transition}.", status.as_str());
        Decision::unchanged(if status == Status::CompleteInProgress {
            let mut view = self.view_checkout(checkout, false);
            view.messages.push(Message::error("complete_in_progress", content, Severity::Recoverable).at("$.status"));
            Outcome::Answer(Answer::Checkout(view))
        } else {
            let code = if status == Status::Completed { "checkout_completed" } else { "checkout_canceled" };
            Outcome::past(&checkout.id, Message::error(code, content, Severity::Unrecoverable))
        })
    }

    pub(crate) fn view_checkout(&self, checkout: Checkout, created: bool) -> View {
        let open_ended = !checkout.status().is_terminal();
        let action = checkout.action().filter(|_| self.is_page_declared(&checkout));
        let mut messages = checkout.messages.clone();
        let mut status = checkout.status();
        if checkout.state.challenge().is_some() {
            status = Status::RequiresEscalation;
            let content = "The bank asks the buyer to confirm the payment, on the page under `continue_url`.";
            let path = format!("$.payment.instruments[{}]", checkout.draft.chosen_instrument());
            messages.push(Message::error("requires_3ds", content, Severity::RequiresBuyerInput).at(path));
        }
        View {
            status,
            action,
            continue_url: self.continue_url(&checkout.token, checkout.remote_cart.as_ref()).filter(|_| open_ended),
            permalink_url: checkout.state.order().map(|order| order.permalink(|token| self.permalink(token))),
            handlers: self.declarations(),
            links: self.links(),
            created,
            messages,
            checkout: Box::new(checkout),
        }
    }

    /// Returns `true` if the page on which the buyer is authenticated has an origin that the handler declares: platforms
    /// load no others.
    fn is_page_declared(&self, checkout: &Checkout) -> bool {
        let attempt = checkout.state.attempt();
        let handler = attempt.and_then(|attempt| self.handler(&attempt.handler_id));
        let origins = handler.and_then(|handler| handler.authentication_origins());
        let page = checkout.state.challenge().and_then(|challenge| origin(&challenge.url));
        page.zip(origins).is_some_and(|(page, origins)| origins.contains(&page) || origin(&self.pages) == Some(page))
    }

    pub(crate) fn changed_checkout(&self, checkout: Checkout, version: u64) -> Decision {
        let plans = self.to_find(&checkout).into_iter().collect();
        let change =
            Change { checkout: Some(Stored { document: checkout.clone(), version }), plans, ..Change::default() };
        let outcome = Outcome::Answer(Answer::Checkout(self.view_checkout(checkout, version == 0)));
        Decision { outcome, change: change.into(), then: None }
    }
}

impl Checkout {
    /// Returns the authentication of the buyer that the payment waits for, as an action of the platform.
    pub(crate) fn action(&self) -> Option<Action> {
        let attempt = self.state.attempt()?;
        let challenge = attempt.challenge.as_ref()?;
        let instrument = self.draft.instruments.get(self.draft.chosen_instrument())?;
        Some(Action {
            id: challenge.id.clone(),
            step: challenge.step,
            payment_instrument_id: instrument.id.clone(),
            url: format!("{}/actions/{}", attempt.page_url.as_ref()?, challenge.id),
        })
    }

    /// Records that the buyer approves the checkout in person as it stands.
    pub(crate) fn approve(&mut self, now: Timestamp) {
        let stated = Approved {
            line_items: &self.line_items,
            totals: &self.totals,
            currency: self.currency,
            fulfillment: self.fulfillment.as_ref(),
            buyer: self.draft.buyer.as_ref(),
        };
        self.approval = Some(stated.approve(now));
    }

    /// Returns the question for the price of a draft of this checkout.
    fn price_request<'a>(&'a self, caller: &'a Caller, draft: &'a Draft, previous: &'a Previous) -> PriceRequest<'a> {
        let (remote_cart, reference) = (self.remote_cart.as_ref(), Some(self.token.as_str()));
        PriceRequest { purpose: Purpose::Checkout, draft, caller, previous, remote_cart, reference }
    }

    /// Returns the order of this checkout, not paid for yet.
    pub(super) fn ordered(&self, confirmation: Confirmation, placed_at: Timestamp) -> Order {
        Order {
            id: confirmation.id,
            label: confirmation.label,
            token: confirmation.token,
            owner: self.owner.clone(),
            checkout_id: self.id.clone(),
            line_items: self.line_items.iter().cloned().map(OrderLine::bought).collect(),
            currency: self.currency,
            totals: self.totals.clone(),
            expectations: Vec::new(),
            events: Vec::new(),
            adjustments: Vec::new(),
            attribution: self.draft.attribution.clone(),
            payment: Payment::default(),
            remote: None,
            placed_at,
        }
    }

    /// Returns the parts from which the next answer keeps its identifiers stable.
    pub(crate) fn previous(&self) -> Previous {
        Previous {
            line_items: self.line_items.clone(),
            fulfillment: self.fulfillment.clone(),
            lines_ever: self.lines_ever,
        }
    }
}

/// Returns the message about a resource whose cart the shop behind another API no longer has.
pub(super) fn cart_lost(what: &str) -> Message {
    let content = format!(
        "The shop no longer has the cart of this {what}, and prices are the last known ones. The next change makes another \
         cart with the same contents."
    );
    Message::warning("cart_lost", content)
}

/// Checks that a draft has at least one line.
fn something(draft: &Draft, accepted: &str) -> Result<(), Refusal> {
    if draft.line_items.is_empty() {
        let content = "There is nothing to buy in the request.";
        return Err(Refusal::invalid("$.line_items", content).accepting(accepted));
    }
    Ok(())
}

/// Returns the refusal for a transition that failed although its state was checked before.
pub(crate) fn unreachable_transition(illegal: &Illegal) -> Refusal {
    debug_assert!(false, "{illegal}");
    Refusal::new(Code::InternalError, "The checkout changed while it was being worked on.")
}
