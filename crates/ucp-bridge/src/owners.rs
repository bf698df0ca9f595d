//! To whom carts, checkouts and orders belong that a shop keeps for the gateway.
//!
//! The shop knows the gateway alone, and would give it the cart of any platform. What a platform has not made here does
//! not exist for it.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use ucp_core::{
    Code, Operation, Refusal, Release,
    operation::{AP2_MANDATE, Effect, Resource},
    port::Carried,
    purchase::caller::Caller,
};

use super::{Bridge, failed, told};

/// The longest time that anything is believed to live which says so itself.
const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);

/// How much longer something has to live than is known before that is written down.
pub(super) const LONGER: SignedDuration = SignedDuration::from_hours(24);

/// What belongs to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A cart.
    Cart,
    /// A checkout.
    Checkout,
    /// An order.
    Order,
}

impl Kind {
    /// What an operation is about.
    #[must_use]
    pub fn of(operation: Operation) -> Option<Self> {
        match operation.row().resource {
            Resource::Cart => Some(Self::Cart),
            Resource::Checkout => Some(Self::Checkout),
            Resource::Order => Some(Self::Order),
            Resource::Catalog | Resource::Directory => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cart => "cart",
            Self::Checkout => "checkout",
            Self::Order => "order",
        }
    }
}

/// To whom something belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The platform: the address of its profile.
    pub platform: String,
    /// The release that it was served in.
    pub release: Release,
    /// Whether it was made with mandates negotiated: it is then known to the shop under another profile of the gateway, and
    /// nothing about it is concluded without (rule AP2-01).
    pub mandates: bool,
}

/// What is remembered of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// To whom it belongs.
    pub owner: Owner,
    /// Until when it is alive as far as that is known; some time after that it may be forgotten.
    pub until: Timestamp,
}

/// Where owners are remembered. It outlives restarts.
#[async_trait]
pub trait Owners: Send + Sync {
    /// To whom something belongs.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) when that cannot be read.
    async fn owned(&self, kind: Kind, id: &str) -> Result<Option<Owned>, Refusal>;

    /// Remembers to whom something belongs that is alive until then, unless it belongs to somebody. Returns to whom it does.
    /// On disk when this returns.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) when that cannot be written.
    async fn claim(&self, kind: Kind, id: &str, owner: &Owner, until: Timestamp) -> Result<Owner, Refusal>;

    /// Remembers that something that belongs to somebody is alive for longer.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) when that cannot be written.
    async fn extend(&self, kind: Kind, id: &str, until: Timestamp) -> Result<(), Refusal>;
}

impl Bridge {
    /// What a call is about, and what is known of that: `None` where it is about nothing that is somebody's, and within
    /// that, where it is not the caller's.
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
        // What was begun without mandates is not concluded without them once they are negotiated (rule AP2-01), and the
        // shop does not know it under the profile with them.
        let buying = operation.row().resource == Resource::Checkout;
        let owned = owned.filter(|owned| owned.owner.mandates || !buying || !caller.has(AP2_MANDATE));
        Ok(Some((kind, id, owned)))
    }

    /// Remembers to whom it belongs what was made, and that it is alive.
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
            let id = body.get("id").and_then(Value::as_str).ok_or_else(told::unusable)?;
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
        if let Some(order) = body.get("order").and_then(|order| order["id"].as_str()) {
            owners.claim(Kind::Order, order, owner, until).await?;
        }
        Ok(())
    }

    /// Until when something is alive, as far as it says so itself; it is now, at least.
    fn alive_until(&self, body: &Map<String, Value>) -> Timestamp {
        let now = (self.0.options.now)();
        let stated = body.get("expires_at").and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
        let latest = now.saturating_add(LONGEST).unwrap_or(Timestamp::MAX);
        stated.map_or(now, |stated| stated.clamp(now, latest))
    }
}

/// The answer that something does not exist for a caller.
pub(super) fn nothing(kind: Kind) -> Carried {
    failed("not_found", &format!("There is no {} under this id, or it is gone.", kind.as_str()))
}
