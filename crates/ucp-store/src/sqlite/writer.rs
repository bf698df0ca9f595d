//! The one thread that writes.
//!
//! Writes queue up for it, and up to [`GROUP`] of them share one commit, because a commit costs a flush to disk and a
//! write does not. Each write has its own savepoint: one that fails leaves nothing behind and disturbs no other. Nobody
//! is told of success before the commit is on disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread::JoinHandle,
};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use crate::{StoreError, error::WriteError};

/// How many writes share a commit at most.
const GROUP: usize = 32;

/// Tells the caller of a write how it ended, once it is known whether the commit succeeded.
type Deliver = Box<dyn FnOnce(Result<(), WriteError>)>;

/// A write: runs on a connection inside a transaction, or learns why it cannot.
type Job = Box<dyn FnOnce(Result<&Connection, WriteError>) -> Deliver + Send>;

/// Hands writes to the writing thread. Dropping it waits until everything queued is written.
#[derive(Debug)]
pub struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on its own connection.
    pub(crate) fn start(mut connection: Connection) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let run = move || {
            while let Ok(first) = queue.recv() {
                let group: Vec<_> = std::iter::once(first).chain(queue.try_iter().take(GROUP - 1)).collect();
                commit(&mut connection, group);
            }
        };
        let thread = std::thread::Builder::new().name("shop-writer".into()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs `job` inside a transaction, and returns once that is on disk.
    ///
    /// # Errors
    /// What `job` or the commit failed with; nothing is written then.
    pub async fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        self.submit(job).await.unwrap_or(Err(WriteError::Stopped))
    }

    /// The same for callers outside an async runtime.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        self.submit(job).blocking_recv().unwrap_or(Err(WriteError::Stopped))
    }

    fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, WriteError> + Send + 'static,
    ) -> oneshot::Receiver<Result<T, WriteError>> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let result = connection.and_then(|connection| isolated(connection, job));
            // A caller that has gone away misses only the news.
            Box::new(move |committed| drop(sender.send(committed.and(result))))
        });
        if let Some(jobs) = &self.jobs {
            // A thread that is gone drops the job and with it the sender: the receiver reports `Stopped`.
            drop(jobs.send(job));
        }
        receiver
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn commit(connection: &mut Connection, group: Vec<Job>) {
    let transaction = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => transaction,
        Err(error) => {
            let error = WriteError::from(error);
            tracing::error!(error = &error as &dyn std::error::Error, "the shop's database takes no writes");
            for job in group {
                job(Err(error.clone()))(Err(error.clone()));
            }
            return;
        }
    };
    let deliveries: Vec<_> = group.into_iter().map(|job| job(Ok(&transaction))).collect();
    let committed = transaction.commit().map_err(WriteError::from);
    if let Err(error) = &committed {
        tracing::error!(error = error as &dyn std::error::Error, "a commit to the shop's database failed");
    }
    for deliver in deliveries {
        deliver(committed.clone());
    }
}

/// Runs `job` in a savepoint of its own.
fn isolated<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    connection.execute_batch("SAVEPOINT job")?;
    let result = catch_unwind(AssertUnwindSafe(|| job(connection))).unwrap_or(Err(WriteError::Panicked));
    let end = if result.is_ok() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    let ended = connection.execute_batch(end);
    let value = result?;
    ended?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(writer: &Writer) -> i64 {
        writer.call_blocking(|db| Ok(db.query_row("SELECT count(*) FROM t", (), |row| row.get(0))?)).expect("count")
    }

    #[test]
    fn a_failing_write_leaves_nothing_and_disturbs_no_other() {
        let connection = Connection::open_in_memory().expect("database");
        connection.execute_batch("CREATE TABLE t (x INTEGER)").expect("table");
        let writer = Writer::start(connection).expect("writer");
        let insert = |db: &Connection| db.execute("INSERT INTO t VALUES (1)", ()).map_err(WriteError::from);
        let pending: Vec<_> = (0..100)
            .map(|number| {
                writer.submit(move |db| {
                    insert(db)?;
                    match number % 3 {
                        0 => Ok(number),
                        1 => Ok(db.execute("nonsense", ())?),
                        _ => panic!("on purpose"),
                    }
                })
            })
            .collect();
        for (number, pending) in pending.into_iter().enumerate() {
            match (number % 3, pending.blocking_recv().expect("an answer")) {
                (0, Ok(value)) => assert_eq!(value, number),
                (1, Err(WriteError::Database(_))) | (2, Err(WriteError::Panicked)) => {}
                (_, other) => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(count(&writer), 34);
    }

    #[test]
    fn dropping_the_writer_writes_what_is_queued() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("w.db");
        let connection = Connection::open(&path).expect("database");
        connection.execute_batch("CREATE TABLE t (x INTEGER)").expect("table");
        let writer = Writer::start(connection).expect("writer");
        for _ in 0..50 {
            drop(writer.submit(|db| Ok(db.execute("INSERT INTO t VALUES (1)", ())?)));
        }
        drop(writer);
        let rows: i64 = Connection::open(&path)
            .and_then(|connection| connection.query_row("SELECT count(*) FROM t", (), |row| row.get(0)))
            .expect("rows");
        assert_eq!(rows, 50);
    }
}
