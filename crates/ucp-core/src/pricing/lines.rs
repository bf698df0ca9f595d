//! Lines of a draft and their identifiers (trap T-48).
//!
//! A line keeps its identifier as long as it exists: lines are recognized by the identifier that the platform states,
//! otherwise by the item that they name, as far as that is unambiguous. New identifiers come from a counter that only
//! grows, so that none is ever reused for another line.

use std::collections::{HashMap, HashSet};

use crate::{
    Refusal,
    message::{Message, Severity},
    purchase::{
        draft::Draft,
        line_item::MAX_QUANTITY,
        quote::{Choice, Facts, ItemFacts, NamedItem, Previous, ProblemKind},
    },
};

/// A line that can be priced.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) id: String,
    pub(crate) good: &'a ItemFacts,
    /// Quantity after the cut to the stock; unchanged if the item is out of stock.
    pub(crate) quantity: u64,
    /// Identifier of the line that this one belongs to.
    pub(crate) parent_id: Option<String>,
    /// Price before discounts and taxes, in minor units.
    pub(crate) subtotal: i128,
}

impl Line<'_> {
    /// Returns `true` if `ids` contains the identifier of the variant or of its product.
    pub(crate) fn is_one_of(&self, ids: &[String]) -> bool {
        ids.iter().any(|id| *id == self.good.id || *id == self.good.product_id)
    }
}

/// Lines of a draft.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    /// Lines that can be priced, in the order of the draft.
    pub(crate) priced: Vec<Line<'a>>,
    /// Number of line identifiers assigned so far.
    pub(crate) ever: u64,
    names: HashMap<String, Named>,
}

/// Meaning of a line reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A line, by its position in [`Lines::priced`].
    Line(usize),
    /// A former line, or a line whose item cannot be bought at the moment.
    Gone,
    /// Nothing that the shop knows.
    Unknown,
}

/// A line of the draft that names an item the shop knows.
struct KnownLine<'a> {
    stated: usize,
    good: &'a ItemFacts,
    id: Option<String>,
}

impl<'a> Lines<'a> {
    /// Identifies and prices the lines of a draft. Adds a message for each item that cannot be bought, or not in that
    /// quantity. Fails with [`InvalidRequest`](crate::Code::InvalidRequest) for a quantity out of range, two lines with
    /// the same identifier, an unknown parent, or a line that belongs to itself.
    pub(crate) fn of(
        draft: &'a Draft,
        facts: &'a Facts,
        previous: &'a Previous,
        messages: &mut Vec<Message>,
    ) -> Result<Self, Refusal> {
        let mut stated = HashSet::new();
        let mut known = Vec::with_capacity(draft.line_items.len());
        for (position, line) in draft.line_items.iter().enumerate() {
            let at = |member: &str| format!("$.line_items[{position}].{member}");
            if !(1..=MAX_QUANTITY).contains(&line.quantity) {
                return Err(Refusal::invalid(at("quantity"), format!("Invalid quantity: {}.", line.quantity))
                    .accepting(format!("a whole number from 1 to {MAX_QUANTITY}")));
            }
            if let Some(id) = &line.id
                && !stated.insert(id.as_str())
            {
                return Err(Refusal::invalid(at("id"), format!("Two line items have the id `{id}`."))
                    .accepting("an id of its own for each line; new lines have none"));
            }
            let content = match facts.goods.get(position) {
                Some(NamedItem::One(good)) => {
                    known.push(KnownLine { stated: position, good, id: None });
                    continue;
                }
                Some(NamedItem::Several(choice)) => ambiguous(&line.item, choice),
                Some(NamedItem::Nothing) | None => format!("`{}` is not sold here.", line.item),
            };
            messages.push(Message::error("item_unavailable", content, Severity::Recoverable).at("$.line_items"));
        }
        let ever = identify(&mut known, draft, previous, &stated);
        let names = names(&known, draft, previous);
        let mut lines = Self { priced: Vec::with_capacity(known.len()), ever, names };
        lines.count(known, draft, messages);
        lines.relate(draft, facts)?;
        Ok(lines)
    }

    /// Resolves a line reference: the identifier of a line, the one that the platform stated for it, or the identifier
    /// of an item that only one line has.
    pub(crate) fn named(&self, id: &str) -> Named {
        match self.names.get(id) {
            Some(named) => *named,
            None => {
                let number = id.strip_prefix("li_").and_then(|number| number.parse::<u64>().ok());
                if number.is_some_and(|number| number <= self.ever) { Named::Gone } else { Named::Unknown }
            }
        }
    }

    /// Cuts quantities to the stock, which lines of the same variant share.
    fn count(&mut self, known: Vec<KnownLine<'a>>, draft: &Draft, messages: &mut Vec<Message>) {
        let mut left: HashMap<&str, u64> = HashMap::new();
        for (position, KnownLine { stated, good, id }) in known.into_iter().enumerate() {
            let mut quantity = draft.line_items[stated].quantity;
            let path = format!("$.line_items[{position}]");
            let item = &draft.line_items[stated].item;
            if *item != good.id {
                let content = format!("`{item}` names a single variant, `{}`, which this line is about.", good.id);
                messages.push(Message::info("item_resolved", content).at(path.clone()));
            }
            let stock = good.stock.map(|stock| left.entry(good.id.as_str()).or_insert(stock));
            let most = stock.as_deref().copied().unwrap_or(MAX_QUANTITY);
            match good.quantity_rule.at_most(quantity.min(most)) {
                _ if !good.available || good.quantity_rule.at_most(most).is_none() => {
                    messages.push(unavailable(good, &path));
                }
                None => messages.push(below_minimum(good, quantity, &path)),
                Some(sold) => {
                    if sold < quantity {
                        messages.push(reduced(good, quantity, sold, most, &path));
                        quantity = sold;
                    }
                    if let Some(stock) = stock {
                        *stock -= quantity;
                    }
                }
            }
            let subtotal = i128::from(good.price.minor()) * i128::from(quantity);
            self.priced.push(Line { id: id.unwrap_or_default(), good, quantity, parent_id: None, subtotal });
        }
    }

    /// Resolves the parents of the lines.
    fn relate(&mut self, draft: &Draft, facts: &Facts) -> Result<(), Refusal> {
        let mut parents: Vec<Option<usize>> = Vec::with_capacity(self.priced.len());
        let mut position = 0;
        for (stated, line) in draft.line_items.iter().enumerate() {
            let known = facts.goods.get(stated).is_some_and(|good| good.one().is_some());
            let refuse = |content: String| {
                Refusal::invalid(format!("$.line_items[{stated}].parent_id"), content)
                    .accepting("the id of another line that does not belong to this one")
            };
            let parent = match line.parent_id.as_deref().map(|parent| (parent, self.named(parent))) {
                Some((parent, Named::Unknown)) => return Err(refuse(format!("There is no line `{parent}`."))),
                Some((_, Named::Line(parent))) => Some(parent),
                Some((_, Named::Gone)) | None => None,
            };
            if !known {
                continue;
            }
            parents.push(parent);
            // Following the parents from here must not lead back: a cycle is detected at its last line.
            let mut next = parent;
            while let Some(ancestor) = next {
                if ancestor == position {
                    return Err(refuse("A line cannot belong to itself.".to_owned()));
                }
                next = parents.get(ancestor).copied().flatten();
            }
            position += 1;
        }
        let ids: Vec<_> = self.priced.iter().map(|line| line.id.clone()).collect();
        for (line, parent) in self.priced.iter_mut().zip(parents) {
            line.parent_id = parent.and_then(|parent| ids.get(parent).cloned());
        }
        Ok(())
    }
}

/// Returns the error about a line that cannot be bought in any quantity.
fn unavailable(good: &ItemFacts, path: &str) -> Message {
    let title = &good.title;
    let kind = good.problem.as_ref().map_or(ProblemKind::OutOfStock, |problem| problem.kind);
    let (code, member, content) = match kind {
        ProblemKind::OutOfStock => {
            ("out_of_stock", "", format!("{title} is out of stock; the totals count it as long as it is a line."))
        }
        ProblemKind::Discontinued => ("item_unavailable", "", format!("{title} is not sold any more.")),
        ProblemKind::NotSoldToBuyer => ("item_unavailable", "", format!("{title} is not sold to this buyer.")),
        ProblemKind::NotSoldInCountry => {
            ("item_unavailable", "", format!("{title} is not sold in the buyer's country."))
        }
        ProblemKind::BelowMinimum | ProblemKind::AboveMaximum | ProblemKind::NotAMultiple => {
            ("quantity_invalid", ".quantity", format!("{title} is not sold in this quantity."))
        }
        ProblemKind::Other => ("item_unavailable", "", format!("{title} cannot be bought.")),
    };
    let said = good.problem.as_ref().and_then(|problem| problem.text.clone());
    Message::error(code, said.unwrap_or(content), Severity::Recoverable).at(format!("{path}{member}"))
}

/// Returns the error about a quantity below the smallest that is sold.
fn below_minimum(good: &ItemFacts, wanted: u64, path: &str) -> Message {
    let said = good.problem.as_ref().and_then(|problem| problem.text.clone());
    let content = format!("{} is sold {}; {wanted} cannot be bought.", good.title, good.quantity_rule);
    Message::error("quantity_invalid", said.unwrap_or(content), Severity::Recoverable).at(format!("{path}.quantity"))
}

/// Returns the warning about a quantity that was reduced to what is sold, or to the `most` that are left.
fn reduced(good: &ItemFacts, wanted: u64, sold: u64, most: u64, path: &str) -> Message {
    let said = good.problem.as_ref().and_then(|problem| problem.text.clone());
    let content = if sold == most {
        format!("Only {sold} of {} can be had; {wanted} were asked for.", good.title)
    } else {
        format!("{} is sold {}: {sold} instead of {wanted}.", good.title, good.quantity_rule)
    };
    Message::warning("quantity_adjusted", said.unwrap_or(content)).at(format!("{path}.quantity"))
}

/// Returns the text about an item identifier that names several variants.
fn ambiguous(item: &str, Choice { product_id, count, variants }: &Choice) -> String {
    let named = variants.iter().map(|(id, options)| {
        let options: Vec<_> = options.iter().map(|option| format!("{}: {}", option.name, option.label)).collect();
        if options.is_empty() { format!("`{id}`") } else { format!("`{id}` ({})", options.join(", ")) }
    });
    let some = named.collect::<Vec<_>>().join(", ");
    let such = if variants.len() < *count { "such as " } else { "" };
    match product_id {
        Some(product) => format!(
            "`{item}` is a product with {count} variants: {such}{some}. Choose one with get_product of `{product}`, and \
             send the id of the variant."
        ),
        None => format!(
            "`{item}` names {count} variants: {such}{some}. Choose one with get_product, and send the id of the variant."
        ),
    }
}

/// Assigns an identifier to each line. Returns the number of line identifiers assigned so far.
fn identify(known: &mut [KnownLine<'_>], draft: &Draft, previous: &Previous, stated: &HashSet<&str>) -> u64 {
    let mut unclaimed: HashMap<&str, &str> =
        previous.line_items.iter().map(|line| (line.id.as_str(), line.item.id.as_str())).collect();
    for line in known.iter_mut() {
        let id = draft.line_items[line.stated].id.as_deref();
        line.id = id.filter(|id| unclaimed.remove(id).is_some()).map(str::to_owned);
    }
    // The remaining lines are matched by item: unambiguous if there were exactly as many such lines before.
    let mut before: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in previous.line_items.iter().filter(|line| unclaimed.contains_key(line.id.as_str())) {
        before.entry(&line.item.id).or_default().push(&line.id);
    }
    let mut now: HashMap<&str, usize> = HashMap::new();
    for line in known.iter().filter(|line| line.id.is_none()) {
        *now.entry(&line.good.id).or_default() += 1;
    }
    before.retain(|item, ids| now.get(item) == Some(&ids.len()));
    for ids in before.values_mut() {
        ids.reverse();
    }
    let mut ever = previous.lines_ever;
    for line in known.iter_mut().filter(|line| line.id.is_none()) {
        let again = before.get_mut(line.good.id.as_str()).and_then(Vec::pop);
        line.id = Some(again.map_or_else(|| unused(&mut ever, previous, stated), str::to_owned));
    }
    ever
}

/// Returns an identifier that no line ever had and that the draft does not use for another line.
fn unused(ever: &mut u64, previous: &Previous, stated: &HashSet<&str>) -> String {
    loop {
        *ever = ever.saturating_add(1);
        let id = format!("li_{ever}");
        if !stated.contains(id.as_str()) && previous.line_items.iter().all(|line| line.id != id) {
            return id;
        }
    }
}

/// Returns the meanings of the identifiers in the draft. Meanings entered first take precedence.
fn names(known: &[KnownLine<'_>], draft: &Draft, previous: &Previous) -> HashMap<String, Named> {
    let mut names: HashMap<String, Named> = HashMap::new();
    let mut mean = |id: &str, named| _ = names.entry(id.to_owned()).or_insert(named);
    let mut items: HashMap<&str, Named> = HashMap::new();
    for (position, line) in known.iter().enumerate() {
        mean(line.id.as_deref().unwrap_or_default(), Named::Line(position));
        let item = draft.line_items[line.stated].item.as_str();
        for item in [item, &line.good.id].into_iter().take(if line.good.id == item { 1 } else { 2 }) {
            items.entry(item).and_modify(|named| *named = Named::Unknown).or_insert(Named::Line(position));
        }
    }
    for line in &previous.line_items {
        mean(&line.id, Named::Gone);
    }
    for (position, line) in known.iter().enumerate() {
        if let Some(id) = &draft.line_items[line.stated].id {
            mean(id, Named::Line(position));
        }
    }
    for (item, named) in items {
        mean(item, named);
    }
    for line in &draft.line_items {
        for id in line.id.iter().chain(std::iter::once(&line.item)) {
            mean(id, Named::Gone);
        }
    }
    names
}
