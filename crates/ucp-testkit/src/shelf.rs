//! A catalog whose goods change between calls.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use ucp_core::{
    Code, Refusal,
    catalog::{
        cursor::Cursors,
        market::{Market, Presentation},
        record::{Record, VariantRecord},
    },
    ports::{Catalog, Match, Named, Page, PortError, Query, Target, caller::BuyerSignals},
};

use crate::{give_way, locked};

/// A [`Catalog`] of given goods: products of one variant each, in US dollars.
pub struct Shelf {
    market: Arc<Market>,
    goods: Mutex<Vec<Record>>,
    closed: Mutex<bool>,
}

ucp_core::opaque!(Shelf);

impl Default for Shelf {
    fn default() -> Self {
        let market = json!({
            "name": "Example", "currency": "USD", "language": "en",
            "links": [{ "type": "terms_of_service", "url": "https://shop.example/terms" }],
        });
        Self {
            market: Arc::new(serde_json::from_value(market).expect("a market")),
            goods: Mutex::default(),
            closed: Mutex::default(),
        }
    }
}

impl Shelf {
    /// Puts a good on the shelf: the variant `id` of the product `product_<id>`, for so many cents.
    pub fn put(&self, id: &str, cents: i64) {
        let record = json!({
            "id": format!("product_{id}"), "title": id, "description": { "plain": id },
            "variants": [{ "id": id, "price": { "amount": cents, "currency": "USD" } }],
        });
        let record: Record = serde_json::from_value(record).expect("a record");
        locked(&self.goods).push(record.check(&self.market).expect("a usable record"));
    }

    /// Changes a good. Panics if there is none with this id.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut VariantRecord)) {
        let mut goods = locked(&self.goods);
        let variant = goods.iter_mut().flat_map(|record| &mut record.variants).find(|variant| variant.id == id);
        change(variant.expect("a good of this id"));
    }

    /// Gives a good another price, in cents.
    pub fn reprice(&self, id: &str, cents: i64) {
        self.change(id, |variant| {
            variant.price.amount = ucp_core::money::Amount::new(cents).expect("an amount");
        });
    }

    /// From now on asking for goods fails, or succeeds again.
    pub fn close(&self, closed: bool) {
        *locked(&self.closed) = closed;
    }

    async fn open(&self) -> Result<(), PortError> {
        give_way().await;
        if *locked(&self.closed) { Err(PortError::unavailable("The shop is closed.", 7)) } else { Ok(()) }
    }
}

#[async_trait]
impl Catalog for Shelf {
    fn market(&self) -> Arc<Market> {
        Arc::clone(&self.market)
    }

    async fn find(&self, query: &Query, _: &BuyerSignals) -> Result<Page, PortError> {
        self.open().await?;
        let goods = locked(&self.goods);
        let found = goods.iter().filter(|record| query.text.as_ref().is_none_or(|text| record.title.contains(text)));
        let products = found.take(query.limit).map(|record| Arc::new(record.present(&query.presentation))).collect();
        Ok(Page { products, next: None, total: None, messages: Vec::new() })
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        _: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        self.open().await?;
        let goods = locked(&self.goods);
        let target = |record: &Record, id: &str| {
            if record.id == id {
                return Some(Target::Product);
            }
            record.variants.iter().position(|variant| variant.id == id).map(Target::Variant)
        };
        let named = |id: &&str| {
            let found = goods.iter().filter_map(|record| Some((record, target(record, id)?)));
            let found = found.map(|(record, target)| Match { product: Arc::new(record.present(presentation)), target });
            Named::Found(found.collect())
        };
        Ok(ids.iter().map(named).collect())
    }
}

/// Cursors that say the query and the position in plain text.
#[derive(Clone, Copy, Debug)]
pub struct PlainCursors;

impl Cursors for PlainCursors {
    fn seal(&self, query: &str, position: &[u8]) -> String {
        format!("{} in {query}", Value::from(position))
    }

    fn open(&self, query: &str, cursor: &str) -> Result<Vec<u8>, Refusal> {
        let position = cursor.strip_suffix(&format!(" in {query}")).and_then(|text| serde_json::from_str(text).ok());
        position.ok_or_else(|| {
            Refusal::new(Code::InvalidCursor, "Invalid cursor for this query.").at("$.pagination.cursor")
        })
    }
}
