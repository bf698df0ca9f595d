//! The recorder: decides which calls are recorded, takes along what there is of them, and has a thread of its own mask and
//! write them.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    task::{Context, Poll, ready},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderMap, Request, request::Parts};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

use super::{entry::Entry, mask::mask, ring::Ring};
use crate::config::Recording;

/// Above the calls of a second that are all recorded, one in this number is.
const SAMPLE: u64 = 100;

/// Maximum number of calls that wait to be written.
const WAITING: usize = 256;

/// Maximum number of calls that a slow reader of the live stream may fall behind.
const BEHIND: usize = 256;

/// Maximum size of a document in a record in bytes; a longer one is left out.
const MAX_DOCUMENT: usize = 256 * 1024;

/// Headers that a repetition of a call needs.
const REPEATED: [&str; 5] = ["accept", "accept-language", "content-type", "mcp-protocol-version", "ucp-agent"];

/// Records calls.
pub(crate) struct Recorder {
    is_whole: bool,
    per_second: u32,
    /// Calls that are still recorded in the current second.
    left: AtomicU32,
    /// Calls since the last record that were not recorded.
    skipped: AtomicU64,
    writer: SyncSender<Taken>,
    live: broadcast::Sender<Arc<str>>,
    /// Files that are written to.
    pub(crate) ring: Ring,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("ring", &self.ring).finish_non_exhaustive()
    }
}

/// A call with its documents as they came.
struct Taken {
    entry: Entry,
    request: Bytes,
    answer: Bytes,
}

/// What is kept of a request that is recorded.
#[derive(Debug)]
pub(crate) struct Following {
    method: String,
    path: String,
    headers: HeaderMap,
    body: Arc<Mutex<Vec<u8>>>,
    answer: Bytes,
}

impl Recorder {
    /// Starts the recorder of a ring, which records up to `per_second` calls a second.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub(crate) fn start(ring: Ring, recording: Recording, per_second: u32) -> std::io::Result<Self> {
        let (writer, taken) = sync_channel(WAITING);
        let (live, _) = broadcast::channel(BEHIND);
        let (own, sender, is_whole) = (ring.clone(), live.clone(), recording == Recording::Whole);
        std::thread::Builder::new().name("inspector".into()).spawn(move || write(&own, &taken, &sender, is_whole))?;
        let (left, skipped) = (AtomicU32::new(per_second), AtomicU64::new(0));
        Ok(Self { is_whole, per_second, left, skipped, writer, live, ring })
    }

    /// Begins another second.
    pub(crate) fn refill(&self) {
        self.left.store(self.per_second, Ordering::Relaxed);
    }

    /// Returns the records that are written from now on, each as JSON.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.live.subscribe()
    }

    /// Decides whether a call is recorded; if so, its request comes back with its body read along.
    pub(crate) fn follow(&self, request: Request<Body>) -> (Request<Body>, Option<Following>) {
        let has_room = self.left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if !has_room && !self.skipped.fetch_add(1, Ordering::Relaxed).wrapping_add(1).is_multiple_of(SAMPLE) {
            return (request, None);
        }
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (head, body) = request.into_parts();
        let following = Following::of(&head, &kept, self.is_whole);
        (Request::from_parts(head, Body::new(ReadAlong { body, kept })), Some(following))
    }

    /// Hands a call on to be written. A page or a document is none.
    pub(crate) fn record(&self, mut entry: Entry, following: Following) {
        if !entry.is_call() {
            return;
        }
        entry.skipped = self.skipped.swap(0, Ordering::Relaxed);
        entry.whole = self.is_whole;
        let header = |name: &&str| Some(((*name).to_owned(), following.headers.get(*name)?.to_str().ok()?.into()));
        entry.headers = if self.is_whole { REPEATED.iter().filter_map(header).collect() } else { Map::new() };
        let request = std::mem::take(&mut *following.body.lock().unwrap_or_else(PoisonError::into_inner)).into();
        let skipped = entry.skipped;
        if self.writer.try_send(Taken { entry, request, answer: following.answer }).is_err() {
            self.skipped.fetch_add(skipped + 1, Ordering::Relaxed);
        }
    }
}

impl Following {
    fn of(head: &Parts, body: &Arc<Mutex<Vec<u8>>>, is_whole: bool) -> Self {
        Self {
            method: head.method.to_string(),
            path: head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned(),
            headers: if is_whole { head.headers.clone() } else { HeaderMap::new() },
            body: Arc::clone(body),
            answer: Bytes::new(),
        }
    }

    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Takes the body of an answer along, unless it is long or without end.
    pub(crate) async fn read(&mut self, response: Response) -> Response {
        let size = response.body().size_hint();
        if size.exact().is_none_or(|size| size > MAX_DOCUMENT as u64) {
            return response;
        }
        let (head, body) = response.into_parts();
        // It is in memory already, and reading that cannot fail.
        let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        self.answer = bytes.clone();
        Response::from_parts(head, Body::from(bytes))
    }
}

/// A body that is kept while it is read.
struct ReadAlong {
    body: Body,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl HttpBody for ReadAlong {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() + data.len() <= MAX_DOCUMENT {
                kept.extend_from_slice(data);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Writes calls until the recorder is gone.
fn write(ring: &Ring, taken: &Receiver<Taken>, live: &broadcast::Sender<Arc<str>>, is_whole: bool) {
    let mut told = false;
    while let Ok(first) = taken.recv() {
        let mut lines = String::new();
        for Taken { mut entry, request, answer } in std::iter::once(first).chain(taken.try_iter()) {
            entry.request = document(&request, is_whole);
            entry.answer = document(&answer, is_whole);
            let Ok(line) = serde_json::to_string(&entry) else { continue };
            lines.push_str(&line);
            lines.push('\n');
            // It fails while nobody listens.
            drop(live.send(line.into()));
        }
        match ring.add(&lines) {
            Ok(()) => told = false,
            Err(error) if !told => {
                tracing::warn!(%error, "calls cannot be recorded for the inspector");
                told = true;
            }
            Err(_) => {}
        }
    }
}

/// Reads a body as a document, masked unless it `is_whole`.
fn document(bytes: &[u8], is_whole: bool) -> Value {
    let mut document = serde_json::from_slice(bytes).unwrap_or_default();
    if !is_whole {
        mask(&mut document);
    }
    document
}
