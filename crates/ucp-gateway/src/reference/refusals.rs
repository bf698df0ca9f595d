//! Cause, cure and example of every refusal.

use ucp_core::{Code, Refusal};

/// Explanation of a code.
pub(super) struct Explained {
    /// How a caller comes to it.
    pub(super) cause: &'static str,
    /// What to do.
    pub(super) cure: &'static str,
    /// What a caller gets.
    pub(super) example: Refusal,
}

/// Explains a code. The compiler asks for every one of the registry.
pub(super) fn explained(code: Code) -> Explained {
    let (cause, cure, content, path, accepted) = match code {
        Code::MalformedJson => (
            "The body is cut off, is no JSON, or names a member twice.",
            "Serialise the body with a JSON library, and send it whole.",
            "The body ends in the middle of a value, at line 1, column 9.",
            None,
            None,
        ),
        Code::InvalidRequest => (
            "A member is missing, of another type, or outside its range.",
            "Correct the member at `path`; `accepted` says what may stand there.",
            "`$.pagination.limit` is too small.",
            Some("$.pagination.limit"),
            Some("at least 1"),
        ),
        Code::InvalidMessage => (
            "The body of an MCP call is JSON and no request of JSON-RPC 2.0, or it is a batch of a client that is not of MCP 2025-03-26, or of more than 16 messages.",
            "Send one object with `jsonrpc`, `id`, `method` and `params`.",
            "`method` must be a string.",
            Some("$.method"),
            None,
        ),
        Code::InvalidCursor => (
            "The cursor is of another search, was changed, or is of a gateway whose data directory is another.",
            "Search again without a cursor; send the filters and words of the first page with every further page.",
            "The cursor is not one of this search.",
            Some("$.pagination.cursor"),
            None,
        ),
        Code::RequestTooLarge => (
            "There are more identifiers, lines or values than are taken at once.",
            "Send fewer at a time.",
            "101 identifiers are too many.",
            Some("$.ids"),
            Some("at most 100"),
        ),
        Code::InvalidProfileUrl => (
            "The call names no profile, or one whose address is not https with a public host.",
            "Name the address of the platform's profile in `UCP-Agent: profile=\"…\"`, or over MCP in `meta.ucp-agent.profile`.",
            "The call names no profile of its platform.",
            Some("$.meta.ucp-agent.profile"),
            Some("an https address"),
        ),
        Code::DigestMismatch => (
            "The body was changed on its way, or the digest is of another serialisation.",
            "Compute `Content-Digest` of the bytes that are sent.",
            "The body does not match `Content-Digest`.",
            None,
            None,
        ),
        Code::AlgorithmUnsupported => (
            "The signature uses an algorithm that UCP does not name.",
            "Sign with ECDSA over P-256 or P-384, or with Ed25519.",
            "The algorithm `hs256` is not supported.",
            None,
            Some("es256, es384 or ed25519"),
        ),
        Code::SignatureMissing => (
            "The operator wants calls of this class to be signed, and the call is not.",
            "Sign the call by RFC 9421: `ucp-gateway sign` shows what is covered.",
            "The call must be signed.",
            None,
            None,
        ),
        Code::SignatureInvalid => (
            "The signature leaves a component out, is too old, or is of other bytes.",
            "`ucp-gateway verify` shows the base that is signed, component by component.",
            "The signature does not cover `content-digest`.",
            None,
            None,
        ),
        Code::KeyNotFound => (
            "The signature names a key that the platform's profile does not publish.",
            "Publish the key in the profile before signing with it; profiles are read again after their `max-age`.",
            "The profile has no key `2026-11`.",
            None,
            None,
        ),
        Code::Unauthorized => (
            "The API key is unknown or revoked, or the operation needs a platform that is identified.",
            "Send a key that the operator gave you: `X-API-Key: …` or `Authorization: Bearer …`.",
            "The API key is not one of this gateway.",
            None,
            None,
        ),
        Code::Forbidden => (
            "The credential is of another platform than the call names.",
            "Leave `UCP-Agent` and `meta` out, or name the platform that the credential is of.",
            "The API key is of another platform than the profile that the call names.",
            None,
            None,
        ),
        Code::OriginForbidden => (
            "A web page of another site made the call, or the host name is not the gateway's.",
            "Call from a server or an agent, under the public address of the gateway.",
            "Pages of https://other.example may not call this gateway.",
            None,
            None,
        ),
        Code::UnknownPath => (
            "The path is misspelt, or belongs to a capability that is not served.",
            "Take addresses from the profile at `/.well-known/ucp`.",
            "There is nothing under `/catalog/find`.",
            None,
            None,
        ),
        Code::UnknownMethod => (
            "The JSON-RPC method is not one of MCP, or of the release.",
            "Call tools by `tools/call`; `tools/list` has their names.",
            "There is no method `tools/run`.",
            Some("$.method"),
            None,
        ),
        Code::UnknownTool => (
            "The tool is misspelt, or not in the toolset that the address names.",
            "Ask for `tools/list` again.",
            "There is no tool `find_products`.",
            Some("$.params.name"),
            Some("search_catalog, lookup_catalog, …"),
        ),
        Code::MethodNotAllowed => (
            "The path exists for another HTTP method.",
            "Use the method that `Allow` names.",
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
            "Send it in one piece, and try again.",
            "The request did not arrive in time.",
            None,
            None,
        ),
        Code::IdempotencyConflict => (
            "The idempotency key was used before with another operation, resource or payload.",
            "Make a new key for every new intention, and keep it for retries of that one.",
            "The idempotency key was used for another request.",
            None,
            None,
        ),
        Code::BodyTooLarge => {
            ("The body is larger than is read.", "Send less at a time.", "The body is larger than 1 MiB.", None, None)
        }
        Code::UnsupportedMediaType => (
            "The body is not declared as JSON, or is compressed.",
            "Send `Content-Type: application/json`, and no `Content-Encoding`.",
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
            "The platform's profile was fetched, and is no UCP profile.",
            "`ucp-gateway doctor profile URL` says which member is wrong.",
            "The platform's profile cannot be read. `$.ucp.version` is missing or no date.",
            Some("$.ucp.version"),
            Some("a release as `YYYY-MM-DD`"),
        ),
        Code::VersionUnsupported => (
            "The platform speaks a release that the gateway does not serve.",
            "Publish a profile in one of the releases that `accepted` names.",
            "The release 2025-06-01 is not served.",
            None,
            Some("2026-01-11, 2026-01-23, 2026-04-08 or 2026-08-25"),
        ),
        Code::ProfileUnreachable => (
            "The platform's profile could not be fetched: no answer, a redirect, another status than 200, or an address that is not public.",
            "Serve the profile under https at the address itself, and try again; `ucp-gateway doctor profile URL` looks at it.",
            "The platform's profile cannot be fetched: the server answered with status 301.",
            None,
            None,
        ),
        Code::RateLimited => (
            "The caller sends more than it may.",
            "Wait for `retry_after` seconds, which REST says in `Retry-After` as well.",
            "Too many requests.",
            None,
            None,
        ),
        Code::InternalError => (
            "The gateway failed; its operator finds the cause in the log by the request id.",
            "Try again once, with the same idempotency key; then tell the operator the request id.",
            "The gateway failed to answer. The request id helps its operator to find out why.",
            None,
            None,
        ),
        Code::StoredDataDamaged => (
            "A record cannot be read; `ucp-gateway store check` tells the operator which.",
            "Do not repeat the call. Tell the operator the request id.",
            "What is stored of this is damaged, and stays so until the operator of the gateway repairs it.",
            None,
            None,
        ),
        Code::UpstreamInvalid => (
            "The shop behind the gateway speaks UCP itself, and its answer breaks a rule of the protocol; the log names it.",
            "Do not repeat the call until the shop is corrected. After a change, look at the resource first.",
            "The shop's answer is faulty: `$.currency` must be a currency of ISO 4217.",
            None,
            None,
        ),
        Code::Unavailable => (
            "The shop behind the gateway is slow, throttled or down, or the gateway is at its limit.",
            "Try again after `retry_after` seconds, with the same idempotency key.",
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
    Explained { cause, cure, example }
}
