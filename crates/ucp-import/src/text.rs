//! Texts from outside as agents and buyers see them: plain, without characters that nobody sees, and of bounded length.
//!
//! Product texts are read by agents, so that markup, hidden characters or length in them could carry what the merchant
//! never meant to say.

use std::mem;

use serde::Deserialize as _;
use serde_json::{Value, json};
use ucp_core::{catalog::product::Description, text::clean};

pub use crate::address::address;
use crate::html::to_text;

/// Maximum length of a name, label or title, in characters.
const LONGEST_LINE: usize = 500;

/// Maximum length of a description, in characters.
const LONGEST_TEXT: usize = 20_000;

/// Returns a text as one line without invisible characters, cut to 500 characters; `None` if nothing is left of it.
#[must_use]
pub fn line(text: &str) -> Option<String> {
    if is_line(text) {
        return Some(text.to_owned());
    }
    let clean = clean(text);
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = cut(line, LONGEST_LINE);
    (!line.is_empty()).then_some(line)
}

/// Returns `true` if a text, as most texts, is a clean line as it is: [`line`](fn@line) would not change it.
fn is_line(text: &str) -> bool {
    let mut before = b' ';
    let plain = |byte: u8| {
        let fits = matches!(byte, b'!'..=b'~') || (byte == b' ' && before != b' ');
        before = byte;
        fits
    };
    text.len() <= LONGEST_LINE && text.bytes().all(plain) && before != b' '
}

/// Returns the plain text of an HTML fragment, cut to 20,000 characters; `None` if it is empty.
#[must_use]
pub fn plain(fragment: &str) -> Option<String> {
    let text = cut(to_text(fragment), LONGEST_TEXT);
    (!text.is_empty()).then_some(text)
}

fn cut(mut text: String, longest: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(longest) {
        text.truncate(end);
    }
    text
}

/// Reduces a description to plain text: that of its HTML or Markdown if there is none. One that is left without any text
/// has none of the forms.
pub fn describe(description: &mut Description) {
    let Description { plain: own, html, markdown } = mem::take(description);
    let own = own.map(|own| cut(clean(&own), LONGEST_TEXT)).filter(|own| !own.trim().is_empty());
    // Markdown may hold HTML, and reads as text otherwise.
    description.plain = own.or_else(|| html.as_deref().or(markdown.as_deref()).and_then(plain));
}

/// Members that are one line wherever they stand in a product.
const LINES: [&str; 8] = ["title", "name", "label", "value", "alt_text", "sku", "handle", "tags"];

/// Members that are no text for readers: they are compared or opened as they are.
const EXACT: [&str; 2] = ["id", "url"];

/// Reduces every text of a product as JSON to what a reader sees: names to a [line](fn@line), [descriptions](describe) to
/// plain text, and others by the characters that nobody sees, cut to 20,000 characters.
pub fn tidy(product: &mut Value) {
    tidy_member("", product);
}

fn tidy_member(name: &str, value: &mut Value) {
    // A description of another shape is refused with its place when the product is read.
    if name == "description"
        && value.is_object()
        && let Ok(mut description) = Description::deserialize(&*value)
    {
        describe(&mut description);
        *value = json!(description);
        return;
    }
    match value {
        Value::String(text) if LINES.contains(&name) => *text = line(text).unwrap_or_default(),
        Value::String(text) => *text = cut(clean(text), LONGEST_TEXT),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| tidy_member(name, entry)),
        Value::Object(members) => {
            *members =
                mem::take(members).into_iter().map(|(name, value)| (line(&name).unwrap_or_default(), value)).collect();
            for (name, value) in members.iter_mut().filter(|(name, _)| !EXACT.contains(&name.as_str())) {
                tidy_member(if name == "terms" { "label" } else { name }, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ucp_core::text::is_invisible;

    use super::*;

    #[test]
    fn lines_are_one_line_without_what_no_one_sees() {
        assert_eq!(line(" Red\u{202e}\n\tshirt\u{0} ").as_deref(), Some("Red shirt"));
        assert_eq!(line("\u{200b} \n"), None);
        assert_eq!(line(&"é".repeat(600)).map(|line| line.chars().count()), Some(LONGEST_LINE));
        assert_eq!(plain("<p>a<script>b</script></p>\u{202e}").as_deref(), Some("a"));
        assert_eq!(plain("<!-- nothing -->"), None);
    }

    #[test]
    fn descriptions_become_plain() {
        let described = |value: Value| {
            let mut description: Description = serde_json::from_value(value).expect("a description");
            describe(&mut description);
            serde_json::to_value(description).expect("JSON")
        };
        for (stated, shown) in [
            (json!({"plain": "a\u{202e}\nb", "html": "<b>c</b>"}), json!({"plain": "a\nb"})),
            (json!({"html": "<p>Soft<script>x</script></p>"}), json!({"plain": "Soft"})),
            (json!({"markdown": "**a** <img src=x>"}), json!({"plain": "**a**"})),
            (json!({"plain": " \u{200b}", "html": "<p>a</p>"}), json!({"plain": "a"})),
            (json!({"html": "<script>x</script>"}), json!({})),
        ] {
            assert_eq!(described(stated.clone()), shown, "{stated}");
        }
        let long = described(json!({"plain": "é".repeat(30_000)}));
        assert_eq!(long["plain"].as_str().map(|text| text.chars().count()), Some(LONGEST_TEXT));
    }

    #[test]
    fn no_text_of_a_product_hides_anything() {
        const HIDDEN: &str = "\u{202e}\u{200b}\u{e0041}\u{e0100}";
        let text = |word: &str| format!("{word}{HIDDEN}");
        let media = json!([{"type": "image", "url": "https://example.com/a.jpg", "alt_text": text("alt")}]);
        let option = json!([{"name": text("Size"), "label": text("S")}]);
        let mut product = json!({
            "id": "p", "handle": text("h"), "title": text("Mug"), "description": {"html": text("<i>A mug</i>")},
            "categories": [{"value": text("Mugs")}], "media": media, "tags": [text("new")],
            "options": [{"name": text("Size"), "values": [{"label": text("S")}]}],
            "metadata": {"vendor": text("V"), "deep": [{text("name"): text("x")}]}, "custom": text("c"),
            "translations": {"es": {
                "title": text("Taza"), "description": {"plain": text("Una taza")}, "terms": {text("Size"): text("Talla")}
            }},
            "variants": [{
                "id": "v", "price": {"amount": 900, "currency": "USD"}, "title": text("S"), "sku": text("sku"),
                "handle": text("h"), "barcodes": [{"type": "UPC", "value": text("1")}], "options": option,
                "description": {"markdown": text("m")}, "categories": [{"value": text("c")}], "tags": [text("t")],
                "media": media, "metadata": {"a": text("b")}, "other": [text("o")],
                "seller": {
                    "name": text("Seller"), "x": text("y"),
                    "links": [{"type": "faq", "url": "https://example.com/", "title": text("FAQ")}]
                }
            }]
        });
        assert_eq!(product.to_string().matches(HIDDEN).count(), 31, "each text hides something");
        tidy(&mut product);
        let shown = product.to_string();
        assert!(!shown.chars().any(is_invisible) && !shown.contains("<i>"), "{shown}");
        assert_eq!(product["translations"]["es"]["terms"]["Size"], "Talla");
        assert_eq!(product["id"], "p");
    }

    proptest! {
        #[test]
        fn what_is_a_line_already_stays(text in "([ -~]|é|\\PC|\\s|\\p{Cf}){0,12}") {
            let words = clean(&text).split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(line(&text).unwrap_or_default(), words);
        }
    }
}
