//! Webhook events of the shop about orders (UCP *Order Event Webhook*).
//!
//! The shop sends them to the address in the gateway's profile. An event is accepted if it is signed with a key of the
//! shop, and forwarded to the platform that placed the order. Shops of the first releases sign the body alone, in
//! `Request-Signature`, and state the identifier of the event in it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};
use ucp_core::{
    Code, Operation, Refusal,
    ports::owners::{Kind, Owned, Owner},
};
use ucp_trust::signature::{Component, Message, RequestLine, Signed, Start, detached::Detached};
use ucp_wire::{dialect, dialect::Seal, relay};

use super::{Bridge, digest_id, owners::LONGER, portable, twice::twice};

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");

/// Maximum distance of an event's timestamp from now, in either direction.
const FRESH: Duration = Duration::from_secs(300);

/// Maximum length of an event's identifier, in bytes.
const MAX_ID: usize = 255;

/// Members that the first releases add to the order: the identifier and the time of the event.
const EVENT: [&str; 2] = ["event_id", "created_time"];

/// Members of an order that say nothing about its state.
const BESIDE: [&str; 4] = ["ucp", "messages", "event_id", "created_time"];

/// Webhook event of the shop, for the platform that placed the order.
#[derive(Debug)]
pub struct ShopWebhook {
    /// Identifier of the event, a UUID: derived from the shop's identifier if the signature covers that (and the
    /// timestamp, if both are headers), and otherwise from the body. A repeated event has the same one.
    pub id: String,
    /// Owner of the order, which receives the event.
    pub owner: Owner,
    /// Identifier of the order.
    pub order: String,
    /// Order in the release of the platform, with the shop's own envelope.
    pub body: Map<String, Value>,
    /// Digest of its state.
    pub state: String,
}

/// Headers of an event, by which many invalid events are refused before their bodies are read.
#[derive(Debug)]
pub struct Head(Signature);

/// Signature of an event.
#[derive(Debug)]
enum Signature {
    /// HTTP Message Signature, of an event with this identifier.
    Message(Signed, String),
    /// Detached signature over the body.
    Body(Detached),
}

/// An event whose signature is valid.
#[derive(Debug)]
pub struct Proven {
    id: String,
}

impl Bridge {
    /// Reads the headers of an event. Fails with [`SignatureMissing`](Code::SignatureMissing) or
    /// [`SignatureInvalid`](Code::SignatureInvalid) if there is no signature that can be read;
    /// [`InvalidRequest`](Code::InvalidRequest) if the event has no identifier, or its timestamp is not within five
    /// minutes. Both are in the body where the signature covers nothing else.
    pub fn heard(&self, headers: &HeaderMap) -> Result<Head, Refusal> {
        let missing = || Refusal::new(Code::SignatureMissing, "An order webhook must be signed by the shop.");
        let Some(signed) = Signed::read(headers)? else {
            let detached = match dialect(self.0.release).seal() {
                Seal::Body => Detached::read(headers)?,
                Seal::Message => None,
            };
            return Ok(Head(Signature::Body(detached.ok_or_else(missing)?)));
        };
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let id = text(&WEBHOOK_ID).filter(|id| (1..=MAX_ID).contains(&id.len()));
        let id = id.ok_or_else(|| Refusal::new(Code::InvalidRequest, "The webhook has no valid `Webhook-Id`."))?;
        self.is_fresh(text(&WEBHOOK_TIMESTAMP))?;
        Ok(Head(Signature::Message(signed, id.to_owned())))
    }

    /// Verifies the signature of an event. `line` is the request as the shop sent it, which the signature covers. A key
    /// that is not known may be a new one of the shop: its profile is then fetched again, with a minimum time between
    /// fetches. Fails with [`Refusal`] if the signature is not valid.
    pub async fn verify(
        &self,
        head: Head,
        line: RequestLine<'_>,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Proven, Refusal> {
        let (signed, id) = match head.0 {
            Signature::Message(signed, id) => (signed, id),
            Signature::Body(detached) => {
                self.0.peer.verify_body(&detached, body).await?;
                return Ok(Proven { id: event_id(body).map_or_else(|| digest_id(body), |id| portable("", &id)) });
            }
        };
        let message = Message { start: Start::Request(line), headers };
        let verified = self.0.peer.verify(&signed, &message, body).await?;
        let covers = |name: HeaderName| {
            let of = signed.candidates().iter().find(|candidate| candidate.label == verified.label);
            let input = of.and_then(|candidate| candidate.input.as_ref().ok());
            input.is_some_and(|input| input.covered.contains(&Component::Field(name)))
        };
        // Shops need not sign the identifier and the timestamp of an event (trap T-32), so that an eavesdropper could
        // repeat it with others: then its body identifies it.
        if covers(WEBHOOK_ID) && covers(WEBHOOK_TIMESTAMP) {
            return Ok(Proven { id: portable("", &id) });
        }
        Ok(Proven { id: digest_id(body) })
    }

    /// Reads an event. Fails with [`InvalidRequest`](Code::InvalidRequest) if the body is not an order, the order has a
    /// fault for which it would not be forwarded as an answer either, or it belongs to no platform here.
    pub async fn told(&self, proven: Proven, body: &Bytes) -> Result<ShopWebhook, Refusal> {
        let unreadable =
            || Refusal::invalid("$", "The body must be an order.").accepting("a whole order with its `id`");
        let order: Map<String, Value> = serde_json::from_slice(body).map_err(|_| unreadable())?;
        let valid = self.valid_order(order, twice(body));
        let mut order =
            valid.map_err(|fault| Refusal::invalid(fault.path(), format!("The order is invalid: {fault}.")))?;
        if dialect(self.0.release).seal() == Seal::Body {
            // Of the event, not of the order.
            EVENT.iter().for_each(|name| drop(order.shift_remove(*name)));
        }
        let name = |member: &str| order.get(member).and_then(Value::as_str);
        let number = name("id").ok_or_else(unreadable)?.to_owned();
        let (owners, now) = (&self.0.options.owners, (self.0.options.now)());
        let owner = match owners.owned(Kind::Order, &number).await? {
            Some(Owned { owner, until }) => {
                if now.duration_since(until) > LONGER {
                    owners.extend(Kind::Order, &number, now).await?;
                }
                owner
            }
            None => {
                let checkout = match name("checkout_id") {
                    Some(checkout) => owners.owned(Kind::Checkout, checkout).await?,
                    None => None,
                };
                let unknown = || Refusal::invalid("$.checkout_id", "Nobody bought that here.");
                owners.claim(Kind::Order, &number, &checkout.ok_or_else(unknown)?.owner, now).await?
            }
        };
        if let Some(checkout) = name("checkout_id") {
            self.note(Kind::Purchase, checkout, &owner).await;
        }
        let state = state(&order);
        let body = relay::answer(self.0.release, owner.release, Operation::GetOrder, order);
        Ok(ShopWebhook { id: proven.id, owner, order: number, body, state })
    }

    fn is_fresh(&self, stated: Option<&str>) -> Result<(), Refusal> {
        let now = SystemTime::from((self.0.options.now)());
        let stated = stated.and_then(|stated| stated.parse().ok()).map(Duration::from_secs);
        let at = stated.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        let apart = |at: SystemTime| now.duration_since(at).unwrap_or_else(|error| error.duration());
        if at.is_some_and(|at| apart(at) <= FRESH) {
            return Ok(());
        }
        Err(Refusal::new(Code::InvalidRequest, "The webhook is too old, or has no timestamp.")
            .accepting("a `Webhook-Timestamp` that is no more than 5 minutes away"))
    }
}

/// Returns a digest of the state of an order, in which the sequence of members does not matter.
pub(super) fn state(order: &Map<String, Value>) -> String {
    let mut order = order.clone();
    BESIDE.iter().for_each(|name| drop(order.shift_remove(*name)));
    relay::without_nulls(&mut order);
    let mut order = Value::Object(order);
    order.sort_all_objects();
    digest_id(order.to_string().as_bytes())
}

/// Returns the identifier that the body of an event states.
fn event_id(body: &[u8]) -> Option<String> {
    let order: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let id = order.get(EVENT[0])?.as_str()?;
    (1..=MAX_ID).contains(&id.len()).then(|| id.to_owned())
}
