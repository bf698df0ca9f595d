//! Parts that all pages share: frame, headers, blocks to copy.

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue,
    header::{
        ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{Facts, assets::ICON};

/// Content Security Policy of all pages: scripts, styles, pictures and calls of the gateway alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Content Security Policy of a page with the pictures of goods, which are wherever the shop has them.
const POLICY_WITH_GOODS: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src https: http:; \
                                 connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Answers with a page, which may show pictures of `goods`.
pub(crate) fn html(text: impl Into<Body>, goods: bool) -> Response {
    let policy = if goods { POLICY_WITH_GOODS } else { POLICY };
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
}

impl Place {
    /// Returns what leads from the page to `/`.
    const fn up(self) -> &'static str {
        match self {
            Self::Reference => "../",
            _ => "./",
        }
    }
}

/// Renders a page around its content. `scripts` are names of served scripts. Addresses are relative, so that pages also work
/// below a path of a proxy.
pub(crate) fn page(facts: &Facts, place: Place, title: &str, scripts: &[&str], content: &Markup) -> Markup {
    let up = place.up();
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
        li { a href={ (up) "docs" } { "Docs" } }
    };
    Frame { name: &facts.shop, home: "", up, title, nav, scripts, content }.render(place != Place::Home)
}

/// A page with links of its own in its head.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Name that the page is headed with, such as that of the shop.
    pub name: &'a str,
    /// Target of the link on the name, relative to `up`.
    pub home: &'a str,
    /// Relative path from the page to the directory of the files.
    pub up: &'a str,
    /// Title.
    pub title: &'a str,
    /// Links in the head, as items of a list.
    pub nav: Markup,
    /// Names of served scripts.
    pub scripts: &'a [&'a str],
    /// Content, which begins with an element whose identifier is `main`.
    pub content: &'a Markup,
}

impl Frame<'_> {
    /// Answers with the page.
    #[must_use]
    pub fn answer(&self) -> Response {
        html(self.text(), false)
    }

    /// Renders the page.
    pub(crate) fn text(&self) -> String {
        self.render(true).into_string()
    }

    fn render(&self, wide: bool) -> Markup {
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
                        nav aria-label="Browser tools" { ul { (nav) } }
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
