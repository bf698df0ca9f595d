//! The profile, and that it tells the truth (rules DISC-01 to DISC-09).

use serde_json::{Value, json};
use ucp_core::{Operation, Release};

use ucp_wire::documents::release_path;

use crate::{
    harness::{Gateway, REST_HEADERS, elements, meta, official, rpc, texts},
    wire,
};

const PROFILE_PATH: &str = "/.well-known/ucp";

fn profile(gateway: &Gateway) -> Value {
    gateway.get(PROFILE_PATH).json()
}

fn endpoint<'a>(profile: &'a Value, transport: &str) -> &'a str {
    let services = elements(&profile["ucp"]["services"]["dev.ucp.shopping"]);
    let service = services.iter().find(|service| service["transport"] == transport).expect("the transport");
    service["endpoint"].as_str().expect("an endpoint")
}

#[test]
fn disc_01_the_profile_is_served_at_the_well_known_path_without_redirect() {
    let gateway = Gateway::shared();
    let response = gateway.get(PROFILE_PATH);
    assert_eq!((response.status, response.header("location")), (200, None));
    let profile = response.json();
    assert_eq!(profile["ucp"]["version"], Release::NEWEST.date());
    let handlers = profile["ucp"]["payment_handlers"].as_object().expect("handlers");
    assert_eq!(handlers.keys().collect::<Vec<_>>(), ["com.example.sandbox_payment"]);
    let services = profile["ucp"]["services"].as_object().expect("services");
    assert_eq!(services.keys().next().map(String::as_str), Some("dev.ucp.shopping"));
    assert_eq!(texts(&services["dev.ucp.shopping"], "transport"), ["rest", "mcp"]);
    let capabilities = profile["ucp"]["capabilities"].as_object().expect("capabilities");
    for name in
        ["catalog.search", "catalog.lookup", "cart", "checkout", "order", "fulfillment", "discount", "buyer_consent"]
    {
        assert!(capabilities.contains_key(&format!("dev.ucp.shopping.{name}")), "{name}");
    }
}

#[test]
fn disc_02_the_profile_is_publicly_cacheable_and_revalidates_by_entity_tag() {
    let gateway = Gateway::shared();
    for path in [PROFILE_PATH, "/openapi.json", "/openrpc.json", "/schemas/search_catalog.request.json"] {
        let first = gateway.get(path);
        let cache = first.header("cache-control").expect("a cache policy").to_ascii_lowercase();
        let directives: Vec<_> = cache.split(',').map(str::trim).collect();
        assert!(directives.contains(&"public"), "{cache}");
        for forbidden in ["private", "no-store", "no-cache"] {
            assert!(!directives.contains(&forbidden), "{cache}");
        }
        let age = directives.iter().find_map(|directive| directive.strip_prefix("max-age=")).expect("an age");
        assert!(age.parse::<u32>().expect("seconds") >= 60, "{cache}");
        assert_eq!(first.header("access-control-allow-origin"), Some("*"), "web pages may read it");

        let tag = first.header("etag").expect("an entity tag").to_owned();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = gateway.send("GET", path, &[("If-None-Match", &known)], b"");
            assert_eq!((again.status, again.body.as_str()), (304, ""), "{path} {known}");
            assert_eq!(again.header("etag"), Some(tag.as_str()));
            assert_eq!(again.header("cache-control"), first.header("cache-control"));
        }
        let other = gateway.send("GET", path, &[("If-None-Match", "\"other\"")], b"");
        assert_eq!((other.status, &other.body), (200, &first.body));
        let mut connection = gateway.connect();
        connection.write(&wire::request("HEAD", path, &[], b""));
        let head = connection.read_head().expect("an answer");
        assert_eq!((head.status, head.header("etag")), (200, Some(tag.as_str())), "HEAD {path}");
        assert_eq!(head.header("content-length"), first.header("content-length"), "HEAD {path}");
    }
}

#[test]
fn disc_03_the_profile_is_the_same_for_everyone() {
    let gateway = Gateway::shared();
    let plain = gateway.get(PROFILE_PATH).body;
    for headers in [
        [("UCP-Agent", "profile=\"https://other.example/p\"")],
        [("Accept-Language", "es")],
        [("Accept", "text/html")],
        [("Host", "elsewhere.example")],
        [("X-Forwarded-Host", "elsewhere.example")],
    ] {
        assert_eq!(gateway.send("GET", PROFILE_PATH, &headers, b"").body, plain, "{headers:?}");
    }
    let query = gateway.get(&format!("{PROFILE_PATH}?session=1"));
    assert_eq!((query.status, query.body), (200, plain));
}

#[test]
fn disc_07_endpoints_follow_the_public_url_and_end_without_a_slash() {
    for (public_url, base) in [
        ("https://shop.example.com", "https://shop.example.com"),
        ("https://shop.example.com/", "https://shop.example.com"),
        ("https://shop.example.com:8443", "https://shop.example.com:8443"),
    ] {
        let gateway = Gateway::behind(public_url);
        let profile = profile(&gateway);
        assert_eq!(endpoint(&profile, "rest"), base);
        assert_eq!(endpoint(&profile, "mcp"), format!("{base}/mcp"));
        assert_eq!(gateway.get("/openapi.json").json()["servers"], json!([{ "url": base }]));
        assert_eq!(texts(&gateway.get("/openrpc.json").json()["servers"], "url"), [format!("{base}/mcp")]);
        assert!(gateway.welcome.iter().any(|line| line.contains(&format!("{base}/.well-known/ucp"))));
    }
}

#[test]
fn disc_07_without_a_public_url_the_endpoints_are_where_the_gateway_listens() {
    let gateway = Gateway::shared();
    let base = format!("http://{}", gateway.address);
    let profile = profile(&gateway);
    assert_eq!(
        (endpoint(&profile, "rest"), endpoint(&profile, "mcp")),
        (base.as_str(), format!("{base}/mcp").as_str())
    );
}

#[test]
fn disc_09_specs_and_schemas_lie_with_the_owner_of_the_name() {
    let profile = profile(&Gateway::shared());
    let ucp = profile["ucp"].as_object().expect("an object");
    let mut entries = 0;
    for registry in ["services", "capabilities"] {
        for (name, versions) in ucp[registry].as_object().expect("a registry") {
            assert!(name.starts_with("dev.ucp."), "{name}");
            for entry in elements(versions) {
                assert_eq!(entry["version"], "2026-08-25");
                for member in ["spec", "schema"] {
                    let url = entry[member].as_str().unwrap_or_default();
                    assert!(url.starts_with("https://ucp.dev/2026-08-25/"), "{name}.{member}: {url}");
                }
                entries += 1;
            }
        }
    }
    // Two bindings of the service, and every capability that an operation is part of.
    let roots: std::collections::BTreeSet<_> =
        Operation::ALL.iter().map(|operation| operation.row().capability).collect();
    assert!(entries >= 2 + roots.iter().filter(|name| name.starts_with("dev.ucp.shopping.")).count(), "{entries}");
}

/// Nothing is advertised that is not mounted, and nothing is mounted that is not advertised (CSR-14).
#[test]
fn every_operation_of_the_table_answers_over_both_transports() {
    let gateway = Gateway::shared();
    let profile = profile(&gateway);
    let tools = gateway.result("tools/list", &json!({}));
    let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.row().name).collect();
    assert_eq!(texts(&tools["tools"], "name"), names);
    let openapi = gateway.get("/openapi.json").json();
    for operation in Operation::ALL {
        let row = operation.row();
        assert!(profile["ucp"]["capabilities"].get(row.capability).is_some(), "{}", row.capability);
        assert_eq!(openapi["paths"][row.path][row.method.as_str().to_lowercase()]["operationId"], row.name);
        // Requests without their argument are rejected; the others have no resource under this identifier.
        let said = |document: &Value| {
            // Informational messages, such as holiday hours, are no errors.
            let mut messages = document["messages"].as_array().into_iter().flatten();
            let error = messages.find(|message| message["type"] == "error");
            let code = document["code"].as_str().or_else(|| error.and_then(|error| error["code"].as_str()));
            code.unwrap_or_default().to_ascii_lowercase()
        };
        // Only those that need nothing at all can be answered.
        let fitting = |code: &str| ["invalid_request", "not_found", ""].contains(&code);
        let rest = gateway.send(row.method.as_str(), &row.path.replace("{id}", "x"), REST_HEADERS, b"{}");
        assert!(fitting(&said(&rest.json())), "{}: {rest:?}", row.path);
        let mut arguments = json!({ "meta": meta() });
        if operation.takes_id() {
            arguments["id"] = json!("x");
        }
        if let Some(payload) = row.payload {
            arguments[payload] = json!({});
        }
        let mcp = gateway.rpc(&rpc("tools/call", &json!({ "name": row.name, "arguments": arguments }))).json();
        let told = if mcp.get("error").is_some() { &mcp["error"]["data"] } else { &mcp["result"]["structuredContent"] };
        assert!(fitting(&said(told)), "{}: {mcp}", row.name);
    }
}

/// The profile of a release conforms to its official schema. Trap T-02: the official `profile_schema.json` of
/// 2026-04-08 refers to a file that does not exist, hence `ucp.json` directly. 2026-01-11 has its own form.
#[test]
fn every_profile_conforms_to_the_official_business_schema() {
    let gateway = Gateway::shop_example();
    for (release, shape) in [
        (Release::V2026_01_23, "business_schema"),
        (Release::V2026_04_08, "business_schema"),
        (Release::V2026_08_25, "business_schema"),
    ] {
        let Some(folder) = official(release) else { return };
        let schema = crate::official::schema(&folder, "ucp.json", Some(shape));
        let profile = gateway.get(&format!("{}{PROFILE_PATH}", release_path(release))).json();
        if let Err(error) = schema.validate(&profile["ucp"]) {
            panic!("{release}: {error} at {}", error.instance_path());
        }
    }
}

/// Older releases have complete profiles of their own, which point nowhere else (rules DISC-05, DISC-06).
#[test]
fn disc_05_every_release_has_a_leaf_profile_with_endpoints_of_its_own() {
    let gateway = Gateway::shop_example();
    let root = profile(&gateway);
    let listed = root["ucp"]["supported_versions"].as_object().expect("older releases");
    let older: Vec<_> = Release::ALL.iter().filter(|release| **release != Release::NEWEST).collect();
    assert_eq!(
        listed.keys().map(String::as_str).collect::<Vec<_>>(),
        older.iter().map(|o| o.date()).collect::<Vec<_>>()
    );
    for release in older {
        let base = format!("https://shop.example.com/ucp/{release}");
        assert_eq!(listed[release.date()], format!("{base}{PROFILE_PATH}"));
        let leaf = gateway.get(&format!("/ucp/{release}{PROFILE_PATH}")).json();
        assert_eq!(leaf["ucp"]["version"], release.date());
        assert_eq!(leaf["ucp"].get("supported_versions"), None);
        let service = &leaf["ucp"]["services"]["dev.ucp.shopping"];
        let endpoints = match service {
            Value::Array(_) => ["rest", "mcp"].map(|transport| endpoint(&leaf, transport).to_owned()),
            form => ["rest", "mcp"].map(|transport| form[transport]["endpoint"].as_str().expect("text").to_owned()),
        };
        assert_eq!(endpoints, [base.clone(), format!("{base}/mcp")]);
        assert_eq!(gateway.get(&format!("/ucp/{release}/openapi.json")).json()["servers"], json!([{ "url": base }]));
    }
}
