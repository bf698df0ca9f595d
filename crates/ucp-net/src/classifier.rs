//! What an answer means.
//!
//! Upstreams say "no" in different dialects: a GraphQL API reports that it throttles with status 200. An adapter's
//! [`Classifier`] translates, so that everything else here knows one set of [verdicts](Verdict).

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::{HeaderMap, header};
use jiff::fmt::rfc2822;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use tower::{Layer, Service};

use super::{
    Failure, Received, Unreadable, UpstreamRequest,
    failure::{Answered, Unfit},
};

/// Tells what an answer means.
pub trait Classifier: Send + Sync + 'static {
    /// Judges one answer. It must not block.
    fn classify(&self, received: &Received) -> Verdict;
}

impl<F: Fn(&Received) -> Verdict + Send + Sync + 'static> Classifier for F {
    fn classify(&self, received: &Received) -> Verdict {
        self(received)
    }
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The upstream did its work. The adapter reads what came out, which may be that something does not exist.
    Good,
    /// It was asked too much.
    Throttled {
        /// How long it wants to be left alone.
        pause: Option<Duration>,
    },
    /// It cannot at the moment, and may right away.
    Transient {
        /// How long it wants to be left alone.
        pause: Option<Duration>,
    },
    /// It failed; asking again at once does not help.
    Faulty,
    /// It takes the gateway for an intruder. Every further call makes it worse, so that it is left alone.
    Rejected {
        /// For how long.
        shut: Duration,
    },
    /// It refuses in a way that only the operator can change: credentials, a frozen shop, a wrong address. It is left
    /// alone.
    Misconfigured {
        /// For how long.
        shut: Duration,
    },
    /// The answer cannot be read.
    Unreadable(Unreadable),
}

/// What the status alone says, for a [`Classifier`] to begin with: 429 throttles; 502, 503 and 504 pass; other statuses
/// of the server's are faults, and all others are answers.
#[must_use]
pub fn by_status(received: &Received) -> Verdict {
    match received.status.as_u16() {
        429 => Verdict::Throttled { pause: retry_after(&received.headers) },
        502..=504 => Verdict::Transient { pause: retry_after(&received.headers) },
        200..500 => Verdict::Good,
        _ => Verdict::Faulty,
    }
}

/// [`by_status`], and an answer is one well-formed JSON document, whatever its media type says: pages that stand in for
/// documents, and documents that were cut off, are none. An empty body is well-formed with status 204 alone.
#[must_use]
pub fn json(received: &Received) -> Verdict {
    match by_status(received) {
        Verdict::Good if received.status.as_u16() == 204 && received.body.is_empty() => Verdict::Good,
        Verdict::Good if serde_json::from_slice::<IgnoredAny>(&received.body).is_err() => {
            Verdict::Unreadable(Unreadable::NotJson)
        }
        verdict => verdict,
    }
}

/// A JSON value that nobody keeps, looked at as closely as if somebody did: texts are Unicode, numbers are in range,
/// and it is no deeper than is read. [`IgnoredAny`] sees to none of these.
#[derive(Debug)]
pub struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Sound)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// How long `Retry-After` asks to wait (RFC 9110 section 10.2.3). A date counts from the `Date` of the same response,
/// so that two clocks that differ do no harm; without one it says nothing.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let stated = text(header::RETRY_AFTER)?;
    if !stated.is_empty() && stated.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(stated.parse().unwrap_or(u64::MAX)));
    }
    let instant = |text: &str| rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    let wait = instant(stated)?.duration_since(instant(text(header::DATE)?)?);
    Some(wait.try_into().unwrap_or(Duration::ZERO))
}

/// Turns answers that are none into failures.
#[derive(Clone)]
pub(super) struct Classify(pub(super) Arc<dyn Classifier>);

impl<S> Layer<S> for Classify {
    type Service = ClassifyService<S>;

    fn layer(&self, inner: S) -> ClassifyService<S> {
        ClassifyService { inner, classifier: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(super) struct ClassifyService<S> {
    inner: S,
    classifier: Arc<dyn Classifier>,
}

impl<S> Service<UpstreamRequest> for ClassifyService<S>
where
    S: Service<UpstreamRequest, Response = Received, Error = Failure>,
    S::Future: Send + 'static,
{
    type Response = Received;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Received, Failure>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, upstream_request: UpstreamRequest) -> Self::Future {
        let (answer, classifier) = (self.inner.call(upstream_request), Arc::clone(&self.classifier));
        Box::pin(async move {
            let received = answer.await?;
            let (unfit, pause) = match classifier.classify(&received) {
                Verdict::Good => return Ok(received),
                Verdict::Unreadable(unreadable) => return Err(Failure::Unreadable(unreadable)),
                Verdict::Throttled { pause } => (Unfit::Throttled, pause),
                Verdict::Transient { pause } => (Unfit::Transient, pause),
                Verdict::Faulty => (Unfit::Faulty, None),
                Verdict::Rejected { shut } => (Unfit::Rejected, Some(shut)),
                Verdict::Misconfigured { shut } => (Unfit::Misconfigured, Some(shut)),
            };
            Err(Failure::Answered(Box::new(Answered { unfit, pause, received })))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_sound_that_can_be_kept() {
        let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for text in ["null", "[true,-1,1,0.5,1e3]", r#"{"a\u00e9\ud83d\ude00":[{}]}"#, &deep(100)] {
            assert!(serde_json::from_str::<Sound>(text).is_ok(), "{text}");
        }
        for text in [r#""\ud800""#, r#"{"\ud800":1}"#, "1e999", &deep(1_000), "[1,]", "", "{}{}", "\"\u{1}\""] {
            assert!(serde_json::from_str::<Sound>(text).is_err(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_slice::<Sound>(b"\"\xff\"").is_err());
    }
}
