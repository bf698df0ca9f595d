//! Search and browsing.
//!
//! With words the API searches, without them it lists. It filters by what it can; how exactly is up to the merchant,
//! who may have switched filters off, and then it finds too much without a word. Everything is therefore filtered again
//! here, by the domain's own rules, and pages that are emptied by that are made up for by a few more.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Refusal,
    catalog::{
        filter::{CategoryPath, Criteria},
        product::Product,
    },
    message::Message,
    operation::Operation,
    port::{Page, PortError, Query},
    purchase::caller::BuyerSignals,
    text::clean,
};

use super::{Storefront, Variables, build, freshness, shape};
use crate::{
    client::Problem,
    documents::{self, LISTED_MEDIA, MOST_PRODUCTS, variants_beside},
    market::{InContext, Standing},
    money,
};
use ucp_net::{Failure, Filled, Staleness};

/// How many pages are asked for at most, to fill one.
const MOST_PAGES: usize = 3;

/// How many products are asked for at least, where they are filtered here.
const LEAST_FILTERED: usize = 10;

/// How many products of a page are looked into for a variant that passes the filters.
const MOST_SEARCHED: usize = 5;

/// How many words are searched for, in characters.
const LONGEST_TEXT: usize = 1_000;

/// The longest position of the API's that is taken, in bytes.
const LONGEST_POSITION: usize = 2_048;

/// A page of the API's.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The products, each with the position behind it. What could not be used is left out; its position is not.
    entries: Vec<(String, Option<Arc<Product>>)>,
    more: bool,
    total: Option<u64>,
    /// The position that was asked for means nothing any more.
    lost: bool,
    pub(super) weight: usize,
}

/// Which operation, and what it is asked beside the page.
struct Wanted {
    words: Option<String>,
    /// The filters of a search, or the query of a list.
    filters: Value,
    available: bool,
    context: InContext,
    limit: usize,
}

impl Storefront {
    pub(super) async fn search(&self, query: &Query, buyer_signals: BuyerSignals) -> Result<Page, PortError> {
        let standing = self.standing();
        if query.criteria.bounds.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Page { products: Vec::new(), next: None, total: None, messages: Vec::new() });
        }
        let wanted = Wanted::of(query, &standing);
        let mut position = query.after.as_deref().map(read_position).transpose()?;
        let mut page = Page { products: Vec::new(), next: None, total: None, messages: Vec::new() };
        for number in 0..MOST_PAGES {
            let served = match self.page(&wanted, position.as_deref(), buyer_signals).await {
                Ok(served) => served,
                // What was found already is an answer; the next page begins where this one broke off.
                Err(failure) if !page.products.is_empty() => {
                    tracing::warn!(%failure, "a page is shorter than it could be");
                    return Ok(page);
                }
                Err(failure) => return Err(failure.into()),
            };
            if served.value.lost {
                return Err(lost());
            }
            if served.stale == Some(Staleness::Failed) && page.messages.is_empty() {
                page.messages.push(stale(served.age));
            }
            let listing = &*served.value;
            if number == 0 && query.criteria == Criteria::default() {
                page.total = listing.total;
            }
            let admitted = self.admit(listing, query, &wanted.context, buyer_signals).await;
            for (place, ((behind, _), product)) in listing.entries.iter().zip(admitted).enumerate() {
                if let Some(product) = product {
                    page.products.push(product);
                }
                let last = place + 1 == listing.entries.len();
                page.next = (!last || listing.more).then(|| behind.clone().into_bytes());
                if page.products.len() == query.limit {
                    return Ok(page);
                }
            }
            match listing.entries.last() {
                // A position that does not move would be followed for ever.
                Some((behind, _)) if listing.more && position.as_ref() != Some(behind) => {
                    position = Some(behind.clone());
                }
                _ => {
                    page.next = None;
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }

    /// Which products of a page pass the filters, in their order.
    async fn admit(
        &self,
        listing: &Listing,
        query: &Query,
        context: &InContext,
        buyer_signals: BuyerSignals,
    ) -> Vec<Option<Arc<Product>>> {
        let criteria = &query.criteria;
        if *criteria == Criteria::default() {
            return listing.entries.iter().map(|(_, product)| product.clone()).collect();
        }
        let passes = |product: &Product| product.variants.iter().any(|variant| criteria.admit(product, variant));
        let mut searched = 0;
        let judged = listing.entries.iter().map(|(_, product)| {
            let product = product.as_ref()?;
            if passes(product) {
                return Some((Arc::clone(product), false));
            }
            // One of the variants that it does not hold may pass.
            let look = product.combinations.is_some() && may_pass(product, criteria);
            if look && searched == MOST_SEARCHED {
                self.counters().note("products left out: too many variants to filter");
            }
            let look = look && searched < MOST_SEARCHED;
            searched += usize::from(look);
            look.then(|| (Arc::clone(product), true))
        });
        let judged: Vec<_> = judged.collect();
        join_all(judged.into_iter().map(|judged| async move {
            let (product, look) = judged?;
            if !look {
                return Some(product);
            }
            let more =
                self.more_variants(&product, None, context, buyer_signals, freshness(Operation::SearchCatalog)).await;
            let more = more
                .inspect_err(|failure| tracing::warn!(%failure, "a product could not be filtered by all its variants"))
                .ok()?;
            let fitting = more.variants.iter().filter(|variant| criteria.admit(&product, variant)).cloned();
            let product = build::with_variants(&product, fitting);
            passes(&product).then(|| Arc::new(product))
        }))
        .await
    }

    /// One page of the API's.
    async fn page(
        &self,
        wanted: &Wanted,
        after: Option<&str>,
        buyer_signals: BuyerSignals,
    ) -> Result<ucp_net::Served<Arc<Listing>>, Failure> {
        let mut own = Map::from_iter([
            ("first".to_owned(), json!(wanted.limit)),
            ("variants".to_owned(), json!(variants_beside(wanted.limit))),
            ("media".to_owned(), json!(LISTED_MEDIA)),
        ]);
        let mut set = |name: &str, value: Value| own.insert(name.to_owned(), value);
        if let Some(after) = after {
            set("after", json!(after));
        }
        let document = match &wanted.words {
            Some(words) => {
                set("query", json!(words));
                set("filters", wanted.filters.clone());
                if wanted.available {
                    set("unavailable", json!("HIDE"));
                }
                &*documents::SEARCH
            }
            None => {
                set("query", wanted.filters.clone());
                &*documents::BROWSE
            }
        };
        let request: Vec<_> = own.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let key = self.key(document.name, &wanted.context, request.iter().map(String::as_str));
        let (shop, context, positioned) = (self.clone(), wanted.context.clone(), after.is_some());
        self.0
            .pages
            .get(&key, freshness(Operation::SearchCatalog), move || async move {
                let variables = Variables { context: &context, own: &own, cards: true };
                let reply = shop.ask::<shape::Found>(document, variables, &buyer_signals).await?;
                // The shop took the position for a bad argument: what it was made for is gone.
                if reply.data.is_none() && positioned && reply.errors.iter().any(names_position) {
                    return Ok(Filled::Once(Arc::new(Listing { lost: true, ..Listing::default() })));
                }
                let whole = reply.errors.is_empty();
                let (bytes, page) = (reply.bytes, reply.data()?.page);
                let listing = Arc::new(shop.listing(page, bytes));
                Ok(if whole { Filled::Found(listing) } else { Filled::Once(listing) })
            })
            .await
    }

    fn listing(&self, page: shape::Page, bytes: usize) -> Listing {
        let shape::Page { total_count, page_info, edges } = page;
        let mut entries: Vec<(String, Option<Arc<Product>>)> = Vec::with_capacity(edges.len());
        let mut more = page_info.has_next_page;
        for edge in edges {
            if edge.cursor.is_empty() || edge.cursor.len() > LONGEST_POSITION {
                self.counters().note("positions that are too long");
                more = false;
                break;
            }
            let product = edge.node.and_then(|node| self.card(&node)).map(|built| Arc::new(built.product));
            // The same product twice on a page is one.
            let twice = product.as_ref().is_some_and(|product| {
                entries.iter().any(|(_, held)| held.as_ref().is_some_and(|held| held.id == product.id))
            });
            entries.push((edge.cursor, product.filter(|_| !twice)));
        }
        // Rendered, a product takes about as much again.
        Listing { entries, more, total: total_count.0, lost: false, weight: bytes.saturating_mul(2) }
    }

    /// A product on its own; `None` for whatever else it is.
    pub(super) fn card(&self, node: &serde_json::value::RawValue) -> Option<build::Built> {
        match serde_json::from_str::<shape::Card>(node.get()) {
            Ok(card) => build::build(card, None, self.counters()),
            Err(error) => {
                self.counters().note("products left out: not of the form that the API promises");
                tracing::warn!(%error, "a product of the shop is left out");
                None
            }
        }
    }
}

impl Wanted {
    fn of(query: &Query, standing: &Standing) -> Self {
        let words = query.text.as_deref().map(|text| {
            let clean = clean(text);
            let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
            words.chars().take(LONGEST_TEXT).collect::<String>()
        });
        // What no one sees is no word.
        let words = words.filter(|words| !words.is_empty());
        let (criteria, presentation) = (&query.criteria, &query.presentation);
        let filters = match &words {
            Some(_) => Value::Array(filters(query, standing)),
            None => listed(query, standing).into(),
        };
        // Where products may be left out, a small page is looked for among more of them.
        let least = if *criteria == Criteria::default() { 1 } else { LEAST_FILTERED };
        let limit = query.limit.clamp(least, MOST_PRODUCTS);
        Self { words, filters, available: criteria.available, context: standing.in_context(presentation), limit }
    }
}

/// A kind of category that the API can filter by.
enum Kind {
    /// Types of products, as the merchant writes them.
    Types(Vec<String>),
    /// A category of Shopify's taxonomy.
    Taxonomy(String),
}

fn kind(category: &CategoryPath, standing: &Standing) -> Kind {
    let types = standing.types_in(category);
    let key = category.key();
    let taxonomic = key.split_once('-').is_some_and(|(vertical, below)| {
        vertical.len() == 2
            && vertical.bytes().all(|webhook_message| webhook_message.is_ascii_lowercase())
            && below.split('-').all(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    });
    if !types.is_empty() {
        Kind::Types(types.into_iter().map(str::to_owned).collect())
    } else if taxonomic {
        Kind::Taxonomy(key)
    } else {
        // Perhaps a type that is newer than the list of them.
        Kind::Types(vec![key])
    }
}

/// The kinds of all categories, where they are all of one. Different kinds at once would have to hold all of them.
fn kinds(query: &Query, standing: &Standing) -> Option<(Vec<String>, bool)> {
    let mut types = Vec::new();
    let mut taxonomy = Vec::new();
    for category in &query.criteria.categories {
        match kind(category, standing) {
            Kind::Types(own) => types.extend(own),
            Kind::Taxonomy(id) => taxonomy.push(id),
        }
    }
    match (types.is_empty(), taxonomy.is_empty()) {
        (false, true) => Some((types, false)),
        (true, false) => Some((taxonomy, true)),
        _ => None,
    }
}

/// The filters of a search. Those of one kind are alternatives, those of different kinds have to hold all.
fn filters(query: &Query, standing: &Standing) -> Vec<Value> {
    let criteria = &query.criteria;
    let mut filters = Vec::new();
    if criteria.available {
        filters.push(json!({ "available": true }));
    }
    // Prices are judged in the currency that they are shown in; bounds in another are applied here alone.
    if let Some([bound]) = criteria.bounds.as_deref()
        && bound.currency == query.presentation.currency
    {
        let mut price = Map::from_iter([("min".to_owned(), money::major(bound.min, bound.currency).into())]);
        if let Some(max) = bound.max {
            price.insert("max".to_owned(), money::major(max, bound.currency).into());
        }
        filters.push(json!({ "price": price }));
    }
    match kinds(query, standing) {
        Some((ids, true)) => {
            filters.extend(
                ids.iter().map(|id| json!({ "category": { "id": format!("gid://shopify/TaxonomyCategory/{id}") } })),
            );
        }
        Some((types, false)) => filters.extend(types.iter().map(|own| json!({ "productType": own }))),
        None => {}
    }
    filters
}

/// The query of a list, in the API's own language. Prices in it are the shop's own.
fn listed(query: &Query, standing: &Standing) -> String {
    let criteria = &query.criteria;
    let mut parts = Vec::new();
    if let Some((types, false)) = kinds(query, standing) {
        let types: Vec<_> = types.iter().map(|own| format!("product_type:{}", quoted(own))).collect();
        parts.push(format!("({})", types.join(" OR ")));
    }
    if criteria.available {
        parts.push("available_for_sale:true".to_owned());
    }
    if let Some([bound]) = criteria.bounds.as_deref()
        && bound.currency == query.presentation.currency
        && standing.at_home(&query.presentation)
    {
        parts.push(format!("variants.price:>={}", money::major(bound.min, bound.currency)));
        if let Some(max) = bound.max {
            parts.push(format!("variants.price:<={}", money::major(max, bound.currency)));
        }
    }
    parts.join(" AND ")
}

/// A text that means itself.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether a variant that is not held could pass: one exists that can be bought, at a price within the product's range.
fn may_pass(product: &Product, criteria: &Criteria) -> bool {
    let available = || product.combinations.iter().flatten().any(|combination| combination.available);
    let range = &product.price_range;
    let within = |bounds: &Vec<ucp_core::catalog::filter::Bound>| {
        bounds.iter().any(|bound| {
            bound.currency == range.min.currency
                && bound.min <= range.max.amount
                && bound.max.is_none_or(|max| range.min.amount <= max)
        })
    };
    (!criteria.available || available()) && criteria.bounds.as_ref().is_none_or(within)
}

fn read_position(bytes: &[u8]) -> Result<String, PortError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| lost())
}

fn lost() -> PortError {
    Refusal::new(Code::InvalidCursor, "The shop no longer knows where this page begins.")
        .at("$.pagination.cursor")
        .accepting("no cursor, for the first page")
        .into()
}

/// Whether an error is about the position that was asked for.
fn names_position(error: &Problem) -> bool {
    let message = error.message.to_ascii_lowercase();
    message.contains("cursor")
        || message.contains("'after'")
        || message.contains("\"after\"")
        || message.contains("$after")
}

pub(super) fn stale(age: std::time::Duration) -> Message {
    let minutes = (age.as_secs() / 60).max(1);
    Message::warning(
        "stale",
        format!(
            "The shop does not answer at the moment. What is shown is about {minutes} min old; prices and availability may have changed."
        ),
    )
}
