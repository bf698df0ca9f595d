//! Port of the store of a gateway.

use std::{fmt, str::FromStr, sync::Arc};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::{
    buyers::Buyers,
    error::PortError,
    ledger::{Holding, Ledger, Stored},
    outbox::{Outbox, WebhookMessage},
    owners::Owners,
};
use crate::{checkout::Checkout, order::Order, purchase::mandate::Mandate};

/// Retention of recorded answers (rule IDM-02), and of the marks of commits without one.
pub const KEPT_FOR: SignedDuration = SignedDuration::from_hours(48);

/// Retention of carts and checkouts after their expiry whose caller has no credential.
pub const HELD_FOR: SignedDuration = SignedDuration::from_hours(1);

/// Retention of webhook events that were never settled.
pub const REMEMBERED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Retention of webhook events after they were settled, during which they can be sent again.
pub const SETTLED_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Retention of what was sold of counted variants: a number of an older time is taken as of this one.
pub const TAKEN_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The identifier of a shop in its store and among the shops of a process: 1 to 64 characters of `a` to `z`, `0` to `9`
/// and `-`. `default` is the shop of a process that has only one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShopId(Arc<str>);

impl ShopId {
    /// Returns the identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ShopId {
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for ShopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is not the identifier of a shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the identifier of a shop must be 1 to 64 characters of `a` to `z`, `0` to `9` and `-`")]
pub struct InvalidShopId;

impl FromStr for ShopId {
    type Err = InvalidShopId;

    fn from_str(text: &str) -> Result<Self, InvalidShopId> {
        let allowed = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let valid = (1..=64).contains(&text.len()) && text.as_bytes().iter().all(allowed);
        if valid { Ok(Self(text.into())) } else { Err(InvalidShopId) }
    }
}

/// Everything that a gateway stores for a shop: documents, stock and recorded answers ([`Ledger`]), webhook events that
/// platforms are still to receive ([`Outbox`]), the owners of resources at a remote shop ([`Owners`]), and
/// personal data ([`Buyers`]).
///
/// One store implements all of them, because a commit of the ledger that stores an order queues its webhook event.
/// Several processes may have it open at once. `ucp_testkit::store` is its conformance suite.
///
/// # Errors
/// Every function fails with [`PortError::Unavailable`] if the store can be neither read nor written at the moment.
#[async_trait]
pub trait Store: Ledger + Outbox + Owners + Buyers + fmt::Debug {
    /// Returns orders of all platforms for the shop's operator, newest first, at most `limit`.
    async fn newest_orders(&self, limit: usize) -> Result<Vec<Stored<Order>>, PortError>;

    /// Returns an order of any platform for the shop's operator.
    async fn any_order(&self, id: &str) -> Result<Option<Stored<Order>>, PortError>;

    /// Returns the mandate that was presented for a checkout; `None` if there was none or it has been removed.
    async fn mandate(&self, checkout_id: &str) -> Result<Option<Mandate>, PortError>;

    /// Queues a webhook message of a remote shop for its platform. Returns, once it is on disk, `true` if the message is
    /// new.
    async fn forward(&self, forwarded: Forwarded) -> Result<bool, PortError>;

    /// Returns what happened without a call since this was called last, by any process, in the order in which it happened:
    /// at most some at once. Each is returned to one caller. The first call for a shop returns no checkouts.
    async fn happened(&self, now: Timestamp) -> Result<Vec<Happened>, PortError>;

    /// Returns the groups of callers that hold most, at most `limit`, by the size of what they hold.
    async fn holdings(&self, limit: usize) -> Result<Vec<Holding>, PortError>;

    /// Removes what is counted to a group of callers, and returns the number of rows: carts, and checkouts that are not
    /// being paid, with the answers recorded for it, those about completed purchases left out.
    async fn release(&self, group: &str) -> Result<u64, PortError>;

    /// Removes expired rows, in small steps between which others can write, and returns their number.
    ///
    /// | rows | removed |
    /// | :-- | :-- |
    /// | recorded answers | after 48 hours (rule IDM-02) |
    /// | carts and checkouts | 30 days after their expiry, those of strangers after an hour; checkouts with an unsettled payment stay |
    /// | mandates | with their checkout, unless it became an order |
    /// | webhook events | 7 days after they were settled, or 30 days without |
    /// | owners of carts and checkouts | 30 days after they were known to be alive, or if there are more than a million |
    /// | owners of orders | 3 years after the last news of them |
    ///
    /// Orders stay. Rows that were removed before a failure stay removed.
    async fn prune(&self, now: Timestamp) -> Result<u64, PortError>;
}

/// A step of an order or a checkout, for the log of commerce events.
#[derive(Clone, Debug)]
pub enum Happened {
    /// An order is stored in a new version.
    Order {
        /// Identifier of the order.
        order_id: String,
        /// Platform that it belongs to.
        owner: String,
        /// Version, from 1.
        version: u64,
        /// Time of the change, UTC.
        at: Timestamp,
    },
    /// A checkout expired unfinished. One with a payment whose end is unknown is not over.
    Abandoned(Box<Checkout>),
}

/// A webhook message of a remote shop about an order.
#[derive(Clone, Debug)]
pub struct Forwarded {
    /// Identifier of the webhook event, a UUID. An event is queued only once.
    pub id: String,
    /// Platform that receives the event.
    pub owner: String,
    /// Identifier of the order.
    pub order_id: String,
    /// Message to send.
    pub webhook_message: WebhookMessage,
    /// Time of arrival, UTC.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_of_a_shop_is_short_and_plain() {
        for valid in ["a", "flowers-2", "0", &"x".repeat(64), ShopId::default().as_str()] {
            assert_eq!(valid.parse::<ShopId>().map(|id| id.to_string()), Ok(valid.to_owned()));
        }
        for invalid in ["", "Flowers", "a b", "a/b", "..", "b\u{fc}cher", "a_b", &"x".repeat(65)] {
            assert_eq!(invalid.parse::<ShopId>(), Err(InvalidShopId), "{invalid}");
        }
    }
}
