//! Rejected forms: forms of others, old forms, forged addresses.

use serde_json::json;

use super::browser::{Browser, bare, call, complete, flowers, look, path, ready, text};
use crate::harness::Gateway;

#[test]
fn a_form_of_another_site_is_refused() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    let confirmation = browser.open(&format!("{}?view=confirm", page.place));
    for seal in ["", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        let response = browser.submit(&confirmation, "pay", &[("seal", seal)]);
        assert_eq!(response.status, 403, "{response:?}");
    }
    // The seal of another page of the same browser.
    let other = browser.open(&path(&ready(&gateway)["continue_url"]));
    let seal = other.form("cancel").into_iter().find(|(name, _)| name == "seal").expect("a seal").1;
    assert_eq!(browser.submit(&confirmation, "pay", &[("seal", &seal)]).status, 403);
    // The seal of another browser, and no cookie at all.
    let mut stranger = Browser::new(&gateway);
    stranger.open(&page.place);
    assert_eq!(stranger.submit(&confirmation, "pay", &[]).status, 403);
    let mut nobody = Browser::new(&gateway);
    assert_eq!(nobody.submit(&confirmation, "pay", &[]).status, 403);
    // Statements of the browser about the origin of the form.
    let body = "step=pay";
    for site in ["cross-site", "same-site"] {
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        let response = browser.send("POST", &page.place, &[kind, ("Sec-Fetch-Site", site)], body.as_bytes());
        assert_eq!(response.status, 403, "{response:?}");
    }
    assert_eq!(look(&gateway, &checkout)["status"], "ready_for_complete");
    browser.fill(&confirmation, "pay", &[]).shows("Thank you for your order");
}

#[test]
fn a_form_is_taken_once() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let place = path(&checkout["continue_url"]);
    let confirmation = browser.open(&format!("{place}?view=confirm"));
    browser.fill(&confirmation, "pay", &[]);
    let completed = look(&gateway, &checkout);
    for _ in 0..2 {
        let again = browser.submit(&confirmation, "pay", &[]);
        assert_eq!(again.status, 409, "{again:?}");
        assert!(again.body.contains("This purchase has changed"), "{again:?}");
    }
    assert_eq!(look(&gateway, &checkout), completed, "one order");
}

#[test]
fn what_the_platform_changed_has_to_be_seen_first() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let place = path(&checkout["continue_url"]);
    let confirmation = browser.open(&format!("{place}?view=confirm"));
    call(
        &gateway,
        "PUT",
        &format!("/checkout-sessions/{}", text(&checkout["id"])),
        &json!({
            "line_items": [{ "item": { "id": "orchid_white" }, "quantity": 9 }],
            "buyer": checkout["buyer"],
            "fulfillment": { "methods": [{ "type": "shipping" }] },
        }),
    );
    let response = browser.submit(&confirmation, "pay", &[]);
    assert_eq!(response.status, 409, "{response:?}");
    assert!(response.body.contains("White Orchid"), "it shows what is there now: {response:?}");
    assert_eq!(look(&gateway, &checkout)["status"], "ready_for_complete");
    // A form from before the purchase was concluded elsewhere.
    let page = browser.open(&place);
    complete(&gateway, &checkout, "success_token");
    assert_eq!(browser.submit(&page, "cancel", &[]).status, 409);
    assert_eq!(look(&gateway, &checkout)["status"], "completed");
}

#[test]
fn tokens_open_their_own_page_only() {
    let gateway = flowers();
    let checkout = complete(&gateway, &ready(&gateway), "success_token");
    let order = path(&checkout["order"]["permalink_url"]);
    let token = order.rsplit('/').next().expect("a token").to_owned();
    let open = bare(&gateway);
    let place = path(&open["continue_url"]);
    let own = place.rsplit('/').next().expect("a token");
    let mut flipped = own.to_owned();
    let last = if flipped.pop() == Some('0') { '1' } else { '0' };
    flipped.push(last);
    let mut browser = Browser::new(&gateway);
    for wrong in [
        format!("/continue/{token}"),
        format!("/order/{own}"),
        format!("/continue/{flipped}"),
        format!("/continue/{}", &own[1..]),
        format!("/continue/{own}0"),
        format!("/continue/{}", own.to_uppercase().replace(char::is_numeric, "A")),
        format!("/continue/{}", text(&open["id"])),
        format!("/order/{}", text(&checkout["order"]["id"])),
        "/continue/%27%20OR%201=1--".to_owned(),
        "/continue/%00".to_owned(),
        "/continue/%FF".to_owned(),
        "/order/%25".to_owned(),
    ] {
        let page = browser.open(&wrong);
        assert_eq!(page.response.status, 404, "{wrong}: {:?}", page.response);
        page.shows("This page does not exist");
        assert_eq!(page.response.header("cache-control"), Some("no-store"));
        if wrong.starts_with("/continue") {
            let response = browser.post(&wrong, "step=cancel&version=1&seal=x");
            assert_eq!(response.status, 404, "{response:?}");
        }
    }
    assert_eq!(look(&gateway, &open)["status"], "incomplete");
}

#[test]
fn nobody_is_led_away() {
    let gateway = flowers();
    let place = path(&ready(&gateway)["continue_url"]);
    let mut browser = Browser::new(&gateway);
    for to in [
        "https://evil.example/",
        "http://agent.example.com/",
        "//evil.example",
        "javascript:alert(1)",
        "https://agent.example.com@evil.example/",
        "https://agent.example.com.evil.example/",
        "data:text/html,hi",
    ] {
        let query: String = url::form_urlencoded::byte_serialize(to.as_bytes()).collect();
        let page = browser.open(&format!("{place}?continue_to={query}"));
        assert_eq!(page.response.status, 400, "{to}");
        page.hides("evil.example");
        let response = browser.post(&format!("{place}?continue_to={query}"), "step=cancel");
        assert_eq!(response.status, 400, "{to}");
        assert!(response.header("location").is_none());
    }
}

#[test]
fn forms_have_limits() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    let large = "x".repeat(20_000);
    assert_eq!(browser.post(&page.place, &large).status, 413);
    let response = browser.send("POST", &page.place, &[("Content-Type", "application/json")], b"{}");
    assert_eq!(response.status, 415, "{response:?}");
    for (name, value) in [("version", "x"), ("version", ""), ("step", "steal")] {
        assert_eq!(browser.submit(&page, "cancel", &[(name, value)]).status, 400, "{name}={value}");
    }
    let long = "é".repeat(201);
    let response = browser.submit(&page, "details", &[("first_name", &long), ("email", "kept@example.com")]);
    assert_eq!(response.status, 422, "{response:?}");
    for shown in ["Please correct this", "href=\"#first_name\"", "aria-invalid=\"true\"", "kept@example.com", &long] {
        assert!(response.body.contains(shown), "`{shown}` in {response:?}");
    }
    for wrong in ["a\u{0}b", "a\r\nb"] {
        assert_eq!(browser.submit(&page, "details", &[("last_name", wrong)]).status, 422);
    }
    assert_eq!(look(&gateway, &checkout)["buyer"], checkout["buyer"], "nothing was changed");
    for method in ["PUT", "DELETE", "PATCH"] {
        let response = browser.send(method, &page.place, &[], b"");
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD, POST")), "{response:?}");
    }
    let order = path(&complete(&gateway, &checkout, "success_token")["order"]["permalink_url"]);
    let response = browser.send("POST", &order, &[], b"");
    assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD")), "{response:?}");
}

#[test]
fn options_that_do_not_exist_change_nothing_unseen() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    for (name, value) in [("option:7:package_1", "std-ship"), ("option:x:y", "z"), ("option:0:package_1", "teleport")] {
        let present = browser.open(&page.place);
        browser.fill(&present, "delivery", &[(name, value)]);
    }
    let place = browser.open(&page.place);
    let response = browser.submit(&place, "delivery", &[("option:0:nonsense", "std-ship")]);
    assert_eq!(response.status, 422, "{response:?}");
    let seen = look(&gateway, &checkout);
    let errors = seen["messages"].as_array().into_iter().flatten().filter(|message| message["type"] == "error");
    let codes: Vec<_> = errors.map(|message| &message["code"]).collect();
    assert_eq!(codes, ["option_unknown"], "{seen}");
    assert_eq!(seen["totals"], checkout["totals"]);
}

#[test]
fn pages_want_https_outside_of_development() {
    let (plain, secure) = (Gateway::behind("http://shop.example"), Gateway::behind("https://shop.example"));
    for (gateway, status) in [(&plain, 403), (&secure, 404)] {
        for place in ["/continue/0123456789abcdef0123456789abcdef", "/order/0123456789abcdef0123456789abcdef"] {
            let mut browser = Browser::new(gateway);
            let page = browser.open(place);
            assert_eq!(page.response.status, status, "{:?}", page.response);
            page.hides("<form");
        }
        let response = Browser::new(gateway).post("/continue/0123456789abcdef0123456789abcdef", "step=pay");
        assert_eq!(response.status, status, "{response:?}");
    }
}
