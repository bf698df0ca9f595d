//! The store of one shop.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio_postgres::{Error, Row};
use ucp_core::{
    ShopId,
    catalog::cursor::CursorSecret,
    ports::{PortError, buyers::Retention},
};
use ucp_record::{self as record, Stage};

use crate::{
    address::Options,
    connection::{Connection, Param},
    failure::{Failure, OpenError},
    migrations::{self, MIGRATIONS, Migration},
    registered::Registered,
    transaction::Database,
};

/// Maximum number of rows that are removed at once, small so that others are not kept waiting.
pub(crate) const BATCH: i64 = 500;

/// The store of a shop in a database, which other gateways may have open too. Cloning it is cheap and yields the same store.
#[derive(Clone, Debug)]
pub struct PostgresStore(Arc<StoreState>);

#[derive(Debug)]
struct StoreState {
    database: Arc<Database>,
    shop: ShopId,
    cursor_secret: CursorSecret,
    /// Notified when this process has planned or woken a task of the shop.
    planned: Notify,
    retention: OnceLock<Retention>,
    registered: Registered,
}

impl PostgresStore {
    /// Opens the database for a shop, and brings it to the newest schema. Fails with [`OpenError`] if it cannot be
    /// used.
    pub async fn open(options: &Options, shop: ShopId) -> Result<Self, OpenError> {
        Self::open_with(options, shop, MIGRATIONS).await
    }

    /// As [`open`](Self::open), as a gateway that knows other migrations.
    pub(crate) async fn open_with(
        options: &Options,
        shop: ShopId,
        migrations: &'static [Migration],
    ) -> Result<Self, OpenError> {
        let database = Arc::new(Database::new(options)?);
        migrations::migrate(&database, migrations).await?;
        Self::at(database, shop).await
    }

    /// Returns the store of `shop` in the same database, on the same connections. Fails with [`OpenError`] if the key
    /// of the shop's cursors can be neither read nor created.
    pub async fn of(&self, shop: ShopId) -> Result<Self, OpenError> {
        if shop == self.0.shop {
            return Ok(self.clone());
        }
        Self::at(Arc::clone(&self.0.database), shop).await
    }

    async fn at(database: Arc<Database>, shop: ShopId) -> Result<Self, OpenError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(OpenError::Random)?;
        let values = [Param::Text(shop.to_string()), Param::Bytes(key.to_vec())];
        let stored = database.run(async |connection, _| {
            let sql = "INSERT INTO shops (shop, cursor_key) VALUES ($1, $2) ON CONFLICT (shop) DO NOTHING";
            connection.execute(sql, &values).await?;
            let row = connection.row("SELECT cursor_key FROM shops WHERE shop = $1", &values[..1]).await?;
            row.map(|row| row.try_get::<_, Vec<u8>>(0)).transpose()
        });
        let unusable = |source| OpenError::Unusable { place: database.place.clone(), source };
        let stored = stored.await.map_err(unusable)?.unwrap_or_default();
        let secret = <[u8; 32]>::try_from(stored)
            .map_err(|_| unusable(Failure::Unreadable("the key of cursors must be 32 bytes long".to_owned())))?;
        let inner = StoreState {
            database,
            shop,
            cursor_secret: CursorSecret::new(secret),
            planned: Notify::new(),
            retention: OnceLock::new(),
            registered: Registered::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Sets how long what names a buyer of the shop is kept. The first call counts.
    pub fn retain(&self, retention: Retention) {
        let _ = self.0.retention.set(retention);
    }

    pub(crate) fn retention(&self) -> Retention {
        self.0.retention.get().copied().unwrap_or_default()
    }

    pub(crate) fn registered(&self) -> &Registered {
        &self.0.registered
    }

    /// Returns the identifier of the shop.
    pub fn shop(&self) -> &ShopId {
        &self.0.shop
    }

    /// Returns the key that cursors are sealed with, in all gateways of the shop.
    pub fn cursor_secret(&self) -> &CursorSecret {
        &self.0.cursor_secret
    }

    /// Returns the place of the database, without user and password.
    pub fn place(&self) -> &str {
        &self.0.database.place
    }

    /// Returns `false` while the server cannot be reached, as far as calls have shown.
    pub fn is_reachable(&self) -> bool {
        self.0.database.is_reachable()
    }

    /// Asks the server for nothing, to learn whether it can be reached. Fails with [`Failure`] if it cannot.
    pub async fn ping(&self) -> Result<(), Failure> {
        self.0.database.run(async |connection, _| connection.rows("SELECT 1", &[]).await.map(drop)).await
    }

    /// Returns the number of open connections, and of those that nobody uses.
    pub fn connections(&self) -> (usize, usize) {
        self.0.database.connections()
    }

    /// Returns the number of statements that were sent again since the database was opened.
    pub fn repeated(&self) -> u64 {
        self.0.database.repeated()
    }

    /// The value of the shop in a statement.
    pub(crate) fn key(&self) -> Param {
        Param::Text(self.0.shop.to_string())
    }

    /// Returns the notification for tasks that this process has planned or woken.
    pub(crate) fn bell(&self) -> &Notify {
        &self.0.planned
    }

    /// Runs an operation, as [`Database::run`] does, as part of a call.
    pub(crate) async fn run<T, F>(
        &self,
        operation: impl Fn(Arc<Connection>, bool) -> F + Send + Sync,
    ) -> Result<T, PortError>
    where
        F: Future<Output = Result<T, Error>> + Send,
    {
        record::during(Stage::Store, async { self.0.database.run(operation).await.map_err(PortError::from) }).await
    }

    /// As [`run`](Self::run), outside of calls.
    pub(crate) async fn work<T, F>(
        &self,
        operation: impl Fn(Arc<Connection>, bool) -> F + Send + Sync,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>> + Send,
    {
        self.0.database.run(operation).await
    }

    /// Reads rows.
    pub(crate) async fn rows(&self, sql: &str, values: &[Param]) -> Result<Vec<Row>, PortError> {
        self.run(async |connection, _| connection.rows(sql, values).await).await
    }

    /// Reads a row.
    pub(crate) async fn row(&self, sql: &str, values: &[Param]) -> Result<Option<Row>, PortError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Runs a statement that can be carried out twice without harm.
    pub(crate) async fn execute(&self, sql: &str, values: &[Param]) -> Result<u64, PortError> {
        self.run(async |connection, _| connection.execute(sql, values).await).await
    }
}
