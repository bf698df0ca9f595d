//! Background thread that notices changes to the directory, whichever process makes them.

use std::{error::Error, sync::Arc, time::Instant};

use rusqlite::Connection;
use ucp_sqlite::{ShopConnection, StoreError, WriteError, watcher::Watcher};

use crate::{DirectoryState, merchants};

/// Reciprocal of the share of time that reading the directory may take while it keeps changing.
const SHARE: u32 = 4;

/// Reads the directory, and starts the thread that reads it again after changes.
pub(super) fn watch(inner: Arc<DirectoryState>, connection: Connection) -> Result<Watcher, StoreError> {
    let mut watch = Watch { inner, connection, seen: None, revision: None, rest_until: None, complaint: None };
    watch.refresh().map_err(WriteError::from)?;
    Watcher::start("directory-watcher", move |asked| watch.look(asked))
}

/// State of the thread.
struct Watch {
    inner: Arc<DirectoryState>,
    connection: Connection,
    /// SQLite's data version, which changes with every commit of another connection.
    seen: Option<i64>,
    /// Revision of the directory that was read last.
    revision: Option<i64>,
    /// Time until which it is read only on request.
    rest_until: Option<Instant>,
    /// Last problem that was logged, so that a lasting one is logged once.
    complaint: Option<String>,
}

impl Watch {
    fn look(&mut self, asked: bool) {
        if !asked && self.rest_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        match self.refresh() {
            Ok(()) => self.complaint = None,
            Err(error) => self.complain(&error),
        }
    }

    fn refresh(&mut self) -> rusqlite::Result<()> {
        let seen: i64 = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.seen == Some(seen) {
            return Ok(());
        }
        let started = Instant::now();
        let transaction = self.connection.transaction()?;
        let db = ShopConnection::new(&transaction, &self.inner.shop);
        let newest = merchants::newest_revision(db)?;
        if self.revision != Some(newest) {
            self.inner.load(db)?;
        }
        transaction.finish()?;
        if self.revision != Some(newest) {
            self.rest_until = Some(Instant::now() + started.elapsed() * SHARE);
        }
        (self.revision, self.seen) = (Some(newest), Some(seen));
        Ok(())
    }

    fn complain(&mut self, error: &rusqlite::Error) {
        let text = error.to_string();
        if self.complaint.as_ref() != Some(&text) {
            tracing::error!(error = error as &dyn Error, "refreshing the directory failed");
            self.complaint = Some(text);
        }
    }
}
