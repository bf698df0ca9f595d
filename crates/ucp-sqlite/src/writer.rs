//! The writer thread.
//!
//! Writes queue up for it, and up to [`GROUP`] of them share one commit, because a commit costs a flush to disk and a
//! write does not. Each write has its own savepoint: one that fails leaves nothing behind and does not affect the
//! others. Success is reported once the commit is on disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::JoinHandle,
};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use crate::{
    error::{StoreError, WriteError},
    place::FilePlace,
    witness::{self, UNFLUSHED, Witness},
};

/// Maximum number of writes per commit.
const GROUP: usize = 128;

/// Reports the result of a write to its caller, once it is known whether the commit succeeded.
type Deliver = Box<dyn FnOnce(Result<(), WriteError>)>;

/// A write: runs on a connection inside a transaction, or gets the reason why it cannot.
type Job = Box<dyn FnOnce(Result<&Connection, WriteError>) -> Deliver + Send>;

/// Counts of the writer's work since the start.
#[derive(Debug, Default)]
pub struct Activity {
    queued: AtomicU64,
    writes: AtomicU64,
    commits: AtomicU64,
}

impl Activity {
    /// Returns the number of commits, each of which is flushed to disk.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns the number of writes, whether or not they succeeded.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns the number of writes that wait or are under way.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed).saturating_sub(self.writes())
    }
}

/// Handle of the writer thread. Dropping it waits until everything queued is written.
#[derive(Debug)]
pub(crate) struct Writer {
    activity: Arc<Activity>,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on its own connection, which writes as long as the file is at its place, and tells of each commit.
    pub(crate) fn start(
        mut connection: Connection,
        file: Option<(FilePlace, Arc<Witness>)>,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let activity = Arc::new(Activity::default());
        let counted = Arc::clone(&activity);
        let run = move || {
            let (place, witness) = file.unzip();
            let witness = witness.as_deref();
            loop {
                let unflushed = witness.filter(|witness| witness.is_unflushed());
                let first = match unflushed {
                    Some(witness) => match queue.recv_timeout(UNFLUSHED) {
                        Err(RecvTimeoutError::Timeout) => {
                            witness.flush();
                            continue;
                        }
                        first => first.ok(),
                    },
                    None => queue.recv().ok(),
                };
                let Some(first) = first else { break };
                let group: Vec<_> = std::iter::once(first).chain(queue.try_iter().take(GROUP - 1)).collect();
                counted.commits.fetch_add(1, Ordering::Relaxed);
                let writes = group.len() as u64;
                if place.as_ref().is_none_or(FilePlace::holds) {
                    commit(&mut connection, group, witness);
                } else {
                    refuse(group, &WriteError::Displaced);
                }
                counted.writes.fetch_add(writes, Ordering::Relaxed);
            }
            if let Some(witness) = witness {
                witness.flush();
            }
        };
        let thread = std::thread::Builder::new().name("shop-writer".into()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { activity, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Returns what the writer has done.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Runs `job` inside a transaction, and returns once that is on disk. Fails with [`WriteError`] of `job` or of the
    /// commit; then nothing of it is written.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        self.submit(job).await.unwrap_or(Err(WriteError::Stopped))
    }

    /// As [`call`](Self::call), for callers outside an async runtime. Fails as [`call`](Self::call).
    pub(crate) fn call_blocking<T: Send + 'static>(
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
            // The caller may have gone away.
            Box::new(move |committed| drop(sender.send(result.and_then(|value| committed.map(|()| value)))))
        });
        if let Some(jobs) = &self.jobs {
            self.activity.queued.fetch_add(1, Ordering::Relaxed);
            // A thread that has ended drops the job and with it the sender: the receiver reports `Stopped`.
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

/// Runs a group of writes, in one transaction unless a failure ends it early.
fn commit(connection: &mut Connection, group: Vec<Job>, witness: Option<&Witness>) {
    let mut jobs = group.into_iter();
    while jobs.len() > 0 {
        let transaction = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
            Ok(transaction) => transaction,
            Err(error) => {
                refuse(jobs, &WriteError::from(error));
                return;
            }
        };
        let mut deliveries = Vec::with_capacity(jobs.len());
        let before = transaction.total_changes();
        // Some failures, such as a full disk, roll back the whole transaction. Later writes would then be committed one
        // by one, and reported as failed.
        while !transaction.is_autocommit()
            && let Some(job) = jobs.next()
        {
            deliveries.push(job(Ok(&transaction)));
        }
        let committed = if transaction.is_autocommit() {
            Err(WriteError::RolledBack)
        } else {
            // Nothing is written, and nothing flushed, for jobs that change nothing.
            let counting = witness.filter(|_| transaction.total_changes() != before);
            counting
                .map(|witness| witness::count(&transaction).map(|number| (witness, number)))
                .transpose()
                .and_then(|counted| transaction.commit().map(|()| counted))
                .map(|counted| counted.into_iter().for_each(|(witness, number)| witness.tell(number)))
                .map_err(WriteError::from)
        };
        if let Err(error) = &committed {
            tracing::error!(error = error as &dyn std::error::Error, "database commit failed");
        }
        for deliver in deliveries {
            deliver(committed.clone());
        }
    }
}

/// Answers writes that are not carried out.
fn refuse(jobs: impl IntoIterator<Item = Job>, error: &WriteError) {
    tracing::error!(error = error as &dyn std::error::Error, "database takes no writes");
    for job in jobs {
        job(Err(error.clone()))(Err(error.clone()));
    }
}

/// Runs `job` in a savepoint of its own.
fn isolated<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    let run = |sql| connection.prepare_cached(sql)?.execute(()).map(drop);
    run("SAVEPOINT job")?;
    let result = catch_unwind(AssertUnwindSafe(|| job(connection))).unwrap_or(Err(WriteError::Panicked));
    // A savepoint that cannot be rolled back is rolled back with the whole transaction.
    if result.is_err() && run("ROLLBACK TO job").is_err() && !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    if connection.is_autocommit() {
        return result.and(Err(WriteError::RolledBack));
    }
    run("RELEASE job")?;
    result
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;
    use ucp_testkit::{PATIENCE, eventually};

    use super::*;

    /// Waits for the answer to a write.
    fn answer<T>(mut pending: oneshot::Receiver<T>) -> T {
        eventually("the answer to a write", PATIENCE, || match pending.try_recv() {
            Err(TryRecvError::Empty) => None,
            answer => Some(answer.expect("an answer")),
        })
    }

    fn count(writer: &Writer) -> i64 {
        writer.call_blocking(|db| Ok(db.query_row("SELECT count(*) FROM t", (), |row| row.get(0))?)).expect("count")
    }

    #[test]
    fn a_failing_write_leaves_nothing_and_disturbs_no_other() {
        let connection = Connection::open_in_memory().expect("database");
        connection.execute_batch("CREATE TABLE t (x INTEGER)").expect("table");
        let writer = Writer::start(connection, None).expect("writer");
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
            match (number % 3, answer(pending)) {
                (0, Ok(value)) => assert_eq!(value, number),
                (1, Err(WriteError::Database(_))) | (2, Err(WriteError::Panicked)) => {}
                (_, other) => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(count(&writer), 34);
    }

    #[test]
    fn a_failure_that_undoes_the_commit_is_told_to_all_whom_it_concerns() {
        let connection = Connection::open_in_memory().expect("database");
        connection.execute_batch("CREATE TABLE t (x INTEGER)").expect("table");
        let writer = Writer::start(connection, None).expect("writer");
        // While the first one runs, the others queue up and become one group.
        let (begin, begun) = mpsc::channel::<()>();
        let (release, held) = mpsc::channel::<()>();
        let first = writer.submit(move |_| {
            begin.send(()).expect("somebody waits");
            Ok(held.recv().is_err())
        });
        begun.recv_timeout(PATIENCE).expect("the first has begun");
        let pending: Vec<_> = (0..9)
            .map(|number| {
                writer.submit(move |db| {
                    db.execute("INSERT INTO t VALUES (1)", ())?;
                    if number == 4 {
                        // What SQLite does by itself when a disk is full.
                        db.execute_batch("ROLLBACK")?;
                        return Err(rusqlite::Error::QueryReturnedNoRows.into());
                    }
                    Ok(number)
                })
            })
            .collect();
        drop(release);
        answer(first).expect("the first");
        for (number, pending) in pending.into_iter().enumerate() {
            match (number, answer(pending)) {
                (0..4, Err(WriteError::RolledBack)) | (4, Err(WriteError::Database(_))) => {}
                (5.., Ok(value)) => assert_eq!(value, number),
                (_, other) => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(count(&writer), 4);
    }

    #[test]
    fn dropping_the_writer_writes_what_is_queued() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("w.db");
        let connection = Connection::open(&path).expect("database");
        connection.execute_batch("CREATE TABLE t (x INTEGER)").expect("table");
        let writer = Writer::start(connection, None).expect("writer");
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
