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
#[derive(Clone, Debug)]
pub struct InFlight {
    running: Arc<AtomicUsize>,
    most: usize,
}

impl InFlight {
    /// Creates a limit of `most` requests.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { running: Arc::default(), most }
    }

    /// Takes room for one request, until the permit is dropped.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ucp_core::refusal::Code::Unavailable) if no room is left for this tier.
    pub fn try_acquire(&self, tier: Tier) -> Result<Permit, Refusal> {
        let most = match tier {
            Tier::Anonymous => self.most - self.most / 4,
            Tier::Signed | Tier::Keyed => self.most,
        };
        let more = |running: usize| (running < most).then_some(running + 1);
        match self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Permit(Arc::clone(&self.running))),
            Err(_) => Err(Refusal::unavailable("The gateway is busy with as many requests as it takes at once.", 1)),
        }
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }
}

/// Room that a request in flight takes; dropping the permit gives it back.
#[derive(Debug)]
#[must_use = "the room is given back when the permit is dropped"]
pub struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
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
    fn room_for_one_is_there_for_anyone() {
        let room = InFlight::new(1);
        assert!(room.try_acquire(Tier::Anonymous).is_ok());
        assert!(room.try_acquire(Tier::Anonymous).is_ok(), "the first one was given back");
    }
}
