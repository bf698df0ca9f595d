//! The sales of a shop: the operations on carts, checkouts and orders, with the ports and terms that they share.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`goods`] | the goods that a draft names, as the catalog describes them |
//! | `carts`, `checkouts`, `orders` | the operations of these resources, but for completing a checkout |
//! | `completion` | decisions about payments: their begin and their end |
//! | [`settlement`] | payments carried out: made, asked for, called off |
//! | [`handoff`] | steps that the buyer takes on the shop's page |
//! | [`placing`] | orders that buyers place on pages of a shop behind another API |
//! | [`following`] | what becomes of orders at a shop behind another API |
//! | [`money`] | money of orders that moves after the purchase |
//! | `errands` | tasks of the agenda carried out |
//!
//! An operation reads, decides, and returns a [`Decision`]: the answer, the change that has to be on disk before the answer
//! is given, and what others have to do after it. Deciding writes nothing, except that a shop behind another API is
//! brought to the draft that it is to price.

mod carts;
mod checkouts;
mod completion;
mod errands;
pub mod following;
pub mod goods;
pub mod handoff;
pub mod money;
mod orders;
pub mod placing;
pub mod settlement;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use self::goods::Goods;
use crate::{
    Refusal,
    call::{Answer, Outcome, SaleRequest},
    catalog::product::Link,
    message::{Message, Severity},
    operation::{AP2_MANDATE, BUYER_CONSENT, DISCOUNT, FULFILLMENT},
    ports::{
        Catalog, Commerce, Decision, OrderInbox, OrderWays, SalesCapabilities, Then,
        agenda::Plan,
        caller::{BuyerSignals, Caller},
        ledger::Ledger,
        payment_handler::Handler,
        remote_cart::{PriceQuote, PriceRequest, RemoteCart},
    },
    pricing::{quote, terms::Terms},
    purchase::{
        draft::Draft,
        payment::Declaration,
        quote::{Facts, NamedItem, Previous, Purpose},
        remote_cart_ref::RemoteCartRef,
    },
};

/// Age from which a cart at the shop counts as an orphan if no document names it: longer than any call takes.
pub const ORPHANED_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// Extensions of a shop none of whose payment handlers authenticates buyers in the middle of an attempt.
const WITHOUT_AUTHENTICATION: &[&str] = &[FULFILLMENT, DISCOUNT, BUYER_CONSENT, AP2_MANDATE];

/// Sales of the embedded shop: implements the operations on carts, checkouts and orders. They fail with the errors of the
/// ports behind it, and with [`InvalidRequest`](crate::Code::InvalidRequest) for a draft that cannot be priced.
#[derive(Clone)]
pub struct SalesService {
    /// Products of the shop.
    pub catalog: Arc<dyn Catalog>,
    /// Store of carts, checkouts and orders.
    pub ledger: Arc<dyn Ledger>,
    /// Terms on which the shop sells.
    pub terms: Arc<Terms>,
    /// Accepted payment handlers.
    pub handlers: Arc<[Arc<dyn Handler>]>,
    /// Payment handlers of a shop behind another API that places orders: their credentials go there unread.
    pub shop_handlers: Arc<[Declaration]>,
    /// Carts of a shop behind another API, which prices drafts in place of the shop's own terms.
    pub remote_carts: Option<Arc<dyn RemoteCart>>,
    /// Orders of that shop, if it tells about them or can be asked for them.
    pub order_inbox: Option<Arc<dyn OrderInbox>>,
    /// Base URL of the pages for buyers: absolute, without trailing slash.
    pub pages: String,
    /// Source of the current time, UTC.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Source of cryptographically random bytes.
    pub random: Arc<dyn Fn() -> [u8; 16] + Send + Sync>,
}

crate::opaque!(SalesService { pages });

impl SalesService {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns an unguessable identifier: `prefix` and 32 hexadecimal digits.
    pub(crate) fn unguessable(&self, prefix: &str) -> String {
        let mut name = prefix.to_owned();
        name.extend((self.random)().iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit));
        name
    }

    /// Returns the expiry of something changed now, cut to whole seconds because people read it.
    pub(crate) fn expiry(now: Timestamp, seconds: u32) -> Timestamp {
        Timestamp::from_second(now.as_second().saturating_add(seconds.into())).unwrap_or(Timestamp::MAX)
    }

    /// Returns the URL at which a buyer continues with a cart or a checkout: the shop's page if a shop behind another
    /// API is configured (`None` if it has none), otherwise the gateway's page.
    pub(crate) fn continue_url(&self, token: &str, remote_cart: Option<&RemoteCartRef>) -> Option<String> {
        match self.remote_carts {
            Some(_) => remote_cart.and_then(|remote_cart| remote_cart.continue_url.clone()),
            None => Some(format!("{}/continue/{token}", self.pages)),
        }
    }

    /// Returns the URL of the page of an order.
    pub fn permalink(&self, token: &str) -> String {
        permalink(&self.pages, token)
    }

    /// Returns the ways in which the gateway learns of orders of a shop behind another API.
    pub(crate) fn order_ways(&self) -> OrderWays {
        self.order_inbox.as_ref().map(|inbox| inbox.ways()).unwrap_or_default()
    }

    /// Returns the links to pages of the shop that matter to a buyer.
    pub(crate) fn links(&self) -> Arc<[Link]> {
        self.catalog.market().links.clone().into()
    }

    /// Returns the declarations of the accepted payment handlers.
    pub fn declarations(&self) -> Arc<[Declaration]> {
        let own = self.handlers.iter().map(|handler| {
            let mut declaration = handler.declaration().clone();
            if let Some(mut origins) = handler.authentication_origins() {
                origins.extend(origin(&self.pages));
                origins.sort();
                origins.dedup();
                declaration.config.insert("action_origins".to_owned(), origins.into());
            }
            declaration
        });
        own.chain(self.shop_handlers.iter().cloned()).collect()
    }

    /// Removes the parts of a draft that belong to extensions which were not negotiated, and adds the customer group of the
    /// caller.
    pub(crate) fn negotiated(mut draft: Draft, purpose: Purpose, caller: &Caller) -> Draft {
        draft.context.customer_group.clone_from(&caller.customer_group);
        if !caller.has(DISCOUNT) {
            draft.codes = None;
        }
        if !caller.has(FULFILLMENT) || purpose == Purpose::Cart {
            draft.fulfillment = None;
        }
        if !caller.has(BUYER_CONSENT)
            && let Some(buyer) = &mut draft.buyer
        {
            buyer.consent = None;
        }
        draft
    }

    /// Prices a draft. Returns `None` if a shop behind another API no longer has the cart.
    ///
    /// A shop behind another API brings its cart to the draft. A cart that it makes is abandoned unless a document that
    /// names it is committed ([`Kind::Abandon`](crate::ports::agenda::Kind::Abandon)).
    pub(crate) async fn price(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, Refusal> {
        let (draft, mismatches) = in_pieces(request.draft, request.previous);
        let priced = self.price_pieces(PriceRequest { draft: &draft, ..request }).await?;
        Ok(priced.map(|mut priced| {
            priced.quote.messages.extend(mismatches);
            priced
        }))
    }

    /// Prices a draft whose quantities are counted in pieces.
    async fn price_pieces(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, Refusal> {
        let PriceRequest { purpose, draft, caller, previous, remote_cart, .. } = request;
        if let Some(shop) = &self.remote_carts {
            let priced = shop.sync(request).await?;
            if let Some(made) = priced.as_ref().and_then(|priced| priced.remote_cart.as_ref())
                && remote_cart.is_none_or(|before| before.reference != made.reference)
            {
                let orphaned = self.now().saturating_add(ORPHANED_AFTER).unwrap_or(Timestamp::MAX);
                self.ledger.plan(Plan::Due(made.abandonment(orphaned))).await?;
            }
            return Ok(priced);
        }
        let (facts, messages) = self.facts(draft, &caller.buyer_signals).await?;
        let mut quote = quote(purpose, draft, &facts, &self.terms, caller, previous)?;
        quote.messages.extend(messages);
        let purchasable =
            facts.goods.iter().filter_map(NamedItem::one).any(|good| good.available && good.stock != Some(0));
        Ok(Some(PriceQuote { quote, purchasable, remote_cart: None }))
    }

    /// Collects the facts about the goods of a draft, with messages about them.
    async fn facts(&self, draft: &Draft, buyer_signals: &BuyerSignals) -> Result<(Facts, Vec<Message>), Refusal> {
        let Goods { currency, by_line: mut goods, messages } = goods::of(&*self.catalog, draft, buyer_signals).await?;
        let variants: Vec<_> = goods.iter().filter_map(|named| Some(named.one()?.id.as_str())).collect();
        let stock = self.ledger.stock(&variants).await?;
        let mut stock = stock.into_iter();
        for named in &mut goods {
            if let NamedItem::One(good) = named {
                good.stock = stock.next().flatten();
            }
        }
        let own_currency = self.catalog.market().currency;
        let (taxes, credits, unmet_codes) = (Vec::new(), Vec::new(), Vec::new());
        Ok((Facts { currency, own_currency, goods, taxes, credits, unmet_codes, now: self.now() }, messages))
    }
}

/// Returns a draft without the effect of lines whose quantity is counted in another unit than pieces, the only unit that
/// anything is sold in here: such a line stays as it was, or is left out if it is new. Adds an error message for each.
fn in_pieces<'a>(draft: &'a Draft, previous: &Previous) -> (Cow<'a, Draft>, Vec<Message>) {
    if draft.line_items.iter().all(|line| line.other_unit.is_none()) {
        return (Cow::Borrowed(draft), Vec::new());
    }
    let mut messages = Vec::new();
    let mut settled = draft.clone();
    settled.line_items.retain_mut(|line| {
        let Some(unit) = &line.other_unit else { return true };
        let content =
            format!("`{}` is sold by the piece, not by `{unit}`; state how many pieces, in the unit `C62`.", line.item);
        messages.push(Message::error("quantity_unit_mismatch", content, Severity::Recoverable).at("$.line_items"));
        let before = match &line.id {
            Some(id) => previous.line_items.iter().find(|before| before.id == *id),
            None => previous.line_items.iter().find(|before| before.item.id == line.item),
        };
        let Some(before) = before else { return false };
        line.item.clone_from(&before.item.id);
        line.quantity = before.quantity;
        true
    });
    (Cow::Owned(settled), messages)
}

#[async_trait]
impl Commerce for SalesService {
    fn capabilities(&self) -> SalesCapabilities {
        let Some(shop) = &self.remote_carts else {
            let authenticates = self.handlers.iter().any(|handler| handler.authentication_origins().is_some());
            let all = SalesCapabilities::ALL;
            return if authenticates { all } else { SalesCapabilities { extensions: WITHOUT_AUTHENTICATION, ..all } };
        };
        let own = shop.capabilities();
        let ways = self.order_ways();
        SalesCapabilities { orders: own.orders || ways.tells || ways.finds, ..own }
    }

    fn ledger(&self) -> &dyn Ledger {
        &*self.ledger
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    async fn decide(&self, caller: &Caller, mut request: SaleRequest) -> Result<Decision, Refusal> {
        let note = request.draft().and_then(|draft| ignored(draft));
        let mut decision = match request {
            SaleRequest::CreateCart(request) => self.create_cart(caller, request).await,
            SaleRequest::GetCart(request) => self.get_cart(caller, request).await,
            SaleRequest::UpdateCart(request) => self.update_cart(caller, request).await,
            SaleRequest::CancelCart(request) => self.cancel_cart(caller, request).await,
            SaleRequest::CreateCheckout(request) => self.create_checkout(caller, request).await,
            SaleRequest::GetCheckout(request) => self.get_checkout(caller, request).await,
            SaleRequest::UpdateCheckout(request) => self.update_checkout(caller, request).await,
            SaleRequest::CompleteCheckout(request) => self.complete_checkout(caller, request).await,
            SaleRequest::CancelCheckout(request) => self.cancel_checkout(caller, request).await,
            SaleRequest::GetOrder(request) => self.get_order(caller, request).await,
        }?;
        // Said once, and not stored: the next request may be without them.
        match &mut decision.outcome {
            Outcome::Answer(Answer::Cart(view)) => view.messages.extend(note),
            Outcome::Answer(Answer::Checkout(view)) => view.messages.extend(note),
            _ => {}
        }
        Ok(decision)
    }

    async fn follow(&self, caller: &Caller, then: Then) -> Result<Option<Decision>, Refusal> {
        self.followed(caller, then).await
    }
}

/// Returns a note about the members of a draft that mean nothing, if it has any.
fn ignored(draft: &Draft) -> Option<Message> {
    let paths: Vec<_> = draft.ignored.iter().map(|path| format!("`{path}`")).collect();
    let content = format!("These members of the request mean nothing here and were ignored: {}.", paths.join(", "));
    (!paths.is_empty()).then(|| Message::info("member_ignored", content))
}

/// Returns the URL of the page of an order below the base URL `pages`.
pub fn permalink(pages: &str, token: &str) -> String {
    format!("{pages}/order/{token}")
}

/// Returns the origin of an absolute URL without credentials, as far as it is one.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next().filter(|host| !host.is_empty())?;
    Some(format!("{scheme}://{host}"))
}

/// Returns the outcome for an identifier that does not exist or belongs to another owner: the caller cannot tell which.
pub(crate) fn not_found(what: &str, id: &str) -> Outcome {
    let content = format!("There is no {what} under this id, or it is gone.");
    Outcome::nothing_under(id, Message::error("not_found", content, Severity::Unrecoverable))
}

/// Returns the refusal for a shop behind another API that reported its cart as gone before there was one.
pub(crate) fn no_cart() -> Refusal {
    Refusal::unavailable("The shop couldn't create a cart.", 1)
}

/// Returns the outcome for a draft without anything that can be bought, keeping the messages of the quote that explain
/// it.
pub(crate) fn nothing_to_buy(mut messages: Vec<Message>) -> Outcome {
    // Without a resource there is nothing for a path to point into.
    for message in &mut messages {
        match message {
            Message::Error { path, .. } | Message::Warning { path, .. } | Message::Info { path, .. } => *path = None,
        }
    }
    const REASONS: [&str; 4] = ["item_unavailable", "out_of_stock", "quantity_invalid", "quantity_unit_mismatch"];
    messages.retain(|message| matches!(message, Message::Error { code, .. } if REASONS.contains(&code.as_str())));
    if messages.is_empty() {
        messages.push(Message::error("item_unavailable", "There is nothing to buy.", Severity::Recoverable));
    }
    Outcome::NoResource { messages, continue_url: None, id: None, conflict: false }
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(nibble.into(), 16).unwrap_or('0')
}
