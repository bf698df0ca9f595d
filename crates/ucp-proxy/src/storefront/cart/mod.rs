//! Buying from a shop behind the Storefront API: its cart is what a platform stated, and the buyer pays on its page.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `plan` | what differs between what is stated and what is there |
//! | `quote` | what is there, in the domain's words |
//! | `messages` | what the shop says about it |
//! | `shape` | what answers look like |
//!
//! Changes are one request, carried out in order and not as a whole. Whatever becomes of it, what is answered is what is in
//! the cart afterwards: an error of the API does not mean that nothing happened. The name of a cart is the key to it; it goes
//! no further than the desk that keeps it.

mod messages;
mod plan;
mod quote;
mod shape;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use ucp_core::{
    Refusal,
    message::Message,
    operation::{DISCOUNT, FULFILLMENT},
    port::{Catalog as _, Completion, SalesCapabilities},
    purchase::pricer::{Inquiry, Priced, Pricer},
};

use self::{
    messages::Notes,
    plan::{Plan, Wish},
    quote::Reading,
    shape::{Cart, Found, Outcomes, Told},
};
use super::{Storefront, documents, documents::Document};
use crate::resilience::{Effort, Failure, failure::Reach};

/// How many lines a cart may have: what a query may cost leaves room for no more.
const MOST_LINES: usize = 40;

/// What `cartCreate` answers.
#[derive(Debug, serde::Deserialize)]
struct Created {
    #[serde(default)]
    created: Option<Told>,
}

impl Storefront {
    /// The variables that every operation on carts has, for this buyer.
    fn cart_variables(&self, inquiry: &Inquiry<'_>) -> Map<String, Value> {
        let standing = self.standing();
        let context = standing.in_context(&standing.market.presentation(&inquiry.draft.context.of_catalog()));
        match json!(context) {
            Value::Object(variables) => variables,
            _ => Map::new(),
        }
    }

    fn wish(&self, inquiry: &Inquiry<'_>) -> Wish {
        let presentation = self.market().presentation(&inquiry.draft.context.of_catalog());
        Wish::of(inquiry, presentation.country.as_deref())
    }

    /// A new cart. Lines whose goods the shop does not know are left out, and said so: it would refuse them all.
    async fn create(&self, inquiry: &Inquiry<'_>, wish: &Wish) -> Result<(Option<Cart>, Notes), Failure> {
        let mut notes = Notes::default();
        let mut wish = wish.clone();
        // Once more for what was refused the first time; the rest would be refused as well.
        for _ in 0..2 {
            if wish.lines.is_empty() {
                return Ok((None, notes));
            }
            let mut variables = self.cart_variables(inquiry);
            variables.insert("input".to_owned(), wish.input());
            let reply = self.client().ask::<Created>(
                &documents::CART_CREATE,
                &variables,
                Effort::Write,
                &inquiry.caller.visitor,
            );
            let told = reply.await?.data.and_then(|data| data.created).unwrap_or_default();
            let mut heard = Notes::default();
            heard.hear(&told);
            let refused = heard.refused_lines();
            if told.cart.is_some() || refused.is_empty() {
                notes.hear(&told);
                return Ok((told.cart, notes));
            }
            let mut place = 0;
            let mut left_out = Vec::new();
            wish.lines.retain(|line| {
                place += 1;
                let keep = !refused.contains(&(place - 1));
                if !keep {
                    left_out.push(line.item.clone());
                }
                keep
            });
            notes.leave_out(left_out);
        }
        Ok((None, notes))
    }

    /// The cart of this name as it is; `None` when there is none.
    async fn cart(&self, inquiry: &Inquiry<'_>, reference: &str) -> Result<Option<Cart>, Failure> {
        let mut variables = self.cart_variables(inquiry);
        variables.insert("cart".to_owned(), reference.into());
        let visitor = &inquiry.caller.visitor;
        let reply = self.client().ask::<Found>(&documents::CART, &variables, Effort::Read, visitor).await?;
        Ok(reply.data()?.cart)
    }

    /// Makes changes, and reads what is there then. What is answered is believed only where all of it came back.
    async fn change(
        &self,
        inquiry: &Inquiry<'_>,
        cart: Cart,
        plan: &Plan,
        notes: &mut Notes,
    ) -> Result<Option<Cart>, Failure> {
        if plan.changes.is_empty() {
            return Ok(Some(cart));
        }
        let document: Document = documents::cart_changes(&plan.changes);
        let mut variables = self.cart_variables(inquiry);
        variables.extend(plan.variables.clone());
        variables.insert("cart".to_owned(), cart.id.as_str().into());
        let reply = self.client().ask::<Outcomes>(&document, &variables, Effort::Write, &inquiry.caller.visitor).await;
        let last = match reply {
            Ok(reply) => {
                let complete = reply.errors.is_empty();
                let mut outcomes = reply.data.unwrap_or_default();
                for change in &plan.changes {
                    if let Some(Some(told)) = outcomes.get(change.name()) {
                        notes.hear(told);
                    }
                }
                let last = plan.changes.last().and_then(|change| outcomes.remove(change.name()).flatten());
                last.and_then(|told| told.cart).filter(|_| complete)
            }
            Err(failure) if failure.reach() == Reach::Never => return Err(failure),
            Err(failure) => {
                tracing::warn!(%failure, "nobody knows how far a change of a cart came; it is looked at");
                let content = "The shop did not say whether it made this change; this is what is there now.";
                notes.say(Message::warning("change_uncertain", content));
                None
            }
        };
        match last {
            Some(cart) => Ok(Some(cart)),
            None => self.cart(inquiry, &cart.id).await,
        }
    }

    /// Brings a cart to what is wanted: what is in it, then how it travels, which depends on the first.
    async fn bring(
        &self,
        inquiry: &Inquiry<'_>,
        wish: &Wish,
        cart: Cart,
        notes: &mut Notes,
    ) -> Result<Option<Cart>, Failure> {
        let nothing = std::collections::BTreeMap::new();
        let plan = wish.plan(&cart, inquiry.held.map_or(&nothing, |held| &held.lines));
        let Some(cart) = self.change(inquiry, cart, &plan, notes).await? else { return Ok(None) };
        self.deliver(inquiry, cart, notes).await
    }

    async fn deliver(&self, inquiry: &Inquiry<'_>, cart: Cart, notes: &mut Notes) -> Result<Option<Cart>, Failure> {
        if !inquiry.caller.has(FULFILLMENT) {
            return Ok(Some(cart));
        }
        let plan = cart.deliver(inquiry.draft);
        self.change(inquiry, cart, &plan, notes).await
    }
}

#[async_trait]
impl Pricer for Storefront {
    fn capabilities(&self) -> SalesCapabilities {
        SalesCapabilities { completion: Completion::HandOff, orders: false, extensions: &[FULFILLMENT, DISCOUNT] }
    }

    async fn price(&self, inquiry: Inquiry<'_>) -> Result<Priced, Refusal> {
        if inquiry.draft.line_items.len() > MOST_LINES {
            return Err(Refusal::invalid("$.line_items", "This shop takes no carts with so many lines.")
                .accepting(format!("at most {MOST_LINES} lines; one line can be of several")));
        }
        let wish = self.wish(&inquiry);
        let (cart, notes) = match inquiry.held {
            None => {
                let (cart, mut notes) = self.create(&inquiry, &wish).await?;
                match cart {
                    Some(cart) => (self.deliver(&inquiry, cart, &mut notes).await?, notes),
                    None => (None, notes),
                }
            }
            Some(held) => {
                let mut notes = Notes::default();
                match self.cart(&inquiry, &held.reference).await? {
                    Some(cart) => (self.bring(&inquiry, &wish, cart, &mut notes).await?, notes),
                    // What the shop has given up is made anew: the platform has stated all of it.
                    None => self.create(&inquiry, &wish).await?,
                }
            }
        };
        let reading = Reading { inquiry: &inquiry, wish: &wish, counters: self.client().counters() };
        match cart {
            Some(cart) => Ok(reading.priced(&cart, notes)?),
            None => reading.nothing(notes, &self.market()),
        }
    }

    async fn look(&self, inquiry: Inquiry<'_>) -> Result<Option<Priced>, Refusal> {
        let Some(held) = inquiry.held else { return Ok(None) };
        let Some(cart) = self.cart(&inquiry, &held.reference).await? else { return Ok(None) };
        let wish = self.wish(&inquiry);
        let reading = Reading { inquiry: &inquiry, wish: &wish, counters: self.client().counters() };
        Ok(Some(reading.priced(&cart, Notes::default())?))
    }

    async fn give_up(&self, inquiry: Inquiry<'_>) -> Result<(), Refusal> {
        let Some(held) = inquiry.held else { return Ok(()) };
        let variables = json!({ "cart": held.reference, "lines": held.lines.values().collect::<Vec<_>>() });
        let told =
            self.client().ask::<Outcomes>(&documents::CART_FORGET, &variables, Effort::Write, &inquiry.caller.visitor);
        // One that is gone is given up already.
        let outcomes = told.await?.data.unwrap_or_default();
        let mut notes = Notes::default();
        outcomes.values().flatten().for_each(|told| notes.hear(told));
        if !notes.gone() && !notes.is_empty() {
            tracing::warn!("the shop did not empty a cart that was given up");
        }
        Ok(())
    }
}
