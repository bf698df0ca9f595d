//! The pages on which buyers go on in person: what a `continue_url` and a `permalink_url` open.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `guard` | who may send a form, where a page may lead back to, and what a browser may do with a page |
//! | `form` | what a form says, read within limits |
//! | `page` | what all pages have in common: frame, style, texts for amounts |
//! | `purchase` | the pages of carts and checkouts |
//! | `confirmation` | the page on which a buyer confirms to pay |
//! | `receipt` | the page of an order |
//!
//! Pages are rendered here and need neither scripts nor anything from elsewhere. Texts of shops, platforms and buyers
//! are escaped by the template language, without exception: nothing in this crate renders markup that came as data. A
//! form is answered with a redirection, so that reloading a page repeats nothing. What a buyer may do is decided in
//! [`ucp_core::checkout::handoff`]. Whoever opens too many pages is turned away by the same gate as every other caller.

mod confirmation;
mod form;
mod guard;
mod page;
mod purchase;
mod receipt;

use std::{error::Error as _, sync::Arc};

use axum::{
    Router,
    extract::{Path, Request, State, rejection::PathRejection},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header::ALLOW};
use ucp_core::{
    Code, Refusal,
    checkout::handoff::{Done, Page},
    message::Message,
    purchase::sales_service::SalesService,
    record::{self, Transport},
};
use ucp_service::Ingress;

use self::{
    guard::{Session, Way},
    page::{Answer, Frame},
};

/// Options of the pages.
#[derive(Debug)]
pub struct Options {
    /// Sales service that carries out the steps of buyers.
    pub sales: SalesService,
    /// Rate limits and trusted proxies.
    pub ingress: Ingress,
    /// URL of the shop itself, linked from error pages.
    pub home: Option<String>,
    /// `true` if the public URL is https.
    pub secure: bool,
    /// `true` if plain http is allowed, for development only.
    pub plain: bool,
}

/// Returns the routes of all pages.
pub fn router(options: Options) -> Router {
    let state = Arc::new(options);
    Router::new()
        .route("/continue/{token}", get(show).post(take).fallback(wrong_method))
        .route("/order/{token}", get(order).fallback(wrong_method))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), admitted))
        .with_state(state)
}

type Shop = State<Arc<Options>>;
type Token = Result<Path<String>, PathRejection>;

impl Options {
    /// Returns `true` if buyers may be asked for data: the connection is encrypted, or plain http is allowed.
    const fn is_safe(&self) -> bool {
        self.secure || self.plain
    }

    fn frame(&self) -> Frame {
        let market = self.sales.catalog.market();
        Frame { shop: market.name.clone(), home: self.home.clone(), links: market.links.clone() }
    }
}

/// Applies the rate limit to visitors of the pages.
async fn admitted(State(shop): Shop, request: Request, next: Next) -> Response {
    record::note(|facts| facts.transport = Transport::Page);
    let (head, body) = request.into_parts();
    match shop.ingress.visit(&head) {
        Ok(_admission) => next.run(Request::from_parts(head, body)).await,
        Err(refusal) => page::turned_away(&shop.frame(), &refusal).into_response(),
    }
}

async fn show(State(shop): Shop, token: Token, uri: Uri, headers: HeaderMap) -> Answer {
    shown(&shop, token, &uri, &headers).await.unwrap_or_else(|answer| answer)
}

async fn shown(shop: &Options, token: Token, uri: &Uri, headers: &HeaderMap) -> Result<Answer, Answer> {
    let frame = shop.frame();
    let (token, page) = opened(shop, token, &frame).await?;
    let way = Way::read(uri, page.owner()).map_err(|()| page::misled(&frame))?;
    if way.returns() {
        return Ok(Answer::see(&way.after("pay")));
    }
    let session = Session::of(headers, shop.secure, || (shop.sales.random)());
    Ok(rendered(shop, &frame, &page, &way, &session, &token, None))
}

/// Renders the current page with a remark about the step that was tried.
fn rendered(
    shop: &Options,
    frame: &Frame,
    page: &Page,
    way: &Way,
    session: &Session,
    token: &str,
    tried: Option<&purchase::Tried<'_>>,
) -> Answer {
    let answer = match page {
        Page::Over(over) => return page::over(frame, way, over),
        Page::Cart(cart) => Answer::page(purchase::cart(frame, cart, way)),
        Page::Checkout(desktop) => {
            let seal = session.seal(token);
            let confirming = way.confirms() && tried.is_none() && desktop.is_payable();
            Answer::page(if confirming {
                confirmation::page_of(frame, desktop, way, &seal)
            } else {
                purchase::checkout(frame, desktop, way, &seal, tried)
            })
        }
    };
    answer.with_cookie(session.cookie(shop.secure))
}

async fn take(State(shop): Shop, token: Token, uri: Uri, headers: HeaderMap, body: axum::body::Body) -> Answer {
    taken(&shop, token, &uri, &headers, body).await.unwrap_or_else(|answer| answer)
}

async fn taken(
    shop: &Options,
    token: Token,
    uri: &Uri,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<Answer, Answer> {
    let frame = shop.frame();
    let (token, page) = opened(shop, token, &frame).await?;
    let way = Way::read(uri, page.owner()).map_err(|()| page::misled(&frame))?;
    if let Page::Over(over) = &page {
        return Err(page::over(&frame, &way, over));
    }
    let form = form::read(headers, body).await.map_err(|fault| page::unreadable(&frame, fault))?;
    let session = Session::of(headers, shop.secure, || (shop.sales.random)());
    if guard::is_foreign(headers) || !session.is_sealed(&token, form.seal()) {
        return Err(page::unproven(&frame, &way).with_cookie(session.cookie(shop.secure)));
    }
    let again = |status, tried: &purchase::Tried<'_>, page: &Page| {
        rendered(shop, &frame, page, &way, &session, &token, Some(tried)).with_status(status)
    };
    let (Some(version), Some(step)) = (form.version(), form.step()) else {
        return Err(page::unreadable(&frame, form::Fault::Incomplete));
    };
    if let Some(faults) = form.faults() {
        return Ok(again(StatusCode::UNPROCESSABLE_ENTITY, &purchase::Tried::Faulty { form: &form, faults }, &page));
    }
    let name = step.name;
    match shop.sales.hand_in(&token, version, step.step).await {
        Ok(Done::Taken) => Ok(Answer::see(&way.after(name))),
        Ok(Done::Nothing) => Err(page::nothing_here(&frame)),
        Ok(done @ (Done::Stale | Done::Closed)) => {
            let (_, page) = opened(shop, Ok(Path(token.clone())), &frame).await?;
            let tried = if done == Done::Stale { purchase::Tried::Stale } else { purchase::Tried::Closed };
            Ok(again(StatusCode::CONFLICT, &tried, &page))
        }
        Err(refusal) => Err(refused(&frame, &way, &refusal)),
    }
}

async fn order(State(shop): Shop, token: Token) -> Answer {
    let frame = shop.frame();
    if !shop.is_safe() {
        return page::unsafe_connection(&frame);
    }
    let Ok(Path(token)) = token else { return page::nothing_here(&frame) };
    match shop.sales.order_page(&token).await {
        Ok(Some(order)) => Answer::page(receipt::page_of(&frame, &order)),
        Ok(None) => page::nothing_here(&frame),
        Err(refusal) => refused(&frame, &Way::default(), &refusal),
    }
}

/// Document that a token opens.
async fn opened(shop: &Options, token: Token, frame: &Frame) -> Result<(String, Page), Answer> {
    if !shop.is_safe() {
        return Err(page::unsafe_connection(frame));
    }
    let Ok(Path(token)) = token else { return Err(page::nothing_here(frame)) };
    match shop.sales.page(&token).await {
        Ok(Some(page)) => Ok((token, page)),
        Ok(None) => Err(page::nothing_here(frame)),
        Err(refusal) => Err(refused(frame, &Way::default(), &refusal)),
    }
}

fn refused(frame: &Frame, way: &Way, refusal: &Refusal) -> Answer {
    if let Some(cause) = refusal.source() {
        tracing::error!(code = %refusal.code, error = cause, "a page for a buyer failed");
    }
    let (status, content) = match refusal.code {
        Code::InvalidRequest => (StatusCode::UNPROCESSABLE_ENTITY, refusal.content.to_string()),
        Code::Unavailable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The shop cannot do this at the moment. Nothing was paid by this. Please try again in a minute.".to_owned(),
        ),
        Code::StoredDataDamaged => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "What the shop has stored of this is damaged. Please ask the shop; to try again does not help.".to_owned(),
        ),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong in the shop. Please try again.".to_owned()),
    };
    page::failed(frame, way, status, &content)
}

async fn wrong_method(State(shop): Shop, method: Method, uri: Uri) -> Answer {
    let allowed = if uri.path().contains("/order/") { "GET, HEAD" } else { "GET, HEAD, POST" };
    page::failed(
        &shop.frame(),
        &Way::default(),
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("This page does not take {method}. Please open it in a browser."),
    )
    .with_header(ALLOW, HeaderValue::from_static(allowed))
}

/// Returns the text of a message for people.
fn content(message: &Message) -> &str {
    match message {
        Message::Error { content, .. } | Message::Warning { content, .. } | Message::Info { content, .. } => content,
    }
}
