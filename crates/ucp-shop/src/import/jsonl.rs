//! JSON Lines of UCP products: the line format of [`Record`](ucp_core::catalog::record::Record), or `id` and
//! `"deleted": true` for a product that is no longer sold.
//!
//! [`ucp_import::jsonl`] documents how lines are read, and how invalid ones are reported.

use std::io::BufRead;

use serde_json::Value;
use ucp_core::catalog::market::Market;
use ucp_import::{
    BadRow,
    jsonl::{Documents, typed},
    text::tidy,
};

use super::{Change, finish};

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
    type Item = Result<(u64, Change), BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        let (line, value) = match self.documents.next()? {
            Ok(document) => document,
            Err(bad) => return Some(Err(bad)),
        };
        Some(change(value, line, &self.market).map(|change| (line, change)))
    }
}

/// Reads what a document, the one on `line` of its source, states about a product. Fails with [`BadRow`] if it cannot
/// be used.
pub fn change(mut value: Value, line: u64, market: &Market) -> Result<Change, BadRow> {
    let faulty = |(path, reason): (String, String)| BadRow::faulty(line, Some(path), reason);
    if let Some(id) = deleted(&mut value).map_err(faulty)? {
        return Ok(Change::Remove(id));
    }
    tidy(&mut value);
    finish(typed(value).map_err(faulty)?, line, market).map(|(_, record)| record.into())
}

/// Takes the mark `deleted` out of a product, and returns the identifier if it is `true`. Fails with the path and
/// reason of a mark that cannot be used.
fn deleted(product: &mut Value) -> Result<Option<String>, (String, String)> {
    let mark = product.as_object_mut().and_then(|members| members.shift_remove("deleted"));
    match mark {
        None | Some(Value::Bool(false)) => Ok(None),
        Some(Value::Bool(true)) => match &product["id"] {
            Value::String(id) if !id.trim().is_empty() => Ok(Some(id.clone())),
            _ => Err(("$.id".to_owned(), "must be the identifier of the product that is deleted".to_owned())),
        },
        Some(_) => Err(("$.deleted".to_owned(), "must be true or false".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ucp_core::catalog::record::Record;
    use ucp_import::Verdict;

    use super::*;
    use crate::import::ImportedProduct;

    const GOOD: &str = r#"{"id":"p1","title":"Mug","description":{"plain":"A mug."},"variants":[{"id":"v1","price":{"amount":900,"currency":"USD"}}]}"#;

    fn market() -> Market {
        serde_json::from_str(r#"{"name":"Example","currency":"USD","currencies":["EUR"],"language":"en"}"#)
            .expect("a market")
    }

    fn read(file: &[u8]) -> Vec<ImportedProduct> {
        let record = |(line, change)| match change {
            Change::Put(record) => (line, Record::clone(&record)),
            Change::Remove(id) => panic!("`{id}` is removed"),
        };
        Products::new(file, market()).map(|item| item.map(record)).collect()
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
        assert_eq!(
            changed("A mug.", "A\\u0000 mug."),
            (
                "$.description.plain".into(),
                "A text must not hold the character U+0000. Accepted: Unicode text without control characters other than \
                 tab and line breaks."
                    .into()
            )
        );
        assert!(changed("A mug.", "A\\ud800 mug.").1.contains("half of a surrogate pair"));
        assert_eq!(fault("[1]"), ("$".into(), "a line holds one product as a JSON object".into()));
        let (place, reason) = changed("\"title\":\"Mug\"", "\"title\":\"Mug\",\"title\":\"Cup\"");
        assert_eq!(place, "$.title");
        assert!(reason.contains("same field twice"), "{reason}");
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
    fn a_mark_says_that_a_product_is_no_longer_sold() {
        let marked = |mark: &str| Products::new(mark.as_bytes(), market()).next().expect("an item");
        assert_eq!(marked(r#"{"id":"p1","deleted":true}"#), Ok((1, Change::Remove("p1".to_owned()))));
        assert_eq!(
            read(GOOD.replace("\"id\":\"p1\"", "\"id\":\"p1\",\"deleted\":false").as_bytes()),
            read(GOOD.as_bytes())
        );
        assert_eq!(fault(r#"{"id":"p1","deleted":"yes"}"#).0, "$.deleted");
        assert_eq!(fault(r#"{"id":7,"deleted":true}"#).0, "$.id");
        assert_eq!(fault(r#"{"deleted":true}"#).0, "$.id");
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
    fn records_survive_the_way_through_json_lines() {
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
