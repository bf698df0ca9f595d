//! Ownership of carts, checkouts and orders that the shop stores for the gateway.
//!
//! The shop knows the gateway alone and would return the cart of any platform to it. What a platform has not created
//! here does not exist for it.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use ucp_core::{
    Code, Operation, Refusal,
    operation::{AP2_MANDATE, Effect, Resource},
    ports::{
        ForwardedAnswer,
        caller::Caller,
        owners::{Kind, Owned, Owner},
    },
};

use super::{Bridge, failed, response};

/// Maximum lifetime that a resource is believed to state for itself.
const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Minimum extension of a resource's known lifetime that is stored.
pub(super) const LONGER: SignedDuration = SignedDuration::from_hours(24);

impl Bridge {
    /// Returns the resource that a call is about, with its ownership if the resource is the caller's; `None` if the
    /// call is not about an existing cart, checkout or order.
    pub(super) async fn owned<'a>(
        &self,
        caller: &Caller,
        operation: Operation,
        id: Option<&'a str>,
        payload: &'a Value,
    ) -> Result<Option<(Kind, &'a str, Option<Owned>)>, Refusal> {
        let cart = payload["cart_id"].as_str().filter(|_| operation == Operation::CreateCheckout);
        let (kind, id) = match (Kind::of(operation), id, cart) {
            (Some(kind), Some(id), _) => (kind, id),
            (_, None, Some(cart)) => (Kind::Cart, cart),
            _ => return Ok(None),
        };
        let owned = self.0.options.owners.owned(kind, id).await?.filter(|owned| owned.owner.platform == caller.owner);
        // A checkout begun without mandates is not completed without them once they are negotiated (rule AP2-01), and
        // the shop does not know it under the profile with mandates.
        let buying = operation.row().resource == Resource::Checkout;
        let owned = owned.filter(|owned| owned.owner.mandates || !buying || !caller.has(AP2_MANDATE));
        Ok(Some((kind, id, owned)))
    }

    /// Stores the owner of a created resource and of an order, and the extended lifetime of an existing one.
    pub(super) async fn remember(
        &self,
        owner: &Owner,
        operation: Operation,
        owned: Option<(Kind, String, Owned)>,
        body: &Map<String, Value>,
    ) -> Result<(), Refusal> {
        let (owners, until) = (&self.0.options.owners, self.alive_until(body));
        let made = operation.row().effect == Effect::Creating;
        if let Some(kind) = Kind::of(operation).filter(|_| made) {
            let id = body.get("id").and_then(Value::as_str).ok_or_else(|| Refusal::from(response::unusable()))?;
            let belongs = owners.claim(kind, id, owner, until).await?;
            if belongs.platform != owner.platform {
                let content = "The idempotency key was used by another platform before.";
                return Err(Refusal::new(Code::IdempotencyConflict, content).accepting("a new key"));
            }
        }
        if let Some((kind, id, Owned { until: known, .. })) = owned
            && until.duration_since(known) > LONGER
        {
            owners.extend(kind, &id, until).await?;
        }
        // The first release names the order beside its page.
        let order = body.get("order").map_or_else(|| body.get("order_id"), |order| order.get("id"));
        if let Some(order) = order.and_then(Value::as_str) {
            if owners.owned(Kind::Order, order).await?.is_none() {
                self.follow(order, String::new()).await?;
            }
            owners.claim(Kind::Order, order, owner, until).await?;
        }
        Ok(())
    }

    /// Returns the time until which a resource lives, as far as it states one: at least now, at most [`LONGEST`] from
    /// now.
    fn alive_until(&self, body: &Map<String, Value>) -> Timestamp {
        let now = (self.0.options.now)();
        let stated = body.get("expires_at").and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
        let latest = now.saturating_add(LONGEST).unwrap_or(Timestamp::MAX);
        stated.map_or(now, |stated| stated.clamp(now, latest))
    }
}

/// Returns the answer that a resource does not exist for a caller.
pub(super) fn nothing(kind: Kind) -> ForwardedAnswer {
    failed("not_found", &format!("There is no {} under this id, or it is gone.", kind.as_str()))
}
