//! Budget of fetches for platforms that are not registered, shared by all of them, and the part of it that one caller
//! may use: a quarter of the fetches per second and at once, and half of those in flight.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::DirectoryOptions;
use crate::limit::Share;

/// Maximum number of callers whose budgets are kept. The caller of one that was evicted starts with a full one.
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

    /// Takes a token.
    ///
    /// # Errors
    /// Time until the next token; [`Duration::MAX`] if the rate is zero.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let grown = now.saturating_duration_since(self.counted_at).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + grown).min(self.burst);
        self.counted_at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::try_from_secs_f64((1.0 - self.tokens) / self.per_second).unwrap_or(Duration::MAX))
    }
}

/// Budgets of single callers.
pub(super) struct Shares {
    per_second: u32,
    burst: u32,
    concurrent: usize,
    budgets: Cache<Share, Arc<Mutex<Budget>>>,
    /// Number of fetches in flight by caller.
    in_flight: Arc<Mutex<HashMap<Share, usize>>>,
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares")
            .field("per_second", &self.per_second)
            .field("burst", &self.burst)
            .finish_non_exhaustive()
    }
}

impl Shares {
    pub(super) fn new(options: &DirectoryOptions) -> Self {
        Self {
            per_second: options.fetches_per_second.div_ceil(4),
            burst: options.fetch_burst.div_ceil(4),
            concurrent: options.concurrent_fetches.div_ceil(2),
            budgets: Cache::new(SHARES),
            in_flight: Arc::default(),
        }
    }

    /// Takes a fetch of a caller, which counts as in flight until the result is dropped.
    ///
    /// # Errors
    /// Time until the caller may cause the next one; zero if that depends on those in flight.
    pub(super) fn take(&self, share: &Share, now: Instant) -> Result<Taken, Duration> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if in_flight.get(share).is_some_and(|count| *count >= self.concurrent) {
            return Err(Duration::ZERO);
        }
        let new =
            || Ok::<_, std::convert::Infallible>(Arc::new(Mutex::new(Budget::new(self.per_second, self.burst, now))));
        let Ok(budget) = self.budgets.get_or_insert_with(share, new);
        budget.lock().unwrap_or_else(PoisonError::into_inner).take(now)?;
        *in_flight.entry(share.clone()).or_default() += 1;
        Ok(Taken { share: share.clone(), in_flight: Arc::clone(&self.in_flight) })
    }
}

/// A fetch in flight, counted for its caller until this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    share: Share,
    in_flight: Arc<Mutex<HashMap<Share, usize>>>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_flight.get_mut(&self.share) {
            *count -= 1;
            if *count == 0 {
                in_flight.remove(&self.share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn one_caller_uses_its_part_of_the_budget() {
        let options = DirectoryOptions { fetches_per_second: 20, fetch_burst: 40, ..DirectoryOptions::default() };
        let (shares, now) = (Shares::new(&options), Instant::now());
        let [one, other] = [1, 2].map(|last| Share::Network(IpAddr::from([192, 0, 2, last])));
        let held: Vec<_> = (0..100).filter_map(|_| shares.take(&one, now).ok()).collect();
        assert_eq!(held.len(), 8, "half of the fetches in flight");
        assert_eq!(shares.take(&one, now).err(), Some(Duration::ZERO));
        assert!(shares.take(&other, now).is_ok());
        drop(held);
        assert_eq!((0..100).filter(|_| shares.take(&one, now).is_ok()).count(), 2, "ten at once in all");
        assert_eq!(shares.take(&one, now).err(), Some(Duration::from_millis(200)));
        assert!(shares.in_flight.lock().expect("no panic").is_empty());
    }

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        let start = Instant::now();
        let mut budget = Budget::new(20, 40, start);
        assert_eq!((0..100).filter(|_| budget.take(start).is_ok()).count(), 40);
        assert_eq!(budget.take(start), Err(Duration::from_millis(50)));
        let taken = (0..200u64).filter(|step| budget.take(start + Duration::from_millis(step * 10)).is_ok()).count();
        assert!((39..=40).contains(&taken), "{taken}");
        assert_eq!((0..100).filter(|_| budget.take(start + Duration::from_secs(3_600)).is_ok()).count(), 40);
        assert_eq!(Budget::new(0, 0, start).take(start), Err(Duration::MAX));
    }
}
