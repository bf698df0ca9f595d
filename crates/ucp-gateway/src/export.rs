//! Export of telemetry: items wait in a queue of bounded length and are sent in batches, by a task of their own.
//!
//! Producers never wait. Items that do not fit into the queue are dropped, and so are those that a receiver does not
//! accept; both are counted.
//!
//! | module | sends |
//! | :-- | :-- |
//! | [`otlp`] | spans and events to a collector of OpenTelemetry |
//! | [`json_lines`] | events to a server of the operator |

pub(crate) mod json_lines;
pub(crate) mod otlp;

use std::{
    fmt, mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use http::{HeaderName, HeaderValue, header};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use ucp_config::Receiver;
use ucp_net::{
    Author, CallKind, Failure, Received, Upstream, UpstreamRequest, Verdict, outbound::SetupError, retry, upstream,
};
use ucp_payment::Secret;
use url::Url;

/// Maximum number of items that wait to be sent.
const WAITING: usize = 8_192;

/// Maximum number of items that are sent at once.
const BATCH: usize = 512;

/// Time for which items wait for others.
const DELAY: Duration = Duration::from_secs(1);

/// Time in which what is waiting is sent when the process ends.
const LAST: Duration = Duration::from_secs(3);

/// Minimum time between two warnings.
const WARNED_EVERY: Duration = Duration::from_secs(60);

/// Maximum size of a response, in bytes.
const MAX_BODY: usize = 64 << 10;

/// A receiver of items.
#[async_trait]
pub(crate) trait Sink<T>: Send + 'static {
    /// Sends items. Bounds the time that it takes.
    ///
    /// # Errors
    /// The reason why the receiver does not have them.
    async fn send(&self, batch: Vec<T>) -> Result<(), String>;
}

/// Numbers of the items of one export since the start.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Name of what is exported.
    pub(crate) name: &'static str,
    queued: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
    /// Number of items that were dropped before they were queued.
    refused: AtomicU64,
}

impl Counts {
    /// Returns the number of items that a receiver took.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of items that were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }

    /// Returns the number of items that wait or are being sent.
    pub(crate) fn waiting(&self) -> u64 {
        let ended = self.sent() + self.dropped.load(Ordering::Relaxed);
        self.queued.load(Ordering::Relaxed).saturating_sub(ended)
    }
}

/// Queue of items for a [`Sink`].
pub(crate) struct Export<T> {
    queue: mpsc::Sender<T>,
    counts: Arc<Counts>,
}

impl<T> fmt::Debug for Export<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Export<T> {
    /// Starts the export of items called `name`, which also has a place among `exports`. What is waiting when these are
    /// [finished](Exports::finish) is still sent.
    pub(crate) fn start(name: &'static str, sink: impl Sink<T>, exports: &mut Exports) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        let (queued, sent, dropped, refused) = <(AtomicU64, AtomicU64, AtomicU64, AtomicU64)>::default();
        let counts = Arc::new(Counts { name, queued, sent, dropped, refused });
        let (stop, stopped) = watch::channel(());
        let task = tokio::spawn(run(waiting, sink, Arc::clone(&counts), stopped));
        exports.counts.push(Arc::clone(&counts));
        exports.endings.push(Ending { stop, task });
        Self { queue, counts }
    }

    /// Queues items, all or none of them.
    pub(crate) fn tell(&self, items: impl ExactSizeIterator<Item = T>) {
        let count = items.len();
        match self.queue.try_reserve_many(count) {
            Ok(permits) => {
                self.counts.queued.fetch_add(count as u64, Ordering::Relaxed);
                permits.zip(items).for_each(|(permit, item)| permit.send(item));
            }
            Err(_) => {
                self.counts.refused.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
    }
}

/// All exports of a process.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    /// Numbers of the items of each.
    pub(crate) counts: Vec<Arc<Counts>>,
    endings: Vec<Ending>,
}

impl Exports {
    /// Sends what is waiting, for at most [`LAST`].
    pub(crate) async fn finish(self) {
        let tasks: Vec<_> = self.endings.into_iter().map(|Ending { stop, task }| (drop(stop), task).1).collect();
        let all = async {
            for task in tasks {
                // A task that panicked has nothing more to send.
                drop(task.await);
            }
        };
        if timeout(LAST, all).await.is_err() {
            tracing::warn!("telemetry not sent before the shutdown");
        }
    }
}

/// End of an export.
#[derive(Debug)]
struct Ending {
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

async fn run<T: Send + 'static>(
    mut waiting: mpsc::Receiver<T>,
    sink: impl Sink<T>,
    counts: Arc<Counts>,
    mut stopped: watch::Receiver<()>,
) {
    let (mut batch, mut warned, mut told) = (Vec::with_capacity(BATCH), None::<Instant>, 0);
    let mut is_open = true;
    loop {
        tokio::select! {
            count = waiting.recv_many(&mut batch, BATCH) => if count == 0 {
                return;
            },
            _ = stopped.changed(), if is_open => {
                is_open = false;
                waiting.close();
                continue;
            }
        }
        let until = Instant::now() + if is_open { DELAY } else { Duration::ZERO };
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            let more = async {
                tokio::select! {
                    count = waiting.recv_many(&mut batch, room) => count,
                    _ = stopped.changed(), if is_open => 0,
                }
            };
            match timeout_at(until, more).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => break,
            }
        }
        let count = batch.len() as u64;
        let problem = match sink.send(mem::replace(&mut batch, Vec::with_capacity(BATCH))).await {
            Ok(()) => {
                counts.sent.fetch_add(count, Ordering::Relaxed);
                None
            }
            Err(problem) => {
                counts.dropped.fetch_add(count, Ordering::Relaxed);
                Some(problem)
            }
        };
        let dropped = counts.dropped();
        if dropped > told && warned.is_none_or(|warned| warned.elapsed() >= WARNED_EVERY) {
            let problem = problem.unwrap_or_else(|| "its receiver is too slow".to_owned());
            tracing::warn!(of = counts.name, dropped, problem, "telemetry dropped");
            (warned, told) = (Some(Instant::now()), dropped);
        }
    }
}

/// HTTP client of a receiver of telemetry.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    upstream: Upstream,
    url: Url,
    token: Option<Secret>,
}

impl Client {
    /// Creates the client of a receiver, whose name is for the log.
    ///
    /// # Errors
    /// [`SetupError`] if the address is not that of a server, or TLS cannot be set up.
    pub(crate) fn new(name: &str, receiver: &Receiver) -> Result<Self, SetupError> {
        let options = upstream::Options {
            // Collectors are usually beside the gateway, in a network that nobody else is in.
            plain_http: true,
            max_body: MAX_BODY,
            retry: retry::Rules { attempts: 1, ..retry::Rules::default() },
            ..upstream::Options::new(name, receiver.url.clone())
        };
        // Whoever sends decides what a status means.
        let classifier = |_: &Received| Verdict::Good;
        let upstream = Upstream::new(&options, classifier, Arc::new(Instant::now), Arc::new(|| 0))?;
        Ok(Self { upstream, url: receiver.url.clone(), token: receiver.token.clone() })
    }

    /// Posts a body of this media type, with further headers.
    ///
    /// # Errors
    /// [`Failure`] if there is no response.
    async fn post(
        &self,
        body: impl Into<bytes::Bytes>,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Result<Received, Failure> {
        let mut request = UpstreamRequest::new(CallKind::Write, http::Method::POST, self.url.clone());
        (request.author, request.body) = (Author::Gateway, body.into());
        request.headers.extend(headers);
        let token = self.token.as_ref().map(|token| format!("Bearer {}", token.reveal()));
        if let Some(token) = token.and_then(|token| HeaderValue::from_str(&token).ok()) {
            request = request.secret(header::AUTHORIZATION, token);
        }
        self.upstream.call(request).await
    }
}

#[cfg(test)]
mod tests;
