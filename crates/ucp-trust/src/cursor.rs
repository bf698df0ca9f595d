//! Page cursors: positions that callers carry, readable by anyone but issued only by the gateway.
//!
//! A cursor holds a position of a backend, sealed with a secret of the shop and bound to the query that it was issued
//! for: a changed, foreign or misused cursor is refused before it reaches a backend.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Refusal,
    catalog::cursor::{CursorSecret, Cursors},
};

const TAG: usize = 16;
const BINDING: usize = 16;

/// Cursors sealed with HMAC-SHA-256, truncated to 16 bytes.
#[derive(Clone, Debug)]
pub struct SealedCursors(CursorSecret);

impl SealedCursors {
    /// Creates cursors that are sealed with this secret.
    pub const fn new(secret: CursorSecret) -> Self {
        Self(secret)
    }

    fn mac(&self, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.reveal())
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(bytes);
        mac
    }
}

/// Returns the first bytes of the SHA-256 of a query.
fn binding(query: &str) -> [u8; BINDING] {
    let digest = Sha256::digest(query);
    let mut binding = [0; BINDING];
    binding.copy_from_slice(&digest[..BINDING]);
    binding
}

impl Cursors for SealedCursors {
    fn seal(&self, query: &str, position: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(BINDING + position.len() + TAG);
        bytes.extend(binding(query));
        bytes.extend(position);
        let tag = self.mac(&bytes).finalize().into_bytes();
        bytes.extend(&tag[..TAG]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn open(&self, query: &str, cursor: &str) -> Result<Vec<u8>, Refusal> {
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
        if bound != binding(query) {
            return Err(refused("The cursor belongs to another query."));
        }
        Ok(position.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cursors(byte: u8) -> SealedCursors {
        SealedCursors::new(CursorSecret::new([byte; 32]))
    }

    proptest! {
        #[test]
        fn opens_what_it_sealed_and_nothing_else(position: Vec<u8>, query: String, other: String, flip: prop::sample::Index, bit in 0_u8..8) {
            let key = cursors(7);
            let cursor = key.seal(&query, &position);
            prop_assert_eq!(key.open(&query, &cursor), Ok(position));
            prop_assert!(cursors(8).open(&query, &cursor).is_err());
            if query != other {
                let refusal = key.open(&other, &cursor).expect_err("bound");
                prop_assert!(refusal.content.contains("another query"));
            }
            let mut bytes = URL_SAFE_NO_PAD.decode(&cursor).expect("base64");
            let at = flip.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(key.open(&query, &URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn never_panics_on_what_callers_send(cursor: String) {
            prop_assert!(cursors(7).open("0", &cursor).is_err());
        }
    }
}
