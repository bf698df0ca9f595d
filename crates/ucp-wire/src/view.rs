//! Views of catalog answers, an option of this gateway: the whole of an answer, or what helps to choose.
//!
//! The compact view is a subset that the schemas of every release accept: all that they require, with short
//! descriptions, and of the rest what a choice depends on.

use serde_json::{Map, Value};
use ucp_core::{Code, Operation, Refusal, operation::Resource};

/// Maximum length of the description of a product in the compact view, in characters.
const PRODUCT_TEXT: usize = 32;

/// Maximum length of the description of a variant in the compact view, in characters.
const VARIANT_TEXT: usize = 24;

/// Extent of catalog answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Everything that the shop states.
    #[default]
    Full,
    /// What helps to choose.
    Compact,
}

impl View {
    /// Reads the parameter `view` from the query of a URL; `None` if there is none. Other parameters are ignored.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for an unknown view.
    pub fn of(query: Option<&str>) -> Result<Option<Self>, Refusal> {
        let mut parameters = query.unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='));
        match parameters.find(|(name, _)| *name == "view").map(|(_, value)| value) {
            None => Ok(None),
            Some("full") => Ok(Some(Self::Full)),
            Some("compact") => Ok(Some(Self::Compact)),
            Some(_) => Err(Refusal::new(Code::InvalidRequest, "The query names an unknown view.")
                .accepting("`view=compact` or `view=full`")),
        }
    }

    /// Returns an answer in this view. Only answers of the catalog have views.
    #[must_use]
    pub fn show(self, operation: Operation, document: String) -> String {
        if self == Self::Full || operation.row().resource != Resource::Catalog {
            return document;
        }
        let Ok(mut answer) = serde_json::from_str::<Value>(&document) else { return document };
        if let Some(products) = answer.get_mut("products").and_then(Value::as_array_mut) {
            products.iter_mut().filter_map(Value::as_object_mut).for_each(|product| shorten(product, operation));
        }
        if let Some(product) = answer.get_mut("product").and_then(Value::as_object_mut) {
            shorten(product, operation);
        }
        answer.to_string()
    }
}

/// Leaves of a product what helps to choose, of a product page also its address, its options and all of its variants.
/// A lookup asks for what is known already, and gets no ratings.
fn shorten(product: &mut Map<String, Value>, operation: Operation) {
    let whole = operation == Operation::GetProduct;
    product.retain(|name, _| match name.as_str() {
        "id" | "title" | "description" | "price_range" | "selected" | "variants" => true,
        "rating" => operation != Operation::LookupCatalog,
        "url" | "options" => whole,
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
        assert!(View::of(Some("view=small")).is_err_and(|refusal| refusal.accepted.is_some()));
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
