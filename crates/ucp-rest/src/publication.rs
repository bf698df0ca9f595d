//! The documents a gateway publishes about itself, made once at start.
//!
//! They are public and the same for everyone (rules DISC-01 to DISC-03): cacheable, with an entity tag, and readable from
//! any web page.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{Path, rejection::PathRejection},
    response::{IntoResponse as _, Response},
    routing::get,
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
};
use sha2::{Digest as _, Sha256};
use ucp_core::{Code, Operation, Refusal, Release};
use ucp_service::header::{REQUEST_ID, request_id};
use ucp_wire::{dialect, documents, openapi, openrpc, profile::profile};

use crate::{JSON, error};

/// How long a platform may keep the profile, in seconds. UCP asks for at least 60 (rule DISC-02).
pub const MAX_AGE: u32 = 300;

/// A document, ready to be sent.
#[derive(Clone, Debug)]
pub struct Published {
    bytes: Bytes,
    etag: HeaderValue,
}

impl Published {
    /// Publishes a JSON document.
    #[must_use]
    pub fn new(document: &serde_json::Value) -> Self {
        let bytes = Bytes::from(document.to_string());
        let digest: String = Sha256::digest(&bytes).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let etag =
            HeaderValue::from_str(&format!("\"{digest}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"0\""));
        Self { bytes, etag }
    }

    /// The document as JSON text.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
            let own = self.etag.to_str().unwrap_or_default();
            value.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == own)
        });
        let cache = HeaderValue::from_str(&format!("public, max-age={MAX_AGE}"))
            .unwrap_or_else(|_| HeaderValue::from_static("public, max-age=60"));
        let shared = [
            (ETAG, self.etag.clone()),
            (CACHE_CONTROL, cache),
            (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
            (REQUEST_ID, request_id(headers)),
        ];
        if known {
            (StatusCode::NOT_MODIFIED, shared).into_response()
        } else {
            (shared, [(CONTENT_TYPE, JSON)], self.bytes.clone()).into_response()
        }
    }
}

/// Everything a gateway publishes.
#[derive(Clone, Debug)]
pub struct Publication {
    profile: Published,
    openapi: Published,
    openrpc: Published,
    schemas: Arc<BTreeMap<String, Published>>,
}

impl Publication {
    /// What a gateway publishes that serves `operations` in `release` under `public_url`.
    #[must_use]
    pub fn new(release: Release, operations: &[Operation], public_url: &str) -> Self {
        let dialect = dialect(release);
        let schemas = documents::schemas(release);
        Self {
            profile: Published::new(&profile(release, operations, public_url)),
            openapi: Published::new(&openapi::document(dialect, operations, public_url)),
            openrpc: Published::new(&openrpc::document(dialect, operations, public_url)),
            schemas: Arc::new(schemas.iter().map(|(name, schema)| (name.clone(), Published::new(schema))).collect()),
        }
    }

    /// The OpenRPC document, which JSON-RPC callers can ask for too.
    #[must_use]
    pub fn openrpc(&self) -> &Published {
        &self.openrpc
    }

    /// The routes under which the documents are found.
    pub fn router(&self) -> Router {
        let serve = |document: &Published| {
            let document = document.clone();
            get(async move |headers: HeaderMap| document.answer(&headers))
        };
        let schemas = Arc::clone(&self.schemas);
        Router::new()
            .route("/.well-known/ucp", serve(&self.profile))
            .route("/openapi.json", serve(&self.openapi))
            .route("/openrpc.json", serve(&self.openrpc))
            .route(
                "/schemas/{file}",
                get(async move |file: Result<Path<String>, PathRejection>, headers: HeaderMap| {
                    let schema = file.ok().and_then(|Path(file)| schemas.get(file.strip_suffix(".json")?));
                    match schema {
                        Some(schema) => schema.answer(&headers),
                        None => {
                            let names: Vec<_> = schemas.keys().map(|name| format!("{name}.json")).collect();
                            let refusal =
                                Refusal::new(Code::UnknownPath, "There is no such schema.").accepting(names.join(", "));
                            error::answer(&refusal, request_id(&headers))
                        }
                    }
                }),
            )
    }
}
