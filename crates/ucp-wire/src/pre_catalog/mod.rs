//! The releases before the catalog, 2026-01-11 and 2026-01-23: their checkouts, and the catalog of this project's
//! founding documents.
//!
//! Neither release has a catalog. The founding documents describe one for their callers, and those callers are served:
//! the operations can be called, but nothing advertises them. Answers have no `ucp.status`, products repeat
//! `categories` as `category` and variants `inputs` as `input`, and an outcome without a resource is an error of the
//! transport.
//!
//! A search needs a query or filters, as in later releases; the founding document required a query.

mod failure;
mod webhook_event;

use std::{collections::HashMap, sync::LazyLock};

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};
use ucp_core::{
    Operation, Refusal, Release,
    message::Message,
    negotiation::Active,
    operation::{
        AP2_MANDATE, BUYER_CONSENT, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, Class, DISCOUNT, FULFILLMENT, MERCHANT,
        ORDER, Resource,
    },
};

use crate::{
    catalog::request::rename,
    dialect::{Dialect, Occasion, Seal},
    encoded::{Encoded, Refused},
    envelope::{Capabilities, Dated},
    offer::{MANDATE_FORMATS, Offer},
    request,
    schema::Shapes,
    site::Site,
    splice::object,
    upgrade::{Rewrite, Upgrade},
};

/// A release before the catalog.
#[derive(Debug)]
pub struct PreCatalog {
    pub(crate) release: Release,
    pub(crate) offers: &'static [Offer],
    pub(crate) shapes: &'static LazyLock<HashMap<Operation, Shapes>>,
    /// `true` if operations can be called as JSON-RPC methods.
    pub(crate) methods: bool,
    /// Returns the `ucp` member of an answer about a checkout or order.
    pub(crate) metadata: fn(Operation, &Active) -> Map<String, Value>,
    /// Rewrites an answer about a checkout or order for callers that use the operation as a JSON-RPC method.
    pub(crate) direct: fn(String) -> String,
    pub(crate) profile: fn(&dyn Dialect, &Site<'_>) -> Value,
    pub(crate) upgrade: &'static Upgrade,
    /// Rewrites a normalized payload into the spelling of the release.
    pub(crate) respell: Rewrite,
    /// Adds members that the release requires of a payload.
    pub(crate) supply: Rewrite,
}

/// Schema files of both releases; definitions in earlier files overrule those in later ones.
pub(crate) const SCHEMAS: [&str; 2] = [include_str!("schemas.json"), include_str!("../v2026_04_08/schemas.json")];

/// Version of the lookup capability in the founding documents, for either release.
const LOOKUP: &str = "2026-02-01";

/// Returns the capabilities of these releases, and those that callers of the founding catalog may declare.
pub(crate) const fn offers(release: Release) -> [Offer; 10] {
    let date = release.date();
    let search = ("catalog/search", "shopping/catalog_search");
    let lookup = ("catalog/lookup", "shopping/catalog_lookup");
    [
        Offer::root(CHECKOUT, date, "checkout", "shopping/checkout"),
        // No operation: platforms declare it to receive webhooks about their orders.
        Offer::root(ORDER, date, "order", "shopping/order").telling(),
        Offer::root(FULFILLMENT, date, "fulfillment", "shopping/fulfillment").extending(&[CHECKOUT]),
        Offer::root(DISCOUNT, date, "discount", "shopping/discount").extending(&[CHECKOUT]),
        Offer::root(BUYER_CONSENT, date, "buyer-consent", "shopping/buyer_consent").extending(&[CHECKOUT]),
        Offer::root(AP2_MANDATE, date, "ap2-mandates", "shopping/ap2_mandate")
            .extending(&[CHECKOUT])
            .signing(MANDATE_FORMATS),
        Offer::root(CATALOG_SEARCH, date, search.0, search.1).unpublished(),
        Offer::root(CATALOG_LOOKUP, date, lookup.0, lookup.1).unpublished(),
        Offer::root(CATALOG_LOOKUP, LOOKUP, lookup.0, lookup.1).unpublished(),
        Offer::root(MERCHANT, date, "merchant", "menu/merchant"),
    ]
}

/// Returns the `ucp` member of an answer, with capabilities by name.
pub(crate) fn metadata(release: Release, operation: Operation, active: &Active) -> Map<String, Value> {
    object(&Metadata { version: Dated(release.date()), capabilities: Capabilities::relevant(operation, active) })
}

/// Protocol metadata of an answer.
#[derive(Debug, Serialize)]
struct Metadata<'a> {
    version: Dated<'a>,
    capabilities: Capabilities<'a>,
}

/// The members of a card, which are next to its type in 2026-01-11 and in `display` since 2026-01-23, with their older
/// and newer names.
pub(crate) const CARD: [(&str, &str); 6] = [
    ("brand", "brand"),
    ("last_digits", "last_digits"),
    ("expiry_month", "expiry_month"),
    ("expiry_year", "expiry_year"),
    ("rich_text_description", "description"),
    ("rich_card_art", "card_art"),
];

/// Rewrites the older spellings of a payment in these releases and the founding document: `payment_data` for the one
/// instrument that pays, `selected_instrument_id`, and card members next to the type.
pub(crate) fn modernize_payment(operation: Operation, members: &mut Map<String, Value>) {
    if operation == Operation::CompleteCheckout {
        if !members.contains_key("payment")
            && let Some(instrument) = members.shift_remove("payment_data")
        {
            members.insert("payment".to_owned(), json!({ "instruments": [instrument] }));
        }
        if let Some(payment) = members.get_mut("payment")
            && payment.get("handler_id").is_some()
        {
            *payment = json!({ "instruments": [payment.take()] });
        }
    }
    let Some(payment) = members.get_mut("payment").and_then(Value::as_object_mut) else { return };
    let selected = payment.shift_remove("selected_instrument_id");
    let instruments = payment.get_mut("instruments").and_then(Value::as_array_mut);
    for instrument in instruments.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(Value::String(selected)) = &selected {
            let this = instrument.get("id").and_then(Value::as_str) == Some(selected);
            instrument.insert("selected".to_owned(), this.into());
        }
        if instrument.get("type").and_then(Value::as_str) == Some("card") {
            show(instrument);
        }
    }
}

/// Moves the members of a card into `display`.
fn show(card: &mut Map<String, Value>) {
    let shown: Vec<_> = CARD.iter().filter_map(|(old, new)| Some((*new, card.shift_remove(*old)?))).collect();
    if shown.is_empty() {
        return;
    }
    let display = card.entry("display").or_insert_with(|| Value::Object(Map::new()));
    if let Some(display) = display.as_object_mut() {
        for (name, value) in shown {
            display.entry(name).or_insert(value);
        }
    }
}

impl Dialect for PreCatalog {
    fn release(&self) -> Release {
        self.release
    }

    fn offers(&self) -> &'static [Offer] {
        self.offers
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        self.shapes.get(&operation)
    }

    fn failure(&self, generator: &mut SchemaGenerator) -> Schema {
        failure::schema(generator)
    }

    fn rpc_failure(&self, generator: &mut SchemaGenerator) -> Schema {
        failure::rpc_schema(generator)
    }

    fn normalize(&self, operation: Operation, payload: &mut Value) {
        request::normalize(operation, payload);
        let Some(members) = payload.as_object_mut() else { return };
        match operation.row().class {
            Class::Browsing if operation == Operation::GetProduct => rename(members, "selected_options", "selected"),
            Class::Browsing => {}
            Class::Purchase | Class::Order => modernize_payment(operation, members),
        }
    }

    fn respell(&self, operation: Operation, payload: &mut Map<String, Value>) {
        (self.respell)(operation, payload);
    }

    fn supply(&self, operation: Operation, payload: &mut Map<String, Value>) {
        // Optional in the schemas of both releases; their sample servers require an object.
        if operation == Operation::CompleteCheckout {
            let signals = payload.entry("risk_signals").or_insert_with(|| json!({}));
            if !signals.is_object() {
                *signals = json!({});
            }
        }
        (self.supply)(operation, payload);
    }

    fn states_currency(&self, operation: Operation) -> bool {
        // Required by the schema of 2026-01-11, and by the sample server of 2026-01-23.
        operation.drafts_checkout()
    }

    fn no_resource(
        &self,
        operation: Operation,
        active: &Active,
        messages: &[Message],
        continue_url: Option<&str>,
        id: Option<&str>,
        conflict: bool,
    ) -> Encoded {
        let ucp = metadata(self.release, operation, active);
        failure::no_resource(operation, ucp, messages, continue_url, id, conflict)
    }

    fn metadata(&self, operation: Operation, active: &Active) -> Map<String, Value> {
        match operation.row().resource {
            Resource::Catalog => metadata(self.release, operation, active),
            _ => (self.metadata)(operation, active),
        }
    }

    fn upgrade(&self) -> Option<&'static Upgrade> {
        Some(self.upgrade)
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

    fn signs_totals(&self) -> bool {
        false
    }

    fn identifies_methods(&self) -> bool {
        true
    }

    fn webhook_event(&self, document: String, occasion: &Occasion<'_>) -> String {
        webhook_event::webhook_event(&document, occasion)
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
