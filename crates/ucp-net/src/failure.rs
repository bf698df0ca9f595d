//! Failures of calls to an upstream.

use std::time::Duration;

use ucp_core::ports::PortError;

use super::upstream_request::{Received, Unreadable};

/// Seconds after which a caller may retry when the upstream states no time.
const RETRY_AFTER: u32 = 1;

/// Maximum retry time that callers are told, in seconds, whatever the upstream states.
const LONGEST_RETRY_AFTER: u32 = 3_600;

/// Failure of a call. The texts are for the log; callers of the gateway get a [`PortError`].
///
/// All callers that waited for the same read share one failure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be sent: a bug of the adapter. The text completes "the request …".
    #[error("the request {0}")]
    Unsendable(&'static str),
    /// The limit of concurrent calls is reached.
    #[error("the limit of concurrent requests to the upstream is reached")]
    Saturated,
    /// The rate limit of the upstream is reached.
    #[error("the rate limit of the upstream is reached; the next request may start in {wait:?}")]
    Limited {
        /// Time until the next call may begin.
        wait: Duration,
    },
    /// The circuit breaker is open: the upstream failed too often, or rejected the gateway.
    #[error("the circuit breaker of the upstream is open for {wait:?}")]
    Open {
        /// Time until the next attempt.
        wait: Duration,
    },
    /// The deadline of the caller passed before the timeout of the upstream.
    #[error("the deadline of the request passed")]
    Expired {
        /// `true` if a byte of the request was sent.
        sent: bool,
    },
    /// The connection could not be established.
    #[error("could not connect to the upstream")]
    Connect,
    /// The certificate of the upstream is not trusted for its host, or the upstream does not speak TLS.
    #[error("the upstream has no trusted certificate, or does not speak TLS")]
    Tls,
    /// The response did not begin in time.
    #[error("the upstream did not respond in time")]
    Timeout {
        /// `true` if a byte of the request was sent.
        sent: bool,
    },
    /// The response began and did not end in time.
    #[error("the response of the upstream did not end in time")]
    TooSlow,
    /// The connection broke, or the response is not HTTP.
    #[error("the upstream did not send a whole HTTP response")]
    Broken {
        /// `true` if a byte of the request was sent.
        sent: bool,
    },
    /// The response exceeds the size limit, or holds far more values than a text of that size usually does.
    #[error("the upstream's answer is larger than {limit} bytes, or takes many times that in memory")]
    TooLarge {
        /// Size limit in bytes.
        limit: usize,
    },
    /// The upstream redirects; redirects are not followed.
    #[error("the upstream answered with a redirect ({0}), which is not followed")]
    Redirect(u16),
    /// The response cannot be read.
    #[error("the upstream's answer {0}")]
    Unreadable(Unreadable),
    /// The upstream answered with a failure.
    #[error("the upstream answered with status {}: {}", .0.received.status.as_u16(), .0.unfit)]
    Answered(Box<Answered>),
    /// The task of a shared read ended without a result: it panicked, or the process is shutting down.
    #[error("a shared read came to no end")]
    Abandoned,
}

/// Reason why a readable response is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// [`Verdict::Throttled`](super::Verdict::Throttled).
    #[error("it was asked too much")]
    Throttled,
    /// [`Verdict::Transient`](super::Verdict::Transient).
    #[error("it cannot at the moment")]
    Transient,
    /// [`Verdict::Faulty`](super::Verdict::Faulty).
    #[error("it failed")]
    Faulty,
    /// [`Verdict::Rejected`](super::Verdict::Rejected).
    #[error("it takes the gateway for an intruder")]
    Rejected,
    /// [`Verdict::Rejected`](super::Verdict::Rejected) of a request that names a buyer.
    #[error("it takes the buyer for an intruder")]
    BuyerRejected,
    /// [`Verdict::Misconfigured`](super::Verdict::Misconfigured).
    #[error("it does not let the gateway in as it is configured")]
    Misconfigured,
}

/// A response that is a failure.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Reason of the failure.
    pub unfit: Unfit,
    /// Time for which the upstream asks to be left alone, if it states one.
    pub pause: Option<Duration>,
    /// The response.
    pub received: Received,
}

/// Progress of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing was sent: the upstream did nothing.
    Never,
    /// The upstream may have carried it out.
    Perhaps,
    /// The upstream answered. An error does not prove that nothing happened: some upstreams apply changes in part.
    Answered,
}

/// Party that a failure counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// The upstream.
    Upstream,
    /// The caller or the gateway.
    Nobody,
}

impl Failure {
    /// Returns the kind of failure, as spans name it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unsendable(_) => "unsendable",
            Self::Saturated => "saturated",
            Self::Limited { .. } => "limited",
            Self::Open { .. } => "circuit_open",
            Self::Expired { .. } => "expired",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout { .. } => "timeout",
            Self::TooSlow => "too_slow",
            Self::Broken { .. } => "broken",
            Self::TooLarge { .. } => "too_large",
            Self::Redirect(_) => "redirect",
            Self::Unreadable(_) => "unreadable",
            Self::Answered(_) => "status",
            Self::Abandoned => "abandoned",
        }
    }

    /// Returns the progress of the request.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Expired { sent } | Self::Timeout { sent } | Self::Broken { sent } if *sent => Reach::Perhaps,
            Self::Unsendable(_)
            | Self::Saturated
            | Self::Limited { .. }
            | Self::Open { .. }
            | Self::Expired { .. }
            | Self::Timeout { .. }
            | Self::Broken { .. }
            | Self::Connect
            | Self::Tls => Reach::Never,
            Self::Abandoned => Reach::Perhaps,
            Self::TooSlow | Self::TooLarge { .. } | Self::Redirect(_) | Self::Unreadable(_) | Self::Answered(_) => {
                Reach::Answered
            }
        }
    }

    /// Returns `true` if the upstream certainly did nothing, so that the call may be repeated.
    pub fn never_sent(&self) -> bool {
        self.reach() == Reach::Never
    }

    /// Returns the time after which a retry makes sense, if it is known.
    pub fn pause(&self) -> Option<Duration> {
        match self {
            Self::Limited { wait } | Self::Open { wait } => Some(*wait),
            Self::Answered(answered) => answered.pause,
            _ => None,
        }
    }

    /// Returns `true` if an immediate retry of the same read may succeed.
    pub(super) fn passing(&self) -> bool {
        match self {
            Self::Connect | Self::Timeout { .. } | Self::Broken { .. } => true,
            Self::Answered(answered) => matches!(answered.unfit, Unfit::Throttled | Unfit::Transient),
            _ => false,
        }
    }

    /// Returns `true` if the upstream is down or busy, so that the same call may succeed later without a change of the
    /// configuration.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Saturated | Self::Limited { .. } | Self::Open { .. } | Self::Expired { .. } | Self::TooSlow => true,
            Self::Answered(answered) => {
                matches!(answered.unfit, Unfit::Throttled | Unfit::Transient | Unfit::Faulty)
            }
            other => other.passing(),
        }
    }

    pub(super) fn blame(&self) -> Blame {
        match self {
            Self::Unsendable(_)
            | Self::Saturated
            | Self::Limited { .. }
            | Self::Open { .. }
            | Self::Expired { .. }
            | Self::Abandoned => Blame::Nobody,
            Self::Answered(answered) if answered.unfit == Unfit::BuyerRejected => Blame::Nobody,
            Self::Connect
            | Self::Tls
            | Self::Timeout { .. }
            | Self::TooSlow
            | Self::Broken { .. }
            | Self::TooLarge { .. }
            | Self::Redirect(_)
            | Self::Unreadable(_)
            | Self::Answered(_) => Blame::Upstream,
        }
    }
}

impl From<Unreadable> for Failure {
    fn from(why: Unreadable) -> Self {
        Self::Unreadable(why)
    }
}

/// Error for callers of the gateway. The text of the upstream stays in the log.
impl From<Failure> for PortError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unsendable(_) | Failure::Abandoned => Self::internal().because(failure),
            _ => {
                let content = match failure.reach() {
                    Reach::Never => "The shop is temporarily unavailable. Nothing was done; retry later.",
                    Reach::Perhaps => {
                        "The shop did not answer in time, so that it is not known whether it carried the call out. Repeat \
                         it with the same idempotency key, if it has one."
                    }
                    Reach::Answered => "The shop returned an invalid response. Retry later.",
                };
                Self::unavailable(content, seconds(failure.pause())).because(failure)
            }
        }
    }
}

impl From<&Failure> for PortError {
    fn from(failure: &Failure) -> Self {
        failure.clone().into()
    }
}

/// Returns a time in whole seconds, rounded up, at least 1, as `Retry-After` states it.
fn seconds(pause: Option<Duration>) -> u32 {
    let Some(pause) = pause else { return RETRY_AFTER };
    let seconds = pause.as_secs().saturating_add(u64::from(pause.subsec_nanos() > 0));
    u32::try_from(seconds).unwrap_or(u32::MAX).clamp(RETRY_AFTER, LONGEST_RETRY_AFTER)
}
