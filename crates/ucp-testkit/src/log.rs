//! Captured log, for tests of lines that must not be in it, and of lines that have to be.

use std::{
    io,
    sync::{Arc, Mutex},
};

use crate::locked;

/// Everything that is written to it. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Returns the log so far. Panics if the log is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8(locked(&self.0).clone()).expect("UTF-8")
    }

    /// Returns `true` if a text was logged.
    pub fn has(&self, text: &str) -> bool {
        // Compiled with the standard library, this is fast without optimization too.
        String::from_utf8_lossy(&locked(&self.0)).contains(text)
    }

    /// Returns the log of this process from now on, at every level and from every thread: one log for all callers.
    /// Panics if the process has another global subscriber.
    #[cfg(feature = "log")]
    pub fn of_everything() -> &'static Self {
        static LOG: std::sync::OnceLock<Log> = std::sync::OnceLock::new();
        LOG.get_or_init(|| {
            let log = Self::default();
            // With what is logged by means of the `log` crate.
            tracing_subscriber::util::SubscriberInitExt::init(log.subscriber());
            log
        })
    }

    /// Returns a log of this thread at every level, which ends when the guard is dropped.
    #[cfg(feature = "log")]
    #[must_use]
    pub fn of_this_thread() -> (Self, tracing::subscriber::DefaultGuard) {
        // With only one subscriber, `tracing` asks the thread that first reaches a callsite whether anybody listens, and
        // keeps the answer for all threads. That may be the thread of another test.
        static ANOTHER: std::sync::LazyLock<tracing::Dispatch> =
            std::sync::LazyLock::new(|| tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default()));
        std::sync::LazyLock::force(&ANOTHER);
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.subscriber());
        (log, guard)
    }

    #[cfg(feature = "log")]
    fn subscriber(&self) -> impl tracing::Subscriber + Send + Sync + use<> {
        let writer = self.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        locked(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
