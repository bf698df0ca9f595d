//! HTTP that is not what the gateway takes.

use super::*;

#[test]
fn only_json_is_taken() {
    let gateway = Gateway::shared();
    let agent = REST_HEADERS[1];
    for fine in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/problem+json"]
    {
        let response =
            gateway.send("POST", "/catalog/search", &[("Content-Type", fine), agent], b"{\"query\":\"runner\"}");
        assert_eq!(response.status, 200, "{fine}");
    }
    for wrong in [
        None,
        Some(""),
        Some("text/plain"),
        Some("text/json"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("application/json; charset=latin1"),
        Some("application/jsonp"),
        Some("*/*"),
    ] {
        let mut headers = vec![agent];
        headers.extend(wrong.map(|value| ("Content-Type", value)));
        for path in ["/catalog/search", "/mcp"] {
            let response = gateway.send("POST", path, &headers, b"{\"query\":\"runner\"}");
            let verdict = if path == "/mcp" { Verdict::of_rpc(&response, true) } else { Verdict::of_rest(&response) };
            let refusal = verdict.refusal();
            assert_eq!((refusal.code.as_str(), refusal.status), ("unsupported_media_type", 415), "{path} {wrong:?}");
        }
    }
}

#[test]
fn unknown_paths_are_answered_in_json() {
    let gateway = Gateway::shared();
    for path in [
        "/",
        "/catalog",
        "/catalog/",
        "/catalog/search/",
        "//catalog/search",
        "/Catalog/Search",
        "/catalog/%73earch",
        "/catalog/../etc/passwd",
        "/%00",
        "/%ff",
        "/mcp/",
        "/.well-known/ucp/",
        "/.well-known/",
        "/schemas/",
        "/cart",
        "/favicon.ico",
        &format!("/{}", "a".repeat(8_000)),
    ] {
        for method in ["GET", "POST"] {
            let response = gateway.send(method, path, REST_HEADERS, if method == "POST" { b"{}" } else { b"" });
            let verdict = Verdict::of_rest(&response);
            assert_eq!(
                (verdict.refusal().status, verdict.refusal().code.as_str()),
                (404, "unknown_path"),
                "{method} {path:.60}"
            );
        }
    }
}

#[test]
fn wrong_methods_are_answered_with_the_right_ones() {
    let gateway = Gateway::shared();
    let operations = crate::harness::BROWSING.map(|operation| (operation.row().path, "POST"));
    let documents =
        ["/.well-known/ucp", "/openapi.json", "/openrpc.json", "/schemas/error.json"].map(|path| (path, "GET,HEAD"));
    for (path, allowed) in operations.into_iter().chain([("/mcp", "POST")]).chain(documents) {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            if allowed.split(',').any(|own| own == method) {
                continue;
            }
            let response = gateway.send(method, path, REST_HEADERS, if method == "POST" { b"{}" } else { b"" });
            assert_eq!((response.status, response.header("allow")), (405, Some(allowed)), "{method} {path}");
            assert_eq!(Verdict::of_rest(&response).refusal().code, "method_not_allowed", "{method} {path}");
        }
    }
}

/// What HTTP itself forbids is refused before a path is known: no body, and the connection ends.
#[test]
fn broken_http_is_refused_without_a_word() {
    let gateway = Gateway::shared();
    let head = |rest: &str| format!("POST /catalog/search HTTP/1.1\r\nHost: localhost\r\n{rest}\r\n").into_bytes();
    let many: String = (0..500).map(|number| format!("X-{number}: a\r\n")).collect();
    for (bytes, status) in [
        (head(&many), 431),
        (head(&format!("X-Long: {}\r\n", "a".repeat(MIB))), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000)).into_bytes(), 414),
        (head("Content-Length: abc\r\n"), 400),
        (head("Content-Length: -1\r\n"), 400),
        (head("Content-Length: 5\r\nContent-Length: 6\r\n"), 400),
        (head("No colon here\r\n"), 400),
        (head("Na me: x\r\n"), 400),
        (b"garbage\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n".to_vec(), 400),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let mut connection = gateway.connect();
        connection.write(&bytes);
        let response = connection.read().unwrap_or_else(|| panic!("an answer to {shown}"));
        assert_eq!((response.status, response.body.as_str()), (status, ""), "{shown}");
        assert!(connection.read().is_none(), "the connection ends after {shown}");
    }
}

#[test]
fn header_values_that_are_no_text_are_read_as_absent_or_refused() {
    let gateway = Gateway::shared();
    for name in ["Accept-Language", "Request-Id", "Accept", "If-None-Match", "X-Anything"] {
        let mut bytes =
            b"POST /catalog/product HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".to_vec();
        bytes.extend_from_slice(format!("UCP-Agent: profile=\"{PROFILE}\"\r\n{name}: ").as_bytes());
        bytes.extend_from_slice(b"\xff\xfe\x80\r\nContent-Length: 20\r\n\r\n{\"id\":\"prod_abc123\"}");
        let response = gateway.raw(&bytes).expect("an answer");
        assert_eq!(response.status, 200, "{name}");
    }
    let languages = "a,".repeat(20_000);
    let response = gateway.rest_in("get_product", &json!({ "id": "prod_abc123" }), &[("Accept-Language", &languages)]);
    assert!(matches!(response, Verdict::Answered(_)));
}

#[test]
fn request_ids_come_back_when_they_are_sane() {
    let gateway = Gateway::shared();
    let answered = |path: &str, id: &str| {
        let response = gateway.send("POST", path, &[REST_HEADERS, &[("Request-Id", id)]].concat(), b"{}");
        response.header("request-id").expect("a request id").to_owned()
    };
    for path in ["/catalog/search", "/mcp", "/nowhere"] {
        assert_eq!(answered(path, "7c1f6d52-2b9c-4c36-9b43-5d6d3c2ad3a4"), "7c1f6d52-2b9c-4c36-9b43-5d6d3c2ad3a4");
        for odd in ["", "a b", "<x>", &"a".repeat(1_000)] {
            assert_eq!(answered(path, odd).len(), 36, "{path} {odd:.20}");
        }
    }
}

/// A request that is cut off in the middle costs nothing but its connection.
#[test]
fn a_client_that_leaves_in_the_middle_is_forgotten() {
    let gateway = Gateway::shared();
    let bytes = wire::request("POST", "/catalog/search", REST_HEADERS, b"{\"query\":\"runner\"}");
    for length in [1, 20, bytes.len() - 10, bytes.len() - 1, bytes.len()] {
        let mut connection = gateway.connect();
        connection.write(&bytes[..length]);
        drop(connection);
    }
    // A body that ends before its length.
    let mut connection = gateway.connect();
    connection.write(&bytes[..bytes.len() - 5]);
    connection.finish_writing();
    if let Some(response) = connection.read() {
        assert_eq!(response.status, 400, "{response:?}");
    }
    gateway.search(&json!({ "query": "runner" }));
}
