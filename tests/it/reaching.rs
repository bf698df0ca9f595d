//! Ways to the gateway: paths with a slash at their end, names behind proxies, and pages of other sites.

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_wire::documents::release_path;

use crate::{
    harness::{Gateway, REST_HEADERS, rpc},
    setup::{Configured, Setup},
    shops::{THREE, several},
    wire::Response,
};

const PRODUCT: &[u8] = b"{\"id\":\"prod_abc123\"}";

/// Every path under which there is something, with a call that is answered with 200.
fn calls(prefix: &str) -> Vec<(&'static str, String, Vec<u8>)> {
    let tools = rpc("tools/list", &json!({})).to_string().into_bytes();
    vec![
        ("POST", format!("{prefix}/mcp"), tools),
        ("POST", format!("{prefix}/catalog/product"), PRODUCT.to_vec()),
        ("POST", format!("{prefix}/catalog/search"), b"{\"query\":\"runner\"}".to_vec()),
        ("GET", format!("{prefix}/.well-known/ucp"), Vec::new()),
        ("GET", format!("{prefix}/openapi.json"), Vec::new()),
        ("GET", format!("{prefix}/openrpc.json"), Vec::new()),
    ]
}

fn send(gateway: &Gateway, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Response {
    gateway.send(method, path, &[REST_HEADERS, more].concat(), body)
}

mod slashes {
    use super::*;
    use crate::{
        platforms::host::Host,
        setup::{Transport, requiring},
        signatures::{Draft, key, profile},
    };

    #[test]
    fn every_path_answers_as_without_the_slash() {
        let gateway = Gateway::shared();
        for release in std::iter::once(None).chain(Release::ALL.iter().copied().map(Some)) {
            let prefix = release.map(release_path).unwrap_or_default();
            for (method, path, body) in calls(&prefix) {
                let plain = send(&gateway, method, &path, &[], &body);
                let slashed = send(&gateway, method, &format!("{path}/"), &[], &body);
                assert_eq!(slashed.status, plain.status, "{path}/: {slashed:?}");
                assert_eq!(slashed.json(), plain.json(), "{path}/");
            }
        }
        let made = send(&gateway, "POST", "/carts/", &[], &json!({ "line_items": [] }).to_string().into_bytes());
        let other = send(&gateway, "POST", "/carts", &[], &json!({ "line_items": [] }).to_string().into_bytes());
        assert_eq!(made.status, other.status, "{made:?}");
        let unknown = send(&gateway, "GET", "/nowhere/", &[], b"");
        assert_eq!((unknown.status, &unknown.json()["code"]), (404, &json!("unknown_path")));
        let listing = send(&gateway, "POST", "/mcp/?tools=catalog", &[], &calls("")[0].2);
        let names = listing.json()["result"]["tools"].as_array().map(Vec::len);
        assert_eq!(names, Some(3), "the query counts: {listing:?}");
    }

    #[test]
    fn every_shop_of_several_does() {
        let (_setup, _data, gateway) = several(THREE);
        for (host, path) in [("one.localhost", ""), ("localhost", "/shops/three")] {
            for (method, path, body) in calls(path).into_iter().filter(|(_, path, _)| !path.contains("catalog")) {
                let [plain, slashed] = [path.clone(), format!("{path}/")]
                    .map(|path| send(&gateway, method, &path, &[("Host", host)], &body));
                assert_eq!((plain.status, slashed.status), (200, 200), "{path}: {slashed:?}");
                assert_eq!(slashed.json(), plain.json(), "{path}");
            }
        }
    }

    /// A signature covers the target as it was written.
    #[test]
    fn a_signature_covers_the_slash() {
        let (gateway, host, key) = (requiring(), Host::start(), key(ucp_trust::jwk::Algorithm::Es256));
        let platform = host.profile("/agent", &profile(&[&key]));
        for transport in [Transport::Rest, Transport::Tool] {
            let mut draft = Draft::new(&gateway, transport, &platform);
            draft.path.push('/');
            let mut signed = draft.signed(&key);
            assert_eq!(signed.send(&gateway).status, 200, "{:?}", signed.send(&gateway));
            signed.path.pop();
            let refused = signed.send(&gateway);
            assert_eq!(refused.status, 401, "{refused:?}");
        }
    }
}

mod hosts {
    use super::*;
    use crate::{
        platforms::host::Host,
        setup::{REQUIRE, Transport},
        signatures::{Draft, key, profile},
    };

    const BEHIND: &str = "
        [server]
        public_url = \"https://shop.example.com\"
        hosts = [\"ucp-gateway\", \"Second.example.com.\", \"10.1.2.3\"]
        trusted_proxies = [\"127.0.0.1\"]
        [callers]
        policy = \"lenient\"
    ";

    /// Starts a gateway whose address is not the one that it prints.
    fn start(configuration: &str) -> (Setup, tempfile::TempDir, Gateway) {
        let (setup, data) = (Setup::new(configuration), crate::harness::sample_shop());
        let free = ucp_testkit::leash::free_address();
        let mut command = setup.command("serve");
        command.args(["--listen", &free.to_string(), "--data-dir"]).arg(data.path());
        let gateway = Gateway::spawn(&command, Some(free));
        (setup, data, gateway)
    }

    fn status(gateway: &Gateway, headers: &[(&str, &str)]) -> u16 {
        let rest = gateway.send("POST", "/catalog/search", &[&REST_HEADERS[..1], headers].concat(), b"{}");
        let ping = rpc("ping", &json!({})).to_string();
        let mcp = gateway.send("POST", "/mcp", &[&REST_HEADERS[..1], headers].concat(), ping.as_bytes());
        assert_eq!(rest.status == 403, mcp.status == 403, "{rest:?} {mcp:?}");
        if rest.status == 403 {
            assert_eq!(rest.json()["code"], "origin_forbidden");
            assert!(rest.body.contains("server.hosts") && rest.body.contains("server.trusted_proxies"), "{rest:?}");
        } else {
            assert_eq!(mcp.status, 200, "{mcp:?}");
        }
        mcp.status
    }

    #[test]
    fn stated_and_believed_names_are_served_and_others_refused() {
        let (_setup, _data, gateway) = start(BEHIND);
        for host in [
            "shop.example.com",
            "SHOP.example.com.",
            "shop.example.com:443",
            "ucp-gateway:8080",
            "UCP-Gateway",
            "second.example.com",
            "second.example.com.:80",
            "10.1.2.3:8080",
            "localhost",
        ] {
            assert_eq!(status(&gateway, &[("Host", host)]), 200, "{host}");
        }
        for host in ["ucp_upstream", "evil.example", "ucp-gateway.evil.example", "10.1.2.4"] {
            assert_eq!(status(&gateway, &[("Host", host)]), 403, "{host}");
        }
        let upstream = ("Host", "ucp_upstream");
        for believed in [
            ("X-Forwarded-Host", "shop.example.com"),
            ("X-Forwarded-Host", "Shop.example.com.:443"),
            ("X-Forwarded-Host", "evil.example, second.example.com"),
            ("Forwarded", "for=203.0.113.9;host=shop.example.com;proto=https"),
            ("Forwarded", "for=203.0.113.9;host=\"shop.example.com:443\""),
        ] {
            assert_eq!(status(&gateway, &[upstream, believed]), 200, "{believed:?}");
        }
        for foreign in [
            ("X-Forwarded-Host", "evil.example"),
            ("X-Forwarded-Host", "shop.example.com, evil.example"),
            ("Forwarded", "for=203.0.113.9;host=evil.example"),
        ] {
            assert_eq!(status(&gateway, &[("Host", "shop.example.com"), foreign]), 403, "{foreign:?}");
        }
        let differ = [upstream, ("X-Forwarded-Host", "shop.example.com"), ("Forwarded", "host=second.example.com")];
        assert_eq!(status(&gateway, &differ), 403, "neither is believed");
    }

    #[test]
    fn nobody_else_is_believed() {
        let (_setup, _data, gateway) = start(&BEHIND.replace("127.0.0.1", "192.0.2.1"));
        for header in [("X-Forwarded-Host", "shop.example.com"), ("Forwarded", "host=shop.example.com")] {
            assert_eq!(status(&gateway, &[("Host", "ucp_upstream"), header]), 403, "{header:?}");
            let forged = (header.0, header.1.replace("shop.example.com", "evil.example"));
            assert_eq!(status(&gateway, &[("Host", "shop.example.com"), (forged.0, &forged.1)]), 200, "{header:?}");
        }
    }

    /// The client signs the host that it called, not the proxy's.
    #[test]
    fn signatures_are_verified_over_the_believed_host() {
        let named = "[server]\npublic_url = \"http://shop.localhost\"\nhosts = [\"second.localhost\"]\n\
            trusted_proxies = [\"127.0.0.1\"]\n";
        let (_setup, _data, gateway) = start(&[named, REQUIRE].concat());
        let (host, key) = (Host::start(), key(ucp_trust::jwk::Algorithm::Es256));
        let platform = host.profile("/agent", &profile(&[&key]));
        for transport in [Transport::Rest, Transport::Tool] {
            let signed = Draft::new(&gateway, transport, &platform).with("Host", "shop.localhost").signed(&key);
            let forwarded = signed.with("Host", "ucp_upstream").with("X-Forwarded-Host", "shop.localhost");
            assert_eq!(forwarded.send(&gateway).status, 200, "{:?}", forwarded.send(&gateway));
            let other = forwarded.with("X-Forwarded-Host", "second.localhost");
            assert_eq!(other.send(&gateway).status, 401, "{:?}", other.send(&gateway));
        }
    }

    #[test]
    fn the_believed_host_chooses_the_shop() {
        let trusting = ["[server]\ntrusted_proxies = [\"127.0.0.1\"]\n", THREE].concat();
        let (_setup, _data, gateway) = several(&trusting);
        for (host, forwarded) in
            [("one.localhost", "two.localhost"), ("inner", "zwei.localhost."), ("inner", "TWO.localhost:1")]
        {
            let headers = [("Host", host), ("X-Forwarded-Host", forwarded)];
            let profile = send(&gateway, "GET", "/.well-known/ucp", &headers, b"");
            assert!(profile.body.contains("//two.localhost:"), "{forwarded}: {profile:?}");
        }
    }

    #[test]
    fn what_is_no_name_or_origin_is_refused_at_the_start() {
        for (key, value, expected) in [
            ("hosts", "\"shop.example.com:8080\"", "a host name without port"),
            ("hosts", "\"https://shop.example.com\"", "a host name without port"),
            ("hosts", "\"\"", "a host name without port"),
            ("allowed_origins", "\"*\"", "the origin of a web page"),
            ("allowed_origins", "\"null\"", "the origin of a web page"),
            ("allowed_origins", "\"app.example.com\"", "the origin of a web page"),
            ("allowed_origins", "\"https://app.example.com/path\"", "the origin of a web page"),
            ("allowed_origins", "\"https://user@app.example.com\"", "the origin of a web page"),
        ] {
            let said = Setup::new(&format!("[server]\n{key} = [{value}]\n")).run("check-config").expect_err("refused");
            assert!(said.contains(&format!("`server.{key}`")) && said.contains(expected), "{said}");
        }
        // A request by another host name is not from this machine.
        let said =
            Setup::new("[server]\nhosts = [\"shop.example.com\"]\n").run("check-config").expect("a configuration");
        assert!(said.contains("policy = \"require\""), "{said}");
    }
}

mod pages {
    use super::*;

    const PAGE: &str = "https://app.example.com";

    fn open() -> Configured {
        Configured::start(
            "[server]\nallowed_origins = [\"https://APP.example.com.:443/\", \"http://localhost:6274\"]\n",
        )
    }

    fn ask<'a>(origin: &'a str, method: &'a str) -> [(&'a str, &'a str); 3] {
        let headers = "content-type, ucp-agent, mcp-protocol-version";
        [("Origin", origin), ("Access-Control-Request-Method", method), ("Access-Control-Request-Headers", headers)]
    }

    #[test]
    fn pages_of_stated_origins_may_call_and_read() {
        let gateway = open();
        for origin in [PAGE, "https://app.example.com.", "http://localhost:6274"] {
            for (path, method) in [
                ("/mcp", "POST"),
                ("/mcp/", "POST"),
                ("/mcp", "GET"),
                ("/catalog/search", "POST"),
                ("/carts/c-1", "PUT"),
                ("/ucp/2026-04-08/mcp", "POST"),
                ("/ucp/2026-04-08/catalog/search", "POST"),
            ] {
                let allowed = gateway.send("OPTIONS", path, &ask(origin, method), b"");
                assert_eq!(allowed.status, 204, "{path}: {allowed:?}");
                assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
                let methods = allowed.header("access-control-allow-methods").expect("methods");
                assert!(methods.split(", ").any(|allowed| allowed == method), "{methods}");
                let headers = allowed.header("access-control-allow-headers");
                assert_eq!(headers, Some("content-type, ucp-agent, mcp-protocol-version"));
                assert_eq!(allowed.header("access-control-allow-credentials"), None);
                assert!(allowed.header("vary").is_some_and(|vary| vary.contains("Origin")), "{allowed:?}");
            }
            let search: &[u8] = b"{\"query\":\"runner\"}";
            let ping = rpc("ping", &json!({})).to_string();
            for (method, path, body, status) in [
                ("POST", "/catalog/search", search, 200),
                ("POST", "/mcp", ping.as_bytes(), 200),
                ("POST", "/catalog/search", b"{".as_slice(), 400),
                ("GET", "/mcp", b"".as_slice(), 405),
                ("GET", "/nowhere", b"".as_slice(), 404),
            ] {
                let answer = send(&gateway, method, path, &[("Origin", origin)], body);
                assert_eq!(answer.status, status, "{path}: {answer:?}");
                assert_eq!(answer.header("access-control-allow-origin"), Some(origin), "{path}: {answer:?}");
                let exposed = answer.header("access-control-expose-headers").expect("headers");
                assert!(exposed.contains("Request-Id") && exposed.contains("Retry-After"), "{exposed}");
                assert_eq!(answer.header("access-control-allow-credentials"), None);
                assert!(answer.all("vary").any(|vary| vary == "Origin"), "{answer:?}");
            }
        }
    }

    #[test]
    fn pages_of_other_origins_are_refused_as_without_any() {
        for gateway in [open(), Configured::start("")] {
            for origin in
                ["https://evil.example", "https://app.example.com.evil.example", "http://app.example.com", "null"]
            {
                for path in ["/mcp", "/catalog/search", "/carts"] {
                    let refused = gateway.send("OPTIONS", path, &ask(origin, "POST"), b"");
                    assert_eq!(refused.status, 405, "{path}: {refused:?}");
                    assert_eq!(refused.header("access-control-allow-origin"), None, "{refused:?}");
                    let refused = send(&gateway, "POST", path, &[("Origin", origin)], b"{}");
                    assert_eq!(refused.status, 403, "{path}: {refused:?}");
                    assert_eq!(refused.header("access-control-allow-origin"), None, "{refused:?}");
                }
            }
        }
        let gateway = Configured::start("");
        let answer = send(&gateway, "POST", "/catalog/search", &[], b"{\"query\":\"runner\"}");
        assert!(!answer.all("vary").any(|vary| vary.contains("Origin")), "closed as it always was: {answer:?}");
    }

    /// It describes the gateway to everybody.
    #[test]
    fn the_profile_is_open_to_the_pages_of_all() {
        let gateway = Gateway::shared();
        for path in ["/.well-known/ucp", "/.well-known/ucp/", "/openapi.json", "/ucp/2026-04-08/.well-known/ucp"] {
            let allowed = gateway.send("OPTIONS", path, &ask("https://any.example", "GET"), b"");
            assert_eq!(
                (allowed.status, allowed.header("access-control-allow-origin")),
                (204, Some("*")),
                "{allowed:?}"
            );
            assert_eq!(
                allowed.header("access-control-allow-headers"),
                Some("content-type, ucp-agent, mcp-protocol-version")
            );
            let read = gateway.send("GET", path, &[("Origin", "https://any.example")], b"");
            assert_eq!((read.status, read.header("access-control-allow-origin")), (200, Some("*")), "{read:?}");
        }
    }
}

/// The documents describe where a key is sent.
#[test]
fn the_documents_say_how_a_key_is_shown() {
    let gateway = Gateway::shared();
    for release in std::iter::once(None).chain(Release::ALL.iter().copied().map(Some)) {
        let document = gateway.get(&format!("{}/openapi.json", release.map(release_path).unwrap_or_default())).json();
        let schemes = &document["components"]["securitySchemes"];
        let (key, bearer) = (&schemes["ApiKey"], &schemes["Bearer"]);
        assert_eq!((&key["in"], &key["name"]), (&json!("header"), &json!("X-API-Key")), "{schemes}");
        assert_eq!((&bearer["type"], &bearer["scheme"]), (&json!("http"), &json!("bearer")), "{schemes}");
        let alternatives = document["security"].as_array().expect("alternatives");
        assert!(["ApiKey", "Bearer"].iter().all(|name| alternatives.iter().any(|one| one.get(name).is_some())));
    }
}

/// Declared type of a body.
#[test]
fn a_refusal_of_a_body_says_which_ones_are_taken() {
    let gateway = Gateway::shared();
    for declared in
        ["application/json; charset=utf8", "Application/JSON;Charset=\"UTF-8\"", "application/json; charset=US-ASCII"]
    {
        let headers = [("Content-Type", declared), REST_HEADERS[1]];
        assert_eq!(gateway.send("POST", "/catalog/product", &headers, PRODUCT).status, 200, "{declared}");
        let ping = rpc("ping", &Value::Object(serde_json::Map::new())).to_string();
        assert_eq!(gateway.send("POST", "/mcp", &headers, ping.as_bytes()).status, 200, "{declared}");
    }
    for path in ["/catalog/product", "/mcp"] {
        for headers in [
            &[("Content-Type", "application/json"), ("Content-Encoding", "gzip"), REST_HEADERS[1]][..],
            &[("Content-Type", "text/plain"), REST_HEADERS[1]],
            &[("Content-Type", "application/json; charset=latin1"), REST_HEADERS[1]],
        ] {
            let refused = gateway.send("POST", path, headers, b"\x1f\x8b-");
            assert_eq!(refused.status, 415, "{refused:?}");
            assert_eq!(refused.header("accept-encoding"), Some("identity"), "{refused:?}");
            assert_eq!(refused.header("accept"), Some("application/json"), "{refused:?}");
        }
    }
}

mod codings {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
        path::Path,
    };

    use super::*;
    use crate::{
        harness::{Ends as _, binary},
        wire::{PATIENCE, request},
    };

    /// The head and the bytes of an answer, of which the connection is closed.
    fn raw(gateway: &Gateway, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> (String, Vec<u8>) {
        let headers = [REST_HEADERS, &[("Connection", "close")], more].concat();
        let mut stream = TcpStream::connect(gateway.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(&request(method, path, &headers, body)).expect("written");
        let mut read = Vec::new();
        stream.read_to_end(&mut read).expect("an answer");
        let end = read.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        (String::from_utf8(read[..end].to_vec()).expect("text").to_ascii_lowercase(), read.split_off(end + 4))
    }

    fn decoded(head: &str, body: &[u8]) -> Vec<u8> {
        let length = format!("content-length: {}", body.len());
        assert!(head.contains(&length), "{length}: {head}");
        if head.contains("content-encoding: zstd") {
            zstd::decode_all(body).expect("zstd")
        } else if head.contains("content-encoding: gzip") {
            let mut decoded = Vec::new();
            flate2::read::GzDecoder::new(body).read_to_end(&mut decoded).expect("gzip");
            decoded
        } else {
            body.to_vec()
        }
    }

    #[test]
    fn what_is_public_and_large_is_compressed_for_whoever_asks() {
        let gateway = Gateway::shared();
        let tools = rpc("tools/list", &json!({})).to_string();
        let search = json!({ "query": "shoes", "pagination": { "limit": 10 } }).to_string();
        let arguments = json!({ "meta": crate::harness::meta(), "catalog": { "query": "shoes" } });
        let tool = rpc("tools/call", &json!({ "name": "search_catalog", "arguments": arguments })).to_string();
        for (method, path, body) in [
            ("POST", "/catalog/search", &search),
            ("POST", "/mcp", &tools),
            ("POST", "/mcp", &tool),
            ("GET", "/openapi.json", &String::new()),
            ("GET", "/ucp/2026-04-08/openrpc.json/", &String::new()),
        ] {
            let (head, plain) = raw(&gateway, method, path, &[], body.as_bytes());
            assert!(head.contains(" 200 ") && !head.contains("content-encoding"), "{head}");
            assert!(head.contains("vary: accept-encoding"), "{head}");
            for (asked, coding) in [("gzip, deflate", "gzip"), ("gzip, deflate, br, zstd", "zstd")] {
                let (head, coded) = raw(&gateway, method, path, &[("Accept-Encoding", asked)], body.as_bytes());
                assert!(head.contains(&format!("content-encoding: {coding}")), "{asked}: {head}");
                assert!(head.contains("vary: accept-encoding"), "{head}");
                assert!(coded.len() * 3 < plain.len(), "{path}: {} of {}", coded.len(), plain.len());
                let (one, other) = (decoded(&head, &coded), plain.clone());
                let [one, other]: [Value; 2] = [one, other].map(|text| serde_json::from_slice(&text).expect("JSON"));
                // Requests have numbers of their own.
                let texts = [&one, &other].map(|value| value.to_string().len());
                assert_eq!(texts[0], texts[1], "{path}");
            }
            let (head, _) = raw(&gateway, method, path, &[("Accept-Encoding", "br, identity")], body.as_bytes());
            assert!(!head.contains("content-encoding"), "{head}");
        }
    }

    #[test]
    fn small_answers_and_those_with_secrets_never_are() {
        let gateway = Gateway::start();
        let many = [("Accept-Encoding", "gzip, zstd"), ("Idempotency-Key", "k-1")];
        let lines: Vec<_> = ["var_abc123_red_10", "var_abc123_blue_10", "var_def456_green_11"]
            .iter()
            .map(|id| json!({ "item": { "id": id }, "quantity": 1 }))
            .collect();
        let body = json!({ "line_items": lines, "buyer": { "email": "ada@example.com" } }).to_string();
        let mut sizes = Vec::new();
        for (path, member) in [("/carts", "cart"), ("/checkout-sessions", "checkout")] {
            let (head, made) = raw(&gateway, "POST", path, &many, body.as_bytes());
            assert!(head.contains(" 201 ") && !head.contains("content-encoding"), "{path}: {head}");
            sizes.push(made.len());
            let id = serde_json::from_slice::<Value>(&made).expect("JSON")["id"].as_str().expect("an id").to_owned();
            let (head, _) = raw(&gateway, "GET", &format!("{path}/{id}"), &many, b"");
            assert!(head.contains(" 200 ") && !head.contains("content-encoding"), "{path}: {head}");
            let call =
                json!({ "name": format!("get_{member}"), "arguments": { "meta": crate::harness::meta(), "id": id } });
            let (head, body) = raw(&gateway, "POST", "/mcp", &many, rpc("tools/call", &call).to_string().as_bytes());
            assert!(head.contains(" 200 ") && !head.contains("content-encoding"), "{path}: {head}");
            sizes.push(body.len());
        }
        assert!(sizes.iter().filter(|size| **size > 2 * 1024).count() > 2, "they are large enough: {sizes:?}");
        for (path, body) in [("/catalog/search", b"{\"query\":\"zzxqjvw\"}".as_slice()), ("/catalog/search", b"{")] {
            let (head, _) = raw(&gateway, "POST", path, &many, body);
            assert!(!head.contains("content-encoding"), "{head}");
        }
    }

    /// A client that has a document in one coding gets 304 in that coding.
    #[test]
    fn each_coding_of_a_document_has_a_tag_of_its_own() {
        let gateway = Gateway::shared();
        let tag = |more: &[(&str, &str)]| {
            let (head, body) = raw(&gateway, "GET", "/openapi.json", more, b"");
            let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
            (tag, head.contains(" 304 "), body.len())
        };
        let plain = tag(&[]).0;
        let mut tags = vec![plain.clone()];
        for coding in ["gzip", "zstd"] {
            let (coded, known, _) = tag(&[("Accept-Encoding", coding)]);
            assert!(!known && coded != plain, "{coded}");
            for asked in [coded.clone(), format!("W/{coded}"), format!("\"x\", {coded}")] {
                let again = tag(&[("Accept-Encoding", coding), ("If-None-Match", &asked)]);
                assert_eq!(again, (coded.clone(), true, 0), "{asked}");
            }
            tags.push(coded);
        }
        tags.dedup();
        assert_eq!(tags.len(), 3);
        let other = format!("{}-br\"", plain.trim_end_matches('"'));
        assert!(!tag(&[("If-None-Match", &other)]).1);
    }

    /// The digest that is signed is that of the content as it is sent, which most clients see decoded alone.
    #[test]
    fn signed_answers_are_sent_as_they_are() {
        let data = crate::harness::sample_shop();
        let keys = binary().args(["keys", "generate", "--data-dir"]).arg(data.path()).ends();
        assert!(keys.status.success(), "{keys:?}");
        let gateway = Gateway::on(Path::new(data.path()), &[]);
        let asked = [("Accept-Encoding", "gzip, zstd"), ("Accept-Signature", "sig1=(\"content-digest\")")];
        let search = b"{\"query\":\"shoes\"}";
        let (head, body) = raw(&gateway, "POST", "/catalog/search", &asked, search);
        assert!(head.contains("\nsignature: ") && !head.contains("content-encoding"), "{head}");
        let digest = {
            use base64::Engine as _;
            use sha2::Digest as _;
            base64::prelude::BASE64_STANDARD.encode(sha2::Sha256::digest(&body)).to_ascii_lowercase()
        };
        assert!(head.contains(&digest), "{digest}: {head}");
        assert!(raw(&gateway, "POST", "/catalog/search", &asked[..1], search).0.contains("content-encoding"));
    }
}
