//! Differences that are meant: the order of members, or a list with one call-name pattern and a reason per line.

use std::{cell::Cell, fs, path::PathBuf};

use crate::{Done, transcript::Kind};

/// A line of the list.
#[derive(Debug)]
struct Line {
    number: usize,
    pattern: String,
    used: Cell<bool>,
}

/// Intended differences.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    order: bool,
    lines: Vec<Line>,
}

impl Allowed {
    /// Reads what is allowed: `order`, and lists. `*` in a pattern stands for any text; lines that begin with `#` are
    /// comments.
    pub(crate) fn read(meant: &[PathBuf]) -> Done<Self> {
        let mut allowed = Self::default();
        for file in meant {
            if file.as_os_str() == "order" {
                allowed.order = true;
                continue;
            }
            let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            allowed.lines.extend(Self::parse(&text).map_err(|fault| format!("{}: {fault}", file.display()))?.lines);
        }
        Ok(allowed)
    }

    fn parse(text: &str) -> Done<Self> {
        let mut lines = Vec::new();
        for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if line.starts_with('#') {
                continue;
            }
            let number = place + 1;
            let (pattern, _reason) = line
                .trim()
                .split_once(char::is_whitespace)
                .ok_or_else(|| format!("line {number} must be a pattern of call names, a space and a reason"))?;
            lines.push(Line { number, pattern: pattern.to_owned(), used: Cell::new(false) });
        }
        Ok(Self { order: false, lines })
    }

    /// Returns `true` if any call may differ in this way.
    pub(crate) fn permits(&self, kind: Kind) -> bool {
        self.order && kind == Kind::Order
    }

    /// Returns `true` if a call may differ. Every line that says so counts as used.
    pub(crate) fn covers(&self, name: &str) -> bool {
        let mut covers = false;
        for line in self.lines.iter().filter(|line| matches(&line.pattern, name)) {
            line.used.set(true);
            covers = true;
        }
        covers
    }

    /// The lines that no difference needed.
    pub(crate) fn unused(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().filter(|line| !line.used.get()).map(|line| (line.number, line.pattern.as_str()))
    }
}

/// Returns `true` if a name fits a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            let mut places = name.char_indices().map(|(place, _)| place).chain([name.len()]);
            places.any(|place| matches(rest, &name[place..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_may_leave_parts_open() {
        for (pattern, name, fits) in [
            ("a/b", "a/b", true),
            ("a/*", "a/b/c", true),
            ("*/complete_checkout", "purchase/rest/complete_checkout", true),
            ("a/*/c", "a/b/d", false),
            ("a", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn lines_that_nothing_needs_are_known() {
        let allowed = Allowed::parse("# meant\na/* the title is new\n\nb/c gone\n").expect("a list");
        assert!(allowed.covers("a/x") && !allowed.covers("c"));
        assert_eq!(allowed.unused().collect::<Vec<_>>(), [(4, "b/c")]);
        assert!(Allowed::parse("lonely\n").is_err());
    }
}
