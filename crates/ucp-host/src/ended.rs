//! A call that has ended, as metrics, events, spans and the inspector are told of it.

use std::time::Duration;

use ucp_record::{Facts, Stage};

/// A call that has ended.
pub struct Ended<'a> {
    /// Identifier of the shop.
    pub shop: &'a str,
    /// Name of the platform if it is registered.
    pub platform: Option<&'a str>,
    /// Known facts about the call.
    pub facts: &'a Facts,
    /// `true` if orders are kept by a shop elsewhere, so that the calls that place them are all that is known of them.
    pub are_orders_elsewhere: bool,
    /// Status of the answer; `None` if the caller has gone before there was one.
    pub status: Option<u16>,
    /// Size of the answer, in bytes.
    pub bytes_out: u64,
    /// Time that was spent in each of [`Stage::ALL`].
    pub spent: [Duration; Stage::ALL.len()],
}

impl Ended<'_> {
    /// Returns what came of the call: `ok`, the code of the refusal, `no_resource`, `error` or `client_closed`.
    pub fn outcome(&self) -> &'static str {
        match (self.facts.refused, &self.facts.error, self.status) {
            (_, _, None) => "client_closed",
            (Some(code), ..) => code.as_str(),
            (None, Some(_), _) => "no_resource",
            (None, None, Some(..400)) => "ok",
            (None, None, Some(_)) => "error",
        }
    }
}
