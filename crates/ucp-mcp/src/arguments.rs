//! Conversion of the arguments of a tool or a method to a [`Call`].
//!
//! Arguments name the platform in `meta["ucp-agent"].profile`; `_meta.ucp.profile` of the founding documents and the
//! `UCP-Agent` header are accepted as well and have to agree with it. The same holds for the places of an idempotency
//! key. The payload is the member that the operation table names.

use serde_json::{Map, Value};
use ucp_core::{Code, Operation, Refusal, operation::Row, ports::Trace};
use ucp_service::{Call, Endpoint, access::Admission, agent::Stated};
use ucp_wire::lenient;

use crate::toolset::Toolset;

/// Data of a call from its transport rather than its arguments.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The platform profile that the transport states.
    pub profile: Option<Stated>,
    /// The platform profile to assume if the request states none.
    pub default_profile: Option<Stated>,
    /// The idempotency keys that the transport states.
    pub idempotency_keys: Vec<Stated>,
    /// Language tags from the transport, in order of preference.
    pub languages: Vec<String>,
    /// The tools that the caller has chosen.
    pub toolset: Toolset,
    /// `true` for a library of MCP, which hands a refused call to its model as the result of the tool; `false` for a UCP
    /// platform, which reads JSON-RPC errors.
    pub is_library: bool,
    /// The authenticated caller and its in-flight permit.
    pub admission: Admission,
    /// ID of the request, on transports that have one.
    pub request_id: Option<String>,
    /// Request ID and trace context, for logs and upstream requests.
    pub trace: Trace,
}

/// Reads the `arguments` of a tool.
///
/// # Errors
/// [`Code::InvalidRequest`] or [`Code::InvalidProfileUrl`] if the arguments do not have the shape of the tool.
pub fn tool_call(
    operation: Operation,
    endpoint: Endpoint,
    mut arguments: Map<String, Value>,
    meta: Option<&Value>,
    caller: &Caller,
) -> Result<Call, Refusal> {
    // Models state what they leave empty; of the payload the handler takes care, in the caller's release.
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    arguments.retain(|name, value| !(is_empty(value) && matches!(name.as_str(), "meta" | "_meta")));
    if let Some(meta) = arguments.get_mut("meta") {
        lenient::read_meta(meta)?;
    }
    let call = call(operation, endpoint, arguments, meta.filter(|meta| !meta.is_null()), caller, false)?;
    Ok(Call { lenient: true, ..call })
}

/// Reads the `params` of a JSON-RPC method named like the operation: by name, by position, or with the payload's
/// members directly among them.
///
/// # Errors
/// The same as [`tool_call`].
pub fn direct_call(operation: Operation, endpoint: Endpoint, params: Value, caller: &Caller) -> Result<Call, Refusal> {
    let row = operation.row();
    let names = || parameters(operation);
    let named = match params {
        Value::Object(members) => members,
        Value::Array(values) => {
            if values.len() > names().count() {
                let expected: Vec<_> = names().collect();
                return Err(Refusal::invalid("$", format!("`{}` takes fewer parameters.", row.name))
                    .accepting(format!("[{}]", expected.join(", "))));
            }
            names().map(str::to_owned).zip(values).collect()
        }
        _ => Map::new(),
    };
    let meta = named.get("_meta").cloned();
    call(operation, endpoint, named, meta.as_ref(), caller, true)
}

/// Returns the parameters of an operation in the order of their positions.
fn parameters(operation: Operation) -> impl Iterator<Item = &'static str> {
    let id = operation.takes_id().then_some("id");
    std::iter::once("meta").chain(id).chain(operation.row().payload)
}

fn call(
    operation: Operation,
    endpoint: Endpoint,
    mut arguments: Map<String, Value>,
    meta: Option<&Value>,
    caller: &Caller,
    flat: bool,
) -> Result<Call, Refusal> {
    let row = operation.row();
    let own = arguments.shift_remove("meta");
    arguments.shift_remove("_meta");
    let profiles = profiles(own.as_ref(), meta, caller)?;
    let mut idempotency_keys = Vec::new();
    idempotency_keys
        .extend(key("`meta[\"idempotency-key\"]`", own.as_ref().and_then(|meta| meta.get("idempotency-key")))?);
    if flat {
        idempotency_keys.extend(key("`idempotency_key`", arguments.shift_remove("idempotency_key").as_ref())?);
    }
    idempotency_keys.extend(caller.idempotency_keys.iter().cloned());
    let id = if operation.takes_id() { Some(identifier(row, arguments.shift_remove("id"))?) } else { None };
    let flat = flat || row.flat;
    let payload = match row.payload {
        None if row.flat => Value::Object(arguments),
        None => Value::Null,
        Some(name) => match arguments.shift_remove(name) {
            Some(payload) => payload,
            None if flat => Value::Object(arguments),
            None => {
                return Err(Refusal::invalid(format!("$.{name}"), format!("`{name}` is missing."))
                    .accepting(format!("the request in the member `{name}` of the arguments")));
            }
        },
    };
    Ok(Call {
        operation,
        endpoint,
        id,
        payload,
        lenient: false,
        profiles,
        idempotency_keys,
        languages: caller.languages.clone(),
        view: caller.toolset.view,
        admission: caller.admission.clone(),
        trace: caller.trace.clone(),
    })
}

/// Reads an idempotency key from an argument.
fn key(place: &'static str, key: Option<&Value>) -> Result<Option<Stated>, Refusal> {
    match key {
        None => Ok(None),
        Some(Value::String(key)) => Ok(Some(Stated { place, text: key.clone() })),
        Some(_) => Err(Refusal::new(Code::InvalidRequest, format!("{place} must be a string."))
            .accepting("a string, preferably a UUID")),
    }
}

fn identifier(row: &Row, id: Option<Value>) -> Result<String, Refusal> {
    match id {
        Some(Value::String(id)) => Ok(id),
        _ => Err(Refusal::invalid("$.id", format!("`{}` needs an `id`.", row.name)).accepting("a text")),
    }
}

fn profiles(meta: Option<&Value>, envelope: Option<&Value>, caller: &Caller) -> Result<Vec<Stated>, Refusal> {
    let stated = [
        ("`meta[\"ucp-agent\"].profile`", meta.and_then(|meta| meta.get("ucp-agent")), meta),
        ("`_meta.ucp.profile`", envelope.and_then(|meta| meta.get("ucp")), envelope),
    ];
    let mut profiles = Vec::new();
    for (place, agent, holder) in stated {
        let profile = agent.map(|agent| agent.get("profile").and_then(Value::as_str));
        match profile {
            Some(Some(profile)) => profiles.push(Stated { place, text: profile.to_owned() }),
            Some(None) => {
                return Err(Refusal::new(
                    Code::InvalidProfileUrl,
                    format!("{place} is required and must be a string."),
                ));
            }
            None if holder.is_some_and(|holder| !holder.is_object()) => {
                return Err(Refusal::new(Code::InvalidProfileUrl, format!("The parent of {place} must be an object.")));
            }
            None => {}
        }
    }
    profiles.extend(caller.profile.clone());
    if profiles.is_empty() {
        profiles.extend(caller.default_profile.clone());
    }
    Ok(profiles)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use ucp_service::access::Principal;

    use super::*;

    fn texts(stated: &[Stated]) -> Vec<&str> {
        stated.iter().map(|stated| stated.text.as_str()).collect()
    }

    fn nobody() -> Caller {
        Caller {
            profile: None,
            default_profile: None,
            idempotency_keys: vec![],
            languages: vec![],
            toolset: Toolset::default(),
            is_library: false,
            admission: Principal::Anonymous.into(),
            request_id: None,
            trace: Trace::default(),
        }
    }

    #[test]
    fn parameters_come_by_name_by_position_or_flat() {
        let meta = json!({ "ucp-agent": { "profile": "https://a.example/" } });
        let payload = json!({ "query": "shoes" });
        for params in [
            json!({ "meta": meta, "catalog": payload }),
            json!([meta, payload]),
            json!({ "_meta": { "ucp": { "profile": "https://a.example/" } }, "query": "shoes" }),
        ] {
            let call = direct_call(Operation::SearchCatalog, Endpoint::Root, params, &nobody()).expect("a call");
            assert_eq!((texts(&call.profiles), &call.payload), (vec!["https://a.example/"], &payload));
        }
        assert!(direct_call(Operation::SearchCatalog, Endpoint::Root, json!([1, 2, 3]), &nobody()).is_err());
    }

    #[test]
    fn a_tool_wants_its_payload_and_an_honest_meta() {
        let code = |arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("an object") };
            tool_call(Operation::GetProduct, Endpoint::Root, arguments, None, &nobody()).map_err(|refusal| refusal.code)
        };
        assert_eq!(code(json!({ "id": "p" })).expect_err("no payload"), Code::InvalidRequest);
        assert_eq!(code(json!({ "meta": 3, "catalog": {} })).expect_err("no object"), Code::InvalidProfileUrl);
        assert_eq!(
            code(json!({ "meta": { "ucp-agent": {} }, "catalog": {} })).expect_err("none"),
            Code::InvalidProfileUrl
        );
        assert!(code(json!({ "meta": {}, "catalog": {} })).expect("left to the handler").profiles.is_empty());
    }

    #[test]
    fn what_a_model_leaves_empty_states_nothing() {
        let read = |arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("an object") };
            tool_call(Operation::GetProduct, Endpoint::Root, arguments, Some(&Value::Null), &nobody())
        };
        for meta in [json!(null), json!(""), json!("{}"), json!({ "ucp-agent": null, "idempotency-key": null })] {
            let call =
                read(json!({ "meta": meta, "catalog": {} })).unwrap_or_else(|refusal| panic!("{meta}: {refusal}"));
            assert!(call.lenient && call.profiles.is_empty() && call.idempotency_keys.is_empty(), "{meta}");
        }
        let text = json!({ "ucp-agent": { "profile": "https://a.example/" }, "idempotency-key": "k" }).to_string();
        let call = read(json!({ "meta": text, "catalog": "{}" })).expect("a call");
        assert_eq!((texts(&call.profiles), texts(&call.idempotency_keys)), (vec!["https://a.example/"], vec!["k"]));
        for wrong in [json!("x"), json!([]), json!("[]"), json!({ "ucp-agent": {} }), json!(r#"{"a":1,"a":2}"#)] {
            assert!(read(json!({ "meta": wrong, "catalog": {} })).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_statement_is_kept_and_the_default_only_fills_a_gap() {
        let stated = |text: &str| Some(Stated { place: "here", text: text.to_owned() });
        let caller = Caller { profile: stated("h"), default_profile: stated("d"), ..nobody() };
        let read = |params: Value, caller: &Caller| {
            let call = direct_call(Operation::SearchCatalog, Endpoint::Root, params, caller).expect("a call");
            texts(&call.profiles).join(" ")
        };
        let both = json!({ "meta": { "ucp-agent": { "profile": "m" } }, "_meta": { "ucp": { "profile": "e" } } });
        assert_eq!(read(both, &caller), "m e h");
        assert_eq!(read(json!({}), &Caller { profile: None, ..caller }), "d");
    }

    #[test]
    fn idempotency_keys_are_read_wherever_they_stand() {
        let caller = Caller { idempotency_keys: vec![Stated { place: "here", text: "h".to_owned() }], ..nobody() };
        let read = |params: Value| direct_call(Operation::SearchCatalog, Endpoint::Root, params, &caller);
        let call =
            read(json!({ "meta": { "idempotency-key": "m" }, "idempotency_key": "p", "query": "x" })).expect("a call");
        assert_eq!(texts(&call.idempotency_keys), ["m", "p", "h"]);
        assert_eq!(call.payload, json!({ "query": "x" }));
        assert_eq!(read(json!({ "idempotency_key": 3 })).expect_err("no text").code, Code::InvalidRequest);
    }
}
