//! A call that has ended, as metrics, events, spans and the inspector are told of it.

use std::time::Duration;

use ucp_core::record::{Facts, Stage};

/// A call that has ended.
pub(crate) struct Ended<'a> {
    pub(crate) shop: &'a str,
    /// Name of the platform if it is registered.
    pub(crate) platform: Option<&'a str>,
    pub(crate) facts: &'a Facts,
    /// `true` if orders are kept by a shop elsewhere, so that the calls that place them are all that is known of them.
    pub(crate) are_orders_elsewhere: bool,
    /// Status of the answer; `None` if the caller has gone before there was one.
    pub(crate) status: Option<u16>,
    pub(crate) bytes_out: u64,
    /// Time that was spent in each of [`Stage::ALL`].
    pub(crate) spent: [Duration; Stage::ALL.len()],
}

impl Ended<'_> {
    /// Returns what came of the call: `ok`, the code of the refusal, `no_resource`, `error` or `hung_up`.
    pub(crate) fn outcome(&self) -> &'static str {
        match (self.facts.refused, &self.facts.error, self.status) {
            (_, _, None) => "hung_up",
            (Some(code), ..) => code.as_str(),
            (None, Some(_), _) => "no_resource",
            (None, None, Some(..400)) => "ok",
            (None, None, Some(_)) => "error",
        }
    }
}
