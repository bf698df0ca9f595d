//! The last calls, up to a size.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::entry::Summary;

/// Maximum number of calls.
const MOST: usize = 1_000;

/// Maximum size of all calls in bytes, as JSON.
const MAX_BYTES: usize = 32 << 20;

/// A ring of calls. What does not fit into it pushes the oldest ones out.
#[derive(Debug, Default)]
pub(crate) struct Ring(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    /// Calls, the oldest first.
    all: VecDeque<Kept>,
    bytes: usize,
}

/// A call.
#[derive(Debug)]
struct Kept {
    summary: Summary,
    /// The call as JSON, masked.
    json: String,
    /// The call as it came, if it was recorded whole.
    whole: Option<String>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.json.len() + self.whole.as_ref().map_or(0, String::len)
    }
}

impl Ring {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call, its JSON, and the call as it came, if it was recorded whole.
    pub(super) fn add(&self, summary: Summary, json: String, whole: Option<String>) {
        let kept = Kept { summary, json, whole };
        let mut calls = self.calls();
        calls.bytes += kept.bytes();
        calls.all.push_back(kept);
        while calls.all.len() > MOST || calls.bytes > MAX_BYTES {
            let Some(oldest) = calls.all.pop_front() else { break };
            calls.bytes -= oldest.bytes();
        }
    }

    /// Returns up to `most` calls that `takes` says `true` to, the newest first.
    pub(super) fn newest(&self, most: usize, takes: impl Fn(&Summary) -> bool) -> Vec<Summary> {
        let calls = self.calls();
        calls.all.iter().rev().map(|kept| &kept.summary).filter(|summary| takes(summary)).take(most).cloned().collect()
    }

    /// Returns the JSON of the newest call with the identifier `id`.
    pub(super) fn get(&self, id: &str) -> Option<String> {
        self.calls().all.iter().rev().find(|kept| kept.summary.id == id).map(|kept| kept.json.clone())
    }

    /// Returns the summary of the newest call with the identifier `id`.
    pub(super) fn summary(&self, id: &str) -> Option<Summary> {
        self.calls().all.iter().rev().map(|kept| &kept.summary).find(|summary| summary.id == id).cloned()
    }

    /// Returns the newest call with the identifier `id` as it came, as JSON; `None` if it was not recorded whole.
    pub(super) fn whole(&self, id: &str) -> Option<String> {
        self.calls().all.iter().rev().find(|kept| kept.summary.id == id)?.whole.clone()
    }
}

#[cfg(test)]
mod tests {
    use ucp_core::record::Facts;

    use super::*;
    use crate::metrics::Ended;

    fn summary(id: &str) -> Summary {
        let facts = Facts { request_id: id.to_owned(), ..Facts::default() };
        let ended = Ended {
            shop: "default",
            platform: None,
            facts: &facts,
            status: Some(200),
            bytes_out: 0,
            spent: Default::default(),
            are_orders_elsewhere: false,
        };
        Summary::of(&ended, String::new(), "GET".to_owned(), "/".to_owned())
    }

    #[test]
    fn a_ring_keeps_the_newest_calls_that_fit() {
        let ring = Ring::default();
        for number in 0..=MOST {
            ring.add(summary(&format!("r{number}")), "{}".to_owned(), None);
        }
        assert!(ring.get("r0").is_none() && ring.get("r1").is_some());
        let ids: Vec<_> = ring.newest(2, |call| call.id != "r1000").into_iter().map(|call| call.id).collect();
        assert_eq!(ids, ["r999", "r998"]);
        ring.add(summary("large"), "x".repeat(MAX_BYTES - 4), None);
        assert_eq!(ring.newest(MOST, |_| true).len(), 3);
        ring.add(summary("larger"), "x".repeat(MAX_BYTES + 1), None);
        assert!(ring.newest(MOST, |_| true).is_empty());
        ring.add(summary("small"), "{}".to_owned(), None);
        assert_eq!(ring.get("small").as_deref(), Some("{}"));
    }
}
