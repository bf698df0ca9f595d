//! Goods that the lines of a draft name, as a catalog describes them.

use std::{collections::HashMap, sync::Arc};

use crate::{
    Refusal,
    catalog::{
        market::Presentation,
        product::{Product, Variant},
    },
    message::Message,
    money::Currency,
    ports::{Catalog, Match, Named, Target, caller::BuyerSignals},
    purchase::{
        draft::{Draft, LineDraft},
        quote::{Choice, ItemFacts, NamedItem},
    },
};

/// Goods that the lines of a draft name.
#[derive(Debug)]
pub struct Goods {
    /// Currency of their prices: the one that the buyer's circumstances choose if everything is priced in it, otherwise
    /// the shop's own.
    pub currency: Currency,
    /// Goods by line, not counted.
    pub by_line: Vec<NamedItem>,
    /// Messages about the facts, for instance as of when they are.
    pub messages: Vec<Message>,
}

/// Returns the goods that the lines of a draft name.
///
/// # Errors
/// Errors of the catalog, and [`Unavailable`](crate::Code::Unavailable) if it has only stale answers.
pub async fn of(catalog: &dyn Catalog, draft: &Draft, buyer_signals: &BuyerSignals) -> Result<Goods, Refusal> {
    let market = catalog.market();
    let mut presentation = market.presentation(&draft.context.of_catalog());
    let (mut named, mut messages) = resolve(catalog, draft, &presentation, buyer_signals).await?;
    let priced =
        |item: &ResolvedItem| item.variant().is_none_or(|variant| variant.price.currency == presentation.currency);
    if !named.values().all(priced) {
        presentation.currency = market.currency;
        (named, messages) = resolve(catalog, draft, &presentation, buyer_signals).await?;
    }
    let good = |line: &LineDraft| match named.get(line.item.as_str()) {
        Some(ResolvedItem::Variant(product, position)) => NamedItem::One(good(product, *position)),
        Some(ResolvedItem::Several(choice)) => NamedItem::Several(choice.clone()),
        None => NamedItem::Nothing,
    };
    Ok(Goods { currency: presentation.currency, by_line: draft.line_items.iter().map(good).collect(), messages })
}

/// Returns the variant at `position` as a good that is not counted.
fn good(product: &Product, position: usize) -> ItemFacts {
    let variant = &product.variants[position];
    let title = match product.variants.len() {
        1 => product.title.clone(),
        _ => format!("{} – {}", product.title, variant.title),
    };
    let image = variant.media.iter().chain(&product.media).find(|media| media.kind == "image");
    ItemFacts {
        id: variant.id.clone(),
        product_id: product.id.clone(),
        title,
        price: variant.price.amount,
        image_url: image.map(|media| media.url.clone()),
        available: variant.availability.available,
        stock: None,
        quantity_rule: variant.quantity_rule,
        lead_time: variant.lead_time,
        stock_by_location: variant.stock_by_location.clone(),
        problem: None,
        weight_grams: variant.weight_grams,
        needs_fulfillment: !variant.digital,
    }
}

/// Finds the variants that the lines of a draft name. Any identifier of the catalog will do that names a single
/// variant.
async fn resolve<'a>(
    catalog: &dyn Catalog,
    draft: &'a Draft,
    presentation: &Presentation,
    buyer_signals: &BuyerSignals,
) -> Result<(HashMap<&'a str, ResolvedItem>, Vec<Message>), Refusal> {
    let mut ids: Vec<_> = draft.line_items.iter().map(|line| line.item.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let (mut found, mut messages) = (Vec::with_capacity(ids.len()), Vec::new());
    for named in catalog.resolve(&ids, presentation, buyer_signals).await? {
        match named {
            Named::Found(matches) => found.push(matches),
            Named::Dated(matches, message) => {
                found.push(matches);
                if !messages.contains(&message) {
                    messages.push(message);
                }
            }
            // A purchase must not be priced from stale data.
            Named::Stale(..) | Named::Unchecked => {
                return Err(Refusal::unavailable("The shop is temporarily unavailable.", 1));
            }
        }
    }
    let named = ids.into_iter().zip(found).filter_map(|(id, matches)| Some((id, ResolvedItem::of(matches)?)));
    Ok((named.collect(), messages))
}

/// Maximum number of variants that the answer names where an identifier names several.
const MOST_NAMED: usize = 5;

/// Variants that an item identifier names.
enum ResolvedItem {
    /// The variant at this position.
    Variant(Arc<Product>, usize),
    /// Several variants.
    Several(Choice),
}

impl ResolvedItem {
    /// Returns what the matches of an identifier name: a variant by its id, else a product by its id, else whatever
    /// shares the identifier. `None` if there are no matches.
    fn of(matches: Vec<Match>) -> Option<Self> {
        let rank = |found: &Match| match found.target {
            Target::Variant(_) => 0,
            Target::Product => 1,
            Target::ProductHandle | Target::VariantAlias(_) => 2,
        };
        let best = matches.iter().map(rank).min()?;
        let matches: Vec<_> = matches.into_iter().filter(|found| rank(found) == best).collect();
        let mut named: Vec<(&Arc<Product>, usize)> = Vec::new();
        for Match { product, target } in &matches {
            let positions = match *target {
                Target::Variant(position) | Target::VariantAlias(position) => position..position + 1,
                Target::Product | Target::ProductHandle => 0..product.variants.len(),
            };
            for position in positions {
                let id = &product.variants[position].id;
                if named.iter().all(|(product, position)| product.variants[*position].id != *id) {
                    named.push((product, position));
                }
            }
        }
        match named.as_slice() {
            [] => None,
            [(product, position)] => Some(Self::Variant(Arc::clone(product), *position)),
            several => {
                let mut some = several.to_vec();
                some.sort_by_key(|(product, position)| !product.variants[*position].availability.available);
                some.truncate(MOST_NAMED);
                let name = |(product, position): (&Arc<Product>, usize)| {
                    let variant = &product.variants[position];
                    let chosen = product.options.iter().zip(&variant.values);
                    (variant.id.clone(), chosen.map(|(axis, value)| axis.selected(*value)).collect())
                };
                let is_product = |found: &Match| matches!(found.target, Target::Product | Target::ProductHandle);
                Some(Self::Several(Choice {
                    product_id: match matches.as_slice() {
                        [one] if is_product(one) => Some(one.product.id.clone()),
                        _ => None,
                    },
                    count: several.len(),
                    variants: some.into_iter().map(name).collect(),
                }))
            }
        }
    }

    /// Returns the variant, if it is a single one.
    fn variant(&self) -> Option<&Variant> {
        match self {
            Self::Variant(product, position) => product.variants.get(*position),
            Self::Several(_) => None,
        }
    }
}
