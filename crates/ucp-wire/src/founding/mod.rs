//! The releases before the catalog, 2026-01-11 and 2026-01-23: their checkouts, and the catalog of this project's founding
//! documents.
//!
//! Neither release has a catalog. The founding documents describe one for their callers, and those callers are served:
//! the operations can be called, but nothing advertises them. Answers have no `ucp.status`, products repeat `categories`
//! as `category` and variants `inputs` as `input`, and what cannot be answered is an error of the transport.
//!
//! A search needs words or filters, as in later releases; the founding document demanded words.

mod failure;
mod message;
mod notice;
pub mod purchase;

use std::{borrow::Cow, fmt, marker::PhantomData, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    Answer, Operation, Outcome, Refusal, Release, Request,
    catalog::product::{self, Category, UnitPrice},
    message::Message,
    negotiation::Active,
    operation::{
        AP2_MANDATE, BUYER_CONSENT, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, Class, DISCOUNT, FULFILLMENT, MERCHANT,
        ORDER,
    },
    order::View,
};

use crate::{
    catalog::{
        CatalogShapes, Form, request, response,
        shape::{InputCorrelation, LookupVariant, ProductMembers, VariantMembers},
    },
    dialect::{Dialect, Occasion, Seal},
    encoded::{Encoded, Refused},
    envelope::{self, Capabilities, Dated},
    merchant::{self, MerchantShapes},
    offer::{MANDATE_FORMATS, Offer},
    purchase::{self as purchase_form, PurchaseShapes},
    request::decode,
    schema::Shapes,
    site::Site,
    splice::{self, Document, members},
    step::Step,
};

/// A release before the catalog. `P` is how it writes checkouts.
#[derive(Debug)]
pub struct Founding<P> {
    pub(crate) release: Release,
    pub(crate) offers: &'static [Offer],
    pub(crate) purchase: &'static LazyLock<PurchaseShapes>,
    pub(crate) merchants: &'static LazyLock<MerchantShapes>,
    pub(crate) methods: bool,
    pub(crate) direct: fn(String) -> String,
    pub(crate) profile: fn(&dyn Dialect, &Site<'_>) -> Value,
    pub(crate) step: &'static Step,
    pub(crate) form: PhantomData<P>,
}

/// The date at which the founding documents declare looking products up, whatever the release.
const LOOKUP: &str = "2026-02-01";

/// The checkouts that these releases have, and what callers of the founding catalog may declare.
pub(crate) const fn offers(release: Release) -> [Offer; 10] {
    let date = release.date();
    let search = ("specification/catalog/search", "schemas/shopping/catalog_search.json");
    let lookup = ("specification/catalog/lookup", "schemas/shopping/catalog_lookup.json");
    [
        Offer::root(CHECKOUT, date, "specification/checkout", "schemas/shopping/checkout.json"),
        // Nothing is called under it: it is what platforms state where they want to be told of their orders.
        Offer::root(ORDER, date, "specification/order", "schemas/shopping/order.json").telling(),
        Offer::root(FULFILLMENT, date, "specification/fulfillment", "schemas/shopping/fulfillment.json")
            .extending(&[CHECKOUT]),
        Offer::root(DISCOUNT, date, "specification/discount", "schemas/shopping/discount.json").extending(&[CHECKOUT]),
        Offer::root(BUYER_CONSENT, date, "specification/buyer-consent", "schemas/shopping/buyer_consent.json")
            .extending(&[CHECKOUT]),
        Offer::root(AP2_MANDATE, date, "specification/ap2-mandates", "schemas/shopping/ap2_mandate.json")
            .extending(&[CHECKOUT])
            .signing(MANDATE_FORMATS),
        Offer::root(CATALOG_SEARCH, date, search.0, search.1).unpublished(),
        Offer::root(CATALOG_LOOKUP, date, lookup.0, lookup.1).unpublished(),
        Offer::root(CATALOG_LOOKUP, LOOKUP, lookup.0, lookup.1).unpublished(),
        Offer::root(MERCHANT, date, "specification/merchant", "schemas/menu/merchant.json"),
    ]
}

static CATALOG: LazyLock<CatalogShapes> = LazyLock::new(CatalogShapes::of::<Founding<purchase::First>>);

/// Protocol metadata of an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Metadata")]
pub(crate) struct Metadata<'a> {
    /// The release this answer is written in.
    version: Dated<'a>,
    /// The capabilities that are active for this answer.
    capabilities: Capabilities<'a>,
}

impl<'a> Metadata<'a> {
    fn new(release: Release, operation: Operation, active: &'a Active) -> Self {
        Self { version: Dated(release.date()), capabilities: Capabilities::relevant(operation, active) }
    }
}

/// What is the same in every answer about a product.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MirroredProduct<'a> {
    #[serde(flatten)]
    members: ProductMembers<'a>,
    /// The same as `categories`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    category: &'a [Category],
}

/// A variant, and which identifiers led to it.
#[derive(Debug, JsonSchema)]
pub(crate) struct MirroredLookupVariant<'a> {
    #[expect(dead_code, reason = "states a shape and is never built")]
    #[serde(flatten)]
    variant: LookupVariant<VariantMembers<'a, UnitPrice>>,
    /// The same as `inputs`.
    #[expect(dead_code, reason = "states a shape and is never built")]
    #[schemars(length(min = 1))]
    input: Vec<InputCorrelation<'a>>,
}

/// The members of a product or variant that no rule speaks about, without what this dialect gives a meaning.
fn without<'a>(extra: &'a Map<String, Value>, name: &str) -> Cow<'a, Map<String, Value>> {
    if !extra.contains_key(name) {
        return Cow::Borrowed(extra);
    }
    let mut rest = extra.clone();
    rest.shift_remove(name);
    Cow::Owned(rest)
}

impl<P: purchase_form::Form + fmt::Debug + Sync> Form for Founding<P> {
    type Context = request::Context;
    type Metadata = Metadata<'static>;
    type Message = message::FoundingMessage<'static>;
    type NoResource = failure::NoResource<'static>;
    type Product = MirroredProduct<'static>;
    type Variant = VariantMembers<'static, UnitPrice>;
    type LookupVariant = MirroredLookupVariant<'static>;

    fn product(&self, product: &product::Product) -> Box<str> {
        let mirrored = !product.categories.is_empty();
        let extra = if mirrored { without(&product.extra, "category") } else { Cow::Borrowed(&product.extra) };
        let shared = ProductMembers { extra: &extra, ..response::product(product) };
        members(&MirroredProduct { members: shared, category: &product.categories })
    }

    fn variant(&self, product: &product::Product, position: usize) -> Box<str> {
        let extra = without(&product.variants[position].extra, "input");
        members(&VariantMembers { extra: &extra, ..response::variant(product, position, Some) })
    }

    fn correlate(&self, variant: &mut Document, inputs: &[InputCorrelation<'_>]) {
        variant.name("inputs").value(inputs);
        variant.name("input").value(inputs);
    }

    fn notes(&self, root: &mut Document, messages: &[Message]) {
        if !messages.is_empty() {
            root.name("messages").value(&message::all(messages));
        }
    }
}

impl<P: purchase_form::Form + fmt::Debug + Sync> Dialect for Founding<P> {
    fn release(&self) -> Release {
        self.release
    }

    fn offers(&self) -> &'static [Offer] {
        self.offers
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        CATALOG.named(operation).or_else(|| self.purchase.named(operation)).or_else(|| self.merchants.named(operation))
    }

    fn failure(&self, generator: &mut SchemaGenerator) -> Schema {
        failure::schema(generator)
    }

    fn rpc_failure(&self, generator: &mut SchemaGenerator) -> Schema {
        failure::rpc_schema(generator)
    }

    fn normalize(&self, operation: Operation, payload: &mut Value) {
        match operation {
            Operation::SearchCatalog | Operation::LookupCatalog => request::modernize(payload),
            Operation::GetProduct => {
                request::modernize(payload);
                if let Some(payload) = payload.as_object_mut() {
                    request::rename(payload, "selected_options", "selected");
                }
            }
            Operation::SearchMerchants | Operation::GetMerchant => merchant::request::modernize(payload),
            _ => purchase::modernize(operation, payload),
        }
    }

    fn decode(
        &self,
        operation: Operation,
        id: Option<&str>,
        payload: Value,
        languages: &[String],
    ) -> Result<Request, Refusal> {
        decode::<P>(operation, id, payload, languages)
    }

    fn encode(&self, operation: Operation, outcome: &Outcome, active: &Active) -> Encoded {
        let ucp = Metadata::new(self.release, operation, active);
        match outcome {
            Outcome::Answer(answer) => {
                let document = envelope::write::<Self, P>(self, operation, answer, active, |root| {
                    root.name("ucp").value(&ucp);
                });
                Encoded { document, status: envelope::status(operation, answer), rpc_error: None }
            }
            Outcome::NoResource { messages, continue_url, id, conflict } => {
                failure::no_resource(operation, ucp, messages, continue_url.as_deref(), id.as_deref(), *conflict)
            }
        }
    }

    fn metadata(&self, operation: Operation, active: &Active) -> Map<String, Value> {
        match operation.row().class {
            Class::Purchase | Class::Order => splice::object(&P::metadata(operation, active)),
            Class::Browsing => splice::object(&Metadata::new(self.release, operation, active)),
        }
    }

    fn step(&self) -> &'static Step {
        self.step
    }

    fn errs_without_resource(&self) -> bool {
        true
    }

    fn has_methods(&self) -> bool {
        self.methods
    }

    fn names_resources_twice(&self, operation: Operation) -> bool {
        operation == Operation::UpdateCheckout
    }

    fn notice(&self, view: View, active: &Active, occasion: &Occasion<'_>) -> String {
        let outcome = Outcome::Answer(Answer::Order(view));
        notice::notice(&self.encode(Operation::GetOrder, &outcome, active).document, occasion)
    }

    fn noticed(&self, document: String, occasion: &Occasion<'_>) -> String {
        notice::notice(&document, occasion)
    }

    fn seal(&self) -> Seal {
        Seal::Body
    }

    fn direct(&self, operation: Operation, document: String) -> String {
        match operation.row().class {
            Class::Purchase | Class::Order => (self.direct)(document),
            Class::Browsing => document,
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Refused {
        failure::refuse(refusal)
    }

    fn profile(&self, site: &Site<'_>) -> Value {
        (self.profile)(self, site)
    }
}
