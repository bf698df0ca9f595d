//! Shows where two texts differ, with a little of what stands around.

/// The most places that are shown of one answer.
const PLACES: usize = 5;

/// The most characters that are shown before and behind a change, and of the change itself.
const AROUND: usize = 90;
const CHANGED: usize = 120;

/// The changed places of two texts, a line each.
pub(crate) fn show(old: &str, new: &str) -> String {
    let (old_lines, new_lines): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let before = old_lines.iter().zip(&new_lines).take_while(same).count();
    let rest = old_lines.len().min(new_lines.len()) - before;
    let behind = old_lines.iter().rev().zip(new_lines.iter().rev()).take_while(same).count().min(rest);
    let (old_lines, new_lines) =
        (&old_lines[before..old_lines.len() - behind], &new_lines[before..new_lines.len() - behind]);
    let mut shown = Vec::new();
    if old_lines.len() == new_lines.len() {
        for (old, new) in old_lines.iter().zip(new_lines).filter(|(old, new)| old != new) {
            shown.push(line(old, new));
        }
    } else {
        // Headers that one of both has are shown by themselves.
        for old in old_lines.iter().filter(|old| !new_lines.contains(old)) {
            shown.push(format!("- {}", cut(old, CHANGED)));
        }
        for new in new_lines.iter().filter(|new| !old_lines.contains(new)) {
            shown.push(format!("+ {}", cut(new, CHANGED)));
        }
        if shown.is_empty() {
            shown.push(line(old, new));
        }
    }
    let more = shown.len().saturating_sub(PLACES);
    shown.truncate(PLACES);
    if more > 0 {
        shown.push(format!("and {more} more lines"));
    }
    shown.iter().map(|line| format!("    {line}\n")).collect()
}

/// A line that changed.
fn line(old: &str, new: &str) -> String {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let before = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - before;
    let behind = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count().min(rest);
    let text = |characters: &[char]| characters.iter().collect::<String>();
    let start = before.saturating_sub(AROUND);
    let end = (old.len() - behind + AROUND).min(old.len());
    format!(
        "{}{}[-{}-]{{+{}+}}{}{}",
        if start > 0 { "…" } else { "" },
        text(&old[start..before]),
        cut(&text(&old[before..old.len() - behind]), CHANGED),
        cut(&text(&new[before..new.len() - behind]), CHANGED),
        text(&old[old.len() - behind..end]),
        if end < old.len() { "…" } else { "" },
    )
}

/// A text of limited length.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    format!("{}… ({length} characters)", text.chars().take(most).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_megabytes_is_shown_in_a_line() {
        let long = "x".repeat(1_000_000);
        let said = show(&format!("{long}a{long}"), &format!("{long}b{long}"));
        assert!(said.len() < 1_000 && said.contains("[-a-]{+b+}"), "{said:.2000}");
    }

    #[test]
    fn a_header_more_is_shown_by_itself() {
        let said = show("HTTP 200\na: 1\n\n{}", "HTTP 200\na: 1\nb: 2\n\n{}");
        assert_eq!(said.trim(), "+ b: 2");
    }

    #[test]
    fn lines_in_another_order_are_a_change() {
        assert!(!show("a\nb\nc", "b\na\nc").is_empty());
    }
}
