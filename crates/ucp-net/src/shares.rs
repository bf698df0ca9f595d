//! Pools that everybody uses: of each, strangers take a part, and none of them more than a share.
//!
//! A stranger is whoever the operator did not register. It costs little to be many of them, so that each is counted in
//! several groups at once ([`Step`]): by what a signature proves, and by network. Of a pool, all strangers together take
//! three quarters ([`Shares`]), and the rest is for registered platforms and for the gateway itself.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use quick_cache::DefaultHashBuilder;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

/// Group in which strangers are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Profiles of one registrable domain.
    Domain,
    /// An IPv4 address, or a /64 network of IPv6.
    Address,
    /// A /24 network of IPv4, or a /56 network of IPv6.
    Neighbors,
    /// A /48 network of IPv6.
    Site,
}

impl Step {
    /// Number of steps.
    pub const COUNT: usize = 4;

    /// Returns how many times as much as one address the group may send, or keep in the store.
    pub const fn factor(self) -> u32 {
        match self {
            Self::Domain | Self::Address => 1,
            Self::Neighbors => 4,
            Self::Site => 16,
        }
    }

    /// Returns what the group may take of something that everybody uses, in eighths.
    const fn eighths(self) -> usize {
        match self {
            Self::Domain | Self::Address => 2,
            Self::Neighbors => 3,
            Self::Site => 4,
        }
    }

    /// Returns the part of `most` that the group may take, rounded up.
    pub const fn part(self, most: usize) -> usize {
        self.part_with(most, 0)
    }

    /// Returns the part of `most` that the group may take with so many eighths in addition, rounded up.
    const fn part_with(self, most: usize, more: usize) -> usize {
        match most.checked_mul(self.eighths() + more) {
            Some(eighths) => eighths.div_ceil(8),
            None => most,
        }
    }
}

/// Groups that a stranger belongs to, as hashes, so that no name is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Groups([Option<u64>; Step::COUNT]);

impl Groups {
    /// Adds a group.
    #[must_use]
    pub fn and(mut self, step: Step, name: &impl Hash) -> Self {
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        self.0[step as usize] = Some(HASHER.hash_one(name));
        self
    }

    /// Returns the steps of the groups, narrow ones first, with the hash of each group.
    pub fn iter(self) -> impl Iterator<Item = (Step, u64)> {
        let steps = [Step::Domain, Step::Address, Step::Neighbors, Step::Site];
        steps.into_iter().zip(self.0).filter_map(|(step, group)| Some((step, group?)))
    }
}

/// Something that a pool lacks for a taker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A group of the stranger has its share.
    Share(Step),
    /// All strangers together have theirs, or nothing is left.
    Room,
}

/// Amounts of a pool that its takers have.
#[derive(Debug, Default)]
pub struct Shares {
    total: usize,
    strangers: usize,
    /// By hashes that nobody can choose.
    groups: HashMap<(Step, u64), usize, DefaultHashBuilder>,
}

/// Number of places that a share has at least: a pool of a few is not divided further.
const LEAST: usize = 4;

/// Returns what strangers may take of `most` together: all but a quarter, and something.
pub const fn of_strangers(most: usize) -> usize {
    let left = most - most.div_ceil(4);
    if left == 0 { most } else { left }
}

impl Shares {
    /// Checks that `amount` more of a pool of `most` is there for a stranger, or for a caller without a share. Fails
    /// with [`Lack`] if not.
    pub fn fits(&self, stranger: Option<Groups>, amount: usize, most: usize) -> Result<(), Lack> {
        self.group_fits(stranger, amount, |step| step.part(most))?;
        let strangers = stranger.is_none() || self.strangers + amount <= of_strangers(most);
        if strangers && self.total + amount <= most { Ok(()) } else { Err(Lack::Room) }
    }

    /// Checks that one more of `most` places is there. A group may have so many eighths `more` than its part. Fails
    /// with [`Lack`] if not.
    pub fn place_fits(&self, stranger: Option<Groups>, most: usize, more: usize) -> Result<(), Lack> {
        self.group_fits(stranger, 1, |step| step.part_with(most, more).max(LEAST))?;
        let strangers = stranger.is_none() || self.strangers < of_strangers(most);
        if strangers && self.total < most { Ok(()) } else { Err(Lack::Room) }
    }

    /// Checks that no group of a stranger would have more than its part.
    fn group_fits(&self, stranger: Option<Groups>, amount: usize, part: impl Fn(Step) -> usize) -> Result<(), Lack> {
        let mut groups = stranger.into_iter().flat_map(Groups::iter);
        match groups.find(|(step, group)| self.of(*step, *group) + amount > part(*step)) {
            Some((step, _)) => Err(Lack::Share(step)),
            None => Ok(()),
        }
    }

    fn of(&self, step: Step, group: u64) -> usize {
        self.groups.get(&(step, group)).copied().unwrap_or_default()
    }

    /// Counts an amount.
    pub fn add(&mut self, stranger: Option<Groups>, amount: usize) {
        self.total += amount;
        if let Some(groups) = stranger {
            self.strangers += amount;
            for group in groups.iter() {
                *self.groups.entry(group).or_default() += amount;
            }
        }
    }

    /// Counts an amount no longer.
    pub fn remove(&mut self, stranger: Option<Groups>, amount: usize) {
        self.total -= amount;
        if let Some(groups) = stranger {
            self.strangers -= amount;
            for group in groups.iter() {
                if let Some(held) = self.groups.get_mut(&group) {
                    *held -= amount;
                    if *held == 0 {
                        self.groups.remove(&group);
                    }
                }
            }
        }
    }

    /// Returns the amount that is taken.
    pub const fn total(&self) -> usize {
        self.total
    }

    /// Returns the amount that strangers have taken.
    pub const fn strangers(&self) -> usize {
        self.strangers
    }
}

/// A pool of places, with a queue. Clones share it.
#[derive(Clone, Debug)]
pub struct Places(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    most: usize,
    queue: usize,
    /// Eighths that a group may have in addition to its part.
    more: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: Shares,
    queued: Shares,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    stranger: Option<Groups>,
    found: oneshot::Sender<HeldPlace>,
}

/// A place; dropping it gives it to the next one in the queue.
#[derive(Debug)]
#[must_use = "the place is given back when this is dropped"]
pub struct HeldPlace {
    pool: Arc<Pool>,
    stranger: Option<Groups>,
}

impl Places {
    /// Creates a pool of `most` places, for which as many as `queue` wait.
    pub fn new(most: usize, queue: usize) -> Self {
        Self::with(most, queue, 0)
    }

    /// Creates the same pool, of which each group of strangers may take an eighth more than its part.
    pub fn wide(most: usize, queue: usize) -> Self {
        Self::with(most, queue, 1)
    }

    fn with(most: usize, queue: usize, more: usize) -> Self {
        Self(Arc::new(Pool { most, queue, more, state: Mutex::default() }))
    }

    /// Takes a place, once there is one; `None` if there is none by `until`, or too many wait.
    pub async fn take(&self, stranger: Option<Groups>, until: Instant) -> Option<HeldPlace> {
        let found = {
            let mut state = self.0.state();
            if state.taken.place_fits(stranger, self.0.most, self.0.more).is_ok() {
                state.taken.add(stranger, 1);
                return Some(HeldPlace { pool: Arc::clone(&self.0), stranger });
            }
            state.forget();
            state.queued.place_fits(stranger, self.0.queue, self.0.more).ok()?;
            state.queued.add(stranger, 1);
            let (found, place) = oneshot::channel();
            state.waiting.push_back(Waiting { stranger, found });
            place
        };
        timeout_at(until, found).await.ok()?.ok()
    }

    /// Returns `true` if no place is taken and nobody waits for one.
    pub fn is_unused(&self) -> bool {
        self.0.state().taken.total() == 0
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Removes those from the queue who do not wait any longer.
    fn forget(&mut self) {
        let Self { queued, waiting, .. } = self;
        waiting.retain(|waiting| {
            let is_gone = waiting.found.is_closed();
            if is_gone {
                queued.remove(waiting.stranger, 1);
            }
            !is_gone
        });
    }

    /// Returns the first in the queue for whom there is a place: callers without a share come before strangers.
    fn next(&mut self, most: usize, more: usize) -> Option<Waiting> {
        self.forget();
        let fits = |waiting: &Waiting| self.taken.place_fits(waiting.stranger, most, more).is_ok();
        let first = self.waiting.iter().position(|waiting| waiting.stranger.is_none() && fits(waiting));
        let next = self.waiting.remove(first.or_else(|| self.waiting.iter().position(fits))?)?;
        self.queued.remove(next.stranger, 1);
        self.taken.add(next.stranger, 1);
        Some(next)
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        let next: Vec<_> = {
            let mut state = self.pool.state();
            state.taken.remove(self.stranger, 1);
            std::iter::from_fn(|| state.next(self.pool.most, self.pool.more)).collect()
        };
        for Waiting { stranger, found } in next {
            // The place comes back here if nobody takes it.
            drop(found.send(Self { pool: Arc::clone(&self.pool), stranger }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::*;

    fn at(address: u8) -> Option<Groups> {
        Some(Groups::default().and(Step::Address, &address).and(Step::Neighbors, &(address / 16)))
    }

    fn take(places: &Places, stranger: Option<Groups>) -> Option<HeldPlace> {
        places.take(stranger, Instant::now()).now_or_never().flatten()
    }

    fn count(places: &Places, stranger: impl Fn(u8) -> Option<Groups>) -> Vec<HeldPlace> {
        (0..=u8::MAX).filter_map(|number| take(places, stranger(number))).collect()
    }

    #[tokio::test]
    async fn a_stranger_takes_a_share_and_all_of_them_leave_a_reserve() {
        let places = Places::new(64, 0);
        let one = count(&places, |_| at(1));
        assert_eq!(one.len(), 16, "a quarter");
        let neighbors = count(&places, |_| at(2));
        assert_eq!(neighbors.len(), 8, "three eighths with its neighbors");
        let strangers = count(&places, |number| at(16 + number % 128));
        assert_eq!(strangers.len(), 24, "three quarters in all");
        let registered = count(&places, |_| None);
        assert_eq!(registered.len(), 16, "the rest");
        drop((one, neighbors, strangers, registered));
        assert!(places.is_unused() && places.0.state().taken.groups.is_empty());
    }

    #[tokio::test]
    async fn a_site_of_many_networks_takes_half_and_a_domain_a_quarter() {
        let places = Places::new(64, 0);
        let of = |number: u8, domain: u8| {
            let network = Groups::default().and(Step::Address, &number).and(Step::Neighbors, &(number / 4));
            Some(network.and(Step::Site, &0).and(Step::Domain, &domain))
        };
        let domain = count(&places, |number| of(number, 7));
        assert_eq!(domain.len(), 16);
        assert_eq!(count(&places, |number| of(number, number)).len(), 16, "half of all from one site");
    }

    #[tokio::test]
    async fn a_small_pool_is_shared_out_whole() {
        for (most, strangers) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
            let taken = count(&Places::new(most, 0), |_| at(1));
            assert_eq!(taken.len(), strangers, "{most}");
        }
        assert_eq!(Step::Site.part(usize::MAX), usize::MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn registered_callers_come_first_and_nobody_waits_for_ever() {
        let places = Places::new(1, 8);
        let held = take(&places, None).expect("a place");
        let until = Instant::now() + Duration::from_secs(1);
        let (stranger, registered) = (places.take(at(1), until), places.take(None, until));
        let (hasty, late) = (places.take(at(2), Instant::now()), Instant::now() + Duration::from_millis(1));
        tokio::pin!(stranger, registered, hasty);
        assert!((&mut stranger).now_or_never().is_none() && (&mut registered).now_or_never().is_none());
        assert!(hasty.await.is_none());
        tokio::time::sleep_until(late).await;
        drop(held);
        let second = registered.await.expect("it comes first");
        assert!((&mut stranger).now_or_never().is_none());
        drop(second);
        let third = stranger.await.expect("its turn");
        let (left, kept) = (places.take(None, until), places.take(None, until));
        {
            tokio::pin!(left);
            assert!((&mut left).now_or_never().is_none());
        }
        drop(third);
        assert!(kept.await.is_some(), "who left the queue is passed over");
        assert!(places.is_unused());
    }

    #[tokio::test]
    async fn one_stranger_does_not_fill_the_queue() {
        let places = Places::new(1, 32);
        let _held = take(&places, None).expect("a place");
        let until = Instant::now() + Duration::from_secs(60);
        let mut waiting: Vec<_> = (0..32).map(|_| Box::pin(places.take(at(1), until))).collect();
        let refused = waiting.iter_mut().filter_map(futures_util::FutureExt::now_or_never).count();
        assert_eq!(refused, 24);
        assert!(Box::pin(places.take(at(99), until)).now_or_never().is_none(), "another one waits");
    }
}
