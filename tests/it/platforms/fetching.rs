//! Faults of a profile, and attacks by profiles (rules AGT-04 to AGT-08, SEC-02, SEC-03).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ucp_core::Release;

use super::host::{Canary, Host, MARKER, Page, profile_of};
use crate::{
    harness::{Lent, eventually},
    setup::{Ask, Configured, REQUIRE, Refused, Setup, Transport, requiring},
};

/// A gateway that fetches profiles from a host beside it.
struct FetchingSetup {
    gateway: Lent<Configured>,
    host: Host,
    canary: Canary,
}

impl FetchingSetup {
    fn start(configuration: &str) -> Self {
        Self::with(Lent::own(Configured::start(configuration)))
    }

    fn shared() -> Self {
        Self::with(requiring())
    }

    fn with(gateway: Lent<Configured>) -> Self {
        Self { gateway, host: Host::start(), canary: Canary::start() }
    }

    /// The refusal of a caller with this page as profile, which says the same whichever way the call comes.
    #[track_caller]
    fn refusal(&self, name: &str, page: &Page) -> Refused {
        let mut refusals = Transport::ALL.map(|transport| {
            // Each of them causes a fetch of its own.
            let path = format!("/{name}/{transport:?}");
            let url = self.host.put(&path, page.clone());
            let refused = Ask::new(transport, &url).refusal(&self.gateway);
            assert!(self.host.visits(&path) <= 1, "{name}: fetched once");
            assert!(!refused.response.body.contains(MARKER), "{refused:?}");
            refused
        });
        assert_eq!(refusals[1].number, Some(-32001), "{name}");
        assert_eq!(refusals[2].number, Some(-32001), "{name}");
        let said = |refused: &Refused| (refused.status, refused.code.clone(), refused.content.clone());
        assert_eq!(said(&refusals[0]), said(&refusals[1]), "{name}");
        assert_eq!(said(&refusals[0]), said(&refusals[2]), "{name}");
        refusals[0].response.body.clear();
        refusals[0].clone()
    }
}

#[track_caller]
fn unreachable(refused: &Refused, rule: &str) {
    assert_eq!(refused.verdict(), (424, "profile_unreachable"), "{refused:?}");
    assert!(refused.content.contains(rule), "{rule}: {refused:?}");
    assert!(refused.retry_after().is_some_and(|seconds| seconds >= 1), "{refused:?}");
}

#[track_caller]
fn malformed(refused: &Refused, rule: &str) {
    assert_eq!(refused.verdict(), (422, "profile_malformed"), "{refused:?}");
    assert!(refused.content.contains(rule), "{rule}: {refused:?}");
    assert_eq!(refused.retry_after(), None, "{refused:?}");
}

#[test]
fn sec_02_redirects_are_refused_and_never_followed() {
    let place = FetchingSetup::shared();
    for status in [301, 302, 303, 307, 308] {
        for (target, to) in [("canary", place.canary.url()), ("same", place.host.url("/fine")), ("nowhere", "/".into())]
        {
            place.host.profile("/fine", &profile_of(Release::NEWEST));
            let refused = place.refusal(&format!("{status}/{target}"), &Page::redirect(status, &to));
            unreachable(&refused, &format!("answered with a redirect ({status}). Redirects are not followed."));
        }
    }
    assert_eq!(place.host.visits("/fine"), 0);
    place.canary.is_untouched();
}

#[test]
fn agt_04_answers_without_a_profile_are_named_by_their_status() {
    let place = FetchingSetup::shared();
    for status in [201, 204, 401, 403, 404, 410, 429, 500, 503] {
        let page = if status == 204 { Page::Answer(204, vec![], vec![]) } else { Page::status(status) };
        unreachable(&place.refusal(&status.to_string(), &page), &format!("status {status} instead of 200"));
    }
}

#[test]
fn agt_04_answers_that_break_off_are_no_profiles() {
    let place = FetchingSetup::shared();
    for (name, page) in [("half", Page::Half), ("noise", Page::Noise), ("nothing", Page::Nothing)] {
        unreachable(&place.refusal(name, &page), "did not send a whole HTTP response");
    }
}

#[test]
fn agt_05_slow_hosts_are_given_up_on() {
    let place = FetchingSetup::start(&REQUIRE.replace("30000", "150"));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    // Answers before the answer, of which HTTP allows any number.
    let early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".to_vec();
    let pages = [
        ("body", Page::drip(&format!("{head}Content-Length: 9999\r\n\r\n{{"))),
        ("header", Page::drip(&format!("{head}X-Slow: "))),
        ("status", Page::drip("HTTP/1.1 200 O")),
        ("early", Page::Forever(Vec::new(), early, Some(Duration::from_millis(20)))),
        ("silent", Page::Held(Box::new(Page::Nothing))),
    ];
    // As many at a time as one host may keep waiting.
    for pages in pages.chunks(3) {
        std::thread::scope(|scope| {
            for (name, page) in pages {
                let place = &place;
                scope.spawn(move || unreachable(&place.refusal(name, page), "did not send it in time"));
            }
        });
    }
}

#[test]
fn sec_03_bodies_are_read_up_to_256_kib() {
    let place = FetchingSetup::shared();
    let padded = |length: usize| {
        let mut text = profile_of(Release::NEWEST).to_string();
        text.extend(std::iter::repeat_n(' ', length - text.len()));
        Page::text("application/json", text)
    };
    let limit = 256 * 1024;
    for transport in Transport::ALL {
        let url = place.host.put(&format!("/largest/{transport:?}"), padded(limit));
        Ask::new(transport, &url).answer(&place.gateway);
    }
    malformed(&place.refusal("larger", &padded(limit + 1)), "larger than 262144 bytes");
    malformed(&place.refusal("endless", &Page::endless()), "larger than 262144 bytes");
}

#[test]
fn sec_03_heads_without_end_are_not_read_to_it() {
    let place = FetchingSetup::shared();
    for (name, line) in [("many", "X-A: b\r\n".to_owned()), ("long", "x".repeat(10_000))] {
        unreachable(&place.refusal(name, &Page::endless_head(&line)), "did not send a whole HTTP response");
    }
}

/// A bomb is small on the wire. What is not unpacked does not go off.
#[test]
fn sec_03_content_codings_are_refused_unread() {
    let place = FetchingSetup::shared();
    // The first bytes of a gzip member; nobody gets to see that the rest is missing.
    let bomb = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3][..], &[0; 1_000]].concat();
    for coding in ["gzip", "br", "zstd", "deflate", "gzip, gzip"] {
        let page = Page::text("application/json", bomb.clone()).header(&format!("Content-Encoding: {coding}"));
        malformed(&place.refusal(&coding.replace(", ", "-"), &page), "content coding, although none was accepted");
    }
    let request = place.host.last_request("/gzip/Rest");
    assert_eq!(request.headers()["accept-encoding"], "identity", "{request:?}");
}

#[test]
fn agt_04_documents_that_are_no_profiles_are_refused_with_the_place() {
    let place = FetchingSetup::shared();
    let deep = format!("{{\"ucp\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let utf8 = b"{\"ucp\":{\"version\":\"2026-04-08\",\"x\":\"\xff\"}}".to_vec();
    let version = |version: Value| json!({ "ucp": { "version": version } }).to_string().into_bytes();
    let capabilities = |entries: Value| {
        json!({ "ucp": { "version": "2026-04-08", "capabilities": entries } }).to_string().into_bytes()
    };
    for (name, body, rule) in [
        ("html", format!("<html>{MARKER}</html>").into_bytes(), "cannot be read"),
        ("empty", vec![], "cannot be read"),
        ("deep", deep.into_bytes(), "cannot be read"),
        ("twice", b"{\"ucp\":{\"version\":\"2026-04-08\"},\"ucp\":{}}".to_vec(), "cannot be read"),
        ("bytes", utf8, "cannot be read"),
        ("two", b"{} {}".to_vec(), "cannot be read"),
        ("array", b"[]".to_vec(), "`$` must be an object"),
        ("bare", b"{}".to_vec(), "`$.ucp` is missing"),
        ("unversioned", b"{\"ucp\":{}}".to_vec(), "`$.ucp.version` is missing or no date"),
        ("draft", version(json!("draft")), "`$.ucp.version` is missing or no date"),
        ("number", version(json!(20_260_408)), "`$.ucp.version` is missing or no date"),
        ("list", capabilities(json!([3])), "`$.ucp.capabilities[0]` must be an object"),
        ("text", capabilities(json!("all")), "`$.ucp.capabilities` is neither"),
        ("flag", capabilities(json!({ "dev.ucp.shopping.catalog.search": true })), "is neither an array nor an object"),
    ] {
        malformed(&place.refusal(name, &Page::text("application/json", body)), rule);
    }
}

#[test]
fn agt_05_hosts_that_are_not_there_or_speak_no_tls_are_out_of_reach() {
    let place = FetchingSetup::shared();
    let plain = place.host.address();
    let closed = ucp_testkit::leash::free_address();
    for (url, rule) in [
        (format!("http://{closed}/p"), "No connection to the host"),
        (format!("https://{plain}/p"), "does not speak TLS"),
    ] {
        for transport in Transport::ALL {
            unreachable(&Ask::new(transport, &url).refusal(&place.gateway), rule);
        }
    }
    assert_eq!(place.host.visits("/p"), 0);
}

/// Addresses inside of a profile are texts.
#[test]
fn sec_03_nothing_inside_a_profile_is_fetched() {
    let place = FetchingSetup::shared();
    let (nested, canary) = (place.host.url("/nested"), place.canary.url());
    let entry = |url: &str| json!([{ "version": Release::NEWEST.date(), "spec": url, "schema": url, "config": { "webhook_url": url } }]);
    let profile = json!({
        "$schema": canary,
        "ucp": {
            "version": Release::NEWEST.date(),
            "supported_versions": { "2026-04-08": nested },
            "services": { "dev.ucp.shopping": [{ "version": "2026-08-25", "transport": "rest", "endpoint": canary, "schema": nested }] },
            "capabilities": {
                "dev.ucp.shopping.catalog.search": entry(&canary),
                "dev.ucp.shopping.catalog.lookup": entry(&nested),
                "dev.ucp.shopping.order": entry(&canary),
            },
            "payment_handlers": { "com.example.pay": [{ "version": "2026-08-25", "spec": canary, "config_schema": nested }] },
        },
        "keys": [{ "kid": "k", "kty": "EC", "jku": canary, "x5u": nested }],
        "signing_keys": [{ "kid": "s", "kty": "RSA", "x5u": canary }],
    });
    let url = place.host.profile("/own", &profile);
    for transport in Transport::ALL {
        Ask::new(transport, &url).answer(&place.gateway);
    }
    assert_eq!((place.host.visits("/own"), place.host.all_visits()), (1, 1));
    place.canary.is_untouched();
}

#[test]
fn agt_05_fifty_first_calls_at_once_cause_one_fetch_and_a_thousand_more_none() {
    let place = FetchingSetup::shared();
    // However short its server wants it to be kept.
    let page = Page::json(&profile_of(Release::NEWEST)).header("Cache-Control: no-store, max-age=0");
    let url = place.host.put("/popular", Page::Held(Box::new(page)));
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..50)
            .map(|number| {
                let (gateway, url) = (&place.gateway, &url);
                scope.spawn(move || Ask::new(Transport::ALL[number % 3], url).answer(gateway))
            })
            .collect();
        place.host.wait_for_visit("/popular");
        place.host.release();
        for call in asked {
            assert_eq!(call.join().expect("an answer")["product"]["id"], "prod_abc123");
        }
    });
    assert_eq!(place.host.visits("/popular"), 1);
    for number in 0..1_000 {
        let response = Ask::new(Transport::ALL[number % 3], &url).send(&place.gateway);
        assert_eq!(response.status, 200, "{response:?}");
    }
    assert_eq!(place.host.visits("/popular"), 1);
}

/// Number of fetches that can fail in that many seconds: again after 1, 2, 4 … of them.
fn most_attempts(seconds: u64) -> usize {
    1 + (seconds + 1).ilog2() as usize
}

/// However an address is written, it is the same one, and asked once.
#[test]
fn agt_08_spellings_of_one_address_cause_one_fetch() {
    let place = FetchingSetup::shared();
    place.host.profile("/p?a=b", &profile_of(Release::NEWEST));
    let (port, base) = (place.host.address().port(), place.host.url(""));
    for number in 0..60 {
        let spelling = match number % 4 {
            0 => format!("{base}/p?a=b#{number}"),
            1 => format!("{base}/{number}/../p?a=b"),
            2 => format!("http://0x7f.1:{port}/p?a=b#{number}"),
            _ => format!("HTTP://127.1:{port}/./p?a=b#"),
        };
        Ask::new(Transport::ALL[number % 3], &spelling).answer(&place.gateway);
    }
    assert_eq!((place.host.visits("/p?a=b"), place.host.all_visits()), (1, 1));
}

#[test]
fn agt_08_fifty_first_calls_at_once_fail_with_one_fetch_too() {
    let place = FetchingSetup::shared();
    let url = place.host.put("/broken", Page::Held(Box::new(Page::status(500))));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..50 {
            let (gateway, url) = (&place.gateway, &url);
            scope.spawn(move || {
                unreachable(&Ask::new(Transport::ALL[number % 3], url).refusal(gateway), "status 500");
            });
        }
        place.host.wait_for_visit("/broken");
        // Those that come before the next attempt find the failure of the first.
        place.host.release();
    });
    let (visits, elapsed) = (place.host.visits("/broken"), start.elapsed().as_secs());
    assert!((1..=most_attempts(elapsed)).contains(&visits), "{visits} fetches in {elapsed} seconds");
}

#[test]
fn agt_08_what_failed_is_left_in_peace_for_a_growing_while_and_then_tried_again() {
    let place = FetchingSetup::shared();
    let url = place.host.put("/flaky", Page::status(500));
    let start = Instant::now();
    for number in 0..300 {
        unreachable(&Ask::new(Transport::ALL[number % 3], &url).refusal(&place.gateway), "status 500");
    }
    let (visits, elapsed) = (place.host.visits("/flaky"), start.elapsed().as_secs());
    assert!((1..=most_attempts(elapsed)).contains(&visits), "{visits} fetches in {elapsed} seconds");

    place.host.profile("/flaky", &profile_of(Release::NEWEST));
    eventually("it is tried again", Duration::from_secs(60), || {
        (Ask::new(Transport::Rest, &url).send(&place.gateway).status == 200).then_some(())
    });
    assert!(place.host.visits("/flaky") <= visits + 1, "the first success ends it");
}

#[test]
fn agt_08_ten_thousand_unknown_addresses_cost_a_few_fetches() {
    let configuration = REQUIRE.replace("per_second = 1000, burst = 1000", "per_second = 1, burst = 5");
    let place = FetchingSetup::start(&configuration);
    place.host.put_everywhere(Page::json(&profile_of(Release::NEWEST)));
    let known = place.host.url("/known");
    Ask::new(Transport::Rest, &known).answer(&place.gateway);
    let start = Instant::now();
    let mut refused = 0;
    for number in 0..2_000 {
        let transport = Transport::ALL[number % 3];
        let ask = Ask::new(transport, &place.host.url(&format!("/unknown/{number}")));
        let response = ask.send(&place.gateway);
        if response.status == 200 {
            continue;
        }
        refused += 1;
        let refusal = Refused::read(transport, &response);
        assert_eq!(refusal.verdict(), (503, "unavailable"), "{refusal:?}");
        assert_eq!(refusal.number.unwrap_or(-32000), -32000, "{refusal:?}");
        assert!(refusal.retry_after().is_some_and(|seconds| (1..=60).contains(&seconds)), "{refusal:?}");
        assert!(refusal.content.contains("too many profiles are being fetched"), "{refusal:?}");
    }
    let allowed = 5 + 1 + usize::try_from(start.elapsed().as_secs()).expect("a short time");
    let fetched = place.host.all_visits();
    assert!(fetched <= allowed, "{fetched} fetches instead of {allowed}");
    assert_eq!(refused, 2_000 - (fetched - 1), "whoever was not fetched was told to come back");
    // Known platforms are still served.
    Ask::new(Transport::Tool, &known).answer(&place.gateway);
    assert_eq!(place.host.visits("/known"), 1);
}

/// A caller that names new profiles all the time uses up its own limit, and nobody else's.
#[test]
fn agt_08_one_address_uses_its_share_of_discovery() {
    let configuration = REQUIRE.replace("per_second = 1000, burst = 1000", "per_second = 1, burst = 20");
    let place = FetchingSetup::start(&[&configuration, "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n"].concat());
    place.host.put_everywhere(Page::json(&profile_of(Release::NEWEST)));
    let ask = |number: usize, client: &str| {
        let ask = Ask::new(Transport::ALL[number % 3], &place.host.url(&format!("/{client}/{number}")));
        ask.header("X-Forwarded-For", client).send(&place.gateway).status
    };
    let start = Instant::now();
    let fetched = (0..200).filter(|number| ask(*number, "198.51.100.1") == 200).count();
    let allowed = 5 + 1 + usize::try_from(start.elapsed().as_secs()).expect("a short time");
    assert!((1..=allowed).contains(&fetched), "{fetched} fetches instead of {allowed}");
    for number in 0..3 {
        assert_eq!(ask(number, "203.0.113.9"), 200, "others have their own");
    }
}

/// One host that answers nobody keeps only its own platforms waiting.
#[test]
fn agt_08_a_slow_host_does_not_keep_the_platforms_of_others_waiting() {
    let (place, slow) = (FetchingSetup::shared(), Host::start());
    let held = Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST))));
    let fine = place.host.profile("/fine", &profile_of(Release::NEWEST));
    std::thread::scope(|scope| {
        for path in ["/1", "/2", "/3", "/4"] {
            let (gateway, url) = (&place.gateway, slow.put(path, held.clone()));
            scope.spawn(move || Ask::new(Transport::Rest, &url).answer(gateway));
            slow.wait_for_visit(path);
        }
        for transport in Transport::ALL {
            let refused = Ask::new(transport, &slow.put("/5", held.clone())).refusal(&place.gateway);
            assert_eq!(refused.verdict(), (503, "unavailable"));
            assert!(refused.retry_after().is_some(), "{refused:?}");
            Ask::new(transport, &fine).answer(&place.gateway);
        }
        assert_eq!(slow.visits("/5"), 0);
        slow.release();
    });
    Ask::new(Transport::Rest, &slow.url("/5")).answer(&place.gateway);
}

/// The one way to make the gateway reach into its own machine has to be asked for, and to be harmless.
#[test]
fn sec_03_profiles_on_this_machine_need_a_gateway_that_only_this_machine_reaches() {
    let development = || Setup::new("[profiles]\nloopback = true\n");
    for reachable in [
        &["--listen", "0.0.0.0:0"][..],
        &["--listen", "[::]:0"],
        &["--listen", "192.0.2.1:8080"],
        &["--listen", "127.0.0.1:0", "--public-url", "https://shop.example.com"],
    ] {
        for command in ["serve", "check-config"] {
            let said = development().arguments(reachable).run(command).expect_err("refused");
            assert!(said.contains("`profiles.loopback`") && said.contains("line 2"), "{said}");
            assert!(said.contains("for development") && said.contains("loopback address"), "{said}");
            assert!(said.contains("`server.listen`"), "{said}");
        }
    }
    for listen in ["127.0.0.1:0", "[::1]:0", "127.8.8.8:0"] {
        let shown = development().arguments(&["--listen", listen]).run("check-config");
        assert!(shown.expect("accepted").contains("loopback = true"));
    }
}
