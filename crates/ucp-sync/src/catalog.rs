//! The catalog of a shop as a copy: searches and lookups are answered from it; one product that a buyer is about to
//! decide on is asked for at the shop, if the shop can be asked.

use std::sync::Arc;

use async_trait::async_trait;
use ucp_contract::ContractShop;
use ucp_core::{
    catalog::market::{Market, Presentation},
    message::Message,
    ports::{Catalog, Named, Page, PortError, Query, caller::BuyerSignals},
};
use ucp_shop::EmbeddedShop;

use crate::{source::Source, synchroniser::Synchroniser};

/// A synchronized catalog.
#[derive(Clone, Debug)]
pub struct SynchronisedCatalog {
    copy: EmbeddedShop,
    live: Option<ContractShop>,
    synchroniser: Synchroniser,
}

impl SynchronisedCatalog {
    /// Creates the catalog of a copy, which `synchroniser` keeps. Prices and stock of single products are asked for at
    /// `live`.
    pub const fn new(copy: EmbeddedShop, live: Option<ContractShop>, synchroniser: Synchroniser) -> Self {
        Self { copy, live, synchroniser }
    }

    /// Returns the shop if it has to be asked for every price: the copy has those of everyone, not those of a customer group.
    /// The identifiers of a feed need not be those of the shop, so that its copy answers.
    fn priced_live(&self, presentation: &Presentation) -> Option<&ContractShop> {
        let is_copied = matches!(self.synchroniser.source(), Source::Shop(_));
        self.live.as_ref().filter(|_| presentation.customer_group.is_some() && is_copied)
    }

    /// Returns the message that says as of when the facts of the copy are.
    fn age(&self) -> Message {
        match self.synchroniser.as_of() {
            Some(as_of) => Message::info(
                "facts_as_of",
                format!("Prices and availability are those of {as_of:.0}, when the shop's catalog was read last."),
            ),
            None => Message::info(
                "catalog_incomplete",
                "The shop's catalog is being read for the first time; there may be more products than are found.",
            ),
        }
    }

    /// Returns the message that the shop itself cannot be asked.
    fn unanswered(&self) -> Message {
        let as_of = self.synchroniser.as_of().map_or_else(String::new, |as_of| format!(" of {as_of:.0}"));
        Message::warning(
            "stale",
            format!(
                "The shop does not answer at the moment. Prices and availability are those{as_of} in a copy of its catalog, and may have changed."
            ),
        )
    }
}

fn dated(named: Named, message: Message) -> Named {
    match named {
        Named::Found(matches) => Named::Dated(matches, message),
        other => other,
    }
}

#[async_trait]
impl Catalog for SynchronisedCatalog {
    fn market(&self) -> Arc<Market> {
        self.copy.market()
    }

    async fn find(&self, query: &Query, buyer_signals: &BuyerSignals) -> Result<Page, PortError> {
        let mut page = self.copy.find(query, buyer_signals).await?;
        if let Some(shop) = self.priced_live(&query.presentation) {
            // The copy has the prices of everyone: it finds, and the shop says what the group pays.
            let ids: Vec<_> = page.products.iter().map(|product| product.id.clone()).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            let live = match ids.as_slice() {
                [] => Ok(Vec::new()),
                ids => shop.resolve(ids, &query.presentation, buyer_signals).await,
            };
            let mut products = Vec::new();
            for named in live? {
                let matches = match named {
                    Named::Found(matches) => matches,
                    Named::Dated(matches, message) | Named::Stale(matches, message) => {
                        if !page.messages.contains(&message) {
                            page.messages.push(message);
                        }
                        matches
                    }
                    Named::Unchecked => continue,
                };
                products.extend(matches.into_iter().next().map(|found| found.product));
            }
            products.retain(|product| product.variants.iter().any(|own| query.criteria.admit(product, own)));
            page.products = products;
            // Some of those that the copy counts may not be for the group.
            page.total = None;
            return Ok(page);
        }
        page.messages.push(self.age());
        Ok(page)
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        if let Some(shop) = self.priced_live(presentation) {
            return shop.resolve(ids, presentation, buyer_signals).await;
        }
        let named = self.copy.resolve(ids, presentation, buyer_signals).await?;
        let age = self.age();
        Ok(named.into_iter().map(|named| dated(named, age.clone())).collect())
    }

    async fn open(
        &self,
        id: &str,
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Named, PortError> {
        if let Some(shop) = self.priced_live(presentation) {
            return shop.open(id, presentation, buyer_signals).await;
        }
        let mut message = self.age();
        if let Some(shop) = &self.live {
            let is_copied = matches!(self.synchroniser.source(), Source::Shop(_));
            match shop.open(id, presentation, buyer_signals).await {
                // The identifiers of a feed need not be those of the shop.
                Ok(Named::Found(matches)) if is_copied || !matches.is_empty() => return Ok(Named::Found(matches)),
                Ok(Named::Found(_)) => {}
                Ok(_) => message = self.unanswered(),
                Err(error) => {
                    tracing::debug!(%error, "upstream unreachable, answering from the copy");
                    message = self.unanswered();
                }
            }
        }
        let copied = self.copy.open(id, presentation, buyer_signals).await?;
        Ok(dated(copied, message))
    }
}
