//! Location of stored data for commands: a data directory, or the database that gateways share.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use tokio::runtime::Runtime;
use ucp_config::{DatabaseOptions, Settings};
use ucp_core::{ShopId, ports::store::Store};
use ucp_postgres::{Options, PostgresStore};
use ucp_sqlite::SqliteStore;

use super::runtime::wait;

/// Data directory of a shop, and which of several it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShopData {
    /// Data directory.
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", default_value = "./data", value_name = "DIRECTORY")]
    pub(crate) data_dir: PathBuf,
    /// Name of the shop, if there are several.
    #[arg(long, env = "UCP_GATEWAY_SHOP", default_value_t, value_name = "NAME")]
    pub(crate) shop: ShopId,
}

/// Place of storage of a shop: a data directory, or a database.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    pub(crate) data: ShopData,
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
}

impl ShopData {
    /// Opens the store of the shop, which has to be there.
    pub(crate) fn open(&self) -> Result<SqliteStore, Box<dyn Error>> {
        in_directory(&self.data_dir, &self.shop)
    }
}

/// Opens the store of a shop in a data directory, in which it has to be.
pub(super) fn in_directory(data_dir: &Path, shop: &ShopId) -> Result<SqliteStore, Box<dyn Error>> {
    let store = SqliteStore::open(data_dir)?;
    known(shop, &store.shops()?, &data_dir.display().to_string())?;
    Ok(store.of(shop.clone())?)
}

/// Opens the store of a shop in a database, in which it has to be.
pub(super) fn in_database(
    options: &Options,
    shop: &ShopId,
    runtime: &Runtime,
) -> Result<PostgresStore, Box<dyn Error>> {
    let store = wait(runtime, PostgresStore::open(options, ShopId::default()))?;
    known(shop, &wait(runtime, store.shops())?, store.place())?;
    Ok(wait(runtime, store.of(shop.clone()))?)
}

/// Opens the store of a configured shop, which has to be there.
pub(super) fn of(settings: &Settings, runtime: &Runtime) -> Result<Arc<dyn Store>, Box<dyn Error>> {
    Ok(match &settings.database {
        Some(options) => Arc::new(in_database(options, &settings.mount.id, runtime)?),
        None => Arc::new(in_directory(&settings.sections.data.dir, &settings.mount.id)?),
    })
}

/// Checks that a shop is among those of a place.
fn known(shop: &ShopId, shops: &[ShopId], place: &str) -> Result<(), String> {
    if shops.contains(shop) {
        return Ok(());
    }
    let shops = shops.iter().map(ShopId::as_str).collect::<Vec<_>>().join(", ");
    Err(format!("there is no shop `{shop}` in {place}; there are {shops}"))
}

impl StoreOptions {
    /// Opens the store, which has to be there.
    pub(crate) fn open(&self, runtime: &Runtime) -> Result<Arc<dyn Store>, Box<dyn Error>> {
        Ok(match self.postgres(runtime)? {
            Some(store) => Arc::new(store),
            None => Arc::new(self.data.open()?),
        })
    }

    /// Opens the database that gateways share; `None` if everything is in the data directory.
    pub(crate) fn postgres(&self, runtime: &Runtime) -> Result<Option<PostgresStore>, Box<dyn Error>> {
        let Some(options) = self.database.options()? else { return Ok(None) };
        Ok(Some(in_database(&options, &self.data.shop, runtime)?))
    }
}
