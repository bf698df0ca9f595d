//! A browser without scripts, and a platform that buys over REST.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use url::{Url, form_urlencoded};

pub(crate) use crate::purchase::shopper::flowers;
use crate::{
    harness::{Gateway, REST_HEADERS},
    wire::Response,
};

/// A call of the platform that changes something.
#[track_caller]
pub(crate) fn call(gateway: &Gateway, method: &str, path: &str, payload: &Value) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let key = format!("0b5d51b0-0000-4000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed));
    let headers = [REST_HEADERS, &[("Idempotency-Key", key.as_str())]].concat();
    let body = if payload.is_null() { Vec::new() } else { payload.to_string().into_bytes() };
    let response = gateway.send(method, path, &headers, &body);
    assert!(response.status < 300, "{response:?}");
    response.json()
}

/// A checkout as the platform sees it.
#[track_caller]
pub(crate) fn look(gateway: &Gateway, checkout: &Value) -> Value {
    call(gateway, "GET", &format!("/checkout-sessions/{}", text(&checkout["id"])), &Value::Null)
}

/// A checkout that lacks nothing but its payment.
pub(crate) fn ready(gateway: &Gateway) -> Value {
    let address = json!({
        "street_address": "1 Main St", "address_locality": "Springfield", "address_region": "OR",
        "postal_code": "97477", "address_country": "US",
    });
    call(
        gateway,
        "POST",
        "/checkout-sessions",
        &json!({
            "line_items": [{ "item": { "id": "bouquet_roses" }, "quantity": 2 }],
            "buyer": { "email": "buyer@example.com", "first_name": "Bea" },
            "fulfillment": { "methods": [{ "type": "shipping", "destinations": [address] }] },
        }),
    )
}

/// A checkout of which nothing is known but what is bought.
pub(crate) fn bare(gateway: &Gateway) -> Value {
    call(
        gateway,
        "POST",
        "/checkout-sessions",
        &json!({
            "line_items": [{ "item": { "id": "bouquet_tulips" }, "quantity": 1 }],
        }),
    )
}

/// Completes a checkout with a token of the sandbox.
#[track_caller]
pub(crate) fn complete(gateway: &Gateway, checkout: &Value, token: &str) -> Value {
    call(
        gateway,
        "POST",
        &format!("/checkout-sessions/{}/complete", text(&checkout["id"])),
        &json!({
            "payment": { "instruments": [{
                "id": "instrument_1", "handler_id": "mock_payment_handler", "type": "card", "selected": true,
                "display": { "brand": "visa", "last_digits": "1111" },
                "credential": { "type": "token", "token": token },
            }] },
        }),
    )
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}"))
}

/// The path of a page whose address an answer gives.
pub(crate) fn path(address: &Value) -> String {
    Url::parse(text(address)).expect("an absolute address").path().to_owned()
}

/// A browser: it keeps cookies, sends forms and follows redirections.
pub(crate) struct Browser<'a> {
    gateway: &'a Gateway,
    /// By name, with the name before the value.
    cookies: BTreeMap<String, String>,
}

/// A page in it.
pub(crate) struct Page {
    pub(crate) place: String,
    pub(crate) response: Response,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(gateway: &'a Gateway) -> Self {
        Self { gateway, cookies: BTreeMap::new() }
    }

    pub(crate) fn open(&mut self, place: &str) -> Page {
        let response = self.send("GET", place, &[], b"");
        Page { place: place.to_owned(), response }
    }

    /// Sends a form of a page, with other values in some of its fields, and does not follow where that leads.
    pub(crate) fn submit(&mut self, page: &Page, step: &str, changes: &[(&str, &str)]) -> Response {
        let mut fields = page.form(step);
        for (name, value) in changes {
            fields.retain(|(own, _)| own != name);
            fields.push(((*name).to_owned(), (*value).to_owned()));
        }
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.post(&page.place, &body)
    }

    /// Sends a form and shows what comes after it.
    #[track_caller]
    pub(crate) fn fill(&mut self, page: &Page, step: &str, changes: &[(&str, &str)]) -> Page {
        let response = self.submit(page, step, changes);
        assert_eq!(response.status, 303, "{response:?}");
        let base = Url::parse("http://localhost").and_then(|base| base.join(&page.place)).expect("a place");
        let next = base.join(response.header("location").expect("a place")).expect("an address");
        assert_eq!(next.host_str(), Some("localhost"), "a form leads to its own page");
        self.open(&format!("{}?{}", next.path(), next.query().unwrap_or_default()))
    }

    pub(crate) fn post(&mut self, place: &str, body: &str) -> Response {
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        self.send("POST", place, &[kind, ("Sec-Fetch-Site", "same-origin")], body.as_bytes())
    }

    pub(crate) fn send(&mut self, method: &str, place: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let cookies = self.cookies.values().cloned().collect::<Vec<_>>().join("; ");
        let mut headers = headers.to_vec();
        headers.extend((!cookies.is_empty()).then_some(("Cookie", cookies.as_str())));
        let response = self.gateway.send(method, place, &headers, body);
        for cookie in response.all("set-cookie") {
            let pair = cookie.split(';').next().expect("a pair");
            let (name, _) = pair.split_once('=').expect("a name and a value");
            self.cookies.insert(name.to_owned(), pair.to_owned());
        }
        response
    }
}

impl Page {
    #[track_caller]
    pub(crate) fn shows(&self, content: &str) {
        assert!(self.response.body.contains(content), "`{content}` in {}", self.response.body);
    }

    #[track_caller]
    pub(crate) fn hides(&self, content: &str) {
        assert!(!self.response.body.contains(content), "no `{content}` in {}", self.response.body);
    }

    /// The fields of the form of a step, as a browser would send them untouched.
    #[track_caller]
    pub(crate) fn form(&self, step: &str) -> Vec<(String, String)> {
        let marker = format!("name=\"step\" value=\"{step}\"");
        let form = self
            .response
            .body
            .split("<form")
            .skip(1)
            .find(|form| form.split("</form>").next().is_some_and(|form| form.contains(&marker)));
        let form = form.unwrap_or_else(|| panic!("a form for {step} in {}", self.response.body));
        let form = form.split("</form>").next().expect("a form");
        let mut fields = Vec::new();
        for tag in form.split("<input").skip(1).map(|tag| tag.split('>').next().expect("a tag")) {
            let radio = tag.contains("type=\"radio\"");
            if !radio || tag.ends_with(" checked") {
                fields.push((attribute(tag, "name").expect("a name"), attribute(tag, "value").unwrap_or_default()));
            }
        }
        for select in form.split("<select").skip(1) {
            let name = attribute(select, "name").expect("a name");
            let chosen = select
                .split("<option")
                .find(|option| option.split('>').next().is_some_and(|tag| tag.ends_with(" selected")));
            fields.push((name, chosen.and_then(|option| attribute(option, "value")).unwrap_or_default()));
        }
        fields
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
    Some(value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}
