//! Body, header fields and signature of a webhook message.

use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use jiff::Timestamp;
use serde_json::Value;
use ucp_core::{
    order::View,
    ports::outbox::{WebhookEvent, WebhookMessage},
};
use ucp_trust::{
    address::ProfileUrl,
    signature::{
        RequestLine, Scheme,
        detached::{REQUEST_SIGNATURE, sign_detached},
        key::SigningKey,
        sign::SignError,
        sign_request,
    },
};
use ucp_wire::{
    codec,
    dialect::{Occasion, Seal},
    releases::dialect,
};

use crate::recipient::{Delivery, Recipient};

/// Identifier of the webhook event, for recipients that recognize repeated requests by this field.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const UCP_AGENT: HeaderName = HeaderName::from_static("ucp-agent");
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");

/// Returns the message about an order in the release of the recipient.
pub fn write(webhook_event: &WebhookEvent, view: View, recipient: &Recipient) -> WebhookMessage {
    let occasion = Occasion { id: &webhook_event.id, at: webhook_event.occurred_at };
    let body = codec::webhook_event(dialect(recipient.release), view, &recipient.active, &occasion).into_bytes();
    WebhookMessage { release: recipient.release, body }
}

/// Returns the header fields of a message to a URL, with its signature, as the platform demands them. `agent` is the
/// `UCP-Agent` of this business.
/// Fails with [`SignError`] if the message cannot be signed, or its identifier is not valid in a header.
pub fn headers(
    webhook_event: &WebhookEvent,
    webhook_message: &WebhookMessage,
    delivery: &Delivery,
    url: &ProfileUrl,
    agent: &HeaderValue,
    key: &SigningKey,
    now: Timestamp,
) -> Result<HeaderMap, SignError> {
    let mut headers = delivery.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(UCP_AGENT, agent.clone());
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| SignError::Incomplete("the notice has no identifier".to_owned()))
    };
    let entry = if delivery.names_entry { newest_entry(&webhook_message.body) } else { None };
    headers.insert(WEBHOOK_ID, value(entry.as_deref().unwrap_or(&webhook_event.id))?);
    headers.insert(IDEMPOTENCY_KEY, value(&webhook_event.id)?);
    let at = webhook_event.occurred_at;
    let time = if delivery.has_rfc3339_time {
        at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    } else {
        at.as_second().to_string()
    };
    headers.insert(WEBHOOK_TIMESTAMP, value(&time)?);
    match dialect(webhook_message.release).seal() {
        Seal::Message => {
            let url = url.url();
            let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
            let (authority, path, query) = (url.authority(), url.path(), url.query());
            let line = RequestLine { method: "POST", scheme, authority, path, query };
            let covered = [WEBHOOK_ID, IDEMPOTENCY_KEY, WEBHOOK_TIMESTAMP];
            sign_request(line, &mut headers, &webhook_message.body, &covered, key, now.into())?;
        }
        Seal::Body => {
            let signature = HeaderValue::from_str(&sign_detached(&webhook_message.body, key)?);
            headers.insert(REQUEST_SIGNATURE, signature.map_err(|_| SignError::KeyId)?);
        }
    }
    Ok(headers)
}

/// Returns the identifier of the newest fulfillment event or adjustment in a message, by its time and else by its place; that
/// of the order if there is none. `None` if the message is no order.
fn newest_entry(body: &[u8]) -> Option<String> {
    let order: Value = serde_json::from_slice(body).ok()?;
    let entries =
        ["/fulfillment/events", "/adjustments"].into_iter().filter_map(|at| order.pointer(at)?.as_array()).flatten();
    let timed = entries.filter_map(|entry| {
        let at: Timestamp = entry.get("occurred_at")?.as_str()?.parse().ok()?;
        Some((at, entry.get("id")?.as_str()?))
    });
    let newest = timed.max_by_key(|(at, _)| *at).map(|(_, id)| id);
    newest.or_else(|| order.get("id")?.as_str()).map(str::to_owned)
}
