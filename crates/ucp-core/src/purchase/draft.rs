//! What a platform states about a cart or a checkout.
//!
//! A draft holds only what platforms may say (the request side of UCP's schemas); members that only the shop may set have
//! no place in it. An update replaces the whole draft (rules CRT-02 and CHK-06, trap T-11).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    buyer::{Buyer, PostalAddress},
    payment::Instrument,
};
use crate::catalog;

/// What a platform states about a cart or a checkout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// The lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub line_items: Vec<LineDraft>,
    /// The buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buyer: Option<Buyer>,
    /// The buyer's circumstances: what they decide about.
    pub context: Circumstances,
    /// The same as it came, to be given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_stated: Option<Map<String, Value>>,
    /// Discount codes as sent; `None` when nothing is said about discounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codes: Option<Vec<String>>,
    /// How the goods reach the buyer; `None` when nothing is said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fulfillment: Option<FulfillmentDraft>,
    /// Payment instruments, without credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instruments: Vec<Instrument>,
    /// Referral and campaign parameters, as they came (rule CSR-13: they never decide about an answer).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Map<String, Value>>,
}

/// A line as a platform states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineDraft {
    /// The line that is meant, on update; lines without are new (trap T-48).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The variant.
    pub item: String,
    /// How many, at least one.
    pub quantity: u64,
    /// The line it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// The buyer's circumstances, as far as prices, taxes and benefits depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// The country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// The region of the country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// BCP 47 tags, in order of preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// The currency to show prices in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Benefits the buyer claims to be entitled to, by reverse-domain name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eligibility: Vec<String>,
}

impl Circumstances {
    /// The part that the catalog decides by.
    #[must_use]
    pub fn of_catalog(&self) -> catalog::Context {
        catalog::Context {
            country: self.country.clone(),
            languages: self.languages.clone(),
            currency: self.currency.clone(),
        }
    }
}

/// How the goods reach the buyer, as a platform states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FulfillmentDraft {
    /// The methods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodDraft>,
}

/// A method as a platform states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodDraft {
    /// The method that is meant, on update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `shipping`, `pickup` or another; on update it may be left out for a method that is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The lines it is for; `None` for all that need one (trap T-13).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_item_ids: Option<Vec<String>>,
    /// Where to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<DestinationDraft>,
    /// Which of the destinations, stated here or offered before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_destination_id: Option<String>,
    /// The groups, with the option chosen for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupDraft>,
}

/// A destination as a platform states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DestinationDraft {
    /// Its identifier; the shop gives one where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name, for a place of the shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address.
    pub address: PostalAddress,
}

/// The option chosen for a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupDraft {
    /// The group that is meant; `None` for the method's only or first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The chosen option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_option_id: Option<String>,
}
