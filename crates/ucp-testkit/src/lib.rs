//! Doubles for the ports of the core, and the rules that stores keep, for tests only.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`ledger`] | carts, checkouts and orders in memory, with crash points |
//! | [`shelf`] | a catalog whose goods change between calls |
//! | [`handler`] | a payment handler that does what it is told, and remembers what really happened |
//! | [`log`] | what is logged, to be looked into |
//! | [`store`] | the conformance suite of the store port |
//! | [`time`] | a clock that only moves when it is told to |
//! | [`shop`] | all of them together, as a sales service |
//! | [`wait`] | waits that end, and say what they waited for |
//! | [`leash`] | processes that end with the test process, and running a command to its end |
#![cfg_attr(feature = "host", doc = "| [`host`] | servers on this machine that do what a test says |")]
#![cfg_attr(feature = "host", doc = "| [`server`] | the same for tests without a runtime |")]
#![cfg_attr(feature = "postgres", doc = "| [`postgres`] | throw-away clusters of PostgreSQL |")]
//!
//! A double keeps to the contract of its port, and panics where a caller breaks it. Whatever waits in reality gives way
//! here, once before it takes effect and once after: a future that is dropped after so many [polls](interrupted) stands
//! for a process that died between any two steps.

pub mod handler;
#[cfg(feature = "host")]
pub mod host;
pub mod leash;
pub mod ledger;
pub mod log;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "host")]
pub mod server;
pub mod shelf;
pub mod shop;
pub mod store;
pub mod time;
pub mod wait;

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

pub use handler::{Course, ScriptedHandler};
#[cfg(feature = "host")]
pub use host::Host;
pub use ledger::{Fate, MemoryLedger};
pub use log::Log;
pub use shelf::Shelf;
pub use shop::TestShop;
pub use time::Clock;
pub use wait::{PATIENCE, eventually, joined, until, within};

/// Sixteen bytes that follow from a seed and have not come before.
#[must_use]
pub fn random(seed: u64) -> Arc<dyn Fn() -> [u8; 16] + Send + Sync> {
    let state = AtomicU64::new(seed);
    Arc::new(move || {
        // SplitMix64 visits every state once before it repeats.
        let next = || {
            let mut z = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        (u128::from(next()) << 64 | u128::from(next())).to_be_bytes()
    })
}

/// Returns the output of a future after at most `polls` polls; `None` if it needs more, in which case it is dropped.
pub async fn interrupted<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        match poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => give_way().await,
        }
    }
    None
}

/// Lets others go first, once.
pub(crate) async fn give_way() {
    let mut yielded = false;
    poll_fn(move |context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Locks a mutex, even if a thread that held it has panicked.
pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The code of the guide for whoever adds a backend, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-backend.md")]
struct AddingABackend;

/// The code of the guide for whoever adds a payment handler, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-payment-handler.md")]
struct AddingAPaymentHandler;
