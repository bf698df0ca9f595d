//! Description of the shop as a whole for agents, so that a model with several shops can tell them apart.
//!
//! Names, categories and descriptions come from the shop, its backend or its operator. They are stated as short pieces
//! of one line each, without characters that no one sees.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::{Value, json};
use ucp_core::{
    Operation,
    catalog::{filter::Criteria, product::Category},
    ports::{Catalog, Query, caller::BuyerSignals},
    text::clean,
};

/// Maximum number of characters of a name.
const MAX_NAME: usize = 80;

/// Maximum number of characters of the description.
const MAX_DESCRIPTION: usize = 400;

/// Maximum number of currencies, languages, countries or categories that are named.
const MOST_NAMED: usize = 12;

/// Number of products whose categories are looked at.
const SAMPLED: usize = 50;

/// A shop, as agents see it.
pub struct About {
    server_info: Value,
    description: Option<String>,
    catalog: Option<Arc<dyn Catalog>>,
    products: Option<Arc<dyn Catalog>>,
}

impl fmt::Debug for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About").field("server_info", &self.server_info).finish_non_exhaustive()
    }
}

impl About {
    /// Creates the description of the shop `name`.
    pub fn new(name: &str) -> Self {
        let name = line(name, MAX_NAME);
        let title = if name.is_empty() { "UCP gateway" } else { &name };
        let server_info = json!({ "name": "ucp-gateway", "title": title, "version": env!("CARGO_PKG_VERSION") });
        Self { server_info, description: None, catalog: None, products: None }
    }

    /// Adds the picture that stands for the shop, if it has one.
    #[must_use]
    pub fn with_icon(mut self, url: Option<&str>) -> Self {
        if let Some(url) = url {
            self.server_info["icons"] = json!([{ "src": url }]);
        }
        self
    }

    /// Adds what the shop says about itself.
    #[must_use]
    pub fn described(self, description: Option<&str>) -> Self {
        let description = description.map(|text| line(text, MAX_DESCRIPTION)).filter(|text| !text.is_empty());
        Self { description, ..self }
    }

    /// Adds the catalog, whose market says where and in what the shop sells, and `products`, a catalog on this machine,
    /// whose categories say what.
    #[must_use]
    pub fn selling(self, catalog: Option<Arc<dyn Catalog>>, products: Option<Arc<dyn Catalog>>) -> Self {
        Self { catalog, products, ..self }
    }

    /// Returns the description of the server: MCP's `Implementation`.
    pub const fn server_info(&self) -> &Value {
        &self.server_info
    }

    /// Returns the instructions for agents that may call `tools`.
    pub async fn instructions(&self, tools: &[Operation]) -> String {
        let has = |operation| tools.contains(&operation);
        let title = self.server_info["title"].as_str().unwrap_or_default();
        let mut parts = vec![format!("{title}: {}.", abilities(&has))];
        parts.extend(self.description.as_deref().map(sentence));
        let categories = self.categories().await;
        if !categories.is_empty() {
            parts.push(format!("Product categories: {}.", categories.join(", ")));
        }
        parts.extend(self.catalog.as_deref().map(market));
        parts.push("Amounts are integers in minor units of their currency (1250 = 12.50 in USD).".to_owned());
        parts.extend(flow(&has));
        parts.push("`messages` in a response say what could not be done as requested.".to_owned());
        parts.join(" ")
    }

    /// Returns the top categories of products, most frequent first; none if there are no products on this machine.
    async fn categories(&self) -> Vec<String> {
        let Some(products) = &self.products else { return Vec::new() };
        let (criteria, presentation) = (Criteria::default(), products.market().own());
        let query = Query { text: None, intent: None, criteria, presentation, limit: SAMPLED, after: None };
        let Ok(page) = products.find(&query, &BuyerSignals::default()).await else { return Vec::new() };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for product in &page.products {
            let own = |category: &&Category| category.taxonomy.as_deref().is_none_or(|taxonomy| taxonomy == "merchant");
            let category = product.categories.iter().find(own).or_else(|| product.categories.first());
            let top = category.and_then(|category| category.value.split('>').next()).map(|top| line(top, MAX_NAME));
            if let Some(top) = top.filter(|top| !top.is_empty()) {
                *counts.entry(top).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        counts.into_iter().take(MOST_NAMED).map(|(category, _)| category).collect()
    }
}

/// Describes the tools in a few words.
fn abilities(has: &impl Fn(Operation) -> bool) -> String {
    let abilities = [
        (Operation::SearchCatalog, "product search"),
        (Operation::CreateCart, "carts"),
        (Operation::CreateCheckout, "checkout"),
        (Operation::GetOrder, "orders"),
        (Operation::SearchMerchants, "a directory of merchants"),
    ];
    let named: Vec<_> = abilities.iter().filter(|(operation, _)| has(*operation)).map(|(_, name)| *name).collect();
    format!("a shop with {}", named.join(", "))
}

/// Returns the sentences about currencies, languages and countries.
fn market(catalog: &dyn Catalog) -> String {
    let market = catalog.market();
    let currencies = std::iter::once(&market.currency).chain(&market.currencies).map(ToString::to_string);
    let languages = std::iter::once(&market.language).chain(&market.languages).cloned();
    let mut told = format!("Currencies: {}. Languages: {}.", listed(currencies), listed(languages));
    if !market.countries.is_empty() {
        told.push_str(&format!(" Countries: {}.", listed(market.countries.keys().cloned())));
    }
    told
}

/// Lists names, each once, and how many more there are.
fn listed(names: impl Iterator<Item = String>) -> String {
    let mut seen = HashSet::new();
    let names: Vec<_> = names.map(|name| line(&name, MAX_NAME)).filter(|name| seen.insert(name.clone())).collect();
    match names.split_at_checked(MOST_NAMED) {
        Some((named, more)) if !more.is_empty() => format!("{} and {} more", named.join(", "), more.len()),
        _ => names.join(", "),
    }
}

/// Returns the sentences about the order of calls.
fn flow(has: &impl Fn(Operation) -> bool) -> Vec<String> {
    let mut told = Vec::new();
    if has(Operation::GetProduct) {
        told.push("get_product has all options and the whole description, which searches may cut.".to_owned());
    }
    let steps = [
        (Operation::SearchCatalog, "search_catalog"),
        (Operation::GetProduct, "get_product"),
        (Operation::CreateCheckout, "create_checkout"),
        (Operation::UpdateCheckout, "update_checkout until `status` is `ready_for_complete`"),
        (Operation::CompleteCheckout, "complete_checkout with a new idempotency key"),
    ];
    let steps: Vec<_> = steps.iter().filter(|(operation, _)| has(*operation)).map(|(_, step)| *step).collect();
    if steps.len() > 1 {
        told.push(format!("Flow: {}.", steps.join(", ")));
    }
    if has(Operation::CreateCheckout) {
        told.push("When `status` is `requires_escalation`, send the buyer to `continue_url`.".to_owned());
    }
    told
}

/// Returns a text that comes from outside as one line of at most `most` characters.
fn line(text: &str, most: usize) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..line[..end].rfind(' ').unwrap_or(end)]),
    }
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_from_outside_are_short_lines() {
        let about = About::new("Two\nlines\u{202e} of\u{200b}  a name").described(Some(&"word ".repeat(200)));
        assert_eq!(about.server_info()["title"], "Two lines of a name");
        let told = about.instructions(Operation::ALL).await;
        assert!(told.starts_with("Two lines of a name: a shop with product search, carts, checkout"), "{told}");
        assert!(!told.chars().any(char::is_control) && told.len() < 1_500, "{told}");
        assert!(told.contains("word… Amounts"), "{told}");
    }

    #[tokio::test]
    async fn only_tools_that_there_are_are_named() {
        let told = About::new("Shop").instructions(&[Operation::SearchCatalog, Operation::GetProduct]).await;
        assert!(told.contains("Flow: search_catalog, get_product.") && !told.contains("checkout"), "{told}");
        assert_eq!(About::new("").server_info()["title"], "UCP gateway");
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(listed(["EUR", "USD", "EUR"].map(str::to_owned).into_iter()), "EUR, USD");
        assert!(listed((0..20).map(|number| number.to_string())).ends_with("11 and 8 more"));
    }
}
