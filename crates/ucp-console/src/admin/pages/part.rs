//! Parts that the pages have in common: tables, figures, bars, times and amounts.

use std::fmt::Display;

use jiff::{Timestamp, tz::TimeZone};
use maud::{Markup, html};
use ucp_host::clock;

/// Renders a table; `none` stands for one without rows.
pub(super) fn table(label: &str, heads: &[&str], rows: &[Vec<Markup>], none: &str) -> Markup {
    html! {
        @if rows.is_empty() { p.empty { (none) } } @else {
            div.scroll tabindex="0" role="group" aria-label=(label) {
                table {
                    thead { tr { @for head in heads { th scope="col" { (head) } } } }
                    tbody { @for row in rows { tr { @for (place, cell) in row.iter().enumerate() {
                        @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                    } } } }
                }
            }
        }
    }
}

pub(super) fn cell(text: &dyn Display) -> Markup {
    html! { (text) }
}

/// Renders a number, right-aligned where a table has a column of them.
pub(super) fn number(value: u64) -> Markup {
    html! { span.number { (count(value)) } }
}

/// Renders numbers with their names.
pub(super) fn numbers(numbers: impl IntoIterator<Item = (String, u64)>) -> Markup {
    html! {
        dl.facts.numbers {
            @for (name, number) in numbers { div { dt { (name) } dd { (count(number)) } } }
        }
    }
}

/// A figure that is looked at first.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Explanation beside the value: its unit, parts or meaning.
    pub(super) note: String,
    /// `true` if it asks for something to be done.
    pub(super) is_alarming: bool,
}

impl Figure {
    pub(super) fn new(name: &'static str, value: impl Into<String>, note: impl Into<String>) -> Self {
        Self { name, value: value.into(), note: note.into(), is_alarming: false }
    }

    /// Marks the figure if it asks for something to be done.
    pub(super) fn alarming(self, is_alarming: bool) -> Self {
        Self { is_alarming, ..self }
    }
}

/// Renders figures as tiles.
pub(super) fn tiles(figures: &[Figure]) -> Markup {
    html! {
        dl.tiles {
            @for Figure { name, value, note, is_alarming } in figures {
                div class=[is_alarming.then_some("alarming")] {
                    dt { (name) }
                    dd { span.value-of { (value) } @if !note.is_empty() { small { (note) } } }
                }
            }
        }
    }
}

/// Renders a share between 0 and 1 as a bar, which says nothing that the text beside it does not.
pub(super) fn bar(share: f64) -> Markup {
    let width = format!("{:.2}", share.clamp(0.0, 1.0) * 100.0);
    html! {
        svg.bar aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none" {
            rect.track width="100" height="8" {}
            rect width=(width) height="8" {}
        }
    }
}

/// Formats a number with commas between groups of three digits.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Renders a time, and how far from now it is.
pub(super) fn when(at: Timestamp) -> Markup {
    let text = at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string();
    html! { time datetime=(at) { (text) } " " small.ago { (distance(at, clock::timestamp())) } }
}

/// Formats how far a time is from `now`, in its largest unit.
fn distance(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    let (size, unit) = match seconds.unsigned_abs() {
        0..60 => (seconds.unsigned_abs(), "s"),
        size @ 60..3_600 => (size / 60, "min"),
        size @ 3_600..86_400 => (size / 3_600, "h"),
        size => (size / 86_400, "d"),
    };
    if seconds < 0 { format!("in {size} {unit}") } else { format!("{size} {unit} ago") }
}

/// Formats a time in seconds.
pub(super) fn seconds(value: f64) -> String {
    match value {
        value if value < 0.01 => format!("{:.1} ms", value * 1_000.0),
        value if value < 1.0 => format!("{:.0} ms", value * 1_000.0),
        value => format!("{value:.1} s"),
    }
}

/// Formats a number of bytes.
pub(super) fn bytes(value: f64) -> String {
    match value {
        value if value < 10e3 => format!("{value:.0} B"),
        value if value < 1e6 => format!("{:.0} kB", value / 1e3),
        value if value < 1e9 => format!("{:.1} MB", value / 1e6),
        value => format!("{:.2} GB", value / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let counted = [0, 999, 1_000, 12_345, 1_234_567].map(count);
        assert_eq!(counted, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!([0.000_4, 0.25, 12.04].map(seconds), ["0.4 ms", "250 ms", "12.0 s"]);
        assert_eq!([512.0, 20_000.0, 5_400_000.0, 2.5e9].map(bytes), ["512 B", "20 kB", "5.4 MB", "2.50 GB"]);
    }

    #[test]
    fn times_are_told_by_their_distance() {
        let now: Timestamp = "2026-08-25T12:00:00Z".parse().expect("a time");
        let told = [0, 59, 60, 7_199, 86_400, -90].map(|seconds: i64| distance(now - seconds.seconds(), now));
        assert_eq!(told, ["0 s ago", "59 s ago", "1 min ago", "1 h ago", "1 d ago", "in 1 min"]);
    }
}
