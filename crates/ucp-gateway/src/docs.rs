//! The documentation below `/docs`: the pages of the repository with a search. All of it is part of the binary, and loads
//! nothing from other hosts.

mod pages;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, RawQuery, State},
    middleware,
    response::{Html, IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use url::form_urlencoded;

use self::pages::Page;

/// Content Security Policy of the pages: their style is in them, their pictures and their search are the gateway's, and they
/// run no script.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'self'",
);

/// A picture of the repository: file name, media type, and content.
macro_rules! picture {
    ($name:literal, $kind:literal) => {
        ($name, $kind, include_bytes!(concat!("../docs/pictures/", $name)))
    };
}

/// Pictures of the pages.
const PICTURES: &[(&str, &str, &[u8])] = &[
    picture!("call.svg", "image/svg+xml"),
    picture!("checkout.svg", "image/svg+xml"),
    picture!("parties.svg", "image/svg+xml"),
    picture!("playground.png", "image/png"),
];

/// Pages that moved: the former name, and the name of the page with the beginning of its content.
const MOVED: &[(&str, &str)] = &[
    ("rest", "api"),
    ("doctor", "test-an-endpoint"),
    ("faq", "concepts"),
    ("fronting", "connect-your-shop"),
    ("operations", "install"),
    ("quickstart-agent", "clients"),
    ("quickstart-shop", "connect-your-shop"),
    ("selling", "sales-terms"),
    ("workbench", "debug-requests"),
    ("your-shop", "connect-your-shop"),
];

const STYLE: &str = "body{margin:0;font:16px/1.6 system-ui,sans-serif;color:#1c2733;display:flex}\
nav{order:-1;flex:0 0 15rem;padding:1.5rem;box-sizing:border-box;height:100vh;overflow:auto;position:sticky;top:0;background:#f5f7f9}\
nav h2{font-size:.75rem;text-transform:uppercase;letter-spacing:.05em;color:#6b7885;margin:1.2rem 0 .2rem}nav a{display:block}\
main{flex:1;min-width:0;max-width:54rem;padding:1.5rem 2.5rem 4rem}a{color:#2160c4;text-decoration:none}a:hover{text-decoration:underline}\
pre,code{font:13px/1.5 ui-monospace,monospace}pre{background:#f5f7f9;padding:1rem;overflow:auto;border-radius:6px}\
img{max-width:100%;height:auto}p code,li code,td code{background:#eef1f4;padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}\
table{border-collapse:collapse;display:block;overflow:auto}th,td{text-align:left;vertical-align:top;padding:.35rem .7rem;border-bottom:1px solid #dde3ea}\
input{width:100%;box-sizing:border-box;padding:.4rem .6rem;border:1px solid #c6d0da;border-radius:6px;font:inherit}\
.contents{display:none}\
@media(max-width:50rem){body{display:block}nav{height:auto;position:static}main{padding:1rem}.contents{display:inline}}\
@media(prefers-color-scheme:dark){body{background:#14191f;color:#dfe6ee}nav,pre{background:#1a2129}a{color:#7fb0ff}\
p code,li code,td code{background:#222b35}th,td{border-color:#2b3540}input{background:#14191f;color:inherit;border-color:#3a4652}}";

/// Path below which clients reach the shop; empty at the root of its host.
type Prefix = Arc<str>;

/// Builds the routes of the pages, for a shop that clients reach below `path`.
pub(crate) fn router(path: &str) -> Router {
    Router::new()
        .route("/docs", get(contents))
        .route("/docs/", get(slash))
        .route("/docs/search", get(found))
        .route("/docs/pictures/{name}", get(picture))
        .route("/docs/{page}", get(page))
        .with_state(path.into())
        .layer(middleware::map_response(protected))
}

/// Leads to the contents.
async fn slash(State(prefix): State<Prefix>) -> Redirect {
    Redirect::permanent(&format!("{prefix}/docs"))
}

/// Answers with a page. The files of the repository may be named as they are there.
async fn page(State(prefix): State<Prefix>, Path(name): Path<String>) -> Response {
    let name = name.strip_suffix(".md").unwrap_or(&name);
    if let Some((_, to)) = MOVED.iter().find(|(from, _)| *from == name) {
        return Redirect::permanent(&format!("{prefix}/docs/{to}")).into_response();
    }
    match pages::named(name) {
        Some(page) => shown(&prefix, &page.title, "", &PreEscaped(page.html.clone())).into_response(),
        None => {
            let missing = html! { h1 { "There is no such page" } p { "The contents beside this have all of them." } };
            (StatusCode::NOT_FOUND, shown(&prefix, "No such page", "", &missing)).into_response()
        }
    }
}

/// Answers with a picture of a page.
async fn picture(Path(name): Path<String>) -> Response {
    match PICTURES.iter().find(|(own, ..)| *own == name) {
        Some((_, kind, picture)) => ([(CONTENT_TYPE, *kind)], *picture).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn found(State(prefix): State<Prefix>, RawQuery(query): RawQuery) -> Html<String> {
    let mut members = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let words = members.find(|(name, _)| name == "q").map(|(_, words)| words.into_owned()).unwrap_or_default();
    let hits = pages::search(&words);
    let body = html! {
        h1 { "Search" }
        @if hits.is_empty() { p { "No section has all of these words." } }
        @for hit in hits {
            p { a href=(hit.address) { (hit.page) ": " (hit.title) } br; (hit.excerpt) "…" }
        }
    };
    shown(&prefix, "Search", &words, &body)
}

async fn contents(State(prefix): State<Prefix>) -> Html<String> {
    let body = html! {
        h1 { "Documentation" }
        p { "Of the ucp-gateway that serves this page, version " (env!("CARGO_PKG_VERSION")) "." }
        ul { @for page in pages::all() { li { a href={ "/docs/" (page.name) } { (page.title) } } } }
        p { a href="/docs/api" { "The API reference" } }
    };
    shown(&prefix, "Documentation", "", &body)
}

/// Puts a page together: the contents beside it, the search above them. Its links lead below `prefix`.
fn shown(prefix: &str, title: &str, query: &str, body: &Markup) -> Html<String> {
    let mut group = "";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · ucp-gateway" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    a.contents href="#contents" { "Contents and search" }
                    (body)
                }
                nav #contents aria-label="Documentation" {
                    form action="/docs/search" { input type="search" name="q" value=(query) placeholder="Search" aria-label="Search"; }
                    @for page in pages::all() { (entry(page, &mut group)) }
                    h2 { "Try" }
                    a href="/docs/api" { "API reference" }
                }
            }
        }
    };
    Html(page.into_string().replace("=\"/docs", &format!("=\"{prefix}/docs")))
}

/// A line of the contents, with the heading of its group in front of the first.
fn entry(page: &'static Page, group: &mut &'static str) -> Markup {
    let first = *group != page.group;
    *group = page.group;
    html! {
        @if first { h2 { (page.group) } }
        a href={ "/docs/" (page.name) } { (page.title) }
    }
}

/// Adds the policy of the pages to a response.
async fn protected(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
