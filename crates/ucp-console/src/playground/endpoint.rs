//! The playground against another UCP endpoint: discovery at an address that was typed into the page, and calls of the
//! operations that were discovered there.
//!
//! This is no proxy. The page names an address, an operation and what goes into it; requests are written here, to the
//! endpoints that the profile at the address declares. The client is the one that fetches profiles of strangers: it
//! connects to the public Internet over https, and to this machine only if the address itself is one of this machine. Neither
//! headers nor cookies of the request from the page travel, and answers are bounded in size and time.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use http::{HeaderMap, header::AUTHORIZATION};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{sync::Semaphore, time::timeout};
use ucp_client::{
    http::{Exchange, Http, Request, Token},
    shop::{Answer, Call, CalledShop, Refused, Said, TRANSPORTS, Transport},
};
use ucp_config::Settings;
use ucp_core::{
    Code, Operation, Refusal, Release,
    operation::{DISCOUNT, FULFILLMENT, SupportedOperations},
};
use ucp_host::{address::web_url, callers::fetch_options};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::FetchOptions,
    limit::RateLimits,
};
use url::Url;

use super::request;
use crate::local;

/// Maximum time of one call, and of a discovery with all its requests.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum size of an answer in bytes.
const MAX_ANSWER: usize = 2 << 20;

/// Maximum number of discoveries and calls at a time.
const MOST_CALLS: usize = 8;

/// Maximum number of shops that are remembered.
const MOST_SHOPS: usize = 8;

/// Time for which what was discovered is used.
const REMEMBERED: Duration = Duration::from_mins(5);

/// Maximum length of a text that names a caller or a resource, in bytes.
const MAX_TEXT: usize = 2_048;

/// Other UCP endpoints, as the page names them.
pub(super) struct Endpoints {
    options: FetchOptions,
    limit: RateLimits,
    places: Semaphore,
    known: Mutex<Vec<Known>>,
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints").field("reach", &self.options.reach).finish_non_exhaustive()
    }
}

/// A shop that was discovered.
struct Known {
    address: Url,
    release: Option<Release>,
    shop: Arc<CalledShop>,
    until: Instant,
}

/// Question of the page about an address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    address: String,
    release: Option<String>,
}

/// Call of an operation there. Payload and documents are of the newest release.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedCall {
    address: String,
    release: Option<String>,
    transport: String,
    operation: String,
    id: Option<String>,
    #[serde(default)]
    payload: Value,
    /// Resource as it was answered last.
    before: Option<Map<String, Value>>,
    /// Profile that the call names, if it names one.
    profile: Option<String>,
    /// API key of the shop there.
    key: Option<String>,
    idempotency_key: Option<String>,
}

impl Endpoints {
    /// Creates the endpoints, with the reach of the shop's own fetches.
    pub(super) fn new(settings: &Settings) -> Self {
        let options = FetchOptions { deadline: PATIENCE, max_body: MAX_ANSWER, ..fetch_options(settings) };
        let (limit, places) = (request::limit(), Semaphore::new(MOST_CALLS));
        Self { options, limit, places, known: Mutex::default() }
    }

    /// Builds the routes.
    pub(super) fn router(self) -> Router {
        let discover = async |State(endpoints): State<Arc<Self>>, headers: HeaderMap, body: Bytes| {
            request::answer(match request::read(&endpoints.limit, &headers, &body) {
                Ok(asked) => endpoints.discover(asked).await,
                Err(refusal) => Err(refusal),
            })
        };
        let call = async |State(endpoints): State<Arc<Self>>, headers: HeaderMap, body: Bytes| {
            request::answer(match request::read(&endpoints.limit, &headers, &body) {
                Ok(asked) => endpoints.call(asked).await,
                Err(refusal) => Err(refusal),
            })
        };
        let router = Router::new().route("/playground/endpoint", post(discover)).route("/playground/call", post(call));
        local::only_pages(request::bounded(router.with_state(Arc::new(self))))
    }

    /// Tells what there is at an address.
    async fn discover(&self, Asked { address, release }: Asked) -> Result<Value, Refusal> {
        let _place = self.place()?;
        let (address, release) = (self.address(&address)?, named_release(release.as_deref())?);
        self.known().retain(|known| known.address != address || known.release != release);
        let shop = self.find(&address, release).await?;
        let others = shop.profile.supported.iter().map(|(release, _)| *release);
        let mut releases: Vec<_> = others.chain([shop.release]).map(Release::date).collect();
        releases.sort_unstable();
        releases.dedup();
        releases.reverse();
        let SupportedOperations { operations, .. } = &shop.profile.offering;
        Ok(json!({
            "address": address.as_str(),
            "profile": shop.address.as_str(),
            "release": shop.release.date(),
            "releases": releases,
            "rest": shop.rest.as_ref().map(Url::as_str),
            "mcp": shop.mcp.as_ref().map(|mcp| mcp.url().as_str()),
            "operations": operations.iter().map(|operation| operation.row().name).collect::<Vec<_>>(),
            "lacks": lacks(&shop),
        }))
    }

    /// Carries out an operation over one transport.
    async fn call(&self, asked: AskedCall) -> Result<Value, Refusal> {
        let _place = self.place()?;
        let (address, release) = (self.address(&asked.address)?, named_release(asked.release.as_deref())?);
        let texts = [
            ("$.id", &asked.id),
            ("$.profile", &asked.profile),
            ("$.key", &asked.key),
            ("$.idempotency_key", &asked.idempotency_key),
        ];
        for (path, text) in texts {
            if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT || text.chars().any(char::is_control)) {
                let problem = format!("The text must have at most {MAX_TEXT} bytes, and no control characters.");
                return Err(Refusal::new(Code::InvalidRequest, problem).at(path));
            }
        }
        let shop = self.find(&address, release).await?;
        let transport = TRANSPORTS.into_iter().find(|transport| transport.as_str() == asked.transport);
        let transport = transport.filter(|transport| shop.has(*transport)).ok_or_else(|| {
            let has = TRANSPORTS.into_iter().filter(|transport| shop.has(*transport)).map(Transport::as_str);
            Refusal::new(Code::InvalidRequest, "The profile at the address declares no endpoint for the transport.")
                .at("$.transport")
                .accepting(has.collect::<Vec<_>>().join(", "))
        })?;
        let operation = Operation::ALL.iter().copied().find(|operation| operation.row().name == asked.operation);
        let operation = operation.filter(|operation| shop.offers(*operation)).ok_or_else(|| {
            Refusal::new(Code::InvalidRequest, "The profile at the address does not offer the operation.")
                .at("$.operation")
                .accepting("an operation of a capability that the profile declares")
        })?;
        let token = asked.key.filter(|key| !key.is_empty()).map(|key| Token::new(&key));
        let http = shop.http.of_caller(&address, asked.profile, token).map_err(|error| {
            Refusal::new(Code::InvalidRequest, format!("The address {error}: a key is not sent there.")).at("$.key")
        })?;
        let shop = shop.called_by(http);
        let call = Call {
            operation,
            id: asked.id.as_deref(),
            payload: asked.payload,
            key: asked.idempotency_key.as_deref(),
            before: asked.before.as_ref(),
        };
        match timeout(PATIENCE, shop.call(transport, &call)).await {
            Ok(Ok(answer)) => Ok(told(&answer)),
            Ok(Err(unanswered)) => Ok(json!({ "unanswered": unanswered.to_string() })),
            Err(_) => Ok(json!({ "unanswered": format!("there was no answer within {} seconds", PATIENCE.as_secs()) })),
        }
    }

    /// Takes one of the places for discoveries and calls.
    fn place(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Refusal> {
        let full = "As many calls of other endpoints are under way as there may be.";
        self.places.try_acquire().map_err(|_| Refusal::unavailable(full, 1))
    }

    fn known(&self) -> MutexGuard<'_, Vec<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the address of a shop, which is one of the public Internet over https, or one of this machine.
    fn address(&self, text: &str) -> Result<Url, Refusal> {
        let invalid = |problem: String| {
            let accepted = match self.options.reach {
                Reach::Loopback => "an https address on the public Internet, or an address of this machine",
                Reach::Public => "an https address on the public Internet",
            };
            Refusal::new(Code::InvalidRequest, format!("The address {problem}.")).at("$.address").accepting(accepted)
        };
        let url = web_url(text.trim()).map_err(invalid)?;
        let parsed = ProfileUrl::parse(url.as_str(), self.reach(&url)).map_err(|error| invalid(error.to_string()))?;
        Ok(parsed.url().clone())
    }

    /// Returns the networks that may be reached for a shop: a shop elsewhere must not lead to this machine.
    fn reach(&self, address: &Url) -> Reach {
        if ucp_config::is_loopback(address) { self.options.reach } else { Reach::Public }
    }

    /// Returns the shop at an address, which is discovered unless that was done a moment ago.
    async fn find(&self, address: &Url, release: Option<Release>) -> Result<Arc<CalledShop>, Refusal> {
        let now = Instant::now();
        {
            let mut known = self.known();
            known.retain(|known| known.until > now);
            let found = known.iter().find(|known| known.address == *address && known.release == release);
            if let Some(found) = found {
                return Ok(Arc::clone(&found.shop));
            }
        }
        let options = FetchOptions { reach: self.reach(address), ..self.options.clone() };
        let unreachable = |problem: String| {
            Refusal { retry_after: Some(1), ..Refusal::new(Code::ProfileUnreachable, format!("{problem}.")) }
                .at("$.address")
                .accepting("the address of a shop that speaks UCP, below which is its profile")
        };
        let http = Http::guarded(&options).map_err(|error| unreachable(format!("The shop {error}")))?;
        let shop = timeout(PATIENCE, CalledShop::find(http, address, release)).await;
        let late = || unreachable(format!("The shop was not discovered within {} seconds", PATIENCE.as_secs()));
        let shop = shop.map_err(|_| late())?.map_err(|lost| unreachable(lost.to_string()))?;
        let shop = Arc::new(shop);
        let mut known = self.known();
        if known.len() >= MOST_SHOPS {
            known.remove(0);
        }
        known.push(Known { address: address.clone(), release, shop: Arc::clone(&shop), until: now + REMEMBERED });
        Ok(shop)
    }
}

/// Reads the date of a release.
fn named_release(date: Option<&str>) -> Result<Option<Release>, Refusal> {
    let unknown = || {
        let known = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>();
        Refusal::new(Code::InvalidRequest, "The UCP version must be one that this gateway supports.")
            .at("$.release")
            .accepting(known.join(", "))
    };
    date.map(|date| Release::from_date(date).ok_or_else(unknown)).transpose()
}

/// Says in words what a shop has not that the playground could show.
fn lacks(shop: &CalledShop) -> Vec<&'static str> {
    let offering = &shop.profile.offering;
    let misses = |operation: Operation| !offering.operations.contains(&operation);
    let lacks = |extension: &str| !offering.extensions.contains(&extension);
    [
        (!shop.has(Transport::Rest), "REST: calls go over MCP alone"),
        (!shop.has(Transport::Mcp), "MCP: calls go over REST alone"),
        (misses(Operation::SearchCatalog), "search: open a product by its identifier"),
        (misses(Operation::GetProduct), "products with options"),
        (misses(Operation::CreateCart), "carts: the cart stays in this page"),
        (misses(Operation::CreateCheckout), "checkout: nothing can be bought over UCP"),
        (lacks(FULFILLMENT), "delivery options"),
        (lacks(DISCOUNT), "discount codes"),
        (misses(Operation::GetOrder), "orders that can be read"),
    ]
    .into_iter()
    .filter_map(|(is_missing, what)| is_missing.then_some(what))
    .collect()
}

/// Tells of an answer what the page shows.
fn told(answer: &Answer) -> Value {
    let Exchange { request, status, body, took, .. } = &answer.exchange;
    let Request { method, url, headers, body: sent } = request;
    let fields = headers.iter().map(|(name, value)| {
        let shown = if name == AUTHORIZATION { "Bearer •••" } else { value.to_str().unwrap_or("•••") };
        (name.to_string(), Value::from(shown))
    });
    let said = match &answer.said {
        Said::Document(document) => Value::Object(document.clone()),
        Said::Refused(Refused { code, content, path, accepted, retryable }) => {
            json!({ "code": code, "content": content, "path": path, "accepted": accepted, "retryable": retryable })
        }
        Said::Unreadable => Value::Null,
    };
    json!({
        "request": {
            "method": method.as_str(),
            "url": url.as_str(),
            "headers": fields.collect::<Map<_, _>>(),
            "body": sent.as_ref().map(|sent| String::from_utf8_lossy(sent)),
        },
        "status": status.as_u16(),
        "milliseconds": took.as_secs_f64() * 1_000.0,
        "bytes": body.len(),
        "text": String::from_utf8_lossy(body),
        "raw": answer.raw,
        "said": said,
    })
}
