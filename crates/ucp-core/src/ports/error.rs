//! Error of the ports that provide or store facts.

use std::{borrow::Cow, error::Error, fmt};

use crate::{Cause, Refusal};

/// Failure of a port that provides or stores facts.
///
/// `Refusal::from` is the one place that turns it into a refusal for the caller. The cause goes with the refusal and is
/// logged where the call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortError {
    /// The backend of the port cannot answer at the moment.
    Unavailable {
        /// Description for callers, one sentence.
        content: Cow<'static, str>,
        /// Seconds until a retry makes sense, at least 1.
        retry_after: u32,
        /// Cause, for the log.
        cause: Cause,
    },
    /// The port itself failed: its data are damaged, or its code has a bug.
    Internal {
        /// Cause, for the log.
        cause: Cause,
    },
    /// The request cannot be answered as it stands: for instance an unknown cursor, or a cart that the shop rejects.
    Refused(Box<Refusal>),
}

impl PortError {
    /// Creates an error that may be gone after `retry_after` seconds.
    pub fn unavailable(content: impl Into<Cow<'static, str>>, retry_after: u32) -> Self {
        Self::Unavailable { content: content.into(), retry_after, cause: Cause::default() }
    }

    /// Creates an error that no retry resolves.
    pub fn internal() -> Self {
        Self::Internal { cause: Cause::default() }
    }

    /// Creates an error for stored data that cannot be read, now or later.
    pub fn damaged() -> Self {
        Refusal::damaged().into()
    }

    /// Returns the same error with its cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match &mut self {
            Self::Unavailable { cause: place, .. } | Self::Internal { cause: place } => {
                *place = Cause::from(cause.into());
            }
            Self::Refused(refusal) => refusal.cause = Cause::from(cause.into()),
        }
        self
    }
}

impl From<Refusal> for PortError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<PortError> for Refusal {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Unavailable { content, retry_after, cause } => {
                Self { cause, ..Self::unavailable(content, retry_after) }
            }
            PortError::Internal { cause } => Self { cause, ..Self::internal() },
            PortError::Refused(refusal) => *refusal,
        }
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { content, .. } => f.write_str(content),
            Self::Internal { .. } => f.write_str("The port failed."),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl Error for PortError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable { cause, .. } | Self::Internal { cause } => cause.source(),
            Self::Refused(refusal) => refusal.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn a_refusal_tells_the_caller_what_the_port_said_and_the_log_its_cause() {
        let told = |error: PortError| {
            let refusal = Refusal::from(error);
            (refusal.code, refusal.content.clone(), refusal.retry_after, refusal.source().map(ToString::to_string))
        };
        let cause = || Some("the disk is full".to_owned());
        assert_eq!(
            told(PortError::unavailable("Later.", 5).because("the disk is full")),
            (Code::Unavailable, "Later.".into(), Some(5), cause())
        );
        let internal = told(PortError::internal().because("the disk is full"));
        assert_eq!((internal.0, internal.3), (Code::InternalError, cause()));
        let refused = told(PortError::from(Refusal::invalid("$.id", "No.")).because("the disk is full"));
        assert_eq!((refused.0, refused.1.as_str(), refused.3), (Code::InvalidRequest, "No.", cause()));
    }
}
