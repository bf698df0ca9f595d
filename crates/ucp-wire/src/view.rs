//! Views of catalog answers, an option of this gateway.
//!
//! | view | holds |
//! | :-- | :-- |
//! | full | everything that the shop states |
//! | standard | the same of a product page; listings leave to it the rest of long descriptions, their other forms, all pictures but the first, links of sellers, barcodes, ids of option values, and options of a variant that its title spells out |
//! | compact | all that the schemas of every release require, with short descriptions, and of the rest what a choice depends on |

use serde_json::{Map, Value};
use ucp_core::{Code, Operation, Refusal, operation::Resource, rendering::Extent};

/// Maximum length of a description that listings show whole, in characters.
const WHOLE_TEXT: usize = 480;

/// Maximum length of the beginning of a longer one, in characters.
const EXCERPT: usize = 400;

/// Minimum length of a beginning that ends with a sentence, in characters.
const SENTENCES: usize = 200;

/// The end of a shortened description, for models and people.
const SHORTENED: &str = " … (shortened; get_product has the whole text)";

/// Maximum length of the description of a product in the compact view, in characters.
const PRODUCT_TEXT: usize = 20;

/// Maximum length of the description of a variant in the compact view, in characters.
const VARIANT_TEXT: usize = 12;

/// Extent of catalog answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Everything that the shop states of a product page, and of listings what a page does not have to be opened for.
    #[default]
    Standard,
    /// Everything that the shop states.
    Full,
    /// Fields that help to choose.
    Compact,
}

impl View {
    /// Reads the parameter `view` from the query of a URL; `None` if there is none. Other parameters are ignored. Fails
    /// with [`Code::InvalidRequest`] for an unknown view.
    pub fn of(query: Option<&str>) -> Result<Option<Self>, Refusal> {
        let mut parameters = query.unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='));
        match parameters.find(|(name, _)| *name == "view").map(|(_, value)| value) {
            None => Ok(None),
            Some("standard") => Ok(Some(Self::Standard)),
            Some("full") => Ok(Some(Self::Full)),
            Some("compact") => Ok(Some(Self::Compact)),
            Some(_) => Err(Refusal::new(Code::InvalidRequest, "The query names an unknown view.")
                .accepting("`view=standard`, `view=full` or `view=compact`")),
        }
    }

    /// Returns an answer in this view. Only answers of the catalog have views.
    pub fn show(self, operation: Operation, document: String) -> String {
        let is_whole = match self {
            Self::Full => true,
            Self::Standard => operation == Operation::GetProduct,
            Self::Compact => false,
        };
        if is_whole || operation.row().resource != Resource::Catalog {
            return document;
        }
        let Ok(mut answer) = serde_json::from_str::<Value>(&document) else { return document };
        let show = |product: &mut Map<String, Value>| match self {
            Self::Compact => compact(product, operation),
            Self::Full | Self::Standard => list(product),
        };
        if let Some(products) = answer.get_mut("products").and_then(Value::as_array_mut) {
            products.iter_mut().filter_map(Value::as_object_mut).for_each(show);
        }
        if let Some(product) = answer.get_mut("product").and_then(Value::as_object_mut) {
            show(product);
        }
        answer.to_string()
    }

    /// Returns the extent of products in listings, before the compact view is cut.
    pub(crate) const fn extent(self) -> Extent {
        match self {
            Self::Full => Extent::Whole,
            Self::Standard | Self::Compact => Extent::Listed,
        }
    }
}

/// Leaves of a product with its variants what listings show.
fn list(product: &mut Map<String, Value>) {
    let has_picture = product.get("media").and_then(Value::as_array).is_some_and(|media| !media.is_empty());
    let variants = product.get_mut("variants").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten().filter_map(Value::as_object_mut) {
        list_variant(variant, has_picture);
    }
    list_product(product);
}

/// Leaves of a product without its variants what listings show.
pub(crate) fn list_product(product: &mut Map<String, Value>) {
    let options = product.get_mut("options").and_then(Value::as_array_mut).into_iter().flatten();
    for values in options.filter_map(|option| option.get_mut("values")?.as_array_mut()) {
        values.iter_mut().for_each(forget_id);
    }
    shorten(product);
    let title = product.get("title").cloned();
    let Some(media) = product.get_mut("media").and_then(Value::as_array_mut) else { return };
    media.truncate(1);
    if let Some(Value::Object(picture)) = media.first_mut() {
        picture.retain(|name, value| match name.as_str() {
            "width" | "height" => false,
            "alt_text" => title.as_ref() != Some(value),
            _ => true,
        });
    }
}

/// Leaves of a variant what listings show. `has_picture` is `true` if its product has one.
pub(crate) fn list_variant(variant: &mut Map<String, Value>, has_picture: bool) {
    variant.retain(|name, _| match name.as_str() {
        "media" => !has_picture,
        "barcodes" => false,
        _ => true,
    });
    if let Some(Value::Object(seller)) = variant.get_mut("seller") {
        seller.shift_remove("links");
    }
    let is_in_title = spells(variant);
    if is_in_title {
        variant.shift_remove("options");
    } else if let Some(options) = variant.get_mut("options").and_then(Value::as_array_mut) {
        options.iter_mut().for_each(forget_id);
    }
    shorten(variant);
}

/// Returns `true` if the title of a variant is made of the values of its options, in their order.
fn spells(variant: &Map<String, Value>) -> bool {
    let options = variant.get("options").and_then(Value::as_array).into_iter().flatten();
    let labels: Vec<_> = options.filter_map(|option| option["label"].as_str()).collect();
    !labels.is_empty() && variant.get("title").is_some_and(|title| *title == labels.join(" / "))
}

fn forget_id(option: &mut Value) {
    if let Some(option) = option.as_object_mut() {
        option.shift_remove("id");
    }
}

/// Leaves one form of the description of a product or a variant, and shortens it. The others say the same again.
fn shorten(of: &mut Map<String, Value>) {
    let Some(Value::Object(description)) = of.get_mut("description") else { return };
    let Some(form) = ["plain", "markdown"].into_iter().find(|form| description.contains_key(*form)) else { return };
    description.retain(|name, _| name == form);
    if let Some(excerpt) = description[form].as_str().and_then(excerpt) {
        description.insert(form.to_owned(), excerpt.into());
    }
}

/// Returns the beginning of a long text, up to the end of a sentence or else of a word, and that it was shortened; `None`
/// for a text that stays whole.
fn excerpt(text: &str) -> Option<String> {
    let end = |most: usize| text.char_indices().nth(most).map(|(end, _)| end);
    end(WHOLE_TEXT)?;
    let (cut, least) = (&text[..end(EXCERPT)?], end(SENTENCES)?);
    let sentence = cut.char_indices().zip(cut.chars().skip(1).map(Some).chain([None])).filter(|((_, last), next)| {
        matches!(last, '。' | '！' | '？' | '\n')
            || (matches!(last, '.' | '!' | '?' | '…') && next.is_none_or(char::is_whitespace))
    });
    let sentence = sentence.last().map(|((at, last), _)| at + last.len_utf8()).filter(|end| *end >= least);
    let word = || cut.rfind(char::is_whitespace).filter(|end| *end >= least);
    let end = sentence.or_else(word).unwrap_or(cut.len());
    Some(format!("{}{SHORTENED}", cut[..end].trim_end()))
}

/// Leaves of a product what helps to choose, of a product page also its rating, its address, its options and all of its
/// variants.
fn compact(product: &mut Map<String, Value>, operation: Operation) {
    let whole = operation == Operation::GetProduct;
    product.retain(|name, _| match name.as_str() {
        "id" | "title" | "description" | "price_range" | "selected" | "variants" => true,
        "rating" | "url" | "options" => whole,
        _ => false,
    });
    cut_description(product, PRODUCT_TEXT);
    let Some(variants) = product.get_mut("variants").and_then(Value::as_array_mut) else { return };
    // Of a lookup, each variant is what an identifier names.
    if !whole && variants.iter().all(|variant| variant.get("inputs").is_none()) {
        variants.truncate(1);
    }
    for variant in variants.iter_mut().filter_map(Value::as_object_mut) {
        variant.retain(|name, _| match name.as_str() {
            "id" | "title" | "description" | "price" | "availability" | "inputs" => true,
            "options" | "list_price" => whole,
            _ => false,
        });
        cut_description(variant, VARIANT_TEXT);
        if let Some(availability) = variant.get_mut("availability").and_then(Value::as_object_mut) {
            // Which `available` says as well.
            availability.retain(|name, value| name != "status" || value != "in_stock");
        }
    }
}

/// Leaves the beginning of the plain form of a description. One without a plain form stays as it is.
fn cut_description(of: &mut Map<String, Value>, most: usize) {
    let Some(description) = of.get_mut("description").and_then(Value::as_object_mut) else { return };
    let Some(plain) = description.get("plain").and_then(Value::as_str) else { return };
    let end = plain.char_indices().nth(most).map(|(end, _)| end);
    let short = end.map(|end| {
        let cut = &plain[..end];
        let cut = cut.rsplit_once(char::is_whitespace).map_or(cut, |(words, _)| words);
        format!("{}…", cut.trim_end())
    });
    if let Some(short) = short {
        description.insert("plain".to_owned(), short.into());
    }
    description.retain(|name, _| name == "plain");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_names_a_view() {
        assert_eq!(View::of(None), Ok(None));
        assert_eq!(View::of(Some("viewer=7&tools=catalog")), Ok(None));
        assert_eq!(View::of(Some("tools=catalog&view=compact")), Ok(Some(View::Compact)));
        assert_eq!(View::of(Some("view=full")), Ok(Some(View::Full)));
        assert_eq!(View::of(Some("view=standard")), Ok(Some(View::Standard)));
        assert!(View::of(Some("view=small")).is_err_and(|refusal| refusal.accepted.is_some()));
    }

    #[test]
    fn excerpts_end_with_a_sentence_or_a_word_and_say_so() {
        let cut = |text: &str| {
            let excerpt = excerpt(text)?;
            Some(excerpt.strip_suffix(SHORTENED).expect("it says that it was shortened").to_owned())
        };
        let sentence = format!("{}.", "x".repeat(298));
        assert_eq!(cut(&format!("{sentence} {}", "y ".repeat(90))), None, "480 characters stay");
        assert_eq!(cut(&format!("{sentence} {}", "y ".repeat(95))), Some(sentence));
        // Of 19.99 the point ends no sentence, and one that ends early leaves too little.
        let words = format!("Short. It costs 19.99 {}", "word ".repeat(100));
        assert_eq!(cut(&words), Some(words[..400].trim_end_matches("wor").trim_end().to_owned()));
        assert_eq!(cut(&"一".repeat(481)), Some("一".repeat(400)), "without spaces and sentences");
        let chinese = format!("{}。{}", "一".repeat(250), "二".repeat(300));
        assert_eq!(cut(&chinese), Some(format!("{}。", "一".repeat(250))));
        assert_eq!(cut(&"一".repeat(480)), None);
    }

    #[test]
    fn listings_shorten_long_descriptions_and_a_product_page_none() {
        let long = "A sentence of words. ".repeat(40);
        let product = json!({
            "id": "p", "title": "One", "description": { "plain": long, "html": "<p>" },
            "media": [
                { "type": "image", "url": "https://s.example/1", "alt_text": "Heel", "width": 8, "height": 8 },
                { "type": "image", "url": "https://s.example/2" },
            ],
            "options": [{ "name": "Size", "values": [{ "label": "8", "id": "s8" }] }],
            "variants": [
                {
                    "id": "v", "description": { "plain": "short", "html": "<p>" },
                    "media": [{ "type": "image", "url": "https://s.example/3" }],
                    "seller": { "name": "S", "links": [] },
                    "barcodes": [{ "type": "EAN", "value": "1" }],
                    "options": [{ "name": "Size", "label": "8", "id": "s8" }],
                },
                {
                    "id": "u", "title": "8 / Red",
                    "options": [{ "name": "Size", "label": "8" }, { "name": "Color", "label": "Red" }],
                },
                { "id": "w", "description": { "markdown": long } },
            ],
        });
        let shown = |view: View, operation| {
            let document = json!({ "products": [product] }).to_string();
            serde_json::from_str::<Value>(&view.show(operation, document)).expect("JSON")
        };
        let whole = json!({ "products": [product] });
        assert_eq!(shown(View::Full, Operation::SearchCatalog), whole);
        let page = json!({ "product": product }).to_string();
        assert_eq!(View::Standard.show(Operation::GetProduct, page.clone()), page);
        for operation in [Operation::SearchCatalog, Operation::LookupCatalog] {
            let shown = shown(View::Standard, operation);
            let listed = &shown["products"][0];
            let plain = listed["description"]["plain"].as_str().expect("plain");
            assert!(plain.ends_with(&format!("words.{SHORTENED}")) && plain.chars().count() < WHOLE_TEXT, "{plain}");
            assert_eq!(listed["description"].as_object().map(Map::len), Some(1));
            assert_eq!(listed["media"], json!([{ "type": "image", "url": "https://s.example/1", "alt_text": "Heel" }]));
            assert_eq!(listed["options"], json!([{ "name": "Size", "values": [{ "label": "8" }] }]));
            let first = json!({
                "id": "v", "description": { "plain": "short" }, "seller": { "name": "S" },
                "options": [{ "name": "Size", "label": "8" }],
            });
            assert_eq!(listed["variants"][0], first);
            assert_eq!(listed["variants"][1], json!({ "id": "u", "title": "8 / Red" }));
            assert!(listed["variants"][2]["description"]["markdown"].as_str().is_some_and(|text| text.len() < 460));
        }
    }

    #[test]
    fn descriptions_end_between_words() {
        let cut = |text: &str, most| {
            let mut of = Map::new();
            of.insert("description".to_owned(), json!({ "plain": text, "html": "<b>" }));
            cut_description(&mut of, most);
            of["description"].to_string()
        };
        assert_eq!(cut("for any weather", 15), r#"{"plain":"for any weather"}"#);
        assert_eq!(cut("for any weather", 14), r#"{"plain":"for any…"}"#);
        assert_eq!(cut("ñandú", 4), r#"{"plain":"ñand…"}"#);
    }
}
