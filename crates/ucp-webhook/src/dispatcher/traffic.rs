//! How many webhook events are under way, and to whom how many may be.
//!
//! A platform gets one at first, another one more for each that it takes, and is back at one when it does not take one.
//! So a platform that answers is soon told fast, and one that does not has one connection, however much waits for it.
//! All that fail share half of what there is.

use std::collections::{HashMap, HashSet};

use tokio::task::Id;
use ucp_core::order::outbox::Due;

/// How many webhook events are under way at once.
pub(super) const AT_ONCE: usize = 64;

/// How many of them to platforms that did not take the last one.
pub(super) const FAILING_AT_ONCE: usize = AT_ONCE / 2;

/// How many of them to one platform at most.
pub(super) const PER_PLATFORM: usize = 16;

/// Of how many platforms it is remembered how they fared.
const REMEMBERED: usize = 4_096;

/// What came of a webhook event that was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    /// The platform has answered as it should.
    Taken,
    /// It has not.
    Failed,
    /// It was not asked.
    Neither,
}

/// How a platform fared.
#[derive(Debug)]
struct Platform {
    /// How many may be under way to it.
    window: usize,
    /// How many are.
    open: usize,
    /// Whether it did not take the last one.
    failing: bool,
}

impl Platform {
    const NEW: Self = Self { window: 1, open: 0, failing: false };
}

/// A webhook event that is under way.
#[derive(Debug)]
struct Flight {
    webhook_event: String,
    owner: String,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    flights: HashMap<Id, Flight>,
    platforms: HashMap<String, Platform>,
}

impl Traffic {
    /// How many more there is room for.
    pub(super) fn room(&self) -> usize {
        AT_ONCE.saturating_sub(self.flights.len())
    }

    fn failing(&self) -> usize {
        self.platforms.values().filter(|platform| platform.failing).map(|platform| platform.open).sum()
    }

    /// The platforms that get no more at the moment.
    pub(super) fn full(&self) -> Vec<&str> {
        let crowded = self.failing() >= FAILING_AT_ONCE;
        let full = |platform: &Platform| platform.open >= platform.window || (crowded && platform.failing);
        self.platforms.iter().filter(|(_, platform)| full(platform)).map(|(owner, _)| owner.as_str()).collect()
    }

    /// Those that can go now, the first ones first.
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

    /// A webhook event to a platform is under way.
    pub(super) fn depart(&mut self, id: Id, webhook_event: String, owner: String) {
        if self.platforms.len() >= REMEMBERED {
            self.platforms.retain(|_, platform| platform.open > 0);
        }
        self.platforms.entry(owner.clone()).or_insert(Platform::NEW).open += 1;
        self.flights.insert(id, Flight { webhook_event, owner });
    }

    /// One is under way no more.
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

    /// The webhook events that are under way.
    pub(super) fn webhook_events(&self) -> Vec<String> {
        self.flights.values().map(|flight| flight.webhook_event.clone()).collect()
    }
}
