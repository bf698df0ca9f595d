//! Cost of a query by Shopify's published rule: a scalar zero, an object one point, a mutation ten, a connection as
//! many times its content as it may hold, and of an object with several types, the most expensive one.
//!
//! Shopify's own count may differ; this one errs upwards: whatever is an object counts, connections and edges too.

use std::collections::BTreeMap;

use apollo_compiler::{
    ExecutableDocument, Name, Schema,
    ast::{OperationType, Value},
    executable::{Field, Operation, Selection, SelectionSet},
    schema::ExtendedType,
    validation::Valid,
};

/// Number of requested objects, by the name of the variable that states it; of a list, its length.
pub(crate) type Sizes = BTreeMap<String, usize>;

/// Returns the cost of the only operation of a document, in points.
///
/// # Errors
/// If a connection does not say how much it is asked for.
pub(crate) fn cost(
    schema: &Valid<Schema>,
    document: &Valid<ExecutableDocument>,
    sizes: &Sizes,
) -> Result<usize, String> {
    let operation = document.operations.iter().next().expect("an operation");
    let count = Count { schema, document, operation, sizes };
    let roots = if operation.operation_type == OperationType::Mutation {
        10 * operation.selection_set.selections.len()
    } else {
        0
    };
    Ok(roots + count.selected(&operation.selection_set, operation.object_type())?)
}

struct Count<'a> {
    schema: &'a Valid<Schema>,
    document: &'a ExecutableDocument,
    operation: &'a Operation,
    sizes: &'a Sizes,
}

impl Count<'_> {
    /// Returns the cost of a selection on a type, in points.
    fn selected(&self, set: &SelectionSet, of: &str) -> Result<usize, String> {
        let mut points = 0;
        for selection in &set.selections {
            points += match selection {
                Selection::Field(field) => self.field(field)?,
                Selection::InlineFragment(fragment) => match &fragment.type_condition {
                    Some(condition) if !self.is(of, condition) => 0,
                    _ => self.selected(&fragment.selection_set, of)?,
                },
                Selection::FragmentSpread(spread) => {
                    let fragment = &self.document.fragments[&spread.fragment_name];
                    if self.is(of, fragment.type_condition()) { self.selected(&fragment.selection_set, of)? } else { 0 }
                }
            };
        }
        Ok(points)
    }

    fn field(&self, field: &Field) -> Result<usize, String> {
        let named = field.ty().inner_named_type();
        let possible: Vec<&str> = match self.schema.types.get(named) {
            Some(ExtendedType::Object(_)) => vec![named],
            Some(ExtendedType::Union(union)) => union.members.iter().map(|member| member.as_str()).collect(),
            Some(ExtendedType::Interface(_)) => self
                .schema
                .types
                .keys()
                .map(Name::as_str)
                .filter(|name| self.is_object(name) && self.is(name, named))
                .collect(),
            _ => return Ok(0),
        };
        let mut most = 0;
        for of in possible {
            most = most.max(1 + self.held(field, of)?);
        }
        let times = match field.argument_by_name("ids").ok() {
            Some(ids) => self.size(ids).ok_or(format!("`{}` does not say how many", field.name))?,
            None => 1,
        };
        Ok(times * most)
    }

    /// Cost of the content of an object: in a connection, as many times as it may hold.
    fn held(&self, field: &Field, of: &str) -> Result<usize, String> {
        if !of.ends_with("Connection") {
            return self.selected(&field.selection_set, of);
        }
        let asked = ["first", "last"].iter().find_map(|name| field.argument_by_name(name).ok());
        let times =
            asked.and_then(|first| self.size(first)).ok_or(format!("`{}` does not say how many", field.name))?;
        let mut points = 0;
        for selection in &field.selection_set.selections {
            let Selection::Field(inner) = selection else {
                points += times * self.selected(&field.selection_set, of)?;
                continue;
            };
            let listed = matches!(inner.name.as_str(), "nodes" | "edges");
            points += if listed { times } else { 1 } * self.field(inner)?;
        }
        Ok(points)
    }

    /// The number that an argument stands for, or the length of the list.
    fn size(&self, value: &Value) -> Option<usize> {
        match value {
            Value::Int(number) => number.as_str().parse().ok(),
            Value::List(members) => Some(members.len()),
            Value::Variable(name) => self.sizes.get(name.as_str()).copied().or_else(|| {
                let variable = self.operation.variables.iter().find(|variable| variable.name == *name)?;
                self.size(variable.default_value.as_deref()?)
            }),
            _ => None,
        }
    }

    fn is_object(&self, name: &str) -> bool {
        matches!(self.schema.types.get(name), Some(ExtendedType::Object(_)))
    }

    /// Returns `true` if an object of a type is one of another: the same, or one that it implements or is a member of.
    fn is(&self, of: &str, other: &str) -> bool {
        of == other
            || match self.schema.types.get(other) {
                Some(ExtendedType::Interface(_)) => match self.schema.types.get(of) {
                    Some(ExtendedType::Object(object)) => {
                        object.implements_interfaces.iter().any(|name| name.as_str() == other)
                    }
                    _ => false,
                },
                Some(ExtendedType::Union(union)) => union.members.iter().any(|member| member.as_str() == of),
                _ => false,
            }
    }
}
