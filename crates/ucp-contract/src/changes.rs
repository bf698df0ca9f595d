//! Events of the shop about products that changed.

use ucp_core::{
    Refusal,
    json::{self, Limits},
};
use ucp_import::jsonl::typed;

use crate::{documents::CatalogChanged, event};

/// Path of the endpoint for these events, which the signature covers.
pub const CHANGES_PATH: &str = "/upstream/catalog";

/// Maximum number of products that an event names.
pub const MOST_PRODUCTS: usize = 1_000;

/// Maximum length of an identifier, in bytes.
const LONGEST_ID: usize = 1_024;

/// Reads the products that an event names. Fails with [`InvalidRequest`](ucp_core::Code::InvalidRequest) if it cannot
/// be read.
pub fn read(body: &[u8]) -> Result<Vec<String>, Refusal> {
    let unusable = |path: String, reason: String| {
        Refusal::invalid(path, format!("The event must name products: {reason}."))
            .accepting("`{\"products\": [\"ID\", …]}` with 1 to 1,000 identifiers of products")
    };
    let value = json::parse(body, Limits::REQUEST).map_err(|fault| event::unreadable(&fault, &unusable))?;
    let CatalogChanged { products } = typed(value).map_err(|(path, reason)| unusable(path, reason))?;
    if products.is_empty() || products.len() > MOST_PRODUCTS {
        return Err(unusable("$.products".to_owned(), format!("there must be 1 to {MOST_PRODUCTS}")));
    }
    if let Some(place) = products.iter().position(|id| id.trim().is_empty() || id.len() > LONGEST_ID) {
        let reason = format!("an identifier must have 1 to {LONGEST_ID} bytes");
        return Err(unusable(format!("$.products[{place}]"), reason));
    }
    Ok(products)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_products_within_bounds() {
        assert_eq!(read(br#"{"products":["a","b"]}"#).expect("read"), ["a", "b"]);
        for (body, path) in [
            ("", "$"),
            ("{}", "$"),
            (r#"{"products":"a"}"#, "$.products"),
            (r#"{"products":[]}"#, "$.products"),
            (r#"{"products":["a"," "]}"#, "$.products[1]"),
            (r#"{"products":["a",7]}"#, "$.products[1]"),
            (r#"{"products":["a","b\u0000"]}"#, "$.products[1]"),
            (r#"{"products":["a"],"products":["b"]}"#, "$.products"),
        ] {
            assert_eq!(read(body.as_bytes()).expect_err(body).path.as_deref(), Some(path), "{body}");
        }
        let many = serde_json::json!({ "products": vec!["a"; MOST_PRODUCTS + 1] }).to_string();
        assert!(read(many.as_bytes()).is_err());
        let long = serde_json::json!({ "products": ["a".repeat(LONGEST_ID + 1)] }).to_string();
        assert!(read(long.as_bytes()).is_err());
    }
}
