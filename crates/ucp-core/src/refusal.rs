//! Refusals: the protocol failures a caller can get, in one registry (UCP overview, *Error Codes*).
//!
//! A refusal says what was wrong and where, what would be accepted instead, and whether the same call can succeed later.
//! Each code carries its HTTP status and its JSON-RPC code, so that every transport renders the same verdict. What a
//! business answers about its own goods is not a refusal but an [`Outcome`](crate::Outcome) with messages.

use std::{error::Error, fmt, sync::Arc};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $status:literal, $rpc:literal, retry $retry:literal;)+) => {
        /// What kind of protocol failure it is.
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

            /// The HTTP status, on REST and (rule ERR-02) on MCP over HTTP.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// The code of the JSON-RPC error object.
            #[must_use]
            pub const fn json_rpc(self) -> i32 {
                match self { $(Self::$variant => $rpc),+ }
            }

            /// Whether the very same call can succeed when it is sent again later.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$variant => $retry),+ }
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
    MalformedJson = "malformed_json", 400, -32700, retry false;
    /// The request does not have the shape that the operation takes.
    InvalidRequest = "invalid_request", 400, -32602, retry false;
    /// The message is no JSON-RPC 2.0 request object; batches are not taken.
    InvalidMessage = "invalid_message", 400, -32600, retry false;
    /// The cursor was not issued by this gateway, was altered, or belongs to another query.
    InvalidCursor = "invalid_cursor", 400, -32602, retry false;
    /// The request asks for more at once than the gateway gives.
    RequestTooLarge = "request_too_large", 400, -32602, retry false;
    /// The caller's profile is missing, or its address is not one that UCP allows.
    InvalidProfileUrl = "invalid_profile_url", 400, -32001, retry false;
    /// The body is not the one that `Content-Digest` describes.
    DigestMismatch = "digest_mismatch", 400, -32600, retry false;
    /// The signature is made with an algorithm that UCP does not use.
    AlgorithmUnsupported = "algorithm_unsupported", 400, -32600, retry false;
    /// The call has to be signed, and is not.
    SignatureMissing = "signature_missing", 401, -32000, retry false;
    /// The signature does not cover what it has to, or does not fit the request.
    SignatureInvalid = "signature_invalid", 401, -32000, retry false;
    /// The key that the signature names is not in the caller's profile.
    KeyNotFound = "key_not_found", 401, -32000, retry false;
    /// The call needs an identified platform, or the credential is not a valid one.
    Unauthorized = "unauthorized", 401, -32000, retry false;
    /// The credential does not entitle the caller to act for this platform.
    Forbidden = "forbidden", 403, -32000, retry false;
    /// The request came through a web page or a host name that may not reach this gateway.
    OriginForbidden = "origin_forbidden", 403, -32000, retry false;
    /// There is nothing under this path.
    UnknownPath = "unknown_path", 404, -32601, retry false;
    /// There is no such JSON-RPC method.
    UnknownMethod = "unknown_method", 404, -32601, retry false;
    /// There is no such tool.
    UnknownTool = "unknown_tool", 400, -32602, retry false;
    /// The path does not take this HTTP method.
    MethodNotAllowed = "method_not_allowed", 405, -32600, retry false;
    /// The caller accepts none of the media types that the gateway can answer in.
    NotAcceptable = "not_acceptable", 406, -32600, retry false;
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", 408, -32000, retry true;
    /// The idempotency key was used for another request before.
    IdempotencyConflict = "idempotency_conflict", 409, -32000, retry false;
    /// The body is larger than the gateway reads.
    BodyTooLarge = "body_too_large", 413, -32600, retry false;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "unsupported_media_type", 415, -32600, retry false;
    /// The caller's profile is no UCP profile.
    ProfileMalformed = "profile_malformed", 422, -32001, retry false;
    /// The release of the protocol that the caller speaks is not served here.
    VersionUnsupported = "version_unsupported", 422, -32001, retry false;
    /// The caller's profile could not be fetched.
    ProfileUnreachable = "profile_unreachable", 424, -32001, retry true;
    /// The caller sends more than it may.
    RateLimited = "rate_limited", 429, -32000, retry true;
    /// The gateway failed; the caller did nothing wrong.
    InternalError = "internal_error", 500, -32603, retry true;
    /// The shop cannot answer at the moment.
    Unavailable = "unavailable", 503, -32000, retry true;
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
            assert!((400..600).contains(&code.http_status()), "{code}");
            assert!(code.json_rpc() < 0, "{code}");
            assert!(code.meaning().ends_with('.'), "{code}");
        }
    }
}
