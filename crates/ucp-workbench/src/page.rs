//! What all pages have in common: frame, headers, blocks to copy.

use axum::{
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
pub(crate) fn html(text: String, goods: bool) -> Response {
    let policy = if goods { POLICY_WITH_GOODS } else { POLICY };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (VARY, HeaderValue::from_static("accept")),
    ];
    (headers, text).into_response()
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
}

/// Renders a page around its content. `scripts` are names of served scripts. Addresses are relative, so that pages also work
/// below a path of a proxy.
pub(crate) fn page(facts: &Facts, place: Place, title: &str, scripts: &[&str], content: &Markup) -> Markup {
    let link = |own: Place, address: &str, text: &str| {
        html! { li { a href=(address) aria-current=[(own == place).then_some("page")] { (text) } } }
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · " (facts.shop) }
                link rel="icon" href="favicon.svg" type="image/svg+xml";
                link rel="stylesheet" href="workbench/style.css";
                @for script in scripts { script type="module" src={ "workbench/" (script) } {} }
            }
            body class=[(place != Place::Home).then_some("wide")] {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    // Our own drawing, and the one thing here that is not escaped.
                    a.brand href="./" { (PreEscaped(ICON)) span { (facts.shop) } }
                    nav aria-label="Workbench" {
                        ul {
                            (link(Place::Home, "./", "Home"))
                            @if facts.development {
                                (link(Place::Playground, "playground", "Playground"))
                                (link(Place::Inspector, "inspector", "Inspector"))
                            }
                            li { a href="docs" { "Docs" } }
                        }
                    }
                }
                (content)
            }
        }
    }
}

/// Renders a block of text with a button that copies it.
pub(crate) fn copied(label: &str, text: &str) -> Markup {
    html! {
        figure.code {
            figcaption {
                span { (label) }
                button.copy type="button" data-copy { "Copy" span.hidden { " the call over " (label) } }
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
