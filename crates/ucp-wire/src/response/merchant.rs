//! Encoding of answers about merchants and locations.

use ucp_core::{
    Operation, Release,
    merchant::{detail, listing::Listing, location, record, search},
    negotiation::Active,
};

use crate::{
    catalog::shape::Pagination,
    envelope::Success,
    merchant::shape::{
        Geo, GetMerchantResponse, Location, LocationInput, LocationLookupResponse, LocationSearchResponse,
        LookupLocation, Merchant, MerchantSearchResponse,
    },
    splice::json,
};

/// Encodes a page of merchants. `active` are the capabilities negotiated with the caller.
pub(crate) fn search_merchants(operation: Operation, found: &search::Found, active: &Active) -> String {
    json(&MerchantSearchResponse {
        ucp: Success::new(Release::NEWEST, operation, active),
        merchants: found.merchants.iter().map(merchant).collect(),
        pagination: pagination(found.cursor.as_deref(), found.total),
        messages: &found.messages,
    })
}

/// Encodes the answer about one merchant.
pub(crate) fn get_merchant(operation: Operation, detail: &detail::Detail, active: &Active) -> String {
    json(&GetMerchantResponse {
        ucp: Success::new(Release::NEWEST, operation, active),
        merchant: detail.merchant.as_ref().map(merchant),
        messages: &detail.messages,
    })
}

/// Encodes a page of locations.
pub(crate) fn search_locations(operation: Operation, found: &location::Found, active: &Active) -> String {
    json(&LocationSearchResponse {
        ucp: Success::new(Release::NEWEST, operation, active),
        locations: found.locations.iter().map(|listed| place(listed.location(), listed.name())).collect(),
        pagination: pagination(found.cursor.as_deref(), found.total),
        messages: &found.messages,
    })
}

/// Encodes the locations that IDs name.
pub(crate) fn lookup_locations(operation: Operation, resolved: &location::Resolved, active: &Active) -> String {
    json(&LocationLookupResponse {
        ucp: Success::new(Release::NEWEST, operation, active),
        locations: resolved
            .locations
            .iter()
            .map(|found| LookupLocation { location: place(found.location(), found.name()), inputs: inputs(found) })
            .collect(),
        messages: &resolved.messages,
    })
}

fn inputs(listed: &location::Listed) -> Vec<LocationInput<'_>> {
    listed.inputs.iter().map(|id| LocationInput { id }).collect()
}

fn pagination(cursor: Option<&str>, total_count: Option<u64>) -> Pagination<'_> {
    Pagination { cursor, has_next_page: cursor.is_some(), total_count }
}

fn merchant(listing: &Listing) -> Merchant<'_> {
    let merchant = &listing.merchant;
    Merchant {
        id: &merchant.id,
        name: listing.name(),
        description: listing.description(),
        url: merchant.url.as_deref(),
        category: merchant.category.as_deref(),
        media: &merchant.media,
        tags: &merchant.tags,
        locations: listing.locations().map(|(location, name)| place(location, name)).collect(),
        fulfillment_config: merchant.fulfillment_config.as_ref(),
        metadata: merchant.metadata.as_ref(),
        extra: &merchant.extra,
    }
}

fn place<'a>(location: &'a record::Location, name: &'a str) -> Location<'a> {
    Location {
        id: &location.id,
        name,
        address: location.address.as_ref(),
        geo: location.point().map(|point| Geo { latitude: point.latitude(), longitude: point.longitude() }),
        timezone: location.timezone.as_deref(),
        hours: location.hours.as_deref(),
        exception_hours: &location.exception_hours,
        amenities: Some(&location.amenities).filter(|amenities| !amenities.is_empty()),
        extra: &location.extra,
    }
}
