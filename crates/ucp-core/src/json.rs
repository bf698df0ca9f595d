//! Strict parser of JSON from outside.
//!
//! `serde_json` accepts duplicate keys (the last one counts) and any number of elements. A gateway between two systems
//! must not: the document that one party validated must be the one that the other party acts on. [`parse`] therefore
//! refuses duplicate keys, nesting beyond [`Limits::depth`] and documents of more than [`Limits::values`] values, and
//! states the path.
//!
//! A text with characters that [no text needs](crate::text::is_unfit), or with half of a surrogate pair, is an
//! [invalid request](Code::InvalidRequest): what is behind the gateway would stumble over it.
//!
//! It also refuses member names that `serde_json` reserves. An object with such a member is replaced by the JSON text
//! that it holds as soon as a part of the document is converted to another type, and that text would not have been
//! validated.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

use crate::{
    Code, Refusal,
    text::{is_unfit, unfit},
};

/// Limits on a document.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum nesting depth of arrays and objects.
    pub depth: usize,
    /// Maximum number of values in a document.
    pub values: usize,
}

impl Limits {
    /// Limits on a request payload. The depth leaves room for a JSON-RPC envelope below the 127 levels that
    /// `serde_json` reads, and for the first level too many, so that a payload gets the same verdict on every
    /// transport.
    pub const REQUEST: Self = Self { depth: 123, values: 50_000 };
}

/// Parses one JSON document. Fails with [`Code::MalformedJson`], [`Code::InvalidRequest`] or [`Code::RequestTooLarge`],
/// with the path of the first fault.
pub fn parse(bytes: &[u8], limits: Limits) -> Result<Value, Refusal> {
    parse_around(bytes, limits, 0)
}

/// Parses one JSON document that carries a payload below `envelope` levels of nesting, which do not count: a payload
/// may nest equally deep with and without an envelope. The few values of the envelope itself do count.
/// Errors are those of [`parse`].
pub fn parse_around(bytes: &[u8], limits: Limits, envelope: usize) -> Result<Value, Refusal> {
    let reader = Reader { limits, envelope, state: RefCell::default() };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = reader.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| reader.refusal(&error))
}

/// Returns the number of bytes that a document takes in memory once it is parsed, beside those of its texts: an estimate from
/// above, by its objects, arrays and commas alone. Nothing is checked, and nothing counts beyond `most` values and 128
/// levels, where parsing ends.
pub fn weight(bytes: &[u8], most: usize) -> usize {
    let (mut weight, mut values, mut depth) = (0, 0_usize, 0_usize);
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = behind_text(rest),
            b'{' => (weight, values, depth) = (weight + OBJECT, values + 1, depth + 1),
            b'[' => (weight, values, depth) = (weight + ELEMENT, values + 1, depth + 1),
            b',' => (weight, values) = (weight + ELEMENT, values + 1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if values > most || depth > DEEPEST {
            break;
        }
    }
    weight
}

/// Returns what follows a text, of which the first quote has been read.
fn behind_text(mut bytes: &[u8]) -> &[u8] {
    while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        let is_end = bytes[at] == b'"';
        bytes = bytes.get(at + if is_end { 1 } else { 2 }..).unwrap_or_default();
        if is_end {
            return bytes;
        }
    }
    &[]
}

/// Number of levels that `serde_json` reads.
const DEEPEST: usize = 128;

/// Bytes that an object takes with its first member.
const OBJECT: usize = 400;

/// Bytes that an array takes with its first element, and each further element or member.
const ELEMENT: usize = 160;

/// Checks that a text beside a document, such as an ID in a path, has no characters that no text needs. Fails with
/// [`Code::InvalidRequest`], as [`parse`] refuses such a text.
pub fn check_text(text: &str) -> Result<(), Refusal> {
    unfit(text).map_or(Ok(()), |letter| Err(unfit_text(&format!("the character U+{:04X}", u32::from(letter)))))
}

fn unfit_text(what: &str) -> Refusal {
    Refusal::new(Code::InvalidRequest, format!("A text must not hold {what}."))
        .accepting("Unicode text without control characters other than tab and line breaks")
}

/// Returns the integer value of a JSON number, even if it is written with a zero fraction (trap T-41).
pub fn integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        // Beyond 2^53 a float no longer identifies one integer.
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small integer")]
        (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)
    })
}

/// Converts a JSON Pointer (RFC 6901) to JSONPath (RFC 9535), the form of paths in UCP.
pub fn path_of_pointer(pointer: &str) -> String {
    let mut path = String::from("$");
    for token in pointer.split('/').skip(1) {
        if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push('[');
            path.push_str(token);
            path.push(']');
        } else {
            push_name(&mut path, &token.replace("~1", "/").replace("~0", "~"));
        }
    }
    path
}

/// Prefix of the member names that `serde_json` reserves.
const RESERVED: &str = "$serde_json::private::";

/// Maximum number of steps in the path of a refusal.
const LONGEST_PATH: usize = 16;

/// Maximum number of characters of a member name in a path.
const LONGEST_NAME: usize = 64;

/// Appends a member name to a JSONPath, in the short form if possible. Only the first 64 characters of a
/// long name are kept.
pub fn push_name(path: &mut String, name: &str) {
    let plain = name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain {
        path.push('.');
        path.push_str(name);
    } else {
        path.push_str("['");
        for letter in name.chars().take(LONGEST_NAME) {
            match letter {
                '\'' | '\\' => path.extend(['\\', letter]),
                control if control.is_control() || is_unfit(control) => path.extend(control.escape_unicode()),
                other => path.push(other),
            }
        }
        path.push_str("']");
    }
}

enum Step {
    Name(String),
    Index(usize),
}

#[derive(Clone, Copy)]
enum Fault {
    DuplicateKey,
    Reserved,
    Unfit(char),
    TooDeep,
    TooMany,
}

#[derive(Default)]
struct State {
    /// Path of the fault from its end, which is found on the way back: most documents have none.
    path: Vec<Step>,
    depth: usize,
    values: usize,
    fault: Option<Fault>,
}

struct Reader {
    limits: Limits,
    envelope: usize,
    state: RefCell<State>,
}

impl Reader {
    fn fail<E: serde::de::Error>(&self, fault: Fault) -> E {
        self.state.borrow_mut().fault = Some(fault);
        E::custom("refused")
    }

    fn refusal(&self, error: &serde_json::Error) -> Refusal {
        let state = self.state.borrow();
        let mut path = String::from("$");
        for step in state.path.iter().rev().take(LONGEST_PATH + self.envelope) {
            match step {
                Step::Name(name) => push_name(&mut path, name),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        match state.fault {
            Some(Fault::DuplicateKey) => Refusal::new(Code::MalformedJson, "An object has the same field twice.")
                .accepting("objects whose member names are unique"),
            Some(Fault::Reserved) => Refusal::new(Code::MalformedJson, "An object has a field with a reserved name.")
                .accepting(format!("names that do not begin with `{RESERVED}`")),
            Some(Fault::Unfit(letter)) => unfit_text(&format!("the character U+{:04X}", u32::from(letter))),
            Some(Fault::TooDeep) => Refusal::new(Code::MalformedJson, "The document is nested too deeply.")
                .accepting(format!("at most {} nested arrays and objects", self.limits.depth)),
            Some(Fault::TooMany) => Refusal::new(Code::RequestTooLarge, "The document has too many values.")
                .accepting(format!("at most {} values in one document", self.limits.values)),
            None if is_half_a_pair(error) => unfit_text("half of a surrogate pair"),
            None => Refusal::new(
                Code::MalformedJson,
                format!("The body is not valid JSON at line {}, column {}.", error.line(), error.column()),
            )
            .accepting("one JSON document in UTF-8"),
        }
        .at(path)
    }
}

/// Returns `true` if an error is about an escape that is half of a surrogate pair, which `serde_json` tells only in words.
fn is_half_a_pair(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    ["lone leading surrogate", "unexpected end of hex escape"].iter().any(|known| text.starts_with(known))
}

impl<'de> DeserializeSeed<'de> for &Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        {
            let mut state = self.state.borrow_mut();
            state.values += 1;
            if state.values > self.limits.values {
                drop(state);
                return Err(self.fail(Fault::TooMany));
            }
        }
        deserializer.deserialize_any(self)
    }
}

/// Methods of a [`Visitor`] that is its own value, and that any text, number, truth value and `null` leave as it is.
#[macro_export]
macro_rules! skip_scalars {
    () => {
        $crate::skip_scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

        fn visit_unit<E>(self) -> Result<Self, E> {
            Ok(self)
        }
    };
    ($($visit:ident: $scalar:ty),+) => {$(
        fn $visit<E>(self, _: $scalar) -> Result<Self, E> {
            Ok(self)
        }
    )+};
}

impl<'de> Visitor<'de> for &Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.fit(value)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.fit(&value)?;
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut elements = Vec::new();
        loop {
            match sequence.next_element_seed(self) {
                Ok(Some(element)) => elements.push(element),
                Ok(None) => break,
                Err(error) => return Err(self.within(Step::Index(elements.len()), error)),
            }
        }
        self.leave();
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let fault = match unfit(&name) {
                Some(letter) => Some(Fault::Unfit(letter)),
                None => name.starts_with(RESERVED).then_some(Fault::Reserved),
            };
            match (object.entry(name), fault) {
                (Entry::Occupied(member), _) => {
                    return Err(self.within(Step::Name(member.key().clone()), self.fail(Fault::DuplicateKey)));
                }
                (Entry::Vacant(member), Some(fault)) => {
                    return Err(self.within(Step::Name(member.key().clone()), self.fail(fault)));
                }
                (Entry::Vacant(member), None) => match members.next_value_seed(self) {
                    Ok(value) => {
                        member.insert(value);
                    }
                    Err(error) => return Err(self.within(Step::Name(member.key().clone()), error)),
                },
            }
        }
        self.leave();
        Ok(Value::Object(object))
    }
}

impl Reader {
    fn fit<E: serde::de::Error>(&self, text: &str) -> Result<(), E> {
        unfit(text).map_or(Ok(()), |letter| Err(self.fail(Fault::Unfit(letter))))
    }

    fn enter<E: serde::de::Error>(&self) -> Result<(), E> {
        let mut state = self.state.borrow_mut();
        if state.depth >= self.limits.depth + self.envelope {
            drop(state);
            return Err(self.fail(Fault::TooDeep));
        }
        state.depth += 1;
        Ok(())
    }

    fn leave(&self) {
        self.state.borrow_mut().depth -= 1;
    }

    /// Notes that an error is within an element or a member.
    fn within<E>(&self, step: Step, error: E) -> E {
        self.state.borrow_mut().path.push(step);
        error
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { depth: 4, values: 10 };

    fn refused(text: &str) -> (Code, String) {
        let refusal = parse(text.as_bytes(), LIMITS).expect_err(text);
        (refusal.code, refusal.path.expect("a path"))
    }

    #[test]
    fn faults_are_named_with_their_place() {
        assert_eq!(refused(r#"{"a":{"b":1,"b":2}}"#), (Code::MalformedJson, "$.a.b".into()));
        assert_eq!(refused(r#"{"a":[1,{"x y":oops}]}"#), (Code::MalformedJson, "$.a[1]['x y']".into()));
        assert_eq!(refused("[[[[[1]]]]]"), (Code::MalformedJson, "$[0][0][0][0]".into()));
        assert_eq!(refused("[1,2,3,4,5,6,7,8,9,10]").0, Code::RequestTooLarge);
        assert_eq!(refused("{} {}").0, Code::MalformedJson);
        assert_eq!(refused("").0, Code::MalformedJson);
        assert_eq!(parse(b"\"\xff\"", LIMITS).expect_err("not UTF-8").code, Code::MalformedJson);
        assert_eq!(refused("1e999").0, Code::MalformedJson);
    }

    #[test]
    fn a_document_weighs_by_its_values_and_not_by_its_texts() {
        for (text, objects, elements) in [
            ("", 0, 0),
            ("1", 0, 0),
            (r#"{"a":[1,2],"b,{[":"\\","c":"\",{["}"#, 1, 4),
            ("[{},{},[]]", 2, 4),
            (r#"["{{{{,,,,"#, 0, 1),
        ] {
            assert_eq!(weight(text.as_bytes(), usize::MAX), objects * OBJECT + elements * ELEMENT, "{text}");
        }
    }

    #[test]
    fn texts_that_nothing_behind_can_hold_are_refused_with_their_place() {
        for (text, path) in [
            (r#"{"a":[1,"w\u0000"]}"#, "$.a[1]"),
            (r#"{"a":{"b\u0007":1}}"#, "$.a['b\\u{7}']"),
            (r#"{"a":{"\uffff":1}}"#, "$.a['\\u{ffff}']"),
            (r#""\u0085""#, "$"),
            (r#"["\udbff\udfff"]"#, "$[0]"),
            ("{\"a\":\"\u{7f}\"}", "$.a"),
            (r#"{"a":"\ud800"}"#, "$.a"),
            (r#"{"a":"\ud800x"}"#, "$.a"),
            (r#"{"a":"\udc00\ud800"}"#, "$.a"),
            (r#"{"a":"\ud800\u0041"}"#, "$.a"),
            (r#"{"\udc00":1}"#, "$"),
        ] {
            assert_eq!(refused(text), (Code::InvalidRequest, path.to_owned()), "{text}");
        }
        assert_eq!(refused(r#"["\u12"]"#).0, Code::MalformedJson);
        let fit = r#"["a\tb\r\nc","\ud83d\udc69\u200d\ud83c\udf3e","\u202e"]"#;
        assert!(parse(fit.as_bytes(), LIMITS).is_ok());
        assert!(check_text("a\u{0}").is_err() && check_text("ä\n").is_ok());
    }

    #[test]
    fn json_beyond_the_limits_is_refused() {
        let list = |elements: usize| format!("[{}]", vec!["1"; elements].join(","));
        assert!(parse(list(LIMITS.values - 1).as_bytes(), LIMITS).is_ok());
        assert!(parse(list(LIMITS.values).as_bytes(), LIMITS).is_err());
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(deep(LIMITS.depth).as_bytes(), LIMITS).is_ok());
        assert!(parse(deep(LIMITS.depth + 1).as_bytes(), LIMITS).is_err());
    }

    #[test]
    fn a_document_that_breaks_off_is_at_fault_where_it_does() {
        for (text, path) in
            [("{", "$"), (r#"{"a":{"#, "$.a"), (r#"{"a":1,"#, "$"), (r#"{"a":[1,"#, "$.a[1]"), (r#"{"a":"#, "$.a")]
        {
            assert_eq!(refused(text), (Code::MalformedJson, path.to_owned()), "{text}");
        }
    }

    #[test]
    fn names_with_a_meaning_of_their_own_are_refused() {
        for marker in
            ["$serde_json::private::RawValue", "$serde_json::private::Number", r"\u0024serde_json::private::x"]
        {
            let (code, path) = refused(&format!(r#"{{"a":{{"{marker}":"[1]"}}}}"#));
            assert!(code == Code::MalformedJson && path.starts_with("$.a['$serde_json"), "{path}");
        }
        assert!(parse(br#"{"$serde_json":"$serde_json::private::RawValue"}"#, LIMITS).is_ok());
    }

    #[test]
    fn pointers_become_paths() {
        assert_eq!(path_of_pointer(""), "$");
        assert_eq!(path_of_pointer("/filters/price/min"), "$.filters.price.min");
        assert_eq!(path_of_pointer("/ids/0"), "$.ids[0]");
        assert_eq!(path_of_pointer("/signals/dev.ucp.buyer_ip"), "$.signals['dev.ucp.buyer_ip']");
        assert_eq!(path_of_pointer("/a~1b/it's"), "$['a/b']['it\\'s']");
    }

    #[test]
    fn integers_may_carry_a_zero_fraction() {
        let number = |text: &str| serde_json::from_str::<Number>(text).expect("number");
        assert_eq!(integer(&number("100.0")), Some(100));
        assert_eq!(integer(&number("-3")), Some(-3));
        assert_eq!(integer(&number("1.5")), None);
        assert_eq!(integer(&number("1e40")), None);
    }

    proptest! {
        #[test]
        fn reads_what_serde_json_reads_or_refuses(text in "\\PC{0,40}") {
            if let Ok(value) = parse(text.as_bytes(), Limits::REQUEST) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("agrees"), value);
            }
        }

        #[test]
        fn every_path_is_printable(name in any::<String>()) {
            let mut path = String::from("$");
            push_name(&mut path, &name);
            prop_assert!(!path.chars().any(|letter| letter.is_control() || is_unfit(letter)));
            prop_assert!(path.chars().count() <= LONGEST_NAME * 10 + 8);
        }
    }
}
