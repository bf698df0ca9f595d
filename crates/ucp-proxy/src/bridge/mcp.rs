//! Operations as calls of tools over streamable HTTP (Model Context Protocol).
//!
//! A tool is called without further ado first: operations are stateless, and many shops want nothing else. A shop that
//! insists on a session gets one; it is begun anew when the shop has forgotten it.

use std::sync::{Mutex, PoisonError, atomic::AtomicU64, atomic::Ordering};

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use super::told::{self, Told, Trouble};
use crate::resilience::{Failure, Received, Unreadable};

/// The version of MCP that is asked for.
const VERSION: &str = "2025-06-18";

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// What answers may be.
pub(super) const ACCEPT: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// A session that a shop insisted on.
#[derive(Clone, Debug)]
pub(super) struct Session {
    /// Its name, if it has one.
    pub(super) id: Option<HeaderValue>,
    /// The version of MCP that it speaks.
    pub(super) version: HeaderValue,
}

/// The numbers of calls, and the session, if there is one.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    next: AtomicU64,
    current: Mutex<Option<Session>>,
}

impl Sessions {
    /// A number that no other call has.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn current(&self) -> Option<Session> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, session: Option<Session>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }
}

/// The call of a tool.
pub(super) fn call(number: u64, name: &str, arguments: &Map<String, Value>) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params })
}

/// The beginning of a session.
pub(super) fn initialize(number: u64) -> Value {
    let client = json!({ "name": "ucp-gateway", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": number, "method": "initialize", "params": params })
}

/// What makes a session complete.
pub(super) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// The session that an answer to [`initialize`] opens.
pub(super) fn session(number: u64, received: &Received) -> Option<Session> {
    let message = message(number, received).ok()?;
    let version = message["result"]["protocolVersion"].as_str()?;
    Some(Session { id: received.headers.get(SESSION).cloned(), version: HeaderValue::from_str(version).ok()? })
}

/// Whether an answer may mean that the shop wants a session, or another one: it refuses, and not in the words of UCP. Such
/// a call was not carried out.
pub(super) fn wants_session(received: &Received) -> bool {
    let refused = matches!(received.status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST);
    refused && serde_json::from_slice::<Value>(&received.body).unwrap_or_default()["error"]["data"]["code"].is_null()
}

/// What the answer to a call says.
///
/// # Errors
/// What the shop refuses, or that it cannot be understood.
pub(super) fn read(number: u64, received: &Received) -> Result<Told, Trouble> {
    let message = match message(number, received) {
        Ok(message) => message,
        Err(failure) if received.status.is_success() => return Err(failure.into()),
        // No message of JSON-RPC: what stands in front of the shop refuses.
        Err(_) => return told::rest(received),
    };
    if message["error"].is_object() {
        return told::rpc_error(received.status, &message["error"]);
    }
    let result = &message["result"];
    let document = match &result["structuredContent"] {
        Value::Object(structured) => Some(structured.clone()),
        _ => text(result).or_else(|| result.as_object().filter(|result| result.contains_key("ucp")).cloned()),
    };
    let Some(document) = document else {
        tracing::warn!(error = result["isError"] == true, "the result of a tool of the shop holds no document");
        return Err(Failure::Unreadable(Unreadable::Unexpected).into());
    };
    told::told(StatusCode::OK, document)
}

/// The document that stands in a result as a text.
fn text(result: &Value) -> Option<Map<String, Value>> {
    let content = result["content"].as_array()?;
    content.iter().filter_map(|part| part["text"].as_str()).find_map(|text| serde_json::from_str(text).ok())
}

/// The message that answers the call with this number.
fn message(number: u64, received: &Received) -> Result<Value, Failure> {
    let answers =
        |message: &Value| message["id"] == number || (message["id"].is_null() && message["error"].is_object());
    if told::is_stream(received) {
        let text = std::str::from_utf8(&received.body).map_err(|_| Failure::Unreadable(Unreadable::NotJson))?;
        let messages = events(text).filter_map(|data| serde_json::from_str::<Value>(&data).ok());
        return messages.into_iter().find(answers).ok_or(Failure::Unreadable(Unreadable::Unexpected));
    }
    let message: Value = received.json()?;
    if answers(&message) { Ok(message) } else { Err(Failure::Unreadable(Unreadable::Unexpected)) }
}

/// The data of the events of a stream (WHATWG HTML, *Server-sent events*). An event that was cut off is none.
fn events(text: &str) -> impl Iterator<Item = String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let mut data: Option<String> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else { break };
        if line.is_empty() {
            events.extend(data.take());
        } else if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            }
        }
    }
    events.into_iter()
}

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
        let told = read(7, &received("text/event-stream; charset=utf-8", 200, stream)).expect("an answer");
        assert_eq!(told.body["id"], "c");
        assert!(read(8, &received("text/event-stream", 200, stream)).is_err(), "the answer to another call");
        // The end of the event is missing.
        let cut = stream.trim_end().to_owned();
        assert!(read(7, &received("text/event-stream", 200, cut)).is_err());
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
            let told = read(1, &received("application/json", 200, message.to_string())).expect("an answer");
            assert_eq!(Value::Object(told.body), document);
        }
        let nothing = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": "Oops" }], "isError": true } });
        assert!(matches!(read(1, &received("application/json", 200, nothing.to_string())), Err(Trouble::Failure(_))));
    }

    proptest! {
        #[test]
        fn no_stream_upsets_it(text in "(data:|event:|id:|\\{|\\}|\"|\n|\r|:| |[a-z0-9])*") {
            for data in events(&text) {
                prop_assert!(!data.contains('\r'));
            }
            let _ = read(1, &received("text/event-stream", 200, text));
        }
    }
}
