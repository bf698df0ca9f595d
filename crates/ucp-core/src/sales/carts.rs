//! Operations on carts: create, get, update and cancel.

use super::{SalesService, checkouts::cart_lost, no_cart, not_found, nothing_to_buy};
use crate::{
    Answer, Outcome, Refusal,
    cart::{Cart, Create, Update, View},
    message::Message,
    operation::ById,
    ports::{
        Decision,
        agenda::Plan,
        caller::Caller,
        ledger::{Change, Stored},
        remote_cart::{PriceQuote, PriceRequest},
    },
    purchase::{
        draft::Draft,
        quote::{Previous, Purpose},
        remote_cart_ref::RemoteCartRef,
    },
};

impl SalesService {
    /// Creates a cart.
    pub async fn create_cart(&self, caller: &Caller, request: Create) -> Result<Decision, Refusal> {
        let draft = Self::negotiated(request.draft, Purpose::Cart, caller);
        let previous = Previous::default();
        let priced = self.price(estimate(&draft, caller, &previous, None)).await?.ok_or_else(no_cart)?;
        if !priced.purchasable {
            return Ok(Decision::unchanged(nothing_to_buy(priced.quote.messages)));
        }
        let now = self.now();
        let cart = Cart {
            id: self.unguessable("cart_"),
            owner: caller.owner.clone(),
            token: self.unguessable(""),
            canceled: false,
            created_at: now,
            ..self.priced_cart(draft, priced)
        };
        Ok(self.changed_cart(cart, 0))
    }

    /// Returns a cart, with current prices if a shop behind another API prices it.
    pub async fn get_cart(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        let cart = match self.cart(caller, &request.id).await? {
            Some(stored) => self.looked_at(caller, stored.document).await?,
            None => None,
        };
        Ok(Decision::unchanged(match cart {
            Some(cart) => Outcome::Answer(Answer::Cart(self.view_cart(cart, false))),
            None => not_found("cart", &request.id),
        }))
    }

    /// Replaces the contents of a cart (rule CRT-02).
    pub async fn update_cart(&self, caller: &Caller, request: Update) -> Result<Decision, Refusal> {
        let Some(Stored { document: cart, version }) = self.cart(caller, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("cart", &request.id)));
        };
        let draft = Self::negotiated(request.draft, Purpose::Cart, caller);
        let previous = cart.previous();
        let request = estimate(&draft, caller, &previous, cart.remote_cart.as_ref());
        let Some(priced) = self.price(request).await? else {
            return Ok(Decision::unchanged(not_found("cart", &cart.id)));
        };
        let priced = self.priced_cart(draft, priced);
        let cart = Cart {
            id: cart.id,
            owner: cart.owner,
            token: cart.token,
            canceled: cart.canceled,
            created_at: cart.created_at,
            ..priced
        };
        Ok(self.changed_cart(cart, version))
    }

    /// Cancels a cart: the answer shows it as it was, and it does not exist from then on (rule CRT-03).
    pub async fn cancel_cart(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        let Some(Stored { document: cart, version }) = self.cart(caller, &request.id).await? else {
            return Ok(Decision::unchanged(not_found("cart", &request.id)));
        };
        let plans = cart.remote_cart.iter().map(|held| Plan::Due(held.abandonment(self.now()))).collect();
        let canceled = Cart { canceled: true, remote_cart: None, ..cart.clone() };
        let mut view = self.view_cart(cart, false);
        view.continue_url = None;
        Ok(Decision {
            outcome: Outcome::Answer(Answer::Cart(view)),
            change: Change { cart: Some(Stored { document: canceled, version }), plans, ..Change::default() }.into(),
            then: None,
        })
    }

    /// Returns a cart of the caller that is neither canceled nor expired.
    pub(crate) async fn cart(&self, caller: &Caller, id: &str) -> Result<Option<Stored<Cart>>, Refusal> {
        let now = self.now();
        let stored = self.ledger.cart(&caller.owner, id).await?;
        Ok(stored.filter(|Stored { document: cart, .. }| !cart.canceled && cart.expires_at > now))
    }

    /// Brings a cart up to date with the shop behind another API; `None` if the shop no longer has it.
    async fn looked_at(&self, caller: &Caller, cart: Cart) -> Result<Option<Cart>, Refusal> {
        let Some(shop) = self.remote_carts.as_ref().filter(|_| cart.remote_cart.is_some()) else {
            return Ok(Some(cart));
        };
        let previous = cart.previous();
        let request = estimate(&cart.draft, caller, &previous, cart.remote_cart.as_ref());
        let Some(priced) = shop.fetch(request).await? else {
            // Nobody can have paid it: the next change makes another one.
            let is_payable = cart.remote_cart.as_ref().is_some_and(|held| held.continue_url.is_some());
            return Ok((!is_payable).then(|| {
                let mut cart = cart;
                cart.messages.push(cart_lost("cart"));
                cart
            }));
        };
        Ok(Some(Cart {
            id: cart.id,
            owner: cart.owner,
            token: cart.token,
            created_at: cart.created_at,
            expires_at: cart.expires_at,
            ..self.priced_cart(cart.draft, priced)
        }))
    }

    /// Returns a cart with the content of a draft and its price, but without identifier, owner and token.
    fn priced_cart(&self, draft: Draft, priced: PriceQuote) -> Cart {
        let now = self.now();
        let PriceQuote { quote, remote_cart, .. } = priced;
        Cart {
            id: String::new(),
            owner: String::new(),
            token: String::new(),
            draft,
            line_items: quote.line_items,
            lines_ever: quote.lines_ever,
            currency: quote.currency,
            totals: quote.totals,
            discounts: quote.discounts,
            messages: quote.messages,
            remote_cart,
            canceled: false,
            created_at: now,
            expires_at: Self::expiry(now, self.terms.lifetimes.cart_seconds),
        }
    }

    fn view_cart(&self, cart: Cart, created: bool) -> View {
        let messages: Vec<Message> = cart.messages.clone();
        View {
            continue_url: self.continue_url(&cart.token, cart.remote_cart.as_ref()),
            links: self.links(),
            created,
            messages,
            cart: Box::new(cart),
        }
    }

    fn changed_cart(&self, cart: Cart, version: u64) -> Decision {
        let change = Change { cart: Some(Stored { document: cart.clone(), version }), ..Change::default() };
        let outcome = Outcome::Answer(Answer::Cart(self.view_cart(cart, version == 0)));
        Decision { outcome, change: change.into(), then: None }
    }
}

/// Returns the request for the estimated price of a cart.
const fn estimate<'a>(
    draft: &'a Draft,
    caller: &'a Caller,
    previous: &'a Previous,
    remote_cart: Option<&'a RemoteCartRef>,
) -> PriceRequest<'a> {
    PriceRequest { purpose: Purpose::Cart, draft, caller, previous, remote_cart, reference: None }
}

impl Cart {
    /// Returns the parts from which the next answer keeps its identifiers stable.
    fn previous(&self) -> Previous {
        Previous { line_items: self.line_items.clone(), fulfillment: None, lines_ever: self.lines_ever }
    }
}
