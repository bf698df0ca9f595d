//! Answers of a shop that speaks UCP itself, on their way to the caller.
//!
//! An answer with products is mostly forwarded as received, to one caller after the other. It is therefore kept as
//! text, and parsed only when its members are read or changed.

use std::{
    collections::HashSet,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

/// Members of an answer. Clones of a body kept as text share the text.
#[derive(Clone, Debug)]
pub struct Body {
    /// Parsed members, once they were needed.
    members: OnceLock<Map<String, Value>>,
    written: Option<Arc<Written>>,
}

/// Text of an answer, with the shop's envelope apart.
#[derive(Debug)]
pub struct Written {
    /// Envelope of the shop, the member `ucp`.
    ucp: Box<str>,
    /// Members of the envelope other than [`NEGOTIATED`].
    extra: Map<String, Value>,
    /// All other members of the answer, without the outer braces.
    rest: Box<str>,
}

/// Members of the envelope that state the result of the negotiation.
pub const NEGOTIATED: [&str; 3] = ["version", "status", "capabilities"];

impl Body {
    /// Keeps an answer with products as text. Returns `None` for any other document: a business error, an answer with
    /// members of an extension (not every caller may get those), or a document that is not an answer.
    ///
    /// The document must have been validated: the values of its members are not checked.
    pub fn written_down(document: &[u8]) -> Option<Self> {
        let Outline(members) = serde_json::from_slice(document).ok()?;
        let names: HashSet<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        let carries = names.contains("products") || names.contains("product");
        let extended = |name: &&str| name.contains('.') || *name == "ap2";
        if names.len() < members.len() || !carries || names.iter().any(extended) {
            return None;
        }
        let (_, ucp) = members.iter().find(|(name, _)| name == "ucp")?;
        let Outline(envelope) = serde_json::from_str(ucp.get()).ok()?;
        if envelope.iter().any(|(name, value)| name == "status" && value.get() != "\"success\"") {
            return None;
        }
        let theirs = envelope.iter().filter(|(name, _)| !NEGOTIATED.contains(&name.as_str()));
        let extra = theirs.map(|(name, value)| Some((name.clone(), serde_json::from_str(value.get()).ok()?)));
        let extra = extra.collect::<Option<_>>()?;
        let mut rest = String::with_capacity(document.len());
        for (name, value) in members.iter().filter(|(name, _)| name != "ucp") {
            if !rest.is_empty() {
                rest.push(',');
            }
            rest.push_str(&Value::String(name.clone()).to_string());
            rest.push(':');
            rest.push_str(value.get());
        }
        let written = Written { ucp: ucp.get().into(), extra, rest: rest.into() };
        Some(Self { members: OnceLock::new(), written: Some(Arc::new(written)) })
    }

    /// Returns the text, if the body is kept as text.
    pub fn written(&self) -> Option<&Written> {
        self.written.as_deref()
    }

    /// Returns the members for changing. The body is no longer kept as text.
    pub fn to_mut(&mut self) -> &mut Map<String, Value> {
        let members = Map::from(std::mem::take(self));
        *self = members.into();
        self.members.get_mut().unwrap_or_else(|| unreachable!("they were just put there"))
    }
}

impl Written {
    /// Returns the members of the shop's envelope other than [`NEGOTIATED`].
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }

    /// Returns the members besides the envelope, without the outer braces.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.ucp.len() + self.rest.len()
    }

    fn members(&self) -> Map<String, Value> {
        let text = format!("{{\"ucp\":{},{}}}", self.ucp, self.rest);
        // The text was parsed once before it was kept.
        serde_json::from_str(&text).unwrap_or_default()
    }
}

impl Default for Body {
    fn default() -> Self {
        Map::new().into()
    }
}

impl From<Map<String, Value>> for Body {
    fn from(members: Map<String, Value>) -> Self {
        Self { members: members.into(), written: None }
    }
}

impl From<Body> for Map<String, Value> {
    fn from(body: Body) -> Self {
        let Body { members, written } = body;
        members.into_inner().or_else(|| written.map(|written| written.members())).unwrap_or_default()
    }
}

impl Deref for Body {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        self.members.get_or_init(|| self.written().map(Written::members).unwrap_or_default())
    }
}

/// Members of a JSON object with unparsed values.
struct Outline<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Outline<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Outline<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Outline(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(document: &Value) -> Option<Body> {
        Body::written_down(document.to_string().as_bytes())
    }

    #[test]
    fn answers_with_goods_keep_their_text() {
        let document = json!({
            "products": [{ "id": "p\u{e9}\"", "price": 1.50 }],
            "ucp": { "version": "2026-08-25", "status": "success", "capabilities": {}, "payment_handlers": { "x": [] } },
            "unknown": null,
        });
        let body = written(&document).expect("an answer");
        let text = body.written().expect("a text");
        assert_eq!(text.rest(), r#""products":[{"id":"pé\"","price":1.5}],"unknown":null"#);
        assert_eq!(Value::Object(text.extra().clone()), json!({ "payment_handlers": { "x": [] } }));
        assert_eq!(body["products"][0]["price"], 1.5);
        assert!(body.written().is_some(), "looking changes nothing");
        assert_eq!(Value::Object(body.into()), document);
    }

    #[test]
    fn a_changed_body_loses_its_text() {
        let mut body = written(&json!({ "ucp": {}, "product": {} })).expect("an answer");
        body.to_mut().insert("messages".to_owned(), json!([]));
        assert!(body.written().is_none());
        assert_eq!(Value::Object(body.into()), json!({ "ucp": {}, "product": {}, "messages": [] }));
    }

    #[test]
    fn answers_without_goods_are_parsed() {
        for document in [
            json!({ "ucp": { "status": "error" }, "products": [] }),
            json!({ "ucp": { "status": "success" }, "messages": [] }),
            json!({ "ucp": {}, "products": [], "com.example.badge": 1 }),
            json!({ "ucp": {}, "products": [], "ap2": {} }),
            json!({ "products": [] }),
            json!({ "ucp": 1, "products": [] }),
            json!([{ "ucp": {}, "products": [] }]),
        ] {
            assert!(written(&document).is_none(), "{document}");
        }
        assert!(Body::written_down(br#"{"ucp":{},"products":[],"products":[1]}"#).is_none(), "twice the same name");
        assert!(Body::written_down(br#"{"ucp":{},"products":["#).is_none());
    }
}
