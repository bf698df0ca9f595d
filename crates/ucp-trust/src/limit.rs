//! Rate limits of callers.
//!
//! Each caller has a bucket of its own ([`RateLimits`]), so that a flood empties only the bucket of its caller, which
//! is checked before the room that all callers share ([`InFlight`]). Anonymous callers are counted by network address.
//! Buckets of callers that are not registered are kept in bounded memory: if there are too many, those that were not
//! used for long are evicted, and the caller of an evicted bucket starts with a full one.

mod body;
mod in_flight;
mod throughput;

use std::{
    fmt,
    hash::{BuildHasher as _, Hash, RandomState},
    net::IpAddr,
    num::NonZeroU32,
    sync::Arc,
};

use governor::{
    NotUntil, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, StateStore},
};
use quick_cache::sync::Cache;
use ucp_core::refusal::{Code, Refusal};

pub use self::{
    body::{BodyLimit, HeldBody},
    in_flight::{InFlight, Permit},
    throughput::Throughput,
};
use crate::client::ClientAddress;

/// Maximum number of buckets of callers that are not registered, per tier.
const BUCKETS: usize = 50_000;

/// Kind of limit that applies to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// A caller without identity, counted by network address.
    Anonymous,
    /// A platform that signed its request, counted by its profile.
    Signed,
    /// A platform that the operator registered, with a limit of its own.
    Keyed,
}

/// Caller to which a request is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller<'a> {
    /// A caller without identity, from this address.
    Anonymous(ClientAddress),
    /// The platform with this profile, proven by its signature.
    Signed(&'a str),
    /// The registered platform at this index of [`Quotas::platforms`], however it was identified.
    Keyed(usize),
}

impl Caller<'_> {
    /// Returns the kind of limit that applies to the caller.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        match self {
            Self::Anonymous(_) => Tier::Anonymous,
            Self::Signed(_) => Tier::Signed,
            Self::Keyed(_) => Tier::Keyed,
        }
    }
}

/// Holder of a share of something that all callers have in common: what a caller proves to be, never what it claims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// The registered platform at this index of [`Quotas::platforms`].
    Keyed(usize),
    /// The network address of a caller without identity, as [`ClientAddress::bucket`] has it.
    Network(IpAddr),
}

/// Number of requests that one caller may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Requests per second in the long run.
    pub per_second: NonZeroU32,
    /// Requests at once, after a pause.
    pub burst: NonZeroU32,
}

impl Quota {
    /// Creates a quota of these numbers; returns `None` if either is zero.
    #[must_use]
    pub const fn new(per_second: u32, burst: u32) -> Option<Self> {
        match (NonZeroU32::new(per_second), NonZeroU32::new(burst)) {
            (Some(per_second), Some(burst)) => Some(Self { per_second, burst }),
            _ => None,
        }
    }

    fn rule(self) -> governor::Quota {
        governor::Quota::per_second(self.per_second).allow_burst(self.burst)
    }
}

/// Formats the quota as refusals state it.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per second, {} at once after a pause", self.per_second, self.burst)
    }
}

/// Quotas of all tiers; `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Quota of one network address for its anonymous requests.
    pub anonymous: Option<Quota>,
    /// Quota of one platform that signs and is not registered.
    pub signed: Option<Quota>,
    /// Quota of each registered platform.
    pub platforms: Vec<Option<Quota>>,
    /// Quota of one network address for signatures that do not verify.
    pub unverified: Option<Quota>,
}

/// Buckets of all callers.
///
/// `C` is the clock, which tests replace.
pub struct RateLimits<C: Clock = DefaultClock> {
    anonymous: Option<Buckets<C>>,
    signed: Option<Buckets<C>>,
    platforms: Vec<Option<Bucket<C>>>,
    unverified: Option<Buckets<C>>,
}

impl RateLimits {
    /// Creates full buckets of these quotas.
    #[must_use]
    pub fn new(quotas: &Quotas) -> Self {
        Self::with_clock(quotas, &DefaultClock::default())
    }
}

impl<C: Clock + Clone> RateLimits<C> {
    /// Creates full buckets of these quotas, which refill by `clock`.
    #[must_use]
    pub fn with_clock(quotas: &Quotas, clock: &C) -> Self {
        let strangers = |quota: Option<Quota>| quota.map(|quota| Buckets::new(quota, BUCKETS, clock.clone()));
        let bucket = |quota| Bucket { quota, limiter: RateLimiter::direct_with_clock(quota.rule(), clock.clone()) };
        Self {
            anonymous: strangers(quotas.anonymous),
            signed: strangers(quotas.signed),
            platforms: quotas.platforms.iter().map(|quota| quota.map(bucket)).collect(),
            unverified: strangers(quotas.unverified),
        }
    }

    /// Charges a request to its caller.
    ///
    /// # Errors
    ///
    /// [`Code::RateLimited`] if the caller's bucket is empty.
    pub fn check(&self, caller: &Caller<'_>) -> Result<(), Refusal> {
        match caller {
            Caller::Anonymous(address) => self.anonymous.as_ref().map_or(Ok(()), |buckets| {
                buckets.charge(buckets.key(address.bucket())).map_err(|seconds| {
                    let accepted = format!(
                        "anonymous requests from one network address: {}. Platforms that sign or show an API key have \
                         limits of their own",
                        buckets.quota
                    );
                    limited("This network address sends too many anonymous requests.", accepted, seconds)
                })
            }),
            Caller::Signed(profile) => self.signed.as_ref().map_or(Ok(()), |buckets| {
                buckets.charge(buckets.key(profile)).map_err(|seconds| of_platform(buckets.quota, seconds))
            }),
            Caller::Keyed(index) => match self.platforms.get(*index) {
                Some(Some(bucket)) => bucket.charge().map_err(|seconds| of_platform(bucket.quota, seconds)),
                _ => Ok(()),
            },
        }
    }

    /// Returns `true` if anonymous callers have a limit.
    #[must_use]
    pub const fn has_anonymous(&self) -> bool {
        self.anonymous.is_some()
    }

    /// Charges a signature to the network address that it comes from, before it is verified: rejecting a wrong one
    /// costs an operation on a curve, and perhaps the fetch of a profile. Callers [refund](Charge::refund) the charge
    /// once the signature is verified.
    ///
    /// # Errors
    ///
    /// [`Code::RateLimited`] if too many signatures from that address did not verify.
    pub fn charge_signature(&self, address: ClientAddress) -> Result<Charge<'_, C>, Refusal> {
        let Some(buckets) = &self.unverified else { return Ok(Charge(None)) };
        let key = buckets.key(address.bucket());
        buckets.charge(key).map(|()| Charge(Some((buckets, key)))).map_err(|seconds| {
            let accepted = format!("signatures that do not verify, from one network address: {}", buckets.quota);
            limited("Too many signatures from this network address did not verify.", accepted, seconds)
        })
    }
}

impl<C: Clock> fmt::Debug for RateLimits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quota = |buckets: &Option<Buckets<C>>| buckets.as_ref().map(|buckets| buckets.quota);
        f.debug_struct("RateLimits")
            .field("anonymous", &quota(&self.anonymous))
            .field("signed", &quota(&self.signed))
            .field("unverified", &quota(&self.unverified))
            .finish_non_exhaustive()
    }
}

/// Charge for a signature that is about to be verified.
#[must_use = "a charge that is dropped stays"]
pub struct Charge<'a, C: Clock = DefaultClock>(Option<(&'a Buckets<C>, u64)>);

impl<C: Clock> Charge<'_, C> {
    /// Takes the charge back, because the signature verified.
    pub fn refund(self) {
        if let Some((buckets, key)) = self.0 {
            buckets.refund(key);
        }
    }
}

impl<C: Clock> fmt::Debug for Charge<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Charge(..)")
    }
}

fn of_platform(quota: Quota, seconds: u32) -> Refusal {
    limited("This platform sends too many requests.", format!("requests from this platform: {quota}"), seconds)
}

fn limited(content: &str, accepted: String, seconds: u32) -> Refusal {
    let refusal = Refusal::new(Code::RateLimited, content).accepting(accepted);
    Refusal { retry_after: Some(seconds), ..refusal }
}

/// Bucket of one caller.
struct Bucket<C: Clock> {
    quota: Quota,
    limiter: RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
}

impl<C: Clock> Bucket<C> {
    fn charge(&self) -> Result<(), u32> {
        self.limiter.check().map_err(|not_until| seconds(&not_until, self.limiter.clock()))
    }
}

/// Buckets of a tier of callers that are not registered.
///
/// Callers are identified by a keyed hash: it bounds the memory of a bucket however long the caller's name is, and
/// outsiders cannot find two names that share a bucket.
struct Buckets<C: Clock> {
    quota: Quota,
    limiter: RateLimiter<u64, Memory, C, NoOpMiddleware<C::Instant>>,
    memory: Memory,
    hasher: RandomState,
}

impl<C: Clock> Buckets<C> {
    fn new(quota: Quota, most: usize, clock: C) -> Self {
        let memory = Memory(Arc::new(Cache::new(most)));
        let limiter = RateLimiter::new(quota.rule(), memory.clone(), clock);
        Self { quota, limiter, memory, hasher: RandomState::new() }
    }

    fn key(&self, caller: impl Hash) -> u64 {
        self.hasher.hash_one(caller)
    }

    /// Takes one request from a bucket; if it is empty, the error is the number of seconds until it has one.
    fn charge(&self, key: u64) -> Result<(), u32> {
        self.limiter.check_key(&key).map_err(|not_until| seconds(&not_until, self.limiter.clock()))
    }

    /// Puts one request back into a bucket.
    fn refund(&self, key: u64) {
        let Some(state) = self.memory.0.peek(&key) else { return };
        let one = Nanos::from(self.quota.rule().replenish_interval());
        let back = |until: Option<Nanos>| until.map(|until| ((), until.saturating_sub(one))).ok_or(());
        // An untouched bucket is full.
        let _ = state.measure_and_replace(&NotKeyed::NonKey, back);
    }
}

/// Returns the time until `not_until` in whole seconds, rounded up, at least one, for `Retry-After`.
fn seconds<C: Clock>(not_until: &NotUntil<C::Instant>, clock: &C) -> u32 {
    let wait = not_until.wait_time_from(clock.now());
    let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(whole).unwrap_or(u32::MAX).max(1)
}

/// States of a bounded number of buckets. The cache selects those to evict as buckets are added, without a scan of all
/// of them, and keeps those in use even if many others are used once.
#[derive(Clone)]
struct Memory(Arc<Cache<u64, Arc<InMemoryState>>>);

impl StateStore for Memory {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, key: &u64, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let state = self.0.get_or_insert_with(key, || Ok::<_, std::convert::Infallible>(Arc::default()));
        let Ok(state) = state;
        state.measure_and_replace(&NotKeyed::NonKey, f)
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, time::Duration};

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn address(text: &str) -> ClientAddress {
        ClientAddress::new(text.parse().expect("an address"))
    }

    fn limits(clock: &FakeRelativeClock) -> RateLimits<FakeRelativeClock> {
        let quotas = Quotas {
            anonymous: Quota::new(2, 3),
            signed: Quota::new(4, 4),
            platforms: vec![Quota::new(1, 1), None],
            unverified: Quota::new(1, 2),
        };
        RateLimits::with_clock(&quotas, clock)
    }

    /// Returns the number of requests of `caller` that pass at once.
    fn passing(limits: &RateLimits<FakeRelativeClock>, caller: Caller<'_>) -> usize {
        (0..20).filter(|_| limits.check(&caller).is_ok()).count()
    }

    #[test]
    fn each_tier_has_its_quota_and_fills_again() {
        let clock = FakeRelativeClock::default();
        let limits = limits(&clock);
        for (caller, burst, per_second) in [
            (Caller::Anonymous(address("203.0.113.9")), 3, 2),
            (Caller::Signed("https://agent.example/profile"), 4, 4),
            (Caller::Keyed(0), 1, 1),
            (Caller::Keyed(1), 20, 20),
        ] {
            assert_eq!(passing(&limits, caller), burst, "{caller:?}");
            clock.advance(Duration::from_secs(1));
            assert_eq!(passing(&limits, caller), per_second, "{caller:?}");
        }
    }

    #[test]
    fn a_flood_empties_its_own_bucket_only() {
        let limits = limits(&FakeRelativeClock::default());
        for (flood, other) in [
            (Caller::Anonymous(address("203.0.113.9")), Caller::Anonymous(address("203.0.113.8"))),
            (Caller::Signed("https://a.example/"), Caller::Signed("https://b.example/")),
            (Caller::Keyed(0), Caller::Keyed(1)),
        ] {
            passing(&limits, flood);
            assert!(limits.check(&flood).is_err());
            assert_eq!(limits.check(&other), Ok(()), "{other:?}");
        }
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket() {
        let limits = limits(&FakeRelativeClock::default());
        assert_eq!(passing(&limits, Caller::Anonymous(address("2001:db8:1:2::1"))), 3);
        assert_eq!(passing(&limits, Caller::Anonymous(address("2001:db8:1:2:ffff::"))), 0);
        assert_eq!(passing(&limits, Caller::Anonymous(address("2001:db8:1:3::1"))), 3);
    }

    #[test]
    fn a_refusal_says_which_limit_how_much_and_when() {
        let limits = limits(&FakeRelativeClock::default());
        for (caller, content, accepted) in [
            (Caller::Anonymous(address("203.0.113.9")), "network address", "2 per second, 3 at once"),
            (Caller::Signed("https://a.example/"), "This platform", "4 per second, 4 at once"),
            (Caller::Keyed(0), "This platform", "1 per second, 1 at once"),
        ] {
            passing(&limits, caller);
            let refusal = limits.check(&caller).expect_err("limited");
            assert_eq!((refusal.code, refusal.retry_after), (Code::RateLimited, Some(1)));
            assert!(refusal.content.contains(content), "{}", refusal.content);
            assert!(refusal.accepted.as_deref().is_some_and(|text| text.contains(accepted)), "{:?}", refusal.accepted);
        }
    }

    #[test]
    fn waiting_as_long_as_told_is_enough() {
        let clock = FakeRelativeClock::default();
        let quotas = Quotas { anonymous: Quota::new(3, 7), ..Quotas::default() };
        let limits = RateLimits::with_clock(&quotas, &clock);
        let caller = Caller::Anonymous(address("203.0.113.9"));
        passing(&limits, caller);
        clock.advance(Duration::from_millis(17));
        let seconds = limits.check(&caller).expect_err("limited").retry_after.expect("a time");
        clock.advance(Duration::from_secs(seconds.into()));
        assert_eq!(limits.check(&caller), Ok(()));
    }

    #[test]
    fn without_quotas_there_is_no_limit() {
        let limits = RateLimits::new(&Quotas::default());
        for caller in [Caller::Anonymous(address("::1")), Caller::Signed("x"), Caller::Keyed(7)] {
            assert!((0..1_000).all(|_| limits.check(&caller).is_ok()));
        }
        limits.charge_signature(address("::1")).expect("no limit").refund();
    }

    #[test]
    fn wrong_signatures_are_charged_and_right_ones_are_not() {
        let clock = FakeRelativeClock::default();
        let limits = limits(&clock);
        let peer = address("203.0.113.9");
        for _ in 0..20 {
            limits.charge_signature(peer).expect("room").refund();
        }
        assert!(limits.charge_signature(peer).is_ok());
        assert!(limits.charge_signature(peer).is_ok());
        let refusal = limits.charge_signature(peer).expect_err("limited");
        assert_eq!((refusal.code, refusal.retry_after), (Code::RateLimited, Some(1)));
        assert!(limits.charge_signature(address("203.0.113.8")).is_ok());
        // The requests themselves are charged separately.
        assert_eq!(limits.check(&Caller::Anonymous(peer)), Ok(()));
        clock.advance(Duration::from_secs(1));
        assert!(limits.charge_signature(peer).is_ok());
    }

    #[test]
    fn a_flood_of_strangers_neither_grows_memory_nor_frees_who_is_limited() {
        let buckets = Buckets::new(Quota::new(1, 5).expect("a quota"), 1_000, FakeRelativeClock::default());
        let flood = buckets.key("flood");
        let mut passed = 0;
        for stranger in 0..200_000_u32 {
            let stranger = IpAddr::from(stranger.to_be_bytes());
            let _ = buckets.charge(buckets.key(stranger));
            passed += usize::from(buckets.charge(flood).is_ok());
        }
        assert_eq!(passed, 5);
        assert!(buckets.memory.0.len() <= 1_000, "{}", buckets.memory.0.len());
    }
}
