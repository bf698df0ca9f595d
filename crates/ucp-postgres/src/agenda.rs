//! The [`Agenda`] of a [`PostgresStore`].
//!
//! Tasks are planned by the statement that stores the change that they follow from. A claim is part of the row and ends by
//! itself; of several gateways that claim the same tasks at once, each takes those that no other has locked.

use async_trait::async_trait;
use jiff::Timestamp;
use ucp_core::ports::{
    PortError,
    agenda::{Agenda, Claim, Claimed, Due, Entry, Kind, Plan, Recorded, Rested, Room, Tally, Task},
};

use crate::{
    connection::Param,
    rows::read,
    store::{BATCH, PostgresStore},
    text::{escaped, nanoseconds},
};

/// Columns of a new task, in the order of [`values`].
pub(crate) const COLUMNS: &str = "kind, key, lane, name, due, body, since";

/// Effect of a new task on an earlier one of the same kind and key.
pub(crate) const REPLACED: &str = "ON CONFLICT (shop, kind, key) DO UPDATE SET lane = excluded.lane, name = excluded.name, \
    due = CASE WHEN tasks.woken AND tasks.name IS NOT DISTINCT FROM excluded.name THEN least(tasks.due, excluded.due) \
        ELSE excluded.due END, \
    body = excluded.body, since = excluded.since, tries = 0, given_up = false, problem = NULL, claimant = NULL, \
    claimed_until = NULL";

/// Effect of more to do on a task that is planned.
pub(crate) const WOKEN: &str = "ON CONFLICT (shop, kind, key) DO UPDATE SET woken = true";

/// Makes the task of kind `$2` and key `$3` due at `$4`, also if it was given up.
pub(crate) const RETRIED: &str = "UPDATE tasks SET woken = true, given_up = false, due = least(due, $4), since = $4 \
    WHERE shop = $1 AND kind = $2 AND key = $3";

/// Columns of a task that was claimed.
const CLAIMED: &str = "kind, key, lane, body, tries, since";

/// Time after which a cart that a gateway of an earlier version made, and that no document names, is an orphan, in
/// nanoseconds.
const ORPHANED_AFTER: i64 = 600 * 1_000_000_000;

/// Returns the values of a new task.
pub(crate) fn values(Task { kind, key, lane, name, due, body }: &Task) -> [Param; 7] {
    let due = Param::at(*due);
    [
        Param::plain(kind.as_str()),
        Param::text(key),
        Param::text(lane),
        Param::OptionalText(name.as_ref().map(|name| escaped(name).into_owned())),
        due.clone(),
        Param::text(body),
        due,
    ]
}

#[async_trait]
impl Agenda for PostgresStore {
    async fn plan(&self, plan: Plan) -> Result<(), PortError> {
        match &plan {
            Plan::Due(task) | Plan::Also(task) => {
                let mut all = vec![self.key()];
                all.extend(values(task));
                let otherwise = if matches!(plan, Plan::Due(_)) { REPLACED } else { WOKEN };
                let sql =
                    format!("INSERT INTO tasks (shop, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) {otherwise}");
                self.execute(&sql, &all).await?;
            }
            Plan::Done(kind, key) => {
                let all = [self.key(), Param::plain(kind.as_str()), Param::text(key)];
                self.execute("DELETE FROM tasks WHERE shop = $1 AND kind = $2 AND key = $3", &all).await?;
            }
        }
        self.bell().notify_one();
        Ok(())
    }

    async fn due_tasks(&self, now: Timestamp, room: Room<'_>) -> Result<Vec<Due>, PortError> {
        // From one lane to the next through the index: the number of tasks in each does not matter.
        let sql = "WITH RECURSIVE lanes (lane) AS ( \
                (SELECT min(lane) FROM tasks WHERE shop = $1 AND NOT given_up) \
                UNION ALL \
                SELECT (SELECT min(lane) FROM tasks WHERE shop = $1 AND NOT given_up AND lane > lanes.lane) \
                FROM lanes WHERE lanes.lane IS NOT NULL \
            ), found AS ( \
                SELECT one.kind, one.key, one.lane, one.due, row_number() OVER (PARTITION BY one.lane ORDER BY one.due) AS turn \
                FROM lanes CROSS JOIN LATERAL ( \
                    SELECT kind, key, lane, due FROM tasks WHERE shop = $1 AND lane = lanes.lane AND NOT given_up \
                    AND kind = ANY ($6) AND due <= $2 AND coalesce(claimed_until, 0) <= $2 ORDER BY due LIMIT $3) AS one \
                WHERE lanes.lane <> ALL ($4) \
            ) \
            SELECT kind, key, lane FROM found ORDER BY turn, due LIMIT $5";
        let except = room.except.iter().map(|lane| escaped(lane).into_owned()).collect();
        let values = [
            self.key(),
            Param::at(now),
            Param::count(room.per_lane),
            Param::Texts(except),
            Param::count(room.total),
            Param::Texts(room.kinds.iter().map(|kind| kind.as_str().to_owned()).collect()),
        ];
        self.list(sql, &values).await
    }

    async fn claim_tasks(&self, tasks: Vec<Due>, now: Timestamp, claim: &Claim) -> Result<Vec<Claimed>, PortError> {
        let (kinds, keys) = kinds_and_keys(&tasks);
        let mine = format!(
            "SELECT {CLAIMED} FROM tasks WHERE shop = $1 AND (kind, key) IN (SELECT * FROM unnest($2, $3)) \
             AND claimant = $4 AND claimed_at = $5 AND claimed_until = $6"
        );
        let update = format!(
            "UPDATE tasks SET claimant = $4, claimed_at = $5, claimed_until = $6, woken = false \
             WHERE shop = $1 AND (kind, key) IN ( \
                SELECT kind, key FROM tasks WHERE shop = $1 AND (kind, key) IN (SELECT * FROM unnest($2, $3)) \
                AND NOT given_up AND due <= $5 AND coalesce(claimed_until, 0) <= $5 FOR UPDATE SKIP LOCKED) \
             RETURNING {CLAIMED}"
        );
        let values =
            [self.key(), kinds, keys, Param::Text(claim.claimant.clone()), Param::at(now), Param::at(claim.until)];
        let rows = self.run(async |connection, in_doubt| {
            // What an attempt claimed whose reply was lost.
            let mut claimed = if in_doubt { connection.rows(&mine, &values).await? } else { Vec::new() };
            claimed.extend(connection.rows(&update, &values).await?);
            Ok(claimed)
        });
        let rows = rows.await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn seize(
        &self,
        kind: Kind,
        key: &str,
        rested: Rested,
        now: Timestamp,
        claim: &Claim,
    ) -> Result<Option<Claimed>, PortError> {
        let sql = format!(
            "UPDATE tasks SET claimant = $4, claimed_at = $5, claimed_until = $6, woken = false, given_up = false, \
             due = least(due, $5) WHERE shop = $1 AND kind = $2 AND key = $3 AND coalesce(claimed_until, 0) <= $5 \
             AND (coalesce(claimed_at, 0) <= $7 OR tries < $8) RETURNING {CLAIMED}"
        );
        let values = [
            self.key(),
            Param::plain(kind.as_str()),
            Param::text(key),
            Param::Text(claim.claimant.clone()),
            Param::at(now),
            Param::at(claim.until),
            Param::at(rested.since),
            Param::Number(rested.tries.into()),
        ];
        Ok(self.row(&sql, &values).await?.as_ref().map(read).transpose()?)
    }

    async fn extend_tasks(&self, tasks: Vec<Due>, claim: &Claim) -> Result<(), PortError> {
        let (kinds, keys) = kinds_and_keys(&tasks);
        let until = Param::at(claim.until);
        let values = [self.key(), kinds, keys, Param::Text(claim.claimant.clone()), until];
        let sql = "UPDATE tasks SET claimed_until = $5 WHERE shop = $1 AND (kind, key) IN (SELECT * FROM unnest($2, $3)) \
                   AND claimant = $4";
        self.execute(sql, &values).await.map(drop)
    }

    async fn record_task(&self, kind: Kind, key: &str, claimant: &str, recorded: Recorded) -> Result<bool, PortError> {
        let mut values = vec![self.key(), Param::plain(kind.as_str()), Param::text(key), Param::plain(claimant)];
        let (at, given_up, problem) = match recorded {
            Recorded::Done => {
                let sql =
                    "DELETE FROM tasks WHERE shop = $1 AND kind = $2 AND key = $3 AND claimant = $4 AND NOT woken";
                if self.execute(sql, &values).await? == 1 {
                    return Ok(true);
                }
                (0, false, None)
            }
            Recorded::Again { at, problem } => (nanoseconds(at), false, problem),
            Recorded::GivenUp { problem } => (0, true, Some(problem)),
        };
        let sql = "UPDATE tasks SET claimant = NULL, claimed_until = NULL, tries = tries + 1, problem = $5, \
                   given_up = $6 AND NOT woken, due = CASE WHEN woken OR $6 THEN least(due, claimed_at) ELSE $7 END \
                   WHERE shop = $1 AND kind = $2 AND key = $3 AND claimant = $4";
        values.extend([
            Param::OptionalText(problem.map(|problem| escaped(&problem).into_owned())),
            Param::Flag(given_up),
            Param::Number(at),
        ]);
        Ok(self.execute(sql, &values).await? == 1)
    }

    async fn wake(&self, name: &str, now: Timestamp) -> Result<bool, PortError> {
        let sql = "UPDATE tasks SET woken = true, given_up = false, due = least(due, $3) WHERE shop = $1 AND name = $2";
        let woken = self.execute(sql, &[self.key(), Param::text(name), Param::at(now)]).await? > 0;
        self.bell().notify_one();
        Ok(woken)
    }

    async fn retry(&self, kind: Kind, key: &str, now: Timestamp) -> Result<bool, PortError> {
        let kind = Param::plain(kind.as_str());
        let values = [self.key(), kind, Param::text(key), Param::at(now)];
        let known = self.execute(RETRIED, &values).await? == 1;
        self.bell().notify_one();
        Ok(known)
    }

    async fn planned(&self) {
        self.bell().notified().await;
    }

    async fn tasks(&self, limit: usize) -> Result<Vec<Entry>, PortError> {
        let sql = "SELECT kind, key, lane, due, since, tries, given_up, problem FROM tasks WHERE shop = $1 \
                   ORDER BY given_up DESC, due LIMIT $2";
        self.list(sql, &[self.key(), Param::count(limit)]).await
    }

    async fn tallies(&self) -> Result<Vec<Tally>, PortError> {
        let sql = "SELECT kind, count(*) FILTER (WHERE NOT given_up), count(*) FILTER (WHERE given_up), \
                   min(due) FILTER (WHERE NOT given_up) FROM tasks WHERE shop = $1 GROUP BY kind";
        self.list(sql, &[self.key()]).await
    }
}

impl PostgresStore {
    /// Plans what gateways of the version before have left: payments whose end is unknown, carts at a remote shop that no
    /// document names, and orders that platforms are to be told of.
    pub(crate) async fn adopt(&self, now: Timestamp) -> Result<(), PortError> {
        let attempts = "INSERT INTO tasks (shop, kind, key, lane, name, due, body, since) \
            SELECT shop, 'settle', id, 'settle:' || CASE WHEN document::json #>> '{attempt,at_shop}' = 'true' THEN 'shop' \
                ELSE coalesce(document::json #>> '{attempt,handler_id}', '') END, \
                document::json #>> '{attempt,id}', attempted_at, owner, attempted_at \
            FROM checkouts WHERE shop = $1 AND attempted_at < $2 AND NOT EXISTS ( \
                SELECT 1 FROM tasks WHERE shop = $1 AND kind = 'settle' AND key = checkouts.id) \
            ORDER BY attempted_at LIMIT $3 ON CONFLICT (shop, kind, key) DO NOTHING";
        let carts = "WITH orphans AS ( \
                DELETE FROM remote_carts WHERE shop = $1 AND reference IN ( \
                    SELECT reference FROM remote_carts WHERE shop = $1 AND at < $2 ORDER BY at LIMIT $3) \
                RETURNING reference, document, at) \
            INSERT INTO tasks (shop, kind, key, lane, due, body, since) \
            SELECT $1, 'abandon', reference, 'abandon', at, document, at FROM orphans \
            ON CONFLICT (shop, kind, key) DO NOTHING";
        let orders = "INSERT INTO tasks (shop, kind, key, lane, due, body, since) \
            SELECT DISTINCT ON (order_id) shop, 'tell', order_id, 'tell:' || owner, coalesce(next_at, since), '', since \
            FROM outbox WHERE shop = $1 AND state = 'waiting' AND since < $2 AND NOT EXISTS ( \
                SELECT 1 FROM tasks WHERE shop = $1 AND kind = 'tell' AND key = outbox.order_id) \
            ORDER BY order_id, order_version LIMIT $3 ON CONFLICT (shop, kind, key) DO NOTHING";
        let now = nanoseconds(now);
        for (sql, before) in [(attempts, now), (carts, now.saturating_sub(ORPHANED_AFTER)), (orders, now)] {
            self.execute(sql, &[self.key(), Param::Number(before), Param::Number(BATCH)]).await?;
        }
        Ok(())
    }
}

fn kinds_and_keys(tasks: &[Due]) -> (Param, Param) {
    let kinds = tasks.iter().map(|task| task.kind.as_str().to_owned()).collect();
    let keys = tasks.iter().map(|task| escaped(&task.key).into_owned()).collect();
    (Param::Texts(kinds), Param::Texts(keys))
}
