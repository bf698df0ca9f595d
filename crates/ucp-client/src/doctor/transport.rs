//! Rules of the transports: tools, errors, caching, and that REST and MCP say the same.

use http::Method;
use serde_json::{Value, json};
use ucp_core::{Operation, operation::SHOPPING};
use ucp_wire::relay;

use super::{answers::Answers, report::Examination, rule::Rule};
use crate::{
    http::tokens,
    shop::{Answer, Call, CalledShop, Refused, Said, TRANSPORTS, Transport},
};

/// Maximum size of the list of tools, in bytes.
const MOST_TOOLS: usize = 40_000;

/// Permitted length of the description of a tool, in characters.
const DESCRIPTION: std::ops::RangeInclusive<usize> = 20..=1_000;

/// An identifier that no shop has.
const NOTHING: &str = "no-such-thing-8c1f4a";

/// Looks at the list of tools.
pub(super) async fn tools(shop: &CalledShop, examination: &mut Examination) {
    use Rule::{McpAnswers, ToolsCaller, ToolsComplete, ToolsDescription, ToolsLegible, ToolsSchema, ToolsSize};
    let all = [ToolsComplete, ToolsSchema, ToolsLegible, ToolsCaller, ToolsDescription, ToolsSize];
    let Some(mcp) = &shop.mcp else {
        examination.skip(&[McpAnswers], "the profile has no MCP endpoint");
        return examination.skip(&all, "the profile has no MCP endpoint");
    };
    if shop.has_methods() {
        examination.check(McpAnswers, true, "tools/list", String::new);
        return examination.skip(&all, "operations are methods in this release, and no tools");
    }
    let (exchange, tools) = match mcp.ask(&shop.http, "tools/list", json!({})).await {
        Ok((exchange, answer)) => {
            let tools = answer.as_ref().and_then(|answer| answer["result"]["tools"].as_array()).cloned();
            (exchange, tools)
        }
        Err(error) => {
            examination.check(McpAnswers, false, "tools/list", || error.to_string());
            return examination.skip(&all, "there is no list of tools");
        }
    };
    examination.check(McpAnswers, tools.is_some(), "tools/list", || exchange.shown());
    let Some(tools) = tools else { return examination.skip(&all, "there is no list of tools") };
    examination.figure("tools", tools.len());
    let size = exchange.body.len();
    examination.figure("bytes of the list of tools", size);
    examination.figure("tokens of the list of tools", tokens(size));
    examination.check(ToolsSize, size <= MOST_TOOLS, "tools/list", || format!("{size} bytes"));
    let named = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    for operation in &shop.profile.offering.operations {
        let name = operation.row().name;
        examination.check(ToolsComplete, named(name), name, || "there is no such tool".to_owned());
    }
    for tool in &tools {
        let name = tool["name"].as_str().unwrap_or("(without a name)");
        let schema = &tool["inputSchema"];
        let usable = schema["type"] == "object" && jsonschema::validator_for(schema).is_ok();
        examination.check(ToolsSchema, usable, name, || format!("inputSchema: {schema}"));
        let illegible = ["anyOf", "oneOf", "allOf"].into_iter().find(|keyword| schema.get(*keyword).is_some());
        let illegible = match illegible {
            Some(keyword) => Some(format!("`inputSchema` has `{keyword}`")),
            None => illegible_below(schema, "inputSchema"),
        };
        examination.check(ToolsLegible, illegible.is_none(), name, || illegible.unwrap_or_default());
        let length = tool["description"].as_str().unwrap_or_default().chars().count();
        let fits = DESCRIPTION.contains(&length);
        examination.check(ToolsDescription, fits, name, || format!("a description of {length} characters"));
        // Tools beside those of the protocol may have arguments of their own.
        if Operation::ALL.iter().any(|operation| operation.row().name == name && operation.row().service == SHOPPING) {
            let asks = schema["properties"]["meta"]["properties"].get("ucp-agent").is_some();
            examination.check(ToolsCaller, asks, name, || "no `meta.ucp-agent` among its properties".to_owned());
        }
    }
}

/// Returns what the strictest readers of tools refuse in a schema or below it, with its path. A document is never nested
/// deeper than can be followed.
fn illegible_below(schema: &Value, path: &str) -> Option<String> {
    let Some(keywords) = schema.as_object().filter(|keywords| !keywords.is_empty()) else {
        return Some(format!("`{path}` is `{schema}`"));
    };
    let says = |names: &[&str]| names.iter().any(|name| keywords.contains_key(*name));
    if !says(&["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"]) {
        return Some(format!("`{path}` has no `type`"));
    }
    if schema["type"] == "array" && !says(&["items"]) {
        return Some(format!("`{path}` has no `items`"));
    }
    for keyword in ["properties", "$defs"] {
        let members = keywords.get(keyword).and_then(Value::as_object).into_iter().flatten();
        for (name, member) in members {
            if let Some(found) = illegible_below(member, &format!("{path}.{keyword}.{name}")) {
                return Some(found);
            }
        }
    }
    let single = ["items", "additionalProperties"].into_iter().filter_map(|name| Some((name, keywords.get(name)?)));
    let several =
        ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| Some((name, keywords.get(name)?.as_array()?)));
    let below = single.chain(several.flat_map(|(name, choices)| choices.iter().map(move |choice| (name, choice))));
    below.into_iter().find_map(|(name, schema)| illegible_below(schema, &format!("{path}.{name}")))
}

/// Returns a read that can be asked of the shop without knowing anything about it, with a payload that is wrong in the
/// type of one member.
fn question(shop: &CalledShop) -> Option<(Operation, Value, Value)> {
    let reads = [
        (
            Operation::SearchCatalog,
            json!({ "filters": { "available": true }, "pagination": { "limit": 3 } }),
            json!({ "filters": { "available": true }, "pagination": { "limit": "three" } }),
        ),
        (Operation::LookupCatalog, json!({ "ids": [NOTHING] }), json!({ "ids": "one" })),
    ];
    reads.into_iter().find(|(operation, ..)| shop.offers(*operation))
}

/// Returns a read of something that does not exist.
fn missing(shop: &CalledShop) -> Option<Call<'static>> {
    if shop.offers(Operation::GetProduct) {
        return Some(Call::new(Operation::GetProduct, json!({ "id": NOTHING })));
    }
    let reads = [Operation::GetCart, Operation::GetCheckout, Operation::GetOrder];
    let operation = reads.into_iter().find(|operation| shop.offers(*operation))?;
    Some(Call { id: Some(NOTHING), ..Call::new(operation, Value::Null) })
}

/// Asks both transports the same, and looks at what each says about mistakes.
pub(super) async fn both(shop: &CalledShop, answers: &mut Answers, examination: &mut Examination) {
    let mut said: Vec<Answer> = Vec::new();
    let mut told: Vec<Vec<String>> = Vec::new();
    for transport in TRANSPORTS.into_iter().filter(|transport| shop.has(*transport)) {
        let (name, rule) = (transport.as_str(), answering(transport));
        if let Some((operation, good, bad)) = question(shop) {
            let at = format!("{} over {name}", operation.row().name);
            let call = Call::new(operation, good);
            if let Some(answer) = answers.ask(shop, transport, &call, examination).await {
                examination.check(rule, answer.resource().is_some(), &at, || answer.exchange.shown());
                said.push(answer);
            }
            if let Ok(answer) = shop.call(transport, &Call::new(operation, bad)).await {
                refusal(&answer, transport, &at, examination);
            }
        }
        if let Some(call) = missing(shop) {
            let at = format!("{} over {name}", call.operation.row().name);
            match shop.call(transport, &call).await {
                Ok(answer) => {
                    let codes = answer.codes();
                    let not_found = |code: &String| code.to_ascii_lowercase().contains("not_found");
                    let fine = !answer.exchange.status.is_server_error() && codes.iter().any(not_found);
                    examination.check(Rule::ErrorsUnknownId, fine, &at, || answer.exchange.shown());
                    // A shop without a catalog answers nothing else that could be asked.
                    if question(shop).is_none() {
                        let answered = !matches!(answer.said, Said::Unreadable);
                        examination.check(rule, answered, &at, || answer.exchange.shown());
                    }
                    told.push(codes.into_iter().map(|code| code.to_ascii_lowercase()).collect());
                }
                Err(error) => {
                    examination.check(rule, false, &at, || error.to_string());
                }
            }
        }
    }
    parity(shop, &said, &told, examination);
    malformed(shop, examination).await;
    unknown(shop, examination).await;
    let nothing = "nothing that could be asked is offered";
    examination.skip(&[Rule::RestAnswers, Rule::McpAnswers], "the profile has no such endpoint");
    examination.skip(&[Rule::ErrorsInvalid, Rule::ErrorsPlace, Rule::ErrorsUnknownId], nothing);
    examination.skip(&[Rule::ParityAnswers, Rule::ParityErrors], "there is one transport");
}

const fn answering(transport: Transport) -> Rule {
    match transport {
        Transport::Rest => Rule::RestAnswers,
        Transport::Mcp => Rule::McpAnswers,
    }
}

/// Looks at the refusal of a member of the wrong type.
fn refusal(answer: &Answer, transport: Transport, at: &str, examination: &mut Examination) {
    let coded = |refused: &Refused| refused.code.is_some() || !refused.content.is_empty();
    let (refused, place) = match &answer.said {
        Said::Refused(refused) => {
            let by_status = transport == Transport::Mcp || answer.exchange.status.is_client_error();
            let named = refused.path.is_some() || refused.content.contains("limit") || refused.content.contains("ids");
            (coded(refused) && by_status && !answer.exchange.status.is_server_error(), named)
        }
        Said::Document(document) => {
            let placed = answer.messages().any(|message| message["path"].is_string());
            (relay::is_failure(document) && !answer.codes().is_empty(), placed)
        }
        Said::Unreadable => (false, false),
    };
    examination.check(Rule::ErrorsInvalid, refused, at, || answer.exchange.shown());
    if refused {
        examination.check(Rule::ErrorsPlace, place, at, || answer.exchange.shown());
    }
}

/// Compares what the transports answered.
fn parity(shop: &CalledShop, said: &[Answer], told: &[Vec<String>], examination: &mut Examination) {
    if let [rest, mcp] = said
        && let (Some(first), Some(second)) = (rest.resource(), mcp.resource())
    {
        let at = question(shop).map_or("", |(operation, ..)| operation.row().name);
        let difference = difference(&Value::Object(first.clone()), &Value::Object(second.clone()), "$");
        examination.check(Rule::ParityAnswers, difference.is_none(), at, || {
            format!("REST and MCP differ at {}", difference.unwrap_or_default())
        });
    }
    if let [rest, mcp] = told {
        examination.check(Rule::ParityErrors, rest == mcp, "what does not exist", || {
            format!("REST says {rest:?}, MCP says {mcp:?}")
        });
    }
}

/// Returns the first place where two documents differ. Cursors are sealed anew each time.
fn difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys());
            let mut names = names.filter(|name| *name != "cursor");
            names.find_map(|name| {
                let path = format!("{path}.{name}");
                match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) => difference(one, other, &path),
                    _ => Some(path),
                }
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .enumerate()
            .find_map(|(index, (one, other))| difference(one, other, &format!("{path}[{index}]"))),
        _ => (one != other).then(|| path.to_owned()),
    }
}

/// Sends a body that is no JSON to each transport.
async fn malformed(shop: &CalledShop, examination: &mut Examination) {
    const BODY: &[u8] = b"{\"query\":";
    let rest = shop.rest.as_ref().and_then(|_| {
        let operation = [Operation::SearchCatalog, Operation::LookupCatalog, Operation::CreateCheckout];
        let operation = operation.into_iter().find(|operation| shop.offers(*operation))?;
        Some((operation.row().name, shop.rest_url(operation.row().path, None).ok()?))
    });
    if let Some((name, url)) = rest {
        let headers = shop.headers(Some(uuid::Uuid::new_v4().to_string()));
        if let Ok(exchange) = shop.http.send(Method::POST, &url, headers, Some(BODY.to_vec())).await {
            let refused = exchange.status.is_client_error() && exchange.json().is_some_and(|json| json.is_object());
            examination.check(Rule::ErrorsMalformed, refused, &format!("{name} over rest"), || exchange.shown());
        }
    }
    if let Some(mcp) = &shop.mcp
        && let Ok(exchange) = mcp.post(&shop.http, BODY.to_vec()).await
    {
        let refused =
            !exchange.status.is_server_error() && exchange.json().is_some_and(|json| json["error"].is_object());
        examination.check(Rule::ErrorsMalformed, refused, "mcp", || exchange.shown());
    }
    examination.skip(&[Rule::ErrorsMalformed], "there is no endpoint that takes a body");
}

/// Asks for a path and a tool that do not exist.
async fn unknown(shop: &CalledShop, examination: &mut Examination) {
    if let Ok(url) = shop.rest_url(NOTHING, None)
        && let Ok(exchange) = shop.http.get(&url).await
    {
        let told = exchange.status == 404 && exchange.json().is_some();
        examination.check(Rule::ErrorsUnknownPath, told, url.as_str(), || exchange.shown());
    }
    if let Some(mcp) = shop.mcp.as_ref().filter(|_| !shop.has_methods()) {
        let arguments = json!({ "meta": { "ucp-agent": { "profile": shop.http.profile } } });
        let params = json!({ "name": "no_such_tool", "arguments": arguments });
        if let Ok((exchange, answer)) = mcp.ask(&shop.http, "tools/call", params).await {
            // An error of the tool itself is what older servers answer.
            let refused =
                answer.is_some_and(|answer| answer["error"].is_object() || answer["result"]["isError"] == true);
            let fine = refused && !exchange.status.is_server_error();
            examination.check(Rule::ErrorsUnknownTool, fine, "tools/call", || exchange.shown());
        }
    }
    examination.skip(&[Rule::ErrorsUnknownPath], "the profile has no REST endpoint");
    examination.skip(&[Rule::ErrorsUnknownTool], "there are no tools");
}
