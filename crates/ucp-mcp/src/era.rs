//! Detection of the MCP generation of a message.
//!
//! Up to 2025-11-25 a client performs a handshake (`initialize`) and then names the version in a header, or, like UCP
//! platforms, does neither. From 2026-07-28 on there is no handshake: every request names its version in `_meta`, and
//! its headers repeat parts of the body. A message is modern if `_meta` names a version, or if the header names one
//! without a handshake.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::message::Request;

/// Versions with a handshake, newest first.
pub const HANDSHAKE_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The only version in which messages may come in batches.
pub const BATCHING_VERSION: &str = "2025-03-26";

/// The version without a handshake.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The `_meta` member with the version.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The `_meta` member with the client's capabilities.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Headers that repeat parts of a modern message, as far as they were sent.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
}

/// A generation of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// MCP up to 2025-11-25, or plain JSON-RPC without a handshake.
    Handshake,
    /// MCP 2026-07-28.
    Modern,
}

/// A violation of the rules for modern messages, as a JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The JSON-RPC error code.
    pub code: i32,
    /// The error message.
    pub message: String,
    /// The `data` of the error.
    pub data: Value,
}

impl Violation {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }
}

/// Returns the generation of a message after checking the rules of that generation.
///
/// `mirror` is `None` for a transport without headers.
///
/// # Errors
/// The first rule that a modern message violates.
pub fn classify(request: &Request, mirror: Option<&Mirror>) -> Result<Era, Violation> {
    let meta = request.params.get("_meta");
    let stated = meta.and_then(|meta| meta.get(PROTOCOL_VERSION));
    let header = mirror.and_then(|mirror| mirror.version.as_deref()).map(str::trim);
    let modern_header = header.is_some_and(|version| !HANDSHAKE_VERSIONS.contains(&version));
    if stated.is_none() && !modern_header {
        return Ok(Era::Handshake);
    }
    let Some(stated) = stated.and_then(Value::as_str) else {
        // An unknown version is reported before missing members.
        if let Some(unknown) = header.filter(|version| *version != MODERN_VERSION) {
            return Err(unsupported(unknown));
        }
        return Err(Violation::new(
            -32602,
            format!("`_meta[\"{PROTOCOL_VERSION}\"]` is required and must be a string."),
        ));
    };
    if let Some(mirror) = mirror {
        mirrored("MCP-Protocol-Version", mirror.version.as_deref(), stated)?;
    }
    if stated != MODERN_VERSION {
        return Err(unsupported(stated));
    }
    if !meta.and_then(|meta| meta.get(CLIENT_CAPABILITIES)).is_some_and(Value::is_object) {
        return Err(Violation::new(-32602, format!("`_meta[\"{CLIENT_CAPABILITIES}\"]` is missing or no object.")));
    }
    if let Some(mirror) = mirror {
        mirrored("Mcp-Method", mirror.method.as_deref(), &request.method)?;
        if request.method == "tools/call" {
            let name = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
            mirrored("Mcp-Name", mirror.name.as_deref(), name)?;
        }
    }
    Ok(Era::Modern)
}

fn unsupported(version: &str) -> Violation {
    let supported: Vec<_> = std::iter::once(&MODERN_VERSION).chain(HANDSHAKE_VERSIONS).collect();
    let requested: String = version.chars().filter(|letter| !letter.is_control()).take(64).collect();
    Violation {
        code: -32022,
        message: "This version of MCP is not supported.".to_owned(),
        data: json!({ "supported": supported, "requested": requested }),
    }
}

fn mirrored(name: &str, header: Option<&str>, body: &str) -> Result<(), Violation> {
    match header.map(decoded) {
        Some(Some(value)) if value == body => Ok(()),
        Some(_) => Err(Violation::new(-32020, format!("The `{name}` header does not say what the body says."))),
        None => Err(Violation::new(-32020, format!("The `{name}` header is missing."))),
    }
}

/// Decodes the value of a mirrored header: a value that HTTP cannot carry is sent as `=?base64?…?=`. Returns `None` if
/// it is malformed.
fn decoded(value: &str) -> Option<String> {
    let value = value.trim();
    let encoded = value
        .get(..9)
        .filter(|start| start.eq_ignore_ascii_case("=?base64?"))
        .and_then(|_| value[9..].strip_suffix("?="));
    match encoded {
        Some(encoded) => STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        None => Some(value.to_owned()),
    }
}

/// Returns the version to agree on with a client that proposes `requested` (MCP *Lifecycle*): the same if it has a
/// handshake, else the newest one that has.
pub fn negotiated(requested: Option<&str>) -> &'static str {
    HANDSHAKE_VERSIONS.iter().find(|version| Some(**version) == requested).unwrap_or(&HANDSHAKE_VERSIONS[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, read};

    fn request(method: &str, params: &Value) -> Request {
        let text = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        match read(text.as_bytes()) {
            Ok(Message::Request(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    fn meta(version: &str) -> Value {
        json!({ "_meta": { PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {} }, "name": "get_product" })
    }

    fn mirror(version: Option<&str>, method: Option<&str>, name: Option<&str>) -> Mirror {
        Mirror { version: version.map(Into::into), method: method.map(Into::into), name: name.map(Into::into) }
    }

    #[test]
    fn versions_are_negotiated_downwards_only() {
        assert_eq!(negotiated(Some("2025-03-26")), "2025-03-26");
        assert_eq!(negotiated(Some("2026-07-28")), "2025-11-25");
        assert_eq!(negotiated(Some("1999-01-01")), "2025-11-25");
        assert_eq!(negotiated(None), "2025-11-25");
    }

    #[test]
    fn eras_are_told_apart_and_modern_messages_checked() {
        let verdict = |params: &Value, mirror: &Mirror| {
            classify(&request("tools/call", params), Some(mirror)).map_err(|violation| violation.code)
        };
        let bare = json!({});
        assert_eq!(verdict(&bare, &mirror(None, None, None)), Ok(Era::Handshake));
        assert_eq!(verdict(&bare, &mirror(Some("2025-11-25"), None, None)), Ok(Era::Handshake));
        assert_eq!(verdict(&bare, &mirror(Some("2026-07-28"), None, None)), Err(-32602));
        assert_eq!(verdict(&bare, &mirror(Some("2031-01-01"), None, None)), Err(-32022));

        let (version, method, name) = (Some("2026-07-28"), Some("tools/call"), Some("get_product"));
        let modern = meta("2026-07-28");
        assert_eq!(verdict(&modern, &mirror(version, method, name)), Ok(Era::Modern));
        assert_eq!(verdict(&modern, &mirror(version, method, Some(" =?base64?Z2V0X3Byb2R1Y3Q=?= "))), Ok(Era::Modern));
        assert_eq!(verdict(&modern, &mirror(None, method, name)), Err(-32020));
        assert_eq!(verdict(&modern, &mirror(Some("2025-11-25"), method, name)), Err(-32020));
        assert_eq!(verdict(&modern, &mirror(version, Some("tools/list"), name)), Err(-32020));
        assert_eq!(verdict(&modern, &mirror(version, method, None)), Err(-32020));
        assert_eq!(verdict(&modern, &mirror(version, method, Some("=?base64?!?="))), Err(-32020));
        assert_eq!(verdict(&meta("2031-01-01"), &mirror(Some("2031-01-01"), method, name)), Err(-32022));
        assert_eq!(classify(&request("tools/list", &meta("2026-07-28")), None), Ok(Era::Modern));
    }
}
