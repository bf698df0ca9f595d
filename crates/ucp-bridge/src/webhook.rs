//! What the shop tells about orders (UCP *Order Event Webhook*).
//!
//! The shop tells the gateway, under the address in the gateway's profile. What it tells is believed when it is signed
//! with a key of the shop, and handed on to the platform that bought.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};
use ucp_core::{
    Code, Operation, Refusal,
    port::owners::{Kind, Owned, Owner},
};
use ucp_trust::signature::{Component, Message, RequestLine, Signed, Start};
use ucp_wire::relay;

use super::{Bridge, digest_id, owners::LONGER, portable};

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");

/// How old a notice may be, and how far in the future.
const FRESH: Duration = Duration::from_secs(300);

/// How long the identifier of a notice may be.
const MAX_ID: usize = 255;

/// An order that the shop told of, for the platform that bought.
#[derive(Debug)]
pub struct ShopWebhook {
    /// The identifier that the shop gave the notice, as a UUID. It tells the same again under the same one.
    pub id: String,
    /// For whom it is.
    pub owner: Owner,
    /// Which order it is about.
    pub order: String,
    /// The order, in the release of the platform, with the shop's own envelope.
    pub body: Map<String, Value>,
}

/// The head of a notice, which tells a good part of those that are none before their bodies are read.
#[derive(Debug)]
pub struct Head {
    signed: Signed,
    id: String,
}

/// A notice that the shop has signed.
#[derive(Debug)]
pub struct Proven {
    id: String,
}

impl Bridge {
    /// Looks at the head of a notice.
    ///
    /// # Errors
    /// [`SignatureMissing`](Code::SignatureMissing) and [`SignatureInvalid`](Code::SignatureInvalid) without a
    /// signature that can be read; [`InvalidRequest`](Code::InvalidRequest) where it has no name, or is too old.
    pub fn heard(&self, headers: &HeaderMap) -> Result<Head, Refusal> {
        let missing = || Refusal::new(Code::SignatureMissing, "A notice about an order has to be signed by the shop.");
        let signed = Signed::read(headers)?.ok_or_else(missing)?;
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let id = text(&WEBHOOK_ID).filter(|id| (1..=MAX_ID).contains(&id.len()));
        let id = id.ok_or_else(|| Refusal::new(Code::InvalidRequest, "The notice has no usable `Webhook-Id`."))?;
        self.is_fresh(text(&WEBHOOK_TIMESTAMP))?;
        Ok(Head { signed, id: id.to_owned() })
    }

    /// Verifies who sent a notice. `line` is the request as the shop sent it, which its signature is about. A key that
    /// is not known may be a new one of the shop's: its profile is then fetched again, though not often.
    ///
    /// # Errors
    /// What the signature does not prove.
    pub async fn verify(
        &self,
        head: Head,
        line: RequestLine<'_>,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Proven, Refusal> {
        let Head { signed, id } = head;
        let message = Message { start: Start::Request(line), headers };
        let verified = self.0.peer.verify(&signed, &message, body).await?;
        let covers = |name: HeaderName| {
            let of = signed.candidates().iter().find(|candidate| candidate.label == verified.label);
            let input = of.and_then(|candidate| candidate.input.as_ref().ok());
            input.is_some_and(|input| input.covered.contains(&Component::Field(name)))
        };
        // Shops need not sign the name and the time of a notice (trap T-32). Whoever overheard it could give it others
        // and tell it once more: then it goes by what it says.
        if covers(WEBHOOK_ID) && covers(WEBHOOK_TIMESTAMP) {
            return Ok(Proven { id: portable("", &id) });
        }
        Ok(Proven { id: digest_id(body) })
    }

    /// Reads a notice.
    ///
    /// # Errors
    /// [`InvalidRequest`](Code::InvalidRequest) for what is no order, or nobody's.
    pub async fn told(&self, proven: Proven, body: &Bytes) -> Result<ShopWebhook, Refusal> {
        let unreadable =
            || Refusal::invalid("$", "The body must be an order.").accepting("a whole order with its `id`");
        let order: Map<String, Value> = serde_json::from_slice(body).map_err(|_| unreadable())?;
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
        let body = relay::answer(self.0.release, owner.release, Operation::GetOrder, order);
        Ok(ShopWebhook { id: proven.id, owner, order: number, body })
    }

    fn is_fresh(&self, stated: Option<&str>) -> Result<(), Refusal> {
        let now = SystemTime::from((self.0.options.now)());
        let stated = stated.and_then(|stated| stated.parse().ok()).map(Duration::from_secs);
        let at = stated.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        let apart = |at: SystemTime| now.duration_since(at).unwrap_or_else(|error| error.duration());
        if at.is_some_and(|at| apart(at) <= FRESH) {
            return Ok(());
        }
        Err(Refusal::new(Code::InvalidRequest, "The notice is too old, or states no time.")
            .accepting("a `Webhook-Timestamp` that is no more than 5 minutes away"))
    }
}
