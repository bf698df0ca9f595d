//! Opaque page positions.
//!
//! A cursor carries a backend's position, sealed with the shop's key and bound to the query it was issued for. It can be
//! read by anyone and made by no one else: a changed, foreign or misused cursor is refused before a backend sees it.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::{Code, Refusal};

const TAG: usize = 16;
const BINDING: usize = 16;

/// The secret that seals the cursors of one shop.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey(..)")
    }
}

/// What identifies a query for the purpose of paging through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding([u8; BINDING]);

impl Binding {
    /// The binding of a query, from everything that decides about its results, in a fixed order.
    #[must_use]
    pub fn of(parts: &impl fmt::Debug) -> Self {
        let digest = Sha256::digest(format!("{parts:?}"));
        let mut binding = [0; BINDING];
        binding.copy_from_slice(&digest[..BINDING]);
        Self(binding)
    }
}

impl CursorKey {
    /// A key from 32 random bytes.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The cursor for a backend's `position` in the query of `binding`.
    #[must_use]
    pub fn seal(&self, binding: Binding, position: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(BINDING + position.len() + TAG);
        bytes.extend(binding.0);
        bytes.extend(position);
        let tag = self.mac(&bytes).finalize().into_bytes();
        bytes.extend(&tag[..TAG]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position in a cursor that was issued for the query of `binding`.
    ///
    /// # Errors
    /// [`Code::InvalidCursor`], saying whether the cursor is none of ours or belongs to another query.
    pub fn open(&self, binding: Binding, cursor: &str) -> Result<Vec<u8>, Refusal> {
        let refused = |content: &str| {
            Refusal::new(Code::InvalidCursor, content)
                .at("$.pagination.cursor")
                .accepting("the `pagination.cursor` of an earlier answer to the same query, unchanged; or none, for the first page")
        };
        let foreign = || refused("The cursor was not issued by this shop, or was altered.");
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| foreign())?;
        if bytes.len() < BINDING + TAG {
            return Err(foreign());
        }
        let (sealed, tag) = bytes.split_at(bytes.len() - TAG);
        self.mac(sealed).verify_truncated_left(tag).map_err(|_| foreign())?;
        let (bound, position) = sealed.split_at(BINDING);
        if bound != binding.0 {
            return Err(refused("The cursor belongs to another query."));
        }
        Ok(position.to_vec())
    }

    fn mac(&self, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(bytes);
        mac
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn opens_what_it_sealed_and_nothing_else(position: Vec<u8>, query: String, other: String, flip: prop::sample::Index, bit in 0_u8..8) {
            let key = CursorKey::new([7; 32]);
            let binding = Binding::of(&query);
            let cursor = key.seal(binding, &position);
            prop_assert_eq!(key.open(binding, &cursor), Ok(position));
            prop_assert!(CursorKey::new([8; 32]).open(binding, &cursor).is_err());
            if query != other {
                let refusal = key.open(Binding::of(&other), &cursor).expect_err("bound");
                prop_assert!(refusal.content.contains("another query"));
            }
            let mut bytes = URL_SAFE_NO_PAD.decode(&cursor).expect("base64");
            let at = flip.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(key.open(binding, &URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn never_panics_on_what_callers_send(cursor: String) {
            prop_assert!(CursorKey::new([7; 32]).open(Binding::of(&0), &cursor).is_err());
        }
    }

    #[test]
    fn the_key_is_not_printed() {
        assert_eq!(format!("{:?}", CursorKey::new([65; 32])), "CursorKey(..)");
    }
}
