//! Members that an answer names twice.
//!
//! `serde_json` keeps the last one. A caller behind the gateway may keep the first, so that the gateway must not choose.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use ucp_core::json::push_name;

/// Number of names up to which they are compared one by one.
const FEW: usize = 16;

/// Returns the place of the first member that a well-formed document names twice, as JSONPath without the `$`.
pub(super) fn twice(document: &[u8]) -> Option<String> {
    serde_json::from_slice::<Twice>(document).ok()?.0
}

struct Twice(Option<String>);

impl Twice {
    fn within(&mut self, inner: Self, place: impl FnOnce() -> String) {
        if let (None, Some(inner)) = (&self.0, inner.0) {
            self.0 = Some(place() + &inner);
        }
    }
}

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(None))
    }
}

impl<'de> Visitor<'de> for Twice {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    ucp_core::skip_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Self, A::Error> {
        let mut place = 0;
        while let Some(inner) = seq.next_element()? {
            self.within(inner, || format!("[{place}]"));
            place += 1;
        }
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        let (mut few, mut many) = (Vec::<Cow<'de, str>>::new(), HashSet::<Cow<'de, str>>::new());
        let path = |name: &str| {
            let mut path = String::new();
            push_name(&mut path, name);
            path
        };
        while let Some(Name(name)) = map.next_key()? {
            if (few.contains(&name) || many.contains(&name)) && self.0.is_none() {
                self.0 = Some(path(&name));
            }
            let inner = map.next_value()?;
            self.within(inner, || path(&name));
            if few.len() < FEW {
                few.push(name);
            } else {
                many.insert(name);
            }
        }
        Ok(self)
    }
}

/// Name of a member, borrowed from the document if it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_that_is_named_twice_is_found() {
        let many: String = (0..40).map(|n| format!("\"m{n}\":{n},")).collect();
        for (document, place) in [
            (r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#, None),
            (r#"{"a":1,"b":2,"a":3,"b":4}"#, Some(".a")),
            (r#"{"a":[0,{"b c":{"x":1,"\u0078":2}}]}"#, Some(".a[1]['b c'].x")),
            (r#"{"a":{},"a":{"b":1,"b":1}}"#, Some(".a")),
            (&format!("{{{many}\"m0\":1}}"), Some(".m0")),
            (&format!("{{{many}\"m39\":1}}"), Some(".m39")),
            (r#"{"a":1,"a":"#, None),
            ("[]", None),
        ] {
            assert_eq!(twice(document.as_bytes()).as_deref(), place, "{document}");
        }
    }
}
