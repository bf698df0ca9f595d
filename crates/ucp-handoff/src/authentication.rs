//! Pages on which a buyer is authenticated while a payment is in progress (UCP *Payment Authentication*).
//!
//! | page | what it is for |
//! | :-- | :-- |
//! | `actions/{id}` | the surface that a platform shows: it asks the platform whether it may begin, and leads on to the bank |
//! | `returned` | the page that the bank leads back to: it tells the platform that the surface is done |
//! | `device`, `bank` | what a processor and a bank would show, in a shop that only plays |
//!
//! Unlike all other pages these may be shown in frames of any site, and the first two have a script, whose digest the
//! policy names: it sends the messages between a surface and its platform, and loads nothing. They need no cookie, which a
//! frame of another site would not get: what they do is bound to the unguessable identifier of the authentication.

use std::sync::LazyLock;

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_SECURITY_POLICY},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Release,
    checkout::Checkout,
    purchase::{
        payment::{AuthenticationStep, Challenge},
        totals::{TotalKind, amount_of},
    },
    sales::handoff::Page,
};
use url::Url;

use crate::{
    Options, OptionsState, Token, form,
    guard::Way,
    opened,
    page::{Answer, Frame, nothing_here, unreadable},
    refused,
};

/// Longest time in which a device is looked at, in milliseconds (EMV 3-D Secure, requirement 315).
const DEVICE_WAIT: u32 = 10_000;

/// Address of the page that the bank leads back to, relative to the one that plays the bank.
const RETURNED: &str = "returned";

const SCRIPT: &str = include_str!("surface.js");

/// Digest of the script, as a source in a content security policy.
static SCRIPT_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(SCRIPT))));

/// Members of the form on the page that plays the bank.
const ACTION: &str = "action";
const CONFIRMED: &str = "confirmed";

/// A page that may be shown in a frame.
struct Surface<'p> {
    frame: &'p Frame<'p>,
    /// `true` if it has the script.
    speaks: bool,
    /// Origin of the only frame that it may load itself.
    loads: Option<String>,
    plain: bool,
}

impl Surface<'_> {
    fn answer(&self, content: &Markup) -> Answer {
        let language = self.frame.language.tag.as_str();
        let page = html! {
            (maud::DOCTYPE)
            html lang=(language) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="robots" content="noindex, nofollow";
                    title { (self.frame.shop) }
                    style { (PreEscaped(&self.frame.brand.style)) }
                }
                body {
                    (content)
                    @if self.speaks { script { (PreEscaped(SCRIPT)) } }
                }
            }
        };
        let script = if self.speaks { format!("script-src {}; ", *SCRIPT_SOURCE) } else { String::new() };
        let loads = self.loads.as_ref().map(|origin| format!("frame-src {origin} 'self'; ")).unwrap_or_default();
        // Platforms are sites of any name; the handshake says who they are.
        let hosts = if self.plain { "http: https:" } else { "https:" };
        let policy = format!(
            "default-src 'none'; style-src {}; {script}{loads}form-action 'self'; frame-ancestors {hosts}; base-uri 'none'",
            self.frame.brand.style_source
        );
        let answer = Answer::bare(page);
        match HeaderValue::try_from(policy) {
            Ok(policy) => answer.with_header(CONTENT_SECURITY_POLICY, policy),
            Err(_) => answer,
        }
    }
}

type Occurrence = Result<Path<(String, String)>, PathRejection>;

/// Authentication that is outstanding for a token, with its checkout.
async fn outstanding(
    shop: &Options,
    token: Token,
    headers: &HeaderMap,
) -> Result<(String, Checkout, Option<Challenge>), Answer> {
    let (token, page) = opened(shop, token, &shop.frame(&[], headers)).await?;
    let Page::Checkout(desktop) = page else { return Err(nothing_here(&shop.frame(&[], headers))) };
    let challenge = desktop.checkout.state.challenge().cloned();
    Ok((token, desktop.checkout, challenge))
}

fn frame_of<'s>(shop: &'s Options, checkout: &Checkout, headers: &HeaderMap) -> Frame<'s> {
    shop.frame(&checkout.draft.context.languages, headers)
}

/// Returns the origin of a URL.
pub(crate) fn origin(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.origin().ascii_serialization())
}

/// The surface of one occurrence of an action.
pub(crate) async fn surface(State(shop): OptionsState, occurrence: Occurrence, headers: HeaderMap) -> Answer {
    let Ok(Path((token, id))) = occurrence else { return nothing_here(&shop.frame(&[], &headers)) };
    let (token, checkout, challenge) = match outstanding(&shop, Ok(Path(token)), &headers).await {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    let frame = frame_of(&shop, &checkout, &headers);
    let challenge = challenge.filter(|challenge| challenge.id == id);
    let device = challenge.as_ref().filter(|challenge| challenge.step == AuthenticationStep::DeviceDataCollection);
    let surface = Surface {
        frame: &frame,
        speaks: true,
        loads: device.and_then(|challenge| origin(&challenge.url)),
        plain: shop.plain,
    };
    let content = html! {
        main #main data-action=(id) data-version=(Release::NEWEST.date())
            data-step=(if device.is_some() { "device" } else { "challenge" })
            data-begin=[challenge.as_ref().map(|challenge| &challenge.url)] data-page={ "../../" (token) } data-wait=(DEVICE_WAIT) {
            p role="status" { (frame.texts().please_wait) }
        }
    };
    surface.answer(&content)
}

/// The page that the bank leads back to.
pub(crate) async fn returned(State(shop): OptionsState, token: Token, headers: HeaderMap) -> Answer {
    let (token, checkout, _) = match outstanding(&shop, token, &headers).await {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    let frame = frame_of(&shop, &checkout, &headers);
    let page = format!("../{token}?done=pay");
    let content = html! {
        main #main data-step="returned" data-page=(page) {
            p role="status" { (frame.texts().please_wait) }
            noscript { p { a.button href=(page) { (frame.texts().back_to_purchase) } } }
        }
    };
    Surface { frame: &frame, speaks: true, loads: None, plain: shop.plain }.answer(&content)
}

/// The page on which a shop that only plays looks at the buyer's device.
pub(crate) async fn device(State(shop): OptionsState, token: Token, headers: HeaderMap) -> Answer {
    let (token, _, challenge) = match outstanding(&shop, token, &headers).await {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    let challenge = challenge.filter(|challenge| challenge.step == AuthenticationStep::DeviceDataCollection);
    if let Some(challenge) = challenge
        && let Err(refusal) = shop.sales.answer_challenge(&token, &challenge.id, true).await
    {
        return refused(&shop.frame(&[], &headers), &Way::default(), &refusal);
    }
    Answer::see(RETURNED)
}

/// The page on which a shop that only plays asks the buyer to confirm.
pub(crate) async fn bank(State(shop): OptionsState, token: Token, headers: HeaderMap) -> Answer {
    let (_, checkout, challenge) = match outstanding(&shop, token, &headers).await {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    let frame = frame_of(&shop, &checkout, &headers);
    let Some(challenge) = challenge.filter(|challenge| challenge.step == AuthenticationStep::ThreeDsChallenge) else {
        return Answer::see(RETURNED);
    };
    let texts = frame.texts();
    let sum = frame.language.amount(amount_of(&checkout.totals, TotalKind::Total), checkout.currency);
    let content = html! {
        main #main tabindex="-1" {
            h1 { (texts.sandbox_asks) }
            p { (texts.shop_wants.with(&[("shop", &frame.shop), ("sum", &sum)])) }
            p.quiet { (texts.sandbox_plays) }
            form method="post" action="bank" {
                input type="hidden" name=(ACTION) value=(challenge.id);
                div.actions {
                    button.second name=(CONFIRMED) value="no" { (texts.back_unpaid) }
                    button name=(CONFIRMED) value="yes" { (texts.confirm_and_pay.with(&[("sum", &sum)])) }
                }
            }
        }
    };
    Surface { frame: &frame, speaks: false, loads: None, plain: shop.plain }.answer(&content)
}

/// The answer of a buyer on that page.
pub(crate) async fn confirm(
    State(shop): OptionsState,
    token: Token,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Answer {
    let frame = shop.frame(&[], &headers);
    let Ok(Path(token)) = token else { return nothing_here(&frame) };
    if !shop.is_safe() {
        return crate::page::unsafe_connection(&frame);
    }
    let form = match form::read(&headers, body).await {
        Ok(form) => form,
        Err(fault) => return unreadable(&frame, fault),
    };
    let (Some(action), Some(confirmed)) = (form.text(ACTION), form.text(CONFIRMED)) else {
        return unreadable(&frame, form::Fault::Incomplete);
    };
    match shop.sales.answer_challenge(&token, action, confirmed == "yes").await {
        Ok(true) => Answer::see(RETURNED),
        Ok(false) => nothing_here(&frame).with_status(StatusCode::CONFLICT),
        Err(refusal) => refused(&frame, &Way::default(), &refusal),
    }
}
