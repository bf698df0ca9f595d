//! A shop that is found by its profile, and calls of its operations.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};
use ucp_bridge::profile::Profile;
use ucp_core::{
    Operation, Release,
    operation::{Method as RowMethod, Row},
};
use ucp_net::path::below;
use ucp_wire::{dialect, relay};
use url::Url;

pub use ucp_bridge::profile::{ProfileError, Transport};

use crate::{
    http::{Exchange, Http, Unanswered},
    rpc::{self, Endpoint},
};

/// Both transports.
pub const TRANSPORTS: [Transport; 2] = [Transport::Rest, Transport::Mcp];

/// Path at which a business publishes its profile.
pub const WELL_KNOWN: &str = "/.well-known/ucp";

/// Currency that is stated in releases that demand one, where nobody says another.
const CURRENCY: &str = "USD";

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const REQUEST_SIGNATURE: HeaderName = HeaderName::from_static("request-signature");

/// Reason why a shop cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// There is no answer where the profile has to be.
    #[error("{0} does not answer: {1}")]
    Unanswered(Url, Unanswered),
    /// The answer is no success.
    #[error("{0} answers with status {1}, where the profile of a business has to be")]
    Status(Url, u16),
    /// The profile cannot be used.
    #[error("the profile of {0} {1}")]
    Profile(Url, ProfileError),
}

/// Returns where the profile of a business is: below its address, or the address itself if it names a profile.
pub fn profile_url(shop: &Url) -> Url {
    let mut url = shop.clone();
    if !url.path().ends_with(WELL_KNOWN) {
        url.set_path(&format!("{}{WELL_KNOWN}", shop.path().trim_end_matches('/')));
    }
    url
}

/// A shop, in the release in which it is called.
#[derive(Clone, Debug)]
pub struct CalledShop {
    /// Client that calls it.
    pub http: Http,
    /// Address of its profile.
    pub address: Url,
    /// Release in which it is called.
    pub release: Release,
    /// Profile, as the shop sent it.
    pub document: Value,
    /// Profile, as it is understood.
    pub profile: Profile,
    /// Endpoint over REST.
    pub rest: Option<Url>,
    /// Endpoint over MCP.
    pub mcp: Option<Endpoint>,
    /// Operations that are methods over MCP and no tools, as in the first release.
    methods: bool,
}

/// A call of an operation. The payload is of the newest release.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Operation.
    pub operation: Operation,
    /// Identifier of the resource.
    pub id: Option<&'a str>,
    /// Payload; `null` if there is none.
    pub payload: Value,
    /// Idempotency key; a new one if a change has none.
    pub key: Option<&'a str>,
    /// The resource as it was answered last, for releases whose updates repeat parts of it.
    pub before: Option<&'a Map<String, Value>>,
}

impl Call<'_> {
    /// Creates a call without an identifier.
    pub const fn new(operation: Operation, payload: Value) -> Self {
        Self { operation, id: None, payload, key: None, before: None }
    }
}

/// A refusal of the protocol, in whatever form it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Code, if it has one.
    pub code: Option<String>,
    /// Text for people.
    pub content: String,
    /// Place in the request.
    pub path: Option<String>,
    /// Values that are accepted instead.
    pub accepted: Option<String>,
    /// `true` if the same call may succeed later.
    pub retryable: bool,
}

/// Content of a response.
#[derive(Clone, Debug)]
pub enum Said {
    /// A document of the operation in the newest release, which may be an outcome without a resource.
    Document(Map<String, Value>),
    /// A refusal.
    Refused(Refused),
    /// Neither of the two.
    Unreadable,
}

/// An answer with what it cost.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Request and answer over HTTP.
    pub exchange: Exchange,
    /// Document as it came, in the shop's release.
    pub raw: Option<Map<String, Value>>,
    /// Content of the response.
    pub said: Said,
}

impl Answer {
    /// Returns the document, unless the answer is a failure.
    pub fn resource(&self) -> Option<&Map<String, Value>> {
        match &self.said {
            Said::Document(document) if !relay::is_failure(document) => Some(document),
            _ => None,
        }
    }

    /// Returns the messages of the document.
    pub fn messages(&self) -> impl Iterator<Item = &Value> {
        let document = if let Said::Document(document) = &self.said { Some(document) } else { None };
        document.and_then(|document| document.get("messages")?.as_array()).into_iter().flatten()
    }

    /// Returns the codes of errors: of the refusal, or of messages.
    pub fn codes(&self) -> Vec<String> {
        match &self.said {
            Said::Document(_) => {
                let errors = self.messages().filter(|message| message["type"] == "error");
                errors.filter_map(|message| message["code"].as_str().map(str::to_owned)).collect()
            }
            Said::Refused(refused) => refused.code.iter().cloned().collect(),
            Said::Unreadable => Vec::new(),
        }
    }
}

impl CalledShop {
    /// Finds a shop by its address, and follows its profile to that of a release which both sides speak.
    pub async fn find(http: Http, address: &Url, release: Option<Release>) -> Result<Self, Lost> {
        let mut address = profile_url(address);
        let (mut document, mut profile) = Self::read(&http, &address).await?;
        let unfit = |address: &Url, error| Lost::Profile(address.clone(), error);
        let other = profile.choose(release).map_err(|error| unfit(&address, error))?.map(str::to_owned);
        if let Some(other) = other {
            let malformed = |_| ProfileError::Malformed(format!("`{other}` is no address"));
            address = address.join(&other).map_err(malformed).map_err(|error| unfit(&address, error))?;
            (document, profile) = Self::read(&http, &address).await?;
        }
        let stated = profile.stated.clone();
        let Some(release) = profile.release else {
            let ours = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>().join(", ");
            return Err(unfit(&address, ProfileError::Releases { theirs: stated, ours }));
        };
        let of = |transport| profile.endpoint(Some(transport)).ok().map(|(_, url)| url.clone());
        let (rest, mcp) = (of(Transport::Rest), of(Transport::Mcp).map(Endpoint::new));
        let mut shop = Self { http, address, release, document, profile, rest, mcp, methods: false };
        shop.begin().await;
        Ok(shop)
    }

    async fn read(http: &Http, address: &Url) -> Result<(Value, Profile), Lost> {
        let exchange = http.get(address).await.map_err(|error| Lost::Unanswered(address.clone(), error))?;
        if !exchange.status.is_success() {
            return Err(Lost::Status(address.clone(), exchange.status.as_u16()));
        }
        let profile = Profile::read(&exchange.body).map_err(|error| Lost::Profile(address.clone(), error))?;
        Ok((exchange.json().unwrap_or_default(), profile))
    }

    /// Learns whether the MCP endpoint wants a session, and whether it has tools.
    async fn begin(&mut self) {
        let Some(mcp) = &mut self.mcp else { return };
        let listed = mcp.ask(&self.http, "tools/list", json!({})).await;
        match listed {
            Ok((_, Some(answer))) if answer["result"]["tools"].is_array() => {}
            Ok((_, Some(answer))) if answer["error"]["code"] == -32601 && dialect(self.release).has_methods() => {
                self.methods = true;
            }
            Ok(_) => {
                mcp.open_session(&self.http).await;
            }
            Err(_) => {}
        }
    }

    /// Returns the same shop, called by the platform of another client.
    pub fn called_by(&self, http: Http) -> Self {
        Self { http, ..self.clone() }
    }

    /// Returns `true` if there is an endpoint for the transport.
    pub const fn has(&self, transport: Transport) -> bool {
        match transport {
            Transport::Rest => self.rest.is_some(),
            Transport::Mcp => self.mcp.is_some(),
        }
    }

    /// Returns `true` if the profile offers the operation.
    pub fn offers(&self, operation: Operation) -> bool {
        self.profile.offering.operations.contains(&operation)
    }

    /// Returns `true` if operations are methods over MCP, so that there are no tools.
    pub const fn has_methods(&self) -> bool {
        self.methods
    }

    /// Calls an operation over a transport that the shop [has](Self::has).
    pub async fn call(&self, transport: Transport, call: &Call<'_>) -> Result<Answer, Unanswered> {
        let row = call.operation.row();
        let mut payload = relay::request(Release::NEWEST, self.release, call.operation, call.id, call.payload.clone());
        relay::supply(self.release, call.operation, &mut payload);
        if let Some(before) = call.before
            && relay::methods::lack_members(self.release, &payload)
        {
            relay::methods::supply_members(self.release, &mut payload, before);
        }
        if dialect(self.release).states_currency(call.operation)
            && let Some(members) = payload.as_object_mut()
        {
            let of_before = call.before.and_then(|before| before.get("currency")).cloned();
            let wanted = members.get("context").and_then(|context| context.get("currency")).cloned();
            members.entry("currency").or_insert_with(|| wanted.or(of_before).unwrap_or_else(|| CURRENCY.into()));
        }
        let key = match call.key {
            Some(key) => Some(key.to_owned()),
            None => row.effect.writes().then(|| uuid::Uuid::new_v4().to_string()),
        };
        let (exchange, raw, refused) = match transport {
            Transport::Rest => self.over_rest(row, call.id, &payload, key).await?,
            Transport::Mcp => self.over_mcp(row, call.id, payload, key).await?,
        };
        let said = match (&raw, refused) {
            (Some(raw), _) => Said::Document(relay::answer(self.release, Release::NEWEST, call.operation, raw.clone())),
            (None, Some(refused)) => Said::Refused(refused),
            (None, None) => Said::Unreadable,
        };
        Ok(Answer { exchange, raw, said })
    }

    async fn over_rest(
        &self,
        row: &Row,
        id: Option<&str>,
        payload: &Value,
        key: Option<String>,
    ) -> Result<(Exchange, Option<Map<String, Value>>, Option<Refused>), Unanswered> {
        let url = self.rest_url(row.path, id)?;
        let (method, body) = match row.method {
            RowMethod::Get => (Method::GET, None),
            RowMethod::Post => (Method::POST, Some(payload)),
            RowMethod::Put => (Method::PUT, Some(payload)),
        };
        let body = body.map(|body| if body.is_object() { body.to_string() } else { "{}".to_owned() });
        let exchange = self.http.send(method, &url, self.headers(key), body.map(String::into_bytes)).await?;
        let Some(Value::Object(document)) = exchange.json() else { return Ok((exchange, None, None)) };
        let (raw, refused) = sorted(exchange.status, document);
        Ok((exchange, raw, refused))
    }

    /// Returns the address of an operation over REST. Fails with [`Unanswered::Unsendable`] if there is no such
    /// endpoint.
    pub fn rest_url(&self, path: &str, id: Option<&str>) -> Result<Url, Unanswered> {
        let unsendable = || {
            Unanswered::Unsendable(
                "the endpoint is no address with a path, or the identifier is none in one".to_owned(),
            )
        };
        let rest = self.rest.as_ref().ok_or_else(unsendable)?;
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let segments = segments.map(|segment| if segment == "{id}" { id.unwrap_or_default() } else { segment });
        below(rest, segments).ok_or_else(unsendable)
    }

    /// Returns the header fields of a REST call. What the first releases demand is stated; nothing is signed.
    pub fn headers(&self, key: Option<String>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()) {
            headers.insert(REQUEST_ID, id);
        }
        if self.release < Release::V2026_04_08 {
            headers.insert(REQUEST_SIGNATURE, HeaderValue::from_static("unsigned"));
        }
        if let Some(key) = key.and_then(|key| HeaderValue::from_str(&key).ok()) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        headers
    }

    async fn over_mcp(
        &self,
        row: &Row,
        id: Option<&str>,
        payload: Value,
        key: Option<String>,
    ) -> Result<(Exchange, Option<Map<String, Value>>, Option<Refused>), Unanswered> {
        let mcp = self.mcp.as_ref().ok_or_else(|| Unanswered::Unsendable("there is no MCP endpoint".to_owned()))?;
        let mut arguments = Map::new();
        let agent = self.http.profile.as_ref().map(|profile| json!({ "profile": profile }));
        if self.methods {
            arguments.extend(agent.map(|agent| ("_meta".to_owned(), json!({ "ucp": agent }))));
            arguments.extend(key.map(|key| ("idempotency_key".to_owned(), key.into())));
        } else {
            let mut meta: Map<_, _> = agent.map(|agent| ("ucp-agent".to_owned(), agent)).into_iter().collect();
            meta.extend(key.map(|key| ("idempotency-key".to_owned(), key.into())));
            arguments.insert("meta".to_owned(), meta.into());
        }
        arguments.extend(id.map(|id| ("id".to_owned(), id.into())));
        if let Some(name) = row.payload.filter(|_| !payload.is_null()) {
            arguments.insert(name.to_owned(), payload);
        }
        let (exchange, answer) = if self.methods {
            mcp.ask(&self.http, row.name, arguments.into()).await?
        } else {
            mcp.ask(&self.http, "tools/call", json!({ "name": row.name, "arguments": arguments })).await?
        };
        let Some(answer) = answer else {
            let Some(Value::Object(document)) = exchange.json() else { return Ok((exchange, None, None)) };
            let (_, refused) = sorted(exchange.status, document);
            return Ok((exchange, None, refused));
        };
        let (raw, refused) = match &answer["error"] {
            Value::Object(error) => of_rpc(error),
            _ if let Some(error) = rpc::refusal(&answer["result"]) => of_rpc(&error),
            _ => match rpc::document(&answer["result"]) {
                Some(document) => (Some(document), None),
                None => (None, answer["result"]["isError"].as_bool().filter(|error| *error).map(|_| told(&answer))),
            },
        };
        Ok((exchange, raw, refused))
    }
}

/// The refusal of a tool that says it in prose.
fn told(answer: &Value) -> Refused {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    Refused { content: text.to_owned(), ..Refused::default() }
}

/// Tells documents of an operation from refusals.
fn sorted(status: StatusCode, document: Map<String, Value>) -> (Option<Map<String, Value>>, Option<Refused>) {
    let outcome = document.get("ucp").is_some_and(Value::is_object)
        || (!document.contains_key("code") && document.get("messages").is_some_and(Value::is_array));
    if status.is_success() || outcome {
        return (Some(document), None);
    }
    (None, Some(refused(&document)))
}

fn of_rpc(error: &Map<String, Value>) -> (Option<Map<String, Value>>, Option<Refused>) {
    let data = error.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    // The first releases report outcomes of the business as errors.
    if let Some(errors) = data.get("errors").and_then(Value::as_array)
        && !data.contains_key("code")
    {
        let message = |error: &Value| json!({ "type": "error", "code": error["code"], "content": error["message"], "severity": error["severity"] });
        let messages: Vec<Value> = errors.iter().map(message).collect();
        let document = json!({ "ucp": { "status": "error" }, "messages": messages });
        return (document.as_object().cloned(), None);
    }
    let mut refused = refused(&data);
    if refused.content.is_empty() {
        error.get("message").and_then(Value::as_str).unwrap_or_default().clone_into(&mut refused.content);
    }
    (None, Some(refused))
}

/// Reads a refusal in the form of UCP, or in the forms that common web frameworks have.
fn refused(document: &Map<String, Value>) -> Refused {
    let document = document.get("error").and_then(Value::as_object).unwrap_or(document);
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
    let place = |detail: &Value| {
        let parts = detail["loc"].as_array()?.iter().skip(1);
        let parts = parts.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
        Some(format!("$.{}", parts.collect::<Vec<_>>().join(".")))
    };
    let first = document.get("detail").and_then(|detail| detail.get(0));
    let content = ["content", "detail", "message", "error"].into_iter().find_map(text);
    let listed = || Some(format!("{} ({})", first?["msg"].as_str()?, place(first?)?));
    Refused {
        code: text("code").or_else(|| text("type")),
        content: content.or_else(listed).unwrap_or_default(),
        path: text("path").or_else(|| first.and_then(place)),
        accepted: text("accepted"),
        retryable: document.get("retryable").and_then(Value::as_bool).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_below_the_address_unless_it_is_named() {
        for (address, expected) in [
            ("https://shop.example", "https://shop.example/.well-known/ucp"),
            ("https://shop.example/a/", "https://shop.example/a/.well-known/ucp"),
            ("https://shop.example/b/.well-known/ucp", "https://shop.example/b/.well-known/ucp"),
        ] {
            assert_eq!(profile_url(&address.parse().expect("an address")).as_str(), expected);
        }
    }

    #[test]
    fn refusals_are_read_in_every_form() {
        let read = |document: Value| refused(document.as_object().expect("an object"));
        let ucp = read(json!({ "code": "invalid_request", "content": "No.", "path": "$.a", "accepted": "b" }));
        assert_eq!((ucp.code.as_deref(), ucp.path.as_deref()), (Some("invalid_request"), Some("$.a")));
        let sample = read(json!({ "detail": "Not there", "code": "RESOURCE_NOT_FOUND" }));
        assert_eq!((sample.code.as_deref(), &*sample.content), (Some("RESOURCE_NOT_FOUND"), "Not there"));
        let fast =
            read(json!({ "detail": [{ "loc": ["body", "currency"], "msg": "Field required", "type": "missing" }] }));
        assert_eq!((fast.path.as_deref(), &*fast.content), (Some("$.currency"), "Field required ($.currency)"));
    }
}
