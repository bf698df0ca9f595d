//! Assembly of JSON documents from serialized parts.
//!
//! Answers about products consist mostly of text that was serialized before. A [`Document`] appends such text and the
//! few new values between it to one buffer, and inserts the commas.

use serde::Serialize;
use serde_json::{Map, Value};

/// A JSON document under construction.
#[derive(Debug, Default)]
pub struct Document {
    text: String,
}

impl Document {
    /// Creates an empty document with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity) }
    }

    fn separate(&mut self) {
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[' | b':' | b',')) {
            self.text.push(',');
        }
    }

    /// Adds an object whose members `fill` adds.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.separate();
        self.text.push('{');
        fill(self);
        self.text.push('}');
    }

    /// Adds an array whose elements `fill` adds.
    pub fn array(&mut self, fill: impl FnOnce(&mut Self)) {
        self.separate();
        self.text.push('[');
        fill(self);
        self.text.push(']');
    }

    /// Adds the name of a member; its value has to follow. Names are the protocol's own and need no escaping.
    pub fn name(&mut self, name: &'static str) -> &mut Self {
        self.separate();
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self
    }

    /// Adds the name of a member that others have chosen; its value has to follow.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.text(name);
        self.text.push(':');
        self
    }

    /// Adds serialized text: a value, or members without their braces. Empty text adds nothing.
    pub fn raw(&mut self, text: &str) {
        if !text.is_empty() {
            self.separate();
            self.text.push_str(text);
        }
    }

    /// Adds a value.
    pub fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        self.raw(&json(value));
    }

    /// Adds a text as a string: an identifier as it is, or all of another document.
    pub fn text(&mut self, text: &str) {
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            return self.raw(&json_escape_simd::escape(text));
        }
        self.separate();
        self.text.push('"');
        self.text.push_str(text);
        self.text.push('"');
    }

    /// Returns the finished text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Serializes a value as JSON.
pub fn json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("wire types serialise: {error}"))
}

/// Serializes the members of an object as JSON, without its braces.
pub fn members(object: &impl Serialize) -> Box<str> {
    let text = json(object);
    text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().into()
}

/// Converts a value to its members; no members if it is not an object.
pub(crate) fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_are_separated_by_commas() {
        let mut document = Document::default();
        document.object(|object| {
            object.raw(r#""a":1"#);
            object.raw("");
            object.name("b").array(|array| {
                array.value("x,");
                array.text("{\"y\":\"\\\"\\n\u{e9}\"}\n\u{1}");
                array.object(|_| {});
                array.object(|inner| inner.name("c").value(&None::<u8>));
            });
            object.name("d").array(|_| {});
        });
        assert_eq!(document.finish(), r#"{"a":1,"b":["x,","{\"y\":\"\\\"\\né\"}\n\u0001",{},{"c":null}],"d":[]}"#);
    }
}
