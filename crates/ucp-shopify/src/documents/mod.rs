//! What the Storefront API is asked, as GraphQL.
//!
//! The operations are files of this folder, the fragments that they spread files of `fragments`, named like the
//! fragment in lower case. `tests/it/documents` validates every file against Shopify's schema and estimates what each
//! costs. Operations whose fields depend on how much is asked are written here, and are validated like the others.
//!
//! | a query costs | |
//! | :-- | --: |
//! | a scalar | 0 |
//! | an object | 1 |
//! | a connection | as much as its objects, as many times as it may hold |
//! | a union, an interface | as much as the most expensive of its types |
//!
//! Shopify refuses what costs more than [`CEILING`]; how many variants come with a product therefore depends on how
//! many products are asked for at once.

use std::{borrow::Cow, fmt::Write as _, sync::LazyLock};

use serde_json::value::{RawValue, to_raw_value};

/// What a query may cost where no token is shown.
pub const CEILING: usize = 1_000;

/// How many products are asked for in one query.
pub const MOST_PRODUCTS: usize = 20;

/// How many pictures and films of a product come with it in a listing.
pub const LISTED_MEDIA: usize = 3;

/// How many pictures and films of a product come with it when it is opened.
pub const OPENED_MEDIA: usize = 20;

/// How many variants of a product come with it when it is opened, and with every page of more of them.
pub const OPENED_VARIANTS: usize = 100;

/// How many combinations of options are asked for in one query.
pub const MOST_COMBINATIONS: usize = 20;

/// What a variant costs.
const VARIANT: usize = 7;

/// What a product in a listing costs at most beside its variants, with the variant that was asked for.
const PRODUCT: usize = 35;

/// How many variants of each product can be asked for along with so many products.
#[must_use]
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
    /// What the log calls it.
    pub name: &'static str,
    /// The GraphQL text.
    pub text: Cow<'static, str>,
    /// The same as a JSON string, which most are written as once and then sent many times.
    written: Option<Box<RawValue>>,
}

impl Document {
    fn new(name: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        let written = to_raw_value(&text).ok();
        Self { name, text, written }
    }

    /// The text as JSON; `None` where it could not be written.
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

        /// The operations that are files.
        pub static ALL: &[&LazyLock<Document>] = &[$(&$constant),+];
    };
}

documents! {
    /// Products by words.
    SEARCH = "search" with ["card", "variant"];
    /// Products without words.
    BROWSE = "browse" with ["card", "variant"];
    /// What identifiers name.
    NODES = "nodes" with ["card", "variant"];
    /// More variants of a product.
    VARIANTS = "variants" with ["variant"];
    /// What the shop says about itself.
    SHOP = "shop" with [];
    /// The types of products.
    TYPES = "types" with [];
    /// A cart as it is.
    CART = "cart" with ["cart", "allocation"];
    /// A new cart.
    CART_CREATE = "cart_create" with ["cart", "allocation"];
    /// A cart that is given up.
    CART_FORGET = "cart_forget" with [];
}

const IN_CONTEXT: &str =
    "$country: CountryCode, $language: LanguageCode) @inContext(country: $country, language: $language) {";

/// The products of so many handles, each an alias `h0`, `h1` and so on with a variable of the same name.
#[must_use]
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

/// A change of a cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CartChange {
    /// Lines that go.
    Remove,
    /// Lines whose quantities change.
    Update,
    /// New lines.
    Add,
    /// The codes.
    Codes,
    /// The buyer.
    Buyer,
    /// Where it is sent.
    Address,
    /// How it travels.
    Delivery,
    /// What is noted beside it.
    Attributes,
}

impl CartChange {
    /// All of them, in the order in which they are made: what is there first, then who it is for and how it gets there.
    pub const ALL: &[Self] = &[
        Self::Remove,
        Self::Update,
        Self::Add,
        Self::Attributes,
        Self::Codes,
        Self::Buyer,
        Self::Address,
        Self::Delivery,
    ];

    /// The alias and the variable of the change.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Update => "update",
            Self::Add => "add",
            Self::Codes => "codes",
            Self::Buyer => "buyer",
            Self::Address => "address",
            Self::Delivery => "delivery",
            Self::Attributes => "attributes",
        }
    }

    /// The mutation, the argument that says what is to be, and its type.
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

/// These changes of a cart, carried out in this order by one request, and the cart after the last one. Each is an
/// alias, and takes a variable, of its [name](CartChange::name).
#[must_use]
pub fn cart_changes(changes: &[CartChange]) -> Document {
    let mut text = String::from("mutation CartChange($cart: ID!, ");
    for change in changes {
        let _ = write!(text, "${}: {}, ", change.name(), change.mutation().2);
    }
    let _ = writeln!(text, "{IN_CONTEXT}");
    for (place, change) in changes.iter().enumerate() {
        let ((mutation, argument, _), name) = (change.mutation(), change.name());
        let cart = if place + 1 == changes.len() { " cart { ...Cart }" } else { "" };
        let _ = writeln!(
            text,
            "  {name}: {mutation}(cartId: $cart, {argument}: ${name}) {{ userErrors {{ code field message }} \
             warnings {{ code message target }}{cart} }}"
        );
    }
    text.push_str("}\n");
    text.push_str(fragments!("cart", "allocation"));
    Document::new("cart_changes", text)
}

/// The variants of so many combinations of options of one product, each an alias `v0`, `v1` and so on with a variable
/// of the same name.
#[must_use]
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
