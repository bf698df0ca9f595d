//! Port of the store of a gateway.

use std::{fmt, str::FromStr, sync::Arc};

use super::owners::Owners;
use crate::{order::outbox::Outbox, purchase::ledger::Ledger};

/// The identifier of a shop in its store and among the shops of a process: 1 to 64 characters of `a` to `z`, `0` to `9`
/// and `-`. `default` is the shop of a process that has only one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShopId(Arc<str>);

impl ShopId {
    /// Returns the identifier as text.
    #[must_use]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidShopId;

impl fmt::Display for InvalidShopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the identifier of a shop must be 1 to 64 characters of `a` to `z`, `0` to `9` and `-`")
    }
}

impl std::error::Error for InvalidShopId {}

impl FromStr for ShopId {
    type Err = InvalidShopId;

    fn from_str(text: &str) -> Result<Self, InvalidShopId> {
        let allowed = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let valid = (1..=64).contains(&text.len()) && text.as_bytes().iter().all(allowed);
        if valid { Ok(Self(text.into())) } else { Err(InvalidShopId) }
    }
}

/// Everything that a gateway stores: documents, stock and recorded answers ([`Ledger`]), webhook events that platforms
/// are still to receive ([`Outbox`]), and the owners of resources at another shop ([`Owners`]).
///
/// One store implements all three, because a commit of the ledger that stores an order queues its webhook event.
/// Several processes may have it open at once. `ucp_testkit::store` is its conformance suite.
pub trait Store: Ledger + Outbox + Owners {}

impl<S: Ledger + Outbox + Owners + ?Sized> Store for S {}

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
