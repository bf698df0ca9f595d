//! Release 2026-04-08.
//!
//! Requests also take the spellings of the project's founding documents (`context.country`, `context.region`,
//! `filters.category`), which are older than this release; answers never use them.

mod request;
mod response;
mod shape;

use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use ucp_core::{Operation, Outcome, Refusal, Release, Request};

use crate::{dialect::Dialect, schema::Shapes};

/// Release 2026-04-08.
#[derive(Clone, Copy, Debug)]
pub struct V2026_04_08;

static SEARCH: LazyLock<Shapes> =
    LazyLock::new(Shapes::of::<request::SearchRequest, shape::SearchResponse<'_>, shape::ErrorResponse<'_>>);
static LOOKUP: LazyLock<Shapes> =
    LazyLock::new(Shapes::of::<request::LookupRequest, shape::LookupResponse<'_>, shape::ErrorResponse<'_>>);
static PRODUCT: LazyLock<Shapes> =
    LazyLock::new(Shapes::of::<request::ProductRequest, shape::ProductResponse<'_>, shape::ErrorResponse<'_>>);

impl Dialect for V2026_04_08 {
    fn release(&self) -> Release {
        Release::V2026_04_08
    }

    fn shapes(&self, operation: Operation) -> Option<&'static Shapes> {
        Some(match operation {
            Operation::SearchCatalog => &SEARCH,
            Operation::LookupCatalog => &LOOKUP,
            Operation::GetProduct => &PRODUCT,
        })
    }

    fn normalize(&self, operation: Operation, payload: &mut Value) {
        match operation {
            Operation::SearchCatalog | Operation::LookupCatalog | Operation::GetProduct => {
                if let Some(context) = payload.get_mut("context").and_then(Value::as_object_mut) {
                    rename(context, "country", "address_country");
                    rename(context, "region", "address_region");
                }
                if let Some(filters) = payload.get_mut("filters").and_then(Value::as_object_mut) {
                    rename(filters, "category", "categories");
                    if let Some(single @ Value::String(_)) = filters.get_mut("categories") {
                        *single = Value::Array(vec![single.take()]);
                    }
                }
            }
        }
    }

    fn decode(&self, operation: Operation, payload: Value, languages: &[String]) -> Result<Request, Refusal> {
        Ok(match operation {
            Operation::SearchCatalog => {
                Request::SearchCatalog(parsed::<request::SearchRequest>(payload)?.into_domain(languages))
            }
            Operation::LookupCatalog => {
                Request::LookupCatalog(parsed::<request::LookupRequest>(payload)?.into_domain(languages))
            }
            Operation::GetProduct => {
                Request::GetProduct(parsed::<request::ProductRequest>(payload)?.into_domain(languages))
            }
        })
    }

    fn encode(&self, operation: Operation, outcome: &Outcome) -> String {
        response::encode(operation, outcome)
    }
}

/// Gives a member its name in this release, unless that is there already.
fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if !object.contains_key(new)
        && let Some(value) = object.shift_remove(old)
    {
        object.insert(new.to_owned(), value);
    }
}

/// A payload as its wire type. What the schema accepts parses, so that a failure here is one the schema cannot see.
fn parsed<T: DeserializeOwned>(payload: Value) -> Result<T, Refusal> {
    serde_json::from_value(payload)
        .map_err(|error| Refusal::invalid("$", format!("The request cannot be read: {error}.")))
}
