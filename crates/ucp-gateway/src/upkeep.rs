//! What several shops need although nobody calls them: those with something to do are opened, those without are closed,
//! and the rows of closed ones expire as those of others do.

use std::{collections::HashSet, error::Error, sync::Arc, time::Duration};

use tokio::time::{Instant, MissedTickBehavior};
use ucp_core::{ShopId, port::PortError};

use crate::{backend::retention, clock, files::Place, running::Running};

/// Interval at which shops with something to do are looked for, and idle ones are closed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which expired rows of closed shops are removed.
const PRUNING_INTERVAL: Duration = Duration::from_secs(600);

/// Maximum number of shops that are opened at the same time because they have something to do.
const OPENED: usize = 4;

/// Looks after several shops for as long as the process runs. The only shop of a process looks after itself.
pub(crate) async fn run(running: Arc<Running>) {
    if running.shops.single().is_some() {
        return;
    }
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut pruned: Option<Instant> = None;
    loop {
        interval.tick().await;
        match at_work(&running).await {
            Ok(at_work) => open_and_close(&running, &at_work).await,
            Err(error) => {
                tracing::error!(error = &error as &dyn Error, "shops with something to do cannot be looked for");
            }
        }
        if pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNING_INTERVAL) {
            pruned = Some(Instant::now());
            prune(&running).await;
        }
    }
}

/// Returns the shops that have something to do.
async fn at_work(running: &Running) -> Result<HashSet<ShopId>, PortError> {
    let mut found = HashSet::new();
    for (place, tenants) in running.files.all().await {
        for shop in tenants.shops_at_work(clock::timestamp()).await? {
            if running.shops.named(shop.as_str()).is_some_and(|slot| Place::of(&slot.settings) == place) {
                found.insert(shop);
            }
        }
    }
    Ok(found)
}

async fn open_and_close(running: &Running, at_work: &HashSet<ShopId>) {
    let idle = Duration::from_secs(running.process().server.close_idle_s.count() as u64);
    let mut opened = 0;
    for slot in running.shops.all() {
        match (slot.shop(), at_work.contains(&slot.id)) {
            (None, true) if opened < OPENED => {
                opened += 1;
                // The reason why it is not is in the log.
                drop(running.opened(&slot).await);
            }
            (Some(_), false) if slot.idle().is_some_and(|time| time >= idle) => slot.close().await,
            _ => {}
        }
    }
}

/// Removes the expired rows of shops that are closed.
async fn prune(running: &Running) {
    for (place, tenants) in running.files.all().await {
        let shops = tenants.shops_with_rows().await.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn Error, "shops with expired rows cannot be looked for");
            Vec::new()
        });
        for shop in shops {
            let slot = running.shops.named(shop.as_str());
            let Some(slot) = slot.filter(|slot| slot.shop().is_none() && Place::of(&slot.settings) == place) else {
                continue;
            };
            let pruned = async {
                let store = tenants.store_of(shop, retention(&slot.settings.sections.data)).await?;
                store.prune(clock::timestamp()).await
            };
            if let Err(error) = pruned.await {
                tracing::error!(shop = %slot.id, error = &error as &dyn Error, "what is out of date cannot be removed");
            }
        }
    }
}
