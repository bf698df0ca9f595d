//! Subjects of recorded calls, and the deletion of calls together with their subjects.
//!
//! A call has at most one subject: the cart, checkout or order whose personal data were stored when it ended. Whether they
//! still are is asked of the store, which alone knows of erasures by commands and by other gateways, of what expired, and of
//! what a restored backup has: there is no list of erasures that could be lost or read too late. Calls without a subject, and
//! those of shops whose carts and orders are elsewhere, are deleted `data.keep_unfinished_hours` after they ended.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Weak},
    time::Duration,
};

use jiff::Timestamp;
use tokio::time::timeout;
use ucp_core::ports::{PortError, store::Store};
use ucp_host::{backend::retention, clock, files::StoragePlace, running::Running, slot::Slot};

use super::entry::Summary;

/// Maximum time for which a store is asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of subjects that a store is asked for at once.
const BATCH: usize = 500;

/// The stores of a gateway, as those that know what became of the subjects of calls.
#[derive(Clone, Debug, Default)]
pub struct Subjects(Weak<Running>);

impl Subjects {
    /// Returns the subjects in the stores of a gateway.
    pub fn of(running: &Arc<Running>) -> Self {
        Self(Arc::downgrade(running))
    }

    /// Returns the first of `ids` whose personal data a shop stores, or the first one at all if its store cannot be asked.
    pub(super) async fn first(&self, shop: &str, mut ids: Vec<String>) -> Option<String> {
        let slot = self.0.upgrade()?.shops.named(shop)?;
        if ids.is_empty() || slot.settings.are_orders_elsewhere() {
            return None;
        }
        match self.stored(&slot, &ids).await {
            Ok(stored) => ids.into_iter().find(|id| stored.contains(id)),
            Err(_) => Some(ids.swap_remove(0)),
        }
    }

    /// Returns the numbers of those calls that are to be deleted. Those of a store that cannot be asked are not yet.
    pub(super) async fn gone(&self, calls: &[Arc<Summary>]) -> HashSet<u64> {
        let (mut gone, mut by_shop) = (HashSet::new(), BTreeMap::<_, Vec<_>>::new());
        let Some(running) = self.0.upgrade() else { return gone };
        for call in calls {
            by_shop.entry(&*call.shop).or_default().push(call);
        }
        for (shop, calls) in by_shop {
            let slot = running.shops.named(shop);
            let retention = slot.as_ref().map(|slot| retention(&slot.settings.sections.data)).unwrap_or_default();
            let before = clock::timestamp().saturating_sub(retention.unfinished).unwrap_or(Timestamp::MIN);
            let (about, others): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.subject.is_some());
            let is_old = |call: &&&Arc<Summary>| call.at.parse().is_ok_and(|at: Timestamp| at < before);
            gone.extend(others.iter().filter(is_old).map(|call| call.number));
            let Some(slot) = slot else {
                // Nobody can be asked about a shop that is served no longer.
                gone.extend(about.iter().map(|call| call.number));
                continue;
            };
            for about in about.chunks(BATCH) {
                let ids: HashSet<_> = about.iter().filter_map(|call| call.subject.clone()).collect();
                match self.stored(&slot, &Vec::from_iter(ids)).await {
                    Ok(stored) => {
                        let is_gone =
                            |call: &&&Arc<Summary>| call.subject.as_ref().is_some_and(|id| !stored.contains(id));
                        gone.extend(about.iter().filter(is_gone).map(|call| call.number));
                    }
                    Err(error) => {
                        tracing::warn!(shop, %error, "looking up the subjects of recorded calls failed; trying again");
                        break;
                    }
                }
            }
        }
        gone
    }

    /// Returns those of `ids` whose personal data a shop stores.
    async fn stored(&self, slot: &Slot, ids: &[String]) -> Result<HashSet<String>, PortError> {
        let asked = timeout(PATIENCE, async { self.store(slot).await?.with_personal_data(ids).await });
        asked.await.unwrap_or_else(|_| Err(PortError::unavailable("The store does not answer.", 1)))
    }

    /// Returns the store of a shop, which need not be open.
    async fn store(&self, slot: &Slot) -> Result<Arc<dyn Store>, PortError> {
        if let Some(shop) = slot.shop() {
            return Ok(Arc::clone(&shop.store));
        }
        let place = StoragePlace::of(&slot.settings);
        let tenants = self.0.upgrade().map(|running| running.files.tenants()).unwrap_or_default();
        match tenants.into_iter().find(|(other, _)| *other == place) {
            Some((_, tenants)) => tenants.store_of(slot.id.clone(), retention(&slot.settings.sections.data)).await,
            None => Err(PortError::unavailable("The store is not open.", 1)),
        }
    }
}
