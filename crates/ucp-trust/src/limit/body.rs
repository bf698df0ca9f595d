//! Limit on the memory of request bodies, shared by all callers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;
use ucp_core::refusal::{Code, Refusal};

use super::Share;

/// Part of the limit that one share may hold: one in so many.
const PARTS: usize = 4;

/// Limit on the bytes of request bodies that are held at a time. Cheap to clone; clones share the limit.
///
/// A body counts as far as it has arrived, and with what is made of it, until its call has ended. One share may hold a quarter of the limit. Once
/// everything is held, the share that holds most loses the body that has been arriving for longest.
///
/// Several holders can have [parts](Self::part) of one limit, whose shares have nothing to do with each other. A part may
/// take more for as long as it holds no more than is free.
#[derive(Clone, Debug)]
pub struct BodyLimit {
    ledger: Arc<Mutex<Ledger>>,
    most: usize,
    part: Option<u64>,
}

/// A share of a part of the limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Holder {
    part: Option<u64>,
    share: Share,
}

#[derive(Debug, Default)]
struct Ledger {
    held: usize,
    /// Bytes that each part holds.
    parts: HashMap<u64, usize>,
    shares: HashMap<Holder, usize>,
    /// Bodies that are still arriving, in the order in which they began.
    arriving: BTreeMap<u64, Arriving>,
    next: u64,
    next_part: u64,
}

#[derive(Debug)]
struct Arriving {
    share: Holder,
    bytes: usize,
    dropped: Arc<Notify>,
}

impl Ledger {
    fn count(&mut self, share: &Holder, bytes: usize) {
        self.held += bytes;
        if let Some(part) = share.part {
            *self.parts.entry(part).or_default() += bytes;
        }
        *self.shares.entry(share.clone()).or_default() += bytes;
    }

    fn release(&mut self, share: &Holder, bytes: usize) {
        self.held -= bytes;
        if let Some(held) = share.part.and_then(|part| self.parts.get_mut(&part)) {
            *held -= bytes;
        }
        if share.part.is_some_and(|part| self.part(part) == 0) {
            self.parts.retain(|_, held| *held > 0);
        }
        if let Some(held) = self.shares.get_mut(share) {
            *held -= bytes;
            if *held == 0 {
                self.shares.remove(share);
            }
        }
    }

    /// Returns the number of bytes that a part holds.
    fn part(&self, part: u64) -> usize {
        self.parts.get(&part).copied().unwrap_or_default()
    }

    /// Drops the body that has been arriving for longest of those of the share that holds most, unless `asking` holds
    /// as much. Returns `false` if there is none.
    fn make_room(&mut self, asking: &Holder) -> bool {
        let own = self.shares.get(asking).copied().unwrap_or_default();
        let arriving = self.arriving.iter().filter(|(_, body)| body.bytes > 0);
        let held = |share: &Holder| self.shares.get(share).copied().unwrap_or_default();
        let oldest = arriving.map(|(id, body)| (held(&body.share), std::cmp::Reverse(*id))).max();
        let Some((_, std::cmp::Reverse(id))) = oldest.filter(|(held, _)| *held > own) else { return false };
        if let Some(body) = self.arriving.remove(&id) {
            self.release(&body.share, body.bytes);
            body.dropped.notify_one();
        }
        true
    }
}

impl BodyLimit {
    /// Creates a limit of `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { ledger: Arc::default(), most, part: None }
    }

    /// Returns a part of the limit, for one of several holders.
    #[must_use]
    pub fn part(&self) -> Self {
        let mut ledger = self.ledger();
        ledger.next_part += 1;
        let part = Some(ledger.next_part);
        drop(ledger);
        Self { part, ..self.clone() }
    }

    /// Begins to hold a body of a share, of which nothing has arrived yet.
    pub fn hold(&self, share: Share) -> HeldBody {
        let dropped = Arc::new(Notify::new());
        let mut ledger = self.ledger();
        let id = ledger.next;
        ledger.next += 1;
        let holder = Holder { part: self.part, share };
        let arriving = Arriving { share: holder.clone(), bytes: 0, dropped: Arc::clone(&dropped) };
        ledger.arriving.insert(id, arriving);
        drop(ledger);
        HeldBody { limit: self.clone(), holder, id, bytes: 0, dropped }
    }

    /// Returns the number of bytes that are held, of a part those that it holds.
    #[must_use]
    pub fn held(&self) -> usize {
        let ledger = self.ledger();
        self.part.map_or(ledger.held, |part| ledger.part(part))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request body that is held; dropping it gives its room back.
#[derive(Debug)]
#[must_use = "the room is given back when this is dropped"]
pub struct HeldBody {
    limit: BodyLimit,
    holder: Holder,
    id: u64,
    /// Bytes that count once the body has arrived; until then the ledger has the number.
    bytes: usize,
    dropped: Arc<Notify>,
}

impl HeldBody {
    /// Returns the share that the body is counted to.
    #[must_use]
    pub const fn share(&self) -> &Share {
        &self.holder.share
    }

    /// Takes room for `bytes` more.
    ///
    /// # Errors
    /// [`Code::RateLimited`] if the share holds its part of the limit, [`Code::Unavailable`] if everything is held by
    /// others who hold less, the part holds more than is free, or the body was dropped for others.
    pub fn grow(&self, bytes: usize) -> Result<(), Refusal> {
        let mut ledger = self.limit.ledger();
        self.make_room(&mut ledger, bytes)?;
        let Some(body) = ledger.arriving.get_mut(&self.id) else { return Err(full()) };
        body.bytes += bytes;
        ledger.count(&self.holder, bytes);
        Ok(())
    }

    /// Takes room for `bytes` that are made of the body, which has [arrived](Self::arrived). One body alone never needs more
    /// than its share: what is beyond that does not count.
    ///
    /// # Errors
    /// As [`Self::grow`].
    pub fn expand(&mut self, bytes: usize) -> Result<(), Refusal> {
        let bytes = bytes.min((self.limit.most / PARTS).saturating_sub(self.bytes));
        let mut ledger = self.limit.ledger();
        self.make_room(&mut ledger, bytes)?;
        ledger.count(&self.holder, bytes);
        drop(ledger);
        self.bytes += bytes;
        Ok(())
    }

    /// Checks that there is room for `bytes` more, for which others may have to make room.
    fn make_room(&self, ledger: &mut Ledger, bytes: usize) -> Result<(), Refusal> {
        let most = self.limit.most;
        let own = ledger.shares.get(&self.holder).copied().unwrap_or_default();
        if own + bytes > most / PARTS {
            let accepted = format!("at most {} bytes of request bodies at a time from one caller", most / PARTS);
            let refusal = Refusal::new(Code::RateLimited, "Too much of what this caller sends is under way at once.");
            return Err(Refusal { retry_after: Some(1), ..refusal.accepting(accepted) });
        }
        if let Some(part) = self.limit.part
            && ledger.part(part) + bytes > most.saturating_sub(ledger.held + bytes)
        {
            return Err(full());
        }
        while ledger.held + bytes > most {
            if !ledger.make_room(&self.holder) {
                return Err(full());
            }
        }
        Ok(())
    }

    /// Completes once the body is dropped, so that others have room, and returns the refusal for its caller.
    pub async fn dropped(&self) -> Refusal {
        self.dropped.notified().await;
        full()
    }

    /// Holds the body, which has arrived, until its call ends: it is not dropped any more.
    ///
    /// # Errors
    /// [`Code::Unavailable`] if it was dropped before.
    pub fn arrived(&mut self) -> Result<(), Refusal> {
        let body = self.limit.ledger().arriving.remove(&self.id);
        self.bytes = body.ok_or_else(full)?.bytes;
        Ok(())
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        let mut ledger = self.limit.ledger();
        let arriving = ledger.arriving.remove(&self.id).map_or(0, |body| body.bytes);
        ledger.release(&self.holder, self.bytes + arriving);
    }
}

fn full() -> Refusal {
    Refusal::unavailable("The gateway is busy with as much as it can receive at once.", 1)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn network(last: u8) -> Share {
        Share::Network(IpAddr::from([192, 0, 2, last]))
    }

    fn code(grown: Result<(), Refusal>) -> Option<(Code, Option<u32>)> {
        grown.err().map(|refusal| (refusal.code, refusal.retry_after))
    }

    #[test]
    fn one_caller_holds_a_quarter_and_gives_it_back() {
        let limit = BodyLimit::new(100);
        let (mut first, second) = (limit.hold(network(1)), limit.hold(network(1)));
        assert_eq!(code(first.grow(20)), None);
        assert_eq!(code(first.arrived()), None);
        assert_eq!(code(second.grow(6)), Some((Code::RateLimited, Some(1))), "20 of 25 are taken");
        assert_eq!(code(limit.hold(network(2)).grow(25)), None, "others have their own");
        assert_eq!(limit.held(), 20);
        drop(first);
        assert_eq!(code(second.grow(25)), None);
        drop(second);
        assert_eq!(limit.held(), 0);
        let ledger = limit.ledger();
        assert_eq!((ledger.shares.len(), ledger.arriving.len()), (0, 0));
    }

    #[tokio::test]
    async fn the_slowest_body_of_whoever_holds_most_makes_room() {
        let limit = BodyLimit::new(100);
        let hold = |last, bytes| {
            let body = limit.hold(network(last));
            assert_eq!(code(body.grow(bytes)), None);
            body
        };
        let (other, slowest, later) = (hold(1, 25), hold(2, 5), hold(2, 20));
        let (mut arrived, last) = (hold(3, 25), hold(4, 24));
        assert_eq!(code(arrived.arrived()), None);
        drop(other);
        let small = hold(5, 24);
        let newcomer = limit.hold(network(6));
        assert_eq!(code(newcomer.grow(5)), None, "room is made");
        assert_eq!(slowest.dropped().await.code, Code::Unavailable);
        assert_eq!(code(slowest.grow(1)), Some((Code::Unavailable, Some(1))));
        assert!(limit.held() <= 100);
        drop((slowest, later, arrived, last, small, newcomer));
        assert_eq!((limit.held(), limit.ledger().shares.len()), (0, 0));
    }

    #[test]
    fn what_is_made_of_a_body_counts_with_it() {
        let limit = BodyLimit::new(100);
        let arrived = |last, bytes| {
            let mut body = limit.hold(network(last));
            assert_eq!(code(body.grow(bytes)), None);
            assert_eq!(code(body.arrived()), None);
            body
        };
        let mut one = arrived(1, 5);
        assert_eq!(code(one.expand(10)), None);
        assert_eq!(limit.held(), 15);
        let mut second = arrived(1, 5);
        assert_eq!(code(second.expand(6)), Some((Code::RateLimited, Some(1))), "20 of 25 are taken");
        drop(second);
        let mut others: Vec<_> = (2..5).map(|last| arrived(last, 5)).collect();
        for body in &mut others {
            assert_eq!(code(body.expand(1_000)), None, "as much as its share");
        }
        assert_eq!(limit.held(), 90);
        let mut last = arrived(9, 5);
        assert_eq!(code(last.expand(6)), Some((Code::Unavailable, Some(1))), "everything is held");
        drop((one, others, last));
        assert_eq!((limit.held(), limit.ledger().shares.len()), (0, 0));
    }

    #[test]
    fn a_part_leaves_room_for_others_and_knows_none_of_their_shares() {
        let limit = BodyLimit::new(100);
        let (one, other) = (limit.part(), limit.part());
        let mut held = Vec::new();
        for last in 0..4 {
            let mut body = one.hold(network(last));
            if body.grow(20).is_ok() {
                body.arrived().expect("it was not dropped");
                held.push(body);
            }
        }
        assert_eq!((held.len(), one.held(), other.held()), (2, 40, 0), "40 are held, and 20 more would leave less");
        assert_eq!(code(one.hold(network(9)).grow(20)), Some((Code::Unavailable, Some(1))));
        let foreign = other.hold(network(0));
        assert_eq!(code(foreign.grow(25)), None, "the same address in another part has a share of its own");
        assert_eq!((one.held(), other.held(), limit.held()), (40, 25, 65));
        drop((held, foreign));
        assert_eq!((one.held(), limit.held(), limit.ledger().parts.len()), (0, 0, 0));
    }

    #[test]
    fn whoever_holds_most_makes_no_room_for_itself() {
        let limit = BodyLimit::new(100);
        let bodies: Vec<_> = (0..4).map(|last| (limit.hold(network(last)), last)).collect();
        for (body, _) in &bodies {
            assert_eq!(code(body.grow(24)), None);
        }
        assert_eq!(code(bodies[0].0.grow(1)), None);
        assert_eq!(code(limit.hold(network(0)).grow(1)), Some((Code::RateLimited, Some(1))));
        let mut small = limit.hold(network(9));
        assert_eq!(code(small.grow(3)), None);
        assert_eq!(code(small.arrived()), None);
        assert_eq!(code(bodies[1].0.grow(1)), None, "the one with more makes room");
        assert_eq!(code(bodies[0].0.grow(1)), Some((Code::Unavailable, Some(1))), "it was dropped");
    }
}
