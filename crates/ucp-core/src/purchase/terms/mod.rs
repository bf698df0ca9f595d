//! On what terms a shop sells.
//!
//! | part | says |
//! | :-- | :-- |
//! | [`tax`](Tax) | which taxes are due where |
//! | [`fees`](Fee) | what is charged beside the goods |
//! | [`discounts`](Discount) | what is taken off, by code or by itself |
//! | [`shipping`](Shipping), [`pickup`](Pickup) | how goods reach the buyer |
//! | [`customers`](Customer) | whose addresses are known |
//! | [`claims`](Claim) | which claims of buyers are recognised |
//! | [`required`](BuyerField) | what has to be known of the buyer |
//! | [`reviews`](Review) | which purchases their buyer has to look at in person |
//! | [`lifetimes`](Lifetimes) | how long carts and checkouts live |
//!
//! The same shape is read from configuration (TOML) and from the database (JSON). Amounts are [`Amounts`] and never
//! converted, percentages are [`Percent`]s, times are texts in RFC 3339. Countries are ISO 3166-1 alpha-2 codes; letter
//! case never matters in countries, regions, codes and e-mail addresses.
//!
//! A shop without terms of its own sells untaxed and can deliver nothing: goods that need delivery are handed over to
//! the shop's own pages.

mod check;
mod value;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use check::{is_country, is_email};
pub(crate) use value::half_up;
pub use value::{Amounts, InvalidPercent, Percent, Value};

use super::{buyer::PostalAddress, discount::Method};

/// On what terms a shop sells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// The taxes.
    pub tax: Tax,
    /// The fees, in the order in which they are shown.
    pub fees: Vec<Fee>,
    /// The discounts.
    pub discounts: Vec<Discount>,
    /// How goods are sent.
    pub shipping: Shipping,
    /// Where goods can be picked up.
    pub pickup: Pickup,
    /// Whether one checkout may have goods shipped and others picked up.
    pub shipping_with_pickup: bool,
    /// Buyers whose addresses are known.
    pub customers: Vec<Customer>,
    /// The claims of buyers that are recognised.
    pub claims: Vec<Claim>,
    /// What has to be known of the buyer before a checkout can be completed; the e-mail address where nothing is said.
    pub required: Vec<BuyerField>,
    /// Which purchases their buyer has to look at and approve in person.
    pub reviews: Vec<Review>,
    /// How long carts and checkouts live.
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

/// Which taxes are due where.
///
/// Goods are taxed where they go: at the destination of the method they are in, or else where the buyer's circumstances
/// say, or else at [`fallback`](Self::fallback). The rates of a place are those of its region, if there are any, or else
/// those of its country without a region; all of them apply side by side, each to the same amount.
///
/// Each rate is rounded once, half up, over everything that it applies to: goods after all discounts, and shipping and
/// fees where they are taxed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tax {
    /// The rates.
    pub rates: Vec<TaxRate>,
    /// Whether shipping and pickup are taxed like goods.
    pub shipping: bool,
    /// Where a purchase is taxed as long as nobody says where it goes. Carts are not taxed by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Place>,
}

/// A tax and its rate in a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaxRate {
    /// What the tax is called, such as `VAT`.
    pub title: String,
    /// The country.
    pub country: String,
    /// The region of the country, as addresses name it; all of the country when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// How much.
    pub percent: Percent,
    /// Whether prices include it. Then it adds nothing to the total, and a note says how much it is. The rates of one
    /// place are all included or all not.
    #[serde(default)]
    pub included: bool,
}

/// A country, or a region of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The country.
    pub country: String,
    /// The region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// Something charged beside the goods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fee {
    /// What it is called.
    pub title: String,
    /// How much: an amount, or a percentage of the goods after all discounts.
    pub charge: Value,
    /// For purchases that go to these countries only; for all when empty.
    #[serde(default)]
    pub countries: Vec<String>,
    /// Whether it is taxed like goods.
    #[serde(default)]
    pub taxed: bool,
}

/// Something that is taken off.
///
/// A discount with codes is applied when one of them is sent; one without applies by itself. Discounts are applied one
/// after the other, each to what the ones before it have left, by [`priority`](Self::priority) and in the order of
/// listing (automatic ones) or sending (codes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discount {
    /// The shop's name for it, used by `combines`.
    pub id: String,
    /// What buyers see.
    pub title: String,
    /// The codes that ask for it, in any letter case. Automatic when empty.
    #[serde(default)]
    pub codes: Vec<String>,
    /// How much: a percentage, or an amount. An amount that is taken from each line is per piece.
    pub off: Value,
    /// From what.
    #[serde(default)]
    pub target: Target,
    /// With `target = "lines"`: from these only, by identifier of the variant or the product; from all when empty.
    #[serde(default)]
    pub items: Vec<String>,
    /// With `target = "lines"`: whether it is taken from each line on its own (`each`, the default), or worked out over
    /// them and spread by what they cost (`across`).
    #[serde(default = "each")]
    pub method: Method,
    /// From when on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only when the goods cost at least so much before all discounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal: Option<Amounts>,
    /// With which others it can be combined.
    #[serde(default)]
    pub combines: Combines,
    /// Lower ones are applied first.
    #[serde(default = "hundred")]
    pub priority: u32,
    /// Only for buyers with these e-mail addresses; for all when empty.
    #[serde(default)]
    pub buyers: Vec<String>,
    /// Only for buyers who claim this; one of [`claims`](Terms::claims). It has no codes then (rule DSC-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// What a discount is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// All goods together; shown as `discount`.
    #[default]
    Order,
    /// Single lines; shown there, and as `items_discount`.
    Lines,
}

/// With which others a discount can be combined: `true` (the default) for all, `false` for none, or their identifiers.
/// Two discounts are combined only if both allow the other.
///
/// Among those that do not go together, automatic ones win over codes, then the lower priority, then whatever is listed
/// or was sent first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false, or a list of identifiers of discounts")]
pub enum Combines {
    /// With all or with none.
    Any(bool),
    /// With these.
    Only(Vec<String>),
}

impl Default for Combines {
    fn default() -> Self {
        Self::Any(true)
    }
}

impl Combines {
    /// Whether it allows the discount `other`.
    #[must_use]
    pub fn allow(&self, other: &str) -> bool {
        match self {
            Self::Any(any) => *any,
            Self::Only(ids) => ids.iter().any(|id| id == other),
        }
    }
}

/// How goods are sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shipping {
    /// The ways and what they cost. Nothing is sent when there are none.
    pub rates: Vec<ShippingRate>,
    /// What makes rates free. The first rule that is met counts.
    pub free: Vec<FreeShipping>,
    /// What has to be known of an address beside its country.
    pub required: Vec<AddressField>,
    /// Whether one checkout may have goods shipped to several destinations.
    pub several_destinations: bool,
    /// Goods that travel in packages of their own, for platforms that can show several: each list is one package, of
    /// identifiers of variants or products. Everything else travels together.
    pub separate: Vec<Vec<String>>,
}

/// A way to send a package and what it costs.
///
/// Several rates may share an identifier, for instance with different bounds of weight: the first that fits is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippingRate {
    /// The identifier of the option.
    pub id: String,
    /// The name, which says enough on its own (rule FUL-04).
    pub title: String,
    /// More about it, never its name or price again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// To these countries; to all when empty.
    #[serde(default)]
    pub countries: Vec<String>,
    /// But not to these.
    #[serde(default)]
    pub except: Vec<String>,
    /// What a package costs.
    pub price: Amounts,
    /// For packages whose goods cost at least so much, after all discounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal: Option<Amounts>,
    /// For packages whose goods cost less than so much, after all discounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_subtotal: Option<Amounts>,
    /// For packages of at least so many grams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_grams: Option<u64>,
    /// For packages of at most so many grams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_grams: Option<u64>,
    /// How many days it takes at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_days: Option<u16>,
    /// How many days it takes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_days: Option<u16>,
}

/// What makes shipping free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeShipping {
    /// What buyers see, such as `Free shipping from $100`; it is added to the name of the option.
    pub title: String,
    /// Which rates become free, by identifier; at least one.
    pub rates: Vec<String>,
    /// When all goods cost at least so much, after all discounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal: Option<Amounts>,
    /// When one of these is bought, by identifier of the variant or the product.
    #[serde(default)]
    pub items: Vec<String>,
    /// To these countries; to all when empty.
    #[serde(default)]
    pub countries: Vec<String>,
}

/// Where goods can be picked up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pickup {
    /// The places. Nothing can be picked up when there are none.
    pub places: Vec<PickupPlace>,
    /// Whether goods of one checkout may be picked up at several places.
    pub several_destinations: bool,
}

/// A place of the shop where goods can be picked up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PickupPlace {
    /// The identifier of the destination.
    pub id: String,
    /// The name.
    pub name: String,
    /// The address.
    pub address: PostalAddress,
    /// What picking up costs; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Amounts>,
    /// More about it, such as opening hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// After how many days goods are ready; at once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after_days: Option<u16>,
}

/// A buyer whose addresses are known.
///
/// Whoever states the e-mail address of a customer in a checkout is offered the customer's addresses and can read them:
/// an e-mail address is not a proof of who one is. List only customers who agreed to that, and only where platforms are
/// trusted with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Customer {
    /// The name.
    #[serde(default)]
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// The addresses, the best first.
    #[serde(default)]
    pub addresses: Vec<StoredAddress>,
}

/// An address of a customer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAddress {
    /// The identifier of the destination.
    pub id: String,
    /// The address.
    pub address: PostalAddress,
}

/// A claim of buyers that is recognised, and how it is verified: by the e-mail address they state. A claim that neither
/// list verifies can be used for estimates, but a checkout is not completed on it (rule CHK-10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The reverse-domain name.
    pub id: String,
    /// What buyers see.
    pub title: String,
    /// True for buyers with these e-mail addresses.
    #[serde(default)]
    pub emails: Vec<String>,
    /// True for buyers with an e-mail address at these domains, such as `example.edu`; their subdomains do not count.
    #[serde(default)]
    pub email_domains: Vec<String>,
}

/// What can be asked of a buyer.
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

/// What can be asked of an address beside its country.
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

/// Purchases that nothing is missing of, and that their buyer has to look at and approve on the shop's page before they are
/// completed (UCP *Checkout*, severity `requires_buyer_review`).
///
/// It is about purchases that meet all of what is stated; about every one where nothing is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// What platforms are told it is, such as `high_value_order`.
    #[serde(default = "buyer_review")]
    pub code: String,
    /// Why, for platforms and buyers to read.
    pub reason: String,
    /// When the purchase costs at least so much altogether. It is a precaution: a purchase in a currency without an amount
    /// here has to be looked at too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_total: Option<Amounts>,
    /// When one of these is bought, by identifier of the variant or the product; whatever is bought when empty.
    #[serde(default)]
    pub items: Vec<String>,
}

/// How long carts and checkouts live after they were last changed, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lifetimes {
    /// A cart; 30 days where nothing is said.
    pub cart_seconds: u32,
    /// A checkout; 6 hours where nothing is said (rule CHK-07).
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
