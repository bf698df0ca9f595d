//! Decoding of requests and encoding of answers in any release.
//!
//! Only the newest release is decoded and encoded by types (`request`, `response`). A payload of an older release is
//! validated against the schemas of that release and then rewritten, release by release, into one of the newest; an
//! answer goes the same way back.

use serde_json::{Map, Value};
use ucp_core::{
    Answer, Code, Operation, Outcome, Refusal, Release, Request, negotiation::Active, order, ports::NEGOTIATED,
    rendering::Extent,
};

use crate::{
    dialect::{Dialect, Occasion},
    encoded::Encoded,
    releases::upgrades,
    request, response,
    view::View,
};

/// Decodes a payload: rewrites older spellings, validates against the request schema, and converts to a domain request.
///
/// `id` is the resource ID that the transport names. `languages` are the language tags from the transport, in order of
/// preference; the payload's own language comes first. Fails with the first violation, with its path;
/// [`Code::UnknownMethod`] if the release does not have the operation.
pub fn read(
    dialect: &dyn Dialect,
    operation: Operation,
    id: Option<&str>,
    mut payload: Value,
    languages: &[String],
) -> Result<Request, Refusal> {
    let release = dialect.release();
    let shapes = dialect.shapes(operation).ok_or_else(|| {
        let name = operation.row().name;
        Refusal::new(Code::UnknownMethod, format!("UCP version {release} has no operation `{name}`."))
    })?;
    dialect.normalize(operation, &mut payload);
    shapes.check_request(&payload)?;
    let ignored = if operation.row().effect.writes() { shapes.ignored(&payload) } else { Vec::new() };
    let mut request = decode(release, operation, id, payload, languages)?;
    if let Some(draft) = request.draft() {
        draft.ignored = ignored;
    }
    Ok(request)
}

/// Converts a payload of a release that passed its schema to a domain request.
fn decode(
    release: Release,
    operation: Operation,
    id: Option<&str>,
    mut payload: Value,
    languages: &[String],
) -> Result<Request, Refusal> {
    if release == Release::NEWEST {
        return request::decode(operation, id, payload, languages);
    }
    let stated = payload.clone();
    if let Value::Object(members) = &mut payload {
        upgrades(release, Release::NEWEST).for_each(|upgrade| (upgrade.request.up)(operation, members));
    }
    let mut request = request::decode(operation, id, payload, languages)?;
    upgrades(release, Release::NEWEST).for_each(|upgrade| (upgrade.kept.request)(&stated, &mut request));
    Ok(request)
}

/// Encodes an outcome in full for callers of a release. `active` are the capabilities negotiated with the caller; the
/// answer declares those that belong to the operation.
pub fn encode(dialect: &dyn Dialect, operation: Operation, outcome: &Outcome, active: &Active) -> Encoded {
    encode_view(dialect, operation, outcome, active, View::Full)
}

/// Encodes an outcome like [`encode`], in a view.
pub fn encode_view(
    dialect: &dyn Dialect,
    operation: Operation,
    outcome: &Outcome,
    active: &Active,
    view: View,
) -> Encoded {
    let answer = match outcome {
        Outcome::Answer(answer) => answer,
        Outcome::NoResource { messages, continue_url, id, conflict } => {
            return dialect.no_resource(operation, active, messages, continue_url.as_deref(), id.as_deref(), *conflict);
        }
    };
    let document = if dialect.release() == Release::NEWEST {
        response::write(operation, answer, active, view.extent())
    } else {
        downgrade(dialect, operation, answer, active, view.extent())
    };
    let document = if view == View::Compact { view.show(operation, document) } else { document };
    Encoded { document, status: response::status(operation, answer), rpc_error: None }
}

/// Rewrites an answer of the newest release into one of an older release. Products are not rewritten again for every
/// answer: their parts are kept in each release.
fn downgrade(dialect: &dyn Dialect, operation: Operation, answer: &Answer, active: &Active, extent: Extent) -> String {
    let release = dialect.release();
    let mut body: Map<String, Value> = serde_json::from_str(&response::without_products(operation, answer, active))
        .unwrap_or_else(|error| unreachable!("answers are JSON objects: {error}"));
    for upgrade in upgrades(release, Release::NEWEST).rev() {
        (upgrade.answer.down)(operation, &mut body);
        (upgrade.kept.answer)(answer, &mut body);
    }
    negotiated(dialect, operation, &mut body, active);
    response::with_products(release, answer, body, extent)
}

/// Sets the `ucp` member of an answer to the capabilities negotiated with the caller, keeping members that are not
/// about the negotiation.
pub(crate) fn negotiated(dialect: &dyn Dialect, operation: Operation, body: &mut Map<String, Value>, active: &Active) {
    let mut ucp = dialect.metadata(operation, active);
    match body.get_mut("ucp") {
        Some(stated) => {
            if let Value::Object(stated) = stated.take() {
                ucp.extend(stated.into_iter().filter(|(name, _)| !NEGOTIATED.contains(&name.as_str())));
            }
            *stated = Value::Object(ucp);
        }
        None => {
            body.shift_insert(0, "ucp".to_owned(), Value::Object(ucp));
        }
    }
}

/// Encodes an order for the webhook of its platform (rules WHK-01 to WHK-03).
pub fn webhook_event(dialect: &dyn Dialect, view: order::View, active: &Active, occasion: &Occasion<'_>) -> String {
    let outcome = Outcome::Answer(Answer::Order(view));
    dialect.webhook_event(encode(dialect, Operation::GetOrder, &outcome, active).document, occasion)
}
