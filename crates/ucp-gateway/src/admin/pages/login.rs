//! The page that asks for the admin token, and sessions of browsers.

use std::time::Instant;

use axum::{
    Extension,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Redirect, Response},
};
use http::{HeaderMap, StatusCode, header::SET_COOKIE};
use maud::html;

use super::{LOGIN, PATH, View, failed, fields, shown};
use crate::{
    admin::{
        Failure,
        session::{FormKey, same},
    },
    local::is_own_page,
};

/// Asks for the token.
pub(super) async fn ask_for_token() -> Response {
    asking(StatusCode::OK, false)
}

fn asking(status: StatusCode, refused: bool) -> Response {
    let content = html! {
        main.operator.login #main tabindex="-1" {
            form.card method="post" action=(LOGIN) {
                h1 { "Log in" }
                p.quiet { "The admin token opens this for 8 hours, in this browser. It is the one in " code { "server.admin_token_file" } " or "
                    code { "server.admin_token_env" } "." }
                div.field {
                    label for="token" { "Admin token" }
                    @if refused { p.note.alarm #wrong role="alert" { "This is not the admin token." } }
                    input #token name="token" type="password" autocomplete="off" required aria-describedby=[refused.then_some("wrong")];
                }
                p { button.button type="submit" { "Open" } }
            }
        }
    };
    shown("Log in", "../", status, None, &content)
}

/// Opens a session for a browser that shows the token.
pub(super) async fn login(State(view): State<View>, headers: HeaderMap, body: Bytes) -> Response {
    let process = view.running().process();
    let Some(token) = process.admin.as_ref().and_then(|admin| admin.token.as_ref()) else {
        return Redirect::to(PATH).into_response();
    };
    if !is_own_page(&headers) || !fields(&body).get("token").is_some_and(|given| same(given.trim(), token.reveal())) {
        tracing::warn!("a browser did not show the admin token");
        return asking(StatusCode::UNAUTHORIZED, true);
    }
    let secure = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let cookie = view.sessions.begin(token, secure, Instant::now());
    tracing::info!("an operator has logged in with a browser");
    ([(SET_COOKIE, cookie)], Redirect::to(PATH)).into_response()
}

pub(super) async fn logout(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !fields(&body).get("key").is_some_and(|given| key.is(given)) {
        let problem = "the form is not one of this session: open the page anew".to_owned();
        return failed(Failure(StatusCode::FORBIDDEN, problem), "../", &view, &key);
    }
    ([(SET_COOKIE, view.sessions.end(&headers))], Redirect::to(LOGIN)).into_response()
}
