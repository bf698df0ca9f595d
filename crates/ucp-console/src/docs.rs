//! The documentation below `/docs`: the pages of the repository with a search. All of it is part of the binary, runs no
//! script, and loads nothing from other hosts.

mod pages;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::StatusCode;
use maud::{Markup, PreEscaped, html};
use ucp_host::pages::Subject;
use url::form_urlencoded;

use crate::{
    assets,
    facts::Facts,
    page::{self, Place},
};

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

/// The documentation of a shop.
struct Manual {
    /// Path below which clients reach the shop; empty at the root of its host.
    path: String,
    facts: Facts,
}

/// Builds the routes of the pages of a shop.
pub(crate) fn router(shop: &Subject<'_>) -> Router {
    let manual = Manual { path: shop.settings.mount.path.clone(), facts: Facts::of(shop) };
    Router::new()
        .route("/docs", get(contents))
        .route("/docs/", get(slash))
        .route("/docs/search", get(found))
        .route("/docs/pictures/{name}", get(picture))
        .route("/docs/{page}", get(page))
        .with_state(Arc::new(manual))
}

/// Leads to the contents.
async fn slash(State(manual): State<Arc<Manual>>) -> Redirect {
    manual.redirect("")
}

/// Answers with a page. The files of the repository may be named as they are there.
async fn page(State(manual): State<Arc<Manual>>, Path(name): Path<String>) -> Response {
    let name = name.strip_suffix(".md").unwrap_or(&name);
    if let Some((_, to)) = MOVED.iter().find(|(from, _)| *from == name) {
        return manual.redirect(&format!("/{to}")).into_response();
    }
    match pages::named(name) {
        Some(page) => {
            let html = page.html.replace("=\"/docs", &format!("=\"{}/docs", manual.path));
            manual.shown(&page.title, "", &PreEscaped(html))
        }
        None => {
            let missing = html! { h1 { "There is no such page" } p { "The contents beside this have all of them." } };
            (StatusCode::NOT_FOUND, manual.shown("No such page", "", &missing)).into_response()
        }
    }
}

/// Answers with a picture of a page.
async fn picture(Path(name): Path<String>) -> Response {
    match PICTURES.iter().find(|(own, ..)| *own == name) {
        Some((_, kind, picture)) => assets::file(kind, picture),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn found(State(manual): State<Arc<Manual>>, RawQuery(query): RawQuery) -> Response {
    let mut members = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let words = members.find(|(name, _)| name == "q").map(|(_, words)| words.into_owned()).unwrap_or_default();
    let hits = pages::search(&words);
    let body = html! {
        h1 { "Search" }
        @if hits.is_empty() { p { "No section has all of these words." } }
        @for hit in hits {
            p { a href={ (manual.path) (hit.address) } { (hit.page) ": " (hit.title) } br; (hit.excerpt) "…" }
        }
    };
    manual.shown("Search", &words, &body)
}

async fn contents(State(manual): State<Arc<Manual>>) -> Response {
    let path = &manual.path;
    let body = html! {
        h1 { "Documentation" }
        p { "Of the ucp-gateway that serves this page, version " (env!("CARGO_PKG_VERSION")) "." }
        ul { @for page in pages::all() { li { a href={ (path) "/docs/" (page.name) } { (page.title) } } } }
        p { a href={ (path) "/docs/api" } { "The API reference" } }
    };
    manual.shown("Documentation", "", &body)
}

impl Manual {
    /// Leads to a path below `/docs`.
    fn redirect(&self, to: &str) -> Redirect {
        Redirect::permanent(&format!("{}/docs{to}", self.path))
    }

    /// Answers with a page: its text, and the search and the contents beside it. On a phone these come after the text.
    fn shown(&self, title: &str, query: &str, body: &Markup) -> Response {
        let up = format!("{}/", self.path);
        let content = html! {
            div.beside.reference.documents {
                main #main tabindex="-1" {
                    p.to-contents { a href="#contents" { "Contents and search" } }
                    (body)
                }
                nav.contents #contents aria-label="Documentation" {
                    form action={ (up) "docs/search" } role="search" {
                        input type="search" name="q" value=(query) placeholder="Search" aria-label="Search";
                    }
                    @for group in pages::all().chunk_by(|one, other| one.group == other.group) {
                        h2 { (group[0].group) }
                        ul {
                            @for page in group {
                                li {
                                    a href={ (up) "docs/" (page.name) } aria-current=[(page.title == title).then_some("page")] {
                                        (page.title)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        };
        let page = page::page(&self.facts, Place::Docs, &up, title, &[], &content);
        page::html(page.into_string(), page::WITHOUT_SCRIPTS)
    }
}
