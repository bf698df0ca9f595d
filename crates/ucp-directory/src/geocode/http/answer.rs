//! Reading the answer of a service.

use serde_json::{Map, Value};
use ucp_core::{
    json,
    merchant::{geo::Point, record::Precision},
};

use crate::engine::port::Resolved;

/// Limits on the depth of a response and on its number of values.
const LIMITS: json::Limits = json::Limits { depth: 16, values: 5_000 };

/// The first place of an answer. `None` where there is none, or one that is too large to measure from. Fails with the reason why
/// this is no answer.
pub(crate) fn read(body: &[u8]) -> Result<Option<Resolved>, &'static str> {
    let answer = json::parse(body, LIMITS).map_err(|_| "no JSON")?;
    let places = answer.as_array().ok_or("no array")?;
    let Some(place) = places.first() else { return Ok(None) };
    let place = place.as_object().ok_or("a place that is not an object")?;
    let degrees = |name| degrees(place, name).ok_or("a place without coordinates");
    let point = Point::new(degrees("lat")?, degrees("lon")?).ok_or("coordinates that are not on the Earth")?;
    let rank = place.get("place_rank").and_then(Value::as_u64).ok_or("a place without a rank")?;
    Ok(precision(place, rank).map(|precision| Resolved { point, precision }))
}

/// Degrees, which services write as text or as a number.
fn degrees(place: &Map<String, Value>, name: &str) -> Option<f64> {
    match place.get(name)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_f64(),
        _ => None,
    }
}

/// Returns the precision with which a place of this rank names an address; `None` if it is coarser than a town. The
/// service ranks places from countries (4) over towns (from 13 on) and streets (from 26 on) to houses (30).
fn precision(place: &Map<String, Value>, rank: u64) -> Option<Precision> {
    let postal =
        ["addresstype", "type"].iter().any(|name| place.get(*name).and_then(Value::as_str) == Some("postcode"));
    match rank {
        26.. => Some(Precision::Street),
        _ if postal => Some(Precision::PostalCode),
        13.. => Some(Precision::Locality),
        _ => None,
    }
}
