//! Why an upstream did not answer.

use std::time::Duration;

use ucp_core::port::PortError;

use super::upstream_request::{Received, Unreadable};

/// After how many seconds a caller may try again when nothing more is known.
const RETRY_AFTER: u32 = 1;

/// The longest wait that a refusal states, in seconds: what an upstream says is not believed for longer.
const LONGEST_RETRY_AFTER: u32 = 3_600;

/// Why there is no answer that an adapter could use. The texts are for the log; callers are told by [`PortError`].
///
/// One failure may be shared by everybody who waited for the same read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be sent at all: a fault of the adapter. The text completes "the request …".
    #[error("the request {0}")]
    Unsendable(&'static str),
    /// As many calls are under way as may be.
    #[error("too many calls to the upstream are under way")]
    Saturated,
    /// More calls begin than the upstream is to get.
    #[error("calls to the upstream are limited; the next may begin in {wait:?}")]
    Limited {
        /// When the next call may begin.
        wait: Duration,
    },
    /// The upstream failed so often lately, or rejected the gateway in such a way, that it is left alone.
    #[error("the upstream is left alone for {wait:?}")]
    Open {
        /// When it will be tried again.
        wait: Duration,
    },
    /// The caller's time was up, sooner than the upstream can be blamed for.
    #[error("the time for the call was up")]
    Expired {
        /// Whether anything of the request was sent.
        sent: bool,
    },
    /// No connection came about.
    #[error("no connection to the upstream could be made")]
    Connect,
    /// The upstream has no certificate that is trusted for its host, or does not speak TLS.
    #[error("the upstream has no trusted certificate, or does not speak TLS")]
    Tls,
    /// The answer did not begin in time.
    #[error("the upstream did not answer in time")]
    Timeout {
        /// Whether anything of the request was sent.
        sent: bool,
    },
    /// The answer began, and did not come to an end in time.
    #[error("the upstream's answer came too slowly")]
    TooSlow,
    /// The connection broke off, or what came over it is no HTTP.
    #[error("the upstream did not send a whole HTTP response")]
    Broken {
        /// Whether anything of the request was sent.
        sent: bool,
    },
    /// The answer is larger than is read.
    #[error("the upstream's answer is larger than {limit} bytes")]
    TooLarge {
        /// How many bytes are read.
        limit: usize,
    },
    /// The upstream points elsewhere, where nobody goes.
    #[error("the upstream answered with a redirect ({0}), which is not followed")]
    Redirect(u16),
    /// The answer cannot be read.
    #[error("the upstream's answer {0}")]
    Unreadable(Unreadable),
    /// The upstream answered that it will not, or cannot.
    #[error("the upstream answered with status {}: {}", .0.received.status.as_u16(), .0.unfit)]
    Answered(Box<Answered>),
    /// The read that several callers shared came to no end: it panicked, or the process is shutting down.
    #[error("a shared read came to no end")]
    Abandoned,
}

/// What is the matter with an answer that could be read.
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
    /// [`Verdict::Misconfigured`](super::Verdict::Misconfigured).
    #[error("it does not let the gateway in as it is configured")]
    Misconfigured,
}

/// An answer that is no use.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What is the matter.
    pub unfit: Unfit,
    /// For how long the upstream wants to be left alone, as far as it says.
    pub pause: Option<Duration>,
    /// The answer itself.
    pub received: Received,
}

/// How far a request came that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing of it left the gateway: the upstream did nothing.
    Never,
    /// The upstream may have carried it out.
    Perhaps,
    /// The upstream answered. Errors are no proof that nothing happened: some upstreams carry out half of it.
    Answered,
}

/// Whom a failure speaks against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// The upstream.
    Upstream,
    /// Nobody, or the gateway.
    Nobody,
}

impl Failure {
    /// How far the request came.
    #[must_use]
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

    /// Whether it is certain that the upstream did nothing, so that the same call may be made anew.
    #[must_use]
    pub fn never_sent(&self) -> bool {
        self.reach() == Reach::Never
    }

    /// After which time it makes sense to try again, as far as anybody said.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        match self {
            Self::Limited { wait } | Self::Open { wait } => Some(*wait),
            Self::Answered(answered) => answered.pause,
            _ => None,
        }
    }

    /// Whether the same read may well succeed right away.
    pub(super) fn passing(&self) -> bool {
        match self {
            Self::Connect | Self::Timeout { .. } | Self::Broken { .. } => true,
            Self::Answered(answered) => matches!(answered.unfit, Unfit::Throttled | Unfit::Transient),
            _ => false,
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

/// As callers of the gateway are told. What the upstream said stays in the log.
impl From<Failure> for PortError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unsendable(_) | Failure::Abandoned => Self::internal().because(failure),
            _ => {
                let content = match failure.reach() {
                    Reach::Never => {
                        "The shop cannot be asked at the moment. Nothing was done; the same call may succeed later."
                    }
                    Reach::Perhaps => {
                        "The shop did not answer in time, so that it is not known whether it carried the call out. Repeat \
                         it with the same idempotency key, if it has one."
                    }
                    Reach::Answered => "The shop gave no usable answer. The same call may succeed later.",
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

/// A wait as `Retry-After` states it: in whole seconds, at least one.
fn seconds(pause: Option<Duration>) -> u32 {
    let Some(pause) = pause else { return RETRY_AFTER };
    let seconds = pause.as_secs().saturating_add(u64::from(pause.subsec_nanos() > 0));
    u32::try_from(seconds).unwrap_or(u32::MAX).clamp(RETRY_AFTER, LONGEST_RETRY_AFTER)
}
