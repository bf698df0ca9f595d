//! Requests, answers and outcomes of calls, in the types of the domain.
//!
//! Requests are of three kinds, by the port that answers them: the catalog, the sales of the shop, the directory. Their
//! variants are the rows of the [operation table](crate::operation).

#![expect(clippy::large_enum_variant, reason = "a request is moved a few times in its life and never kept")]

use crate::{
    Operation, cart,
    catalog::{detail, lookup, search},
    checkout, merchant,
    message::Message,
    operation::{ById, operation_table},
    order, outcome,
    purchase::draft::Draft,
};

macro_rules! stated {
    (Nothing $request:ident) => {{
        let _ = $request;
        None
    }};
    (Draft $request:ident) => {
        Some(&mut $request.draft)
    };
}

macro_rules! requests {
    ($(#[doc = $kind_doc:literal] $kind:ident: $kind_request:ident { $($(#[doc = $doc:literal])+ $variant:ident {
        name: $name:literal, rest: $method:ident $path:literal, payload: $payload:expr, $(flat: $flat:literal,)?
        service: $service:expr, capability: $capability:expr, class: $class:ident, resource: $resource:ident,
        effect: $effect:ident, states: $states:ident, carries: $carries:literal, request: $request:ty,
        $(freshness: $freshness:expr,)?
        title: $title:literal,
        description: $description:literal,
    })+ })+) => {
        $(
            #[doc = $kind_doc]
            #[derive(Clone, Debug)]
            pub enum $kind_request {
                $($(#[doc = $doc])+ $variant($request)),+
            }

            impl $kind_request {
                /// Returns the requested operation.
                pub const fn operation(&self) -> Operation {
                    match self { $(Self::$variant(_) => Operation::$variant),+ }
                }

                /// Returns the draft that the request states, if its operation takes one.
                pub fn draft(&mut self) -> Option<&mut Draft> {
                    match self { $(Self::$variant(request) => stated!($states request)),+ }
                }
            }

            impl From<$kind_request> for Request {
                fn from(request: $kind_request) -> Self {
                    Self::$kind(request)
                }
            }
        )+

        /// A request of any kind.
        #[derive(Clone, Debug)]
        pub enum Request {
            $(#[doc = $kind_doc] $kind($kind_request)),+
        }

        impl Request {
            /// Returns the requested operation.
            pub const fn operation(&self) -> Operation {
                match self { $(Self::$kind(request) => request.operation()),+ }
            }

            /// Returns the draft that the request states, if its operation takes one.
            pub fn draft(&mut self) -> Option<&mut Draft> {
                match self { $(Self::$kind(request) => request.draft()),+ }
            }
        }
    };
}

operation_table!(requests);

macro_rules! answers {
    ($($(#[doc = $doc:literal])+ $variant:ident($answer:ty),)+) => {
        /// An answer of any operation.
        #[derive(Debug)]
        pub enum Answer {
            $($(#[doc = $doc])+ $variant($answer)),+
        }

        impl Answer {
            /// Returns the messages of the answer.
            pub fn messages_mut(&mut self) -> &mut Vec<Message> {
                match self { $(Self::$variant(answer) => &mut answer.messages),+ }
            }
        }

        $(impl From<$answer> for Answer {
            fn from(answer: $answer) -> Self {
                Self::$variant(answer)
            }
        })+
    };
}

answers! {
    /// A page of products.
    Products(search::Found),
    /// Products by their identifiers.
    ProductsById(lookup::Resolved),
    /// A product in full.
    Product(detail::Detail),
    /// A cart.
    Cart(cart::View),
    /// A checkout.
    Checkout(checkout::View),
    /// An order.
    Order(order::View),
    /// A page of merchants.
    Merchants(merchant::search::Found),
    /// A merchant in full.
    Merchant(merchant::detail::Detail),
    /// A page of locations.
    Locations(merchant::location::Found),
    /// Locations by their identifiers.
    LocationsById(merchant::location::Resolved),
}

/// Outcome of a call that was carried out.
pub type Outcome = outcome::Outcome<Answer>;

impl Outcome {
    /// Returns the same outcome with one more message.
    #[must_use]
    pub fn noting(mut self, message: Message) -> Self {
        match &mut self {
            Self::Answer(answer) => answer.messages_mut().push(message),
            Self::NoResource { messages, .. } => messages.push(message),
        }
        self
    }
}
