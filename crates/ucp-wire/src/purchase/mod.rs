//! Carts, checkouts and orders on the wire, written once for every release.
//!
//! A release says in a [`Form`] what it writes in its own way. Schemas of requests are open: members that only the shop
//! may set are taken and left alone. Members of extensions are written only where the extension is active.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | what platforms state, and the domain's words for it |
//! | `address` | postal addresses as platforms state them |
//! | [`payment`] | instruments: stated, and given back without what pays |
//! | [`consent`] | what buyers agreed to, in the two forms there are |
//! | [`shape`] | the shapes of answers |
//! | [`response`] | answers, from what the domain says |

mod address;
pub(crate) mod consent;
pub(crate) mod payment;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use ucp_core::{
    Operation,
    message::Message,
    negotiation::Active,
    purchase::{
        buyer::Consent,
        payment::{Declaration, Instrument},
    },
};

use crate::{catalog::request::Circumstances, schema::Shapes};

/// What a release writes in its own way.
pub(crate) trait Form {
    /// What platforms may say about the buyer's circumstances.
    type Context: Circumstances;
    /// What platforms say about what the buyer agreed to.
    type ConsentRequest: DeserializeOwned + JsonSchema + Into<Consent>;
    /// What `create_checkout` is asked.
    type CreateRequest: JsonSchema;
    /// What `complete_checkout` is asked.
    type CompleteRequest: JsonSchema;
    /// The `ucp` member of a cart or an order.
    type Metadata<'a>: Serialize + JsonSchema;
    /// The `ucp` member of a checkout.
    type CheckoutMetadata<'a>: Serialize + JsonSchema;
    /// What the buyer agreed to.
    type Consent<'a>: Serialize + JsonSchema;
    /// What more is to be said about a way for goods to travel.
    type Description<'a>: Serialize + JsonSchema;
    /// How a checkout can be and is to be paid.
    type Payment<'a>: Serialize + JsonSchema;
    /// A message.
    type Message<'a>: Serialize + JsonSchema;
    /// The answer when there is nothing to return.
    type NoResource: JsonSchema;

    /// Whether there are carts, orders that can be looked at, and what came with them: circumstances that are given back,
    /// names of orders, discounts below zero, discounts that are granted provisionally.
    const CARTS: bool;
    /// Whether destinations say of which type they are.
    const TYPED_DESTINATIONS: bool;

    /// The `ucp` member of a cart or an order.
    fn metadata(operation: Operation, active: &Active) -> Self::Metadata<'_>;

    /// The `ucp` member of a checkout.
    fn checkout_metadata<'a>(
        operation: Operation,
        active: &'a Active,
        handlers: &'a [Declaration],
    ) -> Self::CheckoutMetadata<'a>;

    /// What the buyer agreed to.
    fn consent(consent: &Consent) -> Self::Consent<'_>;

    /// What more is to be said about a way for goods to travel.
    fn description(text: &str) -> Self::Description<'_>;

    /// How a checkout can be and is to be paid; `None` when the release says nothing about that here.
    fn payment<'a>(handlers: &'a [Declaration], instruments: &'a [Instrument]) -> Option<Self::Payment<'a>>;

    /// A message.
    fn message(message: &Message) -> Self::Message<'_>;
}

/// The shapes of the operations on carts, checkouts and orders in one release.
#[derive(Debug)]
pub(crate) struct PurchaseShapes {
    carts: Option<CartShapes>,
    create_checkout: Shapes,
    update_checkout: Shapes,
    complete_checkout: Shapes,
    checkout: Shapes,
}

/// The shapes that releases with carts have.
#[derive(Debug)]
struct CartShapes {
    changed: Shapes,
    cart: Shapes,
    order: Shapes,
}

type Cart<F> =
    shape::Cart<'static, <F as Form>::Metadata<'static>, <F as Form>::Consent<'static>, <F as Form>::Message<'static>>;
type Checkout<F> = shape::Checkout<
    'static,
    <F as Form>::CheckoutMetadata<'static>,
    <F as Form>::Consent<'static>,
    <F as Form>::Description<'static>,
    <F as Form>::Payment<'static>,
    <F as Form>::Message<'static>,
>;
type Order<F> = shape::Order<'static, <F as Form>::Metadata<'static>, <F as Form>::Message<'static>>;

impl PurchaseShapes {
    /// The shapes of a form.
    pub(crate) fn of<F: Form>() -> Self {
        Self {
            carts: F::CARTS.then(|| CartShapes {
                changed: Shapes::of::<request::CartRequest<F::Context, F::ConsentRequest>, Cart<F>, F::NoResource>(),
                cart: Shapes::without_request::<Cart<F>, F::NoResource>(),
                order: Shapes::without_request::<Order<F>, F::NoResource>(),
            }),
            create_checkout: Shapes::of::<F::CreateRequest, Checkout<F>, F::NoResource>(),
            update_checkout: Shapes::of::<
                request::CheckoutRequest<F::Context, F::ConsentRequest>,
                Checkout<F>,
                F::NoResource,
            >(),
            complete_checkout: Shapes::of::<F::CompleteRequest, Checkout<F>, F::NoResource>(),
            checkout: Shapes::without_request::<Checkout<F>, F::NoResource>(),
        }
    }

    /// The shapes of an operation, if it is about carts, checkouts or orders and the release has it.
    pub(crate) fn named(&self, operation: Operation) -> Option<&Shapes> {
        let carts = self.carts.as_ref();
        match operation {
            Operation::CreateCart | Operation::UpdateCart => carts.map(|shapes| &shapes.changed),
            Operation::GetCart | Operation::CancelCart => carts.map(|shapes| &shapes.cart),
            Operation::CreateCheckout => Some(&self.create_checkout),
            Operation::UpdateCheckout => Some(&self.update_checkout),
            Operation::CompleteCheckout => Some(&self.complete_checkout),
            Operation::GetCheckout | Operation::CancelCheckout => Some(&self.checkout),
            Operation::GetOrder => carts.map(|shapes| &shapes.order),
            _ => None,
        }
    }
}
