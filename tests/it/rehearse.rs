//! `rehearse` at the sample shop, in every release that sells and over both transports.

use std::{fs, process::Output};

use ucp_testkit::server::{Answer, Server};

use crate::{
    harness::{Ends as _, Gateway, binary, folder},
    purchase::conditions::shop,
};

/// Output of a rehearsal, and whether no shopper gave up.
fn rehearsed(arguments: &[&str]) -> (String, bool) {
    let Output { status, stdout, stderr } = binary().arg("rehearse").args(arguments).ends();
    let printed = String::from_utf8(stdout).expect("text");
    assert!(!printed.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    (printed, status.success())
}

/// Constant part of every rehearsal with a seed: everything before the examples, which have IDs, and the times.
fn counts(printed: &str) -> &str {
    let end = ["\nan example of each", "\nslowest calls"].iter().filter_map(|title| printed.find(title)).min();
    printed[..end.expect("the end of the counts")].split_once('\n').expect("a title").1
}

#[test]
fn everybody_buys_at_the_sample_shop_over_both_transports() {
    for transport in ["mcp", "rest"] {
        let gateway = Gateway::start();
        let url = gateway.address.to_string();
        let (printed, good) = rehearsed(&[&url, "--sessions", "90", "--seed", "7", "--transport", transport]);
        assert!(good, "{printed}");
        assert!(printed.contains("90 shoppers over") && printed.contains("90 ordered"), "{printed}");
        assert!(!printed.contains("what could not be acted upon"), "{printed}");
    }
}

#[test]
fn older_releases_are_bought_in_as_well() {
    let gateway = Gateway::start();
    let url = gateway.address.to_string();
    for (release, transport) in
        [("2026-04-08", "mcp"), ("2026-01-23", "rest"), ("2026-01-11", "mcp"), ("2026-01-11", "rest")]
    {
        let mut arguments = vec![&*url, "--sessions", "9", "--release", release, "--transport", transport];
        if release < "2026-04-08" {
            arguments.extend(["--item", "var_abc123_blue_10"]);
        }
        let (printed, _) = rehearsed(&arguments);
        assert!(printed.contains("9 ordered"), "{release} over {transport}: {printed}");
    }
}

#[test]
fn the_same_seed_makes_the_same_decisions() {
    let of = |seed: &str| {
        let gateway = Gateway::start();
        let (printed, _) = rehearsed(&[&gateway.address.to_string(), "--sessions", "45", "--seed", seed]);
        counts(&printed).to_owned()
    };
    let first = of("3");
    assert_eq!(first, of("3"));
    assert_ne!(first, of("4"));
}

#[test]
fn a_shopper_with_patience_comes_back_when_a_checkout_has_expired() {
    let (gateway, _data) = shop(|terms| terms["lifetimes"]["checkout_seconds"] = 10.into());
    let seen: &'static str = gateway.address.to_string().leak();
    let proxy = Server::start(move |request| {
        let own = format!("http://{}", request.headers()["host"].to_str().expect("a host"));
        crate::doctor::forwarded(seen, &own, request)
    });
    let canceled = |patience: &str| {
        let arguments = ["--sessions", "9", "--transport", "rest", "--patience", patience];
        let before = proxy.requests().len();
        let (printed, good) = rehearsed(&[&[&*proxy.url("")], &arguments[..]].concat());
        assert!(good && printed.contains("9 ordered"), "{printed}");
        proxy.requests()[before..].iter().filter(|request| request.uri().path().ends_with("/cancel")).count()
    };
    assert_eq!(canceled("0"), 1);
    assert_eq!(canceled("20"), 0);
}

#[test]
fn the_report_says_where_shoppers_gave_up_and_what_did_not_help() {
    // It finds nothing, and says so in a way that nobody can act upon.
    let shop = Server::start(|request| {
        let host = request.headers()["host"].to_str().expect("a host").to_owned();
        match request.uri().path() {
            "/.well-known/ucp" => Answer::json(&serde_json::json!({ "ucp": {
                "version": "2026-08-25",
                "services": { "dev.ucp.shopping": [
                    { "version": "2026-08-25", "transport": "rest", "endpoint": format!("http://{host}") },
                ] },
                "capabilities": { "dev.ucp.shopping.checkout": [{ "version": "2026-08-25" }] },
            } })),
            _ => Answer::Whole(
                400,
                vec!["Content-Type: application/json".to_owned()],
                b"{\"code\":\"no\",\"content\":\"<No>.\"}".to_vec(),
            ),
        }
    });
    let folder = folder();
    let (html, junit) = (folder.path().join("report.html"), folder.path().join("report.xml"));
    let (printed, good) = rehearsed(&[
        &shop.url(""),
        "--sessions",
        "9",
        "--item",
        "mug",
        "--html",
        html.to_str().expect("text"),
        "--junit",
        junit.to_str().expect("text"),
    ]);
    assert!(!good && printed.contains("9 abandoned"), "{printed}");
    assert!(printed.contains("9 x  checkout   checkout refused: no"), "{printed}");
    assert!(printed.contains("create_checkout: no: it names neither a place nor what is accepted"), "{printed}");
    let (page, xml) = (fs::read_to_string(html).expect("a page"), fs::read_to_string(junit).expect("XML"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("&lt;No&gt;.") && !page.contains("<No>"), "{page}");
    assert!(!page.contains("http://") || !page.contains("src="), "it loads nothing");
    assert_eq!(xml.matches("<failure type=\"checkout\"").count(), 9, "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 9);
}

#[test]
fn without_a_sandbox_nothing_is_paid() {
    let gateway = Gateway::start();
    let address = gateway.address.to_string();
    let seen: &'static str = address.leak();
    let shop = Server::start(move |request| {
        let own = format!("http://{}", request.headers()["host"].to_str().expect("a host"));
        let answer = crate::doctor::forwarded(seen, &own, request);
        // The same shop with a real payment handler.
        let Answer::Whole(status, fields, body) = answer else { panic!("an answer") };
        let text = String::from_utf8(body).expect("text").replace("\"environment\":\"sandbox\",", "");
        Answer::Whole(status, fields, text.into_bytes())
    });
    let (printed, good) = rehearsed(&[&shop.url(""), "--sessions", "9", "--transport", "rest"]);
    assert!(good && printed.contains("0 ordered, 9 ready to pay"), "{printed}");
    let completed = shop.requests().iter().filter(|request| request.uri().path().ends_with("/complete")).count();
    assert_eq!(completed, 0);
}
