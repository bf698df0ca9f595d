//! End of a page: the sort key of its last entry, complete enough to go on from when that entry is gone.

use ucp_core::{Code, Refusal};

/// A sort key: the more relevant first, then the nearer, then by folded name, then by id.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    pub(super) relevance: u32,
    /// Metres; 0 where there is nothing to measure from.
    pub(super) distance: f64,
    pub(super) name: String,
    pub(super) id: String,
}

impl Position {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 + self.name.len() + self.id.len());
        bytes.extend(self.relevance.to_be_bytes());
        bytes.extend(self.distance.to_be_bytes());
        bytes.extend(u32::try_from(self.name.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend(self.name.bytes());
        bytes.extend(self.id.bytes());
        bytes
    }

    /// # Errors
    /// [`Code::InvalidCursor`] for bytes that another kind of index made.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        Self::read(bytes).ok_or_else(|| {
            Refusal::new(Code::InvalidCursor, "The cursor belongs to an earlier version of this directory.")
                .at("$.pagination.cursor")
                .accepting("no cursor, for the first page")
        })
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (relevance, rest) = bytes.split_first_chunk()?;
        let (distance, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (name, id) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let distance = f64::from_be_bytes(*distance);
        (distance >= 0.0).then_some(Self {
            relevance: u32::from_be_bytes(*relevance),
            distance,
            name: String::from_utf8(name.to_vec()).ok()?,
            id: String::from_utf8(id.to_vec()).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_position_is_read_as_it_was_written(relevance: u32, distance in 0.0_f64..2e7, name: String, id: String, cut: prop::sample::Index) {
            let position = Position { relevance, distance, name, id };
            let bytes = position.encode();
            prop_assert_eq!(Position::decode(&bytes), Ok(position));
            // Whatever else it is given, it does not panic.
            let _ = Position::decode(&bytes[cut.index(bytes.len())..]);
        }

        #[test]
        fn foreign_bytes_are_refused_or_read(bytes: Vec<u8>) {
            if let Err(refusal) = Position::decode(&bytes) {
                prop_assert_eq!(refusal.code, Code::InvalidCursor);
            }
        }
    }
}
