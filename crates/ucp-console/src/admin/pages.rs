//! The operator's view: pages about the shops of a process, and what can be done there.
//!
//! | page | shows |
//! | :-- | :-- |
//! | `/operator` | whether the gateway is ready, and the shops |
//! | `/operator/shops/ID` | a shop: what is behind it, orders, webhooks, payments, platforms, keys, buyers |
//! | `/operator/shops/ID/orders/ID` | an order and its steps |
//! | `/operator/metrics` | the figures that are looked at first |
//! | `/operator/audit` | what operators did |
//! | `/operator/login` | asks a browser for the admin token |
//!
//! Every action is carried out by the function that serves the same request of the admin API, and so is audited.

mod audit;
mod login;
mod metrics;
mod order;
mod part;
mod shop;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::{FromRef, Path, RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header::REFERRER_POLICY};
use maud::{Markup, html};
use serde_json::json;
use ucp_host::{address::base, audit::Actor, health::Health, orders::Once, running::Running};
use url::form_urlencoded;

use super::{
    Answer, Failure, Guard, Identified, Metrics, Of, block, pause, release, reload, resend, resume, retry,
    session::FormKey, take, unblock,
};
use crate::{
    assets,
    inspector::{self, Recorder, shell},
    page::{self, Frame},
};

/// Path of the overview, below which are the other pages.
pub(super) const PATH: &str = "/operator";

/// Path of the page that asks for the token.
pub(super) const LOGIN: &str = "/operator/login";

/// Returns `true` for the files that the pages need.
pub(super) fn is_file(path: &str) -> bool {
    path.starts_with("/workbench/") || path.starts_with("/favicon.")
}

/// State that the pages are rendered from.
#[derive(Clone, Debug)]
struct View {
    guard: Guard,
    health: Health,
    metrics: Arc<dyn Metrics>,
    /// `true` if the inspector is there.
    is_inspected: bool,
}

impl View {
    fn running(&self) -> &Arc<Running> {
        &self.guard.running
    }
}

impl FromRef<View> for Arc<Running> {
    fn from_ref(view: &View) -> Self {
        Self::clone(view.running())
    }
}

/// Fields of a form.
type Fields = BTreeMap<String, String>;

/// Builds the routes, which the guard of the listener protects.
pub(super) fn router(
    guard: &Guard,
    health: Health,
    metrics: Arc<dyn Metrics>,
    recorder: Option<Arc<Recorder>>,
) -> Router {
    let is_inspected = recorder.is_some();
    let inspector = recorder.map(|recorder| {
        let (title, up) = ("Inspector", "./");
        let page = frame(title, up, links(up, title, true, None), shell::SCRIPTS, &shell::content());
        inspector::routes::router(recorder, Arc::clone(&guard.running), page)
    });
    Router::new()
        .route(PATH, get(overview))
        .route("/operator/shops/{shop}", get(one_shop))
        .route("/operator/shops/{shop}/orders/{id}", get(one_order))
        .route("/operator/metrics", get(all_metrics))
        .route("/operator/audit", get(audit_log))
        .route("/operator/do", post(act))
        .route(LOGIN, get(login::ask_for_token).post(login::login))
        .route("/operator/logout", post(login::logout))
        .with_state(View { guard: guard.clone(), health, metrics, is_inspected })
        .merge(inspector.unwrap_or_default())
        .merge(assets::router())
}

/// The links in the head of a page; with a key, the button that ends the session.
fn links(up: &str, title: &str, is_inspected: bool, key: Option<&FormKey>) -> Markup {
    let link = |name: &str, path: &str| {
        html! { li { a href={ (up) (path) } aria-current=[(title == name).then_some("page")] { (name) } } }
    };
    html! {
        (link("Shops", "operator"))
        (link("Metrics", "operator/metrics"))
        (link("Audit log", "operator/audit"))
        @if is_inspected { (link("Inspector", "inspector")) }
        @if let Some(key) = key {
            li {
                form method="post" action="/operator/logout" {
                    input type="hidden" name="key" value=(key.as_str());
                    button.plain type="submit" { "Log out" }
                }
            }
        }
    }
}

/// Puts a page together around its content.
fn frame(title: &str, up: &str, nav: Markup, scripts: &[&str], content: &Markup) -> Markup {
    Frame { name: "Operator", home: "operator", up, title, nav, scripts, content }.render(true)
}

/// Answers with a page. `up` leads from it to the root of the listener.
fn shown(title: &str, up: &str, status: StatusCode, key: Option<(&View, &FormKey)>, content: &Markup) -> Response {
    let nav = match key {
        Some((view, key)) => {
            // Who shows the token, or needs none, has no session to end.
            let session = Some(key).filter(|key| !view.guard.sessions.own.is(key.as_str()));
            links(up, title, view.is_inspected, session)
        }
        None => html! {},
    };
    let mut response = page::html(frame(title, up, nav, &[], content).into_string(), page::OWN);
    *response.status_mut() = status;
    // Forms are told by it from those of other sites.
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A form with one button, which does `action`.
fn button(key: &FormKey, action: &str, shop: &str, fields: &[(&str, &str)], label: &str, about: &str) -> Markup {
    html! {
        form.inline method="post" action="/operator/do" {
            (hidden(key, action, shop))
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button.chip type="submit" { (label) span.hidden { " " (about) } }
        }
    }
}

/// The fields that every form has.
fn hidden(key: &FormKey, action: &str, shop: &str) -> Markup {
    html! {
        input type="hidden" name="key" value=(key.as_str());
        input type="hidden" name="action" value=(action);
        input type="hidden" name="shop" value=(shop);
    }
}

/// Shows why something cannot be shown or done.
fn failed(failure: Failure, up: &str, view: &View, key: &FormKey) -> Response {
    let Failure(status, problem) = failure;
    let content = html! {
        main.operator #main tabindex="-1" {
            h1 { "Action failed" }
            p.note.alarm role="alert" { (problem) }
            p.actions { a.button.second href={ (up) "operator" } { "All shops" } }
        }
    };
    shown("Not done", up, status, Some((view, key)), &content)
}

/// Answers with a page and its title, or why there is none.
fn answered(page: Result<(String, Markup), Failure>, up: &str, view: &View, key: &FormKey) -> Response {
    match page {
        Ok((title, content)) => shown(&title, up, StatusCode::OK, Some((view, key)), &content),
        Err(failure) => failed(failure, up, view, key),
    }
}

/// Renders the notice of the action that was just taken, by its name in the query of the URL.
fn done(query: Option<&str>) -> Markup {
    let named = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).find(|(name, _)| name == "done");
    let text = named.and_then(|(_, action)| {
        let texts = [
            ("pause", "The shop is paused: requests are rejected until it is resumed."),
            ("resume", "The shop is resumed."),
            ("block", "The platform is blocked: its requests are rejected."),
            ("unblock", "The platform is unblocked."),
            ("resend", "The webhook event is being resent."),
            ("retry", "The task is being retried."),
            ("release", "The products were removed from the copy."),
            ("reload", "The configuration was reloaded."),
            ("step", "The order was updated."),
        ];
        texts.into_iter().find(|(name, _)| *name == action).map(|(_, text)| text)
    });
    html! { @if let Some(text) = text { p.note role="status" { (text) } } }
}

async fn overview(State(view): State<View>, Extension(key): Extension<FormKey>, RawQuery(query): RawQuery) -> Response {
    let reasons = view.health.reasons().await;
    let slots = view.running().shops.all();
    let rows: Vec<_> = slots
        .iter()
        .map(|slot| {
            let (id, shop, paused) = (slot.id.as_str(), slot.shop(), slot.decisions.is_paused(&slot.id));
            let (action, label) = if paused { ("resume", "Resume") } else { ("pause", "Pause") };
            vec![
                html! {
                    a href={ "operator/shops/" (id) } { (id) }
                    @if let Some(shop) = &shop { small { (shop.name) } }
                },
                state(shop.as_ref().map(|shop| shop.ready), paused),
                html! { code { (base(&slot.public_url)) } },
                button(&key, action, id, &[("back", "all")], label, id),
            ]
        })
        .collect();
    let content = html! {
        main.operator #main tabindex="-1" {
            (done(query.as_deref()))
            div.heading {
                h1 { "Shops" }
                @if reasons.is_empty() { span.tag.completed { "ready" } } @else { span.tag.failed { "not ready" } }
            }
            @if !reasons.is_empty() {
                div.note.alarm { ul { @for (part, reason) in &reasons { li { strong { (part) } ": " (reason) } } } }
            }
            (part::table("Shops", &["Shop", "State", "Address", "Do"], &rows, "No shop is configured."))
            section.card aria-labelledby="configuration" {
                h2 #configuration { "Configuration" }
                p { "Reloads the configuration without a restart. If it is invalid, nothing changes." }
                (button(&key, "reload", "", &[("back", "all")], "Reload", ""))
            }
        }
    };
    shown("Shops", "./", StatusCode::OK, Some((&view, &key)), &content)
}

/// State of a shop in a word.
fn state(ready: Option<bool>, paused: bool) -> Markup {
    match (ready, paused) {
        (_, true) => html! { span.tag.failed { "paused" } },
        (Some(false), _) => html! { span.tag.failed { "down" } },
        (Some(true), _) => html! { span.tag.completed { "open" } },
        (None, _) => html! { span.tag { "closed until it is called" } },
    }
}

async fn one_shop(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    RawQuery(query): RawQuery,
    of: Result<Of, Failure>,
) -> Response {
    let page = match of {
        Ok(of) => {
            let content = shop::page(&view, &of, &key, &done(query.as_deref())).await;
            content.map(|content| (of.0.id.to_string(), content))
        }
        Err(failure) => Err(failure),
    };
    answered(page, "../../", &view, &key)
}

async fn one_order(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    RawQuery(query): RawQuery,
    of: Result<Of, Failure>,
    Path(Identified { id, .. }): Path<Identified>,
) -> Response {
    let page = match of {
        Ok(of) => order::page(&view, &of, &id, &key, &done(query.as_deref())).await,
        Err(failure) => Err(failure),
    };
    answered(page, "../../../../", &view, &key)
}

async fn all_metrics(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    RawQuery(query): RawQuery,
) -> Response {
    let named = fields(query.unwrap_or_default().as_bytes());
    let page = metrics::page(&view, named.get("shop").map(String::as_str)).await;
    answered(page.map(|content| ("Metrics".to_owned(), content)), "../", &view, &key)
}

async fn audit_log(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    RawQuery(query): RawQuery,
) -> Response {
    let page = audit::page(&view, query.as_deref()).await;
    answered(page.map(|content| ("Audit log".to_owned(), content)), "../", &view, &key)
}

/// Reads the fields of a form, or of a query.
fn fields(body: &[u8]) -> Fields {
    form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// Does what a form says, and leads back to the page that it is on.
async fn act(
    State(view): State<View>,
    Extension(key): Extension<FormKey>,
    Extension(actor): Extension<Actor>,
    body: Bytes,
) -> Response {
    let fields = fields(&body);
    let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
    if !key.is(field("key")) {
        let problem = "the form is not one of this session: open the page anew".to_owned();
        return failed(Failure(StatusCode::FORBIDDEN, problem), "../", &view, &key);
    }
    let (action, shop, id) = (field("action"), field("shop"), field("id"));
    if let Err(failure) = carry_out(&view, actor, action, shop, &fields).await {
        return failed(failure, "../", &view, &key);
    }
    let place = match (field("back"), action) {
        ("all", _) => PATH.to_owned(),
        (_, "step") => format!("{PATH}/shops/{shop}/orders/{id}"),
        _ => format!("{PATH}/shops/{shop}"),
    };
    let action = form_urlencoded::byte_serialize(action.as_bytes()).collect::<String>();
    Redirect::to(&format!("{place}?done={action}")).into_response()
}

async fn carry_out(view: &View, actor: Actor, action: &str, shop: &str, fields: &Fields) -> Answer {
    let actor = Extension(actor);
    let field = |name: &str| fields.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
    let running = State(Arc::clone(view.running()));
    if action == "reload" {
        return reload(actor, running).await;
    }
    let missing = || Failure(StatusCode::NOT_FOUND, format!("there is no shop `{shop}`"));
    let of = Of(view.running().shops.named(shop).ok_or_else(missing)?);
    let profile = || Bytes::from(json!({ "profile": field("profile") }).to_string());
    let named = |step: &str| Path(Identified { id: field("id").unwrap_or_default().to_owned(), step: step.to_owned() });
    match action {
        "pause" => pause(actor, of).await,
        "resume" => resume(actor, of).await,
        "block" => block(actor, of, profile()).await,
        "unblock" => unblock(actor, of, profile()).await,
        "release" => release(actor, running, of).await,
        "resend" => resend(actor, running, of, named("")).await,
        "retry" => retry(actor, running, of, named(field("kind").unwrap_or_default())).await,
        "step" => {
            let details = order::details(fields)?;
            let (id, step) = (field("id").unwrap_or_default(), field("step").unwrap_or_default());
            let seen = field("version").and_then(|version| version.parse().ok());
            take(actor.0, &running.0, &of, id, step, Once { key: None, seen }, &details).await
        }
        _ => Err(Failure(StatusCode::BAD_REQUEST, "there is no such action".to_owned())),
    }
}
