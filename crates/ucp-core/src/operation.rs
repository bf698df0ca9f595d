//! The operation table.
//!
//! Each operation of the gateway is one row here. Routes, MCP tools, the discovery profile, OpenAPI, OpenRPC and the
//! JSON Schemas are derived from these rows, so that the transports cannot drift apart and nothing is advertised that
//! is not mounted. To add an operation, add its row; the compiler then asks for its wire formats in every release and
//! for its execution. [`call`](crate::call) makes the types of requests from the column `request`.

use std::time::Duration;

use crate::Release;

/// An HTTP method of the REST binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
}

impl Method {
    /// Returns the name of the method in HTTP.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// Effect of an operation on the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The operation only reads and can be repeated at will.
    Safe,
    /// The operation creates a resource, answered with status 201 over HTTP; an idempotency key makes retries safe.
    Creating,
    /// The operation replaces the contents of a resource, so that it can be repeated.
    Replacing,
    /// The operation cancels a resource; it requires an idempotency key (rule IDM-01).
    Canceling,
    /// The operation completes a purchase; it requires an idempotency key, and its answer is a commitment that is worth
    /// a signature (rule SIG-11).
    Concluding,
}

impl Effect {
    /// Returns `true` if the operation changes anything.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Safe)
    }

    /// Returns `true` if the operation requires an idempotency key.
    pub const fn needs_key(self) -> bool {
        matches!(self, Self::Canceling | Self::Concluding)
    }
}

/// Class of an operation, which decides who may call it and whether calls have to be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Catalog and directory: open to anyone.
    Browsing,
    /// Carts and checkouts.
    Purchase,
    /// Orders.
    Order,
}

/// Kind of resource that an operation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The products of a shop.
    Catalog,
    /// A cart, which belongs to the platform that created it.
    Cart,
    /// A checkout, which belongs to the platform that created it.
    Checkout,
    /// An order, which belongs to the platform that placed it.
    Order,
    /// The merchants of a directory and their locations.
    Directory,
}

impl Resource {
    /// Returns the singular noun used in texts for people.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Catalog => "product",
            Self::Cart => "cart",
            Self::Checkout => "checkout",
            Self::Order => "order",
            Self::Directory => "merchant",
        }
    }
}

/// Content that a request states of the resource that it acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum States {
    /// No content.
    Nothing,
    /// A draft of the resource, as a whole.
    Draft,
}

/// Durations for which an answer of another server may be served again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Duration for which the answer is fresh.
    pub fresh: Duration,
    /// Duration after [`fresh`](Self::fresh) for which it is served while it is renewed in the background.
    pub while_revalidating: Duration,
    /// Duration after [`fresh`](Self::fresh) for which it is served if it cannot be renewed.
    pub on_error: Duration,
    /// Duration for which the answer that nothing exists is served. It is never served stale.
    pub missing: Duration,
}

impl Freshness {
    /// No caching: only identical reads at the same time are coalesced.
    pub const NONE: Self = Self::seconds(0, 0, 0, 0);

    /// Creates a freshness from numbers of seconds, in the order of the fields.
    pub const fn seconds(fresh: u64, while_revalidating: u64, on_error: u64, missing: u64) -> Self {
        Self {
            fresh: Duration::from_secs(fresh),
            while_revalidating: Duration::from_secs(while_revalidating),
            on_error: Duration::from_secs(on_error),
            missing: Duration::from_secs(missing),
        }
    }

    /// Returns the permitted use of an answer of this age.
    pub fn usable(&self, age: Duration) -> Usable {
        if age < self.fresh {
            Usable::Fresh
        } else if age < self.fresh.saturating_add(self.while_revalidating) {
            Usable::WhileRevalidating
        } else if age < self.fresh.saturating_add(self.on_error) {
            Usable::OnError
        } else {
            Usable::Expired
        }
    }

    /// Returns the permitted use of the answer that nothing exists, at this age.
    pub fn usable_miss(&self, age: Duration) -> Usable {
        if age < self.missing { Usable::Fresh } else { Usable::Expired }
    }
}

/// Permitted use of an earlier answer (RFC 5861).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usable {
    /// The answer is served.
    Fresh,
    /// The answer is served while it is renewed in the background.
    WhileRevalidating,
    /// The answer is served only if renewing it fails.
    OnError,
    /// The answer is not served.
    Expired,
}

/// Capability to search the catalog.
pub const CATALOG_SEARCH: &str = "dev.ucp.shopping.catalog.search";

/// Capability to look up products.
pub const CATALOG_LOOKUP: &str = "dev.ucp.shopping.catalog.lookup";

/// Capability to use carts.
pub const CART: &str = "dev.ucp.shopping.cart";

/// Capability to buy.
pub const CHECKOUT: &str = "dev.ucp.shopping.checkout";

/// Capability to read orders.
pub const ORDER: &str = "dev.ucp.shopping.order";

/// Extension of checkouts with fulfillment.
pub const FULFILLMENT: &str = "dev.ucp.shopping.fulfillment";

/// Extension of carts and checkouts with discounts.
pub const DISCOUNT: &str = "dev.ucp.shopping.discount";

/// Extension of checkouts with the consent of the buyer.
pub const BUYER_CONSENT: &str = "dev.ucp.shopping.buyer_consent";

/// Extension of checkouts with proofs of the buyer's agreement (mandates). Some releases name it differently.
pub const AP2_MANDATE: &str = "dev.ucp.shopping.ap2_mandate";

/// Extension of checkouts with authentications of the buyer that the platform shows while a payment is in progress.
pub const PAYMENT_AUTHENTICATION: &str = "dev.ucp.common.payment.authentication";

/// Extensions that the domain supports.
pub const EXTENSIONS: &[&str] = &[FULFILLMENT, DISCOUNT, BUYER_CONSENT, AP2_MANDATE, PAYMENT_AUTHENTICATION];

/// Capability to find merchants in a directory: a draft that is not part of any release.
pub const MERCHANT: &str = "dev.ucp.menu.merchant";

/// Capability to search locations.
pub const LOCATION_SEARCH: &str = "dev.ucp.common.location.search";

/// Capability to look up locations.
pub const LOCATION_LOOKUP: &str = "dev.ucp.common.location.lookup";

/// Service of shopping.
pub const SHOPPING: &str = "dev.ucp.shopping";

/// Service that the draft of [`MERCHANT`] belongs to.
pub const RESTAURANT: &str = "dev.ucp.restaurant";

/// Service of everything that all kinds of business share.
pub const COMMON: &str = "dev.ucp.common";

/// A row of the operation table.
#[derive(Debug)]
pub struct Row {
    /// Name: MCP tool, OpenRPC method and OpenAPI operation ID.
    pub name: &'static str,
    /// HTTP method of the REST binding.
    pub method: Method,
    /// Path of the REST binding below the service endpoint; `{id}` stands for the identifier of the resource.
    pub path: &'static str,
    /// Member of the MCP arguments that holds the REST body; `None` if the operation takes none.
    pub payload: Option<&'static str>,
    /// `true` if the members of the request may stand among the MCP arguments themselves, besides in `payload`.
    pub flat: bool,
    /// Reverse-domain name of the service.
    pub service: &'static str,
    /// Reverse-domain name of the root capability.
    pub capability: &'static str,
    /// Class of the operation.
    pub class: Class,
    /// Kind of resource that the operation acts on.
    pub resource: Resource,
    /// Effect of the operation on the shop.
    pub effect: Effect,
    /// Content that a request states of the resource.
    pub states: States,
    /// Member that every successful answer has.
    pub carries: &'static str,
    /// Durations for which answers may be served again; `None` if they belong to one caller. Buyers decide by
    /// `get_product`, whose answer is never older than 5 seconds.
    pub freshness: Option<Freshness>,
    /// Title of a few words.
    pub title: &'static str,
    /// Effect and purpose of the operation, for agents.
    pub description: &'static str,
}

/// Request of an operation that takes only the identifier of a resource. The identifier comes from outside: it is
/// compared, never interpreted.
#[derive(Clone, Debug)]
pub struct ById {
    /// The identifier.
    pub id: String,
}

/// Passes the rows of the table to the macro `$then`, which generates code from them.
macro_rules! operation_table {
    ($then:ident) => {
        $then! {
            /// A request to the catalog of a shop.
            Catalog: CatalogRequest {
                /// Search the catalog by text, filters or both, with pagination.
                SearchCatalog {
                    name: "search_catalog", rest: Post "/catalog/search", payload: Some("catalog"),
                    service: SHOPPING, capability: CATALOG_SEARCH, class: Browsing, resource: Catalog,
                    effect: Safe, states: Nothing, carries: "products", request: search::Request,
                    freshness: Freshness::seconds(20, 40, 600, 0),
                    title: "Search catalog",
                    description: "Find products by free text, filters (categories, price range in minor units of \
                        context.currency, availability) or both. Returns one featured variant per product and a cursor for \
                        the next page. Call get_product for all options of a result.",
                }
                /// Resolve a list of identifiers to products.
                LookupCatalog {
                    name: "lookup_catalog", rest: Post "/catalog/lookup", payload: Some("catalog"),
                    service: SHOPPING, capability: CATALOG_LOOKUP, class: Browsing, resource: Catalog,
                    effect: Safe, states: Nothing, carries: "products", request: lookup::Request,
                    freshness: Freshness::seconds(30, 300, 600, 5),
                    title: "Look up products",
                    description: "Resolve up to 100 identifiers (product IDs, variant IDs, SKUs, handles, barcodes) to \
                        products with current prices and availability. `inputs` of each variant names the identifiers that \
                        matched it; unknown identifiers are returned as info messages.",
                }
                /// Get one product in full, narrowed by option choices.
                GetProduct {
                    name: "get_product", rest: Post "/catalog/product", payload: Some("catalog"),
                    service: SHOPPING, capability: CATALOG_LOOKUP, class: Browsing, resource: Catalog,
                    effect: Safe, states: Nothing, carries: "product", request: detail::Request,
                    freshness: Freshness::seconds(5, 0, 0, 5),
                    title: "Get product",
                    description: "Get one product by product or variant ID, with all its options. Send the buyer's choices \
                        so far in `selected`: every option value is returned with `exists` and `available` for these \
                        choices, and `variants` holds the matching variants. Choices that fit no variant are dropped: \
                        compare `product.selected` with what you sent.",
                }
            }

            /// A request about a cart, a checkout or an order.
            Sale: SaleRequest {
                /// Create a cart.
                CreateCart {
                    name: "create_cart", rest: Post "/carts", payload: Some("cart"),
                    service: SHOPPING, capability: CART, class: Purchase, resource: Cart,
                    effect: Creating, states: Draft, carries: "id", request: cart::Create,
                    title: "Create cart",
                    description: "Create a cart with line items (`item.id` is a variant ID from the catalog). Returns \
                        prices, estimated totals and messages about items that cannot be bought. Nothing is reserved.",
                }
                /// Get a cart.
                GetCart {
                    name: "get_cart", rest: Get "/carts/{id}", payload: None,
                    service: SHOPPING, capability: CART, class: Purchase, resource: Cart,
                    effect: Safe, states: Nothing, carries: "id", request: ById,
                    title: "Get cart",
                    description: "Get a cart by its ID.",
                }
                /// Replace the contents of a cart.
                UpdateCart {
                    name: "update_cart", rest: Put "/carts/{id}", payload: Some("cart"),
                    service: SHOPPING, capability: CART, class: Purchase, resource: Cart,
                    effect: Replacing, states: Draft, carries: "id", request: cart::Update,
                    title: "Update cart",
                    description: "Replaces the whole cart. Anything you omit is removed. Send each existing line's `id` to \
                        keep it.",
                }
                /// Cancel a cart.
                CancelCart {
                    name: "cancel_cart", rest: Post "/carts/{id}/cancel", payload: None,
                    service: SHOPPING, capability: CART, class: Purchase, resource: Cart,
                    effect: Canceling, states: Nothing, carries: "id", request: ById,
                    title: "Cancel cart",
                    description: "Cancel a cart. Returns its final state. Requires an idempotency key.",
                }
                /// Create a checkout.
                CreateCheckout {
                    name: "create_checkout", rest: Post "/checkout-sessions", payload: Some("checkout"),
                    service: SHOPPING, capability: CHECKOUT, class: Purchase, resource: Checkout,
                    effect: Creating, states: Draft, carries: "id", request: checkout::Create,
                    title: "Create checkout",
                    description: "Create a checkout from line items or from a `cart_id`. `messages` lists what is missing, \
                        with its path. `status` is `incomplete` (update the checkout), `requires_escalation` (send the buyer \
                        to `continue_url`) or `ready_for_complete`.",
                }
                /// Get a checkout.
                GetCheckout {
                    name: "get_checkout", rest: Get "/checkout-sessions/{id}", payload: None,
                    service: SHOPPING, capability: CHECKOUT, class: Purchase, resource: Checkout,
                    effect: Safe, states: Nothing, carries: "id", request: ById,
                    title: "Get checkout",
                    description: "Get a checkout by its ID.",
                }
                /// Replace the contents of a checkout.
                UpdateCheckout {
                    name: "update_checkout", rest: Put "/checkout-sessions/{id}", payload: Some("checkout"),
                    service: SHOPPING, capability: CHECKOUT, class: Purchase, resource: Checkout,
                    effect: Replacing, states: Draft, carries: "id", request: checkout::Update,
                    title: "Update checkout",
                    description: "Replaces the whole checkout. Anything you omit, including discount codes and the address, \
                        is removed.",
                }
                /// Pay for a checkout and place the order.
                CompleteCheckout {
                    name: "complete_checkout", rest: Post "/checkout-sessions/{id}/complete", payload: Some("checkout"),
                    service: SHOPPING, capability: CHECKOUT, class: Purchase, resource: Checkout,
                    effect: Concluding, states: Nothing, carries: "id", request: checkout::Complete,
                    title: "Complete checkout",
                    description: "Pay for a checkout that is `ready_for_complete` and place the order. Requires an \
                        idempotency key: use a new idempotency key per purchase and the same key to retry; a retry never \
                        charges twice. If `status` is `complete_in_progress`, the payment is pending: call get_checkout \
                        until it is `completed`.",
                }
                /// Cancel a checkout.
                CancelCheckout {
                    name: "cancel_checkout", rest: Post "/checkout-sessions/{id}/cancel", payload: None,
                    service: SHOPPING, capability: CHECKOUT, class: Purchase, resource: Checkout,
                    effect: Canceling, states: Nothing, carries: "id", request: ById,
                    title: "Cancel checkout",
                    description: "Cancel a checkout that is not completed. Returns its final state. Requires an idempotency \
                        key.",
                }
                /// Get an order.
                GetOrder {
                    name: "get_order", rest: Get "/orders/{id}", payload: None,
                    service: SHOPPING, capability: ORDER, class: Order, resource: Order,
                    effect: Safe, states: Nothing, carries: "id", request: ById,
                    title: "Get order",
                    description: "Get an order that this platform placed: items, totals, shipments and refunds.",
                }
            }

            /// A request to a directory of merchants and their locations.
            Directory: DirectoryRequest {
                /// Search merchants by text, filters or both, with pagination.
                SearchMerchants {
                    name: "search_merchants", rest: Post "/merchants/search", payload: Some("merchant"), flat: true,
                    service: RESTAURANT, capability: MERCHANT, class: Browsing, resource: Directory,
                    effect: Safe, states: Nothing, carries: "merchants", request: merchant::search::Request,
                    title: "Search merchants (draft)",
                    description: "Find merchants, such as restaurants, by free text in `query` (empty for all) and by \
                        filters: `category` includes its subcategories; one location must match all of `open_now`, \
                        `fulfillment_method` and `location` (an `address`, with or without a `radius` around it). Draft, not \
                        part of a UCP release.",
                }
                /// Get one merchant in full.
                GetMerchant {
                    name: "get_merchant", rest: Get "/merchants/{id}", payload: None, flat: true,
                    service: RESTAURANT, capability: MERCHANT, class: Browsing, resource: Directory,
                    effect: Safe, states: Nothing, carries: "merchant", request: merchant::detail::Request,
                    title: "Get merchant (draft)",
                    description: "Get a merchant by its ID, with its locations, opening hours and fulfillment methods. An \
                        unknown ID returns the message `NOT_FOUND` and no `merchant`. Draft, not part of a UCP release.",
                }
                /// Search locations by text, filters or both, with pagination.
                SearchLocations {
                    name: "search_locations", rest: Post "/locations/search", payload: Some("location"),
                    service: COMMON, capability: LOCATION_SEARCH, class: Browsing, resource: Directory,
                    effect: Safe, states: Nothing, carries: "locations", request: merchant::location::SearchRequest,
                    title: "Search locations",
                    description: "Find places of business by free text, by `distance` (meters around a `center` with \
                        `latitude` and `longitude`), and by filters: `hours.open_at` (an RFC 3339 time) and `amenities`. All \
                        filters must match. Unknown filters are rejected.",
                }
                /// Resolve a list of identifiers to locations.
                LookupLocations {
                    name: "lookup_locations", rest: Post "/locations/lookup", payload: Some("location"),
                    service: COMMON, capability: LOCATION_LOOKUP, class: Browsing, resource: Directory,
                    effect: Safe, states: Nothing, carries: "locations", request: merchant::location::LookupRequest,
                    title: "Look up locations",
                    description: "Resolve up to 100 location IDs to locations. `distance` and filters, as in \
                        search_locations, narrow the result. `inputs` of each location names the IDs that matched it.",
                }
            }
        }
    };
}

pub(crate) use operation_table;

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

macro_rules! operations {
    ($(#[doc = $kind_doc:literal] $kind:ident: $kind_request:ident { $($(#[doc = $doc:literal])+ $variant:ident {
        name: $name:literal, rest: $method:ident $path:literal, payload: $payload:expr, $(flat: $flat:literal,)?
        service: $service:expr, capability: $capability:expr, class: $class:ident, resource: $resource:ident,
        effect: $effect:ident, states: $states:ident, carries: $carries:literal, request: $request:ty,
        $(freshness: $freshness:expr,)?
        title: $title:literal,
        description: $description:literal,
    })+ })+) => {
        /// An operation of the gateway.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($($(#[doc = $doc])+ $variant),+),+
        }

        impl Operation {
            /// All operations, in the order of the specification.
            pub const ALL: &[Self] = &[$($(Self::$variant),+),+];

            /// Returns the row of the operation in the table.
            pub const fn row(self) -> &'static Row {
                match self {
                    $($(Self::$variant => const { &Row {
                        name: $name,
                        method: Method::$method,
                        path: $path,
                        payload: $payload,
                        flat: false $(|| $flat)?,
                        service: $service,
                        capability: $capability,
                        class: Class::$class,
                        resource: Resource::$resource,
                        effect: Effect::$effect,
                        states: States::$states,
                        carries: $carries,
                        freshness: optional!($($freshness)?),
                        title: $title,
                        description: $description,
                    } }),+),+
                }
            }
        }
    };
}

operation_table!(operations);

impl Operation {
    /// Returns the operation of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.row().name == name)
    }

    /// Returns `true` if a request states the content of a checkout.
    pub const fn drafts_checkout(self) -> bool {
        matches!((self.row().resource, self.row().states), (Resource::Checkout, States::Draft))
    }

    /// Returns `true` if the path of the operation names a resource.
    pub fn takes_id(self) -> bool {
        self.row().path.contains("{id}")
    }
}

/// Operations and extensions that a business supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupportedOperations {
    /// Supported operations.
    pub operations: Vec<Operation>,
    /// Supported extensions of these operations, by the names of the operation table.
    pub extensions: Vec<&'static str>,
    /// The only release in which [`AP2_MANDATE`] is supported; `None` for all releases. With that extension the
    /// business signs its answers as they stand (rule AP2-02): an answer signed by another party can be forwarded, but
    /// not rewritten in another release.
    pub sealed_in: Option<Release>,
}

impl SupportedOperations {
    /// Returns everything that the domain supports.
    pub fn everything() -> Self {
        Self::of(Operation::ALL)
    }

    /// Returns the given operations with all extensions.
    pub fn of(operations: &[Operation]) -> Self {
        Self { operations: operations.to_vec(), extensions: EXTENSIONS.to_vec(), sealed_in: None }
    }

    /// Returns `true` if an extension, by its name in the operation table, is available to callers of a release.
    pub fn extends(&self, extension: &str, release: Release) -> bool {
        let fits = extension != AP2_MANDATE || self.sealed_in.is_none_or(|only| only == release);
        fits && self.extensions.contains(&extension)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_answer_is_fresh_then_renewed_behind_callers_then_kept_for_outages() {
        let usable = |freshness: Freshness, age| freshness.usable(Duration::from_secs(age));
        let both = Freshness::seconds(60, 30, 300, 5);
        for (age, expected) in [
            (0, Usable::Fresh),
            (59, Usable::Fresh),
            (60, Usable::WhileRevalidating),
            (89, Usable::WhileRevalidating),
            (90, Usable::OnError),
            (359, Usable::OnError),
            (360, Usable::Expired),
        ] {
            assert_eq!(usable(both, age), expected, "{age} s");
        }
        assert_eq!(usable(Freshness::NONE, 0), Usable::Expired);
    }

    #[test]
    fn names_and_routes_of_operations_are_unique() {
        let names: HashSet<_> = Operation::ALL.iter().map(|operation| operation.row().name).collect();
        let routes: HashSet<_> =
            Operation::ALL.iter().map(|operation| (operation.row().method, operation.row().path)).collect();
        assert_eq!((names.len(), routes.len()), (Operation::ALL.len(), Operation::ALL.len()));
        for operation in Operation::ALL {
            assert_eq!(Operation::named(operation.row().name), Some(*operation));
            let row = operation.row();
            // The draft alone names a capability outside of its service.
            assert!(row.capability.starts_with(row.service) || row.capability == MERCHANT, "{}", row.name);
        }
    }
}
