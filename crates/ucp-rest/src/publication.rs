//! Documents that a gateway publishes about itself: its profile, the OpenAPI and OpenRPC documents, and the JSON
//! Schemas. They are generated at start; the profile is generated again when the keys change.
//!
//! The documents are public and the same for everyone (rules DISC-01 to DISC-03): cacheable, with an entity tag, and
//! readable from any web page.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use axum::{
    Router,
    body::Body,
    extract::{Path, rejection::PathRejection},
    response::{IntoResponse as _, Response},
    routing::get,
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Operation, Refusal, Release, negotiation::Names, operation::SupportedOperations,
    purchase::payment::Declaration,
};
use ucp_service::{Endpoint, coding::Codable, ingress::preflight};
use ucp_wire::{dialect, documents, openapi, openrpc, site::Site};

use crate::{JSON, error};

/// Cache lifetime of public documents. UCP requires at least 60 seconds for the profile (rule DISC-02).
pub const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// A serialized document with its entity tag.
#[derive(Clone, Debug)]
pub struct Published {
    bytes: Bytes,
    etag: HeaderValue,
    codable: Codable,
}

impl Published {
    /// Serializes a JSON document.
    pub fn new(document: &Value) -> Self {
        Self::text(document.to_string())
    }

    fn text(document: String) -> Self {
        let bytes = Bytes::from(document);
        let digest: String = Sha256::digest(&bytes).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let etag =
            HeaderValue::from_str(&format!("\"{digest}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"0\""));
        Self { bytes, etag, codable: Codable::kept() }
    }

    /// Returns the document as JSON text.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let (status, tag) = match self.known(headers) {
            Some(tag) => (StatusCode::NOT_MODIFIED, tag),
            None => (StatusCode::OK, self.etag.clone()),
        };
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = status;
        answer.headers_mut().insert(ETAG, tag);
        answer.headers_mut().insert(CACHE_CONTROL, CACHED);
        answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if status == StatusCode::NOT_MODIFIED {
            answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        } else {
            answer.headers_mut().insert(CONTENT_TYPE, JSON);
            answer.extensions_mut().insert(self.codable.clone());
            *answer.body_mut() = Body::from(self.bytes.clone());
        }
        answer
    }

    /// Returns the entity tag of an answer to a client that has the document, as the client names it.
    fn known(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if !headers.contains_key(IF_NONE_MATCH) {
            return None;
        }
        // A coded document has the name of its coding at the end of the tag.
        let own = self.etag.to_str().unwrap_or_default().trim_end_matches('"');
        let is_own = |tag: &&str| {
            let rest = tag.strip_prefix(own).and_then(|rest| rest.strip_suffix('"'));
            rest.is_some_and(|rest| matches!(rest, "" | "-zstd" | "-gzip"))
        };
        let tags = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut tags = tags.flat_map(|value| value.split(',')).map(|tag| tag.trim().trim_start_matches("W/"));
        let known = tags.find(|tag| *tag == "*" || is_own(tag))?;
        let named = Some(known).filter(|tag| *tag != "*").and_then(|tag| HeaderValue::from_str(tag).ok());
        Some(named.unwrap_or_else(|| self.etag.clone()))
    }
}

/// Address of an endpoint in templates. No document holds it otherwise, and none has a character in an address that JSON
/// escapes.
const ENDPOINT: &str = "https://endpoint.invalid/of-a-template";

/// Maximum number of templates that are kept.
const MOST_TEMPLATES: usize = 64;

/// Documents that are the same for all shops with the same operations, but for the address of the endpoint. To generate them
/// takes longer than to open a shop.
struct Templates {
    release: Release,
    operations: Vec<Operation>,
    openapi: String,
    openrpc: String,
    schemas: Arc<BTreeMap<String, Published>>,
}

impl Templates {
    /// Returns the templates of a release and operations, which are kept.
    fn of(release: Release, operations: &[Operation]) -> Arc<Self> {
        static KNOWN: Mutex<VecDeque<Arc<Templates>>> = Mutex::new(VecDeque::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &&Arc<Self>| it.release == release && it.operations == operations;
        if let Some(found) = known().iter().find(is_it) {
            return Arc::clone(found);
        }
        let dialect = dialect(release);
        let schemas = documents::schemas(dialect, operations);
        let made = Arc::new(Self {
            release,
            operations: operations.to_vec(),
            openapi: openapi::document(dialect, operations, ENDPOINT).to_string(),
            openrpc: openrpc::document(dialect, operations, ENDPOINT).to_string(),
            schemas: Arc::new(schemas.iter().map(|(name, schema)| (name.clone(), Published::new(schema))).collect()),
        });
        let mut known = known();
        known.truncate(MOST_TEMPLATES - 1);
        known.push_front(Arc::clone(&made));
        made
    }
}

/// The only document that changes while the gateway runs, and the public keys in it.
#[derive(Debug)]
struct Profile {
    keys: Vec<Value>,
    document: Published,
}

/// The documents of one endpoint: of one release, or of the root.
#[derive(Clone, Debug)]
pub struct Publication {
    endpoint: Endpoint,
    offering: Arc<SupportedOperations>,
    names: Names,
    public_url: Arc<str>,
    handlers: Arc<[Declaration]>,
    profile: Arc<RwLock<Profile>>,
    openapi: Published,
    openrpc: Published,
    schemas: Arc<BTreeMap<String, Published>>,
}

impl Publication {
    /// Generates the documents of an endpoint. `names` are the names of capabilities that the business uses instead of
    /// the standard ones, `public_url` is the public URL of the gateway, `keys` are its public keys and `handlers` its
    /// payment handlers.
    pub fn new(
        endpoint: Endpoint,
        offering: &SupportedOperations,
        names: &Names,
        public_url: &str,
        keys: &[Value],
        handlers: &[Declaration],
    ) -> Self {
        let base = format!("{public_url}{}", prefix(endpoint));
        let templates = Templates::of(endpoint.release(), &offering.operations);
        Self {
            endpoint,
            offering: Arc::new(offering.clone()),
            names: names.clone(),
            public_url: public_url.into(),
            handlers: handlers.into(),
            profile: Arc::new(RwLock::new(Profile {
                keys: keys.to_vec(),
                document: Published::new(&profile(endpoint, offering, names, public_url, keys, handlers)),
            })),
            openapi: Published::text(templates.openapi.replace(ENDPOINT, &base)),
            openrpc: Published::text(templates.openrpc.replace(ENDPOINT, &base)),
            schemas: Arc::clone(&templates.schemas),
        }
    }

    /// Returns the release of the endpoint.
    pub fn release(&self) -> Release {
        self.endpoint.release()
    }

    /// Replaces the public keys in the profile, if they are others.
    pub fn set_keys(&self, keys: &[Value]) {
        if self.profile.read().unwrap_or_else(PoisonError::into_inner).keys == keys {
            return;
        }
        let profile = profile(self.endpoint, &self.offering, &self.names, &self.public_url, keys, &self.handlers);
        *self.profile.write().unwrap_or_else(PoisonError::into_inner) =
            Profile { keys: keys.to_vec(), document: Published::new(&profile) };
    }

    /// Answers a request for the profile, with these headers.
    pub fn profile(&self, headers: &HeaderMap) -> Response {
        self.profile.read().unwrap_or_else(PoisonError::into_inner).document.answer(headers)
    }

    /// Returns the OpenRPC document, which JSON-RPC callers can also request with `rpc.discover`.
    pub fn openrpc(&self) -> &Published {
        &self.openrpc
    }

    /// Builds the routes of the documents.
    pub fn router(&self) -> Router {
        let (release, prefix) = (self.endpoint.release(), prefix(self.endpoint));
        let publication = self.clone();
        let serve = |document: &Published| {
            let document = document.clone();
            get(async move |headers: HeaderMap| document.answer(&headers)).options(permission)
        };
        let schemas = Arc::clone(&self.schemas);
        Router::new()
            .route(
                &format!("{prefix}{PROFILE_PATH}"),
                get(async move |headers: HeaderMap| publication.profile(&headers)).options(permission),
            )
            .route(&format!("{prefix}/openapi.json"), serve(&self.openapi))
            .route(&format!("{prefix}/openrpc.json"), serve(&self.openrpc))
            .route(
                &format!("{prefix}/schemas/{{file}}"),
                get(async move |file: Result<Path<String>, PathRejection>, headers: HeaderMap| {
                    let schema = file.ok().and_then(|Path(file)| schemas.get(file.strip_suffix(".json")?));
                    match schema {
                        Some(schema) => schema.answer(&headers),
                        None => {
                            let names: Vec<_> = schemas.keys().map(|name| format!("{name}.json")).collect();
                            let refusal =
                                Refusal::new(Code::UnknownPath, "There is no such schema.").accepting(names.join(", "));
                            error::answer(release, &refusal)
                        }
                    }
                })
                .options(permission),
            )
    }
}

/// Answers a browser that asks whether a page may read a document: pages of all sites may.
async fn permission(method: Method, headers: HeaderMap) -> Response {
    let permission = preflight(&method, &headers, HeaderValue::from_static("*"));
    (StatusCode::NO_CONTENT, permission.unwrap_or_default()).into_response()
}

fn profile(
    endpoint: Endpoint,
    offering: &SupportedOperations,
    names: &Names,
    public_url: &str,
    keys: &[Value],
    handlers: &[Declaration],
) -> Value {
    let release = endpoint.release();
    // The profile of a single release names no other versions (rule DISC-06).
    let others = Release::ALL.iter().filter(|other| endpoint == Endpoint::Root && **other != release);
    let leaf = |release: Release| format!("{public_url}{}{PROFILE_PATH}", documents::release_path(release));
    let supported_versions: Vec<_> = others.map(|other| (*other, leaf(*other))).collect();
    let base = format!("{public_url}{}", prefix(endpoint));
    dialect(release).profile(&Site {
        endpoint: &base,
        offering,
        names,
        keys,
        handlers,
        supported_versions: &supported_versions,
    })
}

/// Path of a profile below its endpoint; URLs of business profiles end with it (rule AGT-03).
pub const PROFILE_PATH: &str = "/.well-known/ucp";

/// Returns the path prefix of an endpoint, empty for the root.
pub fn prefix(endpoint: Endpoint) -> String {
    match endpoint {
        Endpoint::Root => String::new(),
        Endpoint::Of(release) => documents::release_path(release),
    }
}
