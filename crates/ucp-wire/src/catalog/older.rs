//! Parts of answers about products, in any release.
//!
//! A part of an older release is one of the newest, rewritten like an answer in which nothing else is.

use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{Operation, Release, catalog::product};

use crate::{
    releases::upgrades,
    splice::{members, object},
    upgrade::Upgrade,
};

/// Serializes members of a product, without braces.
pub(crate) fn product(release: Release, stated: &impl Serialize) -> Box<str> {
    if release == Release::NEWEST {
        return members(stated);
    }
    let mut product = object(stated);
    for upgrade in upgrades(release, Release::NEWEST).rev() {
        product = inside(upgrade, product);
    }
    members(&product)
}

/// Serializes the members of a variant that are the same in every answer, without braces.
pub(crate) fn variant(release: Release, of: &product::Variant, stated: &impl Serialize) -> Box<str> {
    rewritten(release, stated, |upgrade, variant| (upgrade.kept.variant)(of, variant))
}

/// Serializes the members of a variant that say by which inputs it was found, without braces.
pub(crate) fn found_by(release: Release, stated: &impl Serialize) -> Box<str> {
    rewritten(release, stated, |_, _| {})
}

fn rewritten(release: Release, stated: &impl Serialize, keep: impl Fn(&Upgrade, &mut Map<String, Value>)) -> Box<str> {
    if release == Release::NEWEST {
        return members(stated);
    }
    let mut variant = object(stated);
    for upgrade in upgrades(release, Release::NEWEST).rev() {
        let product = inside(upgrade, holding("variants", variant));
        variant = only(product.into_iter().next());
        keep(upgrade, &mut variant);
    }
    members(&variant)
}

/// Rewrites a product by one upgrade, as the only one of an answer.
fn inside(upgrade: &Upgrade, product: Map<String, Value>) -> Map<String, Value> {
    let mut answer = holding("products", product);
    (upgrade.answer.down)(Operation::SearchCatalog, &mut answer);
    only(answer.into_iter().next())
}

/// Returns an object whose only member is an array of this object alone.
fn holding(name: &str, element: Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), Value::Array(vec![Value::Object(element)]))])
}

/// Returns the only object of an array.
fn only(member: Option<(String, Value)>) -> Map<String, Value> {
    match member {
        Some((_, Value::Array(elements))) => match elements.into_iter().next() {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}
