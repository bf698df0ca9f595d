//! HTTP messages in files, as written by people and test suites (RFC 9112).
//!
//! The lines of the head end with CRLF or LF; the body is the unchanged bytes after the empty line, up to
//! `Content-Length` if that is stated.

use std::time::SystemTime;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING},
};

use super::{
    base::{Message, RequestLine, Scheme, Start},
    digest::CONTENT_DIGEST,
    input::{SIGNATURE, SIGNATURE_INPUT},
    key::SigningKey,
    sign::{SignError, sign_request, sign_response},
};

/// Header fields that signing sets.
const SIGNED: [HeaderName; 3] = [CONTENT_DIGEST, SIGNATURE_INPUT, SIGNATURE];

/// Reason why a file is not an HTTP message that can be signed or verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The first line is neither a request line nor a status line.
    #[error(
        "line 1 is {0:?}; expected a request line like `POST /path HTTP/1.1` or a status line like `HTTP/1.1 200 OK`"
    )]
    FirstLine(String),
    /// The target of the request has no path and is not an address.
    #[error("line 1: the target {0:?} is neither a path nor an http or https address")]
    Target(String),
    /// A line of the head is not a header field.
    #[error("line {line}: {why}")]
    Header {
        /// Number of the line, from 1.
        line: usize,
        /// Description of the fault.
        why: &'static str,
    },
    /// The request states its host neither in its target nor in `Host`.
    #[error("the request has no Host")]
    NoHost,
    /// The body does not have the stated length.
    #[error("the body has {found} bytes, but Content-Length is {stated:?}")]
    Length {
        /// Length of the body, in bytes.
        found: usize,
        /// Value of the header field.
        stated: String,
    },
    /// The body has a transfer coding, so its bytes are not the signed ones.
    #[error("the body is in a transfer coding; write the message down without it")]
    TransferEncoding,
}

/// A message from a file.
#[derive(Clone, Debug)]
pub struct RawMessage {
    /// Lines of the head as they are in the file, each with its field; `None` for the first line.
    lines: Vec<(Option<HeaderName>, String)>,
    line_end: &'static str,
    first: First,
    headers: HeaderMap,
    body: Vec<u8>,
}

#[derive(Clone, Debug)]
enum First {
    Request { method: String, scheme: Option<Scheme>, authority: String, path: String, query: Option<String> },
    Response(u16),
}

impl RawMessage {
    /// Parses a message. Fails with [`MessageError`] for the first fault, with its line where it is in the head.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut rest = bytes;
        let mut next = || {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (line, after) = end.map_or((rest, &[][..]), |end| (&rest[..end], &rest[end + 1..]));
            rest = after;
            let crlf = line.ends_with(b"\r");
            (if crlf { &line[..line.len() - 1] } else { line }, crlf, rest)
        };
        let (line, crlf, _) = next();
        let text = String::from_utf8_lossy(line).into_owned();
        let mut headers = HeaderMap::new();
        let mut lines = vec![(None, text.clone())];
        let body = loop {
            let (line, _, rest) = next();
            if line.is_empty() {
                break rest;
            }
            let (name, value) = field(line).map_err(|why| MessageError::Header { line: lines.len() + 1, why })?;
            headers.append(name.clone(), value);
            lines.push((Some(name), String::from_utf8_lossy(line).into_owned()));
        };
        let first = First::read(&text, &headers)?;
        let body = bounded(body, &headers)?.to_vec();
        Ok(Self { lines, line_end: if crlf { "\r\n" } else { "\n" }, first, headers, body })
    }

    /// Returns the message in the form that signatures cover. `scheme` is that of a request whose target does not state
    /// one.
    pub fn view(&self, scheme: Scheme) -> Message<'_> {
        Message { start: self.first.start(scheme), headers: &self.headers }
    }

    /// Returns the header fields.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Signs the message, with the fields in `extra` in addition to those that UCP requires; responses are signed
    /// without them. Returns the signature base. Fails as [`sign_request`] and [`sign_response`].
    pub fn sign(
        &mut self,
        scheme: Scheme,
        extra: &[HeaderName],
        key: &SigningKey,
        now: SystemTime,
    ) -> Result<Vec<u8>, SignError> {
        match self.first.start(scheme) {
            Start::Request(line) => sign_request(line, &mut self.headers, &self.body, extra, key, now),
            Start::Response(status) => sign_response(status, &mut self.headers, &self.body, key, now),
        }
    }

    /// Returns the message as bytes: the lines of the file unchanged, with the fields that [`Self::sign`] sets at the
    /// end of the head.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kept = self.lines.iter().filter(|(name, _)| name.as_ref().is_none_or(|name| !SIGNED.contains(name)));
        let mut bytes = Vec::with_capacity(1024 + self.body.len());
        for (_, line) in kept {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(self.line_end.as_bytes());
        }
        for (name, shown) in SIGNED.iter().zip(["Content-Digest", "Signature-Input", "Signature"]) {
            for value in self.headers.get_all(name) {
                bytes.extend_from_slice(shown.as_bytes());
                bytes.extend_from_slice(b": ");
                bytes.extend_from_slice(value.as_bytes());
                bytes.extend_from_slice(self.line_end.as_bytes());
            }
        }
        bytes.extend_from_slice(self.line_end.as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl First {
    fn read(line: &str, headers: &HeaderMap) -> Result<Self, MessageError> {
        let wrong = || MessageError::FirstLine(line.chars().take(200).collect());
        let mut words = line.split(' ');
        let (Some(first), Some(second)) = (words.next(), words.next()) else { return Err(wrong()) };
        if first.starts_with("HTTP/") {
            let status = second.parse().ok().filter(|status| (100..1000).contains(status) && second.len() == 3);
            return status.map(Self::Response).ok_or_else(wrong);
        }
        let version = words.next().is_some_and(|version| version.starts_with("HTTP/"));
        if !version || words.next().is_some() || Method::from_bytes(first.as_bytes()).is_err() {
            return Err(wrong());
        }
        Self::request(first, second, headers)
    }

    fn request(method: &str, target: &str, headers: &HeaderMap) -> Result<Self, MessageError> {
        let wrong = || MessageError::Target(target.chars().take(200).collect());
        let absolute = [("https://", Scheme::Https), ("http://", Scheme::Http)]
            .into_iter()
            .find_map(|(prefix, scheme)| Some((scheme, target.strip_prefix(prefix)?)));
        let (scheme, authority, target) = match absolute {
            Some((scheme, rest)) => {
                let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                (Some(scheme), authority, target)
            }
            None if target.starts_with('/') => {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok()).ok_or(MessageError::NoHost)?;
                (None, host.trim(), target)
            }
            None => return Err(wrong()),
        };
        if authority.is_empty() {
            return Err(wrong());
        }
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        Ok(Self::Request {
            method: method.to_owned(),
            scheme,
            authority: authority.to_owned(),
            path: path.to_owned(),
            query: query.map(str::to_owned),
        })
    }

    fn start(&self, default: Scheme) -> Start<'_> {
        match self {
            Self::Request { method, scheme, authority, path, query } => Start::Request(RequestLine {
                method,
                scheme: scheme.unwrap_or(default),
                authority,
                path,
                query: query.as_deref(),
            }),
            Self::Response(status) => Start::Response(*status),
        }
    }
}

/// Parses one header field.
fn field(line: &[u8]) -> Result<(HeaderName, HeaderValue), &'static str> {
    if line.first().is_some_and(|first| matches!(first, b' ' | b'\t')) {
        return Err("it continues the line before, which HTTP does not allow any more");
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or("it is not a header field: it has no colon")?;
    let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| "the part before the colon is not a field name")?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
    Ok((name, value.map_err(|_| "the value has control characters")?))
}

/// Returns the body at its stated length. A line break after it comes from an editor, not from the sender.
fn bounded<'b>(body: &'b [u8], headers: &HeaderMap) -> Result<&'b [u8], MessageError> {
    if headers.contains_key(TRANSFER_ENCODING) {
        return Err(MessageError::TransferEncoding);
    }
    let Some(stated) = headers.get(CONTENT_LENGTH) else { return Ok(body) };
    let length = stated.to_str().ok().and_then(|stated| stated.parse::<usize>().ok());
    match length.and_then(|length| body.split_at_checked(length)) {
        Some((body, b"" | b"\n" | b"\r\n")) => Ok(body),
        _ => Err(MessageError::Length {
            found: body.len(),
            stated: String::from_utf8_lossy(stated.as_bytes()).into_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'m>(message: &'m RawMessage) -> RequestLine<'m> {
        match message.view(Scheme::Https).start {
            Start::Request(line) => line,
            Start::Response(_) => panic!("not a request"),
        }
    }

    #[test]
    fn heads_may_end_lines_either_way_and_bodies_are_raw() {
        for end in ["\r\n", "\n"] {
            let text = ["POST /a/b?c=d HTTP/1.1", "Host: shop.example", "X-Twice: 1", "x-twice:  2 ", "", "{\r\n}\n"];
            let message = RawMessage::parse(text.join(end).as_bytes()).unwrap();
            let line = request(&message);
            assert_eq!(
                (line.method, line.authority, line.path, line.query),
                ("POST", "shop.example", "/a/b", Some("c=d"))
            );
            assert_eq!(message.headers().get_all("x-twice").iter().collect::<Vec<_>>(), ["1", "2"]);
            assert_eq!(message.body(), b"{\r\n}\n");
            assert_eq!(message.to_bytes(), text.join(end).into_bytes());
        }
    }

    #[test]
    fn a_target_can_be_a_whole_address() {
        let message = RawMessage::parse(b"GET http://other.example:8080?q HTTP/1.1\n").unwrap();
        let line = request(&message);
        assert_eq!((line.scheme, line.authority, line.path), (Scheme::Http, "other.example:8080", ""));
        assert_eq!(line.query, Some("q"));
        assert!(message.body().is_empty());
    }

    #[test]
    fn content_length_is_believed_and_checked() {
        let with = |length: &str, body: &str| {
            RawMessage::parse(format!("HTTP/1.1 200 OK\nContent-Length: {length}\n\n{body}").as_bytes())
                .map(|message| message.body().to_vec())
        };
        assert_eq!(with("2", "{}\n").unwrap(), b"{}");
        assert_eq!(with("3", "{}\n").unwrap(), b"{}\n");
        for (length, body) in [("3", "{}"), ("1", "{}"), ("-1", "{}"), ("x", "{}")] {
            assert!(matches!(with(length, body), Err(MessageError::Length { .. })), "{length}");
        }
    }

    #[test]
    fn errors_say_where() {
        for (text, error) in [
            ("", "line 1 is \"\""),
            ("GET /\n\n", "line 1 is"),
            ("HTTP/1.1 20 OK\n\n", "line 1 is"),
            ("GET / HTTP/1.1\nHost shop.example\n\n", "line 2: it is not a header field"),
            ("GET / HTTP/1.1\nHost: a\n b\n\n", "line 3: it continues"),
            ("GET / HTTP/1.1\nHo st: a\n\n", "line 2: the part before the colon"),
            ("GET / HTTP/1.1\nHost: a\x01\n\n", "line 2: the value"),
            ("GET / HTTP/1.1\nA: b\n\n", "the request has no Host"),
            ("GET * HTTP/1.1\nHost: a\n\n", "line 1: the target \"*\""),
            ("GET http:///x HTTP/1.1\nHost: a\n\n", "line 1: the target"),
            ("GET / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n", "the body is in a transfer coding"),
        ] {
            let shown = RawMessage::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(shown.starts_with(error), "{text:?}: {shown}");
        }
    }
}
