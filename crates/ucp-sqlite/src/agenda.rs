//! The [`Agenda`] of a [`SqliteStore`].
//!
//! Tasks are planned by the commit of the change that they follow from. Due tasks are found by a read, and claimed by a
//! write that checks them again. A claim is part of the row and ends by itself, so that a process that dies leaves nothing
//! to clean up.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use ucp_core::ports::{
    PortError,
    agenda::{Agenda, Claim, Claimed, Due, Entry, Kind, Plan, Recorded, Rested, Room, Tally, Task},
};

use crate::{
    connection::ShopConnection,
    error::WriteError,
    rows::{nanoseconds, read, signed},
    store::SqliteStore,
};

/// Columns of a task that was claimed.
const CLAIMED: &str = "kind, key, lane, body, tries, since";

#[async_trait]
impl Agenda for SqliteStore {
    async fn plan(&self, plan: Plan) -> Result<(), PortError> {
        self.write(move |db| Ok(write(db, &plan)?)).await?;
        self.bell().notify_one();
        Ok(())
    }

    async fn due_tasks(&self, now: Timestamp, room: Room<'_>) -> Result<Vec<Due>, PortError> {
        // From one lane to the next through the index: the number of tasks in each does not matter.
        const SQL: &str = "\
            WITH RECURSIVE lanes (lane) AS ( \
                SELECT min(lane) FROM tasks WHERE shop = ?1 AND given_up = 0 \
                UNION ALL \
                SELECT (SELECT min(lane) FROM tasks WHERE shop = ?1 AND given_up = 0 AND lane > lanes.lane) \
                FROM lanes WHERE lanes.lane IS NOT NULL \
            ), found AS ( \
                SELECT tasks.kind, tasks.key, tasks.lane, tasks.due, \
                row_number() OVER (PARTITION BY tasks.lane ORDER BY tasks.due) AS turn \
                FROM lanes JOIN tasks ON tasks.shop = ?1 AND (tasks.kind, tasks.key) IN ( \
                    SELECT kind, key FROM tasks AS one WHERE one.shop = ?1 AND one.lane = lanes.lane \
                    AND one.given_up = 0 AND one.kind IN (SELECT value FROM json_each(?6)) AND one.due <= ?2 AND ifnull(one.claimed_until, 0) <= ?2 ORDER BY one.due LIMIT ?3) \
                WHERE lanes.lane NOT IN (SELECT value FROM json_each(?5)) \
            ) \
            SELECT kind, key, lane FROM found ORDER BY turn, due LIMIT ?4";
        let except = serde_json::Value::from(room.except).to_string();
        let kinds = serde_json::Value::from_iter(room.kinds.iter().map(|kind| kind.as_str())).to_string();
        let (now, per_lane, total) = (nanoseconds(now), signed(room.per_lane), signed(room.total));
        self.read(move |db| {
            db.prepare_cached(SQL)?.query_map((db.shop(), now, per_lane, total, &except, &kinds), read)?.collect()
        })
        .await
    }

    async fn claim_tasks(&self, tasks: Vec<Due>, now: Timestamp, claim: &Claim) -> Result<Vec<Claimed>, PortError> {
        let sql = format!(
            "UPDATE tasks SET claimant = ?1, claimed_at = ?2, claimed_until = ?3, woken = 0 \
             WHERE shop = ?4 AND kind = ?5 AND key = ?6 AND given_up = 0 AND due <= ?2 AND ifnull(claimed_until, 0) <= ?2 \
             RETURNING {CLAIMED}"
        );
        let (now, until, claimant) = (nanoseconds(now), nanoseconds(claim.until), claim.claimant.clone());
        self.write(move |db| {
            let mut statement = db.prepare_cached(&sql)?;
            let mut one = |task: &Due| {
                let values = (&claimant, now, until, db.shop(), task.kind.as_str(), &task.key);
                statement.query_row(values, read).optional()
            };
            Ok(tasks.iter().filter_map(|task| one(task).transpose()).collect::<rusqlite::Result<Vec<_>>>()?)
        })
        .await
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
            "UPDATE tasks SET claimant = ?1, claimed_at = ?2, claimed_until = ?3, woken = 0, given_up = 0, due = min(due, ?2) \
             WHERE shop = ?4 AND kind = ?5 AND key = ?6 AND ifnull(claimed_until, 0) <= ?2 AND (ifnull(claimed_at, 0) <= ?7 OR tries < ?8) \
             RETURNING {CLAIMED}"
        );
        let (now, until, since) = (nanoseconds(now), nanoseconds(claim.until), nanoseconds(rested.since));
        let (claimant, key) = (claim.claimant.clone(), key.to_owned());
        self.write(move |db| {
            let values = (&claimant, now, until, db.shop(), kind.as_str(), &key, since, rested.tries);
            Ok(db.prepare_cached(&sql)?.query_row(values, read).optional()?)
        })
        .await
    }

    async fn extend_tasks(&self, tasks: Vec<Due>, claim: &Claim) -> Result<(), PortError> {
        let (until, claimant) = (nanoseconds(claim.until), claim.claimant.clone());
        self.write(move |db| {
            let mut statement = db.prepare_cached(
                "UPDATE tasks SET claimed_until = ? WHERE shop = ? AND kind = ? AND key = ? AND claimant = ?",
            )?;
            tasks
                .iter()
                .try_for_each(|task| {
                    statement.execute((until, db.shop(), task.kind.as_str(), &task.key, &claimant)).map(drop)
                })
                .map_err(WriteError::from)
        })
        .await
    }

    async fn record_task(&self, kind: Kind, key: &str, claimant: &str, recorded: Recorded) -> Result<bool, PortError> {
        let (key, claimant) = (key.to_owned(), claimant.to_owned());
        self.write(move |db| {
            let row = (db.shop(), kind.as_str(), &key, &claimant);
            let (at, given_up, problem) = match &recorded {
                Recorded::Done => {
                    let sql =
                        "DELETE FROM tasks WHERE shop = ? AND kind = ? AND key = ? AND claimant = ? AND woken = 0";
                    if db.prepare_cached(sql)?.execute(row)? == 1 {
                        return Ok(true);
                    }
                    (0, false, &None)
                }
                Recorded::Again { at, problem } => (nanoseconds(*at), false, problem),
                Recorded::GivenUp { problem } => (0, true, &Some(problem.clone())),
            };
            let sql = "UPDATE tasks SET claimant = NULL, claimed_until = NULL, tries = tries + 1, problem = ?5, \
                       given_up = ?6 AND NOT woken, due = CASE WHEN woken OR ?6 THEN min(due, claimed_at) ELSE ?7 END \
                       WHERE shop = ?1 AND kind = ?2 AND key = ?3 AND claimant = ?4";
            Ok(db.prepare_cached(sql)?.execute((row.0, row.1, row.2, row.3, problem, given_up, at))? == 1)
        })
        .await
    }

    async fn wake(&self, name: &str, now: Timestamp) -> Result<bool, PortError> {
        let (name, now) = (name.to_owned(), nanoseconds(now));
        let woken = self
            .write(move |db| {
                let sql = "UPDATE tasks SET woken = 1, given_up = 0, due = min(due, ?3) WHERE shop = ?1 AND name = ?2";
                Ok(db.prepare_cached(sql)?.execute((db.shop(), &name, now))? > 0)
            })
            .await?;
        self.bell().notify_one();
        Ok(woken)
    }

    async fn retry(&self, kind: Kind, key: &str, now: Timestamp) -> Result<bool, PortError> {
        let key = key.to_owned();
        let known = self.write(move |db| Ok(retry(db, kind, &key, now)?)).await?;
        self.bell().notify_one();
        Ok(known)
    }

    async fn planned(&self) {
        self.bell().notified().await;
    }

    async fn tasks(&self, limit: usize) -> Result<Vec<Entry>, PortError> {
        const SQL: &str = "SELECT kind, key, lane, due, since, tries, given_up, problem FROM tasks WHERE shop = ? \
                           ORDER BY given_up DESC, due LIMIT ?";
        self.read(move |db| db.prepare_cached(SQL)?.query_map((db.shop(), signed(limit)), read)?.collect()).await
    }

    async fn tallies(&self) -> Result<Vec<Tally>, PortError> {
        const SQL: &str = "SELECT kind, count(*) FILTER (WHERE given_up = 0), count(*) FILTER (WHERE given_up <> 0), \
                           min(due) FILTER (WHERE given_up = 0) FROM tasks WHERE shop = ? GROUP BY kind";
        self.read(move |db| db.prepare_cached(SQL)?.query_map([db.shop()], read)?.collect()).await
    }
}

/// Writes a change of the agenda, in the transaction that `db` is in.
pub(crate) fn write(db: ShopConnection<'_>, plan: &Plan) -> rusqlite::Result<()> {
    const REPLACED: &str = "lane = excluded.lane, name = excluded.name, \
        due = CASE WHEN woken AND name IS excluded.name THEN min(due, excluded.due) ELSE excluded.due END, \
        body = excluded.body, since = excluded.since, tries = 0, given_up = 0, problem = NULL, claimant = NULL, \
        claimed_until = NULL";
    let insert = |Task { kind, key, lane, name, due, body }: &Task, otherwise: &str| {
        let due = nanoseconds(*due);
        db.prepare_cached(&format!(
            "INSERT INTO tasks (shop, kind, key, lane, name, due, body, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (shop, kind, key) DO UPDATE SET {otherwise}"
        ))?
        .execute((db.shop(), kind.as_str(), key, lane, name, due, body, due))
        .map(drop)
    };
    match plan {
        Plan::Due(task) => insert(task, REPLACED),
        Plan::Also(task) => insert(task, "woken = 1"),
        Plan::Done(kind, key) => db
            .prepare_cached("DELETE FROM tasks WHERE shop = ? AND kind = ? AND key = ?")?
            .execute((db.shop(), kind.as_str(), key))
            .map(drop),
    }
}

/// Makes a task due now, also one that was given up. Returns `false` if there is none.
pub(crate) fn retry(db: ShopConnection<'_>, kind: Kind, key: &str, now: Timestamp) -> rusqlite::Result<bool> {
    let sql = "UPDATE tasks SET woken = 1, given_up = 0, due = min(due, ?4), since = ?4 \
               WHERE shop = ?1 AND kind = ?2 AND key = ?3";
    Ok(db.prepare_cached(sql)?.execute((db.shop(), kind.as_str(), key, nanoseconds(now)))? == 1)
}
