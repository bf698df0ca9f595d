//! Classification of responses.
//!
//! Upstreams say "no" in different dialects: a GraphQL API reports that it throttles with status 200. An adapter's
//! [`Classifier`] translates, so that everything else here knows one set of [verdicts](Verdict).

use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderMap, header};
use jiff::fmt::rfc2822;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use tower::ServiceExt as _;

use super::{
    Failure, Received, Unreadable, UpstreamRequest,
    failure::{Answered, Unfit},
    policy::{Policy, Sender},
};

/// Classifier of responses, one per kind of upstream.
pub trait Classifier: Send + Sync + 'static {
    /// Classifies one response. Must not block.
    fn classify(&self, received: &Received) -> Verdict;
}

impl<F: Fn(&Received) -> Verdict + Send + Sync + 'static> Classifier for F {
    fn classify(&self, received: &Received) -> Verdict {
        self(received)
    }
}

/// Class of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An answer for the adapter to read, which may be that something does not exist.
    Good,
    /// The upstream limits the rate of the gateway.
    Throttled {
        /// Time for which the upstream asks to be left alone, if it states one.
        pause: Option<Duration>,
    },
    /// A temporary failure: an immediate retry may succeed.
    Transient {
        /// Time for which the upstream asks to be left alone, if it states one.
        pause: Option<Duration>,
    },
    /// A failure that an immediate retry does not mend.
    Faulty,
    /// The upstream treats the gateway as an intruder, or the buyer that the
    /// [request names](UpstreamRequest::for_buyer). Further calls make it worse: the circuit opens for the gateway, and
    /// the adapter makes no calls for the buyer.
    Rejected {
        /// Minimum time for which the circuit is open, or no calls are made for the buyer.
        shut: Duration,
    },
    /// A refusal that only the operator can mend: credentials, a frozen shop, a wrong address. The circuit opens.
    Misconfigured {
        /// Minimum time for which the circuit is open.
        shut: Duration,
    },
    /// The response cannot be read.
    Unreadable(Unreadable),
}

/// Classifies by status alone, for a [`Classifier`] to start with: 429 is throttling, 502 to 504 are transient, other
/// statuses from 500 on are faults, and all below are answers.
pub fn by_status(received: &Received) -> Verdict {
    match received.status.as_u16() {
        429 => Verdict::Throttled { pause: retry_after(&received.headers) },
        502..=504 => Verdict::Transient { pause: retry_after(&received.headers) },
        200..500 => Verdict::Good,
        _ => Verdict::Faulty,
    }
}

/// Classifies [by status](by_status); an answer must also be one well-formed JSON document, whatever its media type is.
/// HTML pages and truncated documents are unreadable. An empty body is accepted with status 204 only.
pub fn json(received: &Received) -> Verdict {
    match by_status(received) {
        Verdict::Good if received.status.as_u16() == 204 && received.body.is_empty() => Verdict::Good,
        Verdict::Good if serde_json::from_slice::<IgnoredAny>(&received.body).is_err() => {
            Verdict::Unreadable(Unreadable::NotJson)
        }
        verdict => verdict,
    }
}

/// A JSON value that is validated and dropped: strings are Unicode, numbers are in range, and the depth is limited.
/// [`IgnoredAny`] checks none of these.
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

    ucp_core::skip_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// Returns the time that `Retry-After` states (RFC 9110 section 10.2.3). A date is relative to the `Date` of the same
/// response, so that clock skew does not matter; without `Date` it is ignored.
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

/// Layer that turns responses which are not answers into failures.
#[derive(Clone)]
pub(super) struct Classify(pub(super) Arc<dyn Classifier>);

impl Policy for Classify {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let for_buyer = upstream_request.for_buyer;
        let received = inner.oneshot(upstream_request).await?;
        let (unfit, pause) = match self.0.classify(&received) {
            Verdict::Good => return Ok(received),
            Verdict::Unreadable(unreadable) => return Err(Failure::Unreadable(unreadable)),
            Verdict::Throttled { pause } => (Unfit::Throttled, pause),
            Verdict::Transient { pause } => (Unfit::Transient, pause),
            Verdict::Faulty => (Unfit::Faulty, None),
            Verdict::Rejected { shut } if for_buyer => (Unfit::BuyerRejected, Some(shut)),
            Verdict::Rejected { shut } => (Unfit::Rejected, Some(shut)),
            Verdict::Misconfigured { shut } => (Unfit::Misconfigured, Some(shut)),
        };
        Err(Failure::Answered(Box::new(Answered { unfit, pause, received })))
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
