//! Answers for shops that are not open.
//!
//! Only calls of operations, pages of buyers and notices have a shop opened, if they are not refused by their head. Unknown
//! paths and methods, documents and files are answered without it: by the routes that any shop may have, and for documents by
//! what the shop stated when it was open last.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::Request,
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any, get, on, post},
};
use http::{Extensions, StatusCode};
use tower::ServiceExt as _;
use ucp_bridge::platform::{self, ORDERS_PATH};
use ucp_config::{BackendKind, Payment, Settings};
use ucp_contract::changes::CHANGES_PATH;
use ucp_core::{Operation, Refusal, Release};
use ucp_rest::publication::{PROFILE_PATH, Publication, prefix};
use ucp_service::{
    Endpoint,
    ingress::{Charged, Entry, Origins, Rules, Target},
};
use ucp_trust::signature::bot::DIRECTORY_PATH;

use crate::{
    address::base,
    backend::embedded,
    callers, clock, directory,
    openings::Opener,
    pages::Subject,
    running::Running,
    shop::{self, Statement},
    slot::Slot,
};

/// The shop that a request is for, and the other extensions of the request before it was routed here.
#[derive(Clone)]
pub struct Called(Arc<Slot>, Arc<Extensions>);

impl Called {
    /// Adds the shop that a request is for to its extensions.
    pub fn mark(request: &mut Request, slot: &Arc<Slot>) {
        let extensions = Arc::new(request.extensions().clone());
        request.extensions_mut().insert(Self(Arc::clone(slot), extensions));
    }

    /// Returns the shop that a request is for, with the request as another router can take it: without what this one has found
    /// in its path.
    fn of(mut request: Request) -> Option<(Arc<Slot>, Request)> {
        let called = request.extensions().get::<Self>()?.clone();
        let target = request.extensions_mut().remove::<Target>();
        let (slot, mut extensions) = (Arc::clone(&called.0), (*called.1).clone());
        extensions.insert(called);
        if let Some(target) = target {
            extensions.insert(target);
        }
        *request.extensions_mut() = extensions;
        Some((slot, request))
    }
}

/// Opener of shops.
type Door = Extension<Arc<Running>>;

/// A check of the head of a request, which charges it to its sender.
type Check = fn(&Rules, &http::request::Parts) -> Result<Entry, Refusal>;

/// Answers a request that does not say which shop it is for, of which there are none.
fn unmarked() -> Response {
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// Builds the routes. Requests have the shop that they are for in their extensions, as [`Called`].
pub fn router(running: Arc<Running>) -> Router {
    let mut router = Router::new()
        .route("/docs", get(manual))
        .route("/docs/", get(manual))
        .route("/docs/{*rest}", get(manual))
        .route("/docs/api", get(page_about))
        .route("/", any(page_about))
        .route("/llms.txt", get(page_about))
        .merge(files(running.pages().files(), |_| true))
        .merge(files(embedded::pictures(), |slot| slot.settings.upstream.is_none()))
        .route("/playground", for_shops(get(page), Slot::is_development))
        .route("/playground/{*rest}", for_shops(get(page).post(page), Slot::is_development))
        .route("/continue/{token}", get(page).post(page))
        .route("/continue/{token}/{*rest}", get(page).post(page))
        .route("/order/{token}", get(page))
        .route(
            "/payments/{id}/events",
            for_shops(post(page), |slot| slot.settings.payments.iter().any(Payment::takes_events)),
        )
        .route(CHANGES_PATH, for_shops(post(page), |slot| slot.settings.catalog.is_some()))
        .route(ORDERS_PATH, for_shops(post(page), |slot| slot.settings.upstream.is_some()))
        .route(DIRECTORY_PATH, for_shops(get(page), |slot| is_behind(&slot.settings, BackendKind::Shopify)));
    for release in Release::ALL {
        for name in [None, Some("{platform}")] {
            let profile = for_shops(get(page), |slot| is_behind(&slot.settings, BackendKind::Ucp));
            router = router.route(&platform::profile_path(*release, name), profile);
        }
    }
    for endpoint in shop::endpoints() {
        let prefix = prefix(endpoint);
        // Some paths are those of several operations, which differ in their methods.
        for (_, path, method) in ucp_rest::routes(endpoint, Operation::ALL, &prefix) {
            router = router.route(&path, on(method, operation));
        }
        router = router.route(&format!("{prefix}/mcp"), post(operation));
        for path in [PROFILE_PATH, "/openapi.json", "/openrpc.json", "/schemas/{file}"] {
            let document = async move |door: Door, request: Request| document(door, endpoint, request).await;
            router = router.route(&format!("{prefix}{path}"), get(document).options(document));
        }
    }
    ucp_rest::surrounded(router.layer(Extension(running)), origins)
}

/// Returns the pages that may call the shop of a request.
fn origins(extensions: &Extensions) -> Origins {
    extensions.get::<Called>().map(|Called(slot, _)| slot.rules.hosts.origins.clone()).unwrap_or_default()
}

fn is_behind(settings: &Settings, kind: BackendKind) -> bool {
    settings.upstream.is_some() && settings.sections.upstream.backend == kind
}

/// Restricts a route to the shops that can have it. For others there is nothing under its path.
fn for_shops(route: MethodRouter, has: fn(&Slot) -> bool) -> MethodRouter {
    route.layer(from_fn(
        move |Extension(Called(slot, _)): Extension<Called>, request: Request, next: Next| async move {
            if has(&slot) { next.run(request).await } else { ucp_rest::unknown_path(request.uri()) }
        },
    ))
}

/// Puts the limits of documents in front of files that are part of the binary, for the shops that have them.
fn files(router: Router, has: fn(&Slot) -> bool) -> Router {
    router.layer(from_fn(
        move |Extension(Called(slot, _)): Extension<Called>, request: Request, next: Next| async move {
            if !has(&slot) {
                return ucp_rest::unknown_path(request.uri());
            }
            slot.reading().limited(request, async move |request| next.run(request).await).await
        },
    ))
}

/// Carries out the request of an operation.
async fn operation(door: Door, request: Request) -> Response {
    let check: Check = |rules, head| {
        rules.hosts().admit_page(&head.headers, &head.uri)?;
        rules.enter(head)
    };
    opening(door, request, check).await
}

/// Answers with a page of a shop, or accepts a webhook.
async fn page(door: Door, request: Request) -> Response {
    opening(door, request, Rules::knock).await
}

/// Answers with the shop of a request, which is opened for it unless its head is refused.
async fn opening(Extension(running): Door, request: Request, check: Check) -> Response {
    let Some((slot, request)) = Called::of(request) else { return unmarked() };
    let (mut head, body) = request.into_parts();
    let opened = match check(&slot.rules, &head) {
        Ok(entry) => {
            head.extensions.insert(Charged);
            let opener = if entry.is_registered() { Opener::Registered } else { Opener::Stranger(entry.client()) };
            running.opened(&slot, opener).await
        }
        Err(refusal) => Err(refusal),
    };
    let router = match opened {
        Ok(shop) => shop.router.clone(),
        Err(refusal) => shop::refusing(callers::origins(&slot.settings), move || refusal.clone()),
    };
    answered(router, Request::from_parts(head, body)).await
}

/// Answers with a document of an endpoint.
async fn document(door: Door, endpoint: Endpoint, request: Request) -> Response {
    stated(door, request, move |slot, statement| {
        let keys = slot.keyring().map(|keyring| keyring.published(clock::now())).unwrap_or_default();
        let (base, names) = (base(&slot.public_url), directory::names(&slot.settings.directory));
        Publication::new(endpoint, &statement.offering, &names, &base, &keys, &statement.handlers).router()
    })
    .await
}

/// Answers with the first page or the reference of the API.
async fn page_about(door: Door, request: Request) -> Response {
    stated(door, request, |slot, statement| {
        let Statement { name, offering, .. } = statement;
        let Slot { settings, public_url, .. } = slot;
        slot.pages().about(&Subject { settings, public_url, name, operations: &offering.operations }, None)
    })
    .await
}

/// Answers with the routes that `made` makes from what the shop of a request has stated. A shop that has stated nothing is
/// opened, which it is once.
async fn stated(
    door: Door,
    request: Request,
    made: impl FnOnce(&Slot, &Statement) -> Router + Send + 'static,
) -> Response {
    let Some((slot, request)) = Called::of(request) else { return unmarked() };
    let Some(statement) = slot.statement() else { return opening(door, request, Rules::browse).await };
    let reading = slot.reading();
    reading
        .limited(request, async move |request| {
            match tokio::task::spawn_blocking(move || made(&slot, &statement)).await {
                Ok(router) => answered(router, request).await,
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        })
        .await
}

/// Answers with a page of the documentation.
async fn manual(request: Request) -> Response {
    let Some((slot, request)) = Called::of(request) else { return unmarked() };
    let name = slot.statement().map_or_else(|| slot.id.to_string(), |statement| statement.name.clone());
    let Slot { settings, public_url, .. } = &*slot;
    let router = slot.pages().manual(&Subject { settings, public_url, name: &name, operations: &[] });
    slot.reading().limited(request, async move |request| answered(router, request).await).await
}

/// Answers a request with a router.
pub async fn answered(router: Router, request: Request) -> Response {
    router.oneshot(request).await.unwrap_or_else(|never| match never {})
}
