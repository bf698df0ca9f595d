//! Positions in the results of a search, as cursors carry them.
//!
//! A page of the gateway begins within a page of the shop: all pages of one result are asked for in one size, whatever
//! size each caller wants, because the shop may count its pages by it. Of the page in which it begins, the products that
//! were given out are remembered, so that others which appear or disappear move nothing.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use ucp_core::catalog::search::MAX_LIMIT;

/// Smallest size of pages that the shop is asked for.
const LEAST: usize = 10;

/// Position in a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Size of the pages of this result.
    pub(crate) size: usize,
    /// Position of the shop that its page begins after; `None` for the first page.
    pub(crate) after: Option<String>,
    /// Marks of the products of that page that were given out.
    given: Vec<u32>,
}

impl Position {
    /// Returns the beginning of a result whose first page is to hold `limit` products.
    pub(crate) fn first(limit: usize, is_filtered: bool) -> Self {
        let size = if is_filtered { MAX_LIMIT } else { limit.clamp(LEAST, MAX_LIMIT) };
        Self { size, after: None, given: Vec::new() }
    }

    /// Reads a position; `None` if it was not written here.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let mut parts = text.splitn(3, ' ');
        let size = parts.next()?.parse().ok().filter(|size| (1..=MAX_LIMIT).contains(size))?;
        let marks = parts.next()?.as_bytes().chunks(8);
        let mark = |digits: &[u8]| u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
        Some(Self { size, given: marks.map(mark).collect::<Option<_>>()?, after: parts.next().map(str::to_owned) })
    }

    /// Returns the position as a cursor carries it.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut text = format!("{} ", self.size);
        for mark in &self.given {
            let _ = write!(text, "{mark:08x}");
        }
        if let Some(after) = &self.after {
            text.push(' ');
            text.push_str(after);
        }
        text.into_bytes()
    }

    /// Returns the position of the page of the shop after this one.
    pub(crate) fn page_after(&self, next: String) -> Self {
        Self { size: self.size, after: Some(next), given: Vec::new() }
    }

    /// Remembers that a product of this page was given out.
    pub(crate) fn give(&mut self, id: &str) {
        self.given.push(mark(id));
    }

    /// Returns `true` if a product of this page was given out.
    pub(crate) fn has_given(&self, id: &str) -> bool {
        !self.given.is_empty() && self.given.contains(&mark(id))
    }
}

/// Returns a mark by which a product is recognized within a page.
fn mark(id: &str) -> u32 {
    let digest = Sha256::digest(id);
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let first = Position::first(3, false);
        assert_eq!((first.size, Position::first(3, true).size), (10, 50));
        let mut begun = first.page_after("a b\n".into());
        begun.give("p");
        begun.give("q");
        assert!(begun.has_given("q") && !begun.has_given("r") && !first.has_given("p"));
        for position in [first.clone(), first.page_after("2".into()), begun] {
            assert_eq!(Position::read(&position.write()), Some(position));
        }
        for other in ["", "10", "0 ", "51 ", "10 x", "10 0000000g", "apples", "\u{e9} "] {
            assert_eq!(Position::read(other.as_bytes()), None, "{other}");
        }
    }
}
