//! The pages on which buyers go on in person, as a browser without scripts sends them.

use serde_json::json;

use super::{
    id,
    payloads::{lines, paying, ready},
    purchase::Shopper,
    text,
};
use crate::{
    Done,
    operation::{Caller, NEWEST, RELEASES, Way},
    process::Gateway,
    stage::{Setup, Stage},
    wire::{Request, Response},
};

/// A browser: it keeps a cookie, and sends the forms of pages.
struct Browser<'a> {
    gateway: &'a Gateway,
    cookie: Option<String>,
}

impl<'a> Browser<'a> {
    fn new(gateway: &'a Gateway) -> Self {
        Self { gateway, cookie: None }
    }

    fn send(&mut self, stage: &mut Stage<'_>, name: &str, mut request: Request) -> Response {
        if let Some(cookie) = &self.cookie {
            request = request.header("Cookie", cookie);
        }
        let response = stage.ask(name, self.gateway, &request);
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        response
    }

    fn open(&mut self, stage: &mut Stage<'_>, name: &str, place: &str) -> Response {
        self.send(stage, name, Request::get(place))
    }

    /// Sends a form of a page with other values in some of its fields, and opens the page that it leads to.
    fn fill(
        &mut self,
        stage: &mut Stage<'_>,
        name: &str,
        page: (&str, &Response),
        step: &str,
        changes: &[(&str, &str)],
    ) -> Response {
        let mut fields = form(&page.1.text(), step);
        for (field, value) in changes {
            fields.retain(|(own, _)| own != field);
            fields.push(((*field).to_owned(), (*value).to_owned()));
        }
        let body: Vec<_> =
            fields.iter().map(|(field, value)| format!("{}={}", encoded(field), encoded(value))).collect();
        let request = Request::new("POST", page.0).header("Content-Type", "application/x-www-form-urlencoded");
        let request = request.header("Sec-Fetch-Site", "same-origin").body(body.join("&"));
        let response = self.send(stage, &format!("{name}/form"), request);
        match response.header("location").map(str::to_owned) {
            Some(location) => self.open(stage, &format!("{name}/then"), &place(page.0, &location)),
            None => response,
        }
    }
}

/// The path that a location leads to.
fn place(from: &str, location: &str) -> String {
    if location.starts_with('?') {
        return format!("{}{location}", from.split('?').next().unwrap_or_default());
    }
    match location.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or_else(|| "/".to_owned(), |slash| rest[slash..].to_owned()),
        None => location.to_owned(),
    }
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => (byte as char).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The fields of the form of a step, as a browser would send them untouched.
fn form(page: &str, step: &str) -> Vec<(String, String)> {
    let marker = format!("name=\"step\" value=\"{step}\"");
    let forms = page.split("<form").skip(1).filter_map(|form| form.split("</form>").next());
    let Some(form) = forms.into_iter().find(|form| form.contains(&marker)) else { return Vec::new() };
    let mut fields = Vec::new();
    for tag in form.split("<input").skip(1).filter_map(|tag| tag.split('>').next()) {
        if !tag.contains("type=\"radio\"") || tag.ends_with(" checked") {
            fields.push((attribute(tag, "name").unwrap_or_default(), attribute(tag, "value").unwrap_or_default()));
        }
    }
    for select in form.split("<select").skip(1) {
        let chosen = select
            .split("<option")
            .find(|option| option.split('>').next().is_some_and(|tag| tag.ends_with(" selected")));
        let value = chosen.and_then(|option| attribute(option, "value")).unwrap_or_default();
        fields.push((attribute(select, "name").unwrap_or_default(), value));
    }
    fields
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
    Some(value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// Plays what buyers do with checkouts of every release.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("[server]\nstorefront = \"https://www.example.com/\"\n"))?;
    for release in RELEASES {
        let shopper = Shopper::new(&gateway, Caller::new(Some(release), Way::Rest), "");
        missing(stage, &shopper);
        confirmed(stage, &shopper);
        given_up(stage, &shopper);
    }
    let shopper = Shopper::new(&gateway, Caller::new(None, Way::Rest), "");
    refusals(stage, &shopper);
    Ok(())
}

/// The path of the page of a document.
fn page_of(document: &serde_json::Value) -> String {
    place("/", text(document, "/continue_url"))
}

/// A buyer says what is missing, chooses a delivery, and pays.
fn missing(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let name = |step: &str| shopper.name(&format!("missing/{step}"));
    let bare = json!({ "line_items": lines(&[("bouquet_tulips", 1)]) });
    let checkout = shopper.step(stage, "create_checkout", "bare", None, &bare);
    let path = page_of(&checkout);
    let mut browser = Browser::new(shopper.gateway);
    let page = browser.open(stage, &name("open"), &path);
    let details = [
        ("first_name", "Zoë"),
        ("email", "zoe@example.com"),
        ("street_address", "2 Elm St"),
        ("address_locality", "Salem"),
        ("address_region", "OR"),
        ("postal_code", "97301"),
        ("address_country", "US"),
    ];
    let page = browser.fill(
        stage,
        &name("wrong"),
        (&path, &page),
        "details",
        &[("email", "nobody"), ("address_country", "XX")],
    );
    let page = if page.status == 200 { page } else { browser.open(stage, &name("open-again"), &path) };
    let page = browser.fill(stage, &name("details"), (&path, &page), "details", &details);
    let seen = shopper.step(stage, "get_checkout", "filled-in", Some(&id(&checkout)), &json!({}));
    let group = text(&seen, "/fulfillment/methods/0/groups/0/id").to_owned();
    let page = browser.fill(
        stage,
        &name("delivery"),
        (&path, &page),
        "delivery",
        &[(&format!("option:0:{group}"), "express")],
    );
    shopper.step(stage, "get_checkout", "delivery", Some(&id(&checkout)), &json!({}));
    let page = browser.fill(stage, &name("last-name"), (&path, &page), "details", &[("last_name", "Quiñones<b>")]);
    drop(page);
    let confirmation = browser.open(stage, &name("confirm"), &format!("{path}?view=confirm"));
    let place = format!("{path}?view=confirm");
    browser.fill(stage, &name("pay"), (&place, &confirmation), "pay", &[]);
    browser.fill(stage, &name("pay-again"), (&place, &confirmation), "pay", &[]);
    let paid = shopper.step(stage, "get_checkout", "paid", Some(&id(&checkout)), &json!({}));
    browser.open(stage, &name("after"), &path);
    let receipt = self::place("/", text(&paid, "/order/permalink_url"));
    for (label, path) in [("receipt", receipt.clone()), ("receipt-query", format!("{receipt}?view=confirm"))] {
        browser.open(stage, &name(label), &path);
    }
}

/// The bank asks, and the buyer confirms.
fn confirmed(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let name = |step: &str| shopper.name(&format!("confirmed/{step}"));
    let checkout = shopper.step(stage, "create_checkout", "challenged", None, &ready(&[("bouquet_roses", 2)]));
    let asked = shopper.step(
        stage,
        "complete_checkout",
        "challenged",
        Some(&id(&checkout)),
        &paying(shopper.release, "challenge_token"),
    );
    let path = page_of(if asked.get("continue_url").is_some() { &asked } else { &checkout });
    let mut browser = Browser::new(shopper.gateway);
    browser.open(stage, &name("open"), &path);
    let place = format!("{path}?view=confirm&continue_to=https%3A%2F%2Fagent.example.com%2Fchat%2F7");
    let page = browser.open(stage, &name("confirm"), &place);
    shopper.step(stage, "get_checkout", "looked-at", Some(&id(&checkout)), &json!({}));
    browser.fill(stage, &name("pay"), (&place, &page), "pay", &[]);
    let paid = shopper.step(stage, "get_checkout", "confirmed", Some(&id(&checkout)), &json!({}));
    browser.open(stage, &name("receipt"), &self::place("/", text(&paid, "/order/permalink_url")));
}

/// A buyer gives a checkout up; a platform gives a cart up.
fn given_up(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let name = |step: &str| shopper.name(&format!("given-up/{step}"));
    let checkout = shopper.step(stage, "create_checkout", "given-up", None, &ready(&[("bouquet_roses", 2)]));
    let path = page_of(&checkout);
    let mut browser = Browser::new(shopper.gateway);
    let page = browser.open(stage, &name("open"), &path);
    browser.fill(stage, &name("cancel"), (&path, &page), "cancel", &[]);
    browser.fill(stage, &name("cancel-again"), (&path, &page), "cancel", &[]);
    shopper.step(stage, "get_checkout", "given-up", Some(&id(&checkout)), &json!({}));
    let cart =
        shopper.step(stage, "create_cart", "shown", None, &json!({ "line_items": lines(&[("orchid_white", 3)]) }));
    let path = page_of(&cart);
    browser.open(stage, &name("cart"), &path);
    shopper.step(stage, "cancel_cart", "shown", Some(&id(&cart)), &json!({}));
    browser.open(stage, &name("canceled-cart"), &path);
}

/// Forms and addresses that are not taken.
fn refusals(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let name = |step: &str| shopper.name(&format!("refused/{step}"));
    let checkout = shopper.step(stage, "create_checkout", "refused", None, &ready(&[("bouquet_roses", 2)]));
    let path = page_of(&checkout);
    let mut browser = Browser::new(shopper.gateway);
    let place = format!("{path}?view=confirm");
    let page = browser.open(stage, &name("open"), &place);
    for seal in ["", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        browser.fill(stage, &name(&format!("seal-{seal}")), (&place, &page), "pay", &[("seal", seal)]);
    }
    for step in ["burn", "details", "delivery"] {
        browser.fill(stage, &name(&format!("step-{step}")), (&place, &page), "pay", &[("step", step)]);
    }
    browser.fill(stage, &name("old-version"), (&place, &page), "pay", &[("version", "0")]);
    Browser::new(shopper.gateway).fill(stage, &name("no-cookie"), (&place, &page), "pay", &[]);
    for site in ["cross-site", "same-site", "none"] {
        let request = Request::new("POST", &path).header("Content-Type", "application/x-www-form-urlencoded");
        browser.send(stage, &name(&format!("site-{site}")), request.header("Sec-Fetch-Site", site).body("step=pay"));
    }
    for (label, media_type, body) in [
        ("json", "application/json", "{}"),
        ("plain", "text/plain", "step=pay"),
        ("empty", "application/x-www-form-urlencoded", ""),
    ] {
        let request = Request::new("POST", &path).header("Content-Type", media_type).body(body);
        browser.send(stage, &name(label), request);
    }
    shopper.step(stage, "update_checkout", "changed-meanwhile", Some(&id(&checkout)), &ready(&[("orchid_white", 9)]));
    browser.fill(stage, &name("changed-meanwhile"), (&place, &page), "pay", &[]);
    let page = browser.open(stage, &name("open-again"), &path);
    shopper.step(stage, "complete_checkout", "meanwhile", Some(&id(&checkout)), &paying(NEWEST, "success_token"));
    browser.fill(stage, &name("paid-meanwhile"), (&path, &page), "cancel", &[]);
    let own = path.rsplit('/').next().unwrap_or_default();
    for (number, wrong) in [
        format!("/order/{own}"),
        format!("/continue/{own}0"),
        format!("/continue/{}", &own[1..]),
        "/continue/".to_owned(),
        "/continue/%27%20OR%201=1--".to_owned(),
        "/continue/%00".to_owned(),
        "/continue/%FF".to_owned(),
        "/order/%25".to_owned(),
        format!("/continue/{own}/"),
        format!("{path}?view=other"),
        format!("{path}?continue_to=javascript%3Aalert(1)"),
        format!("{path}?continue_to=http%3A%2F%2Fevil.example"),
        format!("{path}?language=es"),
    ]
    .iter()
    .enumerate()
    {
        browser.open(stage, &name(&format!("path-{number}")), wrong);
    }
    let spanish = Request::get(&path).header("Accept-Language", "es, en;q=0.1");
    browser.send(stage, &name("spanish"), spanish);
    browser.send(stage, &name("head"), Request::new("HEAD", &path));
    browser.send(stage, &name("put"), Request::new("PUT", &path));
}
