//! A clock that only moves when it is told to.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};

use crate::locked;

/// A clock that stands still. Clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Mutex<Timestamp>>);

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 50))))
    }
}

impl Clock {
    /// The time.
    pub fn now(&self) -> Timestamp {
        *locked(&self.0)
    }

    /// Lets so many seconds pass.
    pub fn advance(&self, seconds: u32) {
        *locked(&self.0) += SignedDuration::from_secs(seconds.into());
    }

    /// The clock, as ports are handed it.
    pub fn port(&self) -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }
}
