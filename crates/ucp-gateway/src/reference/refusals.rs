//! Cause, fix and example of every error that rejects a request.

use ucp_core::{Code, Refusal};

/// Explanation of a code.
pub(super) struct Explained {
    /// Condition that leads to the code.
    pub(super) cause: &'static str,
    /// Fix for the caller.
    pub(super) fix: &'static str,
    /// Response body of the code.
    pub(super) example: Refusal,
}

/// Explains a code; the match is exhaustive over the registry.
pub(super) fn explained(code: Code) -> Explained {
    let (cause, fix, content, path, accepted) = match code {
        Code::MalformedJson => (
            "The body is truncated, is not valid JSON, or has a duplicate key.",
            "Serialize the body with a JSON library and send all of it.",
            "The body ends in the middle of a value, at line 1, column 9.",
            None,
            None,
        ),
        Code::InvalidRequest => (
            "A field is missing, has the wrong type, or is out of range.",
            "Correct the field at `path`; `accepted` describes valid values.",
            "`$.pagination.limit` is too small.",
            Some("$.pagination.limit"),
            Some("at least 1"),
        ),
        Code::InvalidMessage => (
            "The JSON body is not a JSON-RPC 2.0 request, or it is a batch outside of MCP 2025-03-26 or with more than 16 messages.",
            "Send one object with `jsonrpc`, `id`, `method` and `params`.",
            "`method` must be a string.",
            Some("$.method"),
            None,
        ),
        Code::InvalidCursor => (
            "The cursor belongs to another search or another gateway, or was modified.",
            "Search again without a cursor; send the query and filters of the first page with every further page.",
            "The cursor is not one of this search.",
            Some("$.pagination.cursor"),
            None,
        ),
        Code::RequestTooLarge => (
            "The request has too many identifiers, line items or values.",
            "Split the request.",
            "101 identifiers are too many.",
            Some("$.ids"),
            Some("at most 100"),
        ),
        Code::InvalidProfileUrl => (
            "The request names no platform profile, or its URL is not https with a public host.",
            "Send the URL of the platform's profile in `UCP-Agent: profile=\"…\"`, or over MCP in `meta.ucp-agent.profile`.",
            "The call names no profile of its platform.",
            Some("$.meta.ucp-agent.profile"),
            Some("an https address"),
        ),
        Code::DigestMismatch => (
            "The body changed in transit, or the digest was computed over another serialization.",
            "Compute `Content-Digest` over the bytes that you send.",
            "The body does not match `Content-Digest`.",
            None,
            None,
        ),
        Code::AlgorithmUnsupported => (
            "The signature uses an algorithm outside of UCP.",
            "Sign with ECDSA over P-256 or P-384, or with Ed25519.",
            "The algorithm `hs256` is not supported.",
            None,
            Some("es256, es384 or ed25519"),
        ),
        Code::SignatureMissing => (
            "This operation requires a signed request.",
            "Sign the request (RFC 9421); `ucp-gateway sign` shows the covered components.",
            "The call must be signed.",
            None,
            None,
        ),
        Code::SignatureInvalid => (
            "The signature omits a required component, has expired, or does not match the request.",
            "Compare the signature base with `ucp-gateway verify`, component by component.",
            "The signature does not cover `content-digest`.",
            None,
            None,
        ),
        Code::KeyNotFound => (
            "The platform's profile does not publish the key of the signature.",
            "Publish the key in the profile before you sign with it. Profiles are fetched again after their `max-age`.",
            "The profile has no key `2026-11`.",
            None,
            None,
        ),
        Code::Unauthorized => (
            "The API key is unknown or revoked, or the operation requires an identified platform.",
            "Send the API key from the operator: `X-API-Key: …` or `Authorization: Bearer …`.",
            "The API key is not one of this gateway.",
            None,
            None,
        ),
        Code::Forbidden => (
            "The credential and `UCP-Agent` name different platforms.",
            "Omit `UCP-Agent` and `meta`, or name the platform of the credential.",
            "The API key is of another platform than the profile that the call names.",
            None,
            None,
        ),
        Code::OriginForbidden => (
            "A web page of another site sent the request, or its host name is not the gateway's.",
            "Send the request from a server or an agent, to the public URL of the gateway.",
            "Pages of https://other.example may not call this gateway.",
            None,
            None,
        ),
        Code::UnknownPath => (
            "The path is misspelled, or its capability is not available.",
            "Read the endpoints from the profile at `/.well-known/ucp`.",
            "There is nothing under `/catalog/find`.",
            None,
            None,
        ),
        Code::UnknownMethod => (
            "The JSON-RPC method does not exist in MCP or in this UCP version.",
            "Call tools by `tools/call`; `tools/list` returns their names.",
            "There is no method `tools/run`.",
            Some("$.method"),
            None,
        ),
        Code::UnknownTool => (
            "The tool is misspelled, or not in the toolset of this endpoint.",
            "Call `tools/list` again.",
            "There is no tool `find_products`.",
            Some("$.params.name"),
            Some("search_catalog, lookup_catalog, …"),
        ),
        Code::MethodNotAllowed => (
            "The path accepts another HTTP method.",
            "Use a method of the `Allow` header.",
            "`/catalog/search` does not take GET.",
            None,
            Some("POST"),
        ),
        Code::NotAcceptable => (
            "`Accept` excludes JSON.",
            "Accept `application/json`.",
            "The answer would be `application/json`, which `Accept` excludes.",
            None,
            Some("application/json"),
        ),
        Code::RequestTimeout => (
            "The body did not arrive within ten seconds.",
            "Send the body without pauses, and retry.",
            "The request did not arrive in time.",
            None,
            None,
        ),
        Code::IdempotencyConflict => (
            "The idempotency key was used before for another operation, resource or payload.",
            "Use a new key for each new request and the same key for its retries.",
            "The idempotency key was used for another request.",
            None,
            None,
        ),
        Code::BodyTooLarge => {
            ("The body exceeds the size limit.", "Split the request.", "The body is larger than 1 MiB.", None, None)
        }
        Code::UnsupportedMediaType => (
            "The body is not declared as JSON, or it is compressed.",
            "Send `Content-Type: application/json` without `Content-Encoding`.",
            "The body must be `application/json`.",
            None,
            Some("application/json"),
        ),
        Code::TransferCodingUnsupported => (
            "The body is sent with a transfer coding such as `gzip`, alone or before `chunked`.",
            "Send the body with a `Content-Length`, or with `Transfer-Encoding: chunked` and no other coding.",
            "The body has a transfer coding that the gateway does not undo.",
            None,
            Some("`Transfer-Encoding: chunked`, or a `Content-Length`"),
        ),
        Code::ProfileMalformed => (
            "The URL does not serve a valid UCP profile.",
            "Find the invalid field with `ucp-gateway doctor profile URL`.",
            "The platform's profile cannot be read. `$.ucp.version` is missing or no date.",
            Some("$.ucp.version"),
            Some("a release as `YYYY-MM-DD`"),
        ),
        Code::VersionUnsupported => (
            "The gateway does not support the UCP version of the platform.",
            "Publish a profile in one of the versions in `accepted`.",
            "The release 2025-06-01 is not served.",
            None,
            Some("2026-01-11, 2026-01-23, 2026-04-08 or 2026-08-25"),
        ),
        Code::ProfileUnreachable => (
            "The platform's profile could not be fetched: no response, a redirect, a status other than 200, or an address that is not public.",
            "Serve the profile over https at exactly this URL and retry. Check it with `ucp-gateway doctor profile URL`.",
            "The platform's profile cannot be fetched: the server answered with status 301.",
            None,
            None,
        ),
        Code::RateLimited => (
            "The caller exceeded its rate limit.",
            "Wait for `retry_after` seconds; over REST `Retry-After` has the same value.",
            "Too many requests.",
            None,
            None,
        ),
        Code::InternalError => (
            "Internal error; the operator finds its cause in the log by the request ID.",
            "Retry once with the same idempotency key. If it fails again, give the request ID to the operator.",
            "The gateway failed to answer. The request id helps its operator to find out why.",
            None,
            None,
        ),
        Code::StoredDataDamaged => (
            "Stored data of this resource is corrupted; the operator finds the record with `ucp-gateway store check`.",
            "Do not retry. Give the request ID to the operator.",
            "What is stored of this is damaged, and stays so until the operator of the gateway repairs it.",
            None,
            None,
        ),
        Code::UpstreamInvalid => (
            "The response of the upstream UCP shop violates the protocol; the log has the details.",
            "Do not retry until the upstream is fixed. After a write, read the resource first.",
            "The shop's answer is faulty: `$.currency` must be a currency of ISO 4217.",
            None,
            None,
        ),
        Code::Unavailable => (
            "The upstream is slow, throttled or down, or the gateway is at its limit.",
            "Retry after `retry_after` seconds with the same idempotency key.",
            "The shop cannot answer at the moment.",
            None,
            None,
        ),
    };
    let example = Refusal {
        path: path.map(str::to_owned),
        accepted: accepted.map(str::to_owned),
        retry_after: matches!(code, Code::RateLimited | Code::Unavailable).then_some(2),
        ..Refusal::new(code, content)
    };
    Explained { cause, fix, example }
}
