//! Files that merchants state things in, products or themselves: what reading them has in common.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`jsonl`] | JSON Lines, each line on its own |
//! | [`html`] | plain text from HTML |
//! | [`text`] | texts and addresses as agents and buyers see them |
//!
//! Invalid rows are left out and reported as a [`BadRow`], with line, field and reason.

mod address;
pub mod html;
pub mod jsonl;
pub mod text;

pub use self::address::is_web_address;

use std::{
    fmt,
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ucp_core::text::clean;

/// The longest reason that is reported; cells and members of a bad file can be of any length.
const LONGEST_REASON: usize = 400;

/// Why a product or a merchant is not imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The merchant does not offer it: a draft, say.
    Skipped,
    /// Something about it is wrong.
    Faulty,
    /// The file could not be read any further; nothing follows.
    Unreadable,
}

/// A product or a merchant that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Whose fault it is, if anybody's.
    pub verdict: Verdict,
    /// The line of the file, counted from 1. In a CSV file, the line on which the row starts.
    pub line: u64,
    /// The member as `JSONPath`, or the name of the column.
    pub place: Option<String>,
    /// Description of the error, for people.
    pub reason: String,
}

impl BadRow {
    /// A fault on a line.
    pub fn faulty(line: u64, place: Option<String>, reason: impl AsRef<str>) -> Self {
        Self {
            verdict: Verdict::Faulty,
            line,
            place: place.map(|place| printable(&place)),
            reason: printable(reason.as_ref()),
        }
    }

    /// A product that is not offered.
    pub fn skipped(line: u64, place: impl Into<String>, reason: impl AsRef<str>) -> Self {
        Self { verdict: Verdict::Skipped, ..Self::faulty(line, Some(place.into()), reason) }
    }

    /// The end of what can be read.
    pub fn unreadable(line: u64, reason: impl AsRef<str>) -> Self {
        Self { verdict: Verdict::Unreadable, ..Self::faulty(line, None, reason) }
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// `text` fit for a terminal: short, on one line, without control or direction characters.
pub fn printable(text: &str) -> String {
    let mut line: String = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(LONGEST_REASON) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Progress of reading a source. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    bytes: Arc<AtomicU64>,
    /// Size of the source in bytes, if it is known.
    pub total: Option<u64>,
}

impl Progress {
    /// Returns the number of bytes that have been read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts what is read from the source.
    pub fn of<R: Read>(&self, source: R) -> impl Read + use<R> {
        Counted { source, bytes: Arc::clone(&self.bytes) }
    }
}

struct Counted<R> {
    source: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use ucp_core::text::is_invisible;

    use super::*;

    #[test]
    fn reasons_are_fit_for_a_terminal() {
        let bad = BadRow::faulty(1, Some("a\u{1b}[2J".to_owned()), format!("x\n\u{202e}\u{7}{}", "é".repeat(5000)));
        let text = bad.to_string();
        assert!(
            text.chars().count() < 450 && !text.chars().any(|letter| letter.is_control() || is_invisible(letter)),
            "{text}"
        );
    }
}
