//! Texts from outside as agents and buyers see them: plain, without characters that nobody sees, and of bounded length.
//!
//! Product texts are read by agents, so that markup, hidden characters or length in them could carry what the merchant
//! never meant to say.

use std::mem;

use serde_json::{Map, Value};
use ucp_core::{catalog::product::Description, json::push_name, text::clean};

pub use crate::address::address;
use crate::html::to_text;

/// Maximum length of a name, label or title, in characters.
const LONGEST_LINE: usize = 500;

/// Maximum length of a description, in characters.
const LONGEST_TEXT: usize = 20_000;

/// Returns why a text of a row cannot be kept, if it has characters that [no text needs](ucp_core::text::is_unfit).
pub fn unfit(text: &str) -> Option<String> {
    ucp_core::text::unfit(text).map(|letter| format!("must not hold the character U+{:04X}", u32::from(letter)))
}

/// Returns a text as one line without invisible characters, cut to 500 characters; `None` if nothing is left of it.
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

/// Members that are one line wherever they stand.
const LINES: [&str; 8] = ["title", "name", "label", "value", "alt_text", "sku", "handle", "tags"];

/// Members that are no text for readers: they are compared as they are.
const EXACT: [&str; 2] = ["id", "cursor"];

/// Members of an answer that are not for readers at all, with everything in them.
const OPAQUE: [&str; 3] = ["ucp", "ap2", "credential"];

/// Arrays whose elements are nothing without their `url`.
const ADDRESSED: [&str; 2] = ["media", "links"];

/// Maximum number of addresses that a report names.
const MOST_NAMED: usize = 8;

/// Reduces every text of a product as JSON to what a reader sees: names to a [line](fn@line), [descriptions](describe) to
/// plain text, and others by the characters that nobody sees, cut to 20,000 characters. Addresses stay as they are.
pub fn tidy(product: &mut Value) {
    Tidying { opens: None, tidied: Tidied::default() }.value("", product);
}

/// Result of [`tidy_answer`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// `true` if anything was changed.
    pub changed: bool,
    /// Places of the first addresses that were left out, as JSONPath without the `$`.
    pub left_out: Vec<String>,
    /// Places of the first texts that lost more than spaces: markup, characters that nobody sees, or their end.
    pub reduced: Vec<String>,
}

/// Reduces a document that a shop elsewhere answers with, a product, cart, checkout, order or a whole answer, to what may
/// be handed on: its texts like [`tidy`], and its addresses to those that the client may open. `opens` is asked about
/// each; the others are left out, and with them pictures and links that are nothing without.
pub fn tidy_answer(document: &mut Value, opens: &dyn Fn(&str) -> bool) -> Tidied {
    let mut tidying = Tidying { opens: Some(opens), tidied: Tidied::default() };
    tidying.value("", document);
    tidying.tidied
}

struct Tidying<'a> {
    /// `true` if an address may be handed on; `None` if addresses stay as they are.
    opens: Option<&'a dyn Fn(&str) -> bool>,
    tidied: Tidied,
}

impl Tidying<'_> {
    fn value(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::String(text) => self.text(name, text),
            Value::Array(elements) => {
                let mut place = 0;
                elements.retain_mut(|element| {
                    let had = element.get("url").is_some();
                    self.inside(|| format!("[{place}]"), |tidying| tidying.value(name, element));
                    place += 1;
                    !had || element.get("url").is_some() || !ADDRESSED.contains(&name)
                });
            }
            Value::Object(members) => {
                if name == "description" {
                    self.description(members);
                }
                self.members(members);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>) {
        if members.keys().any(|name| !is_line(name) && line(name).unwrap_or_default() != *name) {
            self.reduced();
            *members =
                mem::take(members).into_iter().map(|(name, value)| (line(&name).unwrap_or_default(), value)).collect();
        }
        let open = self.opens;
        let mut closed = Vec::new();
        for (name, value) in members.iter_mut() {
            let exact = EXACT.contains(&name.as_str()) || name == "url" && open.is_none();
            if exact || open.is_some() && OPAQUE.contains(&name.as_str()) {
                continue;
            }
            match (open, &*value) {
                (Some(opens), Value::String(text)) if is_address_name(name) || runs(name, text) => {
                    if !opens(text) {
                        closed.push(name.clone());
                    }
                }
                (Some(_), Value::Number(_) | Value::Bool(_)) if is_address_name(name) => closed.push(name.clone()),
                (Some(_), Value::Null) if name == "url" => closed.push(name.clone()),
                _ => {
                    let inner = if name == "terms" { "label" } else { name };
                    self.inside(|| place(name), |tidying| tidying.value(inner, value));
                }
            }
        }
        for name in closed {
            members.shift_remove(&name);
            self.tidied.changed = true;
            if self.tidied.left_out.len() < MOST_NAMED {
                self.tidied.left_out.push(place(&name));
            }
        }
    }

    /// Does something at a place, which precedes those that are noted there.
    fn inside(&mut self, place: impl Fn() -> String, tidy: impl FnOnce(&mut Self)) {
        let (left_out, reduced) = (self.tidied.left_out.len(), self.tidied.reduced.len());
        tidy(self);
        let Tidied { left_out: left_outs, reduced: all_reduced, .. } = &mut self.tidied;
        for noted in left_outs[left_out..].iter_mut().chain(&mut all_reduced[reduced..]) {
            noted.insert_str(0, &place());
        }
    }

    /// Notes that something here is no longer what it said.
    fn reduced(&mut self) {
        self.tidied.changed = true;
        if self.tidied.reduced.len() < MOST_NAMED {
            self.tidied.reduced.push(String::new());
        }
    }

    fn text(&mut self, name: &str, text: &mut String) {
        if is_line(text) {
            return;
        }
        let tidy = if LINES.contains(&name) {
            line(text).unwrap_or_default()
        } else if text.len() <= LONGEST_TEXT && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
            return;
        } else {
            cut(clean(text), LONGEST_TEXT)
        };
        if tidy != *text {
            self.tidied.changed = true;
            if !tidy.split_whitespace().eq(text.split_whitespace()) {
                self.reduced();
            }
            *text = tidy;
        }
    }

    /// A description of another shape is refused with its place when a product is read.
    fn description(&mut self, members: &mut Map<String, Value>) {
        const FORMS: [&str; 3] = ["plain", "html", "markdown"];
        if FORMS.iter().any(|form| members.get(*form).is_some_and(|stated| !stated.is_string())) {
            return;
        }
        let [plain, html, markdown] = FORMS.map(|form| Some(members.get(form)?.as_str()?.to_owned()));
        if plain.as_deref().is_some_and(is_line) && html.is_none() && markdown.is_none() {
            return;
        }
        let mut description = Description { plain, html, markdown };
        let stated = description.clone();
        describe(&mut description);
        if description == stated {
            return;
        }
        self.reduced();
        FORMS.iter().for_each(|form| drop(members.shift_remove(*form)));
        if let Some(plain) = description.plain {
            members.shift_insert(0, "plain".to_owned(), plain.into());
        }
    }
}

/// Returns the step to a member, as JSONPath.
fn place(name: &str) -> String {
    let mut place = String::new();
    push_name(&mut place, name);
    place
}

/// Returns `true` if a member of this name is an address.
fn is_address_name(name: &str) -> bool {
    matches!(name, "url" | "uri" | "href" | "src") || name.ends_with("_url") || name.ends_with("_uri")
}

/// Returns `true` if a text, in whatever member other than a name, is an address that a client would run or show.
fn runs(name: &str, text: &str) -> bool {
    const SCHEMES: [&str; 5] = ["javascript:", "vbscript:", "data:text/", "data:image/", "data:application/"];
    let runs = |scheme: &&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    text.contains(':') && !LINES.contains(&name) && SCHEMES.iter().any(runs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
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

    #[test]
    fn addresses_that_no_client_should_open_are_left_out_with_what_is_nothing_without() {
        let mut answer = json!({
            "ucp": { "x": "javascript:alert(1)" },
            "product": {
                "id": "p", "title": "javascript:alert(1)", "url": "javascript:alert(1)",
                "media": [{ "type": "image", "url": "data:image/png;base64,x" }, { "type": "image", "url": "https://cdn.example/a.png" }],
                "variants": [{ "id": "v", "url": "http://shop.example/", "seller": { "links": [{ "type": "faq", "url": "//x" }] } }],
            },
            "links": [{ "type": "terms_of_service", "url": "https://brand.example/terms" }, { "type": "faq", "url": "ftp://x/" }],
            "order": { "id": "o", "permalink_url": "vbscript:x" },
            "com.example.extra": { "picture": "JavaScript:alert(1)", "note": "data: 5" },
        });
        let tidied = tidy_answer(&mut answer, &|text| address(text).is_some());
        assert_eq!(
            answer,
            json!({
                "ucp": { "x": "javascript:alert(1)" },
                "product": {
                    "id": "p", "title": "javascript:alert(1)",
                    "media": [{ "type": "image", "url": "https://cdn.example/a.png" }],
                    "variants": [{ "id": "v", "seller": { "links": [] } }],
                },
                "links": [{ "type": "terms_of_service", "url": "https://brand.example/terms" }],
                "order": { "id": "o" },
                "com.example.extra": { "note": "data: 5" },
            })
        );
        let mut places = tidied.left_out;
        places.sort();
        assert_eq!(
            places,
            [
                ".links[1].url",
                ".order.permalink_url",
                ".product.media[0].url",
                ".product.url",
                ".product.variants[0].seller.links[0].url",
                ".product.variants[0].url",
                "['com.example.extra'].picture",
            ]
        );
    }

    #[test]
    fn clean_documents_are_unchanged() {
        let sound = json!({
            "id": "p\u{200b}", "title": "Tea – 100 g", "description": { "plain": "Soft.\n\nGreen." }, "price": 1.50,
            "url": "https://shop.example/p", "image_url": "http://localhost/p.png", "": { "a.b": ["é", "\t"] },
            "cursor": "x".repeat(30_000), "unknown": null,
        });
        let mut answer = sound.clone();
        assert_eq!(tidy_answer(&mut answer, &|text| address(text).is_some()), Tidied::default());
        assert_eq!(answer.to_string(), sound.to_string());
        for (stated, shown) in [
            (json!({ "note": "a\u{202e}b" }), json!({ "note": "ab" })),
            (
                json!({ "description": { "html": "<b>x</b>", "z": 1 } }),
                json!({ "description": { "plain": "x", "z": 1 } }),
            ),
            (json!({ "content": "é".repeat(1 << 20) }), json!({ "content": "é".repeat(LONGEST_TEXT) })),
            (json!({ "a\u{200b}": 1 }), json!({ "a": 1 })),
        ] {
            let mut answer = stated;
            let tidied = tidy_answer(&mut answer, &|_| true);
            assert!(tidied.changed && tidied.reduced.len() == 1, "{tidied:?}");
            assert_eq!(answer, shown);
        }
        let mut answer = json!({ "lines": [{ "title": " Two  words\n" }, { "title": "\u{200b}x" }] });
        assert_eq!(tidy_answer(&mut answer, &|_| true).reduced, [".lines[1].title"]);
    }

    proptest! {
        #[test]
        fn clean_lines_are_unchanged(text in "([ -~]|é|\\PC|\\s|\\p{Cf}){0,12}") {
            let words = clean(&text).split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(line(&text).unwrap_or_default(), words);
        }
    }
}
