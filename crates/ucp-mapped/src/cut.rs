//! Arrays of any length in the answers of shops, cut before programs see them.
//!
//! A shop that takes no size of pages may answer its whole catalog to each question. What a program makes of that takes a
//! hundred times the memory of its text; so the text is cut.

use bytes::Bytes;

/// Maximum number of elements of an array.
const MOST_ELEMENTS: usize = 10_000;

/// Size in bytes below which no text has more than a few arrays of that length.
const SMALL: usize = 2 * MOST_ELEMENTS;

/// Returns a JSON text without the elements of arrays beyond the first [`MOST_ELEMENTS`].
pub(super) fn arrays(text: Bytes) -> Bytes {
    if text.len() < SMALL {
        return text;
    }
    let mut kept = Vec::new();
    // Number of commas in each array around; `None` for an object.
    let mut around: Vec<Option<usize>> = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    // Number of containers around the array that is being cut, and where the kept part begins.
    let (mut cutting, mut from) = (None, 0);
    for (at, byte) in text.iter().enumerate() {
        if is_text {
            (is_text, is_escaped) = (is_escaped || *byte != b'"', !is_escaped && *byte == b'\\');
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'[' => around.push(Some(0)),
            b'{' => around.push(None),
            b']' | b'}' => {
                around.pop();
                if cutting == Some(around.len()) {
                    (cutting, from) = (None, at);
                }
            }
            b',' => {
                let depth = around.len();
                if let Some(Some(commas)) = around.last_mut() {
                    *commas += 1;
                    if *commas == MOST_ELEMENTS && cutting.is_none() {
                        kept.extend_from_slice(&text[from..at]);
                        cutting = Some(depth - 1);
                    }
                }
            }
            _ => {}
        }
    }
    if kept.is_empty() || cutting.is_some() {
        return text;
    }
    kept.extend_from_slice(&text[from..]);
    tracing::warn!(
        bytes = text.len(),
        kept = kept.len(),
        "an answer of the shop has arrays of more than {MOST_ELEMENTS} elements, and is cut"
    );
    kept.into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cut(value: &Value) -> Value {
        serde_json::from_slice(&arrays(value.to_string().into())).expect("JSON")
    }

    #[test]
    fn long_arrays_are_cut_and_all_else_stays() {
        let element = |number: usize| json!({ "id": number, "tags": ["[", "\"]", "\\"], "none": [] });
        let products = |count: usize| (0..count).map(element).collect::<Vec<_>>();
        let of = |count: usize| json!({ "a": [1, [2]], "products": products(count), "more": { "b": products(count) }, "c": "]," });
        assert_eq!(cut(&of(100)), of(100));
        assert_eq!(cut(&of(MOST_ELEMENTS)), of(MOST_ELEMENTS));
        assert_eq!(cut(&of(MOST_ELEMENTS + 1)), of(MOST_ELEMENTS));
        assert_eq!(cut(&of(3 * MOST_ELEMENTS)), of(MOST_ELEMENTS));
        let nested = json!([[products(2 * MOST_ELEMENTS)], 7]);
        assert_eq!(cut(&nested), json!([[products(MOST_ELEMENTS)], 7]));
    }
}
