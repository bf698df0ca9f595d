//! Limit on concurrent requests, shared by all callers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ucp_core::refusal::Refusal;
use ucp_net::shares::{Groups, Shares, of_strangers};

/// Limit on the number of concurrent requests. Beyond it, requests are refused at once and cheaply instead of being
/// queued until all of them are late.
///
/// Strangers take their [shares](ucp_net::shares), and the last quarter is reserved for platforms that are registered.
///
/// Several holders can have [parts](Self::part) of one limit. A part may take another place for as long as it has fewer
/// than are free: one that keeps its places leaves half of them to the others, two leave a third. A stranger has its share
/// of each part, and of all of them together a quarter more.
#[derive(Clone, Debug)]
pub struct InFlight {
    taken: Arc<Mutex<Shares>>,
    most: usize,
    /// The limit that this is a part of.
    whole: Option<Arc<InFlight>>,
}

impl InFlight {
    /// Creates a limit of `most` requests.
    pub fn new(most: usize) -> Self {
        Self { taken: Arc::default(), most, whole: None }
    }

    /// Returns a part of this limit, of at most `most` requests.
    pub fn part(&self, most: usize) -> Self {
        Self { taken: Arc::default(), most: most.min(self.most), whole: Some(Arc::new(self.clone())) }
    }

    /// Takes room for one request of a stranger, or of a caller without a share, until the permit is dropped. Fails
    /// with [`Unavailable`](ucp_core::refusal::Code::Unavailable) if no room is left for this caller.
    pub fn try_acquire(&self, stranger: Option<Groups>) -> Result<Permit, Refusal> {
        let Some(whole) = &self.whole else { return Ok(Permit { _own: self.take(stranger, 0)?, _whole: None }) };
        let free = {
            let taken = whole.taken();
            match stranger {
                Some(_) => of_strangers(whole.most).saturating_sub(taken.strangers()).min(whole.most - taken.total()),
                None => whole.most - taken.total(),
            }
        };
        if self.running() >= free {
            return Err(full());
        }
        Ok(Permit { _own: self.take(stranger, 0)?, _whole: Some(whole.take(stranger, 2)?) })
    }

    /// Returns the number of requests in flight.
    pub fn running(&self) -> usize {
        self.taken().total()
    }

    fn taken(&self) -> MutexGuard<'_, Shares> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, stranger: Option<Groups>, more: usize) -> Result<TakenPlace, Refusal> {
        let mut taken = self.taken();
        taken.place_fits(stranger, self.most, more).map_err(|_| full())?;
        taken.add(stranger, 1);
        drop(taken);
        Ok(TakenPlace { taken: Arc::clone(&self.taken), stranger })
    }
}

fn full() -> Refusal {
    Refusal::unavailable("The gateway has reached its limit of concurrent requests.", 1)
}

/// Room that a request in flight takes; dropping the permit gives it back.
#[derive(Debug)]
#[must_use = "the room is given back when the permit is dropped"]
pub struct Permit {
    _own: TakenPlace,
    /// Its place in the limit that the other is a part of.
    _whole: Option<TakenPlace>,
}

#[derive(Debug)]
struct TakenPlace {
    taken: Arc<Mutex<Shares>>,
    stranger: Option<Groups>,
}

impl Drop for TakenPlace {
    fn drop(&mut self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(self.stranger, 1);
    }
}

#[cfg(test)]
mod tests {
    use ucp_core::refusal::Code;
    use ucp_net::shares::Step;

    use super::*;

    fn at(address: u8) -> Option<Groups> {
        Some(Groups::default().and(Step::Address, &address))
    }

    #[test]
    fn room_is_limited_and_comes_back() {
        let room = InFlight::new(4);
        let strangers: Vec<_> = (0..3).map(|number| room.try_acquire(at(number)).expect("room")).collect();
        let refusal = room.try_acquire(at(9)).expect_err("none left for strangers");
        assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(1)));
        let known = room.try_acquire(None).expect("room for a known platform");
        assert!(room.try_acquire(None).is_err());
        assert_eq!(room.running(), 4);
        drop((strangers, known));
        assert_eq!(room.running(), 0);
    }

    #[test]
    fn one_address_takes_its_share_of_each_part_and_half_of_all() {
        let whole = InFlight::new(64);
        let parts = [whole.part(usize::MAX), whole.part(usize::MAX), whole.part(usize::MAX)];
        let first: Vec<_> = (0..64).filter_map(|_| parts[0].try_acquire(at(1)).ok()).collect();
        assert_eq!(first.len(), 16);
        let others: Vec<_> = (0..64).filter_map(|number| parts[1 + number % 2].try_acquire(at(1)).ok()).collect();
        assert_eq!(others.len(), 16);
        assert!(parts[1..].iter().all(|part| part.try_acquire(at(2)).is_ok() && part.try_acquire(None).is_ok()));
    }

    #[test]
    fn parts_leave_room_for_each_other() {
        let whole = InFlight::new(12);
        let parts = [whole.part(12), whole.part(12), whole.part(1)];
        let take =
            |part: &InFlight| -> Vec<_> { std::iter::from_fn(|| part.try_acquire(None).ok()).take(100).collect() };
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
        assert!(room.try_acquire(at(1)).is_ok());
        assert!(room.try_acquire(at(1)).is_ok(), "the first one was given back");
    }
}
