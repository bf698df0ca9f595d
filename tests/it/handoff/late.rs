//! Pages for late buyers: the result so far, and the next step.

use std::time::Duration;

use serde_json::{Value, json};

use super::browser::{Browser, Page, call, look, path, ready};
use crate::{
    harness::{Ends as _, binary, eventually},
    setup::{Configured, Setup},
};

const STOREFRONT: &str = "https://shop.example/spring";

/// A flower shop that knows where its own pages are, and gives carts and checkouts up after some seconds.
fn hasty() -> Configured {
    let data = crate::harness::flower_shop();
    let terms = |file: Option<&std::path::Path>| {
        let output = binary().arg("terms").args(file).arg("--data-dir").arg(data.path()).ends();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let mut present: Value = serde_json::from_slice(&terms(None)).expect("JSON");
    present["lifetimes"] = json!({ "cart_seconds": 5, "checkout_seconds": 5 });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), present.to_string()).expect("a file");
    terms(Some(file.path()));
    Setup::new(&format!("[server]\nstorefront = \"{STOREFRONT}\""))
        .arguments(&["--sample", "flower-shop"])
        .start_on(data)
}

/// The page at a place, once what it was about is over.
#[track_caller]
fn over(browser: &mut Browser<'_>, place: &str) -> Page {
    let place = format!("{place}?continue_to=https%3A%2F%2Fagent.example.com%2Fchat");
    eventually("it is over", Duration::from_secs(60), || {
        let page = browser.open(&place);
        (page.response.status != 200).then_some(page)
    })
}

#[test]
fn an_expired_page_says_so_and_leads_on() {
    let gateway = hasty();
    let mut browser = Browser::new(&gateway);
    // Forms from before; on a busy machine, these may come too late too.
    let (checkout, place, page, confirmation) = eventually("forms in time", Duration::from_secs(120), || {
        let checkout = ready(&gateway);
        let place = path(&checkout["continue_url"]);
        let (page, confirmation) = (browser.open(&place), browser.open(&format!("{place}?view=confirm")));
        let in_time = page.response.status == 200 && confirmation.response.status == 200;
        in_time.then_some((checkout, place, page, confirmation))
    });
    let goods = json!({ "line_items": [{ "item": { "id": "orchid_white" }, "quantity": 1 }] });
    let cart = call(&gateway, "POST", "/carts", &goods);
    for (place, title) in
        [(&place, "This purchase has expired"), (&path(&cart["continue_url"]), "This cart has expired")]
    {
        let late = over(&mut browser, place);
        assert_eq!(late.response.status, 410, "{:?}", late.response);
        late.shows(title);
        late.shows("ask your assistant to start again");
        late.shows("href=\"https://agent.example.com/chat\"");
        late.shows(&format!("href=\"{STOREFRONT}\""));
        for gone in ["<form", "Bouquet", "Orchid", "buyer@example.com", "1 Main St"] {
            late.hides(gone);
        }
        assert_eq!(late.response.header("cache-control"), Some("no-store"));
        // Somewhere else it does not lead.
        assert_eq!(browser.open(&format!("{place}?continue_to=https%3A%2F%2Fevil.example")).response.status, 400);
    }
    for (page, step) in [(&page, "details"), (&page, "cancel"), (&confirmation, "pay")] {
        let response = browser.submit(page, step, &[]);
        assert_eq!(response.status, 410, "{response:?}");
    }
    assert_eq!(look(&gateway, &checkout)["status"], "canceled");
    browser.open("/continue/0123456789abcdef0123456789abcdef").shows(&format!("href=\"{STOREFRONT}\""));
}

#[test]
fn a_canceled_page_shows_what_it_was_about() {
    let gateway = super::browser::flowers();
    let checkout = ready(&gateway);
    call(
        &gateway,
        "POST",
        &format!("/checkout-sessions/{}/cancel", super::browser::text(&checkout["id"])),
        &Value::Null,
    );
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    assert_eq!(page.response.status, 200);
    for shown in ["This purchase was canceled", "You weren't charged", "Items in this purchase", "Bouquet of Red Roses"]
    {
        page.shows(shown);
    }
    page.hides("<form");
    assert!(!page.response.body.contains("Still needed"));
}
