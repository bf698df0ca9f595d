//! The operations as clients know them, and the ways of calling one.

use serde_json::{Map, Value, json};

use crate::wire::Request;

/// The releases, oldest first.
pub(crate) const RELEASES: [&str; 4] = ["2026-01-11", "2026-01-23", "2026-04-08", "2026-08-25"];

/// The newest release.
pub(crate) const NEWEST: &str = "2026-08-25";

/// The profile that calls name; policy `development` takes it without fetching it.
pub(crate) const PROFILE: &str = "https://agent.example.com/profile.json";

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    method: &'static str,
    path: &'static str,
    /// The member of the MCP arguments that holds the payload.
    pub(crate) payload: Option<&'static str>,
    /// `true` if the payload stands among the arguments themselves.
    flat: bool,
    /// `true` if a call needs an idempotency key.
    pub(crate) needs_key: bool,
}

const fn row(
    name: &'static str,
    method: &'static str,
    path: &'static str,
    payload: Option<&'static str>,
    (flat, needs_key): (bool, bool),
) -> Operation {
    Operation { name, method, path, payload, flat, needs_key }
}

const PLAIN: (bool, bool) = (false, false);
const FLAT: (bool, bool) = (true, false);
const KEYED: (bool, bool) = (false, true);

/// Every operation.
pub(crate) const OPERATIONS: [Operation; 17] = [
    row("search_catalog", "POST", "/catalog/search", Some("catalog"), PLAIN),
    row("lookup_catalog", "POST", "/catalog/lookup", Some("catalog"), PLAIN),
    row("get_product", "POST", "/catalog/product", Some("catalog"), PLAIN),
    row("create_cart", "POST", "/carts", Some("cart"), PLAIN),
    row("get_cart", "GET", "/carts/{id}", None, PLAIN),
    row("update_cart", "PUT", "/carts/{id}", Some("cart"), PLAIN),
    row("cancel_cart", "POST", "/carts/{id}/cancel", None, KEYED),
    row("create_checkout", "POST", "/checkout-sessions", Some("checkout"), PLAIN),
    row("get_checkout", "GET", "/checkout-sessions/{id}", None, PLAIN),
    row("update_checkout", "PUT", "/checkout-sessions/{id}", Some("checkout"), PLAIN),
    row("complete_checkout", "POST", "/checkout-sessions/{id}/complete", Some("checkout"), KEYED),
    row("cancel_checkout", "POST", "/checkout-sessions/{id}/cancel", None, KEYED),
    row("get_order", "GET", "/orders/{id}", None, PLAIN),
    row("search_merchants", "POST", "/merchants/search", Some("merchant"), FLAT),
    row("get_merchant", "GET", "/merchants/{id}", None, FLAT),
    row("search_locations", "POST", "/locations/search", Some("location"), PLAIN),
    row("lookup_locations", "POST", "/locations/lookup", Some("location"), PLAIN),
];

/// The operation of this name; an unknown name is a mistake in the corpus.
pub(crate) fn operation(name: &str) -> Operation {
    OPERATIONS.into_iter().find(|operation| operation.name == name).unwrap_or_else(|| panic!("no operation {name}"))
}

/// The way that a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A REST request.
    Rest,
    /// A tool of MCP, without a handshake.
    Tool,
    /// A tool of a version of MCP with a handshake.
    Handshake(&'static str),
    /// A tool of the version of MCP that is stateless.
    Stateless,
    /// A tool whose answer has to be an event.
    Events,
    /// A JSON-RPC method with named parameters.
    Named,
    /// A JSON-RPC method with positional parameters.
    Positional,
    /// A JSON-RPC method whose parameters hold the payload flat beside `_meta`.
    Flat,
}

/// The version of MCP that is stateless.
pub(crate) const STATELESS: &str = "2026-07-28";

/// All ways.
pub(crate) const WAYS: [Way; 11] = [
    Way::Rest,
    Way::Tool,
    Way::Handshake("2025-11-25"),
    Way::Handshake("2025-06-18"),
    Way::Handshake("2025-03-26"),
    Way::Handshake("2024-11-05"),
    Way::Stateless,
    Way::Events,
    Way::Named,
    Way::Positional,
    Way::Flat,
];

/// The ways that differ most from each other.
pub(crate) const MAIN: [Way; 4] = [Way::Rest, Way::Tool, Way::Named, Way::Flat];

impl Way {
    /// Its name in the names of calls.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Rest => "rest".to_owned(),
            Self::Tool => "mcp".to_owned(),
            Self::Handshake(version) => format!("mcp-{version}"),
            Self::Stateless => "mcp-stateless".to_owned(),
            Self::Events => "mcp-sse".to_owned(),
            Self::Named => "rpc-named".to_owned(),
            Self::Positional => "rpc-positional".to_owned(),
            Self::Flat => "rpc-flat".to_owned(),
        }
    }
}

/// Somebody who calls: at an endpoint, in a way, under a profile.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The release whose endpoint is called; the root where there is none.
    pub(crate) endpoint: Option<&'static str>,
    pub(crate) way: Way,
    pub(crate) profile: Option<String>,
    headers: Vec<(String, String)>,
}

impl Caller {
    pub(crate) fn new(endpoint: Option<&'static str>, way: Way) -> Self {
        Self { endpoint, way, profile: Some(PROFILE.to_owned()), headers: Vec::new() }
    }

    /// The same with another profile.
    pub(crate) fn named(self, profile: &str) -> Self {
        Self { profile: Some(profile.to_owned()), ..self }
    }

    /// The same without a profile.
    pub(crate) fn unnamed(self) -> Self {
        Self { profile: None, ..self }
    }

    /// The same in another way.
    pub(crate) fn over(&self, way: Way) -> Self {
        Self { way, ..self.clone() }
    }

    /// The same with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The beginning of names of its calls.
    pub(crate) fn label(&self) -> String {
        format!("{}/{}", self.endpoint.unwrap_or("root"), self.way.name())
    }

    /// The path of an endpoint.
    pub(crate) fn path(&self, rest: &str) -> String {
        self.endpoint.map_or_else(|| rest.to_owned(), |release| format!("/ucp/{release}{rest}"))
    }

    /// A call without an idempotency key, or with one where that is needed.
    pub(crate) fn call(&self, name: &str, id: Option<&str>, payload: &Value) -> Request {
        let key = operation(name).needs_key.then(|| format!("key-{}-{}", name, id.unwrap_or_default()));
        self.keyed(key.as_deref(), name, id, payload)
    }

    /// A call under an idempotency key.
    pub(crate) fn keyed(&self, key: Option<&str>, name: &str, id: Option<&str>, payload: &Value) -> Request {
        let operation = operation(name);
        // Flat arguments have an identifier among their fields on every transport but REST.
        self.raw(key, operation, id, &payload.to_string(), Some(payload))
    }

    /// A call whose payload is any text.
    pub(crate) fn text(&self, name: &str, id: Option<&str>, payload: &str) -> Request {
        let operation = operation(name);
        let key = operation.needs_key.then_some("key-of-a-text");
        self.raw(key, operation, id, payload, serde_json::from_str(payload).ok().as_ref())
    }

    fn raw(
        &self,
        key: Option<&str>,
        operation: Operation,
        id: Option<&str>,
        text: &str,
        payload: Option<&Value>,
    ) -> Request {
        if self.way == Way::Rest {
            let path = self.path(&operation.path.replace("{id}", id.unwrap_or_default()));
            let mut request = Request::new(operation.method, &path);
            if let Some(profile) = &self.profile {
                request = request.header("UCP-Agent", &format!("profile=\"{profile}\""));
            }
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            if operation.payload.is_some() {
                request = request.header("Content-Type", "application/json").body(text);
            }
            return self.with_headers(request);
        }
        const PLACE: &str = "<the payload>";
        let members = payload.and_then(Value::as_object);
        let mut arguments = Map::new();
        if self.way == Way::Flat {
            arguments.extend(
                self.profile.iter().map(|profile| ("_meta".to_owned(), json!({ "ucp": { "profile": profile } }))),
            );
            arguments.extend(key.map(|key| ("idempotency_key".to_owned(), json!(key))));
        } else {
            let mut meta = Map::new();
            meta.extend(self.profile.iter().map(|profile| ("ucp-agent".to_owned(), json!({ "profile": profile }))));
            meta.extend(key.map(|key| ("idempotency-key".to_owned(), json!(key))));
            if !meta.is_empty() {
                arguments.insert("meta".to_owned(), Value::Object(meta));
            }
        }
        arguments.extend(id.map(|id| ("id".to_owned(), json!(id))));
        match (operation.payload, members) {
            (payload, Some(members)) if self.way == Way::Flat || operation.flat => {
                if payload.is_some() || operation.flat {
                    arguments.extend(members.clone());
                }
            }
            (Some(member), _) => drop(arguments.insert(member.to_owned(), json!(PLACE))),
            (None, _) => {}
        }
        let arguments = Value::Object(arguments);
        let (method, mut params) = match self.way {
            Way::Named | Way::Flat => (operation.name, arguments),
            Way::Positional => {
                let names = [Some("meta"), Some("id").filter(|_| id.is_some()), operation.payload];
                let values = names.into_iter().flatten().map(|name| arguments[name].clone());
                (operation.name, Value::Array(values.collect()))
            }
            _ => ("tools/call", json!({ "name": operation.name, "arguments": arguments })),
        };
        if self.way == Way::Stateless {
            params["_meta"] = envelope();
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let message = message.replace(&format!("\"{PLACE}\""), text);
        let mut request = Request::post(&self.path("/mcp"), message);
        match self.way {
            Way::Handshake(version) => {
                request = request.header("MCP-Protocol-Version", version);
                request = request.header("Accept", "application/json, text/event-stream");
            }
            Way::Stateless => {
                request = request.header("MCP-Protocol-Version", STATELESS);
                request = request.header("Mcp-Method", "tools/call").header("Mcp-Name", operation.name);
            }
            Way::Events => request = request.header("Accept", "text/event-stream"),
            _ => {}
        }
        self.with_headers(request)
    }

    fn with_headers(&self, mut request: Request) -> Request {
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request
    }
}

/// Description of messages of the stateless version.
pub(crate) fn envelope() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "golden", "version": "1" },
    })
}

/// A JSON-RPC message.
pub(crate) fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The root endpoints and those of each release.
pub(crate) fn endpoints() -> impl Iterator<Item = Option<&'static str>> {
    [None].into_iter().chain(RELEASES.into_iter().map(Some))
}
