//! GraphQL operations of the Storefront API.
//!
//! The operations are files of this folder; the fragments that they spread are files of `fragments`, named like the
//! fragment in lower case. `tests/it/documents` validates every file against Shopify's schema and estimates the cost of
//! each. Operations whose fields depend on the number of requested objects are written here and validated like the
//! others.
//!
//! | selection | cost |
//! | :-- | --: |
//! | a scalar | 0 |
//! | an object | 1 |
//! | a connection | the cost of its objects, times the number that it may hold |
//! | a union, an interface | the cost of the most expensive of its types |
//!
//! Shopify refuses a query that costs more than [`CEILING`]; the number of variants that come with a product therefore
//! depends on the number of products in the query.

use std::{borrow::Cow, fmt::Write as _, sync::LazyLock};

use serde_json::value::{RawValue, to_raw_value};

/// Maximum cost of a query without an access token.
pub const CEILING: usize = 1_000;

/// Maximum number of products in one query.
pub const MOST_PRODUCTS: usize = 20;

/// Number of pictures and films that come with each product of a listing.
pub const LISTED_MEDIA: usize = 3;

/// Number of pictures and films that come with a product in full.
pub const OPENED_MEDIA: usize = 20;

/// Number of variants that come with a product in full, and with every further page of its variants.
pub const OPENED_VARIANTS: usize = 100;

/// Maximum number of combinations of options in one query.
pub const MOST_COMBINATIONS: usize = 20;

/// Maximum number of products in one query for SKUs or barcodes. One more than codes, so that a code that several
/// products share does not hide another one.
pub const MOST_CODED_PRODUCTS: usize = MOST_CODES + 1;

/// Maximum number of SKUs or barcodes in one query.
pub const MOST_CODES: usize = 8;

/// Cost of a variant.
const VARIANT: usize = 7;

/// Maximum cost of a product in a listing without its variants, including the requested variant.
const PRODUCT: usize = 35;

/// Returns the number of variants of each product that fit into a query for `products` products, from 1 to 50.
pub const fn variants_beside(products: usize) -> usize {
    let products = if products == 0 { 1 } else { products };
    let each = (CEILING - 3) / products;
    let room = each.saturating_sub(PRODUCT) / VARIANT;
    match room {
        0 => 1,
        1..=50 => room,
        _ => 50,
    }
}

/// An operation with the fragments that it spreads.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name of the operation in the log.
    pub name: &'static str,
    /// GraphQL text.
    pub text: Cow<'static, str>,
    /// `true` if parts of the answer are deferred.
    pub(super) defers: bool,
    /// The text as a JSON string, written once and sent many times; `None` if it could not be written.
    written: Option<Box<RawValue>>,
}

impl Document {
    fn new(name: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        let written = to_raw_value(&text).ok();
        Self { name, defers: text.contains("@defer"), text, written }
    }

    /// Returns the text as a JSON string; `None` if it could not be written.
    pub(super) fn written(&self) -> Option<&RawValue> {
        self.written.as_deref()
    }
}

macro_rules! fragments {
    ($($name:literal),*) => { concat!($(include_str!(concat!("fragments/", $name, ".graphql"))),*) };
}

macro_rules! documents {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal with [$($fragment:literal),*];)+) => {
        $($(#[doc = $doc])+
        pub static $constant: LazyLock<Document> = LazyLock::new(|| {
            Document::new($name, concat!(include_str!(concat!($name, ".graphql")) $(, include_str!(concat!("fragments/", $fragment, ".graphql")))*))
        });)+

        /// Operations that are files.
        pub static ALL: &[&LazyLock<Document>] = &[$(&$constant),+];
    };
}

documents! {
    /// Search for products by words.
    SEARCH = "search" with ["card", "variant"];
    /// List of products without a search.
    BROWSE = "browse" with ["card", "variant"];
    /// Products and variants by their identifiers.
    NODES = "nodes" with ["card", "variant"];
    /// Products by the SKUs or barcodes of their variants.
    CODES = "codes" with [];
    /// A further page of the variants of a product.
    VARIANTS = "variants" with ["variant"];
    /// Name, policies, countries and languages of the shop.
    SHOP = "shop" with [];
    /// Types of products.
    TYPES = "types" with [];
    /// A cart by its identifier.
    CART = "cart" with ["cart", "line", "group", "allocation"];
    /// A further page of the lines of a cart.
    CART_LINES = "cart_lines" with ["line", "allocation"];
    /// Lines of the delivery groups of a cart.
    CART_GROUPS = "cart_groups" with [];
    /// Delivery options of a cart, with the rates that carriers calculate.
    CART_RATES = "cart_rates" with ["group"];
    /// Creation of a cart.
    CART_CREATE = "cart_create" with ["cart", "line", "group", "allocation"];
    /// Abandonment of a cart: removal of its lines and personal data.
    CART_FORGET = "cart_forget" with [];
}

const IN_CONTEXT: &str =
    "$country: CountryCode, $language: LanguageCode) @inContext(country: $country, language: $language) {";

/// Returns a query for `count` products by handle, each an alias `h0`, `h1` and so on with a variable of the same name.
pub fn handles(count: usize) -> Document {
    let mut text = String::from("query Handles(");
    for number in 0..count {
        let _ = write!(text, "$h{number}: String!, ");
    }
    let _ = writeln!(text, "$variants: Int!, $media: Int!, $tags: Boolean!, {IN_CONTEXT}");
    for number in 0..count {
        let _ = writeln!(text, "  h{number}: product(handle: $h{number}) {{ ...Card }}");
    }
    text.push_str("}\n");
    text.push_str(fragments!("card", "variant"));
    Document::new("handles", text)
}

ucp_core::named! {
    /// A change of a cart, in the order in which they are made: content, buyer, address, delivery. Each has the name of its
    /// alias and variable.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CartChange {
        /// Removal of lines.
        Remove = "remove",
        /// Changes of the quantities of lines.
        Update = "update",
        /// Addition of lines.
        Add = "add",
        /// Attributes of the cart.
        Attributes = "attributes",
        /// Discount codes.
        Codes = "codes",
        /// Identity of the buyer.
        Buyer = "buyer",
        /// Delivery address.
        Address = "address",
        /// Selected delivery options.
        Delivery = "delivery",
    }
}

impl CartChange {
    /// Returns the mutation, its argument for the new value, and the type of that argument.
    const fn mutation(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Remove => ("cartLinesRemove", "lineIds", "[ID!]!"),
            Self::Update => ("cartLinesUpdate", "lines", "[CartLineUpdateInput!]!"),
            Self::Add => ("cartLinesAdd", "lines", "[CartLineInput!]!"),
            Self::Codes => ("cartDiscountCodesUpdate", "discountCodes", "[String!]!"),
            Self::Buyer => ("cartBuyerIdentityUpdate", "buyerIdentity", "CartBuyerIdentityInput!"),
            Self::Address => ("cartDeliveryAddressesReplace", "addresses", "[CartSelectableAddressInput!]!"),
            Self::Delivery => {
                ("cartSelectedDeliveryOptionsUpdate", "selectedDeliveryOptions", "[CartSelectedDeliveryOptionInput!]!")
            }
            Self::Attributes => ("cartAttributesUpdate", "attributes", "[AttributeInput!]!"),
        }
    }
}

/// Returns a mutation that makes these changes of a cart in this order, and returns the cart after the last one. Each
/// is an alias, and takes a variable, of its [name](CartChange::as_str).
pub fn cart_changes(changes: &[CartChange]) -> Document {
    let mut text = String::from("mutation CartChange($cart: ID!, ");
    for change in changes {
        let _ = write!(text, "${}: {}, ", change.as_str(), change.mutation().2);
    }
    let _ = writeln!(text, "{IN_CONTEXT}");
    for (place, change) in changes.iter().enumerate() {
        let ((mutation, argument, _), name) = (change.mutation(), change.as_str());
        let cart = if place + 1 == changes.len() { " cart { ...Cart }" } else { "" };
        let _ = writeln!(
            text,
            "  {name}: {mutation}(cartId: $cart, {argument}: ${name}) {{ userErrors {{ code field message }} \
             warnings {{ code message target }}{cart} }}"
        );
    }
    text.push_str("}\n");
    text.push_str(fragments!("cart", "line", "group", "allocation"));
    Document::new("cart_changes", text)
}

/// Returns a query for the variants of `count` combinations of options of one product, each an alias `v0`, `v1` and so
/// on with a variable of the same name.
pub fn combinations(count: usize) -> Document {
    let mut text = String::from("query Combinations($id: ID!, ");
    for number in 0..count {
        let _ = write!(text, "$v{number}: [SelectedOptionInput!]!, ");
    }
    let _ = writeln!(text, "{IN_CONTEXT}");
    text.push_str("  product(id: $id) {\n    id\n    requiresSellingPlan\n");
    for number in 0..count {
        let _ = writeln!(text, "    v{number}: variantBySelectedOptions(selectedOptions: $v{number}) {{ ...Variant }}");
    }
    text.push_str("  }\n}\n");
    text.push_str(fragments!("variant"));
    Document::new("combinations", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_products_come_with_more_variants() {
        let counts: Vec<_> = [0, 1, 5, 6, 10, MOST_PRODUCTS, 1_000].map(variants_beside).into();
        assert_eq!(counts, [50, 50, 23, 18, 9, 2, 1]);
    }
}
