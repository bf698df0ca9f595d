//! What a gateway said to the corpus, call by call, and how two of these differ.

mod difference;

use std::collections::HashMap;

pub(crate) use self::difference::show;

/// A call and its answer, both normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name of the call, such as `purchase/2026-04-08/mcp/complete_checkout`.
    pub(crate) name: String,
    /// What was sent, for whoever reads.
    pub(crate) request: String,
    /// What came back, which is compared.
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
    /// What differs, for whoever reads.
    pub(crate) text: String,
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
        let mut differences = Vec::new();
        for old in &self.entries {
            let text = match new_places.get(&old.name).map(|place| &new.entries[*place]) {
                Some(new) if new.answer == old.answer => continue,
                Some(new) => show(&old.answer, &new.answer),
                None => "  the new gateway was not asked this, because its scene failed before\n".to_owned(),
            };
            let text = format!("  > {:.300}\n{text}", old.request.replace('\n', " "));
            differences.push(Difference { name: old.name.clone(), text });
        }
        for new in new.entries.iter().filter(|new| !old_places.contains_key(&new.name)) {
            let text = format!("  the old gateway was not asked this; the new one said: {:.400}\n", new.answer);
            differences.push(Difference { name: new.name.clone(), text });
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
        assert_eq!(differences[0].name, "a");
        assert!(differences[0].text.contains("[-2-]{+3+}"), "{}", differences[0].text);
    }

    #[test]
    fn calls_that_only_one_side_has_are_differences() {
        let (old, new) = (transcript(&[("a", "x"), ("b", "y")]), transcript(&[("a", "x"), ("c", "z")]));
        let names: Vec<_> = old.differences(&new).into_iter().map(|difference| difference.name).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
