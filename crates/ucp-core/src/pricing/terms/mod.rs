//! Sales terms of a shop.
//!
//! | part | content |
//! | :-- | :-- |
//! | [`tax`](Tax) | taxes by country and region |
//! | [`fees`](Fee) | charges besides the items |
//! | [`discounts`](Discount) | discounts, automatic or by code |
//! | [`shipping`](Shipping), [`pickup`](Pickup) | shipping and pickup of the items |
//! | [`customers`](Customer) | customers with stored addresses |
//! | [`claims`](Claim) | recognized claims of buyers |
//! | [`required`](BuyerField) | required data of the buyer |
//! | [`reviews`](Review) | purchases that the buyer has to review in person |
//! | [`lifetimes`](Lifetimes) | lifetimes of carts and checkouts |
//!
//! The command `terms` reads them from a file in JSON, and the database stores them in JSON. Amounts are [`Amounts`] and
//! never converted, percentages are [`Percent`]s, times are strings in RFC 3339. Countries are ISO 3166-1 alpha-2 codes;
//! countries, regions, codes and email addresses are compared without regard to letter case.
//!
//! A shop without sales terms sells untaxed and cannot deliver: items that need delivery are handed off to the
//! storefront checkout.
//!
//! Documentation comments of these types are the descriptions of the JSON Schema, and of the page
//! `docs/sales-terms-reference.md`: they contain no links to items of the code.

mod check;
mod value;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use check::{is_country, is_email};
pub(crate) use value::half_up;
pub use value::{Amounts, InvalidPercent, Percent, PercentOrAmount};

use crate::purchase::{buyer::PostalAddress, discount::Method};

/// Sales terms of a shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// Taxes by country and region.
    ///
    /// Items are taxed at the destination of their fulfillment method, else at the location in the buyer's `context`, else
    /// at `fallback`. The rates of a region take precedence over those of its country. All rates of a location apply to
    /// the same amount.
    ///
    /// Each rate is rounded once, half up, over everything that it applies to: items after all discounts, and shipping
    /// and fees if they are taxed.
    pub tax: Tax,
    /// Fees, in the order in which they are shown.
    pub fees: Vec<Fee>,
    /// Discounts.
    pub discounts: Vec<Discount>,
    /// Shipping of items.
    pub shipping: Shipping,
    /// Pickup of items.
    pub pickup: Pickup,
    /// If `true`, one checkout may combine shipping and pickup.
    pub shipping_with_pickup: bool,
    /// Customers with stored addresses.
    pub customers: Vec<Customer>,
    /// Recognized claims of buyers.
    pub claims: Vec<Claim>,
    /// Data of the buyer that are required to complete a checkout.
    pub required: Vec<BuyerField>,
    /// Purchases that the buyer has to review and approve in person.
    pub reviews: Vec<Review>,
    /// Lifetimes of carts and checkouts, counted from their last change.
    pub lifetimes: Lifetimes,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            tax: Tax::default(),
            fees: Vec::new(),
            discounts: Vec::new(),
            shipping: Shipping::default(),
            pickup: Pickup::default(),
            shipping_with_pickup: false,
            customers: Vec::new(),
            claims: Vec::new(),
            required: vec![BuyerField::Email],
            reviews: Vec::new(),
            lifetimes: Lifetimes::default(),
        }
    }
}

/// Taxes by country and region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tax {
    /// Tax rates.
    pub rates: Vec<TaxRate>,
    /// If `true`, shipping and pickup are taxed like items.
    pub shipping: bool,
    /// Location of taxation for a checkout whose destination is unknown. Not applied to carts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<CountryRegion>,
}

/// A tax and its rate at a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaxRate {
    /// Name of the tax, such as `VAT`.
    pub title: String,
    /// Country, an ISO 3166-1 alpha-2 code.
    pub country: String,
    /// Region of the country, written as in addresses. Unset: the whole country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Rate, 0% to 100%.
    pub percent: Percent,
    /// If `true`, prices include the tax: it adds nothing to the total, and a message states its amount. Must be the same
    /// for all rates of one location.
    #[serde(default)]
    pub included: bool,
}

/// A country, or a region of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountryRegion {
    /// Country, an ISO 3166-1 alpha-2 code.
    pub country: String,
    /// Region, written as in addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// A charge besides the items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fee {
    /// Name shown to the buyer.
    pub title: String,
    /// Amount, or percentage of the items after all discounts.
    pub charge: PercentOrAmount,
    /// Countries of destination to which the fee applies; empty for all.
    #[serde(default)]
    pub countries: Vec<String>,
    /// If `true`, the fee is taxed like items.
    #[serde(default)]
    pub taxed: bool,
}

/// A discount.
///
/// A discount with codes applies if the platform sends one of them; a discount without codes applies automatically.
/// Each discount is computed on the amount that the previous ones leave. The order is by `priority`; equal priorities
/// are ordered automatic discounts as listed, then codes as sent.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Discount {
    /// Identifier, used in `combines`.
    pub id: String,
    /// Name shown to the buyer.
    pub title: String,
    /// Codes that request the discount, in any letter case; empty for an automatic discount.
    #[serde(default)]
    pub codes: Vec<String>,
    /// Percentage or amount of the reduction. With method `each`, an amount is per unit.
    pub off: PercentOrAmount,
    /// Basis of the discount: the whole order, or single line items.
    #[serde(default)]
    pub target: Target,
    /// Identifiers of the variants or products that it applies to; empty for all. Only with target `lines`.
    #[serde(default)]
    pub items: Vec<String>,
    /// With target `lines`, `each` computes the discount for each line item. `across` computes it once and allocates it to
    /// the line items in proportion to their prices.
    #[serde(default = "each")]
    pub method: Method,
    /// Start of validity, inclusive, as an RFC 3339 time.
    #[schemars(with = "Option<String>")]
    pub from: Option<Timestamp>,
    /// End of validity, exclusive, as an RFC 3339 time.
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// Minimum price of all items before discounts.
    pub min_subtotal: Option<Amounts>,
    /// Other discounts that it can be combined with: `true` for all, `false` for none, or a list of identifiers. Two
    /// discounts are combined only if both allow it. Otherwise an automatic discount takes precedence over a code;
    /// automatic discounts are chosen by priority and as listed, codes as sent.
    #[serde(default)]
    pub combines: Combines,
    /// Order of application, lowest first.
    #[serde(default = "hundred")]
    pub priority: u32,
    /// Email addresses of the buyers that it is limited to; empty for all buyers.
    #[serde(default)]
    pub buyers: Vec<String>,
    /// Identifier of the claim, one of `claims`, that the buyer has to make. A discount with a claim has no codes (rule
    /// DSC-05).
    pub claim: Option<String>,
}

/// Basis of a discount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// All items together; shown as `discount`.
    #[default]
    Order,
    /// Single line items; shown on each of them, and as `items_discount`.
    Lines,
}

/// Other discounts that a discount can be combined with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "true, false, or a list of identifiers of discounts")]
#[schemars(title = "boolean, or list of strings")]
pub enum Combines {
    /// All other discounts (`true`) or none (`false`).
    Any(bool),
    /// The discounts with these identifiers.
    Only(Vec<String>),
}

impl Default for Combines {
    fn default() -> Self {
        Self::Any(true)
    }
}

impl Combines {
    /// Returns `true` if the discount `other` is allowed.
    pub fn allow(&self, other: &str) -> bool {
        match self {
            Self::Any(any) => *any,
            Self::Only(ids) => ids.iter().any(|id| id == other),
        }
    }
}

/// Shipping of items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shipping {
    /// Shipping rates. Nothing can be shipped if there are none.
    pub rates: Vec<ShippingRate>,
    /// Rules for free shipping. The first rule that applies counts.
    pub free: Vec<FreeShipping>,
    /// Fields of the address that are required besides the country.
    pub required: Vec<AddressField>,
    /// If `true`, one checkout may ship to several destinations.
    pub several_destinations: bool,
    /// Items that are shipped in packages of their own, for platforms that can show several groups: each list of variant
    /// or product identifiers is one package. All other items are shipped together.
    pub separate: Vec<Vec<String>>,
}

/// A way to ship a package, and its price.
///
/// Several rates may have the same identifier, for instance with different weight limits: the first that applies is
/// offered.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShippingRate {
    /// Identifier of the option.
    pub id: String,
    /// Name shown to the buyer, different from those of other options (rule FUL-04).
    pub title: String,
    /// Further information, which repeats neither name nor price.
    pub description: Option<String>,
    /// Name of the carrier.
    pub carrier: Option<String>,
    /// Countries of destination; empty for all.
    #[serde(default)]
    pub countries: Vec<String>,
    /// Excluded countries of destination.
    #[serde(default)]
    pub except: Vec<String>,
    /// Price of a package.
    pub price: Amounts,
    /// Minimum price of the items in the package, after all discounts.
    pub min_subtotal: Option<Amounts>,
    /// Price of the items in the package, after all discounts, from which the rate no longer applies.
    pub below_subtotal: Option<Amounts>,
    /// Minimum weight of the package in grams.
    pub min_grams: Option<u64>,
    /// Maximum weight of the package in grams.
    pub max_grams: Option<u64>,
    /// Minimum delivery time in days.
    pub min_days: Option<u16>,
    /// Maximum delivery time in days.
    pub max_days: Option<u16>,
}

/// A rule for free shipping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreeShipping {
    /// Name shown to the buyer, such as `Free shipping from $100`; it is appended to the name of the option.
    pub title: String,
    /// Identifiers of the rates that become free; at least one.
    pub rates: Vec<String>,
    /// Minimum price of all items, after all discounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal: Option<Amounts>,
    /// Identifiers of variants or products, one of which has to be bought; empty for any.
    #[serde(default)]
    pub items: Vec<String>,
    /// Countries of destination; empty for all.
    #[serde(default)]
    pub countries: Vec<String>,
}

/// Pickup of items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pickup {
    /// Pickup locations. Nothing can be picked up if there are none.
    pub places: Vec<PickupPlace>,
    /// If `true`, items of one checkout may be picked up at several locations.
    pub several_destinations: bool,
}

/// A location of the shop where items can be picked up.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PickupPlace {
    /// Identifier of the destination.
    pub id: String,
    /// Name shown to the buyer.
    pub name: String,
    /// Postal address.
    pub address: PostalAddress,
    /// Price of the pickup. Unset: free.
    pub price: Option<Amounts>,
    /// Further information, such as opening hours.
    pub description: Option<String>,
    /// Number of days until items are ready for pickup. Unset: no time is stated.
    pub ready_after_days: Option<u16>,
}

/// A customer with stored addresses.
///
/// Anyone who states the email address of a customer in a checkout is offered the customer's addresses and can read
/// them: an email address does not prove identity. List only customers who agreed to that, and only if the platforms can
/// be trusted with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Customer {
    /// Name of the customer.
    #[serde(default)]
    pub name: String,
    /// Email address by which the customer is recognized.
    pub email: String,
    /// Stored addresses, preferred one first.
    #[serde(default)]
    pub addresses: Vec<StoredAddress>,
}

/// An address of a customer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredAddress {
    /// Identifier of the destination.
    pub id: String,
    /// Postal address.
    pub address: PostalAddress,
}

/// A recognized claim of buyers, verified by the email address that they state. A claim that neither list verifies can be
/// used for estimates, but prevents the completion of a checkout (rule CHK-10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Reverse-domain name of the claim.
    pub id: String,
    /// Name shown to the buyer.
    pub title: String,
    /// Email addresses of buyers for whom the claim is true.
    #[serde(default)]
    pub emails: Vec<String>,
    /// Domains of email addresses for which the claim is true, such as `example.edu`; subdomains do not count.
    #[serde(default)]
    pub email_domains: Vec<String>,
}

/// Data that can be required of a buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuyerField {
    /// Given name.
    FirstName,
    /// Family name.
    LastName,
    /// Email address.
    Email,
    /// Telephone number.
    PhoneNumber,
}

/// Fields of an address that can be required besides its country.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressField {
    /// Street and number.
    StreetAddress,
    /// City or town.
    AddressLocality,
    /// Region.
    AddressRegion,
    /// Postal code.
    PostalCode,
    /// Given name of the recipient.
    FirstName,
    /// Family name of the recipient.
    LastName,
    /// Telephone number of the recipient.
    PhoneNumber,
}

/// A rule for purchases that the buyer has to approve on the checkout page, once nothing else is missing (UCP *Checkout*,
/// severity `requires_buyer_review`).
///
/// It applies to purchases that meet all of its conditions, and to every purchase if it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Message code for platforms, such as `high_value_order`.
    #[serde(default = "buyer_review")]
    pub code: String,
    /// Reason, shown to the buyer.
    pub reason: String,
    /// Minimum total of the purchase. As a precaution, the rule also applies in a currency without an amount here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_total: Option<Amounts>,
    /// Identifiers of variants or products, one of which has to be bought; empty for any.
    #[serde(default)]
    pub items: Vec<String>,
}

/// Lifetimes of carts and checkouts after their last change, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lifetimes {
    /// Lifetime of a cart in seconds: 30 days unless set. At least 1.
    pub cart_seconds: u32,
    /// Lifetime of a checkout in seconds: 6 hours unless set (rule CHK-07). At least 1.
    pub checkout_seconds: u32,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { cart_seconds: 30 * 24 * 60 * 60, checkout_seconds: 6 * 60 * 60 }
    }
}

fn buyer_review() -> String {
    "buyer_review".to_owned()
}

const fn each() -> Method {
    Method::Each
}

const fn hundred() -> u32 {
    100
}
