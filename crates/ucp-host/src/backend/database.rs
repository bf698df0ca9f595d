//! The database that several gateways share.

use std::{error::Error, path::Path};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use ucp_config::Settings;
use ucp_core::{ShopId, ports::shared::SharedProduct};
use ucp_postgres::{Options, PostgresStore, catalog::Publication};
use ucp_shop::{
    Database as Products,
    replica::{adopt, begin_places_at},
};
use ucp_sqlite::SqliteStore;

use super::{
    products::{Scratch, first_place, follow, found, publish},
    replica::Replica,
};
use crate::files::Files;

/// The store in the database, and the copy of its products on this machine. Clones share both.
#[derive(Clone, Debug)]
pub struct Database {
    store: PostgresStore,
    replica: Option<Replica>,
}

impl Database {
    /// Opens the database, and the embedded shop if that is what is sold from. Blocks; within a runtime.
    pub(super) fn open(options: &Options, settings: &Settings, files: &Files) -> Result<Self, Box<dyn Error>> {
        if options.is_exposed() {
            tracing::warn!(
                database = options.place(),
                "connection to the database is not encrypted: names and addresses of buyers can be read on the network"
            );
        }
        let is_embedded = settings.upstream.is_none();
        waiting(async {
            let store = files.database(options, settings.mount.id.clone()).await?;
            let replica = match is_embedded {
                true => Some(Replica::open(&store, &files.open(&settings.sections.data)?, settings).await?),
                false => None,
            };
            Ok(Self { store, replica })
        })
    }

    /// Returns the store of carts, checkouts and orders.
    pub(crate) const fn store(&self) -> &PostgresStore {
        &self.store
    }

    /// Returns the products; `None` in front of a remote shop.
    pub const fn replica(&self) -> Option<&Replica> {
        self.replica.as_ref()
    }
}

/// Waits on this thread for what needs the runtime. It is boxed, so that it is compiled once, and not for each kind of runtime.
fn waiting<'a, T>(work: impl Future<Output = Result<T, Box<dyn Error>>> + 'a) -> Result<T, Box<dyn Error>> {
    tokio::task::block_in_place(|| Handle::current().block_on(work.boxed_local()))
}

/// An import into the database: into a copy of its products, of which that which changed is published.
#[derive(Debug)]
pub struct Import {
    store: PostgresStore,
    folder: Scratch,
    /// The products before the import, and their edition.
    before: Option<(Vec<SharedProduct>, i64)>,
}

impl Import {
    /// Opens the database, and copies its products into a directory below that of the data. Blocks; within a runtime.
    pub fn begin(options: &Options, shop_id: &ShopId, data_dir: &Path) -> Result<Self, Box<dyn Error>> {
        waiting(async {
            let store = PostgresStore::open(options, shop_id.clone()).await?;
            let folder = Scratch::new(data_dir)?;
            let local = SqliteStore::open_or_create(&folder.0)?.of(shop_id.clone())?;
            let before = match store.catalog().await? {
                Some(catalog) => {
                    adopt(&local, &catalog.shop)?;
                    let products = Products::of(local)?;
                    follow(&store, &products).await.map_err(|error| error as Box<dyn Error>)?;
                    Some((products.shared_products()?, catalog.edition))
                }
                None => {
                    begin_places_at(&local, first_place())?;
                    None
                }
            };
            Ok(Self { store, folder, before })
        })
    }

    /// Returns the directory to import into.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Publishes what was changed, also the terms of sale. Blocks; within a runtime.
    pub fn publish(self, products: &Products) -> Result<(), Box<dyn Error>> {
        waiting(async {
            let Some((before, edition)) = self.before else {
                found(&self.store, products).await?;
                return Ok(());
            };
            publish(&self.store, &before, edition, products, Publication::Statement).await
        })
    }
}
