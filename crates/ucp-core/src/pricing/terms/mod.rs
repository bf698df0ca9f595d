//! Terms on which a shop sells.
//!
//! | part | content |
//! | :-- | :-- |
//! | [`tax`](Tax) | taxes by country and region |
//! | [`fees`](Fee) | charges besides the goods |
//! | [`discounts`](Discount) | discounts, automatic or by code |
//! | [`shipping`](Shipping), [`pickup`](Pickup) | delivery of the goods |
//! | [`customers`](Customer) | customers with stored addresses |
//! | [`claims`](Claim) | recognized claims of buyers |
//! | [`required`](BuyerField) | required data of the buyer |
//! | [`reviews`](Review) | purchases that the buyer has to review in person |
//! | [`lifetimes`](Lifetimes) | lifetimes of carts and checkouts |
//!
//! The same format is read from configuration (TOML) and from the database (JSON). Amounts are [`Amounts`] and never
//! converted, percentages are [`Percent`]s, times are strings in RFC 3339. Countries are ISO 3166-1 alpha-2 codes;
//! countries, regions, codes and e-mail addresses are compared without regard to letter case.
//!
//! A shop without configured terms sells untaxed and cannot deliver: goods that need delivery are handed off to the
//! shop's own pages.

mod check;
mod value;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use check::{is_country, is_email};
pub(crate) use value::half_up;
pub use value::{Amounts, InvalidPercent, Percent, PercentOrAmount};

use crate::purchase::{buyer::PostalAddress, discount::Method};

/// Terms on which a shop sells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// Taxes.
    pub tax: Tax,
    /// Fees, in the order in which they are shown.
    pub fees: Vec<Fee>,
    /// Discounts.
    pub discounts: Vec<Discount>,
    /// Shipping of goods.
    pub shipping: Shipping,
    /// Pickup of goods.
    pub pickup: Pickup,
    /// `true` if one checkout may combine shipping and pickup.
    pub shipping_with_pickup: bool,
    /// Customers with stored addresses.
    pub customers: Vec<Customer>,
    /// Recognized claims of buyers.
    pub claims: Vec<Claim>,
    /// Data of the buyer that are required to complete a checkout; default: the e-mail address.
    pub required: Vec<BuyerField>,
    /// Purchases that the buyer has to review and approve in person.
    pub reviews: Vec<Review>,
    /// Lifetimes of carts and checkouts.
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
///
/// Goods are taxed where they go: at the destination of their fulfillment method, otherwise at the place that the
/// buyer's circumstances name, otherwise at [`fallback`](Self::fallback). The rates of a place are those of its region
/// if there are any, otherwise those of its country without a region; all of them apply side by side, each to the same
/// amount.
///
/// Each rate is rounded once, half up, over everything that it applies to: goods after all discounts, and shipping and
/// fees if they are taxed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tax {
    /// Tax rates.
    pub rates: Vec<TaxRate>,
    /// `true` if shipping and pickup are taxed like goods.
    pub shipping: bool,
    /// Place of taxation for a checkout whose destination is unknown. Not applied to carts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<CountryRegion>,
}

/// A tax and its rate at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaxRate {
    /// Name of the tax, such as `VAT`.
    pub title: String,
    /// Country, an ISO 3166-1 alpha-2 code.
    pub country: String,
    /// Region of the country, written as in addresses; default: the whole country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Rate, 0% to 100%.
    pub percent: Percent,
    /// `true` if prices include the tax. It then adds nothing to the total; a message states its amount. Must be the
    /// same for all rates of one place.
    #[serde(default)]
    pub included: bool,
}

/// A country, or a region of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountryRegion {
    /// Country, an ISO 3166-1 alpha-2 code.
    pub country: String,
    /// Region, written as in addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// A charge besides the goods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fee {
    /// Name shown to the buyer.
    pub title: String,
    /// Amount, or percentage of the goods after all discounts.
    pub charge: PercentOrAmount,
    /// Countries of destination to which the fee applies; empty for all.
    #[serde(default)]
    pub countries: Vec<String>,
    /// `true` if the fee is taxed like goods.
    #[serde(default)]
    pub taxed: bool,
}

/// A discount.
///
/// A discount with codes applies if one of them is sent; one without codes applies automatically. Discounts are applied
/// one after the other, each to what the previous ones have left, by [`priority`](Self::priority) and then automatic
/// ones in the order of listing before codes in the order of sending.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discount {
    /// Identifier, referred to by `combines`.
    pub id: String,
    /// Name shown to the buyer.
    pub title: String,
    /// Codes that request the discount, in any letter case; empty for an automatic discount.
    #[serde(default)]
    pub codes: Vec<String>,
    /// Percentage or amount taken off. With method `each`, an amount is per piece.
    pub off: PercentOrAmount,
    /// Basis of the discount: the whole order (default) or single lines.
    #[serde(default)]
    pub target: Target,
    /// With `target = "lines"`: identifiers of the variants or products that it applies to; empty for all.
    #[serde(default)]
    pub items: Vec<String>,
    /// With `target = "lines"`: `each` (default) calculates the discount for each line, `across` calculates it once and
    /// allocates it to the lines in proportion to their prices.
    #[serde(default = "each")]
    pub method: Method,
    /// Start of validity, inclusive.
    pub from: Option<Timestamp>,
    /// End of validity, exclusive.
    pub until: Option<Timestamp>,
    /// Minimum price of all goods before discounts.
    pub min_subtotal: Option<Amounts>,
    /// Other discounts that it can be combined with.
    #[serde(default)]
    pub combines: Combines,
    /// Order of application, lowest first; default 100.
    #[serde(default = "hundred")]
    pub priority: u32,
    /// E-mail addresses of the buyers that it is limited to; empty for all buyers.
    #[serde(default)]
    pub buyers: Vec<String>,
    /// Claim, one of [`claims`](Terms::claims), that the buyer has to make. A discount with a claim has no codes (rule
    /// DSC-05).
    pub claim: Option<String>,
}

/// Basis of a discount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// All goods together; shown as `discount`.
    #[default]
    Order,
    /// Single lines; shown on each of them, and as `items_discount`.
    Lines,
}

/// Other discounts that a discount can be combined with: `true` (default) for all, `false` for none, or a list of
/// identifiers. Two discounts are combined only if both allow it.
///
/// Among discounts that cannot be combined, automatic ones win over codes; automatic ones are chosen by priority and
/// then in the order of listing, codes in the order of sending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false, or a list of identifiers of discounts")]
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

/// Shipping of goods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shipping {
    /// Shipping rates. Nothing can be shipped if there are none.
    pub rates: Vec<ShippingRate>,
    /// Rules for free shipping. The first rule that applies counts.
    pub free: Vec<FreeShipping>,
    /// Members of the address that are required besides the country.
    pub required: Vec<AddressField>,
    /// `true` if one checkout may ship to several destinations.
    pub several_destinations: bool,
    /// Goods that are shipped in packages of their own, for platforms that can show several groups: each list of
    /// variant or product identifiers is one package. All other goods are shipped together.
    pub separate: Vec<Vec<String>>,
}

/// A way to ship a package, and its price.
///
/// Several rates may share an identifier, for instance with different weight limits: the first that fits is offered.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippingRate {
    /// Identifier of the option.
    pub id: String,
    /// Name shown to the buyer, which distinguishes the option on its own (rule FUL-04).
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
    /// Minimum price of the goods in the package, after all discounts.
    pub min_subtotal: Option<Amounts>,
    /// Price of the goods in the package, after all discounts, from which the rate no longer applies.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeShipping {
    /// Name shown to the buyer, such as `Free shipping from $100`; it is appended to the name of the option.
    pub title: String,
    /// Identifiers of the rates that become free; at least one.
    pub rates: Vec<String>,
    /// Minimum price of all goods, after all discounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal: Option<Amounts>,
    /// Identifiers of variants or products, one of which has to be bought; empty for no such condition.
    #[serde(default)]
    pub items: Vec<String>,
    /// Countries of destination; empty for all.
    #[serde(default)]
    pub countries: Vec<String>,
}

/// Pickup of goods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pickup {
    /// Pickup places. Nothing can be picked up if there are none.
    pub places: Vec<PickupPlace>,
    /// `true` if goods of one checkout may be picked up at several places.
    pub several_destinations: bool,
}

/// A place of the shop where goods can be picked up.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PickupPlace {
    /// Identifier of the destination.
    pub id: String,
    /// Name shown to the buyer.
    pub name: String,
    /// Postal address.
    pub address: PostalAddress,
    /// Price of picking up; default: free.
    pub price: Option<Amounts>,
    /// Further information, such as opening hours.
    pub description: Option<String>,
    /// Number of days until goods are ready for pickup; no time is stated if absent.
    pub ready_after_days: Option<u16>,
}

/// A customer with stored addresses.
///
/// Anyone who states the e-mail address of a customer in a checkout is offered the customer's addresses and can read
/// them: an e-mail address is not a proof of identity. List only customers who agreed to that, and only if the
/// platforms can be trusted with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Customer {
    /// Name of the customer.
    #[serde(default)]
    pub name: String,
    /// E-mail address by which the customer is recognized.
    pub email: String,
    /// Stored addresses, preferred one first.
    #[serde(default)]
    pub addresses: Vec<StoredAddress>,
}

/// An address of a customer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAddress {
    /// Identifier of the destination.
    pub id: String,
    /// Postal address.
    pub address: PostalAddress,
}

/// A recognized claim of buyers, verified by the e-mail address that they state. A claim that neither list verifies can
/// be used for estimates, but prevents the completion of a checkout (rule CHK-10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Reverse-domain name of the claim.
    pub id: String,
    /// Name shown to the buyer.
    pub title: String,
    /// E-mail addresses of buyers for whom the claim is true.
    #[serde(default)]
    pub emails: Vec<String>,
    /// Domains of e-mail addresses for which the claim is true, such as `example.edu`; subdomains do not count.
    #[serde(default)]
    pub email_domains: Vec<String>,
}

/// Data that can be required of a buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuyerField {
    /// Given name.
    FirstName,
    /// Family name.
    LastName,
    /// E-mail address.
    Email,
    /// Telephone number.
    PhoneNumber,
}

/// Members of an address that can be required besides its country.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// A rule that selects purchases which the buyer has to review and approve on the shop's page before they are
/// completed, once nothing else is missing (UCP *Checkout*, severity `requires_buyer_review`).
///
/// It applies to purchases that meet all of its conditions, and to every purchase if it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Message code for platforms, such as `high_value_order`; default `buyer_review`.
    #[serde(default = "buyer_review")]
    pub code: String,
    /// Reason, for platforms and buyers.
    pub reason: String,
    /// Minimum total of the purchase. As a precaution, a purchase in a currency without an amount here has to be
    /// reviewed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_total: Option<Amounts>,
    /// Identifiers of variants or products, one of which has to be bought; empty for no such condition.
    #[serde(default)]
    pub items: Vec<String>,
}

/// Lifetimes of carts and checkouts after their last change, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lifetimes {
    /// Lifetime of a cart in seconds; default 30 days.
    pub cart_seconds: u32,
    /// Lifetime of a checkout in seconds; default 6 hours (rule CHK-07).
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
