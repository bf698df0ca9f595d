//! Clients that try again under the same key until they are answered, over whichever transport, and remember
//! everything.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use ucp_core::Operation;

use crate::{
    history::{self, Told},
    process::{HANDLER, PATIENCE, Tally},
    random::Random,
};

const PROFILE: &str = "https://agent.example.com/profile.json";

/// A number that must be found nowhere but at the provider.
pub(crate) const CANARY: &str = "4929717354061892";

/// A call of the gateway.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    pub(crate) id: String,
    pub(crate) payload: Value,
    /// The idempotency key; empty for calls that change nothing.
    pub(crate) key: String,
    /// Platform that calls, and the release whose endpoints it calls; empty for those at the root.
    platform: (String, &'static str),
}

/// The transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Rest,
    Mcp,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: String,
}

impl Call {
    /// A call that changes nothing.
    pub(crate) fn reading(operation: &'static str, id: &str) -> Self {
        Self::keyed(operation, id, Value::Null, String::new())
    }

    /// A call under a key.
    pub(crate) fn keyed(operation: &'static str, id: &str, payload: Value, key: String) -> Self {
        Self { operation, id: id.to_owned(), payload, key, platform: (PROFILE.to_owned(), "") }
    }

    /// The same as the platform with this profile makes it, at the endpoints of a release below a path.
    pub(crate) fn by(self, profile: &str, endpoints: &'static str) -> Self {
        Self { platform: (profile.to_owned(), endpoints), ..self }
    }

    /// The bytes of the request.
    fn request(&self, way: Way) -> Vec<u8> {
        let row = Operation::named(self.operation).expect("an operation").row();
        let (key, (profile, endpoints)) = (&self.key, &self.platform);
        let (method, path, body) = match way {
            Way::Rest => {
                let body = if self.payload.is_null() { String::new() } else { self.payload.to_string() };
                (row.method.as_str(), row.path.replace("{id}", &self.id), body)
            }
            Way::Mcp => {
                let mut arguments = json!({ "meta": { "ucp-agent": { "profile": profile } } });
                if !key.is_empty() {
                    arguments["meta"]["idempotency-key"] = key.as_str().into();
                }
                if !self.id.is_empty() {
                    arguments["id"] = self.id.as_str().into();
                }
                if let Some(name) = row.payload {
                    arguments[name] = self.payload.clone();
                }
                let params = json!({ "name": row.name, "arguments": arguments });
                let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                ("POST", "/mcp".to_owned(), message.to_string())
            }
        };
        let mut head = format!("{method} {endpoints}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        if way == Way::Rest {
            head.push_str(&format!("UCP-Agent: profile=\"{profile}\"\r\n"));
            if !key.is_empty() {
                head.push_str(&format!("Idempotency-Key: {key}\r\n"));
            }
        }
        if method != "GET" {
            head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        format!("{head}\r\n{body}").into_bytes()
    }

    /// Sends it once.
    pub(crate) fn send(&self, address: SocketAddr, way: Way) -> io::Result<Answer> {
        exchange(address, &self.request(way))
    }
}

/// Sends a request, and reads the answer.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    stream.write_all(request)?;
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    let (mut length, mut retry_after) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().map_err(|_| broken())?;
            }
            Some((name, value)) if name.eq_ignore_ascii_case("retry-after") => retry_after = value.parse().ok(),
            Some(_) => {}
            None if line == "\r\n" => break,
            None => return Err(broken()),
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Answer { status, retry_after, body: unnamed(String::from_utf8(body).map_err(|_| broken())?) })
}

/// An answer without the name of the request, which in MCP stands in its envelope.
fn unnamed(mut body: String) -> String {
    const NAME: &str = "\"ucp-gateway/request-id\":\"";
    if let Some(start) = body.rfind(NAME).map(|start| start + NAME.len())
        && let Some(length) = body[start..].find('"')
    {
        body.replace_range(start..start + length, "");
    }
    body
}

/// Returns the two texts around their first difference.
fn difference<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let around =
        |text: &'a str| &text[text.floor_char_boundary(same.saturating_sub(80))..text.floor_char_boundary(same + 160)];
    (around(one), around(other))
}

impl Answer {
    /// The document in it, whichever way it came, or what stands in its place.
    fn document(&self, way: Way) -> Value {
        let mut body: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("JSON: {self:?}"));
        match way {
            Way::Rest => body,
            Way::Mcp if body["error"].is_object() => body["error"]["data"].take(),
            Way::Mcp => body["result"]["structuredContent"].take(),
        }
    }
}

/// Why there is no outcome yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The connection broke: nobody knows what became of the call.
    Broken,
    /// The gateway asks to be called again later.
    Later,
}

/// Response that was acknowledged under a key.
struct Acknowledged {
    call: Call,
    document: Value,
    rest: Option<Answer>,
    mcp: Option<Answer>,
}

struct Record {
    log: File,
    acknowledged: HashMap<String, Acknowledged>,
    keys: Vec<String>,
    calls: Vec<history::Call>,
}

/// All clients of a world.
pub(crate) struct Clients {
    /// Addresses of the gateways.
    addresses: Mutex<Vec<SocketAddr>>,
    began: Instant,
    record: Mutex<Record>,
    pub(crate) tally: Tally,
}

impl Clients {
    pub(crate) fn new(log: File) -> Self {
        let record = Record { log, acknowledged: HashMap::new(), keys: Vec::new(), calls: Vec::new() };
        let (addresses, began) = (Mutex::default(), Instant::now());
        Self { addresses, began, record: Mutex::new(record), tally: Tally::default() }
    }

    /// Says where gateways are now: each call is sent to one of them.
    pub(crate) fn turn_to(&self, addresses: impl IntoIterator<Item = SocketAddr>) {
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = addresses.into_iter().collect();
    }

    /// Returns the address of one of the gateways, if there is one.
    pub(crate) fn address(&self, random: &Random) -> Option<SocketAddr> {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        random.index(addresses.len()).map(|nth| addresses[nth])
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a call once, to this address, and writes down what came of it. Returns the answer with its document, or
    /// what stands in its place; `None` if the connection broke.
    pub(crate) fn send(&self, address: SocketAddr, way: Way, call: &Call) -> Option<(Answer, Value)> {
        let Call { operation, id, payload, key, platform: (profile, _) } = call;
        let way_name = format!("{way:?}");
        self.write(&json!({
            "way": way_name, "profile": profile, "operation": operation, "id": id, "key": key, "payload": payload,
        }));
        Tally::add(&self.tally.attempts);
        let sent = self.began.elapsed();
        let answered = call.send(address, way).ok().map(|answer| {
            self.write(&json!({ "key": call.key, "status": answer.status, "answer": answer.body }));
            assert!(!answer.body.contains(CANARY), "the credential is in an answer: {answer:?}");
            let document = answer.document(way);
            (answer, document)
        });
        let told = answered.as_ref().map_or(Told::Nothing, |(answer, document)| Told::of(answer.status, document));
        let checkout = if operation.ends_with("_checkout") { id.clone() } else { String::new() };
        let (cart, ended) = (text(payload, "cart_id").to_owned(), self.began.elapsed());
        let call = history::Call { operation, checkout, cart, key: key.clone(), sent, ended, told };
        self.record().calls.push(call);
        answered
    }

    /// Tries once, at this address.
    ///
    /// # Panics
    /// If the answer is neither an outcome nor a wish to be asked later.
    pub(crate) fn attempt(&self, address: SocketAddr, way: Way, call: &Call) -> Result<Value, Unanswered> {
        let Some((answer, document)) = self.send(address, way, call) else {
            Tally::add(&self.tally.broken);
            return Err(Unanswered::Broken);
        };
        match Told::of(answer.status, &document) {
            Told::Nothing => {
                assert!(answer.retry_after.is_some(), "Retry-After is missing: {call:?} {answer:?}");
                Tally::add(&self.tally.refused);
                Err(Unanswered::Later)
            }
            Told::Refused(_) => panic!("an outcome was expected: {call:?} {answer:?}"),
            Told::Document(_) => {
                self.acknowledge(call, way, answer, &document);
                Ok(document)
            }
        }
    }

    fn write(&self, line: &Value) {
        writeln!(self.record().log, "{line}").expect("the record is written");
    }

    /// An answer under a key is the same as the one before, byte for byte where it came the same way.
    fn acknowledge(&self, call: &Call, way: Way, answer: Answer, document: &Value) {
        if call.key.is_empty() {
            return;
        }
        let mut record = self.record();
        if let Some(before) = record.acknowledged.get_mut(&call.key) {
            Tally::add(&self.tally.replays);
            assert_eq!(before.call, *call, "keys are used once");
            if before.document != *document {
                let (old, new) = (before.document.to_string(), document.to_string());
                panic!("another answer under the same key: {call:?} {:?}", difference(&old, &new));
            }
            match if way == Way::Rest { &mut before.rest } else { &mut before.mcp } {
                Some(same) if *same != answer => {
                    let found = difference(&same.body, &answer.body);
                    panic!("other bytes under the same key ({} {}): {call:?} {found:?}", same.status, answer.status);
                }
                Some(_) => {}
                none => *none = Some(answer),
            }
            return;
        }
        let (rest, mcp) = if way == Way::Rest { (Some(answer), None) } else { (None, Some(answer)) };
        let acknowledged = Acknowledged { call: call.clone(), document: document.clone(), rest, mcp };
        record.keys.push(call.key.clone());
        record.acknowledged.insert(call.key.clone(), acknowledged);
    }

    /// Tries until there is an answer, over REST and MCP as chance will have it, at whichever gateway there is.
    pub(crate) fn ask(&self, random: &Random, call: &Call) -> Value {
        let start = Instant::now();
        loop {
            if let Some(address) = self.address(random)
                && let Ok(answer) = self.attempt(address, random.way(), call)
            {
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "an answer within {PATIENCE:?}: {call:?}");
            std::thread::sleep(Duration::from_millis(10 + random.below(20)));
        }
    }

    /// Asks for acknowledged answers again: for all of them, or for some of which most are recent.
    pub(crate) fn replay(&self, random: &Random, some: Option<usize>) {
        let keys = self.record().keys.clone();
        let chosen: Vec<_> = match some {
            None => keys,
            Some(count) => {
                let recent = keys.iter().rev().take(count * 3 / 4).cloned().collect::<Vec<_>>();
                let any = (0..count / 4).filter_map(|_| keys.get(random.index(keys.len())?).cloned());
                recent.into_iter().chain(any).collect()
            }
        };
        for key in chosen {
            let call = self.record().acknowledged[&key].call.clone();
            self.ask(random, &call);
        }
    }

    /// Every call that was sent, with what was told.
    pub(crate) fn calls(&self) -> Vec<history::Call> {
        self.record().calls.clone()
    }

    /// Every answer that was acknowledged, with the operation it is to.
    pub(crate) fn acknowledged(&self) -> Vec<(&'static str, Value)> {
        self.record().acknowledged.values().map(|entry| (entry.call.operation, entry.document.clone())).collect()
    }
}

/// A new checkout of these goods, ready to be completed.
pub(crate) fn contents(goods: &[(&str, u64)]) -> Value {
    let lines: Vec<_> =
        goods.iter().map(|(id, quantity)| json!({ "item": { "id": id }, "quantity": quantity })).collect();
    let destination = json!({ "id": "home", "address_country": "US" });
    json!({
        "line_items": lines,
        "buyer": { "email": "buyer@example.com" },
        "fulfillment": { "methods": [{ "type": "shipping", "destinations": [destination] }] },
    })
}

/// A payment that goes as `word` says, with faults after plus signs.
pub(crate) fn payment(word: &str) -> Value {
    // The provider takes what comes after plus signs and is no fault for nothing.
    let token = format!("{word}+{CANARY}").replace('+', "ZP").replace(':', "ZC");
    let token = format!("pm_{token}");
    let credential = json!({ "type": "token", "token": token });
    let instrument =
        json!({ "id": "i1", "handler_id": HANDLER, "type": "card", "selected": true, "credential": credential });
    json!({ "payment": { "instruments": [instrument] } })
}

/// The members of a document that tests look at.
pub(crate) fn text<'a>(document: &'a Value, member: &str) -> &'a str {
    document[member].as_str().unwrap_or_default()
}
