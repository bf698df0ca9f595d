//! The envelope of a forwarded answer.

use serde_json::{Map, Value};
use ucp_core::{
    Operation,
    message::{Message, Severity},
    negotiation::Active,
    operation::ORDER,
    ports::{ForwardedAnswer, Written},
};

use super::prune::prune;
use crate::{
    codec::negotiated,
    dialect::{Dialect, Occasion},
    encoded::Encoded,
    envelope::is_failure,
    offer::Offer,
    splice::{Document, json, members},
};

/// Encodes an answer of a shop that speaks UCP itself for a caller of this release: in the envelope of the gateway,
/// without members that were not negotiated with the caller. `note` is added to the messages.
///
/// An answer that the shop has signed (`sealed`) is passed on unchanged.
pub fn encode(
    dialect: &dyn Dialect,
    operation: Operation,
    carried: &ForwardedAnswer,
    active: &Active,
    note: Option<&Message>,
) -> Encoded {
    if carried.sealed {
        return Encoded { document: json(&*carried.body), status: carried.status, rpc_error: None };
    }
    if let (Some(written), None) = (carried.body.written(), note) {
        let document = spliced(dialect, operation, written, active);
        return Encoded { document, status: carried.status, rpc_error: None };
    }
    if is_failure(&carried.body) {
        return failure(dialect, operation, carried, active, note);
    }
    let mut body = Map::from(carried.body.clone());
    prune(operation, &mut body, active);
    negotiated(dialect, operation, &mut body, active);
    if let Some(note) = note {
        let messages = body.entry("messages").or_insert_with(|| Value::Array(Vec::new()));
        if let Some(messages) = messages.as_array_mut() {
            messages.extend(serde_json::to_value(note));
        }
    }
    Encoded { document: json(&body), status: carried.status, rpc_error: None }
}

/// Puts an answer that is already serialized into the envelope of the gateway. None of its members needs negotiation.
fn spliced(dialect: &dyn Dialect, operation: Operation, written: &Written, active: &Active) -> String {
    let mut ucp = dialect.metadata(operation, active);
    ucp.extend(written.extra().iter().map(|(name, value)| (name.clone(), value.clone())));
    let ucp = members(&ucp);
    let mut document = Document::with_capacity(ucp.len() + written.rest().len() + r#"{"ucp":{},}"#.len());
    document.object(|answer| {
        answer.name("ucp").object(|envelope| envelope.raw(&ucp));
        answer.raw(written.rest());
    });
    document.finish()
}

/// Encodes an order that the shop sent a webhook about, for platforms of this release.
pub fn webhook_event(dialect: &dyn Dialect, body: Map<String, Value>, occasion: &Occasion<'_>) -> String {
    let told = dialect.offers().iter().filter(|offer| offer.known_as == ORDER).map(Offer::declaration);
    let active = Active::all(&told.collect::<Vec<_>>());
    let carried = ForwardedAnswer { body: body.into(), sealed: false, status: 200 };
    dialect.webhook_event(encode(dialect, Operation::GetOrder, &carried, &active, None).document, occasion)
}

/// Encodes an answer without a resource.
fn failure(
    dialect: &dyn Dialect,
    operation: Operation,
    carried: &ForwardedAnswer,
    active: &Active,
    note: Option<&Message>,
) -> Encoded {
    let stated = carried.body.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let said = |message: &Value| serde_json::from_value(message.clone()).ok();
    let mut messages: Vec<Message> = stated.iter().filter_map(said).collect();
    // At least one message is required, even if the shop sent none.
    if messages.is_empty() {
        let content = "The shop has nothing to return and does not say why.";
        messages.push(Message::error("unspecified", content, Severity::Unrecoverable));
    }
    messages.extend(note.cloned());
    let continue_url = carried.body.get("continue_url").and_then(Value::as_str);
    let conflict = carried.status == 409;
    let encoded = dialect.no_resource(operation, active, &messages, continue_url, None, conflict);
    // Releases that treat such answers as errors rewrite the messages; the others pass them on verbatim.
    let known = |message: &Value| said(message).is_some();
    if encoded.rpc_error.is_some() || !stated.iter().all(known) || stated.is_empty() {
        return encoded;
    }
    let Ok(mut document) = serde_json::from_str::<Map<String, Value>>(&encoded.document) else { return encoded };
    let mut verbatim = stated.to_vec();
    verbatim.extend(note.and_then(|note| serde_json::to_value(note).ok()));
    document.insert("messages".to_owned(), Value::Array(verbatim));
    Encoded { document: json(&document), ..encoded }
}
