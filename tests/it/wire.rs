//! An HTTP/1.1 client for tests.
//!
//! Client libraries refuse to send what bad clients send: half a request, two `Host` headers, bytes that are no text.
//! This one writes what it is given and reads one answer.

use std::{
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// Maximum time for any single response, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// The body as text; empty for pictures, but for those in SVG.
    pub(crate) body: String,
}

impl Response {
    /// The values of a header that may be sent several times.
    pub(crate) fn all<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        self.headers.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The value of a header that is sent once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        let first = values.next()?;
        assert!(values.next().is_none(), "`{name}` is sent twice: {self:?}");
        Some(&first.1)
    }

    /// The body, which says that it is JSON.
    pub(crate) fn json(&self) -> Value {
        let media_type = self.header("content-type").unwrap_or_default();
        assert!(media_type.starts_with("application/json"), "`{media_type}` instead of JSON: {self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A connection that is kept open between requests.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("the gateway accepts connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes as they are. A peer that no longer listens is no failure: it may have answered already.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish_writing(&mut self) {
        self.stream.get_ref().shutdown(Shutdown::Write).expect("a half-closed connection");
    }

    /// One answer; `None` when the connection is closed instead. Waiting in vain for either fails the test.
    #[track_caller]
    pub(crate) fn read(&mut self) -> Option<Response> {
        self.read_answer(true)
    }

    /// The answer to a `HEAD`, which has no body whatever its headers say.
    #[track_caller]
    pub(crate) fn read_head(&mut self) -> Option<Response> {
        self.read_answer(false)
    }

    #[track_caller]
    fn read_answer(&mut self, with_body: bool) -> Option<Response> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("neither an answer nor the end of the connection comes within {PATIENCE:?}: {line:?}")
            }
            Err(_) => return None,
        }
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a header");
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
                None => break,
            }
        }
        let mut response = Response { status, headers, body: String::new() };
        assert!(response.header("transfer-encoding").is_none(), "answers state their length: {response:?}");
        let length = response.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; if with_body && status != 304 { length } else { 0 }];
        self.stream.read_exact(&mut body).expect("the whole body");
        let is_picture = |kind: &str| kind.starts_with("image/") && kind != "image/svg+xml";
        let is_picture = response.header("content-type").is_some_and(is_picture);
        response.body = if is_picture { String::new() } else { String::from_utf8(body).expect("a body in UTF-8") };
        Some(response)
    }

    /// Returns `true` if nothing comes for that long.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(Some(time)).expect("a timeout");
        let silent = stream.peek(&mut [0]).is_err();
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        silent
    }

    /// Waits for the peer to close the connection; answers that come before that are returned.
    pub(crate) fn read_to_end(&mut self) -> Vec<Response> {
        std::iter::from_fn(|| self.read()).collect()
    }
}

/// The bytes of a request. `Content-Length` is added, and `Host` where `headers` has none.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "POST" {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}
