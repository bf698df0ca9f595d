//! Limit on concurrent requests, shared by all callers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ucp_core::refusal::Refusal;

use super::Tier;

/// Limit on the number of concurrent requests. Beyond it, requests are refused at once and cheaply instead of being
/// queued until all of them are late.
///
/// Anonymous callers are refused first: the last quarter is reserved for platforms that are known.
///
/// Several holders can have [parts](Self::part) of one limit. A part may take another place for as long as it has fewer
/// than are free: one that keeps its places leaves half of them to the others, two leave a third.
#[derive(Clone, Debug)]
pub struct InFlight {
    running: Arc<AtomicUsize>,
    most: usize,
    /// The limit that this is a part of.
    whole: Option<Arc<InFlight>>,
}

impl InFlight {
    /// Creates a limit of `most` requests.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { running: Arc::default(), most, whole: None }
    }

    /// Returns a part of this limit, of at most `most` requests.
    #[must_use]
    pub fn part(&self, most: usize) -> Self {
        Self { running: Arc::default(), most, whole: Some(Arc::new(self.clone())) }
    }

    /// Takes room for one request, until the permit is dropped.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ucp_core::refusal::Code::Unavailable) if no room is left for this tier.
    pub fn try_acquire(&self, tier: Tier) -> Result<Permit, Refusal> {
        let most = match &self.whole {
            Some(whole) => self.most(tier).min(whole.most(tier).saturating_sub(whole.running())),
            None => self.most(tier),
        };
        let own = self.take(most)?;
        let whole = self.whole.as_ref().map(|whole| whole.take(whole.most(tier))).transpose()?;
        Ok(Permit { _own: own, _whole: whole })
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Returns the number of requests that a tier may have in flight, together with the others.
    const fn most(&self, tier: Tier) -> usize {
        match tier {
            Tier::Anonymous => self.most - self.most / 4,
            Tier::Signed | Tier::Keyed => self.most,
        }
    }

    fn take(&self, most: usize) -> Result<Place, Refusal> {
        let more = |running: usize| (running < most).then_some(running + 1);
        match self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Place(Arc::clone(&self.running))),
            Err(_) => Err(Refusal::unavailable("The gateway is busy with as many requests as it takes at once.", 1)),
        }
    }
}

/// Room that a request in flight takes; dropping the permit gives it back.
#[derive(Debug)]
#[must_use = "the room is given back when the permit is dropped"]
pub struct Permit {
    _own: Place,
    /// Its place in the limit that the other is a part of.
    _whole: Option<Place>,
}

#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use ucp_core::refusal::Code;

    use super::*;

    #[test]
    fn room_is_limited_and_comes_back() {
        let room = InFlight::new(4);
        let anonymous: Vec<_> = (0..3).map(|_| room.try_acquire(Tier::Anonymous).expect("room")).collect();
        let refusal = room.try_acquire(Tier::Anonymous).expect_err("none left for strangers");
        assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(1)));
        let known = room.try_acquire(Tier::Keyed).expect("room for a known platform");
        assert!(room.try_acquire(Tier::Signed).is_err());
        assert_eq!(room.running(), 4);
        drop((anonymous, known));
        assert_eq!(room.running(), 0);
    }

    #[test]
    fn parts_leave_room_for_each_other() {
        let whole = InFlight::new(12);
        let parts = [whole.part(12), whole.part(12), whole.part(1)];
        let take = |part: &InFlight| -> Vec<_> {
            std::iter::from_fn(|| part.try_acquire(Tier::Keyed).ok()).take(100).collect()
        };
        let first = take(&parts[0]);
        assert_eq!(first.len(), 6, "half of all");
        let second = take(&parts[1]);
        assert_eq!(second.len(), 3, "half of the rest");
        assert_eq!(take(&parts[2]).len(), 1, "as many as it may have");
        drop(first);
        assert_eq!((whole.running(), take(&parts[1]).len()), (3, 3), "room comes back to those that are left");
        drop(second);
        assert_eq!(whole.running(), 0);
    }

    #[test]
    fn room_for_one_is_there_for_anyone() {
        let room = InFlight::new(1);
        assert!(room.try_acquire(Tier::Anonymous).is_ok());
        assert!(room.try_acquire(Tier::Anonymous).is_ok(), "the first one was given back");
    }
}
