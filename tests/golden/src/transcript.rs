//! Responses of a gateway to the corpus, call by call, and the differences of two of them.

mod difference;
mod order;

use std::{collections::HashMap, fmt};

pub(crate) use self::difference::show;
use self::order::Names;

/// A call and its answer, both normalized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name of the call, such as `purchase/2026-04-08/mcp/complete_checkout`.
    pub(crate) name: String,
    /// Request, for readers.
    pub(crate) request: String,
    /// Response, which is compared.
    pub(crate) answer: String,
}

/// All calls in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) entries: Vec<Entry>,
}

/// A call whose answers differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The name of the call.
    pub(crate) name: String,
    /// The kind of difference.
    pub(crate) kind: Kind,
    /// Difference, for readers.
    pub(crate) text: String,
}

/// Kind of difference between responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The same JSON values, with members in another order.
    Order,
    /// Something else.
    Content,
    /// Only one of both gateways was asked.
    Missing,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Order => "order of members",
            Self::Content => "content",
            Self::Missing => "asked of one gateway only",
        })
    }
}

impl Transcript {
    /// The transcript as a text, to be read and compared later.
    pub(crate) fn text(&self) -> String {
        let entry = |Entry { name, request, answer }: &Entry| format!("===== {name}\n>>> {request}\n{answer}\n\n");
        self.entries.iter().map(entry).collect()
    }

    /// The calls to which another transcript has another answer, or none.
    pub(crate) fn differences(&self, new: &Self) -> Vec<Difference> {
        let index = |transcript: &Self| -> HashMap<String, usize> {
            transcript.entries.iter().enumerate().map(|(place, entry)| (entry.name.clone(), place)).collect()
        };
        let (old_places, new_places) = (index(self), index(new));
        let (mut differences, mut names) = (Vec::new(), Names::default());
        for old in &self.entries {
            let (kind, text) = match new_places.get(&old.name).map(|place| &new.entries[*place]) {
                Some(new) if new.answer == old.answer => continue,
                Some(new) => {
                    let is_order = names.in_another_order(&old.answer, &new.answer);
                    (if is_order { Kind::Order } else { Kind::Content }, show(&old.answer, &new.answer))
                }
                None => {
                    let text = "  the new gateway was not asked this, because its scene failed before\n";
                    (Kind::Missing, text.to_owned())
                }
            };
            let text = format!("  > {:.300}\n{text}", old.request.replace('\n', " "));
            differences.push(Difference { name: old.name.clone(), kind, text });
        }
        for new in new.entries.iter().filter(|new| !old_places.contains_key(&new.name)) {
            let text = format!("  the old gateway was not asked this; the new one said: {:.400}\n", new.answer);
            differences.push(Difference { name: new.name.clone(), kind: Kind::Missing, text });
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(answers: &[(&str, &str)]) -> Transcript {
        let entry = |&(name, answer): &(&str, &str)| Entry {
            name: name.to_owned(),
            request: "GET /".to_owned(),
            answer: answer.to_owned(),
        };
        Transcript { entries: answers.iter().map(entry).collect() }
    }

    #[test]
    fn a_transcript_does_not_differ_from_itself() {
        let one = transcript(&[("a", "x"), ("b", "y")]);
        assert_eq!(one.differences(&one.clone()), []);
    }

    #[test]
    fn a_spoiled_answer_is_noticed_and_named() {
        let old = transcript(&[("a", "HTTP 200\netag: 1\n\n{\"a\":1,\"b\":2}"), ("b", "y")]);
        let new = transcript(&[("a", "HTTP 200\netag: 1\n\n{\"a\":1,\"b\":3}"), ("b", "y")]);
        let differences = old.differences(&new);
        assert_eq!(differences.len(), 1);
        assert_eq!((differences[0].name.as_str(), differences[0].kind), ("a", Kind::Content));
        assert!(differences[0].text.contains("[-2-]{+3+}"), "{}", differences[0].text);
    }

    #[test]
    fn calls_that_only_one_side_has_are_differences() {
        let (old, new) = (transcript(&[("a", "x"), ("b", "y")]), transcript(&[("a", "x"), ("c", "z")]));
        let differences = old.differences(&new);
        let told: Vec<_> = differences.iter().map(|Difference { name, kind, .. }| (name.as_str(), *kind)).collect();
        assert_eq!(told, [("b", Kind::Missing), ("c", Kind::Missing)]);
    }

    #[test]
    fn members_in_another_order_are_a_kind_of_their_own() {
        let old = transcript(&[("a", "HTTP 200\n\n{\"a\":1,\"b\":2}"), ("b", "{\"a\":1}")]);
        let new = transcript(&[("a", "HTTP 200\n\n{\"b\":2,\"a\":1}"), ("b", "{\"a\":2}")]);
        let kinds: Vec<_> = old.differences(&new).into_iter().map(|difference| difference.kind).collect();
        assert_eq!(kinds, [Kind::Order, Kind::Content]);
    }
}
