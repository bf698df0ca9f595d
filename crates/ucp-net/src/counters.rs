//! Counters of events between the gateway and an upstream, for its operator.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, header};
use jiff::{Timestamp, fmt::rfc2822};
use serde::Serialize;
use tokio::time::Instant;

/// A number that grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self) {
        self.count(1);
    }

    pub(super) fn count(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        /// Counters since the start. Everything that belongs to one upstream may share one.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(pub(super) $name: Counter,)+
            noted: Mutex<BTreeMap<&'static str, u64>>,
            /// `Date` of the last answer, and when it came.
            dated: Mutex<Option<(Timestamp, Instant)>>,
        }

        /// The counts at one moment.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Snapshot {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Counts of the adapter, by the names that it gave.
            pub noted: BTreeMap<&'static str, u64>,
        }

        impl Snapshot {
            /// Returns all counts by their names.
            pub fn events(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let own = [$((stringify!($name), self.$name)),+];
                own.into_iter().chain(self.noted.iter().map(|(name, count)| (*name, *count)))
            }

            /// Returns `true` while the upstream is left alone.
            pub const fn is_open(&self) -> bool {
                self.opened > self.closed
            }
        }

        impl Counters {
            /// Returns what the clock of the upstream shows, by the `Date` of its last answer; `None` if there is none.
            pub fn upstream_time(&self) -> Option<Timestamp> {
                let (date, at) = (*self.dated.lock().unwrap_or_else(PoisonError::into_inner))?;
                date.checked_add(at.elapsed()).ok()
            }

            pub(super) fn note_date(&self, headers: &HeaderMap) {
                let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
                if let Some(date) = date.and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok()) {
                    *self.dated.lock().unwrap_or_else(PoisonError::into_inner) = Some((date, Instant::now()));
                }
            }

            /// The counts.
            pub fn snapshot(&self) -> Snapshot {
                Snapshot {
                    $($name: self.$name.0.load(Ordering::Relaxed),)+
                    noted: self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                }
            }
        }
    };
}

counters! {
    /// Calls that were asked for.
    calls;
    /// Calls that failed.
    failed;
    /// Requests that were sent, counting each attempt.
    sent;
    /// Bytes of bodies that were received.
    received_bytes;
    /// Attempts that were added to reads.
    retries;
    /// Attempts that were not added, because the budget was spent.
    retries_refused;
    /// Times that the circuit opened.
    opened;
    /// Times that it closed again.
    closed;
    /// Attempts that were refused while it was open.
    refused;
    /// Attempts that were turned away because too many were under way.
    shed;
    /// Attempts that were turned away because too many began.
    limited;
    /// Calls whose time was up.
    expired;
    /// Reads that were answered from the cache, and fresh.
    cached;
    /// Reads that joined one that was under way.
    coalesced;
    /// Reads that were passed on, on somebody's behalf.
    filled;
    /// Reads that were passed on to renew what is cached.
    refreshed;
    /// Reads that were answered with something stale, while it is renewed.
    stale_renewed;
    /// Reads that were answered with something stale, because the upstream failed.
    stale_failed;
}

impl Counters {
    /// Counts something of the adapter's own, by a name that is not made of anybody's input: `dropped: no variants`.
    pub fn note(&self, what: &'static str) {
        self.note_many(what, 1);
    }

    /// The same, several times at once.
    pub fn note_many(&self, what: &'static str, times: u64) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let count = noted.entry(what).or_default();
        *count = count.saturating_add(times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_adapter_counts_stands_beside_the_rest() {
        let counters = Counters::default();
        counters.calls.add();
        counters.note("dropped: no variants");
        counters.note_many("dropped: no variants", 2);
        counters.note_many("dropped: no price", u64::MAX);
        counters.note("dropped: no price");
        let shown = serde_json::to_value(counters.snapshot()).expect("it can be shown");
        assert_eq!(shown["calls"], 1);
        assert_eq!(shown["noted"]["dropped: no variants"], 3);
        assert_eq!(shown["noted"]["dropped: no price"], u64::MAX);
    }
}
