//! Prior knowledge of buyers: titles, numbers and prices, as from an advertisement.

use serde_json::{Value, json};
use ucp_core::Operation;

use crate::shop::{Call, CalledShop, Transport};

/// Number of products that are known.
const MOST: usize = 100;

/// Number of products of a page.
const PAGE: usize = 25;

/// Something that can be bought.
#[derive(Clone, Debug, Default)]
pub(super) struct CatalogItem {
    pub(super) product: Option<Value>,
    pub(super) title: String,
    pub(super) variant: String,
    pub(super) sku: Option<String>,
    pub(super) amount: i64,
    pub(super) currency: Option<String>,
    pub(super) category: Option<String>,
}

/// The goods that are known, in the order in which the shop shows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    pub(super) items: Vec<CatalogItem>,
}

impl Knowledge {
    /// Reads some pages of the catalog; `named` goods are known where there is no catalog.
    pub(super) async fn gather(shop: &CalledShop, transport: Transport, named: &[String]) -> Self {
        if !named.is_empty() || !shop.offers(Operation::SearchCatalog) {
            let item = |id: &String| CatalogItem { variant: id.clone(), title: id.clone(), ..CatalogItem::default() };
            return Self { items: named.iter().map(item).collect() };
        }
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        while items.len() < MOST {
            let mut pagination = json!({ "limit": PAGE });
            if let Some(cursor) = &cursor {
                pagination["cursor"] = cursor.as_str().into();
            }
            let search = Call::new(
                Operation::SearchCatalog,
                json!({ "filters": { "available": true }, "pagination": pagination }),
            );
            let Ok(answer) = shop.call(transport, &search).await else { break };
            let Some(found) = answer.resource() else { break };
            let page = found.get("products").cloned().unwrap_or_default();
            items.extend(elements(&page).filter_map(item));
            let next = found.get("pagination").cloned().unwrap_or_default();
            cursor = next["cursor"].as_str().filter(|_| next["has_next_page"] == true).map(str::to_owned);
            if cursor.is_none() || elements(&page).next().is_none() {
                break;
            }
        }
        Self { items }
    }
}

/// Returns the elements of an array; nothing of anything else.
pub(super) fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn item(product: &Value) -> Option<CatalogItem> {
    let variant = elements(&product["variants"]).find(|variant| variant["availability"]["available"] != false)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let merchant =
        elements(&product["categories"]).filter(|category| category["taxonomy"] != "google_product_category");
    Some(CatalogItem {
        title: text(&product["title"])?,
        variant: text(&variant["id"])?,
        sku: text(&variant["sku"]),
        amount: variant["price"]["amount"].as_i64().unwrap_or_default(),
        currency: text(&variant["price"]["currency"]),
        category: merchant.filter_map(|category| text(&category["value"])).last(),
        product: Some(product.clone()),
    })
}
