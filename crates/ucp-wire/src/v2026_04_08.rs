//! Release 2026-04-08: the first one with a catalog.

use std::sync::LazyLock;

use serde_json::Value;
use ucp_core::{
    Operation, Outcome, Refusal, Release, Request,
    catalog::product::{Product, UnitPrice},
    message::Message,
    negotiation::Active,
    operation::{CATALOG_LOOKUP, CATALOG_SEARCH},
};

use crate::{
    catalog::{
        CatalogShapes, Form, request, response,
        shape::{LookupVariant, ProductMembers, VariantMembers},
    },
    dialect::{Dialect, Encoded, Offer},
    envelope::{self, ErrorResponse, Success},
    profile::{self, Site},
    schema::Shapes,
    splice::members,
};

/// Release 2026-04-08.
#[derive(Clone, Copy, Debug)]
pub struct V2026_04_08;

const VERSION: &str = Release::V2026_04_08.date();

const OFFERS: &[Offer] = &[
    Offer::root(CATALOG_SEARCH, VERSION, "specification/catalog/search", "schemas/shopping/catalog_search.json"),
    Offer::root(CATALOG_LOOKUP, VERSION, "specification/catalog/lookup", "schemas/shopping/catalog_lookup.json"),
];

static CATALOG: LazyLock<CatalogShapes> = LazyLock::new(CatalogShapes::of::<V2026_04_08>);

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

impl Dialect for V2026_04_08 {
    fn release(&self) -> Release {
        Release::V2026_04_08
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        CATALOG.named(operation)
    }

    fn normalize(&self, operation: Operation, payload: &mut Value) {
        match operation {
            Operation::SearchCatalog | Operation::LookupCatalog | Operation::GetProduct => request::modernize(payload),
        }
    }

    fn decode(&self, operation: Operation, payload: Value, languages: &[String]) -> Result<Request, Refusal> {
        request::decode::<<Self as Form>::Context>(operation, payload, languages)
    }

    fn encode(&self, operation: Operation, outcome: &Outcome, active: &Active) -> Encoded {
        envelope::encode(self, operation, outcome, active)
    }

    fn profile(&self, site: &Site<'_>) -> Value {
        profile::profile(self, site, &["signing_keys"])
    }
}
