//! Products that a remote shop has said to have changed, which every gateway reads for the copy of its catalog.

use jiff::{SignedDuration, Timestamp};

use crate::{
    connection::Param,
    failure::Failure,
    store::PostgresStore,
    text::{escaped, plain},
};

/// Maximum number of changed products that are kept. A gateway that is further behind reads the whole catalog.
const MOST: i64 = 100_000;

/// Maximum number of changed products that are read at once.
const TOGETHER: i64 = 1_000;

/// Retention of changed products.
pub(crate) const KEPT_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Removes changed products of before `$2`, at most `$3`.
pub(crate) const OLD: &str = "DELETE FROM catalog_events WHERE shop = $1 AND number = ANY (ARRAY(SELECT number FROM catalog_events \
    WHERE shop = $1 AND at < $2 ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED))";

/// Events that a gateway has not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Products, in the order in which they were said to have changed.
    pub ids: Vec<String>,
    /// Number of the last of them, or of the newest one if there are none.
    pub number: i64,
    /// `true` if there are more that are no longer kept.
    pub missed: bool,
}

impl PostgresStore {
    /// Stores products that have changed, for all gateways. Fails with [`Failure`] if the database failed; then it is
    /// not known whether they are stored.
    pub async fn add_changed(&self, ids: &[String], at: Timestamp) -> Result<(), Failure> {
        let values = [
            self.key(),
            Param::Texts(ids.iter().map(|id| escaped(id).into_owned()).collect()),
            Param::count(ids.len()),
            Param::at(at),
        ];
        let sql = format!(
            "WITH numbered AS (INSERT INTO catalog_event_numbers (shop, number) VALUES ($1, $3) \
                 ON CONFLICT (shop) DO UPDATE SET number = catalog_event_numbers.number + excluded.number RETURNING number), \
             forgotten AS (DELETE FROM catalog_events USING numbered \
                 WHERE catalog_events.shop = $1 AND catalog_events.number <= numbered.number - {MOST}) \
             INSERT INTO catalog_events (shop, number, id, at) \
             SELECT $1, numbered.number - $3 + changed.nth, changed.id, $4 \
             FROM numbered, unnest($2) WITH ORDINALITY AS changed (id, nth)"
        );
        // Sent again after its reply was lost, it names the same products once more, which does no harm.
        self.work(async |connection, _| connection.execute(&sql, &values).await).await.map(drop)
    }

    /// Returns products that have changed after a number; after `None`, only the newest number. Fails with [`Failure`]
    /// if the database cannot be read.
    pub async fn changed_after(&self, after: Option<i64>) -> Result<Changed, Failure> {
        let values = [self.key(), Param::Number(after.unwrap_or(i64::MAX)), Param::Number(TOGETHER)];
        // One statement, and so one state of the database.
        let sql = "SELECT coalesce((SELECT number FROM catalog_event_numbers WHERE shop = $1), 0), \
                       coalesce((SELECT min(number) FROM catalog_events WHERE shop = $1), 0), \
                       ARRAY(SELECT number FROM catalog_events WHERE shop = $1 AND number > $2 ORDER BY number LIMIT $3), \
                       ARRAY(SELECT id FROM catalog_events WHERE shop = $1 AND number > $2 ORDER BY number LIMIT $3)";
        self.work(async |connection, _| {
            let row = connection.row(sql, &values).await?;
            let Some(row) = row else { return Ok(Changed { ids: Vec::new(), number: 0, missed: false }) };
            let (newest, oldest): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            let (numbers, ids): (Vec<i64>, Vec<String>) = (row.try_get(2)?, row.try_get(3)?);
            // The first that is kept follows the last that was read, and a database that was restored knows fewer.
            let is_missing = |after: i64| match oldest {
                0 => after != newest,
                oldest => after < oldest - 1 || after > newest,
            };
            let missed = after.is_some_and(is_missing);
            let number = numbers.last().copied().unwrap_or(newest);
            Ok(Changed { ids: ids.into_iter().map(plain).collect(), number, missed })
        })
        .await
    }
}
