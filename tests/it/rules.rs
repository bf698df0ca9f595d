//! Rules and traps: every id that sources, tests and documents mention is defined in `docs/rules.md`, once, and every
//! id that is defined there is mentioned.
//!
//! An id is a group and a number of two digits. It is mentioned with a hyphen, also as an end of a range, or at the
//! beginning of the name of a test. Words of that form are ids when their group is one of `docs/rules.md`, or when
//! "rule" or "trap" stands before them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use crate::harness::repository;

/// The page that defines the ids.
const PAGE: &str = "docs/rules.md";

/// A group, and a number within it.
type Id = (String, u8);

/// The ids of a text, with the lines that mention them. Of a group that `discovery` denies, only those that are called
/// a rule or a trap count.
fn mentioned(text: &str, known: impl Fn(&str) -> bool) -> Vec<(usize, Id)> {
    let part = |other: char| !(other.is_ascii_alphanumeric() || matches!(other, '-' | '_'));
    let lines = text.lines().zip(1..);
    let words: Vec<(usize, &str)> = lines
        .flat_map(|(line, number)| line.split(part).filter(|word| !word.is_empty()).map(move |word| (number, word)))
        .collect();
    let word = |position: usize| words.get(position).map_or("", |(_, word)| *word);
    let mut found = Vec::new();
    for (position, (line, text)) in words.iter().enumerate() {
        let before = position.checked_sub(1).map_or("", word);
        if before == "fn" {
            found.extend(of_test(text).map(|id| (*line, id)));
        }
        let Some((group, first)) = id(text) else { continue };
        let called = ["rule", "rules", "trap", "traps"].iter().any(|name| before.eq_ignore_ascii_case(name));
        if called || known(&group) {
            // The last one of a range is a word of its own.
            let last = if word(position + 1) == "to" { id(word(position + 2)) } else { None };
            let after = last.filter(|(other, _)| *other == group).map_or(first, |(_, last)| last).max(first + 1);
            found.extend((first..after).map(|number| (*line, (group.clone(), number))));
        }
    }
    found
}

/// The id that a word is: up to four capital letters, the last of which may be a digit, a hyphen, and two digits.
fn id(word: &str) -> Option<Id> {
    let (group, number) = word.split_once('-')?;
    let letters = group.trim_end_matches(|last: char| last.is_ascii_digit());
    let fits = (1..=4).contains(&group.len()) && !letters.is_empty() && group.len() - letters.len() <= 1;
    let upper = letters.bytes().all(|letter| letter.is_ascii_uppercase());
    (fits && upper && number.len() == 2).then(|| number.parse().ok().map(|number| (group.to_owned(), number)))?
}

/// The id that the name of a test begins with.
fn of_test(name: &str) -> Option<Id> {
    let mut parts = name.splitn(3, '_');
    let (group, number, _) = (parts.next()?, parts.next()?, parts.next()?);
    id(&format!("{}-{number}", group.to_ascii_uppercase()))
}

/// Faults of the definitions on the page and of the mentions in other files, given with their paths.
fn mistakes<'a>(page: &str, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut defined: BTreeMap<Id, usize> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for (line, number) in page.lines().zip(1..) {
        let cell = line.strip_prefix("| ").and_then(|row| row.split_once(" |"));
        let Some((group, rule)) = cell.and_then(|(cell, _)| id(cell)) else { continue };
        if let Some(first) = defined.insert((group.clone(), rule), number) {
            mistakes.push(format!("{PAGE}:{number}: {group}-{rule:02} is defined in line {first} already"));
        }
    }
    let groups: BTreeSet<String> = defined.keys().map(|(group, _)| group.clone()).collect();
    let mut unused = defined.clone();
    for (path, text) in files {
        for (line, id) in mentioned(text, |group| groups.contains(group)) {
            unused.remove(&id);
            if !defined.contains_key(&id) {
                mistakes.push(format!("{path}:{line}: {}-{:02} is not defined in {PAGE}", id.0, id.1));
            }
        }
    }
    let unused = unused.into_iter();
    mistakes.extend(unused.map(|((group, rule), line)| format!("{PAGE}:{line}: nothing mentions {group}-{rule:02}")));
    mistakes
}

#[test]
fn every_id_is_defined_once_and_every_definition_is_mentioned() {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(list).current_dir(repository()).output().expect("git");
    assert!(listed.status.success(), "git lists no files: {}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).expect("paths");
    // Mentions in this file are examples.
    let paths = paths.split_terminator('\0').filter(|path| !matches!(*path, PAGE | "tests/it/rules.rs"));
    // Files that are no text, or were removed and not committed yet, mention nothing.
    let files: Vec<_> =
        paths.filter_map(|path| Some((path, fs::read_to_string(repository().join(path)).ok()?))).collect();
    assert!(files.iter().any(|(path, _)| *path == "tests/it/main.rs"), "{} files", files.len());
    let page = fs::read_to_string(repository().join(PAGE)).expect("the page");
    let mistakes = mistakes(&page, files.iter().map(|(path, text)| (*path, text.as_str())));
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// A page that defines three ids.
const DEFINED: &str = "| Id | Rule |\n| :-- | :-- |\n| AB-01 | One. |\n| AB-02 | Two. |\n| Z9-07 | See AB-03. |\n";

/// Faults of a file with this text beside a page that defines three IDs, all of which are mentioned elsewhere.
fn wrong(text: &str) -> Vec<String> {
    mistakes(DEFINED, [("all", "AB-01, AB-02, Z9-07"), ("a.rs", text)])
}

#[test]
fn an_id_that_is_not_defined_is_named_with_file_and_line() {
    for text in [
        "\n// (rule AB-03).",
        "\n/// AB-03: it holds.",
        "\nfn ab_03_it_holds() {",
        "\nassert!(holds, \"AB-03\");",
        "\n\"description\": \"It holds (trap AB-03).\"",
    ] {
        assert_eq!(wrong(text), ["a.rs:2: AB-03 is not defined in docs/rules.md"], "{text}");
    }
    let inside = ["a.rs:1: AB-03 is not defined in docs/rules.md", "a.rs:2: AB-04 is not defined in docs/rules.md"];
    assert_eq!(wrong("//! (AB-02 to\n//! AB-04)"), inside);
    assert_eq!(wrong("as trap NEW-01 says"), ["a.rs:1: NEW-01 is not defined in docs/rules.md"]);
    assert_eq!(wrong("fn z9_08_it_holds() {"), ["a.rs:1: Z9-08 is not defined in docs/rules.md"]);
}

#[test]
fn what_looks_like_an_id_is_none() {
    for text in [
        "UTF-16, EAN-13, US-CA",
        "AB-1, AB-003, AB-03-X, X-AB-03, AB-03_x",
        "fn ab_3_it_holds() {}",
        "fn holds_ab_03() {}",
        "AB-01 to AB-02, Z9-07",
        "rule 03",
    ] {
        assert_eq!(wrong(text), [""; 0], "{text}");
    }
}

#[test]
fn an_id_that_is_defined_twice_or_for_nothing_is_named_with_its_line() {
    let page = [DEFINED, "| AB-01 | Again. |\n"].concat();
    assert_eq!(
        mistakes(&page, [("a.rs", "AB-01, fn z9_07_it_holds()")]),
        ["docs/rules.md:6: AB-01 is defined in line 3 already", "docs/rules.md:4: nothing mentions AB-02"]
    );
}
