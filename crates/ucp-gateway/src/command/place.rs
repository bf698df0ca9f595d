//! Location of stored data for commands: a data directory, or the database that gateways share.
//!
//! The configuration says where a shop is stored, and flags override it. Without either, the note in the data directory
//! ([`Whereabouts`]) leads to the configuration of the gateway that served the shop last: a command never takes the empty
//! tables in the directory for the sales of a shop that has them in a database.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use tokio::runtime::Runtime;
use ucp_config::{Configuration, DatabaseOptions, ServeOptions, Settings, shop_dir, shop_named};
use ucp_core::{ShopId, ports::store::Store};
use ucp_host::{clock, whereabouts::Whereabouts};
use ucp_postgres::{Options, PostgresStore};
use ucp_sqlite::SqliteStore;
use ucp_trust::keyring::Keyring;

use super::{owner, runtime::wait};

/// Data directory without a configuration that states another one.
const DATA_DIR: &str = "./data";

/// A shop, and its data directory.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShopOptions {
    /// Configuration file of the gateway (TOML). Flags and environment variables override it.
    #[arg(long, env = "UCP_GATEWAY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory [default: that of the configuration, or ./data].
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,
    /// Name of the shop, if there are several.
    #[arg(long, env = "UCP_GATEWAY_SHOP", value_name = "NAME")]
    shop: Option<ShopId>,
}

/// Storage of a shop: what the configuration says, a data directory, or a database.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    pub(crate) shop: ShopOptions,
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
}

/// Location of the data of a shop.
#[derive(Debug)]
pub(crate) struct Location {
    /// Data directory.
    pub(crate) dir: PathBuf,
    /// Directory of the signing keys.
    pub(crate) keys: PathBuf,
    /// Name of the shop.
    pub(crate) shop: ShopId,
    /// Database of its sales; `None` if they are in the data directory.
    pub(crate) database: Option<Options>,
    /// `true` if a configuration says so, which was read with the files that it names.
    pub(crate) configured: bool,
}

impl ShopOptions {
    /// Locates a shop whose database makes no difference.
    pub(crate) fn locate(&self) -> Result<Location, Box<dyn Error>> {
        match &self.config {
            Some(config) => self.configured(config, DatabaseOptions::default()),
            None => Ok(self.stated(None)),
        }
        .inspect(Location::keep_owner)
    }

    /// Locates a shop by the configuration in a file.
    fn configured(&self, config: &Path, database: DatabaseOptions) -> Result<Location, Box<dyn Error>> {
        let mut flags = ServeOptions { config: Some(config.to_owned()), ..ServeOptions::default() };
        (flags.data.data_dir, flags.data.database) = (self.data_dir.clone(), database);
        let configuration = Configuration::resolve(&flags, clock::now())?;
        let settings = shop_named(&configuration, self.shop.as_ref())?;
        Ok(Location {
            dir: settings.sections.data.dir.to_path_buf(),
            keys: settings.keys(),
            shop: settings.mount.id.clone(),
            database: settings.database.clone(),
            configured: true,
        })
    }

    /// Locates a shop by flags alone.
    fn stated(&self, database: Option<Options>) -> Location {
        let dir = self.data_dir.clone().unwrap_or_else(|| PathBuf::from(DATA_DIR));
        let shop = self.shop.clone().unwrap_or_default();
        Location { keys: shop_dir(&dir, &shop).join("keys"), dir, shop, database, configured: false }
    }
}

impl StoreOptions {
    /// Locates the shop.
    ///
    /// # Errors
    /// An error if the configuration or the address of the database is not in order, or the shop is stored in a database that
    /// neither names.
    pub(crate) fn locate(&self) -> Result<Location, Box<dyn Error>> {
        self.found().inspect(Location::keep_owner)
    }

    fn found(&self) -> Result<Location, Box<dyn Error>> {
        if let Some(config) = &self.shop.config {
            return self.shop.configured(config, self.database.clone());
        }
        let location = self.shop.stated(self.database.options()?);
        if location.database.is_some() {
            return Ok(location);
        }
        let noted = Whereabouts::read(&shop_dir(&location.dir, &location.shop))
            .map_err(|error| format!("the note in {} cannot be read: {error}", location.dir.display()))?;
        let Some(Whereabouts { database, config }) = noted else { return Ok(location) };
        let Some(config) = config else {
            return Err(format!(
                "the shop `{}` of {} is stored in the database {database}; name it with --database-file, or the gateway's \
                 configuration with --config",
                location.shop,
                location.dir.display()
            )
            .into());
        };
        let named = Self { shop: ShopOptions { shop: Some(location.shop), ..self.shop.clone() }, ..self.clone() };
        let found = named.shop.configured(&config, self.database.clone()).map_err(|error| {
            format!(
                "the shop is stored in the database {database}, of which {} says more, but that is not in order: {error}",
                config.display()
            )
        })?;
        Ok(found)
    }
}

impl Location {
    /// Leaves what the command writes to the owners of the directories.
    fn keep_owner(&self) {
        owner::keep(&self.dir);
        owner::keep(&self.keys);
    }

    /// Returns `true` if there is a key to sign with. Makes no directory.
    pub(crate) fn can_sign(&self) -> bool {
        self.keys.is_dir() && Keyring::open(&self.keys).is_ok_and(|keyring| keyring.signer().is_some())
    }

    /// Opens the store, which has to be there.
    pub(crate) fn open(&self, runtime: &Runtime) -> Result<Arc<dyn Store>, Box<dyn Error>> {
        Ok(match self.postgres(runtime)? {
            Some(store) => Arc::new(store),
            None => Arc::new(self.sqlite()?),
        })
    }

    /// Opens the database that gateways share; `None` if everything is in the data directory.
    pub(crate) fn postgres(&self, runtime: &Runtime) -> Result<Option<PostgresStore>, Box<dyn Error>> {
        self.database.as_ref().map(|options| in_database(options, &self.shop, runtime)).transpose()
    }

    /// Opens the store in the data directory, in which the shop has to be.
    pub(crate) fn sqlite(&self) -> Result<SqliteStore, Box<dyn Error>> {
        in_directory(&self.dir, &self.shop)
    }

    /// Checks that the shop is stored in the data directory.
    ///
    /// # Errors
    /// An error that ends with `instead` if it is stored in a database.
    pub(crate) fn require_directory(&self, instead: &str) -> Result<(), String> {
        match &self.database {
            None => Ok(()),
            Some(options) => Err(format!(
                "the shop `{}` is stored in the PostgreSQL database {}: {instead}",
                self.shop,
                options.place()
            )),
        }
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
    owner::keep(&settings.sections.data.dir);
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
