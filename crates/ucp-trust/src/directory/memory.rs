//! Tables of known platforms and failures, bounded by the bytes that they take.

use std::{sync::Arc, time::Duration};

use quick_cache::{Weighter, sync::Cache};
use tokio::time::Instant;
use ucp_core::{
    Refusal,
    operation::{Freshness, Usable},
};
use url::Url;

use super::{DirectoryOptions, Weigh};
use crate::{address::ProfileUrl, profile::PlatformProfile};

/// Memory that a table spends on an entry besides key and value, in bytes: its slot and the allocations around it.
const OVERHEAD: usize = 160;

/// Size of an item, in bytes, from which the number of shards of a table is computed. Shards have locks and limits of
/// their own and hold at least 32 items: 1 MiB, so that the largest profile fits into one.
const ITEM: u64 = 32 * 1024;

/// A known platform.
#[derive(Debug)]
pub struct KnownPlatform<V> {
    /// Address of the platform's profile, which is its identity.
    pub url: ProfileUrl,
    /// Profile of the platform.
    pub profile: PlatformProfile,
    /// Value derived from the profile.
    pub derived: V,
    /// Time at which the profile was fetched or pinned.
    pub fetched_at: Instant,
    /// Time at which the profile is to be fetched again; `None` for never.
    pub(super) fresh_until: Option<Instant>,
    /// Weight in the cache, in bytes; zero for a pinned entry, which is therefore never evicted.
    weight: u64,
}

impl<V: Weigh> KnownPlatform<V> {
    /// Creates an entry that is never evicted, for a platform that the operator of the gateway registered.
    pub(super) fn pinned(url: ProfileUrl, profile: PlatformProfile, derived: V, lifetime: Option<Duration>) -> Self {
        let fetched_at = Instant::now();
        let fresh_until = lifetime.map(|lifetime| fetched_at + lifetime);
        Self { url, profile, derived, fetched_at, fresh_until, weight: 0 }
    }

    pub(super) fn cached(url: ProfileUrl, profile: PlatformProfile, derived: V, lifetime: Duration) -> Self {
        // The address is stored twice: as the key, and parsed.
        let address = 2 * url.as_str().len() + size_of::<Url>();
        let held = size_of::<Self>() - size_of::<PlatformProfile>() + profile.weight() + derived.weight();
        let weight = (OVERHEAD + address + held) as u64;
        Self { weight, ..Self::pinned(url, profile, derived, Some(lifetime)) }
    }
}

impl<V> KnownPlatform<V> {
    /// Returns `true` if the operator of the gateway registered this platform.
    pub fn is_pinned(&self) -> bool {
        self.weight == 0
    }

    /// Returns the time from which the profile is to be fetched again; `None` for never.
    pub fn fresh_until(&self) -> Option<Instant> {
        self.fresh_until
    }

    /// Returns the permitted use of the entry at `now`. A pinned entry is always fresh: if it has an address, a task of
    /// its own fetches it again.
    pub(super) fn usable(&self, now: Instant, options: &DirectoryOptions) -> Usable {
        let Some(fresh_until) = self.fresh_until.filter(|_| !self.is_pinned()) else { return Usable::Fresh };
        let freshness = Freshness {
            fresh: fresh_until.saturating_duration_since(self.fetched_at),
            while_revalidating: options.stale_while_revalidate,
            on_error: options.stale_if_error,
            missing: Duration::ZERO,
        };
        freshness.usable(now.saturating_duration_since(self.fetched_at))
    }
}

/// A failed fetch.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Address of the profile.
    pub url: ProfileUrl,
    /// Refusal for callers, without the time to wait.
    pub refusal: Refusal,
    /// Number of failures in a row.
    pub(super) attempts: u32,
    /// Time from which the fetch may be tried again.
    pub(super) until: Instant,
}

impl Failure {
    /// Returns the refusal for callers at `now`. If it is retryable, it states the remaining time to wait.
    pub(super) fn refusal(&self, now: Instant) -> Refusal {
        let mut refusal = self.refusal.clone();
        if refusal.code.retryable() {
            refusal.retry_after = Some(whole_seconds(self.until.saturating_duration_since(now)));
        }
        refusal
    }
}

/// Returns a time to wait as `Retry-After` states it: in whole seconds, rounded up, at least one.
pub(super) fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
    u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
}

/// Weighter of the entries of all tables here, in bytes.
#[derive(Clone, Copy)]
pub(super) struct InBytes;

impl<V> Weighter<Box<str>, Arc<KnownPlatform<V>>> for InBytes {
    fn weight(&self, _url: &Box<str>, known: &Arc<KnownPlatform<V>>) -> u64 {
        known.weight
    }
}

impl Weighter<Box<str>, Arc<Failure>> for InBytes {
    fn weight(&self, url: &Box<str>, failure: &Arc<Failure>) -> u64 {
        let Refusal { content, accepted, path, .. } = &failure.refusal;
        let texts = content.len() + [accepted, path].into_iter().flatten().map(String::len).sum::<usize>();
        // The address is stored twice: as the key, and parsed.
        (OVERHEAD + size_of::<Failure>() + size_of::<Url>() + 2 * url.len() + texts) as u64
    }
}

impl Weighter<Box<str>, Instant> for InBytes {
    fn weight(&self, origin: &Box<str>, _at: &Instant) -> u64 {
        (OVERHEAD + origin.len()) as u64
    }
}

/// Table keyed by URL or origin.
pub(super) type Table<T> = Cache<Box<str>, T, InBytes>;

/// Creates a table that holds at most `bytes`, and keeps the entries that are used often.
pub(super) fn table<T: Clone>(bytes: u64) -> Table<T>
where
    InBytes: Weighter<Box<str>, T>,
{
    let items = usize::try_from(bytes / ITEM).unwrap_or(usize::MAX).max(1);
    Cache::with_weighter(items, bytes, InBytes)
}

#[cfg(test)]
mod tests {
    use ucp_core::Code;

    use super::*;

    #[test]
    fn a_failure_weighs_its_address_and_all_of_its_texts() {
        let weight = |url: &str, refusal: Refusal| {
            let (url_of, until) = (ProfileUrl::anonymous(), Instant::now());
            let failure = Arc::new(Failure { url: url_of, refusal, attempts: 1, until });
            InBytes.weight(&url.into(), &failure)
        };
        let refusal = |content: &str| Refusal::new(Code::ProfileMalformed, content);
        let least = weight("", refusal(""));
        assert!(least >= size_of::<Failure>() as u64);
        assert_eq!(weight("https://a.example/", refusal("")), least + 36);
        assert_eq!(weight("", refusal("0123456789")), least + 10);
        assert_eq!(weight("", refusal("").accepting("01234")), least + 5);
        assert_eq!(weight("", Refusal { path: Some("$.a".into()), ..refusal("0") }), least + 4);
    }
}
