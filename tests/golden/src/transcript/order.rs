//! Tells whether two answers say the same with the members of their JSON objects in another order.
//!
//! Names of the run are numbered by their first appearance ([`normal`](crate::normal)), so that another order gives
//! other names. [`Names`] therefore pairs the names of both sides, one to one, for all responses of a scene: a response
//! that was matched once determines equal names in those that follow.

use std::{borrow::Cow, collections::HashMap, str::Chars};

use serde_json::Value;

/// Names of the old gateway's answers, with those of the new one's that mean the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    to_new: HashMap<String, String>,
    to_old: HashMap<String, String>,
}

/// A part of a text.
enum Part<'a> {
    Plain(&'a str),
    Json(Value),
}

impl Names {
    /// Returns `true` if two different answers differ in the order of members alone, and in what follows from it.
    pub(crate) fn in_another_order(&mut self, old: &str, new: &str) -> bool {
        let (old, new) = (without_tag(old), without_tag(new));
        // Other bytes are no other order: numbers, letters and blanks are spelt as they were.
        if old == new || letters(&old) != letters(&new) {
            return false;
        }
        let mut names = self.clone();
        let alike = names.texts(&old, &new);
        if alike {
            *self = names;
        }
        alike
    }

    /// Returns `true` if texts are alike but for the order of members of the JSON in them.
    fn texts(&mut self, old: &str, new: &str) -> bool {
        let (old, new) = (parts(old), parts(new));
        old.len() == new.len()
            && old.iter().zip(&new).all(|pair| match pair {
                (Part::Plain(old), Part::Plain(new)) => self.plain(old, new),
                (Part::Json(old), Part::Json(new)) => self.values(old, new),
                _ => false,
            })
    }

    fn values(&mut self, old: &Value, new: &Value) -> bool {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && old.iter().all(|(name, value)| new.get(name).is_some_and(|new| self.values(value, new)))
            }
            (Value::Array(old), Value::Array(new)) => {
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.values(old, new))
            }
            // Tools of MCP quote their document in a text.
            (Value::String(old), Value::String(new)) => self.texts(old, new),
            _ => old == new,
        }
    }

    /// Returns `true` if texts are alike but for names, which mean the same in both.
    fn plain(&mut self, old: &str, new: &str) -> bool {
        let (mut old, mut new) = (old, new);
        loop {
            let (Some((before, name, behind)), Some((new_before, new_name, new_behind))) = (named(old), named(new))
            else {
                return old == new;
            };
            if before != new_before || !self.mean_the_same(name, new_name) {
                return false;
            }
            (old, new) = (behind, new_behind);
        }
    }

    fn mean_the_same(&mut self, old: &str, new: &str) -> bool {
        let kind = |name: &str| name.split('#').next().map(str::to_owned);
        let known = (self.to_new.get(old), self.to_old.get(new));
        match known {
            (None, None) if kind(old) == kind(new) => {
                self.to_new.insert(old.to_owned(), new.to_owned());
                self.to_old.insert(new.to_owned(), old.to_owned());
                true
            }
            (Some(known), _) => known == new,
            _ => false,
        }
    }
}

/// An answer without the value of its entity tag, which another order changes.
fn without_tag(answer: &str) -> Cow<'_, str> {
    let Some((start, tag)) = answer.split_once("\netag: ") else { return answer.into() };
    let end = tag.find('\n').unwrap_or(tag.len());
    format!("{start}\netag: {}", &tag[end..]).into()
}

/// Number of occurrences of each byte in a text, without the names in it.
fn letters(mut text: &str) -> HashMap<u8, usize> {
    let mut letters = HashMap::new();
    let mut count = |text: &str| text.bytes().for_each(|byte| *letters.entry(byte).or_default() += 1);
    while let Some((before, _, behind)) = named(text) {
        count(before);
        text = behind;
    }
    count(text);
    letters
}

/// The JSON objects and arrays of a text, and what stands between them.
fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut plain, mut place) = (Vec::new(), 0, 0);
    while let Some(start) = text[place..].find(['{', '[']).map(|found| place + found) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            place = start + 1;
            continue;
        };
        parts.push(Part::Plain(&text[plain..start]));
        parts.push(Part::Json(value));
        place = start + values.byte_offset();
        plain = place;
    }
    parts.push(Part::Plain(&text[plain..]));
    parts
}

/// The first name in a text, such as `<cart#7.1>`, with what stands before and behind it.
fn named(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find('<')?;
        let length = text[start..].find('>')? + 1;
        let name = &text[start..start + length];
        if is_name(&name[1..length - 1]) {
            return Some((&text[..start], name, &text[start + length..]));
        }
        from = start + 1;
    }
}

fn is_name(text: &str) -> bool {
    let digits = |mut chars: Chars<'_>| !chars.as_str().is_empty() && chars.all(|char| char.is_ascii_digit());
    let Some((kind, number)) = text.rsplit_once('#') else { return false };
    let number = number.split_once('.').is_some_and(|(call, number)| digits(call.chars()) && digits(number.chars()));
    number && !kind.is_empty() && !kind.contains(['<', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(old: &str, new: &str) -> bool {
        Names::default().in_another_order(old, new)
    }

    #[test]
    fn members_in_another_order_are_another_order_and_nothing_else_is() {
        for (old, new, expected) in [
            (r#"{"a":1,"b":[{"c":2,"d":3}]}"#, r#"{"b":[{"d":3,"c":2}],"a":1}"#, true),
            ("HTTP 200\netag: \"1\"\n\n{\"a\":1,\"b\":2}", "HTTP 200\netag: \"2\"\n\n{\"b\":2,\"a\":1}", true),
            ("data: {\"a\":1,\"b\":2}\n\ndata: []", "data: {\"b\":2,\"a\":1}\n\ndata: []", true),
            (r#"{"text":"{\"a\":1,\"b\":2}"}"#, r#"{"text":"{\"b\":2,\"a\":1}"}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#, false),
            ("[1,2]", "[2,1]", false),
            (r#"{"a":1,"b":2}"#, r#"{"b": 2,"a":1}"#, false),
            (r#"{"a":1.0,"b":2}"#, r#"{"b":2,"a":1}"#, false),
            (r#"{"a":"ab","b":2}"#, r#"{"b":2,"a":"ba"}"#, false),
            ("HTTP 200\na: 1\n\n{}", "HTTP 200\na: 2\n\n{}", false),
            ("HTTP 200\netag: \"1\"\n\n{}", "HTTP 200\netag: \"2\"\n\n{}", false),
            ("HTTP 200\na: 1\nb: 2\n\n{}", "HTTP 200\nb: 2\na: 1\n\n{}", false),
        ] {
            assert_eq!(judged(old, new), expected, "{old} {new}");
        }
    }

    #[test]
    fn names_that_another_order_gives_mean_the_same_from_then_on() {
        let mut names = Names::default();
        let (old, new) = (
            r#"{"first":{"id":"<line#7.1>"},"second":{"id":"<line#7.2>"}}"#,
            r#"{"second":{"id":"<line#7.1>"},"first":{"id":"<line#7.2>"}}"#,
        );
        assert!(names.in_another_order(old, new));
        assert!(names.in_another_order("at /lines/<line#7.1>", "at /lines/<line#7.2>"));
        assert!(!names.in_another_order("at /lines/<line#7.1> now", "at /lines/<line#7.3> now"));
        assert!(!judged(r#"{"a":"<line#7.1>","b":"<line#7.1>"}"#, r#"{"b":"<line#7.1>","a":"<line#7.2>"}"#));
        assert!(!judged(r#"{"a":"<line#7.1>","b":0}"#, r#"{"b":0,"a":"<cart#7.1>"}"#));
    }

    #[test]
    fn what_was_not_alike_pairs_no_names() {
        let mut names = Names::default();
        assert!(!names.in_another_order(r#"{"a":"<line#1.1>","b":12}"#, r#"{"b":21,"a":"<line#1.2>"}"#));
        assert!(names.in_another_order(r#"{"a":"<line#1.1>","b":1}"#, r#"{"b":1,"a":"<line#1.1>"}"#));
    }
}
