//! Buyer, consent and postal addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The buyer, as the platform states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Buyer {
    /// Given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Telephone number, preferably in E.164 form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// Consent given by the buyer, kept when *Buyer Consent* was negotiated. Its shape belongs to the release in which
    /// it was stated: it is declared, stored and returned, and decides nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// Members that no rule reads, returned as received.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Consent of a buyer, by purpose.
///
/// Releases write it differently: booleans under short names until 2026-04-08, objects under reverse-domain names
/// later. The purposes that both know are kept here under their short names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Consent {
    /// Measuring how the shop is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analytics: Option<Purpose>,
    /// Remembering preferences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Purpose>,
    /// Advertising and newsletters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marketing: Option<Purpose>,
    /// Selling or sharing personal data.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PostalAddress {
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street_address: Option<String>,
    /// Apartment, floor or building.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_address: Option<String>,
    /// City or town.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_locality: Option<String>,
    /// Region, state or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_region: Option<String>,
    /// ISO 3166-1 alpha-2 country code, such as `US`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_country: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// Given name of the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name of the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Telephone number of the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// Members that no rule reads, returned as received.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
