//! Refusals: the protocol failures a caller can get, in one registry (UCP overview, *Error Codes*).
//!
//! A refusal says what was wrong and where, what would be accepted instead, and whether the same call can succeed later.
//! Each code is of one [`Kind`], for which every transport has a word of its own, so that all of them render the same
//! verdict. What a business answers about its own goods is not a refusal but an [`Outcome`](crate::Outcome) with messages.

use std::{error::Error, fmt, sync::Arc};

/// What is the matter with a call, in no transport's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The bytes cannot be read.
    Malformed,
    /// What is asked makes no sense.
    InvalidArguments,
    /// What is around the arguments does not have the form that the transport demands.
    InvalidEnvelope,
    /// What names the caller does not have the form that it has to have.
    InvalidIdentity,
    /// The caller has not proved who it is.
    Unauthenticated,
    /// The caller may not do this, whoever it is.
    Forbidden,
    /// There is nothing to be called by this name.
    NotFound,
    /// It is there, and is not called in this way.
    WrongMethod,
    /// The caller takes no form of answer that there is.
    NotAcceptable,
    /// The call did not arrive in time.
    TooSlow,
    /// Another call was made under the same key.
    Conflict,
    /// The call has more bytes than are read.
    TooLarge,
    /// The bytes are declared as something that is not read.
    UnsupportedType,
    /// The caller's platform cannot be spoken with.
    IncompatiblePlatform,
    /// The caller's platform cannot be asked about itself.
    UnreachablePlatform,
    /// The caller calls too often.
    RateLimited,
    /// The gateway failed.
    Internal,
    /// The gateway, or what is behind it, cannot answer now.
    Unavailable,
}

impl Kind {
    /// Whether the very same call can succeed when it is sent again later.
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            Self::TooSlow | Self::UnreachablePlatform | Self::RateLimited | Self::Internal | Self::Unavailable
        )
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $kind:ident;)+) => {
        /// The name of a protocol failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant),+
        }

        impl Code {
            /// The whole registry.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The kind of failure.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),+ }
            }

            /// Whether the very same call can succeed when it is sent again later.
            #[must_use]
            pub const fn retryable(self) -> bool {
                self.kind().retryable()
            }

            /// When a caller gets it.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim()),+ }
            }
        }
    };
}

codes! {
    /// The bytes are not one well-formed JSON document.
    MalformedJson = "malformed_json", Malformed;
    /// The request does not have the shape that the operation takes.
    InvalidRequest = "invalid_request", InvalidArguments;
    /// The message is no JSON-RPC 2.0 request object; batches are not taken.
    InvalidMessage = "invalid_message", InvalidEnvelope;
    /// The cursor was not issued by this gateway, was altered, or belongs to another query.
    InvalidCursor = "invalid_cursor", InvalidArguments;
    /// The request asks for more at once than the gateway gives.
    RequestTooLarge = "request_too_large", InvalidArguments;
    /// The caller's profile is missing, or its address is not one that UCP allows.
    InvalidProfileUrl = "invalid_profile_url", InvalidIdentity;
    /// The body is not the one that `Content-Digest` describes.
    DigestMismatch = "digest_mismatch", InvalidEnvelope;
    /// The signature is made with an algorithm that UCP does not use.
    AlgorithmUnsupported = "algorithm_unsupported", InvalidEnvelope;
    /// The call has to be signed, and is not.
    SignatureMissing = "signature_missing", Unauthenticated;
    /// The signature does not cover what it has to, or does not fit the request.
    SignatureInvalid = "signature_invalid", Unauthenticated;
    /// The key that the signature names is not in the caller's profile.
    KeyNotFound = "key_not_found", Unauthenticated;
    /// The call needs an identified platform, or the credential is not a valid one.
    Unauthorized = "unauthorized", Unauthenticated;
    /// The credential does not entitle the caller to act for this platform.
    Forbidden = "forbidden", Forbidden;
    /// The request came through a web page or a host name that may not reach this gateway.
    OriginForbidden = "origin_forbidden", Forbidden;
    /// There is nothing under this path.
    UnknownPath = "unknown_path", NotFound;
    /// There is no such JSON-RPC method.
    UnknownMethod = "unknown_method", NotFound;
    /// There is no such tool.
    UnknownTool = "unknown_tool", InvalidArguments;
    /// The path does not take this HTTP method.
    MethodNotAllowed = "method_not_allowed", WrongMethod;
    /// The caller accepts none of the media types that the gateway can answer in.
    NotAcceptable = "not_acceptable", NotAcceptable;
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", TooSlow;
    /// The idempotency key was used for another request before.
    IdempotencyConflict = "idempotency_conflict", Conflict;
    /// The body is larger than the gateway reads.
    BodyTooLarge = "body_too_large", TooLarge;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "unsupported_media_type", UnsupportedType;
    /// The caller's profile is no UCP profile.
    ProfileMalformed = "profile_malformed", IncompatiblePlatform;
    /// The release of the protocol that the caller speaks is not served here.
    VersionUnsupported = "version_unsupported", IncompatiblePlatform;
    /// The caller's profile could not be fetched.
    ProfileUnreachable = "profile_unreachable", UnreachablePlatform;
    /// The caller sends more than it may.
    RateLimited = "rate_limited", RateLimited;
    /// The gateway failed; the caller did nothing wrong.
    InternalError = "internal_error", Internal;
    /// The shop cannot answer at the moment.
    Unavailable = "unavailable", Unavailable;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call that was not carried out, and why.
///
/// Everything in it is for the caller's eyes but the [`cause`](Error::source): that is for the operator, and logged in one
/// place, where the call has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of failure.
    pub code: Code,
    /// What was wrong, for people.
    pub content: String,
    /// The part of the request it is about, as RFC 9535 JSONPath from the root of the request.
    pub path: Option<String>,
    /// What would have been accepted.
    pub accepted: Option<String>,
    /// Where the buyer can go on without this call.
    pub continue_url: Option<String>,
    /// After how many seconds a retry makes sense.
    pub retry_after: Option<u32>,
    /// What went wrong inside.
    pub cause: Cause,
}

/// What went wrong inside the gateway or behind it, if anything did. No answer tells it, and it makes no two refusals
/// different.
#[derive(Clone, Debug, Default)]
pub struct Cause(Option<Arc<Box<dyn Error + Send + Sync>>>);

impl Cause {
    /// The cause, if there is one.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_deref().map(|cause| &**cause as _)
    }
}

impl From<Box<dyn Error + Send + Sync>> for Cause {
    fn from(cause: Box<dyn Error + Send + Sync>) -> Self {
        Self(Some(Arc::new(cause)))
    }
}

impl PartialEq for Cause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Cause {}

impl Refusal {
    /// A refusal of this kind that says `content`.
    pub fn new(code: Code, content: impl Into<String>) -> Self {
        Self {
            code,
            content: content.into(),
            path: None,
            accepted: None,
            continue_url: None,
            retry_after: None,
            cause: Cause::default(),
        }
    }

    /// A request of the wrong shape at `path`.
    pub fn invalid(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, content).at(path)
    }

    /// A failure of the gateway itself, to be told [because](Self::because) of something.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(
            Code::InternalError,
            "The gateway failed to answer. The request id helps its operator to find out why.",
        )
    }

    /// A shop that cannot answer now, but may after `seconds`.
    pub fn unavailable(content: impl Into<String>, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(Code::Unavailable, content) }
    }

    /// The same, about the part of the request at `path`.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same, with what went wrong inside: an error, or a text for the log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Cause::from(cause.into());
        self
    }

    /// The same, saying what would have been accepted.
    #[must_use]
    pub fn accepting(mut self, accepted: impl Into<String>) -> Self {
        self.accepted = Some(accepted.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.content)
    }
}

impl Error for Refusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_cause_is_for_the_log_alone() {
        let refusal = Refusal::unavailable("Later.", 5);
        let caused = refusal.clone().because("the disk is full");
        assert_eq!(caused, refusal);
        assert_eq!(caused.to_string(), refusal.to_string());
        assert_eq!(caused.source().map(ToString::to_string).as_deref(), Some("the disk is full"));
        assert!(refusal.source().is_none());
    }

    #[test]
    fn the_registry_names_each_failure_once_and_documents_it() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.meaning().ends_with('.'), "{code}");
        }
    }
}
