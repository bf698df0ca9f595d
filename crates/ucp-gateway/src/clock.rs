//! The clock on the wall, which everything below is handed.

use std::time::SystemTime;

/// The time.
#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
