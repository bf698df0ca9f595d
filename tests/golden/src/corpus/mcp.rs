//! The MCP endpoints, for every generation of clients.

use serde_json::{Value, json};

use crate::{
    Done,
    operation::{Caller, PROFILE, STATELESS, Way, endpoints, envelope, rpc},
    process::Gateway,
    stage::{Setup, Stage},
    wire::Request,
};

const HANDSHAKES: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Plays what clients do around their calls, at every endpoint of both sample shops.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    stage.normal.exact = true;
    let gateway = stage.start(&Setup::new("").outfitters())?;
    for endpoint in endpoints() {
        let path = Caller::new(endpoint, Way::Tool).path("/mcp");
        let label = endpoint.unwrap_or("root");
        bare(stage, &gateway, label, &path);
        handshakes(stage, &gateway, label, &path);
        stateless(stage, &gateway, label, &path);
    }
    Ok(())
}

/// A message over HTTP, under a request id that does not change from run to run.
fn post(path: &str, message: &Value) -> Request {
    Request::post(path, message.to_string()).header("Request-Id", "golden")
}

fn bare(stage: &mut Stage<'_>, gateway: &Gateway, label: &str, path: &str) {
    for method in ["tools/list", "ping", "rpc.discover", "initialize", "unheard_of"] {
        stage.ask(&format!("{label}/bare/{method}"), gateway, &post(path, &rpc(method, &json!({}))));
        for accept in [
            "application/json",
            "application/json, text/event-stream",
            "*/*",
            "text/event-stream",
            "text/html",
            "text/event-stream, application/json;q=0.5",
        ] {
            let request = post(path, &rpc(method, &json!({}))).header("Accept", accept);
            stage.ask(&format!("{label}/accept/{accept}/{method}"), gateway, &request);
        }
        let without = json!({ "jsonrpc": "2.0", "id": "a", "method": method });
        stage.ask(&format!("{label}/without-params/{method}"), gateway, &post(path, &without));
    }
    for params in [json!({ "cursor": "x" }), json!({ "_meta": { "progressToken": 1 } }), json!([])] {
        stage.ask(&format!("{label}/tools/list/{params}"), gateway, &post(path, &rpc("tools/list", &params)));
    }
}

fn handshakes(stage: &mut Stage<'_>, gateway: &Gateway, label: &str, path: &str) {
    for version in HANDSHAKES.map(|version| json!(version)).into_iter().chain([
        json!(STATELESS),
        json!("1999-01-01"),
        json!(""),
        json!(null),
        json!(3),
    ]) {
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "golden", "version": "1" } });
        stage.ask(&format!("{label}/initialize/{version}"), gateway, &post(path, &rpc("initialize", &params)));
    }
    for version in HANDSHAKES.into_iter().chain(["1999-01-01", "", "draft"]) {
        let told = |message: &Value| {
            let request = post(path, message).header("Accept", "application/json, text/event-stream");
            request.header("MCP-Protocol-Version", version)
        };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        stage.ask(&format!("{label}/{version}/initialized"), gateway, &told(&initialized));
        for method in ["ping", "tools/list", "rpc.discover", "resources/list", "unheard_of"] {
            stage.ask(&format!("{label}/{version}/{method}"), gateway, &told(&rpc(method, &json!({}))));
        }
        let tool = json!({ "name": "get_product", "arguments": { "meta": {}, "catalog": { "id": "prod_abc123" } } });
        stage.ask(&format!("{label}/{version}/refused"), gateway, &told(&rpc("tools/call", &tool)));
    }
}

fn stateless(stage: &mut Stage<'_>, gateway: &Gateway, label: &str, path: &str) {
    let arguments = json!({ "meta": { "ucp-agent": { "profile": PROFILE } }, "catalog": { "id": "prod_abc123" } });
    let message = |method: &str| {
        let mut params = json!({ "_meta": envelope() });
        if method == "tools/call" {
            params["name"] = json!("get_product");
            params["arguments"] = arguments.clone();
        }
        rpc(method, &params)
    };
    for method in [
        "server/discover",
        "tools/list",
        "tools/call",
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/list",
        "unheard_of",
    ] {
        let request =
            post(path, &message(method)).header("MCP-Protocol-Version", STATELESS).header("Mcp-Method", method);
        let request = if method == "tools/call" { request.header("Mcp-Name", "get_product") } else { request };
        stage.ask(&format!("{label}/stateless/{method}"), gateway, &request);
        stage.ask(
            &format!("{label}/stateless/{method}/event"),
            gateway,
            &request.clone().header("Accept", "text/event-stream"),
        );
    }
    let headers = [("MCP-Protocol-Version", STATELESS), ("Mcp-Method", "tools/call"), ("Mcp-Name", "get_product")];
    for (name, value) in [
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", Some("2025-11-25")),
        ("MCP-Protocol-Version", Some("2031-01-01")),
        ("Mcp-Method", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Method", Some("Tools/Call")),
        ("Mcp-Method", Some("  tools/call  ")),
        ("Mcp-Name", None),
        ("Mcp-Name", Some("search_catalog")),
        ("Mcp-Name", Some("=?base64?!!?=")),
        ("Mcp-Name", Some("=?base64?Z2V0X3Byb2R1Y3Q=?=")),
    ] {
        let mut request = post(path, &message("tools/call"));
        for (own, usual) in headers {
            let value = if own == name { value } else { Some(usual) };
            if let Some(value) = value {
                request = request.header(own, value);
            }
        }
        stage.ask(&format!("{label}/stateless/{name}={value:?}"), gateway, &request);
    }
    let sound = |message: &Value| {
        headers.iter().fold(post(path, message), |request, (name, value)| request.header(name, value))
    };
    for member in ["protocolVersion", "clientCapabilities", "clientInfo"] {
        for value in [None, Some(json!(3)), Some(json!(null)), Some(json!("2031-01-01"))] {
            let mut message = message("tools/call");
            let name = format!("io.modelcontextprotocol/{member}");
            match (&value, message["params"]["_meta"].as_object_mut()) {
                (Some(value), Some(meta)) => drop(meta.insert(name, value.clone())),
                (None, Some(meta)) => drop(meta.shift_remove(&name)),
                _ => {}
            }
            stage.ask(&format!("{label}/stateless/{member}={value:?}"), gateway, &sound(&message));
        }
    }
    let probe = post(path, &rpc("server/discover", &json!({}))).header("MCP-Protocol-Version", "2031-01-01");
    stage.ask(&format!("{label}/stateless/probe"), gateway, &probe);
}
