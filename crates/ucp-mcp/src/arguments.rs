//! From the arguments of a tool or a method to a [`Call`].
//!
//! Arguments name the platform in `meta["ucp-agent"].profile`; the founding documents' `_meta.ucp.profile` and the
//! `UCP-Agent` header mean the same. The payload stands in the member that the operation table names.

use serde_json::{Map, Value};
use ucp_core::{Code, Operation, Refusal, Release, operation::Row};
use ucp_service::{Call, agent::Claim};

/// What a transport knows about a call beside its arguments.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Who the transport says is calling.
    pub claim: Option<Claim>,
    /// Who is calling if nobody says so.
    pub default_claim: Option<Claim>,
    /// The languages the transport names.
    pub languages: Vec<String>,
}

/// The call that `arguments` of a tool spell.
///
/// # Errors
/// [`Code::InvalidRequest`] or [`Code::InvalidProfileUrl`] for arguments that do not have the shape of the tool.
pub fn tool_call(
    operation: Operation,
    release: Release,
    arguments: Map<String, Value>,
    meta: Option<&Value>,
    caller: &Caller,
) -> Result<Call, Refusal> {
    call(operation, release, arguments, meta, caller, false)
}

/// The call that `params` of a method of the same name spell: by name, by position, or with the payload's members
/// directly among them.
///
/// # Errors
/// The same as [`tool_call`].
pub fn direct_call(operation: Operation, release: Release, params: Value, caller: &Caller) -> Result<Call, Refusal> {
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
    call(operation, release, named, meta.as_ref(), caller, true)
}

/// The parameters of an operation by position.
fn parameters(operation: Operation) -> impl Iterator<Item = &'static str> {
    let id = operation.takes_id().then_some("id");
    std::iter::once("meta").chain(id).chain(operation.row().payload)
}

fn call(
    operation: Operation,
    release: Release,
    mut arguments: Map<String, Value>,
    meta: Option<&Value>,
    caller: &Caller,
    flat: bool,
) -> Result<Call, Refusal> {
    let row = operation.row();
    let claims = claims(arguments.shift_remove("meta").as_ref(), meta, caller)?;
    arguments.shift_remove("_meta");
    let id = if operation.takes_id() { Some(identifier(row, arguments.shift_remove("id"))?) } else { None };
    let payload = match row.payload {
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
    Ok(Call { operation, release, id, payload, claims, languages: caller.languages.clone() })
}

fn identifier(row: &Row, id: Option<Value>) -> Result<String, Refusal> {
    match id {
        Some(Value::String(id)) => Ok(id),
        _ => Err(Refusal::invalid("$.id", format!("`{}` needs an `id`.", row.name)).accepting("a text")),
    }
}

fn claims(meta: Option<&Value>, envelope: Option<&Value>, caller: &Caller) -> Result<Vec<Claim>, Refusal> {
    let stated = [
        ("`meta[\"ucp-agent\"].profile`", meta.and_then(|meta| meta.get("ucp-agent")), meta),
        ("`_meta.ucp.profile`", envelope.and_then(|meta| meta.get("ucp")), envelope),
    ];
    let mut claims = Vec::new();
    for (place, agent, holder) in stated {
        let profile = agent.map(|agent| agent.get("profile").and_then(Value::as_str));
        match profile {
            Some(Some(profile)) => claims.push(Claim { place, profile: profile.to_owned() }),
            Some(None) => return Err(Refusal::new(Code::InvalidProfileUrl, format!("{place} is missing or no text."))),
            None if holder.is_some_and(|holder| !holder.is_object()) => {
                return Err(Refusal::new(Code::InvalidProfileUrl, format!("What should hold {place} is no object.")));
            }
            None => {}
        }
    }
    claims.extend(caller.claim.clone());
    if claims.is_empty() {
        claims.extend(caller.default_claim.clone());
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RELEASE: Release = Release::V2026_04_08;

    fn profiles(call: &Call) -> Vec<&str> {
        call.claims.iter().map(|claim| claim.profile.as_str()).collect()
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
            let call = direct_call(Operation::SearchCatalog, RELEASE, params, &Caller::default()).expect("a call");
            assert_eq!((profiles(&call), &call.payload), (vec!["https://a.example/"], &payload));
        }
        assert!(direct_call(Operation::SearchCatalog, RELEASE, json!([1, 2, 3]), &Caller::default()).is_err());
    }

    #[test]
    fn a_tool_wants_its_payload_and_an_honest_meta() {
        let code = |arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("an object") };
            tool_call(Operation::GetProduct, RELEASE, arguments, None, &Caller::default())
                .map_err(|refusal| refusal.code)
        };
        assert_eq!(code(json!({ "id": "p" })).expect_err("no payload"), Code::InvalidRequest);
        assert_eq!(code(json!({ "meta": 3, "catalog": {} })).expect_err("no object"), Code::InvalidProfileUrl);
        assert_eq!(
            code(json!({ "meta": { "ucp-agent": {} }, "catalog": {} })).expect_err("none"),
            Code::InvalidProfileUrl
        );
        assert!(code(json!({ "meta": {}, "catalog": {} })).expect("left to the pipeline").claims.is_empty());
    }

    #[test]
    fn every_claim_is_kept_and_the_default_only_fills_a_gap() {
        let claim = |profile: &str| Some(Claim { place: "here", profile: profile.to_owned() });
        let caller = Caller { claim: claim("h"), default_claim: claim("d"), languages: vec![] };
        let read = |params: Value, caller: &Caller| {
            let call = direct_call(Operation::SearchCatalog, RELEASE, params, caller).expect("a call");
            profiles(&call).join(" ")
        };
        let both = json!({ "meta": { "ucp-agent": { "profile": "m" } }, "_meta": { "ucp": { "profile": "e" } } });
        assert_eq!(read(both, &caller), "m e h");
        assert_eq!(read(json!({}), &Caller { claim: None, ..caller }), "d");
    }
}
