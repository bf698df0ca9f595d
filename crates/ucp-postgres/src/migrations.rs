//! The schema: numbered SQL files, applied in order.
//!
//! `schema_version` has one row, with the number of files that were applied and the oldest version of a gateway that can use
//! the result. Gateways of two versions share a database while one after the other is replaced: a file that only adds
//! (*expand*) leaves the minimum, and what older gateways need goes (*contract*) with a file of a later version, which raises it.
//! All files that are missing run in one transaction, under a lock of the row.

use tokio_postgres::error::SqlState;

use crate::{failure::OpenError, transaction::Database};

/// A step of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    /// Statements.
    pub(crate) sql: &'static str,
    /// The oldest version of a gateway that can use the database afterwards: the number of migrations that it knows.
    pub(crate) minimum: i32,
}

/// The steps that this gateway knows.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("migrations/0001_store.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0002_takings.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0003_catalog_events.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0004_agenda.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0005_buyers.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0006_holdings.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0007_names.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0008_copies.sql"), minimum: 1 },
    Migration { sql: include_str!("migrations/0009_synonyms.sql"), minimum: 1 },
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_version \
    (one integer PRIMARY KEY, version integer NOT NULL, minimum integer NOT NULL); \
    INSERT INTO schema_version (one, version, minimum) VALUES (1, 0, 0) ON CONFLICT (one) DO NOTHING";

const READ: &str = "SELECT version, minimum FROM schema_version WHERE one = 1";

/// Brings the database to the newest schema. Fails with [`OpenError::Newer`] if gateways of the version
/// `migrations.len()` cannot use it any more.
pub(crate) async fn migrate(database: &Database, migrations: &'static [Migration]) -> Result<(), OpenError> {
    let supported = i32::try_from(migrations.len()).unwrap_or(i32::MAX);
    let unusable = |source| OpenError::Unusable { place: database.place.clone(), source };
    let fits = |(found, minimum): (i32, i32)| {
        if minimum > supported {
            return Err(OpenError::Newer { place: database.place.clone(), found, minimum, supported });
        }
        Ok(found >= supported)
    };
    // The common case takes no lock.
    let stated = database.run(async |connection, _| match connection.row(READ, &[]).await {
        Ok(row) => row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose(),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    });
    if let Some(stated) = stated.await.map_err(unusable)?
        && fits(stated)?
    {
        return Ok(());
    }
    let applied = database.run(async |connection, _| {
        // Two gateways that start at once can both find that there is no such table.
        let created = connection.object.batch_execute(TABLE).await;
        if let Err(error) = created
            && !matches!(
                error.code(),
                Some(&SqlState::UNIQUE_VIOLATION | &SqlState::DUPLICATE_TABLE | &SqlState::DUPLICATE_OBJECT)
            )
        {
            return Err(error);
        }
        let client = &connection.object;
        client.batch_execute("BEGIN").await?;
        let applied = async {
            let row = client.query_typed_one(&format!("{READ} FOR UPDATE"), &[]).await?;
            let (found, minimum): (i32, i32) = (row.try_get(0)?, row.try_get(1)?);
            if minimum <= supported {
                let from = usize::try_from(found).unwrap_or(usize::MAX);
                for migration in migrations.iter().skip(from) {
                    client.batch_execute(migration.sql).await?;
                }
                if found < supported {
                    let minimum = migrations.iter().map(|migration| migration.minimum).max().unwrap_or_default();
                    let update =
                        format!("UPDATE schema_version SET version = {supported}, minimum = {minimum} WHERE one = 1");
                    client.batch_execute(&update).await?;
                }
            }
            client.batch_execute("COMMIT").await?;
            Ok((found.max(supported), minimum))
        };
        let applied = applied.await;
        if applied.is_err() {
            // Fails only with the connection.
            drop(client.batch_execute("ROLLBACK").await);
        }
        applied
    });
    fits(applied.await.map_err(unusable)?).map(drop)
}
