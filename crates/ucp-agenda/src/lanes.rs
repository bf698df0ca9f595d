//! Places of the tasks that are being carried out, by kind and by lane.
//!
//! A lane has one place at first, one more for each task whose party answers, and only one again when it fails. So a party
//! that answers soon is asked often, and one that does not fills one place, however many tasks wait for it. All lanes of a
//! kind that fail share half of its places.

use std::collections::{HashMap, HashSet};

use tokio::task::Id;
use ucp_core::ports::agenda::{Due, Kind};

/// Maximum number of tasks of a kind that are carried out at once.
pub(super) const AT_ONCE: usize = 64;

/// Maximum number of those whose party failed the last time.
pub(super) const FAILING_AT_ONCE: usize = AT_ONCE / 2;

/// Maximum number of those in one lane.
pub(super) const PER_LANE: usize = 16;

/// Maximum number of lanes whose state is kept.
const REMEMBERED: usize = 4_096;

/// Result of asking a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fared {
    /// It answered.
    Answered,
    /// It failed.
    Failed,
    /// It was not asked, or the result could not be recorded.
    Unknown,
}

/// State of a lane.
#[derive(Debug)]
struct Lane {
    kind: Kind,
    /// Number of places.
    window: usize,
    /// Number of those that are taken.
    open: usize,
    /// `true` if its party failed the last time.
    failing: bool,
}

/// The tasks that are being carried out.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    running: HashMap<Id, Due>,
    lanes: HashMap<String, Lane>,
}

impl Lanes {
    /// Returns the number of places of a kind that are free.
    pub(super) fn room(&self, kind: Kind) -> usize {
        AT_ONCE.saturating_sub(self.running.values().filter(|due| due.kind == kind).count())
    }

    /// Returns the number of places that lanes of a kind have taken which fail.
    fn failing(&self, kind: Kind) -> usize {
        self.lanes.values().filter(|lane| lane.kind == kind && lane.failing).map(|lane| lane.open).sum()
    }

    /// Returns the lanes without a free place.
    pub(super) fn full(&self) -> Vec<&str> {
        let crowded: Vec<_> = Kind::ALL.into_iter().filter(|kind| self.failing(*kind) >= FAILING_AT_ONCE).collect();
        let full = |lane: &Lane| lane.open >= lane.window || (lane.failing && crowded.contains(&lane.kind));
        self.lanes.iter().filter(|(_, lane)| full(lane)).map(|(name, _)| name.as_str()).collect()
    }

    /// Selects the tasks for which there are places, in order.
    pub(super) fn choose(&self, due: Vec<Due>) -> Vec<Due> {
        let under_way: HashSet<_> = self.running.values().map(|due| (due.kind, &*due.key)).collect();
        let mut free = Kind::ALL.map(|kind| (self.room(kind), FAILING_AT_ONCE.saturating_sub(self.failing(kind))));
        let mut more = HashMap::<String, usize>::new();
        let fits = |due: &Due| {
            let lane = self.lanes.get(&due.lane);
            let (window, open, failing) = lane.map_or((1, 0, false), |lane| (lane.window, lane.open, lane.failing));
            let more = more.entry(due.lane.clone()).or_default();
            let (room, of_failing) = &mut free[due.kind as usize];
            let fits = open + *more < window
                && *room > 0
                && !(failing && *of_failing == 0)
                && !under_way.contains(&(due.kind, &*due.key));
            *more += usize::from(fits);
            *room -= usize::from(fits);
            *of_failing -= usize::from(fits && failing);
            fits
        };
        due.into_iter().filter(fits).collect()
    }

    /// Records that a task begins.
    pub(super) fn begin(&mut self, id: Id, due: Due) {
        if self.lanes.len() >= REMEMBERED {
            self.lanes.retain(|_, lane| lane.open > 0);
        }
        let new = Lane { kind: due.kind, window: 1, open: 0, failing: false };
        self.lanes.entry(due.lane.clone()).or_insert(new).open += 1;
        self.running.insert(id, due);
    }

    /// Records that a task ended.
    pub(super) fn end(&mut self, id: Id, fared: Fared) {
        let Some(due) = self.running.remove(&id) else { return };
        let Some(lane) = self.lanes.get_mut(&due.lane) else { return };
        lane.open = lane.open.saturating_sub(1);
        match fared {
            Fared::Answered => (lane.window, lane.failing) = ((lane.window + 1).min(PER_LANE), false),
            Fared::Failed => (lane.window, lane.failing) = (1, true),
            Fared::Unknown => {}
        }
    }

    /// Returns the tasks that are being carried out.
    pub(super) fn running(&self) -> Vec<Due> {
        self.running.values().cloned().collect()
    }
}
