//! Requests and answers as they stand in a transcript.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use sha2::{Digest as _, Sha256};

use super::Stage;
use crate::{
    normal::Normaliser,
    wire::{Request, Response},
};

impl Stage<'_> {
    /// A request, for whoever reads; long bodies are cut.
    pub(super) fn shown_request(&mut self, request: &Request) -> String {
        let usual = ["content-type", "ucp-agent"];
        let headers: String = request
            .headers
            .iter()
            .filter(|(name, _)| !usual.contains(&name.to_lowercase().as_str()))
            .map(|(name, value)| format!(" {name}: {value:.200};"))
            .collect();
        let mut body = String::from_utf8_lossy(&request.body).into_owned();
        if let Some((cut, _)) = body.char_indices().nth(1_000) {
            body = format!("{}… ({} bytes)", &body[..cut], request.body.len());
        }
        self.normal.text(&format!("{} {:.500}{headers} {body}", request.method, request.path))
    }

    /// An answer: its status, its headers by name, and its body.
    pub(super) fn shown_answer(&mut self, response: &Response) -> String {
        let mut headers: Vec<_> = response
            .headers
            .iter()
            .filter(|(name, _)| !name.eq_ignore_ascii_case("date"))
            .map(|(name, value)| format!("{name}: {}\n", self.shown_header(name, value, response)))
            .collect();
        headers.sort();
        let body = match std::str::from_utf8(&response.body) {
            Ok(body) => self.normal.text(body),
            Err(_) => format!("{} bytes with the hash {}", response.body.len(), digest(&response.body)),
        };
        format!("HTTP {}\n{}\n{body}", response.status, headers.concat())
    }

    fn shown_header(&mut self, name: &str, value: &str, response: &Response) -> String {
        let derived =
            |expected: String, name: &str| if value == expected { format!("<{name}>") } else { value.to_owned() };
        match name.to_ascii_lowercase().as_str() {
            // Names have another length than what they stand for.
            "content-length" if !response.body.is_empty() => {
                derived(response.body.len().to_string(), "length of the body")
            }
            "content-length" if !self.normal.exact => "<length>".to_owned(),
            "content-digest" => derived(format!("sha-256=:{}:", digest(&response.body)), "digest of the body"),
            "etag" if !self.normal.exact => self.normal.name("etag", value),
            "signature" => "<signature>".to_owned(),
            // A detached signature: what its header says, and nothing of the rest.
            "request-signature" => {
                let header = value.split('.').next().unwrap_or_default();
                let header = BASE64_URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
                format!("{}..<signature>", self.normal.text(&String::from_utf8_lossy(&header)))
            }
            "retry-after" => "<seconds>".to_owned(),
            "webhook-timestamp" => Normaliser::seconds(value),
            "set-cookie" => {
                let (cookie, rest) = value.split_once(';').unwrap_or((value, ""));
                let (key, secret) = cookie.split_once('=').unwrap_or((cookie, ""));
                format!("{key}={};{rest}", self.normal.name("cookie", secret))
            }
            _ => self.normal.text(value),
        }
    }
}

/// The SHA-256 of bytes, in base64.
pub(crate) fn digest(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(Sha256::digest(bytes))
}
