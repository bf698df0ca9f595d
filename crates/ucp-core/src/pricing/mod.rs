//! Pricing engine: calculates the price of a draft on the shop's terms.
//!
//! A pure function of its arguments: the same draft, facts, terms, negotiated capabilities and previous answer give the
//! same quote, to the byte (rule CHK-01).
//!
//! | module | content |
//! | :-- | :-- |
//! | `lines` | lines of a draft and their identifiers |
//! | `discounts` | selection, order and allocation of discounts |
//! | `credits` | gift cards and store credit |
//! | `eligibility` | claims of buyers to benefits |
//! | `delivery` | fulfillment methods: their lines, and what is missing |
//! | `destination` | destinations of a method, and the choice among them |
//! | `option` | delivery options of a group and their prices |
//! | `pickup` | pickup places, and the stock that they have |
//! | `tax` | taxes |
//! | [`terms`] | the shop's terms: taxes, fees, discounts, deliveries, links, lifetimes |

mod credits;
mod delivery;
mod destination;
mod discounts;
mod eligibility;
mod lines;
mod option;
mod pickup;
mod tax;
pub mod terms;

use self::{
    delivery::{Delivery, Scene, deliver},
    discounts::{Reduced, reduce},
    lines::{Line, Lines},
    tax::Base,
    terms::{BuyerField, CountryRegion, Fee, PercentOrAmount, Terms, is_email},
};
use crate::{
    Refusal,
    message::{Message, Severity},
    money::MAX_AMOUNT,
    operation::DISCOUNT,
    ports::caller::Caller,
    purchase::{
        discount::Discounts,
        draft::Draft,
        fulfillment::MethodKind,
        line_item::{LineItem, PurchasedItem},
        quote::{Facts, Previous, Purpose, Quote},
        totals::{TooLarge, Total, TotalKind, Totals, amount_of},
    },
};

/// Prices a draft on the shop's terms.
///
/// The steps are: lines and stock, discounts, delivery, fees, taxes, credits. All problems are reported at once. Fails
/// with [`InvalidRequest`](crate::Code::InvalidRequest) for a draft that cannot be priced: a line, method or group that
/// does not exist, a quantity out of range, an ambiguous identifier, an unknown kind of method, or a sum beyond
/// [`MAX_AMOUNT`].
pub fn quote(
    purpose: Purpose,
    draft: &Draft,
    facts: &Facts,
    terms: &Terms,
    caller: &Caller,
    previous: &Previous,
) -> Result<Quote, Refusal> {
    let mut messages = Vec::new();
    let lines = Lines::of(draft, facts, previous, &mut messages)?;
    let subtotal: i128 = lines.priced.iter().map(|line| line.subtotal).sum();
    // Checked before anything is multiplied with it.
    let mut totals = Totals::of(subtotal).map_err(|_| too_large("$.line_items"))?;

    let negotiated = caller.has(DISCOUNT);
    let reduced = reduce(&lines.priced, draft, facts, terms, negotiated, &mut messages);
    messages.extend(eligibility::assess(purpose, draft, terms, &reduced.granted));

    let scene = Scene { draft, facts, terms, caller, previous, lines: &lines, left: &reduced.left };
    let delivery = match purpose {
        Purpose::Cart => Delivery { places: vec![None; lines.priced.len()], ..Delivery::default() },
        Purpose::Checkout => deliver(scene, &mut messages)?,
    };
    let bill = Bill { purpose, draft, facts, terms, reduced: &reduced, delivery: &delivery };
    bill.add_up(&mut totals, &mut messages).map_err(|TooLarge| too_large("$.line_items"))?;
    let codes = draft.codes.as_deref().filter(|_| negotiated).unwrap_or_default();
    credits::subtract(facts, codes, &mut totals, &mut messages).map_err(|TooLarge| too_large("$.line_items"))?;
    let totals = totals.finish().map_err(|TooLarge| too_large("$.line_items"))?;
    let reviews = match purpose {
        Purpose::Cart => Vec::new(),
        Purpose::Checkout => reviews(&lines.priced, &totals, facts, terms),
    };

    let line_items = lines
        .priced
        .iter()
        .zip(&reduced.lines)
        .map(|(line, discount)| line_item(line, *discount))
        .collect::<Result<_, TooLarge>>()
        .map_err(|TooLarge| too_large("$.line_items"))?;
    let discounts =
        negotiated.then(|| Discounts { codes: draft.codes.clone().unwrap_or_default(), applied: reduced.applied });
    Ok(Quote {
        currency: facts.currency,
        line_items,
        lines_ever: lines.ever,
        totals,
        discounts,
        fulfillment: delivery.fulfillment,
        deliverable: delivery.deliverable,
        messages,
        reviews,
    })
}

/// Returns an error with a path for each required member of the buyer that is missing or invalid. They prevent the
/// completion of a checkout like the errors of a [`Quote`].
pub fn missing(draft: &Draft, terms: &Terms) -> Vec<Message> {
    let buyer = draft.buyer.as_ref();
    let mut messages = Vec::new();
    for field in &terms.required {
        let (name, value) = match field {
            BuyerField::FirstName => ("first_name", buyer.and_then(|buyer| buyer.first_name.as_deref())),
            BuyerField::LastName => ("last_name", buyer.and_then(|buyer| buyer.last_name.as_deref())),
            BuyerField::Email => ("email", buyer.and_then(|buyer| buyer.email.as_deref())),
            BuyerField::PhoneNumber => ("phone_number", buyer.and_then(|buyer| buyer.phone_number.as_deref())),
        };
        let (code, content) = match value.map(str::trim) {
            None | Some("") => ("field_required", format!("The buyer's `{name}` is needed.")),
            Some(email) if *field == BuyerField::Email && !is_email(email) => {
                ("field_invalid", "The buyer's `email` must be an email address.".to_owned())
            }
            Some(_) => continue,
        };
        messages.push(Message::error(code, content, Severity::Recoverable).at(format!("$.buyer.{name}")));
    }
    messages
}

/// Returns the reasons for which the buyer has to review a purchase: one for each rule that applies.
fn reviews(lines: &[Line<'_>], totals: &[Total], facts: &Facts, terms: &Terms) -> Vec<Message> {
    let total = amount_of(totals, TotalKind::Total);
    let met = terms.reviews.iter().filter_map(|review| {
        let threshold = review.min_total.as_ref().map(|amounts| {
            let least = amounts.in_currency(facts.currency, facts.own_currency);
            least.is_none_or(|least| total >= least.minor())
        });
        let line = lines.iter().position(|line| line.is_one_of(&review.items));
        if threshold == Some(false) || (line.is_none() && !review.items.is_empty()) {
            return None;
        }
        let place = line.map_or_else(|| "$.totals".to_owned(), |position| format!("$.line_items[{position}]"));
        Some(Message::error(&*review.code, &*review.reason, Severity::RequiresBuyerReview).at(place))
    });
    met.collect()
}

/// The parts of a purchase that are added up to its totals.
struct Bill<'a> {
    purpose: Purpose,
    draft: &'a Draft,
    facts: &'a Facts,
    terms: &'a Terms,
    reduced: &'a Reduced,
    delivery: &'a Delivery,
}

impl Bill<'_> {
    fn add_up(&self, totals: &mut Totals, messages: &mut Vec<Message>) -> Result<(), TooLarge> {
        let Self { reduced, delivery, .. } = self;
        totals.push(TotalKind::ItemsDiscount, None, -reduced.lines.iter().sum::<i128>())?;
        totals.push(TotalKind::Discount, None, -reduced.order)?;
        for (kind, text) in [(MethodKind::Shipping, "Shipping"), (MethodKind::Pickup, "Pickup")] {
            let mut charges = delivery.charges.iter().filter(|charge| charge.kind == kind).peekable();
            if charges.peek().is_some() {
                let sum = charges.map(|charge| charge.amount).sum();
                totals.push(TotalKind::Fulfillment, Some(text.to_owned()), sum)?;
            }
        }
        let elsewhere = self.elsewhere();
        let place = |place: &'_ Option<CountryRegion>| place.clone().or_else(|| elsewhere.clone());
        let mut places: Vec<Option<CountryRegion>> = delivery.places.iter().map(place).collect();
        let mut amounts = reduced.left.clone();
        if self.terms.tax.shipping {
            places.extend(delivery.charges.iter().map(|charge| place(&charge.place)));
            amounts.extend(delivery.charges.iter().map(|charge| charge.amount));
        }
        // Charges on the whole purchase are located where the first of its delivered goods goes.
        let whole = delivery.places.iter().flatten().next().cloned().or(elsewhere);
        for fee in &self.terms.fees {
            let Some(amount) = self.fee(fee, whole.as_ref()) else { continue };
            totals.push(TotalKind::Fee, Some(fee.title.clone()), amount)?;
            if fee.taxed {
                places.push(whole.clone());
                amounts.push(amount);
            }
        }
        let bases: Vec<Base<'_>> =
            places.iter().zip(amounts).map(|(place, amount)| Base { place: place.as_ref(), amount }).collect();
        for due in tax::due(&self.terms.tax, &bases) {
            let title = due.rate.title.clone();
            if due.rate.included {
                // An entry of the totals would be added to the sum (rule TOT-03).
                let amount = self.facts.currency.amount(due.amount);
                let content = format!("{amount} of {title} ({}) are included in the total.", due.rate.percent);
                messages.push(Message::info("tax_included", content).at("$.totals"));
            } else {
                totals.push(TotalKind::Tax, Some(title), due.amount)?;
            }
        }
        for (title, amount) in &self.facts.taxes {
            totals.push(TotalKind::Tax, Some(title.clone()), amount.minor().into())?;
        }
        Ok(())
    }

    /// Returns the place of taxation of goods without a destination.
    fn elsewhere(&self) -> Option<CountryRegion> {
        let stated = self.draft.context.country.as_ref().map(|country| CountryRegion {
            country: country.trim().to_ascii_uppercase(),
            region: self.draft.context.region.clone(),
        });
        match self.purpose {
            Purpose::Cart => stated,
            Purpose::Checkout => stated.or_else(|| self.terms.tax.fallback.clone()),
        }
    }

    /// Returns the amount of a fee if it is due. No fee is due on an empty purchase.
    fn fee(&self, fee: &Fee, place: Option<&CountryRegion>) -> Option<i128> {
        let here = |country: &String| place.is_some_and(|place| place.country.eq_ignore_ascii_case(country));
        if self.reduced.left.is_empty() || !(fee.countries.is_empty() || fee.countries.iter().any(here)) {
            return None;
        }
        match &fee.charge {
            PercentOrAmount::Percent(percent) => Some(percent.of(self.reduced.left.iter().sum())),
            PercentOrAmount::Fixed(amounts) => amounts
                .in_currency(self.facts.currency, self.facts.own_currency)
                .map(|amount| i128::from(amount.minor())),
        }
    }
}

fn line_item(line: &Line<'_>, discount: i128) -> Result<LineItem, TooLarge> {
    let mut totals = Totals::of(line.subtotal)?;
    totals.push(TotalKind::ItemsDiscount, None, -discount)?;
    Ok(LineItem {
        id: line.id.clone(),
        item: PurchasedItem {
            id: line.good.id.clone(),
            title: line.good.title.clone(),
            price: line.good.price,
            image_url: line.good.image_url.clone(),
            needs_fulfillment: line.good.needs_fulfillment,
            weight_grams: line.good.weight_grams,
            lead_time: line.good.lead_time,
        },
        quantity: line.quantity,
        totals: totals.finish()?,
        parent_id: line.parent_id.clone(),
    })
}

/// Returns the refusal of a price beyond [`MAX_AMOUNT`].
pub(crate) fn too_large(path: &str) -> Refusal {
    Refusal::invalid(path, "The total exceeds the maximum that can be charged at once.")
        .accepting(format!("goods that cost at most {MAX_AMOUNT} minor units altogether"))
}

#[cfg(test)]
pub(crate) mod tests;
