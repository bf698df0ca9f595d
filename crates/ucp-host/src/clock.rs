//! The wall clock: the only place that reads the system time. Other crates are given one of these functions.

use std::time::SystemTime;

use jiff::Timestamp;

/// Returns the current system time.
#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// Returns the current time as a timestamp of the domain, or the Unix epoch if it is out of the range of [`Timestamp`].
pub fn timestamp() -> Timestamp {
    Timestamp::try_from(now()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns a uniformly distributed number, so that what many do again is not done at the same time.
pub(crate) fn jitter() -> u32 {
    let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
    u32::from_be_bytes([a, b, c, d])
}
