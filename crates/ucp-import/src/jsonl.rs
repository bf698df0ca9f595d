//! JSON Lines.
//!
//! Each line stands alone: whatever is wrong with one is reported, and the next one is read. JSON is read strictly, so
//! that a member that is named twice is a fault and not a silent choice. A line that is longer than [`LONGEST_LINE`] is
//! passed over without being held in memory.

use std::io::BufRead;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_path_to_error::Segment;
use ucp_core::json;

use super::BadRow;

/// The longest line that is read, in bytes.
pub const LONGEST_LINE: usize = 8 << 20;

/// Limits on the depth of a line and on its number of values. A product of 2,048 variants in four currencies holds some
/// 100,000 values.
const LIMITS: json::Limits = json::Limits { depth: 100, values: 2_000_000 };

/// The JSON objects of a JSON Lines file, each with its line.
#[derive(Debug)]
pub struct Documents<R> {
    reader: R,
    /// Name of the content of a line, for reports.
    what: &'static str,
    line: u64,
    buffer: Vec<u8>,
    ended: bool,
}

enum Line {
    Read,
    TooLong,
    End,
}

impl<R: BufRead> Documents<R> {
    /// Reads objects, of which one is called `what` in a report.
    pub const fn new(reader: R, what: &'static str) -> Self {
        Self { reader, what, line: 0, buffer: Vec::new(), ended: false }
    }

    /// Reads up to the next line feed or the end, keeping at most [`LONGEST_LINE`] bytes.
    fn read_line(&mut self) -> std::io::Result<Line> {
        self.buffer.clear();
        let mut too_long = false;
        let mut anything = false;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(match (anything, too_long) {
                    (false, _) => Line::End,
                    (true, true) => Line::TooLong,
                    (true, false) => Line::Read,
                });
            }
            anything = true;
            let feed = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..feed.unwrap_or(available.len())];
            too_long |= self.buffer.len() + part.len() > LONGEST_LINE;
            if too_long {
                self.buffer = Vec::new();
            } else {
                self.buffer.extend_from_slice(part);
            }
            let used = feed.map_or(available.len(), |feed| feed + 1);
            self.reader.consume(used);
            if feed.is_some() {
                return Ok(if too_long { Line::TooLong } else { Line::Read });
            }
        }
    }
}

impl<R: BufRead> Iterator for Documents<R> {
    type Item = Result<(u64, Value), BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let read = self.read_line();
            self.line += 1;
            match read {
                Ok(Line::Read) => {
                    let bytes: &[u8] = &self.buffer;
                    let marked = if self.line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf") } else { None };
                    let bytes = marked.unwrap_or(bytes).trim_ascii();
                    if !bytes.is_empty() {
                        return Some(object(bytes, self.line, self.what).map(|object| (self.line, object)));
                    }
                }
                Ok(Line::TooLong) => {
                    let reason = format!("the line is longer than {} MiB", LONGEST_LINE >> 20);
                    return Some(Err(BadRow::faulty(self.line, None, reason)));
                }
                Ok(Line::End) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(BadRow::unreadable(
                        self.line,
                        format!("the file cannot be read further: {error}"),
                    )));
                }
            }
        }
        None
    }
}

/// The object on one line.
fn object(bytes: &[u8], line: u64, what: &str) -> Result<Value, BadRow> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(BadRow::faulty(line, None, format!("not UTF-8 at column {}", error.valid_up_to() + 1)));
    }
    let value = json::parse(bytes, LIMITS).map_err(|refusal| {
        // The refusal counts lines within the document, which is always the first one here.
        match serde_json::from_slice::<IgnoredAny>(bytes) {
            Err(error) => BadRow::faulty(line, refusal.path, format!("not valid JSON at column {}", error.column())),
            Ok(_) => {
                let accepted = refusal.accepted.map(|accepted| format!(" Accepted: {accepted}.")).unwrap_or_default();
                BadRow::faulty(line, refusal.path, refusal.content + &accepted)
            }
        }
    })?;
    if !value.is_object() {
        return Err(BadRow::faulty(line, Some("$".to_owned()), format!("a line holds one {what} as a JSON object")));
    }
    Ok(value)
}

/// A document as what it should be. Fails with the path of the first member that does not fit, and why.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(value).map_err(|error: serde_path_to_error::Error<serde_json::Error>| {
        let mut path = String::from("$");
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => path.push_str(&format!("[{index}]")),
                Segment::Map { key } => json::push_name(&mut path, key),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        // The names of types in the code mean nothing to a merchant.
        let reason = error.inner().to_string();
        let reason = match reason.split_once(", expected struct ") {
            Some((found, _)) => format!("{found}, expected an object"),
            None => reason,
        };
        (path, reason)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read as _};

    use super::*;

    #[test]
    fn lines_without_end_are_passed_over() {
        let long = std::io::repeat(b'x').take(LONGEST_LINE as u64 + 1);
        let file = BufReader::new(long.chain(b"\n{\"id\": 1}".as_slice()));
        let mut documents = Documents::new(file, "product");
        assert_eq!(documents.next().expect("a line").expect_err("too long").reason, "the line is longer than 8 MiB");
        assert!(documents.buffer.capacity() == 0);
        assert_eq!(documents.next().expect("a line").expect("usable"), (2, serde_json::json!({"id": 1})));
        assert!(documents.next().is_none());
    }
}
