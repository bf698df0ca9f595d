//! What the shop tells about orders (UCP *Order Event Webhook*).
//!
//! The shop tells the gateway, under the address in the gateway's profile. What it tells is believed when it is signed with
//! a key of the shop, and handed on to the platform that bought.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};
use ucp_core::{Code, Operation, Refusal};
use ucp_trust::signature::{Message, RequestLine, Signed, Start};
use ucp_wire::relay;

use super::{
    Bridge,
    owners::{Kind, Owner},
    portable,
};

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");

/// How old a notice may be, and how far in the future.
const FRESH: Duration = Duration::from_secs(300);

/// How long the identifier of a notice may be.
const MAX_ID: usize = 255;

/// An order that the shop told of, for the platform that bought.
#[derive(Debug)]
pub struct Notice {
    /// The identifier that the shop gave the notice, as a UUID. It tells the same again under the same one.
    pub id: String,
    /// For whom it is.
    pub owner: Owner,
    /// Which order it is about.
    pub order: String,
    /// The order, in the release of the platform, with the shop's own envelope.
    pub body: Map<String, Value>,
}

impl Bridge {
    /// Reads a notice. `line` is the request as the shop sent it, which its signature is about.
    ///
    /// # Errors
    /// [`SignatureMissing`](Code::SignatureMissing) and others of a signature that proves nothing;
    /// [`InvalidRequest`](Code::InvalidRequest) for what is no notice, is too old, or is about nobody's order.
    pub async fn told(&self, line: RequestLine<'_>, headers: &HeaderMap, body: &Bytes) -> Result<Notice, Refusal> {
        let missing = || Refusal::new(Code::SignatureMissing, "A notice about an order has to be signed by the shop.");
        let signed = Signed::read(headers)?.ok_or_else(missing)?;
        let message = Message { start: Start::Request(line), headers };
        self.0.peer.verify(&signed, &message, body).await?;
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let id = text(&WEBHOOK_ID).filter(|id| (1..=MAX_ID).contains(&id.len()));
        let id = id.ok_or_else(|| Refusal::new(Code::InvalidRequest, "The notice has no usable `Webhook-Id`."))?;
        self.is_fresh(text(&WEBHOOK_TIMESTAMP))?;
        let unreadable = || Refusal::invalid("$", "The body is no order.").accepting("a whole order with its `id`");
        let order: Map<String, Value> = serde_json::from_slice(body).map_err(|_| unreadable())?;
        let name = |member: &str| order.get(member).and_then(Value::as_str);
        let number = name("id").ok_or_else(unreadable)?.to_owned();
        let owners = &self.0.options.owners;
        let owner = match owners.owner(Kind::Order, &number).await? {
            Some(owner) => owner,
            None => {
                let checkout = match name("checkout_id") {
                    Some(checkout) => owners.owner(Kind::Checkout, checkout).await?,
                    None => None,
                };
                let unknown = || Refusal::invalid("$.checkout_id", "Nobody bought that here.");
                owners.claim(Kind::Order, &number, &checkout.ok_or_else(unknown)?).await?
            }
        };
        let body = relay::answer(self.0.release, owner.release, Operation::GetOrder, order);
        Ok(Notice { id: portable("", id), owner, order: number, body })
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
