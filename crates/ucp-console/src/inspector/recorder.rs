//! The recorder: takes along what there is of a call, and has a thread of its own mask and keep it.

use std::{
    io,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, to_bytes},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderName, Request, header};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use serde_json::Value;
use tokio::{runtime::Handle, sync::broadcast};
use ucp_core::operation::Class;
use ucp_host::{clock, ended::Ended};
use ucp_record::{Repetition, Spans, Transport};

use super::{
    FOLDER, disk,
    entry::{Entry, Summary, Whole},
    mask::Masking,
    ring::Ring,
    subjects::Subjects,
};

/// Maximum number of calls that wait to be masked.
const WAITING: usize = 256;

/// Maximum number of calls that a slow reader of the live stream may fall behind.
const BEHIND: usize = 256;

/// Interval at which calls are deleted whose subjects are gone, whether anybody looks at them or not.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum size of a document in bytes; of a longer one only its size is kept.
const MAX_DOCUMENT: usize = 256 * 1024;

/// Records calls.
#[derive(Debug)]
pub struct Recorder {
    /// Maximum number of calls in a second that are recorded.
    per_second: u32,
    begun: Instant,
    /// The last second since `begun` in which a call was recorded, in the upper half, and the number of calls in it.
    admitted: AtomicU64,
    /// Calls since the last recorded one that there was no room for.
    skipped: Arc<AtomicU64>,
    waiting: SyncSender<Taken>,
    live: broadcast::Sender<Arc<Summary>>,
    ring: Arc<Ring>,
    subjects: Subjects,
}

/// A call with its documents as they came.
struct Taken {
    entry: Entry,
    request: Bytes,
    answer: Bytes,
    fields: Option<Vec<(String, String)>>,
}

/// Data collected of a call that is recorded.
#[derive(Debug)]
pub struct Following {
    method: String,
    path: String,
    body: Arc<Mutex<Vec<u8>>>,
    answer: Bytes,
    /// Header fields, if the call is kept whole.
    fields: Option<Vec<(String, String)>>,
}

/// Header fields that a call which is sent again has, too. What proves who calls is not among them.
const REPLAYED: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    HeaderName::from_static("ucp-agent"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("mcp-protocol-version"),
];

impl Recorder {
    /// Starts a recorder of at most `per_second` calls in each second, which keeps up to `most` bytes of them in a data
    /// directory, or none there. Calls are deleted with their `subjects`.
    ///
    /// # Errors
    /// Its thread cannot be started. If the directory cannot be read or written, calls are kept in memory alone.
    pub fn start(per_second: u32, data_dir: &Path, most: u64, subjects: Subjects) -> io::Result<Self> {
        let (waiting, taken) = sync_channel(WAITING);
        let (live, _) = broadcast::channel(BEHIND);
        let directory = data_dir.join(FOLDER);
        let opened = match most {
            0 => disk::remove(&directory).map(|()| Ring::default()),
            _ => Ring::open(&directory, most),
        };
        let ring = Arc::new(opened.unwrap_or_else(|error| {
            tracing::error!(%error, directory = %directory.display(), "recording calls in memory only");
            Ring::default()
        }));
        let (own, sender) = (Arc::clone(&ring), live.clone());
        std::thread::Builder::new().name("inspector".into()).spawn(move || keep(&own, &taken, &sender))?;
        let (begun, admitted) = (Instant::now(), AtomicU64::new(0));
        Ok(Self { per_second, begun, admitted, skipped: Arc::default(), waiting, live, ring, subjects })
    }

    /// Deletes calls whose subjects are gone, for as long as it runs.
    pub async fn sweep(&self) {
        let mut interval = tokio::time::interval(SWEEP_INTERVAL);
        loop {
            interval.tick().await;
            self.forget(&self.ring.newest(usize::MAX, |_| true)).await;
        }
    }

    /// Returns up to `most` calls that `takes` says `true` to, the newest first, and none whose subject is gone.
    pub(super) async fn newest(&self, most: usize, takes: impl Fn(&Summary) -> bool) -> Vec<Arc<Summary>> {
        loop {
            let calls = self.ring.newest(most, &takes);
            if !self.forget(&calls).await {
                return calls;
            }
        }
    }

    /// Deletes those of `calls` whose subjects are gone. Returns `true` if there are such.
    async fn forget(&self, calls: &[Arc<Summary>]) -> bool {
        let gone = self.subjects.gone(calls).await;
        if gone.is_empty() {
            return false;
        }
        let ring = Arc::clone(&self.ring);
        match tokio::task::spawn_blocking(move || ring.forget(&gone)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::error!(%error, "deleting recorded calls on disk failed; trying again at the next start");
                true
            }
            Err(_) => false,
        }
    }

    /// Returns `true` if a call that begins is to be followed, for [`record`](Self::record); others are [skipped](Self::skip).
    pub fn admits(&self) -> bool {
        let second = self.begun.elapsed().as_secs() << 32;
        let one_more = |admitted: u64| match admitted.checked_sub(second) {
            Some(count) if count >= self.per_second.into() => None,
            Some(_) => Some(admitted + 1),
            None => Some(second + 1),
        };
        self.admitted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Counts a call that has ended without being followed.
    pub fn skip(&self, ended: &Ended<'_>) {
        if is_recorded(ended) {
            self.skipped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the calls that are recorded from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<Summary>> {
        self.live.subscribe()
    }

    /// Returns the last calls.
    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Records a call that has ended, unless it is a page or a document.
    pub fn record(&self, ended: &Ended<'_>, following: Following, spans: &Spans) {
        if !is_recorded(ended) {
            return;
        }
        let Following { method, path, body, answer, fields } = following;
        let mut summary = Summary::of(ended, clock::timestamp().to_string(), method, &path);
        let skipped = self.skipped.swap(0, Ordering::Relaxed);
        summary.skipped = skipped;
        let request = std::mem::take(&mut *body.lock().unwrap_or_else(PoisonError::into_inner)).into();
        let mut taken = Taken { entry: Entry::of(summary, spans), request, answer, fields };
        let (waiting, lost) = (self.waiting.clone(), Arc::clone(&self.skipped));
        let send = move |taken| {
            if waiting.try_send(taken).is_err() {
                lost.fetch_add(skipped + 1, Ordering::Relaxed);
            }
        };
        match subject(ended) {
            Subject::Known(subject) => {
                taken.entry.summary.subject = subject;
                send(taken);
            }
            Subject::Unknown => {
                let subjects = self.subjects.clone();
                // Outside of a runtime, as at its end, there is nobody to ask.
                let Ok(runtime) = Handle::try_current() else { return send(taken) };
                runtime.spawn(async move {
                    let summary = &mut taken.entry.summary;
                    let mut ids = summary.about.clone();
                    ids.extend(id_in_answer(&taken.answer));
                    summary.subject = subjects.first(&summary.shop, ids).await;
                    if let Some(subject) = summary.subject.as_ref().filter(|subject| !summary.about.contains(subject)) {
                        summary.about.push(subject.clone());
                    }
                    send(taken);
                });
            }
        }
    }
}

/// Subject of a call, as far as it is known.
enum Subject {
    Known(Option<String>),
    /// It names something, or its answer was kept of an earlier one: whether that is stored is not known.
    Unknown,
}

/// Returns what a call is about.
fn subject(ended: &Ended<'_>) -> Subject {
    let facts = ended.facts;
    let is_browsing = facts.operation.is_none_or(|operation| operation.row().class == Class::Browsing);
    match &facts.sale {
        _ if is_browsing || ended.are_orders_elsewhere => Subject::Known(None),
        Some(sale) if ended.outcome() == "ok" => Subject::Known(Some(sale.id.clone())),
        None if facts.resource.is_none() && facts.repetition != Some(Repetition::Replayed) => Subject::Known(None),
        _ => Subject::Unknown,
    }
}

/// Returns the identifier of the resource in an answer over REST or MCP.
fn id_in_answer(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let resource = match answer.get("jsonrpc") {
        Some(_) => answer.get("result")?,
        None => &answer,
    };
    let resource = resource.get("structuredContent").unwrap_or(resource);
    let inner = || ["cart", "checkout", "order"].iter().find_map(|name| resource.get(name)?.get("id"));
    resource.get("id").or_else(inner)?.as_str().map(str::to_owned)
}

/// Returns `true` unless a call is about a page or a document.
fn is_recorded(ended: &Ended<'_>) -> bool {
    matches!(ended.facts.transport, Transport::Rest | Transport::Mcp)
}

impl Following {
    /// Begins to follow a call, which is kept whole with `whole`. Its request comes back with a body that is taken along
    /// while it is read.
    pub fn begin(request: Request<Body>, whole: bool) -> (Request<Body>, Self) {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (head, body) = request.into_parts();
        let field = |name: &HeaderName| {
            let value = head.headers.get(name)?.to_str().ok()?;
            Some((name.to_string(), value.to_owned()))
        };
        let following = Self {
            method: head.method.to_string(),
            path: head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned(),
            body: Arc::clone(&kept),
            answer: Bytes::new(),
            fields: whole.then(|| REPLAYED.iter().filter_map(field).collect()),
        };
        (Request::from_parts(head, Body::new(ReadAlong { body, kept })), following)
    }

    /// Takes the body of an answer along, unless it is long or without end.
    pub async fn read(&mut self, response: Response) -> Response {
        if response.body().size_hint().exact().is_none_or(|size| size > MAX_DOCUMENT as u64) {
            return response;
        }
        let (head, body) = response.into_parts();
        // It is in memory already, and reading that cannot fail.
        let bytes = to_bytes(body, MAX_DOCUMENT).await.unwrap_or_default();
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

/// Masks and keeps calls until the recorder is gone. Bodies that are no JSON are left out.
fn keep(ring: &Ring, taken: &Receiver<Taken>, live: &broadcast::Sender<Arc<Summary>>) {
    for Taken { mut entry, request, answer, fields } in taken {
        let mut masking = Masking::default();
        entry.request = serde_json::from_slice(&request).unwrap_or_default();
        masking.request(&mut entry.request);
        entry.answer = serde_json::from_slice(&answer).unwrap_or_default();
        masking.answer(&mut entry.answer);
        entry.mask(&masking);
        // Its maps have text as keys, so that it cannot fail.
        let Ok(json) = serde_json::to_string(&entry) else { continue };
        let summary = entry.summary;
        let whole = fields.and_then(|fields| whole(&summary, &fields, &request, &answer));
        // It fails while nobody listens.
        drop(live.send(ring.add(summary, json, whole)));
    }
}

/// Describes a call as it came, for `replay`. What is no text cannot be kept.
fn whole(summary: &Summary, fields: &[(String, String)], request: &[u8], answer: &[u8]) -> Option<String> {
    let whole = Whole {
        summary,
        fields,
        body: std::str::from_utf8(request).ok()?,
        answered: std::str::from_utf8(answer).ok()?,
    };
    serde_json::to_string(&whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_in_an_answer_is_found_over_rest_and_mcp() {
        for (answer, expected) in [
            (r#"{"ucp":{},"id":"chk_1","line_items":[{"id":"li_1"}],"order":{"id":"ord_1"}}"#, Some("chk_1")),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"id":"chk_1"}}}"#, Some("chk_1")),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"checkout":{"id":"chk_1"}}}}"#, Some("chk_1")),
            (r#"{"jsonrpc":"2.0","id":"7","error":{"code":-32602}}"#, None),
            (r#"{"messages":[]}"#, None),
            ("", None),
        ] {
            assert_eq!(id_in_answer(answer.as_bytes()).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn as_many_calls_of_a_second_are_followed_as_may_be() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut recorder = Recorder::start(2, folder.path(), 0, Subjects::default()).expect("a thread");
        let admitted = |recorder: &Recorder| (0..4).filter(|_| recorder.admits()).count();
        let begun = recorder.begun;
        assert_eq!(admitted(&recorder), 2);
        for seconds in [1, 7] {
            recorder.begun = begun.checked_sub(std::time::Duration::from_secs(seconds)).expect("not long ago");
            assert_eq!(admitted(&recorder), 2, "after {seconds} s");
        }
    }
}
