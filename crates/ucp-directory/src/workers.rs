//! The threads on which a directory is searched and read.
//!
//! There are as many as the machine has processors, each with a connection of its own to the database: neither threads
//! nor what they keep in memory grow with the number of callers. Work is taken up in the order in which it came.

use std::{
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

use rusqlite::Connection;
use tokio::sync::oneshot;
use ucp_core::port::PortError;
use ucp_sqlite::{SqliteStore, StoreError, WriteError};

/// How many kibibytes of the database each connection keeps in memory: the upper pages of its indexes. Whatever else is
/// worth keeping is kept as a document.
const CACHE_KIB: i64 = 1_024;

/// Whatever is to be done.
type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The threads. Dropping this waits until they have done their work and closed their connections: the log of the
/// database is put away by whoever closes the last one.
#[derive(Debug)]
pub(super) struct Workers {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts the threads, and opens their connections.
    pub(super) fn start(store: &SqliteStore) -> Result<Self, StoreError> {
        // Two at least, so that one long search does not hold up everybody.
        let count = thread::available_parallelism().map_or(1, NonZero::get).max(2);
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let mut workers = Self { jobs: Some(jobs), threads: Vec::new() };
        for _ in 0..count {
            let mut connection = store.connect()?;
            connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(WriteError::from)?;
            let queue = Arc::clone(&queue);
            let work = move || {
                while let Some(job) = next(&queue) {
                    job(&mut connection);
                }
            };
            let thread = thread::Builder::new().name("directory".into()).spawn(work).map_err(StoreError::Thread)?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Has a thread do something.
    ///
    /// # Errors
    /// What it reports, or [`InternalError`](ucp_core::Code::InternalError) where it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, PortError> + Send + 'static,
    ) -> Result<T, PortError> {
        let (sender, done) = oneshot::channel();
        let job = move |connection: &mut Connection| {
            // Nobody waits for it any more.
            if sender.is_closed() {
                return;
            }
            if let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| work(connection))) {
                let _ = sender.send(outcome);
            }
        };
        let stopped = || PortError::internal().because("the threads of the directory have stopped");
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(Box::new(job)).map_err(|_| stopped())?;
        done.await.unwrap_or_else(|_| Err(PortError::internal().because("a read of the directory panicked")))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs.take();
        for thread in self.threads.drain(..) {
            // What panicked was caught, and told to whoever asked.
            drop(thread.join());
        }
    }
}

/// The next job, once it is there; `None` when there will be none any more.
fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
