//! Colours of what is printed for people, where a terminal is.

use std::{
    env,
    fmt::Display,
    io::{IsTerminal as _, stdout},
};

use clap::builder::styling::{AnsiColor, Style};

/// Colours of what is printed to standard output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    /// Colours if standard output is a terminal, and `NO_COLOR` and `TERM=dumb` say nothing else.
    pub(crate) fn of_stdout() -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(stdout().is_terminal() && !refused && !dumb)
    }

    /// No colours.
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
