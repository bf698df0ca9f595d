//! Classification of what a shop returns: an answer, a refusal, or nothing usable.

use std::{fmt, time::Duration};

use http::{HeaderMap, StatusCode};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Operation, Refusal,
    ports::{Body, PortError},
};
use ucp_wire::relay;

use super::twice::twice;
use ucp_net::{Failure, Received, Unreadable, Verdict, classifier};

/// Maximum wait that a shop may state, in seconds.
const MAX_RETRY_AFTER: u64 = 3_600;

/// Content of a refusal of a shop that states none.
const ASKED_TOO_MUCH: &str = "The shop is asked too much at the moment.";

/// Time for which the circuit is open after the shop rejected the gateway as a bot.
const SHUT: Duration = Duration::from_secs(60);

/// Status of a checkout that has become an order.
pub(super) const COMPLETED: &str = "completed";

/// Status of a checkout that is becoming an order.
pub(super) const IN_PROGRESS: &str = "complete_in_progress";

/// An answer of the shop.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// HTTP status of the answer on REST.
    pub(super) status: u16,
    /// Answer, in the shop's release.
    pub(super) body: Body,
    /// Place of a member that the answer names [twice], as JSONPath without the `$`.
    pub(super) twice: Option<String>,
    /// `true` if it is a checkout of which the shop says that it is completed.
    pub(super) completed: bool,
}

impl Told {
    /// Returns an answer without a member that is named twice.
    pub(super) fn new(status: u16, body: impl Into<Body>) -> Self {
        Self { status, body: body.into(), twice: None, completed: false }
    }

    /// Returns `true` if the answer is a checkout that the shop has completed or is completing.
    pub(super) fn is_concluded(&self) -> bool {
        self.completed || self.body.get("status").is_some_and(|status| status == COMPLETED || status == IN_PROGRESS)
    }

    /// Returns `true` if the answer says why there is no result.
    pub(super) fn is_failure(&self) -> bool {
        self.body.written().is_none() && relay::is_failure(&self.body)
    }

    /// Returns `true` if the answer says nothing but that the payment was declined.
    pub(super) fn is_declined(&self) -> bool {
        let messages = self.body.get("messages").and_then(Value::as_array).filter(|messages| !messages.is_empty());
        self.is_failure()
            && messages.is_some_and(|messages| messages.iter().all(|message| message["code"] == "payment_failed"))
    }

    /// Returns the answer as it is cached: as a text, if it can be forwarded unchanged.
    pub(super) fn written_down(self) -> Self {
        if self.body.written().is_some() {
            return self;
        }
        let written = serde_json::to_vec(&*self.body).ok().and_then(|text| Body::written_down(&text));
        Self { body: written.unwrap_or(self.body), ..self }
    }
}

/// Reason why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    /// No response, or an unusable one.
    Failure(Failure),
    /// The shop refuses.
    Refusal(Refusal),
    /// There is an answer that cannot be used, so that it is not known what the shop did; the refusal is for the caller.
    Unusable {
        /// Refusal for the caller.
        refusal: Refusal,
        /// `true` if the answer says that the checkout is completed.
        completed: bool,
    },
    /// The shop says that it does not have the operation; the refusal is for the caller.
    Gone(Refusal),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Failure(failure) => PortError::from(failure).into(),
            Trouble::Refusal(refusal) | Trouble::Gone(refusal) | Trouble::Unusable { refusal, .. } => refusal,
        }
    }
}

impl Trouble {
    /// Converts a failure; it becomes a refusal if the shop's response states a rate limit or unavailability, or a limit
    /// that it stated before still holds.
    pub(super) fn heard(failure: Failure) -> Self {
        let answered = match &failure {
            Failure::Answered(answered) => answered,
            Failure::Limited { wait } => {
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                let retry_after = u32::try_from(seconds.clamp(1, MAX_RETRY_AFTER)).ok();
                return Self::Refusal(Refusal { retry_after, ..Refusal::new(Code::RateLimited, ASKED_TOO_MUCH) });
            }
            _ => return Self::Failure(failure),
        };
        let received = &answered.received;
        let stated = serde_json::from_slice::<Value>(&received.body).unwrap_or_default();
        let stated = if stated["error"]["data"].is_object() { &stated["error"]["data"] } else { &stated };
        let code = match received.status.as_u16() {
            429 => Code::RateLimited,
            503 => Code::Unavailable,
            _ => match stated["code"].as_str().and_then(known) {
                Some(code @ (Code::RateLimited | Code::Unavailable)) => code,
                _ => return Self::Failure(failure),
            },
        };
        let pause = failure.pause().map_or(1, |pause| pause.as_secs().max(1));
        let pause = stated["retry_after"].as_u64().unwrap_or(pause).clamp(1, MAX_RETRY_AFTER);
        let content = text(stated).unwrap_or_else(|| ASKED_TOO_MUCH.to_owned());
        Self::Refusal(Refusal {
            retry_after: u32::try_from(pause).ok(),
            continue_url: stated["continue_url"].as_str().map(str::to_owned),
            ..Refusal::new(code, content)
        })
    }
}

/// Classifies a response before it is read: a body must be JSON or a stream of events, and statuses below 500 are left
/// to the reader.
pub(super) fn judged(received: &Received) -> Verdict {
    if received.status.as_u16() == 430 {
        return Verdict::Rejected { shut: SHUT };
    }
    match classifier::by_status(received) {
        Verdict::Good if received.status.is_success() && !received.body.is_empty() && !is_stream(&received.headers) => {
            let Ok(Error(error)) = serde_json::from_slice(&received.body) else {
                // Any other JSON value is left to the reader if it is sound.
                let sound = serde_json::from_slice::<classifier::Sound>(&received.body).is_ok();
                return if sound { Verdict::Good } else { Verdict::Unreadable(Unreadable::NotJson) };
            };
            let data = &error["data"];
            let pause = data["retry_after"].as_u64().map(|wait| Duration::from_secs(wait.min(MAX_RETRY_AFTER)));
            match data["code"].as_str() {
                Some("rate_limited") => Verdict::Throttled { pause },
                Some("unavailable") => Verdict::Transient { pause },
                _ => Verdict::Good,
            }
        }
        verdict => verdict,
    }
}

/// Member `error` of a document, if it has one. All other values are validated as strictly as if they were kept.
struct Error(Value);

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Document;
        impl<'de> Visitor<'de> for Document {
            type Value = Error;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or an array")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Error, A::Error> {
                let mut error = Value::Null;
                while let Some(name) = map.next_key::<String>()? {
                    if name == "error" {
                        error = map.next_value()?;
                    } else {
                        map.next_value::<classifier::Sound>()?;
                    }
                }
                Ok(Error(error))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Error, A::Error> {
                while seq.next_element::<classifier::Sound>()?.is_some() {}
                Ok(Error(Value::Null))
            }
        }
        deserializer.deserialize_any(Document)
    }
}

/// Returns `true` if a response with these headers is a stream of events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let stated = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = stated.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

/// Reads an answer on REST. Fails with [`Trouble`] if the shop refuses, or its response cannot be read.
pub(super) fn rest(received: &Received) -> Result<Told, Trouble> {
    let status = received.status;
    let document: Map<String, Value> = match received.json() {
        Ok(document) => document,
        Err(unreadable) if status.is_success() => return Err(Failure::from(unreadable).into()),
        Err(_) => return Err(refused(status, &Value::Null)),
    };
    Ok(Told { twice: twice(&received.body), ..told(status, document)? })
}

/// Reads an answer about the catalog, which stays a text if that can be forwarded unchanged. It was validated when it
/// was [judged]. Fails like [`rest`].
pub(super) fn browsed(received: &Received) -> Result<Told, Trouble> {
    match Body::written_down(&received.body).filter(|_| received.status.is_success()) {
        Some(body) => Ok(Told { twice: twice(&received.body), ..Told::new(200, body) }),
        None => rest(received),
    }
}

/// Classifies a document as an answer or a refusal.
pub(super) fn told(status: StatusCode, document: Map<String, Value>) -> Result<Told, Trouble> {
    let outcome = document.get("ucp").is_some_and(Value::is_object)
        || (!document.contains_key("code") && document.get("messages").is_some_and(Value::is_array));
    if status.is_success() || outcome {
        let status = match status.as_u16() {
            kept @ (201 | 409) => kept,
            _ => 200,
        };
        return Ok(Told::new(status, document));
    }
    Err(refused(status, &Value::Object(document)))
}

/// Reads a refusal on REST that is an outcome of the business in the words of its own program: a code that the registry
/// does not have, or no code at all. Returns `None` for everything else.
pub(super) fn rest_outcome(operation: Operation, received: &Received) -> Option<Told> {
    if !received.status.is_client_error() {
        return None;
    }
    outcome(operation, received.status, &serde_json::from_slice(&received.body).ok()?)
}

fn outcome(operation: Operation, status: StatusCode, stated: &Value) -> Option<Told> {
    let members = stated.as_object()?;
    if members.contains_key("ucp") || members.contains_key("messages") {
        return None;
    }
    let code = members.get("code").and_then(Value::as_str).map(str::to_ascii_lowercase).unwrap_or_default();
    if known(&code).is_some() {
        return None;
    }
    let (said, content) = (code.as_str(), text(stated));
    // A conflict without a code is about the state of what exists, unless it speaks of the idempotency key.
    let of_key = |text: &str| text.to_ascii_lowercase().contains("idempotency");
    let of_state = if said.is_empty() { operation.takes_id() && content.is_some() } else { !of_key(said) };
    let (code, severity, answered) = match (status.as_u16(), said) {
        (402, _) => ("payment_failed", "recoverable", 200),
        (400 | 403 | 409 | 422, _) if DECLINED.contains(&said) && operation == Operation::CompleteCheckout => {
            ("payment_failed", "recoverable", 200)
        }
        (400 | 409 | 422, _) if SOLD_OUT.contains(&said) => ("out_of_stock", "recoverable", 200),
        // A path that is not there has no word of the shop's own.
        (404 | 410, _) if operation.takes_id() && (!said.is_empty() || members.contains_key("error")) => {
            ("not_found", "unrecoverable", 200)
        }
        (409, _) if of_state && !content.as_deref().is_some_and(of_key) => {
            (if said.is_empty() { "conflict" } else { said }, "unrecoverable", 409)
        }
        _ => return None,
    };
    report(status, stated, None);
    let content = content.unwrap_or_else(|| "The shop does not say more.".to_owned());
    let message = json!({ "type": "error", "code": code, "content": content, "severity": severity });
    let body =
        Map::from_iter([("ucp".to_owned(), json!({ "status": "error" })), ("messages".to_owned(), json!([message]))]);
    Some(Told::new(answered, body))
}

/// Logs a refusal of the shop; `fault` is what only the gateway's operator can mend.
fn report(status: StatusCode, stated: &Value, fault: Option<&str>) {
    let (status, code, content) = (status.as_u16(), stated["code"].as_str(), text(stated));
    match fault {
        Some(fault) => tracing::error!(status, code, content, "upstream rejected the gateway: {fault}"),
        None => tracing::warn!(status, code, content, "upstream rejected a call"),
    }
}

/// Codes of shops for a payment that was declined.
const DECLINED: [&str; 7] = [
    "card_declined",
    "fraud_detected",
    "insufficient_funds",
    "payment_declined",
    "payment_error",
    "payment_failed",
    "unknown_token",
];

/// Codes of shops for goods of which there are not enough.
const SOLD_OUT: [&str; 3] = ["insufficient_stock", "out_of_stock", "sold_out"];

/// Classifies an error of JSON-RPC as an answer or a refusal.
pub(super) fn rpc_error(operation: Operation, status: StatusCode, error: &Value) -> Result<Told, Trouble> {
    let data = &error["data"];
    // The founding releases report business outcomes as errors.
    if let Some(errors) = data["errors"].as_array().filter(|_| data["code"].is_null()) {
        let message = |error: &Value| {
            let mut message = json!({ "type": "error", "code": error["code"], "content": error["message"], "severity": error["severity"] });
            if error["details"]["path"].is_string() {
                message["path"] = error["details"]["path"].clone();
            }
            message
        };
        let messages: Vec<_> = errors.iter().map(message).collect();
        let mut body = Map::from_iter([
            ("ucp".to_owned(), json!({ "status": "error" })),
            ("messages".to_owned(), messages.into()),
        ]);
        if data["continue_url"].is_string() {
            body.insert("continue_url".to_owned(), data["continue_url"].clone());
        }
        return Ok(Told::new(200, body));
    }
    let status = match error["code"].as_i64() {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32602) if data["code"].is_null() && names_tool(error) => StatusCode::NOT_FOUND,
        Some(-32602) => StatusCode::BAD_REQUEST,
        Some(-32603) => StatusCode::INTERNAL_SERVER_ERROR,
        // The status says nothing, the code of the shop's program does.
        _ if status.is_success() && data["code"].is_string() => StatusCode::UNPROCESSABLE_ENTITY,
        _ => status,
    };
    let mut stated = data.as_object().cloned().unwrap_or_default();
    if !stated.contains_key("content") {
        stated.insert("content".to_owned(), error["message"].clone());
    }
    let stated = Value::Object(stated);
    outcome(operation, status, &stated).ok_or_else(|| refused(status, &stated))
}

fn names_tool(error: &Value) -> bool {
    error["message"].as_str().is_some_and(|message| message.to_ascii_lowercase().contains("tool"))
}

/// Converts a refusal of the shop to that for the caller, and logs it. What is the gateway's fault is not blamed on the
/// caller.
fn refused(status: StatusCode, stated: &Value) -> Trouble {
    let content = text(stated);
    let own = || Refusal::unavailable("The shop rejects this gateway; its operator has to resolve this.", 30);
    let gone = || (Trouble::Gone(own()), Some("it does not have the operation"));
    let (trouble, fault) = match stated["code"].as_str().and_then(known) {
        Some(
            code @ (Code::InvalidRequest
            | Code::InvalidCursor
            | Code::RequestTooLarge
            | Code::BodyTooLarge
            | Code::IdempotencyConflict
            | Code::StoredDataDamaged
            | Code::RateLimited
            | Code::Unavailable),
        ) => {
            let wait = stated["retry_after"].as_u64().map(|wait| wait.clamp(1, MAX_RETRY_AFTER));
            let wait = wait.and_then(|wait| u32::try_from(wait).ok()).or_else(|| code.retryable().then_some(1));
            let refusal = Refusal {
                path: stated["path"].as_str().map(str::to_owned),
                accepted: stated["accepted"].as_str().map(str::to_owned),
                continue_url: stated["continue_url"].as_str().map(str::to_owned),
                retry_after: wait,
                ..Refusal::new(code, content.unwrap_or_else(|| code.meaning().to_owned()))
            };
            (refusal.into(), None)
        }
        Some(Code::UnknownMethod | Code::UnknownTool | Code::UnknownPath | Code::MethodNotAllowed) => gone(),
        Some(Code::VersionUnsupported) => (own().into(), Some("it does not speak the release")),
        Some(Code::InternalError | Code::RequestTimeout | Code::UpstreamInvalid) => (unusable(), None),
        Some(_) => (own().into(), Some("it does not accept its profile, signature or credential")),
        None => match status.as_u16() {
            401 | 403 => (own().into(), Some("it does not accept its credential")),
            404 | 405 => gone(),
            409 => {
                let content = content.unwrap_or_else(|| Code::IdempotencyConflict.meaning().to_owned());
                (Refusal::new(Code::IdempotencyConflict, content).into(), None)
            }
            413 => (Refusal::new(Code::BodyTooLarge, "The shop does not read bodies of this size.").into(), None),
            // What only the gateway states.
            406 | 411 | 415 => (Refusal::internal().into(), Some("it does not accept the form of a request")),
            400..500 if blames_headers(stated) => (Refusal::internal().into(), Some("it does not accept a header")),
            400..500 => {
                let silent = || "The shop does not accept the request, and does not say why.".to_owned();
                (Refusal::new(Code::InvalidRequest, content.unwrap_or_else(silent)).into(), None)
            }
            _ => (unusable(), None),
        },
    };
    report(status, stated, fault);
    trouble
}

/// Returns the trouble with a response of the shop that says nothing usable.
pub(super) fn unusable() -> Trouble {
    let refusal = Refusal::unavailable("The shop returned an invalid response. Retry later.", 1);
    Trouble::Unusable { refusal, completed: false }
}

fn known(code: &str) -> Option<Code> {
    Code::ALL.iter().copied().find(|known| known.as_str() == code)
}

/// Returns the shop's text about a refusal as one [line](ucp_import::text::line()).
fn text(stated: &Value) -> Option<String> {
    let content = ["content", "message", "detail", "error"].into_iter().find_map(|name| match &stated[name] {
        Value::String(text) => Some(text.clone()),
        Value::Array(faults) => Some(listed(faults)).filter(|text| !text.is_empty()),
        _ => None,
    })?;
    ucp_import::text::line(&content)
}

/// Returns faults that a shop lists as `FastAPI` does, each with its place, as one text.
fn listed(faults: &[Value]) -> String {
    let fault = |fault: &Value| {
        let place =
            fault["loc"].as_array()?.iter().map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned));
        Some(format!("{}: {}", place.collect::<Vec<_>>().join("."), fault["msg"].as_str()?))
    };
    faults.iter().filter_map(fault).collect::<Vec<_>>().join("; ")
}

/// Returns `true` if a shop finds fault with nothing but headers.
fn blames_headers(stated: &Value) -> bool {
    let faults = stated["detail"].as_array().filter(|faults| !faults.is_empty());
    faults.is_some_and(|faults| faults.iter().all(|fault| fault["loc"][0] == "header"))
}
