//! Drafts: the content of a cart or a checkout as a platform states it.
//!
//! A draft holds only the members that platforms may send (the request side of UCP's schemas), never those that only
//! the shop may set. An update replaces the whole draft (rules CRT-02 and CHK-06, trap T-11).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    buyer::{Buyer, PostalAddress},
    payment::Instrument,
};
use crate::catalog;

/// Content of a cart or a checkout as a platform states it.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// Line items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub line_items: Vec<LineDraft>,
    /// The buyer.
    pub buyer: Option<Buyer>,
    /// Circumstances of the buyer on which prices, taxes and benefits depend.
    pub context: Circumstances,
    /// The same circumstances as received, to be returned.
    pub context_stated: Option<Map<String, Value>>,
    /// Discount codes as sent; `None` if the request does not mention discounts.
    pub codes: Option<Vec<String>>,
    /// Wishes about delivery; `None` if the request does not mention fulfillment.
    pub fulfillment: Option<FulfillmentDraft>,
    /// Payment instruments, without credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instruments: Vec<Instrument>,
    /// Referral and campaign parameters as received. They never influence an answer (rule CSR-13).
    pub attribution: Option<Map<String, Value>>,
    /// `true` if an update that chooses a destination which the shop does not know must change nothing; `false` if the
    /// rest of it applies.
    #[serde(skip)]
    pub all_or_nothing: bool,
    /// Paths of the members of the request that mean nothing, for a message.
    #[serde(skip)]
    pub ignored: Vec<String>,
}

impl Draft {
    /// Returns the position of the instrument to pay with: of the one that is selected, or else of the first.
    pub fn chosen_instrument(&self) -> usize {
        self.instruments.iter().position(|instrument| instrument.selected == Some(true)).unwrap_or_default()
    }
}

/// A line item as a platform states it.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineDraft {
    /// Identifier of an existing line, on update; lines without one are new (trap T-48).
    pub id: Option<String>,
    /// Identifier of the variant, or of a product with a single variant.
    pub item: String,
    /// Quantity, at least 1.
    pub quantity: u64,
    /// Unit in which the platform asserts that the quantity is counted, for messages; `None` if it is pieces, or not
    /// said.
    pub other_unit: Option<String>,
    /// Identifier of the line that this one belongs to.
    pub parent_id: Option<String>,
}

/// Circumstances of the buyer on which prices, taxes and benefits depend.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// Country of the buyer.
    pub country: Option<String>,
    /// Region of the country.
    pub region: Option<String>,
    /// The postal code.
    pub postal_code: Option<String>,
    /// BCP 47 language tags, in order of preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Preferred currency of prices.
    pub currency: Option<String>,
    /// Benefits that the buyer claims to be entitled to, by reverse-domain name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eligibility: Vec<String>,
    /// Customer group of the platform, which the operator states and no caller does.
    pub customer_group: Option<String>,
}

impl Circumstances {
    /// Returns the part on which answers of the catalog depend.
    pub fn of_catalog(&self) -> catalog::Context {
        catalog::Context {
            country: self.country.clone(),
            languages: self.languages.clone(),
            currency: self.currency.clone(),
            intent: None,
            customer_group: self.customer_group.clone(),
        }
    }
}

/// Delivery of the goods as a platform states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FulfillmentDraft {
    /// Fulfillment methods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodDraft>,
}

/// A fulfillment method as a platform states it.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodDraft {
    /// Identifier of an existing method, on update.
    pub id: Option<String>,
    /// `shipping`, `pickup` or another kind; optional on update of a method that is named by `id`.
    pub kind: Option<String>,
    /// Line items of the method; `None` for all that need delivery and that no other method names (trap T-13).
    pub line_item_ids: Option<Vec<String>>,
    /// Destinations that the platform states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<DestinationDraft>,
    /// Identifier of the chosen destination, stated here or offered before.
    pub selected_destination_id: Option<String>,
    /// Groups, with the option chosen for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupDraft>,
}

/// A destination as a platform states it.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DestinationDraft {
    /// Identifier; assigned by the shop if absent.
    pub id: Option<String>,
    /// Name of a pickup place of the shop.
    pub name: Option<String>,
    /// Postal address.
    pub address: PostalAddress,
}

/// The option chosen for a group.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupDraft {
    /// Identifier of an existing group, on update; `None` for the first group of the method.
    pub id: Option<String>,
    /// Identifier of the chosen option.
    pub selected_option_id: Option<String>,
}
