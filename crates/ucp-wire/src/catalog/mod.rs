//! The catalog on the wire: search, lookup and `get_product`, written once for every release.
//!
//! A release says in a [`Form`] what it writes in its own way. Products are written once per release, in parts, and
//! answers are spliced together from the parts (see [`ucp_core::rendering`]).

pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;

use schemars::JsonSchema;
use ucp_core::{Operation, catalog::product::Product, message::Message};

use crate::{
    dialect::Dialect,
    schema::Shapes,
    splice::{Document, members},
};

/// What a release writes in its own way.
pub(crate) trait Form: Dialect {
    /// What platforms may say about the buyer's circumstances.
    type Context: request::Circumstances;
    /// The `ucp` member of an answer.
    type Metadata: JsonSchema;
    /// A message.
    type Message: JsonSchema;
    /// The answer when there is nothing to return.
    type NoResource: JsonSchema;
    /// What is the same in every answer about a product.
    type Product: JsonSchema;
    /// A variant.
    type Variant: JsonSchema;
    /// A variant, and which identifiers led to it.
    type LookupVariant: JsonSchema;

    /// The members of a product that [`Form::Product`] describes, without braces.
    fn product(&self, product: &Product) -> Box<str> {
        members(&response::product(product))
    }

    /// The members of a variant, without braces.
    fn variant(&self, product: &Product, position: usize) -> Box<str>;

    /// Adds to a variant which identifiers led to it.
    fn correlate(&self, variant: &mut Document, inputs: &[shape::InputCorrelation<'_>]) {
        variant.name("inputs").value(inputs);
    }

    /// Adds the messages of an answer, if there are any.
    fn notes(&self, root: &mut Document, messages: &[Message]) {
        if !messages.is_empty() {
            root.name("messages").value(messages);
        }
    }
}

/// The shapes of the catalog's operations in one release.
#[derive(Debug)]
pub(crate) struct CatalogShapes {
    search: Shapes,
    lookup: Shapes,
    get_product: Shapes,
}

type Listed<F> = shape::Product<<F as Form>::Product, <F as Form>::Variant>;
type LookedUp<F> = shape::LookupProduct<<F as Form>::Product, <F as Form>::LookupVariant>;
type Detailed<F> = shape::DetailProduct<<F as Form>::Product, <F as Form>::Variant>;

impl CatalogShapes {
    /// The shapes of a form.
    pub(crate) fn of<F: Form>() -> Self {
        Self {
            search: Shapes::of::<
                request::SearchRequest<F::Context>,
                shape::SearchResponse<F::Metadata, Listed<F>, F::Message>,
                F::NoResource,
            >(),
            lookup: Shapes::of::<
                request::LookupRequest<F::Context>,
                shape::LookupResponse<F::Metadata, LookedUp<F>, F::Message>,
                F::NoResource,
            >(),
            get_product: Shapes::of::<
                request::ProductRequest<F::Context>,
                shape::ProductResponse<F::Metadata, Detailed<F>, F::Message>,
                F::NoResource,
            >(),
        }
    }

    /// The shapes of an operation, if it is one of the catalog's.
    pub(crate) fn named(&self, operation: Operation) -> Option<&Shapes> {
        match operation {
            Operation::SearchCatalog => Some(&self.search),
            Operation::LookupCatalog => Some(&self.lookup),
            Operation::GetProduct => Some(&self.get_product),
            _ => None,
        }
    }
}
