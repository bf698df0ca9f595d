//! The paths at the root that belong to the suite. Everything else is the gateway's.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use tower::ServiceExt as _;
use ucp_core::{
    Code, Refusal, Release,
    negotiation::Names,
    operation::{ORDER, SHOPPING},
    purchase::payment::Declaration,
};
use ucp_rest::error;
use ucp_service::header::UCP_AGENT;
use ucp_wire::{
    dialect, documents,
    site::{Site, published_at},
};
use url::Url;

/// The release that the suite speaks.
pub(super) const RELEASE: Release = Release::V2026_01_11;

/// Who calls when a caller names a profile that is no address. Nothing is ever fetched from there.
pub(super) const STAND_IN: &str = "https://conformance.invalid/profile.json";

/// What stands between the suite and the gateway.
pub(super) struct Front {
    /// Where the root is.
    pub(super) base: String,
    /// The gateway as it is for everyone else.
    pub(super) whole: Router,
    /// How the suite can pay.
    pub(super) handlers: Arc<[Declaration]>,
}

impl Front {
    /// Everything under one router. `routes` are those of the suite, beside its profile.
    pub(super) fn router(self, routes: Router, profile_path: &'static str) -> Router {
        let whole = self.whole.clone();
        let state = Arc::new((self, profile_path));
        let routes = routes
            .layer(from_fn(async |mut request: Request, next: Next| -> Response {
                let answer = match introduce(request.headers_mut()) {
                    Ok(()) => next.run(request).await,
                    Err(refusal) => error::answer(RELEASE, &refusal),
                };
                retold(answer).await
            }))
            .route(profile_path, get(profile).with_state(state));
        let routes = ucp_rest::surrounded(routes);
        Router::new().fallback(async move |request: Request| {
            let path = request.uri().path();
            let own = path == profile_path
                || ["/checkout-sessions", "/orders", "/testing"]
                    .iter()
                    .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
            let router = if own { &routes } else { &whole };
            router.clone().oneshot(request).await
        })
    }
}

/// The profile of the release, as if the root were its endpoint.
async fn profile(State(state): State<Arc<(Front, &'static str)>>) -> Response {
    let (front, path) = &*state;
    let mut request = Request::new(Body::empty());
    let published = format!("{}{path}", documents::release_path(RELEASE));
    let document = match published.parse() {
        Ok(uri) => {
            *request.uri_mut() = uri;
            let Ok(published) = front.whole.clone().oneshot(request).await;
            read(published.into_body()).await
        }
        Err(_) => None,
    };
    let Some(mut document) = document else { return error::answer(RELEASE, &Refusal::internal()) };
    let own = dialect(RELEASE).profile(&Site {
        endpoint: &front.base,
        offering: &ucp_core::operation::Offering::default(),
        names: &Names::default(),
        keys: &[],
        handlers: &front.handlers,
        supported_versions: &[],
    });
    document["payment"] = own["payment"].clone();
    document["ucp"]["services"][SHOPPING]["rest"]["endpoint"] = front.base.as_str().into();
    if let Some(capabilities) = document["ucp"]["capabilities"].as_array_mut()
        && capabilities.iter().all(|capability| capability["name"] != ORDER)
    {
        capabilities.push(json!({
            "name": ORDER,
            "version": RELEASE.date(),
            "spec": published_at(RELEASE, "specification/order"),
            "schema": published_at(RELEASE, "schemas/shopping/order.json"),
        }));
    }
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], document.to_string()).into_response()
}

/// Lets callers name their release in `UCP-Agent`, and a profile that is none.
fn introduce(headers: &mut HeaderMap) -> Result<(), Refusal> {
    let Some(agent) = headers.get(UCP_AGENT) else { return Ok(()) };
    // What cannot be read is refused further in.
    let Ok(members) = Parser::new(agent.as_bytes()).parse::<Dictionary>() else { return Ok(()) };
    let Some(ListEntry::Item(item)) = members.get("profile") else { return Ok(()) };
    if let Some(BareItem::String(version)) = item.params.get("version")
        && version.as_str() != RELEASE.date()
    {
        return Err(Refusal::new(Code::VersionUnsupported, "This release is not served here.")
            .accepting(RELEASE.date().to_owned()));
    }
    if let BareItem::String(profile) = &item.bare_item
        && Url::parse(profile.as_str()).is_err()
        && let Ok(stand_in) = HeaderValue::from_str(&format!("profile=\"{STAND_IN}\""))
    {
        headers.insert(UCP_AGENT, stand_in);
    }
    Ok(())
}

/// An answer in the words of the sample server: a checkout lists its instruments also when there are none, `detail` says
/// what was wrong, a payment that failed is a 402, and a release that is not served a 400.
async fn retold(answer: Response) -> Response {
    let (mut head, body) = answer.into_parts();
    let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return error::answer(RELEASE, &Refusal::internal());
    };
    let Ok(Value::Object(mut document)) = serde_json::from_slice(&bytes) else {
        return Response::from_parts(head, Body::from(bytes));
    };
    if head.status.is_success() {
        return match document.get_mut("payment") {
            Some(Value::Object(payment)) if !payment.contains_key("instruments") => {
                payment.insert("instruments".to_owned(), json!([]));
                Response::from_parts(head, Body::from(Value::Object(document).to_string()))
            }
            _ => Response::from_parts(head, Body::from(bytes)),
        };
    }
    let about = |code: &str| {
        let messages = document.get("messages").and_then(Value::as_array);
        messages.into_iter().flatten().any(|message| message["code"] == code)
    };
    if about("payment_failed") || about("requires_3ds") {
        head.status = StatusCode::PAYMENT_REQUIRED;
    } else if about(Code::VersionUnsupported.as_str()) {
        head.status = StatusCode::BAD_REQUEST;
    }
    let detail = document.get("messages").map(|messages| messages[0]["content"].clone());
    if let Some(detail @ Value::String(_)) = detail {
        document.entry("detail").or_insert(detail);
    }
    Response::from_parts(head, Body::from(Value::Object(document).to_string()))
}

/// A JSON document of this gateway.
async fn read(body: Body) -> Option<Value> {
    let bytes = body.collect().await.ok()?.to_bytes();
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_may_name_their_release_and_a_profile_that_is_none() {
        let introduced = |agent: &'static str| {
            let mut headers = HeaderMap::from_iter([(UCP_AGENT, HeaderValue::from_static(agent))]);
            introduce(&mut headers).map(|()| headers[UCP_AGENT].to_str().expect("text").to_owned())
        };
        for kept in [r#"profile="http://localhost:8285/p""#, "nonsense", "profile=1", r#"other="...""#] {
            assert_eq!(introduced(kept).as_deref(), Ok(kept));
        }
        for replaced in [r#"profile="...""#, r#"profile="..."; version="2026-01-11""#] {
            assert_eq!(introduced(replaced), Ok(format!("profile=\"{STAND_IN}\"")), "{replaced}");
        }
        let refused = introduced(r#"profile="https://a.example/p"; version="2099-01-01""#).expect_err("not served");
        assert_eq!(refused.code, Code::VersionUnsupported);
    }

    #[tokio::test]
    async fn refusals_say_what_was_wrong_in_their_detail() {
        let answer = |status: u16, code: &str| {
            let body = json!({ "messages": [{ "code": code, "content": "Why." }] }).to_string();
            Response::builder().status(status).body(Body::from(body)).expect("a response")
        };
        for (status, code, retold_as) in
            [(400, "payment_failed", 402), (422, "version_unsupported", 400), (422, "invalid_request", 422)]
        {
            let answer = retold(answer(status, code)).await;
            assert_eq!(answer.status().as_u16(), retold_as, "{code}");
            assert_eq!(read(answer.into_body()).await.expect("JSON")["detail"], "Why.");
        }
        let fine = retold(answer(200, "payment_failed")).await;
        assert_eq!(fine.status(), 200);
        assert_eq!(read(fine.into_body()).await.expect("JSON").get("detail"), None);
        for payment in [json!({ "handlers": [] }), json!({ "handlers": [], "instruments": [{ "id": "i" }] })] {
            let checkout = Response::new(Body::from(json!({ "payment": payment }).to_string()));
            let retold = read(retold(checkout).await.into_body()).await.expect("JSON");
            let listed = payment.get("instruments").cloned().unwrap_or(json!([]));
            assert_eq!(retold["payment"]["instruments"], listed);
        }
    }
}
