//! The documentation that a gateway serves below `/docs`.

use serde_json::{Value, json};

use crate::harness::{Gateway, PROFILE, REST_HEADERS};

#[test]
fn every_page_is_served_and_leads_to_pages_that_are() {
    let gateway = Gateway::shared();
    let contents = gateway.get("/docs");
    assert_eq!(contents.status, 200);
    let links = |body: &str| -> Vec<String> {
        let links = body.split("href=\"/docs/").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
        let mut links: Vec<_> = links.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        links.sort();
        links.dedup();
        links
    };
    let names = links(&contents.body);
    assert!(names.len() > 15, "{names:?}");
    let mut pictures = 0;
    for name in names {
        let page = gateway.get(&format!("/docs/{name}"));
        assert_eq!(page.status, 200, "{name}");
        assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{name}");
        assert!(page.header("content-security-policy").expect("a policy").contains("default-src 'none'"), "{name}");
        for other in links(&page.body) {
            assert_eq!(gateway.get(&format!("/docs/{other}")).status, 200, "{name} leads to {other}");
        }
        assert!(!page.body.contains("alt=\"\""), "{name}");
        for picture in page.body.split("<img src=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let answer = gateway.get(&format!("/docs/{picture}"));
            assert_eq!(answer.status, 200, "{name} shows {picture}");
            assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("image/")), "{picture}");
            pictures += 1;
        }
    }
    assert!(pictures >= 4, "{pictures}");
    assert_eq!(gateway.get("/docs/pictures/no-such-picture.svg").status, 404);
    assert_eq!(gateway.get("/docs/no-such-page").status, 404);
    assert_eq!(gateway.get("/docs/tour.md").status, 200);
}

#[test]
fn the_documentation_is_searched() {
    let gateway = Gateway::shared();
    let found = gateway.get("/docs/search?q=idempotency_conflict").body;
    assert!(found.contains("href=\"/docs/errors#idempotency_conflict\""), "{found}");
    let hostile = gateway.get("/docs/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").body;
    assert!(!hostile.contains("<script>") && hostile.contains("&lt;script&gt;"), "{hostile}");
    assert_eq!(gateway.get("/docs/search").status, 200);
}

/// Text of an attribute as it was before it was escaped.
fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Operations on the page of the reference: what they are, their releases, and their examples by release.
fn referred(page: &str) -> Vec<(Value, Vec<String>, Value)> {
    let attribute = |section: &str, name: &str| {
        let (_, rest) = section.split_once(&format!(" {name}=\""))?;
        Some(unescaped(rest.split_once('"')?.0))
    };
    let sections = page.split("<section class=\"operation\"").filter(|section| section.contains(" data-operation=\""));
    let read = |section| {
        let json = |name| serde_json::from_str(&attribute(section, name).expect(name)).expect("JSON");
        let releases = attribute(section, "data-releases").expect("releases");
        (json("data-operation"), releases.split(' ').map(str::to_owned).collect(), json("data-examples"))
    };
    sections.map(read).collect()
}

/// A developer tries every example of the reference, in every release, over REST and MCP.
#[test]
fn every_example_of_the_reference_runs() {
    let gateway = Gateway::shared();
    let page = gateway.get("/docs/api");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.header("content-security-policy").is_some_and(|policy| policy.contains("script-src 'self'")));
    assert!(!page.body.contains(" style=\"") && !page.body.contains("<script>"), "nothing that the policy forbids");
    let operations = referred(&page.body);
    let releases: Vec<_> = ucp_core::Release::ALL.iter().map(|release| release.date()).collect();
    assert!(operations.len() >= 12, "{operations:?}");
    let named = |name: &str| operations.iter().find(|(shape, ..)| shape["name"] == name).expect(name);
    assert_eq!(named("create_checkout").1.len(), releases.len());
    assert_eq!(named("search_catalog").1.len(), releases.len() - 2);

    for release in releases {
        let mut orders = String::new();
        for (shape, own, examples) in &operations {
            let text = |member: &str| shape[member].as_str().unwrap_or_default();
            let (name, path) = (text("name"), text("path"));
            if !own.iter().any(|own| own == release) {
                continue;
            }
            // Its resource is created by the example of that operation.
            let kind = path.split('/').nth(1).expect("a segment");
            let maker = match kind {
                "carts" => Some("create_cart"),
                "checkout-sessions" => Some("create_checkout"),
                _ => None,
            };
            let id = match maker {
                Some(maker) if path.contains("{id}") => {
                    let (shape, _, examples) = named(maker);
                    run(&gateway, release, shape, &examples[release], "")["id"].as_str().expect("an id").to_owned()
                }
                _ => orders.clone(),
            };
            let answer = run(&gateway, release, shape, &examples[release], &id);
            assert_eq!(answer["ucp"]["status"].as_str().unwrap_or("success"), "success", "{release} {name}: {answer}");
            if name == "complete_checkout" {
                assert_eq!(answer["status"], "completed", "{release}: {answer}");
                answer["order"]["id"].as_str().expect("an order").clone_into(&mut orders);
            }
        }
    }
}

/// Carries out an example over REST, and again over MCP, which has to answer the same.
fn run(gateway: &Gateway, release: &str, shape: &Value, body: &Value, id: &str) -> Value {
    let text = |member: &str| shape[member].as_str().unwrap_or_default();
    let (name, key) = (text("name"), crate::purchase::shopper::new_key());
    let mut headers = REST_HEADERS.to_vec();
    let mut meta = json!({ "ucp-agent": { "profile": PROFILE } });
    if shape["keyed"] == true {
        headers.push(("Idempotency-Key", &key));
        meta["idempotency-key"] = key.as_str().into();
    }
    let path = format!("/ucp/{release}{}", text("path").replace("{id}", id));
    let sent = if body.is_null() { String::new() } else { body.to_string() };
    let rest = gateway.send(text("method"), &path, &headers, sent.as_bytes());
    assert!(rest.status < 300, "{release} {name}: {}", rest.body);
    let mut arguments = json!({ "meta": meta });
    if text("path").contains("{id}") {
        arguments["id"] = id.into();
    }
    if let (Some(payload), false) = (shape["payload"].as_str(), body.is_null()) {
        arguments[payload] = body.clone();
    }
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments },
    });
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let mcp = gateway.send("POST", &format!("/ucp/{release}/mcp"), &headers, call.to_string().as_bytes()).json();
    assert_eq!(mcp["result"]["structuredContent"], rest.json(), "{release} {name}: {mcp}");
    rest.json()
}
