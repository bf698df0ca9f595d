//! JSON-RPC 2.0 messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use ucp_core::{
    Code, Operation, Refusal,
    json::{Limits, parse_around},
};
use ucp_wire::encoded::RpcError;

/// Levels of nesting that a JSON-RPC envelope adds around a payload: message, `params`, `arguments`.
const ENVELOPE: usize = 3;

/// The ID of a JSON-RPC request: a string or a number, as JSON text.
///
/// A number is kept as it was written: one beyond 2^64, or with a fraction or an exponent, would come back as another
/// text if it were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(String);

/// A message that expects an answer.
#[derive(Clone, Debug)]
pub struct Request {
    /// The ID to answer with.
    pub id: Id,
    /// The method name.
    pub method: String,
    /// The parameters: an object or an array.
    pub params: Value,
}

/// A message of a caller.
#[derive(Clone, Debug)]
pub enum Message {
    /// A request, which expects an answer.
    Request(Request),
    /// A notification, or an answer to a request that this gateway never sent.
    Unanswered,
}

/// A message that could not be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The ID, if it could be read.
    pub id: Option<Id>,
    /// The reason.
    pub refusal: Box<Refusal>,
}

/// Reads a message.
///
/// # Errors
/// [`Code::MalformedJson`] if it is not JSON within limits, [`Code::InvalidMessage`] if it is not a JSON-RPC 2.0
/// message.
pub fn read(bytes: &[u8]) -> Result<Message, Unreadable> {
    let value = parse_around(bytes, Limits::REQUEST, ENVELOPE).map_err(relative).map_err(|refusal| {
        // The message is one, with a text that is not accepted.
        let id = if refusal.code == Code::InvalidRequest { self::id(bytes) } else { None };
        Unreadable { id, refusal: refusal.into() }
    })?;
    let invalid = |id: Option<Id>, content: &str| {
        Unreadable {
        id,
        refusal: Box::new(Refusal::new(Code::InvalidMessage, content).accepting(
            "one JSON-RPC 2.0 object with `jsonrpc`: \"2.0\", an `id` that is a text or a number, a `method`, and `params`",
        )),
    }
    };
    let mut members = match value {
        Value::Object(members) => members,
        Value::Array(_) => {
            return Err(invalid(None, "Batches are answered in MCP 2025-03-26 alone, and if they are not empty."));
        }
        _ => return Err(invalid(None, "The message must be a JSON-RPC object.")),
    };
    let id = match members.shift_remove("id") {
        None => None,
        Some(Value::Number(number)) if number.is_f64() => self::id(bytes),
        Some(id @ (Value::String(_) | Value::Number(_))) => Some(Id(id.to_string())),
        Some(_) => return Err(invalid(None, "The `id` is neither a text nor a number.")),
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(id, "`jsonrpc` is not \"2.0\"."));
    }
    let method = match members.shift_remove("method") {
        Some(Value::String(method)) => method,
        None if members.contains_key("result") || members.contains_key("error") => return Ok(Message::Unanswered),
        _ => return Err(invalid(id, "`method` is required and must be a string.")),
    };
    let params = match members.shift_remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ (Value::Object(_) | Value::Array(_))) => params,
        Some(_) => return Err(invalid(id, "The `params` are neither an object nor an array.")),
    };
    Ok(id.map_or(Message::Unanswered, |id| Message::Request(Request { id, method, params })))
}

/// Maximum number of messages in a batch.
pub const MOST_IN_BATCH: usize = 16;

/// Returns the messages of a batch, unread; `None` if the bytes are no array of messages, or an empty one.
///
/// # Errors
/// [`Code::InvalidMessage`] if there are more than [`MOST_IN_BATCH`].
pub fn batch(bytes: &[u8]) -> Result<Option<Vec<&RawValue>>, Refusal> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return Ok(None);
    }
    let Ok(messages) = serde_json::from_slice::<Vec<&RawValue>>(bytes) else { return Ok(None) };
    if messages.len() > MOST_IN_BATCH {
        return Err(Refusal::new(Code::InvalidMessage, "The batch has too many messages.")
            .accepting(format!("at most {MOST_IN_BATCH} messages in a batch")));
    }
    Ok(Some(messages).filter(|messages| !messages.is_empty()))
}

/// Returns `true` if a message, whose envelope alone is read, is the call of a tool.
pub fn calls_tool(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    serde_json::from_slice(bytes).is_ok_and(|Named { method }| method == "tools/call")
}

/// Reads only the ID of a message, for a refusal that does not depend on its content.
pub fn id(bytes: &[u8]) -> Option<Id> {
    #[derive(Deserialize)]
    struct Identified<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let Identified { id } = serde_json::from_slice(bytes).ok()?;
    match id.get().as_bytes().first()? {
        b'-' | b'0'..=b'9' => Some(Id(id.get().to_owned())),
        b'"' => serde_json::from_str(id.get()).ok().map(|text: Value| Id(text.to_string())),
        _ => None,
    }
}

/// Makes the path of a refusal relative to the payload of a tool or method if it points into one, so that it is the
/// same in every way of sending the payload.
fn relative(mut refusal: Refusal) -> Refusal {
    let inside = |path: &str, place: &str| {
        let rest = path.strip_prefix(place)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then(|| format!("${rest}"))
    };
    // As an argument of a tool, as a named parameter, and by position after `meta` and `id`.
    let places = Operation::ALL.iter().filter_map(|operation| {
        let (payload, position) = (operation.row().payload?, 1 + usize::from(operation.takes_id()));
        Some([format!("$.params.arguments.{payload}"), format!("$.params.{payload}"), format!("$.params[{position}]")])
    });
    if let Some(path) = &refusal.path
        && let Some(path) = places.flatten().find_map(|place| inside(path, &place))
    {
        refusal.path = Some(path);
    }
    refusal
}

/// Builds an answer with a result; `result` is JSON.
pub fn result(id: &Id, mut result: String) -> String {
    // Results have room, and most of them are long.
    result.insert_str(0, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, id.0));
    result.push('}');
    result
}

/// Builds an answer with an error. Its `data` is JSON already; `request_id` is added to it.
pub fn error(id: Option<&Id>, error: &RpcError, request_id: Option<&str>) -> String {
    let id = id.map_or("null", |id| &id.0);
    let RpcError { code, message, data } = error;
    let message = Value::from(&**message);
    let data = match (data.strip_suffix('}'), request_id) {
        (Some(members), Some(request_id)) => {
            let comma = if members.ends_with('{') { "" } else { "," };
            format!(r#"{members}{comma}"request_id":{}}}"#, Value::from(request_id))
        }
        _ => data.clone(),
    };
    let data = if data == "null" { String::new() } else { format!(r#","data":{data}"#) };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#)
}

#[cfg(test)]
mod tests {
    use ucp_wire::refusal::json_rpc;

    use super::*;

    #[test]
    fn faults_inside_a_payload_are_placed_there() {
        let path = |arguments: &str| {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{arguments}}}}}"#);
            read(text.as_bytes()).expect_err("a fault").refusal.path.expect("a path")
        };
        assert_eq!(path(r#"{"catalog":{"filters":{"a":1,"a":2}}}"#), "$.filters.a");
        assert_eq!(path(r#"{"catalog":{"ids":["\ud800"]}}"#), "$.ids[0]");
        assert_eq!(path(r#"{"catalog":{"query":"\u0000"}}"#), "$.query");
        assert_eq!(path(r#"{"meta":{"a":1,"a":2}}"#), "$.params.arguments.meta.a");
        assert_eq!(path(r#"{"catalogue":{"a":1,"a":2}}"#), "$.params.arguments.catalogue.a");
    }

    #[test]
    fn a_message_with_an_unfit_text_is_answered_under_its_id() {
        for text in [r#""\u0000""#, r#""\ud800""#, r#"{"\u0001":1}"#] {
            let message = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"a":{text}}},"id":"7"}}"#);
            let unreadable = read(message.as_bytes()).expect_err("a fault");
            assert_eq!(
                (unreadable.refusal.code, unreadable.id),
                (Code::InvalidRequest, Some(Id("\"7\"".into()))),
                "{text}"
            );
        }
    }

    #[test]
    fn errors_say_which_request_they_belong_to() {
        let told = |data: &str, request_id| {
            let text = error(None, &RpcError { code: -1, message: "\"".into(), data: data.into() }, request_id);
            serde_json::from_str::<Value>(&text).expect("JSON")["error"].get("data").cloned()
        };
        assert_eq!(told(r#"{"a":1}"#, Some("r")), Some(serde_json::json!({ "a": 1, "request_id": "r" })));
        assert_eq!(told("{}", Some("r")), Some(serde_json::json!({ "request_id": "r" })));
        assert_eq!(told("{}", None), Some(serde_json::json!({})));
        assert_eq!(told("null", Some("r")), None, "an error without data has no such member");
    }

    #[test]
    fn the_identifier_is_found_without_reading_the_rest() {
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":"a","method":3,"x":{"a":1,"a":2}}"#), Some(Id("\"a\"".into())));
        assert_eq!(id(br#"{"id":{}}"#), None);
        assert_eq!(id(br#"{"method":"ping"}"#), None);
        assert_eq!(id(b"{\"id\":1"), None);
    }

    #[test]
    fn a_batch_is_split_within_its_limit() {
        let parts = |text: &str| {
            batch(text.as_bytes())
                .map(|parts| parts.map(|parts| parts.iter().map(|part| part.get().to_owned()).collect()))
        };
        assert_eq!(parts(r#" [{"id":1}, 2]"#), Ok(Some(vec![r#"{"id":1}"#.to_owned(), "2".to_owned()])));
        for none in ["[]", "{}", "[1", "", "[1] x"] {
            assert_eq!(parts(none), Ok(None), "{none}");
        }
        let of = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(parts(&of(MOST_IN_BATCH)).is_ok());
        assert_eq!(parts(&of(MOST_IN_BATCH + 1)).expect_err("too many").code, Code::InvalidMessage);
    }

    #[test]
    fn a_call_of_a_tool_is_known_by_its_envelope() {
        assert!(calls_tool(br#"{"id":1,"method":"tools\/call","params":{"a":1,"a":2}}"#));
        assert!(!calls_tool(br#"{"id":1,"method":"tools/list"}"#) && !calls_tool(b"{") && !calls_tool(b"[]"));
    }

    #[test]
    fn numbers_come_back_as_they_were_written() {
        for number in ["9007199254740993", "123456789012345678901234567890", "-0", "1.50", "1e3", "-1E400"] {
            let message = format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"id":1}},"id":{number}}}"#);
            assert_eq!(id(message.as_bytes()), Some(Id(number.to_owned())));
            if let Ok(Message::Request(request)) = read(message.as_bytes()) {
                assert_eq!(
                    result(&request.id, "{}".to_owned()),
                    format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#)
                );
            } else {
                assert_eq!(number, "-1E400", "only numbers beyond a float cannot be read");
            }
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let kind = |text: &str| match read(text.as_bytes()) {
            Ok(Message::Request(request)) => format!("{} {} {}", request.id.0, request.method, request.params),
            Ok(Message::Unanswered) => "unanswered".to_owned(),
            Err(Unreadable { id, refusal }) => {
                format!("{} {}", id.map_or("null".to_owned(), |id| id.0), json_rpc(refusal.code))
            }
        };
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), "1 ping {}");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"m","params":[1],"id":"0"}"#), "\"0\" m [1]");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#), "1 ping {}");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "unanswered");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "unanswered");
        assert_eq!(kind(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#), "null -32600");
        assert_eq!(kind("[]"), "null -32600");
        assert_eq!(kind(r#"{"id":1,"method":"ping"}"#), "1 -32600");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), "null -32600");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#), "null -32600");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1}"#), "1 -32600");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":3}"#), "1 -32600");
        assert_eq!(kind("{"), "null -32700");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#), "null -32700");
    }
}
