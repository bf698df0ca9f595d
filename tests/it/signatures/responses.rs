//! Signatures of the gateway: responses, and the requests that it sends itself.

use super::*;
use crate::{harness::sample_shop, platforms::host::Page};

/// A gateway with a key and these rules about signatures; the key is made before it starts.
fn signing(rules: &str) -> (Configured, Vec<PublicKey>) {
    let data = sample_shop();
    keys(&["generate"], data.path());
    let gateway = Setup::new(&format!("{REQUIRE}\n[signatures]\n{rules}\n")).start_on(data);
    let keys = published(&gateway.get("/.well-known/ucp").json());
    assert_eq!(keys.len(), 1);
    (gateway, keys)
}

#[test]
fn sig_11_all_answers_are_signed_where_that_is_asked_for() {
    let (gateway, keys) = signing("responses = \"all\"");
    let host = Host::start();
    let kid = Some(keys[0].kid().to_owned());
    for release in Release::ALL.iter().copied() {
        let url = host.profile(&format!("/{release}"), &profile_of(release));
        for transport in Transport::ALL {
            for ask in [
                Ask::new(transport, &url),
                Ask::new(transport, &url).at(Some(release)),
                Ask::new(transport, &url).of("get_product", json!({ "id": "nothing" })),
                Ask::new(transport, &url).of("get_product", json!({})),
                Ask::new(transport, "https://10.0.0.1/p"),
                Ask::new(transport, &url).unnamed(),
            ] {
                let response = ask.send(&gateway);
                assert_eq!(signer_of(&response, &keys), kid, "{ask:?}: {response:?}");
            }
        }
    }
    // Also the answer in the form of an event.
    let headers = [("Content-Type", "application/json"), ("Accept", "text/event-stream")];
    let response = gateway.send("POST", "/mcp", &headers, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(response.body.starts_with("event: message"), "{response:?}");
    assert_eq!(signer_of(&response, &keys), kid);
}

#[test]
fn sig_11_a_caller_can_ask_for_a_signature() {
    let host = Host::start();
    let url = host.profile("/p", &profile_of(Release::NEWEST));
    for rules in ["", "responses = \"none\"", "responses = \"completing\""] {
        let (gateway, keys) = signing(rules);
        for transport in Transport::ALL {
            let ask = Ask::new(transport, &url);
            assert_eq!(signer_of(&ask.send(&gateway), &keys), None, "{rules}");
            let asking = ask.header("Accept-Signature", "sig1=(\"@status\" \"content-digest\");keyid=\"any\"");
            assert_eq!(signer_of(&asking.send(&gateway), &keys).as_deref(), Some(keys[0].kid()), "{rules}");
        }
    }
    // Without a key there is an answer without a signature.
    let gateway = requiring();
    let response = Ask::new(Transport::Rest, &url).header("Accept-Signature", "sig1=()").send(&gateway);
    assert_eq!((response.status, signer_of(&response, &[])), (200, None));
}

#[test]
fn sig_11_an_answer_that_was_altered_does_not_verify() {
    let (gateway, keys) = signing("responses = \"all\"");
    let host = Host::start();
    let mut response = Ask::new(Transport::Rest, &host.profile("/p", &profile_of(Release::NEWEST))).send(&gateway);
    assert!(signer_of(&response, &keys).is_some());
    response.body = response.body.replace("prod_abc123", "prod_abc124");
    assert!(std::panic::catch_unwind(|| signer_of(&response, &keys)).is_err());
}

/// Fetches are sent under the gateway's own name, with proof.
#[test]
fn sig_10_requests_of_the_gateway_say_who_asks_and_are_signed() {
    let (gateway, keys) = signing("");
    let host = Host::start();
    let url = host.put("/p?q=1", Page::json(&profile_of(Release::NEWEST)));
    Ask::new(Transport::Rest, &url).answer(&gateway);
    let request = host.last_request("/p?q=1");
    let headers = request.headers();
    let own = format!("profile=\"http://{}/.well-known/ucp\"", gateway.address);
    assert_eq!(headers["ucp-agent"], own);
    for secret in ["authorization", "cookie", "x-api-key", "referer"] {
        assert!(!headers.contains_key(secret), "{request:?}");
    }
    let authority = host.address().to_string();
    let line =
        RequestLine { method: "GET", scheme: Scheme::Http, authority: &authority, path: "/p", query: Some("q=1") };
    let message = Message { start: Start::Request(line), headers };
    let signed = Signed::read(headers).expect("readable").expect("signed");
    let verified =
        signed.verify(&message, b"", &keys, now()).unwrap_or_else(|refusal| panic!("{refusal}: {request:?}"));
    assert_eq!(verified.keyid, keys[0].kid());
}

#[test]
fn answers_cannot_be_signed_without_a_key_and_that_is_said_at_once() {
    let data = sample_shop();
    let data = data.path().to_str().expect("a path");
    let setup = Setup::new("[signatures]\nresponses = \"all\"\n");
    let said = setup.arguments(&["--listen", "127.0.0.1:0", "--data-dir", data]).run("serve").expect_err("refused");
    assert!(said.contains("there is no key") && said.contains("ucp-gateway keys generate"), "{said}");
}
