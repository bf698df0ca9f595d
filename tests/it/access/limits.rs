//! Rate limits of callers, none of which pays for the requests of others (rule ERR-03).

use super::*;
use std::time::Instant;

use serde_json::{Value, json};

use crate::{
    harness::{Gateway, REST_HEADERS},
    platforms::host::Page,
    setup::Refused,
    wire,
};

const ONE: &str = "https://one.example.com/profile.json";
const OTHER: &str = "https://other.example.com/profile.json";

/// Accepted requests of one account, and their start.
struct Account {
    since: Instant,
    got_in: u64,
}

impl Account {
    fn new() -> Self {
        Self { since: Instant::now(), got_in: 0 }
    }

    /// Sends until it is too much, and gives the refusal. No more gets in than is allowed: three, and one per second.
    #[track_caller]
    fn flood(
        &mut self,
        gateway: &Gateway,
        ask: impl Fn(usize) -> Ask,
        transport: impl Fn(usize) -> Transport,
    ) -> Refused {
        for sent in 0..500 {
            let response = ask(sent).send(gateway);
            if response.status == 429 {
                return Refused::read(transport(sent), &response);
            }
            assert_eq!(response.status, 200, "{response:?}");
            self.got_in += 1;
            let allowed = 3 + 1 + self.since.elapsed().as_secs();
            assert!(self.got_in <= allowed, "{} requests got in where {allowed} are allowed", self.got_in);
        }
        panic!("nothing was too much");
    }
}

/// The same on an account that nobody has used before.
#[track_caller]
fn flood(gateway: &Gateway, ask: impl Fn(usize) -> Ask, transport: impl Fn(usize) -> Transport) -> Refused {
    Account::new().flood(gateway, ask, transport)
}

#[track_caller]
fn limited(refused: &Refused, words: &str) {
    assert_eq!(refused.verdict(), (429, "rate_limited"));
    assert_eq!(refused.number.unwrap_or(-32000), -32000, "{refused:?}");
    assert!(refused.retry_after().is_some_and(|seconds| (1..=10).contains(&seconds)), "{refused:?}");
    assert!(refused.content.contains(words), "{refused:?}");
    assert!(refused.body["accepted"].as_str().is_some_and(|accepted| accepted.contains("1 per second")), "{refused:?}");
}

/// A configuration with these limits.
fn limits(server: &str, limits: &str) -> String {
    format!("[server]\n{server}\n[callers]\npolicy = \"development\"\n[limits]\n{limits}\n")
}

const SLOW: &str = "{ per_second = 1, burst = 3 }";

#[test]
fn err_03_too_many_requests_are_answered_with_when_to_come_back() {
    let gateway = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    for transport in Transport::ALL {
        limited(&flood(&gateway, |_| Ask::new(transport, ONE), |_| transport), "This network address sends too many");
    }
    // Documents of the gateway are open nevertheless.
    assert_eq!(gateway.get("/.well-known/ucp").status, 200);
    assert_eq!(gateway.get("/openapi.json").status, 200);
}

/// Rejects a caller over its limit by the head of its request: no body is waited for, over any transport.
#[test]
fn err_03_the_body_of_what_is_too_much_is_not_read() {
    let gateway = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    for (path, mcp) in [("/catalog/search", ""), ("/mcp", ""), ("/mcp", "MCP-Protocol-Version: 2025-11-25\r\n")] {
        flood(&gateway, |_| Ask::new(Transport::Tool, ONE), |_| Transport::Tool);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{mcp}Content-Length: 1000\r\n\r\n",
            gateway.address
        );
        let response = gateway.raw(head.as_bytes()).expect("an answer");
        assert_eq!(response.status, 429, "{response:?}");
    }
}

/// Naming other platforms, or forwarding addresses that nobody vouches for, makes no other caller of one.
#[test]
fn what_anybody_can_write_does_not_widen_a_limit() {
    let gateway = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    let transport = |sent: usize| Transport::ALL[sent % 3];
    let ask = |sent: usize| {
        let ask = Ask::new(transport(sent), &format!("https://agent-{sent}.invalid/p"));
        let ask = ask.header("X-Forwarded-For", &format!("198.51.100.{sent}"));
        ask.header("Forwarded", &format!("for=198.51.100.{sent}")).header("X-Real-IP", &format!("198.51.100.{sent}"))
    };
    limited(&flood(&gateway, ask, transport), "This network address");
}

#[test]
fn behind_a_trusted_proxy_each_client_has_its_own_limit() {
    let proxies = "trusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]";
    let gateway = Configured::start(&limits(proxies, &format!("anonymous = {SLOW}")));
    let from = |client: &str| Ask::new(Transport::Tool, ONE).header("X-Forwarded-For", client);
    let standard = |client: &str| Ask::new(Transport::Tool, ONE).header("Forwarded", &format!("for=\"{client}\""));
    // All of these are one client.
    let one_client = |asks: &[Ask]| {
        let mut account = Account::new();
        for ask in asks {
            limited(&account.flood(&gateway, |_| ask.clone(), |_| Transport::Tool), "This network address");
        }
    };
    one_client(&[
        from("198.51.100.1"),
        // The last proxy that is trusted tells who it forwards for; what stands before it is hearsay.
        from("203.0.113.9, 198.51.100.1, 10.1.2.3"),
        from("192.0.2.77, 198.51.100.1"),
        from("198.51.100.1:4711"),
        standard("198.51.100.1"),
    ]);
    from("198.51.100.2").answer(&gateway);
    from("203.0.113.9").answer(&gateway);
    // The owner of one IPv6 address has its whole network.
    one_client(&[from("2001:db8:1:2::1"), from("2001:db8:1:2:ffff::9"), standard("[2001:db8:1:2::2]:4711")]);
    from("2001:db8:1:3::1").answer(&gateway);
    // If the two headers differ, neither is used.
    let torn = |sent: usize| standard(&format!("192.0.2.{sent}")).header("X-Forwarded-For", "192.0.2.250");
    limited(&flood(&gateway, torn, |_| Transport::Tool), "This network address");
}

#[test]
fn a_model_that_calls_too_often_reads_when_to_call_again() {
    let gateway = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    flood(&gateway, |_| Ask::new(Transport::Tool, ONE), |_| Transport::Tool);
    let params = json!({ "name": "get_product", "arguments": { "catalog": { "id": "prod_abc123" } } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let refused = (0..20).find_map(|_| {
        let response = gateway.send("POST", "/mcp", &headers, message.as_bytes());
        (response.json()["result"]["isError"] == true).then_some(response)
    });
    let refused = refused.expect("one of twenty calls is one too many");
    let result = refused.json()["result"].take();
    assert_eq!((refused.status, &result["structuredContent"]["code"]), (200, &json!("rate_limited")), "{refused:?}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("Retry the same call after")));
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
}

#[test]
fn each_message_of_a_batch_is_charged() {
    let gateway = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let batch = json!(vec![ping; 16]).to_string();
    let headers = [("Content-Type", "application/json"), ("MCP-Protocol-Version", "2025-03-26")];
    let answers: Vec<_> = (0..4)
        .map(|_| gateway.send("POST", "/mcp", &headers, batch.as_bytes()).json())
        .take_while(Value::is_array)
        .collect();
    let all: Vec<_> = answers.iter().flat_map(|answers| answers.as_array().cloned().unwrap_or_default()).collect();
    let limited = all.iter().filter(|answer| answer["error"]["data"]["code"] == "rate_limited").count();
    assert!(limited > 0 && limited < all.len(), "{limited} of {}", all.len());
}

/// Clients of MCP wait for an answer under the identifier of their message, and read no other. A platform that sends too
/// much is told so by the status, before the message is read; of a library a short one is read, so that its agent waits.
#[test]
fn whoever_is_turned_away_over_json_rpc_is_told_under_the_identifier_of_the_message() {
    let (host, held) = (Host::start(), Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST)))));
    let slow = host.put("/slow", held);
    let full = Configured::start(&[REQUIRE, "[server]\nmax_in_flight = 1\n"].concat());
    let strict = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    limited(&flood(&strict, |_| Ask::new(Transport::Tool, ONE), |_| Transport::Tool), "This network address");
    std::thread::scope(|scope| {
        scope.spawn(|| Ask::new(Transport::Rest, &slow).answer(&full));
        host.wait_for_visit("/slow");
        for (gateway, key, status, code) in [
            (&full, "", 503, "unavailable"),
            (&strict, "", 429, "rate_limited"),
            (&full, "nobody", 401, "unauthorized"),
        ] {
            for id in [json!(7), json!("seven")] {
                let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }).to_string();
                // A client that shows a wrong credential is told so by the status.
                let library = if code == "unauthorized" { status } else { 200 };
                for (version, seen) in [("", status), ("2025-11-25", library)] {
                    let unread = status == 429 && version.is_empty();
                    let mut headers = vec![("Content-Type", "application/json")];
                    headers.extend(
                        [("MCP-Protocol-Version", version), ("X-API-Key", key)]
                            .into_iter()
                            .filter(|header| !header.1.is_empty()),
                    );
                    let response = gateway.send("POST", "/mcp", &headers, message.as_bytes());
                    // A bucket may have got one more drop in the meantime.
                    if response.body.contains("\"result\"") {
                        assert_eq!(status, 429, "{response:?}");
                        continue;
                    }
                    assert_eq!(response.status, seen, "{version}: {response:?}");
                    let body = response.json();
                    let id = if unread { &Value::Null } else { &id };
                    assert_eq!((&body["id"], &body["error"]["data"]["code"]), (id, &json!(code)), "{response:?}");
                    let told = body["error"]["data"].get("retry_after").is_some();
                    assert_eq!(told, status != 401, "{response:?}");
                }
            }
        }
        host.release();
    });
}

#[test]
fn one_platform_that_floods_does_not_touch_the_others() {
    let (one, other) = (new_key(), new_key());
    let configuration = [
        limits("", &format!("keyed = {SLOW}\nanonymous = {SLOW}")),
        platform("One", ONE, &hash(&one)),
        platform("Other", OTHER, &[hash(&other), "limit = { per_second = 1000, burst = 1000 }".to_owned()].join("\n")),
    ];
    let gateway = pinned(&configuration.concat()).start();
    let transport = |sent: usize| Transport::ALL[sent % 3];
    let flooding = || {
        let ask = |sent| Ask::new(transport(sent), ONE).header("X-API-Key", one.reveal());
        flood(&gateway, ask, transport)
    };
    for _ in 0..20 {
        limited(&flooding(), "This platform sends too many requests");
        for transport in Transport::ALL {
            Ask::new(transport, OTHER).header("X-API-Key", other.reveal()).answer(&gateway);
        }
    }
    // Nor has it used up what is there for those who show no key.
    Ask::new(Transport::Rest, ONE).answer(&gateway);
}

/// Guessing costs the guesser.
#[test]
fn wrong_keys_count_against_the_address_they_come_from() {
    let gateway = Configured::start(&limits("", &format!("anonymous = {SLOW}")));
    let guess = || Ask::new(Transport::Rest, ONE).header("X-API-Key", new_key().reveal()).send(&gateway);
    let mut refused = 0;
    let last = loop {
        let response = guess();
        if response.status != 401 {
            break response;
        }
        refused += 1;
        assert!(refused < 500, "guesses are free");
    };
    assert_eq!(last.status, 429, "{last:?}");
}

/// As soon as the gateway is full, callers are turned away at once. Nothing here depends on time: the host of the
/// profile says when the gateway is full, and when it is not.
#[test]
fn err_03_a_full_gateway_turns_callers_away_and_recovers() {
    for transport in Transport::ALL {
        let host = Host::start();
        let slow = host.put("/slow", Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST)))));
        let configuration = [REQUIRE, "[server]\nmax_in_flight = 1\n", &platform("One", ONE, "")].concat();
        let gateway = pinned(&configuration).start();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Ask::new(transport, &slow).answer(&gateway));
            host.wait_for_visit("/slow");
            for transport in Transport::ALL {
                let refused = Ask::new(transport, ONE).refusal(&gateway);
                assert_eq!(refused.verdict(), (503, "unavailable"));
                assert_eq!(refused.number.unwrap_or(-32000), -32000);
                assert!(refused.retry_after().is_some_and(|seconds| seconds >= 1), "{refused:?}");
                assert!(refused.content.contains("limit of concurrent requests"), "{refused:?}");
            }
            assert_eq!(gateway.get("/.well-known/ucp").status, 200, "what describes the gateway is open");
            host.release();
            assert_eq!(waiting.join().expect("an answer")["product"]["id"], "prod_abc123");
        });
        Ask::new(transport, ONE).answer(&gateway);
    }
}

/// The last quarter of the room is for those whom the gateway knows.
#[test]
fn strangers_are_turned_away_before_platforms_that_are_known() {
    let (host, key) = (Host::start(), new_key());
    let held = Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST))));
    let configuration = [REQUIRE, "[server]\nmax_in_flight = 4\n", &platform("One", ONE, &hash(&key))].concat();
    let gateway = pinned(&configuration).start();
    std::thread::scope(|scope| {
        for path in ["/a", "/b", "/c"] {
            let url = host.put(path, held.clone());
            let gateway = &gateway;
            scope.spawn(move || Ask::new(Transport::Rest, &url).answer(gateway));
            host.wait_for_visit(path);
        }
        for transport in Transport::ALL {
            assert_eq!(Ask::new(transport, ONE).refusal(&gateway).verdict(), (503, "unavailable"));
            Ask::new(transport, ONE).header("X-API-Key", key.reveal()).answer(&gateway);
        }
        host.release();
    });
}

/// Bodies that are held: each as long as it may be, but for its last byte.
fn hold_bodies(gateway: &Gateway, count: usize, headers: &[(&str, &str)]) -> Vec<wire::Connection> {
    let body = vec![b' '; 1024 * 1024];
    let call = wire::request("POST", "/catalog/search", &[REST_HEADERS, headers].concat(), &body);
    let held = (0..count).map(|_| {
        let mut connection = gateway.connect();
        // A request that is rejected before it is complete ends with its connection.
        connection.write(&call[..call.len() - 1]);
        connection
    });
    held.collect()
}

/// Of what one address sends, only its quarter is held, and everybody else is served meanwhile.
#[test]
fn bodies_of_one_address_take_a_share_of_the_memory() {
    let gateway = Configured::start("[server]\nbodies_mb = 8\ntrusted_proxies = [\"127.0.0.1\"]\n");
    let from = |client: &'static str| [("X-Forwarded-For", client)];
    let mut held = hold_bodies(&gateway, 6, &from("198.51.100.1"));
    let refused: Vec<_> = held.iter_mut().filter_map(|connection| connection.read()).collect();
    let of = |status| refused.iter().filter(|response| response.status == status).count();
    assert!(of(429) >= 1, "what is beyond the share is refused: {refused:?}");
    assert_eq!(of(429) + of(408), refused.len(), "the others run into their time: {refused:?}");
    let limited = refused.iter().find(|response| response.status == 429).expect("a refusal");
    assert_eq!(limited.json()["code"], "rate_limited");
    assert_eq!(limited.header("retry-after"), Some("1"), "{limited:?}");
    Ask::new(Transport::Tool, ONE).header("X-Forwarded-For", "198.51.100.1").answer(&gateway);
}

/// When everything is held, whoever holds most makes room for whoever holds little.
#[test]
fn slow_bodies_of_many_addresses_keep_nobody_out() {
    let gateway = Configured::start("[server]\nbodies_mb = 4\ntrusted_proxies = [\"127.0.0.1\"]\n");
    let addresses = ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", "198.51.100.5"];
    let held: Vec<_> =
        addresses.into_iter().map(|client| hold_bodies(&gateway, 1, &[("X-Forwarded-For", client)])).collect();
    for transport in Transport::ALL {
        Ask::new(transport, ONE).header("X-Forwarded-For", "203.0.113.9").answer(&gateway);
    }
    drop(held);
}

/// Slow bodies of many addresses take what they may in memory, and not a multiple of it.
#[test]
fn slow_bodies_of_many_addresses_take_no_more_memory_than_they_may() {
    const CLIENTS: usize = 300;
    let gateway = Configured::start("[server]\nbodies_mb = 16\ntrusted_proxies = [\"127.0.0.1\"]\n");
    Ask::new(Transport::Rest, ONE).answer(&gateway);
    let before = gateway.status("VmHWM");
    let body = vec![b' '; 256 * 1024];
    let mut held: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let client = format!("198.51.{}.{}", 100 + client / 250, client % 250);
            let headers = [REST_HEADERS, &[("X-Forwarded-For", client.as_str())]].concat();
            (gateway.connect(), wire::request("POST", "/catalog/search", &headers, &body))
        })
        .collect();
    let longest = held.iter().map(|(_, call)| call.len()).max().expect("clients") - 1;
    // All at once, a piece of each after the other.
    for from in (0..longest).step_by(16 * 1024) {
        for (connection, call) in &mut held {
            let end = call.len() - 1;
            // A rejected request ends with its connection.
            connection.write(&call[from.min(end)..(from + 16 * 1024).min(end)]);
        }
    }
    Ask::new(Transport::Rest, ONE).header("X-Forwarded-For", "203.0.113.9").answer(&gateway);
    let grown = gateway.status("VmHWM") - before;
    assert!(grown < 56 * 1024, "{grown} KiB more than before");
}
