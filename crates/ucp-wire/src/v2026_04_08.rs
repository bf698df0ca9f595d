//! Release 2026-04-08: the first one with a catalog.

mod step;

use std::sync::LazyLock;

use serde_json::{Map, Value};
use ucp_core::{
    Operation, Outcome, Refusal, Release, Request,
    catalog::product::{Product, UnitPrice},
    message::Message,
    negotiation::Active,
    operation::{
        AP2_MANDATE, BUYER_CONSENT, CART, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, DISCOUNT, FULFILLMENT, MERCHANT,
        ORDER,
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
    merchant::{self, MerchantShapes},
    offer::{MANDATE_FORMATS, Offer},
    profile,
    purchase::{
        self, PurchaseShapes,
        consent::{Answers, AnswersRequest},
        payment::Payment,
        request::{CompleteCheckoutRequest, CreateCheckoutRequest},
    },
    request::decode,
    schema::Shapes,
    site::Site,
    splice::{members, object},
    step::Step,
};

/// Release 2026-04-08.
#[derive(Clone, Copy, Debug)]
pub struct V2026_04_08;

const VERSION: &str = Release::V2026_04_08.date();

const OFFERS: &[Offer] = &[
    Offer::root(CATALOG_SEARCH, VERSION, "specification/catalog/search", "schemas/shopping/catalog_search.json"),
    Offer::root(CATALOG_LOOKUP, VERSION, "specification/catalog/lookup", "schemas/shopping/catalog_lookup.json"),
    Offer::root(CART, VERSION, "specification/cart", "schemas/shopping/cart.json"),
    Offer::root(CHECKOUT, VERSION, "specification/checkout", "schemas/shopping/checkout.json"),
    Offer::root(ORDER, VERSION, "specification/order", "schemas/shopping/order.json"),
    Offer::root(FULFILLMENT, VERSION, "specification/fulfillment", "schemas/shopping/fulfillment.json")
        .extending(&[CHECKOUT]),
    Offer::root(DISCOUNT, VERSION, "specification/discount", "schemas/shopping/discount.json")
        .extending(&[CART, CHECKOUT]),
    Offer::root(BUYER_CONSENT, VERSION, "specification/buyer-consent", "schemas/shopping/buyer_consent.json")
        .extending(&[CHECKOUT]),
    Offer::root(AP2_MANDATE, VERSION, "specification/ap2-mandates", "schemas/shopping/ap2_mandate.json")
        .extending(&[CHECKOUT])
        .signing(MANDATE_FORMATS),
    Offer::root(MERCHANT, VERSION, "specification/merchant", "schemas/menu/merchant.json"),
];

static CATALOG: LazyLock<CatalogShapes> = LazyLock::new(CatalogShapes::of::<V2026_04_08>);

static PURCHASE: LazyLock<PurchaseShapes> = LazyLock::new(PurchaseShapes::of::<V2026_04_08>);

static MERCHANT_SHAPES: LazyLock<MerchantShapes> = LazyLock::new(MerchantShapes::of::<V2026_04_08>);

impl Form for V2026_04_08 {
    type Context = request::Context;
    type Metadata = Success<'static>;
    type Message = Message;
    type NoResource = ErrorResponse<'static>;
    type Product = ProductMembers<'static>;
    type Variant = VariantMembers<'static, UnitPrice>;
    type LookupVariant = LookupVariant<Self::Variant>;

    fn variant(&self, product: &Product, position: usize) -> Box<str> {
        members(&response::variant(product, position, Some))
    }
}

impl purchase::Form for V2026_04_08 {
    type Context = request::Context;
    type ConsentRequest = AnswersRequest;
    type CreateRequest = CreateCheckoutRequest<Self::Context, Self::ConsentRequest>;
    type CompleteRequest = CompleteCheckoutRequest;
    type Metadata<'a> = Success<'a>;
    type CheckoutMetadata<'a> = CheckoutSuccess<'a>;
    type Consent<'a> = Answers<'a>;
    type Description<'a> = &'a str;
    type Payment<'a> = Payment<'a>;
    type Message<'a> = &'a Message;
    type NoResource = ErrorResponse<'static>;

    const CARTS: bool = true;
    const TYPED_DESTINATIONS: bool = false;

    fn metadata(operation: Operation, active: &Active) -> Success<'_> {
        Success::new(Release::V2026_04_08, operation, active)
    }

    fn checkout_metadata<'a>(
        operation: Operation,
        active: &'a Active,
        handlers: &'a [Declaration],
    ) -> CheckoutSuccess<'a> {
        CheckoutSuccess::new(Release::V2026_04_08, operation, active, handlers)
    }

    fn consent(consent: &Consent) -> Answers<'_> {
        consent.into()
    }

    fn description(text: &str) -> Self::Description<'_> {
        text
    }

    fn payment<'a>(_: &'a [Declaration], instruments: &'a [Instrument]) -> Option<Payment<'a>> {
        Payment::of(instruments)
    }

    fn message(message: &Message) -> &Message {
        message
    }
}

impl Dialect for V2026_04_08 {
    fn release(&self) -> Release {
        Release::V2026_04_08
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        CATALOG.named(operation).or_else(|| PURCHASE.named(operation)).or_else(|| MERCHANT_SHAPES.named(operation))
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
        object(&Success::new(Release::V2026_04_08, operation, active))
    }

    fn step(&self) -> &'static Step {
        &step::STEP
    }

    fn profile(&self, site: &Site<'_>) -> Value {
        profile::profile(self, site, &["signing_keys"])
    }
}
