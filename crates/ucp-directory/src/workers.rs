//! Worker threads that search and read the directory.
//!
//! There are as many as the machine has processors, at least two, each with a connection of its own: neither threads
//! nor their memory grow with the number of callers. Jobs are run in the order of their arrival.

use std::{
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

use rusqlite::Connection;
use tokio::sync::oneshot;
use ucp_core::ports::PortError;
use ucp_sqlite::{SqliteStore, StoreError, WriteError};

/// Page cache of each connection, in KiB: enough for the upper pages of the indexes. Documents have a cache of their
/// own.
const CACHE_KIB: i64 = 1_024;

/// A unit of work.
type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Handle of the threads. Dropping it waits until they have finished and closed their connections: the last connection
/// to close removes the write-ahead log.
#[derive(Debug)]
pub(super) struct Workers {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts the threads, and opens their connections.
    pub(super) fn start(store: &SqliteStore) -> Result<Self, StoreError> {
        // At least two, so that one long search does not delay all others.
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

    /// Runs a job on a worker thread. Fails with the error of the job; [`InternalError`](ucp_core::Code::InternalError)
    /// if it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, PortError> + Send + 'static,
    ) -> Result<T, PortError> {
        let (sender, done) = oneshot::channel();
        let job = move |connection: &mut Connection| {
            // The caller is gone.
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
            // Panics of jobs were caught and reported.
            drop(thread.join());
        }
    }
}

/// Waits for the next job; `None` once no more can come.
fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
