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
        "//catalog/search",
        "/Catalog/Search",
        "/catalog/%73earch",
        "/catalog/../etc/passwd",
        "/%00",
        "/%ff",
        "/.well-known/",
        "/schemas/",
        "/cart",
        "/favicon.png",
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
    let documents = ["/.well-known/ucp", "/openapi.json", "/openrpc.json", "/schemas/error.json"]
        .map(|path| (path, "GET,HEAD,OPTIONS"));
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

/// Violations of HTTP are rejected before the path is known: in the protocol's form, and the connection ends.
#[test]
fn broken_http_is_refused_in_the_words_of_the_protocol() {
    let gateway = Gateway::shared();
    let head = |rest: &str| format!("POST /catalog/search HTTP/1.1\r\nHost: localhost\r\n{rest}\r\n").into_bytes();
    let many: String = (0..500).map(|number| format!("X-{number}: a\r\n")).collect();
    for (bytes, status, code) in [
        (head(&many), 431, "request_too_large"),
        (head(&format!("X-Long: {}\r\n", "a".repeat(MIB))), 431, "request_too_large"),
        (
            format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000)).into_bytes(),
            414,
            "request_too_large",
        ),
        (head("Content-Length: abc\r\n"), 400, "invalid_request"),
        (head("Content-Length: -1\r\n"), 400, "invalid_request"),
        (head("Content-Length: 5\r\nContent-Length: 6\r\n"), 400, "invalid_request"),
        (head("Content-Length: 5, 5\r\n"), 400, "invalid_request"),
        (head("Content-Length: +5\r\n"), 400, "invalid_request"),
        (head("Content-Length: 0x5\r\n"), 400, "invalid_request"),
        (head("Content-Length: 99999999999999999999\r\n"), 400, "invalid_request"),
        (head("No colon here\r\n"), 400, "invalid_request"),
        (head("Na me: x\r\n"), 400, "invalid_request"),
        (b"garbage\r\n\r\n".to_vec(), 400, "invalid_request"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), 400, "invalid_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n".to_vec(), 400, "invalid_request"),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        // As the first request of a connection, and behind another one.
        for earlier in [0, 1] {
            let mut connection = gateway.connect();
            for _ in 0..earlier {
                connection.write(&wire::request("GET", "/.well-known/ucp", &[], b""));
                assert_eq!(connection.read().expect("an answer").status, 200);
            }
            connection.write(&bytes);
            let response = connection.read().unwrap_or_else(|| panic!("an answer to {shown}"));
            assert_eq!(response.status, status, "{shown}");
            assert_eq!(response.header("request-id").map(str::len), Some(36), "{shown}");
            assert_eq!(response.json()["code"], code, "{shown}");
            assert!(connection.read().is_none(), "the connection ends after {shown}");
        }
    }
}

/// A page of another site that a buyer has open, or one that reaches the gateway under a name of its own, gets as far
/// over REST as over MCP.
#[test]
fn pages_of_other_sites_make_no_checkouts() {
    let gateway = Gateway::behind("https://shop.example.com");
    let body = json!({ "line_items": [{ "item": { "id": "var_abc123_red_10" }, "quantity": 1 }] }).to_string();
    for (host, origin, admitted) in [
        ("shop.example.com", None, true),
        ("shop.example.com", Some("https://shop.example.com"), true),
        ("localhost:8080", Some("http://localhost:3000"), true),
        ("shop.example.com", Some("https://evil.example"), false),
        ("shop.example.com", Some("null"), false),
        ("shop.example.com", Some("https://shop.example.com.evil.example"), false),
        ("evil.example", None, false),
        ("localhost.evil.example", None, false),
    ] {
        let mut headers = vec![("Host", host)];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        headers.extend(REST_HEADERS);
        for path in ["/checkout-sessions", "/ucp/2026-01-11/checkout-sessions"] {
            let response = gateway.raw(&wire::request("POST", path, &headers, body.as_bytes())).expect("an answer");
            assert_eq!(response.status != 403, admitted, "{host} {origin:?} {path}: {response:?}");
            if !admitted && path.starts_with("/checkout") {
                assert_eq!(response.json()["code"], "origin_forbidden", "{host} {origin:?}");
            }
        }
        let read = gateway.raw(&wire::request("GET", "/.well-known/ucp", &headers, b"")).expect("an answer");
        assert_eq!(read.status, 200, "what describes the gateway is open to all: {host} {origin:?}");
    }
    let two = [&[("Origin", "https://shop.example.com"), ("Origin", "https://evil.example")], REST_HEADERS].concat();
    let response = gateway.raw(&wire::request("POST", "/checkout-sessions", &two, body.as_bytes())).expect("an answer");
    assert_eq!((response.status, &response.json()["code"]), (403, &json!("origin_forbidden")));
}

/// RFC 9112, section 3.2.
#[test]
fn a_request_names_one_host() {
    let gateway = Gateway::shared();
    let is_refused = |request: &str| {
        let response = gateway.raw(request.as_bytes()).expect("an answer");
        assert_eq!((response.status, &response.json()["code"]), (400, &json!("invalid_request")), "{request}");
        assert!(response.json()["accepted"].as_str().is_some_and(|text| text.contains("host[:port]")), "{request}");
        assert!(response.header("request-id").is_some(), "{request}");
    };
    let of_one_header = [
        "user@localhost",
        "user:password@localhost",
        "@localhost",
        "localhost@",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:abc",
        "localhost:-1",
        "localhost:80:80",
        "localhost, localhost",
        "a,b",
        "a b",
        "[",
        "[::1",
        "[localhost]",
        "[::1]80",
        "::1",
        "local/host",
        "local%68ost",
        ".",
    ];
    let headers = of_one_header.map(|host| format!("Host: {host}\r\n"));
    let two = ["", "Host: localhost\r\nHost: localhost\r\n", "Host: localhost\r\nHost: other\r\n"].map(str::to_owned);
    for path in ["/.well-known/ucp", "/orders/none", "/mcp", "/nowhere"] {
        for hosts in headers.iter().chain(&two) {
            let method = if path == "/mcp" { "POST" } else { "GET" };
            is_refused(&format!("{method} {path} HTTP/1.1\r\n{hosts}Content-Length: 0\r\n\r\n"));
        }
    }
    for target in ["http://evil.example/", "http://localhost:1/", "http://user@localhost/", "http://localhost:0/"] {
        is_refused(&format!("GET {target}orders/none HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    }
    let status = |request: &str| gateway.raw(request.as_bytes()).expect("an answer").status;
    // HTTP/1.0 had no such rule, and the host of a target in absolute form is checked like any other.
    assert_eq!(status("GET /.well-known/ucp HTTP/1.0\r\n\r\n"), 200);
    assert_eq!(status("GET http://evil.example/orders/none HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
    for host in ["localhost", "LOCALHOST.", "localhost:1", "localhost.:65535", "[::1]:8080", "127.0.0.1"] {
        assert_eq!(status(&format!("GET /orders/none HTTP/1.1\r\nHost: {host}\r\n\r\n")), 200, "{host}");
    }
    assert_eq!(status("GET http://localhost:80/.well-known/ucp HTTP/1.1\r\nHost: LocalHost.\r\n\r\n"), 200);
}

/// RFC 9112, section 6.1: alone, in front of `chunked` and behind it, in one header line and in several.
#[test]
fn no_transfer_coding_but_chunked_is_undone() {
    let gateway = Gateway::shared();
    for codings in [
        &["gzip"][..],
        &["identity"],
        &["deflate, chunked"],
        &["gzip, chunked"],
        &["chunked, gzip"],
        &["chunked, chunked"],
        &["gzip", "chunked"],
        &["chunked", "identity"],
        &["chunked", "chunked"],
        &["x-unknown"],
        &["chunked;q=1"],
        &["\"chunked\""],
        &[""],
    ] {
        for path in ["/catalog/product", "/mcp", "/nowhere"] {
            let lines: String = codings.iter().map(|coding| format!("Transfer-encoding: {coding}\r\n")).collect();
            let head =
                format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{lines}\r\n");
            let mut connection = gateway.connect();
            connection.write(&[head.as_bytes(), b"2\r\n{}\r\n0\r\n\r\n"].concat());
            let answer = connection.read().expect("an answer");
            let code = &answer.json()["code"];
            assert_eq!((answer.status, code), (501, &json!("transfer_coding_unsupported")), "{codings:?} {path}");
            assert!(answer.header("request-id").is_some(), "{codings:?}");
        }
    }
    let chunked = |coding: &str, length: &str| {
        let head = "POST /catalog/product HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        let agent = format!("UCP-Agent: {}\r\nTransfer-Encoding: {coding}\r\n{length}\r\n", REST_HEADERS[1].1);
        gateway
            .raw(&[head.as_bytes(), agent.as_bytes(), b"14\r\n{\"id\":\"prod_abc123\"}\r\n0\r\n\r\n"].concat())
            .expect("an answer")
    };
    for coding in ["chunked", "Chunked", "chunked \t"] {
        assert_eq!(chunked(coding, "").status, 200, "{coding}");
    }
}

/// A request that its head decides is answered without its body, and without `100 Continue`.
#[test]
fn what_the_head_decides_is_refused_without_the_body() {
    let hash = "c".repeat(64);
    let platform = format!("[[platform]]\nname = \"One\"\nprofile = \"{PROFILE}\"\napi_key_hash = \"sha256:{hash}\"\n");
    let gateway = Configured::start(&["[callers]\npolicy = \"development\"\n", &platform].concat());
    let limited =
        Configured::start("[callers]\npolicy = \"development\"\n[limits]\nanonymous = { per_second = 1, burst = 1 }\n");
    limited.search(&json!({ "query": "runner" }));
    let with = |gateway: &Gateway, path: &str, (name, value): (&str, &str), length: usize| {
        let kept = [("Content-Type", "application/json"), REST_HEADERS[1]];
        let mut head =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n{name}: {value}\r\n");
        for (own, value) in kept.iter().filter(|(own, _)| *own != name) {
            head.push_str(&format!("{own}: {value}\r\n"));
        }
        if name != "Transfer-Encoding" {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        gateway.raw(format!("{head}\r\n").as_bytes()).expect("an answer")
    };
    for path in ["/catalog/product", "/mcp"] {
        for (header, length, status) in [
            (("X-None", ""), MIB + 1, 413),
            (("X-None", ""), usize::MAX / 2, 413),
            (("Content-Type", "text/plain"), 20, 415),
            (("Content-Encoding", "gzip"), 20, 415),
            (("X-API-Key", "ucpk_wrong"), 20, 401),
            (("Authorization", "bearer ucpk_wrong"), 20, 401),
            (("Origin", "https://evil.example"), 20, 403),
            (("Transfer-Encoding", "gzip, chunked"), 20, 501),
            (("Signature-Input", "nonsense"), 20, 401),
        ] {
            assert_eq!(with(&gateway, path, header, length).status, status, "{path} {header:?}");
        }
        // A library gets an answer with its ID over the limit too, but not if it waits for a word first.
        assert_eq!(with(&limited, path, ("MCP-Protocol-Version", "2025-11-25"), 20).status, 429, "{path}");
        assert_eq!(with(&gateway, path, ("X-None", ""), 20).status, 100, "{path}: anything else is asked for");
    }
    assert_eq!(with(&gateway, "/nowhere", ("X-None", ""), 20).status, 404);
    assert_eq!(with(&gateway, "/.well-known/ucp", ("X-None", ""), 20).status, 405);
}

/// A client that sends its body all the same gets the refusal, and not a connection that was reset.
#[test]
fn a_refusal_reaches_a_client_that_goes_on_sending() {
    let gateway = Gateway::shared();
    for path in ["/catalog/product", "/mcp"] {
        for _ in 0..20 {
            let response = gateway.send("POST", path, REST_HEADERS, &vec![b' '; 4 * MIB]);
            assert_eq!(response.status, 413, "{path}");
        }
    }
}

/// The limits of the manual, to the byte and to the header line.
#[test]
fn headers_are_taken_up_to_their_limits() {
    const MOST: usize = 64 * 1024;
    let gateway = Gateway::shared();
    let with = |size: usize, lines: usize, pieces: usize| {
        let mut head = String::from("GET /.well-known/ucp HTTP/1.1\r\nHost: localhost\r\n");
        for line in 2..lines {
            head.push_str(&format!("X-{line}: a\r\n"));
        }
        let rest = "X-Long: \r\n\r\n".len();
        head.push_str(&format!("X-Long: {}\r\n\r\n", "a".repeat(size.saturating_sub(head.len() + rest))));
        let mut connection = gateway.connect();
        for piece in head.as_bytes().chunks(head.len().div_ceil(pieces)) {
            connection.write(piece);
        }
        connection.read().expect("an answer").status
    };
    for pieces in [1, 2, 7, 64] {
        for (size, lines, status) in [
            (MOST, 2, 200),
            (MOST + 1, 2, 431),
            (MOST + 1_000, 2, 431),
            (2 * MOST, 2, 431),
            (3 * MOST, 2, 431),
            (MOST, 100, 200),
            (1_000, 100, 200),
            (1_000, 101, 431),
        ] {
            assert_eq!(with(size, lines, pieces), status, "{size} bytes in {lines} lines, sent in {pieces} pieces");
        }
    }
}

#[test]
fn bodies_are_sent_as_they_are() {
    let gateway = Gateway::shared();
    let call = b"{\"id\":\"prod_abc123\"}";
    // The first bytes of a gzip member, of zlib, of zstd, and something that is no text at all.
    let coded: [&[u8]; 4] = [b"\x1f\x8b\x08\0\0", b"\x78\x9c\xab\x56", b"\x28\xb5\x2f\xfd\x04", b"{\xff\xfe}"];
    let send = |path, coding: &[&str], body: &[u8]| {
        let codings: Vec<_> = coding.iter().map(|coding| ("Content-Encoding", *coding)).collect();
        gateway.send("POST", path, &[REST_HEADERS, &codings].concat(), body)
    };
    for path in ["/catalog/product", "/mcp"] {
        let read = |response: &wire::Response| {
            if path == "/mcp" { Verdict::of_rpc(response, true) } else { Verdict::of_rest(response) }
        };
        for coding in [&["gzip"][..], &["br"], &["zstd"], &["x-unknown"], &["identity, gzip"], &["identity", "GZIP"]] {
            for body in coded {
                let refusal = read(&send(path, coding, body)).refusal().clone();
                assert_eq!((refusal.status, &*refusal.code), (415, "unsupported_media_type"), "{path} {coding:?}");
            }
            let refusal = read(&send(path, coding, call)).refusal().clone();
            assert_eq!((refusal.status, &*refusal.code), (400, "invalid_request"), "{path} {coding:?}");
        }
    }
    for coding in [&["identity"][..], &["Identity, identity"], &[""]] {
        assert_eq!(send("/catalog/product", coding, call).status, 200, "{coding:?}");
    }
}

/// RFC 9112, section 6.3: the chunks count, and nothing else is read from the connection.
#[test]
fn where_two_lengths_meet_the_chunks_count_and_the_connection_ends() {
    let gateway = Gateway::shared();
    let (body, agent) = ("{\"id\":\"prod_abc123\"}", REST_HEADERS[1].1);
    for lengths in
        ["Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3"]
    {
        let request = format!(
            "POST /catalog/product HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             UCP-Agent: {agent}\r\n{lengths}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n\
             GET /.well-known/ucp HTTP/1.1\r\nHost: localhost\r\n\r\n",
            body.len()
        );
        let mut connection = gateway.connect();
        connection.write(request.as_bytes());
        let answers = connection.read_to_end();
        assert_eq!(answers.len(), 1, "{lengths}: {answers:?}");
        assert_eq!(answers[0].json()["product"]["id"], "prod_abc123", "{lengths}");
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
