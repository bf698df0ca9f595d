//! Release 2026-04-08: the first one with a catalog.
//!
//! Changes in the next release: consent is given per purpose with its source, destinations have a type, descriptions of
//! delivery options can have several formats, and measures are integers.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::{Map, Value, json};
use ucp_core::{
    Answer, Operation, Release, Request,
    catalog::product,
    operation::{
        AP2_MANDATE, BUYER_CONSENT, CART, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, DISCOUNT, FULFILLMENT, MERCHANT,
        ORDER,
    },
    purchase::{buyer::Consent, draft::Draft},
};

use crate::{
    catalog::unit_price::{UnitPrice, older},
    dialect::Dialect,
    offer::{MANDATE_FORMATS, Offer},
    profile,
    purchase::consent::{Answers, AnswersRequest, Decisions, DecisionsRequest, is_earlier_reverse_domain},
    schema::{self, Shapes},
    site::Site,
    upgrade::{Kept, Upgrade, Way, each_destination, each_object, each_option, each_variant, insert_before, object},
};

/// Release 2026-04-08.
#[derive(Clone, Copy, Debug)]
pub struct V2026_04_08;

const VERSION: &str = Release::V2026_04_08.date();

const OFFERS: &[Offer] = &[
    Offer::root(CATALOG_SEARCH, VERSION, "catalog/search", "shopping/catalog_search"),
    Offer::root(CATALOG_LOOKUP, VERSION, "catalog/lookup", "shopping/catalog_lookup"),
    Offer::root(CART, VERSION, "cart", "shopping/cart"),
    Offer::root(CHECKOUT, VERSION, "checkout", "shopping/checkout"),
    Offer::root(ORDER, VERSION, "order", "shopping/order"),
    Offer::root(FULFILLMENT, VERSION, "fulfillment", "shopping/fulfillment").extending(&[CHECKOUT]),
    Offer::root(DISCOUNT, VERSION, "discount", "shopping/discount").extending(&[CART, CHECKOUT]),
    Offer::root(BUYER_CONSENT, VERSION, "buyer-consent", "shopping/buyer_consent").extending(&[CHECKOUT]),
    Offer::root(AP2_MANDATE, VERSION, "ap2-mandates", "shopping/ap2_mandate")
        .extending(&[CHECKOUT])
        .signing(MANDATE_FORMATS),
    Offer::root(MERCHANT, VERSION, "merchant", "menu/merchant"),
];

static SHAPES: LazyLock<HashMap<Operation, Shapes>> =
    LazyLock::new(|| schema::stated(&[include_str!("v2026_04_08/schemas.json")]));

impl Dialect for V2026_04_08 {
    fn release(&self) -> Release {
        Release::V2026_04_08
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        SHAPES.get(&operation)
    }

    fn upgrade(&self) -> Option<&'static Upgrade> {
        Some(&UPGRADE)
    }

    fn profile(&self, site: &Site<'_>) -> Value {
        profile::profile(self, site, &["signing_keys"])
    }
}

static UPGRADE: Upgrade = Upgrade {
    request: Way { up: request_up, down: request_down },
    answer: Way { up: answer_up, down: answer_down },
    kept: Kept { request: keep_stated, answer: keep_answered, variant: keep_unit_price },
};

/// Types of destinations, by the type of the method.
const ADDRESS: &str = "shipping_address";
const PLACE: &str = "business_location";

fn request_up(_: Operation, payload: &mut Map<String, Value>) {
    // Members that mean nothing in this release.
    each_object(payload, "line_items", |line| {
        if let Some(item) = object(line, "item") {
            item.shift_remove("quantity_unit");
        }
    });
    let context = object(payload, "context");
    if let Some(claims) = context.and_then(|context| context.get_mut("eligibility")).and_then(Value::as_array_mut) {
        claims.retain(|claim| claim.as_str().is_none_or(is_earlier_reverse_domain));
    }
    consent_up(payload);
    type_destinations(payload);
}

fn request_down(_: Operation, payload: &mut Map<String, Value>) {
    consent_down(payload);
    untype_destinations(payload);
}

fn answer_up(_: Operation, answer: &mut Map<String, Value>) {
    consent_up(answer);
    type_destinations(answer);
    each_option(answer, |option| {
        if let Some(description) = option.get_mut("description").filter(|description| description.is_string()) {
            *description = json!({ "plain": description.take() });
        }
    });
    each_variant(answer, |variant| {
        rewrite(variant, "unit_price", |stated| {
            let stated: product::UnitPrice = serde_json::from_value(stated).ok()?;
            serde_json::to_value(UnitPrice::exact(&stated)?).ok()
        });
    });
}

fn answer_down(_: Operation, answer: &mut Map<String, Value>) {
    consent_down(answer);
    untype_destinations(answer);
    each_option(answer, |option| {
        rewrite(option, "description", |description| match description {
            Value::Object(mut forms) => ["plain", "markdown"].iter().find_map(|form| forms.shift_remove(*form)),
            text => Some(text),
        });
    });
    each_variant(answer, |variant| rewrite(variant, "unit_price", |stated| older(&stated)));
}

/// Restores consent as sent, including purposes that the next release has no names for. An update is applied as far as
/// it can be.
fn keep_stated(payload: &Value, request: &mut Request) {
    let Some(Draft { buyer, all_or_nothing, .. }) = request.draft() else { return };
    *all_or_nothing = false;
    let Some(buyer) = buyer else { return };
    if let Some(stated) = payload["buyer"].get("consent") {
        buyer.consent = serde_json::from_value::<AnswersRequest>(stated.clone()).ok().map(Into::into);
    }
}

/// Restores consent as stored.
fn keep_answered(answer: &Answer, body: &mut Map<String, Value>) {
    let buyer = match answer {
        Answer::Cart(view) => view.cart.draft.buyer.as_ref(),
        Answer::Checkout(view) => view.checkout.draft.buyer.as_ref(),
        _ => None,
    };
    if let Some(kept) = buyer.and_then(|buyer| buyer.consent.as_ref())
        && let Some(consent) = object(body, "buyer").and_then(|buyer| buyer.get_mut("consent"))
    {
        *consent = json!(Answers::from(kept));
    }
}

/// Restores a unit price as stated by the merchant, which is not always in whole steps of one unit.
fn keep_unit_price(variant: &product::Variant, members: &mut Map<String, Value>) {
    if let Some(price) = &variant.unit_price {
        insert_before(members, "unit_price", json!(price), &["availability"]);
    }
}

/// Replaces the value of a member, or removes the member if it cannot be converted.
fn rewrite(members: &mut Map<String, Value>, name: &str, otherwise: impl FnOnce(Value) -> Option<Value>) {
    let Some(value) = members.get_mut(name) else { return };
    match otherwise(value.take()) {
        Some(rewritten) => *value = rewritten,
        None => {
            members.shift_remove(name);
        }
    }
}

fn consent_up(document: &mut Map<String, Value>) {
    let Some(buyer) = object(document, "buyer") else { return };
    rewrite(buyer, "consent", |stated| {
        let consent: Consent = serde_json::from_value::<AnswersRequest>(stated).ok()?.into();
        serde_json::to_value(Decisions::from(&consent)).ok()
    });
}

fn consent_down(document: &mut Map<String, Value>) {
    let Some(buyer) = object(document, "buyer") else { return };
    rewrite(buyer, "consent", |stated| {
        let consent: Consent = serde_json::from_value::<DecisionsRequest>(stated).ok()?.into();
        serde_json::to_value(Answers::from(&consent)).ok()
    });
}

fn type_destinations(document: &mut Map<String, Value>) {
    each_destination(document, |method, destination| {
        let kind = if method == Some("pickup") { PLACE } else { ADDRESS };
        destination.entry("type").or_insert_with(|| kind.into());
    });
}

fn untype_destinations(document: &mut Map<String, Value>) {
    each_destination(document, |_, destination| {
        if destination.get("type").is_some_and(|kind| kind == ADDRESS || kind == PLACE) {
            destination.shift_remove("type");
        }
    });
}
