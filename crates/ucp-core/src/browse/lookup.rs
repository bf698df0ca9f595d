//! `lookup_catalog`: what a list of identifiers names (UCP *Catalog Lookup*, *Batch Lookup*).

use crate::{
    Refusal,
    catalog::{
        featured::{Words, featured},
        lookup::{Input, ListedVariant, Listing, MAX_LISTED_IDS, MatchKind, Request, Resolved, too_many},
    },
    message::Message,
    ports::{Catalog, Match, Named, Target, caller::BuyerSignals},
};

/// Looks identifiers up. Fails with [`RequestTooLarge`](crate::Code::RequestTooLarge) beyond what the shop takes at
/// once, or whatever the backend reports.
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
            let known = products.iter().position(|listing| listing.product.id == product.id);
            let place = known.unwrap_or_else(|| {
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
