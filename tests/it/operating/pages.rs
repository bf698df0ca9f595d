//! View and actions of an operator in a browser.

use std::{fs, net::SocketAddr, path::Path};

use serde_json::{Value, json};

use super::{ADMIN, admin, ask, configured, search};
use crate::{
    harness::{Ends as _, PROFILE, binary, flower_shop},
    purchase::shopper::{Shopper, ready},
    setup::Setup,
    wire::{Connection, Response, request},
};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut connection = Connection::open(address);
    assert!(connection.write(&request(method, path, headers, body.as_bytes())));
    connection.read().expect("an answer")
}

/// The text that forms on a page have to repeat.
fn key(page: &Response) -> String {
    assert_eq!(page.status, 200, "{}", page.body);
    let (_, rest) = page.body.split_once("name=\"key\" value=\"").expect("a form");
    rest.split_once('"').expect("its key").0.to_owned()
}

fn audited(data: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(data.join("audit.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    lines.map(|line| (text(&line["action"]), text(&line["subject"]))).collect()
}

fn pair(action: &str, subject: &str) -> (String, String) {
    (action.to_owned(), subject.to_owned())
}

#[test]
fn a_browser_on_this_machine_sees_the_shop_and_pauses_it() {
    let (setup, data) = configured("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let page = send(address, "GET", "/operator", &[], "");
    assert!(page.body.contains("Example Outfitters"), "{}", page.body);
    assert!(page.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'")));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    for file in ["/workbench/style.css", "/favicon.svg"] {
        assert_eq!(send(address, "GET", file, &[], "").status, 200, "{file}");
    }
    let key = key(&page);
    let own = ("Origin", "http://localhost");
    let act = |headers: &[(&str, &str)], body: &str| send(address, "POST", "/operator/do", headers, body);

    // Only a form of such a page does anything.
    for (headers, body) in [
        (vec![FORM, own], "action=pause&shop=default".to_owned()),
        (vec![FORM, own], "action=pause&shop=default&key=guessed".to_owned()),
        (vec![FORM, ("Origin", "https://evil.example")], format!("action=pause&shop=default&key={key}")),
        (vec![FORM, ("Sec-Fetch-Site", "cross-site")], format!("action=pause&shop=default&key={key}")),
        (vec![FORM, ("X-Forwarded-For", "192.0.2.1")], format!("action=pause&shop=default&key={key}")),
    ] {
        assert_eq!(act(&headers, &body).status, 403, "{headers:?} {body}");
    }
    assert_eq!(search(&gateway).status, 200);
    assert_eq!(audited(data.path()), []);
    assert_eq!(act(&[FORM, own], &format!("action=pause&shop=other&key={key}")).status, 404);
    assert_eq!(act(&[FORM, own], &format!("action=sell&shop=default&key={key}")).status, 400);
    let paused = act(&[FORM, own], &format!("action=pause&shop=default&key={key}"));
    assert_eq!((paused.status, paused.header("location")), (303, Some("/operator/shops/default?done=pause")));
    assert_eq!(search(&gateway).status, 503);
    let shown = send(address, "GET", "/operator/shops/default?done=pause", &[], "");
    assert!(shown.body.contains(">paused<") && shown.body.contains("Resume"), "{}", shown.body);
    assert_eq!(act(&[FORM, own], &format!("action=resume&shop=default&key={key}")).status, 303);
    assert_eq!(search(&gateway).status, 200);

    // A platform, and what is no address of one.
    let wrong = act(&[FORM, own], &format!("action=block&shop=default&profile=nobody&key={key}"));
    assert!(wrong.status == 400 && wrong.body.contains("Action failed"), "{}", wrong.body);
    let profile = url::form_urlencoded::byte_serialize(PROFILE.as_bytes()).collect::<String>();
    assert_eq!(act(&[FORM, own], &format!("action=block&shop=default&profile={profile}&key={key}")).status, 303);
    assert_eq!(search(&gateway).status, 403);
    let shown = send(address, "GET", "/operator/shops/default", &[], "");
    assert!(shown.body.contains(PROFILE) && shown.body.contains(">blocked<"), "{}", shown.body);
    assert_eq!(act(&[FORM, own], &format!("action=reload&back=all&key={key}")).status, 303);
    let done = [("pause", "default"), ("resume", "default"), ("block", PROFILE), ("reload", "")];
    assert_eq!(audited(data.path()), done.map(|(action, subject)| pair(action, subject)));
    // Endpoints for programs stay the same.
    assert_eq!(send(address, "POST", "/shops/default/pause", &[own], "").status, 403);
    assert_eq!(ask(address, "GET", "/operator/shops/other", b"").status, 404);
    assert_eq!(ask(address, "GET", "/operator/shops/default/orders/none", b"").status, 404);
}

#[test]
fn the_token_is_entered_once_and_opens_the_pages_alone() {
    const TOKEN: &str = "operator-8a1f03bd52c94e76";
    let setup = Setup::new("[server]\nadmin_token_file = \"token\"\n").file("token", TOKEN).arguments(&ADMIN);
    let data = crate::harness::sample_shop();
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let lost = send(address, "GET", "/operator/shops/default", &[], "");
    assert_eq!((lost.status, lost.header("location")), (303, Some("/operator/login")));
    let asked = send(address, "GET", "/operator/login", &[], "");
    assert!(asked.status == 200 && asked.body.contains("Admin token"), "{}", asked.body);
    let login = |headers: &[(&str, &str)], token: &str| {
        send(address, "POST", "/operator/login", headers, &format!("token={token}"))
    };
    assert_eq!(login(&[FORM], "guessed").status, 401);
    assert_eq!(login(&[FORM, ("Origin", "https://evil.example")], TOKEN).status, 401);
    let opened = login(&[FORM], TOKEN);
    assert_eq!((opened.status, opened.header("location")), (303, Some("/operator")));
    let cookie = opened.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN), "{cookie}");
    let cookie = ("Cookie", cookie.split(';').next().expect("a pair"));
    let page = send(address, "GET", "/operator", &[cookie], "");
    let key = key(&page);
    assert!(!page.body.contains(TOKEN));
    assert_eq!(send(address, "GET", "/orders", &[cookie], "").status, 401, "programs show the token");
    let cross = [FORM, cookie, ("Sec-Fetch-Site", "cross-site")];
    let pause = format!("action=pause&shop=default&key={key}");
    assert_eq!(send(address, "POST", "/operator/do", &cross, &pause).status, 401);
    assert_eq!(send(address, "POST", "/operator/do", &[FORM, cookie], "action=pause&shop=default").status, 403);
    assert_eq!(send(address, "POST", "/operator/do", &[FORM, cookie], &pause).status, 303);
    assert_eq!(audited(data.path()), [pair("pause", "default")]);
    assert_eq!(send(address, "POST", "/operator/logout", &[FORM, cookie], "").status, 403);
    assert_eq!(send(address, "POST", "/operator/logout", &[FORM, cookie], &format!("key={key}")).status, 303);
    assert_eq!(send(address, "GET", "/operator", &[cookie], "").header("location"), Some("/operator/login"));
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(send(address, "GET", "/operator", &[("Authorization", &bearer)], "").status, 200);
}

#[test]
fn an_order_takes_its_steps_on_its_page() {
    let data = flower_shop();
    let setup = Setup::new("").arguments(&["--sample", "flower-shop"]).arguments(&ADMIN);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let shopper = Shopper::rest(&gateway);
    let completed = shopper.complete(&shopper.create(&ready(&[("bouquet_roses", 2)])), "success_token");
    let order = completed["order"]["id"].as_str().expect("an order");
    let shop = send(address, "GET", "/operator/shops/default", &[], "");
    assert!(shop.body.contains(&format!("default/orders/{order}")), "{}", shop.body);
    for part in ["Webhooks", "Tasks", "Keys", "Funnel", "mock_payment_handler"] {
        assert!(shop.body.contains(part), "{part} in {}", shop.body);
    }
    let path = format!("/operator/shops/default/orders/{order}");
    let page = send(address, "GET", &path, &[], "");
    let key = key(&page);
    let line = ask(address, "GET", &format!("/orders/{order}"), b"").json()["line_items"][0]["id"].clone();
    let line = line.as_str().expect("a line");
    let step = |fields: &str| {
        let body = format!("action=step&shop=default&id={order}&key={key}&{fields}");
        send(address, "POST", "/operator/do", &[FORM], &body)
    };
    let shipped = step(&format!("step=ship&carrier=%3Cb%3EPost&line%3A{line}=1"));
    assert_eq!((shipped.status, shipped.header("location")), (303, Some(format!("{path}?done=step").as_str())));
    let page = send(address, "GET", &path, &[], "");
    assert!(page.body.contains("shipped") && page.body.contains("&lt;b&gt;Post"), "{}", page.body);
    let refused = step("step=refund&amount=99999999");
    assert!(refused.status == 422 && refused.body.contains("Action failed"), "{}", refused.body);
    let refunded = step("step=refund&amount=100&reason=late");
    assert_eq!(refunded.status, 303, "{}", refunded.body);
    let stored = ask(address, "GET", &format!("/orders/{order}"), b"").json();
    assert_eq!(stored["line_items"][0]["quantity"], json!({ "original": 2, "total": 2, "fulfilled": 1 }));
    assert_eq!(stored["adjustments"][0]["type"].as_str().or(stored["adjustments"][0]["kind"].as_str()), Some("refund"));
    // The handler leaves refunds to the operator, who confirms them.
    let by_hand = &stored["adjustments"][0];
    assert_eq!((&by_hand["status"], &by_hand["by_hand"]), (&json!("pending"), &json!(true)), "{stored}");
    let page = send(address, "GET", &path, &[], "");
    assert!(page.body.contains("then confirm it here"), "{}", page.body);
    let version = page.body.split("name=\"version\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let version = version.expect("a version");
    let confirm = format!("step=confirm&refund={}&version={version}", by_hand["id"].as_str().expect("an id"));
    assert_eq!(step(&confirm).status, 303);
    let twice = step(&confirm);
    assert!(twice.status == 409 && twice.body.contains("look at it again"), "{}", twice.body);
    let stored = ask(address, "GET", &format!("/orders/{order}"), b"").json();
    assert_eq!(stored["adjustments"][0]["status"], "completed", "{stored}");
    let events = ask(address, "GET", "/webhooks", b"").json();
    let event = events[0]["id"].as_str().expect("a webhook");
    let again = format!("action=resend&shop=default&id={event}&key={key}");
    assert_eq!(send(address, "POST", "/operator/do", &[FORM], &again).status, 303);
    let done = [
        ("order ship", order),
        ("order refund", order),
        ("order refund", order),
        ("order confirm", order),
        ("order confirm", order),
        ("webhook resend", event),
    ];
    assert_eq!(audited(data.path()), done.map(|(action, subject)| pair(action, subject)));
}

#[test]
fn an_operator_inspects_calls_where_nobody_else_does() {
    const TOKEN: &str = "operator-8a1f03bd52c94e76";
    let bearer = format!("Bearer {TOKEN}");
    let bearer = [("Authorization", bearer.as_str())];
    let start = |inspect: bool| {
        let toml =
            format!("[server]\nadmin_token_file = \"token\"\ninspect = {inspect}\n[callers]\npolicy = \"require\"\n");
        Setup::new(&toml).file("token", TOKEN).arguments(&ADMIN).start()
    };
    let gateway = start(false);
    assert!(search(&gateway).status >= 400, "callers have to be known");
    assert_eq!(send(admin(&gateway), "GET", "/inspector/calls", &bearer, "").status, 404);
    drop(gateway);

    let gateway = start(true);
    let address = admin(&gateway);
    assert!(search(&gateway).status >= 400, "callers have to be known");
    assert_eq!(gateway.get("/inspector/calls").status, 404, "it is not where clients call");
    assert_eq!(send(address, "GET", "/inspector/calls", &[], "").header("location"), Some("/operator/login"));
    let call = crate::harness::eventually("the call is kept", crate::wire::PATIENCE, || {
        send(address, "GET", "/inspector/calls", &bearer, "").json().get(0).cloned()
    });
    assert_eq!((&call["path"], call["outcome"] == "ok"), (&json!("/catalog/search"), false));
    let page = send(address, "GET", "/inspector", &bearer, "");
    assert!(page.status == 200 && page.body.contains("href=\"./operator\"") && !page.body.contains("playground"));
    let id = call["id"].as_str().expect("an identifier");
    let report = send(address, "GET", &format!("/inspector/calls/{id}/report"), &bearer, "");
    assert_eq!(report.header("content-disposition"), Some("attachment; filename=\"ucp-call.json\""));
    assert_eq!(report.json()["ucp_gateway"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report.json()["call"]["outcome"], call["outcome"]);
    assert!(!report.body.contains("runner"), "the words of a search are masked");
    assert_eq!(send(address, "GET", "/inspector/calls/unknown/report", &bearer, "").status, 404);

    // On a terminal the token opens it, too, and goes nowhere in the clear.
    let folder = crate::harness::folder();
    let file = folder.path().join("token");
    fs::write(&file, format!("{TOKEN}\n")).expect("a file");
    let explained = |url: &str| {
        let output = binary().args(["explain", "call", id, "--url", url, "--token-file"]).arg(&file).ends();
        String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
    };
    assert!(explained(&format!("http://{address}")).contains("search_catalog"));
    assert!(explained("http://shop.example:8081").contains("must be an https address"));
}

#[test]
fn an_operator_reads_figures_and_what_was_done() {
    const TOKEN: &str = "operator-8a1f03bd52c94e76";
    let setup = Setup::new("[server]\nadmin_token_file = \"token\"\n").file("token", TOKEN).arguments(&ADMIN);
    let data = crate::harness::sample_shop();
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let bearer = format!("Bearer {TOKEN}");
    let bearer = ("Authorization", bearer.as_str());
    let page = |path: &str| {
        let page = send(address, "GET", path, &[bearer], "");
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        page.body
    };
    let empty = page("/operator/audit");
    assert!(empty.contains("No entries yet."), "{empty}");
    assert!(page("/operator/metrics").contains("No requests yet."));
    for path in ["/operator/audit", "/operator/metrics"] {
        assert_eq!(send(address, "GET", path, &[], "").header("location"), Some("/operator/login"), "{path}");
    }

    assert_eq!(search(&gateway).status, 200);
    let figures = crate::harness::eventually("the call is counted", crate::wire::PATIENCE, || {
        Some(page("/operator/metrics")).filter(|page| page.contains("<code>search_catalog</code>"))
    });
    assert!(figures.contains("<span class=\"value-of\">1</span>") && !figures.contains("style=\""), "{figures}");
    assert_eq!(send(address, "GET", "/operator/metrics?shop=other", &[bearer], "").status, 404);

    // A program, and a browser that has logged in.
    for _ in 0..30 {
        assert_eq!(send(address, "POST", "/shops/default/pause", &[bearer], "").status, 200);
        assert_eq!(send(address, "POST", "/shops/default/resume", &[bearer], "").status, 200);
    }
    let opened = send(address, "POST", "/operator/login", &[FORM], &format!("token={TOKEN}"));
    let cookie = opened.header("set-cookie").expect("a cookie").to_owned();
    let cookie = ("Cookie", cookie.split(';').next().expect("a pair"));
    let key = key(&send(address, "GET", "/operator", &[cookie], ""));
    let block = format!("action=block&shop=default&profile=https%3A%2F%2Fa.example%2F%3Cb%3E&key={key}");
    assert_eq!(send(address, "POST", "/operator/do", &[FORM, cookie], &block).status, 303);

    let rows = |page: &str| page.matches("<tr>").count() - 1;
    let newest = page("/operator/audit");
    assert_eq!(rows(&newest), 50);
    assert!(newest.contains("https://a.example/%3Cb%3E") && newest.contains(">browser<"), "{newest}");
    let (_, older) = newest.split_once("href=\"audit?before=").expect("older lines");
    let older = older.split_once('"').expect("an offset").0;
    assert_eq!(rows(&page(&format!("/operator/audit?before={older}"))), 11);
    assert_eq!(rows(&page("/operator/audit?actor=browser")), 1);
    assert_eq!(rows(&page("/operator/audit?actor=token&action=pause")), 30);
    let none = page("/operator/audit?subject=%3Cscript%3E");
    assert!(none.contains("No matching entries.") && !none.contains("<script>"), "{none}");
    assert_eq!(send(address, "GET", "/operator/audit?shop=other", &[bearer], "").status, 404);
    assert_eq!(page("/operator/audit?before=all").matches("<tr>").count(), 51);
}
