//! Pages for developers: who sees them, and that everybody else gets what they got.

use std::process::Stdio;

use serde_json::json;
use ucp_testkit::leash::{Leashed, Lines};

use crate::{
    harness::{Ends as _, Gateway, binary, elements, eventually},
    platforms::host::{Host, Page},
    setup::Setup,
    wire::{Connection, request},
};

/// Media types that a browser accepts.
const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

#[test]
fn browsers_see_the_first_page_and_programs_get_what_they_got() {
    let gateway = Gateway::shared();
    let page = gateway.send("GET", "/", &[BROWSER], b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let text = &page.body;
    let base = format!("http://{}", gateway.address);
    for expected in ["Example Outfitters", "href=\"playground\"", "tools/call", &base, &format!("{base}/mcp")] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("<script>") && !text.contains("style=\""), "nothing that the policy forbids: {text}");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    for accept in ["application/json", "*/*"] {
        let refused = gateway.send("GET", "/", &[("Accept", accept)], b"");
        assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("unknown_path")), "{accept}");
    }
    let posted = gateway.send("POST", "/", &[BROWSER], b"");
    assert_eq!((posted.status, &posted.json()["code"]), (404, &json!("unknown_path")));
}

#[test]
fn whatever_a_page_needs_is_served() {
    let gateway = Gateway::shared();
    for (path, kind, part) in [
        ("/favicon.svg", "image/svg+xml", "<svg"),
        ("/favicon.ico", "image/svg+xml", "<svg"),
        ("/robots.txt", "text/plain; charset=utf-8", "Disallow: /continue/"),
        ("/llms.txt", "text/plain; charset=utf-8", "`get_product` (`POST /catalog/product`)"),
        ("/workbench/style.css", "text/css; charset=utf-8", "--accent"),
        ("/workbench/shop.js", "text/javascript; charset=utf-8", "import"),
    ] {
        let file = gateway.get(path);
        assert_eq!((file.status, file.header("content-type")), (200, Some(kind)), "{path}");
        assert!(file.body.contains(part), "{path}");
    }
}

#[test]
fn goods_of_the_sample_have_pictures_at_the_gateway() {
    let own = Gateway::shared();
    let base = format!("http://{}/pictures/", own.address);
    let answer = own.search(&json!({ "query": "runner pro" }));
    assert_eq!(answer["products"][0]["media"][0]["url"], format!("{base}runner-pro.svg"));
    let product = own.product(&json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Red" }] }));
    let variant = &elements(&product["product"]["variants"])[0];
    assert_eq!(variant["media"][0]["url"], format!("{base}runner-pro-red.svg"));

    let picture = own.get("/pictures/runner-pro-red.svg");
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/svg+xml")));
    assert_eq!(picture.header("content-security-policy"), Some("default-src 'none'"));
    assert!(picture.body.starts_with("<svg"));
    for path in ["/pictures/no-such-thing.svg", "/pictures/..%2frunner-pro.svg", "/pictures/%ff.svg"] {
        assert_eq!(own.get(path).status, 404, "{path}");
    }
}

/// The inspector's answers are hostile.
#[test]
fn what_an_inspector_answers_is_bounded_and_steers_no_terminal() {
    const HIDDEN: [char; 6] = ['\u{9b}', '\u{85}', '\u{202e}', '\u{2066}', '\u{7f}', '\u{feff}'];
    let evil: String = HIDDEN.iter().collect::<String>() + "[2J";
    let call = json!({
        "id": evil, "at": "2026-11-25T17:00:01.234567Z", "transport": evil, "operation": evil, "outcome": evil, "profile": evil,
        "way": [{ "kind": evil, "detail": evil, "after": 1.0 }], "request": { &evil: evil }, "answer": [evil],
    });
    let host = Host::start();
    let answer = |text: String| Page::Answer(200, vec!["Content-Type: application/json".to_owned()], text.into());
    host.put("/inspector/calls/evil", answer(call.to_string()));
    host.put("/inspector/calls", answer(json!([call]).to_string()));
    host.put("/inspector/live", answer(format!("data: {call}\n\n")));
    host.put("/inspector/calls/evil/webhooks", answer(json!([{ "id": evil, "state": evil }]).to_string()));
    host.put("/inspector/calls/endless", answer(format!("\"{}\"", "a".repeat(17 << 20))));
    host.put("/inspector/calls/lines", answer(json!({ "request": vec![1; 20_000] }).to_string()));
    let url = host.url("");
    let run = |arguments: &[&str]| {
        let output = binary().args(arguments).args(["--url", &url]).ends();
        (String::from_utf8(output.stdout).expect("UTF-8"), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    for arguments in [
        &["explain", "call", "evil"][..],
        &["explain", "call", "evil", "--json"],
        &["tail", "--last", "9"],
        &["tail", "--last", "9", "--json"],
        &["explain", "call", "\u{9b}\u{202e}"],
    ] {
        let (said, complaint) = run(arguments);
        for text in [&said, &complaint] {
            assert!(!text.contains(HIDDEN), "{arguments:?}: {text:?}");
        }
        if arguments.contains(&"explain") && arguments.contains(&"--json") {
            assert_eq!(serde_json::from_str::<serde_json::Value>(&said).expect("JSON"), call, "{said}");
        }
        assert!(said.contains("\\u009b") || complaint.contains("\\u009b"), "{arguments:?}: {said} {complaint}");
    }
    let (said, complaint) = run(&["explain", "call", "endless"]);
    assert!(said.is_empty() && complaint.contains("longer than 16 MiB"), "{said} {complaint}");
    let (said, _) = run(&["explain", "call", "lines"]);
    assert!(said.lines().count() < 6_000 && said.contains("lines more"), "{}", said.lines().count());
}

#[test]
fn the_inspector_tells_what_happened_on_the_way_of_a_call_and_nothing_about_its_buyer() {
    const BUYER: &str = "bea.of.the.inspector@example.com";
    let gateway = Setup::new("[server]\ninspected_per_second = 5\n").start();
    let who = ("UCP-Agent", "profile=\"https://inspected.example/profile.json\"");
    let body = json!({ "line_items": [{ "item": { "id": "var_abc123_blue_8" }, "quantity": 1 }], "buyer": { "email": BUYER } });
    let headers = [who, ("Content-Type", "application/json"), ("Request-Id", "inspected-1")];
    let made = gateway.send("POST", "/checkout-sessions", &headers, body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{}", made.body);
    let headers = [who, ("Content-Type", "application/json")];
    assert_eq!(gateway.send("POST", "/catalog/search", &headers, br#"{"query":7}"#).status, 400);

    // It is kept by a thread of its own.
    let listed = |query: &str| gateway.get(&format!("/inspector/calls?platform=inspected.example{query}")).json();
    let waited = std::time::Instant::now();
    while elements(&listed("")).len() < 2 {
        assert!(waited.elapsed() < crate::wire::PATIENCE, "{}", listed(""));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let failed = listed("&outcome=failed");
    assert_eq!((elements(&failed).len(), &failed[0]["outcome"]), (1, &json!("invalid_request")));
    let created = listed("&operation=create_checkout");
    assert_eq!((elements(&created).len(), &created[0]["status"]), (1, &json!(201)));
    let id = created[0]["id"].as_str().expect("an identifier");

    let whole = gateway.get(&format!("/inspector/calls/{id}"));
    assert!(!whole.body.contains(BUYER), "{}", whole.body);
    let call = whole.json();
    assert_eq!(call["request"]["line_items"][0]["item"]["id"], "var_abc123_blue_8");
    let kinds: Vec<_> = elements(&call["way"]).iter().map(|happened| &happened["kind"]).collect();
    for kind in ["stage", "negotiated", "validated", "committed"] {
        assert!(kinds.iter().any(|other| *other == kind), "{kind} in {kinds:?}");
    }
    // The same on a terminal.
    let url = format!("http://{}", gateway.address);
    let explained = |arguments: &[&str]| {
        let output = binary().args(["explain", "call"]).args(arguments).args(["--url", &url]).ends();
        String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
    };
    let (said, json) = (explained(&[id]), explained(&[id, "--json"]));
    assert!(
        said.contains("create_checkout") && said.contains("committed") && said.contains("var_abc123_blue_8"),
        "{said}"
    );
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).expect("JSON"), call);
    assert!(explained(&["unknown"]).contains("has kept no call with the request id unknown"));
    let page = gateway.send("GET", "/inspector", &[BROWSER], b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(gateway.get("/inspector/calls/unknown").status, 404);
    assert_eq!(gateway.get("/inspector/calls?other=1").status, 400);

    // On a terminal they are seen as they come, until the gateway ends.
    let mut tail = binary();
    tail.args(["tail", "--url", &url, "--outcome", "failed"]);
    let mut tail = Leashed::start(&tail, Stdio::piped(), Stdio::null());
    let lines = Lines::of(tail.stdout());

    // Of more calls than are kept each second, the number is told.
    eventually("calls that are not kept are counted", crate::wire::PATIENCE, || {
        for _ in 0..10 {
            assert_eq!(gateway.send("POST", "/catalog/search", &headers, br#"{"query":7}"#).status, 400);
        }
        elements(&listed("")).iter().any(|call| call["skipped"].as_u64() > Some(0)).then_some(())
    });
    // It may have begun to look only after all of them.
    let line = eventually("a call is seen on a terminal", crate::wire::PATIENCE, || {
        gateway.send("POST", "/catalog/search", &headers, br#"{"query":7}"#);
        lines.come()
    });
    assert!(line.contains("400 invalid_request") && line.contains("search_catalog"), "{line}");
    drop(gateway);
    let ended = tail.wait();
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_call_that_was_recorded_whole_is_sent_again_and_compared() {
    let gateway = Setup::new("[server]\nrecord_unmasked = true\n").start();
    let other = Setup::new("").start();
    let agent = ("UCP-Agent", "profile=\"https://replayed.example/profile.json\"");
    let ids = [
        ("read-1", "/catalog/search", json!({ "query": "runner" })),
        ("made-1", "/carts", { json!({ "line_items": [{ "item": { "id": "var_abc123_blue_8" }, "quantity": 1 }] }) }),
    ];
    for (id, path, body) in &ids {
        let headers = [agent, ("Content-Type", "application/json"), ("Request-Id", *id)];
        let said = gateway.send("POST", path, &headers, body.to_string().as_bytes());
        assert!(said.status < 300, "{}", said.body);
        eventually("it is recorded", crate::wire::PATIENCE, || {
            (gateway.get(&format!("/inspector/calls/{id}/whole")).status == 200).then_some(())
        });
    }
    let [url, against] = [&gateway, &other].map(|gateway| format!("http://{}", gateway.address));
    let replay = |arguments: &[&str]| {
        let output = binary().arg("replay").args(arguments).args(["--url", &url]).ends();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
        (output.status.code(), said)
    };
    let (code, said) = replay(&["read-1"]);
    assert!(code == Some(0) && said.contains("no difference but in identifiers and times"), "{said}");
    let (code, said) = replay(&["made-1"]);
    assert!(code == Some(1) && said.contains("create_cart changes something"), "{said}");
    let (code, said) = replay(&["made-1", "--allow-writes"]);
    assert!(code == Some(0) && said.contains("(201)"), "another cart of the same contents: {said}");
    let (code, said) = replay(&["made-1", "--allow-writes", "--against", &against]);
    assert_eq!(code, Some(0), "both sell the same: {said}");

    // In a file, and with another answer.
    let folder = crate::harness::folder();
    let file = folder.path().join("call.json");
    let file = file.to_str().expect("UTF-8");
    assert_eq!(replay(&["read-1", "--save", file]).0, Some(0));
    let saved = std::fs::read_to_string(file).expect("a file").replace("Runner Pro", "Walker Pro");
    std::fs::write(file, saved).expect("a file");
    let (code, said) = replay(&[file]);
    assert!(code == Some(1) && said.contains("Walker Pro") && said.contains("$.products[0].title"), "{said}");
    let (code, said) = replay(&["unknown"]);
    assert!(code == Some(1) && said.contains("server.record_unmasked"), "{said}");

    // Nothing is kept whole without being asked for.
    let headers = [agent, ("Content-Type", "application/json"), ("Request-Id", "read-2")];
    assert_eq!(other.send("POST", "/catalog/search", &headers, br#"{"query":"runner"}"#).status, 200);
    eventually("it is recorded", crate::wire::PATIENCE, || {
        (other.get("/inspector/calls/read-2").status == 200).then_some(())
    });
    assert_eq!(other.get("/inspector/calls/read-2/whole").status, 404);
}

#[test]
fn pages_for_developers_answer_only_this_machine_and_only_in_development() {
    let gateway = Gateway::shared();
    assert_eq!(gateway.get("/inspector/calls").status, 200);
    for path in ["/inspector", "/inspector/calls", "/inspector/live"] {
        assert_eq!(gateway.send("GET", path, &[("X-Forwarded-For", "127.0.0.1")], b"").status, 404, "{path}");
    }
    let local = gateway.send("GET", "/playground", &[BROWSER], b"");
    assert_eq!((local.status, local.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for (name, value) in [
        ("Forwarded", "for=127.0.0.1"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Real-IP", "127.0.0.1"),
        ("Via", "1.1 proxy"),
        ("Origin", "https://evil.example"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        assert_eq!(gateway.send("GET", "/playground", &[(name, value)], b"").status, 404, "{name}");
    }
    let mut connection = Connection::open(gateway.address);
    assert!(connection.write(b"GET /playground HTTP/1.1\r\nHost: shop.evil.example\r\n\r\n"));
    assert_eq!(connection.read().expect("an answer").status, 404, "rebound by a name server");

    let strict = Setup::new("[callers]\npolicy = \"lenient\"\n").start();
    let mut connection = Connection::open(strict.address);
    assert!(connection.write(&request("GET", "/playground", &[BROWSER], b"")));
    assert_eq!(connection.read().expect("an answer").status, 404);
    assert_eq!(strict.get("/inspector/calls").status, 404);
    let page = strict.send("GET", "/", &[BROWSER], b"");
    let text = &page.body;
    assert!(page.status == 200 && !text.contains("playground") && !text.contains("inspector"), "{text}");
}
