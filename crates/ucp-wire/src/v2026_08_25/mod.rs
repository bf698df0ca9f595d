//! Release 2026-08-25: measures are integers with a scale, so that no float is left in prices.
//!
//! Profiles name the keys twice: `keys` is where this release looks for them, `signing_keys` where older ones do.

mod context;
mod step;
mod unit_price;

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    Operation, Outcome, Refusal, Release, Request,
    catalog::product::Product,
    message::Message,
    negotiation::Active,
    operation::{
        AP2_MANDATE, BUYER_CONSENT, CART, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, DISCOUNT, FULFILLMENT,
        LOCATION_LOOKUP, LOCATION_SEARCH, MERCHANT, ORDER,
    },
    purchase::{
        buyer::Consent,
        payment::{Declaration, Instrument},
    },
};

use crate::{
    catalog::{
        CatalogShapes, Form, request, response,
        shape::{LookupVariant, ProductMembers, VariantMembers},
    },
    dialect::Dialect,
    encoded::Encoded,
    envelope::{self, CheckoutSuccess, ErrorResponse, Success},
    merchant::{self, LocationShapes, MerchantShapes},
    offer::{MANDATE_FORMATS, Offer},
    profile,
    purchase::{
        self, PurchaseShapes,
        consent::{Decisions, DecisionsRequest},
        payment::Payment,
        request::{CompleteCheckoutRequest, CreateCheckoutRequest},
    },
    request::decode,
    schema::Shapes,
    site::Site,
    splice::{members, object},
    step::Step,
};

use unit_price::UnitPrice;

/// Release 2026-08-25.
#[derive(Clone, Copy, Debug)]
pub struct V2026_08_25;

const VERSION: &str = Release::V2026_08_25.date();

/// What this release calls mandates.
const PAYMENT_AP2_MANDATE: &str = "dev.ucp.common.payment.ap2_mandate";

const OFFERS: &[Offer] = &[
    Offer::root(
        CATALOG_SEARCH,
        VERSION,
        "specification/shopping/catalog/search",
        "schemas/shopping/catalog_search.json",
    ),
    Offer::root(
        CATALOG_LOOKUP,
        VERSION,
        "specification/shopping/catalog/lookup",
        "schemas/shopping/catalog_lookup.json",
    ),
    Offer::root(CART, VERSION, "specification/shopping/cart", "schemas/shopping/cart.json"),
    Offer::root(CHECKOUT, VERSION, "specification/shopping/checkout", "schemas/shopping/checkout.json"),
    Offer::root(ORDER, VERSION, "specification/shopping/order", "schemas/shopping/order.json"),
    Offer::root(FULFILLMENT, VERSION, "specification/fulfillment", "schemas/shopping/fulfillment.json")
        .extending(&[CHECKOUT]),
    Offer::root(DISCOUNT, VERSION, "specification/discount", "schemas/shopping/discount.json")
        .extending(&[CART, CHECKOUT]),
    Offer::root(BUYER_CONSENT, VERSION, "specification/buyer-consent", "schemas/shopping/buyer_consent.json")
        .extending(&[CART, CHECKOUT]),
    Offer::root(
        PAYMENT_AP2_MANDATE,
        VERSION,
        "specification/payment/extensions/ap2-mandates",
        "schemas/common/payment_ap2_mandate.json",
    )
    .known_as(AP2_MANDATE)
    .extending(&[CHECKOUT])
    .signing(MANDATE_FORMATS),
    Offer::root(
        LOCATION_SEARCH,
        VERSION,
        "specification/common/location/search",
        "schemas/common/location_search.json",
    ),
    Offer::root(
        LOCATION_LOOKUP,
        VERSION,
        "specification/common/location/lookup",
        "schemas/common/location_lookup.json",
    ),
    Offer::root(MERCHANT, VERSION, "specification/merchant", "schemas/menu/merchant.json"),
];

/// A text in plain words.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlainText")]
pub(crate) struct Described<'a> {
    /// The text.
    plain: &'a str,
}

static CATALOG: LazyLock<CatalogShapes> = LazyLock::new(CatalogShapes::of::<V2026_08_25>);

static PURCHASE: LazyLock<PurchaseShapes> = LazyLock::new(PurchaseShapes::of::<V2026_08_25>);

static MERCHANT_SHAPES: LazyLock<MerchantShapes> = LazyLock::new(MerchantShapes::of::<V2026_08_25>);

static LOCATION_SHAPES: LazyLock<LocationShapes> = LazyLock::new(LocationShapes::of::<V2026_08_25>);

impl Form for V2026_08_25 {
    type Context = context::Context;
    type Metadata = Success<'static>;
    type Message = Message;
    type NoResource = ErrorResponse<'static>;
    type Product = ProductMembers<'static>;
    type Variant = VariantMembers<'static, UnitPrice<'static>>;
    type LookupVariant = LookupVariant<Self::Variant>;

    fn variant(&self, product: &Product, position: usize) -> Box<str> {
        members(&response::variant(product, position, UnitPrice::exact))
    }
}

impl purchase::Form for V2026_08_25 {
    type Context = context::Context;
    type ConsentRequest = DecisionsRequest;
    type CreateRequest = CreateCheckoutRequest<Self::Context, Self::ConsentRequest>;
    type CompleteRequest = CompleteCheckoutRequest;
    type Metadata<'a> = Success<'a>;
    type CheckoutMetadata<'a> = CheckoutSuccess<'a>;
    type Consent<'a> = Decisions<'a>;
    type Description<'a> = Described<'a>;
    type Payment<'a> = Payment<'a>;
    type Message<'a> = &'a Message;
    type NoResource = ErrorResponse<'static>;

    const CARTS: bool = true;
    const TYPED_DESTINATIONS: bool = true;

    fn metadata(operation: Operation, active: &Active) -> Success<'_> {
        Success::new(Release::V2026_08_25, operation, active)
    }

    fn checkout_metadata<'a>(
        operation: Operation,
        active: &'a Active,
        handlers: &'a [Declaration],
    ) -> CheckoutSuccess<'a> {
        CheckoutSuccess::new(Release::V2026_08_25, operation, active, handlers)
    }

    fn consent(consent: &Consent) -> Decisions<'_> {
        consent.into()
    }

    fn description(text: &str) -> Self::Description<'_> {
        Described { plain: text }
    }

    fn payment<'a>(_: &'a [Declaration], instruments: &'a [Instrument]) -> Option<Payment<'a>> {
        Payment::of(instruments)
    }

    fn message(message: &Message) -> &Message {
        message
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
        CATALOG
            .named(operation)
            .or_else(|| PURCHASE.named(operation))
            .or_else(|| MERCHANT_SHAPES.named(operation))
            .or_else(|| LOCATION_SHAPES.named(operation))
    }

    fn normalize(&self, operation: Operation, payload: &mut Value) {
        match operation {
            Operation::SearchCatalog | Operation::LookupCatalog | Operation::GetProduct => request::modernize(payload),
            Operation::SearchMerchants | Operation::GetMerchant => merchant::request::modernize(payload),
            _ => request::modernize_context(payload),
        }
    }

    fn decode(
        &self,
        operation: Operation,
        id: Option<&str>,
        payload: Value,
        languages: &[String],
    ) -> Result<Request, Refusal> {
        decode::<Self>(operation, id, payload, languages)
    }

    fn encode(&self, operation: Operation, outcome: &Outcome, active: &Active) -> Encoded {
        envelope::encode(self, operation, outcome, active)
    }

    fn metadata(&self, operation: Operation, active: &Active) -> Map<String, Value> {
        object(&Success::new(Release::V2026_08_25, operation, active))
    }

    fn step(&self) -> &'static Step {
        &step::STEP
    }

    fn profile(&self, site: &Site<'_>) -> Value {
        profile::profile(self, site, &["keys", "signing_keys"])
    }
}
