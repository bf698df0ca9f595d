//! A call as a document.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ucp_host::ended::Ended;
use ucp_record::{RequestSpan, Spans};

use super::mask::{Masking, masked_path};

/// A call, as lists of calls show it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Summary {
    /// Time at which it ended, in RFC 3339.
    pub(super) at: String,
    /// Identifier of the request.
    pub(super) id: String,
    pub(super) shop: String,
    transport: Cow<'static, str>,
    method: String,
    /// Path and query of the request.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation: Option<Cow<'static, str>>,
    /// Name of the platform, if it is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) platform: Option<String>,
    /// Profile URL of the platform, once it was identified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
    /// Origin of the bot that signed the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// `ok`, the code of the refusal, or another outcome, as in the metrics.
    pub(super) outcome: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    pub(super) ms: f64,
    bytes_in: usize,
    bytes_out: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency: Option<Cow<'static, str>>,
    /// Identifiers of the cart, checkout and order in the answer, and of the one that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) about: Vec<String>,
    /// Identifier of the cart, checkout or order with whose personal data it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<String>,
    /// Number of calls before it that were not recorded, because there were too many at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) skipped: u64,
    /// Number in the ring of this process.
    #[serde(skip)]
    pub(super) number: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A call as it came.
#[derive(Debug, Serialize)]
pub(super) struct Whole<'a> {
    #[serde(flatten)]
    pub(super) summary: &'a Summary,
    /// Header fields of the request.
    pub(super) fields: &'a [(String, String)],
    /// Body of the request.
    pub(super) body: &'a str,
    /// Body of the answer.
    pub(super) answered: &'a str,
}

/// A call as a whole.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub(super) summary: Summary,
    /// Events on its way, in the order in which they began.
    way: Vec<Happened>,
    /// Number of further stages, requests and events, which were not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u32>,
    /// Body of the request, masked.
    pub(super) request: Value,
    /// Body of the answer, masked.
    pub(super) answer: Value,
}

/// Something that happened on the way of a call.
#[derive(Clone, Debug, Serialize)]
struct Happened {
    /// `stage`, `request` to another server, or the name of an event.
    kind: &'static str,
    /// Milliseconds since the call began.
    after: f64,
    /// Duration in milliseconds, if it took time.
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    detail: String,
}

fn milliseconds(time: Duration) -> f64 {
    // Tens of nanoseconds are noise.
    (time.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

impl Summary {
    /// Describes a call that has ended.
    pub(super) fn of(ended: &Ended<'_>, at: String, method: String, path: &str) -> Self {
        let facts = ended.facts;
        let about = facts.sale.iter().flat_map(|sale| std::iter::once(&sale.id).chain(&sale.order_id));
        let mut about: Vec<_> = about.cloned().collect();
        if let Some(asked) = facts.resource.as_ref().filter(|asked| !about.contains(asked)) {
            about.push(asked.clone());
        }
        Self {
            at,
            id: facts.request_id.clone(),
            shop: ended.shop.to_owned(),
            transport: facts.transport.as_str().into(),
            method,
            path: masked_path(path),
            release: facts.release.map(|release| release.date().into()),
            operation: facts.operation.map(|operation| operation.row().name.into()),
            platform: ended.platform.map(str::to_owned),
            profile: facts.profile.clone(),
            agent: facts.agent.clone(),
            outcome: ended.outcome().into(),
            status: ended.status,
            ms: milliseconds(ended.spent.iter().sum()),
            bytes_in: facts.bytes_in,
            bytes_out: ended.bytes_out,
            cache: facts.cached.map(|cached| cached.as_str().into()),
            idempotency: facts.repetition.map(|repetition| repetition.as_str().into()),
            about,
            subject: None,
            skipped: 0,
            number: 0,
        }
    }
}

impl Entry {
    /// Describes a call that has ended, with what happened on its way, but without its documents.
    pub(super) fn of(summary: Summary, spans: &Spans) -> Self {
        let begun = spans.stages.first().map(|stage| stage.begun);
        let after = |at: Instant| milliseconds(at.saturating_duration_since(begun.unwrap_or(at)));
        let lasting = |begun: Instant, ended: Instant| Some(milliseconds(ended.saturating_duration_since(begun)));
        let stages = spans.stages.iter().map(|stage| Happened {
            kind: "stage",
            after: after(stage.begun),
            ms: lasting(stage.begun, stage.ended),
            detail: stage.stage.as_str().to_owned(),
        });
        let requests = spans.requests.iter().map(|request| Happened {
            kind: "request",
            after: after(request.begun),
            ms: lasting(request.begun, request.ended),
            detail: described(request),
        });
        let notes = spans.notes.iter().map(|note| Happened {
            kind: note.kind,
            after: after(note.at),
            ms: None,
            detail: note.detail.clone(),
        });
        let mut way: Vec<_> = stages.chain(requests).chain(notes).collect();
        way.sort_by(|one, other| one.after.total_cmp(&other.after));
        let omitted = (spans.omitted > 0).then_some(spans.omitted);
        Self { summary, way, omitted, request: Value::Null, answer: Value::Null }
    }

    /// Masks what happened on the way, which may repeat values of the request.
    pub(super) fn mask(&mut self, masking: &Masking) {
        self.way.iter_mut().for_each(|happened| happened.detail = masking.said(&happened.detail));
    }
}

/// Describes a request to another server.
fn described(request: &RequestSpan) -> String {
    let RequestSpan { method, host, .. } = request;
    let port = request.port.map_or_else(String::new, |port| format!(":{port}"));
    let result = match request.result {
        Some(Ok(status)) => status.to_string(),
        Some(Err(kind)) => kind.to_owned(),
        None => "given up".to_owned(),
    };
    format!("{method} {host}{port}: {result}")
}
