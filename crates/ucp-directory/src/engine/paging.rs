//! Going through the pages of one answer, all judged at the instant of the first.
//!
//! A cursor carries that instant beside the position, so that what was open when the first page was made is open on
//! every page. Both are sealed.

use jiff::Timestamp;
use ucp_core::{Code, Refusal, catalog::cursor::Cursors};

/// Start of a page, and the instant as of which everything on it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) instant: Timestamp,
    pub(super) after: Option<Vec<u8>>,
}

impl Turn {
    /// The page that a cursor leads to, or the first page, as of `now`.
    pub(super) fn open(
        cursors: &dyn Cursors,
        query: &str,
        cursor: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let Some(cursor) = cursor else { return Ok(Self { instant: now, after: None }) };
        let opened = cursors.open(query, cursor)?;
        let read = || {
            let (instant, position) = opened.split_first_chunk()?;
            let instant = Timestamp::from_nanosecond(i128::from_be_bytes(*instant)).ok()?;
            Some(Self { instant, after: Some(position.to_vec()) })
        };
        read().ok_or_else(|| {
            Refusal::new(Code::InvalidCursor, "The cursor was not issued by this directory.")
                .at("$.pagination.cursor")
                .accepting("no cursor, for the first page")
        })
    }

    /// The cursor of the page after this one, which starts at `position`.
    pub(super) fn seal(&self, cursors: &dyn Cursors, query: &str, position: &[u8]) -> String {
        cursors.seal(query, &[&self.instant.as_nanosecond().to_be_bytes(), position].concat())
    }
}

#[cfg(test)]
mod tests {
    use ucp_testkit::shelf::PlainCursors;

    use super::*;

    #[test]
    fn later_pages_are_judged_at_the_instant_of_the_first() {
        let (key, query) = (PlainCursors, "query");
        let at = |instant: &str| instant.parse::<Timestamp>().expect("an instant");
        let (first, later) = (at("2026-11-21T01:59:59.123456789Z"), at("2026-11-21T02:00:00Z"));
        let turn = Turn::open(&key, query, None, first).expect("the first page");
        let cursor = turn.seal(&key, query, b"here");
        let next = Turn::open(&key, query, Some(&cursor), later).expect("the next page");
        assert_eq!(next, Turn { instant: first, after: Some(b"here".to_vec()) });

        let foreign = key.seal(query, b"short");
        for cursor in [foreign.as_str(), "", "????"] {
            let refusal = Turn::open(&key, query, Some(cursor), later).expect_err("refused");
            assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidCursor, Some("$.pagination.cursor")));
        }
        assert!(Turn::open(&key, "another", Some(&cursor), later).is_err());
    }
}
