//! SKUs and barcodes.
//!
//! The API has no lookup by code. Its query language knows `sku` and `barcode`, which its documentation does not list,
//! and it may return products that have no such code, or ignore the condition. Variants are therefore compared here; a
//! code that no variant has is unchecked if there were more products or variants than were read.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::join_all;
use serde_json::{Map, json};
use ucp_core::{
    operation::{Freshness, Operation},
    ports::caller::BuyerSignals,
    text::clean,
};

use super::{Storefront, Variables, find::quoted, freshness, shape};
use crate::{
    documents::{self, MOST_CODED_PRODUCTS, MOST_CODES},
    market::InContext,
};
use ucp_net::{Failure, Filled, Served};

/// Maximum length of a code, in characters; a longer one names nothing.
const LONGEST_CODE: usize = 255;

/// Kind of code, by its name in the query language.
#[derive(Clone, Copy)]
enum CodeKind {
    Sku,
    Barcode,
}

impl CodeKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Sku => "sku",
            Self::Barcode => "barcode",
        }
    }
}

/// Results for the codes of one request.
#[derive(Debug)]
pub(super) struct Coded {
    /// Code and identifier of each variant that was read.
    variants: Vec<(String, String)>,
    /// `true` if the shop has more products or variants than were read.
    more: bool,
    pub(super) weight: usize,
}

/// Variants that a code names.
#[derive(Debug, Default)]
pub(super) struct Bearers {
    /// Identifiers of the variants.
    pub(super) variants: Vec<String>,
    /// `true` if there may be others: the shop could not be asked, or has more products than were read.
    pub(super) unchecked: bool,
}

/// Returns `true` if a text can be a SKU or a barcode.
pub(super) fn is_code(id: &str) -> bool {
    !id.trim().is_empty() && !id.starts_with("gid://") && id.chars().count() <= LONGEST_CODE && clean(id) == id
}

/// Returns `true` if a text can be a barcode: 8 to 14 digits.
fn is_barcode(code: &str) -> bool {
    (8..=14).contains(&code.len()) && code.bytes().all(|digit| digit.is_ascii_digit())
}

impl Storefront {
    /// Returns the variants that codes name.
    pub(super) async fn bearers<'a>(
        &self,
        codes: &[&'a str],
        context: &InContext,
        buyer_signals: BuyerSignals,
    ) -> HashMap<&'a str, Bearers> {
        let barcodes: Vec<_> = codes.iter().copied().filter(|code| is_barcode(code)).collect();
        let slices = codes.chunks(MOST_CODES).map(|slice| (CodeKind::Sku, slice));
        let slices: Vec<_> =
            slices.chain(barcodes.chunks(MOST_CODES).map(|slice| (CodeKind::Barcode, slice))).collect();
        let answers =
            join_all(slices.iter().map(|(kind, slice)| self.coded(*kind, slice, context, buyer_signals))).await;
        let mut bearers: HashMap<&str, Bearers> = HashMap::new();
        for ((_, slice), answer) in slices.iter().zip(answers) {
            for code in *slice {
                let own = bearers.entry(code).or_default();
                let Ok(Served { value: coded, .. }) = &answer else {
                    own.unchecked = true;
                    continue;
                };
                let named = coded.variants.iter().filter(|(other, _)| other == code).map(|(_, id)| id);
                for id in named {
                    if !own.variants.contains(id) {
                        own.variants.push(id.clone());
                    }
                }
                own.unchecked |= coded.more;
            }
        }
        bearers
    }

    /// Returns what the shop has for one slice of codes, from the cache if it is there.
    async fn coded(
        &self,
        kind: CodeKind,
        codes: &[&str],
        context: &InContext,
        buyer_signals: BuyerSignals,
    ) -> Result<Served<Arc<Coded>>, Failure> {
        let terms: Vec<_> = codes.iter().map(|code| format!("{}:{}", kind.name(), quoted(code))).collect();
        let query = terms.join(" OR ");
        let key = self.key(documents::CODES.name, context, std::iter::once(query.as_str()));
        let fill = || {
            let (shop, context, query) = (self.clone(), context.clone(), query.clone());
            async move {
                let own = Map::from_iter([
                    ("query".to_owned(), json!(query)),
                    ("first".to_owned(), json!(MOST_CODED_PRODUCTS)),
                ]);
                let variables = Variables { context: &context, own: &own, cards: false };
                let reply = shop.ask::<shape::Codes>(&documents::CODES, variables, &buyer_signals).await?;
                let (whole, weight) = (reply.errors.is_empty(), reply.bytes);
                let shape::CodedProducts { page_info, nodes } = reply.data()?.products;
                let more = page_info.has_next_page || nodes.iter().any(|node| node.variants.page_info.has_next_page);
                let variants = nodes.into_iter().flat_map(|node| node.variants.nodes).filter_map(|variant| {
                    let code = match kind {
                        CodeKind::Sku => variant.sku.0,
                        CodeKind::Barcode => variant.barcode.0,
                    };
                    Some((code?, variant.id))
                });
                let coded = Arc::new(Coded { variants: variants.collect(), more: more || !whole, weight });
                Ok(if whole { Filled::Found(coded) } else { Filled::Once(coded) })
            }
        };
        let freshness: Freshness = freshness(Operation::LookupCatalog);
        self.0.codes.get(&key, freshness, fill).await
    }
}
