//! Calls under way: equal ones at the same time are one task.
//!
//! The task ends by itself: a caller that goes away neither cancels it nor causes another.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    hash::Hash,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use tracing::Instrument as _;
use ucp_record as record;

use super::Scope;

/// The calls under way, by what they are about. Clones share one table.
pub struct InFlight<K, T>(Arc<Mutex<HashMap<K, Pending<T>>>>);
ucp_core::opaque!(InFlight<K, T>);

impl<K, T> Clone for InFlight<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> Default for InFlight<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, T> InFlight<K, T> {
    /// The table, which nobody else changes meanwhile.
    pub fn table(&self) -> Table<'_, K, T> {
        // Nothing is done under this lock that could leave the table half changed.
        Table { calls: self.0.lock().unwrap_or_else(PoisonError::into_inner), shared: &self.0 }
    }
}

/// The locked table of calls under way.
pub struct Table<'a, K, T> {
    calls: MutexGuard<'a, HashMap<K, Pending<T>>>,
    shared: &'a Arc<Mutex<HashMap<K, Pending<T>>>>,
}

impl<K: fmt::Debug, T> fmt::Debug for Table<'_, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.calls.keys()).finish()
    }
}

impl<K: Clone + Eq + Hash, T> Table<'_, K, T> {
    /// The call about this, if one is under way.
    pub fn get(&self, key: &K) -> Option<Pending<T>> {
        self.calls.get(key).cloned()
    }

    /// Returns the keys of the calls under way.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.calls.keys()
    }

    /// A new call, which others can join from now on. It is under way until it is dropped.
    pub fn begin(&mut self, key: &K) -> (Call<K, T>, Pending<T>) {
        let (outcome, pending) = watch::channel(None);
        let pending = Pending(pending);
        self.calls.insert(key.clone(), pending.clone());
        (Call { outcome, listed: Listed { calls: Arc::clone(self.shared), key: key.clone() } }, pending)
    }
}

/// A call that is being made.
pub struct Call<K: Eq + Hash, T> {
    outcome: watch::Sender<Option<T>>,
    listed: Listed<K, T>,
}

impl<K: Eq + Hash, T> fmt::Debug for Call<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

impl<K, T> Call<K, T>
where
    K: Eq + Hash + Send + 'static,
    T: Send + Sync + 'static,
{
    /// Makes the call as a task of its own, whose span and trace are those of the caller. What `call` does before it yields its
    /// future is done at once. A panic ends the call without an outcome.
    pub fn spawn<F: Future<Output = T> + Send + 'static>(self, call: impl FnOnce() -> F) {
        let Self { outcome, listed } = self;
        let Ok(call) = catch_unwind(AssertUnwindSafe(call)) else { return };
        let task = async move {
            // Taken off the table however the task ends, also at the end of the process, and before anybody hears of
            // the outcome: who has heard it and asks anew means a new call.
            let ended = {
                let _listed = listed;
                call.await
            };
            outcome.send_replace(Some(ended));
        };
        tokio::spawn(record::inherit_trace(Scope::current().shared().run(task)).in_current_span());
    }
}

struct Listed<K: Eq + Hash, T> {
    calls: Arc<Mutex<HashMap<K, Pending<T>>>>,
    key: K,
}

impl<K: Eq + Hash, T> Drop for Listed<K, T> {
    fn drop(&mut self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// The outcome of a call, to be waited for.
pub struct Pending<T>(watch::Receiver<Option<T>>);
ucp_core::opaque!(Pending<T>);

impl<T> Clone for Pending<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone> Pending<T> {
    /// A call that has ended.
    pub fn ended(outcome: T) -> Self {
        Self(watch::channel(Some(outcome)).1)
    }

    /// The outcome; `None` when the call panicked, or the process is shutting down.
    pub async fn outcome(mut self) -> Option<T> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        task::{Context, Poll, Wake, Waker},
    };

    use super::*;

    /// Looks into the table at the moment at which an outcome is told.
    struct Look {
        calls: InFlight<&'static str, u8>,
        woken: AtomicUsize,
        listed: AtomicUsize,
    }

    impl Wake for Look {
        fn wake(self: Arc<Self>) {
            self.woken.fetch_add(1, Ordering::SeqCst);
            let listed = self.calls.table().get(&"key").is_some();
            self.listed.fetch_add(usize::from(listed), Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_call_whose_outcome_is_known_is_no_longer_under_way() {
        let calls = InFlight::default();
        let look = Arc::new(Look { calls: calls.clone(), woken: AtomicUsize::new(0), listed: AtomicUsize::new(0) });
        let (call, pending) = calls.table().begin(&"key");
        let mut outcome = Box::pin(pending.clone().outcome());
        let waker = Waker::from(Arc::clone(&look));
        assert_eq!(outcome.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        call.spawn(async || 7);
        assert_eq!(pending.outcome().await, Some(7));
        assert_eq!(look.woken.load(Ordering::SeqCst), 1, "the outcome was told");
        assert_eq!(look.listed.load(Ordering::SeqCst), 0, "and the call was off the table by then");
    }
}
