//! HTTP/1.1 as bytes: what is written is exactly what a call says, and what comes back is kept as it came.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use crate::Done;

/// The longest wait for a single answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An HTTP request. `Host` and `Content-Length` are added unless the headers have them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// A request without headers and body.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// A `GET` request.
    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// A `POST` request with a JSON text.
    pub(crate) fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", path).header("Content-Type", "application/json").body(body)
    }

    /// The same with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same without the headers of this name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        self
    }

    /// The same with another body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self, host: SocketAddr) -> Vec<u8> {
        let has = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !has("host") {
            text.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let states_length = !self.body.is_empty() || ["POST", "PUT"].contains(&self.method.as_str());
        if states_length && !has("content-length") && !has("transfer-encoding") {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }
}

/// An HTTP answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, with events unwrapped; `null` when it is something else.
    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        let event = text.strip_prefix("event: message\ndata: ").unwrap_or(&text);
        serde_json::from_str(event.trim_end()).unwrap_or_default()
    }

    /// The document of an operation, whichever binding framed it; `null` when there is none.
    pub(crate) fn document(&self) -> Value {
        let mut body = self.json();
        if body.get("jsonrpc").is_none() {
            return body;
        }
        let mut result = body["result"].take();
        if result.get("structuredContent").is_some() { result["structuredContent"].take() } else { result }
    }
}

/// The connections to one server. One that is still open is used again.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    idle: Mutex<Option<BufReader<TcpStream>>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, idle: Mutex::new(None) }
    }

    /// Sends a request and reads its answer.
    pub(crate) fn send(&self, request: &Request) -> Done<Response> {
        let bytes = request.bytes(self.address);
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().take();
        if let Some(mut kept) = kept {
            // The server may have closed it in the meantime: the request is sent again over a new one below.
            if let Ok(Some(response)) = exchange(&mut kept, &bytes, request.method == "HEAD") {
                if response.header("connection") != Some("close") {
                    *idle() = Some(kept);
                }
                return Ok(response);
            }
        }
        let waited = |fault: &dyn std::fmt::Display| format!("{} {}: {fault}", request.method, request.path);
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE).map_err(|error| waited(&error))?;
        for limit in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            limit(&stream, Some(PATIENCE)).map_err(|error| waited(&error))?;
        }
        stream.set_nodelay(true).map_err(|error| waited(&error))?;
        let mut stream = BufReader::new(stream);
        let response = exchange(&mut stream, &bytes, request.method == "HEAD")
            .map_err(|error| waited(&format!("no answer within {PATIENCE:?}: {error}")))?
            .ok_or_else(|| waited(&"the connection was closed without an answer"))?;
        if response.header("connection") != Some("close") {
            *idle() = Some(stream);
        }
        Ok(response)
    }
}

/// One request and its answer; `None` when the connection is closed instead.
fn exchange(stream: &mut BufReader<TcpStream>, request: &[u8], head: bool) -> std::io::Result<Option<Response>> {
    // A server that has read enough may answer before everything is written.
    let _ = stream.get_mut().write_all(request);
    read(stream, head)
}

fn read(stream: &mut BufReader<TcpStream>, head: bool) -> std::io::Result<Option<Response>> {
    let fault = |text: &str| std::io::Error::other(text.to_owned());
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    if line.split(' ').nth(1) == Some("100") {
        // The server wants to see the body, which it was sent already.
        stream.read_line(&mut String::new())?;
        let answer = read(stream, head)?;
        return Ok(answer.map(|mut answer| {
            answer.headers.push(("(before)".to_owned(), line.trim_end().to_owned()));
            answer
        }));
    }
    let status = line.split(' ').nth(1).and_then(|status| status.trim().parse().ok());
    let mut response = Response { status: status.ok_or_else(|| fault("not a status line"))?, ..Response::default() };
    loop {
        let mut line = Vec::new();
        stream.read_until(b'\n', &mut line)?;
        let line = String::from_utf8_lossy(&line).into_owned();
        match line.trim_end().split_once(':') {
            Some((name, value)) => response.headers.push((name.to_owned(), value.trim().to_owned())),
            None => break,
        }
    }
    if head || [204, 304].contains(&response.status) {
        return Ok(Some(response));
    }
    if response.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(|_| fault("not the size of a chunk"))?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk)?;
            if size == 0 {
                break;
            }
            response.body.extend_from_slice(&chunk[..size]);
        }
    } else if let Some(length) = response.header("content-length") {
        response.body = vec![0; length.parse().map_err(|_| fault("not a length"))?];
        stream.read_exact(&mut response.body)?;
    } else {
        stream.read_to_end(&mut response.body)?;
    }
    Ok(Some(response))
}
