//! Style, scripts, icon, and what robots are told.

use axum::{
    Router,
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// The icon, also drawn on pages.
pub(crate) const ICON: &str = include_str!("assets/icon.svg");

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the pages: path, media type, and content.
macro_rules! asset {
    ($name:literal, $kind:expr) => {
        (concat!("/workbench/", $name), $kind, include_str!(concat!("assets/", $name)))
    };
}

const FILES: &[(&str, &str, &str)] = &[
    asset!("style.css", CSS),
    asset!("buying.js", JS),
    asset!("calls.js", JS),
    asset!("copies.js", JS),
    asset!("copy.js", JS),
    asset!("dom.js", JS),
    asset!("wire.js", JS),
    asset!("inspector.js", JS),
    asset!("reference.js", JS),
    asset!("shop.js", JS),
    asset!("view.js", JS),
    ("/favicon.svg", SVG, ICON),
    // Browsers ask for it of their own accord, and take what it says it is.
    ("/favicon.ico", SVG, ICON),
    ("/robots.txt", "text/plain; charset=utf-8", ROBOTS),
];

/// Buyers' pages have secret addresses, and no page for developers belongs in an index.
const ROBOTS: &str =
    "User-agent: *\nDisallow: /continue/\nDisallow: /order/\nDisallow: /playground\nDisallow: /inspector\n";

/// Builds the routes of all files.
pub(crate) fn router() -> Router {
    let add = |router: Router, (path, kind, content): &'static (&str, &str, &str)| {
        router.route(path, get(async || file(kind, content.as_bytes())))
    };
    FILES.iter().fold(Router::new(), add)
}

/// Answers with a file that is part of the binary.
pub(crate) fn file(kind: &'static str, content: &'static [u8]) -> Response {
    // Asked for again after an update of the gateway.
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache"), (X_CONTENT_TYPE_OPTIONS, "nosniff")], content).into_response()
}
