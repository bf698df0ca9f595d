//! The pages on which buyers go on in person: what a `continue_url` and a `permalink_url` open.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `guard` | who may send a form, where a page may lead back to, and what a browser may do with a page |
//! | `form` | what a form says, read within limits |
//! | `language` | texts, and the forms of amounts, dates and countries |
//! | `brand`, `address` | the look of the shop; postal addresses in lines |
//! | `page` | frame and headers of all pages |
//! | `purchase` | the pages of carts and checkouts |
//! | `confirmation` | the page on which a buyer confirms to pay |
//! | `authentication` | the pages on which a buyer is authenticated while a payment is in progress |
//! | `receipt` | the page of an order |
//!
//! Pages are rendered here and need neither scripts nor anything from elsewhere but pictures of the goods; surfaces that platforms
//! show have a script that talks to them. Texts of shops, platforms and buyers are escaped by the template language, without exception: nothing in this crate renders markup that came as data. A
//! form is answered with a redirection, so that reloading a page repeats nothing. What a buyer may do is decided in
//! [`ucp_core::sales::handoff`]. Whoever opens too many pages is turned away by the same gate as every other caller.

mod address;
mod authentication;
mod brand;
mod confirmation;
mod form;
mod guard;
mod language;
mod page;
mod purchase;
mod receipt;

use std::{collections::BTreeSet, error::Error as _, sync::Arc};

use axum::{
    Router,
    extract::{Path, Request, State, rejection::PathRejection},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Uri,
    header::{ALLOW, REFRESH},
};
use maud::{Markup, html};
use ucp_core::{
    Code, Refusal,
    message::Message,
    sales::{
        SalesService,
        handoff::{Done, Page},
    },
};
use ucp_record::{self as record, Transport};
use ucp_service::Ingress;
use url::Url;

pub use self::{
    brand::{Brand, Color},
    language::{LanguageError, Languages},
};
use self::{
    guard::{CookiePlace, Session, Way},
    page::{Answer, Frame},
};

/// Options of the pages.
#[derive(Debug)]
pub struct Options {
    /// Sales service that carries out the steps of buyers.
    pub sales: SalesService,
    /// Rate limits and trusted proxies.
    pub ingress: Ingress,
    /// Name of the shop on the pages, if it is another than that of its market.
    pub name: Option<String>,
    /// URL of the shop itself, linked from error pages.
    pub home: Option<String>,
    /// Languages of the pages.
    pub languages: Languages,
    /// Look of the shop.
    pub brand: Brand,
    /// Public URL of the shop.
    pub public_url: Url,
    /// `true` if plain http is allowed, for development only.
    pub plain: bool,
}

/// Returns the routes of all pages.
pub fn router(options: Options) -> Router {
    let state = Arc::new(options);
    Router::new()
        .route("/continue/{token}", get(show).post(take).fallback(wrong_method))
        .route("/continue/{token}/actions/{id}", get(authentication::surface).fallback(wrong_method))
        .route("/continue/{token}/returned", get(authentication::returned).fallback(wrong_method))
        .route("/continue/{token}/device", get(authentication::device).fallback(wrong_method))
        .route("/continue/{token}/bank", get(authentication::bank).post(authentication::confirm).fallback(wrong_method))
        .route("/order/{token}", get(order).fallback(wrong_method))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), admitted))
        .with_state(state)
}

/// Returns the route of the pages of orders alone, for a shop on whose own pages buyers go on.
pub fn order_router(options: Options) -> Router {
    let state = Arc::new(options);
    Router::new()
        .route("/order/{token}", get(order).fallback(wrong_method))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), admitted))
        .with_state(state)
}

/// Time after which a page looks again whether the buyer's device has been looked at, in seconds.
const DEVICE_REFRESH: &str = "3";

type OptionsState = State<Arc<Options>>;
type Token = Result<Path<String>, PathRejection>;

impl Options {
    /// Returns `true` if buyers may be asked for data: the connection is encrypted, or plain http is allowed.
    fn is_safe(&self) -> bool {
        self.public_url.scheme() == "https" || self.plain
    }

    /// Returns where browsers find the pages.
    fn place(&self) -> CookiePlace {
        CookiePlace::of(&self.public_url)
    }

    /// Returns the frame of a page in the first language that there is of `wanted`, the browser's and the shop's.
    fn frame(&self, wanted: &[String], headers: &HeaderMap) -> Frame<'_> {
        let market = self.sales.catalog.market();
        let language = self.languages.of(wanted, headers, &market.language);
        let shop = self.name.as_ref().unwrap_or(&market.name).clone();
        let (links, picture_origins) = (market.links.clone(), BTreeSet::new());
        let device_origin = None;
        Frame { shop, home: self.home.clone(), links, language, brand: &self.brand, picture_origins, device_origin }
    }

    /// Returns the frame of the page of a cart or checkout: in its language, with the pictures of its goods.
    fn frame_of(&self, page: &Page, headers: &HeaderMap) -> Frame<'_> {
        let (context, lines) = match page {
            Page::Cart(cart) => (Some(&cart.draft.context), &*cart.line_items),
            Page::Checkout(desktop) => (Some(&desktop.checkout.draft.context), &*desktop.checkout.line_items),
            Page::Over(_) => (None, &[][..]),
        };
        let wanted = context.map(|context| &*context.languages).unwrap_or_default();
        let frame = self.frame(wanted, headers).picturing(lines.iter().map(|line| &line.item));
        let device = match page {
            Page::Checkout(desktop) => desktop.device(),
            Page::Cart(_) | Page::Over(_) => None,
        };
        Frame { device_origin: device.and_then(authentication::origin), ..frame }
    }
}

/// Applies the rate limit to visitors of the pages, who have the share of strangers at a shop.
async fn admitted(State(shop): OptionsState, request: Request, next: Next) -> Response {
    record::note(|facts| facts.transport = Transport::Page);
    let (head, body) = request.into_parts();
    match shop.ingress.visit(&head) {
        Ok(admission) => admission.scope().run(next.run(Request::from_parts(head, body))).await,
        Err(refusal) => page::turned_away(&shop.frame(&[], &head.headers), &refusal).into_response(),
    }
}

async fn show(State(shop): OptionsState, token: Token, uri: Uri, headers: HeaderMap) -> Answer {
    shown(&shop, token, &uri, &headers).await.unwrap_or_else(|answer| answer)
}

async fn shown(shop: &Options, token: Token, uri: &Uri, headers: &HeaderMap) -> Result<Answer, Answer> {
    let (token, page) = opened(shop, token, &shop.frame(&[], headers)).await?;
    let frame = shop.frame_of(&page, headers);
    let way = Way::read(uri, page.owner()).map_err(|()| page::misled(&frame))?;
    let way = way.or_kept(headers, &token, page.owner(), &shop.place());
    if way.returns() {
        return Ok(Answer::see(&way.after("pay")));
    }
    let session = Session::of(headers, &shop.place(), || (shop.sales.random)());
    Ok(rendered(shop, &frame, &page, &way, &session, &token, None))
}

/// Renders the current page with a remark about the step that was tried.
fn rendered(
    shop: &Options,
    frame: &Frame<'_>,
    page: &Page,
    way: &Way,
    session: &Session,
    token: &str,
    tried: Option<&purchase::Tried<'_>>,
) -> Answer {
    let answer = match page {
        Page::Over(over) => return page::over(frame, way, over),
        Page::Cart(cart) => Answer::page(frame, purchase::cart(frame, cart, way)),
        Page::Checkout(desktop) => {
            let seal = session.seal(token);
            let confirming = way.confirms() && tried.is_none() && desktop.is_payable();
            let page = if confirming {
                confirmation::page_of(frame, desktop, way, &seal)
            } else {
                purchase::checkout(frame, desktop, way, &seal, tried)
            };
            Answer::page(frame, page)
        }
    };
    let leaves = matches!(page, Page::Checkout(desktop) if desktop.bank().is_some());
    let kept = leaves.then(|| way.kept(token, &shop.place())).flatten();
    let looks = matches!(page, Page::Checkout(desktop) if desktop.device().is_some());
    let answer = if looks { answer.with_header(REFRESH, HeaderValue::from_static(DEVICE_REFRESH)) } else { answer };
    answer.with_cookie(session.cookie(&shop.place())).with_cookie(kept)
}

async fn take(State(shop): OptionsState, token: Token, uri: Uri, headers: HeaderMap, body: axum::body::Body) -> Answer {
    taken(&shop, token, &uri, &headers, body).await.unwrap_or_else(|answer| answer)
}

async fn taken(
    shop: &Options,
    token: Token,
    uri: &Uri,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<Answer, Answer> {
    let (token, page) = opened(shop, token, &shop.frame(&[], headers)).await?;
    let frame = shop.frame_of(&page, headers);
    let way = Way::read(uri, page.owner()).map_err(|()| page::misled(&frame))?;
    if let Page::Over(over) = &page {
        return Err(page::over(&frame, &way, over));
    }
    let form = form::read(headers, body).await.map_err(|fault| page::unreadable(&frame, fault))?;
    let session = Session::of(headers, &shop.place(), || (shop.sales.random)());
    if guard::is_foreign(headers) || !session.is_sealed(&token, form.seal()) {
        return Err(page::unproven(&frame, &way).with_cookie(session.cookie(&shop.place())));
    }
    let again = |status, tried: &purchase::Tried<'_>, page: &Page| {
        rendered(shop, &frame, page, &way, &session, &token, Some(tried)).with_status(status)
    };
    let (Some(version), Some(step)) = (form.version(), form.step()) else {
        return Err(page::unreadable(&frame, form::Fault::Incomplete));
    };
    if let Some(faults) = form.faults(frame.texts()) {
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

async fn order(State(shop): OptionsState, token: Token, headers: HeaderMap) -> Answer {
    let frame = shop.frame(&[], &headers);
    if !shop.is_safe() {
        return page::unsafe_connection(&frame);
    }
    let Ok(Path(token)) = token else { return page::nothing_here(&frame) };
    match shop.sales.order_page(&token).await {
        Ok(Some(order)) => {
            let frame = frame.picturing(order.line_items.iter().map(|line| &line.item));
            Answer::page(&frame, receipt::page_of(&frame, &order))
        }
        Ok(None) => page::nothing_here(&frame),
        Err(refusal) => refused(&frame, &Way::default(), &refusal),
    }
}

/// Document that a token opens.
async fn opened(shop: &Options, token: Token, frame: &Frame<'_>) -> Result<(String, Page), Answer> {
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

fn refused(frame: &Frame<'_>, way: &Way, refusal: &Refusal) -> Answer {
    if let Some(cause) = refusal.source() {
        tracing::error!(code = %refusal.code, error = cause, "rendering a buyer page failed");
    }
    let texts = frame.texts();
    let (status, content) = match refusal.code {
        Code::InvalidRequest => (StatusCode::UNPROCESSABLE_ENTITY, &*refusal.content),
        Code::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, texts.shop_unavailable.as_str()),
        Code::StoredDataDamaged => (StatusCode::INTERNAL_SERVER_ERROR, texts.data_damaged.as_str()),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, texts.shop_failed.as_str()),
    };
    page::failed(frame, way, status, content)
}

async fn wrong_method(State(shop): OptionsState, method: Method, uri: Uri, headers: HeaderMap) -> Answer {
    let frame = shop.frame(&[], &headers);
    let allowed = if uri.path().contains("/order/") { "GET, HEAD" } else { "GET, HEAD, POST" };
    let content = frame.texts().wrong_method.with(&[("method", &method)]);
    page::failed(&frame, &Way::default(), StatusCode::METHOD_NOT_ALLOWED, &content)
        .with_header(ALLOW, HeaderValue::from_static(allowed))
}

/// Renders the text of a message for people, which the shop has in English only.
fn content(frame: &Frame<'_>, message: &Message) -> Markup {
    let (Message::Error { content, .. } | Message::Warning { content, .. } | Message::Info { content, .. }) = message;
    html! { span lang=[frame.language.other_than_english()] { (content) } }
}
