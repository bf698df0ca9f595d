//! The pool of connections, and the repetition of what failed on the way.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use deadpool_postgres::{Hook, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts};
use tokio_postgres::{Error, config::SslMode};

use crate::{
    address::Options,
    connection::Connection,
    failure::{Failure, Meaning, OpenError, meaning, spoils},
    tls::Tls,
};

/// Time for which calls wait for a server that is away. While it stays away, later ones wait no longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest wait for a connection of the pool.
const TURN: Duration = Duration::from_secs(5);

/// Pause before the first repetition; it doubles with each one, up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(5);

/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Maximum number of attempts at something that others keep from succeeding.
const ATTEMPTS: u32 = 12;

/// Connections to a database, and what is known about its state.
pub(crate) struct Database {
    pub(crate) place: String,
    pool: Pool,
    tls: Tls,
    encrypted: bool,
    named: bool,
    statement_timeout: Duration,
    /// Time from which on the server could not be reached.
    away: Mutex<Option<Instant>>,
    /// Number of statements that were sent again.
    repeated: AtomicU64,
}
ucp_core::opaque!(Database { place });

impl Database {
    pub(crate) fn new(options: &Options) -> Result<Self, OpenError> {
        let tls = Tls::new(&options.roots).map_err(OpenError::Tls)?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(options.config.clone(), tls.clone(), recycling);
        let timeouts = Timeouts { wait: Some(TURN), create: Some(TURN * 2), recycle: Some(TURN) };
        let built = Pool::builder(manager)
            .max_size(options.connections.max(1))
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .post_recycle(replans())
            .build();
        let pool = built.map_err(|error| OpenError::Unusable {
            place: options.place(),
            source: Failure::Unreachable(Box::new(error)),
        })?;
        Ok(Self {
            place: options.place(),
            pool,
            tls,
            encrypted: options.config.get_ssl_mode() != SslMode::Disable,
            named: options.named,
            statement_timeout: options.statement_timeout,
            away: Mutex::default(),
            repeated: AtomicU64::default(),
        })
    }

    /// Returns `false` while the server cannot be reached.
    pub(crate) fn is_reachable(&self) -> bool {
        self.away.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Returns the number of open connections, and of those that nobody uses.
    pub(crate) fn connections(&self) -> (usize, usize) {
        let status = self.pool.status();
        (status.size, status.available)
    }

    /// Returns the number of statements that were sent again.
    pub(crate) fn repeated(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Returns the time until which a call waits for a server that is away, and notes that it is away.
    fn patience(&self) -> Instant {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *away.get_or_insert_with(|| {
            tracing::warn!(database = self.place, "database unreachable");
            Instant::now()
        });
        since + PATIENCE
    }

    fn is_back(&self) {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = away.take() {
            let seconds = since.elapsed().as_secs_f64();
            tracing::info!(database = self.place, seconds, "database reachable again");
        }
    }

    /// Runs `operation` on a connection, again if it failed in a way that allows it. `operation` learns whether what it
    /// did in an earlier attempt may have been carried out: it has to find out then, and must never do it a second
    /// time. Fails with the [`Failure`] of the last attempt.
    pub(crate) async fn run<T, F>(
        &self,
        operation: impl Fn(Arc<Connection>, bool) -> F + Send + Sync,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>> + Send,
    {
        let (mut in_doubt, mut pause) = (false, PAUSE);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failure = match self.pool.get().await {
                Ok(object) => match self.attempt(object, in_doubt, &operation).await {
                    Ok(done) => return Ok(done),
                    Err((failure, lost)) => {
                        in_doubt |= lost;
                        match &failure {
                            Failure::Refused(error) if meaning(error) != Meaning::Again => return Err(failure),
                            _ => failure,
                        }
                    }
                },
                // Nobody has given a connection back: the server is slow, not away.
                Err(error @ PoolError::Timeout(_)) => return Err(doubtful(error.into(), in_doubt)),
                Err(error) => {
                    if is_final(&error) || Instant::now() >= self.patience() {
                        return Err(doubtful(error.into(), in_doubt));
                    }
                    Failure::from(error)
                }
            };
            if attempts >= ATTEMPTS {
                return Err(doubtful(failure, in_doubt));
            }
            self.repeated.fetch_add(1, Ordering::Relaxed);
            // Not together with all others that failed at the same time.
            let part = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 512.0;
            tokio::time::sleep(pause.mul_f64(0.5 + part)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Runs `operation` once. Returns with an error whether it may have been carried out nevertheless.
    async fn attempt<T, F>(
        &self,
        object: Object,
        in_doubt: bool,
        operation: &impl Fn(Arc<Connection>, bool) -> F,
    ) -> Result<T, (Failure, bool)>
    where
        F: Future<Output = Result<T, Error>> + Send,
    {
        let connection = Arc::new(Connection { object, named: self.named });
        let ended = tokio::time::timeout(self.statement_timeout, operation(Arc::clone(&connection), in_doubt)).await;
        let failure = match ended {
            Ok(Ok(done)) => {
                self.is_back();
                return Ok(done);
            }
            Ok(Err(error)) => {
                let lost = meaning(&error) == Meaning::Lost;
                if spoils(&error) {
                    discard(connection);
                }
                return Err(if lost {
                    (Failure::Unknown(Box::new(error)), true)
                } else {
                    (Failure::Refused(error), false)
                });
            }
            Err(_) => Failure::Slow(self.statement_timeout),
        };
        self.cancel(connection);
        Err((failure, true))
    }

    /// Ends a statement that takes too long, and the connection with it.
    fn cancel(&self, connection: Arc<Connection>) {
        let token = connection.object.cancel_token();
        let (tls, encrypted) = (self.tls.clone(), self.encrypted);
        discard(connection);
        tokio::spawn(async move {
            let cancelled = async {
                if encrypted { token.cancel_query(tls).await } else { token.cancel_query(tokio_postgres::NoTls).await }
            };
            // The server may be what does not answer.
            drop(tokio::time::timeout(TURN, cancelled).await);
        });
    }
}

/// Forgets the prepared statements of a connection after 1, 2, 4, 8… uses. The server plans a statement once: one that was
/// prepared while tables were empty might be carried out over an index that is of no use when they are large.
fn replans() -> Hook {
    Hook::sync_fn(|client, metrics| {
        if metrics.recycle_count.is_power_of_two() {
            client.statement_cache.clear();
        }
        Ok(())
    })
}

/// Takes a connection out of the pool.
fn discard(connection: Arc<Connection>) {
    if let Some(connection) = Arc::into_inner(connection) {
        drop(Object::take(connection.object));
    }
}

/// Returns `true` if connecting fails until the configuration of the gateway or of the server is changed.
fn is_final(error: &PoolError) -> bool {
    let PoolError::Backend(error) = error else { return false };
    error.as_db_error().is_some_and(|stated| matches!(stated.code().code(), "28P01" | "28000" | "3D000" | "42501"))
}

/// Returns a failure that says that a change may have been carried out, if it may.
fn doubtful(failure: Failure, in_doubt: bool) -> Failure {
    match failure {
        failure @ (Failure::Unknown(_) | Failure::Unreadable(_)) => failure,
        failure if in_doubt => Failure::Unknown(Box::new(failure)),
        failure => failure,
    }
}
