//! Limits of webhook events in flight, in total and per platform.
//!
//! A platform has one event in flight at first, one more for each event that it accepts, and only one again when it
//! does not accept an event. So a platform that answers soon gets its events fast, and one that does not holds one
//! connection, however many events wait for it. All platforms that fail share half of the total.

use std::collections::{HashMap, HashSet};

use tokio::task::Id;
use ucp_core::order::outbox::Due;

/// Maximum number of webhook events in flight.
pub(super) const AT_ONCE: usize = 64;

/// Maximum number of those to platforms that failed to accept the last event.
pub(super) const FAILING_AT_ONCE: usize = AT_ONCE / 2;

/// Maximum number of those to one platform.
pub(super) const PER_PLATFORM: usize = 16;

/// Maximum number of platforms whose state is kept.
const REMEMBERED: usize = 4_096;

/// Outcome of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    /// The platform accepted the event, or answered that it wants no more.
    Taken,
    /// The delivery failed.
    Failed,
    /// The platform was not asked, or the outcome could not be recorded.
    Neither,
}

/// State of a platform.
#[derive(Debug)]
struct Platform {
    /// Limit of events in flight to it.
    window: usize,
    /// Number of events in flight to it.
    open: usize,
    /// `true` if it failed to accept the last event.
    failing: bool,
}

impl Platform {
    const NEW: Self = Self { window: 1, open: 0, failing: false };
}

/// A webhook event in flight.
#[derive(Debug)]
struct Flight {
    webhook_event: String,
    owner: String,
}

/// The webhook events in flight.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    flights: HashMap<Id, Flight>,
    platforms: HashMap<String, Platform>,
}

impl Traffic {
    /// Returns the number of events that may still be started.
    pub(super) fn room(&self) -> usize {
        AT_ONCE.saturating_sub(self.flights.len())
    }

    fn failing(&self) -> usize {
        self.platforms.values().filter(|platform| platform.failing).map(|platform| platform.open).sum()
    }

    /// Returns the platforms that are at their limit.
    pub(super) fn full(&self) -> Vec<&str> {
        let crowded = self.failing() >= FAILING_AT_ONCE;
        let full = |platform: &Platform| platform.open >= platform.window || (crowded && platform.failing);
        self.platforms.iter().filter(|(_, platform)| full(platform)).map(|(owner, _)| owner.as_str()).collect()
    }

    /// Selects the events that may be started, in order.
    pub(super) fn choose(&self, due: Vec<Due>) -> Vec<Due> {
        let under_way: HashSet<_> = self.flights.values().map(|flight| &*flight.webhook_event).collect();
        let (mut failing, mut more) = (self.failing(), HashMap::<String, usize>::new());
        let fits = |due: &Due| {
            let platform = self.platforms.get(&due.owner).unwrap_or(&Platform::NEW);
            let more = more.entry(due.owner.clone()).or_default();
            let fits = platform.open + *more < platform.window
                && !(platform.failing && failing >= FAILING_AT_ONCE)
                && !under_way.contains(&*due.id);
            *more += usize::from(fits);
            failing += usize::from(fits && platform.failing);
            fits
        };
        due.into_iter().filter(fits).take(self.room()).collect()
    }

    /// Records that a delivery to a platform begins.
    pub(super) fn depart(&mut self, id: Id, webhook_event: String, owner: String) {
        if self.platforms.len() >= REMEMBERED {
            self.platforms.retain(|_, platform| platform.open > 0);
        }
        self.platforms.entry(owner.clone()).or_insert(Platform::NEW).open += 1;
        self.flights.insert(id, Flight { webhook_event, owner });
    }

    /// Records that a delivery ended.
    pub(super) fn land(&mut self, id: Id, landing: Landing) {
        let Some(Flight { owner, .. }) = self.flights.remove(&id) else { return };
        let Some(platform) = self.platforms.get_mut(&owner) else { return };
        platform.open = platform.open.saturating_sub(1);
        match landing {
            Landing::Taken => {
                platform.window = (platform.window + 1).min(PER_PLATFORM);
                platform.failing = false;
            }
            Landing::Failed => {
                platform.window = 1;
                platform.failing = true;
            }
            Landing::Neither => {}
        }
    }

    /// Returns the webhook events in flight.
    pub(super) fn webhook_events(&self) -> Vec<String> {
        self.flights.values().map(|flight| flight.webhook_event.clone()).collect()
    }
}
