//! Rate limits of callers.
//!
//! Each caller has a bucket of its own ([`RateLimits`]), so that a flood empties only the bucket of its caller, which
//! is checked before the room that all callers share ([`InFlight`]). Callers that are not registered are counted in groups
//! ([`Stranger`]): a request is charged to the bucket of each, and passes if none of them is empty. Their buckets
//! are kept in bounded memory: if there are too many, those that were not used for long are evicted, and the caller of an
//! evicted bucket starts with a full one.

mod body;
mod in_flight;
mod stranger;
mod throughput;

use std::{fmt, num::NonZeroU32, sync::Arc};

use governor::{
    NotUntil, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, StateStore},
};
use quick_cache::sync::Cache;
use ucp_core::refusal::{Code, Refusal};
use ucp_net::shares::{Groups, Step};

pub use self::{
    body::{BodyLimit, HeldBody},
    in_flight::{InFlight, Permit},
    stranger::{Group, Stranger, networks},
    throughput::Throughput,
};
use crate::client::ClientAddress;

/// Maximum number of buckets of callers that are not registered, per tier. A caller has one for each of its groups.
const BUCKETS: usize = 50_000;

/// Caller to which a request is charged, and that has a share of what all callers have in common: what it proves to be, never
/// what it claims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// The registered platform at this index of [`Quotas::platforms`].
    Keyed(usize),
    /// A caller that is not registered.
    Stranger(Stranger),
}

impl Share {
    /// Returns the groups that share a pool; `None` for a registered platform.
    pub fn groups(&self) -> Option<Groups> {
        match self {
            Self::Keyed(_) => None,
            Self::Stranger(stranger) => Some(stranger.shares()),
        }
    }
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
    pub const fn new(per_second: u32, burst: u32) -> Option<Self> {
        match (NonZeroU32::new(per_second), NonZeroU32::new(burst)) {
            (Some(per_second), Some(burst)) => Some(Self { per_second, burst }),
            _ => None,
        }
    }

    /// Returns the quota of a step, which is that of one caller, or more.
    const fn of(self, step: Step) -> Self {
        let times = NonZeroU32::MIN.saturating_add(step.factor() - 1);
        Self { per_second: self.per_second.saturating_mul(times), burst: self.burst.saturating_mul(times) }
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
    /// Quota of one network address for its anonymous requests. That of a wider network is a multiple
    /// ([`Step::factor`]), and so it is with the other quotas.
    pub anonymous: Option<Quota>,
    /// Quota of one domain, and of one network address, for requests of platforms that sign and are not registered.
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
ucp_core::opaque!(RateLimits<C: Clock>);

impl RateLimits {
    /// Creates full buckets of these quotas.
    pub fn new(quotas: &Quotas) -> Self {
        Self::with_clock(quotas, &DefaultClock::default())
    }
}

impl<C: Clock + Clone> RateLimits<C> {
    /// Creates full buckets of these quotas, which refill by `clock`.
    pub fn with_clock(quotas: &Quotas, clock: &C) -> Self {
        let strangers = |quota: Option<Quota>| quota.map(|quota| Buckets::new(quota, BUCKETS, clock));
        let bucket = |quota| Bucket { quota, limiter: RateLimiter::direct_with_clock(quota.rule(), clock.clone()) };
        Self {
            anonymous: strangers(quotas.anonymous),
            signed: strangers(quotas.signed),
            platforms: quotas.platforms.iter().map(|quota| quota.map(bucket)).collect(),
            unverified: strangers(quotas.unverified),
        }
    }

    /// Charges a request to its caller. Fails with [`Code::RateLimited`] if the caller's bucket is empty.
    pub fn check(&self, caller: &Share) -> Result<(), Refusal> {
        match caller {
            Share::Stranger(stranger) if stranger.is_signed() => charge(self.signed.as_ref(), stranger, "requests"),
            Share::Stranger(stranger) => charge(self.anonymous.as_ref(), stranger, "anonymous requests"),
            Share::Keyed(index) => match self.platforms.get(*index) {
                Some(Some(bucket)) => bucket.charge().map_err(|seconds| of_platform(bucket.quota, seconds)),
                _ => Ok(()),
            },
        }
    }

    /// Returns `true` if anonymous callers have a limit.
    pub const fn has_anonymous(&self) -> bool {
        self.anonymous.is_some()
    }

    /// Charges a signature to the network address that it comes from, before it is verified: rejecting a wrong one
    /// costs an operation on a curve, and perhaps the fetch of a profile. Callers [refund](Charge::refund) the charge
    /// once the signature is verified. Fails with [`Code::RateLimited`] if too many signatures from that address did
    /// not verify.
    pub fn charge_signature(&self, address: ClientAddress) -> Result<Charge<'_, C>, Refusal> {
        let Some(buckets) = &self.unverified else { return Ok(Charge(None)) };
        let keys = Stranger::anonymous(address).shares();
        match buckets.charge(keys) {
            Ok(()) => Ok(Charge(Some((buckets, keys)))),
            Err(empty) => Err(buckets.limited(empty, "signatures that do not verify")),
        }
    }
}

/// Charges a request of a stranger.
fn charge<C: Clock>(buckets: Option<&Buckets<C>>, stranger: &Stranger, what: &str) -> Result<(), Refusal> {
    let Some(buckets) = buckets else { return Ok(()) };
    buckets.charge(stranger.shares()).map_err(|empty| buckets.limited(empty, what))
}

/// Charge for a signature that is about to be verified.
#[must_use = "a charge that is dropped stays"]
pub struct Charge<'a, C: Clock = DefaultClock>(Option<(&'a Buckets<C>, Groups)>);

impl<C: Clock> Charge<'_, C> {
    /// Takes the charge back, because the signature verified.
    pub fn refund(self) {
        if let Some((buckets, keys)) = self.0 {
            keys.iter().for_each(|key| buckets.refund(key));
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

/// An empty bucket, and the number of seconds until it has a request again.
type Empty = (Step, u32);

/// Buckets of a tier of callers that are not registered.
///
/// Groups are identified by a keyed hash: it bounds the memory of a bucket however long its name is, and outsiders cannot
/// find two names that share a bucket.
struct Buckets<C: Clock> {
    quota: Quota,
    /// The rules of each step, over the same memory.
    limiters: [RateLimiter<u64, Memory, C, NoOpMiddleware<C::Instant>>; Step::COUNT],
    memory: Memory,
}

impl<C: Clock + Clone> Buckets<C> {
    fn new(quota: Quota, most: usize, clock: &C) -> Self {
        let memory = Memory(Arc::new(Cache::new(most)));
        let limiter = |step| RateLimiter::new(quota.of(step).rule(), memory.clone(), clock.clone());
        let limiters = [Step::Domain, Step::Address, Step::Neighbors, Step::Site].map(limiter);
        Self { quota, limiters, memory }
    }
}

impl<C: Clock> Buckets<C> {
    /// Takes one request from the bucket of each group of a caller, or from none if one is empty.
    fn charge(&self, keys: Groups) -> Result<(), Empty> {
        for (number, (step, key)) in keys.iter().enumerate() {
            let limiter = &self.limiters[step as usize];
            if let Err(not_until) = limiter.check_key(&key) {
                keys.iter().take(number).for_each(|taken| self.refund(taken));
                return Err((step, seconds(&not_until, limiter.clock())));
            }
        }
        Ok(())
    }

    /// Puts one request back into a bucket.
    fn refund(&self, (step, key): (Step, u64)) {
        let Some(state) = self.memory.0.peek(&key) else { return };
        let one = Nanos::from(self.quota.of(step).rule().replenish_interval());
        let back = |until: Option<Nanos>| until.map(|until| ((), until.saturating_sub(one))).ok_or(());
        // An untouched bucket is full.
        let _ = state.measure_and_replace(&NotKeyed::NonKey, back);
    }

    /// Returns the refusal of a request for which there is an empty bucket. `what` names what is limited.
    fn limited(&self, (step, seconds): Empty, what: &str) -> Refusal {
        let quota = self.quota.of(step);
        let (content, from) = match step {
            Step::Domain => (format!("This platform, with others of its domain, sends too many {what}."), "one domain"),
            Step::Address => (format!("This network address sends too many {what}."), "one network address"),
            Step::Neighbors => {
                (format!("The network of this address sends too many {what}."), "one /24 or /56 network")
            }
            Step::Site => (format!("The network of this address sends too many {what}."), "one /48 network"),
        };
        let accepted = format!("{what} from {from}: {quota}. Platforms that are registered have limits of their own");
        limited(&content, accepted, seconds)
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
    use crate::address::{ProfileUrl, Reach};

    fn address(text: &str) -> ClientAddress {
        ClientAddress::new(text.parse().expect("an address"))
    }

    fn anonymous(text: &str) -> Share {
        Share::Stranger(Stranger::anonymous(address(text)))
    }

    fn signed(profile: &str, text: &str) -> Share {
        let profile = ProfileUrl::parse(profile, Reach::Public).expect("an address");
        Share::Stranger(Stranger::signed(&profile, address(text)))
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
    fn passing(limits: &RateLimits<FakeRelativeClock>, caller: &Share) -> usize {
        (0..20).filter(|_| limits.check(caller).is_ok()).count()
    }

    #[test]
    fn each_tier_has_its_quota_and_fills_again() {
        let clock = FakeRelativeClock::default();
        let limits = limits(&clock);
        for (caller, burst, per_second) in [
            (anonymous("203.0.113.9"), 3, 2),
            (signed("https://agent.example/profile", "203.0.113.9"), 4, 4),
            (Share::Keyed(0), 1, 1),
            (Share::Keyed(1), 20, 20),
        ] {
            assert_eq!(passing(&limits, &caller), burst, "{caller:?}");
            clock.advance(Duration::from_secs(1));
            assert_eq!(passing(&limits, &caller), per_second, "{caller:?}");
        }
    }

    #[test]
    fn a_flood_empties_its_own_bucket_only() {
        let limits = limits(&FakeRelativeClock::default());
        for (flood, other) in [
            (anonymous("203.0.113.9"), anonymous("203.0.113.8")),
            (signed("https://a.example/", "203.0.113.9"), signed("https://b.example/", "203.0.113.8")),
            (Share::Keyed(0), Share::Keyed(1)),
        ] {
            passing(&limits, &flood);
            assert!(limits.check(&flood).is_err());
            assert_eq!(limits.check(&other), Ok(()), "{other:?}");
        }
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket() {
        let limits = limits(&FakeRelativeClock::default());
        assert_eq!(passing(&limits, &anonymous("2001:db8:1:2::1")), 3);
        assert_eq!(passing(&limits, &anonymous("2001:db8:1:2:ffff::")), 0);
        assert_eq!(passing(&limits, &anonymous("2001:db8:1:3::1")), 3);
    }

    #[test]
    fn callers_that_cost_nothing_to_make_do_not_multiply_what_passes() {
        let passed = |callers: &mut dyn Iterator<Item = Share>| {
            let limits = limits(&FakeRelativeClock::default());
            callers.map(|caller| passing(&limits, &caller)).sum::<usize>()
        };
        let profile = |number: u32| format!("https://p{number}.agent.example/{number}");
        let from = |number: u32| format!("198.{}.{}.7", 18 + number / 256, number % 256);
        let mut profiles_of_one_domain = (0..500).map(|number| signed(&profile(number), &from(number)));
        assert_eq!(passed(&mut profiles_of_one_domain), 4);
        let domain = |number: u32| format!("https://agent-{number}.example/");
        let mut domains_at_one_address = (0..500).map(|number| signed(&domain(number), "203.0.113.9"));
        assert_eq!(passed(&mut domains_at_one_address), 4);
        let mut addresses = (0..256).map(|number| anonymous(&format!("203.0.113.{number}")));
        assert_eq!(passed(&mut addresses), 4 * 3, "of one /24");
        let mut networks = (0..256).map(|number| anonymous(&format!("2001:db8:1:2{number:02x}::1")));
        assert_eq!(passed(&mut networks), 4 * 3, "of one /56");
        let mut sites = (0..4_000).map(|number| anonymous(&format!("2001:db8:1:{:x}::1", number * 16)));
        assert_eq!(passed(&mut sites), 16 * 3, "of one /48");
    }

    #[test]
    fn what_one_group_refuses_costs_the_others_nothing() {
        let limits = limits(&FakeRelativeClock::default());
        let one = signed("https://agent.example/", "203.0.113.9");
        assert_eq!(passing(&limits, &one), 4);
        // Refused by the address, and so the domain has all of its requests left.
        let other = signed("https://other.example/", "203.0.113.9");
        assert_eq!(passing(&limits, &other), 0);
        let moved = signed("https://other.example/", "198.51.100.9");
        assert_eq!(passing(&limits, &moved), 4);
    }

    #[test]
    fn a_refusal_says_which_limit_how_much_and_when() {
        let limits = limits(&FakeRelativeClock::default());
        for (caller, content, accepted) in [
            (anonymous("203.0.113.9"), "This network address", "2 per second, 3 at once"),
            (signed("https://a.example/", "203.0.113.9"), "This platform", "4 per second, 4 at once"),
            (Share::Keyed(0), "This platform", "1 per second, 1 at once"),
        ] {
            passing(&limits, &caller);
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
        let caller = anonymous("203.0.113.9");
        passing(&limits, &caller);
        clock.advance(Duration::from_millis(17));
        let seconds = limits.check(&caller).expect_err("limited").retry_after.expect("a time");
        clock.advance(Duration::from_secs(seconds.into()));
        assert_eq!(limits.check(&caller), Ok(()));
    }

    #[test]
    fn without_quotas_there_is_no_limit() {
        let limits = RateLimits::new(&Quotas::default());
        for caller in [anonymous("::1"), signed("https://a.example/", "::1"), Share::Keyed(7)] {
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
        assert_eq!(limits.check(&anonymous("203.0.113.9")), Ok(()));
        clock.advance(Duration::from_secs(1));
        assert!(limits.charge_signature(peer).is_ok());
    }

    #[test]
    fn a_flood_of_strangers_neither_grows_memory_nor_frees_who_is_limited() {
        let buckets = Buckets::new(Quota::new(1, 5).expect("a quota"), 1_000, &FakeRelativeClock::default());
        let flood = Stranger::anonymous(address("203.0.113.9")).shares();
        let mut passed = 0;
        for stranger in 0..200_000_u32 {
            let stranger = ClientAddress::new(IpAddr::from(stranger.to_be_bytes()));
            let _ = buckets.charge(Stranger::anonymous(stranger).shares());
            passed += usize::from(buckets.charge(flood).is_ok());
        }
        assert_eq!(passed, 5);
        assert!(buckets.memory.0.len() <= 1_000, "{}", buckets.memory.0.len());
    }
}
