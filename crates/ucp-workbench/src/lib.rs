//! Pages for developers and operators: what a browser sees of a gateway.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `home` | the page at `/`, and `llms.txt` |
//! | `playground` | the shop as a buyer would see it, beside what goes over the wire |
//! | `reference` | every operation over REST and MCP, in all releases |
//! | `inspector` | calls as they happened |
//! | `assets` | style, scripts, icon and `robots.txt` |
//! | `page` | what all pages have in common: frame, headers, blocks to copy |
//!
//! Pages are rendered here. Scripts are served files and call the gateway as every other client does; nothing is loaded
//! from elsewhere, and nothing that comes as data is rendered as markup. Who may open a page is decided by whoever mounts
//! its routes.

mod assets;
mod home;
mod inspector;
mod page;
mod playground;
mod reference;

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    body::Bytes,
    extract::Request,
    response::Response,
    routing::{any, get},
};
use maud::Markup;
use ucp_core::Operation;

pub use page::Frame;

/// Facts about a gateway that the pages show.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Display name of the shop.
    pub shop: String,
    /// URL under which clients reach the gateway, without trailing slash.
    pub base: String,
    /// Operations that are mounted.
    pub operations: Vec<Operation>,
    /// Line of a request that says who calls, such as `UCP-Agent: profile="…"`.
    pub caller: String,
    /// `true` if the playground and the inspector are mounted.
    pub development: bool,
}

/// Returns the routes of the first page and of the files that all pages need. Who asks `/` for anything but HTML gets
/// what `otherwise` answers.
pub fn home(facts: &Facts, otherwise: impl Fn(&Request) -> Response + Clone + Send + Sync + 'static) -> Router {
    let (html, text) = (home::page(facts).into_string(), home::llms(facts));
    let first = move |request: Request| {
        let wanted = page::wants_html(&request);
        let answer = if wanted { page::html(html.clone(), false) } else { otherwise(&request) };
        async move { answer }
    };
    Router::new()
        .route("/", any(first))
        .route("/llms.txt", get(async move || ([(http::header::CONTENT_TYPE, "text/plain; charset=utf-8")], text)))
        .merge(assets::router())
}

/// Returns the routes of the playground. `signs` says that the gateway signs calls for it, at `/playground/sign`; what it
/// asks of other endpoints, `/playground/endpoint` and `/playground/call`, the gateway answers.
pub fn playground(facts: &Facts, signs: bool) -> Router {
    let html = playground::page(facts, signs).into_string();
    Router::new().route("/playground", get(async move || page::html(html, true)))
}

/// Returns the route of the page of the inspector. What it asks, `/inspector/calls` and `/inspector/live`, the gateway
/// answers.
pub fn inspector(facts: &Facts) -> Router {
    let html = inspector::page(facts).into_string();
    Router::new().route("/inspector", get(async move || page::html(html, false)))
}

/// Returns the route of the same page among those of operators, whose links are `nav`.
pub fn operators_inspector(nav: Markup) -> Router {
    let content = inspector::content();
    let scripts = &["inspector.js"];
    let frame =
        Frame { name: "Operator", home: "operator", up: "./", title: "Inspector", nav, scripts, content: &content };
    let html = frame.text();
    Router::new().route("/inspector", get(async move || page::html(html, false)))
}

/// Returns the route of the reference of the API, which is rendered when it is asked for first.
pub fn reference(facts: &Facts) -> Router {
    let (facts, rendered) = (facts.clone(), Arc::new(OnceLock::<Bytes>::new()));
    let page = async move || {
        let html = rendered.get_or_init(|| reference::page(&facts).into_string().into());
        page::html(html.clone(), false)
    };
    Router::new().route("/docs/api", get(page))
}

/// Returns the routes of the files that all pages need, for listeners without a first page.
pub fn files() -> Router {
    assets::router()
}
