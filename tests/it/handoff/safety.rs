//! Restrictions of pages in browsers, and escaping of hostile texts.

use std::io::Write as _;

use serde_json::json;
use url::Url;

use super::browser::{Browser, bare, call, complete, flowers, path, ready};
use crate::harness::{Ends as _, Gateway, binary};

const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>**bold** [x](javascript:alert(1))";

#[test]
fn every_page_is_locked_down() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let place = path(&checkout["continue_url"]);
    let mut browser = Browser::new(&gateway);
    let mut pages = vec![
        browser.open(&place),
        browser.open(&format!("{place}?view=confirm")),
        browser.open(&format!("{place}?continue_to=https%3A%2F%2Fevil.example")),
        browser.open("/continue/nothing"),
        browser.open("/order/nothing"),
    ];
    let completed = complete(&gateway, &checkout, "success_token");
    pages.push(browser.open(&path(&completed["order"]["permalink_url"])));
    pages.push(browser.open(&place));
    for page in &pages {
        let header = |name| page.response.header(name).unwrap_or_else(|| panic!("{name} of {}", page.place));
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "style-src 'sha256-",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        for needed in ["<html lang=\"en\">", "<main id=\"main\"", "<h1>", "name=\"viewport\""] {
            page.shows(needed);
        }
        for foreign in ["<script", " onclick", " style=\"", "<link"] {
            page.hides(foreign);
        }
        // Nothing but pictures of the goods is loaded, from where the policy says.
        for source in page.response.body.split("src=\"").skip(1) {
            let url = source.split('"').next().and_then(|url| Url::parse(url).ok()).expect("an address");
            let origin = url.origin().ascii_serialization();
            assert!(policy.contains(&format!(" img-src {origin};")), "{origin}: {policy}");
        }
    }
    let cookie = Browser::new(&gateway).open(&place).response;
    let cookie = cookie.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
}

#[test]
fn hostile_texts_stay_texts() {
    let data = crate::harness::folder();
    let goods = data.path().join("goods.jsonl");
    let line = json!({
        "id": "p", "title": HOSTILE, "description": { "plain": HOSTILE },
        "variants": [{ "id": "v", "price": { "amount": 100, "currency": "USD" } }],
    });
    writeln!(std::fs::File::create(&goods).expect("a file"), "{line}").expect("a line");
    let shop = data.path().join("shop");
    let imported = binary()
        .args(["import"])
        .arg(&goods)
        .args(["--name", HOSTILE, "--currency", "USD", "--data-dir"])
        .arg(&shop)
        .ends();
    assert!(imported.status.success(), "{imported:?}");
    let gateway = Gateway::on(&shop, &[]);
    let checkout = call(
        &gateway,
        "POST",
        "/checkout-sessions",
        &json!({
            "line_items": [{ "item": { "id": "v" }, "quantity": 1 }],
            "buyer": { "first_name": HOSTILE, "last_name": HOSTILE, "email": HOSTILE, "phone_number": HOSTILE },
            "fulfillment": { "methods": [{ "type": "shipping", "destinations": [{
                "street_address": HOSTILE, "address_locality": HOSTILE, "address_country": HOSTILE, "postal_code": HOSTILE,
            }] }] },
        }),
    );
    let place = path(&checkout["continue_url"]);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&place);
    let query: String = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    for page in
        [browser.open(&format!("{place}?done={query}&view={query}")), browser.open(&format!("/continue/{query}")), page]
    {
        for live in ["<script", "<img", "<b>", "<strong>bold", "href=\"javascript"] {
            page.hides(live);
        }
    }
    let page = browser.open(&place);
    page.shows("&lt;script&gt;alert(1)&lt;/script&gt;");
}

#[test]
fn tokens_are_not_logged() {
    let data = crate::harness::folder();
    let mut command = binary();
    command.env("RUST_LOG", "trace");
    command.args(["serve", "--listen", "127.0.0.1:0", "--sample", "flower-shop", "--data-dir"]).arg(data.path());
    let gateway = Gateway::spawn(&command, None);
    let checkout = bare(&gateway);
    let place = path(&checkout["continue_url"]);
    let token = place.rsplit('/').next().expect("a token");
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&place);
    browser.fill(&page, "details", &[("email", "canary@example.com"), ("address_country", "US")]);
    assert!(!gateway.stderr().is_empty(), "something is logged");
    for secret in [token, "canary@example.com"] {
        assert!(!gateway.stderr().contains(secret), "{secret} is in the log");
    }
}
