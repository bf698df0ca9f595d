//! Frame and headers of all pages.

use std::collections::BTreeSet;

use axum::response::{IntoResponse, Response};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ucp_core::{
    Code, Refusal,
    catalog::product::Link,
    money::Currency,
    purchase::{
        line_item::PurchasedItem,
        totals::{Total, TotalKind},
    },
    sales::handoff::Over,
};
use url::Url;

use crate::{
    brand::Brand,
    form::Fault,
    guard::Way,
    language::{Language, Text, Texts},
};

/// Maximum number of places that pictures of one page come from.
const MAX_PICTURE_ORIGINS: usize = 8;

/// Frame of every page.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// The name of the shop.
    pub(crate) shop: String,
    /// URL of the shop.
    pub(crate) home: Option<String>,
    /// The pages of the shop that matter to a buyer.
    pub(crate) links: Vec<Link>,
    /// Language of the page.
    pub(crate) language: &'a Language,
    /// Look of the shop.
    pub(crate) brand: &'a Brand,
    /// Origins of the pictures of the goods.
    pub(crate) picture_origins: BTreeSet<String>,
    /// Origin of the page on which a processor looks at the buyer's device.
    pub(crate) device_origin: Option<String>,
}

impl<'a> Frame<'a> {
    /// Returns the texts of the page.
    pub(crate) fn texts(&self) -> &'a Texts {
        &self.language.texts
    }

    /// Returns the frame of a page that shows the pictures of these items.
    pub(crate) fn picturing<'i>(mut self, items: impl Iterator<Item = &'i PurchasedItem>) -> Self {
        let urls = items.filter_map(|item| Url::parse(item.image_url.as_deref()?).ok());
        let origins = urls.filter(is_picture).map(|url| url.origin().ascii_serialization());
        for origin in origins {
            if self.picture_origins.len() < MAX_PICTURE_ORIGINS {
                self.picture_origins.insert(origin);
            }
        }
        self
    }

    /// Content security policy: a page may apply its own style, show the logo of the shop and the pictures of its goods,
    /// submit its own forms, and load the page on which a processor looks at the buyer's device, nothing else.
    fn policy(&self) -> String {
        let logo = self.brand.logo.as_ref().map(|logo| logo.origin().ascii_serialization());
        let images: BTreeSet<_> = logo.as_ref().into_iter().chain(&self.picture_origins).map(String::as_str).collect();
        let images = if images.is_empty() {
            String::new()
        } else {
            format!(" img-src {};", images.into_iter().collect::<Vec<_>>().join(" "))
        };
        let style = &self.brand.style_source;
        let device =
            self.device_origin.as_ref().map(|origin| format!(" frame-src {origin} 'self';")).unwrap_or_default();
        format!(
            "default-src 'none'; style-src {style};{images}{device} form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
    }

    /// Renders the picture of an item, if it may be shown.
    pub(crate) fn picture(&self, item: &PurchasedItem) -> Markup {
        let url = item.image_url.as_deref().and_then(|url| Url::parse(url).ok());
        let shown = url.filter(|url| self.picture_origins.contains(&url.origin().ascii_serialization()));
        html! {
            @if let Some(url) = shown.filter(is_picture) {
                // The title beside it says what it shows.
                img src=(url) alt="" width="64" height="64" loading="lazy" referrerpolicy="no-referrer";
            }
        }
    }
}

/// Returns `true` for a URL that pictures are loaded from.
fn is_picture(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none()
}

/// An answer to a browser.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    page: String,
}

impl Answer {
    /// Page in its frame.
    pub(crate) fn page(frame: &Frame<'_>, page: Markup) -> Self {
        let answer = Self::bare(page);
        match HeaderValue::try_from(frame.policy()) {
            Ok(policy) => answer.with_header(CONTENT_SECURITY_POLICY, policy),
            Err(_) => answer,
        }
    }

    /// Page without a frame.
    pub(crate) fn bare(page: Markup) -> Self {
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
        // A page brings a wider policy.
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
        for (name, value) in self.headers {
            if name == SET_COOKIE {
                headers.append(name, value);
            } else {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// Renders a page with a title and a body.
pub(crate) fn page(frame: &Frame<'_>, title: &str, content: &Markup) -> Markup {
    let texts = frame.texts();
    html! {
        (DOCTYPE)
        html lang=(frame.language.tag) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex, nofollow";
                title { (title) " – " (frame.shop) }
                // Our own text, and the one thing here that is not escaped.
                style { (PreEscaped(&frame.brand.style)) }
            }
            body {
                a.skip href="#main" { (texts.skip_to_content) }
                header {
                    p {
                        @if let Some(logo) = &frame.brand.logo {
                            img.logo src=(logo) alt=(frame.shop) height="40" referrerpolicy="no-referrer";
                        } @else { (frame.shop) }
                    }
                }
                main #main tabindex="-1" { (content) }
                footer {
                    p { (texts.why_this_page) }
                    @let links: Vec<_> = frame.links.iter().filter(|link| is_web(&link.url)).collect();
                    @if !links.is_empty() {
                        nav aria-label=(texts.about_this_shop) {
                            ul {
                                @for link in links {
                                    li { a href=(link.url) rel="noreferrer" { (link_text(link, texts)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn link_text(link: &Link, texts: &Texts) -> String {
    let known = match link.kind.as_str() {
        "privacy_policy" => Some(&texts.link_privacy_policy),
        "terms_of_service" => Some(&texts.link_terms_of_service),
        "refund_policy" => Some(&texts.link_refund_policy),
        "shipping_policy" => Some(&texts.link_shipping_policy),
        "faq" => Some(&texts.link_faq),
        _ => None,
    };
    let words = || {
        let words = link.kind.replace('_', " ");
        let mut letters = words.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    };
    link.title.clone().or_else(|| known.map(|text| text.as_str().to_owned())).unwrap_or_else(words)
}

/// Returns `true` if a URL is http or https: no other kind becomes a link.
pub(crate) fn is_web(address: &str) -> bool {
    Url::parse(address).is_ok_and(|address| matches!(address.scheme(), "https" | "http"))
}

/// Renders an error page.
pub(crate) fn failed(frame: &Frame<'_>, way: &Way, status: StatusCode, content: &str) -> Answer {
    let texts = frame.texts();
    let title = match status {
        StatusCode::NOT_FOUND => &texts.page_missing,
        StatusCode::TOO_MANY_REQUESTS => &texts.please_wait,
        _ => &texts.did_not_work,
    };
    let again =
        status != StatusCode::NOT_FOUND && status != StatusCode::METHOD_NOT_ALLOWED && status != StatusCode::FORBIDDEN;
    let content = html! {
        h1 { (title) }
        p { (content) }
        @if again {
            p { a.button href=(way.here()) { (texts.back_to_purchase) } }
        } @else {
            p { (texts.new_link) }
            (to_the_shop(frame))
        }
    };
    Answer::page(frame, page(frame, title.as_str(), &content)).with_status(status)
}

/// Link to the shop itself, if it has a URL of its own.
pub(crate) fn to_the_shop(frame: &Frame<'_>) -> Markup {
    html! {
        @if let Some(home) = frame.home.as_deref().filter(|home| is_web(home)) {
            p { a href=(home) rel="noreferrer" { (frame.texts().go_to_shop.with(&[("shop", &frame.shop)])) } }
        }
    }
}

/// Link back to the platform.
pub(crate) fn back(frame: &Frame<'_>, way: &Way, otherwise: &Text) -> Markup {
    html! {
        @match way.back() {
            Some((url, host)) => p { a href=(url) rel="noreferrer" { (frame.texts().back_to.with(&[("place", &host)])) } },
            None => p.quiet { (otherwise) },
        }
    }
}

/// Page of a canceled cart or checkout.
pub(crate) fn over(frame: &Frame<'_>, way: &Way, over: &Over) -> Answer {
    let texts = frame.texts();
    let (title, content) = match (over.purchase, over.expired) {
        (true, _) => (&texts.purchase_expired, &texts.purchase_expired_why),
        (false, true) => (&texts.cart_expired, &texts.cart_expired_why),
        (false, false) => (&texts.cart_canceled, &texts.cart_canceled_why),
    };
    let content = html! {
        h1 { (title) }
        p { (content) }
        p { (texts.start_again) }
        (back(frame, way, &texts.close_page))
        (to_the_shop(frame))
    };
    Answer::page(frame, page(frame, title.as_str(), &content)).with_status(StatusCode::GONE)
}

/// Page for visitors over their rate limit, or when the gateway is overloaded.
pub(crate) fn turned_away(frame: &Frame<'_>, refusal: &Refusal) -> Answer {
    let seconds = refusal.retry_after.unwrap_or(1);
    let (status, why) = match refusal.code {
        Code::RateLimited => (StatusCode::TOO_MANY_REQUESTS, &frame.texts().too_much_from_you),
        _ => (StatusCode::SERVICE_UNAVAILABLE, &frame.texts().too_much_to_do),
    };
    let content = why.with(&[("seconds", &seconds)]);
    failed(frame, &Way::default(), status, &content).with_header(RETRY_AFTER, seconds.into())
}

/// Page for unknown and expired tokens, which are not told apart.
pub(crate) fn nothing_here(frame: &Frame<'_>) -> Answer {
    failed(frame, &Way::default(), StatusCode::NOT_FOUND, frame.texts().nothing_here.as_str())
}

/// Page for connections that are not encrypted.
pub(crate) fn unsafe_connection(frame: &Frame<'_>) -> Answer {
    failed(frame, &Way::default(), StatusCode::FORBIDDEN, frame.texts().only_https.as_str())
}

/// Page for a return URL that is not of the platform.
pub(crate) fn misled(frame: &Frame<'_>) -> Answer {
    failed(frame, &Way::default(), StatusCode::BAD_REQUEST, frame.texts().misled.as_str())
}

/// Page for a form that cannot be read.
pub(crate) fn unreadable(frame: &Frame<'_>, fault: Fault) -> Answer {
    let texts = frame.texts();
    let (status, content) = match fault {
        Fault::Kind => (StatusCode::UNSUPPORTED_MEDIA_TYPE, &texts.form_foreign),
        Fault::Size => (StatusCode::PAYLOAD_TOO_LARGE, &texts.form_too_large),
        Fault::Late => (StatusCode::REQUEST_TIMEOUT, &texts.form_late),
        Fault::Incomplete => (StatusCode::BAD_REQUEST, &texts.form_incomplete),
    };
    failed(frame, &Way::default(), status, content.as_str())
}

/// Page for a form without proof of origin.
pub(crate) fn unproven(frame: &Frame<'_>, way: &Way) -> Answer {
    failed(frame, way, StatusCode::FORBIDDEN, frame.texts().form_unproven.as_str())
}

/// Renders the totals.
pub(crate) fn totals(frame: &Frame<'_>, totals: &[Total], currency: Currency) -> Markup {
    html! {
        dl.totals {
            @for total in totals {
                div.sum[total.kind == TotalKind::Total] {
                    dt { (total_text(total, frame.texts())) }
                    dd.amount { (frame.language.amount(total.amount, currency)) }
                }
            }
        }
    }
}

fn total_text<'a>(total: &'a Total, texts: &'a Texts) -> &'a str {
    let text = match total.kind {
        TotalKind::Subtotal => &texts.goods,
        TotalKind::ItemsDiscount => &texts.discount_on_goods,
        TotalKind::Discount => &texts.discount,
        TotalKind::Fulfillment => &texts.delivery,
        TotalKind::Tax => &texts.tax,
        TotalKind::Fee => &texts.fee,
        TotalKind::GiftCard => &texts.gift_card,
        TotalKind::StoreCredit => &texts.store_credit,
        TotalKind::Total => &texts.total,
    };
    total.display_text.as_deref().unwrap_or(text.as_str())
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::language::Languages;

    fn frame<'a>(languages: &'a Languages, brand: &'a Brand) -> Frame<'a> {
        let language = languages.of(&[], &HeaderMap::new(), "en");
        let (shop, picture_origins) = ("Flowers".to_owned(), BTreeSet::new());
        Frame { shop, home: None, links: Vec::new(), language, brand, picture_origins, device_origin: None }
    }

    #[test]
    fn whatever_comes_as_data_is_escaped() {
        let hostile = "<script>alert(1)</script>\" onload='x";
        let link = Link { kind: hostile.into(), url: "javascript:alert(1)".into(), title: Some(hostile.into()) };
        let (languages, brand) = (Languages::default(), Brand::new(None, None));
        let frame = Frame {
            shop: hostile.into(),
            home: Some("javascript:alert(1)".into()),
            links: vec![link.clone(), Link { url: "https://shop.example/".into(), ..link }],
            ..frame(&languages, &brand)
        };
        let text = page(&frame, hostile, &html! { p title=(hostile) { (hostile) } }).into_string();
        assert!(!text.contains("<script") && !text.contains("\" onload") && !text.contains("javascript:"), "{text}");
        assert_eq!(text.matches("&lt;script&gt;").count(), 6, "{text}");
    }

    #[test]
    fn pictures_come_from_few_places_that_the_policy_names() {
        let (languages, brand) = (Languages::default(), Brand::new(None, None));
        assert!(!frame(&languages, &brand).policy().contains("img-src"));
        let item = |url: &str| -> PurchasedItem {
            serde_json::from_value(serde_json::json!({ "id": "v", "title": "T", "price": 1, "image_url": url }))
                .expect("an item")
        };
        let good = item("https://cdn.example/rose.png?a=1;%20script-src%20*");
        let bad = [
            "javascript:alert(1)",
            "data:image/png;base64,AA",
            "//cdn.example/x",
            "https://a:b@cdn.example/x",
            "nonsense",
        ];
        let bad: Vec<_> = bad.into_iter().map(item).collect();
        let shown = frame(&languages, &brand).picturing(bad.iter().chain([&good]));
        let policy = shown.policy();
        assert!(policy.contains(" img-src https://cdn.example;") && policy.matches("script").count() == 0, "{policy}");
        assert!(shown.picture(&good).into_string().contains("src=\"https://cdn.example/rose.png"));
        assert!(bad.iter().all(|item| shown.picture(item).into_string().is_empty()));
        let many: Vec<_> = (0..20).map(|number| item(&format!("https://cdn{number}.example/x"))).collect();
        assert_eq!(frame(&languages, &brand).picturing(many.iter()).picture_origins.len(), MAX_PICTURE_ORIGINS);
    }
}
