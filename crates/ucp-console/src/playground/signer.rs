//! The platform as which the playground calls when its calls are to be signed: profiles at this gateway, and a key with
//! which the gateway signs on behalf of the page.
//!
//! The key is made when the shop is opened, and never leaves the process. It signs calls of the shop's own endpoints
//! alone: whatever else is asked for is refused, and what it has signed is good at no other host.

use std::{fmt, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::IntoResponse as _,
    routing::{get, post},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{CONTENT_TYPE, HOST},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use ucp_bridge::platform;
use ucp_config::Settings;
use ucp_core::{Code, Operation, Refusal, Release, operation::Row};
use ucp_host::{
    address::{base, scheme},
    clock,
};
use ucp_rest::publication::prefix;
use ucp_service::{Endpoint, header::UCP_AGENT, negotiated_profile::NegotiatedProfile};
use ucp_trust::{
    address::ProfileUrl,
    directory::Directory,
    jwk::Algorithm,
    limit::RateLimits,
    profile::PlatformProfile,
    signature::{RequestLine, Scheme, SigningKey, sign_request},
};
use url::Url;

use super::request;
use crate::local;

/// Header fields that a signed call may have beside its profile.
const FIELDS: [&str; 2] = ["content-type", "idempotency-key"];

/// The platform of the playground.
pub(super) struct Signer {
    key: SigningKey,
    /// Profile for each release.
    profiles: Vec<(Release, ProfileUrl, String)>,
    /// Path below which the shop lies.
    path: String,
    scheme: Scheme,
    operations: Vec<Operation>,
    limit: RateLimits,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("key", &self.key.public().kid()).finish_non_exhaustive()
    }
}

/// Returns the path of the profile for a release.
fn profile_path(release: Release) -> String {
    format!("/playground/profiles/{release}.json")
}

impl Signer {
    /// Creates the platform of a shop that is reached under `public_url`. Returns `None` if profiles at that address are
    /// not accepted, or no key can be made.
    pub(super) fn new(settings: &Settings, public_url: &Url, operations: &[Operation]) -> Option<Self> {
        let key = SigningKey::generate(Algorithm::Es256).ok()?;
        let (base, keys) = (base(public_url), [key.public().to_jwk()?]);
        let profile = |release: &Release| {
            let url = ProfileUrl::parse(&format!("{base}{}", profile_path(*release)), settings.reach).ok()?;
            Some((*release, url, platform::profile(*release, false, &base, &keys, None).to_string()))
        };
        Some(Self {
            profiles: Release::ALL.iter().map(profile).collect::<Option<_>>()?,
            key,
            path: settings.mount.path.clone(),
            scheme: scheme(public_url),
            operations: operations.to_vec(),
            limit: request::limit(),
        })
    }

    /// Makes the platform known, so that its profiles need not be fetched.
    pub(super) fn pin(&self, directory: &Directory<NegotiatedProfile>) {
        for (_, url, document) in &self.profiles {
            match PlatformProfile::read(document.as_bytes()) {
                Ok((profile, _)) => directory.pin(url.clone(), profile),
                Err(refusal) => tracing::error!(%refusal, "reading the playground profile failed"),
            }
        }
    }

    /// Builds the routes: the profiles, and the signing of calls for the page.
    pub(super) fn router(self: Arc<Self>) -> Router {
        let mut profiles = Router::new();
        for (release, _, document) in &self.profiles {
            let document = document.clone();
            let profile = async move || ([(CONTENT_TYPE, "application/json")], document).into_response();
            profiles = profiles.route(&profile_path(*release), get(profile));
        }
        let sign = async |State(signer): State<Arc<Self>>, headers: HeaderMap, body: Bytes| {
            let signed = request::read(&signer.limit, &headers, &body).and_then(|call| signer.sign(call, &headers));
            request::answer(signed)
        };
        let signing = Router::new().route("/playground/sign", post(sign)).with_state(self);
        local::only(profiles).merge(local::only_pages(request::bounded(signing)))
    }

    /// Returns the release to which an address of the shop belongs, if calls are taken there.
    fn release(&self, method: &Method, path: &str) -> Option<Release> {
        let ends = |release: Release| path.strip_prefix(&*prefix(Endpoint::Of(release)));
        let (release, rest) = Release::ALL.iter().find_map(|release| Some((*release, ends(*release)?)))?;
        let is_tool = rest == "/mcp" && *method == Method::POST;
        let is_route = |row: &Row| row.method.as_str() == method.as_str() && is_under(row.path, rest);
        (is_tool || self.operations.iter().any(|operation| is_route(operation.row()))).then_some(release)
    }

    /// Signs a call of this shop, to the host that the page itself was asked from.
    fn sign(&self, call: Call, asked: &HeaderMap) -> Result<Value, Refusal> {
        let Call { method, path: target, headers: fields, body } = call;
        let invalid = |path: &str, content: &str| Refusal::new(Code::InvalidRequest, content.to_owned()).at(path);
        let method: Method = method.parse().map_err(|_| invalid("$.method", "The method must be one of HTTP."))?;
        let (path, query) = target.split_once('?').map_or((&*target, None), |(path, query)| (path, Some(query)));
        let release = self.release(&method, path).filter(|_| query.is_none_or(|query| query == "view=compact"));
        let release = release.ok_or_else(|| {
            invalid("$.path", "Only calls of operations at this gateway are signed.")
                .accepting("the path of an operation, or of MCP, in a release")
        })?;
        let authority = asked.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        let mut headers = HeaderMap::new();
        for (name, value) in &fields {
            let name = name.parse::<HeaderName>().ok().filter(|name| FIELDS.contains(&name.as_str()));
            let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
            let (Some(name), Some(value)) = (name, value) else {
                return Err(invalid("$.headers", "The header fields must be texts of fields that a call has.")
                    .accepting(format!("texts of {}", FIELDS.join(" and "))));
            };
            headers.insert(name, value);
        }
        let profile = self.profiles.iter().find(|(other, ..)| *other == release).map(|(_, url, _)| url.as_str());
        let agent = format!("profile=\"{}\"", profile.unwrap_or_default());
        headers.insert(UCP_AGENT, HeaderValue::from_str(&agent).map_err(|_| Refusal::internal())?);
        let path = format!("{}{path}", self.path);
        let line =
            RequestLine { method: method.as_str(), scheme: self.scheme, authority: &authority, path: &path, query };
        let signed = sign_request(line, &mut headers, body.as_bytes(), &[], &self.key, clock::now());
        let base = signed.map_err(|error| invalid("$", &format!("The call cannot be signed: {error}.")))?;
        let fields = headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.into())));
        Ok(json!({ "headers": fields.collect::<Map<_, _>>(), "base": String::from_utf8_lossy(&base) }))
    }
}

/// Returns `true` if a path is one of a route, whose segments in braces stand for any.
fn is_under(route: &str, path: &str) -> bool {
    let (mut expected, mut found) = (route.split('/'), path.split('/'));
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return true,
            (Some(name), Some(segment)) if name.starts_with('{') && !segment.is_empty() => {}
            (Some(name), Some(segment)) if name == segment => {}
            _ => return false,
        }
    }
}

/// A call that is to be signed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    method: String,
    /// Path below the shop, with its query.
    path: String,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    body: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_under_its_route_alone() {
        assert!(is_under("/catalog/search", "/catalog/search"));
        assert!(is_under("/orders/{id}", "/orders/ord_1"));
        assert!(is_under("/checkout-sessions/{id}/complete", "/checkout-sessions/chk_1/complete"));
        for other in ["/orders", "/orders/", "/orders/a/b", "/orders/a/../..", "/catalog", "orders/a"] {
            assert!(!is_under("/orders/{id}", other), "{other}");
        }
    }
}
