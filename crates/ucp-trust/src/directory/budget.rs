//! Budget of fetches for platforms that are not registered, shared by all of them, and the parts of it that strangers may
//! use ([`ucp_net::shares`]): of the fetches per second and at once, and of those in flight, to all hosts and to one origin.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use quick_cache::sync::Cache;
use tokio::time::Instant;
use ucp_net::shares::{Groups, HeldPlace, Places, Step, of_strangers};

use super::DirectoryOptions;
use crate::limit::{Group, Share};

/// Maximum number of groups whose budgets are kept. The group of one that was evicted starts with a full one.
const SHARES: usize = 10_000;

/// A token bucket. Full at the start; each fetch takes a token.
#[derive(Debug)]
pub(super) struct Budget {
    per_second: f64,
    burst: f64,
    tokens: f64,
    counted_at: Instant,
}

impl Budget {
    pub(super) fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst);
        Self { per_second: f64::from(per_second), burst, tokens: burst, counted_at: now }
    }

    /// Takes a token, and leaves `reserve` of them. Fails with the time until the next token; [`Duration::MAX`] if the rate
    /// is zero.
    pub(super) fn take(&mut self, now: Instant, reserve: f64) -> Result<(), Duration> {
        let grown = now.saturating_duration_since(self.counted_at).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + grown).min(self.burst);
        self.counted_at = now;
        if self.tokens >= 1.0 + reserve {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::try_from_secs_f64((1.0 + reserve - self.tokens) / self.per_second).unwrap_or(Duration::MAX))
    }
}

/// Maximum number of tries of a caller who joins fetches that others began, and that find no place in their share.
pub(super) const JOINS: usize = 3;

/// Budgets of all callers and of the groups of strangers, and the places of fetches in flight.
pub(super) struct Shares {
    options: DirectoryOptions,
    all: Mutex<Budget>,
    groups: Cache<u64, Arc<Mutex<Budget>>>,
    hasher: RandomState,
    places: Places,
    origins: Arc<Mutex<HashMap<String, Places>>>,
}
ucp_core::opaque!(Shares { places });

impl Shares {
    pub(super) fn new(options: &DirectoryOptions, now: Instant) -> Self {
        let places = options.concurrent_fetches;
        Self {
            all: Mutex::new(Budget::new(options.fetches_per_second, options.fetch_burst, now)),
            groups: Cache::new(SHARES),
            hasher: RandomState::new(),
            places: Places::new(places, places),
            origins: Arc::default(),
            options: options.clone(),
        }
    }

    /// Takes a fetch from the budget of a caller and from that of all. Strangers leave a quarter of the latter. Fails
    /// with time until the caller may cause the next one.
    pub(super) fn charge(&self, share: Option<&Share>, now: Instant) -> Result<(), Duration> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Share::Stranger(stranger)) = share else { return all.take(now, 0.0) };
        let most = usize::try_from(self.options.fetch_burst).unwrap_or(usize::MAX);
        let reserve = f64::from(self.options.fetch_burst.saturating_sub(number(of_strangers(most))));
        all.take(now, reserve)?;
        let mut taken: Vec<Arc<Mutex<Budget>>> = Vec::new();
        for (step, group) in stranger.groups() {
            let budget = self.of_group(step, group, now);
            let charged = budget.lock().unwrap_or_else(PoisonError::into_inner).take(now, 0.0);
            if let Err(wait) = charged {
                all.tokens += 1.0;
                for budget in taken {
                    budget.lock().unwrap_or_else(PoisonError::into_inner).tokens += 1.0;
                }
                return Err(wait);
            }
            taken.push(budget);
        }
        Ok(())
    }

    fn of_group(&self, step: Step, group: Group<'_>, now: Instant) -> Arc<Mutex<Budget>> {
        let part = |most: u32| number(step.part(usize::try_from(most).unwrap_or(usize::MAX)));
        let new = || {
            let budget = Budget::new(part(self.options.fetches_per_second), part(self.options.fetch_burst), now);
            Ok::<_, std::convert::Infallible>(Arc::new(Mutex::new(budget)))
        };
        let Ok(budget) = self.groups.get_or_insert_with(&self.hasher.hash_one(group), new);
        budget
    }

    /// Waits for a place among the fetches in flight to an origin, and then among all of them; `None` if there is none in
    /// time. Whoever waits for an origin takes no place from those of others.
    pub(super) async fn enter(&self, origin: &str, stranger: Option<Groups>) -> Option<Entered> {
        let until = Instant::now() + self.options.max_wait;
        let places = {
            let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
            let most = self.options.concurrent_fetches_per_origin;
            origins.entry(origin.to_owned()).or_insert_with(|| Places::new(most, most)).clone()
        };
        let at = AtOrigin { origin: origin.to_owned(), origins: Arc::clone(&self.origins) };
        let own = places.take(stranger, until).await?;
        let place = self.places.take(stranger, until).await?;
        Some(Entered { _place: place, _own: own, _at: at })
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Places of a fetch in flight, until this is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    _place: HeldPlace,
    _own: HeldPlace,
    /// Dropped last: an origin without fetches is forgotten.
    _at: AtOrigin,
}

#[derive(Debug)]
struct AtOrigin {
    origin: String,
    origins: Arc<Mutex<HashMap<String, Places>>>,
}

impl Drop for AtOrigin {
    fn drop(&mut self) {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if origins.get(&self.origin).is_some_and(Places::is_unused) {
            origins.remove(&self.origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::{client::ClientAddress, limit::Stranger};

    fn at(network: u8, host: u8) -> Share {
        Share::Stranger(Stranger::anonymous(ClientAddress::new(IpAddr::from([192, 0, network, host]))))
    }

    #[test]
    fn one_caller_uses_its_part_of_the_budget() {
        let options = DirectoryOptions { fetches_per_second: 20, fetch_burst: 40, ..DirectoryOptions::default() };
        let now = Instant::now();
        let shares = Shares::new(&options, now);
        let count = |share: &Share| (0..100).filter(|_| shares.charge(Some(share), now).is_ok()).count();
        assert_eq!(count(&at(2, 1)), 10, "a quarter");
        assert_eq!(shares.charge(Some(&at(2, 1)), now), Err(Duration::from_millis(200)));
        assert_eq!(count(&at(2, 2)), 5, "three eighths of a network");
        assert_eq!(
            (3..100).map(|network| count(&at(network, 1))).sum::<usize>(),
            15,
            "three quarters of all strangers"
        );
        assert_eq!(count(&Share::Keyed(0)), 10, "the rest");
    }

    #[tokio::test]
    async fn fetches_that_hang_leave_places_to_others() {
        let shares = Shares::new(&DirectoryOptions::default(), Instant::now());
        let enter = |origin: &str, share: &Share| shares.enter(origin, share.groups()).now_or_never().flatten();
        let origins = |count: usize, share: &Share, name: &str| -> Vec<_> {
            (0..count).filter_map(|number| enter(&format!("https://{name}{number}.example"), share)).collect()
        };
        let silent = [origins(20, &at(2, 1), "silent"), origins(20, &at(3, 1), "mute")];
        assert_eq!(silent.each_ref().map(Vec::len), [8, 8]);
        assert_eq!(origins(8, &at(4, 1), "new").len(), 8, "others have their own");
        let many: Vec<_> = (5..100).flat_map(|network| origins(4, &at(network, 1), "many")).collect();
        assert_eq!(origins(8, &Share::Keyed(0), "registered").len(), 8, "the reserve");
        drop((silent, many));
        // One origin, of which some paths hang.
        let slow: Vec<_> = (0..9).filter_map(|_| enter("https://slow.example", &at(2, 1))).collect();
        assert_eq!(slow.len(), 4);
        assert!(
            enter("https://slow.example", &at(3, 1)).is_some() && enter("https://other.example", &at(2, 1)).is_some()
        );
        drop(slow);
        assert!(shares.origins.lock().expect("no panic").is_empty());
    }

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        let start = Instant::now();
        let mut budget = Budget::new(20, 40, start);
        assert_eq!((0..100).filter(|_| budget.take(start, 0.0).is_ok()).count(), 40);
        assert_eq!(budget.take(start, 0.0), Err(Duration::from_millis(50)));
        let taken =
            (0..200u64).filter(|step| budget.take(start + Duration::from_millis(step * 10), 0.0).is_ok()).count();
        assert!((39..=40).contains(&taken), "{taken}");
        assert_eq!((0..100).filter(|_| budget.take(start + Duration::from_secs(3_600), 0.0).is_ok()).count(), 40);
        assert_eq!(Budget::new(0, 0, start).take(start, 0.0), Err(Duration::MAX));
    }
}
