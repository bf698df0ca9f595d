//! The parts that all pages share: frame, headers, blocks to copy.

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{
    HeaderValue,
    header::{
        ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{assets::ICON, facts::Facts};

/// Content Security Policy of pages with scripts: scripts, styles, pictures and calls of the gateway alone.
pub(crate) const OWN: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                          connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Content Security Policy of a page with the pictures of goods, which are wherever the shop has them.
pub(crate) const WITH_GOODS: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src https: http:; \
                                     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Content Security Policy of pages without scripts.
pub(crate) const WITHOUT_SCRIPTS: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                                          frame-ancestors 'none'; base-uri 'none'";

/// Builds the route of a page that is always the same.
pub(crate) fn route(path: &str, page: Markup, policy: &'static str) -> Router {
    let text = page.into_string();
    Router::new().route(path, get(async move || html(text, policy)))
}

/// Answers with a page under a Content Security Policy.
pub(crate) fn html(text: impl Into<Body>, policy: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (VARY, HeaderValue::from_static("accept")),
    ];
    (headers, text.into()).into_response()
}

/// Returns `true` if a request prefers HTML to JSON, as those of browsers do: HTML is named before any other type that
/// this gateway answers in.
pub(crate) fn wants_html(request: &Request) -> bool {
    if !matches!(*request.method(), http::Method::GET | http::Method::HEAD) {
        return false;
    }
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(',')).map(|range| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range.to_ascii_lowercase()
    });
    let first = kinds.find(|kind| matches!(kind.as_str(), "text/html" | "application/json" | "*/*" | "application/*"));
    first.as_deref() == Some("text/html")
}

/// Place of a page in the navigation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Home,
    Playground,
    Inspector,
    Reference,
    Docs,
}

/// Renders a page around its content. `up` leads from it to `/`: relative, so that it also works below a path of a proxy.
/// `scripts` are names of served scripts.
pub(crate) fn page(facts: &Facts, place: Place, up: &str, title: &str, scripts: &[&str], content: &Markup) -> Markup {
    let link = |own: Place, address: &str, text: &str| {
        html! { li { a href={ (up) (address) } aria-current=[(own == place).then_some("page")] { (text) } } }
    };
    let nav = html! {
        (link(Place::Home, "", "Home"))
        @if facts.development {
            (link(Place::Playground, "playground", "Playground"))
            (link(Place::Inspector, "inspector", "Inspector"))
        }
        (link(Place::Reference, "docs/api", "API"))
        (link(Place::Docs, "docs", "Docs"))
    };
    Frame { name: &facts.shop, home: "", up, title, nav, scripts, content }.render(place != Place::Home)
}

/// A page with links of its own in its head.
pub(crate) struct Frame<'a> {
    /// Name that the page is headed with, such as that of the shop.
    pub(crate) name: &'a str,
    /// Target of the link on the name, relative to `up`.
    pub(crate) home: &'a str,
    /// Path from the page to the directory of the files.
    pub(crate) up: &'a str,
    /// Title.
    pub(crate) title: &'a str,
    /// Links in the head, as items of a list.
    pub(crate) nav: Markup,
    /// Names of served scripts.
    pub(crate) scripts: &'a [&'a str],
    /// Content, which begins with an element whose identifier is `main`.
    pub(crate) content: &'a Markup,
}

impl Frame<'_> {
    /// Renders the page, with a wide head or a narrow one.
    pub(crate) fn render(&self, wide: bool) -> Markup {
        let Frame { name, home, up, title, nav, scripts, content } = self;
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · " (name) }
                    link rel="icon" href={ (up) "favicon.svg" } type="image/svg+xml";
                    link rel="stylesheet" href={ (up) "workbench/style.css" };
                    @for script in *scripts { script type="module" src={ (up) "workbench/" (script) } {} }
                }
                body class=[wide.then_some("wide")] {
                    a.skip href="#main" { "Skip to content" }
                    header.top {
                        // Our own drawing, and the one thing here that is not escaped.
                        a.brand href={ (up) (home) } { (PreEscaped(ICON)) span { (name) } }
                        nav aria-label="Pages" { ul { (nav) } }
                    }
                    (content)
                }
            }
        }
    }
}

/// Renders a block of text with a button that copies it. To screen readers the button says `what` it copies, before the label.
pub(crate) fn copied(label: &str, what: &str, text: &str) -> Markup {
    html! {
        figure.code {
            figcaption {
                span { (label) }
                button.copy type="button" data-copy { "Copy" span.hidden { " " (what) " " (label) } }
            }
            pre tabindex="0" { code { (text) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn browsers_get_html_and_programs_what_they_got() {
        let wants = |method: &str, accept: &str| {
            let request = Request::builder().method(method).header(ACCEPT, accept).body(Body::empty());
            wants_html(&request.expect("a request"))
        };
        assert!(wants("GET", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(wants("HEAD", "text/html"));
        for other in ["", "*/*", "application/json", "application/json, text/html", "text/plain"] {
            assert!(!wants("GET", other), "{other}");
        }
        assert!(!wants("POST", "text/html"));
    }
}
