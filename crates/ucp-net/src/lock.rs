//! Locks by name: one after another at each resource, and side by side at different ones.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::timeout,
};

/// Locks by the names of resources. Clones are the same ones. A lock that nobody holds or waits for takes no memory.
#[derive(Clone, Debug, Default)]
pub struct ResourceLocks(Arc<Mutex<HashMap<String, Arc<AsyncMutex<()>>>>>);

/// A lock that is held, or waited for, until it is dropped.
#[derive(Debug)]
pub struct ResourceLock {
    locks: ResourceLocks,
    name: String,
    guard: Option<OwnedMutexGuard<()>>,
}

impl ResourceLocks {
    /// Waits for the lock of a resource, for a limited time. `None` when others hold it for longer.
    pub async fn lock(&self, name: String, max_wait: Duration) -> Option<ResourceLock> {
        let lock = Arc::clone(self.locked().entry(name.clone()).or_default());
        // Made before waiting, so that a wait that is given up cleans up too.
        let mut held = ResourceLock { locks: self.clone(), name, guard: None };
        held.guard = Some(timeout(max_wait, lock.lock_owned()).await.ok()?);
        Some(held)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Arc<AsyncMutex<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ResourceLock {
    fn drop(&mut self) {
        self.guard.take();
        let mut locks = self.locks.locked();
        if locks.get(&self.name).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ucp_testkit::{PATIENCE, wait};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_after_another_at_each_resource_and_side_by_side_at_different_ones() {
        let locks = ResourceLocks::default();
        let (inside, most) = ([AtomicUsize::new(0), AtomicUsize::new(0)], AtomicUsize::new(0));
        wait::all((0..20).map(async |number: usize| {
            let _held = locks.lock(format!("cart {}", number % 2), PATIENCE).await.expect("a lock");
            assert_eq!(inside[number % 2].fetch_add(1, Ordering::SeqCst), 0);
            most.fetch_max(inside.iter().map(|count| count.load(Ordering::SeqCst)).sum(), Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(100)).await;
            inside[number % 2].fetch_sub(1, Ordering::SeqCst);
        }))
        .await;
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert!(locks.locked().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever_and_nothing_is_kept_of_those_who_gave_up() {
        let locks = ResourceLocks::default();
        let held = locks.lock("a".into(), PATIENCE).await.expect("a lock");
        let second = Duration::from_secs(1);
        assert!(locks.lock("a".into(), second).await.is_none());
        assert!(timeout(second / 2, locks.lock("a".into(), second)).await.is_err(), "given up while waiting");
        drop(held);
        assert!(locks.locked().is_empty());
        assert!(locks.lock("a".into(), second).await.is_some());
    }
}
