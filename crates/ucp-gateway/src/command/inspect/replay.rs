//! `replay`: sends a call that the inspector has recorded whole again, and compares the answers.

use std::{error::Error, fmt::Write as _, fs, path::PathBuf, process::ExitCode};

use clap::Args;
use http::{HeaderName, Method};
use serde::Deserialize;
use serde_json::Value;
use ucp_core::Operation;
use ucp_host::{cause::chain, clock};
use ucp_net::outbound::{self, Client};
use ucp_trust::signature::{Scheme, SigningKey, message::RawMessage};
use url::Url;
use uuid::Uuid;

use super::{
    message::signing_key,
    recorded::{Inspected, PATIENCE, body},
};
use crate::{
    command::{
        Done,
        output::say,
        runtime::{runtime, wait},
    },
    terminal::Paint,
};

/// Maximum number of differences that are printed.
const SHOWN: usize = 50;

/// Number of hexadecimal digits from which on a word is an identifier, which another call has others of.
const IDENTIFIER: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct ReplayOptions {
    /// Recorded call: a file that `--save` wrote, or the ID of a request at the gateway of `--url`, which has
    /// `server.record_unmasked`.
    call: String,
    #[command(flatten)]
    gateway: Inspected,
    /// URL of a second gateway: send the call to both, and compare their responses.
    #[arg(long, value_name = "URL")]
    against: Option<Url>,
    /// Also send calls that write.
    #[arg(long)]
    allow_writes: bool,
    /// File with the private key (JWK) that signs the call.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// File to write the recorded call to, unmasked, instead of sending it.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

/// A call as the inspector has recorded it.
#[derive(Debug, Deserialize)]
struct Recorded {
    method: String,
    /// Path and query of the request.
    path: String,
    operation: Option<String>,
    status: Option<u16>,
    /// Header fields of the request.
    fields: Vec<(String, String)>,
    body: String,
    /// Body of the answer.
    answered: String,
}

/// An answer.
struct Answer {
    status: u16,
    document: Value,
}

/// Sends a call again, and prints where the answers differ: exit code 1 if they do.
pub(crate) fn run(options: &ReplayOptions) -> Done {
    let paint = Paint::of_stdout();
    wait(&runtime(1)?, async {
        let text = options.recorded().await?;
        if let Some(file) = &options.save {
            fs::write(file, &text).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
            say!("saved as {}; it is not masked", file.display());
            return Ok(ExitCode::SUCCESS);
        }
        let recorded: Recorded = serde_json::from_str(&text)
            .map_err(|error| format!("the call is not one that `replay --save` has written: {error}"))?;
        if recorded.writes() && !options.allow_writes {
            let what = recorded.operation.as_deref().unwrap_or(&recorded.method);
            return Err(format!("{what} changes something; --allow-writes sends it all the same").into());
        }
        let key = options.key.as_deref().map(signing_key).transpose()?;
        let new = send(&recorded, &options.gateway.url, key.as_ref()).await?;
        let (old, names) = match &options.against {
            Some(other) => {
                (send(&recorded, other, key.as_ref()).await?, [other.as_str(), options.gateway.url.as_str()])
            }
            None => (recorded.answer(&options.gateway.url), ["recorded", "now"]),
        };
        let mut differences = Vec::new();
        if old.status != new.status {
            differences.push(("status".to_owned(), old.status.to_string(), new.status.to_string()));
        }
        compare("$", &old.document, &new.document, &mut differences);
        if options.gateway.json {
            let listed: Vec<_> = differences
                .iter()
                .map(|(path, old, new)| serde_json::json!({ "path": path, "before": old, "after": new }))
                .collect();
            say!("{:#}", serde_json::json!({ "status": new.status, "differences": listed, "answer": new.document }));
        } else {
            say!("{} {}  {} ({}), {} ({})", recorded.method, recorded.path, names[0], old.status, names[1], new.status);
            for (path, old, new) in differences.iter().take(SHOWN) {
                say!("  {}\n    {} {old}\n    {} {new}", paint.strong(path), paint.bad("-"), paint.good("+"));
            }
            match differences.len() {
                0 => say!("  no difference but in identifiers and times"),
                count if count > SHOWN => say!("  and {} more", count - SHOWN),
                _ => {}
            }
        }
        Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

impl ReplayOptions {
    /// Returns the recorded call as JSON.
    async fn recorded(&self) -> Result<String, Box<dyn Error>> {
        match fs::read_to_string(&self.call) {
            Ok(text) => return Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{} cannot be read: {error}", self.call).into()),
        }
        let found = self.gateway.get(self.gateway.at(&["calls", &self.call, "whole"])?).await?;
        if found.status() != 200 {
            return Err(format!(
                "there is no file {}, and the gateway at {} has recorded no such call whole: that takes `server.record_unmasked` and \
                 the policy `development`",
                self.call, self.gateway.url
            )
            .into());
        }
        Ok(String::from_utf8(body(found).await?)?)
    }
}

impl Recorded {
    /// Returns `true` if the call changes something, as far as is known.
    fn writes(&self) -> bool {
        match self.operation.as_deref().and_then(Operation::named) {
            Some(operation) => operation.row().effect.writes(),
            None => self.method != "GET",
        }
    }

    fn answer(&self, gateway: &Url) -> Answer {
        Answer { status: self.status.unwrap_or_default(), document: document(&self.answered, gateway) }
    }

    /// Returns the request as a message for `at`, under a new idempotency key: under the old one, the recorded answer would
    /// come back.
    fn message(&self, at: &Url) -> Result<RawMessage, Box<dyn Error>> {
        let key = Uuid::new_v4().to_string();
        let authority = at[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {authority}\r\n", self.method, self.path);
        for (name, value) in &self.fields {
            let value = if name == "idempotency-key" { &key } else { value };
            // Writing to a text cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let body = match serde_json::from_str::<Value>(&self.body) {
            Ok(mut message) => {
                for place in [
                    "/params/arguments/meta/idempotency-key",
                    "/params/_meta/ucp/idempotency-key",
                    "/params/meta/idempotency-key",
                ] {
                    if let Some(stated) = message.pointer_mut(place) {
                        *stated = Value::String(key.clone());
                    }
                }
                if let Some(stated) = message.pointer_mut("/params/idempotency_key") {
                    *stated = Value::String(key.clone());
                }
                message.to_string()
            }
            Err(_) => self.body.clone(),
        };
        Ok(RawMessage::parse(format!("{head}\r\n{body}").as_bytes())?)
    }
}

/// Sends a recorded call to a gateway.
async fn send(recorded: &Recorded, gateway: &Url, key: Option<&SigningKey>) -> Result<Answer, Box<dyn Error>> {
    let mut message = recorded.message(gateway)?;
    let scheme = if gateway.scheme() == "https" { Scheme::Https } else { Scheme::Http };
    if let Some(key) = key {
        message.sign(scheme, &[], key, clock::now())?;
    }
    let url = gateway.join(&recorded.path)?;
    let client: Client = outbound::client(PATIENCE, &[], |builder| builder)?;
    let mut request = client.request(Method::from_bytes(recorded.method.as_bytes())?, url);
    for (name, value) in message.headers() {
        if *name != HeaderName::from_static("host") {
            request = request.header(name, value);
        }
    }
    let sent = request.body(message.body().to_vec()).send().await;
    let response = sent.map_err(|error| format!("the gateway at {gateway} cannot be asked: {}", chain(&error)))?;
    let status = response.status().as_u16();
    let bytes = body(response).await?;
    Ok(Answer { status, document: document(&String::from_utf8_lossy(&bytes), gateway) })
}

/// Reads an answer as a document; the text itself, if it is no JSON. The gateway's own address is left out of both, which
/// another gateway has another of.
fn document(text: &str, gateway: &Url) -> Value {
    let text = text.replace(&gateway.origin().ascii_serialization(), "<gateway>");
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Adds the places at which two documents differ other than in identifiers and times.
fn compare(path: &str, old: &Value, new: &Value, differences: &mut Vec<(String, String, String)>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                compare(&format!("{path}.{name}"), value, new.get(name).unwrap_or(&Value::Null), differences);
            }
            for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                compare(&format!("{path}.{name}"), &Value::Null, value, differences);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for place in 0..old.len().max(new.len()) {
                let of = |all: &[Value]| all.get(place).cloned().unwrap_or_default();
                compare(&format!("{path}[{place}]"), &of(old), &of(new), differences);
            }
        }
        (Value::String(old), Value::String(new)) => {
            // The text of an MCP answer is a document.
            match (serde_json::from_str::<Value>(old), serde_json::from_str::<Value>(new)) {
                (Ok(old @ Value::Object(_)), Ok(new @ Value::Object(_))) => compare(path, &old, &new, differences),
                _ if lasting(old) == lasting(new) => {}
                _ => differences.push((path.to_owned(), old.clone(), new.clone())),
            }
        }
        _ if old == new => {}
        _ => differences.push((path.to_owned(), old.to_string(), new.to_string())),
    }
}

/// Returns a text without what differs from call to call: identifiers and times.
fn lasting(text: &str) -> String {
    if text.parse::<jiff::Timestamp>().is_ok() {
        return "<time>".to_owned();
    }
    let is_part = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    let mut kept = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        kept.push_str(if length >= IDENTIFIER { "<id>" } else { word });
        rest = after;
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_differ_in_what_lasts() {
        let old = json!({
            "id": "chk_0123456789abcdef", "at": "2026-11-26T10:00:00Z", "total": 5, "text": r#"{"id":"a","n":1}"#,
            "url": "https://shop.example/continue/00112233445566778899", "lines": [1, 2],
        });
        let mut new = old.clone();
        new["id"] = json!("chk_fedcba9876543210");
        new["at"] = json!("2026-11-26T11:00:00Z");
        new["url"] = json!("https://shop.example/continue/99887766554433221100");
        let mut differences = Vec::new();
        compare("$", &old, &new, &mut differences);
        assert!(differences.is_empty(), "{differences:?}");
        new["total"] = json!(6);
        new["text"] = json!(r#"{"id":"a","n":2}"#);
        new["lines"] = json!([1]);
        new["more"] = json!(true);
        compare("$", &old, &new, &mut differences);
        let paths: Vec<_> = differences.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(paths, ["$.total", "$.text.n", "$.lines[1]", "$.more"]);
    }
}
