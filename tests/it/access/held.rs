//! Limits of stored resources, of one caller and of all together (rule ERR-03).

use serde_json::{Value, json};
use ucp_testkit::wait::PATIENCE;

use super::*;
use crate::{
    harness::{Gateway, eventually, sample_shop},
    purchase::shopper::{Said, Shopper, id, lines, ready},
};

const WANTED: &str = "var_abc123_blue_10";

/// A policy that takes callers at their word, with these limits on what they hold.
fn limited(limits: &str) -> String {
    format!("[callers]\npolicy = \"development\"\n{limits}\n")
}

#[track_caller]
fn assert_full(said: &Said, status: u16, code: &str, content: &str) {
    let (is, text, body) = said.refusal();
    assert_eq!((said.status, is.as_str()), (status, code), "{said:?}");
    assert!(text.contains(content), "{said:?}");
    assert_eq!(body["retryable"], true, "{body}");
    let seconds = said.response.header("retry-after").and_then(|seconds| seconds.parse::<u32>().ok());
    assert_eq!(seconds, Some(600), "{said:?}");
}

#[test]
fn one_address_holds_so_many_carts_and_checkouts() {
    let key = new_key();
    let platform = format!("[[platform]]\nname = \"Our desk\"\n{}\n", hash(&key));
    let gateway = Setup::new(&limited(&format!("[limits]\nmax_open_carts = 4\n{platform}"))).start();
    let shopper = Shopper::rest(&gateway);
    let cart = json!({ "line_items": lines(&[(WANTED, 1)]) });
    let create = |profile: &str| shopper.clone().named(profile).call("create_cart", None, &cart);
    let first = create("https://one.example.com/p").document();
    create("https://other.example.com/p").document();
    let checkout = shopper.create(&ready(&[(WANTED, 1)]));
    shopper.create(&ready(&[(WANTED, 1)]));
    // Another profile is another claim, not another caller.
    for transport in Transport::ALL {
        let shopper = shopper.over(transport).named("https://third.example.com/p");
        let full = shopper.call("create_cart", None, &cart);
        let (code, content, body) = full.refusal();
        assert_eq!(code, "rate_limited", "{full:?}");
        assert!(content.contains("has 4 carts and checkouts here"), "{full:?}");
        assert!(body["accepted"].as_str().is_some_and(|text| text.contains("an API key")), "{full:?}");
    }
    assert_full(&create("https://one.example.com/p"), 429, "rate_limited", "has 4 carts and checkouts here");
    // Existing resources can be changed and paid for, and an order frees their space.
    let own = shopper.clone().named("https://one.example.com/p");
    own.call("update_cart", Some(id(&first)), &json!({ "line_items": lines(&[(WANTED, 2)]) })).document();
    assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
    create("https://one.example.com/p").document();
    create("https://one.example.com/p").refusal();
    let keyed = shopper.clone().header("X-API-Key", key.reveal());
    for _ in 0..6 {
        keyed.call("create_cart", None, &cart).document();
    }
}

#[test]
fn one_address_holds_so_many_bytes() {
    let gateway = Setup::new(&limited("[limits]\nmax_open_carts_mb = 1\n")).start();
    let shopper = Shopper::rest(&gateway);
    let large = json!({ "line_items": lines(&[(WANTED, 1); 400]) });
    let created: Vec<Said> = (0..30).map(|_| shopper.call("create_cart", None, &large)).collect();
    let kept: Vec<&Said> = created.iter().take_while(|said| said.failure.is_none()).collect();
    assert!((2..30).contains(&kept.len()), "{} carts", kept.len());
    assert_full(created.last().expect("an answer"), 429, "rate_limited", "take 1048576 bytes");
    let cart: Value = kept[0].document();
    // Smaller is possible, and larger not again.
    let small = json!({ "line_items": lines(&[(WANTED, 1)]) });
    shopper.call("update_cart", Some(id(&cart)), &small).document();
    shopper.call("create_cart", None, &small).document();
    let grown = json!({ "line_items": lines(&[(WANTED, 1); 900]) });
    assert_full(&shopper.call("update_cart", Some(id(&cart)), &grown), 429, "rate_limited", "take 1048576 bytes");
}

/// Lets a caller pay for a checkout that it has begun.
#[test]
fn a_full_store_takes_nothing_new_and_finishes_what_is_begun() {
    let data = sample_shop();
    let serve =
        |configuration: &str| -> Gateway { Setup::new(&limited(configuration)).spawn("127.0.0.1:0", data.path()) };
    let open = serve("");
    let checkout = Shopper::rest(&open).create(&ready(&[(WANTED, 1)]));
    drop(open);
    for configuration in ["[data]\nmax_mb = 1\n", "[data]\nmin_free_mb = 1048576\n"] {
        let gateway = serve(configuration);
        let shopper = Shopper::rest(&gateway);
        let wanted = ready(&[(WANTED, 1)]);
        let (method, path, headers, body) = shopper.request(None, "create_checkout", None, &wanted);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let response = gateway.send(method, &path, &headers, &body);
        let refused = Refused::read(Transport::Rest, &response);
        assert_eq!(refused.verdict(), (503, "unavailable"), "{configuration}");
        assert_eq!(refused.retry_after(), Some(600));
        let request = response.header("request-id").expect("an identifier").to_owned();
        eventually("the operator is told", PATIENCE, || {
            let is_told = |line: &str| line.contains(&request) && line.contains("data.max_mb");
            gateway.stderr().lines().any(is_told).then_some(())
        });
        shopper.update(&checkout, &wanted);
    }
    let gateway = serve("[data]\nmax_mb = 1\n");
    assert_eq!(Shopper::rest(&gateway).complete(&checkout, "success_token")["status"], "completed");
}
