//! Output for people: colours where a terminal is, and progress of what takes time.

use std::{
    env,
    fmt::Display,
    io::{IsTerminal as _, stderr, stdout},
    time::Duration,
};

use clap::builder::styling::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time between two pictures of a spinner.
const TICK: Duration = Duration::from_millis(120);

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

/// Shows on standard error that something is under way, if that is a terminal.
pub(crate) fn spinner(what: &'static str) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(TICK);
    bar
}

/// Shows on standard error how many of `total` are done, if that is a terminal.
pub(crate) fn counter(total: u64, what: &'static str) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left");
    let bar = ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what);
    bar.enable_steady_tick(TICK);
    bar
}
