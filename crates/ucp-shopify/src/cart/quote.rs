//! Conversion of the shop's cart to a quote.
//!
//! Totals are computed from their parts, so that they add up whatever the shop states. Parts that are finer than the
//! currency are rounded, each by at most half a minor unit; the resulting difference is added to the largest line. Any
//! other difference from the shop's own total is an entry of its own, and if it exceeds one minor unit per part, the
//! buyer has to review it.

mod delivery;

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap, HashSet},
};

use ucp_core::{
    catalog::market::Market,
    message::{Message, Severity},
    money::{Amount, Currency},
    operation::{DISCOUNT, FULFILLMENT},
    ports::{
        PortError,
        remote_cart::{PriceQuote, PriceRequest},
    },
    purchase::{
        discount::{self, Applied, Discounts},
        fulfillment::MethodKind,
        line_item::{LineItem, PurchasedItem},
        quote::{Purpose, Quote},
        remote_cart_ref::RemoteCartRef,
        totals::{Total, TotalKind, Totals},
    },
};

use self::delivery::undelivered;
use super::{
    messages::Notes,
    plan::Wish,
    shape::{Allocation, Cart, Group, Line},
};
use crate::{money::Money, text};
use ucp_net::{Counters, Failure, Unreadable};

/// Conversion of one cart for one request.
pub(super) struct Reading<'a> {
    request: &'a PriceRequest<'a>,
    wish: &'a Wish,
    counters: &'a Counters,
    /// Number of parts of totals that were rounded.
    rounded: Cell<i128>,
}

/// Cost of a line, in minor units.
struct LineCost {
    price: Amount,
    subtotal: i128,
    /// Discount, zero or negative.
    discount: i128,
}

/// Lines of a cart with the gateway's identifiers, in the order of the answer, and the number of identifiers ever
/// given.
struct Lines<'a> {
    lines: Vec<(String, &'a Line)>,
    ever: u64,
}

impl<'a> Reading<'a> {
    pub(super) fn new(request: &'a PriceRequest<'a>, wish: &'a Wish, counters: &'a Counters) -> Self {
        Self { request, wish, counters, rounded: Cell::new(0) }
    }
}

impl Reading<'_> {
    /// Returns the quote for a cart. Fails with [`Unreadable::Unexpected`] if an amount or a currency of the cart
    /// cannot be read.
    pub(super) fn priced(&self, cart: &Cart, notes: Notes) -> Result<PriceQuote, Failure> {
        let PriceRequest { purpose, draft, caller, remote_cart, .. } = *self.request;
        let currency = cart.cost.total_amount.currency().map_err(|_| self.unexpected("a currency"))?;
        let known = remote_cart.map(|remote_cart| &remote_cart.lines);
        let lines = self.lines(cart, known);
        let mut costs = Vec::with_capacity(lines.lines.len());
        for (_, line) in &lines.lines {
            costs.push(self.line_cost(line, currency)?);
        }
        let groups = cart.groups();
        let charges = self.charges(groups, currency)?;
        let discounts = self.discounts(cart, &lines, currency)?;
        let (totals, review) = self.totals(cart, &mut costs, &charges, currency)?;
        let line_items = lines.lines.iter().zip(&costs).map(|((id, line), cost)| self.line_item(id, line, cost));
        let line_items = line_items.collect::<Result<Vec<_>, _>>()?;

        let pending = notes.pending_delivery();
        let mut messages = notes.about(&lines.lines, Some(cart), self.wish);
        let names: BTreeMap<_, _> = lines.lines.iter().map(|(id, line)| (id.clone(), line.id.clone())).collect();
        let fulfillment = (purpose == Purpose::Checkout && caller.has(FULFILLMENT))
            .then(|| self.fulfillment(cart, groups, &lines, currency))
            .transpose()?
            .flatten();
        let deliverable = !groups.is_empty() && groups.iter().all(|group| group.selected_delivery_option.is_some());
        let shipped = line_items.iter().any(|line| line.item.needs_fulfillment);
        if purpose == Purpose::Checkout && caller.has(FULFILLMENT) && shipped {
            let shown = fulfillment.as_ref().and_then(|fulfillment| fulfillment.methods.first());
            messages.extend(undelivered(cart, shown).into_iter().filter(|_| !pending));
            messages.extend(shown.into_iter().flat_map(|shown| self.not_offered(shown)));
        }
        if purpose == Purpose::Checkout {
            messages.push(
                Message::info("taxes_at_checkout", "Taxes and duties are worked out on the shop's own page.")
                    .at("$.totals"),
            );
        }
        let purchasable = !line_items.is_empty();
        let page = text::address(&cart.checkout_url);
        let mut reviews = Vec::new();
        if purpose == Purpose::Checkout {
            messages.extend(nothing_there(&messages).filter(|_| !purchasable));
            reviews.extend(review);
            if page.is_some() {
                let content = "The shop takes payments on its own page only: the buyer reviews and pays there.";
                reviews.push(Message::error("payment_on_shop_page", content, Severity::RequiresBuyerReview));
            } else {
                self.counters.note("carts without a page to pay on");
                tracing::error!("upstream cart has no usable checkout URL");
                let content = "The shop takes payments on its own page only, and states none that could be opened.";
                messages.push(Message::error("payment_unavailable", content, Severity::Unrecoverable));
            }
        }
        let quote = Quote {
            currency,
            line_items,
            lines_ever: lines.ever,
            totals,
            discounts: caller
                .has(DISCOUNT)
                .then(|| Discounts { codes: draft.codes.clone().unwrap_or_default(), applied: discounts }),
            fulfillment,
            deliverable,
            messages,
            reviews,
        };
        let remote_cart = RemoteCartRef { reference: cart.id.clone(), lines: names, continue_url: page };
        Ok(PriceQuote { quote, purchasable, remote_cart: Some(remote_cart) })
    }

    /// Returns the lines with the gateway's identifiers: those that the platform wants, in its order, then any others.
    /// A line with a quantity of zero is left out.
    fn lines<'a>(&self, cart: &'a Cart, known: Option<&BTreeMap<String, String>>) -> Lines<'a> {
        let nothing = BTreeMap::new();
        let known = known.unwrap_or(&nothing);
        let names: HashMap<&str, &str> = known.iter().map(|(ours, theirs)| (theirs.as_str(), ours.as_str())).collect();
        let nodes = &cart.lines.nodes;
        let there: Vec<_> = nodes.iter().map(|line| (line.id.as_str(), line.merchandise.id.as_str())).collect();
        let targets = self.wish.targets(&there, known);
        let wanted: Vec<_> = targets.iter().filter_map(|target| Some((target.there?, Some(target.wished)))).collect();
        let rest = (0..nodes.len()).filter(|place| !wanted.iter().any(|(own, _)| own == place));
        let order: Vec<_> = wanted.iter().copied().chain(rest.map(|place| (place, None))).collect();
        let order = order.into_iter().filter(|(place, _)| nodes[*place].quantity > 0);

        // A cart that was created anew has other identifiers for the same lines: a line that was wanted by its
        // identifier keeps it, and any other takes one of an earlier line of the same item.
        let previous = &self.request.previous.line_items;
        let held = |id: &str| known.contains_key(id) || previous.iter().any(|line| line.id == id);
        let mut taken: HashSet<&str> = HashSet::new();
        let mut ids: Vec<(usize, Option<usize>, Option<&str>)> =
            order.map(|(place, wished)| (place, wished, names.get(nodes[place].id.as_str()).copied())).collect();
        taken.extend(ids.iter().filter_map(|(.., id)| *id));
        for (_, wished, id) in ids.iter_mut().filter(|(.., id)| id.is_none()) {
            let stated = wished.and_then(|wished| self.wish.lines[wished].id.as_deref());
            *id = stated.filter(|id| held(id) && taken.insert(id));
        }
        for (place, _, id) in ids.iter_mut().filter(|(.., id)| id.is_none()) {
            let item = &nodes[*place].merchandise.id;
            let mut same = previous.iter().filter(|line| line.item.id == *item).map(|line| line.id.as_str());
            *id = same.find(|id| taken.insert(id));
        }
        let mut ever = self.request.previous.lines_ever;
        let name = |(place, _, id): (usize, Option<usize>, Option<&str>)| {
            let id = id.map_or_else(
                || {
                    ever += 1;
                    format!("li_{ever}")
                },
                str::to_owned,
            );
            (id, &nodes[place])
        };
        let lines = ids.into_iter().map(name).collect();
        Lines { lines, ever }
    }

    fn line_cost(&self, line: &Line, currency: Currency) -> Result<LineCost, Failure> {
        let subtotal = self.part(&line.cost.subtotal_amount, currency)?;
        let total = self.part(&line.cost.total_amount, currency)?;
        let price = self.amount(&line.cost.amount_per_quantity, currency)?;
        Ok(LineCost { price, subtotal, discount: (total - subtotal).min(0) })
    }

    fn line_item(&self, id: &str, line: &Line, cost: &LineCost) -> Result<LineItem, Failure> {
        let merchandise = &line.merchandise;
        let too_large = |_| self.unexpected("an amount");
        let mut totals = Totals::of(cost.subtotal).map_err(too_large)?;
        totals.push(TotalKind::ItemsDiscount, None, cost.discount).map_err(too_large)?;
        let product = text::line(&merchandise.product.title).unwrap_or_default();
        let variant = text::line(&merchandise.title).filter(|title| title != "Default Title");
        Ok(LineItem {
            id: id.to_owned(),
            item: PurchasedItem {
                id: merchandise.id.clone(),
                title: variant.map_or_else(|| product.clone(), |variant| format!("{product} – {variant}")),
                price: cost.price,
                image_url: merchandise.image.as_ref().and_then(|image| text::address(&image.url)),
                needs_fulfillment: merchandise.requires_shipping,
                weight_grams: 0,
                lead_time: ucp_core::catalog::product::LeadTime::default(),
            },
            quantity: line.quantity,
            totals: totals.finish().map_err(too_large)?,
            parent_id: None,
        })
    }

    /// Returns the cost of the selected delivery options, with the kind of each.
    fn charges(&self, groups: &[Group], currency: Currency) -> Result<Vec<(MethodKind, i128)>, Failure> {
        let chosen = groups.iter().filter_map(Group::chosen);
        chosen.map(|option| Ok((option.kind(), self.part(&option.estimated_cost, currency)?))).collect()
    }

    /// Returns the totals, and the message for the buyer to review if they differ from the shop's.
    fn totals(
        &self,
        cart: &Cart,
        lines: &mut [LineCost],
        charges: &[(MethodKind, i128)],
        currency: Currency,
    ) -> Result<(Vec<Total>, Option<Message>), Failure> {
        let too_large = |_| self.unexpected("an amount");
        let mut whole = 0;
        let mut off_delivery = 0;
        for allocation in &cart.discount_allocations {
            let amount = self.part(&allocation.discounted_amount, currency)?;
            if allocation.target_type.as_deref() == Some("SHIPPING_LINE") {
                off_delivery += amount;
            } else {
                whole += amount;
            }
        }
        let delivery: i128 = charges.iter().map(|(_, amount)| amount).sum();
        let goods = |lines: &[LineCost]| -> i128 { lines.iter().map(|line| line.subtotal + line.discount).sum() };
        // Discounts never exceed what they apply to.
        let whole = whole.min(goods(lines));
        let off_delivery = off_delivery.min(delivery);
        // A cart is an estimate without delivery.
        let estimate = self.request.purpose == Purpose::Cart;
        let travel = delivery - off_delivery;
        let off = if estimate { whole } else { whole + off_delivery };
        let parts = i128::try_from(lines.len() + charges.len() + cart.discount_allocations.len()).unwrap_or(i128::MAX);
        let stated = self.part(&cart.cost.total_amount, currency)?;
        // The progress of the shop's checkout decides if its total includes delivery; ours includes it unless it is an
        // estimate. The smaller of the two differences counts.
        let other = if estimate { stated - travel } else { stated + travel };
        let sum = goods(lines) - off + if estimate { 0 } else { delivery };
        let mut difference = [stated - sum, other - sum]
            .into_iter()
            .min_by_key(|difference: &i128| difference.abs())
            .unwrap_or_default();
        // A difference from rounding goes to the line where it shows least.
        if 2 * difference.abs() <= self.rounded.get()
            && sum + difference >= 0
            && let Some(largest) = lines.iter_mut().max_by_key(|line| line.subtotal)
            && largest.subtotal + largest.discount + difference >= 0
        {
            largest.subtotal += difference;
            difference = 0;
        }
        let mut totals = Totals::of(lines.iter().map(|line| line.subtotal).sum()).map_err(too_large)?;
        let reduced = lines.iter().map(|line| line.discount).sum();
        totals.push(TotalKind::ItemsDiscount, None, reduced).map_err(too_large)?;
        totals.push(TotalKind::Discount, None, -off).map_err(too_large)?;
        for (kind, text) in [(MethodKind::Shipping, "Shipping"), (MethodKind::Pickup, "Pickup")] {
            let of: Vec<_> = charges.iter().filter(|(own, _)| *own == kind).map(|(_, amount)| *amount).collect();
            if !of.is_empty() && !estimate {
                totals.push(TotalKind::Fulfillment, Some(text.to_owned()), of.iter().sum()).map_err(too_large)?;
            }
        }
        let mut review = None;
        if difference.abs() > parts {
            self.counters.note("cart totals that do not add up");
            let content =
                "The shop's total differs from the sum of what it states; the buyer sees on the shop's page why.";
            review = Some(Message::error("total_differs", content, Severity::RequiresBuyerReview).at("$.totals"));
        }
        let text = || Some("Adjustment by the shop".to_owned());
        match difference {
            0 => {}
            more if more > 0 => totals.push(TotalKind::Fee, text(), more).map_err(too_large)?,
            less => totals.push(TotalKind::Discount, text(), less.max(-totals.sum())).map_err(too_large)?,
        }
        Ok((totals.finish().map_err(too_large)?, review))
    }

    /// Returns the discounts in effect. A code that applies to several lines is one discount with several allocations.
    fn discounts(&self, cart: &Cart, lines: &Lines<'_>, currency: Currency) -> Result<Vec<Applied>, Failure> {
        let mut applied: Vec<Applied> = Vec::new();
        let mut add = |allocation: &Allocation, path: String| -> Result<(), Failure> {
            let amount = self.amount(&allocation.discounted_amount, currency)?;
            if amount == Amount::ZERO {
                return Ok(());
            }
            let code = allocation.code.as_deref().and_then(text::line);
            let title = code.clone().or_else(|| allocation.title.as_deref().and_then(text::line));
            let title = title.unwrap_or_else(|| "Discount".to_owned());
            let part = discount::Allocation { path, amount };
            match applied.iter_mut().find(|own| own.code == code && own.title == title) {
                Some(own) => {
                    let sum = own.amount.minor().saturating_add(amount.minor());
                    own.amount = Amount::new(sum).ok_or_else(|| self.unexpected("an amount"))?;
                    own.allocations.push(part);
                }
                None => {
                    let priority = u32::try_from(applied.len() + 1).unwrap_or(u32::MAX);
                    applied.push(Applied {
                        automatic: code.is_none(),
                        code,
                        title,
                        amount,
                        method: discount::Method::Across,
                        priority,
                        eligibility: None,
                        allocations: vec![part],
                    });
                }
            }
            Ok(())
        };
        for (place, (_, line)) in lines.lines.iter().enumerate() {
            for allocation in &line.discount_allocations {
                add(allocation, format!("$.line_items[{place}]"))?;
            }
        }
        for allocation in &cart.discount_allocations {
            add(allocation, "$.totals[?(@.type == 'discount')]".to_owned())?;
        }
        Ok(applied)
    }

    /// Returns an amount in minor units; an error unless it is in `currency`.
    fn minor(&self, money: &Money, currency: Currency) -> Result<i128, Failure> {
        let minor = money.minor().map_err(|_| self.unexpected("an amount"))?;
        if money.currency() != Ok(currency) {
            return Err(self.unexpected("a currency"));
        }
        if minor.rounded {
            self.counters.note("amounts that were rounded");
        }
        Ok(minor.units)
    }

    /// Returns an amount that is not negative: the API states discounts without a sign.
    fn positive(&self, money: &Money, currency: Currency) -> Result<i128, Failure> {
        self.amount(money, currency).map(|amount| amount.minor().into())
    }

    /// Does the same as [`positive`](Self::positive) for a part of the totals, counting it if it was rounded.
    fn part(&self, money: &Money, currency: Currency) -> Result<i128, Failure> {
        let rounded = money.minor().is_ok_and(|minor| minor.rounded);
        self.rounded.set(self.rounded.get() + i128::from(rounded));
        self.positive(money, currency)
    }

    fn amount(&self, money: &Money, currency: Currency) -> Result<Amount, Failure> {
        let minor = i64::try_from(self.minor(money, currency)?).ok();
        minor.and_then(Amount::new).ok_or_else(|| self.unexpected("an amount"))
    }

    fn unexpected(&self, what: &'static str) -> Failure {
        self.counters.note("answers of an unexpected form");
        tracing::error!(what, "unreadable member of an upstream cart");
        Failure::Unreadable(Unreadable::Unexpected)
    }
}

/// Returns the message that there is nothing to buy, unless an error already prevents the purchase.
fn nothing_there(messages: &[Message]) -> Option<Message> {
    let kept = messages.iter().any(|message| matches!(message, Message::Error { .. }));
    let nothing = || Message::error("item_unavailable", "There is nothing to buy.", Severity::Recoverable);
    (!kept).then(|| nothing().at("$.line_items"))
}

impl Reading<'_> {
    /// Returns the quote without a cart, for a draft with nothing that can be bought. Fails with [`PortError`] if the
    /// totals are out of range, which those of an empty cart never are.
    pub(super) fn nothing(&self, notes: Notes, market: &Market) -> Result<PriceQuote, PortError> {
        let PriceRequest { purpose, draft, caller, .. } = *self.request;
        let mut messages = notes.about(&[], None, self.wish);
        if purpose == Purpose::Checkout {
            messages.extend(nothing_there(&messages));
        }
        let quote = Quote {
            currency: market.currency,
            line_items: Vec::new(),
            lines_ever: self.request.previous.lines_ever,
            totals: Totals::of(0).and_then(Totals::finish).map_err(|_| PortError::internal())?,
            discounts: caller
                .has(DISCOUNT)
                .then(|| Discounts { codes: draft.codes.clone().unwrap_or_default(), applied: Vec::new() }),
            fulfillment: None,
            deliverable: false,
            messages,
            reviews: Vec::new(),
        };
        Ok(PriceQuote { quote, purchasable: false, remote_cart: None })
    }
}

#[cfg(test)]
mod tests;
