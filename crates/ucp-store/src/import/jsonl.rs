//! JSON Lines of UCP products: the line format of [`Record`](ucp_core::catalog::record::Record).
//!
//! Each line stands alone: whatever is wrong with one is reported, and the next one is read. JSON is read strictly, so
//! that a member that is named twice is a fault and not a silent choice. A line that is longer than [`LONGEST_LINE`] is
//! passed over without being held in memory.

use std::io::BufRead;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_path_to_error::Segment;
use ucp_core::{catalog::market::Market, json};

use super::{BadRow, Item, finish};

/// The longest line that is read, in bytes.
pub const LONGEST_LINE: usize = 8 << 20;

/// What a line may hold. A product of 2,048 variants in four currencies holds some 100,000 values.
const LIMITS: json::Limits = json::Limits { depth: 100, values: 2_000_000 };

/// The products of a JSON Lines file.
#[derive(Debug)]
pub struct Products<R> {
    documents: Documents<R>,
    market: Market,
}

impl<R: BufRead> Products<R> {
    /// Reads products for a shop.
    pub const fn new(reader: R, market: Market) -> Self {
        Self { documents: Documents::new(reader, "product"), market }
    }
}

impl<R: BufRead> Iterator for Products<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        Some(self.documents.next()?.and_then(|(line, value)| {
            let record = typed(value).map_err(|(path, reason)| BadRow::faulty(line, Some(path), reason))?;
            finish(record, line, &self.market)
        }))
    }
}

/// The JSON objects of a JSON Lines file, each with its line.
#[derive(Debug)]
pub(crate) struct Documents<R> {
    reader: R,
    /// What a line holds, in the words of a report.
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
    pub(crate) const fn new(reader: R, what: &'static str) -> Self {
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

/// A document as what it should be; or the path of the first member that does not fit, and why.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, (String, String)> {
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
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::{super::Verdict, *};

    const GOOD: &str = r#"{"id":"p1","title":"Mug","description":{"plain":"A mug."},"variants":[{"id":"v1","price":{"amount":900,"currency":"USD"}}]}"#;

    fn market() -> Market {
        serde_json::from_str(r#"{"name":"Example","currency":"USD","currencies":["EUR"],"language":"en"}"#)
            .expect("a market")
    }

    fn read(file: &[u8]) -> Vec<Item> {
        Products::new(file, market()).collect()
    }

    fn fault(line: &str) -> (String, String) {
        let bad = read(line.as_bytes()).remove(0).expect_err(line);
        assert_eq!((bad.line, bad.verdict), (1, Verdict::Faulty));
        (bad.place.unwrap_or_default(), bad.reason)
    }

    #[test]
    fn every_line_stands_alone() {
        let second = GOOD.replace("p1", "p2").replace("v1", "v2");
        let file = format!("\u{feff}{GOOD}\r\n\n  \t\nnot json\n{second}");
        let items = read(file.as_bytes());
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].as_ref().map(|(line, record)| (*line, record.id.as_str())), Ok((1, "p1")));
        assert_eq!(items[1].as_ref().map_err(|bad| bad.line).expect_err("bad"), 4);
        assert_eq!(items[2].as_ref().map(|(line, record)| (*line, record.id.as_str())), Ok((5, "p2")));
    }

    #[test]
    fn faults_are_named_with_their_place() {
        let changed = |from: &str, to: &str| fault(&GOOD.replace(from, to));
        assert_eq!(fault("{\"id\":\"p1\",}").1, "not valid JSON at column 12");
        assert_eq!(fault("[1]"), ("$".into(), "a line holds one product as a JSON object".into()));
        let (place, reason) = changed("\"title\":\"Mug\"", "\"title\":\"Mug\",\"title\":\"Cup\"");
        assert_eq!(place, "$.title");
        assert!(reason.contains("same member twice"), "{reason}");
        assert_eq!(changed("900", "9.5").0, "$.variants[0].price.amount");
        assert_eq!(changed("900", "-1").0, "$.variants[0].price.amount");
        assert_eq!(changed("\"USD\"", "\"dollars\"").0, "$.variants[0].price.currency");
        assert_eq!(changed("\"USD\"", "\"EUR\"").0, "$.variants[0].price");
        assert_eq!(
            changed("{\"plain\":\"A mug.\"}", "\"A mug.\""),
            ("$.description".into(), "invalid type: string \"A mug.\", expected an object".into())
        );
        assert_eq!(changed("\"id\":\"p1\",", "").1, "missing field `id`");
        assert_eq!(changed("\"Mug\"", "\" \"").0, "$.title");
        assert_eq!(changed("\"title\"", "\"url\":\"javascript:alert(1)\",\"title\"").0, "$.url");
        let media =
            r#""media":[{"type":"image","url":"https://example.com/a.jpg"},{"type":"image","url":"data:x"}],"title""#;
        assert_eq!(changed("\"title\"", media).0, "$.media[1].url");
    }

    #[test]
    fn translations_and_prices_are_read() {
        let line = GOOD
            .replace("\"variants\"", r#""translations":{"es":{"title":"Taza"}},"variants""#)
            .replace("\"price\"", r#""prices":[{"amount":850,"currency":"EUR","list_amount":900}],"price""#);
        let (_, record) = read(line.as_bytes()).remove(0).expect("usable");
        assert_eq!(record.translations["es"].title.as_deref(), Some("Taza"));
        assert_eq!(record.currencies().len(), 2);
    }

    #[test]
    fn what_is_written_reads_back() {
        let (_, record) = read(GOOD.as_bytes()).remove(0).expect("usable");
        let line = serde_json::to_string(&record).expect("serialises");
        assert_eq!(read(line.as_bytes()).remove(0), Ok((1, record)));
    }

    #[test]
    fn bytes_that_are_no_text_are_a_fault_of_their_line() {
        let items = read(&[b"\"\xff\"\n".as_slice(), GOOD.as_bytes()].concat());
        assert_eq!(items[0].as_ref().expect_err("bad").reason, "not UTF-8 at column 2");
        assert!(items[1].is_ok());
    }

    #[test]
    fn lines_without_end_are_passed_over() {
        let long = std::io::repeat(b'x').take(LONGEST_LINE as u64 + 1);
        let file = std::io::BufReader::new(long.chain(b"\n".as_slice()).chain(GOOD.as_bytes()));
        let mut products = Products::new(file, market());
        assert_eq!(products.next().expect("a line").expect_err("too long").reason, "the line is longer than 8 MiB");
        assert!(products.documents.buffer.capacity() == 0);
        assert_eq!(products.next().expect("a line").expect("usable").0, 2);
        assert!(products.next().is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert!(read(&bytes).len() <= lines);
        }

        #[test]
        fn a_damaged_line_never_panics(place in 0..GOOD.len(), byte in any::<u8>()) {
            let mut bytes = GOOD.as_bytes().to_vec();
            bytes[place] = byte;
            for item in read(&bytes) {
                if let Err(bad) = item {
                    prop_assert!(!bad.to_string().chars().any(char::is_control));
                }
            }
        }
    }
}
