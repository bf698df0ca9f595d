//! MCP transport: operations as calls of tools over streamable HTTP (Model Context Protocol).
//!
//! A tool is first called without a session: operations are stateless, and many shops require nothing else. For a shop
//! that requires a session, one is opened, and opened again when the shop has lost it. Shops of the first release have
//! methods instead of tools.

use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};
use ucp_core::Operation;

use super::{
    response::{self, Told, Trouble},
    twice::twice,
};
use ucp_net::{Ending, Failure, Received, Unreadable};

/// Version of MCP that is requested.
const VERSION: &str = "2025-06-18";

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Media types that an answer may have.
pub(super) const ACCEPT: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// A session that a shop requires.
#[derive(Clone, Debug)]
pub(super) struct Session {
    /// Identifier of the session, if it has one.
    pub(super) id: Option<HeaderValue>,
    /// Version of MCP that the shop speaks in the session.
    pub(super) version: HeaderValue,
}

/// Numbers of calls, and the current session, if there is one.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    next: AtomicU64,
    current: Mutex<Option<Session>>,
    /// `true` if the shop has methods instead of tools.
    methods: AtomicBool,
}

impl Sessions {
    /// Returns a number that no other call has.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns `true` if operations are methods instead of tools.
    pub(super) fn methods(&self) -> bool {
        self.methods.load(Ordering::Relaxed)
    }

    /// Makes further calls use methods instead of tools, or tools again. A call is made in the other form once if the
    /// shop does not know the one that was used.
    pub(super) fn use_methods(&self, methods: bool) {
        if self.methods.swap(methods, Ordering::Relaxed) != methods {
            tracing::info!(methods, "switched between MCP tools and JSON-RPC methods for the upstream");
        }
    }

    pub(super) fn current(&self) -> Option<Session> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, session: Option<Session>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }
}

/// Writes the call of a tool.
pub(super) fn call(number: u64, name: &str, arguments: &Map<String, Value>) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params })
}

/// Writes the call of a method, from the arguments of a tool. In 2026-01-11 each operation is a method, which has the
/// caller and the idempotency key in other members.
pub(super) fn method(number: u64, name: &str, arguments: &Map<String, Value>) -> Value {
    let mut params = arguments.clone();
    let meta = params.shift_remove("meta").unwrap_or_default();
    params.insert("_meta".to_owned(), json!({ "ucp": meta["ucp-agent"] }));
    if let Some(key) = meta.get("idempotency-key") {
        params.insert("idempotency_key".to_owned(), key.clone());
    }
    json!({ "jsonrpc": "2.0", "id": number, "method": name, "params": params })
}

/// Returns `true` if an answer says that a method does not exist, which some shops also say of a tool, so that the call
/// was not carried out.
pub(super) fn is_unknown(number: u64, received: &Received) -> bool {
    message(number, received).is_ok_and(|(message, _)| message["error"]["code"] == -32601)
}

/// Returns `true` if an answer is a result.
pub(super) fn is_carried_out(number: u64, received: &Received) -> bool {
    message(number, received).is_ok_and(|(message, _)| message["result"].is_object())
}

/// Writes the request that opens a session.
pub(super) fn initialize(number: u64) -> Value {
    let client = json!({ "name": "ucp-gateway", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": number, "method": "initialize", "params": params })
}

/// Writes the notification that completes the opening of a session.
pub(super) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// Returns the session that an answer to [`initialize`] opens.
pub(super) fn session(number: u64, received: &Received) -> Option<Session> {
    let (message, _) = message(number, received).ok()?;
    let version = message["result"]["protocolVersion"].as_str()?;
    Some(Session { id: received.headers.get(SESSION).cloned(), version: HeaderValue::from_str(version).ok()? })
}

/// Returns `true` if an answer may mean that the shop requires a session, or another one: it is a refusal without an
/// error code of UCP. Such a call was not carried out.
pub(super) fn wants_session(received: &Received) -> bool {
    let refused = matches!(received.status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST);
    refused && serde_json::from_slice::<Value>(&received.body).unwrap_or_default()["error"]["data"]["code"].is_null()
}

/// Reads the answer to a call. Fails with [`Trouble`] if the shop refuses the call, or its answer cannot be read.
pub(super) fn read(operation: Operation, number: u64, received: &Received) -> Result<Told, Trouble> {
    let (message, twice) = match message(number, received) {
        Ok(read) => read,
        Err(failure) if received.status.is_success() => return Err(failure.into()),
        // Not a JSON-RPC message: a server in front of the shop refuses.
        Err(_) => return response::rest(received),
    };
    if message["error"].is_object() {
        return response::rpc_error(operation, received.status, &message["error"]);
    }
    let result = &message["result"];
    if let Some(error) = refusal(result) {
        return response::rpc_error(operation, received.status, &error);
    }
    // Where the document is in the message: the place of a member that is named twice is one in the document.
    let within = |place: &str| Some(twice?.split_once(place)?.1.to_owned());
    let (document, twice) = match &result["structuredContent"] {
        Value::Object(structured) => (Some(structured.clone()), within(".structuredContent")),
        _ => match text(result) {
            Some((document, twice)) => (Some(document), twice),
            None => (result.as_object().filter(|result| result.contains_key("ucp")).cloned(), within(".result")),
        },
    };
    let Some(document) = document else {
        tracing::warn!(error = result["isError"] == true, "upstream tool result has no structured content");
        return Err(Failure::Unreadable(Unreadable::Unexpected).into());
    };
    Ok(Told { twice, ..response::told(StatusCode::OK, document)? })
}

/// Returns the error in a result that is the refusal of a call: what the `data` of a JSON-RPC error would be is its
/// structure. A document of UCP, which names its release, is none.
fn refusal(result: &Value) -> Option<Value> {
    let data = result["structuredContent"]
        .as_object()
        .filter(|data| result["isError"] == true && !data.contains_key("ucp"))?;
    let is_refusal = data.get("code").is_some_and(Value::is_string) || data.get("errors").is_some_and(Value::is_array);
    is_refusal.then(|| json!({ "message": result["content"][0]["text"], "data": data }))
}

/// Returns the document in a result's text content, and the place of a member that it names twice.
fn text(result: &Value) -> Option<(Map<String, Value>, Option<String>)> {
    let mut texts = result["content"].as_array()?.iter().filter_map(|part| part["text"].as_str());
    texts.find_map(|text| Some((serde_json::from_str(text).ok()?, twice(text.as_bytes()))))
}

/// Returns the message that answers the call with this number, and the place of a member that is named twice.
fn message(number: u64, received: &Received) -> Result<(Value, Option<String>), Failure> {
    let unexpected = Failure::Unreadable(Unreadable::Unexpected);
    if response::is_stream(&received.headers) {
        let mut scanner = Scanner::of(number);
        scanner.feed(&received.body);
        return scanner.found.map(|found| (found, scanner.twice)).ok_or(unexpected);
    }
    let message = chosen(number, received.json()?).ok_or(unexpected)?;
    Ok((message, twice(&received.body)))
}

/// Returns the answer to the call with this number, from a message or a batch of them. A request of the shop is not an
/// answer, although its number may be the same.
fn chosen(number: u64, message: Value) -> Option<Value> {
    let answers = |message: &Value| {
        let own = message["id"] == number || (message["id"].is_null() && message["error"].is_object());
        own && message.get("method").is_none()
    };
    match message {
        Value::Array(batch) => batch.into_iter().find(answers),
        message => Some(message).filter(answers),
    }
}

/// Ends a stream of events at the answer to the call with this number: the shop may leave the stream open. A signed
/// stream is read to its end, because the signature covers all of it.
pub(super) fn ending(number: u64) -> Ending {
    Arc::new(move |headers| {
        if !response::is_stream(headers) || headers.contains_key("content-digest") {
            return None;
        }
        let mut scanner = Scanner::of(number);
        Some(Box::new(move |chunk: &[u8]| scanner.feed(chunk)))
    })
}

/// Scanner of a stream of events (WHATWG HTML, *Server-sent events*) for the answer to one call. Other messages are
/// skipped, and an incomplete event is ignored.
struct Scanner {
    number: u64,
    /// Answer, once its event is complete.
    found: Option<Value>,
    /// Place of a member that the answer names twice.
    twice: Option<String>,
    /// Incomplete line.
    line: Vec<u8>,
    /// Data of the incomplete event.
    data: Option<Vec<u8>>,
    begun: bool,
    /// `true` if the last byte was a carriage return: a line feed after it ends no further line.
    returned: bool,
}

impl Scanner {
    fn of(number: u64) -> Self {
        Self { number, found: None, twice: None, line: Vec::new(), data: None, begun: false, returned: false }
    }

    /// Reads a piece of the stream; returns `true` if the answer has been found.
    fn feed(&mut self, mut rest: &[u8]) -> bool {
        while self.found.is_none() && !rest.is_empty() {
            if mem::take(&mut self.returned) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line();
        }
        self.found.is_some()
    }

    fn end_line(&mut self) {
        let line = mem::take(&mut self.line);
        let line = if mem::replace(&mut self.begun, true) { &*line } else { line.strip_prefix(BOM).unwrap_or(&line) };
        if line.is_empty() {
            let Some(data) = self.data.take() else { return };
            let message = serde_json::from_slice(&data).ok();
            self.found = message.and_then(|message| chosen(self.number, message));
            self.twice = self.found.as_ref().and_then(|_| twice(&data));
            return;
        }
        let value = if line == b"data" { Some(&b""[..]) } else { line.strip_prefix(b"data:") };
        let Some(value) = value else { return };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }
}

/// Byte order mark that a text in UTF-8 may start with.
const BOM: &[u8] = "\u{feff}".as_bytes();

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, header::CONTENT_TYPE};
    use proptest::prelude::*;

    use super::*;

    fn received(media_type: &'static str, status: u16, body: impl Into<Bytes>) -> Received {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))]);
        Received { status: StatusCode::from_u16(status).expect("a status"), headers, body: body.into() }
    }

    #[test]
    fn the_answer_is_found_among_the_events() {
        let stream = ": hello\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\n\
                      data: {\"jsonrpc\":\"2.0\",\"id\":7,\ndata: \"result\":{\"structuredContent\":{\"ucp\":{},\"id\":\"c\"}}}\n\n";
        let told = read(Operation::SearchCatalog, 7, &received("text/event-stream; charset=utf-8", 200, stream))
            .expect("an answer");
        assert_eq!(told.body["id"], "c");
        assert!(
            read(Operation::SearchCatalog, 8, &received("text/event-stream", 200, stream)).is_err(),
            "the answer to another call"
        );
        // The end of the event is missing.
        let cut = stream.trim_end().to_owned();
        assert!(read(Operation::SearchCatalog, 7, &received("text/event-stream", 200, cut)).is_err());
    }

    #[test]
    fn an_answer_is_an_answer_and_none_of_the_shops_own_requests() {
        let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": { "structuredContent": { "ucp": {}, "id": "c" } } });
        let events = [
            json!({ "jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {} }),
            json!({ "jsonrpc": "2.0", "id": 6, "result": {} }),
            json!([{ "jsonrpc": "2.0", "method": "notifications/message" }, answer]),
        ];
        let stream: String = events.iter().map(|event| format!("\u{feff}data:{event}\r\r")).collect();
        // A byte order mark within the stream is part of a field name, which is then unknown.
        assert!(read(Operation::SearchCatalog, 7, &received("text/event-stream", 200, stream.clone())).is_err());
        let stream = stream.replace('\u{feff}', "");
        let told = read(Operation::SearchCatalog, 7, &received("text/event-stream", 200, format!("\u{feff}{stream}")))
            .expect("an answer");
        assert_eq!(told.body["id"], "c");
        let told = read(Operation::SearchCatalog, 7, &received("application/json", 200, json!([answer]).to_string()))
            .expect("an answer");
        assert_eq!(told.body["id"], "c");
    }

    #[test]
    fn documents_are_found_wherever_they_stand() {
        let document = json!({ "ucp": { "version": "2026-04-08" }, "id": "c" });
        for result in [
            json!({ "structuredContent": document }),
            json!({ "content": [{ "type": "text", "text": document.to_string() }] }),
            document.clone(),
        ] {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
            let told = read(Operation::SearchCatalog, 1, &received("application/json", 200, message.to_string()))
                .expect("an answer");
            assert_eq!(Value::Object(told.body.into()), document);
        }
        let nothing = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": "Oops" }], "isError": true } });
        assert!(matches!(
            read(Operation::SearchCatalog, 1, &received("application/json", 200, nothing.to_string())),
            Err(Trouble::Failure(_))
        ));
    }

    #[test]
    fn a_refusal_as_the_result_of_a_tool_is_a_refusal() {
        let read = |structured: Value| {
            let content = json!([{ "type": "text", "text": "No." }]);
            let result = json!({ "content": content, "structuredContent": structured, "isError": true });
            let message = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
            read(Operation::SearchCatalog, 1, &received("application/json", 200, message.to_string()))
        };
        let refused = read(json!({ "code": "invalid_request", "content": "No.", "path": "$.a", "retryable": false }));
        assert!(matches!(refused, Err(Trouble::Refusal(refusal)) if refusal.path.as_deref() == Some("$.a")));
        let outcome = read(json!({ "status": "error", "errors": [{ "code": "not_found", "message": "No." }] }));
        assert_eq!(outcome.expect("an outcome").body["messages"][0]["code"], "not_found");
        let document = json!({ "ucp": { "status": "error" }, "messages": [] });
        assert!(read(document).is_ok());
    }

    proptest! {
        #[test]
        fn no_stream_upsets_it(text in "(data:|event:|id:|\\{|\\}|\"|\n|\r|:| |[a-z0-9])*") {
            let _ = read(Operation::SearchCatalog, 1, &received("text/event-stream", 200, text));
        }

        #[test]
        fn where_a_stream_is_cut_into_pieces_does_not_matter(
            noise in proptest::collection::vec("(: [a-z]*|event: [a-z]*|data: \\{\\}|data|)", 0..6),
            end in "\n|\r\n|\r",
            cuts in proptest::collection::vec(0_usize..200, 0..8),
        ) {
            let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
            let lines = noise.into_iter().chain([String::new(), format!("data: {answer}"), String::new()]);
            let stream: String = lines.flat_map(|line| [line, end.clone()]).collect();
            let mut scanner = Scanner::of(1);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            for piece in cuts.windows(2) {
                scanner.feed(&stream.as_bytes()[piece[0]..piece[1]]);
            }
            prop_assert_eq!(scanner.found, Some(answer));
        }
    }
}
