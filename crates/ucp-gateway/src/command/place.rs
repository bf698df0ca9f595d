//! Where a command finds what is stored: in a data directory, or in the database that gateways share.

use std::{error::Error, fs, path::PathBuf, sync::Arc};

use clap::Args;
use tokio::runtime::Runtime;
use ucp_core::{ShopId, port::store::Store};
use ucp_postgres::{Options, PostgresStore};
use ucp_sqlite::SqliteStore;

use crate::config::value::DatabaseAddress;

#[derive(Clone, Debug, Args)]
pub(crate) struct StoreOptions {
    /// The directory that holds the shop.
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", default_value = "./data", value_name = "DIRECTORY")]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DatabaseOptions {
    /// The PostgreSQL database that gateways share: `postgres://user:password@host/database`.
    #[arg(
        long,
        env = "UCP_GATEWAY_DATABASE",
        hide_env_values = true,
        value_name = "URL",
        conflicts_with = "database_file"
    )]
    pub(crate) database: Option<DatabaseAddress>,
    /// The file with the address of that database.
    #[arg(long, env = "UCP_GATEWAY_DATABASE_FILE", value_name = "FILE")]
    pub(crate) database_file: Option<PathBuf>,
}

impl DatabaseOptions {
    /// Returns the database; `None` if everything is in the data directory.
    pub(crate) fn options(&self) -> Result<Option<Options>, Box<dyn Error>> {
        let address = match (&self.database, &self.database_file) {
            (Some(address), _) => address.reveal().to_owned(),
            (None, Some(path)) => {
                fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?
            }
            (None, None) => return Ok(None),
        };
        let options =
            address.trim().parse::<Options>().map_err(|problem| format!("the address of the database {problem}"))?;
        Ok(Some(options))
    }
}

impl StoreOptions {
    /// Opens the store, which has to be there.
    pub(crate) fn open(&self, runtime: &Runtime) -> Result<Arc<dyn Store>, Box<dyn Error>> {
        Ok(match self.postgres(runtime)? {
            Some(store) => Arc::new(store),
            None => Arc::new(SqliteStore::open(&self.data_dir)?),
        })
    }

    /// Opens the database that gateways share; `None` if everything is in the data directory.
    pub(crate) fn postgres(&self, runtime: &Runtime) -> Result<Option<PostgresStore>, Box<dyn Error>> {
        let Some(options) = self.database.options()? else { return Ok(None) };
        Ok(Some(runtime.block_on(PostgresStore::open(&options, ShopId::default()))?))
    }
}

/// Returns a runtime for a command.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}
