//! The page that asks for the admin token, and sessions of browsers.

use std::time::Instant;

use axum::{
    Extension,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Redirect, Response},
};
use http::{
    HeaderMap, StatusCode,
    header::{RETRY_AFTER, SET_COOKIE},
};
use maud::html;
use ucp_service::ingress::Peer;

use super::{LOGIN, PATH, View, failed, fields, shown};
use crate::{
    admin::{Failure, client, guesses::Verdict, judge, retry_after, session::FormKey},
    local::is_own_page,
};

/// Asks for the token.
pub(super) async fn ask_for_token() -> Response {
    asking(StatusCode::OK, None)
}

fn asking(status: StatusCode, refused: Option<&str>) -> Response {
    let content = html! {
        main.operator.login #main tabindex="-1" {
            form.card method="post" action=(LOGIN) {
                h1 { "Log in" }
                p.quiet { "The admin token opens this for 8 hours, in this browser. It is the one in " code { "server.admin_token_file" } " or "
                    code { "server.admin_token_env" } "." }
                div.field {
                    label for="token" { "Admin token" }
                    @if let Some(refused) = refused { p.note.alarm #wrong role="alert" { (refused) } }
                    input #token name="token" type="password" autocomplete="off" required aria-describedby=[refused.map(|_| "wrong")];
                }
                p { button.button type="submit" { "Open" } }
            }
        }
    };
    shown("Log in", "../", status, None, &content)
}

/// Opens a session for a browser that shows the token.
pub(super) async fn login(
    State(view): State<View>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    const WRONG: &str = "Wrong admin token.";
    let process = view.running().process();
    let Some(token) = process.admin.as_ref().and_then(|admin| admin.token.as_ref()) else {
        return Redirect::to(PATH).into_response();
    };
    let client = client(peer.as_deref(), &headers, &process.trusted_proxies);
    if !is_own_page(&headers) {
        // Not judged: the page of another site uses up none of its visitor's tries.
        tracing::warn!(address = %client, "operator form submitted from another origin, rejected");
        return asking(StatusCode::UNAUTHORIZED, Some(WRONG));
    }
    let fields = fields(&body);
    match judge(&view.guard.guesses, client, fields.get("token").map(|given| given.trim()).unwrap_or_default(), token) {
        Verdict::Right => {}
        Verdict::Wrong => return asking(StatusCode::UNAUTHORIZED, Some(WRONG)),
        Verdict::TooMany(time) => {
            let seconds = retry_after(time);
            let refused = format!("Too many wrong tokens. Try again in {seconds} seconds.");
            let mut response = asking(StatusCode::TOO_MANY_REQUESTS, Some(&refused));
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            return response;
        }
    }
    let secure = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let cookie = view.guard.sessions.begin(token, secure, Instant::now());
    tracing::info!(address = %client, "operator logged in with a browser");
    ([(SET_COOKIE, cookie)], Redirect::to(PATH)).into_response()
}

pub(super) async fn logout(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !fields(&body).get("key").is_some_and(|given| key.is(given)) {
        let problem = "the form is not from this session: reload the page".to_owned();
        return failed(Failure(StatusCode::FORBIDDEN, problem), "../", &view, &key);
    }
    ([(SET_COOKIE, view.guard.sessions.end(&headers))], Redirect::to(LOGIN)).into_response()
}
