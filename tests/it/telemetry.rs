//! Spans and events that leave the gateway for others: to a collector of OpenTelemetry, whose messages are read by the types
//! of `opentelemetry-proto`, and to a server of the operator.

use std::collections::HashMap;

use http::HeaderMap;
use opentelemetry_proto::tonic::{
    collector::{logs::v1::ExportLogsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value::Value as Any},
    logs::v1::LogRecord,
    resource::v1::Resource,
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::server::{Answer, Server};

use crate::{
    harness::{Gateway, REST_HEADERS, eventually, flower_shop, folder},
    operating::{ADMIN, admin, ask},
    platforms::host::{Host, profile_with},
    purchase::{
        shopper::{Shopper, ready},
        webhooks::receiver::Receiver,
    },
    setup::{Configured, REQUIRE, Setup, Transport},
    signatures::keys,
    wire::PATIENCE,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector of OpenTelemetry.
struct Collector(Server);

/// A span, and the process that it is of.
#[derive(Clone, Debug)]
struct Told {
    service: String,
    span: Span,
}

impl Collector {
    fn start() -> Self {
        Self(Server::start(|_| Answer::Whole(200, vec!["Content-Type: application/x-protobuf".to_owned()], Vec::new())))
    }

    /// Requests for a path, decoded, with the headers.
    fn read<T: prost::Message + Default>(&self, path: &str) -> Vec<(HeaderMap, T)> {
        let requests = self.0.requests().into_iter().filter(|request| request.uri().path() == path);
        let decoded = requests.map(|request| {
            let (head, body) = request.into_parts();
            assert_eq!(head.headers["content-type"], "application/x-protobuf");
            (head.headers, T::decode(&*body).expect("a message of the protocol"))
        });
        decoded.collect()
    }

    fn spans(&self) -> Vec<Told> {
        let requests = self.read::<ExportTraceServiceRequest>("/otlp/v1/traces");
        let resources = requests.into_iter().flat_map(|(_, request)| request.resource_spans);
        resources
            .flat_map(|one| {
                let service = service(one.resource.as_ref());
                let spans = one.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.map(move |span| Told { service: service.clone(), span }).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The spans of a trace, once one of a service has this name.
    fn once(&self, service: &str, name: &str) -> Vec<Told> {
        let is_it = |told: &Told| told.service == service && told.span.name == name;
        eventually(&format!("a span {name} of {service}"), PATIENCE, || {
            let all = self.spans();
            let found = all.iter().find(|told| is_it(told))?.span.trace_id.clone();
            Some(all.into_iter().filter(|told| told.span.trace_id == found).collect())
        })
    }

    fn logs(&self) -> Vec<LogRecord> {
        let requests = self.read::<ExportLogsServiceRequest>("/otlp/v1/logs");
        let resources = requests.into_iter().flat_map(|(_, request)| request.resource_logs);
        resources.flat_map(|one| one.scope_logs).flat_map(|scope| scope.log_records).collect()
    }

    /// The configuration that leads here.
    fn endpoint(&self) -> String {
        self.0.url("/otlp")
    }
}

fn service(resource: Option<&Resource>) -> String {
    let attributes = attributes(&resource.expect("a resource").attributes);
    assert_eq!(attributes["service.version"], env!("CARGO_PKG_VERSION"));
    attributes["service.name"].as_str().expect("a text").to_owned()
}

fn attributes(pairs: &[KeyValue]) -> HashMap<String, Value> {
    let value = |pair: &KeyValue| match pair.value.clone().and_then(|value| value.value) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::DoubleValue(number)) => json!(number),
        other => panic!("{other:?}"),
    };
    pairs.iter().map(|pair| (pair.key.clone(), value(pair))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The only span of a name and kind.
#[track_caller]
fn only<'a>(spans: &'a [Told], service: &str, name: &str, kind: SpanKind) -> &'a Span {
    let is_it = |told: &&Told| told.service == service && told.span.name == name && told.span.kind == kind as i32;
    let found: Vec<_> = spans.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{name} of {service} in {spans:#?}");
    &found[0].span
}

fn search(gateway: &Gateway, more: &[(&str, &str)]) -> u16 {
    let headers = [REST_HEADERS, more].concat();
    gateway.send("POST", "/catalog/search", &headers, b"{\"query\":\"zebra-striped socks\"}").status
}

/// A gateway that exports to a collector, in front of another one that does.
fn chain(collector: &Collector) -> (Configured, Configured) {
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.endpoint());
    let loopback = "[profiles]\nloopback = true\n";
    let shop = Setup::new(&[&telemetry, loopback].concat())
        .arguments(&["--sample", "flower-shop"])
        .variable("OTEL_SERVICE_NAME", "shop")
        .start_on(flower_shop());
    let patient = "connect_timeout_ms = 20000\nread_timeout_ms = 30000\n";
    let front = Setup::new(&format!("{loopback}[upstream]\ntransport = \"rest\"\n{patient}"))
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{}", shop.address)])
        .arguments(&["--otlp-endpoint", &collector.endpoint()])
        .start_on(folder());
    (front, shop)
}

#[test]
fn a_call_is_a_span_of_its_callers_trace_and_so_is_what_it_causes_elsewhere() {
    let collector = Collector::start();
    let (front, shop) = chain(&collector);
    let parent = format!("00-{TRACE}-{PARENT}-01");
    assert_eq!(search(&front, &[("traceparent", &parent), ("tracestate", "vendor=1"), ("Request-Id", "call-7")]), 200);
    let spans = collector.once("ucp-gateway", "search_catalog");
    let spans =
        if spans.iter().any(|told| told.service == "shop") { spans } else { collector.once("shop", "search_catalog") };
    let call = only(&spans, "ucp-gateway", "search_catalog", SpanKind::Server);
    assert_eq!((hex(&call.trace_id), hex(&call.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(call.trace_state, "vendor=1");
    let said = attributes(&call.attributes);
    for (name, value) in [
        ("ucp.shop", json!("default")),
        ("ucp.transport", json!("rest")),
        ("ucp.release", json!("2026-08-25")),
        ("ucp.operation", json!("search_catalog")),
        ("ucp.platform", json!("other")),
        ("ucp.outcome", json!("ok")),
        ("ucp.request_id", json!("call-7")),
        ("http.response.status_code", json!(200)),
    ] {
        assert_eq!(said.get(name), Some(&value), "{name}: {said:?}");
    }
    // Its stages are its children and lie within it.
    let children = spans.iter().filter(|told| told.span.parent_span_id == call.span_id).map(|told| &told.span);
    let (mut names, mut spent) = (Vec::new(), 0);
    for child in children.filter(|child| child.kind == SpanKind::Internal as i32) {
        assert!(call.start_time_unix_nano <= child.start_time_unix_nano + 100_000, "{child:?} {call:?}");
        assert!(child.end_time_unix_nano <= call.end_time_unix_nano + 100_000, "{child:?} {call:?}");
        names.push(child.name.clone());
        spent += child.end_time_unix_nano - child.start_time_unix_nano;
    }
    for stage in ["identify", "read", "domain", "upstream", "encode"] {
        assert!(names.iter().any(|name| name == stage), "{stage}: {names:?}");
    }
    let whole = call.end_time_unix_nano - call.start_time_unix_nano;
    assert!(spent.abs_diff(whole) < 1_000_000, "the stages are {spent} of {whole}");
    // Its request to the shop is a child too, and the parent of the shop's own span.
    let asked = only(&spans, "ucp-gateway", "POST", SpanKind::Client);
    assert_eq!(asked.parent_span_id, call.span_id);
    let said = attributes(&asked.attributes);
    assert_eq!(said["server.address"], json!("127.0.0.1"));
    assert_eq!(said["server.port"], json!(shop.address.port()));
    assert_eq!(said["http.response.status_code"], json!(200));
    let there = only(&spans, "shop", "search_catalog", SpanKind::Server);
    assert_eq!((&there.parent_span_id, &there.trace_id), (&asked.span_id, &call.trace_id));
    // No identifier is used twice, and nothing says what was searched for.
    let mut identifiers: Vec<_> = spans.iter().map(|told| &told.span.span_id).collect();
    identifiers.sort();
    identifiers.dedup();
    assert_eq!(identifiers.len(), spans.len());
    assert!(!collector.0.requests().iter().any(|request| { request.body().windows(5).any(|bytes| bytes == b"zebra") }));
}

#[test]
fn a_caller_decides_whether_its_trace_is_kept() {
    let collector = Collector::start();
    let toml = format!("[telemetry]\notlp_endpoint = \"{}\"\nsampled_percent = 0\n", collector.endpoint());
    let mut gateway = Configured::start(&toml);
    assert_eq!(search(&gateway, &[]), 200);
    assert_eq!(search(&gateway, &[("traceparent", &format!("00-{}-{PARENT}-00", TRACE.replace('4', "5")))]), 200);
    assert_eq!(search(&gateway, &[("traceparent", "00-nonsense-01")]), 200);
    assert_eq!(search(&gateway, &[("traceparent", &format!("00-{TRACE}-{PARENT}-01"))]), 200);
    let spans = collector.once("ucp-gateway", "search_catalog");
    assert!(spans.iter().all(|told| hex(&told.span.trace_id) == TRACE), "{spans:#?}");
    assert!(gateway.terminate().success());
    let servers = collector.spans().into_iter().filter(|told| told.span.kind == SpanKind::Server as i32);
    assert_eq!(servers.count(), 1, "the three others are not kept");
}

#[test]
fn a_refusal_and_a_delivery_of_a_webhook_have_spans() {
    let (collector, receiver, host) = (Collector::start(), Receiver::start([Answer::status(503)]), Host::start());
    let data = flower_shop();
    keys(&["generate"], data.path());
    let toml = format!("{REQUIRE}[telemetry]\notlp_endpoint = \"{}\"\n", collector.endpoint());
    let toml = toml.replace("\"require\"", "\"development\"");
    let gateway = Setup::new(&toml).arguments(&["--sample", "flower-shop"]).start_on(data);
    let capabilities = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", "dev.ucp.shopping.order"];
    let mut profile = profile_with(Release::NEWEST, &capabilities);
    profile["ucp"]["capabilities"]["dev.ucp.shopping.order"][0]["config"] = json!({ "webhook_url": receiver.url() });
    let profile = host.profile("/agent", &profile);
    let shopper = Shopper::new(&gateway, Release::NEWEST, Transport::Rest).named(&profile);
    shopper.complete(&shopper.create(&ready(&[("pot_ceramic", 1)])), "success_token");
    let deliveries = receiver.after(2);
    let spans = collector.once("ucp-gateway", "deliver_webhook");
    let posted = spans.iter().find(|told| told.span.kind == SpanKind::Client as i32).expect("a request");
    let stated = format!("00-{}-{}-01", hex(&posted.span.trace_id), hex(&posted.span.span_id));
    assert_eq!(deliveries[0].header("traceparent"), stated);
    let delivery = only(&spans, "ucp-gateway", "deliver_webhook", SpanKind::Internal);
    assert_eq!(attributes(&delivery.attributes)["ucp.webhook.id"], json!(deliveries[0].header("webhook-id")));
    assert_eq!(delivery.status.as_ref().map(|status| status.code), Some(StatusCode::Error as i32));
    assert_ne!(deliveries[1].header("traceparent"), stated, "each attempt is a trace of its own");
    // The purchase is a trace of its own too.
    let bought = collector.once("ucp-gateway", "complete_checkout");
    let stored = bought.iter().find(|told| told.span.name == "store").expect("a stage");
    assert_eq!(stored.span.parent_span_id, only(&bought, "ucp-gateway", "complete_checkout", SpanKind::Server).span_id);
    assert_eq!(gateway.send("GET", "/nowhere", &[], b"").status, 404);
    let refused = collector.once("ucp-gateway", "http");
    let said = attributes(&only(&refused, "ucp-gateway", "http", SpanKind::Server).attributes);
    assert_eq!((&said["ucp.outcome"], &said["http.response.status_code"]), (&json!("unknown_path"), &json!(404)));
}

#[test]
fn a_collector_that_is_dead_stops_no_call_and_what_is_lost_is_counted() {
    let nobody = ucp_testkit::leash::free_address();
    let toml = format!("[telemetry]\notlp_endpoint = \"http://{nobody}\"\n[events]\notlp = true\n");
    let gateway = Setup::new(&toml).arguments(&ADMIN).variable("OTEL_EXPORTER_OTLP_TIMEOUT", "500").start();
    for _ in 0..20 {
        assert_eq!(search(&gateway, &[]), 200);
    }
    let address = admin(&gateway);
    for of in ["spans", "events_otlp"] {
        eventually(&format!("lost {of} are counted"), PATIENCE, || {
            let metrics = ask(address, "GET", "/metrics", b"").body;
            let line = format!("ucp_telemetry_items_total{{of=\"{of}\",result=\"dropped\"}} ");
            let count = metrics.lines().find_map(|metric| metric.strip_prefix(&line)).expect("a metric");
            (count.parse::<u64>().expect("a number") >= 20).then_some(())
        });
    }
    let warned = eventually("a warning", PATIENCE, || {
        let log = gateway.stderr();
        log.contains("telemetry dropped").then_some(log)
    });
    assert!(!warned.contains("zebra"), "{warned}");
}

#[test]
fn events_go_to_a_collector_and_to_a_server_of_the_operator() {
    let (collector, server) = (Collector::start(), Receiver::start([]));
    let toml = format!(
        "[telemetry]\notlp_endpoint = \"{}\"\n[events]\notlp = true\nurl = \"{}\"\ntoken_file = \"TOKEN\"\n",
        collector.endpoint(),
        server.url()
    );
    let token = folder();
    std::fs::write(token.path().join("token"), "only-for-this-test\n").expect("a file");
    let toml = toml.replace("TOKEN", &token.path().join("token").display().to_string());
    let gateway = Setup::new(&toml).arguments(&["--sample", "flower-shop"]).start_on(flower_shop());
    let shopper = Shopper::rest(&gateway);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    shopper.complete(&checkout, "success_token");
    assert_eq!(search(&gateway, &[]), 200);
    let expected = ["checkout_session_created", "payment_completed", "checkout_session_completed", "catalog_search"];
    let logs = eventually("the events as logs", PATIENCE, || {
        let logs = collector.logs();
        logs.iter().any(|log| log.event_name == "catalog_search").then_some(logs)
    });
    // An order is told when it is found in the store.
    let logs: Vec<_> = logs.into_iter().filter(|log| log.event_name != "order_created").collect();
    let names: Vec<_> = logs.iter().map(|log| &*log.event_name).collect();
    assert_eq!(names, expected);
    let created = attributes(&logs[0].attributes);
    assert_eq!(created["checkout_session_id"], checkout["id"]);
    assert_eq!((&created["app_name"], &created["http_status_code"]), (&json!("default"), &json!(201)));
    assert!(created["total_amount"].is_i64(), "{created:?}");
    // A record says in which span it was made.
    let spans = collector.once("ucp-gateway", "create_checkout");
    let call = only(&spans, "ucp-gateway", "create_checkout", SpanKind::Server);
    assert_eq!((&logs[0].trace_id, &logs[0].span_id), (&call.trace_id, &call.span_id));
    let lines = eventually("the events as lines", PATIENCE, || {
        let bodies = server.deliveries().into_iter().map(|delivery| String::from_utf8(delivery.body).expect("text"));
        let text = bodies.collect::<String>();
        text.contains("catalog_search").then_some(text)
    });
    let mut lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines.retain(|line| line["event_type"] != "order_created");
    assert_eq!(lines.iter().map(|line| line["event_type"].as_str().expect("a type")).collect::<Vec<_>>(), expected);
    let delivery = server.deliveries().remove(0);
    assert_eq!(delivery.header("authorization"), "Bearer only-for-this-test");
    assert_eq!(delivery.header("content-type"), "application/x-ndjson");
    let shown = Setup::new(&toml).run("check-config").expect("it is valid");
    assert!(!shown.contains("only-for-this-test") && !gateway.stderr().contains("only-for-this-test"));
}

#[test]
fn the_variables_of_opentelemetry_hold_where_nothing_else_is_said() {
    let collector = Collector::start();
    let (endpoint, all) = (collector.endpoint(), "OTEL_EXPORTER_OTLP_ENDPOINT");
    let gateway =
        Setup::new("").variable(all, &endpoint).variable("OTEL_EXPORTER_OTLP_HEADERS", "x-team=shops").start();
    assert_eq!(search(&gateway, &[]), 200);
    let spans = collector.once("ucp-gateway", "search_catalog");
    assert_eq!(hex(&only(&spans, "ucp-gateway", "search_catalog", SpanKind::Server).parent_span_id), "");
    let (headers, _) = collector.read::<ExportTraceServiceRequest>("/otlp/v1/traces").remove(0);
    assert_eq!(headers["x-team"], "shops");
    for (name, value, said) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "must be http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector", "must be an http or https address"),
    ] {
        let problem = Setup::new("").variable(all, &endpoint).variable(name, value).run("check-config");
        let problem = problem.expect_err("it is wrong");
        assert!(problem.contains(name) && problem.contains(said), "{problem}");
    }
    let disabled = Setup::new("[events]\notlp = true\n").variable(all, &endpoint).variable("OTEL_SDK_DISABLED", "true");
    let problem = disabled.run("check-config").expect_err("there is no collector");
    assert!(problem.contains("events.otlp") && problem.contains("telemetry.otlp_endpoint"), "{problem}");
}
