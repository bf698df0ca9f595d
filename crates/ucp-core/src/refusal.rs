//! Refusals: all protocol errors that a caller can get, in one registry (UCP overview, *Error Codes*).
//!
//! A refusal states the fault and its place in the request, the accepted alternatives, and whether a retry can succeed.
//! Each code is of one [`Kind`], from which every transport derives its own status, so that all of them render it
//! alike. Answers of a business about its own goods are not refusals but an [`Outcome`](crate::Outcome) with messages.

use std::{error::Error, fmt, sync::Arc};

/// Kind of a protocol error, independent of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The bytes are not a well-formed document.
    Malformed,
    /// The arguments are not valid for the operation.
    InvalidArguments,
    /// The envelope around the arguments is not valid: headers, digest, JSON-RPC members.
    InvalidEnvelope,
    /// The identity that the caller states is not well-formed.
    InvalidIdentity,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller is not permitted to do this.
    Forbidden,
    /// The path or method does not exist.
    NotFound,
    /// The path exists and does not support the HTTP method.
    WrongMethod,
    /// The caller accepts no media type that the gateway can answer in.
    NotAcceptable,
    /// The request did not arrive in time.
    TooSlow,
    /// The idempotency key was used for another request.
    Conflict,
    /// The body exceeds the size limit.
    TooLarge,
    /// The media type of the body is not supported.
    UnsupportedType,
    /// The request uses a part of HTTP that the gateway does not implement.
    NotImplemented,
    /// The platform's profile or release is not supported.
    IncompatiblePlatform,
    /// The platform's profile cannot be fetched.
    UnreachablePlatform,
    /// The caller exceeds its rate limit.
    RateLimited,
    /// The gateway failed.
    Internal,
    /// Data that the gateway has stored cannot be used until its operator repairs it.
    Damaged,
    /// A response of the backend does not conform to the protocol, until its operator corrects it.
    Nonconforming,
    /// The gateway or its backend cannot answer at the moment.
    Unavailable,
}

impl Kind {
    /// Returns `true` if the identical call can succeed when it is repeated later.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            Self::TooSlow | Self::UnreachablePlatform | Self::RateLimited | Self::Internal | Self::Unavailable
        )
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $kind:ident:
        $cause:literal => $fix:literal, $content:literal $(at $path:literal)? $(accepting $accepted:literal)?;)+) => {
        /// Code of a protocol error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant),+
        }

        impl Code {
            /// All codes, in the order of the registry.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name used in JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the kind of failure.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),+ }
            }

            /// Returns `true` if the identical call can succeed when it is repeated later.
            pub const fn retryable(self) -> bool {
                self.kind().retryable()
            }

            /// Returns a sentence that describes the error, for callers and generated documents.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim()),+ }
            }

            /// Returns the condition that leads to the code.
            pub const fn cause(self) -> &'static str {
                match self { $(Self::$variant => $cause),+ }
            }

            /// Returns the fix for the caller.
            pub const fn fix(self) -> &'static str {
                match self { $(Self::$variant => $fix),+ }
            }

            /// Returns a refusal with the code, for documents.
            pub fn example(self) -> Refusal {
                let refusal = match self {
                    $(Self::$variant => Refusal::new(self, $content)$(.at($path))?$(.accepting($accepted))?),+
                };
                let retry_after = matches!(self, Self::RateLimited | Self::Unavailable).then_some(2);
                Refusal { retry_after, ..refusal }
            }
        }
    };
}

// What a code means, its cause, the fix, and an example: all that the reference says of it.
codes! {
    /// The bytes are not one well-formed JSON document.
    MalformedJson = "malformed_json", Malformed:
        "The body is truncated, is not valid JSON, or has a duplicate key." => "Serialize the body with a JSON library and send all of it.",
        "The body ends in the middle of a value, at line 1, column 9.";
    /// The request does not have the format that the operation requires.
    InvalidRequest = "invalid_request", InvalidArguments:
        "A field is missing, has the wrong type, or is out of range." => "Correct the field at `path`; `accepted` describes valid values.",
        "`$.pagination.limit` is too small." at "$.pagination.limit" accepting "at least 1";
    /// The message is not a JSON-RPC 2.0 request object, or a batch outside of MCP 2025-03-26.
    InvalidMessage = "invalid_message", InvalidEnvelope:
        "The JSON body is not a JSON-RPC 2.0 request, or it is a batch outside of MCP 2025-03-26 or with more than 16 messages." => "Send one object with `jsonrpc`, `id`, `method` and `params`.",
        "`method` must be a string." at "$.method";
    /// The cursor was not issued by this gateway, was altered, or belongs to another query.
    InvalidCursor = "invalid_cursor", InvalidArguments:
        "The cursor belongs to another search or another gateway, or was modified." => "Search again without a cursor; send the query and filters of the first page with every further page.",
        "Invalid cursor for this query." at "$.pagination.cursor";
    /// The request asks for more than the gateway accepts or returns at once.
    RequestTooLarge = "request_too_large", InvalidArguments:
        "The request has too many identifiers, line items or values." => "Split the request.",
        "101 identifiers are too many." at "$.ids" accepting "at most 100";
    /// The caller's profile is missing, or its address is not one that UCP allows.
    InvalidProfileUrl = "invalid_profile_url", InvalidIdentity:
        "The request names no platform profile, or its URL is not https with a public host." => "Send the URL of the platform's profile in `UCP-Agent: profile=\"…\"`, or over MCP in `meta.ucp-agent.profile`.",
        "The request does not state the profile of its platform." at "$.meta.ucp-agent.profile" accepting "an https address";
    /// The body does not match `Content-Digest`.
    DigestMismatch = "digest_mismatch", InvalidEnvelope:
        "The body changed in transit, or the digest was computed over another serialization." => "Compute `Content-Digest` over the bytes that you send.",
        "The body does not match `Content-Digest`.";
    /// The signature uses an algorithm that UCP does not allow.
    AlgorithmUnsupported = "algorithm_unsupported", InvalidEnvelope:
        "The signature uses an algorithm outside of UCP." => "Sign with ECDSA over P-256 or P-384, or with Ed25519.",
        "The algorithm `hs256` is not supported." accepting "es256, es384 or ed25519";
    /// The call must be signed and has no signature.
    SignatureMissing = "signature_missing", Unauthenticated:
        "This operation requires a signed request." => "Sign the request (RFC 9421); `ucp-gateway sign` shows the covered components.",
        "The call must be signed.";
    /// The signature does not cover all required components, or does not match the request.
    SignatureInvalid = "signature_invalid", Unauthenticated:
        "The signature omits a required component, has expired, or does not match the request." => "Compare the signature base with `ucp-gateway verify`, component by component.",
        "The signature does not cover `content-digest`.";
    /// The key that the signature names is not in the caller's profile.
    KeyNotFound = "key_not_found", Unauthenticated:
        "The platform's profile does not publish the key of the signature." => "Publish the key in the profile before you sign with it. Profiles are fetched again after their `max-age`.",
        "The profile has no key `2026-11`.";
    /// The call needs an identified platform, or the credential is not a valid one.
    Unauthorized = "unauthorized", Unauthenticated:
        "The API key is unknown or revoked, or the operation requires an identified platform." => "Send the API key from the operator: `X-API-Key: …` or `Authorization: Bearer …`.",
        "Invalid API key.";
    /// The credential does not entitle the caller to act for this platform.
    Forbidden = "forbidden", Forbidden:
        "The credential and `UCP-Agent` name different platforms." => "Omit `UCP-Agent` and `meta`, or name the platform of the credential.",
        "The API key and the profile belong to different platforms.";
    /// The request came through a web page or a host name that may not reach this gateway.
    OriginForbidden = "origin_forbidden", Forbidden:
        "A web page of another site sent the request, or its host name is not the gateway's." => "Send the request from a server or an agent, to the public URL of the gateway.",
        "Pages of https://other.example may not call this gateway.";
    /// There is nothing under this path.
    UnknownPath = "unknown_path", NotFound:
        "The path is misspelled, or its capability is not available." => "Read the endpoints from the profile at `/.well-known/ucp`.",
        "There is nothing under `/catalog/find`.";
    /// There is no such JSON-RPC method.
    UnknownMethod = "unknown_method", NotFound:
        "The JSON-RPC method does not exist in MCP or in this UCP version." => "Call tools by `tools/call`; `tools/list` returns their names.",
        "There is no method `tools/run`." at "$.method";
    /// There is no such tool.
    UnknownTool = "unknown_tool", InvalidArguments:
        "The tool is misspelled, or not in the toolset of this endpoint." => "Call `tools/list` again.",
        "There is no tool `find_products`." at "$.params.name" accepting "search_catalog, lookup_catalog, …";
    /// The path does not support this HTTP method.
    MethodNotAllowed = "method_not_allowed", WrongMethod:
        "The path accepts another HTTP method." => "Use a method of the `Allow` header.",
        "`/catalog/search` does not take GET." accepting "POST";
    /// The caller accepts none of the media types of the gateway's answers.
    NotAcceptable = "not_acceptable", NotAcceptable:
        "`Accept` excludes JSON." => "Accept `application/json`.",
        "The response is `application/json`, which `Accept` excludes." accepting "application/json";
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", TooSlow:
        "The body did not arrive within ten seconds." => "Send the body without pauses, and retry.",
        "The request did not arrive in time.";
    /// The idempotency key was used for another request before.
    IdempotencyConflict = "idempotency_conflict", Conflict:
        "The idempotency key was used before for another operation, resource or payload." => "Use a new key for each new request and the same key for its retries.",
        "The idempotency key was used for another request.";
    /// The body is larger than the gateway accepts.
    BodyTooLarge = "body_too_large", TooLarge:
        "The body exceeds the size limit." => "Split the request.",
        "The body is larger than 1 MiB.";
    /// The body is not declared as JSON.
    UnsupportedMediaType = "unsupported_media_type", UnsupportedType:
        "The body is not declared as JSON, or it is compressed." => "Send `Content-Type: application/json` without `Content-Encoding`.",
        "The body must be `application/json`." accepting "application/json";
    /// The body is sent with a transfer coding other than `chunked`.
    TransferCodingUnsupported = "transfer_coding_unsupported", NotImplemented:
        "The body is sent with a transfer coding such as `gzip`, alone or before `chunked`." => "Send the body with a `Content-Length`, or with `Transfer-Encoding: chunked` and no other coding.",
        "The transfer coding of the body is not supported." accepting "`Transfer-Encoding: chunked`, or a `Content-Length`";
    /// The caller's profile is not a valid UCP profile.
    ProfileMalformed = "profile_malformed", IncompatiblePlatform:
        "The URL does not serve a valid UCP profile." => "Find the invalid field with `ucp-gateway doctor profile URL`.",
        "The platform's profile cannot be read. `$.ucp.version` is missing or no date." at "$.ucp.version" accepting "a release as `YYYY-MM-DD`";
    /// The gateway does not serve the caller's release of the protocol.
    VersionUnsupported = "version_unsupported", IncompatiblePlatform:
        "The gateway does not support the UCP version of the platform." => "Publish a profile in one of the versions in `accepted`.",
        "The UCP version 2025-06-01 is not supported." accepting "2026-01-11, 2026-01-23, 2026-04-08 or 2026-08-25";
    /// The caller's profile could not be fetched.
    ProfileUnreachable = "profile_unreachable", UnreachablePlatform:
        "The platform's profile could not be fetched: no response, a redirect, a status other than 200, or an address that is not public." => "Serve the profile over https at exactly this URL and retry. Check it with `ucp-gateway doctor profile URL`.",
        "The platform's profile cannot be fetched: the server returned status 301.";
    /// The caller has exceeded its rate limit.
    RateLimited = "rate_limited", RateLimited:
        "The caller exceeded its rate limit." => "Wait for `retry_after` seconds; over REST `Retry-After` has the same value.",
        "Too many requests.";
    /// The gateway failed; the caller did nothing wrong.
    InternalError = "internal_error", Internal:
        "Internal error; the operator finds its cause in the log by the request ID." => "Retry once with the same idempotency key. If it fails again, give the request ID to the operator.",
        "Internal error. Give the request ID to the operator of the gateway.";
    /// Stored data of the resource, or of the repeated request, is damaged.
    StoredDataDamaged = "stored_data_damaged", Damaged:
        "Stored data of this resource is corrupted; the operator finds the record with `ucp-gateway data check`." => "Do not retry. Give the request ID to the operator.",
        "Stored data of this resource is corrupted. Retrying does not help.";
    /// The shop's response does not conform to the protocol; the same request gets it again until the shop is corrected.
    UpstreamInvalid = "upstream_invalid", Nonconforming:
        "The response of the upstream UCP shop violates the protocol; the log has the details." => "Do not retry until the upstream is fixed. After a write, read the resource first.",
        "The shop's response is invalid: `$.currency` must be a currency of ISO 4217.";
    /// The shop is temporarily unavailable.
    Unavailable = "unavailable", Unavailable:
        "The upstream is slow, throttled or down, or the gateway is at its limit." => "Retry after `retry_after` seconds with the same idempotency key.",
        "The shop is temporarily unavailable.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call that was not carried out, and the reason.
///
/// Everything in it is meant for the caller except the [`cause`](Error::source), which is meant for the operator and
/// logged in one place, where the call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Code of the error.
    pub code: Code,
    /// Description of the fault, for people.
    pub content: String,
    /// Part of the request at fault, as RFC 9535 JSONPath from the root of the request.
    pub path: Option<String>,
    /// Description of the values that are accepted instead.
    pub accepted: Option<String>,
    /// URL at which the buyer can continue without this call.
    pub continue_url: Option<String>,
    /// Number of seconds after which a retry makes sense.
    pub retry_after: Option<u32>,
    /// Cause within the gateway or its backend.
    pub cause: Cause,
}

/// Cause of a refusal within the gateway or its backend, if there is one. It appears in no answer, and is ignored when
/// refusals are compared.
#[derive(Clone, Debug, Default)]
pub struct Cause(Option<Arc<Box<dyn Error + Send + Sync>>>);

impl Cause {
    /// Returns the cause, if there is one.
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
    /// Returns the description with the part of the request at fault and what is accepted instead, for readers who see
    /// one text and no members beside it, as agents do through the SDKs of MCP.
    pub fn told(&self) -> String {
        let mut told = self.content.clone();
        if let Some(path) = self.path.as_deref().filter(|path| !told.contains(&format!("`{path}`"))) {
            told.push_str(&format!(" It is about `{path}`."));
        }
        if let Some(accepted) = &self.accepted {
            told.push_str(&format!(" Accepted: {}.", accepted.trim_end_matches('.')));
        }
        told
    }

    /// Returns what [`told`](Self::told) returns, and whether and when to repeat the call: all that a model needs which
    /// reads one text and decides what to do next.
    pub fn advised(&self) -> String {
        let advice = match (self.code.retryable(), self.retry_after) {
            (true, Some(1)) => "Retry the same call after 1 second.".to_owned(),
            (true, Some(seconds)) => format!("Retry the same call after {seconds} seconds."),
            (true, None) => "Retrying the same call later can succeed.".to_owned(),
            (false, _) => "Retrying the same call does not help; change it first.".to_owned(),
        };
        format!("{} {advice}", self.told())
    }

    /// Creates a refusal with a code and a description.
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

    /// Creates a refusal of an invalid request; `path` is the part at fault.
    pub fn invalid(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, content).at(path)
    }

    /// Creates a refusal for a failure of the gateway itself; add its cause with [`because`](Self::because).
    pub fn internal() -> Self {
        Self::new(Code::InternalError, "Internal error. Give the request ID to the operator of the gateway.")
    }

    /// Creates a refusal for stored data that cannot be read, now or later; add what is damaged with
    /// [`because`](Self::because).
    pub fn damaged() -> Self {
        Self::new(
            Code::StoredDataDamaged,
            "Stored data of this resource is corrupted. Retrying does not help; give the request ID \
             to the operator of the gateway.",
        )
    }

    /// Creates a refusal for a shop that cannot answer now, but may after `seconds`.
    pub fn unavailable(content: impl Into<String>, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(Code::Unavailable, content) }
    }

    /// Returns the same refusal with the part of the request at fault.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Returns the same refusal with its internal cause: an error, or a text for the log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Cause::from(cause.into());
        self
    }

    /// Returns the same refusal with the values that are accepted instead.
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
    fn advice_names_accepted_values_and_whether_to_retry() {
        let refusal =
            Refusal::invalid("$.pagination.limit", "`$.pagination.limit` is too small.").accepting("at least 1");
        assert_eq!(
            refusal.advised(),
            "`$.pagination.limit` is too small. Accepted: at least 1. Retrying the same call does not help; change it first."
        );
        assert_eq!(Refusal::unavailable("Later.", 5).advised(), "Later. Retry the same call after 5 seconds.");
        assert!(Refusal::internal().advised().ends_with("Retrying the same call later can succeed."));
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
