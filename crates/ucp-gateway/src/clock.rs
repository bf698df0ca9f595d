//! The clock on the wall, which everything below is handed.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time.
#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// The same, as the domain has it.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::try_from(now()).unwrap_or(Timestamp::UNIX_EPOCH)
}
