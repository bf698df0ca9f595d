//! `lookup_catalog`: what a list of identifiers names (UCP *Catalog Lookup*, *Batch Lookup*).

use std::{collections::HashMap, sync::Arc};

use super::{
    Context,
    featured::{Words, featured},
    filter::Filters,
    product::Product,
};
use crate::{
    Code, Refusal,
    message::Message,
    port::{Catalog, Match, Named, Target},
    purchase::caller::BuyerSignals,
};

/// Maximum number of identifiers in one call, repetitions included (trap T-20).
pub const MAX_LISTED_IDS: usize = 1_000;

/// Request of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Product ids, variant ids, SKUs, handles and barcodes, in any mixture.
    pub ids: Vec<String>,
    /// Filters on variants.
    pub filters: Filters,
    /// Hints about the buyer.
    pub context: Context,
}

/// A product with the variants that an answer shows.
#[derive(Debug)]
pub struct Listing {
    /// Product.
    pub product: Arc<Product>,
    /// Variants to show, the featured one first.
    pub variants: Vec<ListedVariant>,
}

/// A variant in an answer.
#[derive(Debug)]
pub struct ListedVariant {
    /// Its position in the product.
    pub position: usize,
    /// Which identifiers of the request led to it; empty in a search.
    pub inputs: Vec<Input>,
}

/// Match of an identifier of the request with a variant (rules LKP-03 and LKP-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Identifier as sent.
    pub id: String,
    /// Kind of the match: with the variant itself, or with a product that the variant represents.
    pub kind: MatchKind,
}

/// Kind of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// This very variant.
    Exact,
    /// The product; the shop chose the variant.
    Featured,
}

/// Answer of a lookup.
#[derive(Debug)]
pub struct Resolved {
    /// Each product once, in the order in which the request first names them.
    pub products: Vec<Listing>,
    /// Notes, one `not_found` for each identifier that names nothing.
    pub messages: Vec<Message>,
}

/// Returns the refusal of a call with more identifiers than are looked up at once (rule LKP-05).
#[must_use]
pub fn too_many(named: usize, most: usize) -> Refusal {
    Refusal::new(Code::RequestTooLarge, format!("Too many identifiers: {named}."))
        .at("$.ids")
        .accepting(format!("at most {most} different identifiers in one call"))
}

/// Looks identifiers up.
///
/// # Errors
/// [`Code::RequestTooLarge`] beyond what the shop takes at once, or whatever the backend reports.
pub async fn lookup(
    catalog: &dyn Catalog,
    request: &Request,
    buyer_signals: &BuyerSignals,
) -> Result<Resolved, Refusal> {
    let most = catalog.capabilities().most_ids;
    let mut ids: Vec<&str> = Vec::with_capacity(request.ids.len().min(most + 1));
    for id in &request.ids {
        if !ids.contains(&id.as_str()) {
            ids.push(id);
        }
        if ids.len() > most || request.ids.len() > MAX_LISTED_IDS {
            return Err(too_many(request.ids.len(), most));
        }
    }
    let market = catalog.market();
    let presentation = market.presentation(&request.context);
    let (criteria, mut messages) = request.filters.criteria(&market, &request.context, &presentation);

    let mut products: Vec<Listing> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let named = catalog.resolve(&ids, &presentation, buyer_signals).await?;
    let mut unchecked = Vec::new();
    for (id, named) in ids.iter().zip(named) {
        let matches = match named {
            Named::Found(matches) => matches,
            Named::Stale(matches, message) | Named::Dated(matches, message) => {
                if !messages.contains(&message) {
                    messages.push(message);
                }
                matches
            }
            Named::Unchecked => {
                unchecked.push(*id);
                continue;
            }
        };
        if matches.is_empty() {
            messages.push(Message::info("not_found", *id));
        }
        for Match { product, target } in matches {
            let (position, kind) = match target {
                Target::Product | Target::ProductHandle => match featured(&product, &criteria, &Words::default()) {
                    Some(position) => (position, MatchKind::Featured),
                    None => continue,
                },
                Target::Variant(position) | Target::VariantAlias(position) => {
                    if !criteria.admit(&product, &product.variants[position]) {
                        continue;
                    }
                    (position, MatchKind::Exact)
                }
            };
            let place = *places.entry(product.id.clone()).or_insert_with(|| {
                products.push(Listing { product, variants: Vec::new() });
                products.len() - 1
            });
            let variants = &mut products[place].variants;
            let input = Input { id: (*id).to_owned(), kind };
            match variants.iter_mut().find(|variant| variant.position == position) {
                Some(variant) => variant.inputs.push(input),
                None => variants.push(ListedVariant { position, inputs: vec![input] }),
            }
        }
    }
    if !unchecked.is_empty() {
        // Never `not_found`: nobody knows (rule LKP-06 speaks of identifiers that name nothing).
        messages.push(Message::warning(
            "not_checked",
            format!("The shop could not be asked about some identifiers; ask again later: {}.", unchecked.join(", ")),
        ));
    }
    for listing in &mut products {
        // The first variant is the one a listing shows: the shop's choice, where the caller left it the choice.
        listing.variants.sort_by_key(|variant| variant.inputs.iter().all(|input| input.kind == MatchKind::Exact));
    }
    Ok(Resolved { products, messages })
}
