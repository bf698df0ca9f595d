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
    if release == Release::NEWEST {
        return members(stated);
    }
    let mut variants = vec![Value::Object(object(stated))];
    for upgrade in upgrades(release, Release::NEWEST).rev() {
        variants = inside_variants(upgrade, variants);
        if let Some(Value::Object(variant)) = variants.first_mut() {
            (upgrade.kept.variant)(of, variant);
        }
    }
    variants.first().map(members).unwrap_or_default()
}

/// Serializes the members of variants that say by which inputs they were found, without braces, in an older release.
pub(crate) fn found_by<S: Serialize>(release: Release, stated: impl Iterator<Item = S>) -> Vec<Box<str>> {
    let mut variants: Vec<_> = stated.map(|variant| Value::Object(object(&variant))).collect();
    if !variants.is_empty() {
        for upgrade in upgrades(release, Release::NEWEST).rev() {
            variants = inside_variants(upgrade, variants);
        }
    }
    variants.iter().map(members).collect()
}

/// Rewrites a product by one upgrade, as the only one of an answer.
fn inside(upgrade: &Upgrade, product: Map<String, Value>) -> Map<String, Value> {
    let mut answer = Map::from_iter([("products".to_owned(), Value::Array(vec![Value::Object(product)]))]);
    (upgrade.answer.down)(Operation::SearchCatalog, &mut answer);
    match only(answer).into_iter().next() {
        Some(Value::Object(product)) => product,
        _ => Map::new(),
    }
}

/// Rewrites variants by one upgrade, as those of the only product of an answer.
fn inside_variants(upgrade: &Upgrade, variants: Vec<Value>) -> Vec<Value> {
    only(inside(upgrade, Map::from_iter([("variants".to_owned(), Value::Array(variants))])))
}

/// Returns the elements of the only member of an object.
fn only(members: Map<String, Value>) -> Vec<Value> {
    match members.into_iter().next() {
        Some((_, Value::Array(elements))) => elements,
        _ => Vec::new(),
    }
}
