//! Limit on the bytes that all callers are sent together.

use std::num::NonZeroU32;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use ucp_core::refusal::Refusal;

/// Limit on bytes per second, counted in kibibytes.
pub struct Throughput {
    limiter: DefaultDirectRateLimiter,
    most: NonZeroU32,
}
ucp_core::opaque!(Throughput { most });

impl Throughput {
    /// Creates a limit of `most` kibibytes per second, and as many at once after a pause.
    pub fn new(most: NonZeroU32) -> Self {
        Self { limiter: RateLimiter::direct(Quota::per_second(most)), most }
    }

    /// Takes room for an answer of `bytes`. One answer never needs more than a second. Fails with
    /// [`Unavailable`](ucp_core::refusal::Code::Unavailable) if there is none.
    pub fn take(&self, bytes: u64) -> Result<(), Refusal> {
        let kibibytes = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).min(self.most.get());
        match self.limiter.check_n(NonZeroU32::new(kibibytes).unwrap_or(NonZeroU32::MIN)) {
            Ok(Ok(())) => Ok(()),
            _ => Err(Refusal::unavailable("Too many documents are being sent.", 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_are_sent_so_many_bytes() {
        let throughput = Throughput::new(NonZeroU32::MIN.saturating_add((64 << 10) - 1));
        let taken = (0..10_000).filter(|_| throughput.take(1 << 20).is_ok()).count();
        assert!((64..10_000).contains(&taken), "{taken}");
        let refusal = (0..10_000).find_map(|_| throughput.take(u64::MAX).err()).expect("everything is taken");
        assert_eq!(refusal.retry_after, Some(1));
    }
}
