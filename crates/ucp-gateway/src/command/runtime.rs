//! The runtime of a command.

use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Runtime};

/// Returns a runtime with so many threads.
pub(super) fn runtime(threads: usize) -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build()
}

/// Runs a future to its end. It is boxed, so that it is compiled once, and not for each kind of runtime.
pub(super) fn wait<'a, T>(runtime: &Runtime, future: impl Future<Output = T> + 'a) -> T {
    runtime.block_on(future.boxed_local())
}
