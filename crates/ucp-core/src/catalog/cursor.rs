//! Opaque page positions.
//!
//! A cursor carries a backend's position to the caller and back. Who makes cursors sees to it that nobody else can, and
//! that each belongs to one query.

use crate::Refusal;

/// Makes cursors, and opens its own alone.
pub trait Cursors: Send + Sync {
    /// The cursor for a backend's `position` in a query, which is a text of everything that decides about its results.
    fn seal(&self, query: &str, position: &[u8]) -> String;

    /// The position in a cursor that was made for this query. Fails with [`InvalidCursor`](crate::Code::InvalidCursor),
    /// saying whether the cursor is none of these or belongs to another query.
    fn open(&self, query: &str, cursor: &str) -> Result<Vec<u8>, Refusal>;
}

/// The secret that a shop's cursors are made with. It outlives restarts, and does not print.
#[derive(Clone)]
pub struct CursorSecret([u8; 32]);

impl CursorSecret {
    /// A secret of 32 random bytes.
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The bytes, for whoever makes cursors with them.
    pub const fn reveal(&self) -> &[u8; 32] {
        &self.0
    }
}

crate::opaque!(CursorSecret);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Code;

    /// Cursors that say the query and the position in plain text.
    pub(crate) struct PlainCursors;

    impl Cursors for PlainCursors {
        fn seal(&self, query: &str, position: &[u8]) -> String {
            let position: String = position.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{position} in {query}")
        }

        fn open(&self, query: &str, cursor: &str) -> Result<Vec<u8>, Refusal> {
            let refused =
                || Refusal::new(Code::InvalidCursor, "Invalid cursor for this query.").at("$.pagination.cursor");
            let position = cursor.strip_suffix(&format!(" in {query}")).ok_or_else(refused)?;
            let digits = position.as_bytes().chunks(2).map(|digits| str::from_utf8(digits).unwrap_or_default());
            digits.map(|digits| u8::from_str_radix(digits, 16).map_err(|_| refused())).collect()
        }
    }

    #[test]
    fn the_secret_is_not_printed() {
        assert_eq!(format!("{:?}", CursorSecret::new([65; 32])), "CursorSecret { .. }");
    }
}
