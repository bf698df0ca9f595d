//! Costs of identifying a caller, without transport and store: `cargo bench -p ucp-service`.
//!
//! The platforms are strangers with a profile of some thirty capabilities each, and there are a thousand of them.

#![allow(missing_docs, reason = "criterion's macros document nothing")]

use std::{
    collections::HashMap,
    hint::black_box,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::{FutureExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, header, request::Parts};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use ucp_core::{
    Operation, Release,
    negotiation::{Declaration, negotiate},
    operation::SupportedOperations,
};
use ucp_service::{
    Call, Endpoint, Ingress,
    access::Principal,
    agent::{Stated, profile_of_header},
    header::UCP_AGENT,
    ingress::{Hosts, Peer, Rules, SignedAnswers},
    negotiated_profile::NegotiatedProfile,
    platform::{Business, Platforms, Policy},
    signing::CurrentKey,
};
use ucp_trust::{
    access_token::Clients,
    address::{ProfileUrl, Reach},
    api_key::ApiKeys,
    client::TrustedProxies,
    directory::{Directory, DirectoryOptions},
    fetch::{Fetch, FetchError, Fetched},
    jwk::Algorithm,
    limit::{BodyLimit, InFlight, Quota, Quotas, RateLimits},
    profile::PlatformProfile,
    signature::{RequestLine, Scheme, Signed, SigningKey, sign_request, sign_response},
};

const PLATFORMS: usize = 1_000;
const HOST: &str = "shop.example.com";
const PATH: &str = "/catalog/lookup";
const BODY: &[u8] = br#"{"ids":["prod_1","prod_2","prod_3","prod_4","prod_5","prod_6","prod_7","prod_8","prod_9"]}"#;

/// The address of a platform's profile.
fn address(number: usize) -> String {
    format!("https://agent-{number}.example.com/.well-known/ucp/profile.json")
}

fn name(number: usize) -> String {
    match number {
        0 => "dev.ucp.shopping.catalog.search".to_owned(),
        1 => "dev.ucp.shopping.catalog.lookup".to_owned(),
        _ => format!("com.example.shopping.capability_{number}"),
    }
}

/// Capabilities; every other one extends the one before, and every third is declared in two versions.
fn declarations(count: usize) -> Vec<Declaration> {
    let dates = ["2026-08-25", "2026-04-08"];
    let one = |number: usize, version: &str| Declaration {
        name: name(number),
        version: version.to_owned(),
        extends: if number % 2 == 1 && number > 1 { vec![name(number - 1)] } else { Vec::new() },
        ..Declaration::default()
    };
    let versions = |number: usize| dates.iter().take(if number.is_multiple_of(3) { 2 } else { 1 });
    (0..count).flat_map(|number| versions(number).map(move |version| one(number, version))).collect()
}

/// A profile in which this key is published.
fn profile(key: &SigningKey) -> Value {
    let mut capabilities = serde_json::Map::new();
    for Declaration { name, version, extends, .. } in declarations(30) {
        let mut entry = json!({
            "version": version,
            "spec": format!("https://example.com/specification/{name}"),
            "schema": format!("https://example.com/schemas/{name}.json"),
        });
        if !extends.is_empty() {
            entry["extends"] = extends.into();
        }
        match capabilities.get_mut(&name) {
            Some(Value::Array(entries)) => entries.push(entry),
            _ => drop(capabilities.insert(name, json!([entry]))),
        }
    }
    let version = Release::NEWEST.date();
    json!({ "ucp": { "version": version, "capabilities": capabilities }, "keys": [key.public().to_jwk()] })
}

/// A network in which every platform has the same profile; nothing else can be reached.
struct Network(Bytes);

impl Fetch for Network {
    fn fetch<'a>(&'a self, url: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let found = url.as_str().starts_with("https://agent-").then(|| self.0.clone());
        let day = Some(Duration::from_hours(24));
        Box::pin(async move { found.map(|body| Fetched { body, max_age: day }).ok_or(FetchError::Connection) })
    }
}

/// The platforms of this network, known already, under a policy for all others.
fn platforms(runtime: &Runtime, key: &SigningKey, policy: Policy) -> Platforms {
    let business = Arc::new(Business::new(&SupportedOperations::everything(), None));
    let negotiated_profile = Arc::clone(&business);
    let network = Network(profile(key).to_string().into());
    let options = DirectoryOptions { fetch_burst: 1_000_000, ..DirectoryOptions::default() };
    let directory: Directory<NegotiatedProfile> =
        Directory::new(network, options, move |profile| negotiated_profile.negotiated_profile(profile));
    for number in 0..PLATFORMS {
        let url = ProfileUrl::parse(&address(number), Reach::Public).expect("an address");
        runtime.block_on(directory.get(&url)).expect("a profile");
    }
    Platforms::new(business, policy, Reach::Public, directory)
}

fn call(profile: &str) -> Call {
    Call {
        operation: Operation::LookupCatalog,
        endpoint: Endpoint::Root,
        id: None,
        payload: Value::Null,
        lenient: false,
        profiles: vec![Stated { place: "the benchmark", text: profile.to_owned() }],
        idempotency_keys: Vec::new(),
        languages: Vec::new(),
        view: None,
        admission: Principal::Anonymous.into(),
        trace: ucp_core::ports::Trace::default(),
    }
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(500_000)
}

fn ingress(platforms: &Platforms, key: Arc<SigningKey>) -> Ingress {
    let quota = Quota::new(1_000_000, 1_000_000);
    let quotas = Quotas { anonymous: quota, signed: quota, platforms: Vec::new(), unverified: quota };
    let signing_key = Arc::new(CurrentKey::default());
    signing_key.set(Some(Arc::clone(&key)), Some(key));
    let rules = Rules {
        hosts: Hosts { names: vec![HOST.to_owned()], ..Hosts::default() },
        scheme: Scheme::Https,
        trusted_proxies: TrustedProxies::default(),
        registered: Vec::new(),
        api_keys: ApiKeys::new([]),
        clients: Clients::new("https://shop.example", Vec::new()),
        certificates: HashMap::new(),
        agents: HashMap::new(),
        limits: RateLimits::new(&quotas),
        documents: RateLimits::new(&quotas),
        in_flight: InFlight::new(512),
        bodies: BodyLimit::new(64 << 20),
        verifies: true,
        signed_answers: SignedAnswers::Concluding,
        signing_key,
        clock: now,
    };
    let bots = Directory::new(Network(Bytes::new()), DirectoryOptions::default(), |_| ());
    Ingress::new(Arc::new(rules), bots, platforms.clone())
}

fn agent(number: usize) -> HeaderValue {
    HeaderValue::from_str(&format!("profile=\"{}\"", address(number))).expect("a header value")
}

/// The head of a request, and the base of its signature if it has one.
fn request(number: usize, key: Option<&SigningKey>) -> (Parts, Vec<u8>) {
    let mut headers = HeaderMap::from_iter([
        (header::HOST, HeaderValue::from_static(HOST)),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::ACCEPT, HeaderValue::from_static("application/json")),
        (UCP_AGENT, agent(number)),
    ]);
    let line = RequestLine { method: "POST", scheme: Scheme::Https, authority: HOST, path: PATH, query: None };
    let sign = |key| sign_request(line, &mut headers, BODY, &[], key, now()).expect("a signature");
    let base = key.map_or_else(Vec::new, sign);
    let mut request = Request::post(PATH).body(()).expect("a request");
    *request.headers_mut() = headers;
    request.extensions_mut().insert(Peer(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7))));
    (request.into_parts().0, base)
}

fn negotiating(criterion: &mut Criterion) {
    let key = SigningKey::generate(Algorithm::Es256).expect("a key");
    let (ours, theirs) = (declarations(15), declarations(30));
    let bytes = profile(&key).to_string();
    let business = Business::new(&SupportedOperations::everything(), None);
    let (read, _) = PlatformProfile::read(bytes.as_bytes()).expect("a profile");
    let mut group = criterion.benchmark_group("once per profile");
    group.bench_function("negotiate 15 capabilities with 30", |bencher| {
        bencher.iter(|| negotiate("2026-08-25", black_box(&ours), black_box(&theirs)));
    });
    group.bench_function("negotiate those of the gateway with 30", |bencher| {
        bencher.iter(|| business.negotiated_profile(black_box(&read)));
    });
    group.bench_function(format!("read a profile of {} bytes", bytes.len()), |bencher| {
        bencher.iter(|| PlatformProfile::read(black_box(bytes.as_bytes())));
    });
}

fn identifying(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let key = SigningKey::generate(Algorithm::Es256).expect("a key");
    let platforms = platforms(&runtime, &key, Policy::Development);
    let calls: Vec<_> = (0..PLATFORMS).map(|number| call(&address(number))).collect();
    let opaque = call("https://opaque.example.com/profile.json");
    runtime.block_on(platforms.identify(&opaque)).expect("served all the same");

    let mut group = criterion.benchmark_group("once per call");
    let mut next = calls.iter().cycle();
    group.bench_function("look a known platform up", |bencher| {
        bencher.iter(|| platforms.directory().peek(&next.next().expect("a call").profiles[0].text));
    });
    group.bench_function("recognize a known platform, with all that is decided about it", |bencher| {
        bencher.iter(|| platforms.recognize(next.next().expect("a call")));
    });
    group.bench_function("identify a platform that cannot be fetched (development)", |bencher| {
        bencher.iter(|| platforms.identify(&opaque).now_or_never());
    });
    group.bench_function("read the address of a profile", |bencher| {
        bencher.iter(|| ProfileUrl::parse(black_box(&opaque.profiles[0].text), Reach::Public));
    });
    let value = agent(1);
    group.bench_function("read `UCP-Agent`", |bencher| {
        bencher.iter(|| profile_of_header(black_box(value.as_bytes())));
    });
}

fn entering(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let key = Arc::new(SigningKey::generate(Algorithm::Es256).expect("a key"));
    let ingress = ingress(&platforms(&runtime, &key, Policy::Require), Arc::clone(&key));
    let pass = |head: &Parts| {
        let entry = ingress.enter(head)?;
        let held = ingress.hold(Ok(&entry), head);
        ingress.admit(entry, head, BODY, held).now_or_never().expect("the platform is known")
    };
    let (plain, _) = request(1, None);
    let (signed, base) = request(1, Some(&key));
    let signature = Signed::read(&signed.headers).ok().flatten().and_then(|signed| {
        let input = signed.candidates().first()?.input.as_ref().ok()?;
        Some(input.signature.clone())
    });
    let signature = signature.expect("a signature");
    pass(&plain).expect("it is let in");
    pass(&signed).expect("it is let in");
    let answer = vec![b'x'; 17_380];
    let headers = || HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);

    let mut group = criterion.benchmark_group("gate");
    group.bench_function("let a request in", |bencher| bencher.iter(|| pass(black_box(&plain))));
    group.bench_function("let a signed request in", |bencher| bencher.iter(|| pass(black_box(&signed))));
    group.bench_function("of that, the curve", |bencher| {
        bencher.iter(|| key.public().verify(black_box(&base), &signature));
    });
    group.bench_function("sign an answer of 17,380 bytes", |bencher| {
        bencher.iter(|| sign_response(200, &mut headers(), black_box(&answer), &key, now()));
    });
    group.bench_function("of that, the curve and its random number", |bencher| {
        bencher.iter(|| key.sign(black_box(&base)).map(drop));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = negotiating, identifying, entering
}
criterion_main!(benches);
