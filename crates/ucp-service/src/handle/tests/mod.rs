//! The stages before a call is carried out. What carrying it out leaves behind is tested in `writing`.

mod writing;

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use ucp_core::{
    Code, Operation, Release,
    catalog::market::{Market, Presentation},
    operation::{CART, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, ORDER, SupportedOperations},
    ports::{self, Catalog, Named, Page, PortError, Query, caller::BuyerSignals},
    pricing::terms::Terms,
};
use ucp_testkit::{TestShop, shelf::PlainCursors};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    directory::{Directory, DirectoryOptions},
    fetch::{Fetch, FetchError, Fetched},
};

use super::*;
use crate::{
    access::Principal,
    agent::Stated,
    call::Endpoint,
    platform::{Business, Policy},
};

/// A shop that knows nothing, and fails in the ways a shop can.
struct Broken {
    market: Arc<Market>,
}

#[async_trait::async_trait]
impl Catalog for Broken {
    fn market(&self) -> Arc<Market> {
        Arc::clone(&self.market)
    }

    async fn find(&self, _: &Query, _: &BuyerSignals) -> Result<Page, PortError> {
        panic!("a secret of the shop")
    }

    async fn resolve(&self, ids: &[&str], _: &Presentation, _: &BuyerSignals) -> Result<Vec<Named>, PortError> {
        if ids.contains(&"down") {
            Err(PortError::unavailable("The shop is closed.", 7))
        } else if ids.contains(&"late") {
            let Scope { lane, allowance, deadline, .. } = Scope::current();
            let seconds =
                allowance.filter(|_| lane == Some(Lane::Browse) && deadline.is_some()).map(|time| time.as_secs());
            Err(PortError::unavailable("The shop is slow.", seconds.and_then(|time| time.try_into().ok()).unwrap_or(1)))
        } else {
            Ok(vec![Named::Found(Vec::new()); ids.len()])
        }
    }
}

/// Platforms on the network, by address: what fetching their profiles leads to.
struct Network(BTreeMap<&'static str, Result<Value, FetchError>>);

impl Fetch for Network {
    fn fetch<'a>(&'a self, url: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let found = self.0.get(url.as_str()).cloned().unwrap_or(Err(FetchError::UnknownHost));
        Box::pin(std::future::ready(found.map(|profile| Fetched { body: profile.to_string().into(), max_age: None })))
    }
}

fn profile(version: &str, capabilities: &[&str]) -> Value {
    let entry = json!([{ "version": version }]);
    let capabilities: serde_json::Map<_, _> = capabilities.iter().map(|name| ((*name).into(), entry.clone())).collect();
    json!({ "ucp": { "version": version, "capabilities": capabilities } })
}

const NEWEST: &str = "https://agent.example.com/newest";
const OLDER: &str = "https://agent.example.com/older";
const FUTURE: &str = "https://agent.example.com/future";
const POOR: &str = "https://agent.example.com/poor";
const BROKEN: &str = "https://agent.example.com/broken";
const INSIDE: &str = "https://agent.example.com/inside";
const BUYING: &str = "https://agent.example.com/buying";
const OTHER: &str = "https://agent.example.com/other";
const NOWHERE: &str = "https://agent.example.com/nowhere";

fn network() -> Network {
    let (newest, both) = (Release::NEWEST.date(), &[CATALOG_SEARCH, CATALOG_LOOKUP]);
    Network(BTreeMap::from([
        (NEWEST, Ok(profile(newest, both))),
        (OLDER, Ok(profile("2026-04-08", both))),
        (FUTURE, Ok(profile("2031-01-01", both))),
        (BUYING, Ok(profile("2026-04-08", &[CART, CHECKOUT, ORDER]))),
        (OTHER, Ok(profile("2026-04-08", &[CART, CHECKOUT, ORDER]))),
        (POOR, Ok(profile(newest, &[CATALOG_SEARCH]))),
        (BROKEN, Ok(json!({ "ucp": {} }))),
        (INSIDE, Err(FetchError::ForbiddenAddress { range: "private use" })),
    ]))
}

fn broken_shop() -> Backend {
    let market = json!({ "name": "Broken", "currency": "USD", "language": "en" });
    let market = Arc::new(serde_json::from_value(market).expect("a market"));
    let catalog = Arc::new(Broken { market });
    let sales = Arc::new(TestShop::new(Terms::default()).sales.clone());
    Backend { shop: ports::ShopPort::Facts { catalog, sales }, directory: None, cursors: Arc::new(PlainCursors) }
}

/// A handler that several calls can go through.
fn shared(policy: Policy) -> CallHandler {
    before(broken_shop(), policy)
}

fn before(backend: Backend, policy: Policy) -> CallHandler {
    let business = Arc::new(Business::new(&SupportedOperations::everything(), Some("https://shop.example/".into())));
    let negotiated_profile = Arc::clone(&business);
    let directory = Directory::new(network(), DirectoryOptions::default(), move |profile| {
        negotiated_profile.negotiated_profile(profile)
    });
    CallHandler::new(backend, Platforms::new(business, policy, Reach::Public, directory), Access::OPEN)
}

fn asking(operation: Operation, payload: Value, profile: Option<&str>) -> Call {
    let stated = profile.map(|profile| Stated { place: "the test", text: profile.to_owned() });
    Call {
        operation,
        endpoint: Endpoint::Root,
        id: None,
        payload,
        lenient: false,
        profiles: stated.into_iter().collect(),
        idempotency_keys: Vec::new(),
        languages: Vec::new(),
        view: None,
        admission: Principal::Anonymous.into(),
        trace: ucp_core::ports::Trace::default(),
    }
}

async fn answered(handler: &CallHandler, call: Call) -> Result<Value, Fault> {
    let reply = handler.handle(call).await?;
    Ok(serde_json::from_str(&reply.encoded.document).expect("answers are JSON"))
}

async fn call(operation: Operation, payload: Value, profile: Option<&str>) -> Result<Value, Refusal> {
    answered(&shared(Policy::Require), asking(operation, payload, profile)).await.map_err(|fault| fault.refusal)
}

const PLATFORM: Option<&str> = Some(NEWEST);

fn nothing() -> (Operation, Value) {
    (Operation::LookupCatalog, json!({ "ids": ["a"] }))
}

#[tokio::test]
async fn a_call_takes_its_kind_of_traffic_and_its_time_with_it() {
    let seconds = Duration::from_secs;
    let allowances = Allowances { browse: seconds(3), purchase: seconds(10), complete: seconds(35) };
    for (allowances, expected) in [(Some(allowances), 3), (None, 1)] {
        let handler = shared(Policy::Development).allowing(allowances);
        let call = asking(Operation::LookupCatalog, json!({ "ids": ["late"] }), Some(NEWEST));
        let fault = answered(&handler, call).await.expect_err("the shop is slow");
        assert_eq!((fault.refusal.code, fault.refusal.retry_after), (Code::Unavailable, Some(expected)));
    }
}

#[tokio::test]
async fn platforms_are_answered_in_the_release_they_speak() {
    let handler = shared(Policy::Require);
    for (platform, version) in [(NEWEST, Release::NEWEST.date()), (OLDER, "2026-04-08"), (OLDER, "2026-04-08")] {
        let (operation, payload) = nothing();
        let answer = answered(&handler, asking(operation, payload, Some(platform))).await.expect("an answer");
        assert_eq!(answer["ucp"]["version"], version);
        let capabilities = json!({ "dev.ucp.shopping.catalog.lookup": [{ "version": version }] });
        assert_eq!(answer["ucp"]["capabilities"], capabilities, "the operation's own, and no other (NEG-05)");
    }
}

#[tokio::test]
async fn a_release_that_is_not_spoken_here_is_refused_with_both_sides_named() {
    let handler = shared(Policy::Require);
    let (operation, payload) = nothing();
    let fault = answered(&handler, asking(operation, payload.clone(), Some(FUTURE))).await.expect_err("refused");
    assert_eq!(fault.refusal.code, Code::VersionUnsupported);
    for named in ["2031-01-01", "2026-01-11", "2026-04-08", Release::NEWEST.date()] {
        assert!(fault.refusal.content.contains(named), "{}", fault.refusal.content);
    }
    assert_eq!(fault.refusal.continue_url.as_deref(), Some("https://shop.example/"));
    // An endpoint of one release is for that one, though another would do elsewhere.
    let endpoint = Endpoint::Of(Release::V2026_04_08);
    let call = Call { endpoint, ..asking(operation, payload.clone(), Some(NEWEST)) };
    let fault = answered(&handler, call).await.expect_err("refused");
    assert_eq!((fault.refusal.code, fault.release), (Code::VersionUnsupported, Release::V2026_04_08));
    let call = Call { endpoint, ..asking(operation, payload, Some(OLDER)) };
    assert_eq!(answered(&handler, call).await.expect("an answer")["ucp"]["version"], "2026-04-08");
}

#[tokio::test]
async fn a_capability_that_is_not_shared_is_a_business_outcome() {
    let answer = call(Operation::LookupCatalog, json!({ "ids": ["a"] }), Some(POOR)).await.expect("an answer");
    assert_eq!(answer["ucp"]["status"], "error");
    let message = &answer["messages"][0];
    assert_eq!(
        (&message["code"], &message["severity"]),
        (&json!("capabilities_incompatible"), &json!("unrecoverable"))
    );
    assert_eq!(answer["continue_url"], "https://shop.example/");
}

#[tokio::test]
async fn what_happens_to_an_unreachable_platform_is_a_policy() {
    let (operation, payload) = nothing();
    let ask =
        async |policy, platform| answered(&shared(policy), asking(operation, payload.clone(), Some(platform))).await;
    let refused = async |policy, platform| ask(policy, platform).await.expect_err("refused").refusal;
    let unreachable = refused(Policy::Require, NOWHERE).await;
    assert_eq!(unreachable.code, Code::ProfileUnreachable);
    assert!(unreachable.retry_after.is_some());
    let answer = ask(Policy::Lenient, NOWHERE).await.expect("an answer");
    assert_eq!(answer["messages"][1]["code"], "profile_unreachable");
    let answer = ask(Policy::Development, NOWHERE).await.expect("an answer");
    assert_eq!(answer["messages"].as_array().map(Vec::len), Some(1), "no note");
    for policy in [Policy::Require, Policy::Lenient, Policy::Development] {
        assert_eq!(refused(policy, BROKEN).await.code, Code::ProfileMalformed);
        assert_eq!(refused(policy, INSIDE).await.code, Code::InvalidProfileUrl);
        assert_eq!(refused(policy, "https://127.0.0.1/p").await.code, Code::InvalidProfileUrl);
        assert_eq!(refused(policy, FUTURE).await.code, Code::VersionUnsupported);
    }
}

#[tokio::test]
async fn a_credential_of_another_platform_is_refused_also_when_it_is_known() {
    let handler = shared(Policy::Require);
    for _ in 0..2 {
        let (operation, payload) = nothing();
        let profile = ProfileUrl::parse(OLDER, Reach::Public).expect("an address");
        let call = Call { admission: Principal::Signed(profile).into(), ..asking(operation, payload, PLATFORM) };
        assert_eq!(answered(&handler, call).await.expect_err("refused").refusal.code, Code::Forbidden);
    }
}

#[tokio::test]
async fn the_process_that_started_this_one_is_taken_at_its_word() {
    let (operation, payload) = nothing();
    let call =
        Call { admission: Principal::Local.into(), ..asking(operation, payload, Some("https://desktop.invalid/p")) };
    assert!(answered(&shared(Policy::Require), call).await.is_ok());
}

#[tokio::test]
async fn a_panic_is_an_answer_and_tells_nothing() {
    let refusal = call(Operation::SearchCatalog, json!({ "query": "x" }), PLATFORM).await.expect_err("refused");
    assert_eq!(refusal, Refusal::internal());
}

#[tokio::test]
async fn a_failure_of_the_shop_reaches_the_caller_as_it_is() {
    let refusal = call(Operation::LookupCatalog, json!({ "ids": ["down"] }), PLATFORM).await.expect_err("refused");
    assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(7)));
}

#[tokio::test]
async fn callers_are_identified_before_their_payload_is_read() {
    let nonsense = json!({ "ids": 3 });
    let anonymous = call(Operation::LookupCatalog, nonsense.clone(), None).await.expect_err("refused");
    assert_eq!(anonymous.code, Code::InvalidProfileUrl);
    let identified = call(Operation::LookupCatalog, nonsense, PLATFORM).await.expect_err("refused");
    assert_eq!((identified.code, identified.path.as_deref()), (Code::InvalidRequest, Some("$.ids")));
}

#[tokio::test]
async fn nothing_found_is_an_outcome() {
    let found = call(Operation::LookupCatalog, json!({ "ids": ["a", "a"] }), PLATFORM).await.expect("an answer");
    assert_eq!(found["messages"], json!([{ "type": "info", "code": "not_found", "content": "a" }]));
    let missing = call(Operation::GetProduct, json!({ "id": "a" }), PLATFORM).await.expect("an answer");
    assert_eq!(
        (&missing["ucp"]["status"], &missing["messages"][0]["severity"]),
        (&json!("error"), &json!("unrecoverable"))
    );
}

/// Returns what a recorded call told, by kind.
async fn told(handler: &CallHandler, call: Call) -> BTreeMap<&'static str, String> {
    let trace = record::Trace::kept(None, None);
    let recorded = record::CallRecord::begin(std::time::Instant::now, false, Some(Arc::clone(&trace)));
    drop(record::scope(recorded, handler.handle(call)).await);
    trace.take().notes.into_iter().map(|note| (note.kind, note.detail)).collect()
}

#[tokio::test]
async fn a_recorded_call_tells_what_was_negotiated_and_why() {
    let handler = shared(Policy::Development);
    let ask = |platform| {
        let (operation, payload) = nothing();
        asking(operation, payload, Some(platform))
    };
    let first = told(&handler, ask(OLDER)).await;
    assert_eq!(first["release"], "2026-04-08, which the profile names");
    assert!(first["profile"].starts_with(OLDER) && first["profile"].ends_with("fetched, or waited for"), "{first:?}");
    let active =
        "capabilities (of its profile): dev.ucp.shopping.catalog.lookup 2026-04-08, dev.ucp.shopping.catalog.search";
    assert!(first["negotiated"].contains(active), "{first:?}");
    for why in [
        "dev.ucp.shopping.checkout: not declared by the platform",
        "dev.ucp.shopping.cart: not declared by the platform",
    ] {
        assert!(first["not_active"].contains(why), "{first:?}");
    }
    let again = told(&handler, ask(OLDER)).await;
    assert!(again["profile"].contains("; cached, fetched 0 s ago"), "{again:?}");
    let endpoint = Endpoint::Of(Release::V2026_04_08);
    let through = told(&handler, Call { endpoint, ..ask(OLDER) }).await;
    assert_eq!(through["release"], "2026-04-08, which the path and the profile name");

    let poor = told(&handler, ask(POOR)).await;
    assert_eq!(poor["incompatible"], "dev.ucp.shopping.catalog.lookup: not declared by the platform");
    let nowhere = told(&handler, ask(NOWHERE)).await;
    assert!(nowhere["profile"].ends_with("its document was not read"), "{nowhere:?}");
    assert!(nowhere["release"].contains("the newest, because the profile is not known"), "{nowhere:?}");
    let future = told(&handler, ask(FUTURE)).await;
    assert!(future["refused"].starts_with("version_unsupported"), "{future:?}");
}
