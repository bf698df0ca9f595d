//! What the shop's cart costs, in the domain's words.
//!
//! Totals are made of their parts, so that they add up whatever the shop states; what the shop's own total has beyond them
//! is an entry of its own. Rounding decimals can be off by as many minor units as there are parts; beyond that the buyer has
//! to look at it.

use std::collections::BTreeMap;

use ucp_core::{
    Refusal,
    catalog::market::Market,
    message::{Message, Severity},
    money::{Amount, Currency},
    operation::{DISCOUNT, FULFILLMENT},
    purchase::{
        buyer::PostalAddress,
        discount::{self, Applied, Discounts},
        fulfillment::{self, AvailableMethod, Fulfillment, Method, MethodKind},
        line_item::{Item, LineItem},
        pricer::{Held, Inquiry, Priced},
        pricing::{Purpose, Quote},
        totals::{Total, TotalKind, Totals},
    },
};

use super::{
    messages::Notes,
    plan::{Wish, destination_id, group_id},
    shape::{Allocation, Cart, DeliveryOption, Group, Line},
};
use crate::{
    resilience::{Counters, Failure, Unreadable},
    storefront::{money::Money, text},
};

/// A cart as it is, for whoever asked.
pub(super) struct Reading<'a> {
    pub(super) inquiry: &'a Inquiry<'a>,
    pub(super) wish: &'a Wish,
    pub(super) counters: &'a Counters,
}

/// The lines of a cart by our names, in the order in which they are answered.
struct Lines<'a> {
    lines: Vec<(String, &'a Line)>,
    ever: u64,
}

impl Reading<'_> {
    /// What a cart costs.
    ///
    /// # Errors
    /// [`Unreadable::Unexpected`] where an amount is none.
    pub(super) fn priced(&self, cart: &Cart, notes: Notes) -> Result<Priced, Failure> {
        let Inquiry { purpose, draft, caller, held, .. } = *self.inquiry;
        let currency = cart.cost.total_amount.currency().map_err(|_| self.unexpected("a currency"))?;
        let known = held.map(|held| &held.lines);
        let lines = self.lines(cart, known);
        let mut line_items = Vec::with_capacity(lines.lines.len());
        for (id, line) in &lines.lines {
            line_items.push(self.line_item(id, line, currency)?);
        }
        let groups = cart.delivery_groups.as_ref().map(|groups| groups.nodes.as_slice()).unwrap_or_default();
        let charges = self.charges(groups, currency)?;
        let discounts = self.discounts(cart, &lines, currency)?;
        let (totals, review) = self.totals(cart, &line_items, &charges, currency)?;

        let mut messages = notes.about(&lines.lines, &self.wish.lines);
        let names: BTreeMap<_, _> = lines.lines.iter().map(|(id, line)| (id.clone(), line.id.clone())).collect();
        let fulfillment = (purpose == Purpose::Checkout && caller.has(FULFILLMENT))
            .then(|| self.fulfillment(cart, groups, &lines, currency))
            .transpose()?
            .flatten();
        let deliverable = !groups.is_empty() && groups.iter().all(|group| group.selected_delivery_option.is_some());
        let shipped = line_items.iter().any(|line| line.item.needs_fulfillment);
        if purpose == Purpose::Checkout && caller.has(FULFILLMENT) && shipped {
            messages.extend(undelivered(cart, groups));
        }
        if purpose == Purpose::Checkout {
            messages.push(
                Message::info("taxes_at_checkout", "Taxes and duties are worked out on the shop's own page.")
                    .at("$.totals"),
            );
        }
        let mut reviews = Vec::new();
        if purpose == Purpose::Checkout {
            reviews.extend(review);
            let content = "The shop takes payments on its own page only: the buyer reviews and pays there.";
            reviews.push(Message::error("payment_on_shop_page", content, Severity::RequiresBuyerReview));
        }
        let purchasable = !line_items.is_empty();
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
        let held = Held { reference: cart.id.clone(), lines: names, continue_url: text::address(&cart.checkout_url) };
        Ok(Priced { quote, purchasable, held: Some(held) })
    }

    /// Lines by our names: those the platform wants, in its order, then what else is there. A line that is there with a
    /// quantity of nothing is not there.
    fn lines<'a>(&self, cart: &'a Cart, known: Option<&BTreeMap<String, String>>) -> Lines<'a> {
        let nothing = BTreeMap::new();
        let known = known.unwrap_or(&nothing);
        let names: BTreeMap<&str, &str> = known.iter().map(|(ours, theirs)| (theirs.as_str(), ours.as_str())).collect();
        let wanted = self.wish.matched(cart, known);
        let rest = (0..cart.lines.nodes.len()).filter(|place| !wanted.contains(&Some(*place)));
        let order: Vec<_> = wanted.iter().copied().flatten().chain(rest).collect();
        let mut ever = self.inquiry.previous.lines_ever;
        let mut lines = Vec::with_capacity(order.len());
        for place in order {
            let line = &cart.lines.nodes[place];
            if line.quantity == 0 {
                continue;
            }
            let id = match names.get(line.id.as_str()) {
                Some(id) => (*id).to_owned(),
                None => {
                    ever += 1;
                    format!("li_{ever}")
                }
            };
            lines.push((id, line));
        }
        Lines { lines, ever }
    }

    fn line_item(&self, id: &str, line: &Line, currency: Currency) -> Result<LineItem, Failure> {
        let merchandise = &line.merchandise;
        let subtotal = self.minor(&line.cost.subtotal_amount, currency)?;
        let total = self.minor(&line.cost.total_amount, currency)?;
        let mut totals = Totals::of(subtotal).map_err(|_| self.unexpected("an amount"))?;
        totals
            .push(TotalKind::ItemsDiscount, None, (total - subtotal).min(0))
            .map_err(|_| self.unexpected("an amount"))?;
        let product = text::line(&merchandise.product.title).unwrap_or_default();
        let variant = text::line(&merchandise.title).filter(|title| title != "Default Title");
        Ok(LineItem {
            id: id.to_owned(),
            item: Item {
                id: merchandise.id.clone(),
                title: variant.map_or_else(|| product.clone(), |variant| format!("{product} – {variant}")),
                price: self.amount(&line.cost.amount_per_quantity, currency)?,
                image_url: merchandise.image.as_ref().and_then(|image| text::address(&image.url)),
                needs_fulfillment: merchandise.requires_shipping,
                weight_grams: 0,
            },
            quantity: line.quantity,
            totals: totals.finish().map_err(|_| self.unexpected("an amount"))?,
            parent_id: None,
        })
    }

    /// What the chosen ways to travel cost, with the kind of each.
    fn charges(&self, groups: &[Group], currency: Currency) -> Result<Vec<(MethodKind, i128)>, Failure> {
        let chosen = groups.iter().filter_map(|group| {
            let handle = &group.selected_delivery_option.as_ref()?.handle;
            group.delivery_options.iter().find(|option| option.handle == *handle)
        });
        chosen.map(|option| Ok((kind(option), self.minor(&option.estimated_cost, currency)?))).collect()
    }

    /// The totals, and why the buyer has to look at them.
    fn totals(
        &self,
        cart: &Cart,
        lines: &[LineItem],
        charges: &[(MethodKind, i128)],
        currency: Currency,
    ) -> Result<(Vec<Total>, Option<Message>), Failure> {
        let sum = |kind: TotalKind| -> i128 {
            let of = |line: &LineItem| -> i128 {
                line.totals.iter().filter(|total| total.kind == kind).map(|total| i128::from(total.amount)).sum()
            };
            lines.iter().map(of).sum()
        };
        let too_large = |_| self.unexpected("an amount");
        let mut whole = 0;
        let mut off_delivery = 0;
        for allocation in &cart.discount_allocations {
            let amount = self.minor(&allocation.discounted_amount, currency)?;
            if allocation.target_type.as_deref() == Some("SHIPPING_LINE") {
                off_delivery += amount;
            } else {
                whole += amount;
            }
        }
        let mut totals = Totals::of(sum(TotalKind::Subtotal)).map_err(too_large)?;
        totals.push(TotalKind::ItemsDiscount, None, sum(TotalKind::ItemsDiscount)).map_err(too_large)?;
        let delivery: i128 = charges.iter().map(|(_, amount)| amount).sum();
        // What is taken off never takes more than there is.
        let whole = whole.min(totals.sum()).max(0);
        let off_delivery = off_delivery.min(delivery).max(0);
        // A cart is an estimate without delivery.
        let estimate = self.inquiry.purpose == Purpose::Cart;
        let off = if estimate { whole } else { whole + off_delivery };
        totals.push(TotalKind::Discount, None, -off).map_err(too_large)?;
        for (kind, text) in [(MethodKind::Shipping, "Shipping"), (MethodKind::Pickup, "Pickup")] {
            let of: Vec<_> = charges.iter().filter(|(own, _)| *own == kind).map(|(_, amount)| *amount).collect();
            if !of.is_empty() && !estimate {
                totals.push(TotalKind::Fulfillment, Some(text.to_owned()), of.iter().sum()).map_err(too_large)?;
            }
        }
        let parts = i128::try_from(lines.len() + charges.len() + cart.discount_allocations.len()).unwrap_or(i128::MAX);
        let stated = self.minor(&cart.cost.total_amount, currency)?;
        // Whether the shop's total has the delivery in it depends on how far its checkout is; ours has it once there is one.
        let travel = delivery - off_delivery;
        let other = if estimate { stated - travel } else { stated + travel };
        let difference = [stated - totals.sum(), other - totals.sum()]
            .into_iter()
            .min_by_key(|difference: &i128| difference.abs())
            .unwrap_or_default();
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

    /// The discounts in effect. A code that takes from several lines is one discount with several parts.
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

    /// How the goods reach the buyer: as the platform wants it, as far as the shop offers it.
    fn fulfillment(
        &self,
        cart: &Cart,
        groups: &[Group],
        lines: &Lines<'_>,
        currency: Currency,
    ) -> Result<Option<Fulfillment>, Failure> {
        let draft = self.inquiry.draft.fulfillment.as_ref();
        let shipped: Vec<_> = lines
            .lines
            .iter()
            .filter(|(_, line)| line.merchandise.requires_shipping)
            .map(|(id, _)| id.clone())
            .collect();
        if shipped.is_empty() {
            return Ok(None);
        }
        let stated = draft.and_then(|draft| draft.methods.first());
        let wanted = match stated.and_then(|method| method.kind.as_deref()) {
            Some("pickup") => MethodKind::Pickup,
            _ => MethodKind::Shipping,
        };
        let offers = |wanted: MethodKind| {
            groups.iter().any(|group| group.delivery_options.iter().any(|option| kind(option) == wanted))
        };
        let mut destinations = Vec::new();
        let mut selected = None;
        match wanted {
            MethodKind::Shipping => {
                for (place, destination) in stated.into_iter().flat_map(|method| &method.destinations).enumerate() {
                    destinations.push(fulfillment::Destination {
                        id: destination_id(place, destination.id.as_deref()),
                        name: None,
                        address: destination.address.clone(),
                        stored: false,
                    });
                }
                if cart.address().is_some() {
                    let chosen = stated.and_then(|method| method.selected_destination_id.clone());
                    selected = chosen.or_else(|| destinations.first().map(|destination| destination.id.clone()));
                }
            }
            MethodKind::Pickup => {
                let places = groups.iter().flat_map(|group| &group.delivery_options);
                for option in places.filter(|option| kind(option) == MethodKind::Pickup) {
                    destinations.push(fulfillment::Destination {
                        id: option.handle.clone(),
                        name: option.title.as_deref().and_then(text::line),
                        address: PostalAddress::default(),
                        stored: false,
                    });
                }
                let handle = groups.iter().find_map(|group| group.selected_delivery_option.as_ref());
                selected = handle.map(|option| option.handle.clone());
                selected = selected.filter(|id| destinations.iter().any(|destination| destination.id == *id));
            }
        }
        let names: BTreeMap<&str, &str> =
            lines.lines.iter().map(|(id, line)| (line.id.as_str(), id.as_str())).collect();
        let mut own = Vec::with_capacity(groups.len());
        for (place, group) in groups.iter().enumerate() {
            let mut options = Vec::new();
            for option in group.delivery_options.iter().filter(|option| kind(option) == wanted) {
                options.push(self.option(option, currency)?);
            }
            let chosen = group.selected_delivery_option.as_ref().map(|option| option.handle.clone());
            own.push(fulfillment::Group {
                id: group_id(place),
                line_item_ids: group
                    .cart_lines
                    .nodes
                    .iter()
                    .filter_map(|line| names.get(line.id.as_str()).map(|id| (*id).to_owned()))
                    .collect(),
                selected_option_id: chosen.filter(|id| options.iter().any(|option| option.id == *id)),
                options,
            });
        }
        own.retain(|group| !group.options.is_empty() && !group.line_item_ids.is_empty());
        let available = [MethodKind::Shipping, MethodKind::Pickup].into_iter().filter(|kind| offers(*kind));
        let available_methods = available.map(|kind| AvailableMethod {
            kind,
            line_item_ids: shipped.clone(),
            fulfillable_on: None,
            description: None,
        });
        let available_methods = available_methods.collect();
        let method = Method {
            id: stated.and_then(|method| method.id.clone()).unwrap_or_else(|| format!("{}_1", wanted.as_str())),
            kind: wanted,
            line_item_ids: shipped,
            destinations,
            selected_destination_id: selected,
            groups: own,
        };
        Ok(Some(Fulfillment { methods: vec![method], available_methods }))
    }

    fn option(&self, option: &DeliveryOption, currency: Currency) -> Result<fulfillment::DeliveryOption, Failure> {
        let too_large = |_| self.unexpected("an amount");
        let totals = Totals::of(self.minor(&option.estimated_cost, currency)?).map_err(too_large)?;
        let title = option.title.as_deref().and_then(text::line);
        let description = option.description.as_deref().and_then(text::plain);
        Ok(fulfillment::DeliveryOption {
            id: option.handle.clone(),
            description: description.filter(|description| Some(description) != title.as_ref()),
            title: title.unwrap_or_else(|| kind(option).as_str().to_owned()),
            carrier: None,
            earliest: None,
            latest: None,
            totals: totals.finish().map_err(too_large)?,
        })
    }

    /// An amount in minor units, which has to be in the currency of the cart.
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

    fn amount(&self, money: &Money, currency: Currency) -> Result<Amount, Failure> {
        let minor = i64::try_from(self.minor(money, currency)?).ok();
        minor.and_then(Amount::new).ok_or_else(|| self.unexpected("an amount"))
    }

    fn unexpected(&self, what: &'static str) -> Failure {
        self.counters.note("answers of an unexpected form");
        tracing::error!(what, "the shop's cart has something in it that is none");
        Failure::Unreadable(Unreadable::Unexpected)
    }
}

/// Whether goods are sent or picked up.
fn kind(option: &DeliveryOption) -> MethodKind {
    match option.delivery_method_type.as_deref() {
        Some("PICK_UP" | "PICKUP_POINT" | "RETAIL") => MethodKind::Pickup,
        _ => MethodKind::Shipping,
    }
}

/// What is missing for goods to be sent.
fn undelivered(cart: &Cart, groups: &[Group]) -> Vec<Message> {
    let required =
        |content: &str, path: &str| Message::error("fulfillment_required", content, Severity::Recoverable).at(path);
    if groups.is_empty() {
        return vec![match cart.address() {
            None => required("State where the goods are to go.", "$.fulfillment.methods"),
            Some(_) => {
                let content = "The shop does not deliver these goods to this address.";
                let path = "$.fulfillment.methods[0].destinations";
                Message::error("address_undeliverable", content, Severity::Recoverable).at(path)
            }
        }];
    }
    let missing = groups.iter().enumerate().filter(|(_, group)| group.selected_delivery_option.is_none());
    let choose = |(place, _)| {
        required(
            "Choose how the goods travel.",
            &format!("$.fulfillment.methods[0].groups[{place}].selected_option_id"),
        )
    };
    missing.map(choose).collect()
}

impl Reading<'_> {
    /// That there is no cart, because nothing of what is wanted can be bought.
    ///
    /// # Errors
    /// Why there is none, where that is not the reason.
    pub(super) fn nothing(&self, notes: Notes, market: &Market) -> Result<Priced, Refusal> {
        if !notes.leaves_out() {
            return Err(notes.refusal());
        }
        let quote = Quote {
            currency: market.currency,
            line_items: Vec::new(),
            lines_ever: self.inquiry.previous.lines_ever,
            totals: Vec::new(),
            discounts: None,
            fulfillment: None,
            deliverable: false,
            messages: notes.about(&[], &[]),
            reviews: Vec::new(),
        };
        Ok(Priced { quote, purchasable: false, held: None })
    }
}
