//! Buyer, consent and postal addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The buyer, as the platform states it.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Buyer {
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Email address.
    pub email: Option<String>,
    /// Telephone number, preferably in E.164 form.
    pub phone_number: Option<String>,
    /// Consent given by the buyer, kept when *Buyer Consent* was negotiated. Its shape belongs to the release in which
    /// it was stated: it is declared, stored and returned, and decides nothing here.
    pub consent: Option<Consent>,
    /// Members that no rule reads, returned as received.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Consent of a buyer, by purpose.
///
/// Releases write it differently: booleans under short names until 2026-04-08, objects under reverse-domain names
/// later. The purposes that both know are kept here under their short names.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Consent {
    /// Measuring how the shop is used.
    pub analytics: Option<Purpose>,
    /// Remembering preferences.
    pub preferences: Option<Purpose>,
    /// Advertising and newsletters.
    pub marketing: Option<Purpose>,
    /// Selling or sharing personal data.
    pub sale_of_data: Option<Purpose>,
    /// Purposes that only some releases know, by name, as received.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A decision about one purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Purpose {
    /// `true` if the buyer agreed.
    pub granted: bool,
    /// Further members of the decision, as received.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A postal address.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PostalAddress {
    /// Street and number.
    pub street_address: Option<String>,
    /// Apartment, floor or building.
    pub extended_address: Option<String>,
    /// City or town.
    pub address_locality: Option<String>,
    /// Region, state or province.
    pub address_region: Option<String>,
    /// ISO 3166-1 alpha-2 country code, such as `US`.
    pub address_country: Option<String>,
    /// Postal code.
    pub postal_code: Option<String>,
    /// Given name of the recipient.
    pub first_name: Option<String>,
    /// Family name of the recipient.
    pub last_name: Option<String>,
    /// Telephone number of the recipient.
    pub phone_number: Option<String>,
    /// Members that no rule reads, returned as received.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
