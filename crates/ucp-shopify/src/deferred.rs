//! Answers in parts: those to operations that defer some of their fields (`@defer`), of media type `multipart/mixed`
//! (RFC 2046, section 5.1).
//!
//! The first part is an answer without the deferred fields; each further one states fields, and the path of the object
//! that they belong to. The last one says that no more follow.

use std::borrow::Cow;

use http::header;
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use ucp_net::{Received, Unreadable};

/// Media types of answers to operations that defer fields.
pub(super) const ACCEPTED: &str = "multipart/mixed; deferSpec=20220824, application/json";

/// A part of an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(flatten)]
    own: Patch,
    #[serde(default)]
    incremental: Vec<Patch>,
    #[serde(default)]
    has_next: bool,
}

/// Fields of one object of the answer.
#[derive(Deserialize)]
struct Patch {
    #[serde(default)]
    path: Vec<Value>,
    data: Option<Value>,
    errors: Option<Value>,
}

/// Returns the body of an answer as one document: the body itself, or the parts that it consists of put together. Fails
/// with [`Unreadable::NotJson`] if a part is not JSON, [`Unreadable::Unexpected`] if a part is missing or belongs
/// nowhere.
pub(super) fn assembled(received: &Received) -> Result<Cow<'_, [u8]>, Unreadable> {
    let Some(boundary) = received.header(&header::CONTENT_TYPE).and_then(boundary) else {
        return Ok(Cow::Borrowed(&received.body));
    };
    let (mut data, mut errors, mut more) = (Value::Null, Vec::new(), true);
    for body in parts(&received.body, boundary) {
        let part: Part = serde_json::from_slice(body)
            .map_err(|error| if error.is_data() { Unreadable::Unexpected } else { Unreadable::NotJson })?;
        more = part.has_next;
        for patch in std::iter::once(part.own).chain(part.incremental) {
            errors.extend(patch.errors.into_iter().flat_map(listed));
            match patch.data {
                Some(fields) if patch.path.is_empty() => data = fields,
                Some(Value::Object(fields)) => object_at(&mut data, &patch.path)?.extend(fields),
                _ => {}
            }
        }
    }
    if more {
        return Err(Unreadable::Unexpected);
    }
    let mut answer = json!({ "data": data });
    if !errors.is_empty() {
        answer["errors"] = Value::Array(errors);
    }
    serde_json::to_vec(&answer).map(Cow::Owned).map_err(|_| Unreadable::Unexpected)
}

/// Returns the boundary between the parts; `None` if the media type is another one.
fn boundary(media_type: &str) -> Option<&str> {
    let mut members = media_type.split(';').map(str::trim);
    if !members.next()?.eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let stated = members.filter_map(|member| member.split_once('='));
    let stated = stated.filter(|(name, _)| name.trim().eq_ignore_ascii_case("boundary")).map(|(_, value)| value);
    // The transport of deferred answers has this one where none is stated.
    Some(stated.map(|value| value.trim().trim_matches('"')).next().unwrap_or("-"))
}

/// Returns the bodies of the parts.
fn parts<'a>(body: &'a [u8], boundary: &str) -> impl Iterator<Item = &'a [u8]> {
    let delimiter = format!("\r\n--{boundary}");
    let ends: Vec<_> = memmem::find_iter(body, &delimiter).collect();
    // The first delimiter may be at the very beginning.
    let first = body.starts_with(&delimiter.as_bytes()[2..]).then_some(delimiter.len() - 2);
    let starts = first.into_iter().chain(ends.iter().map(|end| end + delimiter.len())).collect::<Vec<_>>();
    let bodies = starts.into_iter().filter_map(move |start| {
        let end = ends.iter().copied().find(|end| *end >= start)?;
        let part = body.get(start..end)?;
        Some(&part[memmem::find(part, b"\r\n\r\n")? + 4..])
    });
    bodies.collect::<Vec<_>>().into_iter()
}

fn listed(errors: Value) -> Vec<Value> {
    match errors {
        Value::Array(errors) => errors,
        Value::Null => Vec::new(),
        error => vec![error],
    }
}

/// Returns the object at a path.
fn object_at<'a>(data: &'a mut Value, path: &[Value]) -> Result<&'a mut Map<String, Value>, Unreadable> {
    let mut at = Some(data);
    for step in path {
        at = match step {
            Value::String(name) => at.and_then(|value| value.get_mut(name)),
            Value::Number(place) => place
                .as_u64()
                .and_then(|place| usize::try_from(place).ok())
                .and_then(|place| at.and_then(|value| value.get_mut(place))),
            _ => None,
        };
    }
    at.and_then(Value::as_object_mut).ok_or(Unreadable::Unexpected)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;

    fn assembled_from(media_type: &'static str, body: &str) -> Result<Value, Unreadable> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        let received = Received { status: StatusCode::OK, headers, body: Bytes::from(body.to_owned()) };
        assembled(&received).map(|body| serde_json::from_slice(&body).expect("JSON"))
    }

    fn multipart(parts: &[&str]) -> String {
        let parts = parts.iter().map(|part| format!("--b\r\nContent-Type: application/json\r\n\r\n{part}\r\n"));
        format!("{}--b--\r\n", parts.collect::<String>())
    }

    const MIXED: &str = r#"multipart/mixed; boundary="b"; deferSpec=20220824"#;
    const FIRST: &str = r#"{"data":{"cart":{"id":"1","list":[{}]}},"hasNext":true}"#;

    #[test]
    fn deferred_fields_are_put_where_they_belong() {
        let whole = json!({ "data": { "cart": { "id": "1", "list": [{ "b": 3 }], "a": 2 } } });
        for rest in [
            &[
                r#"{"incremental":[{"path":["cart"],"data":{"a":2}},{"path":["cart","list",0],"data":{"b":3}}],"hasNext":false}"#,
            ][..],
            &[
                r#"{"path":["cart"],"data":{"a":2},"hasNext":true}"#,
                r#"{"path":["cart","list",0],"data":{"b":3},"hasNext":false}"#,
            ],
            &[
                r#"{"incremental":[{"path":["cart"],"data":{"a":2}}],"hasNext":true}"#,
                r#"{"incremental":[{"path":["cart","list",0],"data":{"b":3}}],"hasNext":true}"#,
                r#"{"hasNext":false}"#,
            ],
        ] {
            let body = multipart(&[&[FIRST], rest].concat());
            assert_eq!(assembled_from(MIXED, &body), Ok(whole.clone()));
            assert_eq!(assembled_from(MIXED, &format!("\r\n{body}")), Ok(whole.clone()));
        }
        assert_eq!(assembled_from("application/json", r#"{"data":{}}"#), Ok(json!({ "data": {} })));
    }

    #[test]
    fn errors_of_all_parts_are_told() {
        let body = multipart(&[
            FIRST,
            r#"{"incremental":[{"path":["cart"],"data":null,"errors":[{"message":"no"}]}],"hasNext":false}"#,
        ]);
        assert_eq!(assembled_from(MIXED, &body).expect("read")["errors"], json!([{ "message": "no" }]));
    }

    #[test]
    fn answers_that_are_cut_off_or_belong_nowhere_are_refused() {
        let unexpected = Err(Unreadable::Unexpected);
        assert_eq!(assembled_from(MIXED, &multipart(&[FIRST])), unexpected);
        assert_eq!(assembled_from(MIXED, ""), unexpected);
        for path in [r#"["order"]"#, r#"["cart","id"]"#, r#"["cart",0]"#, r#"["cart",{}]"#] {
            let last = format!(r#"{{"incremental":[{{"path":{path},"data":{{"a":2}}}}],"hasNext":false}}"#);
            assert_eq!(assembled_from(MIXED, &multipart(&[FIRST, &last])), unexpected, "{path}");
        }
        assert_eq!(assembled_from(MIXED, &multipart(&[FIRST, "nonsense"])), Err(Unreadable::NotJson));
    }
}
