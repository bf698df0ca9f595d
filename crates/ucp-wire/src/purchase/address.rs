//! Postal addresses in requests.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use ucp_core::purchase::buyer::PostalAddress;

/// A postal address.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PostalAddressRequest")]
pub(super) struct AddressRequest {
    /// Street and number.
    #[schemars(length(max = 1_024))]
    street_address: Option<String>,
    /// Apartment, floor or building.
    #[schemars(length(max = 1_024))]
    extended_address: Option<String>,
    /// City or town.
    #[schemars(length(max = 1_024))]
    address_locality: Option<String>,
    /// Region, state or province.
    #[schemars(length(max = 1_024))]
    address_region: Option<String>,
    /// ISO 3166-1 alpha-2 country code, such as `US`.
    #[schemars(length(max = 255))]
    address_country: Option<String>,
    /// Postal code.
    #[schemars(length(max = 255))]
    postal_code: Option<String>,
    /// Given name of the recipient.
    #[schemars(length(max = 1_024))]
    first_name: Option<String>,
    /// Family name of the recipient.
    #[schemars(length(max = 1_024))]
    last_name: Option<String>,
    /// Telephone number of the recipient.
    #[schemars(length(max = 255))]
    phone_number: Option<String>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl From<AddressRequest> for PostalAddress {
    fn from(stated: AddressRequest) -> Self {
        Self {
            street_address: stated.street_address,
            extended_address: stated.extended_address,
            address_locality: stated.address_locality,
            address_region: stated.address_region,
            address_country: stated.address_country,
            postal_code: stated.postal_code,
            first_name: stated.first_name,
            last_name: stated.last_name,
            phone_number: stated.phone_number,
            extra: stated.extra,
        }
    }
}
