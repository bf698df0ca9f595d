//! The data of a shop, as commands name it.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use clap::Args;
use ucp_core::ShopId;
use ucp_sqlite::SqliteStore;

use crate::config::shop_dir;

/// Data directory of a shop, and which of several it is.
#[derive(Debug, Args)]
pub(crate) struct ShopData {
    /// The directory that holds the shop.
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", default_value = "./data", value_name = "DIRECTORY")]
    pub(super) data_dir: PathBuf,
    /// The name of the shop, where the directory holds several.
    #[arg(long, env = "UCP_GATEWAY_SHOP", default_value_t, value_name = "NAME")]
    pub(super) shop: ShopId,
}

impl ShopData {
    /// Opens the store of the shop.
    ///
    /// # Errors
    /// An error if the store cannot be opened, or the shop has never been there.
    pub(super) fn store(&self) -> Result<SqliteStore, Box<dyn Error>> {
        let store = SqliteStore::open(&self.data_dir)?;
        let shops = store.shops()?;
        if !shops.contains(&self.shop) {
            let shops = shops.iter().map(ShopId::as_str).collect::<Vec<_>>().join(", ");
            let directory = self.data_dir.display();
            return Err(format!("there is no shop `{}` in {directory}; there are {shops}", self.shop).into());
        }
        Ok(store.of(self.shop.clone())?)
    }

    /// Returns the directory of the shop's keys and decisions.
    pub(super) fn dir(&self) -> PathBuf {
        shop_dir(&self.data_dir, &self.shop)
    }

    /// Returns the data directory.
    pub(super) fn path(&self) -> &Path {
        &self.data_dir
    }
}
