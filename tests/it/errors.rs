//! One registry of failures: each code that can be provoked from outside, over every transport, in every release.
//!
//! A new code does not compile before this file says how it is provoked, or why it cannot be.

use std::{collections::BTreeSet, ops::Deref};

use serde_json::{Value, json};
use ucp_core::{Code, Release};
use ucp_trust::{api_key::ApiKey, jwk::Algorithm, signature::SigningKey};
use ucp_wire::{
    documents::release_path,
    refusal::{http_status, json_rpc},
};

use crate::{
    harness::{Gateway, Lent, Runs, Shared, own_schema_of, repository, rpc, tells_all},
    platforms::host::{Host, MARKER, Page, profile_of},
    setup::{Ask, Configured, REQUIRE, Setup, Transport},
    signatures::{Draft, key, signing},
    wire::{self, Response},
};

const STRANGER: &str = "https://stranger.example.com/p";

/// The gateways that failures need, for all tests here.
struct Gateways {
    gateway: Configured,
    /// Gateway with a limit of zero requests.
    strict: Configured,
    /// Gateway that accepts purchases from everyone.
    open: Configured,
    /// Gateway without a free slot, while the host holds back a profile.
    full: Configured,
    api_key: ApiKey,
}

impl Runs for Gateways {
    fn gateways(&self) -> Vec<&Gateway> {
        vec![&self.gateway, &self.strict, &self.open, &self.full]
    }
}

/// Everything that failures need.
struct Stage {
    gateways: Lent<Gateways>,
    host: Host,
    signer: SigningKey,
}

impl Deref for Stage {
    type Target = Gateways;

    fn deref(&self) -> &Gateways {
        &self.gateways
    }
}

/// Way to get a response with a certain code.
struct Plan<'a> {
    gateway: &'a Gateway,
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// `true` if the answer is a JSON-RPC message.
    framed: bool,
    /// The release it is written in.
    release: Release,
}

impl Gateways {
    fn start() -> Self {
        let api_key = ApiKey::generate().expect("a key");
        let registered = format!(
            "[[platform]]\nname = \"Other\"\nprofile = \"https://other.example.com/p\"\nprofile_file = \"p.json\"\n\
             api_key_hash = \"{}\"\n",
            api_key.hash()
        );
        let strict = REQUIRE.replace("anonymous = \"none\"", "anonymous = { per_second = 1, burst = 1 }");
        Self {
            gateway: Setup::new(&[REQUIRE, &registered].concat())
                .file("p.json", &profile_of(Release::NEWEST).to_string())
                .start(),
            strict: Configured::start(&strict),
            open: Configured::start(&REQUIRE.replace("\"require\"", "\"development\"")),
            full: Configured::start(&[REQUIRE, "[server]\nmax_in_flight = 1\n"].concat()),
            api_key,
        }
    }
}

impl Stage {
    fn start() -> Self {
        static SHARED: Shared<Gateways> = Shared::new();
        Self { gateways: SHARED.get(Gateways::start), host: Host::start(), signer: key(Algorithm::Es256) }
    }

    /// The profile of a platform that speaks a release, and signs.
    fn profile(&self, release: Release) -> String {
        self.host.profile(&format!("/{release}"), &signing(profile_of(release), &[&self.signer]))
    }

    fn plan(&self, release: Release, transport: Transport, ask: &Ask) -> Plan<'_> {
        Plan {
            gateway: &self.gateway,
            method: "POST",
            path: ask.path(),
            headers: ask.headers(),
            body: ask.body(),
            framed: transport != Transport::Rest,
            release,
        }
    }

    fn draft(&self, release: Release, transport: Transport, draft: Draft) -> Plan<'_> {
        let headers =
            draft.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().expect("text").into()));
        Plan {
            gateway: &self.gateway,
            method: "POST",
            headers: headers.collect(),
            path: draft.path,
            body: draft.body,
            framed: transport != Transport::Rest,
            release,
        }
    }

    /// Way to provoke a code over a transport at the endpoint of a version, or the reason why that is impossible.
    fn provoke(&self, code: Code, transport: Transport, release: Release) -> Result<Plan<'_>, &'static str> {
        let profile = self.profile(release);
        let ask = Ask::new(transport, &profile).at(Some(release));
        let plain = || self.plan(release, transport, &ask);
        let asking = |ask: Ask| Ok(self.plan(release, transport, &ask));
        let unsigned = || Draft::at(Some(release), &self.gateway, transport, &profile);
        let signed = || unsigned().signed(&self.signer);
        let drafted = |draft: Draft| Ok(self.draft(release, transport, draft));
        let is_rest = transport == Transport::Rest;
        let message = |message: Value| Ok(Plan { body: message.to_string().into_bytes(), ..plain() });
        match code {
            Code::MalformedJson => Ok(Plan { body: b"{".to_vec(), ..plain() }),
            Code::InvalidRequest => asking(ask.of("get_product", json!({ "id": [] }))),
            Code::InvalidMessage if is_rest => Err("there is no framing on REST"),
            Code::InvalidMessage => message(json!([])),
            Code::InvalidCursor => {
                asking(ask.of("search_catalog", json!({ "query": "x", "pagination": { "cursor": "made up" } })))
            }
            Code::RequestTooLarge => {
                let ids: Vec<_> = (0..101).map(|number| number.to_string()).collect();
                asking(ask.of("lookup_catalog", json!({ "ids": ids })))
            }
            Code::InvalidProfileUrl => asking(ask.unnamed()),
            Code::DigestMismatch => drafted(signed().saying(b"{\"id\":\"other\"}")),
            Code::AlgorithmUnsupported => {
                let input =
                    unsigned().signed(&self.signer).header("signature-input").to_owned() + ";alg=\"hmac-sha256\"";
                drafted(signed().with("Signature-Input", &input))
            }
            Code::SignatureMissing => drafted(signed().without("signature")),
            Code::SignatureInvalid => drafted(signed().with("Content-Type", "application/json; charset=utf-8")),
            Code::KeyNotFound => drafted(unsigned().signed(&key(Algorithm::Es256))),
            Code::Unauthorized => asking(ask.header("X-API-Key", "ucpk_nobody")),
            Code::Forbidden => asking(ask.header("X-API-Key", self.api_key.reveal())),
            Code::OriginForbidden if is_rest => Err("REST has nothing that a page could misuse, and takes any origin"),
            Code::OriginForbidden => asking(ask.header("Origin", "https://evil.example")),
            Code::UnknownPath | Code::MethodNotAllowed if !is_rest => {
                Err("what leads to no endpoint has no framing, and is answered as on REST")
            }
            // Routes that are not there belong to no release.
            Code::UnknownPath => {
                let path = format!("{}/nowhere", release_path(release));
                Ok(Plan { path, release: Release::NEWEST, ..plain() })
            }
            Code::MethodNotAllowed => Ok(Plan { method: "DELETE", release: Release::NEWEST, ..plain() }),
            Code::UnknownMethod | Code::UnknownTool if is_rest => Err("REST has paths instead"),
            Code::UnknownMethod => message(rpc("unheard_of", &json!({}))),
            Code::UnknownTool => message(rpc("tools/call", &json!({ "name": "unheard_of", "arguments": {} }))),
            Code::NotAcceptable if is_rest => Err("REST answers in JSON, whatever is accepted"),
            Code::NotAcceptable => asking(ask.header("Accept", "text/html")),
            Code::RequestTimeout => Err("it takes ten seconds, and has a test of its own"),
            Code::BodyTooLarge => Ok(Plan { body: vec![b' '; 1024 * 1024 + 1], ..plain() }),
            Code::UnsupportedMediaType => {
                let headers = ask.headers().into_iter().filter(|(name, _)| name != "Content-Type").collect();
                Ok(Plan { headers, ..plain() })
            }
            Code::TransferCodingUnsupported if !is_rest => Err("what HTTP leaves unread has no framing"),
            Code::TransferCodingUnsupported => asking(ask.header("Transfer-Encoding", "gzip, chunked")),
            Code::IdempotencyConflict => {
                let key = format!("{release}-{transport:?}-{}", uuid::Uuid::new_v4());
                let buying = |quantity: u64| {
                    let lines = json!([{ "item": { "id": "var_abc123_blue_8" }, "quantity": quantity }]);
                    let ask = Ask::new(transport, STRANGER).at(Some(release)).header("Idempotency-Key", &key);
                    let ask = ask.of("create_checkout", json!({ "line_items": lines }));
                    Plan { gateway: &self.open, ..self.plan(release, transport, &ask) }
                };
                let first = buying(1).send(None);
                assert!([200, 201].contains(&first.status), "{first:?}");
                Ok(buying(2))
            }
            Code::ProfileMalformed => {
                let url = self.host.put("/malformed", Page::text("text/html", format!("<html>{MARKER}</html>")));
                asking(Ask::new(transport, &url).at(Some(release)))
            }
            Code::VersionUnsupported => {
                let other = Release::ALL.iter().find(|other| **other != release).expect("another");
                asking(Ask::new(transport, &self.profile(*other)).at(Some(release)))
            }
            Code::ProfileUnreachable => {
                let url = self.host.put("/unreachable", Page::status(500));
                asking(Ask::new(transport, &url).at(Some(release)))
            }
            Code::RateLimited => Ok(Plan { gateway: &self.strict, ..plain() }),
            Code::InternalError => {
                Err("nothing that a caller sends makes the gateway fail; the crates provoke it from inside")
            }
            Code::StoredDataDamaged => Err("nothing that a caller sends damages the database; see `at_rest`"),
            Code::UpstreamInvalid => Err("no shop of another program is behind this gateway; see `ucp-bridge`"),
            Code::Unavailable => Ok(Plan {
                gateway: &self.full,
                ..self.plan(release, transport, &Ask::new(transport, STRANGER).at(Some(release)))
            }),
        }
    }
}

impl Plan<'_> {
    fn send(&self, id: Option<&str>) -> Response {
        let named = id.map(|id| ("Request-Id", id));
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<_> = own.chain(named).collect();
        self.gateway.send(self.method, &self.path, &headers, &self.body)
    }

    /// Sends it as often as it takes to come to this code.
    #[track_caller]
    fn outcome(&self, code: Code, id: Option<&str>) -> Response {
        let patience = if code == Code::RateLimited { 500 } else { 1 };
        let last = (0..patience).map(|_| self.send(id)).find(|response| response.status == http_status(code));
        last.unwrap_or_else(|| panic!("{code} at {}: {:?}", self.path, self.send(id)))
    }
}

/// Common part of all errors.
#[track_caller]
fn check(code: Code, plan: &Plan<'_>, response: &Response, id: Option<&str>) {
    let context = format!("{code} at {}: {response:?}", plan.path);
    let founding = plan.release < Release::V2026_04_08;
    assert_eq!(response.status, http_status(code), "{context}");
    let own = response.header("request-id").unwrap_or_else(|| panic!("an identifier: {context}"));
    match id {
        Some(id) => assert_eq!(own, id, "{context}"),
        None => assert_eq!(own.len(), 36, "{context}"),
    }
    let mut document = response.json();
    let body = if plan.framed {
        assert_eq!(document["jsonrpc"], "2.0", "{context}");
        assert!(document.get("result").is_none() && document.get("id").is_some(), "{context}");
        let number = json_rpc(code);
        let number = if founding && (-32099..=-32000).contains(&number) { -32603 } else { number };
        assert_eq!(document["error"]["code"], number, "{context}");
        tells_all(&document["error"]);
        let data = document["error"]["data"].take();
        assert_eq!(data["request_id"], own, "{context}");
        data
    } else {
        own_schema_of(plan.release, "error").validate(&document).unwrap_or_else(|fault| panic!("{fault}: {context}"));
        document
    };
    assert_eq!(body["code"], code.as_str(), "{context}");
    assert!(body["content"].as_str().is_some_and(|content| content.ends_with('.')), "{context}");
    assert_eq!(body["retryable"], code.retryable(), "{context}");
    if founding {
        let (status, list) = if plan.framed { ("error", "errors") } else { ("requires_escalation", "messages") };
        assert_eq!((&body["status"], &body[list][0]["code"]), (&json!(status), &json!(code.as_str())), "{context}");
    }
    let after = response.header("retry-after").map(|seconds| seconds.parse::<u64>().expect("seconds"));
    assert_eq!(body.get("retry_after").and_then(Value::as_u64), after, "{context}");
    let tells_when = [Code::RateLimited, Code::Unavailable, Code::ProfileUnreachable].contains(&code);
    assert_eq!(after.is_some(), tells_when, "{context}");
    let challenge = response.header("www-authenticate");
    assert_eq!(
        challenge.is_some_and(|challenge| challenge.starts_with("Bearer ")),
        response.status == 401,
        "{context}"
    );
    leaks_nothing(response);
}

/// Checks that a response reveals nothing about the inside of the gateway, nor responses of other hosts.
#[track_caller]
fn leaks_nothing(response: &Response) {
    let whole = format!("{response:?}");
    for marker in ["panicked", ".rs:", "backtrace", "thread '", "src/", "/home", "/root", MARKER] {
        assert!(!whole.contains(marker), "{marker}: {whole}");
    }
    for place in [repository(), std::env::temp_dir()] {
        assert!(!whole.contains(place.to_str().expect("a path")), "{whole}");
    }
}

#[test]
fn every_code_is_said_alike_over_every_transport_and_in_every_release() {
    let stage = Stage::start();
    let held = Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST))));
    let slow = stage.host.put("/slow", held);
    let (mut provoked, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    std::thread::scope(|scope| {
        // Takes the only place until the end.
        let full = &stage.full;
        scope.spawn(move || Ask::new(Transport::Rest, &slow).answer(full));
        stage.host.wait_for_visit("/slow");
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for code in Code::ALL {
                for transport in Transport::ALL {
                    for release in Release::ALL.iter().copied() {
                        let plan = match stage.provoke(*code, transport, release) {
                            Ok(plan) => plan,
                            Err(reason) => {
                                left_out.insert(format!("{code} over {transport:?}: {reason}"));
                                continue;
                            }
                        };
                        provoked.insert(code.as_str());
                        for id in [Some("trace-7:1"), None] {
                            check(*code, &plan, &plan.outcome(*code, id), id);
                        }
                    }
                }
            }
        }));
        stage.host.release();
        checked.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    });
    println!("not provoked here:");
    left_out.iter().for_each(|reason| println!("  {reason}"));
    let never: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).filter(|code| !provoked.contains(code)).collect();
    assert_eq!(never, ["request_timeout", "internal_error", "stored_data_damaged", "upstream_invalid"]);
}

/// A body that does not come to its end. All of them are waited for together.
#[test]
fn requests_that_do_not_arrive_in_time_are_told_so() {
    let stage = Stage::start();
    let all: Vec<_> = Transport::ALL
        .into_iter()
        .flat_map(|transport| Release::ALL.iter().map(move |release| (transport, *release)))
        .collect();
    let waiting: Vec<_> = all
        .into_iter()
        .map(|(transport, release)| {
            let profile = stage.profile(release);
            let plan = stage.plan(release, transport, &Ask::new(transport, &profile).at(Some(release)));
            let mut headers: Vec<_> =
                plan.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            headers.push(("Request-Id", "slow"));
            let bytes = wire::request("POST", &plan.path, &headers, &plan.body);
            let mut connection = plan.gateway.connect();
            connection.write(&bytes[..bytes.len() - 1]);
            (plan, connection)
        })
        .collect();
    for (plan, mut connection) in waiting {
        check(Code::RequestTimeout, &plan, &connection.read().expect("an answer"), Some("slow"));
    }
}

/// Answers that are no failures have identifiers, too.
#[test]
fn every_answer_says_which_request_it_belongs_to() {
    let stage = Stage::start();
    let mut made = BTreeSet::new();
    for release in Release::ALL.iter().copied() {
        let profile = stage.profile(release);
        for endpoint in [None, Some(release)] {
            for transport in Transport::ALL {
                let ask = Ask::new(transport, &profile).at(endpoint);
                for payload in [json!({ "id": "prod_abc123" }), json!({ "id": "nothing" })] {
                    let ask = ask.clone().of("get_product", payload);
                    let response = ask.clone().header("Request-Id", "trace-7:1").send(&stage.gateway);
                    assert_eq!(response.header("request-id"), Some("trace-7:1"), "{response:?}");
                    let told = response.json();
                    let told = told["result"]["_meta"]
                        .get("ucp-gateway/request-id")
                        .or(told["error"]["data"].get("request_id"));
                    let expected = match transport {
                        Transport::Tool => Some(&json!("trace-7:1")).cloned(),
                        // A bare document has no place for it, an error has.
                        _ => told.is_some().then(|| json!("trace-7:1")),
                    };
                    assert_eq!(told.cloned(), expected, "{response:?}");
                    let own = ask.send(&stage.gateway).header("request-id").expect("an identifier").to_owned();
                    assert!(made.insert(own), "no two are alike");
                    leaks_nothing(&response);
                }
            }
        }
    }
    for (path, status) in [("/.well-known/ucp", 200), ("/openapi.json", 200), ("/nowhere", 404), ("/mcp", 405)] {
        let response = stage.gateway.send("GET", path, &[("Request-Id", "r-1")], b"");
        assert_eq!((response.status, response.header("request-id")), (status, Some("r-1")), "{path}");
    }
    // Invalid identifiers are not repeated.
    let long = "a".repeat(129);
    for odd in ["", "a b", "<script>", "\u{e9}", &long] {
        let ask = Ask::new(Transport::Rest, &stage.profile(Release::NEWEST)).header("Request-Id", odd);
        let response = ask.send(&stage.gateway);
        assert_eq!(response.header("request-id").map(str::len), Some(36), "{odd}");
    }
}

/// A failure of the other side says what was wrong with it, and not what it said.
#[test]
fn no_answer_repeats_what_a_host_of_profiles_said() {
    let stage = Stage::start();
    let secret = |page: Page| page.header(&format!("X-Secret: {MARKER}"));
    let pages = [
        secret(Page::status(500)),
        secret(Page::status(401)).header(&format!("WWW-Authenticate: Basic realm=\"{MARKER}\"")),
        secret(Page::redirect(302, &format!("http://127.0.0.1:1/{MARKER}"))),
        secret(Page::text("text/html", format!("<html>{MARKER}</html>"))),
        secret(Page::json(&json!({ "ucp": { "version": MARKER } }))),
        secret(Page::json(&json!({ "ucp": { "version": "2026-04-08", "capabilities": MARKER } }))),
        secret(Page::json(&json!({ MARKER: MARKER }))),
        Page::Half,
        Page::Noise,
    ];
    for (number, page) in pages.into_iter().enumerate() {
        let url = stage.host.put(&format!("/page-{number}"), page);
        for transport in Transport::ALL {
            let response = Ask::new(transport, &url).send(&stage.gateway);
            assert!((400..500).contains(&response.status), "{response:?}");
            leaks_nothing(&response);
        }
    }
    // A release that looks like one is repeated, and nothing else is.
    let odd = json!({ "ucp": { "version": "2031-01-01", "capabilities": {}, "note": MARKER } });
    let response = Ask::new(Transport::Tool, &stage.host.profile("/odd", &odd)).send(&stage.gateway);
    assert!(response.body.contains("2031-01-01"), "{response:?}");
    leaks_nothing(&response);
}
