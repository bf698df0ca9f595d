//! Names that mean the same, as a file states them.
//!
//! | line | says |
//! | :-- | :-- |
//! | `a, b` | each of the names finds what the others name |
//! | `a => b, c` | `a` finds what `b` and `c` name, but not the other way around |
//! | `a = b` | both are forms of one word, and count the same |
//! | `[de]` | the lines that follow are of this language; those before it are of all languages |
//!
//! `#` begins a comment. The list that is built in has the same form.

use std::{fmt, mem};

use super::text::{fold_text, split_words};

/// Maximum length of a text of synonyms, in bytes.
pub const LONGEST_SYNONYMS: usize = 1 << 20;

/// Maximum number of names in a text, and in one line of it.
const MOST_NAMES: usize = 20_000;
const MOST_OF_LINE: usize = 16;

/// Maximum number of words of a name that has others.
pub(super) const LONGEST_NAME: usize = 3;

/// Maximum length of a name, in bytes.
const LONGEST_WORDS: usize = 100;

/// Maximum number of faults that are told.
const MOST_FAULTS: usize = 10;

/// The words of a name, folded.
pub(super) type Name = Vec<String>;

/// Statement that names mean the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Language, as a primary tag; `None` for all.
    pub(super) language: Option<String>,
    /// Names that find the others.
    pub(super) from: Vec<Name>,
    /// Names that they find.
    pub(super) to: Vec<Name>,
    /// `true` if they are forms of one word.
    pub(super) is_form: bool,
}

/// Names that mean the same, as an operator has stated them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Synonyms {
    text: String,
    rules: Vec<Rule>,
}

impl fmt::Debug for Synonyms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Synonyms").field("rules", &self.rules.len()).finish()
    }
}

/// Faults of a text of synonyms, each with the number of its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct BadSynonyms(Vec<String>);

impl BadSynonyms {
    /// Returns the faults, one for each line.
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl Synonyms {
    /// Reads a text. Fails with [`BadSynonyms`] if a line cannot be used, or the text is longer than
    /// [`LONGEST_SYNONYMS`].
    pub fn read(text: &str) -> Result<Self, BadSynonyms> {
        if text.len() > LONGEST_SYNONYMS {
            return Err(BadSynonyms(vec![format!(
                "synonyms of {} bytes, where at most {LONGEST_SYNONYMS} are read",
                text.len()
            )]));
        }
        if let Some(at) = text.find('\0') {
            let number = 1 + text[..at].matches('\n').count();
            return Err(BadSynonyms(vec![format!("line {number}: a NUL character; the file is to be UTF-8 text")]));
        }
        let (own, faults) = Self::readable(text);
        if faults.is_empty() { Ok(own) } else { Err(BadSynonyms(faults)) }
    }

    /// Reads what can be used of a text, and returns the faults of the rest.
    pub(super) fn readable(text: &str) -> (Self, Vec<String>) {
        let (mut rules, mut faults, mut names) = (Vec::new(), Vec::new(), 0);
        let mut language = None;
        for (number, line) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let read = match line.strip_prefix('[') {
                Some(tag) => section(tag).map(|tag| language = Some(tag)),
                None if line.is_empty() => Ok(()),
                None => rule(line).map(|(from, to, is_form)| {
                    names += if from == to { from.len() } else { from.len() + to.len() };
                    if names <= MOST_NAMES {
                        rules.push(Rule { language: language.clone(), from, to, is_form });
                    }
                }),
            };
            let is_over = names > MOST_NAMES;
            let read = read.and_then(|()| match is_over {
                true => Err(format!("more than {MOST_NAMES} names; leave out the ones that are searched for least")),
                false => Ok(()),
            });
            if let Err(fault) = read {
                faults.push(format!("line {number}: {fault}"));
            }
            if is_over || faults.len() == MOST_FAULTS {
                break;
            }
        }
        (Self { text: text.to_owned(), rules }, faults)
    }

    /// Returns the text that they were read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of statements.
    pub const fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns `true` if nothing is stated.
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds the synonyms of another text.
    pub fn extend(&mut self, mut other: Self) {
        self.text.push('\n');
        self.text.push_str(&other.text);
        self.rules.extend(mem::take(&mut other.rules));
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

/// Reads the tag of a language behind `[`.
fn section(tag: &str) -> Result<String, String> {
    let tag = tag.strip_suffix(']').map(str::trim).unwrap_or_default();
    let is_tag = (2..=8).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_tag {
        return Err("a section names a language, such as [de]".to_owned());
    }
    let tag = tag.to_ascii_lowercase();
    // Both ways to write Norwegian.
    Ok(if matches!(&*tag, "nb" | "nn") { "no".to_owned() } else { tag })
}

/// Reads a line: the names that find others, those that they find, and whether they are forms of one word.
fn rule(line: &str) -> Result<(Vec<Name>, Vec<Name>, bool), String> {
    if let Some((from, to)) = line.split_once("=>") {
        if to.contains('=') {
            return Err("more than one `=>`".to_owned());
        }
        return Ok((names(from, ",", 1)?, names(to, ",", 1)?, false));
    }
    let is_form = line.contains('=');
    if is_form && line.contains(',') {
        return Err("both `=` and `,`; write two lines".to_owned());
    }
    let all = names(line, if is_form { "=" } else { "," }, 2)?;
    Ok((all.clone(), all, is_form))
}

/// Reads a list of names, of which there must be at least `least`.
fn names(list: &str, between: &str, least: usize) -> Result<Vec<Name>, String> {
    let texts: Vec<&str> = list.split(between).map(str::trim).collect();
    if texts.len() > MOST_OF_LINE {
        return Err(format!("{} names, where at most {MOST_OF_LINE} are read in one list", texts.len()));
    }
    let names = texts.iter().map(|text| name(text)).collect::<Result<Vec<_>, _>>()?;
    if names.len() < least {
        return Err(format!(
            "`{}` alone; write two names, such as `sofa, couch`, or `settee => sofa`",
            texts.first().unwrap_or(&"")
        ));
    }
    Ok(names)
}

fn name(text: &str) -> Result<Name, String> {
    if text.len() > LONGEST_WORDS {
        return Err(format!("a name of {} bytes, where at most {LONGEST_WORDS} are read", text.len()));
    }
    let words = split_words(&fold_text(text));
    match words.len() {
        0 if text.is_empty() => Err("an empty name".to_owned()),
        0 => Err(format!("`{}` has no letter or digit", text.escape_debug())),
        1..=LONGEST_NAME => Ok(words),
        many => Err(format!("`{}` has {many} words, where a name has at most {LONGEST_NAME}", text.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(text: &str) -> Name {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_read_with_their_language() {
        let read = Synonyms::read(
            "\u{feff}# ours\nSofa, Couch # both\n\n[DE]\nFernseher => TV Gerät, Bildschirm\ncolour = color\r\n",
        )
        .expect("reads");
        let of = |language: Option<&str>, from: &[&str], to: &[&str], is_form| Rule {
            language: language.map(str::to_owned),
            from: from.iter().map(|name| name_of(name)).collect(),
            to: to.iter().map(|name| name_of(name)).collect(),
            is_form,
        };
        assert_eq!(
            read.rules(),
            [
                of(None, &["sofa", "couch"], &["sofa", "couch"], false),
                of(Some("de"), &["fernseher"], &["tv gerat", "bildschirm"], false),
                of(Some("de"), &["colour", "color"], &["colour", "color"], true),
            ]
        );
        assert!(Synonyms::read("").expect("reads").rules().is_empty());
    }

    #[test]
    fn lines_that_cannot_be_used_are_told_by_their_numbers() {
        for (text, fault) in [
            ("a, b\nsofa", "line 2: `sofa` alone; write two names, such as `sofa, couch`, or `settee => sofa`"),
            ("a => ", "line 1: an empty name"),
            (" => b", "line 1: an empty name"),
            ("a => b => c", "line 1: more than one `=>`"),
            ("a = b, c", "line 1: both `=` and `,`; write two lines"),
            ("a, --", "line 1: `--` has no letter or digit"),
            ("a, one of four words", "line 1: `one of four words` has 4 words, where a name has at most 3"),
            ("[german, swiss]", "line 1: a section names a language, such as [de]"),
            ("a, b\n# \0", "line 2: a NUL character; the file is to be UTF-8 text"),
            ("[de\na, b", "line 1: a section names a language, such as [de]"),
        ] {
            assert_eq!(Synonyms::read(text).expect_err(text).lines(), [fault], "{text}");
        }
        assert_eq!(Synonyms::read("a\n".repeat(50).as_str()).expect_err("many").lines().len(), MOST_FAULTS);
    }

    #[test]
    fn sizes_are_bounded() {
        let fault = |text: &str| Synonyms::read(text).expect_err("too much").to_string();
        let many = (0..=MOST_NAMES / 2).map(|number| format!("a{number}, b{number}\n")).collect::<String>();
        assert!(fault(&many).starts_with("line 10001: more than 20000 names"), "{}", fault(&many));
        assert!(fault(&vec!["a"; MOST_OF_LINE + 1].join(",")).contains("17 names, where at most 16"));
        assert!(fault(&format!("a, {}", "b".repeat(LONGEST_WORDS + 1))).contains("a name of 101 bytes"));
        assert!(fault(&"#".repeat(LONGEST_SYNONYMS + 1)).contains("bytes, where at most 1048576 are read"));
    }
}
