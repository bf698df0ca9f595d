//! JSON Lines of UCP products: the line format of [`Record`](ucp_core::catalog::record::Record).
//!
//! [`ucp_import::jsonl`] documents how lines are read, and how invalid ones are reported.

use std::io::BufRead;

use ucp_core::catalog::market::Market;
use ucp_import::{
    BadRow,
    jsonl::{Documents, typed},
    text::tidy,
};

use super::{Item, finish};

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
        Some(self.documents.next()?.and_then(|(line, mut value)| {
            tidy(&mut value);
            let record = typed(value).map_err(|(path, reason)| BadRow::faulty(line, Some(path), reason))?;
            finish(record, line, &self.market)
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ucp_import::Verdict;

    use super::*;

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
    fn texts_are_what_a_reader_sees() {
        let line = GOOD.replace("A mug.", "A\u{200b} mug.\u{e0041}").replace("\"Mug\"", "\" Mug\\n\u{202e}\"");
        let html = GOOD.replace("\"plain\":\"A mug.\"", "\"html\":\"<p>A <script>x</script>mug.</p>\"");
        for line in [line, html] {
            let (_, record) = read(line.as_bytes()).remove(0).expect("usable");
            assert_eq!((record.title.as_str(), record.description.plain.as_deref()), ("Mug", Some("A mug.")), "{line}");
            assert_eq!(record.description.html, None);
        }
        assert_eq!(fault(&GOOD.replace("\"Mug\"", "\"\u{200b}\"")).0, "$.title");
        assert_eq!(fault(&GOOD.replace("\"plain\":\"A mug.\"", "\"html\":\"<script>x</script>\"")).0, "$.description");
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
