//! Progress on standard error of what takes time, where a terminal is.

use std::{
    io::IsTerminal as _,
    sync::{Arc, OnceLock},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ucp_shop::Progress;

/// Creates a progress bar; a hidden one if standard error is not a terminal or the total is unknown.
pub fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    let Some(total) = total.filter(|_| std::io::stderr().is_terminal()) else {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    };
    let bar = ProgressBar::new(total).with_style(style(template));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Shows that something is under way, whose end is not known.
pub fn spinner(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Shows the progress of building a search index; `None` if standard error is not a terminal, where the log tells it.
pub(crate) fn indexing() -> Option<Arc<dyn Fn(Progress) + Send + Sync>> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let shown = OnceLock::new();
    Some(Arc::new(move |Progress { done, total }| {
        let template = "search index {bar:40} {percent:>3}% {pos} of {len} products, {eta} left";
        let bar = shown.get_or_init(|| bar(Some(total), template));
        bar.set_position(done);
        if done >= total {
            bar.finish_and_clear();
        }
    }))
}
