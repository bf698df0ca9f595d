//! Style, scripts, icon, and what robots are told.

use axum::{Router, response::IntoResponse, routing::get};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// The icon, also drawn on pages.
pub(crate) const ICON: &str = include_str!("icon.svg");

const STYLE: &str = include_str!("style.css");
const BUYING: &str = include_str!("buying.js");
const CALLS: &str = include_str!("calls.js");
const COPIES: &str = include_str!("copies.js");
const COPY: &str = include_str!("copy.js");
const DOM: &str = include_str!("dom.js");
const WIRE: &str = include_str!("wire.js");
const INSPECTOR: &str = include_str!("inspector.js");
const REFERENCE: &str = include_str!("reference.js");
const SHOP: &str = include_str!("shop.js");
const VIEW: &str = include_str!("view.js");

/// Buyers' pages have secret addresses, and nothing of the workbench belongs in an index.
const ROBOTS: &str =
    "User-agent: *\nDisallow: /continue/\nDisallow: /order/\nDisallow: /playground\nDisallow: /inspector\n";

/// Returns the routes of all files.
pub(crate) fn router() -> Router {
    let file = |kind: &'static str, content: &'static str| get(async move || file(kind, content));
    let (css, js, svg) = ("text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/svg+xml");
    Router::new()
        .route("/workbench/style.css", file(css, STYLE))
        .route("/workbench/buying.js", file(js, BUYING))
        .route("/workbench/calls.js", file(js, CALLS))
        .route("/workbench/copies.js", file(js, COPIES))
        .route("/workbench/copy.js", file(js, COPY))
        .route("/workbench/dom.js", file(js, DOM))
        .route("/workbench/wire.js", file(js, WIRE))
        .route("/workbench/inspector.js", file(js, INSPECTOR))
        .route("/workbench/reference.js", file(js, REFERENCE))
        .route("/workbench/shop.js", file(js, SHOP))
        .route("/workbench/view.js", file(js, VIEW))
        .route("/favicon.svg", file(svg, ICON))
        // Browsers ask for it of their own accord, and take what it says it is.
        .route("/favicon.ico", file(svg, ICON))
        .route("/robots.txt", file("text/plain; charset=utf-8", ROBOTS))
}

fn file(kind: &'static str, content: &'static str) -> impl IntoResponse {
    // Asked for again after an update of the gateway.
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache"), (X_CONTENT_TYPE_OPTIONS, "nosniff")], content)
}
