//! Limit on the memory of request bodies, shared by all callers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use quick_cache::DefaultHashBuilder;
use tokio::sync::Notify;
use ucp_core::refusal::{Code, Refusal};
use ucp_net::shares::{Lack, Shares, Step, of_strangers};

use super::Share;

/// Limit on the bytes of request bodies that are held at a time. Cheap to clone; clones share the limit.
///
/// A body counts as far as it has arrived, and with what is made of it, until its call has ended. One caller may hold a
/// quarter of the limit, and strangers their [shares](ucp_net::shares). Once everything is held that a caller may take of,
/// the share that holds most loses the body that has been arriving for longest; strangers lose theirs first.
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
    parts: HashMap<u64, usize, DefaultHashBuilder>,
    shares: HashMap<Holder, usize, DefaultHashBuilder>,
    /// Bytes that strangers hold of each part, by group.
    groups: HashMap<Option<u64>, Shares, DefaultHashBuilder>,
    /// Bytes that all strangers hold.
    strangers: usize,
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
        if let Some(groups) = share.share.groups() {
            self.strangers += bytes;
            self.groups.entry(share.part).or_default().add(Some(groups), bytes);
        }
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
        if let Some(groups) = share.share.groups() {
            self.strangers -= bytes;
            if let Some(held) = self.groups.get_mut(&share.part) {
                held.remove(Some(groups), bytes);
                if held.total() == 0 {
                    self.groups.remove(&share.part);
                }
            }
        }
    }

    /// Returns the number of bytes that a part holds.
    fn part(&self, part: u64) -> usize {
        self.parts.get(&part).copied().unwrap_or_default()
    }

    /// Drops the body that has been arriving for longest of those of the share that holds most, unless `asking` holds
    /// as much. Strangers make room for registered platforms, whatever these hold, and never the other way. Returns
    /// `false` if there is none.
    fn make_room(&mut self, asking: &Holder) -> bool {
        let is_stranger = |share: &Holder| share.share.groups().is_some();
        let own = self.shares.get(asking).copied().unwrap_or_default();
        let asks = is_stranger(asking);
        let arriving = self.arriving.iter().filter(|(_, body)| body.bytes > 0 && (!asks || is_stranger(&body.share)));
        let held = |share: &Holder| self.shares.get(share).copied().unwrap_or_default();
        let oldest = arriving
            .map(|(id, body)| (is_stranger(&body.share), held(&body.share), std::cmp::Reverse(*id)))
            .max()
            .filter(|(stranger, held, _)| *stranger && !asks || *held > own);
        let Some((_, _, std::cmp::Reverse(id))) = oldest else { return false };
        if let Some(body) = self.arriving.remove(&id) {
            self.release(&body.share, body.bytes);
            body.dropped.notify_one();
        }
        true
    }
}

impl BodyLimit {
    /// Creates a limit of `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { ledger: Arc::default(), most, part: None }
    }

    /// Returns a part of the limit, for one of several holders.
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
    pub const fn share(&self) -> &Share {
        &self.holder.share
    }

    /// Takes room for `bytes` more. Fails with [`Code::RateLimited`] if the share holds its part of the limit,
    /// [`Code::Unavailable`] if everything is held by others who hold less, the part holds more than is free, or the
    /// body was dropped for others.
    pub fn grow(&self, bytes: usize) -> Result<(), Refusal> {
        let mut ledger = self.limit.ledger();
        self.make_room(&mut ledger, bytes)?;
        let Some(body) = ledger.arriving.get_mut(&self.id) else { return Err(full()) };
        body.bytes += bytes;
        ledger.count(&self.holder, bytes);
        Ok(())
    }

    /// Takes room for `bytes` that are made of the body, which has [arrived](Self::arrived). One body alone never needs
    /// more than its share: what is beyond that does not count. Fails as [`Self::grow`].
    pub fn expand(&mut self, bytes: usize) -> Result<(), Refusal> {
        let bytes = bytes.min(Step::Address.part(self.limit.most).saturating_sub(self.bytes));
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
        let groups = self.holder.share.groups();
        let own = ledger.shares.get(&self.holder).copied().unwrap_or_default();
        let full_step = match groups {
            None => (own + bytes > Step::Address.part(most)).then_some(Step::Address),
            Some(_) => match ledger.groups.entry(self.holder.part).or_default().fits(groups, bytes, most) {
                Err(Lack::Share(step)) => Some(step),
                Ok(()) | Err(Lack::Room) => None,
            },
        };
        if let Some(step) = full_step {
            let whose =
                if matches!(step, Step::Neighbors | Step::Site) { "the network of one caller" } else { "one caller" };
            let accepted = format!("at most {} bytes of request bodies at a time from {whose}", step.part(most));
            let refusal = Refusal::new(Code::RateLimited, "The caller has too many requests in progress.");
            return Err(Refusal { retry_after: Some(1), ..refusal.accepting(accepted) });
        }
        if let Some(part) = self.limit.part
            && ledger.part(part) + bytes > most.saturating_sub(ledger.held + bytes)
        {
            return Err(full());
        }
        let is_full = |ledger: &Ledger| {
            ledger.held + bytes > most || groups.is_some() && ledger.strangers + bytes > of_strangers(most)
        };
        while is_full(ledger) {
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

    /// Holds the body, which has arrived, until its call ends: it is not dropped any more. Fails with
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
    Refusal::unavailable("The gateway has reached its limit of data being received.", 1)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{client::ClientAddress, limit::Stranger};

    fn network(last: u8) -> Share {
        let address = IpAddr::from([192, 0, last, 1]);
        Share::Stranger(Stranger::anonymous(ClientAddress::new(address)))
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
        let limit = BodyLimit::new(132);
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
        assert!(limit.held() <= 99);
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
        let mut others: Vec<_> = (2..4).map(|last| arrived(last, 5)).collect();
        for body in &mut others {
            assert_eq!(code(body.expand(1_000)), None, "as much as its share");
        }
        assert_eq!(limit.held(), 65);
        let mut last = arrived(9, 5);
        assert_eq!(code(last.expand(6)), Some((Code::Unavailable, Some(1))), "strangers hold all that they may");
        let registered = limit.hold(Share::Keyed(0));
        assert_eq!(code(registered.grow(20)), None);
        drop((one, others, last, registered));
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
        let limit = BodyLimit::new(132);
        let bodies: Vec<_> = (0..3).map(|last| (limit.hold(network(last)), last)).collect();
        for (body, _) in &bodies {
            assert_eq!(code(body.grow(32)), None);
        }
        assert_eq!(code(bodies[0].0.grow(1)), None);
        assert_eq!(code(limit.hold(network(0)).grow(1)), Some((Code::RateLimited, Some(1))));
        let mut small = limit.hold(network(9));
        assert_eq!(code(small.grow(2)), None);
        assert_eq!(code(small.arrived()), None);
        assert_eq!(code(bodies[1].0.grow(1)), None, "the one with more makes room");
        assert_eq!(code(bodies[0].0.grow(1)), Some((Code::Unavailable, Some(1))), "it was dropped");
    }

    #[test]
    fn bodies_of_strangers_that_have_arrived_leave_room_for_registered_platforms() {
        let limit = BodyLimit::new(100);
        let held: Vec<_> = (0..100)
            .filter_map(|number| {
                let mut body = limit.hold(network(number));
                body.grow(5).ok()?;
                body.arrived().ok()?;
                Some(body)
            })
            .collect();
        assert_eq!(limit.held(), 75);
        assert_eq!(code(limit.hold(network(200)).grow(1)), Some((Code::Unavailable, Some(1))));
        let (registered, other) = (limit.hold(Share::Keyed(0)), limit.hold(Share::Keyed(1)));
        assert_eq!(code(registered.grow(20)), None);
        assert_eq!(code(other.grow(5)), None);
        drop(held);
        let slow = limit.hold(network(1));
        assert_eq!(code(slow.grow(25)), None);
        let third = limit.hold(Share::Keyed(2));
        let others: Vec<_> = (3..6).map(|number| limit.hold(Share::Keyed(number))).collect();
        assert_eq!(code(third.grow(25)), None);
        assert!(others.iter().all(|body| code(body.grow(20)).is_none()), "strangers make room, whatever they hold");
        assert_eq!(code(slow.grow(1)), Some((Code::Unavailable, Some(1))), "it was dropped");
    }

    #[test]
    fn one_network_of_many_addresses_holds_a_share_in_steps() {
        let held = |address: &dyn Fn(u8) -> String| {
            let limit = BodyLimit::new(1_000);
            let bodies: Vec<_> = (0..200)
                .map(|number| {
                    let address = ClientAddress::new(address(number).parse().expect("an address"));
                    let body = limit.hold(Share::Stranger(Stranger::anonymous(address)));
                    let _ = body.grow(25);
                    body
                })
                .collect();
            (limit.held(), bodies).0
        };
        assert_eq!(held(&|_| "192.0.2.1".to_owned()), 250);
        assert_eq!(held(&|number| format!("192.0.2.{number}")), 375);
        assert_eq!(held(&|number| format!("2001:db8:1:2::{number}")), 250);
        assert_eq!(held(&|number| format!("2001:db8:1:{}::1", number % 100)), 375);
        assert_eq!(held(&|number| format!("2001:db8:1:{}00::1", number % 100)), 500);
    }
}
