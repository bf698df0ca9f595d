//! The operation table.
//!
//! Each operation of the gateway is one row here. Routes, MCP tools, the discovery profile, OpenAPI, OpenRPC and the
//! JSON Schemas are derived from these rows, so that the transports cannot drift apart and nothing is advertised that is
//! not mounted. To add an operation, add its row; the compiler then asks for its shapes in every release and for its
//! execution. [`call`](crate::call) makes the types of requests from the column `request`.

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
    /// The method as HTTP writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// What an operation does to the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It only reads: it can be sent again at will.
    Safe,
    /// It makes a resource: an idempotency key makes retries safe. What is new is answered with status 201 over HTTP.
    Creating,
    /// It replaces the contents of a resource, so that it can be sent twice.
    Replacing,
    /// It gives something up: as a change, and only under an idempotency key (rule IDM-01).
    Canceling,
    /// It concludes a purchase: as a change, only under an idempotency key, and the answer is a commitment that is worth
    /// a signature (rule SIG-11).
    Concluding,
}

impl Effect {
    /// Whether anything changes.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Safe)
    }

    /// Whether it is only done under an idempotency key.
    #[must_use]
    pub const fn needs_key(self) -> bool {
        matches!(self, Self::Canceling | Self::Concluding)
    }
}

/// What an operation is part of. Who may call, and whether calls have to be signed, is decided per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Looking around: open to anyone.
    Browsing,
    /// Carts and checkouts.
    Purchase,
    /// Orders.
    Order,
}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The products of a shop.
    Catalog,
    /// A cart, which belongs to the platform that made it.
    Cart,
    /// A checkout, which belongs to the platform that made it.
    Checkout,
    /// An order, which belongs to the platform that placed it.
    Order,
    /// The merchants of a directory and their locations.
    Directory,
}

impl Resource {
    /// The noun for one of them in texts for people.
    #[must_use]
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

/// For how long an answer that was read from another server may be served again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// As it is.
    pub fresh: Duration,
    /// After that, while it is renewed.
    pub while_revalidating: Duration,
    /// After [`fresh`](Self::fresh), when it cannot be renewed.
    pub on_error: Duration,
    /// That there is nothing. It is never served stale.
    pub missing: Duration,
}

impl Freshness {
    /// Never: only equal reads at the same time are one.
    pub const NONE: Self = Self::seconds(0, 0, 0, 0);

    /// These numbers of seconds, in the order of the members.
    #[must_use]
    pub const fn seconds(fresh: u64, while_revalidating: u64, on_error: u64, missing: u64) -> Self {
        Self {
            fresh: Duration::from_secs(fresh),
            while_revalidating: Duration::from_secs(while_revalidating),
            on_error: Duration::from_secs(on_error),
            missing: Duration::from_secs(missing),
        }
    }

    /// Returns the use that can be made of an answer of this age.
    #[must_use]
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

    /// Returns the use that can be made of the answer that there is nothing, at this age.
    #[must_use]
    pub fn usable_miss(&self, age: Duration) -> Usable {
        if age < self.missing { Usable::Fresh } else { Usable::Expired }
    }
}

/// Use of an answer that was given a while ago (RFC 5861).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usable {
    /// As it is.
    Fresh,
    /// As it is, while it is asked for again in the background.
    WhileRevalidating,
    /// Only if asking again fails.
    OnError,
    /// No longer.
    Expired,
}

/// The capability of finding products.
pub const CATALOG_SEARCH: &str = "dev.ucp.shopping.catalog.search";

/// The capability of looking products up.
pub const CATALOG_LOOKUP: &str = "dev.ucp.shopping.catalog.lookup";

/// The capability of carts.
pub const CART: &str = "dev.ucp.shopping.cart";

/// The capability of buying.
pub const CHECKOUT: &str = "dev.ucp.shopping.checkout";

/// The capability of looking at what was bought.
pub const ORDER: &str = "dev.ucp.shopping.order";

/// The extension of checkouts by deliveries.
pub const FULFILLMENT: &str = "dev.ucp.shopping.fulfillment";

/// The extension of carts and checkouts by discounts.
pub const DISCOUNT: &str = "dev.ucp.shopping.discount";

/// The extension of checkouts by what the buyer agrees to.
pub const BUYER_CONSENT: &str = "dev.ucp.shopping.buyer_consent";

/// The extension of checkouts by proofs of what the buyer agreed to. Releases may have another name for it.
pub const AP2_MANDATE: &str = "dev.ucp.shopping.ap2_mandate";

/// The extensions that the domain knows.
pub const EXTENSIONS: &[&str] = &[FULFILLMENT, DISCOUNT, BUYER_CONSENT, AP2_MANDATE];

/// The capability of finding merchants in a directory: a draft that is no part of any release.
pub const MERCHANT: &str = "dev.ucp.menu.merchant";

/// The capability of finding places of business.
pub const LOCATION_SEARCH: &str = "dev.ucp.common.location.search";

/// The capability of looking places of business up.
pub const LOCATION_LOOKUP: &str = "dev.ucp.common.location.lookup";

/// The service of whatever is about buying.
pub const SHOPPING: &str = "dev.ucp.shopping";

/// The service that the draft of [`MERCHANT`] belongs to.
pub const RESTAURANT: &str = "dev.ucp.restaurant";

/// The service of what all kinds of business have in common.
pub const COMMON: &str = "dev.ucp.common";

/// A row of the operation table.
#[derive(Debug)]
pub struct Row {
    /// The name: MCP tool, OpenRPC method and OpenAPI operation id.
    pub name: &'static str,
    /// The HTTP method of the REST binding.
    pub method: Method,
    /// The path of the REST binding, below the service endpoint; `{id}` stands for the resource.
    pub path: &'static str,
    /// The member of the MCP arguments that holds what REST sends as body, if the operation takes one.
    pub payload: Option<&'static str>,
    /// Whether the members of what is asked stand among the MCP arguments themselves; they may stand in `payload` too.
    pub flat: bool,
    /// The service it belongs to, by its reverse-domain name.
    pub service: &'static str,
    /// The root capability that offers it, by its reverse-domain name.
    pub capability: &'static str,
    /// What it is part of.
    pub class: Class,
    /// What it is about.
    pub resource: Resource,
    /// What it does to the shop.
    pub effect: Effect,
    /// The member that every answer of it has that carries what was asked for.
    pub carries: &'static str,
    /// For how long its answers may be served again; `None` where they are one caller's own. Purchases are decided by
    /// `get_product`, whose answer is never older than 5 seconds.
    pub freshness: Option<Freshness>,
    /// What it is, in a few words.
    pub title: &'static str,
    /// What it does and when to use it, for agents.
    pub description: &'static str,
}

/// What an operation is asked that takes nothing but the identifier of a resource. It comes from outside: it is compared,
/// never interpreted.
#[derive(Clone, Debug)]
pub struct ById {
    /// The identifier.
    pub id: String,
}

/// Hands the rows to the macro `$then`, which makes of them what it needs.
macro_rules! operation_table {
    ($then:ident) => {
        $then! {
            /// A question about the products of a shop.
            Catalog: CatalogRequest {
                /// Products by words, filters or both, a page at a time.
                SearchCatalog {
                    name: "search_catalog",
                    rest: Post "/catalog/search",
                    payload: Some("catalog"),
                    service: SHOPPING,
                    capability: CATALOG_SEARCH,
                    class: Browsing,
                    resource: Catalog,
                    effect: Safe,
                    carries: "products",
                    freshness: Some(Freshness::seconds(20, 40, 600, 0)),
                    request: search::Request,
                    title: "Search the catalog",
                    description: "Find products by free text, filters (categories, price range in minor units of context.currency, \
                        available) or both. Returns one featured variant per product and a cursor for the next page. Use get_product \
                        on a result to see all its options.",
                }
                /// What a list of identifiers names.
                LookupCatalog {
                    name: "lookup_catalog",
                    rest: Post "/catalog/lookup",
                    payload: Some("catalog"),
                    service: SHOPPING,
                    capability: CATALOG_LOOKUP,
                    class: Browsing,
                    resource: Catalog,
                    effect: Safe,
                    carries: "products",
                    freshness: Some(Freshness::seconds(30, 300, 600, 5)),
                    request: lookup::Request,
                    title: "Look identifiers up",
                    description: "Resolve up to 100 identifiers (product ids, variant ids, SKUs, handles, barcodes) to products with \
                        current prices and availability. Each returned variant says in `inputs` which identifiers led to it; unknown \
                        identifiers come back as info messages.",
                }
                /// One product in full, narrowed by option choices.
                GetProduct {
                    name: "get_product",
                    rest: Post "/catalog/product",
                    payload: Some("catalog"),
                    service: SHOPPING,
                    capability: CATALOG_LOOKUP,
                    class: Browsing,
                    resource: Catalog,
                    effect: Safe,
                    carries: "product",
                    freshness: Some(Freshness::seconds(5, 0, 0, 5)),
                    request: detail::Request,
                    title: "Open a product page",
                    description: "Get one product by product or variant id with all its options. Send the buyer's choices so far in \
                        `selected`; every option value comes back with `exists` and `available` relative to `product.selected`, and \
                        `variants` holds the variants that match. Compare `product.selected` with what you sent to see which choices \
                        had to be relaxed.",
                }
            }

            /// A request about a cart, a checkout or an order.
            Sale: SaleRequest {
                /// A new cart.
                CreateCart {
                    name: "create_cart",
                    rest: Post "/carts",
                    payload: Some("cart"),
                    service: SHOPPING,
                    capability: CART,
                    class: Purchase,
                    resource: Cart,
                    effect: Creating,
                    carries: "id",
                    freshness: None,
                    request: cart::Create,
                    title: "Fill a cart",
                    description: "Start a cart with line items (`item.id` is a variant id from the catalog). Returns prices, estimated \
                        totals and messages about what cannot be bought. Nothing is reserved.",
                }
                /// A cart as it is.
                GetCart {
                    name: "get_cart",
                    rest: Get "/carts/{id}",
                    payload: None,
                    service: SHOPPING,
                    capability: CART,
                    class: Purchase,
                    resource: Cart,
                    effect: Safe,
                    carries: "id",
                    freshness: None,
                    request: ById,
                    title: "Look into a cart",
                    description: "Get a cart by its id.",
                }
                /// A cart with other contents.
                UpdateCart {
                    name: "update_cart",
                    rest: Put "/carts/{id}",
                    payload: Some("cart"),
                    service: SHOPPING,
                    capability: CART,
                    class: Purchase,
                    resource: Cart,
                    effect: Replacing,
                    carries: "id",
                    freshness: None,
                    request: cart::Update,
                    title: "Change a cart",
                    description: "Replace the contents of a cart. Send everything that is to be in it: what is left out is gone. Lines \
                        keep their `id` when you send it.",
                }
                /// A cart that is given up.
                CancelCart {
                    name: "cancel_cart",
                    rest: Post "/carts/{id}/cancel",
                    payload: None,
                    service: SHOPPING,
                    capability: CART,
                    class: Purchase,
                    resource: Cart,
                    effect: Canceling,
                    carries: "id",
                    freshness: None,
                    request: ById,
                    title: "Give a cart up",
                    description: "Delete a cart. Returns it as it was. Needs an idempotency key.",
                }
                /// A new checkout.
                CreateCheckout {
                    name: "create_checkout",
                    rest: Post "/checkout-sessions",
                    payload: Some("checkout"),
                    service: SHOPPING,
                    capability: CHECKOUT,
                    class: Purchase,
                    resource: Checkout,
                    effect: Creating,
                    carries: "id",
                    freshness: None,
                    request: checkout::Create,
                    title: "Begin a purchase",
                    description: "Start a checkout with line items or with a `cart_id`. `messages` lists everything that is still \
                        missing, with its path; `status` says whether the platform can go on (`incomplete`), the buyer has to \
                        (`requires_escalation`, at `continue_url`), or it can be completed (`ready_for_complete`).",
                }
                /// A checkout as it is.
                GetCheckout {
                    name: "get_checkout",
                    rest: Get "/checkout-sessions/{id}",
                    payload: None,
                    service: SHOPPING,
                    capability: CHECKOUT,
                    class: Purchase,
                    resource: Checkout,
                    effect: Safe,
                    carries: "id",
                    freshness: None,
                    request: ById,
                    title: "Look at a purchase",
                    description: "Get a checkout by its id.",
                }
                /// A checkout with other contents.
                UpdateCheckout {
                    name: "update_checkout",
                    rest: Put "/checkout-sessions/{id}",
                    payload: Some("checkout"),
                    service: SHOPPING,
                    capability: CHECKOUT,
                    class: Purchase,
                    resource: Checkout,
                    effect: Replacing,
                    carries: "id",
                    freshness: None,
                    request: checkout::Update,
                    title: "Change a purchase",
                    description: "Replace the contents of a checkout: line items, buyer, fulfillment (destinations and chosen \
                        options), discount codes. Send everything: what is left out is gone.",
                }
                /// A checkout that becomes an order.
                CompleteCheckout {
                    name: "complete_checkout",
                    rest: Post "/checkout-sessions/{id}/complete",
                    payload: Some("checkout"),
                    service: SHOPPING,
                    capability: CHECKOUT,
                    class: Purchase,
                    resource: Checkout,
                    effect: Concluding,
                    carries: "id",
                    freshness: None,
                    request: checkout::Complete,
                    title: "Buy",
                    description: "Pay for a checkout that is `ready_for_complete` and place the order. Needs an idempotency key: with \
                        the same key a retry never buys twice. `complete_in_progress` means that the payment is still under way: \
                        get the checkout again until it is `completed`.",
                }
                /// A checkout that is given up.
                CancelCheckout {
                    name: "cancel_checkout",
                    rest: Post "/checkout-sessions/{id}/cancel",
                    payload: None,
                    service: SHOPPING,
                    capability: CHECKOUT,
                    class: Purchase,
                    resource: Checkout,
                    effect: Canceling,
                    carries: "id",
                    freshness: None,
                    request: ById,
                    title: "Give a purchase up",
                    description: "Cancel a checkout that is not completed. Needs an idempotency key.",
                }
                /// An order as it is.
                GetOrder {
                    name: "get_order",
                    rest: Get "/orders/{id}",
                    payload: None,
                    service: SHOPPING,
                    capability: ORDER,
                    class: Order,
                    resource: Order,
                    effect: Safe,
                    carries: "id",
                    freshness: None,
                    request: ById,
                    title: "Look at an order",
                    description: "Get an order that this platform placed: what was bought, what it cost, what has been sent, what was \
                        given back.",
                }
            }

            /// A question about merchants and their locations.
            Directory: DirectoryRequest {
                /// Merchants by words, filters or both, a page at a time.
                SearchMerchants {
                    name: "search_merchants",
                    rest: Post "/merchants/search",
                    payload: Some("merchant"),
                    flat: true,
                    service: RESTAURANT,
                    capability: MERCHANT,
                    class: Browsing,
                    resource: Directory,
                    effect: Safe,
                    carries: "merchants",
                    freshness: None,
                    request: merchant::search::Request,
                    title: "Search merchants (draft)",
                    description: "Find merchants, such as restaurants, in a directory: by free text in `query` (empty for all) and by \
                        filters, which one and the same location has to meet: `open_now`, `fulfillment_method`, `location` (an \
                        `address`, with a `radius` around it or without); and `category`, whose subcategories count too. Part of a \
                        draft, not of a release of UCP.",
                }
                /// One merchant in full.
                GetMerchant {
                    name: "get_merchant",
                    rest: Get "/merchants/{id}",
                    payload: None,
                    flat: true,
                    service: RESTAURANT,
                    capability: MERCHANT,
                    class: Browsing,
                    resource: Directory,
                    effect: Safe,
                    carries: "merchant",
                    freshness: None,
                    request: merchant::detail::Request,
                    title: "Look at a merchant (draft)",
                    description: "Get a merchant by its id, with all its locations, their hours and how they hand goods over. An \
                        unknown id is answered with the message `NOT_FOUND` and no `merchant`. Part of a draft, not of a release of \
                        UCP.",
                }
                /// Places of business by words, filters or both, a page at a time.
                SearchLocations {
                    name: "search_locations",
                    rest: Post "/locations/search",
                    payload: Some("location"),
                    service: COMMON,
                    capability: LOCATION_SEARCH,
                    class: Browsing,
                    resource: Directory,
                    effect: Safe,
                    carries: "locations",
                    freshness: None,
                    request: merchant::location::SearchRequest,
                    title: "Search locations",
                    description: "Find places of business by free text, by `distance` (metres around a `center` with `latitude` and \
                        `longitude`), and by filters: `hours.open_at` (an RFC 3339 instant) and `amenities`. Everything has to hold. \
                        Filters that are not known are refused.",
                }
                /// What a list of identifiers names among the places of business.
                LookupLocations {
                    name: "lookup_locations",
                    rest: Post "/locations/lookup",
                    payload: Some("location"),
                    service: COMMON,
                    capability: LOCATION_LOOKUP,
                    class: Browsing,
                    resource: Directory,
                    effect: Safe,
                    carries: "locations",
                    freshness: None,
                    request: merchant::location::LookupRequest,
                    title: "Look locations up",
                    description: "Resolve up to 100 location ids to locations; `distance` and filters as in search_locations narrow \
                        what is returned. Each location says in `inputs` which identifiers led to it.",
                }
            }
        }
    };
}

pub(crate) use operation_table;

macro_rules! operations {
    ($(#[doc = $kind_doc:literal] $kind:ident: $kind_request:ident { $($(#[doc = $doc:literal])+ $variant:ident {
        name: $name:literal,
        rest: $method:ident $path:literal,
        payload: $payload:expr,
        $(flat: $flat:literal,)?
        service: $service:expr,
        capability: $capability:expr,
        class: $class:ident,
        resource: $resource:ident,
        effect: $effect:ident,
        carries: $carries:literal,
        freshness: $freshness:expr,
        request: $request:ty,
        title: $title:literal,
        description: $description:literal,
    })+ })+) => {
        /// An operation of the gateway.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($($(#[doc = $doc])+ $variant),+),+
        }

        impl Operation {
            /// Every operation, in the order of the specification.
            pub const ALL: &[Self] = &[$($(Self::$variant),+),+];

            /// The row of the table.
            #[must_use]
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
                        carries: $carries,
                        freshness: $freshness,
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
    /// The operation of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.row().name == name)
    }

    /// Whether the operation acts on a resource that its path names.
    #[must_use]
    pub fn takes_id(self) -> bool {
        self.row().path.contains("{id}")
    }
}

/// What a business can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offering {
    /// The operations it carries out.
    pub operations: Vec<Operation>,
    /// The extensions of them that it knows, by the domain's names.
    pub extensions: Vec<&'static str>,
    /// The only release with [`AP2_MANDATE`], where that is not every one. Under it the business signs its answers as they
    /// stand (rule AP2-02): what somebody else has signed can be handed on, and not be written in another release.
    pub sealed_in: Option<Release>,
}

impl Offering {
    /// Everything that the domain knows.
    #[must_use]
    pub fn everything() -> Self {
        Self::of(Operation::ALL)
    }

    /// These operations with all of their extensions.
    #[must_use]
    pub fn of(operations: &[Operation]) -> Self {
        Self { operations: operations.to_vec(), extensions: EXTENSIONS.to_vec(), sealed_in: None }
    }

    /// Whether an extension, by the domain's name, is known to callers of a release.
    #[must_use]
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
    fn rows_do_not_collide() {
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
