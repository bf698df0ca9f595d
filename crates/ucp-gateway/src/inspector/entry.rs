//! A recorded call as a document.

use std::{fmt::Write as _, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ucp_core::record::{Event, Stage};

use crate::metrics::Ended;

/// A recorded call: a line of the ring, and what `explain` and the page show.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Time at which it ended.
    pub(crate) at: String,
    /// Identifier of the request.
    pub(crate) id: String,
    pub(crate) transport: String,
    pub(crate) method: String,
    /// Path and query of the request.
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<String>,
    /// Name of the platform, if it is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<String>,
    /// Profile URL of the platform, once it was identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<String>,
    /// `ok`, the code of the refusal, or another outcome, as in the metrics.
    pub(crate) outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    pub(crate) bytes_in: usize,
    pub(crate) bytes_out: u64,
    /// Milliseconds in total and by stage.
    pub(crate) ms: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency: Option<String>,
    /// Identifiers of the cart, checkout and order in the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) about: Vec<String>,
    /// What happened on the way.
    pub(crate) events: Vec<Happened>,
    /// `true` if nothing in it is masked.
    #[serde(default)]
    pub(crate) whole: bool,
    /// Number of calls since the previous record that were not recorded.
    #[serde(default)]
    pub(crate) skipped: u64,
    /// Headers that a repetition needs; only of calls that are recorded whole.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) headers: Map<String, Value>,
    #[serde(default)]
    pub(crate) request: Value,
    #[serde(default)]
    pub(crate) answer: Value,
}

/// Something that happened on the way of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Happened {
    pub(crate) after_ms: f64,
    pub(crate) kind: String,
    pub(crate) detail: String,
}

fn milliseconds(time: Duration) -> f64 {
    // Tens of nanoseconds are noise.
    (time.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

impl Entry {
    /// Describes a call that has ended, without its documents.
    pub(crate) fn of(ended: &Ended<'_>, at: String, method: &str, path: &str, events: Vec<Event>) -> Self {
        let facts = ended.facts;
        let text = |text: &str| Some(text.to_owned());
        let stages = Stage::ALL.iter().zip(ended.spent).filter(|(_, spent)| !spent.is_zero());
        let total = std::iter::once(("total".to_owned(), milliseconds(ended.spent.iter().sum()).into()));
        let ms = total.chain(stages.map(|(stage, spent)| (stage.as_str().to_owned(), milliseconds(spent).into())));
        let about = facts.sale.iter().flat_map(|sale| std::iter::once(&sale.id).chain(&sale.order_id).cloned());
        Self {
            at,
            id: facts.request_id.clone(),
            transport: facts.transport.as_str().to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            release: facts.release.and_then(|release| text(release.date())),
            operation: facts.operation.and_then(|operation| text(operation.row().name)),
            platform: ended.platform.and_then(text),
            profile: facts.profile.clone(),
            outcome: ended.outcome().to_owned(),
            status: ended.status,
            bytes_in: facts.bytes_in,
            bytes_out: ended.bytes_out,
            ms: ms.collect(),
            cache: facts.cached.and_then(|cached| text(cached.as_str())),
            idempotency: facts.repetition.and_then(|repetition| text(repetition.as_str())),
            about: about.collect(),
            events: events
                .into_iter()
                .map(|event| Happened {
                    after_ms: milliseconds(event.after),
                    kind: event.kind.to_owned(),
                    detail: event.detail,
                })
                .collect(),
            whole: false,
            skipped: 0,
            headers: Map::new(),
            request: Value::Null,
            answer: Value::Null,
        }
    }

    /// Returns `true` if an operation was called, as opposed to a page or a document.
    pub(crate) fn is_call(&self) -> bool {
        self.operation.is_some() || matches!(self.transport.as_str(), "rest" | "mcp")
    }

    /// Returns the call in one line.
    pub(crate) fn line(&self) -> String {
        let time = self.at.get(11..23).unwrap_or(&self.at);
        let total = self.ms.get("total").and_then(Value::as_f64).unwrap_or_default();
        let status = self.status.map_or_else(|| "---".to_owned(), |status| status.to_string());
        let who = self.platform.as_deref().or(self.profile.as_deref()).unwrap_or("-");
        let mut line = format!(
            "{time}  {:<4}  {status}  {:<18}  {:<20}  {total:>8.1} ms  {:>6} B  {}  {who}",
            self.transport,
            self.operation.as_deref().unwrap_or(&self.path),
            self.outcome,
            self.bytes_out,
            self.id,
        );
        if self.skipped > 0 {
            let _ = write!(line, "  ({} before it not recorded)", self.skipped);
        }
        line
    }

    /// Returns the call as a text for people.
    pub(crate) fn explained(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(text, "{name:<12} {value}");
            }
        };
        let optional = |value: &Option<String>| value.clone().unwrap_or_default();
        row("request", &self.id);
        row("at", &self.at);
        row("call", &format!("{} {} ({})", self.method, self.path, self.transport));
        row("operation", &optional(&self.operation));
        row("release", &optional(&self.release));
        let profile = optional(&self.profile);
        let who = self.platform.as_ref().map(|name| format!("{name}, {profile}"));
        row("platform", &who.unwrap_or(profile));
        let status = self.status.map_or_else(|| "no answer: the caller hung up".to_owned(), |status| status.to_string());
        row("outcome", &format!("{} ({status})", self.outcome));
        row("cache", &optional(&self.cache));
        row("idempotency", &optional(&self.idempotency));
        row("about", &self.about.join(", "));
        row("bytes", &format!("{} in, {} out", self.bytes_in, self.bytes_out));
        let times: Vec<_> = self.ms.iter().map(|(name, time)| format!("{name} {time}")).collect();
        row("ms", &times.join(", "));
        for Happened { after_ms, kind, detail } in &self.events {
            row(&format!("+{after_ms:.1} ms"), &format!("{kind}: {detail}"));
        }
        for (name, document) in [("request", &self.request), ("answer", &self.answer)] {
            if !document.is_null() {
                let masked = if self.whole { "" } else { ", masked" };
                let _ = write!(text, "\n{name}{masked}:\n{document:#}\n");
            }
        }
        text
    }
}
