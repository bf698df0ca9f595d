//! Upkeep of several shops without calls: those with something to do are opened, those without are closed, the rows of
//! closed ones expire as those of others do, and databases that are down are tried again.
//!
//! Nothing here waits for one shop or one place of storage: a backend or a database that does not answer keeps no other shop
//! from what it needs.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    error::Error,
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, timeout},
};
use ucp_core::{ShopId, ports::PortError};

use crate::{backend::retention, cause::chain, clock, files::StoragePlace, openings::Opener, running::Running};

/// Interval at which shops with something to do are looked for, and idle ones are closed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time for which a place of storage is asked for them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two attempts to open databases that are away.
const PAUSE: Duration = Duration::from_secs(5);

/// Interval at which expired rows of closed shops are removed.
const PRUNING_INTERVAL: Duration = Duration::from_secs(600);

/// Maximum number of shops that are opened at the same time because they have something to do.
const OPENED: usize = 4;

/// Looks after several shops for as long as the process runs. The only shop of a process looks after itself.
pub async fn run(running: Arc<Running>) {
    if running.shops.single().is_some() {
        return;
    }
    tokio::spawn(connect(Arc::clone(&running)));
    tokio::spawn(prune(Arc::clone(&running)));
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut opening, mut silent) = (JoinSet::new(), BTreeSet::new());
    loop {
        interval.tick().await;
        while opening.try_join_next().is_some() {}
        let at_work = at_work(&running, &mut silent).await;
        let idle = Duration::from_secs(running.process().server.close_idle_s.count() as u64);
        for slot in running.shops.all() {
            match (slot.shop(), at_work.contains(&slot.id)) {
                (None, true) if opening.len() < OPENED && slot.can_be_opened() => {
                    let running = Arc::clone(&running);
                    // The reason why it is not is in the log.
                    opening.spawn(async move { drop(running.opened(&slot, Opener::Gateway).await) });
                }
                // What one of a place that is away has to do is not known, and it could not be opened again.
                (Some(_), false)
                    if slot.idle().is_some_and(|time| time >= idle)
                        && !silent.contains(&StoragePlace::of(&slot.settings)) =>
                {
                    slot.close().await;
                }
                _ => {}
            }
        }
    }
}

/// Returns the shops that have something to do. Those places that cannot be asked are in `silent` from then on, and each is
/// logged when that begins.
async fn at_work(running: &Running, silent: &mut BTreeSet<StoragePlace>) -> HashSet<ShopId> {
    let asked = running.files.tenants().into_iter().map(async |(place, tenants)| {
        let shops = match timeout(PATIENCE, tenants.shops_at_work(clock::timestamp())).await {
            Ok(shops) => shops.map_err(|error| chain(&error)),
            Err(_) => Err(format!("no answer within {PATIENCE:?}")),
        };
        (place, shops)
    });
    let (mut found, before) = (HashSet::new(), std::mem::take(silent));
    for (place, shops) in join_all(asked).await {
        match shops {
            Ok(shops) => {
                let in_it = shops.into_iter().filter(|shop| {
                    running.shops.named(shop.as_str()).is_some_and(|slot| StoragePlace::of(&slot.settings) == place)
                });
                found.extend(in_it);
            }
            Err(error) => {
                if !before.contains(&place) {
                    tracing::error!(%place, error, "finding shops with due tasks failed");
                }
                silent.insert(place);
            }
        }
    }
    found
}

/// Opens the databases of shops, again and again where that fails: all of them at once, so that none waits for another.
async fn connect(running: Arc<Running>) {
    let mut failing = BTreeSet::new();
    loop {
        let configuration = running.configuration();
        let away = configuration.shops.iter().filter_map(|settings| {
            let options = settings.database.as_ref()?;
            (!running.files.has(options)).then_some((StoragePlace::of(settings), (options, settings.mount.id.clone())))
        });
        // One shop of each place asks.
        let away: BTreeMap<_, _> = away.collect();
        let opened = away.into_iter().map(async |(place, (options, shop))| {
            (place, running.files.database(options, shop).await.map(drop).map_err(|error| chain(&error)))
        });
        let before = std::mem::take(&mut failing);
        for (place, opened) in join_all(opened).await {
            match opened {
                Ok(()) if before.contains(&place) => tracing::info!(%place, "database available"),
                Ok(()) => {}
                Err(error) => {
                    if !before.contains(&place) {
                        tracing::error!(%place, error, "database unavailable, trying again");
                    }
                    failing.insert(place);
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes the expired rows of shops that are closed, at their interval.
async fn prune(running: Arc<Running>) {
    loop {
        let begun = Instant::now();
        for (place, tenants) in running.files.tenants() {
            let shops = tenants.shops_with_rows().await.unwrap_or_else(|error| {
                tracing::error!(%place, error = &error as &dyn Error, "finding shops with expired rows failed");
                Vec::new()
            });
            for shop in shops {
                let slot = running.shops.named(shop.as_str());
                let Some(slot) = slot.filter(|slot| slot.shop().is_none() && StoragePlace::of(&slot.settings) == place)
                else {
                    continue;
                };
                let pruned = async {
                    let store = tenants.store_of(shop, retention(&slot.settings.sections.data)).await?;
                    store.prune(clock::timestamp()).await
                };
                if let Err(error) = pruned.await {
                    let error: &PortError = &error;
                    tracing::error!(shop = %slot.id, error = error as &dyn Error, "removing expired rows failed");
                }
            }
        }
        tokio::time::sleep_until(begun + PRUNING_INTERVAL).await;
    }
}
