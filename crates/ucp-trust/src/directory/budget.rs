//! Budget of fetches for platforms that are not registered, shared by all of them.

use std::time::Duration;

use tokio::time::Instant;

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

#[cfg(test)]
mod tests {
    use super::*;

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
