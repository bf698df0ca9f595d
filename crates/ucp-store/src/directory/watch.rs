//! The background thread that notices changes to the directory, whoever makes them.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{Inner, storage};
use crate::StoreError;

/// How often it looks for changes.
const WATCH: Duration = Duration::from_millis(250);

/// Reading the directory anew may take one of so many parts of the time, while somebody keeps changing it.
const SHARE: u32 = 4;

/// The thread, as long as somebody holds this.
#[derive(Debug)]
pub(super) struct Watcher {
    wishes: Arc<(Mutex<Wishes>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Wishes {
    /// Who waits for the next refresh to be over.
    waiting: Vec<oneshot::Sender<()>>,
    stop: bool,
}

impl Watcher {
    /// Reads the directory, and starts the thread that reads it again when it changes.
    pub(super) fn start(inner: Arc<Inner>, connection: Connection) -> Result<Self, StoreError> {
        let wishes: Arc<(Mutex<Wishes>, Condvar)> = Arc::default();
        let mut watch = Watch { inner, connection, seen: None, revision: None, rest_until: None, complaint: None };
        watch.refresh().map_err(crate::WriteError::from)?;
        let thread = std::thread::Builder::new()
            .name("directory-watcher".into())
            .spawn({
                let wishes = Arc::clone(&wishes);
                move || watch.run(&wishes)
            })
            .map_err(StoreError::Thread)?;
        Ok(Self { wishes, thread: Some(thread) })
    }

    pub(super) fn request(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.wishes.0.lock().unwrap_or_else(PoisonError::into_inner).waiting.push(sender);
        self.wishes.1.notify_all();
        receiver
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.wishes.0.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.wishes.1.notify_all();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// What the thread knows.
struct Watch {
    inner: Arc<Inner>,
    connection: Connection,
    /// What SQLite says about the state of the database; changes with every commit of anyone else.
    seen: Option<i64>,
    /// The last change to the directory that was read.
    revision: Option<i64>,
    /// When it may be read again without anybody asking for it.
    rest_until: Option<Instant>,
    /// What was last logged, so that a lasting trouble is logged once.
    complaint: Option<String>,
}

impl Watch {
    fn run(mut self, wishes: &(Mutex<Wishes>, Condvar)) {
        loop {
            let waiting = {
                let guard = wishes.0.lock().unwrap_or_else(PoisonError::into_inner);
                let idle = |wishes: &mut Wishes| wishes.waiting.is_empty() && !wishes.stop;
                let (mut guard, _) =
                    wishes.1.wait_timeout_while(guard, WATCH, idle).unwrap_or_else(PoisonError::into_inner);
                if guard.stop {
                    return;
                }
                std::mem::take(&mut guard.waiting)
            };
            if waiting.is_empty() && self.rest_until.is_some_and(|until| Instant::now() < until) {
                continue;
            }
            // What is wrong with one state of the directory must not end the watch.
            match catch_unwind(AssertUnwindSafe(|| self.refresh())) {
                Ok(Ok(())) => self.complaint = None,
                Ok(Err(error)) => self.complain(&error),
                Err(_) => tracing::error!("reading the directory failed"),
            }
            for waiting in waiting {
                // Who has stopped waiting misses nothing.
                let _ = waiting.send(());
            }
        }
    }

    fn refresh(&mut self) -> rusqlite::Result<()> {
        let seen: i64 = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.seen == Some(seen) {
            return Ok(());
        }
        let started = Instant::now();
        let transaction = self.connection.transaction()?;
        let newest = storage::newest_revision(&transaction)?;
        if self.revision != Some(newest) {
            self.inner.load(&transaction)?;
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
            tracing::error!(error = error as &dyn Error, "the directory cannot be refreshed");
            self.complaint = Some(text);
        }
    }
}
