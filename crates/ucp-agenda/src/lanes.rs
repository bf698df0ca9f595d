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

#[cfg(test)]
mod tests {
    use super::*;

    fn due(kind: Kind, lane: &str, key: usize) -> Due {
        Due { kind, key: key.to_string(), lane: lane.to_owned() }
    }

    /// Begins a task, and returns the identifier of what carries it out.
    fn begin(lanes: &mut Lanes, due: Due) -> Id {
        let id = tokio::spawn(std::future::pending::<()>()).id();
        lanes.begin(id, due);
        id
    }

    /// Returns the number of tasks of a lane for which there are places.
    fn places(lanes: &Lanes, lane: &str) -> usize {
        lanes.choose((0..2 * PER_LANE).map(|key| due(Kind::Settle, lane, key)).collect()).len()
    }

    #[tokio::test]
    async fn a_kind_that_has_no_place_left_takes_none_of_others() {
        let mut lanes = Lanes::default();
        let many = || (0..AT_ONCE + 9).map(|key| due(Kind::Settle, &format!("lane {key}"), key));
        let chosen = lanes.choose(many().collect());
        assert_eq!(chosen, many().take(AT_ONCE).collect::<Vec<_>>());
        for due in chosen {
            begin(&mut lanes, due);
        }
        assert_eq!((lanes.room(Kind::Settle), lanes.room(Kind::Tell)), (0, AT_ONCE));
        let (full, free) = (due(Kind::Settle, "new", AT_ONCE), due(Kind::Tell, "new", AT_ONCE));
        assert_eq!(lanes.choose(vec![full, free.clone()]), [free]);
    }

    #[tokio::test]
    async fn a_lane_has_one_place_more_for_each_answer_and_one_after_a_failure() {
        let mut lanes = Lanes::default();
        for (key, (fared, expected)) in [
            (Fared::Unknown, 1),
            (Fared::Answered, 2),
            (Fared::Answered, 3),
            (Fared::Unknown, 3),
            (Fared::Failed, 1),
            (Fared::Unknown, 1),
        ]
        .into_iter()
        .enumerate()
        {
            let id = begin(&mut lanes, due(Kind::Settle, "lane", key));
            lanes.end(id, fared);
            assert_eq!(places(&lanes, "lane"), expected, "{key}: {fared:?}");
        }
        for key in 0..2 * PER_LANE {
            let id = begin(&mut lanes, due(Kind::Settle, "lane", key));
            lanes.end(id, Fared::Answered);
        }
        assert_eq!(places(&lanes, "lane"), PER_LANE);
    }

    #[tokio::test]
    async fn lanes_without_tasks_are_forgotten_when_there_are_too_many() {
        let mut lanes = Lanes::default();
        begin(&mut lanes, due(Kind::Settle, "busy", 0));
        for key in 1..REMEMBERED {
            let id = begin(&mut lanes, due(Kind::Settle, &format!("lane {key}"), key));
            lanes.end(id, Fared::Answered);
        }
        assert_eq!(lanes.lanes.len(), REMEMBERED);
        begin(&mut lanes, due(Kind::Settle, "one more", REMEMBERED));
        let mut kept: Vec<_> = lanes.lanes.keys().collect();
        kept.sort();
        assert_eq!(kept, ["busy", "one more"]);
    }
}
