//! Making, showing, changing and canceling checkouts. Completing them is a matter of its own, in `completion`.

use super::{Checkout, Create, State, Status, Update, View, status::Illegal};
use crate::{
    Answer, Code, Outcome, Refusal,
    message::{Message, Severity},
    operation::{AP2_MANDATE, ById, CART, FULFILLMENT},
    purchase::{
        caller::Caller,
        desk::{Decision, Desk, not_found, nothing_to_buy},
        draft::{Draft, LineDraft},
        ledger::{Change, Stored},
        pricing::{Previous, Purpose, Quote, missing},
        totals::{TotalKind, amount_of},
    },
};

impl Desk {
    /// A new checkout, or the open one that was already made of the same cart (rule CRT-05).
    ///
    /// # Errors
    /// What the ports fail with, and what cannot be priced.
    pub async fn create_checkout(&self, caller: &Caller, request: Create) -> Result<Decision, Refusal> {
        let Create { mut draft, cart_id } = request;
        let mut previous = Previous::default();
        let cart_id = cart_id.filter(|_| caller.has(CART));
        if let Some(id) = &cart_id {
            if let Some(stored) = self.ledger.checkout_of_cart(&caller.owner, id).await? {
                let checkout = self.as_of_now(stored.document);
                if !checkout.status().is_terminal() {
                    let view = self.view_checkout(checkout, false);
                    return Ok(Decision::unchanged(Outcome::Answer(Answer::CreateCheckout(view))));
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
                parent_id: line.parent_id.clone(),
            });
            // The cart wins over the request (rule CRT-04), and its codes go with it (rule CRT-07).
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
        let (quote, purchasable) = self.price(Purpose::Checkout, &draft, caller, &previous).await?;
        if !purchasable {
            return Ok(Decision::unchanged(nothing_to_buy(quote.messages)));
        }
        let now = self.now();
        let mut checkout = Checkout {
            id: self.unguessable("chk_"),
            owner: caller.owner.clone(),
            token: self.unguessable(""),
            cart_id,
            state: State::Incomplete,
            draft: Draft::default(),
            line_items: Vec::new(),
            lines_ever: 0,
            currency: quote.currency,
            totals: Vec::new(),
            discounts: None,
            fulfillment: None,
            messages: Vec::new(),
            completing: None,
            mandated: caller.has(AP2_MANDATE),
            evidence: None,
            created_at: now,
            expires_at: now,
        };
        self.reprice(&mut checkout, draft, quote).map_err(|illegal| unreachable_transition(&illegal))?;
        Ok(self.changed_checkout(checkout, 0, Answer::CreateCheckout))
    }

    /// A checkout as it is.
    ///
    /// # Errors
    /// What the ports fail with.
    pub async fn get_checkout(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        Ok(Decision::unchanged(match self.ledger.checkout(&caller.owner, &request.id).await? {
            Some(stored) => {
                let checkout = self.as_of_now(stored.document);
                Outcome::Answer(Answer::GetCheckout(self.view_checkout(checkout, false)))
            }
            None => not_found("checkout", &request.id),
        }))
    }

    /// A checkout with other contents (rule CHK-06).
    ///
    /// # Errors
    /// What the ports fail with, and what cannot be priced.
    pub async fn update_checkout(&self, caller: &Caller, request: Update) -> Result<Decision, Refusal> {
        let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("checkout", &request.id)));
        };
        let (mut checkout, version) = (self.as_of_now(stored.document), stored.version);
        if !checkout.status().is_open() {
            return Ok(self.closed(checkout, "be changed", Answer::UpdateCheckout));
        }
        something(&request.draft, "at least one line item")?;
        checkout.mandated |= caller.has(AP2_MANDATE);
        let mut draft = Self::negotiated(request.draft, Purpose::Checkout, caller);
        if !caller.has(FULFILLMENT) {
            // What a buyer has chosen on the page is not taken back by a platform that cannot speak of it.
            draft.fulfillment = checkout.draft.fulfillment.take();
        }
        let previous = checkout.previous();
        let (quote, _) = self.price(Purpose::Checkout, &draft, caller, &previous).await?;
        self.reprice(&mut checkout, draft, quote).map_err(|illegal| unreachable_transition(&illegal))?;
        Ok(self.changed_checkout(checkout, version, Answer::UpdateCheckout))
    }

    /// A checkout that is given up (rule CHK-05).
    ///
    /// # Errors
    /// What the ports fail with.
    pub async fn cancel_checkout(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        let Some(stored) = self.ledger.checkout(&caller.owner, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("checkout", &request.id)));
        };
        let (mut checkout, version) = (self.as_of_now(stored.document), stored.version);
        match checkout.state.cancel() {
            Ok(canceled) => {
                checkout.state = canceled;
                checkout.messages.clear();
                Ok(self.changed_checkout(checkout, version, Answer::CancelCheckout))
            }
            Err(_) => Ok(self.closed(checkout, "be canceled", Answer::CancelCheckout)),
        }
    }

    /// A checkout as it stands at this moment: an open one whose time is over is canceled.
    pub(crate) fn as_of_now(&self, mut checkout: Checkout) -> Checkout {
        if checkout.expires_at <= self.now()
            && let Ok(canceled) = checkout.state.cancel()
        {
            checkout.state = canceled;
            checkout.messages = vec![Message::info("expired", "The checkout was not completed in time.")];
        }
        checkout
    }

    /// Gives an open checkout other contents at a new price, and judges where it stands then.
    pub(crate) fn reprice(&self, checkout: &mut Checkout, draft: Draft, quote: Quote) -> Result<(), Illegal> {
        let mut messages = quote.messages;
        messages.extend(missing(&draft, &self.terms));
        if self.handlers.is_empty() && amount_of(&quote.totals, TotalKind::Total) != 0 {
            messages.push(Message::error(
                "payment_unavailable",
                "This shop takes payments on its own page only.",
                Severity::RequiresBuyerInput,
            ));
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
        checkout.expires_at = Self::expiry(self.now(), self.terms.lifetimes.checkout_seconds);
        Ok(())
    }

    /// The answer about a checkout that is not open: what is being paid for stays as it is for the moment, what is over
    /// stays so for good (trap T-21).
    pub(crate) fn closed(&self, checkout: Checkout, transition: &str, answer: impl FnOnce(View) -> Answer) -> Decision {
        let status = checkout.status();
        let content = format!("A checkout that is `{}` cannot {transition}.", status.as_str());
        Decision::unchanged(if status == Status::CompleteInProgress {
            let mut view = self.view_checkout(checkout, false);
            view.messages.push(Message::error("complete_in_progress", content, Severity::Recoverable).at("$.status"));
            Outcome::Answer(answer(view))
        } else {
            let code = if status == Status::Completed { "checkout_completed" } else { "checkout_canceled" };
            Outcome::past(&checkout.id, Message::error(code, content, Severity::Unrecoverable))
        })
    }

    pub(crate) fn view_checkout(&self, checkout: Checkout, created: bool) -> View {
        let open_ended = !checkout.status().is_terminal();
        View {
            continue_url: open_ended.then(|| self.continue_url(&checkout.token)),
            permalink_url: checkout.state.order().map(|order| self.permalink(&order.token)),
            handlers: self.declarations(),
            links: self.links(),
            created,
            messages: checkout.messages.clone(),
            checkout: Box::new(checkout),
        }
    }

    pub(crate) fn changed_checkout(
        &self,
        checkout: Checkout,
        version: u64,
        answer: impl FnOnce(View) -> Answer,
    ) -> Decision {
        let change = Change { checkout: Some(Stored { document: checkout.clone(), version }), ..Change::default() };
        Decision { outcome: Outcome::Answer(answer(self.view_checkout(checkout, version == 0))), change }
    }
}

impl Checkout {
    /// What was answered before.
    pub(crate) fn previous(&self) -> Previous {
        Previous {
            line_items: self.line_items.clone(),
            fulfillment: self.fulfillment.clone(),
            lines_ever: self.lines_ever,
        }
    }
}

/// A purchase is a purchase of something.
fn something(draft: &Draft, accepted: &str) -> Result<(), Refusal> {
    if draft.line_items.is_empty() {
        let content = "There is nothing to buy in the request.";
        return Err(Refusal::invalid("$.line_items", content).accepting(accepted));
    }
    Ok(())
}

/// A transition that was found legal a moment ago.
pub(crate) fn unreachable_transition(illegal: &Illegal) -> Refusal {
    debug_assert!(false, "{illegal}");
    Refusal::new(Code::InternalError, "The checkout changed while it was being worked on.")
}
