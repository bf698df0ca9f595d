//! The catalog of a shop as a copy: searches and lookups are answered from it; one product that a buyer is about to
//! decide on is asked for at the shop, if the shop can be asked.

use std::sync::Arc;

use async_trait::async_trait;
use ucp_contract::ContractShop;
use ucp_core::{
    catalog::market::{Market, Presentation},
    message::Message,
    port::{Catalog, Named, Page, PortError, Query},
    purchase::caller::BuyerSignals,
};
use ucp_shop::Shop;

use crate::{source::Source, synchroniser::Synchroniser};

/// A synchronised catalog.
#[derive(Clone, Debug)]
pub struct SynchronisedCatalog {
    copy: Shop,
    live: Option<ContractShop>,
    synchroniser: Synchroniser,
}

impl SynchronisedCatalog {
    /// Creates the catalog of a copy, which `synchroniser` keeps. Prices and stock of single products are asked for at
    /// `live`.
    #[must_use]
    pub const fn new(copy: Shop, live: Option<ContractShop>, synchroniser: Synchroniser) -> Self {
        Self { copy, live, synchroniser }
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
        page.messages.push(self.age());
        Ok(page)
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
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
        let mut message = self.age();
        if let Some(shop) = &self.live {
            let is_copied = matches!(self.synchroniser.source(), Source::Shop(_));
            match shop.open(id, presentation, buyer_signals).await {
                // The identifiers of a feed need not be those of the shop.
                Ok(Named::Found(matches)) if is_copied || !matches.is_empty() => return Ok(Named::Found(matches)),
                Ok(Named::Found(_)) => {}
                Ok(_) => message = self.unanswered(),
                Err(error) => {
                    tracing::debug!(%error, "the shop cannot be asked, and its copy answers");
                    message = self.unanswered();
                }
            }
        }
        let copied = self.copy.open(id, presentation, buyer_signals).await?;
        Ok(dated(copied, message))
    }
}
