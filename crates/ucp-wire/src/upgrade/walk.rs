//! Visitors of the parts of documents that differ between releases.

use serde_json::{Map, Value};

/// Returns a member if it is an object.
pub(crate) fn object<'a>(members: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    members.get_mut(name)?.as_object_mut()
}

/// Visits the objects in an array.
pub(crate) fn each_object(
    members: &mut Map<String, Value>,
    name: &str,
    mut visit: impl FnMut(&mut Map<String, Value>),
) {
    let elements = members.get_mut(name).and_then(Value::as_array_mut);
    elements.into_iter().flatten().filter_map(Value::as_object_mut).for_each(&mut visit);
}

/// Visits the products of an answer.
pub(crate) fn each_product(answer: &mut Map<String, Value>, mut visit: impl FnMut(&mut Map<String, Value>)) {
    each_object(answer, "products", &mut visit);
    if let Some(product) = object(answer, "product") {
        visit(product);
    }
}

/// Visits the variants of the products of an answer.
pub(crate) fn each_variant(answer: &mut Map<String, Value>, mut visit: impl FnMut(&mut Map<String, Value>)) {
    each_product(answer, |product| each_object(product, "variants", &mut visit));
}

/// Visits the destinations of fulfillment methods, with the type of the method.
pub(crate) fn each_destination(
    document: &mut Map<String, Value>,
    mut visit: impl FnMut(Option<&str>, &mut Map<String, Value>),
) {
    let Some(fulfillment) = object(document, "fulfillment") else { return };
    each_object(fulfillment, "methods", |method| {
        let kind = method.get("type").and_then(Value::as_str).map(str::to_owned);
        each_object(method, "destinations", |destination| visit(kind.as_deref(), destination));
    });
}

/// Visits the delivery options of fulfillment groups.
pub(crate) fn each_option(document: &mut Map<String, Value>, mut visit: impl FnMut(&mut Map<String, Value>)) {
    let Some(fulfillment) = object(document, "fulfillment") else { return };
    each_object(fulfillment, "methods", |method| {
        each_object(method, "groups", |group| each_object(group, "options", &mut visit));
    });
}

/// Inserts a member before the first of `others` that exists, or at the end. An existing member of that name is
/// replaced.
pub(crate) fn insert_before(members: &mut Map<String, Value>, name: &str, value: Value, others: &[&str]) {
    members.shift_remove(name);
    let place = members.keys().position(|member| others.contains(&member.as_str())).unwrap_or(members.len());
    members.shift_insert(place, name.to_owned(), value);
}
