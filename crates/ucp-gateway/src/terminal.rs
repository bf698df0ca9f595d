//! Text for people, where a terminal may be: its colors, and nothing in it that steers the terminal.

use std::{
    borrow::Cow,
    env,
    fmt::{Display, Write as _},
    io::{self, IsTerminal as _, Write, stdout},
};

use clap::builder::styling::{AnsiColor, Style};
use ucp_core::text::{is_invisible, is_unfit};

/// Sequences that the colors of this process consist of. In a text from outside they change its color and nothing else.
const COLOURS: [&str; 11] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[3m",
    "\u{1b}[22m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
    "\u{1b}[36m",
];

/// Returns a text with every character escaped that steers a terminal or hides what is around it: control characters (C0
/// but tabs and line feeds, and C1), those that change the direction of writing, and others that nobody sees. The escapes are
/// those of JSON, so that a JSON text stays the same document.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let is_hidden = |letter: char| letter == '\r' || is_unfit(letter) || is_invisible(letter);
    // Most texts are plain.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')) || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len() + 16), text);
    while let Some(letter) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let (now, later) = rest.split_at(colour.map_or(letter.len_utf8(), |colour| colour.len()));
        if colour.is_some() || !is_hidden(letter) {
            shown.push_str(now);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").unwrap_or_else(|_| unreachable!("writing to a text does not fail"));
            }
        }
        rest = later;
    }
    Cow::Owned(shown)
}

/// Writer of [`shown`] text.
#[derive(Debug)]
pub(crate) struct Shown<W>(pub(crate) W);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.write_all(shown(&String::from_utf8_lossy(text)).as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Colors of what is printed to standard output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    /// Colors if standard output is a terminal, and `NO_COLOR` and `TERM=dumb` say nothing else.
    pub(crate) fn of_stdout() -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(stdout().is_terminal() && !refused && !dumb)
    }

    /// No colors.
    #[cfg(test)]
    pub(crate) const fn none() -> Self {
        Self(false)
    }

    fn in_style(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    pub(crate) fn good(self, text: impl Display) -> String {
        self.in_style(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn bad(self, text: impl Display) -> String {
        self.in_style(AnsiColor::Red.on_default().bold(), text)
    }

    pub(crate) fn doubtful(self, text: impl Display) -> String {
        self.in_style(AnsiColor::Yellow.on_default(), text)
    }

    pub(crate) fn strong(self, text: impl Display) -> String {
        self.in_style(Style::new().bold(), text)
    }

    pub(crate) fn faint(self, text: impl Display) -> String {
        self.in_style(Style::new().dimmed(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_steers_a_terminal() {
        for hidden in
            (0..0x20).chain(0x7f..0xa0).chain([0x200e, 0x202e, 0x2066, 0x2069, 0x61c, 0xfeff, 0xad, 0xe0041, 0xffff])
        {
            let letter = char::from_u32(hidden).expect("a character");
            let text = format!("a{letter}[2Jb");
            let said = shown(&text);
            assert_eq!(said.contains(letter), matches!(letter, '\t' | '\n'), "{said}");
            let json = format!("\"a{letter}b\"");
            if !letter.is_ascii_control() {
                let read: String = serde_json::from_str(&shown(&json)).expect("JSON");
                assert_eq!(read, format!("a{letter}b"), "the same document");
            }
        }
        for plain in ["", "a\tb\nc", "Ünï ½ 👩‍🌾 שלום", "\u{1b}[31m\u{1b}[1mred\u{1b}[0m"] {
            assert_eq!(shown(plain), plain);
        }
        assert_eq!(shown("\u{1b}[8mhidden\u{1b}]0;title\u{7}"), "\\u001b[8mhidden\\u001b]0;title\\u0007");
        let paint = Paint(true);
        for painted in [paint.good("a"), paint.bad("a"), paint.doubtful("a"), paint.strong("a"), paint.faint("a")] {
            assert_eq!(shown(&painted), painted);
        }
        let mut written = Shown(Vec::new());
        write!(written, "a\u{9b}b").expect("is written");
        assert_eq!(written.0, b"a\\u009bb");
    }
}
