//! A platform that buys something, whatever transport and release it speaks.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release};
use ucp_wire::documents::release_path;

use crate::{
    harness::{self, Gateway, Lent, PROFILE, Runs, Shared, elements, rpc},
    setup::Transport,
    wire::Response,
};

/// The releases, each with the transports it can be spoken over.
pub(crate) fn ways() -> impl Iterator<Item = (Release, Transport)> {
    Release::ALL.iter().flat_map(|release| Transport::ALL.map(|transport| (*release, transport)))
}

/// A directory for a new shop with the flowers of the sample.
pub(crate) fn flower_shop(data: &Path, arguments: &[&str]) -> Gateway {
    Gateway::on(data, &[&["--sample", "flower-shop"], arguments].concat())
}

/// A flower shop for all tests that do not buy it empty.
pub(crate) fn flowers() -> Lent<Flowers> {
    static SHARED: Shared<Flowers> = Shared::new();
    SHARED.get(Flowers::open)
}

/// A flower shop on a directory of its own.
pub(crate) struct Flowers {
    gateway: Gateway,
    data: tempfile::TempDir,
}

impl Flowers {
    pub(crate) fn open() -> Self {
        Self::with(&[])
    }

    /// The same with more arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let data = harness::flower_shop();
        Self { gateway: flower_shop(data.path(), arguments), data }
    }

    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }
}

impl std::ops::Deref for Flowers {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl Runs for Flowers {
    fn gateways(&self) -> Vec<&Gateway> {
        vec![&self.gateway]
    }
}

impl std::ops::DerefMut for Flowers {
    fn deref_mut(&mut self) -> &mut Gateway {
        &mut self.gateway
    }
}

/// A key that no call had before.
pub(crate) fn new_key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("6f1c2c0e-0000-4000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A platform.
#[derive(Clone, Debug)]
pub(crate) struct Shopper<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) release: Release,
    pub(crate) transport: Transport,
    profile: String,
    headers: Vec<(String, String)>,
}

impl<'a> Shopper<'a> {
    pub(crate) fn new(gateway: &'a Gateway, release: Release, transport: Transport) -> Self {
        Self { gateway, release, transport, profile: PROFILE.to_owned(), headers: Vec::new() }
    }

    /// One of the newest release over REST.
    pub(crate) fn rest(gateway: &'a Gateway) -> Self {
        Self::new(gateway, Release::NEWEST, Transport::Rest)
    }

    /// The same with another profile.
    pub(crate) fn named(self, profile: &str) -> Self {
        Self { profile: profile.to_owned(), ..self }
    }

    /// The same over another transport.
    pub(crate) fn over(&self, transport: Transport) -> Self {
        Self { transport, ..self.clone() }
    }

    /// The same at another gateway.
    pub(crate) fn at(&self, gateway: &'a Gateway) -> Self {
        Self { gateway, ..self.clone() }
    }

    /// The same with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns `true` if business outcomes are said in the way of the first two releases.
    pub(crate) fn founding(&self) -> bool {
        self.release < Release::V2026_04_08
    }

    /// A call, with a new key where one is needed.
    pub(crate) fn call(&self, operation: &str, id: Option<&str>, payload: &Value) -> Said {
        let needs = Operation::named(operation).expect("an operation").row().effect.needs_key();
        let key = needs.then(new_key);
        self.keyed(key.as_deref(), operation, id, payload)
    }

    /// A call under an idempotency key.
    pub(crate) fn keyed(&self, key: Option<&str>, operation: &str, id: Option<&str>, payload: &Value) -> Said {
        let (method, path, headers, body) = self.request(key, operation, id, payload);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let response = self.gateway.send(method, &path, &headers, &body);
        Said::read(self, operation, &response)
    }

    /// Parts of such a request: method, path, headers, body.
    pub(crate) fn request(
        &self,
        key: Option<&str>,
        operation: &str,
        id: Option<&str>,
        payload: &Value,
    ) -> (&'static str, String, Vec<(String, String)>, Vec<u8>) {
        let row = Operation::named(operation).expect("an operation").row();
        let prefix = release_path(self.release);
        let mut headers = self.headers.clone();
        if self.transport == Transport::Rest {
            headers.push(("UCP-Agent".to_owned(), crate::setup::agent(&self.profile)));
            headers.extend(key.map(|key| ("Idempotency-Key".to_owned(), key.to_owned())));
            let path = format!("{prefix}{}", row.path.replace("{id}", id.unwrap_or_default()));
            let body = row.payload.map(|_| payload.to_string().into_bytes()).unwrap_or_default();
            if row.payload.is_some() {
                headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
            }
            return (row.method.as_str(), path, headers, body);
        }
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        let message = self.message(key, operation, id, payload);
        ("POST", format!("{prefix}/mcp"), headers, message.to_string().into_bytes())
    }

    /// The JSON-RPC message of a call.
    pub(crate) fn message(&self, key: Option<&str>, operation: &str, id: Option<&str>, payload: &Value) -> Value {
        let row = Operation::named(operation).expect("an operation").row();
        let mut arguments = Map::new();
        // As the documents of these releases have it: everything flat in `params`.
        let flat = self.transport == Transport::Method && self.founding();
        if flat {
            arguments.insert("_meta".to_owned(), json!({ "ucp": { "profile": self.profile } }));
            arguments.extend(key.map(|key| ("idempotency_key".to_owned(), json!(key))));
            if row.payload.is_some()
                && let Some(members) = payload.as_object()
            {
                arguments.extend(members.clone());
            }
        } else {
            let mut meta = json!({ "ucp-agent": { "profile": self.profile } });
            if let Some(key) = key {
                meta["idempotency-key"] = json!(key);
            }
            arguments.insert("meta".to_owned(), meta);
            arguments.extend(row.payload.map(|name| (name.to_owned(), payload.clone())));
        }
        arguments.extend(id.map(|id| ("id".to_owned(), json!(id))));
        let arguments = Value::Object(arguments);
        match self.transport {
            Transport::Tool => rpc("tools/call", &json!({ "name": operation, "arguments": arguments })),
            _ => rpc(operation, &arguments),
        }
    }

    /// A new checkout.
    #[track_caller]
    pub(crate) fn create(&self, payload: &Value) -> Value {
        self.call("create_checkout", None, payload).document()
    }

    /// A checkout with other contents.
    #[track_caller]
    pub(crate) fn update(&self, checkout: &Value, payload: &Value) -> Value {
        self.call("update_checkout", Some(id(checkout)), payload).document()
    }

    /// A checkout that is paid for with a token.
    #[track_caller]
    pub(crate) fn complete(&self, checkout: &Value, token: &str) -> Value {
        self.call("complete_checkout", Some(id(checkout)), &self.paying(token)).document()
    }

    /// Payment, in the form of the version.
    pub(crate) fn paying(&self, token: &str) -> Value {
        paying_in(self.release, "mock_payment_handler", token)
    }
}

/// Payment, in the form of a version.
pub(crate) fn paying_in(release: Release, handler: &str, token: &str) -> Value {
    paying_by("card", release, handler, token)
}

/// The same with an instrument of some type.
pub(crate) fn paying_by(kind: &str, release: Release, handler: &str, token: &str) -> Value {
    let credential = json!({ "type": "token", "token": token });
    if release == Release::V2026_01_11 {
        return json!({ "payment_data": {
            "id": "instrument_1", "handler_id": handler, "type": kind, "brand": "visa", "last_digits": "1111",
            "credential": credential,
        } });
    }
    json!({ "payment": { "instruments": [{
        "id": "instrument_1", "handler_id": handler, "type": kind, "selected": true,
        "display": { "brand": "visa", "last_digits": "1111" }, "credential": credential,
    }] } })
}

/// The identifier of a cart, a checkout or an order.
#[track_caller]
pub(crate) fn id(document: &Value) -> &str {
    document["id"].as_str().unwrap_or_else(|| panic!("an identifier: {document}"))
}

/// Response to a call.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    /// The document as it was written, where there is one.
    text: Option<String>,
    /// The JSON-RPC error, or what is its like on REST, where there is no resource.
    pub(crate) failure: Option<Value>,
    pub(crate) response: Response,
}

impl Said {
    fn read(shopper: &Shopper<'_>, operation: &str, response: &Response) -> Self {
        assert!(response.status < 500, "{operation}: {response:?}");
        let body = response.json();
        let status = response.status;
        let said =
            |text: Option<String>, failure: Option<Value>| Self { status, text, failure, response: response.clone() };
        if shopper.transport == Transport::Rest {
            let resource = body.get("id").is_some() && body.get("ucp").is_some();
            let outcome = !shopper.founding() && body.get("ucp").is_some();
            return if resource || outcome {
                crate::official::check(operation, &body);
                said(Some(response.body.clone()), None)
            } else {
                said(None, Some(body))
            };
        }
        assert_eq!(body["jsonrpc"], "2.0", "{response:?}");
        let Some(result) = body.get("result") else { return said(None, Some(body["error"].clone())) };
        assert_eq!(status, 200, "{response:?}");
        let document = if shopper.transport == Transport::Tool {
            assert!(result.get("isError").is_none(), "outcomes are no tool errors (T-28): {response:?}");
            let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), result["structuredContent"]);
            text
        } else {
            result.to_string()
        };
        // A method of these releases gets capabilities in a form that no schema describes.
        if shopper.transport == Transport::Tool || !shopper.founding() {
            crate::official::check(operation, &serde_json::from_str(&document).expect("JSON"));
        }
        said(Some(document), None)
    }

    /// The document.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(self.text()).expect("JSON")
    }

    /// The document as it was written.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_else(|| panic!("a document: {:?}", self.response))
    }

    /// The codes of all errors: messages of a document, or why there is none.
    pub(crate) fn errors(&self) -> Vec<String> {
        let code = |error: &Value| error["code"].as_str().unwrap_or_default().to_owned();
        let listed = |list: &Value| list.as_array().map(|errors| errors.iter().map(code).collect::<Vec<_>>());
        match (&self.text, &self.failure) {
            (Some(_), _) => errors(&self.document()).iter().map(code).collect(),
            (None, Some(failure)) => listed(&failure["data"]["errors"])
                .or_else(|| listed(&failure["messages"]))
                .unwrap_or_else(|| vec![code(if failure.get("data").is_some() { &failure["data"] } else { failure })]),
            (None, None) => Vec::new(),
        }
    }

    /// The code of a protocol failure, and what was said about it.
    #[track_caller]
    pub(crate) fn refusal(&self) -> (String, String, Value) {
        let failure = self.failure.as_ref().unwrap_or_else(|| panic!("a refusal: {:?}", self.response));
        let body =
            if failure.get("jsonrpc").is_none() && failure.get("data").is_some() { &failure["data"] } else { failure };
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (text("code"), text("content"), body.clone())
    }
}

/// The error messages of a document.
pub(crate) fn errors(document: &Value) -> Vec<Value> {
    of_type(document, "error")
}

/// The messages of a type in a document.
pub(crate) fn of_type(document: &Value, kind: &str) -> Vec<Value> {
    let messages = document.get("messages").map(elements).unwrap_or_default();
    messages.iter().filter(|message| message["type"] == kind).cloned().collect()
}

/// `code path` of the messages of a type.
pub(crate) fn said_at(document: &Value, kind: &str) -> Vec<String> {
    let text = |message: &Value, name: &str| message[name].as_str().unwrap_or("-").to_owned();
    of_type(document, kind)
        .iter()
        .map(|message| format!("{} {}", text(message, "code"), text(message, "path")))
        .collect()
}

/// The amount of the only total of a kind.
#[track_caller]
pub(crate) fn total(document: &Value, kind: &str) -> i64 {
    let entries: Vec<_> = elements(&document["totals"]).iter().filter(|total| total["type"] == kind).collect();
    assert_eq!(entries.len(), 1, "{kind} of {document}");
    entries[0]["amount"].as_i64().expect("an amount")
}

/// Lines of a request.
pub(crate) fn lines(goods: &[(&str, u64)]) -> Value {
    goods.iter().map(|(item, quantity)| json!({ "item": { "id": item }, "quantity": quantity })).collect()
}

/// An address in the state that the sample shops tax nothing in.
pub(crate) fn address() -> Value {
    json!({
        "street_address": "1 Main St", "address_locality": "Springfield", "address_region": "OR",
        "postal_code": "97477", "address_country": "US",
    })
}

/// A delivery to an address.
pub(crate) fn shipping(destination: &Value) -> Value {
    json!({ "methods": [{ "type": "shipping", "destinations": [destination] }] })
}

/// Everything that a checkout of flowers needs.
pub(crate) fn ready(goods: &[(&str, u64)]) -> Value {
    json!({
        "line_items": lines(goods),
        "buyer": { "email": "buyer@example.com", "first_name": "Bea" },
        "fulfillment": shipping(&address()),
    })
}
