//! Removing what nobody will ask for any more.

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;
use ucp_core::port::PortError;

use crate::{
    owners,
    store::{BATCH, SqliteStore},
    time::nanoseconds,
};

/// How long an answer is kept for those who ask again (rule IDM-02).
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(48);

/// How long carts and checkouts stay after they have expired.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How long notices stay after they were settled, for whoever wants to send one again.
const SETTLED_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

impl SqliteStore {
    /// Removes what nobody will ask for any more: answers after 48 hours, carts and checkouts 30 days after they have
    /// expired, notices about orders 7 days after they were settled or 30 days after they could not even be tried.
    /// Orders stay with their mandates, and so do checkouts as long as it is not known whether they were paid for. What
    /// a shop elsewhere keeps is forgotten after its own time (`owners`). To be called from time to time; it goes in
    /// small steps, between which others write. Yields how many rows were removed.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) if the database cannot be written. What was removed until then
    /// stays removed.
    pub async fn prune(&self, now: Timestamp) -> Result<u64, PortError> {
        let before = |age| nanoseconds(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
        let mut removed = self.prune_owners(now, owners::MOST).await?;
        for (statement, before) in [
            ("DELETE FROM kept WHERE seq IN (SELECT seq FROM kept WHERE at < ? ORDER BY at LIMIT ?)", before(KEPT_FOR)),
            (
                "DELETE FROM carts WHERE seq IN \
                 (SELECT seq FROM carts WHERE expires_at < ? ORDER BY expires_at LIMIT ?)",
                before(REMEMBERED_FOR),
            ),
            (
                "DELETE FROM checkouts WHERE seq IN (SELECT seq FROM checkouts \
                 WHERE expires_at < ? AND attempted_at IS NULL ORDER BY expires_at LIMIT ?)",
                before(REMEMBERED_FOR),
            ),
            (
                "DELETE FROM outbox WHERE seq IN \
                 (SELECT seq FROM outbox WHERE settled_at < ? ORDER BY settled_at LIMIT ?)",
                before(SETTLED_FOR),
            ),
            (
                "DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox \
                 WHERE since < ? AND state = 'waiting' ORDER BY since LIMIT ?)",
                before(REMEMBERED_FOR),
            ),
        ] {
            loop {
                let delete = move |db: &Connection| Ok(db.prepare_cached(statement)?.execute((before, BATCH))? as u64);
                let batch = self.write(delete).await?;
                removed += batch;
                if batch < BATCH.unsigned_abs() {
                    break;
                }
            }
        }
        Ok(removed)
    }
}
