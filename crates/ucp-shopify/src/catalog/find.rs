//! Search and browsing.
//!
//! A query with words is a search of the API, one without is a list. The API filters as far as it can; which filters
//! work is up to the merchant, who may have switched some off, in which case the API returns too much without an error.
//! All results are therefore filtered again here by the domain's rules, and further pages are read to make up for what
//! that removes.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use ucp_core::{
    Code, Refusal,
    catalog::{
        filter::{CategoryPath, Criteria},
        product::Product,
    },
    operation::Operation,
    ports::{Page, PortError, Query, caller::BuyerSignals},
    text::clean,
};

use super::{Storefront, Variables, build, freshness, shape};
use crate::{
    client::Problem,
    documents::{self, LISTED_MEDIA, MOST_PRODUCTS, variants_beside},
    market::{InContext, Standing},
    money,
};
use ucp_net::{Failure, Filled, deadline};

/// Maximum number of pages of the API that are read to fill one.
const MOST_PAGES: usize = 8;

/// Minimum number of products per page of the API if products are filtered here.
const LEAST_FILTERED: usize = MOST_PRODUCTS;

/// Maximum number of products per page whose further variants are read to find one that passes the filters.
const MOST_SEARCHED: usize = 5;

/// Maximum length of the words of a search, in characters.
const LONGEST_TEXT: usize = 1_000;

/// Maximum length of a cursor of the API, in bytes.
const LONGEST_POSITION: usize = 2_048;

/// A page of the API.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Products, each with the cursor behind it. An unusable product is `None`; its cursor stays.
    entries: Vec<(String, Option<Arc<Product>>)>,
    more: bool,
    total: Option<u64>,
    /// `true` if the API no longer accepts the cursor that the page was requested with.
    lost: bool,
    pub(super) weight: usize,
}

/// Operation of a query, with its variables other than the cursor.
struct WantedPage {
    words: Option<String>,
    /// Filters of a search, as a list, or query of a list, as a text.
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
        let wanted = WantedPage::of(query, &standing);
        let mut position = query.after.as_deref().map(read_position).transpose()?;
        let mut page = Page { products: Vec::new(), next: None, total: None, messages: Vec::new() };
        let mut slowest = Duration::ZERO;
        for number in 0..MOST_PAGES {
            let asked = Instant::now();
            let served = match self.page(&wanted, position.as_deref(), buyer_signals).await {
                Ok(served) => served,
                // The products found so far are an answer; the next page starts where this one stopped.
                Err(failure) if !page.products.is_empty() => {
                    tracing::warn!(%failure, "page shorter than requested");
                    return Ok(page);
                }
                Err(failure) => return Err(failure.into()),
            };
            slowest = slowest.max(asked.elapsed());
            if served.value.lost {
                return Err(lost());
            }
            if page.messages.is_empty() {
                page.messages.extend(served.dated(self.now()));
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
            // Whoever has waited this long gets what there is rather than a refusal.
            if deadline::current().is_some_and(|deadline| Instant::now() + slowest > deadline) {
                return Ok(page);
            }
            match listing.entries.last() {
                // A cursor that does not advance would be followed forever.
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

    /// Returns, for each entry of a page, its product if that passes the filters.
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
            // A variant that the product does not hold may pass.
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
                .inspect_err(|failure| tracing::warn!(%failure, "product filtered by some of its variants only"))
                .ok()?;
            let fitting = more.variants.iter().filter(|variant| criteria.admit(&product, variant)).cloned();
            let product = build::with_variants(&product, fitting);
            passes(&product).then(|| Arc::new(product))
        }))
        .await
    }

    /// Returns one page of the API, from the cache if it is there.
    async fn page(
        &self,
        wanted: &WantedPage,
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
                // The shop refused the cursor as an argument: what it referred to is gone.
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
            // A product that occurs twice on a page is kept once.
            let twice = product.as_ref().is_some_and(|product| {
                entries.iter().any(|(_, held)| held.as_ref().is_some_and(|held| held.id == product.id))
            });
            entries.push((edge.cursor, product.filter(|_| !twice)));
        }
        // The rendering of a product takes about as much memory again.
        Listing { entries, more, total: total_count.0, lost: false, weight: bytes.saturating_mul(2) }
    }

    /// Builds a product from an object of an answer; `None` if the object cannot be shown as a product.
    pub(super) fn card(&self, node: &serde_json::value::RawValue) -> Option<build::Built> {
        match serde_json::from_str::<shape::Card>(node.get()) {
            Ok(card) => build::build(card, None, self.counters()),
            Err(error) => {
                self.counters().note("products left out: not of the form that the API promises");
                tracing::warn!(%error, "invalid upstream product, left out");
                None
            }
        }
    }
}

impl WantedPage {
    fn of(query: &Query, standing: &Standing) -> Self {
        let words = query.text.as_deref().map(|text| {
            let clean = clean(text);
            let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
            words.chars().take(LONGEST_TEXT).collect::<String>()
        });
        // A text of invisible characters alone is no search.
        let words = words.filter(|words| !words.is_empty());
        let (criteria, presentation) = (&query.criteria, &query.presentation);
        let filters = match &words {
            Some(_) => Value::Array(filters(query, standing)),
            None => listed(query, standing).into(),
        };
        // If products may be left out, a small page is filled from a larger one.
        let least = if *criteria == Criteria::default() { 1 } else { LEAST_FILTERED };
        let limit = query.limit.clamp(least, MOST_PRODUCTS);
        Self { words, filters, available: criteria.available, context: standing.in_context(presentation), limit }
    }
}

/// A category as the API can filter by it.
enum Kind {
    /// Product types, as the merchant spells them.
    Types(Vec<String>),
    /// Identifier of a category in Shopify's taxonomy.
    Taxonomy(String),
}

fn kind(category: &CategoryPath, standing: &Standing) -> Kind {
    let types = standing.types_in(category);
    let key = category.key();
    let taxonomic = key.split_once('-').is_some_and(|(vertical, below)| {
        vertical.len() == 2
            && vertical.bytes().all(|letter| letter.is_ascii_lowercase())
            && below.split('-').all(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    });
    if !types.is_empty() {
        Kind::Types(types.into_iter().map(str::to_owned).collect())
    } else if taxonomic {
        Kind::Taxonomy(key)
    } else {
        // It may be a type that was added after the list of types was read.
        Kind::Types(vec![key])
    }
}

/// Returns the product types of all categories (`false`) or their taxonomy identifiers (`true`); `None` if there are
/// both, or neither. The API would require filters of both kinds to hold at once.
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

/// Returns the filters of a search. Filters of one kind are alternatives; filters of different kinds must all hold.
fn filters(query: &Query, standing: &Standing) -> Vec<Value> {
    let criteria = &query.criteria;
    let mut filters = Vec::new();
    if criteria.available {
        filters.push(json!({ "available": true }));
    }
    // The API compares prices in the presentation currency; bounds in another currency are applied here alone.
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

/// Returns the query of a list, in the API's query language. It compares the shop's own prices.
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

/// Quotes a text so that the query language takes it literally.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns `true` if a variant that the product does not hold could pass: a combination is available, if that is
/// required, and a price bound, if there is one, overlaps the product's price range.
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
    Refusal::new(Code::InvalidCursor, "The cursor has expired at the shop.")
        .at("$.pagination.cursor")
        .accepting("no cursor, for the first page")
        .into()
}

/// Returns `true` if an error is about the cursor.
fn names_position(error: &Problem) -> bool {
    let message = error.message.to_ascii_lowercase();
    message.contains("cursor")
        || message.contains("'after'")
        || message.contains("\"after\"")
        || message.contains("$after")
}
