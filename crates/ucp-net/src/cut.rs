//! Lists in the answers of upstreams that are longer than what was asked for, cut while they are read.
//!
//! A shop that takes no size of pages may answer its whole catalog to each question. What is made of a document takes up to a
//! hundred times the memory of its text; so the rest of a list is dropped as it comes.

use bytes::BytesMut;

/// Maximum number of elements of any array.
const MOST_ELEMENTS: usize = 10_000;

/// Size of a document in bytes beyond which it has no more elements than were asked for.
const LARGE: usize = 1 << 20;

/// Maximum nesting of a text that is cut: nobody reads one that nests deeper.
const DEEPEST: usize = 1_000;

/// Reader of a JSON text, which leaves out the elements of arrays beyond [`MOST_ELEMENTS`], and of the outermost arrays those
/// that were not asked for once the text is [`LARGE`].
#[derive(Debug)]
pub(super) struct Cutter {
    asked: usize,
    kept: BytesMut,
    /// Number of commas in each array around; `None` for an object.
    around: Vec<Option<usize>>,
    is_text: bool,
    is_escaped: bool,
    /// Number of containers around the array that is being cut.
    cutting: Option<usize>,
    /// Number of arrays that were cut.
    cuts: usize,
}

impl Cutter {
    /// Creates a reader of an answer that was asked for so many elements.
    pub(super) fn new(asked: usize) -> Self {
        let (kept, around) = (BytesMut::new(), Vec::new());
        Self { asked, kept, around, is_text: false, is_escaped: false, cutting: None, cuts: 0 }
    }

    /// Reads the next bytes of the text.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        if self.around.len() > DEEPEST {
            self.kept.extend_from_slice(bytes);
            return;
        }
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.is_text {
                let is_end = !self.is_escaped && *byte == b'"';
                (self.is_text, self.is_escaped) = (!is_end, !self.is_escaped && *byte == b'\\');
                continue;
            }
            match byte {
                _ if self.around.len() > DEEPEST => break,
                b'"' => self.is_text = true,
                b'[' => self.around.push(Some(0)),
                b'{' => self.around.push(None),
                b']' | b'}' => {
                    self.around.pop();
                    if self.cutting == Some(self.around.len()) {
                        (self.cutting, from) = (None, at);
                    }
                }
                b',' if self.cutting.is_none() && self.is_enough(at - from) => {
                    self.kept.extend_from_slice(&bytes[from..at]);
                    self.cutting = Some(self.around.len() - 1);
                    self.cuts += 1;
                }
                _ => {}
            }
        }
        if self.cutting.is_none() {
            self.kept.extend_from_slice(&bytes[from..]);
        }
    }

    /// Counts a comma, and returns `true` if what follows is to be left out; `more` bytes are not kept yet.
    fn is_enough(&mut self, more: usize) -> bool {
        let Some((Some(commas), outside)) = self.around.split_last_mut() else { return false };
        *commas += 1;
        let is_outermost = || outside.iter().all(Option::is_none);
        *commas >= MOST_ELEMENTS || (*commas >= self.asked && self.kept.len() + more > LARGE && is_outermost())
    }

    /// Returns what was kept of the text.
    pub(super) fn finish(self) -> BytesMut {
        if self.cuts > 0 {
            tracing::warn!(
                kept = self.kept.len(),
                asked = self.asked,
                "upstream response has longer lists than requested; truncating it"
            );
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Cuts a document that arrives in pieces of this size.
    fn cut_in(value: &Value, asked: usize, piece: usize) -> Value {
        let mut cutter = Cutter::new(asked);
        value.to_string().as_bytes().chunks(piece).for_each(|piece| cutter.read(piece));
        serde_json::from_slice(&cutter.finish()).expect("JSON")
    }

    fn cut(value: &Value) -> Value {
        let [whole, parts] = [usize::MAX, 1_021].map(|piece| cut_in(value, 1_000_000, piece));
        assert_eq!(whole, parts, "however it arrives");
        whole
    }

    fn products(count: usize, more: &str) -> Vec<Value> {
        let product = |number: usize| json!({ "id": number, "tags": ["[", "\"]", "\\"], "none": [], "more": more });
        (0..count).map(product).collect()
    }

    #[test]
    fn long_arrays_are_cut_and_all_else_stays() {
        let of = |count: usize| json!({ "a": [1, [2]], "products": products(count, ""), "more": { "b": products(count, "") }, "c": "]," });
        assert_eq!(cut(&of(100)), of(100));
        assert_eq!(cut(&of(MOST_ELEMENTS)), of(MOST_ELEMENTS));
        assert_eq!(cut(&of(MOST_ELEMENTS + 1)), of(MOST_ELEMENTS));
        assert_eq!(cut(&of(3 * MOST_ELEMENTS)), of(MOST_ELEMENTS));
        let nested = json!([[products(2 * MOST_ELEMENTS, "")], 7]);
        assert_eq!(cut(&nested), json!([[products(MOST_ELEMENTS, "")], 7]));
    }

    #[test]
    fn what_nests_too_deep_is_kept_as_it_is() {
        let mut cutter = Cutter::new(1);
        for _ in 0..10 {
            cutter.read(&[b'['; LARGE]);
        }
        assert_eq!((cutter.around.len(), cutter.finish().len()), (DEEPEST + 1, 10 * LARGE));
    }

    #[test]
    fn a_large_answer_has_what_was_asked_for() {
        let text = "x".repeat(10_000);
        let of = |count: usize| json!({ "products": products(count, &text), "next": "a" });
        for piece in [1_021, usize::MAX] {
            assert_eq!(cut_in(&of(500), 200, piece), of(200), "no more than asked for");
            let kept = cut_in(&of(500), 10, piece)["products"].as_array().expect("products").len();
            assert!((100..110).contains(&kept), "{kept}: as many as are small");
            assert_eq!(cut_in(&of(500), 500, piece), of(500), "what was asked for may be large");
            let page = json!({ "products": [{ "variants": products(500, &text) }] });
            assert_eq!(cut_in(&page, 10, piece), page, "a product stays whole");
        }
    }
}
