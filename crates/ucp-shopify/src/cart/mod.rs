//! Carts at a shop behind the Storefront API: the cart is brought to the draft of a platform, and the buyer pays on the
//! shop's page.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `plan` | the changes that bring a cart to a draft |
//! | `delivery` | selection of delivery options |
//! | `quote` | conversion of a cart to a quote |
//! | `messages` | conversion of the shop's errors and warnings to messages |
//! | `shape` | types of the answers |
//!
//! The changes of a call are one request; the shop makes them in order, and not atomically. Whatever their result, the
//! answer describes the cart as it is afterwards: an error of the API does not mean that nothing changed, and no change
//! is sent twice. The identifier of a cart is the secret that gives access to it; it goes no further than the sales
//! service that keeps it.

mod delivery;
mod messages;
pub(crate) mod plan;
mod quote;
mod shape;

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use ucp_core::{
    Refusal,
    message::{Message, Severity},
    operation::{DISCOUNT, FULFILLMENT},
    ports::{
        Catalog as _, Completion, PortError, SalesCapabilities,
        caller::BuyerSignals,
        remote_cart::{PriceQuote, PriceRequest, RemoteCart},
    },
    purchase::{line_item::MAX_QUANTITY, quote::Purpose, remote_cart_ref::RemoteCartRef},
};
use ucp_net::{CallKind, Failure, Unreadable, deadline, failure::Reach, lock::ResourceLock};

use self::{
    messages::Notes,
    plan::{Goal, Plan, Wish},
    quote::Reading,
    shape::{Cart, Found, FurtherLines, Group, GroupLines, Groups, Outcomes, Told},
};
use super::{
    Storefront,
    client::{Problem, Reply},
    documents::{self, Document},
};

/// Maximum number of lines that a platform can state: what one query returns of the lines of a delivery group, less some
/// that the buyer or the shop may add.
const MOST_LINES: usize = 200;

/// Maximum number of lines that are read of a cart.
const MOST_READ: usize = 500;

/// Time that a call waits for another one on the same cart: about the maximum duration of a change.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of attempts to create a cart, each without what the shop refused before.
const MOST_TRIES: usize = 4;

/// Answer to `cartCreate`.
#[derive(serde::Deserialize)]
struct Created {
    created: Option<Told>,
}

/// Result of a change, and the cart afterwards; `None` if the shop no longer has it.
struct Changed {
    cart: Option<Cart>,
    came: Came,
}

/// Progress of a change.
enum Came {
    /// The change was made, except where the shop reports an error.
    Through,
    /// It is unknown whether all of the change was made. The cart was read again.
    Perhaps,
    /// The shop refused the request as a whole. The cart was read again.
    Rejected(Vec<Problem>),
    /// The shop failed in a way that may pass, and it is unknown how much of the change was made. The cart was read
    /// again. After this number of seconds a retry makes sense.
    Failed(u32),
    /// The request was not sent. The cart is the one from before.
    Nowhere(Failure),
}

/// Refuses a draft that no shop could price.
fn check(request: &PriceRequest<'_>) -> Result<(), Refusal> {
    let lines = &request.draft.line_items;
    if lines.len() > MOST_LINES {
        return Err(Refusal::invalid("$.line_items", "The cart has too many line items.")
            .accepting(format!("at most {MOST_LINES} lines; one line can be of several")));
    }
    let mut ids = HashSet::new();
    for (position, line) in lines.iter().enumerate() {
        let at = |member: &str| format!("$.line_items[{position}].{member}");
        if !(1..=MAX_QUANTITY).contains(&line.quantity) {
            let content = format!("Invalid quantity: {}.", line.quantity);
            return Err(
                Refusal::invalid(at("quantity"), content).accepting(format!("a whole number from 1 to {MAX_QUANTITY}"))
            );
        }
        if let Some(id) = &line.id
            && !ids.insert(id.as_str())
        {
            return Err(Refusal::invalid(at("id"), format!("Two line items have the id `{id}`."))
                .accepting("an id of its own for each line; new lines have none"));
        }
    }
    Ok(())
}

/// Returns the error for a change that may have been made and cannot be verified at the moment.
fn unknown(failure: &Failure) -> PortError {
    let wait = wait(failure);
    let content = "The shop did not say whether it made this change, and cannot be asked at the moment. Repeat the call \
                   with the same idempotency key, if it has one.";
    PortError::unavailable(content, wait)
}

/// Returns the error for a change that is not there as a whole because the shop failed. It is not recorded under the
/// call's idempotency key, so that the same call can succeed later.
fn failed(wait: u32) -> PortError {
    let content = "The shop failed while it changed this cart, and not all of the change is there. Repeat the call.";
    PortError::unavailable(content, wait)
}

/// Returns the number of seconds after which a retry makes sense.
fn wait(failure: &Failure) -> u32 {
    Refusal::from(PortError::from(failure)).retry_after.unwrap_or(1)
}

impl Storefront {
    /// Waits for exclusive access to a cart: changes are computed from its content. Fails with
    /// [`Unavailable`](ucp_core::Code::Unavailable) if other calls hold the cart for longer than [`PATIENCE`].
    async fn lock(&self, remote_cart: &RemoteCartRef) -> Result<ResourceLock, PortError> {
        let lock = self.locks().lock(remote_cart.reference.clone(), PATIENCE).await;
        lock.ok_or_else(|| {
            PortError::unavailable("Another call is changing the same cart. Nothing was done; repeat the call.", 1)
        })
    }

    /// Returns the variables that every operation on carts takes: country and language of the buyer.
    fn cart_variables(&self, request: &PriceRequest<'_>) -> Map<String, Value> {
        let standing = self.standing();
        let context = standing.in_context(&standing.market.presentation(&request.draft.context.of_catalog()));
        match json!(context) {
            Value::Object(variables) => variables,
            _ => Map::new(),
        }
    }

    fn wish(&self, request: &PriceRequest<'_>) -> Wish {
        let presentation = self.market().presentation(&request.draft.context.of_catalog());
        Wish::of(request, presentation.country.as_deref())
    }

    /// Creates a cart; `None` if none of the wanted goods can be put into one. What the shop refuses is left out and
    /// noted: it would refuse everything else with it.
    async fn create(
        &self,
        request: &PriceRequest<'_>,
        wish: &mut Wish,
        notes: &mut Notes,
    ) -> Result<Option<Cart>, PortError> {
        let mut heard = Notes::default();
        for _ in 0..MOST_TRIES {
            let (input, goods) = wish.input();
            if goods.is_empty() {
                return Ok(None);
            }
            let mut variables = self.cart_variables(request);
            variables.insert("input".to_owned(), input);
            let reply = self.made(variables, request.caller.buyer_signals).await?;
            let told = reply.data.and_then(|data| data.created).unwrap_or_default();
            heard = Notes::default();
            heard.hear(&told, &goods);
            if let Some(cart) = told.cart {
                notes.add(heard);
                let reference = cart.id.clone();
                return match self.completed(request, cart).await {
                    Ok(cart) => Ok(Some(cart)),
                    Err(failure) => Err(self.unpriced(request, reference, &failure).await),
                };
            }
            if no_such_country(&reply.errors) && wish.stay_at_home() {
                notes.say(undeliverable());
                continue;
            }
            if !heard.spare(wish) {
                break;
            }
            notes.add(std::mem::take(&mut heard));
        }
        Err(heard.refusal())
    }

    /// Asks for a new cart. The request goes on when the time of the call is up: a cart that is made too late is
    /// abandoned, because the call is repeated for another one.
    async fn made(
        &self,
        variables: Map<String, Value>,
        buyer_signals: BuyerSignals,
    ) -> Result<Reply<Created>, Failure> {
        let (asking, keeping) = (self.clone(), self.clone());
        let work = async move {
            asking.client().ask(&documents::CART_CREATE, &variables, CallKind::Write, &buyer_signals).await
        };
        deadline::outlast(work, move |reply: Reply<Created>| async move {
            let Some(cart) = reply.data.and_then(|data| data.created?.cart) else { return };
            let made = RemoteCartRef { reference: cart.id, ..RemoteCartRef::default() };
            match keeping.abandon(&made, &buyer_signals).await {
                Ok(()) => tracing::warn!("upstream created a cart after the deadline; abandoned it"),
                Err(error) => tracing::warn!(%error, "orphaned cart left at the upstream"),
            }
        })
        .await
    }

    /// Returns a cart as it is; `None` if it does not exist.
    async fn cart(&self, request: &PriceRequest<'_>, reference: &str) -> Result<Option<Cart>, Failure> {
        match self.found(request, &documents::CART, reference, None).await? {
            Some(cart) => self.completed(request, cart).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns what an operation reads of a cart; `None` if the cart does not exist.
    async fn found<T: DeserializeOwned>(
        &self,
        request: &PriceRequest<'_>,
        document: &Document,
        reference: &str,
        after: Option<String>,
    ) -> Result<Option<T>, Failure> {
        let mut variables = self.cart_variables(request);
        variables.insert("cart".to_owned(), reference.into());
        variables.extend(after.map(|after| ("after".to_owned(), after.into())));
        let buyer_signals = &request.caller.buyer_signals;
        let reply = self.client().ask::<Found<T>>(document, &variables, CallKind::Read, buyer_signals).await?;
        let failed = !reply.errors.is_empty();
        match reply.data()?.cart {
            // A cart that the shop failed to return may still exist.
            None if failed => Err(Failure::Unreadable(Unreadable::Unexpected)),
            cart => Ok(cart),
        }
    }

    /// Returns a cart with all of its lines: those that did not come with it are read by pages. Fails with
    /// [`Unreadable::Unexpected`] if there are more than [`MOST_READ`], or the cart disappears meanwhile.
    async fn completed(&self, request: &PriceRequest<'_>, mut cart: Cart) -> Result<Cart, Failure> {
        if !cart.lines.page_info.has_next_page {
            return Ok(cart);
        }
        let unexpected = || Failure::Unreadable(Unreadable::Unexpected);
        while cart.lines.page_info.has_next_page {
            let after = cart.lines.page_info.end_cursor.take().filter(|_| cart.lines.nodes.len() < MOST_READ);
            let after = Some(after.ok_or_else(unexpected)?);
            let further = self.found::<FurtherLines>(request, &documents::CART_LINES, &cart.id, after).await?;
            let FurtherLines { lines } = further.ok_or_else(unexpected)?;
            cart.lines.nodes.extend(lines.nodes);
            cart.lines.page_info = lines.page_info;
        }
        let Some(own) = cart.delivery_groups.as_mut().filter(|own| !own.nodes.is_empty()) else { return Ok(cart) };
        let groups = self.found::<Groups<GroupLines>>(request, &documents::CART_GROUPS, &cart.id, None).await?;
        for GroupLines { id, cart_lines } in groups.ok_or_else(unexpected)?.delivery_groups.nodes {
            if let Some(group) = own.nodes.iter_mut().find(|own| own.id == id) {
                group.cart_lines = cart_lines;
            }
        }
        Ok(cart)
    }

    /// Returns the error for a cart whose price is unknown. A cart that was just made is abandoned: it is recorded once
    /// there is an answer, so that nobody would find it.
    async fn unpriced(&self, request: &PriceRequest<'_>, reference: String, failure: &Failure) -> PortError {
        if request.remote_cart.is_none() {
            let made = RemoteCartRef { reference, ..RemoteCartRef::default() };
            if let Err(error) = self.abandon(&made, &request.caller.buyer_signals).await {
                tracing::warn!(%error, "orphaned cart left at the upstream");
            }
        }
        unknown(failure)
    }

    /// Returns a cart with the delivery options that carriers calculate. If they are unknown, the others remain valid.
    /// Fails with [`Unavailable`](ucp_core::Code::Unavailable) if an unknown one is selected: the price of the cart
    /// would be too low.
    async fn rated(&self, request: &PriceRequest<'_>, mut cart: Cart, notes: &mut Notes) -> Result<Cart, PortError> {
        let delivered = request.purpose == Purpose::Checkout && request.caller.has(FULFILLMENT);
        if cart.rated || !delivered || cart.groups().is_empty() || cart.address().is_none() {
            return Ok(cart);
        }
        cart.rated = true;
        let failure = match self.found::<Groups<Group>>(request, &documents::CART_RATES, &cart.id, None).await {
            Ok(Some(Groups { delivery_groups: mut rated })) => {
                // Their lines may be more than come with a group.
                for group in &mut rated.nodes {
                    if let Some(own) = cart.groups().iter().find(|own| own.id == group.id) {
                        group.cart_lines = own.cart_lines.clone();
                    }
                }
                cart.delivery_groups = Some(rated);
                return Ok(cart);
            }
            Ok(None) => Failure::Unreadable(Unreadable::Unexpected),
            Err(failure) => failure,
        };
        if cart.groups().iter().any(|group| group.selected_delivery_option.is_some() && group.chosen().is_none()) {
            return Err(self.unpriced(request, cart.id, &failure).await);
        }
        self.client().counters().note("carts without rates of carriers");
        tracing::warn!(%failure, "carrier rates of a cart unknown");
        let content = "The shop did not say what carriers charge at the moment: there may be more delivery options.";
        notes.say(Message::warning("delivery_options_incomplete", content).at("$.fulfillment.methods[0].groups"));
        Ok(cart)
    }

    /// Makes changes and returns the cart afterwards: from the answer if it is complete, and otherwise read again.
    /// Fails with [`Unavailable`](ucp_core::Code::Unavailable) if the content of the cart is unknown.
    async fn change(
        &self,
        request: &PriceRequest<'_>,
        cart: Cart,
        plan: &Plan,
        notes: &mut Notes,
    ) -> Result<Changed, PortError> {
        if plan.changes.is_empty() {
            return Ok(Changed { cart: Some(cart), came: Came::Through });
        }
        let document: Document = documents::cart_changes(&plan.changes);
        let mut variables = self.cart_variables(request);
        variables.extend(plan.variables.clone());
        variables.insert("cart".to_owned(), cart.id.as_str().into());
        let reply =
            self.client().ask::<Outcomes>(&document, &variables, CallKind::Write, &request.caller.buyer_signals).await;
        let came = match reply {
            Ok(reply) => match reply.data {
                None if are_passing(&reply.errors) => Came::Failed(1),
                None => Came::Rejected(reply.errors),
                Some(mut outcomes) => {
                    let mut whole = reply.errors.is_empty();
                    let mut last = None;
                    for change in &plan.changes {
                        let told = outcomes.remove(change.as_str()).flatten();
                        whole &= told.is_some();
                        let told = told.unwrap_or_default();
                        notes.hear(&told, plan.goods(*change));
                        last = told.cart;
                    }
                    if let Some(cart) = last.filter(|_| whole) {
                        let cart = self.completed(request, cart).await.map_err(|failure| unknown(&failure))?;
                        return Ok(Changed { cart: Some(cart), came: Came::Through });
                    }
                    match whole {
                        true => Came::Through,
                        false if are_passing(&reply.errors) => Came::Failed(1),
                        false => Came::Perhaps,
                    }
                }
            },
            Err(failure) if failure.reach() == Reach::Never => {
                return Ok(Changed { cart: Some(cart), came: Came::Nowhere(failure) });
            }
            Err(failure) => {
                tracing::warn!(%failure, "cart update outcome unknown, reading the cart back");
                Came::Failed(wait(&failure))
            }
        };
        Ok(Changed { cart: self.cart(request, &cart.id).await.map_err(|failure| unknown(&failure))?, came })
    }

    /// Brings a cart to the wish: first its content, then its delivery, which depends on the content. `None` if the
    /// shop no longer has the cart.
    async fn bring(
        &self,
        request: &PriceRequest<'_>,
        wish: &mut Wish,
        cart: Cart,
        notes: &mut Notes,
    ) -> Result<Option<Cart>, PortError> {
        let nothing = BTreeMap::new();
        let known = request.remote_cart.map_or(&nothing, |remote_cart| &remote_cart.lines);
        let plan = wish.plan(&cart, known);
        let mut changed = self.change(request, cart, &plan, notes).await?;
        if let (Came::Rejected(errors), Some(cart)) = (&changed.came, &changed.cart)
            && no_such_country(errors)
            && wish.plan(cart, known) == plan
            && wish.stay_at_home()
        {
            notes.say(undeliverable());
            let plan = wish.plan(cart, known);
            changed = self.change(request, cart.clone(), &plan, notes).await?;
        }
        let Changed { cart: Some(cart), came } = changed else { return Ok(None) };
        match came {
            Came::Nowhere(failure) => return Err(failure.into()),
            Came::Failed(wait) if !wish.plan(&cart, known).changes.is_empty() => return Err(failed(wait)),
            Came::Failed(_) => return Ok(Some(cart)),
            Came::Perhaps | Came::Rejected(_) => {
                if !wish.plan(&cart, known).changes.is_empty() {
                    notes.broken();
                }
                return Ok(Some(cart));
            }
            Came::Through => {}
        }
        // Goods that the shop refused make it refuse others in the same change, which are requested again without them.
        wish.refused.extend(notes.refused_goods().cloned());
        let plan = if wish.refused.is_empty() { Plan::default() } else { wish.plan(&cart, known).of_lines() };
        let Changed { cart: Some(cart), came } = self.change(request, cart, &plan, notes).await? else {
            return Ok(None);
        };
        match came {
            Came::Through => {}
            Came::Failed(wait) => return Err(failed(wait)),
            _ => {
                notes.broken();
                return Ok(Some(cart));
            }
        }
        self.deliver(request, cart, notes).await
    }

    /// Selects the delivery options that the platform chose.
    async fn deliver(
        &self,
        request: &PriceRequest<'_>,
        cart: Cart,
        notes: &mut Notes,
    ) -> Result<Option<Cart>, PortError> {
        if !request.caller.has(FULFILLMENT) {
            return Ok(Some(cart));
        }
        let cart = self.rated(request, cart, notes).await?;
        let plan = cart.deliver(request);
        let Changed { cart, came } = self.change(request, cart, &plan, notes).await?;
        if let Some(cart) = &cart
            && !matches!(came, Came::Through)
            && !cart.deliver(request).changes.is_empty()
        {
            // A cart that was just made is not noted until there is an answer: after an error, nobody would find it.
            if let (Came::Failed(wait), Some(_)) = (came, request.remote_cart) {
                return Err(failed(wait));
            }
            notes.broken();
        }
        Ok(cart)
    }

    /// Brings the shop's cart for the draft to the draft, or creates one.
    async fn stated(
        &self,
        request: &PriceRequest<'_>,
        wish: &mut Wish,
        notes: &mut Notes,
    ) -> Result<Stated, PortError> {
        if let Some(remote_cart) = request.remote_cart {
            let _lock = self.lock(remote_cart).await?;
            if let Some(cart) = self.cart(request, &remote_cart.reference).await?
                && let Some(cart) = self.bring(request, wish, cart, notes).await?
            {
                return Ok(Stated::There(Box::new(cart)));
            }
            if request.purpose == Purpose::Checkout {
                return Ok(Stated::Concluded);
            }
            // A cart that the shop discarded is created anew: the draft states all of its content.
            *wish = self.wish(request);
            *notes = Notes::default();
        }
        let made = match self.create(request, wish, notes).await? {
            Some(cart) => self.deliver(request, cart, notes).await?,
            None => None,
        };
        Ok(made.map_or(Stated::Nothing, |cart| Stated::There(Box::new(cart))))
    }
}

/// Result of bringing a cart to a draft.
enum Stated {
    /// The cart at the shop.
    There(Box<Cart>),
    /// No cart: the draft has nothing that could be put into one.
    Nothing,
    /// The cart of the checkout is gone: the buyer has paid, or the shop discarded it.
    Concluded,
}

impl Wish {
    /// Drops the delivery address and its country; returns `true` if there was an address.
    fn stay_at_home(&mut self) -> bool {
        let sent = matches!(std::mem::replace(&mut self.goal, Goal::Unsaid), Goal::To(_));
        if sent {
            self.buyer.country_code = None;
        }
        sent
    }
}

/// Returns `true` if errors say nothing that would be true of the same request later: they have no code, or that of a
/// temporary failure.
fn are_passing(errors: &[Problem]) -> bool {
    !errors.is_empty() && !no_such_country(errors) && errors.iter().all(Problem::is_passing)
}

/// Returns `true` if the shop does not know a country code.
fn no_such_country(errors: &[Problem]) -> bool {
    errors.iter().any(|error| error.message.contains("countryCode"))
}

fn undeliverable() -> Message {
    let content =
        "The shop does not know the country of this address. State its ISO 3166-1 alpha-2 code, such as `US`.";
    let path = "$.fulfillment.methods[0].destinations";
    Message::error("address_undeliverable", content, Severity::Recoverable).at(path)
}

#[async_trait]
impl RemoteCart for Storefront {
    fn capabilities(&self) -> SalesCapabilities {
        SalesCapabilities {
            purchases: true,
            completion: Completion::HandOff,
            orders: false,
            extensions: &[FULFILLMENT, DISCOUNT],
        }
    }

    async fn sync(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError> {
        check(&request)?;
        let mut wish = self.wish(&request);
        let mut notes = Notes::default();
        let stated = self.stated(&request, &mut wish, &mut notes).await?;
        let wish = self.wish(&request);
        let reading = Reading::new(&request, &wish, self.client().counters());
        match stated {
            Stated::There(cart) => {
                let cart = self.rated(&request, *cart, &mut notes).await?;
                Ok(Some(reading.priced(&cart, notes)?))
            }
            Stated::Nothing => reading.nothing(notes, &self.market()).map(Some),
            Stated::Concluded => Ok(None),
        }
    }

    async fn fetch(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError> {
        let wish = self.wish(&request);
        let reading = Reading::new(&request, &wish, self.client().counters());
        let Some(remote_cart) = request.remote_cart else {
            // There was nothing that a cart could be made of.
            return reading.nothing(Notes::default(), &self.market()).map(Some);
        };
        let Some(cart) = self.cart(&request, &remote_cart.reference).await? else { return Ok(None) };
        let mut notes = Notes::looked();
        let cart = self.rated(&request, cart, &mut notes).await?;
        Ok(Some(reading.priced(&cart, notes)?))
    }

    async fn abandon(&self, remote_cart: &RemoteCartRef, buyer_signals: &BuyerSignals) -> Result<(), PortError> {
        let _lock = self.lock(remote_cart).await?;
        let variables =
            json!({ "cart": remote_cart.reference, "lines": remote_cart.lines.values().collect::<Vec<_>>() });
        let told = self.client().ask::<Outcomes>(&documents::CART_FORGET, &variables, CallKind::Write, buyer_signals);
        let mut outcomes = told.await?.data.unwrap_or_default();
        // The buyer's data must be removed; lines without a buyer are anonymous.
        let Some(forgotten) = outcomes.remove("forgotten").flatten() else {
            return Err(Failure::Unreadable(Unreadable::Unexpected).into());
        };
        let mut notes = Notes::default();
        notes.hear(&forgotten, &[]);
        // A cart that is gone counts as abandoned.
        if notes.gone() {
            return Ok(());
        }
        if !notes.is_empty() {
            return Err(PortError::unavailable("The shop does not give this cart up. Repeat the call.", 1));
        }
        let emptied = outcomes.remove("emptied").flatten();
        if emptied.is_none_or(|told| !told.user_errors.is_empty()) {
            tracing::warn!("emptying an abandoned upstream cart failed");
        }
        Ok(())
    }
}
