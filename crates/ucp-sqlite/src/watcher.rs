//! A background thread that looks for changes at intervals, and at once on request.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::oneshot;

use crate::error::StoreError;

/// Interval between two looks.
pub const WATCH: Duration = Duration::from_millis(250);

/// Handle of the thread, which ends when the handle is dropped.
#[derive(Debug)]
pub struct Watcher {
    wishes: Arc<(Mutex<Wishes>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Wishes {
    /// Callers that wait for the end of the next look.
    waiting: Vec<oneshot::Sender<()>>,
    stop: bool,
}

impl Watcher {
    /// Starts a thread of this name. `look` looks for changes; its argument is `true` if the look was requested. A
    /// panic of one look does not end the thread. Fails with [`StoreError::Thread`] if the thread cannot be started.
    pub fn start(name: &'static str, mut look: impl FnMut(bool) + Send + 'static) -> Result<Self, StoreError> {
        let wishes: Arc<(Mutex<Wishes>, Condvar)> = Arc::default();
        let theirs = Arc::clone(&wishes);
        let run = move || {
            while let Some(waiting) = next(&theirs) {
                if catch_unwind(AssertUnwindSafe(|| look(!waiting.is_empty()))).is_err() {
                    tracing::error!(name, "watching for changes failed");
                }
                for waiting in waiting {
                    // The caller may have stopped waiting.
                    let _ = waiting.send(());
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { wishes, thread: Some(thread) })
    }

    /// Requests a look. The receiver completes when it is over.
    pub fn request(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.wishes.0.lock().unwrap_or_else(PoisonError::into_inner).waiting.push(sender);
        self.wishes.1.notify_all();
        receiver
    }
}

/// Waits until the next look is due, and returns the callers that wait for it; `None` once the thread has to stop.
fn next(wishes: &(Mutex<Wishes>, Condvar)) -> Option<Vec<oneshot::Sender<()>>> {
    let guard = wishes.0.lock().unwrap_or_else(PoisonError::into_inner);
    let idle = |wishes: &mut Wishes| wishes.waiting.is_empty() && !wishes.stop;
    let (mut guard, _) = wishes.1.wait_timeout_while(guard, WATCH, idle).unwrap_or_else(PoisonError::into_inner);
    (!guard.stop).then(|| std::mem::take(&mut guard.waiting))
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.wishes.0.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.wishes.1.notify_all();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
