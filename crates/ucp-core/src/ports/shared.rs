//! The embedded shop as several gateways share it: in the database, and in the copy of each.

/// A product as several gateways share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedProduct {
    /// Identifier.
    pub id: String,
    /// Place in the order of the shop.
    pub place: i64,
    /// Number of its last change.
    pub number: i64,
    /// JSON of the product, or `null` if it was removed.
    pub document: String,
    /// Stock of the variants that are counted.
    pub stock: Vec<SharedStock>,
}

/// Stock of a variant as several gateways share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedStock {
    /// Identifier of the variant.
    pub variant: String,
    /// Quantity.
    pub quantity: i64,
    /// Pieces that were taken beyond what a later number leaves, and that come back first.
    pub owed: i64,
    /// Number that was stated last; `None` if that is not known.
    pub stated: Option<i64>,
    /// Time as of which the number was stated, in nanoseconds since 1970.
    pub stated_at: Option<i64>,
}

/// A shop as several gateways share it, without its products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedShop {
    /// Random identity.
    pub identity: String,
    /// JSON of the market.
    pub market: String,
    /// JSON of the terms of sale.
    pub terms: String,
    /// Names that the operator has stated to mean the same; empty if there are none.
    pub synonyms: String,
}
