//! What all pages have in common: their frame, their headers, and texts for amounts and times.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Refusal,
    catalog::product::Link,
    checkout::handoff::Over,
    country::Country,
    money::Currency,
    purchase::{
        buyer::PostalAddress,
        totals::{Total, TotalKind},
    },
};

use crate::{form::Fault, guard::Way};

const STYLE: &str = include_str!("style.css");

/// Content security policy: a page may apply its own style and submit its own forms, nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
});

/// Frame of every page.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The name of the shop.
    pub(crate) shop: String,
    /// URL of the shop.
    pub(crate) home: Option<String>,
    /// The pages of the shop that matter to a buyer.
    pub(crate) links: Vec<Link>,
}

/// An answer to a browser.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    page: String,
}

impl Answer {
    pub(crate) fn page(page: Markup) -> Self {
        Self { status: StatusCode::OK, headers: Vec::new(), page: page.into_string() }
    }

    /// Redirection to a page, which answers a form.
    pub(crate) fn see(place: &str) -> Self {
        let answer = Self { status: StatusCode::SEE_OTHER, headers: Vec::new(), page: String::new() };
        match HeaderValue::try_from(place) {
            Ok(place) => answer.with_header(LOCATION, place),
            Err(_) => answer,
        }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn with_cookie(self, cookie: Option<HeaderValue>) -> Self {
        match cookie {
            Some(cookie) => self.with_header(SET_COOKIE, cookie),
            None => self,
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.page).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(policy) = HeaderValue::try_from(POLICY.as_str()) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        headers.extend(self.headers);
        response
    }
}

/// Renders a page with a title and a body.
pub(crate) fn page(frame: &Frame, title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex, nofollow";
                title { (title) " – " (frame.shop) }
                // Our own text, and the one thing here that is not escaped.
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header { p { (frame.shop) } }
                main #main tabindex="-1" { (content) }
                footer {
                    p { "You see this page because an assistant shops for you. Nobody else should have its address." }
                    @let links: Vec<_> = frame.links.iter().filter(|link| is_web(&link.url)).collect();
                    @if !links.is_empty() {
                        nav aria-label="About this shop" {
                            ul {
                                @for link in links {
                                    li { a href=(link.url) rel="noreferrer" { (link_text(link)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn link_text(link: &Link) -> String {
    let words = || {
        let words = link.kind.replace('_', " ");
        let mut letters = words.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    };
    link.title.clone().unwrap_or_else(words)
}

/// Returns `true` if a URL is http or https: no other kind becomes a link.
pub(crate) fn is_web(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|address| matches!(address.scheme(), "https" | "http"))
}

/// Renders an error page.
pub(crate) fn failed(frame: &Frame, way: &Way, status: StatusCode, content: &str) -> Answer {
    let title = match status {
        StatusCode::NOT_FOUND => "This page does not exist",
        StatusCode::TOO_MANY_REQUESTS => "Please wait a moment",
        _ => "This did not work",
    };
    let again =
        status != StatusCode::NOT_FOUND && status != StatusCode::METHOD_NOT_ALLOWED && status != StatusCode::FORBIDDEN;
    Answer::page(page(
        frame,
        title,
        &html! {
            h1 { (title) }
            p { (content) }
            @if again {
                p { a.button href=(way.here()) { "Back to the purchase" } }
            } @else {
                p { "Your assistant can give you a new link." }
                (to_the_shop(frame))
            }
        },
    ))
    .with_status(status)
}

/// Link to the shop itself, if it has a URL of its own.
pub(crate) fn to_the_shop(frame: &Frame) -> Markup {
    html! {
        @if let Some(home) = frame.home.as_deref().filter(|home| is_web(home)) {
            p { a href=(home) rel="noreferrer" { "Go to " (frame.shop) } }
        }
    }
}

/// Link back to the platform.
pub(crate) fn back(way: &Way, otherwise: &str) -> Markup {
    html! {
        @match way.back() {
            Some((url, host)) => p { a href=(url) rel="noreferrer" { "Back to " (host) } },
            None => p.quiet { (otherwise) },
        }
    }
}

/// Page of a canceled cart or checkout.
pub(crate) fn over(frame: &Frame, way: &Way, over: &Over) -> Answer {
    let (title, content) = match (over.purchase, over.expired) {
        (true, _) => (
            "This purchase has expired",
            "It was not completed in time, so the shop has given it up. Nothing was paid, and nothing will be.",
        ),
        (false, true) => (
            "This cart has expired",
            "It was not used for a long time, so the shop has given it up. Nothing was bought.",
        ),
        (false, false) => ("This cart is empty now", "Your assistant has given it up. Nothing was bought."),
    };
    Answer::page(page(
        frame,
        title,
        &html! {
            h1 { (title) }
            p { (content) }
            p { "If you still want it, ask your assistant to start again: it gets a new page, at the prices of today." }
            (back(way, "You can close this page and go back to your assistant."))
            (to_the_shop(frame))
        },
    ))
    .with_status(StatusCode::GONE)
}

/// Page for visitors over their rate limit, or when the gateway is overloaded.
pub(crate) fn turned_away(frame: &Frame, refusal: &Refusal) -> Answer {
    let seconds = refusal.retry_after.unwrap_or(1);
    let (status, why) = match refusal.code {
        Code::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "Too much comes from your network at once."),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "The shop has too much to do at the moment."),
    };
    let wait = if seconds == 1 { "a second".to_owned() } else { format!("{seconds} seconds") };
    let content = format!("{why} Nothing was changed or paid by this. Please try again in {wait}.");
    failed(frame, &Way::default(), status, &content).with_header(RETRY_AFTER, seconds.into())
}

/// Page for unknown and expired tokens, which are not told apart.
pub(crate) fn nothing_here(frame: &Frame) -> Answer {
    let content = "There is nothing under this address, or its time is over. Nothing was paid by opening it.";
    failed(frame, &Way::default(), StatusCode::NOT_FOUND, content)
}

/// Page for connections that are not encrypted.
pub(crate) fn unsafe_connection(frame: &Frame) -> Answer {
    let content =
        "This page is only shown over a secure connection (https), because others could read along otherwise.";
    failed(frame, &Way::default(), StatusCode::FORBIDDEN, content)
}

/// Page for a return URL that is not of the platform.
pub(crate) fn misled(frame: &Frame) -> Answer {
    let content = "The address of this page leads on to a site that does not belong to your assistant. Somebody may have \
                   changed it. Please go back to your assistant and follow its link again.";
    failed(frame, &Way::default(), StatusCode::BAD_REQUEST, content)
}

/// Page for a form that cannot be read.
pub(crate) fn unreadable(frame: &Frame, fault: Fault) -> Answer {
    let (status, content) = match fault {
        Fault::Kind => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is not a form of this page."),
        Fault::Size => (StatusCode::PAYLOAD_TOO_LARGE, "That is more text than this page takes. Nothing was changed."),
        Fault::Late => (StatusCode::REQUEST_TIMEOUT, "The form did not arrive. Nothing was changed."),
        Fault::Incomplete => (StatusCode::BAD_REQUEST, "Parts of the form are missing. Nothing was changed."),
    };
    failed(frame, &Way::default(), status, content)
}

/// Page for a form without proof of origin.
pub(crate) fn unproven(frame: &Frame, way: &Way) -> Answer {
    let content = "The form did not come from this page, or your browser does not keep its cookie. Nothing was changed. \
                   Please go back, look at the purchase again and repeat what you did.";
    failed(frame, way, StatusCode::FORBIDDEN, content)
}

/// Formats an amount for people.
pub(crate) fn amount(minor: i64, currency: Currency) -> String {
    let digits = currency.exponent() as usize;
    let text = format!("{:0>width$}", minor.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    let point = if fraction.is_empty() { "" } else { "." };
    // A minus sign, not a hyphen; the code stays with its number.
    let sign = if minor < 0 { "\u{2212}" } else { "" };
    format!("{sign}{whole}{point}{fraction}\u{a0}{currency}")
}

/// Renders the totals.
pub(crate) fn totals(totals: &[Total], currency: Currency) -> Markup {
    html! {
        dl.totals {
            @for total in totals {
                div.sum[total.kind == TotalKind::Total] {
                    dt { (total_text(total)) }
                    dd.amount { (amount(total.amount, currency)) }
                }
            }
        }
    }
}

fn total_text(total: &Total) -> &str {
    total.display_text.as_deref().unwrap_or(match total.kind {
        TotalKind::Subtotal => "Goods",
        TotalKind::ItemsDiscount => "Discount on goods",
        TotalKind::Discount => "Discount",
        TotalKind::Fulfillment => "Delivery",
        TotalKind::Tax => "Tax",
        TotalKind::Fee => "Fee",
        TotalKind::Total => "Total",
    })
}

/// Renders an address in lines.
pub(crate) fn address(address: &PostalAddress) -> Markup {
    let joined = |parts: &[&Option<String>]| {
        let filled = parts.iter().filter_map(|part| part.as_deref().filter(|part| !part.trim().is_empty()));
        filled.collect::<Vec<_>>().join(" ")
    };
    let PostalAddress { street_address, extended_address, address_locality, address_region, postal_code, .. } = address;
    let country = address.address_country.as_deref().map(country_name);
    let lines = [
        joined(&[&address.first_name, &address.last_name]),
        joined(&[street_address]),
        joined(&[extended_address]),
        joined(&[address_locality, address_region, postal_code]),
        country.unwrap_or_default(),
    ];
    html! {
        @for line in lines.iter().filter(|line| !line.is_empty()) { (line) br; }
    }
}

/// Returns the name of a country.
pub(crate) fn country_name(code: &str) -> String {
    Country::with_alpha2(&code.trim().to_ascii_uppercase())
        .map_or_else(|| code.to_owned(), |country| country.name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_with_all_their_digits() {
        let text = |minor, code: &str| amount(minor, code.parse().expect("a currency"));
        assert_eq!(text(0, "USD"), "0.00\u{a0}USD");
        assert_eq!(text(-5, "USD"), "\u{2212}0.05\u{a0}USD");
        assert_eq!(text(123_456, "JPY"), "123456\u{a0}JPY");
        assert_eq!(text(1_234, "KWD"), "1.234\u{a0}KWD");
    }

    #[test]
    fn whatever_comes_as_data_is_escaped() {
        let hostile = "<script>alert(1)</script>\" onload='x";
        let link = Link { kind: hostile.into(), url: "javascript:alert(1)".into(), title: Some(hostile.into()) };
        let frame = Frame {
            shop: hostile.into(),
            home: Some("javascript:alert(1)".into()),
            links: vec![link.clone(), Link { url: "https://shop.example/".into(), ..link }],
        };
        let text = page(&frame, hostile, &html! { p title=(hostile) { (hostile) } }).into_string();
        assert!(!text.contains("<script") && !text.contains("\" onload") && !text.contains("javascript:"), "{text}");
        assert_eq!(text.matches("&lt;script&gt;").count(), 6, "{text}");
    }
}
