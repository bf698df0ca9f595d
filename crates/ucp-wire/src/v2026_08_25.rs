//! Release 2026-08-25: measures are integers with a scale, so that no float is left in prices.
//!
//! Profiles contain the keys twice: in `keys`, where this release looks for them, and in `signing_keys`, where older
//! ones do.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;
use ucp_core::{
    Operation, Release,
    operation::{
        AP2_MANDATE, BUYER_CONSENT, CART, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, DISCOUNT, FULFILLMENT,
        LOCATION_LOOKUP, LOCATION_SEARCH, MERCHANT, ORDER, PAYMENT_AUTHENTICATION,
    },
};

use crate::{
    catalog,
    dialect::Dialect,
    envelope::ErrorResponse,
    merchant,
    offer::{MANDATE_FORMATS, Offer},
    profile,
    purchase::{
        request as purchase,
        shape::{Cart, Checkout, Order},
    },
    request,
    schema::Shapes,
    site::Site,
    upgrade::Upgrade,
};

/// Release 2026-08-25.
#[derive(Clone, Copy, Debug)]
pub struct V2026_08_25;

const VERSION: &str = Release::V2026_08_25.date();

/// Name of the mandate capability in this release.
const PAYMENT_AP2_MANDATE: &str = "dev.ucp.common.payment.ap2_mandate";

const OFFERS: &[Offer] = &[
    Offer::root(CATALOG_SEARCH, VERSION, "shopping/catalog/search", "shopping/catalog_search"),
    Offer::root(CATALOG_LOOKUP, VERSION, "shopping/catalog/lookup", "shopping/catalog_lookup"),
    Offer::root(CART, VERSION, "shopping/cart", "shopping/cart"),
    Offer::root(CHECKOUT, VERSION, "shopping/checkout", "shopping/checkout"),
    Offer::root(ORDER, VERSION, "shopping/order", "shopping/order"),
    Offer::root(FULFILLMENT, VERSION, "shopping/extensions/fulfillment", "shopping/fulfillment").extending(&[CHECKOUT]),
    Offer::root(DISCOUNT, VERSION, "shopping/extensions/discount", "shopping/discount").extending(&[CART, CHECKOUT]),
    Offer::root(BUYER_CONSENT, VERSION, "shopping/extensions/buyer-consent", "shopping/buyer_consent")
        .extending(&[CART, CHECKOUT]),
    Offer::root(PAYMENT_AP2_MANDATE, VERSION, "payment/extensions/ap2-mandates", "common/payment_ap2_mandate")
        .known_as(AP2_MANDATE)
        .extending(&[CHECKOUT])
        .signing(MANDATE_FORMATS),
    Offer::root(PAYMENT_AUTHENTICATION, VERSION, "payment/extensions/authentication", "common/payment_authentication")
        .extending(&[CHECKOUT])
        .stated(),
    Offer::root(LOCATION_SEARCH, VERSION, "common/location/search", "common/location_search"),
    Offer::root(LOCATION_LOOKUP, VERSION, "common/location/lookup", "common/location_lookup"),
    Offer::root(MERCHANT, VERSION, "merchant", "menu/merchant"),
];

static SHAPES: LazyLock<HashMap<Operation, Shapes>> =
    LazyLock::new(|| Operation::ALL.iter().map(|operation| (*operation, shapes(*operation))).collect());

fn shapes(operation: Operation) -> Shapes {
    use catalog::{
        request::{LookupRequest, ProductRequest, SearchRequest},
        shape::{LookupResponse, ProductResponse, SearchResponse},
    };
    use merchant::{
        request::{GetMerchantRequest, LocationLookupRequest, LocationSearchRequest, MerchantSearchRequest},
        shape::{GetMerchantResponse, LocationLookupResponse, LocationSearchResponse, MerchantSearchResponse},
    };
    use purchase::{CartRequest, CheckoutRequest, CompleteCheckoutRequest, CreateCheckoutRequest};
    type Nothing = ErrorResponse<'static>;
    match operation {
        Operation::SearchCatalog => Shapes::of::<SearchRequest, SearchResponse, Nothing>(),
        Operation::LookupCatalog => Shapes::of::<LookupRequest, LookupResponse, Nothing>(),
        Operation::GetProduct => Shapes::of::<ProductRequest, ProductResponse, Nothing>(),
        Operation::CreateCart | Operation::UpdateCart => Shapes::of::<CartRequest, Cart<'_>, Nothing>(),
        Operation::GetCart | Operation::CancelCart => Shapes::without_request::<Cart<'_>, Nothing>(),
        Operation::CreateCheckout => Shapes::of::<CreateCheckoutRequest, Checkout<'_>, Nothing>(),
        Operation::UpdateCheckout => Shapes::of::<CheckoutRequest, Checkout<'_>, Nothing>(),
        Operation::CompleteCheckout => Shapes::of::<CompleteCheckoutRequest, Checkout<'_>, Nothing>(),
        Operation::GetCheckout | Operation::CancelCheckout => Shapes::without_request::<Checkout<'_>, Nothing>(),
        Operation::GetOrder => Shapes::without_request::<Order<'_>, Nothing>(),
        Operation::SearchMerchants => Shapes::of::<MerchantSearchRequest, MerchantSearchResponse<'_>, Nothing>(),
        Operation::GetMerchant => Shapes::of::<GetMerchantRequest, GetMerchantResponse<'_>, Nothing>(),
        Operation::SearchLocations => Shapes::of::<LocationSearchRequest, LocationSearchResponse<'_>, Nothing>(),
        Operation::LookupLocations => Shapes::of::<LocationLookupRequest, LocationLookupResponse<'_>, Nothing>(),
    }
}

impl Dialect for V2026_08_25 {
    fn release(&self) -> Release {
        Release::V2026_08_25
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        SHAPES.get(&operation)
    }

    fn upgrade(&self) -> Option<&'static Upgrade> {
        None
    }

    /// A submission has exactly one instrument in this release (rule CHK-17): none of several is taken for chosen.
    fn normalize(&self, operation: Operation, payload: &mut Value) {
        request::normalize(operation, payload);
        if operation == Operation::CompleteCheckout
            && let Some(several) = payload.pointer_mut("/payment/instruments").and_then(Value::as_array_mut)
            && several.len() > 1
        {
            for instrument in several.iter_mut().filter_map(Value::as_object_mut) {
                instrument.shift_remove("selected");
            }
        }
    }

    fn profile(&self, site: &Site<'_>) -> Value {
        profile::profile(self, site, &["keys", "signing_keys"])
    }
}
